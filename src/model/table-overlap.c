/* Two allows that let the same request pass and name different secrets, or send it to different places (`to`): which one it
 * would carry, or where it would go, would be chance. Looked for when the table is compiled, with an example of such a request. Exact for host, port, protocol, method and path;
 * the example has no query and no body, which every rule that has the rest in common lets pass. */
#include <stdio.h>

#include "model/network-route.h"
#include "model/table-layout.h"

#define WORK_MAX 200000000ull /* steps; a second or less */

struct overlap {
        const struct network *n;
        uint64_t work;
};

static const char *meet_hosts(const struct network_rule *a, const struct network_rule *b, char *dst, size_t size) {
        size_t na = strlen(a->host), nb = strlen(b->host);

        if ((a->kind == NETWORK_ADDRESS) != (b->kind == NETWORK_ADDRESS))
                return NULL;
        if (a->kind == NETWORK_ADDRESS) {
                bool inner = network_range_within(&a->range, &b->range);
                struct request_address first = {};
                char text[ADDRESS_TEXT_MAX];
                if (!inner && !network_range_within(&b->range, &a->range))
                        return NULL;
                memcpy(first.byte, inner ? a->range.byte : b->range.byte, sizeof(first.byte));
                snprintf(dst, size, strchr(address_format(&first, text), ':') ? "[%s]" : "%s", text);
                return dst;
        }
        if (na < nb || (na == nb && a->kind > b->kind)) { /* a is the longer, or the one with fewer names */
                const struct network_rule *x = a;
                a = b;
                b = x;
                size_t k = na;
                na = nb;
                nb = k;
        }
        /* How many labels a's name has in front of b's. */
        size_t labels = 0;
        if (na != nb) {
                if (!streq(a->host + na - nb, b->host) || (nb && a->host[na - nb - 1] != '.'))
                        return NULL;
                labels = nb == 0;
                for (size_t i = 0; i < na - nb; i++)
                        labels += a->host[i] == '.';
        } else if (!streq(a->host, b->host))
                return NULL;
        size_t least = labels + (a->kind != NETWORK_EXACT), most = a->kind == NETWORK_ANY ? SIZE_MAX : least;
        bool meets = b->kind == NETWORK_EXACT ? least == 0 : b->kind == NETWORK_ONE ? least <= 1 && most >= 1 : most >= 1;
        if (!meets)
                return NULL;
        snprintf(dst, size, "%s%s%s", a->kind == NETWORK_EXACT ? "" : "x", a->kind == NETWORK_EXACT || !na ? "" : ".", a->host);
        return dst;
}

static bool meet_ports(const struct network_rule *a, const struct network_rule *b, uint16_t *ret) {
        for (size_t i = 0; i < a->n_ports; i++)
                for (size_t k = 0; k < b->n_ports; k++) {
                        uint16_t first = MAX(a->ports[i].first, b->ports[k].first);
                        if (first <= MIN(a->ports[i].last, b->ports[k].last)) {
                                *ret = first;
                                return true;
                        }
                }
        return false;
}

static const char *meet_methods(const struct network_rule *a, const struct network_rule *b) {
        for (size_t i = 0; i < a->methods.n; i++) {
                const char *m = a->methods.items[i];
                if (streq(m, "*"))
                        return b->methods.n == 0 || streq(b->methods.items[0], "*") ? "GET" : b->methods.items[0];
                if (strlist_has(&b->methods, m) || strlist_has(&b->methods, "*"))
                        return m;
        }
        return NULL;
}

/* Segments: one text that both patterns stand for, into dst. Both may hold stars. The table says from where in both
 * patterns their ends can be reached together; the text is then read off it from the beginning. */
#define PART_MAX 256u

struct unit {
        char c;
        bool star;
};

static size_t units(const char *s, size_t n, struct unit *dst) {
        size_t o = 0;

        for (size_t i = 0; i < n && o < PART_MAX; i++, o++) {
                dst[o] = (struct unit){s[i], s[i] == '*'};
                if (s[i] == '%' && i + 2 < n) {
                        dst[o].c = s[i + 2] == 'A' ? '*' : '%';
                        i += 2;
                }
        }
        return o;
}

