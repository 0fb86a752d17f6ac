/* What supervisor, launcher and belljar-init say to each other over their SOCK_SEQPACKET pair: fixed-size structs, no
 * pointers, one message a datagram. Both ends come from one build, so there is no versioning; the sandbox never
 * holds this socket. Freestanding: belljar-init has no libc. */
#pragma once

#include <stdint.h>

enum {
        INIT_MAX_PATH = 4096,
        INIT_MAX_MAP = 512, /* text of a uid_map or gid_map */
        INIT_N_RLIMITS = 16,
        INIT_MAX_GROUPS = 33,
};

/* What the supervisor sends to init, once, before anything else. */
struct init_config {
        int32_t landlock_fd; /* ruleset made by the launcher; -1: none */
        int32_t tty_fd;      /* terminal of the sandbox's own devpts; -1: none */
        uint32_t landlock_abi;
        uint32_t uid, gid;      /* of the payload, in the outer user namespace */
        uint32_t n_groups;      /* supplementary ones, as setgroups(2) takes them */
        uint32_t groups[INIT_MAX_GROUPS];
        uint32_t set_ids;       /* 1: change to uid and gid first (run by root) */
        uint32_t setgroups_deny;/* 1: the inner maps are written by the payload itself (single id) */
        uint32_t umask;
        uint32_t writes_through;/* 1: what it writes lands on the host: no set-id bits */
        uint32_t nesting;       /* 1: it may make namespaces and mounts of its own (seccomp/nested.list) */
        uint32_t no_groups;     /* 1: setgroups(2) does nothing and says nothing (seccomp/groups.list) */
        uint32_t trace;         /* 1: what it executes waits for the tracer's answer; INIT_TRACE comes first */
        uint64_t capabilities;  /* that the payload keeps, bits, in its own user namespace */
        char uid_map[INIT_MAX_MAP], gid_map[INIT_MAX_MAP]; /* of the inner namespace */
        char cwd[INIT_MAX_PATH];
        struct init_rlimit {
                uint32_t set; /* 1: apply */
                uint32_t resource;
                uint64_t soft, hard;
        } rlimits[INIT_N_RLIMITS];
};

/* Read back by the payload's own process after every control was applied, just before it becomes the command. */
struct init_readback {
        uint32_t uid, gid;      /* as seen inside */
        uint32_t no_new_privs;  /* prctl(PR_GET_NO_NEW_PRIVS) */
        uint32_t seccomp_mode;  /* prctl(PR_GET_SECCOMP): 2 is a filter */
        uint32_t landlock;      /* 1: landlock_restrict_self succeeded */
        uint64_t cap_effective, cap_permitted, cap_inheritable, cap_bounding, cap_ambient;
};

enum init_msg_type {
        /* launcher and init to supervisor */
        INIT_LAUNCH_FAILED = 1, /* errnum, text: what could not be set up */
        INIT_STARTED,           /* readback: the command is about to be executed */
        INIT_EXEC_FAILED,       /* errnum: the command could not be executed */
        INIT_STOPPED,           /* status: the signal that stopped the command (terminal job control) */
        INIT_EXITED,            /* status: as from wait(2) */
        INIT_PAUSED,            /* everything was sent the stop that INIT_PAUSE asked for */
        INIT_TERMINAL,          /* with the terminal's master as ancillary fd */
        INIT_NETWORK,           /* with the gate's sockets as ancillary fds, NETNS_N of them (base/net.h) */
        INIT_CALLS,             /* with the run's endpoint as ancillary fd, which listens (proto/call-msg.h) */
        INIT_TRACE,             /* with the listener of the command's notifications as ancillary fd */
        /* supervisor to init */
        INIT_SIGNAL,            /* status: signal for the command */
        INIT_PAUSE,             /* stop everything but init: where no cgroup freezes */
        INIT_RESUME,            /* and continue it */
        INIT_CONTINUE,          /* continue the command in the foreground */
};

struct init_msg {
        uint32_t type;
        int32_t errnum;
        int32_t status;
        uint32_t pad;
        union {
                char text[512];
                struct init_readback readback;
        };
};
