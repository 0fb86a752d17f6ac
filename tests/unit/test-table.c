/* The compiled policy, held against the plain decision over rules and requests at random; damaged blocks; bounds. (Cases of
 * rules as people write them are in test-network.c: this one links no reader of YAML, for MSan's sake.) */
#include <time.h>

#include "model/table-layout.h"
#include "table-fixture.h"
#include "tap.h"

TEST(long_patterns_fill_words) {
        struct network n = {};
        struct error e = {};
        void *data = NULL;
        size_t size = 0;
        struct table t;

        for (int i = 0; i < 200; i++) { /* up to 60 segments, so that words are filled to their ends */
                struct network_rule u = {};
                struct strbuf b = {};
                for (int k = 0; k < 1 + i % 60; k++)
                        strbuf_printf(&b, "/%d", k == i % 60 ? i : k);
                check(network_set_host(&u, "a.test", &e) == 0 && network_add_path(&u, b.data, &e) == 0);
                check(network_add_rule(&n, &u, WROTE_PATHS, &e) == 0);
                strbuf_clear(&b);
        }
        check(table_compile(&n, &data, &size, &e) == 0 && table_load(data, size, &t) == 0);
        for (int i = 0; i < 200; i++) {
                struct strbuf b = {};
                strbuf_puts(&b, "GET https://a.test");
                for (int k = 0; k < 1 + i % 60; k++)
                        strbuf_printf(&b, "/%d", k == i % 60 ? i : k);
                struct verdict v = fixture_ask(&t, b.data);
                check(v.allowed && v.rule == (uint32_t)i && v.n_matched == 1);
                strbuf_puts(&b, "/x");
                check(!fixture_ask(&t, b.data).allowed);
                strbuf_clear(&b);
        }
        free(data);
        network_clear(&n);
}

/* Every path of up to seven segments from two names and another: wildcards behind each other, which come and go. */
TEST(short_paths_all_of_them) {
        static const char *const patterns[] = {"/**/a/*/*/b", "/*/*/a", "/**/a/**/b", "/a/*/**/b/*", "/**/*/a/*", "/**/a/b/**/a/*/*"};
        static const char names[] = {'a', 'b', 'q'};
        unsigned allowed = 0;

        for (size_t k = 0; k < ELEMENTSOF(patterns); k++) {
                struct network n = {};
                struct network_rule u = {};
                struct error e = {};
                void *data = NULL;
                size_t size = 0;
                struct table t;

                check(network_set_host(&u, "a.test", &e) == 0 && network_add_path(&u, patterns[k], &e) == 0);
                check(network_add_rule(&n, &u, WROTE_PATHS, &e) == 0);
                check(table_compile(&n, &data, &size, &e) == 0 && table_load(data, size, &t) == 0);
                for (unsigned length = 1, all = 3; length <= 7; length++, all *= 3)
                        for (unsigned i = 0; i < all; i++) {
                                struct request r = {.layer = REQUEST_L7, .tls = true, .port = 443, .method = {"GET", 3}, .host = {"a.test", 6},
                                                    .n_segments = length};
                                struct verdict v;
                                for (unsigned at = 0, left = i; at < length; at++, left /= 3)
                                        r.segment[at] = (struct request_text){&names[left % 3], 1};
                                table_decide(&t, &r, &v);
                                check(v.allowed == plain_path(patterns[k], &r, 0));
                                allowed += v.allowed;
                        }
                free(data);
                network_clear(&n);
        }
        printf("# %u allowed\n", allowed);
        check(allowed > 500);
}