static bool meet_segments(struct overlap *o, const char *a, size_t na, const char *b, size_t nb, char *dst, size_t size) {
        static const char escaped[] = "*%";
        struct unit x[PART_MAX], y[PART_MAX];
        bool can[PART_MAX + 1][PART_MAX + 1];
        size_t used = 0;

        na = units(a, na, x);
        nb = units(b, nb, y);
        o->work += (na + 1) * (nb + 1);
        can[0][0] = false;
        for (size_t i = na + 1; i-- > 0;)
                for (size_t k = nb + 1; k-- > 0;) {
                        bool u = i < na && x[i].star, v = k < nb && y[k].star;
                        if (i == na && k == nb)
                                can[i][k] = true;
                        else
                                can[i][k] = (u && can[i + 1][k]) || (v && can[i][k + 1]) ||
                                            (u && k < nb && !v && can[i][k + 1]) || (v && i < na && !u && can[i + 1][k]) ||
                                            (i < na && k < nb && !u && !v && x[i].c == y[k].c && can[i + 1][k + 1]);
                }
        if (!can[0][0])
                return false;
        for (size_t i = 0, k = 0; i < na || k < nb;) {
                bool u = i < na && x[i].star, v = k < nb && y[k].star;
                char c = 0;
                if (u && can[i + 1][k])
                        i++;
                else if (v && can[i][k + 1])
                        k++;
                else if (u && k < nb && can[i][k + 1])
                        c = y[k++].c;
                else if (v && i < na && can[i + 1][k])
                        c = x[i++].c;
                else {
                        c = x[i++].c;
                        k++;
                }
                if (c && used + 4 < size)
                        used += (size_t)snprintf(dst + used, size - used, strchr(escaped, c) ? "%%%02X" : "%c", (unsigned char)c);
        }
        if (used == 0 && na + nb > 0 && (na == 0 || x[0].star) && (nb == 0 || y[0].star) && na && nb)
                snprintf(dst, size, "x"); /* nicer than nothing */
        else
                dst[used] = 0;
        return true;
}

struct part {
        const char *s;
        size_t n;
        bool any, many;
};

static size_t parts(const char *path, struct part *dst) {
        size_t n = 0;

        for (const char *s = path + 1;; s++) {
                size_t k = strcspn(s, "/");
                dst[n++] = (struct part){s, k, k == 1 && *s == '*', k == 2 && s[0] == '*' && s[1] == '*'};
                s += k;
                if (!*s)
                        return n;
        }
}

#define EXAMPLE_MAX 512u

/* As meet_segments, one level up: segments for characters. */
static bool meet_paths(struct overlap *o, const char *a, const char *b, char dst[EXAMPLE_MAX]) {
        struct part x[NETWORK_PATH_SEGMENTS + 1], y[NETWORK_PATH_SEGMENTS + 1];
        bool can[NETWORK_PATH_SEGMENTS + 2][NETWORK_PATH_SEGMENTS + 2];
        size_t na = parts(a, x), nb = parts(b, y), used = 0;
        char text[PART_MAX * 3];

        o->work += (na + 1) * (nb + 1);
        can[0][0] = false;
        for (size_t i = na + 1; i-- > 0;)
                for (size_t k = nb + 1; k-- > 0;) {
                        bool u = i < na && x[i].many, v = k < nb && y[k].many;
                        if (i == na && k == nb)
                                can[i][k] = true;
                        else
                                can[i][k] = (u && can[i + 1][k]) || (v && can[i][k + 1]) ||
                                            (u && k < nb && !v && can[i][k + 1]) || (v && i < na && !u && can[i + 1][k]) ||
                                            (i < na && k < nb && !u && !v && can[i + 1][k + 1] &&
                                             meet_segments(o, x[i].s, x[i].n, y[k].s, y[k].n, text, sizeof(text)));
                }
        /* Two patterns that are both "**" and nothing else meet in "/". */
        if (!can[0][0])
                return false;
        dst[0] = 0;
        for (size_t i = 0, k = 0; i < na || k < nb;) {
                bool u = i < na && x[i].many, v = k < nb && y[k].many;
                const struct part *p = NULL, *q = NULL;
                if (u && can[i + 1][k])
                        i++;
                else if (v && can[i][k + 1])
                        k++;
                else if (u && k < nb && can[i][k + 1])
                        p = q = &y[k++];
                else if (v && i < na && can[i + 1][k])
                        p = q = &x[i++];
                else {
                        p = &x[i++];
                        q = &y[k++];
                }
                if (p && meet_segments(o, p->s, p->n, q->s, q->n, text, sizeof(text)) && used < EXAMPLE_MAX)
                        used += (size_t)snprintf(dst + used, EXAMPLE_MAX - used, "/%s", text);
        }
        if (used == 0)
                snprintf(dst, EXAMPLE_MAX, "/");
        return true;
}

