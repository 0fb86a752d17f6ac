/* What providers answer about a credential, what tokens say of themselves, and what of it the rules of a policy need. The answers are
 * those of the providers' documentation; nothing here has the form of a real credential until it runs. */
#include <string.h>

#include "base/base64.h"
#include "model/policy.h"
#include "model/scope-judge.h"
#include "tap.h"

#define NOW 1796083200 /* 2026-12-01 */

static struct policy *policy_of(const char *rules) {
        struct policy *p = NULL;
        struct error e = {};
        char text[4096];

        snprintf(text, sizeof(text), "version: 1\nsecrets:\n  s: {from: env:S}\n  other: {from: env:O}\nnetwork:\n%s", rules);
        if (policy_parse(text, strlen(text), "p.yaml", &p, &e) < 0)
                printf("# %s: %s\n", text, e.msg);
        check(p);
        return p;
}

/* One answer: fields as "name: value" lines. */
static bool read_reply(enum scope_kind k, size_t i, unsigned status, const char *fields, const char *body, const char *value, struct scope_answer *a) {
        struct scope_reply_field f[8];
        struct scope_reply r = {.status = status, .fields = f, .body = body, .n_body = strlen(body)};

        for (const char *p = fields; *p && r.n_fields < 8;) {
                size_t n = strcspn(p, "\n"), colon = strcspn(p, ":");
                f[r.n_fields++] = (struct scope_reply_field){{p, colon}, {p + colon + 2, n - colon - 2}};
                p += n + (p[n] == '\n');
        }
        bool more = scope_read(k, i, &r, value, strlen(value), a);
        check(scope_answer_good(a));
        return more;
}

static void answer(enum scope_kind k, unsigned status, const char *fields, const char *body, struct scope_answer *a) {
        *a = (struct scope_answer){};
        check(!read_reply(k, 0, status, fields, body, "value-value-value", a));
}

static const char *grants(const struct scope_answer *a) {
        static char text[4096];

        text[0] = 0;
        for (uint32_t i = 0; i < a->n_grants; i++)
                snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s/%u%s", i ? ", " : "", a->grants[i].name, a->grants[i].access,
                         a->grants[i].guessed ? "?" : "");
        return text;
}

static const char *lines(const struct strlist *l) {
        static char text[4096];

        text[0] = 0;
        for (size_t i = 0; i < l->n; i++)
                snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\n", l->items[i]);
        return text;
}

/* exceeds, cannot, wants: what each has to have in it, "" nothing at all. */
static void judged(const struct scope_answer *a, const char *rules, const char *exceeds, const char *cannot, const char *wants) {
        _cleanup_policy_ struct policy *p = policy_of(rules);
        _cleanup_scope_verdict_ struct scope_verdict v = {};
        struct error e = {};
        const struct strlist *have[] = {&v.exceeds, &v.cannot, &v.wants};
        const char *want[] = {exceeds, cannot, wants};

        check(scope_judge(a, &p->network, "s", NOW, &v, &e) == 0);
        for (size_t i = 0; i < 3; i++) {
                const char *text = lines(have[i]);
                bool good = *want[i] ? strstr(text, want[i]) != NULL : have[i]->n == 0;
                if (!good)
                        printf("# %s# %zu is \"%s\", not \"%s\"\n", rules, i, text, want[i]);
                check(good);
        }
}

/* A value of a known form, from parts. */
static char *make(char *dst, const char *a, const char *b, size_t n) {
        size_t at = (size_t)sprintf(dst, "%s%s", a, b);
        for (size_t i = 0; i < n; i++)
                dst[at + i] = "aB3dE6gH9kLmN2pQ"[i % 16];
        dst[at + n] = 0;
        return dst;
}

