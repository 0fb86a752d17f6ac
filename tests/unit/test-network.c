/* Rules of the network as people write them: which requests pass, by which rule, or why not; and what is no rule. */
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

#define says(t, what, want_reason, want_rule)                                                                       \
        do {                                                                                                        \
                struct verdict _asked = fixture_ask(t, what);                                                                   \
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
        check(fixture_ask(&t, "a.test:8007").n_matched == 2);
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
        check(fixture_ask(&t, "a.test:443").access == TABLE_PASS_TLS);
        check(fixture_ask(&t, "a.test:22").access == TABLE_PASS_TCP);
        check(fixture_ask(&t, "b.test:443").access == TABLE_PASS_TCP && fixture_ask(&t, "b.test:443").n_matched == 2);
        check(fixture_ask(&t, "93.184.216.34:443").access == TABLE_PASS_TCP);
        /* A rule that looks at requests makes all of them be looked at; the other one still allows. */
        says(&t, "c.test:443", VERDICT_UNREAD, 4);
        says(&t, "GET https://c.test/z", VERDICT_ALLOWED, 5);
        check(fixture_ask(&t, "GET https://c.test/x").n_matched == 2 && fixture_ask(&t, "GET https://c.test/x").access == TABLE_READ);
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
                if (fixture_ask(&t, url).allowed != cases[i].fits)
                        printf("# %s against %s\n", cases[i].pattern, cases[i].path);
                check(fixture_ask(&t, url).allowed == cases[i].fits);
        }
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
        check(fixture_ask(&t, "GET https://a.test/?page=1&x=2").detail == 1);
        says(&t, "GET https://b.test/?lang=en-GB", VERDICT_ALLOWED, 1);
        says(&t, "GET https://b.test/?lang=en/x&n=&any=1", VERDICT_ALLOWED, 1);
        says(&t, "GET https://b.test/?lang=en&lang=de", VERDICT_QUERY_VALUE, 1);
        check(fixture_ask(&t, "GET https://b.test/?lang=en&lang=de").detail == 1);
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
        check(fixture_ask(&t, "GET https://z.a.test/").quiet && !fixture_ask(&t, "GET https://x.a.test/").quiet);
        says(&t, "GET https://w.a.test/", VERDICT_DENIED, 6);
        says(&t, "b.test:80", VERDICT_DENIED, 8);
        says(&t, "q.a.test:443", VERDICT_DENIED, 9);
        says(&t, "GET http://q.test/", VERDICT_DENIED, 10);
        says(&t, "q.test:99", VERDICT_DENIED, 10);
        check(fixture_ask(&t, "q.test:99").quiet && fixture_ask(&t, "GET https://q.a.test/").quiet);
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
        struct verdict v = fixture_ask(&t, "a.test:22");
        check(table_address_allowed(&t, &v, &in, 22) && table_address_allowed(&t, &v, &six, 22) && table_address_allowed(&t, &v, &out, 22));
        check(!table_address_allowed(&t, &v, &denied, 22) && !table_address_allowed(&t, &v, &metadata, 22) && !table_address_allowed(&t, &v, &other, 22));
        v = fixture_ask(&t, "b.test:22");
        check(table_address_allowed(&t, &v, &out, 22) && !table_address_allowed(&t, &v, &in, 22));
        v = fixture_ask(&t, "10.1.2.3:22");
        check(table_address_allowed(&t, &v, &in, 22));
        v = fixture_ask(&t, "10.1.2.3:25");
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
        check(fixture_ask(&t, "GET https://e.test/?q=1%27%20or%20%271%27=%271").detail == NETWORK_SQL_INJECTION);
        says(&t, "GET https://e.test/?q=..%2F..%2Fetc", VERDICT_SHAPE, 5);
}

TEST(budgets_secrets_and_what_rules_are) {
        struct table t = compiled("network:\n- {host: a.test, paths: [/x/**], budget: {up: 1KiB}, secret: s1}\n"
                                  "- {host: a.test, paths: [/x/y], budget: {requests: 2}, provenance: true}\n- {use: git-fetch, repo: a/b, budget: {up: 7}}\n"
                                  "budget: {hosts: 3}\n");
        struct verdict v = fixture_ask(&t, "GET https://a.test/x/y");
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
        v = fixture_ask(&t, "GET https://a.test/x/z");
        check(v.n_budgets == 1 && v.n_matched == 1);
        t = compiled("network:\n- {host: a.test, provenance: true}\n");
        check(fixture_ask(&t, "GET https://a.test/").provenance);
}

