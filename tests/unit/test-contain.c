/* Containment of one network policy in another: pairs of rules that are told apart for a reason each; and policies and requests at
 * random, held against the decision itself. */
#include <stdlib.h>

#include "model/contain.h"
#include "model/network-route.h"
#include "model/table-layout.h"
#include "table-fixture.h"
#include "tap.h"

struct side {
        struct network n;
        void *data;
        struct table t;
};

static void side_compile(struct side *s) {
        struct error e = {};
        size_t size = 0;
        int r = table_compile(&s->n, &s->data, &size, &e);

        if (r < 0)
                printf("# %s\n", e.msg);
        check(r == 0 && table_load(s->data, size, &s->t) == 0);
}

static void side_clear(struct side *s) {
        free(s->data);
        network_clear(&s->n);
        *s = (struct side){};
}

/* A rule as "KEY=VALUE;KEY=VALUE": host, port, protocol, methods, paths, query, body, headers, addresses, secret, budget
 * (FIELD:NUMBER), provenance, websocket, shapes (bits), deny. Lists have blanks between. */
static void set_key(struct side *s, struct network_rule *u, unsigned *written, const char *key, char *value) {
        struct error e = {};
        int r = 0;
        char *save = NULL;

        if (streq(key, "host"))
                r = network_set_host(u, value, &e);
        else if (streq(key, "deny"))
                u->deny = true;
        else if (streq(key, "to")) {
                r = network_set_to(u, value, &e);
                u->model = true;
                *written |= WROTE_TO;
        } else if (streq(key, "models")) {
                for (char *m = strtok_r(value, " ", &save); m && r == 0; m = strtok_r(NULL, " ", &save))
                        r = network_add_model(u, m, &e);
                *written |= WROTE_MODELS;
        } else if (streq(key, "secret")) {
                u->secret = strdup(value);
                *written |= WROTE_SECRET;
        } else if (streq(key, "provenance")) {
                u->provenance = true;
                *written |= WROTE_PROVENANCE;
        } else if (streq(key, "websocket")) {
                u->websocket = true;
                *written |= WROTE_WEBSOCKET;
        } else if (streq(key, "shapes")) {
                u->shapes = (unsigned)atoi(value);
                *written |= WROTE_SHAPES;
        } else if (streq(key, "body")) {
                u->body = (uint64_t)atoi(value);
                u->body_written = true;
                *written |= WROTE_BODY;
        } else if (streq(key, "headers")) {
                u->headers = (uint32_t)atoi(value);
                *written |= WROTE_HEADERS;
        } else if (streq(key, "protocol")) {
                for (unsigned i = 0; network_protocol_names[i]; i++)
                        if (streq(network_protocol_names[i], value))
                                u->protocols |= 1u << i;
                *written |= WROTE_PROTOCOL;
        } else if (streq(key, "budget")) {
                struct network_budget b = NETWORK_NO_BUDGET;
                char *colon = strchr(value, ':');
                uint64_t n = (uint64_t)atoi(colon + 1);
                *colon = 0;
                if (streq(value, "share")) {
                        u->budget = n;
                } else {
                        *(streq(value, "up") ? &b.up : streq(value, "requests") ? &b.requests : streq(value, "hosts") ? &b.hosts : streq(value, "novel") ? &b.novel : &b.url) = n;
                        u->budget = network_add_budget(&s->n, &b);
                }
                *written |= WROTE_BUDGET | (streq(value, "novel") ? WROTE_NOVEL : 0);
        } else
                for (char *w = strtok_r(value, " ", &save); w && r == 0; w = strtok_r(NULL, " ", &save)) {
                        if (streq(key, "port"))
                                r = network_add_port(u, w, &e);
                        else if (streq(key, "methods"))
                                r = network_add_method(u, w, &e);
                        else if (streq(key, "paths"))
                                r = network_add_path(u, w, &e);
                        else if (streq(key, "addresses"))
                                r = network_add_address(u, w, &e);
                        else if (streq(key, "query") && streq(w, "*"))
                                u->any_query = true;
                        else if (streq(key, "query")) {
                                char *eq = strchr(w, ':');
                                if (eq)
                                        *eq++ = 0;
                                r = network_add_query(u, w, eq, &e);
                        } else
                                check(!"a key");
                        *written |= streq(key, "port") ? WROTE_PORT : streq(key, "methods") ? WROTE_METHODS : streq(key, "paths") ? WROTE_PATHS :
                                    streq(key, "addresses") ? WROTE_ADDRESSES : WROTE_QUERY;
                }
        if (r < 0)
                printf("# %s=%s: %s\n", key, value, e.msg);
        check(r == 0);
}