TEST(kinds) {
        static const struct { const char *a, *b; size_t n; enum scope_kind kind; } forms[] = {
                {"gh", "p_", 36, SCOPE_GITHUB}, {"gh", "o_", 36, SCOPE_GITHUB}, {"gh", "s_", 36, SCOPE_GITHUB_APP}, {"github_", "pat_", 60, SCOPE_GITHUB},
                {"glp", "at-", 20, SCOPE_GITLAB}, {"np", "m_", 36, SCOPE_NPM}, {"py", "pi-", 60, SCOPE_PYPI}, {"sk-a", "nt-api03-", 90, SCOPE_ANTHROPIC},
                {"sk-a", "nt-admin01-", 90, SCOPE_ANTHROPIC_ADMIN}, {"sk-a", "nt-oat01-", 90, SCOPE_ANTHROPIC_OAUTH}, {"sk-p", "roj-", 60, SCOPE_OPENAI},
                {"sk-a", "dmin-", 60, SCOPE_OPENAI_ADMIN}, {"AI", "za", 35, SCOPE_GOOGLE_KEY}, {"xo", "xb-", 40, SCOPE_SLACK}, {"h", "f_", 34, SCOPE_HUGGING_FACE},
                {"dop", "_v1_", 64, SCOPE_DIGITALOCEAN}, {"", "", 40, SCOPE_UNKNOWN}, {"sk-", "or-v1-", 64, SCOPE_UNKNOWN},
        };
        _cleanup_policy_ struct policy *p = policy_of("  - {host: api.github.com, secret: s}\n  - {host: gitlab.com, secret: other}\n");
        char value[256];

        for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
                make(value, forms[i].a, forms[i].b, forms[i].n);
                if (scope_kind_of(value, strlen(value), NULL, "s") != forms[i].kind)
                        printf("# %s%s\n", forms[i].a, forms[i].b);
                check(scope_kind_of(value, strlen(value), NULL, "s") == forms[i].kind);
        }
        check(scope_kind_of("0123456789abcdef", 16, &p->network, "s") == SCOPE_GITHUB);
        check(scope_kind_of("0123456789abcdef", 16, &p->network, "other") == SCOPE_GITLAB);
        check(scope_kind_of("0123456789abcdef", 16, &p->network, "third") == SCOPE_UNKNOWN);
}

TEST(own_hosts) {
        static const struct { const char *rules, *host; } cases[] = {
                {"  - {host: api.github.com, secret: s}\n", NULL},
                {"  - {host: \"*.github.com\", secret: s}\n", NULL},
                {"  - {host: git.example.com, secret: s}\n", "git.example.com"},
                {"  - {host: git.example.com, secret: s}\n  - {host: api.git.example.com, secret: s}\n", "api.git.example.com"},
                {"  - {host: git.example.com, secret: s}\n  - {host: api.github.com, secret: s}\n", NULL},
                {"  - {host: a.example.com, secret: s}\n  - {host: b.example.com, secret: s}\n", NULL},
                {"  - {host: \"*.example.com\", secret: s}\n", NULL},
                {"  - {host: git.example.com, secret: other}\n", NULL},
                {"  - {host: inner.example, to: \"https://git.example.com\", secret: s}\n", "git.example.com"},
                {"  - {host: inner.example, to: \"https://git.example.com:8443\", secret: s}\n", "git.example.com:8443"},
                {"  - {host: inner.example, to: \"https://api.github.com\", secret: s}\n", NULL},
                {"  - {host: inner.example, to: \"http://127.0.0.1:11434\", secret: s}\n", NULL},
                {"  - {host: api.github.com, to: \"https://git.example.com\", secret: s}\n", "git.example.com"},
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                _cleanup_policy_ struct policy *p = policy_of(cases[i].rules);
                const char *host = scope_own_host(SCOPE_GITHUB, &p->network, "s");
                check((host == NULL) == (cases[i].host == NULL));
                if (host)
                        check_streq(host, cases[i].host);
        }
}

TEST(clear_routes) {
        _cleanup_policy_ struct policy *p = policy_of("  - {host: a.example, to: \"https://b.example\", secret: s}\n  - {host: c.example, to: \"http://127.0.0.1:1\", secret: t}\n"
                                                      "  - {host: d.example, to: \"http://127.0.0.1:2\"}\n  - {host: e.example, secret: u}\n");

        check(!scope_clear_route(&p->network, "s") && !scope_clear_route(&p->network, "u") && !scope_clear_route(&p->network, "v"));
        check_streq(scope_clear_route(&p->network, "t"), "http://127.0.0.1:1");
}

TEST(questions) {
        struct scope_question q;

        check(scope_ask(SCOPE_GITHUB, "api.github.com", 0, &q));
        check_streq(q.target, "/user");
        check(scope_ask(SCOPE_GITHUB, "git.example.com", 0, &q));
        check_streq(q.target, "/api/v3/user");
        check(!scope_ask(SCOPE_GITHUB, "api.github.com", 1, &q) && scope_ask(SCOPE_NPM, "r.example.com", 1, &q) && !scope_ask(SCOPE_NPM, "r.example.com", 2, &q));
        check(!scope_ask(SCOPE_JWT, "x", 0, &q) && !scope_ask(SCOPE_PYPI, "x", 0, &q) && !scope_ask(SCOPE_UNKNOWN, "x", 0, &q));
        for (unsigned k = 0; k < SCOPE_KIND_N; k++) {
                if (!scope_ask((enum scope_kind)k, "api.x", 0, &q))
                        continue;
                unsigned holes = 0;
                for (size_t i = 0; i < q.n_fields; i++)
                        holes += strstr(q.field[i].value, "{}") != NULL;
                check(q.n_fields > 0 && holes == (q.service ? 0 : 1) && q.target[0] == '/' && scope_host((enum scope_kind)k));
        }
}

