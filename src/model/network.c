/* The parts of a network rule, from text, and what they have to be to each other; see network.h. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "model/canonical.h"
#include "model/network-route.h"
#include "model/provenance.h"

const char *const network_shape_names[] = {
        "sql-injection", "traversal", "command-injection", "script-injection", NULL};
const char *const network_protocol_names[] = {"tcp", "tls", "http", "https", NULL};

/* Common requests stay far below; what is above carries something. */
#define HEADERS_DEFAULT 64u
#define HEADER_BYTES_DEFAULT 16384u

#define BRIEF 72

static const char *brief(char dst[BRIEF], const char *s) {
        size_t len = strlen(s), n = utf8_cut(s, len, BRIEF - 4);

        memcpy(dst, s, n);
        memcpy(dst + n, n < len ? "..." : "", n < len ? 4 : 1);
        return dst;
}

static int out_of_memory(struct error *e) { return error_set(e, ENOMEM, "out of memory"); }

/* Room for one more in an array that doubles. */
static void *grow(void *array, size_t n, size_t size) {
        if (n && n & (n - 1))
                return array;
        return reallocarray(array, n ? n * 2 : 1, size);
}

void network_rule_clear(struct network_rule *r) {
        free(r->host);
        free(r->ports);
        strlist_clear(&r->methods);
        strlist_clear(&r->paths);
        for (size_t i = 0; i < r->n_query; i++) {
                free(r->query[i].key);
                free(r->query[i].value);
        }
        free(r->query);
        free(r->addresses);
        free(r->secret);
        free(r->to);
        strlist_clear(&r->models);
        free(r->preset);
        *r = (struct network_rule){};
}

void network_clear(struct network *n) {
        for (size_t i = 0; i < n->n_rules; i++)
                network_rule_clear(&n->rules[i]);
        free(n->rules);
        free(n->budgets);
        free(n->source);
        strlist_clear(&n->given);
        for (size_t i = 0; i < n->n_secrets; i++)
                secret_clear(&n->secrets[i]);
        free(n->secrets);
        *n = (struct network){};
}

/* Ranges */

bool network_range_within(const struct address_range *inner, const struct address_range *outer) {
        struct request_address first;

        memcpy(first.byte, inner->byte, sizeof(first.byte));
        return inner->bits >= outer->bits && address_range_has(outer, &first);
}

char *network_range_text(const struct address_range *r) {
        char text[ADDRESS_TEXT_MAX];
        struct request_address a;

        memcpy(a.byte, r->byte, sizeof(a.byte));
        address_format(&a, text);
        if (r->bits == 128)
                return strdup(text);
        return str_printf("%s/%u", text, r->bits - (address_is_ipv4(&a) && r->bits >= 96 ? 96u : 0u));
}

int network_range_parse(const char *text, struct address_range *ret, struct error *e) {
        char b[BRIEF];
        struct address_range r = {};
        int x = address_range_parse(text, strlen(text), &r);

        if (x == 0) {
                *ret = r;
                return 0;
        }
        if (x != -ERANGE) {
                error_set(e, EINVAL, "\"%s\" is not an address or a range of addresses", brief(b, text));
                return error_fix(e, "write it like 10.0.0.0/8, 192.0.2.1 or 2001:db8::/32");
        }
        _cleanup_free_ char *proper = network_range_text(&r);
        error_set(e, EINVAL, "\"%s\" does not begin where a range of that size does", brief(b, text));
        return error_fix(e, "write %s", proper ?: "its first address");
}

/* Host and port */

char *network_host_text(const struct network_rule *r) {
        switch (r->kind) {
        case NETWORK_ONE:
                return str_printf("*.%s", r->host);
        case NETWORK_ANY:
                return r->host[0] ? str_printf("**.%s", r->host) : strdup("**");
        default:
                return strdup(r->host);
        }
}

static int keep_range(struct network_rule *r, const struct address_range *range, struct error *e) {
        char *text = network_range_text(range);

        if (!text)
                return out_of_memory(e);
        free(r->host);
        r->host = text;
        r->kind = NETWORK_ADDRESS;
        r->range = *range;
        return 0;
}

static int not_a_host(struct error *e, const char *text, const char *why) {
        char b[BRIEF];
        return error_set(e, EINVAL, "the host \"%s\": %s", brief(b, text), why);
}

