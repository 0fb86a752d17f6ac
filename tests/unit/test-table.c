/* The compiled policy: a table of cases; and held against the plain decision over rules and requests at random. */
#include <fcntl.h>
#include <time.h>

#include "base/fd.h"
#include "model/network-preset.h"
#include "model/policy.h"
#include "model/table-layout.h"
#include "table-fixture.h"
#include "tap.h"

static struct policy *policy;
static void *block;

static bool compile_text(const char *rules, struct table *ret, struct error *e) {
        _cleanup_free_ char *text = str_printf("version: 1\n%s", rules);
        size_t size = 0;

        policy_free(TAKE_PTR(policy));
        free(TAKE_PTR(block));
        if (policy_parse(text, strlen(text), "p.yaml", &policy, e) < 0 || table_compile(&policy->network, &block, &size, e) < 0)
                return false;
        check(table_load(block, size, ret) == 0);
        return true;
}

static struct table compiled(const char *rules) {
        struct table t = {};
        struct error e = {};
        if (!compile_text(rules, &t, &e))
                printf("# %s; %s\n", e.msg, e.fix);
        check(e.errnum == 0);
        return t;
}

static void refused(const char *rules, const char *msg, const char *fix) {
        struct table t = {};
        struct error e = {};
        bool ok = compile_text(rules, &t, &e);
        if (ok || !strstr(e.msg, msg) || !strstr(e.fix, fix))
                printf("# %s: %s; %s\n", rules, ok ? "taken" : e.msg, e.fix);
        check(!ok && strstr(e.msg, msg) && strstr(e.fix, fix));
}

/* "METHOD URL" or "HOST:PORT". */
static struct verdict ask(const struct table *t, const char *what) {
        char buf[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX];
        struct request r = {};
        struct verdict v;
        const char *why = "", *space = strchr(what, ' ');

        if (!space) {
                check(canonical_authority(what, strlen(what), 0, buf, &r, &why) == 0);
                r.layer = REQUEST_L4;
        } else {
                int x = canonical_url(space + 1, strlen(space + 1), buf, sizeof(buf), &r, &why);
                if (x < 0)
                        printf("# %s: %s\n", what, why);
                check(x == 0);
                r.method = (struct request_text){what, (size_t)(space - what)};
        }
        table_decide(t, &r, &v);
        return v;
}

#define says(t, what, want_reason, want_rule)                                                                       \
        do {                                                                                                        \
                struct verdict _asked = ask(t, what);                                                                   \
                if (_asked.reason != (want_reason) || _asked.rule != (uint32_t)(want_rule))                                 \
                        printf("# %s: reason %d, rule %d\n", what, _asked.reason, (int)_asked.rule);                        \
                check(_asked.reason == (want_reason) && _asked.rule == (uint32_t)(want_rule));                              \
                check(_asked.allowed == ((want_reason) == VERDICT_ALLOWED));                                            \
        } while (0)

TEST(nothing_is_allowed_without_rules) {
        struct table t = compiled("");
        says(&t, "GET https://a.test/", VERDICT_HOST, -1);
        says(&t, "a.test:443", VERDICT_HOST, -1);
        says(&t, "10.0.0.1:22", VERDICT_HOST, -1);
        says(&t, "93.184.216.34:22", VERDICT_HOST, -1);
        check(!table_name_reachable(&t, fixture_text("a.test")) && !table_name_reachable(&t, fixture_text("")));
        check(table_rules(&t) == 0);
        struct network_budget b;
        check(table_budget(&t, TABLE_NONE, &b) && b.up == UINT64_MAX && !table_budget(&t, 0, &b));
}

TEST(names) {
        struct table t = compiled("network:\n- {host: a.test}\n- {host: '*.b.test'}\n- {host: '**.c.test'}\n- {host: D.Test.}\n");
        says(&t, "a.test:443", VERDICT_ALLOWED, 0);
        says(&t, "A.Test.:443", VERDICT_ALLOWED, 0);
        says(&t, "x.a.test:443", VERDICT_HOST, -1);
        says(&t, "aa.test:443", VERDICT_HOST, -1);
        says(&t, "a.test.x:443", VERDICT_HOST, -1);
        says(&t, "b.test:443", VERDICT_HOST, -1);
        says(&t, "x.b.test:443", VERDICT_ALLOWED, 1);
        says(&t, "x.y.b.test:443", VERDICT_HOST, -1);
        says(&t, "xb.test:443", VERDICT_HOST, -1);
        says(&t, "c.test:443", VERDICT_HOST, -1);
        says(&t, "x.c.test:443", VERDICT_ALLOWED, 2);
        says(&t, "x.y.z.c.test:443", VERDICT_ALLOWED, 2);
        says(&t, "d.test:443", VERDICT_ALLOWED, 3);
        says(&t, "test:443", VERDICT_HOST, -1);
        check(table_name_reachable(&t, fixture_text("x.b.test")) && !table_name_reachable(&t, fixture_text("b.test")));
        t = compiled("network:\n- {host: '**', port: 9}\n");
        says(&t, "x:9", VERDICT_ALLOWED, 0);
        says(&t, "x.y.z:9", VERDICT_ALLOWED, 0);
        says(&t, "8.8.8.8:9", VERDICT_HOST, -1);
}

