/* `belljar update`: another network policy for a sandbox that runs. Compiled here; a file that is wrong changes nothing. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "proto/control-msg.h"
#include "role/cli/commands.h"
#include "role/cli/options.h"
#include "role/cli/policy-words.h"
#include "role/cli/prepare.h"
#include "svc/net-account.h"
#include "svc/net-rules.h"
#include "svc/net-table.h"

#define ANSWER_SECONDS 10

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

static int call(const struct state *s, const struct control_request *q, const int *fds, size_t n, struct error *e) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        const struct timeval patience = {.tv_sec = ANSWER_SECONDS};
        struct control_answer answer;
        _cleanup_fd_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        int r;

        snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET, s->dir);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
                return error_errno(e, errno, "a socket cannot be made");
        if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0) {
                error_set(e, errno, errno == ENOENT || errno == ECONNREFUSED ? "%s does not run, or was started without a network" : "%s cannot be asked", s->id);
                return error_fix(e, "a network is given at the start: belljar run --allow HOST, or network: in the policy");
        }
        if ((r = fd_send(fd, q, sizeof(*q), fds, n, 0)) < 0)
                return error_errno(e, r, "%s cannot be asked", s->id);
        ssize_t k = recv(fd, &answer, sizeof(answer), 0);
        if (k != sizeof(answer))
                return error_set(e, k < 0 ? errno : EPROTO, "%s does not answer: whether the new policy is in force is not known", s->id);
        answer.text[sizeof(answer.text) - 1] = 0;
        return answer.result < 0 ? error_set(e, -answer.result, "%s", answer.text) : 0;
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
        if ((r = prepare_network(p, NULL, 0, plan, e)) < 0)
                return r;
        _cleanup_fd_ int table = net_table_seal(plan->network.table, plan->network.table_size);
        _cleanup_fd_ int budgets = account_make(p->network.n_budgets + 1);
        _cleanup_fd_ int rules = net_rules_seal(&plan->network);
        if (table < 0 || budgets < 0 || rules < 0)
                return error_errno(e, MIN(table, MIN(budgets, rules)), "the policy cannot be handed over");
        const struct control_request q = {.type = CONTROL_UPDATE, .reads_tls = reads_tls(&p->network)};
        return call(&s, &q, (const int[]){table, budgets, rules}, 3, e);
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