TEST(shapes) {
        static const struct { const char *text; unsigned want; } cases[] = {
                {"' OR '1'='1", 1}, {"1 OR 1=1", 1}, {"x' UNION SELECT a FROM b--", 1}, {"1;DROP TABLE x", 1}, {"x'--", 1},
                {"1 union/**/select 2", 1}, {"admin'#", 1}, {"') or ('a'='a", 1}, {"sleep(5)", 1}, {"information_schema.tables", 1},
                {"O'Reilly", 0}, {"Trade Union selection", 0}, {"select", 0}, {"rock'n'roll", 0}, {"a-b--c", 0}, {"it's or not", 0},
                {"../../etc/passwd", 2}, {"..\\x", 2}, {"%2e%2e/x", 2}, {"/etc/passwd", 2}, {"file:///x", 2}, {"..", 2},
                {"a..b", 0}, {"v1..v2", 0}, {"...", 0}, {"profile:x", 0},
                {"x; cat /etc/hosts", 4}, {"$(id)", 4}, {"`id`", 4}, {"a|sh", 4}, {"a && /bin/sh", 4}, {"${jndi:ldap://x}", 4},
                {"a;b", 0}, {"cats & dogs", 0}, {"a|b", 0}, {"100$", 0},
                {"<script>alert(1)</script>", 8}, {"<IMG src=x onerror=alert(1)>", 8}, {"javascript:x", 8}, {"x onload=y", 8},
                {"a<b", 0}, {"only=1", 0}, {"once upon", 0}, {"1 < 2", 0},
        };
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct request r = {.n_query = 1};
                r.query[0].key = fixture_text("q");
                r.query[0].has_value = true;
                r.query[0].value = fixture_text(cases[i].text);
                unsigned found = network_shapes(&r);
                if (cases[i].want ? !(found & cases[i].want) : found != 0)
                        printf("# %s: %u\n", cases[i].text, found);
                check(cases[i].want ? (found & cases[i].want) != 0 : found == 0);
        }
}

/* At random: the table against the plain decision. */

static void compare(const struct network *n, const struct table *t, const struct request *r) {
        bool relay = plain_relay(r, table_relays), looks = false, read = false, quiet = false;
        unsigned allows = 0, denies = 0;
        uint32_t denied = TABLE_NONE, first = TABLE_NONE;
        size_t matched = 0;
        uint32_t list[1024];
        bool provenance = true, secret = false;
        uint64_t body = 0;
        struct verdict v;

        for (size_t i = 0; i < n->n_rules; i++) {
                const struct network_rule *u = &n->rules[i];
                if (!plain_host(u, r) || !plain_port(u, r->port))
                        continue;
                bool condition = !(u->protocols & NETWORK_UNREAD);
                looks |= condition;
                if (!u->deny && plain_counts(u, r, relay))
                        allows |= u->protocols;
                if (u->deny && !condition)
                        denies |= u->protocols;
        }
        enum table_access access = !(allows & ~denies) ? TABLE_REFUSE : looks ? TABLE_READ : allows & ~denies & NETWORK_TCP ? TABLE_PASS_TCP : TABLE_PASS_TLS;
        read = r->layer == REQUEST_L7;
        for (uint32_t i = 0; i < n->n_rules; i++) {
                const struct network_rule *u = &n->rules[i];
                if (!plain_host(u, r) || !plain_port(u, r->port))
                        continue;
                bool fits = read ? plain_request(u, r, denies) : (u->protocols & NETWORK_UNREAD) != 0;
                if (!fits)
                        continue;
                if (u->deny) {
                        quiet |= u->quiet;
                        denied = MIN(denied, i);
                        continue;
                }
                if (!plain_counts(u, r, relay) || (!read && !(u->protocols & allows & ~denies)))
                        continue;
                first = MIN(first, i);
                list[matched++] = i;
                provenance &= u->provenance;
                secret |= u->secret != NULL;
                body = MAX(body, u->protocols & NETWORK_UNREAD ? UINT64_MAX : plain_body(u, r));
        }
        bool allowed = read ? first != TABLE_NONE && denied == TABLE_NONE : access == TABLE_PASS_TCP || access == TABLE_PASS_TLS;
        memset(&v, 0xa5, sizeof(v));
        table_decide(t, r, &v);
        check(table_port_access(t, r) == access);
        check(v.allowed == allowed);
        if (allowed) {
                check(v.reason == VERDICT_ALLOWED && v.rule == first && v.n_matched == MIN(matched, TABLE_MATCHED_MAX) && !v.quiet);
                check(v.access == (read ? TABLE_READ : access));
                for (size_t i = 0; i < matched && matched <= TABLE_MATCHED_MAX; i++) {
                        bool found = false;
                        for (size_t k = 0; k < v.n_matched; k++)
                                found |= v.matched[k] == list[i];
                        check(found);
                        if (n->rules[list[i]].budget != SIZE_MAX) {
                                found = false;
                                for (size_t k = 0; k < v.n_budgets; k++)
                                        found |= v.budgets[k] == n->rules[list[i]].budget;
                                check(found);
                        }
                }
                check((v.secret != TABLE_NONE) == secret);
                if (read)
                        check(v.provenance == provenance && v.body_max == body);
        } else {
                check(v.access == TABLE_REFUSE && v.n_matched == 0 && v.n_budgets == 0 && v.secret == TABLE_NONE);
                check(v.reason > VERDICT_ALLOWED && v.reason < VERDICT_N);
                if (read && denied != TABLE_NONE)
                        check(v.reason == VERDICT_DENIED && v.rule == denied && v.quiet == quiet);
                if (v.rule != TABLE_NONE)
                        check(v.rule < n->n_rules && plain_host(&n->rules[v.rule], r));
        }
        if (!r->is_address && allowed)
                check(table_name_reachable(t, r->host));
}