TEST(ports) {
        struct table t = compiled("network:\n- {host: a.test, port: [22, 8000-8010]}\n- {host: a.test, port: 8005-8100}\n"
                                  "- {host: b.test}\n- {host: '*.a.test', port: 1-65535, protocol: tcp}\n");
        says(&t, "a.test:22", VERDICT_ALLOWED, 0);
        says(&t, "a.test:8000", VERDICT_ALLOWED, 0);
        says(&t, "a.test:8007", VERDICT_ALLOWED, 0);
        check(ask(&t, "a.test:8007").n_matched == 2);
        says(&t, "a.test:8011", VERDICT_ALLOWED, 1);
        says(&t, "a.test:8100", VERDICT_ALLOWED, 1);
        says(&t, "a.test:8101", VERDICT_PORT, 0);
        says(&t, "a.test:443", VERDICT_PORT, 0);
        says(&t, "b.test:80", VERDICT_PORT, 2);
        says(&t, "x.a.test:1", VERDICT_ALLOWED, 3);
        says(&t, "x.a.test:65535", VERDICT_ALLOWED, 3);
}

TEST(what_passes_unread) {
        struct table t = compiled("network:\n- {host: a.test}\n- {host: a.test, port: 22}\n- {host: b.test, port: 443, protocol: tcp}\n"
                                  "- {host: b.test}\n- {host: c.test, paths: [/x]}\n- {host: c.test}\n- {host: d.test}\n"
                                  "- {deny: true, host: d.test, paths: [/y]}\n- {host: 93.184.216.34}\n");
        check(ask(&t, "a.test:443").access == TABLE_PASS_TLS);
        check(ask(&t, "a.test:22").access == TABLE_PASS_TCP);
        check(ask(&t, "b.test:443").access == TABLE_PASS_TCP && ask(&t, "b.test:443").n_matched == 2);
        check(ask(&t, "93.184.216.34:443").access == TABLE_PASS_TCP);
        /* A rule that looks at requests makes all of them be looked at; the other one still allows. */
        says(&t, "c.test:443", VERDICT_UNREAD, 4);
        says(&t, "GET https://c.test/z", VERDICT_ALLOWED, 5);
        check(ask(&t, "GET https://c.test/x").n_matched == 2 && ask(&t, "GET https://c.test/x").access == TABLE_READ);
        says(&t, "GET http://c.test:443/z", VERDICT_PROTOCOL, 4);
        says(&t, "d.test:443", VERDICT_UNREAD, 6);
        says(&t, "GET https://d.test/x", VERDICT_ALLOWED, 6);
        says(&t, "GET https://d.test/y", VERDICT_DENIED, 7);
}

TEST(reading) {
        struct table t = compiled("network:\n- {host: a.test, methods: [GET, PATCH], paths: [/a/*/c, /p/**, /q/]}\n"
                                  "- {host: a.test, protocol: http}\n- {host: b.test, protocol: https, port: 8443}\n");
        says(&t, "GET https://a.test/a/b/c", VERDICT_ALLOWED, 0);
        says(&t, "PATCH https://a.test/p", VERDICT_ALLOWED, 0);
        says(&t, "PATCH https://a.test/p/", VERDICT_ALLOWED, 0);
        says(&t, "GET https://a.test/p/1/2/3", VERDICT_ALLOWED, 0);
        says(&t, "GET https://a.test/q/", VERDICT_ALLOWED, 0);
        says(&t, "GET https://a.test/q", VERDICT_PATH, 0);
        says(&t, "GET https://a.test/a/b/c/", VERDICT_PATH, 0);
        says(&t, "GET https://a.test/a/c", VERDICT_PATH, 0);
        says(&t, "GET https://a.test/", VERDICT_PATH, 0);
        says(&t, "HEAD https://a.test/p", VERDICT_METHOD, 0);
        says(&t, "get https://a.test/p", VERDICT_METHOD, 0);
        says(&t, "GET https://a.test/p?x=1", VERDICT_QUERY_KEY, 0);
        says(&t, "GET http://a.test/", VERDICT_ALLOWED, 1);
        says(&t, "POST http://a.test/", VERDICT_METHOD, 1);
        says(&t, "GET https://b.test:8443/", VERDICT_ALLOWED, 2);
        says(&t, "GET http://b.test:8443/", VERDICT_PROTOCOL, 2);
        says(&t, "GET https://b.test/", VERDICT_PORT, 2);
        says(&t, "a.test:443", VERDICT_UNREAD, 0);
        says(&t, "GET https://c.test/", VERDICT_HOST, -1);
}