int network_set_host(struct network_rule *r, const char *text, struct error *e) {
        char buf[REQUEST_HOST_MAX + 1];
        struct request q = {};
        const char *why = NULL, *name = text;
        enum network_host kind = NETWORK_EXACT;
        struct address_range range = {};
        int x;

        if (strstr(text, "://")) {
                not_a_host(e, text, "it is a URL");
                return error_fix(e, "write the name alone, with protocol, port and paths as keys of the rule");
        }
        if (streq(text, "*")) {
                not_a_host(e, text, "* is one label");
                return error_fix(e, "write \"**\" for every name there is");
        }
        if (streq(text, "**")) {
                char *empty = strdup("");
                if (!empty)
                        return out_of_memory(e);
                free(r->host);
                r->host = empty;
                r->kind = NETWORK_ANY;
                return 0;
        }
        if ((name = str_after(text, "**.")))
                kind = NETWORK_ANY;
        else if ((name = str_after(text, "*.")))
                kind = NETWORK_ONE;
        else
                name = text;
        if (strchr(name, '*')) {
                not_a_host(e, text, "a wildcard stands for whole labels in front of a name");
                return error_fix(e, "write *.NAME for one label, **.NAME for any number of them");
        }
        if (strchr(name, '/')) {
                if ((x = network_range_parse(text, &range, e)) < 0)
                        return x;
                return keep_range(r, &range, e);
        }
        if (canonical_host(name, strlen(name), buf, &q, &why) < 0)
                return not_a_host(e, text, why ?: "it has no canonical form");
        if (q.is_address) {
                if (kind != NETWORK_EXACT)
                        return not_a_host(e, text, "an address has no wildcards");
                range = (struct address_range){.bits = 128};
                memcpy(range.byte, q.address.byte, 16);
                return keep_range(r, &range, e);
        }
        char *copy = strndup(q.host.p, q.host.n);
        if (!copy)
                return out_of_memory(e);
        free(r->host);
        r->host = copy;
        r->kind = kind;
        return 0;
}

int network_add_port(struct network_rule *r, const char *text, struct error *e) {
        char b[BRIEF];
        const char *dash = strchr(text, '-');
        struct network_ports p, *ports;

        if (canonical_port(text, dash ? (size_t)(dash - text) : strlen(text), &p.first) < 0)
                goto bad;
        p.last = p.first;
        if (dash && (canonical_port(dash + 1, strlen(dash + 1), &p.last) < 0 || p.last < p.first))
                goto bad;
        if (r->n_ports >= NETWORK_PORTS_MAX)
                return error_set(e, E2BIG, "more than %u ports and ranges of ports", NETWORK_PORTS_MAX);
        ports = grow(r->ports, r->n_ports, sizeof(*ports));
        if (!ports)
                return out_of_memory(e);
        r->ports = ports;
        ports[r->n_ports++] = p;
        return 0;
bad:
        error_set(e, EINVAL, "\"%s\" is not a port", brief(b, text));
        return error_fix(e, "write a number from 1 to 65535, or two with a dash between: 8000-8010");
}

/* Paths, queries and patterns */