/* Rules with " | " between; "run=FIELD:NUMBER" is the run's budget. */
static void side_make(struct side *s, const char *text) {
        _cleanup_free_ char *copy = strdup(text);
        char *save = NULL;

        *s = (struct side){};
        for (char *rule = strtok_r(copy, "|", &save); rule; rule = strtok_r(NULL, "|", &save)) {
                struct network_rule u = {.line = (unsigned)s->n.n_rules + 1};
                struct error e = {};
                unsigned written = 0;
                char *inner = NULL;
                bool run = false;
                for (char *k = strtok_r(rule, ";", &inner); k; k = strtok_r(NULL, ";", &inner)) {
                        k += strspn(k, " ");
                        for (size_t end = strlen(k); end > 0 && k[end - 1] == ' ';)
                                k[--end] = 0;
                        char *value = strchr(k, '=');
                        if (value)
                                *value++ = 0;
                        if (value && streq(k, "run")) {
                                s->n.run = NETWORK_NO_BUDGET;
                                s->n.has_run = run = true;
                                *(strncmp(value, "up", 2) == 0 ? &s->n.run.up : &s->n.run.requests) = (uint64_t)atoi(value + strcspn(value, ":") + 1);
                        } else
                                set_key(s, &u, &written, k, value ?: k + strlen(k));
                }
                int r = run ? 0 : network_add_rule(&s->n, &u, written, &e);
                if (r < 0)
                        printf("# %s: %s\n", text, e.msg);
                check(r == 0);
                network_rule_clear(&u);
        }
        side_compile(s);
}

static enum contain_why held(const char *parent, const char *child, struct containment *c) {
        struct side p, q;

        side_make(&p, parent);
        side_make(&q, child);
        check(contain_network(&p.t, &q.t, c) == 0);
        if (c->why == CONTAIN_REFUSED) {
                struct verdict v;
                table_decide(&q.t, &c->witness, &v);
                check(v.allowed);
                table_decide(&p.t, &c->witness, &v);
                check(!v.allowed);
        }
        side_clear(&p);
        side_clear(&q);
        return c->why;
}