TEST(patterns_of_paths) {
        static const struct { const char *pattern, *path; bool fits; } cases[] = {
                {"/", "/", true}, {"/", "/a", false}, {"/**", "/", true}, {"/**", "/a/b/", true}, {"/*", "/", true},
                {"/*", "/a", true}, {"/*", "/a/", false}, {"/a/**/b", "/a/b", true}, {"/a/**/b", "/a/x/y/b", true},
                {"/a/**/b", "/a/x/y/c", false}, {"/**/b/**", "/b", true}, {"/**/b/**", "/a/b/c", true},
                {"/**/b/**", "/a/c", false}, {"/**/**/b", "/b", true}, {"/**/*/b", "/b", false}, {"/**/*/b", "/a/b", true},
                {"/a*", "/a", true}, {"/a*", "/abc", true}, {"/a*", "/ba", false}, {"/*c", "/abc", true}, {"/a*c", "/ac", true},
                {"/a*c", "/a", false}, {"/a*b*c", "/axbyc", true}, {"/a*b*c", "/axcyb", false}, {"/*aa*a", "/aaa", true},
                {"/*aa*aa", "/aaa", false}, {"/*.tgz", "/x.tgz", true}, {"/*.tgz", "/.tgz", true}, {"/*.tgz", "/x.tgz.y", false},
                {"/%2A", "/*", true}, {"/%2A", "/a", false}, {"/a%20b", "/a%20b", true}, {"/%61", "/a", true},
                {"/a%2A*", "/a*bc", true}, {"/a%2A*", "/abc", false}, {"/\xc3\xa9", "/%C3%A9", true}, {"/A", "/a", false},
                {"/100%25", "/100%25", true}, {"/*%25", "/100%25", true}, {"/*%25x", "/100%25", false},
                {"/a/*/c/*/e/*", "/a/b/c/d/e/f", true}, {"/**/a/**/a/**/a", "/a/a", false}, {"/**/a/**/a/**/a", "/a/a/a", true},
        };
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *rules = str_printf("network:\n- {host: a.test, paths: [\"%s\"]}\n", cases[i].pattern);
                _cleanup_free_ char *url = str_printf("GET https://a.test%s", cases[i].path);
                struct table t = compiled(rules);
                if (ask(&t, url).allowed != cases[i].fits)
                        printf("# %s against %s\n", cases[i].pattern, cases[i].path);
                check(ask(&t, url).allowed == cases[i].fits);
        }
}

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
                struct verdict v = ask(&t, b.data);
                check(v.allowed && v.rule == (uint32_t)i && v.n_matched == 1);
                strbuf_puts(&b, "/x");
                check(!ask(&t, b.data).allowed);
                strbuf_clear(&b);
        }
        free(data);
        network_clear(&n);
}

TEST(queries) {
        struct table t = compiled("network:\n- {host: a.test, query: [page, 'a b', 'p%2Aq']}\n- {host: b.test, query: {lang: 'en*', n: '', any: }}\n"
                                  "- {host: c.test, query: ['*']}\n- {host: d.test, query: []}\n");
        says(&t, "GET https://a.test/?page=1", VERDICT_ALLOWED, 0);
        says(&t, "GET https://a.test/?page=1&page=../x", VERDICT_ALLOWED, 0);
        says(&t, "GET https://a.test/?page", VERDICT_ALLOWED, 0);
        says(&t, "GET https://a.test/?a+b=1", VERDICT_ALLOWED, 0);
        says(&t, "GET https://a.test/?p*q=1", VERDICT_ALLOWED, 0);
        says(&t, "GET https://a.test/?Page=1", VERDICT_QUERY_KEY, 0);
        says(&t, "GET https://a.test/?page=1&x=2", VERDICT_QUERY_KEY, 0);
        check(ask(&t, "GET https://a.test/?page=1&x=2").detail == 1);
        says(&t, "GET https://b.test/?lang=en-GB", VERDICT_ALLOWED, 1);
        says(&t, "GET https://b.test/?lang=en/x&n=&any=1", VERDICT_ALLOWED, 1);
        says(&t, "GET https://b.test/?lang=en&lang=de", VERDICT_QUERY_VALUE, 1);
        check(ask(&t, "GET https://b.test/?lang=en&lang=de").detail == 1);
        says(&t, "GET https://b.test/?n=1", VERDICT_QUERY_VALUE, 1);
        says(&t, "GET https://b.test/?lang", VERDICT_QUERY_VALUE, 1);
        says(&t, "GET https://c.test/?x=1&y", VERDICT_ALLOWED, 2);
        says(&t, "GET https://d.test/", VERDICT_ALLOWED, 3);
        says(&t, "GET https://d.test/?x", VERDICT_QUERY_KEY, 3);
}

