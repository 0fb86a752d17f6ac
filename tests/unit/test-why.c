/* Verdicts in words: and what they say would let a request pass does. */
#include "model/policy.h"
#include "model/table-layout.h"
#include "model/why.h"
#include "table-fixture.h"
#include "tap.h"

static struct policy *policy_of(const char *text) {
        struct policy *p = NULL;
        struct error e = {};
        if (policy_parse(text, strlen(text), "p.yaml", &p, &e) < 0)
                printf("# %s: %s; %s\n", text, e.msg, e.fix);
        check(p);
        return p;
}

struct asked {
        char reason[WHY_TEXT], fix[WHY_TEXT], place[WHY_TEXT], request[WHY_TEXT];
        struct verdict v;
};

static struct asked ask(const char *rules, const char *allow, const char *method, const char *what) {
        _cleanup_free_ char *text = str_printf("version: 1\n%s", rules);
        _cleanup_policy_ struct policy *p = policy_of(text);
        _cleanup_free_ void *block = NULL;
        char buf[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX];
        struct request r = {};
        struct asked a;
        struct error e = {};
        struct table t;
        size_t size;

        check(!allow || policy_add_allow(p, allow, &e) == 0);
        check(table_compile(&p->network, &block, &size, &e) == 0 && table_load(block, size, &t) == 0);
        if (method) {
                check(canonical_url(what, strlen(what), buf, sizeof(buf), &r, NULL) == 0);
                r.method = fixture_text(method);
        } else {
                check(canonical_authority(what, strlen(what), 0, buf, &r, NULL) == 0);
                r.layer = REQUEST_L4;
        }
        table_decide(&t, &r, &a.v);
        why_reason(&t, &r, &a.v, a.reason);
        why_fix(&t, &r, &a.v, a.fix);
        why_place(&t, a.v.rule, a.place);
        why_request(&r, a.request);
        return a;
}

#define said(rules, allow, method, what, want_reason, want_fix, want_place)                                        \
        do {                                                                                                       \
                struct asked _said = ask(rules, allow, method, what);                                                 \
                check_streq(_said.reason, want_reason);                                                               \
                check_streq(_said.fix, want_fix);                                                                     \
                check_streq(_said.place, want_place);                                                                 \
        } while (0)

#define RULES "network:\n- {host: a.test, methods: [GET], paths: [/a/**], query: {k: v*}, headers: {count: 2}}\n"            \
              "- {deny: true, host: a.test, paths: [/a/no]}\n- {use: anthropic}\n- {host: 10.0.0.0/8, port: 22}\n"       \
              "- {host: 0.0.0.0/0, port: 25}\n- {host: '**.b.test', shapes: [traversal], query: ['*']}\n"