static int hex(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The pattern in the form that network_glob reads: escapes undone, but for those of the star and of the percent sign
 * itself. Segments and stars are counted by the caller. NULL and *ret_why where it has none. */
static char *pattern_clean(const char *s, bool path, const char **ret_why) {
        _cleanup_strbuf_ struct strbuf b = {};
        size_t stars = 0;

        for (; *s; s++) {
                char c = *s;
                if (c == '%') {
                        int high = hex(s[1]), low = high < 0 ? -1 : hex(s[2]);
                        if (low < 0) {
                                *ret_why = "a percent sign begins an escape of two hexadecimal digits: write %25 for the sign "
                                           "itself";
                                return NULL;
                        }
                        c = (char)(high << 4 | low);
                        s += 2;
                        if (path && (c == '/' || c == '\\')) {
                                *ret_why = "it has an encoded slash or backslash, and what is held against it has none: write a slash";
                                return NULL;
                        }
                        if (c == '*' || c == '%') {
                                strbuf_puts(&b, c == '*' ? "%2A" : "%25");
                                continue;
                        }
                } else if (c == '*' && ++stars > NETWORK_SEGMENT_STARS && !path) {
                        *ret_why = "it has more than four stars";
                        return NULL;
                } else if (path && (c == '?' || c == '#' || c == '\\')) {
                        *ret_why = c == '?' ? "a query does not belong to a path: write the key query"
                                            : "a path has no # and no backslash";
                        return NULL;
                }
                if ((unsigned char)c < ' ' || c == 0x7f) {
                        *ret_why = "it holds a control character";
                        return NULL;
                }
                strbuf_add(&b, &c, 1);
        }
        for (size_t i = 0, n; b.data && i < b.len; i += n) {
                uint32_t cp;
                if ((n = utf8_decode(b.data + i, b.len - i, &cp)) == 0) {
                        *ret_why = "it is not valid UTF-8";
                        return NULL;
                }
        }
        return strbuf_take(&b);
}

static const char *path_fault(const char *p) {
        size_t n = 0, len;

        for (const char *s = p + 1;; s += len + 1, n++) {
                size_t stars = 0;
                len = strcspn(s, "/");
                for (size_t i = 0; i < len; i++)
                        stars += s[i] == '*';
                if (len == 0 && s[0] == '/')
                        return "a request with an empty segment (//) is never let through";
                if ((len == 1 && s[0] == '.') || (len == 2 && s[0] == '.' && s[1] == '.'))
                        return "the segments . and .. are gone before a request is looked at";
                if (stars > NETWORK_SEGMENT_STARS)
                        return "a segment has more than four stars";
                for (size_t i = 0; i + 1 < len && len > 2; i++)
                        if (s[i] == '*' && s[i + 1] == '*')
                                return "** is a whole segment";
                if (n >= NETWORK_PATH_SEGMENTS)
                        return "it has more than 60 segments";
                if (!s[len])
                        return NULL;
        }
}

/* "**" twice in a row is "**"; "a/" + "**" stays. In place. */
static void path_collapse(char *p) {
        char *o = p;

        for (const char *s = p; *s;) {
                if (strncmp(s, "/**/**", 6) == 0 && (s[6] == '/' || s[6] == 0))
                        s += 3;
                else
                        *o++ = *s++;
        }
        *o = 0;
}

int network_add_path(struct network_rule *r, const char *pattern, struct error *e) {
        _cleanup_free_ char *clean = NULL;
        const char *why = "out of memory";
        char b[BRIEF];

        if (pattern[0] != '/') {
                error_set(e, EINVAL, "the path \"%s\" does not begin with a slash", brief(b, pattern));
                return error_fix(e, "write /%s", brief(b, pattern));
        }
        if (strlen(pattern) > NETWORK_PATH_BYTES)
                return error_set(e, E2BIG, "a path of more than %u bytes", NETWORK_PATH_BYTES);
        if (r->paths.n >= NETWORK_PATHS_MAX)
                return error_set(e, E2BIG, "more than %u paths in a rule", NETWORK_PATHS_MAX);
        clean = pattern_clean(pattern, true, &why);
        if (clean) {
                path_collapse(clean);
                why = path_fault(clean);
        }
        if (why)
                return error_set(e, EINVAL, "the path \"%s\": %s", brief(b, pattern), why);
        return strlist_add(&r->paths, clean) < 0 ? out_of_memory(e) : 0;
}

int network_add_method(struct network_rule *r, const char *method, struct error *e) {
        char b[BRIEF];
        struct request q = {};
        const char *why = NULL;

        if (!streq(method, "*") && canonical_method(method, strlen(method), &q, &why) < 0) {
                error_set(e, EINVAL, "the method \"%s\": %s", brief(b, method), why ?: "it is none");
                return error_fix(e, "write it like GET; \"*\" is any");
        }
        if (streq(method, "CONNECT")) {
                error_set(e, EINVAL, "the method CONNECT is never let through");
                return error_fix(e, "a connection needs no proxy: allow its host and port");
        }
        if (r->methods.n >= NETWORK_METHODS_MAX)
                return error_set(e, E2BIG, "more than %u methods in a rule", NETWORK_METHODS_MAX);
        if (strlist_has(&r->methods, method))
                return 0;
        return strlist_add(&r->methods, method) < 0 ? out_of_memory(e) : 0;
}

int network_add_query(struct network_rule *r, const char *key, const char *value, struct error *e) {
        _cleanup_free_ char *k = NULL, *v = NULL;
        const char *why = "out of memory";
        struct network_query *query;
        char b[BRIEF];

        if (strlen(key) > NETWORK_QUERY_BYTES || (value && strlen(value) > NETWORK_QUERY_BYTES))
                return error_set(e, E2BIG, "a key or a value of a query of more than %u bytes", NETWORK_QUERY_BYTES);
        if (r->n_query >= NETWORK_QUERY_MAX)
                return error_set(e, E2BIG, "more than %u keys of a query in a rule", NETWORK_QUERY_MAX);
        if (strchr(key, '*')) {
                error_set(e, EINVAL, "the query's key \"%s\" has a star in it: keys are no patterns", brief(b, key));
                return error_fix(e, "write query: [\"*\"] for any query, or %%2A for the star itself");
        }
        for (size_t i = 0; i < r->n_query; i++)
                if (streq(r->query[i].key, key))
                        return error_set(e, EINVAL, "the query's key \"%s\" stands twice", brief(b, key));
        if (!(k = pattern_clean(key, false, &why)) || (value && !(v = pattern_clean(value, false, &why))))
                return error_set(e, EINVAL, "the query's key or value \"%s\": %s", brief(b, k ? value : key), why);
        query = grow(r->query, r->n_query, sizeof(*query));
        if (!query)
                return out_of_memory(e);
        r->query = query;
        query[r->n_query++] = (struct network_query){TAKE_PTR(k), TAKE_PTR(v)};
        return 0;
}

int network_add_address(struct network_rule *r, const char *text, struct error *e) {
        struct address_range range = {}, *ranges;
        int x = network_range_parse(text, &range, e);

        if (x < 0)
                return x;
        if (r->n_addresses >= NETWORK_RANGES_MAX)
                return error_set(e, E2BIG, "more than %u entries in addresses", NETWORK_RANGES_MAX);
        ranges = grow(r->addresses, r->n_addresses, sizeof(*ranges));
        if (!ranges)
                return out_of_memory(e);
        r->addresses = ranges;
        ranges[r->n_addresses++] = range;
        return 0;
}

/* How many bytes of the pattern, up to a star, stand for how many of the text: true when s begins with them. */
static bool literal(const char *p, size_t np, const char *s, size_t ns, size_t *ret_s) {
        size_t o = 0;

        for (size_t i = 0; i < np; i++, o++) {
                char c = p[i];
                if (c == '%' && i + 2 < np) { /* only %2A and %25 are left */
                        c = p[i + 2] == 'A' ? '*' : '%';
                        i += 2;
                }
                if (o >= ns || s[o] != c)
                        return false;
        }
        *ret_s = o;
        return true;
}

bool network_glob(const char *p, size_t np, const char *s, size_t ns) {
        const char *star = memchr(p, '*', np);
        size_t used = 0;

        if (!star)
                return literal(p, np, s, ns, &used) && used == ns;
        if (!literal(p, (size_t)(star - p), s, ns, &used))
                return false;
        s += used;
        ns -= used;
        /* Between two stars the first place that fits is as good as any later one. */
        for (;;) {
                size_t left = np - (size_t)(star + 1 - p);
                const char *piece = star + 1, *next = memchr(piece, '*', left);
                if (!next) { /* the end: it must fit at the end */
                        size_t bytes = 0;
                        for (size_t i = 0; i < left; i++, bytes++)
                                i += piece[i] == '%' && i + 2 < left ? 2 : 0;
                        return bytes <= ns && literal(piece, left, s + ns - bytes, bytes, &used);
                }
                for (;; s++, ns--) {
                        if (literal(piece, (size_t)(next - piece), s, ns, &used))
                                break;
                        if (ns == 0)
                                return false;
                }
                s += used;
                ns -= used;
                star = next;
        }
}

/* A whole rule */

static bool has_port(const struct network_rule *r, uint16_t port) {
        for (size_t i = 0; i < r->n_ports; i++)
                if (r->ports[i].first <= port && port <= r->ports[i].last)
                        return true;
        return false;
}

static bool only_port(const struct network_rule *r, uint16_t port) {
        for (size_t i = 0; i < r->n_ports; i++)
                if (r->ports[i].first != port || r->ports[i].last != port)
                        return false;
        return r->n_ports > 0;
}

#define LOOKS_AT (WROTE_METHODS | WROTE_PATHS | WROTE_QUERY | WROTE_HEADERS | WROTE_BODY | WROTE_SHAPES | \
                  WROTE_WEBSOCKET | WROTE_PROVENANCE | WROTE_SECRET | WROTE_READ_BUDGET | WROTE_TO | WROTE_MODELS)