static const struct {
        const char *parent, *child;
        enum contain_why why;
        const char *witness; /* in its text */
} cases[] = {
        {"host=a.test", "host=a.test", CONTAIN_YES, NULL},
        {"host=a.test", "host=b.test", CONTAIN_REFUSED, "b.test:443"},
        {"host=**.test", "host=a.test", CONTAIN_YES, NULL},
        {"host=*.test", "host=**.test", CONTAIN_REFUSED, "x.x.test"},
        {"host=a.test | host=b.test", "host=*.test", CONTAIN_REFUSED, "x.test"},
        {"host=a.test;port=443", "host=a.test;port=443 444;protocol=tcp", CONTAIN_ACCESS, "a.test:443"},
        {"host=a.test;port=1-1000;protocol=tcp", "host=a.test;port=900-1001;protocol=tcp", CONTAIN_REFUSED, "a.test:1001"},
        {"host=a.test", "host=a.test;methods=GET", CONTAIN_YES, NULL}, /* unread holds whatever is read */
        {"host=a.test;methods=GET", "host=a.test", CONTAIN_REFUSED, "a connection to a.test:443"},
        {"host=a.test;methods=GET", "host=a.test;methods=GET POST", CONTAIN_REFUSED, "POST https://a.test/"},
        {"host=a.test;methods=*", "host=a.test;methods=GET POST", CONTAIN_YES, NULL},
        {"host=a.test;methods=GET;to=http://127.0.0.1:1", "host=a.test;methods=GET;to=http://127.0.0.1:1", CONTAIN_YES, NULL},
        {"host=a.test;methods=GET;to=http://127.0.0.1:1", "host=a.test;methods=GET;to=http://127.0.0.1:2", CONTAIN_DESTINATION, "GET https://a.test/"},
        {"host=a.test;methods=GET;to=http://127.0.0.1:1", "host=a.test;methods=GET", CONTAIN_DESTINATION, "GET https://a.test/"},
        {"host=a.test;methods=GET", "host=a.test;methods=GET;to=http://127.0.0.1:1", CONTAIN_DESTINATION, "GET https://a.test/"},
        {"host=a.test;methods=POST;models=a b*", "host=a.test;methods=POST;models=b*", CONTAIN_YES, NULL},
        {"host=a.test;methods=POST", "host=a.test;methods=POST;models=b*", CONTAIN_YES, NULL},
        {"host=a.test;methods=POST;models=a b*", "host=a.test;methods=POST;models=c", CONTAIN_MODEL, "POST https://a.test/"},
        {"host=a.test;methods=POST;models=a", "host=a.test;methods=POST", CONTAIN_MODEL, "POST https://a.test/"},
        {"host=a.test;methods=GET POST", "host=a.test;methods=*", CONTAIN_REFUSED, "https://a.test/"},
        {"host=a.test;paths=/repos/acme/**", "host=a.test;paths=/repos/acme/x/*", CONTAIN_YES, NULL},
        {"host=a.test;paths=/repos/acme/*", "host=a.test;paths=/repos/acme/**", CONTAIN_REFUSED, "/repos/acme"},
        {"host=a.test;paths=/repos/acme/**", "host=a.test;paths=/repos/*/x", CONTAIN_REFUSED, "/repos/x/x"},
        {"host=a.test;paths=/a* /b*", "host=a.test;paths=/*", CONTAIN_REFUSED, "https://a.test/"},
        {"host=a.test;paths=/a*c", "host=a.test;paths=/ab*c", CONTAIN_YES, NULL},
        {"host=a.test;paths=/a*c", "host=a.test;paths=/a*", CONTAIN_REFUSED, "https://a.test/a"},
        {"host=a.test;paths=/**/x/**", "host=a.test;paths=/a/x/b /x", CONTAIN_YES, NULL},
        {"host=a.test;paths=/** | deny;host=a.test;paths=/s/**", "host=a.test;paths=/**", CONTAIN_REFUSED, "https://a.test/s"},
        {"host=a.test;paths=/** | deny;host=a.test;paths=/s/**", "host=a.test;paths=/** | deny;host=a.test;paths=/s/**", CONTAIN_YES, NULL},
        {"host=a.test;paths=/** | deny;host=a.test;paths=/s/**", "host=a.test;paths=/t/**", CONTAIN_YES, NULL},
        {"host=**.test | deny;host=s.test", "host=**.test", CONTAIN_REFUSED, "s.test"},
        {"host=a.test;paths=/x | host=a.test;paths=/y", "host=a.test;paths=/x /y", CONTAIN_YES, NULL},
        {"host=a.test;query=page per_page", "host=a.test;query=page", CONTAIN_YES, NULL},
        {"host=a.test;query=page", "host=a.test;query=page q", CONTAIN_REFUSED, "?q"},
        {"host=a.test;query=page", "host=a.test;query=*", CONTAIN_REFUSED, "?"},
        {"host=a.test;query=page:1*", "host=a.test;query=page", CONTAIN_REFUSED, "?page"},
        {"host=a.test;query=page:1*", "host=a.test;query=page:12", CONTAIN_YES, NULL},
        {"host=a.test;query=k | host=a.test;query=l", "host=a.test;query=k l", CONTAIN_REFUSED, "&"}, /* only both together */
        {"host=a.test;query=* | deny;host=a.test;query=k:1", "host=a.test;query=k", CONTAIN_REFUSED, "?k=1"},
        {"host=a.test;query=* | deny;host=a.test;query=k:1", "host=a.test;query=k:2*", CONTAIN_YES, NULL},
        {"host=a.test;methods=POST;body=100", "host=a.test;methods=POST;body=100", CONTAIN_YES, NULL},
        {"host=a.test;methods=POST;body=100", "host=a.test;methods=POST;body=101", CONTAIN_REFUSED, "101 bytes"},
        {"host=a.test;methods=POST;body=100", "host=a.test;methods=POST", CONTAIN_REFUSED, "101 bytes"},
        {"host=a.test;headers=10", "host=a.test;headers=11", CONTAIN_REFUSED, "GET"},
        {"host=a.test;headers=10", "host=a.test;headers=9", CONTAIN_YES, NULL},
        {"host=a.test;methods=GET", "host=a.test;methods=GET;websocket", CONTAIN_REFUSED, "wss://a.test/"},
        {"host=a.test;methods=GET;websocket", "host=a.test;methods=GET", CONTAIN_YES, NULL},
        {"host=a.test;methods=GET;protocol=https", "host=a.test;methods=GET;protocol=http;port=443", CONTAIN_REFUSED, "http://a.test:443/"},
        {"host=a.test;methods=GET;shapes=3;query=*", "host=a.test;methods=GET;shapes=1;query=*", CONTAIN_REFUSED, "GET"},
        {"host=a.test;methods=GET;shapes=1;query=*", "host=a.test;methods=GET;shapes=3;query=*", CONTAIN_YES, NULL},
        {"host=a.test;methods=GET;shapes=1", "host=a.test;methods=GET;paths=/only/this", CONTAIN_HARD, NULL},
        {"host=a.test;methods=GET;provenance", "host=a.test;methods=GET", CONTAIN_PROVENANCE, "GET https://a.test/"},
        {"host=a.test;methods=GET", "host=a.test;methods=GET;provenance", CONTAIN_YES, NULL},
        {"host=a.test;methods=GET;provenance", "host=a.test;methods=GET;provenance", CONTAIN_YES, NULL},
        {"host=a.test;methods=GET;provenance", "host=a.test;methods=GET;provenance;budget=novel:8", CONTAIN_NOVEL, "GET"},
        {"host=a.test;methods=GET;provenance;budget=novel:8", "host=a.test;methods=GET;provenance;budget=novel:8", CONTAIN_YES, NULL},
        {"host=a.test;methods=GET;provenance;budget=novel:8", "host=a.test;methods=GET;provenance;budget=novel:9", CONTAIN_BUDGET, "GET"},
        {"host=a.test;methods=GET;secret=one", "host=a.test;methods=GET;secret=one", CONTAIN_YES, NULL},
        {"host=a.test;methods=GET;secret=one", "host=a.test;methods=GET;secret=two", CONTAIN_SECRET, "GET"},
        {"host=a.test;methods=GET;secret=one", "host=a.test;methods=GET", CONTAIN_SECRET, "GET"}, /* it could bring its own */
        {"host=a.test;methods=GET", "host=a.test;methods=GET;secret=one", CONTAIN_SECRET, "GET"},
        {"host=a.test", "host=a.test;addresses=10.0.0.0/8", CONTAIN_ADDRESS, "a.test"},
        {"host=a.test;addresses=10.0.0.0/8", "host=a.test;addresses=10.1.0.0/16", CONTAIN_YES, NULL},
        {"host=a.test;addresses=10.0.0.0/8", "host=a.test;addresses=10.0.0.0/8 192.168.0.0/16", CONTAIN_ADDRESS, "a.test"},
        {"host=a.test;addresses=10.0.0.0/8", "host=a.test", CONTAIN_YES, NULL},
        {"host=a.test | deny;host=8.8.8.0/24", "host=a.test", CONTAIN_ADDRESS, "a.test"},
        {"host=a.test | deny;host=8.8.8.0/24", "host=a.test | deny;host=8.8.0.0/16", CONTAIN_YES, NULL},
        {"host=10.0.0.0/8;port=5432", "host=10.1.0.0/16;port=5432", CONTAIN_YES, NULL},
        {"host=10.1.0.0/16;port=5432", "host=10.0.0.0/15;port=5432", CONTAIN_REFUSED, "10.0.0.0:5432"},
        {"host=10.0.0.0/8;port=5432 | deny;host=10.9.0.0/16", "host=10.0.0.0/8;port=5432", CONTAIN_REFUSED, "10.9."},
        {"host=0.0.0.0/0;port=443", "host=93.184.216.34;port=443", CONTAIN_YES, NULL},
        {"host=**", "host=93.184.216.34", CONTAIN_REFUSED, "93.184.216.34:443"},
        {"host=webhook.site", "host=webhook.site", CONTAIN_YES, NULL},
        {"host=**", "host=webhook.site", CONTAIN_REFUSED, "webhook.site"}, /* no wildcard opens a relay */
        {"host=a.test;budget=requests:10;methods=GET", "host=a.test;budget=requests:10;methods=GET", CONTAIN_YES, NULL},
        {"host=a.test;budget=requests:10;methods=GET", "host=a.test;budget=requests:11;methods=GET", CONTAIN_BUDGET, "GET"},
        {"host=a.test;budget=requests:10;methods=GET", "host=a.test;methods=GET", CONTAIN_BUDGET, "GET"},
        {"host=a.test;budget=requests:10;methods=GET", "host=a.test;methods=GET | run=requests:5", CONTAIN_YES, NULL},
        {"host=a.test;methods=GET | run=requests:10", "host=a.test;methods=GET | run=requests:5", CONTAIN_YES, NULL},
        {"host=a.test;methods=GET | run=requests:10", "host=a.test;methods=GET | run=requests:11", CONTAIN_BUDGET, "GET"},
        {"host=a.test;methods=GET | run=up:10", "host=a.test;methods=GET;budget=up:6", CONTAIN_YES, NULL},
        {"host=*.test;budget=up:10;methods=GET", "host=a.test;budget=up:6;methods=GET | host=b.test;budget=up:6;methods=GET", CONTAIN_SUM, NULL},
        {"host=*.test;budget=up:10;methods=GET", "host=a.test;budget=up:6;methods=GET | host=b.test;budget=up:4;methods=GET", CONTAIN_YES, NULL},
        {"host=*.test;budget=up:10;methods=GET", "host=a.test;budget=up:6;methods=GET | host=b.test;budget=share:0;methods=GET", CONTAIN_YES, NULL},
        {"host=*.test;budget=hosts:2;methods=GET", "host=a.test;methods=GET | host=b.test;methods=GET", CONTAIN_YES, NULL},
        {"host=*.test;budget=hosts:2;methods=GET", "host=a.test;methods=GET | host=b.test;methods=GET | host=c.test;methods=GET", CONTAIN_SUM, NULL},
        {"host=*.test;budget=hosts:2;methods=GET", "host=*.test;methods=GET", CONTAIN_BUDGET, "GET"},
        {"host=a.test;paths=/caf%C3%A9*", "host=a.test;paths=/caf%C3%A9/x /caf%C3%A9", CONTAIN_REFUSED, "/caf%C3%A9/x"},
        {"host=a.test;paths=/%2A", "host=a.test;paths=/*", CONTAIN_REFUSED, "https://a.test/"},
};

