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
#include "svc/entry.h"

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

/* In memory that the guard and its couriers share. */
struct calls_shared {
        struct call_account account[CALL_ACCOUNTS_MAX];
        uint32_t revoked;            /* a set of enum calls_revoked */
        uint32_t serving[CALLS_MAX]; /* which of these each courier is at; 0: none, or it has not come to that yet */
};

/* One call, in its courier. */
struct call {
        const struct plan *plan;
        struct call_words words; /* of the sandbox: hostile */
        int conn, report;
        int userns, netns; /* the sandbox's; -1: it has no network */
        struct calls_shared *shared;
        struct call_account *accounts; /* in there */
        unsigned slot;                 /* its own, of serving */
        char begin[CALL_PAYLOAD_MAX];  /* that words point into */
};

/* Kinds: git's ssh and ssh-keygen (call-git.c). */
struct call;
int call_ssh(struct call *c);
int call_keygen(struct call *c);
/* At the end of the run: what they could do and what they did, a line each. */
void call_git_report(const struct plan *p, const struct calls_shared *s);
/* The same for the record. s NULL: the run had none. */
void call_git_json(struct json *j, const struct plan *p, const struct calls_shared *s);

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
        pid_t couriers[CALLS_MAX]; /* 0: the slot is free */
        size_t n;
        struct calls_shared *shared; /* NULL: the run has no endpoint */
        uint32_t revoked;            /* as in there; also before there is one */
};
#define CALLS_NONE (struct calls){.listener = -1, .userns = -1, .netns = -1, .report = {-1, -1}}

/* The run's endpoint and, where it has a network, its namespaces, which are the calls' from here on. */
void calls_take(struct calls *c, const struct plan *plan, struct net_log *log, const int *fds, size_t n);
#define CALLS_POLL 2u
void calls_poll(const struct calls *c, struct pollfd p[CALLS_POLL]);
void calls_events(struct calls *c, const struct pollfd p[CALLS_POLL]);
void calls_reap(struct calls *c);
/* A set of enum calls_revoked: those that are under way end, and none is made from here on. */
void calls_revoke(struct calls *c, uint32_t which);
/* None outlives the run. What is shared stays. */
void calls_end(struct calls *c);
