/* The command line while a sandbox runs: relays its terminal and output, passes on signals, and watches the
 * supervisor: one that stops or dies takes the run with it. */
#pragma once

#include <sys/ioctl.h>

#include "role/cli/call-keys.h"
#include "role/cli/credentials.h"
#include "role/cli/net-log.h"
#include "svc/entry.h"

struct guard {
        int supervisor;    /* socket to it */
        pid_t supervisor_pid;
        bool tty[3];       /* the command's stdio that is its own terminal */
        bool stdin_raw;    /* our stdin is a terminal whose keys go to the sandbox */
        int out[2];        /* read ends of pipes from its stdout and stderr; -1: not relayed, or (stderr) by the first */
        uint64_t output_limit; /* bytes; 0: none */
        const struct plan *plan;
        struct credentials *credentials; /* its secrets */
        struct call_keys *call_keys;     /* the keys of its calls */
        struct net_log log;
        const struct calls_shared *calls; /* what calls came to (call.h); NULL: the run had none. Set at the end */
        int table, budgets; /* of the policy that is in force, for the log; -1: none. The guard's to close */
};

/* The size of the caller's terminal. */
int guard_window(const struct guard *g, struct winsize *ret) _must_check_;
/* What has to be done before the supervisor is forked: the signals that are taken over are blocked. */
int guard_prepare(void) _must_check_;
/* Returns when the run is over and the supervisor has gone. *e is filled where Belljar itself failed (then END_FAILED). */
void guard_run(struct guard *g, struct run_result *ret, struct error *e);