TEST(like_the_plain_decision) {
        struct random r = {0x9e3779b97f4a7c15ull};
        size_t allowed = 0, total = 0;

        for (int round = 0; round < 600; round++) {
                struct network n = {};
                struct error e = {};
                void *data = NULL;
                size_t size = 0;
                struct table t;
                for (uint32_t i = 1 + draw(&r, round % 10 == 0 ? 200 : 24); i > 0; i--)
                        if (!fixture_rule(&r, &n))
                                i += draw(&r, 2);
                int x = table_compile(&n, &data, &size, &e);
                if (x < 0)
                        printf("# %s\n", e.msg);
                check(x == 0 && table_load(data, size, &t) == 0);
                for (int k = 0; k < 300; k++) {
                        struct request q;
                        struct verdict v;
                        fixture_request(&r, &q);
                        compare(&n, &t, &q);
                        table_decide(&t, &q, &v);
                        allowed += v.allowed;
                        total++;
                }
                free(data);
                network_clear(&n);
        }
        printf("# %zu of %zu allowed\n", allowed, total);
        check(allowed > total / 20 && allowed < total * 19 / 20);
}

/* Two rules with different secrets: they are refused where some request passes both, and the example is one. */
static bool passes(const struct network_rule *u, const struct request *r) {
        return plain_host(u, r) && plain_port(u, r->port) && plain_request(u, r, 0);
}

TEST(secrets_that_meet) {
        struct random r = {0x5ec4e7};
        size_t met = 0, apart = 0;

        for (int round = 0; round < 30000; round++) {
                struct network n = {};
                struct error e = {};
                for (int i = 0; i < 2; i++) {
                        struct network_rule u = {};
                        char path[128];
                        unsigned written = WROTE_SECRET;
                        check(network_set_host(&u, ONE_OF(&r, fixture_hosts), &e) == 0);
                        if (draw(&r, 3) == 0)
                                check(network_add_port(&u, ONE_OF(&r, fixture_ports), &e) == 0);
                        u.protocols = draw(&r, 6) ? NETWORK_HTTPS : NETWORK_HTTP;
                        if (draw(&r, 2))
                                check(network_add_method(&u, ONE_OF(&r, fixture_methods), &e) == 0);
                        for (uint32_t k = draw(&r, 3); k > 0; k--) {
                                fixture_path(&r, path, sizeof(path));
                                if (network_add_path(&u, path, &e) < 0)
                                        k++;
                        }
                        u.secret = strdup(i ? "two" : "one");
                        check(network_add_rule(&n, &u, written | WROTE_PROTOCOL, &e) == 0);
                }
                const struct network_rule *a = &n.rules[0], *b = &n.rules[1];
                int x = table_check_secrets(&n, &e);
                if (x < 0) {
                        char buf[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX], method[32] = "";
                        struct request q = {};
                        const char *colon = strrchr(e.msg, ' '), *url = colon + 1, *m = colon, *why = "";
                        check(colon && strstr(e.msg, "different secrets"));
                        while (m > e.msg && m[-1] != ' ')
                                m--;
                        snprintf(method, sizeof(method), "%.*s", (int)(colon - m), m);
                        int y = canonical_url(url, strlen(url), buf, sizeof(buf), &q, &why);
                        /* An example with an empty segment is none that a client can send; the rules overlap only there. */
                        if (y < 0 && strstr(url + 8, "//"))
                                ;
                        else {
                                q.method = fixture_text(method);
                                if (y < 0 || !passes(a, &q) || !passes(b, &q))
                                        printf("# %s (%s)\n", e.msg, why);
                                check(y == 0 && passes(a, &q) && passes(b, &q));
                        }
                        met++;
                } else {
                        for (int k = 0; k < 40; k++) {
                                struct request q;
                                fixture_request(&r, &q);
                                if (q.layer == REQUEST_L7 && passes(a, &q) && passes(b, &q))
                                        printf("# %s%s %s%s missed\n", a->host, a->paths.n ? a->paths.items[0] : "", b->host, b->paths.n ? b->paths.items[0] : "");
                                check(q.layer == REQUEST_L4 || !passes(a, &q) || !passes(b, &q));
                        }
                        apart++;
                }
                network_clear(&n);
        }
        printf("# %zu met, %zu apart\n", met, apart);
        check(met > 500 && apart > 500);
}

