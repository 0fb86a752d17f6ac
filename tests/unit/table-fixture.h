/* Rules and requests at random, from small alphabets so that they meet often; and the decision as docs/policy.md tells it,
 * rule by rule, without a table: what the table is held against. */
#pragma once

#include <stdio.h>

#include "model/address.h"
#include "model/canonical.h"
#include "model/table.h"

struct random {
        uint64_t state;
};
static inline uint32_t draw(struct random *r, uint32_t n) {
        r->state ^= r->state << 13;
        r->state ^= r->state >> 7;
        r->state ^= r->state << 17;
        return (uint32_t)(r->state >> 11) % n;
}
#define ONE_OF(r, list) list[draw(r, ELEMENTSOF(list))]

static const char *const fixture_segments[] = {"a", "b", "c", "x", "y", "ab", "abc", "a.tgz", "", "*"};
static const char *const fixture_patterns[] = {"a", "b", "c", "x", "y", "*", "*", "**", "**", "a*", "*b", "*.tgz", "a*c", "%2A"};
static const char *const fixture_methods[] = {"GET", "HEAD", "POST", "PUT", "DELETE"};
static const char *const fixture_keys[] = {"k", "l", "m", "n"};
static const char *const fixture_values[] = {"", "1", "12", "en", "' or 1=1", "../x", "a b"};
static const char *const fixture_names[] = {"a.test", "b.test", "x.a.test", "y.x.a.test", "c.x.a.test", "test", "other",
                                            "webhook.site", "x.webhook.site", "aa.test"};
static const char *const fixture_hosts[] = {"a.test", "b.test", "x.a.test", "*.a.test", "**.a.test", "*.test", "**.test", "**",
                                            "webhook.site", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "93.184.216.34",
                                            "0.0.0.0/0", "2001:4860::/32", "aa.test"};
static const char *const fixture_addresses[] = {"10.1.2.3", "10.2.0.1", "93.184.216.34", "8.8.8.8", "169.254.169.254",
                                                "2001:4860::1", "fd00::1"};
static const char *const fixture_ports[] = {"80", "443", "8080", "8000-9000", "1-65535", "444-500"};

static inline void fixture_path(struct random *r, char *dst, size_t size) {
        size_t o = 0;
        dst[0] = 0;
        for (uint32_t n = 1 + draw(r, 5); n > 0; n--)
                o += (size_t)snprintf(dst + o, size - o, "/%s", n > 1 || draw(r, 8) ? ONE_OF(r, fixture_patterns) : "");
}

/* Adds one rule; false where what was drawn is none. */
static inline bool fixture_rule(struct random *r, struct network *n) {
        struct network_rule u = {.deny = draw(r, 5) == 0, .line = (unsigned)n->n_rules + 2};
        unsigned written = 0;
        struct error e = {};
        char path[128];
        bool ok = network_set_host(&u, ONE_OF(r, fixture_hosts), &e) == 0;

        for (uint32_t i = draw(r, 3); ok && i > 0; i--) {
                ok = network_add_port(&u, ONE_OF(r, fixture_ports), &e) == 0;
                written |= WROTE_PORT;
        }
        if (ok && draw(r, 3) == 0) {
                u.protocols = 1u << draw(r, 4);
                written |= WROTE_PROTOCOL;
        }
        u.quiet = u.deny && draw(r, 3) == 0;
        if (ok && draw(r, 3)) { /* one that looks at requests */
                for (uint32_t i = draw(r, 4); ok && i > 0; i--, written |= WROTE_METHODS)
                        ok = network_add_method(&u, draw(r, 9) ? ONE_OF(r, fixture_methods) : "*", &e) == 0;
                for (uint32_t i = draw(r, 4); ok && i > 0; i--, written |= WROTE_PATHS) {
                        fixture_path(r, path, sizeof(path));
                        if (network_add_path(&u, path, &e) < 0)
                                i++;
                }
                if (draw(r, 3) == 0) {
                        written |= WROTE_QUERY;
                        u.any_query = draw(r, 3) == 0;
                        for (uint32_t i = draw(r, 3); ok && !u.any_query && i > 0; i--)
                                if (network_add_query(&u, ONE_OF(r, fixture_keys), draw(r, 2) ? "1*" : NULL, &e) < 0)
                                        break;
                }
                if (draw(r, 6) == 0) {
                        written |= WROTE_SHAPES;
                        u.shapes = 1 + draw(r, 15);
                }
                if (draw(r, 6) == 0) {
                        written |= WROTE_WEBSOCKET;
                        u.websocket = true;
                }
                if (!u.deny && draw(r, 4) == 0) {
                        written |= WROTE_BODY;
                        u.body_written = true;
                        u.body = draw(r, 3) * 100;
                }
                if (!u.deny && draw(r, 6) == 0) {
                        written |= WROTE_HEADERS;
                        u.headers = 1 + draw(r, 20);
                        u.header_bytes = 100 + draw(r, 1000);
                }
                if (!u.deny && draw(r, 6) == 0) {
                        written |= WROTE_PROVENANCE;
                        u.provenance = true;
                }
                if (!u.deny && draw(r, 6) == 0) {
                        written |= WROTE_SECRET;
                        u.secret = strdup("one");
                }
        }
        if (ok && !u.deny && draw(r, 4) == 0) {
                struct network_budget b = NETWORK_NO_BUDGET;
                b.up = draw(r, 1000);
                u.budget = n->n_budgets && draw(r, 2) ? draw(r, (uint32_t)n->n_budgets) : network_add_budget(n, &b);
                written |= WROTE_BUDGET;
        }
        if (ok && !u.deny && u.kind != NETWORK_ADDRESS && draw(r, 4) == 0) {
                ok = network_add_address(&u, draw(r, 2) ? "10.0.0.0/8" : "fd00::/8", &e) == 0;
                written |= WROTE_ADDRESSES;
        }
        ok = ok && network_add_rule(n, &u, written, &e) == 0;
        network_rule_clear(&u);
        return ok;
}

