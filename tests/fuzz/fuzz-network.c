/* The compiled policy: rules to a block, the block damaged, loaded, asked. Input: a policy's text, a NUL, lines of requests
 * ("METHOD URL" or "HOST:PORT"), a NUL, and changes of the block: two uint32_t each, where (in words of 4 bytes) and what.
 * An input that begins like a block is taken for one. What is loaded answers within the block (the sanitizers watch), and
 * without changes as it did before; what is allowed has a rule, what is denied a reason and words. */
#include <stdlib.h>
#include <string.h>

#include "model/canonical.h"
#include "model/policy.h"
#include "model/table-layout.h"
#include "model/why.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)
#define LINES_MAX 16u
#define CHANGES_MAX 64u

static void ask(const struct table *t, const struct request *r, struct verdict *v, bool whole) {
        struct request_address a = {.byte = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3}};
        char text[WHY_TEXT];
        struct table_rule_info u;
        struct network_budget b;

        memset(v, 0xa5, sizeof(*v));
        table_decide(t, r, v);
        must(v->allowed == (v->reason == VERDICT_ALLOWED) && v->reason < VERDICT_N);
        must(v->n_matched <= TABLE_MATCHED_MAX && v->n_budgets <= TABLE_MATCHED_MAX);
        must(v->rule == TABLE_NONE || table_rule(t, v->rule, &u));
        for (size_t i = 0; i < v->n_matched; i++)
                must(table_rule(t, v->matched[i], &u));
        for (size_t i = 0; i < v->n_budgets; i++)
                must(table_budget(t, v->budgets[i], &b));
        must(v->secret == TABLE_NONE || table_secret_name(t, v->secret));
        must(strlen(why_reason(t, r, v, text)) < WHY_TEXT && text[0]);
        must(strlen(why_fix(t, r, v, text)) < WHY_TEXT && v->allowed == !text[0]);
        why_request(r, text);
        why_place(t, v->rule, text);
        enum table_access access = table_port_access(t, r);
        table_address_allowed(t, v, r->is_address ? &r->address : &a, r->port);
        if (whole) { /* of a block that nobody changed */
                must(!v->allowed || (v->rule != TABLE_NONE && v->n_matched > 0));
                must(!v->allowed || r->is_address || table_name_reachable(t, r->host));
                must(r->layer == REQUEST_L7 || v->allowed == (access == TABLE_PASS_TCP || access == TABLE_PASS_TLS));
                must(r->layer == REQUEST_L4 || !v->allowed || access != TABLE_REFUSE);
        } else if (!r->is_address)
                table_name_reachable(t, r->host);
}

static bool read_line(const char *line, size_t n, char *buf, size_t size, struct request *r) {
        const char *space = memchr(line, ' ', n);

        *r = (struct request){.layer = REQUEST_L4};
        if (!space)
                return canonical_authority(line, n, 443, buf, r, NULL) == 0;
        return canonical_url(space + 1, n - (size_t)(space + 1 - line), buf, size, r, NULL) == 0 &&
               canonical_method(line, (size_t)(space - line), r, NULL) == 0;
}

static void ask_all(const struct table *t, const char *lines, size_t n, bool whole) {
        struct table_range range;
        struct table_statistics s;

        for (unsigned i = 0; n > 0 && i < LINES_MAX; i++) {
                const char *end = memchr(lines, '\n', n);
                size_t len = end ? (size_t)(end - lines) : n;
                char buf[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX];
                struct request r;
                struct verdict v;
                if (read_line(lines, len, buf, sizeof(buf), &r))
                        ask(t, &r, &v, whole);
                lines += len + (end != NULL);
                n -= len + (end != NULL);
        }
        for (size_t i = 0; i < 4; i++)
                table_address_rule(t, i, &range);
        table_statistics(t, &s);
}

static void damaged(char *block, size_t size, const char *lines, size_t n, const unsigned char *changes, size_t n_changes) {
        struct table t;

        for (size_t i = 0; i < MIN(n_changes / 8, (size_t)CHANGES_MAX); i++) {
                uint32_t at, value;
                memcpy(&at, changes + i * 8, 4);
                memcpy(&value, changes + i * 8 + 4, 4);
                memcpy(block + at % (size / 4) * 4, &value, 4);
        }
        if (table_load(block, size, &t) == 0)
                ask_all(&t, lines, n, n_changes < 8);
}

static void raw(const unsigned char *data, size_t size) {
        static const char lines[] = "GET https://a.test/a/b?k=v\na.test:443\n10.1.2.3:22\nPOST http://x.a.test/";
        void *block = NULL;
        struct table t;

        if (posix_memalign(&block, 8, size) != 0)
                return;
        memcpy(block, data, size);
        if (table_load(block, size, &t) == 0)
                ask_all(&t, lines, sizeof(lines) - 1, false);
        free(block);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        const unsigned char *lines, *changes;
        struct policy *p = NULL;
        struct error e = {};
        void *block = NULL;
        size_t n;
        int r;

        if (size >= 8 && memcmp(data, TABLE_MAGIC, 8) == 0) {
                raw(data, size);
                return 0;
        }
        if (!(lines = memchr(data, 0, size)))
                return 0;
        lines++;
        changes = memchr(lines, 0, size - (size_t)(lines - data));
        changes = changes ? changes + 1 : data + size;
        size_t n_lines = (size_t)(changes - lines);
        while (n_lines > 0 && lines[n_lines - 1] == 0)
                n_lines--;
        if (policy_parse((const char *)data, (size_t)(lines - data) - 1, "f", &p, &e) < 0)
                return 0;
        r = table_compile(&p->network, &block, &n, &e);
        must(r == 0 || (r == -e.errnum && e.msg[0]));
        if (r == 0) {
                struct table t;
                must(table_load(block, n, &t) == 0);
                ask_all(&t, (const char *)lines, n_lines, true);
                damaged(block, n, (const char *)lines, n_lines, changes, size - (size_t)(changes - data));
        }
        free(block);
        policy_free(p);
        return 0;
}