TEST(github) {
        struct scope_answer a;
        static const char one[] = "  - {host: api.github.com, methods: [GET], paths: [\"/repos/acme/app/**\"], secret: s}\n";

        answer(SCOPE_GITHUB, 200, "X-OAuth-Scopes: repo, workflow, admin:org\nGitHub-Authentication-Token-Expiration: 2027-01-02 03:04:05 UTC", "{\"login\":\"octocat\"}", &a);
        check(a.state == SCOPE_GOOD && a.complete && a.expires == 1798859045);
        check_streq(a.who, "the user octocat");
        check_streq(grants(&a), "repo/3, workflow/2, admin:org/3");
        judged(&a, one, "admin:org: no rule needs it", "", "a fine-grained token for acme/app alone, with those of its permissions that the run uses, read each");
        judged(&a, one, "workflow: it may write, and the rules only read there", "", "acme/app");
        judged(&a, one, "repo: it may manage, and the rules only read there", "", "acme/app");
        judged(&a, "  - {host: api.github.com, methods: [GET], paths: [\"/repos/acme/app/issues/**\"], secret: s}\n", "workflow: no rule needs it", "",
               "acme/app alone, with Issues: read");
        judged(&a, "  - {host: api.github.com, methods: [GET, POST], paths: [\"/repos/acme/app/pulls/**\"], secret: s}\n"
                   "  - {host: github.com, methods: [\"*\"], paths: [\"/acme/app.git/info/refs\", \"/acme/app.git/git-upload-pack\"], secret: s}\n",
               "the rules name acme/app", "", "Contents: write, Pull requests: write");

        answer(SCOPE_GITHUB, 200, "X-OAuth-Scopes: repo", "{\"login\":\"o\"}", &a);
        check(a.expires == -1);
        judged(&a, "  - {host: api.github.com, methods: [\"*\"], paths: [\"/repos/**\"], secret: s}\n", "", "", "");
        judged(&a, "  - {host: github.com, methods: [GET, POST], paths: [\"/acme/app.git/**\"], secret: s}\n", "the rules name acme/app", "", "Contents: write");
        judged(&a, "  - {host: github.com, methods: [POST], paths: [\"/acme/app.git/git-upload-pack\"], secret: s}\n", "the rules only read", "", "Contents: read");
        judged(&a, "  - {host: api.github.com, methods: [POST], paths: [\"/graphql\"], secret: s}\n", "", "", "");

        answer(SCOPE_GITHUB, 200, "X-OAuth-Scopes: repo, workflow, admin:org", "{\"login\":\"o\"}", &a);
        judged(&a, "  - {host: github.com, methods: [\"*\"], paths: [\"/**\"], secret: s}\n  - {host: api.github.com, methods: [PUT], paths: [\"/orgs/acme/**\"], secret: s}\n", "", "", "");
        judged(&a, "  - {host: github.com, methods: [\"*\"], paths: [\"/**\"], secret: s}\n  - {host: api.github.com, methods: [GET], paths: [\"/orgs/acme/**\"], secret: s}\n",
               "admin:org: it may manage, and the rules only read there", "", "read:org");

        answer(SCOPE_GITHUB, 200, "X-OAuth-Scopes: read:org", "{\"login\":\"o\"}", &a);
        judged(&a, "  - {host: api.github.com, paths: [\"/orgs/acme/**\"], secret: s}\n", "", "", "");
        judged(&a, "  - {host: api.github.com, methods: [PUT], paths: [\"/orgs/acme/teams/**\"], secret: s}\n", "", "p.yaml:6 PUT api.github.com/orgs/acme/teams/**: it may not write there",
               "a token with write:org");
        judged(&a, "  - {host: gitlab.com, secret: other}\n", "", "", "");

        answer(SCOPE_GITHUB, 200, "X-OAuth-Scopes: ", "{\"login\":\"o\"}", &a);
        check(a.complete && a.n_grants == 0);
        judged(&a, one, "", "", "");

        answer(SCOPE_GITHUB, 200, "", "{\"login\":\"o\"}", &a);
        check(!a.complete && a.expires == 0 && a.n_notes == 1);
        judged(&a, one, "", "", "");

        answer(SCOPE_GITHUB, 401, "", "{\"message\":\"Bad credentials\"}", &a);
        check(a.state == SCOPE_REFUSED);
        check_streq(a.why, "401: Bad credentials");
}

