/* JSON with comments to YAML; see jsonc.h. */
#include <stdint.h>
#include <string.h>

#include "proto/jsonc.h"

/* Length of the comment at p, its end included (of "//": up to the line's end, which stays); 0: none. */
static size_t comment(const char *p, size_t left) {
        if (left < 2 || p[0] != '/')
                return 0;
        if (p[1] == '/') {
                const char *end = memchr(p, '\n', left);
                size_t n = end ? (size_t)(end - p) : left;
                return n > 0 && p[n - 1] == '\r' ? n - 1 : n;
        }
        if (p[1] != '*')
                return 0;
        const char *end = memmem(p + 2, left - 2, "*/", 2);
        return end ? (size_t)(end - p) + 2 : 0;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool jsonc_likely(const char *text, size_t len) {
        size_t i = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

        while (i < len) {
                size_t n = is_blank(text[i]) ? 1 : comment(text + i, len - i);
                if (n == 0)
                        return text[i] == '{' || text[i] == '[';
                i += n;
        }
        return false;
}

/* The value of \uXXXX at p; -1: it is none. */
static long unicode(const char *p, size_t left) {
        long v = 0;

        if (left < 6 || p[0] != '\\' || p[1] != 'u')
                return -1;
        for (size_t i = 2; i < 6; i++) {
                const char *digits = "0123456789abcdef";
                const char *d = p[i] ? strchr(digits, p[i] >= 'A' && p[i] <= 'F' ? p[i] + 32 : p[i]) : NULL;
                if (!d)
                        return -1;
                v = v * 16 + (d - digits);
        }
        return v;
}

/* One escape at p, which begins with a backslash: writes what YAML takes for it, and says how much was read. */
static size_t escape(const char *p, size_t left, char **out) {
        char *o = *out;
        long high = unicode(p, left), low;

        if (left >= 2 && p[1] == '/') {
                *o++ = '/';
                *out = o;
                return 2;
        }
        if (high < 0xd800 || high > 0xdfff) {
                size_t n = MIN(left, (size_t)2);
                memcpy(o, p, n);
                *out = o + n;
                return n;
        }
        low = left >= 12 ? unicode(p + 6, left - 6) : -1;
        if (high > 0xdbff || low < 0xdc00 || low > 0xdfff) {
                memcpy(o, "\xef\xbf\xbd", 3);
                *out = o + 3;
                return 6;
        }
        uint32_t cp = 0x10000 + (((uint32_t)high - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
        *o++ = (char)(0xf0 | cp >> 18);
        *o++ = (char)(0x80 | (cp >> 12 & 0x3f));
        *o++ = (char)(0x80 | (cp >> 6 & 0x3f));
        *o++ = (char)(0x80 | (cp & 0x3f));
        *out = o;
        return 12;
}

int jsonc_to_yaml(const char *text, size_t len, char **ret, size_t *ret_len) {
        char *buf = malloc(len + 1), *o = buf;
        bool string = false;

        if (!buf)
                return -ENOMEM;
        for (size_t i = 0, n; i < len; i += n) {
                n = 1;
                if (string && text[i] == '\\') {
                        n = escape(text + i, len - i, &o);
                        continue;
                }
                if (text[i] == '"')
                        string = !string;
                /* Not within a word: in YAML that begins with a bracket, the slashes of an address are text. */
                if (!string && (i == 0 || is_blank(text[i - 1]) || strchr(",[]{}\"", text[i - 1]) || o[-1] == ' ') &&
                    comment(text + i, len - i) > 0) {
                        n = comment(text + i, len - i);
                        for (size_t k = 0; k < n; k++)
                                *o++ = text[i + k] == '\n' || text[i + k] == '\r' ? text[i + k] : ' ';
                        continue;
                }
                *o++ = text[i];
        }
        *o = 0;
        *ret = buf;
        *ret_len = (size_t)(o - buf);
        return 0;
}