TEST(told_apart) {
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct containment c;
                struct error e = {};
                enum contain_why why = held(cases[i].parent, cases[i].child, &c);
                bool ok = why == cases[i].why && (!cases[i].witness || strstr(c.request, cases[i].witness));
                int r = contain_error(&c, &e);
                if (!ok)
                        printf("# %s <- %s: %d, not %d; %s; %s\n", cases[i].parent, cases[i].child, why, cases[i].why, c.request, e.msg);
                check(ok && (why == CONTAIN_YES) == (r == 0));
                check(r == 0 || e.msg[0]);
                containment_clear(&c);
        }
}

/* What a child takes out of which budget. */
TEST(charges) {
        struct side p, q;
        struct containment c;

        side_make(&p, "host=*.test;budget=requests:100;methods=GET | run=up:1000");
        side_make(&q, "host=a.test;budget=requests:10;methods=GET | host=b.test;budget=requests:20;methods=GET | run=up:300");
        check(contain_network(&p.t, &q.t, &c) == 0 && c.why == CONTAIN_YES && c.n_charges == 2);
        for (size_t i = 0; i < c.n_charges; i++)
                check(c.charges[i].parent == TABLE_NONE ? streq(contain_budget_name(c.charges[i].of), "up") && c.charges[i].amount == 300
                                                        : streq(contain_budget_name(c.charges[i].of), "requests") && c.charges[i].amount == 30);
        side_clear(&p);
        side_clear(&q);
}