TEST(installations) {
        struct scope_answer a;

        answer(SCOPE_GITHUB_APP, 200, "", "{\"total_count\":3,\"repository_selection\":\"selected\",\"repositories\":["
               "{\"full_name\":\"acme/app\",\"permissions\":{\"admin\":false,\"push\":true,\"pull\":true}},{\"full_name\":\"acme/site\",\"permissions\":{\"pull\":true}}]}", &a);
        check_streq(grants(&a), "acme/app/2, acme/site/1");
        check(!a.complete && a.more == 1);
        judged(&a, "  - {host: api.github.com, methods: [GET], paths: [\"/repos/acme/app/**\"], secret: s}\n", "acme/site: no rule needs it", "", "\"repositories\"");
        judged(&a, "  - {host: api.github.com, methods: [GET], paths: [\"/repos/acme/**\"], secret: s}\n", "acme/app: it may write, and the rules only read there", "", "\"permissions\"");
        judged(&a, "  - {host: github.com, methods: [GET, POST], paths: [\"/acme/app.git/**\", \"/acme/site/**\"], secret: s}\n", "", "", "");
        answer(SCOPE_GITHUB_APP, 200, "", "{\"repository_selection\":\"all\",\"repositories\":[{\"full_name\":\"a b/*\"}]}", &a);
        check(strstr(a.notes[0], "will be made"));
}

TEST(gitlab) {
        struct scope_answer a;
        static const char clone[] = "  - {host: gitlab.com, methods: [GET, POST], paths: [\"/acme/app.git/info/refs\", \"/acme/app.git/git-upload-pack\"], secret: s}\n";

        answer(SCOPE_GITLAB, 200, "", "{\"id\":4,\"name\":\"ci\",\"revoked\":false,\"active\":true,\"scopes\":[\"api\"],\"user_id\":42,\"expires_at\":\"2027-01-31\"}", &a);
        check_streq(a.who, "the user with the id 42, token \"ci\"");
        check(a.expires == 1801353600 && a.complete);
        judged(&a, "  - {host: gitlab.com, paths: [\"/api/v4/projects/**\"], secret: s}\n", "api: it may write, and the rules only read there", "", "a token with read_api");
        judged(&a, clone, "api: no rule needs it", "read there", "read_repository");
        judged(&a, "  - {host: gitlab.com, methods: [\"*\"], paths: [\"/api/**\"], secret: s}\n", "", "", "");
        judged(&a, "  - {host: gitlab.com, methods: [\"*\"], secret: s}\n", "", "", "");

        answer(SCOPE_GITLAB, 200, "", "{\"scopes\":[\"read_repository\",\"sudo\"],\"expires_at\":null,\"active\":true}", &a);
        check(a.expires == -1);
        judged(&a, "  - {host: gitlab.com, paths: [\"/acme/app.git/**\"], secret: s}\n", "sudo: no rule needs it (acts as any user", "", "a token with read_repository");
        judged(&a, "  - {host: gitlab.com, methods: [POST], paths: [\"/acme/app.git/git-receive-pack\"], secret: s}\n", "sudo: ", "may not write there", "write_repository");

        answer(SCOPE_GITLAB, 200, "", "{\"scopes\":[\"api\"],\"active\":false,\"revoked\":true}", &a);
        check(a.state == SCOPE_REFUSED);
        answer(SCOPE_GITLAB, 403, "", "{\"error\":\"insufficient_scope\",\"error_description\":\"more is needed\"}", &a);
        check(a.state == SCOPE_GOOD && !a.complete && strstr(a.notes[0], "more is needed"));
}

static void npm(const char *tokens, const char *value, struct scope_answer *a) {
        *a = (struct scope_answer){};
        check(read_reply(SCOPE_NPM, 0, 200, "", "{\"username\":\"alice\"}", value, a));
        check(!read_reply(SCOPE_NPM, 1, 200, "", tokens, value, a));
        check_streq(a->who, "the user alice");
}

