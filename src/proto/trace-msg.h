/* What a tracer says to its supervisor over their SOCK_SEQPACKET pair: fixed-size structs, one a datagram. What the traced processes
 * have in their memory stands in it, so that the supervisor takes it as it takes a gate's word: nothing of it is believed to be
 * within its bounds. Pure. */
#pragma once

#include "proto/event.h"

enum trace_msg_type {
        TRACE_FAILED = 1, /* errnum, path: what a tracer cannot do; it ends */
        TRACE_EXEC,       /* pid, parent, path, argv, cwd; where `known`, exe, dev, ino */
        TRACE_EXIT,       /* pid; where `known`, status, as from wait(2) */
        TRACE_DONE,       /* nothing is left to be traced; lost */
};

struct trace_msg {
        uint32_t type;
        int32_t errnum;
        int32_t pid, parent, status;
        uint32_t known;
        uint32_t n_argv, cut; /* enum event_field */
        uint64_t tried;       /* how often it has tried the same arguments just before, by other paths: a search along PATH */
        uint64_t lost;        /* ends of processes that were not seen */
        uint64_t dev, ino;
        char path[EVENT_PATH_MAX], cwd[EVENT_PATH_MAX], exe[EVENT_PATH_MAX];
        char argv[EVENT_ARGV_MAX];
};

/* Whether n bytes are a message: texts end within it, and there are as many arguments as it says. -EBADMSG. */
int trace_msg_read(const void *data, size_t n, struct trace_msg *ret) _must_check_;
/* The event that a TRACE_EXEC or TRACE_EXIT is, without its times. What the processes say of themselves is marked as forgeable. */
void trace_msg_event(const struct trace_msg *m, struct event *ret);
