/* Strings, growing buffers, lists and the small number formats of policies; see str.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

/* Unicode TR 36, "Trojan Source". */
bool str_deceptive(uint32_t cp) {
        return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0xad || cp == 0x61c || (cp >= 0x200b && cp <= 0x200f) ||
               (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2060 && cp <= 0x206f) || cp == 0xfeff ||
               (cp >= 0xfff0 && cp <= 0xfffb) || (cp >= 0xe0000 && cp <= 0xe0fff);
}

void str_visible(char *dst, size_t size, const char *s) {
        size_t o = 0;

        if (size == 0)
                return;
        for (const char *p = s, *end = s + strlen(s); p < end;) {
                char piece[20];
                uint32_t cp = 0;
                size_t n = utf8_decode(p, (size_t)(end - p), &cp), m;

                if (n > 0 && !str_deceptive(cp) && cp != '\\') {
                        memcpy(piece, p, n);
                        m = n;
                } else if (cp == '\\' && n == 1) {
                        memcpy(piece, "\\\\", 2);
                        m = 2;
                } else {
                        if (n == 0)
                                n = 1;
                        m = 0;
                        for (size_t i = 0; i < n; i++)
                                m += (size_t)snprintf(piece + m, sizeof(piece) - m, "\\x%02x", (unsigned char)p[i]);
                }
                if (o + m + 1 > size)
                        break;
                memcpy(dst + o, piece, m);
                o += m;
                p += n;
        }
        dst[o] = 0;
}

char *str_visible_dup(const char *s) {
        size_t size = strlen(s) * 4 + 1;
        char *d = malloc(size);
        if (d)
                str_visible(d, size, s);
        return d;
}

void strbuf_clear(struct strbuf *b) {
        free(b->data);
        b->data = NULL;
        b->len = b->cap = 0;
        b->failed = false;
}

void strbuf_reset(struct strbuf *b) {
        b->len = 0;
        b->failed = false;
}

void strbuf_add(struct strbuf *b, const void *data, size_t n) {
        size_t max = b->max ? b->max : 64u << 20;

        if (b->failed)
                return;
        if (n > max || b->len > max - n) {
                b->failed = true;
                return;
        }
        if (b->len + n + 1 > b->cap) {
                size_t cap = MAX(b->cap * 2, b->len + n + 1);
                char *p = realloc(b->data, MAX(cap, 64u));
                if (!p) {
                        b->failed = true;
                        return;
                }
                b->data = p;
                b->cap = MAX(cap, 64u);
        }
        /* Most pieces are a few bytes, for which a loop beats the start-up of musl's memcpy by far. */
        if (n <= 16)
                for (size_t i = 0; i < n; i++)
                        b->data[b->len + i] = ((const char *)data)[i];
        else
                memcpy(b->data + b->len, data, n);
        b->len += n;
        b->data[b->len] = 0;
}

void strbuf_puts(struct strbuf *b, const char *s) { strbuf_add(b, s, strlen(s)); }

void strbuf_printf(struct strbuf *b, const char *fmt, ...) {
        char *s = NULL;
        va_list ap;
        va_start(ap, fmt);
        int n = vasprintf(&s, fmt, ap);
        va_end(ap);
        if (n < 0) {
                b->failed = true;
                return;
        }
        strbuf_add(b, s, (size_t)n);
        free(s);
}

char *strbuf_take(struct strbuf *b) {
        strbuf_add(b, "", 0);
        if (b->failed) {
                strbuf_clear(b);
                return NULL;
        }
        char *s = TAKE_PTR(b->data);
        b->len = b->cap = 0;
        return s;
}

void strlist_clear(struct strlist *l) {
        for (size_t i = 0; i < l->n; i++)
                free(l->items[i]);
        free(l->items);
        *l = (struct strlist){};
}

static int strlist_take(struct strlist *l, char *s) {
        if (!s)
                return -ENOMEM;
        if (l->n + 2 > l->cap) {
                size_t cap = MAX(l->cap * 2, 8u);
                char **p = reallocarray(l->items, cap, sizeof(*p));
                if (!p) {
                        free(s);
                        return -ENOMEM;
                }
                l->items = p;
                l->cap = cap;
        }
        l->items[l->n++] = s;
        l->items[l->n] = NULL;
        return 0;
}

int strlist_add(struct strlist *l, const char *s) { return strlist_take(l, strdup(s)); }