static inline struct request_text fixture_text(const char *s) { return (struct request_text){s, strlen(s)}; }

static inline void fixture_request(struct random *r, struct request *q) {
        static const uint16_t ports[] = {80, 443, 443, 8080, 8081, 22, 450};

        *q = (struct request){.layer = draw(r, 4) ? REQUEST_L7 : REQUEST_L4, .port = ONE_OF(r, ports)};
        if (draw(r, 4) == 0) {
                q->is_address = true;
                q->host = fixture_text(ONE_OF(r, fixture_addresses));
                if (address_parse(q->host.p, q->host.n, &q->address) < 0)
                        abort();
        } else
                q->host = fixture_text(ONE_OF(r, fixture_names));
        q->tls = draw(r, 4);
        if (q->layer == REQUEST_L4)
                return;
        q->method = fixture_text(draw(r, 12) ? ONE_OF(r, fixture_methods) : "BREW");
        q->websocket = draw(r, 12) == 0;
        if (q->websocket)
                q->method = fixture_text("GET");
        q->n_segments = 1 + draw(r, 5);
        for (size_t i = 0; i < q->n_segments; i++)
                q->segment[i] = fixture_text(ONE_OF(r, fixture_segments));
        q->n_query = draw(r, 3) ? 0 : draw(r, 4);
        for (size_t i = 0; i < q->n_query; i++) {
                q->query[i].key = fixture_text(draw(r, 9) ? ONE_OF(r, fixture_keys) : "unknown");
                q->query[i].has_value = draw(r, 5);
                if (q->query[i].has_value)
                        q->query[i].value = fixture_text(ONE_OF(r, fixture_values));
        }
        q->n_headers = draw(r, 30);
        q->header_bytes = q->n_headers * 40;
        q->has_body = draw(r, 3) == 0;
        q->body_bytes = !q->has_body ? 0 : draw(r, 4) ? draw(r, 300) : UINT64_MAX;
}

/* "METHOD URL" or "HOST:PORT". */
static inline struct verdict fixture_ask(const struct table *t, const char *what) {
        char buf[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX];
        struct request r = {};
        struct verdict v;
        const char *why = "", *space = strchr(what, ' ');

        if (!space) {
                if (canonical_authority(what, strlen(what), 0, buf, &r, &why) < 0)
                        abort();
                r.layer = REQUEST_L4;
        } else {
                int x = canonical_url(space + 1, strlen(space + 1), buf, sizeof(buf), &r, &why);
                if (x < 0) {
                        printf("# %s: %s\n", what, why);
                        abort();
                }
                r.method = (struct request_text){what, (size_t)(space - what)};
        }
        table_decide(t, &r, &v);
        return v;
}

/* The plain decision. */

/* A pattern by characters; recursive and slow. */
static inline bool plain_glob(const char *p, size_t np, const char *s, size_t ns) {
        if (np == 0)
                return ns == 0;
        if (p[0] == '*')
                return plain_glob(p + 1, np - 1, s, ns) || (ns && plain_glob(p, np, s + 1, ns - 1));
        char c = p[0];
        size_t used = 1;
        if (c == '%') {
                c = p[2] == 'A' ? '*' : '%';
                used = 3;
        }
        return ns && s[0] == c && plain_glob(p + used, np - used, s + 1, ns - 1);
}

static inline bool plain_path(const char *p, const struct request *r, size_t i) {
        if (!*p)
                return i == r->n_segments;
        const char *s = p + 1;
        size_t n = strcspn(s, "/");
        if (n == 2 && s[0] == '*' && s[1] == '*')
                return plain_path(s + n, r, i) || (i < r->n_segments && plain_path(p, r, i + 1));
        return i < r->n_segments && plain_glob(s, n, r->segment[i].p, r->segment[i].n) && plain_path(s + n, r, i + 1);
}

