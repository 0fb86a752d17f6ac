/* Reader of /proc/PID/mountinfo; see mountinfo.h. The file has no fixed number of columns:
 *     36 35 98:0 /root /target rw,noatime master:1 - ext3 /dev/root rw,errors=continue
 * optional fields stand before the lone "-". Blanks and backslashes in names come as \ooo. */
#include <stdint.h>
#include <string.h>

#include "base/mountinfo.h"
#include "base/str.h"

static bool is_octal(char c) { return c >= '0' && c <= '7'; }

/* In place. A backslash that three octal digits do not follow stays as it is. -EBADMSG for an escaped NUL or a
 * value beyond a byte, which would make the name another one. */
static int unescape(char *s) {
        char *out = s;
        while (*s) {
                if (s[0] == '\\' && is_octal(s[1]) && is_octal(s[2]) && is_octal(s[3])) {
                        int v = (s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0');
                        if (v == 0 || v > 255)
                                return -EBADMSG;
                        *out++ = (char)v;
                        s += 4;
                } else
                        *out++ = *s++;
        }
        *out = 0;
        return 0;
}

/* The next word up to one blank; the word may be empty (a mount whose source is ""). NULL at the line's end. */
static char *next_word(char **p) {
        char *s = *p;
        if (!s)
                return NULL;
        char *blank = strchr(s, ' ');
        if (blank)
                *blank++ = 0;
        *p = blank;
        return s;
}

/* Decimal digits up to `end`; leaves *p behind that character. */
static int number(char **p, char end, unsigned long long max, unsigned long long *ret) {
        unsigned long long v = 0;
        char *s = *p;
        if (*s < '0' || *s > '9')
                return -EBADMSG;
        for (; *s >= '0' && *s <= '9'; s++) {
                unsigned digit = (unsigned)(*s - '0');
                if (v > (max - digit) / 10)
                        return -EBADMSG;
                v = v * 10 + digit;
        }
        if (*s != end)
                return -EBADMSG;
        *p = end ? s + 1 : s;
        *ret = v;
        return 0;
}

static int parse_line(char *line, struct mountinfo *m) {
        unsigned long long major, minor;
        char *p = line;
        int r;

        if ((r = number(&p, ' ', INT64_MAX, &m->id)) < 0 || (r = number(&p, ' ', INT64_MAX, &m->parent)) < 0 ||
            (r = number(&p, ':', UINT32_MAX, &major)) < 0 || (r = number(&p, ' ', UINT32_MAX, &minor)) < 0)
                return r;
        m->major = (unsigned)major;
        m->minor = (unsigned)minor;
        char *root = next_word(&p), *target = next_word(&p), *options = next_word(&p);
        if (!root || !target || !options || !p || *target != '/' || !*root || !*options)
                return -EBADMSG;

        /* The optional fields: everything before the word that is just "-". */
        char *fields = p;
        for (;;) {
                char *start = p, *word = next_word(&p);
                if (!word || !p)
                        return -EBADMSG;
                if (streq(word, "-")) {
                        if (start == fields)
                                fields = start + 1; /* the NUL behind the "-": none */
                        else
                                start[-1] = 0;
                        break;
                }
                p[-1] = ' ';
        }
        char *fstype = next_word(&p), *source = next_word(&p), *super = p;
        if (!fstype || !*fstype || !source || !super)
                return -EBADMSG;
        if ((r = unescape(root)) < 0 || (r = unescape(target)) < 0 || (r = unescape(options)) < 0 ||
            (r = unescape(fstype)) < 0 || (r = unescape(source)) < 0 || (r = unescape(super)) < 0)
                return r;
        m->root = root;
        m->target = target;
        m->options = options;
        m->fields = fields;
        m->fstype = fstype;
        m->source = source;
        m->super = super;
        return 0;
}

int mountinfo_parse(const char *text, struct mountinfo **ret, size_t *n) {
        size_t len = strlen(text), lines = 0, k = 0;

        for (const char *s = text; *s; s++)
                lines += *s == '\n' || !s[1];
        if (lines > MOUNTINFO_MAX)
                return -E2BIG;
        _cleanup_free_ struct mountinfo *m = malloc(lines * sizeof(*m) + len + 1);
        if (!m)
                return -ENOMEM;
        char *line = (char *)(m + lines);
        memcpy(line, text, len + 1);
        while (*line) {
                char *end = strchr(line, '\n'), *next;
                if (end) {
                        *end = 0;
                        next = end + 1;
                } else
                        next = line + strlen(line);
                int r = parse_line(line, &m[k]);
                if (r < 0)
                        return r;
                k++;
                line = next;
        }
        *ret = TAKE_PTR(m);
        *n = k;
        return 0;
}

bool mountinfo_has_option(const char *options, const char *option) {
        size_t n = strlen(option);
        for (const char *s = options; s; s = strchr(s, ',')) {
                s += *s == ',';
                if (strncmp(s, option, n) == 0 && (s[n] == ',' || s[n] == 0))
                        return n > 0;
        }
        return false;
}

const struct mountinfo *mountinfo_of_path(const struct mountinfo *m, size_t n, const char *path) {
        const struct mountinfo *best = NULL;
        for (size_t i = 0; i < n; i++)
                if (path_beneath(path, m[i].target) && (!best || strlen(m[i].target) >= strlen(best->target)))
                        best = &m[i];
        return best;
}