int strlist_addf(struct strlist *l, const char *fmt, ...) {
        char *s = NULL;
        va_list ap;
        va_start(ap, fmt);
        int n = vasprintf(&s, fmt, ap);
        va_end(ap);
        return strlist_take(l, n < 0 ? NULL : s);
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

void strlist_sort(struct strlist *l) {
        if (l->n > 1)
                qsort(l->items, l->n, sizeof(*l->items), by_bytes);
}

bool strlist_has(const struct strlist *l, const char *s) {
        for (size_t i = 0; i < l->n; i++)
                if (streq(l->items[i], s))
                        return true;
        return false;
}

char *str_printf(const char *fmt, ...) {
        char *s = NULL;
        va_list ap;
        va_start(ap, fmt);
        int n = vasprintf(&s, fmt, ap);
        va_end(ap);
        return n < 0 ? NULL : s;
}

char *path_clean(const char *path) {
        char *d = malloc(strlen(path) + 2), *o = d;

        if (!d)
                return NULL;
        if (path[0] == '/')
                *o++ = '/';
        for (const char *p = path; *p;) {
                size_t n;
                while (*p == '/')
                        p++;
                n = strcspn(p, "/");
                if (n == 0)
                        break;
                if (!(n == 1 && p[0] == '.')) {
                        if (o > d && o[-1] != '/')
                                *o++ = '/';
                        memcpy(o, p, n);
                        o += n;
                }
                p += n;
        }
        if (o == d)
                *o++ = '.';
        *o = 0;
        return d;
}

bool path_beneath(const char *path, const char *root) {
        size_t n = strlen(root);
        if (streq(root, "/"))
                return path[0] == '/';
        return strncmp(path, root, n) == 0 && (path[n] == 0 || path[n] == '/');
}

bool path_has_dotdot(const char *path) {
        for (const char *p = path; *p;) {
                size_t n = strcspn(p, "/");
                if (n == 2 && p[0] == '.' && p[1] == '.')
                        return true;
                p += n;
                while (*p == '/')
                        p++;
        }
        return false;
}

int parse_u64(const char *s, uint64_t *ret) {
        uint64_t v = 0;

        if (!*s)
                return -EINVAL;
        for (; *s; s++) {
                if (!isdigit((unsigned char)*s))
                        return -EINVAL;
                if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (unsigned)(*s - '0'), &v))
                        return -ERANGE;
        }
        *ret = v;
        return 0;
}

/* Digits with at most six decimals; *ret_micro is the value times 10^6. */
static int parse_decimal(const char **s, unsigned __int128 *ret_micro) {
        const char *p = *s;
        uint64_t whole = 0, unit = 1000000, fraction = 0;

        if (!isdigit((unsigned char)*p))
                return -EINVAL;
        for (; isdigit((unsigned char)*p); p++)
                if (__builtin_mul_overflow(whole, 10u, &whole) || __builtin_add_overflow(whole, (unsigned)(*p - '0'), &whole))
                        return -ERANGE;
        if (*p == '.') {
                p++;
                if (!isdigit((unsigned char)*p))
                        return -EINVAL;
                for (; isdigit((unsigned char)*p); p++) {
                        unit /= 10;
                        if (unit == 0)
                                return -EINVAL;
                        fraction += unit * (unsigned)(*p - '0');
                }
        }
        *s = p;
        *ret_micro = (unsigned __int128)whole * 1000000 + fraction;
        return 0;
}

int parse_size(const char *s, uint64_t *ret) {
        static const struct { const char *name; unsigned shift; } units[] = {
                {"", 0}, {"B", 0}, {"K", 10}, {"KiB", 10}, {"M", 20}, {"MiB", 20},
                {"G", 30}, {"GiB", 30}, {"T", 40}, {"TiB", 40},
        };
        unsigned __int128 micro;
        int r = parse_decimal(&s, &micro);
        if (r < 0)
                return r;
        while (*s == ' ')
                s++;
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                if (strcasecmp(s, units[i].name) != 0)
                        continue;
                /* micro is below 2^84 and the shift at most 40: no overflow. */
                unsigned __int128 v = (micro << units[i].shift) / 1000000;
                if (v > UINT64_MAX / 2)
                        return -ERANGE;
                *ret = (uint64_t)v;
                return 0;
        }
        return -EINVAL;
}

int parse_duration(const char *s, uint64_t *ret_ms) {
        static const struct { const char *name; uint64_t ms; } units[] = {
                {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000},
        };
        unsigned __int128 total = 0;

        for (bool first = true;; first = false) {
                unsigned __int128 micro;
                uint64_t unit = 0;
                int r = parse_decimal(&s, &micro);
                if (r < 0)
                        return r;
                size_t n = 0;
                while (isalpha((unsigned char)s[n]))
                        n++;
                if (n == 0 && *s == 0 && first)
                        unit = 1000;
                for (size_t i = 0; n && i < ELEMENTSOF(units); i++)
                        if (strlen(units[i].name) == n && strncmp(s, units[i].name, n) == 0)
                                unit = units[i].ms;
                if (unit == 0)
                        return -EINVAL;
                total += micro * unit / 1000000;
                if (total > UINT64_MAX / 1000000)
                        return -ERANGE;
                s += n;
                if (!*s)
                        break;
        }
        *ret_ms = (uint64_t)total;
        return 0;
}

char *format_size(char *dst, size_t size, uint64_t bytes) {
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
        size_t u = 0;
        double v = (double)bytes;

        while (v >= 1024 && u + 1 < ELEMENTSOF(units)) {
                v /= 1024;
                u++;
        }
        if (u == 0 || v == (double)(uint64_t)v)
                snprintf(dst, size, "%llu %s", (unsigned long long)v, units[u]);
        else
                snprintf(dst, size, "%.1f %s", v, units[u]);
        return dst;
}

char *format_duration(char *dst, size_t size, uint64_t ms) {
        unsigned long long s = ms / 1000;

        if (ms < 1000)
                snprintf(dst, size, "%llums", (unsigned long long)ms);
        else if (s < 60 && ms % 1000)
                snprintf(dst, size, "%llu.%01llus", s, (unsigned long long)(ms % 1000) / 100);
        else if (s < 60)
                snprintf(dst, size, "%llus", s);
        else if (s < 3600)
                snprintf(dst, size, s % 60 ? "%llum %llus" : "%llum", s / 60, s % 60);
        else
                snprintf(dst, size, s % 3600 / 60 ? "%lluh %llum" : "%lluh", s / 3600, s % 3600 / 60);
        return dst;
}
