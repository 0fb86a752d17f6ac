/* Where one role starts the next: the roles do not include each other, they meet here. */
#pragma once

#include "base/error.h"
#include "base/macros.h"
#include "model/plan.h"
#include "proto/init-msg.h"
#include "proto/net-msg.h"

/* What the launcher inherits, beside the plan. All fds are close-on-exec. */
struct launch {
        int control;    /* its end of the supervisor's socket, SOCK_SEQPACKET */
        int init_exe;   /* belljar-init, open for execveat(2) */
        int stdio[3];   /* the command's; where tty[i] is set, replaced by the sandbox's own terminal */
        bool tty[3];
        unsigned short rows, columns; /* of the terminal */
        int go;         /* pipe to wait on for one byte: ids are mapped, cgroup is entered; -1: map them oneself */
        int *trees;     /* one a plan operation: an id-mapped tree made by the supervisor, or -1; NULL: none */
};

/* In the new namespaces, PID 1: builds the view, then becomes belljar-init. Never returns. */
_noreturn_ void launcher_main(const struct plan *plan, const struct launch *l);

/* What the supervisor tells the command line over their SOCK_SEQPACKET pair, and what it is told. */
enum run_msg_type {
        RUN_STARTED = 1, /* readback; ancillary: a pidfd of init */
        RUN_FAILED,      /* before the command ran: error */
        RUN_TERMINAL,    /* ancillary: the master of the sandbox's terminal */
        RUN_STOPPED,     /* the command was stopped from its terminal: status is the signal */
        RUN_ENDED,       /* result; the last message */
        RUN_NET_START,   /* status: enum net_role; serial; ancillary: the fds that net_start() takes; for a run without a network, init, and a
                          * gate's control and NETNS_DNS_UDP4 only; for a broker, identity and all but BROKER_FD_SECRET, which the command line makes */
        RUN_NET_REPORT,  /* report: of a gate or a broker, untrusted */
        RUN_NET_RULES,   /* ancillary: user and network namespace, rules (svc/net-rules.h), the compiled policy and the memory of its
                          * budgets; RUN_NET_RULES_DONE is the answer */
        RUN_NET_SECRET,  /* identity: its secret is over, for the reason in status (enum secret_end): its value is needed no more */
        RUN_CUT,         /* the run has no network and no credentials any more: calls end, values are needed no more */
        RUN_ALARM,       /* status: enum trip_do, what was done; report.text: the hold's id or ""; report.why: one line, of what rang */
        RUN_NET_FAILED,  /* status: -errno or 0; report.text: what of the network does not work any more */
        RUN_HERE,        /* the answer to RUN_ASK; status 1, unasked: all that ran inside has ended */
        RUN_CALLS,       /* ancillary: the run's endpoint of calls; where it has a network, then its user and network namespaces */
        /* from the command line */
        RUN_SIGNAL,      /* status: to be sent to the command */
        RUN_PAUSE, RUN_RESUME, /* freeze and thaw everything */
        RUN_PAUSED,      /* supervisor's answer to RUN_PAUSE: it is frozen */
        RUN_NET_RULES_DONE, /* status: 0 or -errno; error */
        RUN_NET_STARTED, /* serial: of the RUN_NET_START; ancillary: a pidfd of the process */
        RUN_NET_RENEWED, /* identity: its secret has a new value; ancillary: what a broker is told of it (BROKER_FD_SECRET) */
        RUN_ASK,         /* whether it is there (role/cli/pulse.h) */
        RUN_STOP,        /* end everything; status is an enum run_end */
};
enum run_end {
        END_EXIT,    /* the command ended by itself: status as from wait(2) */
        END_TIME, END_IDLE, END_MEMORY, END_DISK, END_OUTPUT, /* a limit */
        END_HOST,    /* the host ran short of memory and no cgroup bounds this sandbox */
        END_CALLER,  /* the command line went away or asked for it */
        END_FAILED,  /* Belljar's own failure */
        END_LOST,    /* init ended without a report: killed from outside */
        END_NOEXEC,  /* the command could not be executed: status is its errno */
        END_PARENT,  /* a sub-run, whose parent ended, or may do something else now */
        END_TRIPWIRE, /* a tripwire ended it, or held it when it was ended */
};
/* As records have it. */
static inline const char *run_end_name(uint32_t end) {
        static const char *const names[] = {
                [END_EXIT] = "exit", [END_TIME] = "time", [END_IDLE] = "idle", [END_MEMORY] = "memory", [END_DISK] = "disk",
                [END_OUTPUT] = "output", [END_HOST] = "host-memory", [END_CALLER] = "caller", [END_FAILED] = "failed",
                [END_LOST] = "lost", [END_NOEXEC] = "not-executed",
                [END_PARENT] = "parent", [END_TRIPWIRE] = "tripwire",
        };
        return end < ELEMENTSOF(names) ? names[end] : "?";
}
/* How the use of a secret came to its end before the run did. */
enum secret_end { SECRET_LIVES, SECRET_EXPIRED, SECRET_REVOKED };
struct run_result {
        uint32_t end; /* enum run_end */
        int32_t status;
        uint32_t changed; /* 1: something stands in the upper layer */
        uint64_t wall_ms, cpu_ms, memory_peak; /* 0: not known */
        uint32_t processes_peak;
};
struct run_msg {
        uint32_t type;
        int32_t status;
        uint32_t serial;
        union {
                struct error error;
                struct run_result result;
                struct init_readback readback;
                struct net_report report;
                int32_t init; /* its pid */
                uint32_t identity; /* of a broker */
        };
};

/* What a tracer inherits (role/tracer), forked from the supervisor. */
enum { TRACER_PROC_FD = 5 };
struct tracing {
        int listener; /* of the sandbox's notifications (seccomp_unotify(2)): no other process keeps it */
        int socket;   /* its end of the supervisor's, SOCK_SEQPACKET: proto/trace-msg.h */
        int userns;   /* the sandbox's outer user namespace */
        uid_t id;     /* in that: whom to become, where it is not `single` */
        bool single;
};
_noreturn_ void tracer_main(const struct tracing *t);

struct state;
struct cgroup;
/* What the command line hands to the supervisor it forks. */
struct supervise {
        const struct plan *plan;
        struct launch launch;  /* control, go and trees are the supervisor's to fill */
        int cli;               /* its end of the command line's socket */
        struct state *state;   /* its directory, whose lock the supervisor holds as long as it lives */
        bool remove;           /* keep nothing of it (--rm) */
        struct cgroup *cgroup; /* NULL: none */
        int published[PUBLISH_MAX]; /* listeners of plan->network.published */
        int table;             /* the compiled policy of the network, a sealed memfd; -1: no network */
        int budgets;           /* what is used of its budgets (svc/net-account.h); likewise */
        int given;             /* the URLs that it is given (svc/net-given.h); likewise */
        int ca;                /* where there is a network: the sandbox's CA (net-ca.h) */
        int parent, parent_process; /* a sub-run: the connection to its parent's supervisor, and a pidfd of that; else -1 */
};
/* Runs one sandbox to its end. Never returns. */
_noreturn_ void supervisor_main(struct supervise *s);