static const char *key_of(unsigned written) {
        static const struct { unsigned bit; const char *name; } names[] = {
                {WROTE_METHODS, "methods"}, {WROTE_PATHS, "paths"}, {WROTE_QUERY, "query"}, {WROTE_HEADERS, "headers"},
                {WROTE_BODY, "body"}, {WROTE_SHAPES, "shapes"}, {WROTE_WEBSOCKET, "websocket"},
                {WROTE_PROVENANCE, "provenance"}, {WROTE_SECRET, "secret"},
                {WROTE_READ_BUDGET, "a budget of requests or url"}, {WROTE_BUDGET, "budget"},
                {WROTE_ADDRESSES, "addresses"}, {WROTE_TO, "to"}, {WROTE_MODELS, "models"},
        };
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (written & names[i].bit)
                        return names[i].name;
        return "?";
}

static int default_port(struct network_rule *r, const char *port, struct error *e) {
        return r->n_ports ? 0 : network_add_port(r, port, e);
}

/* What an allow without `protocol` is. */
static int find_protocol(struct network_rule *r, unsigned written, struct error *e) {
        if (written & LOOKS_AT) {
                if (has_port(r, 80)) {
                        error_set(e, EINVAL, "a rule that looks at requests on port 80, without protocol");
                        return error_fix(e, "write protocol: http, or https where port 80 has TLS");
                }
                r->protocols = NETWORK_HTTPS;
                return 0;
        }
        if (r->kind == NETWORK_ADDRESS) { /* no SNI names an address */
                r->protocols = NETWORK_TCP;
                return default_port(r, "443", e);
        }
        if (r->n_ports == 0 || only_port(r, 443))
                r->protocols = NETWORK_TLS;
        else if (!has_port(r, 443))
                r->protocols = NETWORK_TCP;
        else {
                error_set(e, EINVAL, "port 443 beside others, without protocol: on 443 alone it would be TLS, else tcp");
                return error_fix(e, "write protocol: tcp or protocol: tls, or a rule for 443 of its own");
        }
        return 0;
}