TEST(registries) {
        static const char install[] = "  - {host: registry.example.com, secret: s}\n", publish[] = "  - {host: registry.example.com, methods: [PUT], paths: [\"/@acme/app\"], secret: s}\n";
        struct scope_answer a;
        char value[64], text[1024];

        make(value, "np", "m_", 36);
        snprintf(text, sizeof(text), "{\"objects\":[{\"token\":\"zzzzzz\",\"readonly\":false},{\"token\":\"%.8s\",\"readonly\":true,\"automation\":false,\"cidr_whitelist\":[\"192.0.2.0/24\"]}]}", value);
        npm(text, value, &a);
        check_streq(grants(&a), "read-only/1");
        check(a.complete && strstr(a.notes[0], "192.0.2.0/24"));
        judged(&a, install, "", "", "");
        judged(&a, publish, "", "it may not write there", "a granular token with packages:write");

        snprintf(text, sizeof(text), "{\"objects\":[{\"token\":\"%.6s...%s\",\"readonly\":false,\"automation\":true}]}", value, value + strlen(value) - 4);
        npm(text, value, &a);
        check_streq(grants(&a), "automation/2");
        judged(&a, install, "automation: it may write, and the rules only read there", "", "a granular token with");
        judged(&a, publish, "automation: it is wider than the rules, which packages:write would serve", "", "packages:write");

        snprintf(text, sizeof(text), "{\"objects\":[{\"token\":\"%.8s\",\"expiry\":\"2027-01-31T00:00:00.000Z\",\"permissions\":[{\"name\":\"package\",\"action\":\"write\"},{\"name\":\"org\",\"action\":\"none\"}],"
                 "\"scopes\":[{\"type\":\"package\",\"name\":\"@acme/app\"}]}]}", value);
        npm(text, value, &a);
        check_streq(grants(&a), "packages:write @acme/app/2");
        check(a.expires == 1801353600);
        judged(&a, publish, "", "", "");

        /* Two that begin alike: the wider; none that does: not known. */
        snprintf(text, sizeof(text), "{\"objects\":[{\"token\":\"%.8s\",\"readonly\":true},{\"token\":\"%.8s\",\"readonly\":false}]}", value, value);
        npm(text, value, &a);
        check_streq(grants(&a), "publish/2");
        npm("{\"objects\":[{\"token\":\"npm_ab\"},{\"token\":\"\"}]}", value, &a);
        check(!a.complete && a.n_grants == 0 && a.n_notes == 1);
        a = (struct scope_answer){};
        check(read_reply(SCOPE_NPM, 0, 200, "", "{\"username\":\"alice\"}", value, &a) && !read_reply(SCOPE_NPM, 1, 403, "", "{}", value, &a));
        check(a.state == SCOPE_GOOD && !a.complete);
}

TEST(aws) {
        static const char s3[] = "  - {host: bucket.s3.amazonaws.com, methods: [GET], secret: s}\n";
        struct scope_answer a;

        answer(SCOPE_AWS, 200, "", "{\"GetCallerIdentityResponse\":{\"GetCallerIdentityResult\":{\"Account\":\"123456789012\",\"Arn\":\"arn:aws:iam::123456789012:user/ci\",\"UserId\":\"X\"}}}", &a);
        check_streq(a.who, "arn:aws:iam::123456789012:user/ci of account 123456789012");
        check(a.n_grants == 0 && !a.complete && a.expires == -1);
        judged(&a, s3, "", "", "");
        answer(SCOPE_AWS, 200, "", "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:root</Arn><Account>123456789012</Account>", &a);
        check_streq(grants(&a), "root/3");
        judged(&a, s3, "root user", "", "of bucket.s3.amazonaws.com");
        answer(SCOPE_AWS, 403, "", "{\"Error\":{\"Code\":\"ExpiredToken\",\"Message\":\"no\"}}", &a);
        check(a.state == SCOPE_REFUSED);
        check_streq(a.why, "403: ExpiredToken");
        answer(SCOPE_AWS, 403, "", "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>", &a);
        check_streq(a.why, "403: SignatureDoesNotMatch");
        answer(SCOPE_AWS, 200, "", "{}", &a);
        check(a.state == SCOPE_UNCLEAR);
}

TEST(models) {
        static const char rules[] = "  - {host: api.openai.com, methods: [POST], paths: [\"/v1/**\"], secret: s}\n";
        struct scope_answer a;

        answer(SCOPE_OPENAI, 200, "openai-organization: acme", "{\"object\":\"list\",\"data\":[]}", &a);
        check_streq(a.who, "the organization acme");
        check(!a.complete && a.n_notes == 1);
        judged(&a, rules, "", "", "");
        answer(SCOPE_OPENAI, 403, "", "{\"error\":{\"message\":\"Missing scopes: api.model.read\"}}", &a);
        check(a.state == SCOPE_GOOD && strstr(a.notes[0], "Missing scopes"));
        answer(SCOPE_OPENAI_ADMIN, 200, "", "{\"object\":\"list\",\"data\":[]}", &a);
        judged(&a, "  - {host: api.openai.com, methods: [POST], paths: [\"/v1/responses\"], secret: s}\n", "admin: no rule needs it", "", "a key of a project");
        answer(SCOPE_ANTHROPIC_ADMIN, 200, "", "{\"id\":\"1\",\"type\":\"organization\",\"name\":\"Acme\"}", &a);
        check_streq(a.who, "the organization Acme");
        judged(&a, "  - {host: api.anthropic.com, methods: [POST], paths: [\"/v1/messages\"], secret: s}\n", "manages the organization", "", "a key of a workspace");
        answer(SCOPE_ANTHROPIC, 200, "anthropic-organization-id: 11-22", "{\"data\":[]}", &a);
        check_streq(a.who, "the organization 11-22");
        answer(SCOPE_GOOGLE_KEY, 400, "", "{\"error\":{\"code\":400,\"message\":\"API key not valid.\"}}", &a);
        check(a.state == SCOPE_REFUSED);
        answer(SCOPE_GOOGLE_KEY, 200, "", "{\"models\":[]}", &a);
        check(a.state == SCOPE_GOOD && !a.complete);
}