TEST(words) {
        said(RULES, NULL, "GET", "https://a.test/a/b", "the rule at p.yaml:3 allows it", "", "p.yaml:3");
        said(RULES, NULL, "GET", "https://a.test/a/no", "the rule at p.yaml:4 denies it",
             "take out the rule at p.yaml:4: no rule that allows outweighs it", "p.yaml:4");
        said(RULES, NULL, "GET", "https://a.test/b", "the path fits none of the rules for a.test:443",
             "add under network: - {host: \"a.test\", methods: [GET], paths: [\"/b\"]}", "p.yaml:3");
        said(RULES, NULL, "PUT", "https://a.test/a/x", "the method PUT is not one of those of the rule at p.yaml:3",
             "add under network: - {host: \"a.test\", methods: [PUT], paths: [\"/a/x\"]}", "p.yaml:3");
        said(RULES, NULL, "GET", "https://a.test/a?k=v&z=1&z=2", "the query's key \"z\" is not one of those of the rule at p.yaml:3",
             "add under network: - {host: \"a.test\", methods: [GET], paths: [\"/a\"], query: [\"k\", \"z\"]}", "p.yaml:3");
        said(RULES, NULL, "GET", "https://a.test/a?k=w", "the value of the query's key \"k\" does not fit the pattern of the rule at p.yaml:3",
             "add under network: - {host: \"a.test\", methods: [GET], paths: [\"/a\"], query: [\"k\"]}", "p.yaml:3");
        said(RULES, NULL, NULL, "a.test:443", "rules for a.test:443 look at requests, and this is nothing that can be read as one",
             "take the keys that look at requests out of the rules for a.test:443, or have it speak HTTP", "p.yaml:3");
        said(RULES, NULL, NULL, "a.test:22", "rules name a.test, but not with port 22", "--allow a.test:22", "p.yaml:3");
        said(RULES, NULL, NULL, "c.test:443", "no rule names c.test", "--allow c.test", "");
        said(RULES, NULL, NULL, "169.254.169.254:25", "169.254.169.254 is not a public address, and the rule at p.yaml:7 does not mean it by itself",
             "--allow 169.254.169.254:25", "p.yaml:7");
        said(RULES, NULL, NULL, "[2606:4700::1]:22", "no rule names 2606:4700::1", "--allow [2606:4700::1]:22", "");
        said(RULES, NULL, "GET", "https://api.anthropic.com/v1/models", "the rule at p.yaml:5 (anthropic) allows it", "", "p.yaml:5 (anthropic)");
        said(RULES, NULL, "GET", "https://x.b.test/?q=../x", "path or query look like traversal, which the rule at p.yaml:8 refuses",
             "take traversal out of shapes of the rule at p.yaml:8", "p.yaml:8");
        said(RULES, "d.test", NULL, "d.test:443", "--allow d.test allows it; TLS whose server name is d.test passes, and is not read", "", "--allow d.test");
        said(RULES, "d.test:22", NULL, "d.test:22", "--allow d.test allows it; what passes is not read", "", "--allow d.test");
        said("network: [{host: '**'}]\n", NULL, NULL, "pastebin.com:443",
             "pastebin.com hands on to others what it is sent, or fetches for whoever asks, and no wildcard opens it", "--allow pastebin.com", "p.yaml:2");
        said("network: [{host: a.test, protocol: https}]\n", NULL, "GET", "http://a.test:443/", "the rule at p.yaml:2 is not for plain http",
             "add under network: - {host: \"a.test\", port: 443, protocol: http, methods: [GET], paths: [\"/\"]}", "p.yaml:2");
        check_streq(ask(RULES, NULL, "GET", "https://A.test:443/a/%62?k=v").request, "GET https://a.test/a/b?k=v");
        check_streq(ask(RULES, NULL, NULL, "A.test:80").request, "a.test:80");
        for (unsigned i = 0; i < VERDICT_N; i++)
                check(why_word(i)[0] && why_word(i)[0] != '?');
}

/* Only a broker finds that a URL was not given; the words are the same everywhere. */
TEST(provenance) {
        static const char *const rules = "network:\n- {host: a.test, provenance: true, query: ['*']}\ngiven: ['https://a.test/x']\n";
        _cleanup_free_ char *text = str_printf("version: 1\n%s", rules);
        _cleanup_policy_ struct policy *p = policy_of(text);
        _cleanup_free_ void *block = NULL;
        char buf[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX], said[WHY_TEXT];
        static const struct {
                const char *url;
                unsigned bits;
        } rows[] = {{"https://a.test/x", 0}, {"https://a.test/", 0}, {"https://a.test/x?q='", 40}, {"https://a.test/y", 16}};
        struct error e = {};
        struct request r = {};
        struct table t;
        size_t size;

        check(table_compile(&p->network, &block, &size, &e) == 0 && table_load(block, size, &t) == 0);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                check(canonical_url(rows[i].url, strlen(rows[i].url), buf, sizeof(buf), &r, NULL) == 0);
                check(why_novel(&t, &r) == rows[i].bits);
        }
        check(canonical_url(rows[2].url, strlen(rows[2].url), buf, sizeof(buf), &r, NULL) == 0);
        r.method = fixture_text("GET");
        struct verdict v;
        table_decide(&t, &r, &v);
        check(v.allowed && v.provenance);
        v.allowed = false;
        v.reason = VERDICT_PROVENANCE;
        v.detail = 40;
        check_streq(why_word(v.reason), "provenance");
        check_streq(why_reason(&t, &r, &v, said), "neither the user nor the policy nor an earlier response gave this URL (40 bits of it are new), "
                                                  "and the rule at p.yaml:3 lets only such pass");
        check_streq(why_fix(&t, &r, &v, said), "--given 'https://a.test/x?q=%27', or budget: {novel: 40} in the rule at p.yaml:3");
}