static void gives(const struct table *t, const char *want) {
        _cleanup_strbuf_ struct strbuf b = {};
        const char *url;

        for (size_t i = 0; (url = table_given(t, i)); i++)
                strbuf_printf(&b, "%s ", url);
        check_streq(b.data ?: "", want);
}

TEST(what_is_given) {
        struct table t = compiled("network:\n- {host: a.test, provenance: true, budget: {novel: 9}}\n- {host: b.test, paths: [/x, '/y/*'], methods: [GET]}\n"
                                  "- {host: '*.c.test', provenance: true}\n- {deny: true, host: d.test, paths: [/z]}\nbudget: {novel: 5}\n"
                                  "given: ['HTTPS://E.test/%7ea?b=c', http://e.test]\n");
        struct network_budget b;

        check(table_asks_provenance(&t));
        gives(&t, "https://e.test/~a?b=c http://e.test/ https://a.test https://a.test/ https://b.test https://b.test/x ");
        check(table_budget(&t, 0, &b) && b.novel == 9 && b.up == UINT64_MAX && table_budget(&t, TABLE_NONE, &b) && b.novel == 5);
        /* What no rule asks for is kept all the same: another policy may. */
        t = compiled("network:\n- {host: a.test, paths: [/x]}\ngiven: ['https://e.test/']\n");
        check(!table_asks_provenance(&t));
        gives(&t, "https://e.test/ ");
        t = compiled("network:\n- {host: a.test, paths: [/x]}\n");
        gives(&t, "");
}

TEST(destinations) {
        struct table t = compiled("network:\n- {host: a.test, methods: [GET], to: 'http://127.0.0.1:11434/'}\n- {host: b.test, methods: [GET], to: 'https://B.Example', addresses: [10.0.0.0/8]}\n"
                                  "- {deny: true, host: 127.0.0.1, port: 9}\n- {host: c.test, methods: [GET], to: 'http://127.0.0.1:9'}\n- {use: openai}\n- {host: '**.d.test', methods: [GET], to: 'http://[::1]:5'}\n"
                                  "- {host: api.openai.com, methods: [GET], paths: [/own]}\n- {host: e.test, methods: [GET]}\n");
        struct request_address loop, next, ten, out;
        struct table_route route;
        check(address_parse("127.0.0.1", 9, &loop) == 0 && address_parse("127.0.0.2", 9, &next) == 0);
        check(address_parse("10.1.2.3", 8, &ten) == 0 && address_parse("93.184.216.34", 13, &out) == 0);
        struct verdict v = fixture_ask(&t, "GET https://a.test/");
        check(v.allowed && table_route(&t, v.route, &route) && route.local && !route.secret);
        check_streq(route.to, "http://127.0.0.1:11434");
        check(table_address_allowed(&t, &v, &loop, 11434) && !table_address_allowed(&t, &v, &next, 11434) && !table_address_allowed(&t, &v, &out, 11434));
        v = fixture_ask(&t, "GET https://b.test/");
        check(table_route(&t, v.route, &route) && !route.local);
        check_streq(route.to, "https://b.example");
        check(table_address_allowed(&t, &v, &ten, 443) && table_address_allowed(&t, &v, &out, 443) && !table_address_allowed(&t, &v, &loop, 443));
        v = fixture_ask(&t, "GET https://c.test/");
        check(v.allowed && !table_address_allowed(&t, &v, &loop, 9)); /* denied */
        v = fixture_ask(&t, "GET https://x.y.d.test/");
        check(table_route(&t, v.route, &route) && route.local);
        check_streq(route.host, "**.d.test");
        v = fixture_ask(&t, "GET https://api.openai.com/v1/models");
        check(table_route(&t, v.route, &route) && !route.to && v.route == fixture_ask(&t, "GET https://api.openai.com/own").route);
        check(fixture_ask(&t, "GET https://e.test/").route == TABLE_NONE && !table_route(&t, TABLE_NONE, &route) && table_routes(&t) == 5);

        refused("network:\n- {host: a.test, methods: [GET], to: 'http://127.0.0.1:1'}\n- {host: a.test, methods: [GET], to: 'http://127.0.0.1:2'}\n",
                "different places, http://127.0.0.1:1 (p.yaml:3) and http://127.0.0.1:2 (p.yaml:4): GET https://a.test/", "differ");
        refused("network:\n- {host: '*.test', paths: [/x/**]}\n- {host: a.test, paths: ['/*/y'], to: 'http://127.0.0.1:2'}\n", "the host itself (p.yaml:3) and http://127.0.0.1:2 (p.yaml:4): GET https://a.test/x/y", "");
        compiled("network:\n- {host: a.test, paths: [/x], to: 'http://127.0.0.1:1'}\n- {host: a.test, paths: [/y]}\n- {host: a.test, protocol: tls}\n");
        static const char *const not[] = {"127.0.0.1:1", "ftp://127.0.0.1", "http://", "http:///", "http://a.test/x", "http://a.test?x", "http://u@a.test", "http://a.test:0", "http://a.test:99999", "http://0177.0.0.1",
                                          "http://0.0.0.0", "http://[::]", "http://localhost", "http://x.localhost:1", "http://a b"};
        for (size_t i = 0; i < ELEMENTSOF(not); i++) {
                _cleanup_free_ char *text = str_printf("network:\n- {host: a.test, methods: [GET], to: '%s'}\n", not[i]);
                refused(text, "network.to cannot be", "");
        }
}

