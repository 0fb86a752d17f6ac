/* What the tracer's files share. */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/types.h>

#include "proto/trace-msg.h"

/* What a process runs, by which an exec is told from none: the file, and where its stack begins, which the kernel chooses anew with
 * each exec. All zero: not known. */
struct running {
        uint64_t dev, ino, stack;
};
bool running_differs(const struct running *a, const struct running *b);

/* In the tracer, whose root is /proc: what the thread's process runs, and its parent. -errno: it is gone. */
int look_running(pid_t tid, struct running *ret, pid_t *ret_parent) _must_check_;
/* The number of its process. */
pid_t look_process(pid_t tid);
/* What is executed now: fills exe, dev, ino, known. */
void look_executed(pid_t pid, struct trace_msg *m);
/* What the thread has asked to be executed, as it stands in its memory: fills path, cwd, argv, cut. -EPERM: it may not be read. */
int claim_read(const struct seccomp_notif *n, struct trace_msg *m) _must_check_;
