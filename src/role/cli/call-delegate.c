/* `/run/belljar/bin/delegate NAME -- COMMAND [ARG...]`: a sub-run for a program in the sandbox, under the policy that was named NAME
 * when the run was started (--delegate). The sandbox says which of those, and what is to be run there: no word of its is an option. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/courier.h"
#include "role/cli/tool.h"
#include "svc/host.h"

/* Of one run: the record of each is kept, with what it changed. */
#define STARTS_MAX 64u

static const char *const usage = "usage: delegate NAME -- COMMAND [ARG...]";

static const struct plan_delegate *find(const struct plan *p, const char *name) {
        for (size_t i = 0; i < p->n_delegates; i++)
                if (streq(p->delegates[i].name, name))
                        return &p->delegates[i];
        return NULL;
}

/* The policy as it was when the run started: whatever stands in the file by now, nobody reads it. */
static int policy_fd(const struct plan_delegate *d) {
        const char *slash = strrchr(d->file, '/');
        _cleanup_fd_ int fd = memfd_create(slash ? slash + 1 : d->file, 0);

        if (fd < 0)
                return -errno;
        int r = fd_write_all(fd, d->text, d->size);
        return r < 0 ? r : TAKE_FD(fd);
}

/* In the child: becomes the command line of the sub-run. */
_noreturn_ static void become(const struct call *c, const struct plan_delegate *d) {
        static const char *const head[] = {"belljar", "run", "-q", "-T", "--parent", NULL, "-f", NULL, "--"};
        const char *argv[ELEMENTSOF(head) + CALL_WORDS_MAX + 1];
        _cleanup_free_ char *program = NULL;
        struct error e = {};
        char policy[40];
        size_t n = 0;
        int fd = policy_fd(d);

        if (fd < 0 || host_own_program("belljar-tool", &program, &e) < 0)
                _exit(125);
        snprintf(policy, sizeof(policy), "%d", fd);
        if (setenv(KEEP_FD, policy, 1) < 0)
                _exit(125);
        snprintf(policy, sizeof(policy), "/proc/self/fd/%d", fd);
        for (; n < ELEMENTSOF(head); n++)
                argv[n] = n == 5 ? c->plan->id : n == 7 ? policy : head[n];
        for (size_t i = 2; i < c->words.argc; i++)
                argv[n++] = c->words.argv[i];
        argv[n] = NULL;
        execv(program, (char **)argv);
        _exit(125);
}

int call_delegate(struct call *c) {
        struct call_account *account = &c->accounts[CALL_ACCOUNT_DELEGATE];
        const struct plan_delegate *d = c->words.argc > 0 ? find(c->plan, c->words.argv[0]) : NULL;
        struct courier_child child;

        if (c->words.argc < 3 || !streq(c->words.argv[1], "--") || !c->words.argv[2][0]) {
                courier_say(c, "%s", usage);
                return 125;
        }
        if (!d)
                return courier_refuse(c, account, "name it when the run is started: --delegate NAME=POLICY-FILE", "delegate", "this run has no delegate %.64s", c->words.argv[0]);
        if (__atomic_fetch_add(&account->uses, 1, __ATOMIC_RELAXED) >= STARTS_MAX) {
                __atomic_fetch_sub(&account->uses, 1, __ATOMIC_RELAXED);
                return courier_refuse(c, account, "", "delegate", "this run has started %u sub-runs, and starts no more", STARTS_MAX);
        }
        pid_t pid = courier_start(c, &child);
        if (pid == 0)
                become(c, d);
        if (pid < 0) {
                courier_say(c, "a sub-run cannot be started");
                return 125;
        }
        return courier_relay(c, &child, true, account);
}