TEST(denies) {
        struct table t = compiled("network:\n- {host: '**.a.test', methods: ['*'], query: ['*']}\n- {deny: true, host: x.a.test}\n"
                                  "- {deny: true, host: '*.a.test', methods: [DELETE]}\n"
                                  "- {deny: true, host: '*.a.test', query: {token: 's*'}}\n- {deny: true, host: y.a.test, port: 443, paths: [/p/**]}\n"
                                  "- {deny: true, quiet: true, host: z.a.test}\n- {deny: true, host: w.a.test, protocol: https}\n"
                                  "- {host: b.test, port: 80}\n- {deny: true, host: b.test, port: 80}\nquiet: [q.a.test, q.test]\n");
        says(&t, "GET https://v.a.test/", VERDICT_ALLOWED, 0);
        says(&t, "GET https://x.a.test/", VERDICT_DENIED, 1);
        says(&t, "x.a.test:443", VERDICT_DENIED, 1);
        says(&t, "x.a.test:1", VERDICT_DENIED, 1);
        says(&t, "DELETE https://v.a.test/", VERDICT_DENIED, 2);
        says(&t, "DELETE https://x.a.test/", VERDICT_DENIED, 1);
        says(&t, "DELETE https://v.v.a.test/", VERDICT_ALLOWED, 0);
        says(&t, "GET https://v.a.test/?token=s1", VERDICT_DENIED, 3);
        says(&t, "GET https://v.a.test/?token=t1", VERDICT_ALLOWED, 0);
        says(&t, "GET https://v.a.test/?x=s1", VERDICT_ALLOWED, 0);
        says(&t, "GET https://y.a.test/p/q", VERDICT_DENIED, 4);
        says(&t, "GET https://y.a.test/q", VERDICT_ALLOWED, 0);
        says(&t, "GET https://z.a.test/", VERDICT_DENIED, 5);
        check(ask(&t, "GET https://z.a.test/").quiet && !ask(&t, "GET https://x.a.test/").quiet);
        says(&t, "GET https://w.a.test/", VERDICT_DENIED, 6);
        says(&t, "b.test:80", VERDICT_DENIED, 8);
        says(&t, "q.a.test:443", VERDICT_DENIED, 9);
        says(&t, "GET http://q.test/", VERDICT_DENIED, 10);
        says(&t, "q.test:99", VERDICT_DENIED, 10);
        check(ask(&t, "q.test:99").quiet && ask(&t, "GET https://q.a.test/").quiet);
        check(!table_name_reachable(&t, fixture_text("x.a.test")) && table_name_reachable(&t, fixture_text("y.a.test")));
        check(!table_name_reachable(&t, fixture_text("z.a.test")) && !table_name_reachable(&t, fixture_text("q.test")));
}

TEST(relays) {
        struct table t = compiled("network:\n- {host: '**'}\n- {host: webhook.site}\n- {host: '*.site'}\n");
        says(&t, "webhook.site:443", VERDICT_ALLOWED, 1);
        says(&t, "x.webhook.site:443", VERDICT_RELAY, 0);
        says(&t, "pastebin.com:443", VERDICT_RELAY, 0);
        says(&t, "notpastebin.com:443", VERDICT_ALLOWED, 0);
        says(&t, "a.b.ngrok.io:443", VERDICT_RELAY, 0);
        check(!table_name_reachable(&t, fixture_text("pastebin.com")) && table_name_reachable(&t, fixture_text("webhook.site")));
        refused("network: [{host: '*.ngrok.io'}]\n", "no wildcard opens it", "name the one host");
        refused("network: [{host: '**.x.ngrok.io'}]\n", "no wildcard opens it", "");
        t = compiled("network:\n- {deny: true, host: '*.ngrok.io'}\n- {host: x.ngrok.io}\n- {host: '**.io'}\n- {host: '*.com', paths: [/**]}\n");
        says(&t, "x.ngrok.io:443", VERDICT_DENIED, 0);
        says(&t, "GET https://pastebin.com/x", VERDICT_RELAY, 3);
        says(&t, "GET https://paste.example.com/x", VERDICT_HOST, -1);
}