TEST(long_requests_are_cut) {
        char url[6000];
        strcpy(url, "https://a.test/");
        memset(url + 15, 'x', 5000);
        url[5015] = 0;
        struct asked a = ask(RULES, NULL, "GET", url);
        check_streq(a.fix, "add under network: a rule for a.test:443 with this method, path and query");
        check_streq(a.request, "GET https://a.test/...");
}

TEST(json) {
        _cleanup_policy_ struct policy *p = policy_of("version: 1\n" RULES);
        _cleanup_free_ void *block = NULL;
        struct error e = {};
        struct table t;
        size_t size;
        struct request r = {.layer = REQUEST_L7, .tls = true, .port = 443, .host = fixture_text("a.test"), .method = fixture_text("GET"),
                            .n_segments = 1, .segment = {{"q\"\xff", 3}}};
        struct verdict v;
        struct json j = {};
        check(table_compile(&p->network, &block, &size, &e) == 0 && table_load(block, size, &t) == 0);
        table_decide(&t, &r, &v);
        why_json(&j, NULL, &t, &r, &v);
        _cleanup_free_ char *text = strbuf_take(&j.text);
        check(strstr(text, "\"allowed\": false") && strstr(text, "\"reason\": \"path\"") && strstr(text, "\"line\": 3") &&
              strstr(text, "\"place\": \"p.yaml:3\""));
}

/* The fix, followed to the letter. */
static bool follow(struct network *n, const char *fix) {
        const char *line = strstr(fix, "- {"), *flag = str_after(fix, "--allow ");
        struct error e = {};

        if (line) {
                _cleanup_free_ char *text = str_printf("version: 1\nnetwork:\n%s\n", line);
                struct policy *p = policy_of(text);
                check(p->network.n_rules == 1);
                network_clear(n);
                *n = p->network;
                p->network = (struct network){};
                policy_free(p);
                return true;
        }
        if (!flag)
                return false;
        if (network_add_allow(n, flag, &e) < 0)
                printf("# %s: %s\n", fix, e.msg);
        check(n->n_rules == 1);
        return true;
}

static bool canonical(const struct request *r) {
        for (size_t i = 0; i + 1 < r->n_segments; i++)
                if (r->segment[i].n == 0)
                        return false;
        return true;
}

TEST(the_fix_mends_it) {
        struct random r = {0xdecafbad};
        size_t followed = 0, mended = 0;

        for (int round = 0; round < 300; round++) {
                struct network n = {};
                struct error e = {};
                void *data = NULL;
                size_t size = 0;
                struct table t;
                for (uint32_t i = 1 + draw(&r, 20); i > 0; i--)
                        fixture_rule(&r, &n);
                check(table_compile(&n, &data, &size, &e) == 0 && table_load(data, size, &t) == 0);
                for (int k = 0; k < 60; k++) {
                        char fix[WHY_TEXT], reason[WHY_TEXT];
                        struct network more = {};
                        struct request q;
                        struct verdict v;
                        do
                                fixture_request(&r, &q);
                        while (!canonical(&q));
                        table_decide(&t, &q, &v);
                        check(v.allowed == !why_fix(&t, &q, &v, fix)[0]);
                        check(why_reason(&t, &q, &v, reason)[0]);
                        if (v.allowed || !follow(&more, fix))
                                continue;
                        followed++;
                        /* The new rule beside the old ones. */
                        struct network all = n;
                        all.rules = calloc(n.n_rules + 1, sizeof(*all.rules));
                        for (size_t i = 0; i < n.n_rules; i++)
                                all.rules[i] = n.rules[i];
                        all.rules[n.n_rules] = more.rules[0];
                        all.n_rules++;
                        void *second = NULL;
                        check(table_compile(&all, &second, &size, &e) == 0);
                        struct table u;
                        check(table_load(second, size, &u) == 0);
                        struct verdict w;
                        table_decide(&u, &q, &w);
                        mended += w.allowed;
                        /* A connection beside rules that look at requests, of which only a deny has the port. */
                        if (!w.allowed && w.reason != VERDICT_UNREAD)
                                printf("# reason %d, fix %s: then %d\n", v.reason, fix, w.reason);
                        check(w.allowed || w.reason == VERDICT_UNREAD);
                        free(all.rules);
                        free(second);
                        network_clear(&more);
                }
                free(data);
                network_clear(&n);
        }
        printf("# %zu of %zu mended\n", mended, followed);
        check(mended > 1000 && mended > followed * 9 / 10);
}

TAP_MAIN