TEST(models) {
        struct table t = compiled("network:\n- {host: a.test, models: ['llama*', gpt-5]}\n- {host: b.test, models: [x], secret: s}\n- {host: b.test, methods: [POST], paths: [/free]}\n");
        struct request r = {.layer = REQUEST_L7, .tls = true, .port = 443, .host = fixture_text("a.test"), .method = fixture_text("POST"), .n_segments = 1, .segment = {{"", 0}}, .has_body = true, .body_bytes = 5};
        struct verdict v;

        says(&t, "GET https://a.test/", VERDICT_METHOD, 0);
        table_decide(&t, &r, &v); /* it was not read */
        check(v.allowed && v.models);
        check_streq(table_model(&t, v.rule, 0), "llama*");
        check_streq(table_model(&t, v.rule, 1), "gpt-5");
        check(!table_model(&t, v.rule, 2) && !table_model(&t, 99, 0));
        r.model_read = true;
        static const struct { const char *model; bool allowed; } cases[] = {{"", false}, {"llama", true}, {"llama3:8b", true}, {"gpt-5", true}, {"gpt-5-mini", false}, {"LLAMA", false}, {"xllama", false}};
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                r.model = fixture_text(cases[i].model);
                table_decide(&t, &r, &v);
                check(v.allowed == cases[i].allowed && (v.allowed || v.reason == VERDICT_MODEL) && v.rule == 0);
        }
        r.host = fixture_text("b.test");
        r.segment[0] = fixture_text("free");
        r.model_read = false;
        table_decide(&t, &r, &v);
        check(v.allowed && v.models && v.n_matched == 2 && v.secret != TABLE_NONE);
        r.model_read = true;
        r.model = fixture_text("y"); /* by the rule that has no model, and so no secret */
        table_decide(&t, &r, &v);
        check(v.allowed && v.n_matched == 1 && v.secret == TABLE_NONE);
        refused("network:\n- {host: a.test, models: ['a b']}\n", "network.models cannot have", "");
        refused("network:\n- {host: a.test, models: ['%41']}\n", "network.models cannot have", "");
        refused("network:\n- {host: a.test, models: ['*a*b*c*d*']}\n", "network.models cannot have", "");
        refused("network:\n- {host: a.test, models: [a], body: 0}\n", "body: 0", "");
        refused("network:\n- {host: a.test, models: [a], protocol: tls}\n", "passes unread", "");
        refused("network:\n- {deny: true, host: a.test, models: [a]}\n", "denies", "");
}

