/* What providers answer about a credential, and what tokens say of themselves: the first byte is the kind, the second the question
 * and the status; then fields as lines, an empty line, and the body. Of kinds that nobody is asked about, all the rest is the token.
 * An answer is within its bounds whatever was said, the same for the same, and can be judged. */
#include <stdlib.h>
#include <string.h>

#include "model/policy.h"
#include "model/scope-judge.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static const char rules[] =
        "version: 1\nsecrets:\n  s: {from: env:S}\nnetwork:\n"
        "  - {host: api.github.com, methods: [GET], paths: [\"/repos/acme/app/**\", \"/orgs/acme\"], secret: s}\n"
        "  - {host: github.com, methods: [GET, POST], paths: [\"/acme/app.git/**\"], secret: s}\n"
        "  - {host: gitlab.com, paths: [\"/api/v4/projects/*/repository/**\"], secret: s}\n"
        "  - {host: \"*.example.com\", methods: [\"*\"], secret: s}\n"
        "  - {host: slack.com, methods: [POST], paths: [\"/api/chat.*\"], secret: s}\n"
        "  - {host: huggingface.co, paths: [\"/acme/**\", \"/**/x/**/y\"], secret: s}\n";

static struct policy *policy(void) {
        static struct policy *p;
        struct error e = {};

        if (!p)
                must(policy_parse(rules, sizeof(rules) - 1, "p", &p, &e) == 0);
        return p;
}

/* As the process that asks makes them: each value by itself. */
static size_t fields(const char *p, size_t n, struct scope_reply_field *ret, size_t max, size_t *ret_end) {
        size_t k = 0, at = 0;

        while (at < n && p[at] != '\n') {
                const char *end = memchr(p + at, '\n', n - at);
                size_t len = end ? (size_t)(end - p) - at : n - at;
                const char *colon = memchr(p + at, ':', len);
                if (colon && k < max) {
                        size_t name = (size_t)(colon - p) - at;
                        ret[k++] = (struct scope_reply_field){{p + at, name}, {colon + 1, len - name - 1}};
                }
                at += len + (end != NULL);
        }
        *ret_end = at < n ? at + 1 : n;
        return k;
}

static bool same(const void *x, const void *y, size_t n) { return memcmp(x, y, n) == 0; } /* zeros between members, too */

static void judge(const struct scope_answer *a) {
        struct scope_verdict v = {};
        struct error e = {};

        must(scope_answer_good(a));
        must(scope_judge(a, &policy()->network, "s", 1796083200, &v, &e) == 0);
        must(v.n_rules == 6 && v.exceeds.n <= a->n_grants);
        scope_verdict_clear(&v);
}

static void reply(enum scope_kind k, unsigned how, const char *p, size_t n, struct scope_answer *ret) {
        static const unsigned statuses[] = {200, 200, 200, 401, 403, 302, 400, 500};
        struct scope_reply_field f[16];
        size_t body = 0;
        struct scope_reply r = {.status = statuses[how & 7], .fields = f, .n_fields = fields(p, n, f, 16, &body)};

        r.body = p + body;
        r.n_body = n - body;
        if (how & 8)
                (void)scope_read(k, 0, &(const struct scope_reply){.status = 200, .body = "{}", .n_body = 2}, "abcdefghijklmnop", 16, ret);
        (void)scope_read(k, how & 8 ? 1 : 0, &r, "abcdefghijklmnop", 16, ret);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        static struct scope_answer a, b;

        if (size < 2 || size > 100000)
                return 0;
        enum scope_kind k = (enum scope_kind)(data[0] % SCOPE_KIND_N);
        /* Where what is read beyond its end is seen. */
        char *exact = memcpy(malloc(size + 6), data + 2, size - 2);
        for (unsigned i = 0; i < 2; i++) {
                struct scope_answer *to = i == 0 ? &a : &b;
                *to = (struct scope_answer){};
                if (k == SCOPE_PYPI) {
                        memmove(exact + 5, data + 2, size - 2);
                        memcpy(exact, "pypi-", 5);
                        scope_read_local(k, exact, size + 3, to);
                } else if (k == SCOPE_JWT)
                        scope_read_local(k, exact, size - 2, to);
                else
                        reply(k, data[1], exact, size - 2, to);
        }
        must(same(&a, &b, sizeof(a)));
        judge(&a);
        free(exact);
        return 0;
}