static int check_own(const struct network_rule *r, struct error *e) {
        static const struct address_range own[] = {
                {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127}, 104}, /* 127.0.0.0/8 */
                {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 128},      /* 0.0.0.0 */
                {{0}, 127},                                             /* ::, ::1 */
        };
        bool is = r->kind != NETWORK_ADDRESS && (streq(r->host, "localhost") ||
                  (strlen(r->host) > 10 && streq(r->host + strlen(r->host) - 10, ".localhost")));

        for (size_t i = 0; i < ELEMENTSOF(own) && r->kind == NETWORK_ADDRESS; i++)
                is |= network_range_within(&r->range, &own[i]);
        if (!is)
                return 0;
        error_set(e, EINVAL, "the host %s is the sandbox's own, and needs no rule", r->host);
        return error_fix(e, "for a service of this host, use a name of it with addresses: [127.0.0.1]");
}

static int check_allow(struct network_rule *r, unsigned written, struct error *e) {
        int x;

        if ((x = check_own(r, e)) < 0)
                return x;
        if (r->quiet) {
                error_set(e, EINVAL, "quiet in a rule that allows");
                return error_fix(e, "add deny: true, or take quiet out");
        }
        if (!r->protocols && (x = find_protocol(r, written, e)) < 0)
                return x;
        if (r->protocols & NETWORK_UNREAD && written & LOOKS_AT) {
                error_set(e, EINVAL, "protocol %s passes unread, and %s needs reading",
                          r->protocols & NETWORK_TCP ? "tcp" : "tls", key_of(written & LOOKS_AT));
                return error_fix(e, "write protocol: https or http, or take the key out");
        }
        if (r->protocols == NETWORK_TLS && r->kind == NETWORK_ADDRESS) {
                error_set(e, EINVAL, "protocol tls and an address for the host: no SNI names an address");
                return error_fix(e, "write protocol: tcp");
        }
        if (r->protocols == NETWORK_TCP && r->n_ports == 0) {
                error_set(e, EINVAL, "a rule with protocol tcp and without a port");
                return error_fix(e, "add port: NUMBER");
        }
        if ((x = default_port(r, r->protocols == NETWORK_HTTP ? "80" : "443", e)) < 0)
                return x;
        if (written & WROTE_ADDRESSES && r->kind == NETWORK_ADDRESS && !r->to)
                return error_set(e, EINVAL, "addresses beside a host that is an address itself");
        if (r->protocols & NETWORK_UNREAD)
                return 0;
        if (r->methods.n == 0 && r->models.n > 0 && (x = network_add_method(r, "POST", e)) < 0)
                return x;
        if (r->methods.n == 0 && ((x = network_add_method(r, "GET", e)) < 0 || (x = network_add_method(r, "HEAD", e)) < 0))
                return x;
        if (r->websocket && !strlist_has(&r->methods, "GET") && !strlist_has(&r->methods, "*")) {
                error_set(e, EINVAL, "websocket in a rule whose methods lack GET, by which one is opened");
                return error_fix(e, "add GET to methods");
        }
        if ((x = network_check_route(r, written, e)) < 0)
                return x;
        if (!(written & WROTE_HEADERS) || r->headers == 0)
                r->headers = HEADERS_DEFAULT;
        if (!(written & WROTE_HEADERS) || r->header_bytes == 0)
                r->header_bytes = HEADER_BYTES_DEFAULT;
        return 0;
}