TEST(different_secrets_must_not_meet) {
        refused("network:\n- {host: a.test, secret: one}\n- {host: a.test, secret: two}\n", "GET https://a.test/", "differ");
        refused("network:\n- {host: '*.a.test', secret: one, paths: [/x/**]}\n- {host: b.a.test, secret: two, paths: ['/*/y*']}\n",
                "one (p.yaml:3) and two (p.yaml:4): GET https://b.a.test/x/y", "");
        refused("network:\n- {host: '**.test', secret: one, port: 8000-9000}\n- {host: '*.a.test', secret: two, port: [1, 8500-8600]}\n",
                "GET https://x.a.test:8500/", "");
        refused("network:\n- {host: '**', secret: one}\n- {host: '**', secret: two}\n", "https://x/", "");
        refused("network:\n- {host: 10.0.0.0/8, secret: one}\n- {host: 10.1.0.0/16, secret: two, methods: ['*']}\n", "GET https://10.1.0.0/", "");
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
        refused("network: [{host: a.test, budget: {novel: 8}}]\n", "a budget of novel, in a rule that lets every URL pass", "provenance: true");
        refused("network: [{use: npm-install, budget: {novel: 8}}]\n", "a budget of novel", "provenance");
        refused("network: [{host: a.test, provenance: true, budget: {novel: 0}}]\n", "novel", "");
        refused("given: [/x]\n", "the URL \"/x\": the URL does not begin with http://", "");
        refused("given: ['https://a.test/x#y']\n", "fragment", "");
        refused("given: ['https://u@a.test/']\n", "user name", "");
        refused("given: https://a.test/\n", "given", "");
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
        static const struct { const char *use, *method, *path; size_t rule; bool passes; } cases[] = {
                {"npm-install", "GET", "/left-pad", 0, true},
                {"npm-install", "GET", "/left-pad/-/left-pad-1.3.0.tgz", 0, true},
                {"npm-install", "GET", "/@types%2fnode", 0, true},
                {"npm-install", "GET", "/@types/node/-/node-1.0.0.tgz", 0, true},
                {"npm-install", "PUT", "/left-pad", 0, false},
                {"npm-install", "POST", "/-/npm/v1/security/advisories/bulk", 0, false},
                {"npm-install", "GET", "/-/v1/search?text=secret", 0, false},
                {"npm-install", "GET", "/-/v1/search", 0, false},
                {"git-fetch, repo: acme/tool", "GET", "/acme/tool/info/refs?service=git-upload-pack", 0, true},
                {"git-fetch, repo: acme/tool", "GET", "/acme/tool.git/info/refs?service=git-upload-pack", 0, true},
                {"git-fetch, repo: acme/tool", "POST", "/acme/tool.git/git-upload-pack", 0, true},
                {"git-fetch, repo: acme/tool", "GET", "/acme/tool.git/info/refs?service=git-receive-pack", 0, false},
                {"git-fetch, repo: acme/tool", "GET", "/acme/tool.git/info/refs?service=git-upload-pack&service=git-receive-pack", 0, false},
                {"git-fetch, repo: acme/tool", "POST", "/acme/tool.git/git-receive-pack", 0, false},
                {"git-fetch, repo: acme/tool", "GET", "/acme/other.git/info/refs?service=git-upload-pack", 0, false},
                {"git-fetch, repo: acme/tool", "GET", "/Acme/tool.git/info/refs?service=git-upload-pack", 0, false},
                {"github-read, repo: acme/tool", "GET", "/repos/acme/tool/issues?page=2", 0, true},
                {"github-read, repo: acme/tool", "POST", "/repos/acme/tool/issues", 0, false},
                {"github-read, repo: acme/tool", "GET", "/repos/acme/other/issues", 0, false},
                {"github-read, repo: acme/tool", "GET", "/search/code?q=secret", 0, false},
                {"pip-install", "GET", "/simple/requests/", 0, true},
                {"pip-install", "POST", "/simple/requests/", 0, false},
                {"pip-install", "GET", "/packages/a/b/c.whl", 1, true},
                {"pip-install", "POST", "/legacy/", 1, false},
                {"go-modules", "GET", "/github.com/a/b/@v/list", 0, true},
                {"go-modules", "GET", "/golang.org/x/net/@v/v0.1.0.zip", 0, true},
                {"go-modules", "GET", "/evil.test/data/@v/list", 0, false},
                {"go-modules", "GET", "/lookup/github.com/a/b@v1.0.0", 1, true},
                {"go-modules", "GET", "/lookup/evil.test/data@v1.0.0", 1, false},
                {"cargo", "GET", "/se/rd/serde", 0, true},
                {"cargo", "PUT", "/api/v1/crates/new", 2, false},
                {"cargo", "GET", "/api/v1/crates/serde/1.0.0/download", 2, true},
                {"cargo", "GET", "/api/v1/crates?q=secret", 2, false},
                {"apt", "GET", "/debian/dists/bookworm/InRelease", 0, true},
                {"apt", "GET", "/x", 0, false},
        };
        struct table t;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *rules = str_printf("network: [{use: %s}]\n", cases[i].use);
                t = compiled(rules);
                const struct network_rule *u = &policy->network.rules[cases[i].rule];
                _cleanup_free_ char *what = str_printf("%s %s://%s%s", cases[i].method, u->protocols & NETWORK_HTTP ? "http" : "https",
                                                       u->host, cases[i].path);
                if (fixture_ask(&t, what).allowed != cases[i].passes)
                        printf("# %s: %s\n", cases[i].use, what);
                check(fixture_ask(&t, what).allowed == cases[i].passes);
        }
        t = compiled("network: [{use: anthropic, secret: k}, {use: openai}, {use: google-gemini}]\n");
        check(fixture_ask(&t, "POST https://api.anthropic.com/v1/messages?beta=true").secret != TABLE_NONE);
        check(!fixture_ask(&t, "POST https://api.anthropic.com/v1/files").allowed && !fixture_ask(&t, "POST https://api.openai.com/v1/files").allowed);
        check(fixture_ask(&t, "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse").allowed);
}

TAP_MAIN