TEST(slack) {
        struct scope_answer a;
        static const char post[] = "  - {host: slack.com, methods: [POST], paths: [\"/api/chat.postMessage\"], secret: s}\n";

        answer(SCOPE_SLACK, 200, "x-oauth-scopes: chat:write,channels:history,admin.users:write", "{\"ok\":true,\"team\":\"T\",\"user\":\"bot\"}", &a);
        check_streq(a.who, "the user bot in T");
        check_streq(grants(&a), "chat:write/2?, channels:history/1?, admin.users:write/3?");
        judged(&a, post, "admin.users:write: no rule needs it", "", "");
        judged(&a, post, "channels:history: no rule needs it", "", "");
        judged(&a, "  - {host: slack.com, methods: [POST], paths: [\"/api/chat.*\", \"/api/conversations.list\", \"/api/admin.users.*\"], secret: s}\n", "", "", "");
        answer(SCOPE_SLACK, 200, "", "{\"ok\":false,\"error\":\"invalid_auth\"}", &a);
        check(a.state == SCOPE_REFUSED);
}

TEST(hugging_face) {
        struct scope_answer a;
        static const char get[] = "  - {host: huggingface.co, paths: [\"/acme/model/**\"], secret: s}\n";

        answer(SCOPE_HUGGING_FACE, 200, "", "{\"type\":\"user\",\"name\":\"alice\",\"auth\":{\"accessToken\":{\"displayName\":\"t\",\"role\":\"write\"}}}", &a);
        check_streq(grants(&a), "write/2");
        judged(&a, get, "write: it may write, and the rules only read there", "", "a fine-grained token with");
        answer(SCOPE_HUGGING_FACE, 200, "", "{\"name\":\"alice\",\"auth\":{\"accessToken\":{\"role\":\"read\"}}}", &a);
        judged(&a, get, "", "", "");
        answer(SCOPE_HUGGING_FACE, 200, "", "{\"name\":\"alice\",\"auth\":{\"accessToken\":{\"role\":\"fineGrained\",\"fineGrained\":{\"canReadGatedRepos\":true,\"global\":[\"discussion.write\"],"
               "\"scoped\":[{\"entity\":{\"type\":\"model\",\"name\":\"acme/model\"},\"permissions\":[\"repo.content.read\"]},"
               "{\"entity\":{\"type\":\"user\",\"name\":\"alice\"},\"permissions\":[\"inference.serverless.write\",\"repo.write\"]}]}}}}", &a);
        check_streq(grants(&a), "everywhere: discussion.write/2, acme/model: repo.content.read/1, alice: inference.serverless.write/2, alice: repo.write/2");
        judged(&a, get, "alice: inference.serverless.write: no rule needs it", "", "repo.content.read");
        judged(&a, get, "alice: repo.write: no rule needs it", "", "a fine-grained token");
        judged(&a, get, "everywhere: discussion.write: no rule", "", "a fine-grained token");
        answer(SCOPE_HUGGING_FACE, 200, "", "{\"name\":\"alice\"}", &a);
        check(!a.complete && a.n_notes == 1);
}

TEST(others) {
        struct scope_answer a;

        answer(SCOPE_DIGITALOCEAN, 200, "", "{\"account\":{\"email\":\"a@example.com\"}}", &a);
        check_streq(a.who, "the account a@example.com");
        answer(SCOPE_GITHUB, 302, "location: https://elsewhere.example.com/", "", &a);
        check(a.state == SCOPE_UNCLEAR && strstr(a.why, "redirect"));
        answer(SCOPE_GITHUB, 500, "", "oops", &a);
        check(a.state == SCOPE_UNCLEAR);
        answer(SCOPE_GITHUB, 200, "X-OAuth-Scopes: repo", "<html>", &a);
        check(a.state == SCOPE_UNCLEAR && a.n_grants == 0);
        answer(SCOPE_GITHUB, 200, "", "[]", &a);
        check(a.state == SCOPE_UNCLEAR);
}