static int check_deny(struct network_rule *r, unsigned written, struct error *e) {
        const unsigned never = WROTE_HEADERS | WROTE_BODY | WROTE_PROVENANCE | WROTE_SECRET | WROTE_BUDGET |
                               WROTE_READ_BUDGET | WROTE_ADDRESSES | WROTE_TO | WROTE_MODELS;

        if (written & never) {
                error_set(e, EINVAL, "%s in a rule that denies", key_of(written & never));
                return error_fix(e, "a deny has host, port, protocol, methods, paths, query, shapes, websocket and quiet");
        }
        if (written & WROTE_WEBSOCKET && !r->websocket)
                return error_set(e, EINVAL, "websocket: false in a rule that denies says nothing");
        if (written & WROTE_QUERY && (r->any_query || r->n_query == 0)) {
                error_set(e, EINVAL, "query without keys in a rule that denies");
                return error_fix(e, "name the keys that make it match");
        }
        if (r->protocols & NETWORK_UNREAD && written & LOOKS_AT) {
                error_set(e, EINVAL, "protocol %s passes unread, and %s needs reading",
                          r->protocols & NETWORK_TCP ? "tcp" : "tls", key_of(written & LOOKS_AT));
                return error_fix(e, "take one of them out");
        }
        if (r->protocols & NETWORK_UNREAD) /* nobody can tell one from the other without reading */
                r->protocols = NETWORK_UNREAD;
        if (!r->protocols)
                r->protocols = written & LOOKS_AT ? NETWORK_READ : NETWORK_READ | NETWORK_UNREAD;
        return 0;
}

static bool same_host(const struct network_rule *a, const struct network_rule *b) {
        return a->kind == b->kind && streq(a->host, b->host);
}

bool network_has_allow(const struct network *n, const struct network_rule *r) {
        for (size_t i = 0; i < n->n_rules; i++)
                if (!n->rules[i].deny && !n->rules[i].preset && same_host(&n->rules[i], r))
                        return true;
        return false;
}

/* What a recipe denies, it denies to have it refused without a word; not what the user allows. */
static void give_way(struct network *n, const struct network_rule *r) {
        size_t kept = 0;

        for (size_t i = 0; i < n->n_rules; i++)
                if (n->rules[i].yields && same_host(&n->rules[i], r))
                        network_rule_clear(&n->rules[i]);
                else
                        n->rules[kept++] = n->rules[i];
        n->n_rules = kept;
}

