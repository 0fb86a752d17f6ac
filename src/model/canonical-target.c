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

/* A byte that never stands in a target as it is. What is left beyond RFC 3986, raw UTF-8 too, has one reading and is encoded
 * when it is written. */
static const char *bad_raw(unsigned char c) {
        if (c <= 0x20 || c == 0x7f)
                return "the target has a blank or a control character: percent-encode it";
        return c == '#' ? "the target has a fragment, which is never sent: leave it out" : NULL;
}

/* Percent-decodes s once; `form`: as a query has it, where a plus is a blank. */
static int decode(struct request_text s, bool form, struct out *o, struct request_text *ret, const char **ret_reason) {
        size_t begin = o->at;
        uint32_t cp;

        for (size_t i = 0; i < s.n; i++) {
                char c = s.p[i];
                const char *why = bad_raw((unsigned char)c);
                if (why)
                        return refuse(why);
                if (c == '+' && form)
                        c = ' ';
                else if (c == '%') {
                        int high = i + 2 < s.n ? hex_value(s.p[i + 1]) : -1, low = i + 2 < s.n ? hex_value(s.p[i + 2]) : -1;
                        if (high < 0 || low < 0)
                                return refuse("the target has a percent sign without two hexadecimal digits: write it as %25");
                        c = (char)(high << 4 | low);
                        i += 2;
                }
                if (c == 0)
                        return refuse("the target has an encoded NUL");
                if (o->at == o->size)
                        return too_long("the target is too long");
                o->p[o->at++] = c;
        }
        *ret = (struct request_text){o->p + begin, o->at - begin};
        for (size_t i = 0, n; i < ret->n; i += n)
                if ((n = utf8_decode(ret->p + i, ret->n - i, &cp)) == 0)
                        return refuse("the target is not UTF-8 when it is decoded");
        return 0;
}

/* True where decoding again would change it. */
static bool decodes_again(struct request_text t) {
        for (size_t i = 0; i + 2 < t.n; i++)
                if (t.p[i] == '%' && hex_value(t.p[i + 1]) >= 0 && hex_value(t.p[i + 2]) >= 0)
                        return true;
        return false;
}

static bool has_control(struct request_text t) {
        for (size_t i = 0; i < t.n; i++)
                if ((unsigned char)t.p[i] < 0x20 || t.p[i] == 0x7f)
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
static int add_scoped(struct request *r, struct request_text t, const char *slash, const char **ret_reason) {
        struct request_text scope = {t.p, (size_t)(slash - t.p)}, name = {slash + 1, t.n - scope.n - 1};

        if (t.p[0] != '@' || scope.n < 2 || name.n == 0 || memchr(name.p, '/', name.n) || is_dots(name, 1) || is_dots(name, 2))
                return refuse("the path has an encoded slash, which some servers take for a slash and some do not: write a slash, or the "
                              "resource's number in its place");
        int x = add_segment(r, scope, ret_reason);
        return x < 0 ? x : add_segment(r, name, ret_reason);
}

/* One part of the path, as it came. */
static int read_segment(struct request_text raw, bool last, struct out *o, struct request *r, const char **ret_reason) {
        struct request_text t;

        int x = decode(raw, false, o, &t, ret_reason);
        if (x < 0)
                return x;
        if (has_control(t))
                return refuse("the path has an encoded control character");
        if (t.n > 0 && memchr(t.p, '\\', t.n))
                return refuse("the path has a backslash, which some servers take for a slash");
        if (t.n > 0 && memchr(t.p, ';', t.n))
                return refuse("the path has a semicolon, behind which some servers see parameters that are not of the path");
        if (decodes_again(t))
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
        const char *slash = t.n > 0 ? memchr(t.p, '/', t.n) : NULL;
        return slash ? add_scoped(r, t, slash, ret_reason) : add_segment(r, t, ret_reason);
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
        struct request_query q = {.has_value = equals};

        int x = decode(key, true, o, &q.key, ret_reason);
        if (x == 0 && equals)
                value = (struct request_text){equals + 1, raw.n - key.n - 1};
        if (x == 0)
                x = decode(value, true, o, &q.value, ret_reason);
        if (x < 0)
                return x;
        if (has_control(q.key))
                return refuse("the query has a key with an encoded control character");
        if (decodes_again(q.key))
                return refuse("the query has a key that is encoded twice, and some servers decode twice");
        if (r->n_query == REQUEST_QUERY_MAX)
                return too_long("the query has too many keys");
        r->query[r->n_query++] = q;
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

/* What may stand unencoded (RFC 3986 section 3.3 and 3.4), without what divides or means something there. */
enum place { IN_PATH, IN_KEY, IN_VALUE };

static bool stands(char c, enum place place) {
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
                return true;
        static const char *const others[] = {
                [IN_PATH] = "-._~!$&'()*+,=:@", [IN_KEY] = "-._~!$'()*,:@/?", [IN_VALUE] = "-._~!$'()*,=:@/?",
        };
        return c != 0 && strchr(others[place], c);
}

/* Where p is NULL, it only counts. */
static void put(struct out *o, char c) {
        if (o->p && o->at < o->size)
                o->p[o->at] = c;
        o->at++;
}

static void put_text(struct out *o, struct request_text t, enum place place) {
        static const char digits[] = "0123456789ABCDEF";

        for (size_t i = 0; i < t.n; i++) {
                unsigned char c = (unsigned char)t.p[i];
                if (stands((char)c, place)) {
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