/* More than there is room for, longer than there is room for. */
TEST(limits) {
        static char body[400000];
        struct scope_answer a;
        size_t n = (size_t)sprintf(body, "{\"scopes\":[");

        for (unsigned i = 0; i < 1000; i++)
                n += (size_t)sprintf(body + n, "%s\"s%u%0200u\"", i ? "," : "", i, 0u);
        sprintf(body + n, "]}");
        answer(SCOPE_GITLAB, 200, "", body, &a);
        check(a.n_grants == SCOPE_GRANTS_MAX && a.more == 1000 - SCOPE_GRANTS_MAX && strlen(a.grants[0].name) == SCOPE_NAME - 1);
        memset(body, '[', 300000);
        body[300000] = 0;
        answer(SCOPE_GITLAB, 200, "", body, &a);
        check(a.state == SCOPE_UNCLEAR);
        a.n_grants = SCOPE_GRANTS_MAX + 1;
        check(!scope_answer_good(&a));
        a.n_grants = 0;
        memset(a.who, 'x', sizeof(a.who));
        check(!scope_answer_good(&a));
}

static size_t jwt(char *dst, const char *head, const char *claims) {
        size_t n = base64_encode(head, strlen(head), dst);

        while (dst[n - 1] == '=')
                n--;
        dst[n++] = '.';
        n += base64_encode(claims, strlen(claims), dst + n);
        while (dst[n - 1] == '=')
                n--;
        n += (size_t)sprintf(dst + n, ".%s", "c2lnbmF0dXJlLXNpZ25hdHVyZQ");
        return n;
}

TEST(json_web_tokens) {
        struct scope_answer a;
        char token[2048];

        size_t n = jwt(token, "{\"alg\":\"RS256\"}", "{\"iss\":\"https://id.example.com\",\"sub\":\"alice\",\"aud\":[\"api\",\"b\"],\"exp\":1796083199,\"scope\":\"files:read files:write\"}");
        check(scope_kind_of(token, n, NULL, "s") == SCOPE_JWT);
        scope_read_local(SCOPE_JWT, token, n, &a);
        check(a.state == SCOPE_GOOD && a.complete && a.expires == 1796083199);
        check_streq(a.who, "alice, by https://id.example.com");
        check_streq(grants(&a), "files:read/1?, files:write/2?");
        judged(&a, "  - {host: api.example.com, methods: [GET], secret: s}\n", "files:write: it may write, and the rules only read", "", "");
        judged(&a, "  - {host: api.example.com, methods: [PUT], secret: s}\n", "", "", "");
        struct scope_verdict v = {};
        _cleanup_policy_ struct policy *p = policy_of("  - {host: api.example.com, secret: s}\n");
        check(scope_judge(&a, &p->network, "s", NOW, &v, NULL) == 0 && v.expired);
        scope_verdict_clear(&v);

        n = jwt(token, "{\"alg\":\"none\"}", "{\"scp\":[\"Mail.Read\"]}");
        scope_read_local(SCOPE_JWT, token, n, &a);
        check(a.expires == -1 && strstr(a.notes[2], "not signed"));
        check_streq(grants(&a), "Mail.Read/1?");
        scope_read_local(SCOPE_JWT, "eyJx.!!!.abc", 12, &a);
        check(a.state == SCOPE_UNCLEAR);
        scope_read_local(SCOPE_JWT, "x", 1, &a);
        check(a.state == SCOPE_UNCLEAR);
}

static size_t add_field(char *dst, size_t n, unsigned type, const char *text) {
        dst[n++] = (char)type;
        dst[n++] = (char)strlen(text);
        memcpy(dst + n, text, strlen(text));
        return n + strlen(text);
}

static size_t macaroon(char *dst, const char *const *caveats) {
        char raw[1024] = {2};
        size_t n = add_field(raw, 1, 1, "index.example.com");

        n = add_field(raw, n, 2, "identifier");
        raw[n++] = 0;
        for (size_t i = 0; caveats[i]; i++) {
                n = add_field(raw, n, 2, caveats[i]);
                raw[n++] = 0;
        }
        raw[n++] = 0;
        n = add_field(raw, n, 6, "0123456789abcdef0123456789abcdef");
        size_t at = (size_t)sprintf(dst, "%s%s", "py", "pi-");
        return at + base64_encode(raw, n, dst + at);
}

