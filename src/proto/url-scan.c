/* See url-scan.h. */
#include <string.h>

#include "base/macros.h"
#include "proto/url-scan.h"

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool ends_with(const struct url_scan *s, const char *end) {
        size_t n = strlen(end);
        return memcmp(s->before + sizeof(s->before) - n, end, n) == 0;
}

/* --- what is written otherwise where it stands --- */

static int hex_value(char c) {
        c = lower(c);
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "\/" and "\u0026", of ASCII only; at any other backslash the text ends. Returns the length in dst, which may be src. */
static size_t undo_backslashes(char *dst, const char *src, size_t n) {
        size_t o = 0;

        for (size_t i = 0; i < n; i++) {
                if (src[i] != '\\') {
                        dst[o++] = src[i];
                        continue;
                }
                if (i + 1 < n && src[i + 1] == '/') {
                        dst[o++] = '/';
                        i++;
                        continue;
                }
                int c = 0;
                if (i + 5 >= n || src[i + 1] != 'u')
                        return o;
                for (size_t k = 2; k < 6 && c >= 0; k++)
                        c = hex_value(src[i + k]) < 0 ? -1 : c << 4 | hex_value(src[i + k]);
                if (c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>')
                        return o;
                dst[o++] = (char)c;
                i += 5;
        }
        return o;
}

/* A reference to a character (HTML), of ASCII: its length, 0 where s begins with none; *ret 0: one that no URL has. */
static size_t entity(const char *s, size_t n, char *ret) {
        static const struct {
                const char *name;
                char c;
        } names[] = {{"&amp;", '&'}, {"&quot;", 0}, {"&apos;", 0}, {"&lt;", 0}, {"&gt;", 0}};
        unsigned c = 0;
        size_t i = 2;

        for (size_t k = 0; k < ELEMENTSOF(names); k++)
                if (n >= strlen(names[k].name) && memcmp(s, names[k].name, strlen(names[k].name)) == 0) {
                        *ret = names[k].c;
                        return strlen(names[k].name);
                }
        if (n < 4 || s[0] != '&' || s[1] != '#')
                return 0;
        bool hex = lower(s[2]) == 'x';
        for (i += hex; i < n && i < 9 && s[i] != ';'; i++) {
                int v = hex_value(s[i]);
                if (v < 0 || (!hex && v > 9))
                        return 0;
                c = c * (hex ? 16u : 10u) + (unsigned)v;
        }
        if (i >= n || s[i] != ';' || i == 2u + hex)
                return 0;
        *ret = c <= ' ' || c >= 0x7f || c == '"' || c == '\'' || c == '<' || c == '>' ? 0 : (char)c;
        return i + 1;
}

/* Returns the length in dst; n where there was nothing to undo. */
static size_t undo_entities(char *dst, const char *src, size_t n) {
        size_t o = 0;

        for (size_t i = 0; i < n;) {
                char c = src[i];
                size_t k = c == '&' ? entity(src + i, n - i, &c) : 0;
                if (k > 0 && c == 0)
                        break;
                dst[o++] = c;
                i += k > 0 ? k : 1;
        }
        return o;
}

static void say(struct url_scan *s, const char *text, size_t n) {
        char plain[URL_SCAN_MAX], html[URL_SCAN_MAX];

        n = undo_backslashes(plain, text, n);
        if (n == 0)
                return;
        s->found(s->arg, plain, n);
        size_t k = memchr(plain, '&', n) ? undo_entities(html, plain, n) : n;
        if (k > 0 && k < n)
                s->found(s->arg, html, k);
}

/* --- absolute --- */

static const char trailing[] = ".,;:!?)]}'*_";

static void end_absolute(struct url_scan *s) {
        struct url_scan_take *t = &s->absolute;
        size_t n = t->n;

        if (!t->on)
                return;
        t->on = false;
        if (t->too_long)
                return;
        say(s, t->text, n);
        while (n > 0 && memchr(trailing, t->text[n - 1], sizeof(trailing) - 1))
                n--;
        if (n < t->n)
                say(s, t->text, n);
}

/* Schemes as they are met: the slashes may be escaped. */
static const char *scheme_before(const struct url_scan *s) {
        static const char *const names[] = {"https", "http", "wss", "ws"}, *const urls[] = {"https://", "http://", "wss://", "ws://"};
        static const char *const slashes[] = {"://", ":\\/\\/", ":\\u002f\\u002f"};
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(slashes) && n == 0; i++)
                if (ends_with(s, slashes[i]))
                        n = strlen(slashes[i]);
        for (size_t i = 0; i < ELEMENTSOF(names) && n > 0; i++) {
                size_t k = strlen(names[i]);
                if (memcmp(s->before + sizeof(s->before) - n - k, names[i], k) == 0)
                        return urls[i];
        }
        return NULL;
}

static void add(struct url_scan_take *t, char c) {
        if (t->n < sizeof(t->text))
                t->text[t->n++] = c;
        else
                t->too_long = true;
}

static void read_absolute(struct url_scan *s, char c) {
        struct url_scan_take *t = &s->absolute;
        unsigned char u = (unsigned char)c;

        if (!t->on) {
                const char *scheme = c == '/' || lower(c) == 'f' ? scheme_before(s) : NULL;
                if (!scheme)
                        return;
                t->on = true;
                t->too_long = false;
                t->soft = t->quotes = 0;
                t->n = strlen(scheme);
                memcpy(t->text, scheme, t->n);
                return;
        }
        if (u <= ' ' || u == 0x7f || strchr("\"<>`{|^", c)) {
                end_absolute(s);
                return;
        }
        /* May end it where it stands: in a sentence, in brackets, in a list, between such quotes. */
        unsigned *ends = c == '\'' ? &t->quotes : &t->soft;
        if ((strchr(")]}',", c) || u >= 0x80) && *ends < URL_SCAN_SOFT_MAX && !t->too_long) {
                ++*ends;
                say(s, t->text, t->n);
        }
        add(t, c);
}

/* --- references --- */

static bool behind_attribute(const struct url_scan *s) { return ends_with(s, "href=") || ends_with(s, "src=") || ends_with(s, "action="); }

static void end_reference(struct url_scan *s) {
        struct url_scan_take *t = &s->reference;
        const char *p = t->text;

        if (!t->on)
                return;
        t->on = false;
        if (t->too_long || t->n == 0 || p[0] == '#')
                return;
        bool path = p[0] == '/' || p[0] == '?' || (t->n > 1 && p[0] == '\\' && p[1] == '/') || (t->n > 1 && p[0] == '.' && (p[1] == '/' || p[1] == '.'));
        if (path || s->attribute)
                say(s, p, t->n);
}

static void begin_reference(struct url_scan *s, char quote, bool attribute) {
        s->reference.on = true;
        s->reference.too_long = false;
        s->reference.quote = quote;
        s->reference.n = 0;
        s->attribute = attribute;
}

/* Every quote may begin one, also the one that has ended another: nobody knows here which is which, and a text that is no URL
 * ends soon. s->before does not have c yet. */
static void read_reference(struct url_scan *s, char c) {
        struct url_scan_take *t = &s->reference;
        unsigned char u = (unsigned char)c;
        bool quote = c == '"' || c == '\'';

        if (t->on && t->quote == 0 && t->n == 0 && quote) {
                begin_reference(s, c, true); /* href="... */
                return;
        }
        if (quote) {
                if (t->on && t->quote == c)
                        end_reference(s);
                else
                        t->on = false;
                begin_reference(s, c, ends_with(s, "href=\\") || ends_with(s, "src=\\") || ends_with(s, "action=\\"));
                return;
        }
        if (t->on && (u <= ' ' || u == 0x7f || c == '<' || c == '>')) {
                if (t->quote == 0)
                        end_reference(s);
                t->on = false;
                return;
        }
        if (t->on)
                add(t, c);
}

void url_scan_begin(struct url_scan *s, url_found *found, void *arg) {
        s->found = found;
        s->arg = arg;
        memset(s->before, 0, sizeof(s->before));
        s->absolute.on = s->reference.on = s->attribute = false;
}

/* Bytes at which something can begin while nothing is under way. */
static bool begins(char c) { return c == '"' || c == '\'' || c == '/' || c == '=' || c == 'f' || c == 'F'; }

static void remember(struct url_scan *s, const char *p, size_t n) {
        size_t k = MIN(n, sizeof(s->before));

        memmove(s->before, s->before + k, sizeof(s->before) - k);
        for (size_t i = 0; i < k; i++)
                s->before[sizeof(s->before) - k + i] = lower(p[n - k + i]);
}

void url_scan_read(struct url_scan *s, const char *p, size_t n) {
        for (size_t i = 0; i < n; i++) {
                size_t from = i;
                while (i < n && !s->absolute.on && !s->reference.on && !begins(p[i]))
                        i++;
                remember(s, p + from, i - from);
                if (i == n)
                        break;
                read_reference(s, p[i]);
                remember(s, p + i, 1);
                read_absolute(s, p[i]);
                if (p[i] == '=' && behind_attribute(s))
                        begin_reference(s, 0, true);
        }
}

void url_scan_end(struct url_scan *s) {
        end_absolute(s);
        if (s->reference.on && s->reference.quote == 0)
                end_reference(s);
        s->reference.on = false;
}

void url_scan_text(struct url_scan *s, const char *p, size_t n, url_found *found, void *arg) {
        url_scan_begin(s, found, arg);
        url_scan_read(s, p, n);
        url_scan_end(s);
}