static bool same_secret(const struct side *p, const struct verdict *vp, const struct side *q, const struct verdict *vq) {
        const char *a = vp->secret == TABLE_NONE ? "" : table_secret_name(&p->t, vp->secret), *b = vq->secret == TABLE_NONE ? "" : table_secret_name(&q->t, vq->secret);
        return streq(a, b);
}

/* Why a request shows that the child is not contained; CONTAIN_YES: it does not. */
static enum contain_why shows(const struct side *p, const struct side *q, const struct request *r) {
        struct verdict vp, vq;

        table_decide(&q->t, r, &vq);
        if (!vq.allowed || table_port_access(&q->t, r) == TABLE_REFUSE)
                return CONTAIN_YES;
        table_decide(&p->t, r, &vp);
        if (!vp.allowed)
                return CONTAIN_REFUSED;
        if (r->layer == REQUEST_L4 && vq.access == TABLE_PASS_TCP && vp.access != TABLE_PASS_TCP)
                return CONTAIN_ACCESS;
        if (!same_secret(p, &vp, q, &vq))
                return CONTAIN_SECRET;
        if (vp.provenance && !vq.provenance)
                return CONTAIN_PROVENANCE;
        if (r->layer == REQUEST_L7 && r->has_body && r->body_bytes == UINT64_MAX && vq.body_max > vp.body_max)
                return CONTAIN_BODY;
        for (size_t i = 0; i < ELEMENTSOF(fixture_addresses); i++) {
                struct request_address a;
                check(address_parse(fixture_addresses[i], strlen(fixture_addresses[i]), &a) == 0);
                if (r->is_address)
                        a = r->address;
                if (table_address_allowed(&q->t, &vq, &a, r->port) && !table_address_allowed(&p->t, &vp, &a, r->port))
                        return CONTAIN_ADDRESS;
        }
        return CONTAIN_YES;
}