static bool meet_all_paths(struct overlap *o, const struct network_rule *a, const struct network_rule *b, char dst[EXAMPLE_MAX]) {
        for (size_t i = 0; i < MAX(a->paths.n, 1u); i++)
                for (size_t k = 0; k < MAX(b->paths.n, 1u); k++)
                        if (meet_paths(o, a->paths.n ? a->paths.items[i] : "/**", b->paths.n ? b->paths.items[k] : "/**", dst))
                                return true;
        return false;
}

static const char *place(const struct network *n, const struct network_rule *r, char *dst, size_t size) {
        const char *name = n->source ?: "the policy";
        size_t len = strlen(name);

        if (r->line == 0)
                return "the command line";
        snprintf(dst, size, "%s%s:%u", len > 100 ? "..." : "", len > 100 ? name + len - 100 : name, r->line);
        return dst;
}

static bool secrets_differ(const struct network_rule *a, const struct network_rule *b) {
        return a->secret && b->secret && !streq(a->secret, b->secret);
}

static int check_pair(struct overlap *o, const struct network_rule *a, const struct network_rule *b, struct error *e) {
        const bool secrets = secrets_differ(a, b);
        char host[REQUEST_HOST_MAX + 8], path[EXAMPLE_MAX], at_a[128], at_b[128];
        const char *method, *name;
        unsigned protocols = a->protocols & b->protocols & NETWORK_READ;
        uint16_t port;

        o->work++;
        if (!protocols || !(name = meet_hosts(a, b, host, sizeof(host))) ||
            !meet_ports(a, b, &port) || !(method = meet_methods(a, b)) || !meet_all_paths(o, a, b, path))
                return 0;
        bool tls = protocols & NETWORK_HTTPS, usual = port == (tls ? 443 : 80);
        char text[16] = "";
        if (!usual)
                snprintf(text, sizeof(text), ":%u", port);
        error_set(e, EINVAL, "two rules let the same request pass and %s, %.100s (%s) and %.100s (%s): %s %s://%.100s%s%.200s",
                  secrets ? "name different secrets" : "send it to different places", secrets ? a->secret : a->to ?: "the host itself",
                  place(o->n, a, at_a, sizeof(at_a)), secrets ? b->secret : b->to ?: "the host itself", place(o->n, b, at_b, sizeof(at_b)), method,
                  tls ? "https" : "http", name, text, path);
        return error_fix(e, "make hosts, methods or paths of the two rules differ, so that none of them lets pass what the other does");
}

int table_check_secrets(const struct network *n, struct error *e) {
        struct overlap o = {.n = n};
        bool routes = false;
        int r;

        for (size_t i = 0; i < n->n_rules; i++)
                routes |= n->rules[i].to != NULL;
        for (size_t i = 0; i < n->n_rules; i++)
                for (size_t k = 0; (routes || n->rules[i].secret) && k < i; k++) {
                        const struct network_rule *x = &n->rules[i], *y = &n->rules[k];
                        if (x->deny || y->deny || (!secrets_differ(x, y) && !network_routes_differ(x, y)))
                                continue;
                        if ((r = check_pair(&o, &n->rules[k], &n->rules[i], e)) < 0)
                                return r;
                        if (o.work > WORK_MAX) {
                                error_set(e, E2BIG, "too many rules with different secrets or destinations to tell whether they overlap");
                                return error_fix(e, "write fewer of them, or fewer patterns in their paths");
                        }
                }
        return 0;
}
