/* See base64.h. */
#include <string.h>

#include "base/base64.h"
#include "base/macros.h"

size_t base64_encode(const void *data, size_t n, char *ret) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const uint8_t *p = (const uint8_t *)data;
        char *o = ret;

        for (size_t i = 0; i < n; i += 3) {
                const bool two = i + 1 < n, three = i + 2 < n;
                const uint32_t v = (uint32_t)p[i] << 16 | (two ? (uint32_t)p[i + 1] << 8 : 0) | (three ? p[i + 2] : 0);
                *o++ = digits[v >> 18];
                *o++ = digits[v >> 12 & 63];
                *o++ = two ? digits[v >> 6 & 63] : '=';
                *o++ = three ? digits[v & 63] : '=';
        }
        return (size_t)(o - ret);
}

int base64_value(char c) {
        if (c >= 'A' && c <= 'Z')
                return c - 'A';
        if (c >= 'a' && c <= 'z')
                return c - 'a' + 26;
        if (c >= '0' && c <= '9')
                return c - '0' + 52;
        return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* lines: blanks and line ends between digits are passed over, and the second alphabet is none. */
static ssize_t decode(const char *s, size_t n, bool lines, char *ret, size_t size) {
        uint32_t bits = 0;
        unsigned n_bits = 0;
        size_t done = 0;

        for (size_t i = 0; i < n; i++) {
                int v = base64_value(s[i]);
                if (lines && (s[i] == '\n' || s[i] == '\r' || s[i] == ' ' || s[i] == '\t'))
                        continue;
                if (v < 0 || (lines && (s[i] == '-' || s[i] == '_')))
                        return -EINVAL;
                bits = bits << 6 | (uint32_t)v;
                n_bits += 6;
                if (n_bits < 8)
                        continue;
                n_bits -= 8;
                if (done == size)
                        return -ENOBUFS;
                ret[done++] = (char)(bits >> n_bits);
        }
        return (ssize_t)done;
}

ssize_t base64_decode(const char *s, size_t n, char *ret, size_t size) {
        while (n > 0 && s[n - 1] == '=')
                n--;
        return decode(s, n, false, ret, size);
}

ssize_t base64_decode_lines(const char *s, size_t n, char *ret, size_t size) {
        const char *padding = memchr(s, '=', n);
        return decode(s, padding ? (size_t)(padding - s) : n, true, ret, size);
}