TEST(addresses) {
        struct table t = compiled("network:\n- {host: 10.0.0.0/8, port: 22}\n- {host: 0.0.0.0/0, port: 25}\n- {host: '::/0', port: 25}\n"
                                  "- {deny: true, host: 10.9.0.0/16}\n- {host: 169.254.169.254, port: 80}\n- {host: 192.168.1.1, protocol: http}\n"
                                  "- {host: a.test, port: 22, addresses: [10.0.0.0/8, fd00::/8]}\n- {host: b.test, port: 22}\n");
        struct request_address in, denied, out, metadata, other, six;
        check(address_parse("10.1.2.3", 8, &in) == 0 && address_parse("10.9.0.1", 8, &denied) == 0);
        check(address_parse("93.184.216.34", 13, &out) == 0 && address_parse("169.254.169.254", 15, &metadata) == 0);
        check(address_parse("192.168.1.2", 11, &other) == 0 && address_parse("fd00::1", 7, &six) == 0);
        says(&t, "10.1.2.3:22", VERDICT_ALLOWED, 0);
        says(&t, "0x0a010203:22", VERDICT_ALLOWED, 0);
        says(&t, "[::ffff:10.1.2.3]:22", VERDICT_ALLOWED, 0);
        says(&t, "10.9.2.3:22", VERDICT_DENIED, 3);
        says(&t, "10.1.2.3:25", VERDICT_ADDRESS, 1);
        says(&t, "93.184.216.34:25", VERDICT_ALLOWED, 1);
        says(&t, "[2606:4700::1]:25", VERDICT_ALLOWED, 2);
        says(&t, "[fd00::1]:25", VERDICT_ADDRESS, 2);
        says(&t, "169.254.169.254:25", VERDICT_ADDRESS, 1);
        says(&t, "169.254.169.254:80", VERDICT_ALLOWED, 4);
        says(&t, "GET http://192.168.1.1/", VERDICT_ALLOWED, 5);
        says(&t, "GET http://192.168.1.2/", VERDICT_PORT, 1);
        struct verdict v = ask(&t, "a.test:22");
        check(table_address_allowed(&t, &v, &in, 22) && table_address_allowed(&t, &v, &six, 22) && table_address_allowed(&t, &v, &out, 22));
        check(!table_address_allowed(&t, &v, &denied, 22) && !table_address_allowed(&t, &v, &metadata, 22) && !table_address_allowed(&t, &v, &other, 22));
        v = ask(&t, "b.test:22");
        check(table_address_allowed(&t, &v, &out, 22) && !table_address_allowed(&t, &v, &in, 22));
        v = ask(&t, "10.1.2.3:22");
        check(table_address_allowed(&t, &v, &in, 22));
        v = ask(&t, "10.1.2.3:25");
        check(!v.allowed && !table_address_allowed(&t, &v, &out, 25));
        struct table_range range;
        size_t n = 0;
        while (table_address_rule(&t, n, &range))
                n++;
        check(n == 5 && table_address_rule(&t, 0, &range) && range.range.bits == 104 && range.first_port == 22);
}

TEST(limits_of_requests) {
        struct table t = compiled("network:\n- {host: a.test, methods: [GET, POST, DELETE], headers: {count: 3, bytes: 100}}\n"
                                  "- {host: b.test, methods: [GET, POST], body: 10}\n- {host: c.test, websocket: true}\n"
                                  "- {host: d.test, methods: [POST], body: 10}\n- {host: d.test, methods: [POST], body: 1KiB}\n"
                                  "- {host: e.test, query: [q], shapes: [sql-injection, traversal]}\n");
        static const struct { const char *host, *method; size_t headers, header_bytes; bool body; uint64_t bytes; bool ws; enum verdict_reason want; } cases[] = {
                {"a.test", "GET", 3, 100, false, 0, false, VERDICT_ALLOWED},
                {"a.test", "GET", 4, 100, false, 0, false, VERDICT_HEADERS},
                {"a.test", "GET", 3, 101, false, 0, false, VERDICT_HEADERS},
                {"a.test", "GET", 0, 0, true, 0, false, VERDICT_ALLOWED},
                {"a.test", "GET", 0, 0, true, 1, false, VERDICT_BODY},
                {"a.test", "GET", 0, 0, true, UINT64_MAX, false, VERDICT_BODY},
                {"a.test", "DELETE", 0, 0, true, 1, false, VERDICT_BODY},
                {"a.test", "POST", 0, 0, true, UINT64_MAX - 1, false, VERDICT_ALLOWED},
                {"a.test", "POST", 0, 0, true, UINT64_MAX, false, VERDICT_ALLOWED},
                {"a.test", "GET", 0, 0, false, 0, true, VERDICT_WEBSOCKET},
                {"b.test", "GET", 64, 16384, true, 10, false, VERDICT_ALLOWED},
                {"b.test", "GET", 65, 1, false, 0, false, VERDICT_HEADERS},
                {"b.test", "POST", 0, 0, true, 11, false, VERDICT_BODY},
                {"b.test", "POST", 0, 0, true, UINT64_MAX, false, VERDICT_ALLOWED},
                {"c.test", "GET", 0, 0, false, 0, true, VERDICT_ALLOWED},
                {"d.test", "POST", 0, 0, true, 1025, false, VERDICT_BODY},
        };
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct request r = {.layer = REQUEST_L7, .tls = true, .port = 443, .host = fixture_text(cases[i].host),
                                    .method = fixture_text(cases[i].method), .n_segments = 1, .segment = {{"", 0}},
                                    .n_headers = cases[i].headers, .header_bytes = cases[i].header_bytes, .has_body = cases[i].body,
                                    .body_bytes = cases[i].bytes, .websocket = cases[i].ws};
                struct verdict v;
                table_decide(&t, &r, &v);
                if (v.reason != cases[i].want)
                        printf("# case %zu: %d\n", i, v.reason);
                check(v.reason == cases[i].want);
        }
        struct request r = {.layer = REQUEST_L7, .tls = true, .port = 443, .host = fixture_text("d.test"), .method = fixture_text("POST"),
                            .n_segments = 1, .segment = {{"", 0}}, .has_body = true, .body_bytes = UINT64_MAX};
        struct verdict v;
        table_decide(&t, &r, &v); /* of two rules the wider */
        check(v.allowed && v.n_matched == 2 && v.body_max == 1024);
        r.host = fixture_text("a.test");
        table_decide(&t, &r, &v);
        check(v.allowed && v.body_max == UINT64_MAX);
        says(&t, "GET https://e.test/?q=abc", VERDICT_ALLOWED, 5);
        says(&t, "GET https://e.test/?q=1%27%20or%20%271%27=%271", VERDICT_SHAPE, 5);
        check(ask(&t, "GET https://e.test/?q=1%27%20or%20%271%27=%271").detail == NETWORK_SQL_INJECTION);
        says(&t, "GET https://e.test/?q=..%2F..%2Fetc", VERDICT_SHAPE, 5);
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