static bool narrower(struct random *r, const struct network *from, struct network *to) {
        /* A rule of the parent's once more, with something taken away or added. */
        const struct network_rule *o = &from->rules[draw(r, (uint32_t)MAX(from->n_rules, 1u))];
        struct network_rule u = {.deny = o->deny, .kind = o->kind, .range = o->range, .protocols = o->protocols, .any_query = o->any_query,
                                 .body_written = o->body_written, .body = o->body, .shapes = o->shapes, .websocket = o->websocket,
                                 .provenance = o->provenance && draw(r, 4), .budget = SIZE_MAX, .line = (unsigned)to->n_rules + 2, .headers = o->headers,
                                 .header_bytes = o->header_bytes};
        unsigned written = WROTE_PROTOCOL | WROTE_HEADERS;
        struct error e = {};
        bool ok = true;

        u.host = strdup(o->host);
        u.secret = o->secret ? strdup(o->secret) : NULL;
        for (size_t i = 0; i < o->n_ports; i++) {
                char text[32];
                snprintf(text, sizeof(text), "%u-%u", o->ports[i].first, draw(r, 3) ? o->ports[i].last : o->ports[i].first);
                ok = ok && network_add_port(&u, text, &e) == 0;
        }
        for (size_t i = 0; i < o->methods.n; i++)
                if (i == 0 || draw(r, 3))
                        ok = ok && network_add_method(&u, o->methods.items[i], &e) == 0;
        for (size_t i = 0; i < o->paths.n; i++)
                if (i == 0 || draw(r, 3))
                        ok = ok && network_add_path(&u, o->paths.items[i], &e) == 0;
        for (size_t i = 0; i < o->n_query; i++)
                if (draw(r, 3) || o->deny)
                        ok = ok && network_add_query(&u, o->query[i].key, o->query[i].value, &e) == 0;
        for (size_t i = 0; i < o->n_addresses; i++) {
                char *text = network_range_text(&o->addresses[i]);
                ok = ok && network_add_address(&u, text, &e) == 0;
                free(text);
        }
        if (!o->deny && u.protocols & NETWORK_READ && !(u.protocols & NETWORK_UNREAD) && draw(r, 4) == 0) {
                u.body_written = true;
                u.body = draw(r, 3) * 100;
        }
        if (u.protocols & NETWORK_UNREAD || u.deny)
                written &= ~(unsigned)WROTE_HEADERS;
        ok = ok && network_add_rule(to, &u, written, &e) == 0;
        network_rule_clear(&u);
        return ok;
}

