/* Calls: what a program in the sandbox asks to be done outside, through the endpoint /run/belljar/call (proto/call-msg.h). The guard
 * accepts connections and forks a courier for each, which alone reads what comes over it (courier.h); it reads nothing itself but
 * its couriers' reports of what they refused (struct net_report, NET_CALL).
 *
 * Another kind of call is added in three places: its name goes into plan->calls where the policy has such a thing
 * (prepare-calls.c), so that the endpoint and CALL_FOLDER/NAME are there; what it does is a `call_kind` function of a file of its
 * own; and call_kinds in call.c names that function. Such a function runs in the courier: */
#pragma once

#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/plan.h"
#include "proto/call-msg.h"
#include "role/cli/net-log.h"

#define CALLS_MAX 16u /* couriers at once; further calls wait */

/* What calls of one kind and subject came to, in memory that couriers share. */
struct call_account {
        uint64_t uses, refused, up, down; /* up, down: bytes to and from outside */
};
enum {
        /* 2 * i: the i-th entry of git_ssh, reads; behind it its writes */
        CALL_ACCOUNT_COMMITS = 2 * GIT_HOSTS_MAX,
        CALL_ACCOUNT_TAGS,
        CALL_ACCOUNT_REFUSED, /* of both */
        CALL_ACCOUNT_DELEGATE,
        CALL_ACCOUNTS_MAX,
};

/* One call, in its courier. */
struct call {
        const struct plan *plan;
        struct call_words words; /* of the sandbox: hostile */
        int conn, report;
        int userns, netns; /* the sandbox's; -1: it has no network */
        struct call_account *accounts; /* CALL_ACCOUNTS_MAX of them */
        char begin[CALL_PAYLOAD_MAX];  /* that words point into */
};

/* Kinds: git's ssh and ssh-keygen (call-git.c). */
struct call;
int call_ssh(struct call *c);
int call_keygen(struct call *c);
/* At the end of the run: what they could do and what they did, a line each. */
void call_git_report(const struct plan *p, const struct call_account *a);
/* The same for the record. a NULL: the run had none. */
void call_git_json(struct json *j, const struct plan *p, const struct call_account *a);

/* Serves the call; the value is the exit status that belljar-call ends with (courier_relay returns one as well). The process ends
 * afterwards. Where it needs programs of the host it starts them with courier_start. */
typedef int call_kind(struct call *c);

/* The kinds. */
call_kind call_delegate; /* call-delegate.c */

/* The guard's side. */
struct calls {
        const struct plan *plan;
        struct net_log *log;
        int listener, userns, netns, report[2];
        pid_t couriers[CALLS_MAX];
        size_t n;
        struct call_account *accounts; /* NULL: the run has no endpoint */
};
#define CALLS_NONE (struct calls){.listener = -1, .userns = -1, .netns = -1, .report = {-1, -1}}

/* The run's endpoint and, where it has a network, its namespaces, which are the calls' from here on. */
void calls_take(struct calls *c, const struct plan *plan, struct net_log *log, const int *fds, size_t n);
#define CALLS_POLL 2u
void calls_poll(const struct calls *c, struct pollfd p[CALLS_POLL]);
void calls_events(struct calls *c, const struct pollfd p[CALLS_POLL]);
void calls_reap(struct calls *c);
/* None outlives the run. The accounts stay. */
void calls_end(struct calls *c);