TEST(pypi) {
        static const struct { const char *caveats[4]; const char *grants; int64_t expires; } cases[] = {
                {{"{\"version\": 1, \"permissions\": \"user\"}"}, "upload/2", -1},
                {{"{\"version\": 1, \"permissions\": {\"projects\": [\"app\", \"lib\"]}}"}, "project app/2, project lib/2", -1},
                {{"[1, [\"app\"]]", "[0, 1801353600, 1700000000]"}, "project app/2", 1801353600},
                {{"[3, \"00000000-0000-0000-0000-000000000000\"]"}, "upload/2", -1},
                {{"[2, [\"11111111-1111-1111-1111-111111111111\"]]"}, "project-id 11111111-1111-1111-1111-111111111111/2", -1},
                {{"{\"nbf\": 1, \"exp\": 1801353600}", "[0, 1801353000, 1]"}, "upload/2", 1801353000},
        };
        struct scope_answer a;
        char token[2048];

        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                size_t n = macaroon(token, cases[i].caveats);
                scope_read_local(SCOPE_PYPI, token, n, &a);
                check(a.state == SCOPE_GOOD && a.complete && a.expires == cases[i].expires && scope_answer_good(&a));
                check_streq(grants(&a), cases[i].grants);
                check_streq(a.who, "a token of index.example.com");
                for (size_t k = 0; k < n; k++) { /* cut anywhere it is none, or says no more than it did */
                        struct scope_answer b;
                        scope_read_local(SCOPE_PYPI, token, k, &b);
                        check(scope_answer_good(&b) && b.n_grants <= a.n_grants);
                }
        }
        scope_read_local(SCOPE_PYPI, token, macaroon(token, cases[0].caveats), &a);
        judged(&a, "  - {host: index.example.com, paths: [\"/simple/**\"], secret: s}\n", "upload: no rule needs it", "", "");
        judged(&a, "  - {host: upload.example.com, methods: [POST], paths: [\"/legacy/\"], secret: s}\n", "upload: it is wider than the rules, which project would serve", "", "project");
        scope_read_local(SCOPE_PYPI, token, macaroon(token, cases[1].caveats), &a);
        judged(&a, "  - {host: upload.example.com, methods: [POST], paths: [\"/legacy/\"], secret: s}\n", "", "", "");
}

TEST(times) {
        static const struct { const char *text; int64_t t; } cases[] = {
                {"1970-01-02", 86400}, {"2027-01-31", 1801353600}, {"2027-01-02 03:04:05 UTC", 1798859045}, {"2027-01-02 03:04:05 +0200", 1798851845},
                {"2027-01-02T03:04:05Z", 1798859045}, {"2027-01-02T03:04:05.678Z", 1798859045}, {"2027-01-02T03:04:05-01:00", 1798862645}, {"2024-02-29", 1709164800},
                {"", 0}, {"tomorrow", 0}, {"2027-13-01", 0}, {"2027-01-02x", 0}, {"2027-01-02 03:04", 0}, {"2027-01-02 03:04:05 PST", 0}, {"0001-01-01", 0},
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                if (scope_time(cases[i].text) != cases[i].t)
                        printf("# %s: %lld\n", cases[i].text, (long long)scope_time(cases[i].text));
                check(scope_time(cases[i].text) == cases[i].t);
        }
}

TEST(patterns) {
        static const struct { const char *a, *b; bool meet; } cases[] = {
                {"/a/b", "/a/b", true}, {"/a/b", "/a/c", false}, {"/a/*", "/a/b", true}, {"/a/*", "/a", false}, {"/a/**", "/a", true}, {"/a/**", "/a/b/c", true},
                {"/**", "/x", true}, {"/a/**/z", "/a/z", true}, {"/a/**/z", "/a/b/c", false}, {"/a/**/z", "/a/b/**", true}, {"/x*", "/xy", true}, {"/x*", "/y", false},
                {"/x*", "/*y", true}, {"/repos/*/*/issues/**", "/repos/acme/app/**", true}, {"/repos/*/*/issues/**", "/repos/acme/app/pulls", false}, {"", "/", false}, {"/", "/", true},
                {"/**/**/**/**/**/**/x", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n", false},
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                if (scope_paths_meet(cases[i].a, strlen(cases[i].a), cases[i].b, strlen(cases[i].b)) != cases[i].meet)
                        printf("# %s %s\n", cases[i].a, cases[i].b);
                check(scope_paths_meet(cases[i].a, strlen(cases[i].a), cases[i].b, strlen(cases[i].b)) == cases[i].meet);
                check(scope_paths_meet(cases[i].b, strlen(cases[i].b), cases[i].a, strlen(cases[i].a)) == cases[i].meet);
        }
}

TAP_MAIN
