/* Paths and queries in their canonical form, read and written; see canonical.h. The path is decoded once, split and rid of
 * its dot segments; whatever a server could decode or split otherwise is refused. What is written reads as the same again. */
#include <string.h>

#include "base/utf8.h"
#include "model/canonical-internal.h"

#define refuse(why) canonical_refuse(ret_reason, -EINVAL, why)
#define too_long(why) canonical_refuse(ret_reason, -E2BIG, why)

/* Where decoded bytes go. */
struct out {
        char *p;
        size_t size, at;
};

static int hex_value(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* What a byte is. The last three: it may stand unencoded there (RFC 3986 sections 3.3 and 3.4), for it divides nothing. */
enum {
        BLANK = 1 << 0, /* or a control character */
        CONTROL = 1 << 1,
        FRAGMENT = 1 << 2,
        PERCENT = 1 << 3,
        PLUS = 1 << 4,
        SLASH = 1 << 5,
        BACKSLASH = 1 << 6,
        SEMICOLON = 1 << 7,
        HIGH = 1 << 8, /* outside ASCII */
        IN_PATH = 1 << 9,
        IN_KEY = 1 << 10,
        IN_VALUE = 1 << 11,
        ANYWHERE = IN_PATH | IN_KEY | IN_VALUE,
};
static const uint16_t classes[256] = {
        [0 ... 0x1f] = BLANK | CONTROL, [0x7f] = BLANK | CONTROL, [' '] = BLANK, ['#'] = FRAGMENT, ['%'] = PERCENT,
        ['\\'] = BACKSLASH, [';'] = SEMICOLON, [0x80 ... 0xff] = HIGH,
        ['a' ... 'z'] = ANYWHERE, ['A' ... 'Z'] = ANYWHERE, ['0' ... '9'] = ANYWHERE,
        ['-'] = ANYWHERE, ['.'] = ANYWHERE, ['_'] = ANYWHERE, ['~'] = ANYWHERE, ['!'] = ANYWHERE, ['$'] = ANYWHERE,
        ['\''] = ANYWHERE, ['('] = ANYWHERE, [')'] = ANYWHERE, ['*'] = ANYWHERE, [','] = ANYWHERE, [':'] = ANYWHERE, ['@'] = ANYWHERE,
        ['&'] = IN_PATH, ['+'] = PLUS | IN_PATH, ['='] = IN_PATH | IN_VALUE, ['/'] = SLASH | IN_KEY | IN_VALUE,
        ['?'] = IN_KEY | IN_VALUE,
};
static unsigned class_of(char c) { return classes[(unsigned char)c]; }

/* A text that was decoded, and what it holds. */
struct decoded {
        struct request_text text;
        unsigned holds;
};

/* Percent-decodes s once; `form`: as a query has it, where a plus is a blank. What stands in it raw beyond RFC 3986, UTF-8
 * too, has one reading, and is encoded when it is written. */
static int decode(struct request_text s, bool form, struct out *o, struct decoded *ret, const char **ret_reason) {
        size_t begin = o->at;
        unsigned holds = 0;
        uint32_t cp;

        if (o->size - o->at < s.n) /* it gets no longer */
                return too_long("the target is too long");
        for (size_t i = 0; i < s.n; i++) {
                char c = s.p[i];
                unsigned k = class_of(c);
                if (k & BLANK)
                        return refuse("the target has a blank or a control character: percent-encode it");
                if (k & FRAGMENT)
                        return refuse("the target has a fragment, which is never sent: leave it out");
                if (k & PERCENT) {
                        int high = i + 2 < s.n ? hex_value(s.p[i + 1]) : -1, low = i + 2 < s.n ? hex_value(s.p[i + 2]) : -1;
                        if (high < 0 || low < 0)
                                return refuse("the target has a percent sign without two hexadecimal digits: write it as %25");
                        c = (char)(high << 4 | low);
                        if (c == 0)
                                return refuse("the target has an encoded NUL");
                        k = class_of(c);
                        i += 2;
                } else if (form && k & PLUS) {
                        c = ' ';
                        k = BLANK;
                }
                o->p[o->at++] = c;
                holds |= k;
        }
        *ret = (struct decoded){{o->p + begin, o->at - begin}, holds};
        for (size_t i = 0, n; holds & HIGH && i < ret->text.n; i += n)
                if ((n = utf8_decode(ret->text.p + i, ret->text.n - i, &cp)) == 0)
                        return refuse("the target is not UTF-8 when it is decoded");
        return 0;
}

/* True where decoding again would change it. */
static bool decodes_again(const struct decoded *d) {
        const char *p = d->text.p;

        for (size_t i = 0; d->holds & PERCENT && i + 2 < d->text.n; i++)
                if (p[i] == '%' && hex_value(p[i + 1]) >= 0 && hex_value(p[i + 2]) >= 0)
                        return true;
        return false;
}

static bool is_dots(struct request_text t, size_t n) { return t.n == n && memcmp(t.p, "..", n) == 0; }

static int add_segment(struct request *r, struct request_text t, const char **ret_reason) {
        if (r->n_segments == REQUEST_SEGMENTS_MAX)
                return too_long("the path has too many parts");
        r->segment[r->n_segments++] = t;
        return 0;
}

/* A decoded segment into which an encoded slash came. Servers differ in whether it divides; npm and its like ask for
 * packages with a scope in this form only ("/@scope%2fname"), and every registry has them under "/@scope/name" too, which is
 * how they are read and sent. */
static int add_scoped(struct request *r, struct request_text t, const char **ret_reason) {
        size_t n = 0;

        while (t.p[n] != '/')
                n++;
        struct request_text scope = {t.p, n}, name = {t.p + n + 1, t.n - n - 1};

        if (t.p[0] != '@' || scope.n < 2 || name.n == 0 || memchr(name.p, '/', name.n) || is_dots(name, 1) || is_dots(name, 2))
                return refuse("the path has an encoded slash, which some servers take for a slash and some do not: write a slash, or the "
                              "resource's number in its place");
        int x = add_segment(r, scope, ret_reason);
        return x < 0 ? x : add_segment(r, name, ret_reason);
}

/* One part of the path, as it came. */
static int read_segment(struct request_text raw, bool last, struct out *o, struct request *r, const char **ret_reason) {
        struct decoded d = {};

        int x = decode(raw, false, o, &d, ret_reason);
        if (x < 0)
                return x;
        struct request_text t = d.text;
        if (d.holds & CONTROL)
                return refuse("the path has an encoded control character");
        if (d.holds & BACKSLASH)
                return refuse("the path has a backslash, which some servers take for a slash");
        if (d.holds & SEMICOLON)
                return refuse("the path has a semicolon, behind which some servers see parameters that are not of the path");
        if (decodes_again(&d))
                return refuse("the path is encoded twice, and some servers decode twice");
        if (t.n == 0 && !last)
                return refuse("the path has an empty part (//), which some servers drop");
        if (is_dots(t, 1) || is_dots(t, 2)) { /* RFC 3986 section 5.2.4; "." at the end leaves a slash there */
                if (t.n == 2) {
                        if (r->n_segments == 0)
                                return refuse("the path leads above its root");
                        r->n_segments--;
                }
                return last ? add_segment(r, (struct request_text){"", 0}, ret_reason) : 0;
        }
        return d.holds & SLASH ? add_scoped(r, t, ret_reason) : add_segment(r, t, ret_reason);
}

/* Behind its first slash. */
static int read_path(struct request_text path, struct out *o, struct request *r, const char **ret_reason) {
        for (size_t at = 0; at <= path.n;) {
                const char *begin = path.p + at, *slash = path.n > at ? memchr(begin, '/', path.n - at) : NULL;
                size_t n = slash ? (size_t)(slash - begin) : path.n - at;
                int x = read_segment((struct request_text){begin, n}, !slash, o, r, ret_reason);
                if (x < 0)
                        return x;
                at += n + 1;
        }
        return 0;
}

static int read_pair(struct request_text raw, struct out *o, struct request *r, const char **ret_reason) {
        const char *equals = memchr(raw.p, '=', raw.n);
        struct request_text key = {raw.p, equals ? (size_t)(equals - raw.p) : raw.n}, value = {"", 0};
        struct decoded k = {}, v = {};

        int x = decode(key, true, o, &k, ret_reason);
        if (x == 0 && equals)
                value = (struct request_text){equals + 1, raw.n - key.n - 1};
        if (x == 0)
                x = decode(value, true, o, &v, ret_reason);
        if (x < 0)
                return x;
        if (k.holds & CONTROL)
                return refuse("the query has a key with an encoded control character");
        if (decodes_again(&k))
                return refuse("the query has a key that is encoded twice, and some servers decode twice");
        if (r->n_query == REQUEST_QUERY_MAX)
                return too_long("the query has too many keys");
        r->query[r->n_query++] = (struct request_query){k.text, v.text, equals != NULL};
        return 0;
}

/* Behind its question mark. */
static int read_query(struct request_text query, struct out *o, struct request *r, const char **ret_reason) {
        if (query.n > 0 && memchr(query.p, ';', query.n))
                return refuse("the query has a semicolon, at which some servers divide it: write it as %3B");
        for (size_t at = 0; at < query.n;) {
                const char *begin = query.p + at, *and = memchr(begin, '&', query.n - at);
                size_t n = and ? (size_t)(and - begin) : query.n - at;
                if (n > 0) {
                        int x = read_pair((struct request_text){begin, n}, o, r, ret_reason);
                        if (x < 0)
                                return x;
                }
                at += n + 1;
        }
        return 0;
}

/* Where p is NULL, it only counts. */
static void put(struct out *o, char c) {
        if (o->p && o->at < o->size)
                o->p[o->at] = c;
        o->at++;
}

static void put_text(struct out *o, struct request_text t, unsigned place) {
        static const char digits[] = "0123456789ABCDEF";

        for (size_t i = 0; i < t.n; i++) {
                unsigned char c = (unsigned char)t.p[i];
                if (classes[c] & place) {
                        put(o, (char)c);
                        continue;
                }
                put(o, '%');
                put(o, digits[c >> 4]);
                put(o, digits[c & 15]);
        }
}

static void write_target(const struct request *r, struct out *o) {
        if (r->n_segments == 0)
                put(o, '*');
        for (size_t i = 0; i < r->n_segments; i++) {
                put(o, '/');
                put_text(o, r->segment[i], IN_PATH);
        }
        for (size_t i = 0; i < r->n_query; i++) {
                put(o, i == 0 ? '?' : '&');
                put_text(o, r->query[i].key, IN_KEY);
                if (r->query[i].has_value) {
                        put(o, '=');
                        put_text(o, r->query[i].value, IN_VALUE);
                }
        }
}

ssize_t canonical_write_target(const struct request *r, char *buf, size_t size) {
        struct out o = {buf, size, 0};

        write_target(r, &o);
        return o.at > size ? -ENOBUFS : (ssize_t)o.at;
}

void canonical_clear_target(struct request *r) {
        r->n_segments = r->n_query = r->target_bytes = 0;
}

static int read_parts(struct request_text t, struct out *o, struct request *r, const char **ret_reason) {
        const char *mark = t.n > 0 ? memchr(t.p, '?', t.n) : NULL;
        struct request_text path = {t.p, mark ? (size_t)(mark - t.p) : t.n}, query = {"", 0};

        if (t.n > REQUEST_TARGET_MAX)
                return too_long("the target is too long");
        if (mark)
                query = (struct request_text){mark + 1, t.n - path.n - 1};
        if (path.n > 0) { /* the slash, which every caller has seen */
                path.p++;
                path.n--;
        }
        int x = read_path(path, o, r, ret_reason);
        if (x == 0)
                x = read_query(query, o, r, ret_reason);
        if (x < 0)
                return x;
        struct out count = {};
        write_target(r, &count);
        if (count.at > REQUEST_TARGET_MAX)
                return too_long("the target is too long when it is encoded");
        r->target_bytes = count.at;
        return 0;
}

int canonical_read_target(struct request_text t, char *buf, size_t size, struct request *r, const char **ret_reason) {
        struct out o = {buf, size, 0};

        canonical_clear_target(r);
        int x = read_parts(t, &o, r, ret_reason);
        if (x < 0)
                canonical_clear_target(r);
        return x;
}

int canonical_target(const char *s, size_t n, char *buf, size_t size, struct request *r, const char **ret_reason) {
        canonical_clear_target(r);
        if (n == 1 && s[0] == '*') {
                r->target_bytes = 1;
                return 0;
        }
        if (n == 0 || s[0] != '/')
                return refuse("the target does not begin with a slash");
        return canonical_read_target((struct request_text){s, n}, buf, size, r, ret_reason);
}
