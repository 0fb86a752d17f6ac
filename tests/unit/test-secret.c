/* Secrets as a policy and the command line describe them. */
#include <string.h>

#include "model/policy.h"
#include "tap.h"

static struct policy *accepted(const char *text) {
        struct policy *p = NULL;
        struct error e = {};
        if (policy_parse(text, strlen(text), "p.yaml", &p, &e) < 0)
                printf("# %s: %s\n", text, e.msg);
        check(p);
        return p;
}

static void refused(const char *text, const char *msg, const char *fix) {
        struct policy *p = NULL;
        struct error e = {};
        check(policy_parse(text, strlen(text), "p.yaml", &p, &e) < 0 && !p);
        if (!strstr(e.msg, msg) || !strstr(e.fix, fix))
                printf("# %s (%s)\n", e.msg, e.fix);
        check(strstr(e.msg, msg) && strstr(e.fix, fix));
}

TEST(sources) {
        static const struct { const char *text; enum secret_source source; const char *from; } good[] = {
                {"env:GH_TOKEN", SECRET_ENV, "GH_TOKEN"}, {"file:~/.k", SECRET_FILE, "~/.k"}, {"command:pass show a:b", SECRET_COMMAND, "pass show a:b"},
                {"keyring:my key", SECRET_KEYRING, "my key"}, {"store:gh-1", SECRET_STORE, "gh-1"},
        };
        static const char *const bad[] = {"", "env:", "env:1A", "env:A B", "env:A=B", "file:", "command:", "store:a/b", "ENV:A", "GH_TOKEN", "vault:x", "ghp_abcdefgh", "file:a\nb"};

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                struct secret s = {};
                struct error e = {};
                check(secret_parse_source(good[i].text, &s, &e) == 0 && s.source == good[i].source);
                check_streq(s.from, good[i].from);
                secret_clear(&s);
        }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                struct secret s = {};
                struct error e = {};
                check(secret_parse_source(bad[i], &s, &e) == -EINVAL && !s.from);
                /* It may be the value. */
                check(strlen(bad[i]) < 6 || bad[i][strlen(bad[i]) - 1] == ':' || (!strstr(e.msg, bad[i]) && !strstr(e.fix, bad[i])));
        }
}

TEST(places) {
        struct secret s = {};
        struct error e = {};
        static const char *const bad[] = {"Authorization", "Authorization: Bearer", "A: {} {}", ": {}", "A B: {}", "Host: {}", "content-length: {}", "Range: {}", "A: {}\r\nB: x"};

        check(secret_set_header(&s, "X-API-Key:{}", &e) == 0 && s.place == SECRET_HEADER);
        check_streq(s.header, "x-api-key");
        check(s.before[0] == 0 && s.after[0] == 0);
        check(secret_set_header(&s, "Authorization:   Token token=\"{}\", x", &e) == 0);
        check_streq(s.before, "Token token=\"");
        check_streq(s.after, "\", x");
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                check(secret_set_header(&s, bad[i], &e) == -EINVAL);
        check(secret_set_basic(&s, "x-access-token", &e) == 0 && s.place == SECRET_BASIC);
        check(secret_set_basic(&s, "a:b", &e) == -EINVAL && secret_set_basic(&s, "", &e) == -EINVAL);
        check(secret_set_query(&s, "api_key", &e) == 0 && s.place == SECRET_QUERY);
        check(secret_set_body(&s, "client_secret", &e) == 0 && s.place == SECRET_BODY && secret_set_body(&s, "a.b-c.$d.e.f.g.h.i", &e) == 0);
        check(secret_set_body(&s, "", &e) == -EINVAL && secret_set_body(&s, "a..b", &e) == -EINVAL && secret_set_body(&s, ".a", &e) == -EINVAL && secret_set_body(&s, "a.", &e) == -EINVAL);
        check(secret_set_body(&s, "a b", &e) == -EINVAL && secret_set_body(&s, "\xc3\xa9", &e) == -EINVAL && secret_set_body(&s, "a.b.c.d.e.f.g.h.i", &e) == -EINVAL);
        check(secret_set_query(&s, "a b", &e) == -EINVAL && secret_set_query(&s, "a&b", &e) == -EINVAL && secret_set_query(&s, "", &e) == -EINVAL);
        secret_clear(&s);
}