static inline bool plain_host(const struct network_rule *u, const struct request *r) {
        size_t n = strlen(u->host), front;

        if (u->kind == NETWORK_ADDRESS)
                return r->is_address && address_range_has(&u->range, &r->address);
        if (r->is_address || r->host.n < n || memcmp(r->host.p + r->host.n - n, u->host, n) != 0)
                return false;
        front = r->host.n - n;
        if (u->kind == NETWORK_EXACT)
                return front == 0;
        if (front == 0)
                return false;
        size_t labels = n == 0;
        for (size_t i = 0; i < front; i++)
                labels += r->host.p[i] == '.';
        if (n && r->host.p[front - 1] != '.')
                return false;
        return u->kind == NETWORK_ANY || labels == 1;
}

static inline bool plain_port(const struct network_rule *u, uint16_t port) {
        for (size_t i = 0; i < u->n_ports; i++)
                if (u->ports[i].first <= port && port <= u->ports[i].last)
                        return true;
        return u->n_ports == 0;
}

static inline bool plain_relay(const struct request *r, const char *const relays[]) {
        if (r->is_address)
                return false;
        for (size_t i = 0; relays[i]; i++) {
                size_t n = strlen(relays[i]);
                if (r->host.n >= n && memcmp(r->host.p + r->host.n - n, relays[i], n) == 0 &&
                    (r->host.n == n || r->host.p[r->host.n - n - 1] == '.'))
                        return true;
        }
        return false;
}

static inline bool plain_has(const struct strlist *l, struct request_text t) {
        for (size_t i = 0; i < l->n; i++)
                if (streq(l->items[i], "*") || (strlen(l->items[i]) == t.n && memcmp(l->items[i], t.p, t.n) == 0))
                        return true;
        return l->n == 0;
}

static inline bool plain_query(const struct network_rule *u, const struct request *r, size_t i) {
        for (size_t k = 0; k < u->n_query; k++)
                if (strlen(u->query[k].key) == r->query[i].key.n &&
                    memcmp(u->query[k].key, r->query[i].key.p, r->query[i].key.n) == 0)
                        return !u->query[k].value || plain_glob(u->query[k].value, strlen(u->query[k].value),
                                r->query[i].value.p, r->query[i].has_value ? r->query[i].value.n : 0);
        return false;
}

static inline uint64_t plain_body(const struct network_rule *u, const struct request *r) {
        static const char *const none[] = {"GET", "HEAD", "OPTIONS", "TRACE", "DELETE"};
        if (u->body_written)
                return u->body;
        for (size_t i = 0; i < ELEMENTSOF(none); i++)
                if (strlen(none[i]) == r->method.n && memcmp(none[i], r->method.p, r->method.n) == 0)
                        return 0;
        return UINT64_MAX;
}

/* Whether a rule matches an L7 request, apart from host and port; `denies`: protocols that are denied as a whole. */
static inline bool plain_request(const struct network_rule *u, const struct request *r, unsigned denies) {
        bool path = u->paths.n == 0;

        if (u->protocols & NETWORK_UNREAD && !u->deny)
                return u->protocols & ~denies & (NETWORK_TCP | (r->tls ? NETWORK_TLS : 0));
        if (!(u->protocols & (r->tls ? NETWORK_HTTPS : NETWORK_HTTP)))
                return false;
        if (u->protocols & NETWORK_UNREAD)
                return true;
        for (size_t i = 0; i < u->paths.n; i++)
                path |= plain_path(u->paths.items[i], r, 0);
        if (!path || !plain_has(&u->methods, r->method))
                return false;
        if (u->deny) {
                bool query = u->n_query == 0;
                for (size_t i = 0; i < r->n_query; i++)
                        query |= plain_query(u, r, i);
                return query && (!u->websocket || r->websocket) && (!u->shapes || u->shapes & network_shapes(r));
        }
        if (r->websocket && !u->websocket)
                return false;
        for (size_t i = 0; i < r->n_query; i++)
                if (!u->any_query && !plain_query(u, r, i))
                        return false;
        if (r->n_headers > u->headers || r->header_bytes > u->header_bytes)
                return false;
        uint64_t body = plain_body(u, r);
        if (r->has_body && (r->body_bytes == UINT64_MAX ? body == 0 : r->body_bytes > body))
                return false;
        return !(u->shapes & network_shapes(r));
}

/* Does an allow count for this host? No wildcard opens a relay, and an address that is not public has to be meant. */
static inline bool plain_counts(const struct network_rule *u, const struct request *r, bool relay) {
        if (relay && (u->kind == NETWORK_ONE || u->kind == NETWORK_ANY))
                return false;
        if (!r->is_address || address_is_public(&r->address))
                return true;
        /* Of the fixture's ranges these are within what is not public. */
        return (streq(u->host, "10.0.0.0/8") || streq(u->host, "10.1.0.0/16") || streq(u->host, "10.1.2.3")) &&
               address_allowed(&r->address, &u->range, 1);
}