TEST(budgets_secrets_and_what_rules_are) {
        struct table t = compiled("network:\n- {host: a.test, paths: [/x/**], budget: {up: 1KiB}, secret: s1}\n"
                                  "- {host: a.test, paths: [/x/y], budget: {requests: 2}, provenance: true}\n- {use: git-fetch, repo: a/b, budget: {up: 7}}\n"
                                  "budget: {hosts: 3}\n");
        struct verdict v = ask(&t, "GET https://a.test/x/y");
        struct network_budget b;
        struct table_rule_info info;
        check(v.allowed && v.n_matched == 2 && v.n_budgets == 2 && !v.provenance && v.secret != TABLE_NONE);
        check_streq(table_secret_name(&t, v.secret), "s1");
        check(table_budget(&t, v.budgets[0], &b) && table_budget(&t, v.budgets[1], &b) && !table_budget(&t, 3, &b));
        check(table_budget(&t, TABLE_NONE, &b) && b.hosts == 3 && b.up == UINT64_MAX && table_budgets(&t) == 3);
        check(table_rule(&t, 0, &info) && info.line == 3 && !info.deny && info.read && !info.is_preset);
        check_streq(info.source, "p.yaml");
        check_streq(info.host, "a.test");
        check(table_rule(&t, 3, &info) && info.is_preset && info.line == 5 && info.budget == 2 && !table_rule(&t, 4, &info));
        check_streq(info.source, "git-fetch");
        check(table_rule(&t, 2, &info) && info.budget == 2); /* shared */
        v = ask(&t, "GET https://a.test/x/z");
        check(v.n_budgets == 1 && v.n_matched == 1);
        t = compiled("network:\n- {host: a.test, provenance: true}\n");
        check(ask(&t, "GET https://a.test/").provenance);
}

TEST(different_secrets_must_not_meet) {
        refused("network:\n- {host: a.test, secret: one}\n- {host: a.test, secret: two}\n", "GET https://a.test/", "differ");
        refused("network:\n- {host: '*.a.test', secret: one, paths: [/x/**]}\n- {host: b.a.test, secret: two, paths: ['/*/y*']}\n",
                "one (p.yaml:3) and two (p.yaml:4): GET https://b.a.test/x/y", "");
        refused("network:\n- {host: '**.test', secret: one, port: 8000-9000}\n- {host: '*.a.test', secret: two, port: [1, 8500-8600]}\n",
                "GET https://x.a.test:8500/", "");
        refused("network:\n- {host: '**', secret: one}\n- {host: '**', secret: two}\n", "https://x/", "");
        refused("network:\n- {host: 10.0.0.0/8, secret: one}\n- {host: 10.1.0.0/16, secret: two, methods: ['*']}\n", "https://10.1.0.0/16/", "");
        refused("network:\n- {host: a.test, secret: one, paths: ['/a*c']}\n- {host: a.test, secret: two, paths: ['/*b*']}\n", "https://a.test/abc", "");
        refused("network:\n- {host: a.test, secret: one, paths: ['/**/x']}\n- {host: a.test, secret: two, paths: ['/y/**']}\n", "https://a.test/y/x", "");
        compiled("network:\n- {host: a.test, secret: one}\n- {host: a.test, secret: one}\n- {host: a.test}\n");
        compiled("network:\n- {host: a.test, secret: one, methods: [GET]}\n- {host: a.test, secret: two, methods: [POST]}\n");
        compiled("network:\n- {host: a.test, secret: one, paths: [/a/**]}\n- {host: a.test, secret: two, paths: [/b/**, '/ab*']}\n");
        compiled("network:\n- {host: '*.a.test', secret: one}\n- {host: a.test, secret: two}\n- {host: x.y.a.test, secret: two}\n");
        compiled("network:\n- {host: a.test, secret: one}\n- {host: a.test, secret: two, port: 8443}\n");
        compiled("network:\n- {host: a.test, secret: one}\n- {host: a.test, secret: two, port: 443, protocol: http}\n");
        compiled("network:\n- {host: a.test, secret: one, paths: ['/*.x']}\n- {host: a.test, secret: two, paths: ['/*.y', '/*/*']}\n");
}