int network_add_rule(struct network *n, struct network_rule *r, unsigned written, struct error *e) {
        struct network_rule *rules;
        int x;

        if (!r->host) {
                error_set(e, EINVAL, "a rule without the key host");
                return error_fix(e, "add host: NAME");
        }
        if (n->n_rules >= NETWORK_RULES_MAX)
                return error_set(e, E2BIG, "more than %u network rules", NETWORK_RULES_MAX);
        if ((x = r->deny ? check_deny(r, written, e) : check_allow(r, written, e)) < 0)
                return x;
        if (written & WROTE_NOVEL && !r->provenance) {
                error_set(e, EINVAL, "a budget of novel, in a rule that lets every URL pass");
                return error_fix(e, "add provenance: true, or take novel out");
        }
        if (!(written & WROTE_BUDGET))
                r->budget = SIZE_MAX;
        if (!r->deny && !r->preset)
                give_way(n, r);
        rules = grow(n->rules, n->n_rules, sizeof(*rules));
        if (!rules)
                return out_of_memory(e);
        n->rules = rules;
        rules[n->n_rules++] = *r;
        *r = (struct network_rule){};
        return 0;
}

size_t network_add_budget(struct network *n, const struct network_budget *b) {
        struct network_budget *budgets = grow(n->budgets, n->n_budgets, sizeof(*budgets));

        if (!budgets)
                return SIZE_MAX;
        n->budgets = budgets;
        budgets[n->n_budgets] = *b;
        return n->n_budgets++;
}

int network_add_given(struct network *n, const char *url, struct error *e) {
        char buf[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX], text[PROVENANCE_TEXT_MAX + 1], b[BRIEF];
        struct request r = {};
        const char *why = NULL;

        if (canonical_url(url, strlen(url), buf, sizeof(buf), &r, &why) < 0)
                return error_set(e, EINVAL, "the URL \"%s\": %s", brief(b, url), why ?: "it has no canonical form");
        ssize_t k = provenance_text(&r, text, PROVENANCE_TEXT_MAX);
        if (k < 0 || n->given.n >= NETWORK_GIVEN_MAX)
                return error_set(e, E2BIG, k < 0 ? "a URL that is too long" : "more than %u URLs are given", NETWORK_GIVEN_MAX);
        text[k] = 0;
        return strlist_add(&n->given, text) < 0 ? out_of_memory(e) : 0;
}

/* "HOST[:PORT]" into a rule. */
static int read_place(struct network_rule *r, const char *text, struct error *e) {
        const char *end = NULL, *host = text;
        size_t n = strlen(text);
        int x;

        if (text[0] == '[') {
                end = strchr(text, ']');
                if (!end || (end[1] && end[1] != ':'))
                        return not_a_host(e, text, "it has a bracket without its counterpart");
                host = text + 1;
                n = (size_t)(end - host);
                end = end[1] ? end + 1 : NULL;
        } else if ((end = strchr(text, ':')) && !strchr(end + 1, ':'))
                n = (size_t)(end - text);
        else /* an IPv6 address, or no port */
                end = NULL;
        _cleanup_free_ char *name = strndup(host, n);
        if (!name)
                return out_of_memory(e);
        if (strstr(text, "://"))
                return network_set_host(r, text, e);
        if ((x = network_set_host(r, name, e)) < 0)
                return x;
        return end ? network_add_port(r, end + 1, e) : 0;
}

static int add_place(struct network *n, const char *text, bool deny, bool quiet, struct error *e) {
        struct network_rule r = {.deny = deny, .quiet = quiet};
        int x = read_place(&r, text, e);

        if (x >= 0)
                x = network_add_rule(n, &r, 0, e);
        network_rule_clear(&r);
        return x;
}

int network_add_allow(struct network *n, const char *text, struct error *e) { return add_place(n, text, false, false, e); }

int network_add_allow_with(struct network *n, const char *text, const char *secret, struct error *e) {
        struct network_rule r = {.any_query = true, .secret = strdup(secret)};
        int x = r.secret ? read_place(&r, text, e) : out_of_memory(e);

        if (x >= 0)
                x = network_add_method(&r, "*", e);
        if (x >= 0)
                x = network_add_rule(n, &r, WROTE_METHODS | WROTE_QUERY | WROTE_SECRET | (r.n_ports ? WROTE_PORT : 0), e);
        network_rule_clear(&r);
        return x;
}

int network_add_deny(struct network *n, const char *text, bool quiet, struct error *e) {
        return add_place(n, text, true, quiet, e);
}