TEST(like_the_decision) {
        struct random r = {0x2545f4914f6cdd1dull};
        unsigned yes = 0, hard = 0, no[CONTAIN_HARD + 1] = {}, asked = 0, found = 0;

        for (int round = 0; round < 1500; round++) {
                struct side p = {}, q = {};
                struct containment c;
                for (uint32_t i = 1 + draw(&r, 6); i > 0; i--)
                        if (!fixture_rule(&r, &p.n))
                                i++;
                for (size_t i = 0; i < p.n.n_rules && round % 4; i++) /* else most children differ by their budgets */
                        p.n.rules[i].budget = SIZE_MAX;
                for (uint32_t i = 1 + draw(&r, 4); i > 0; i--)
                        if (!(draw(&r, 4) ? narrower(&r, &p.n, &q.n) : fixture_rule(&r, &q.n)))
                                i += draw(&r, 2);
                for (size_t i = 0; i < p.n.n_rules; i++) { /* the parent's denies, so that more are contained */
                        struct network only = {.rules = &p.n.rules[i], .n_rules = 1};
                        if (p.n.rules[i].deny && draw(&r, 8))
                                (void)narrower(&r, &only, &q.n);
                }
                side_compile(&p);
                side_compile(&q);
                check(contain_network(&p.t, &q.t, &c) == 0);
                yes += c.why == CONTAIN_YES;
                hard += c.why == CONTAIN_HARD;
                no[c.why]++;
                if (c.request[0] && c.why <= CONTAIN_BODY && c.why != CONTAIN_ADDRESS && c.why != CONTAIN_NOVEL) {
                        enum contain_why w = shows(&p, &q, &c.witness);
                        if (w != c.why)
                                printf("# round %d: %s: %d, not %d\n", round, c.request, w, c.why);
                        check(w == c.why);
                }
                for (int k = 0; k < 400; k++) {
                        struct request x;
                        fixture_request(&r, &x);
                        enum contain_why w = shows(&p, &q, &x);
                        found += w != CONTAIN_YES;
                        if (w != CONTAIN_YES && c.why == CONTAIN_YES)
                                printf("# round %d: %d: %.*s %.*s:%u\n", round, w, (int)x.method.n, x.method.p, (int)x.host.n, x.host.p, x.port);
                        check(w == CONTAIN_YES || c.why != CONTAIN_YES);
                        asked++;
                }
                containment_clear(&c);
                side_clear(&p);
                side_clear(&q);
        }
        printf("# %u contained, %u not told; refused %u, secret %u, address %u, provenance %u, body %u, access %u, budget %u; %u of %u requests show it\n", yes,
               hard, no[CONTAIN_REFUSED], no[CONTAIN_SECRET], no[CONTAIN_ADDRESS], no[CONTAIN_PROVENANCE], no[CONTAIN_BODY], no[CONTAIN_ACCESS],
               no[CONTAIN_BUDGET], found, asked);
        check(yes > 100 && no[CONTAIN_REFUSED] > 100 && hard < 150);
}

TAP_MAIN