TEST(rules_that_are_none) {
        refused("network: [{methods: [GET]}]\n", "p.yaml:2:11: a rule without the key host", "host: NAME");
        refused("network: [{host: localhost}]\n", "sandbox's own", "addresses");
        refused("network: [{host: '127.1.2.3', port: 1}]\n", "sandbox's own", "");
        refused("network: [{host: '::1', port: 1}]\n", "sandbox's own", "");
        refused("network: [{host: a.test, protocol: tcp}]\n", "without a port", "port");
        refused("network: [{host: a.test, protocol: tcp, port: 1, paths: [/]}]\n", "paths needs reading", "https");
        refused("network: [{host: a.test, protocol: tls, secret: x}]\n", "secret needs reading", "");
        refused("network: [{host: a.test, port: [443, 22]}]\n", "port 443 beside others", "protocol");
        refused("network: [{host: a.test, port: 80, paths: [/]}]\n", "on port 80, without protocol", "protocol: http");
        refused("network: [{host: a.test, quiet: true}]\n", "quiet in a rule that allows", "deny");
        refused("network: [{host: 10.1.0.0/8}]\n", "does not begin where", "10.0.0.0/8");
        refused("network: [{host: 10.0.0.0/8, addresses: [10.0.0.0/8]}]\n", "an address itself", "");
        refused("network: [{host: 1.2.3.4, protocol: tls}]\n", "no SNI names an address", "tcp");
        refused("network: [{host: a.test, websocket: true, methods: [POST]}]\n", "lack GET", "");
        refused("network: [{deny: true, host: a.test, secret: x}]\n", "secret in a rule that denies", "");
        refused("network: [{deny: true, host: a.test, query: []}]\n", "query without keys", "");
        refused("network: [{deny: true, host: a.test, websocket: false}]\n", "says nothing", "");
        refused("network: [{host: a.test, methods: [CONNECT]}]\n", "CONNECT is never", "");
        refused("network: [{host: a.test, paths: [/a/../b]}]\n", ". and ..", "");
        refused("network: [{host: a.test, paths: [/a//b]}]\n", "empty segment", "");
        refused("network: [{host: a.test, paths: [/a%2fb]}]\n", "encoded slash", "");
        refused("network: [{host: a.test, paths: ['/a?b']}]\n", "query does not belong", "");
        refused("network: [{host: a.test, paths: ['/a**']}]\n", "whole segment", "");
        refused("network: [{host: a.test, paths: ['/*a*b*c*d*']}]\n", "four stars", "");
        refused("network: [{host: a.test, paths: [/%zz]}]\n", "percent sign begins an escape", "");
        refused("network: [{host: a.test, query: ['a*']}]\n", "keys are no patterns", "%2A");
        refused("network: [{host: a.test, query: [a, a]}]\n", "twice", "");
        refused("network: [{host: a.test, budget: {up: 1}, protocol: tcp, port: 1, paths: [/]}]\n", "needs reading", "");
        refused("network: [{host: a.test, protocol: tcp, port: 1, budget: {requests: 1}}]\n", "a budget of requests or url needs reading", "");
        refused("network: [{use: nothing}]\n", "there is no preset", "npm-install");
        refused("network: [{use: git-fetch}]\n", "needs the key repo", "OWNER/NAME");
        refused("network: [{use: git-fetch, repo: a/b.git}]\n", "cannot be", "without .git");
        refused("network: [{use: git-fetch, repo: 'a/*'}]\n", "cannot be", "");
        refused("network: [{use: git-fetch, repo: a/..}]\n", "cannot be", "");
        refused("network: [{use: git-fetch, repo: a/b/c}]\n", "cannot be", "");
        refused("network: [{use: npm-install, repo: a/b}]\n", "network.repo beside use", "");
        refused("network: [{use: npm-install, methods: [PUT]}]\n", "network.methods beside use", "");
        refused("network: [{host: a.test, repo: a/b}]\n", "without the key use", "");
        refused("network: [{use: bedrock, region: 'x.evil.test#'}]\n", "cannot be", "");
        refused("network: [{host: a.test, hots: x}]\n", "no key \"hots\" in network", "did you mean host");
        refused("network: [{host: a.test, budget: {ups: 1}}]\n", "in network.budget", "up");
        refused("quiet: [https://x.test/]\n", "p.yaml:2:9: the host", "name alone");
}