TEST(of_a_policy) {
        _cleanup_policy_ struct policy *p = accepted(
                "version: 1\nsecrets:\n  gh: {from: env:GH_TOKEN, header: 'Authorization: Bearer {}', ttl: 1h30m, uses: 7}\n  b: {from: 'file:k', basic: me}\n"
                "  q: {from: store:q, query: key, env: Q}\n  any: {from: env:A, env: B}\n");
        const struct secret *s = p->network.secrets;

        check(p->network.n_secrets == 4 && secret_find(s, 4, "q") == 2 && secret_find(s, 4, "x") == SIZE_MAX);
        check(s[0].ttl == 5400000 && s[0].uses == 7 && s[0].line == 3 && s[0].column == 3);
        check_streq(secret_variable(&s[0]), "GH_TOKEN");
        check(!secret_variable(&s[1]) && s[1].place == SECRET_BASIC && s[2].place == SECRET_QUERY && s[3].place == SECRET_ANY_FIELD);
        check_streq(secret_variable(&s[3]), "B");
        refused("version: 1\nsecrets: {a: {header: 'X: {}'}}\n", "p.yaml:2:11: a secret without the key from", "env:NAME");
        refused("version: 1\nsecrets: {a: {from: env:A, body: a.b, query: u}}\n", "one place", "second secret");
        refused("version: 1\nsecrets: {a: {from: env:A, body: a..b}}\n", "keys of JSON", "body: client_secret");
        refused("version: 1\nsecrets: {a: {from: env:A, header: 'X: {}', basic: u}}\n", "one place", "second secret");
        refused("version: 1\nsecrets: {a: {form: env:A}}\n", "no key \"form\" in secrets", "did you mean from?");
        refused("version: 1\nsecrets: {a: {from: env:A, ttl: 0}}\n", "secrets.ttl: 0 is not a limit", "");
        refused("version: 1\nsecrets: {a: {from: env:A, uses: -1}}\n", "secrets.uses", "");
        refused("version: 1\nsecrets: {a: {from: env:A, env: 'A-B'}}\n", "no name of a variable", "");
        refused("version: 1\nsecrets: {'a.b': {from: env:A}}\n", "not the name of a secret", "letters");
        refused("version: 1\nsecrets: {a: {from: env:A}, a: {from: env:B}}\n", "a second time", "");
        char text[4096] = "version: 1\nsecrets:\n";
        for (unsigned i = 0; i <= SECRETS_MAX; i++)
                sprintf(text + strlen(text), "  s%u: {from: env:A}\n", i);
        refused(text, "more than 15 secrets", "");
}

TEST(of_the_command_line) {
        _cleanup_policy_ struct policy *p = accepted("version: 1\nsecrets: {gh: {from: env:OLD, header: 'X: {}'}}\n");
        struct error e = {};
        struct network *n = &p->network;
        static const char *const bad[] = {"", "=env:A", "a b", "a=", "a=b", "x@https://h/", "a=env:A=B"};

        check(policy_add_secret(p, "gh=store:new", policy_add_preset_with, &e) == 0 && n->n_secrets == 1 && n->secrets[0].source == SECRET_STORE && n->secrets[0].place == SECRET_HEADER);
        check_streq(n->secrets[0].from, "new");
        check(n->n_rules == 0);
        check(policy_add_secret(p, "gh@api.example,other.example:8443", policy_add_preset_with, &e) == 0 && n->n_rules == 2);
        check_streq(n->secrets[0].from, "new");
        check_streq(n->rules[0].secret, "gh");
        check(n->rules[0].protocols == NETWORK_HTTPS && n->rules[0].any_query && n->rules[1].ports[0].first == 8443);
        check(policy_add_secret(p, "TOKEN@api.example", policy_add_preset_with, &e) == 0 && n->secrets[1].source == SECRET_ENV);
        check_streq(n->secrets[1].from, "TOKEN");
        check(policy_add_secret(p, "c=command:op read op://a@b/c", policy_add_preset_with, &e) == 0 && n->secrets[2].source == SECRET_COMMAND);
        check_streq(n->secrets[2].from, "op read op://a@b/c");
        check(policy_check(p, &e) == 0);
        size_t rules = n->n_rules;
        check(policy_secret_has_preset("k@anthropic") && policy_secret_has_preset("k@a.example,anthropic") && !policy_secret_has_preset("k=store:k@a.example") && !policy_secret_has_preset("k"));
        check(policy_add_secret(p, "k@anthropic", policy_add_preset_with, &e) == 0 && n->n_rules > rules);
        for (size_t i = rules; i < n->n_rules; i++)
                check(n->rules[i].secret && streq(n->rules[i].secret, "k") && streq(n->rules[i].preset, "anthropic"));
        check(policy_add_secret(p, "k@antropic", policy_add_preset_with, &e) < 0);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                check(policy_add_secret(p, bad[i], policy_add_preset_with, &e) < 0);
}

TEST(a_rule_needs_its_secret) {
        _cleanup_policy_ struct policy *p = accepted("version: 1\nnetwork:\n - {host: a.example, secret: gh}\n");
        struct error e = {};

        check(policy_check(p, &e) == -EINVAL && strstr(e.msg, "p.yaml:3:4: a rule names the secret gh") && strstr(e.fix, "--secret gh=env:NAME"));
        check(policy_add_secret(p, "gh=env:X", policy_add_preset_with, &e) == 0 && policy_check(p, &e) == 0);
}

TAP_MAIN
