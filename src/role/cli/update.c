/* `belljar update`: another network policy for a sandbox that runs. Compiled here; a file that is wrong changes nothing. */
#include <stdio.h>
#include <jansson.h>
#include <string.h>

#include "base/fd.h"
#include "role/cli/commands.h"
#include "role/cli/control-call.h"
#include "role/cli/options.h"
#include "role/cli/policy-words.h"
#include "role/cli/prepare.h"
#include "svc/net-account.h"
#include "svc/net-rules.h"
#include "svc/net-table.h"
#include "svc/state-read.h"

struct asked {
        struct policy_words words;
        bool last;
};

static int on_option(int id, const char *arg, void *data, struct error *e) {
        struct asked *a = data;
        int r;

        if (policy_words_take(&a->words, id, arg, &r, e))
                return r;
        if (id != OPT_LAST)
                return error_set(e, EINVAL, "unexpected option");
        a->last = true;
        return 0;
}

/* Which identity a secret has was settled at the start, by its place in the plan; a run gets no other secret later. */
static int order_secrets(struct network *n, const struct state *s, struct error *e) {
        json_t *plan = NULL, *had, *one;
        size_t i;
        int r = state_read(s, "plan.json", &plan);

        if (r < 0)
                return error_errno(e, r, "the plan of %s cannot be read", s->id);
        had = json_object_get(plan, "secrets");
        for (i = 0; i < n->n_secrets; i++)
                secret_clear(&n->secrets[i]);
        n->n_secrets = 0;
        json_array_foreach(had, i, one) {
                const char *name = json_string_value(json_object_get(one, "name"));
                if (!name || !secret_add(&n->secrets, &n->n_secrets, name, e)) {
                        json_decref(plan);
                        return error_set(e, EBADMSG, "the plan of %s cannot be read", s->id);
                }
        }
        json_decref(plan);
        for (i = 0; i < n->n_rules; i++)
                if (n->rules[i].secret && secret_find(n->secrets, n->n_secrets, n->rules[i].secret) == SIZE_MAX) {
                        error_set(e, ENOENT, "a rule names the secret %s, which the run was not started with", n->rules[i].secret);
                        return error_fix(e, "secrets are given at the start; a new run takes it");
                }
        return 0;
}

static bool reads_tls(const struct network *n) {
        for (size_t i = 0; i < n->n_rules; i++)
                if (!n->rules[i].deny && n->rules[i].protocols & NETWORK_HTTPS)
                        return true;
        return false;
}

static int update(const struct asked *a, const char *which, struct error *e) {
        _cleanup_policy_ struct policy *p = NULL;
        _cleanup_(plan_freep) struct plan *plan = plan_new();
        _cleanup_state_ struct state s = STATE_NONE;
        int r;

        if (!plan)
                return error_set(e, ENOMEM, "out of memory");
        if ((r = policy_words_read(&a->words, &p, e)) < 0 || (r = find_sandbox(which, a->last, &s, e)) < 0)
                return r;
        if (p->network.n_rules == 0) {
                error_set(e, EINVAL, "the policy has no rule for the network");
                return error_fix(e, "to close it: --deny '**' beside a rule, or belljar kill %s", s.id);
        }
        if ((r = order_secrets(&p->network, &s, e)) < 0 || (r = prepare_network(p, NULL, 0, plan, e)) < 0)
                return r;
        _cleanup_fd_ int table = net_table_seal(plan->network.table, plan->network.table_size);
        _cleanup_fd_ int budgets = account_make(p->network.n_budgets + 1);
        _cleanup_fd_ int rules = net_rules_seal(&plan->network);
        if (table < 0 || budgets < 0 || rules < 0)
                return error_errno(e, MIN(table, MIN(budgets, rules)), "the policy cannot be handed over");
        const struct control_request q = {.type = CONTROL_UPDATE, .reads_tls = reads_tls(&p->network)};
        return control_call(&s, &q, (const int[]){table, budgets, rules}, 3, e);
}

int command_update(int argc, char **argv) {
        struct asked a = {};
        struct error e = {};
        int first, r = options_parse(command_find("update"), argc, argv, on_option, &a, &first, &e);

        if (r == 0 && first + 1 < argc)
                r = error_set(&e, EINVAL, "one sandbox at a time");
        if (r == 0 && !a.words.file && a.words.use.n == 0 && a.words.allow.n == 0 && a.words.deny.n == 0)
                r = error_set(&e, EINVAL, "belljar update takes -f FILE, --use, --allow or --deny: they are the whole of the new policy");
        if (r == 0)
                r = update(&a, first < argc ? argv[first] : NULL, &e);
        policy_words_clear(&a.words);
        if (r == 0)
                return 0;
        error_print(&e);
        return EXIT_BELLJAR;
}