TEST(presets) {
        for (const struct network_preset *p = network_presets; p->name; p++) {
                _cleanup_free_ char *rules = str_printf("network: [{use: %s%s}]\n", p->name,
                                                        strstr(p->text, "{repo}") ? ", repo: acme/tool" :
                                                        strstr(p->text, "{region}") ? ", region: eu-west-1" :
                                                        strstr(p->text, "{resource}") ? ", resource: mine" : "");
                struct table t = compiled(rules);
                struct table_rule_info info;
                check(table_rules(&t) > 0);
                for (uint32_t i = 0; table_rule(&t, i, &info); i++) {
                        check(info.read && strcmp(info.source, p->name) == 0);
                        /* Nothing that writes: methods are reading ones, or what asks a model or a fetch. */
                        const struct strlist *m = &policy->network.rules[i].methods;
                        check(!strlist_has(m, "PUT") && !strlist_has(m, "DELETE") && !strlist_has(m, "PATCH") && !strlist_has(m, "*"));
                }
        }
        struct table t = compiled("network: [{use: npm-install}, {use: git-fetch, repo: acme/tool}, {use: pip-install}, {use: go-modules}, {use: cargo}, {use: apt}]\n");
        check(ask(&t, "GET https://registry.npmjs.org/left-pad").allowed);
        check(ask(&t, "GET https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz").allowed);
        check(ask(&t, "GET https://registry.npmjs.org/@types/node/-/node-1.0.0.tgz").allowed);
        check(!ask(&t, "PUT https://registry.npmjs.org/left-pad").allowed);
        check(!ask(&t, "POST https://registry.npmjs.org/-/npm/v1/security/advisories/bulk").allowed);
        check(!ask(&t, "GET https://registry.npmjs.org/-/v1/search?text=secret").allowed);
        check(ask(&t, "GET https://github.com/acme/tool/info/refs?service=git-upload-pack").allowed);
        check(ask(&t, "GET https://github.com/acme/tool.git/info/refs?service=git-upload-pack").allowed);
        check(ask(&t, "POST https://github.com/acme/tool.git/git-upload-pack").allowed);
        check(!ask(&t, "GET https://github.com/acme/tool.git/info/refs?service=git-receive-pack").allowed);
        check(!ask(&t, "GET https://github.com/acme/tool.git/info/refs?service=git-upload-pack&service=git-receive-pack").allowed);
        check(!ask(&t, "POST https://github.com/acme/tool.git/git-receive-pack").allowed);
        check(!ask(&t, "GET https://github.com/acme/other.git/info/refs?service=git-upload-pack").allowed);
        check(!ask(&t, "GET https://github.com/Acme/tool.git/info/refs?service=git-upload-pack").allowed);
        check(ask(&t, "GET https://pypi.org/simple/requests/").allowed && ask(&t, "GET https://files.pythonhosted.org/packages/a/b/c.whl").allowed);
        check(!ask(&t, "POST https://upload.pypi.org/legacy/").allowed && !ask(&t, "POST https://pypi.org/simple/x/").allowed);
        check(ask(&t, "GET https://proxy.golang.org/github.com/a/b/@v/list").allowed && ask(&t, "GET https://proxy.golang.org/golang.org/x/net/@v/v0.1.0.zip").allowed);
        check(!ask(&t, "GET https://proxy.golang.org/evil.test/data/@v/list").allowed && !ask(&t, "GET https://sum.golang.org/lookup/evil.test/data@v1.0.0").allowed);
        check(ask(&t, "GET https://sum.golang.org/lookup/github.com/a/b@v1.0.0").allowed);
        check(ask(&t, "GET https://index.crates.io/se/rd/serde").allowed && !ask(&t, "PUT https://crates.io/api/v1/crates/new").allowed);
        check(ask(&t, "GET http://deb.debian.org/debian/dists/bookworm/InRelease").allowed && !ask(&t, "GET http://deb.debian.org/x").allowed);
        t = compiled("network: [{use: anthropic, secret: k}, {use: openai}, {use: google-gemini}]\n");
        check(ask(&t, "POST https://api.anthropic.com/v1/messages?beta=true").secret != TABLE_NONE);
        check(!ask(&t, "POST https://api.anthropic.com/v1/files").allowed && !ask(&t, "POST https://api.openai.com/v1/files").allowed);
        check(ask(&t, "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse").allowed);
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
        struct verdict v = ask(&t, "GET https://a.test/q/x7/x8/x9/z/y1908");
        check(v.allowed && v.n_matched == 1 && v.rule == 1908);
        v = ask(&t, "GET https://a.test/q/x7/x9/z/y1908");
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
        struct verdict v = ask(&t, "GET https://a.test/");
        struct request_address a;
        check(address_parse("10.0.0.1", 8, &a) == 0);
        check(v.allowed && v.n_matched == TABLE_MATCHED_MAX && v.rule == 0 && table_address_allowed(&t, &v, &a, 443));
        free(TAKE_PTR(data));
        for (size_t i = 0; i < n.n_rules; i++) {
                struct network_budget b = NETWORK_NO_BUDGET;
                n.rules[i].budget = network_add_budget(&n, &b);
        }
        check(table_compile(&n, &data, &size, &e) == 0 && table_load(data, size, &t) == 0);
        v = ask(&t, "GET https://a.test/");
        check(!v.allowed && v.reason == VERDICT_BUDGETS); /* one that could not be charged must not pass */
        free(data);
        network_clear(&n);
}

TAP_MAIN