TEST(globs_like_the_plain_ones) {
        struct random r = {77};
        for (int i = 0; i < 200000; i++) {
                char p[10], s[12];
                size_t np = draw(&r, 8), ns = draw(&r, 10);
                for (size_t k = 0; k < np; k++)
                        p[k] = "ab*"[draw(&r, 3)];
                for (size_t k = 0; k < ns; k++)
                        s[k] = "ab"[draw(&r, 2)];
                check(network_glob(p, np, s, ns) == plain_glob(p, np, s, ns));
        }
}

/* Loading. */

TEST(blocks_that_are_none) {
        struct table t;
        struct error e = {};
        struct network n = {};
        void *data = NULL;
        size_t size = 0;
        check(network_add_allow(&n, "a.test", &e) == 0 && table_compile(&n, &data, &size, &e) == 0);
        check(table_load(data, size, &t) == 0);
        check(table_load(data, size - 8, &t) == -EBADMSG && table_load(data, 0, &t) == -EBADMSG);
        check(table_load((char *)data + 1, size - 1, &t) == -EBADMSG);
        struct table_header *h = data;
        h->version++;
        check(table_load(data, size, &t) == -EBADMSG);
        h->version--;
        h->order = __builtin_bswap32(h->order);
        check(table_load(data, size, &t) == -EBADMSG);
        h->order = TABLE_ORDER;
        for (size_t s = 0; s < SECTION_N; s++) {
                uint32_t at = h->section[s].at, count = h->section[s].n;
                h->section[s].at = 0xfffffff8u;
                check(table_load(data, size, &t) == -EBADMSG);
                h->section[s].at = at + 4;
                check(table_load(data, size, &t) == -EBADMSG);
                h->section[s].at = at;
                h->section[s].n = UINT32_MAX;
                check(table_load(data, size, &t) == -EBADMSG);
                h->section[s].n = count;
        }
        check(table_load(data, size, &t) == 0);
        free(data);
        network_clear(&n);
}

/* Any byte changed: refused, or a block whose look-ups stay within it (the sanitizers watch). */
TEST(damaged_blocks) {
        struct random r = {4711};
        for (int round = 0; round < 12; round++) {
                struct network n = {};
                struct error e = {};
                void *data = NULL;
                size_t size = 0, taken = 0;
                for (int i = 0; i < 30; i++)
                        if (!fixture_rule(&r, &n))
                                i--;
                check(table_compile(&n, &data, &size, &e) == 0);
                uint8_t *copy = malloc(size);
                for (int i = 0; i < 1500; i++) {
                        struct table t;
                        struct request q;
                        struct verdict v;
                        memcpy(copy, data, size);
                        for (uint32_t k = 1 + draw(&r, 3); k > 0; k--) {
                                size_t at = draw(&r, (uint32_t)size / 4) * 4u;
                                uint32_t value = draw(&r, 3) ? draw(&r, 1u << draw(&r, 31)) : 0u - draw(&r, 9);
                                memcpy(copy + at, &value, 4);
                        }
                        if (table_load(copy, size, &t) < 0)
                                continue;
                        taken++;
                        fixture_request(&r, &q);
                        table_decide(&t, &q, &v);
                        table_port_access(&t, &q);
                        if (!q.is_address)
                                table_name_reachable(&t, q.host);
                        else
                                table_address_allowed(&t, &v, &q.address, q.port);
                }
                check(taken > 0);
                free(copy);
                free(data);
                network_clear(&n);
        }
}

/* Bounds. */

static double seconds(void) {
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

TEST(many_rules_and_hostile_patterns) {
        struct network n = {};
        struct error e = {};
        void *data = NULL;
        size_t size = 0;
        struct table t;
        double begin = seconds();

        for (int i = 0; i < 2000; i++) {
                struct network_rule u = {};
                char path[64];
                snprintf(path, sizeof(path), "/**/x%d/**/y%d", i % 50, i);
                check(network_set_host(&u, "a.test", &e) == 0 && network_add_path(&u, path, &e) == 0 &&
                      network_add_rule(&n, &u, WROTE_PATHS, &e) == 0);
        }
        check(table_compile(&n, &data, &size, &e) == 0 && table_load(data, size, &t) == 0);
        check(size < 4u << 20);
        struct verdict v = fixture_ask(&t, "GET https://a.test/q/x7/x8/x9/z/y1908");
        check(v.allowed && v.n_matched == 1 && v.rule == 1908);
        v = fixture_ask(&t, "GET https://a.test/q/x7/x9/z/y1908");
        check(!v.allowed && v.reason == VERDICT_PATH);
        free(TAKE_PTR(data));
        /* Ranges of ports that all overlap in a different way. */
        network_clear(&n);
        n = (struct network){};
        for (int i = 0; i < 4000; i++) {
                struct network_rule u = {.protocols = NETWORK_TCP};
                char port[32];
                snprintf(port, sizeof(port), "%d-%d", 1 + i, 65000 - i);
                check(network_set_host(&u, "a.test", &e) == 0 && network_add_port(&u, port, &e) == 0 &&
                      network_add_rule(&n, &u, WROTE_PORT | WROTE_PROTOCOL, &e) == 0);
        }
        check(table_compile(&n, &data, &size, &e) == -E2BIG && strstr(e.msg, "too many or too entangled"));
        network_clear(&n);
        printf("# %.2f s\n", seconds() - begin);
        check(seconds() - begin < 20);
}

TEST(more_rules_than_a_verdict_names) {
        struct network n = {};
        struct error e = {};
        void *data = NULL;
        size_t size = 0;
        struct table t;

        for (unsigned i = 0; i < TABLE_MATCHED_MAX + 8; i++) {
                struct network_rule u = {};
                unsigned written = WROTE_METHODS;
                check(network_set_host(&u, "a.test", &e) == 0 && network_add_method(&u, "GET", &e) == 0);
                if (i == TABLE_MATCHED_MAX + 3) { /* what it says of addresses is not lost */
                        check(network_add_address(&u, "10.0.0.0/8", &e) == 0);
                        written |= WROTE_ADDRESSES;
                }
                check(network_add_rule(&n, &u, written, &e) == 0);
        }
        check(table_compile(&n, &data, &size, &e) == 0 && table_load(data, size, &t) == 0);
        struct verdict v = fixture_ask(&t, "GET https://a.test/");
        struct request_address a;
        check(address_parse("10.0.0.1", 8, &a) == 0);
        check(v.allowed && v.n_matched == TABLE_MATCHED_MAX && v.rule == 0 && table_address_allowed(&t, &v, &a, 443));
        free(TAKE_PTR(data));
        for (size_t i = 0; i < n.n_rules; i++) {
                struct network_budget b = NETWORK_NO_BUDGET;
                n.rules[i].budget = network_add_budget(&n, &b);
        }
        check(table_compile(&n, &data, &size, &e) == 0 && table_load(data, size, &t) == 0);
        v = fixture_ask(&t, "GET https://a.test/");
        check(!v.allowed && v.reason == VERDICT_BUDGETS); /* one that could not be charged must not pass */
        free(data);
        network_clear(&n);
}

TAP_MAIN
