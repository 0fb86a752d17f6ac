/* A courier: the process that serves one call (call.h). It has the rights of the command line, and what it reads from the sandbox is
 * hostile: frames of bounded size, one at a time. It dies with the guard, and whatever it started dies with it. */
#pragma once

#include "role/cli/call.h"

/* What comes right after the fork: the process dies with the guard, and no signal handling of its stays. */
int courier_begin(pid_t guard) _must_check_;
/* Reads the first frame and serves. Never returns. conn, report, userns and netns are all that it keeps open. */
_noreturn_ void courier_main(struct call *c);

/* One frame for belljar-call; ends the process where that has gone. */
void courier_send(struct call *c, enum call_frame type, const void *data, size_t n);
/* A line for its standard error. */
void courier_say(struct call *c, const char *fmt, ...) _printf_(2, 3);
/* Refuses: a line inside, a report outside; counts it. Returns the exit status. */
int courier_refuse(struct call *c, struct call_account *account, const char *fix, const char *what, const char *fmt, ...) _printf_(5, 6);
/* The content of a file inside, as the caller there may read it. -EFBIG beyond max bytes. */
int courier_read_file(struct call *c, const char *path, size_t max, char **ret, size_t *ret_n) _must_check_;
int courier_write_file(struct call *c, const char *path, const void *data, size_t n) _must_check_;

/* What runs outside for a call. */
struct courier_child {
        pid_t pid;
        int in, out, err; /* the courier's ends; -1: none */
};
/* fork(2) with new standard input, output and error: a pipe, a pipe, and a stream socket (belljar-call, courier_leave_fd). The child
 * goes on, has no other descriptors but c->key, dies with the courier, and has no signal blocked. 0 in the child. */
pid_t courier_start(struct call *c, struct courier_child *ret) _must_check_;
/* In the child: namespaces of its own (CLONE_NEW*), CLONE_NEWUSER among them, with its ids mapped to themselves. */
int courier_isolate(int flags) _must_check_;
/* Connects from within the sandbox's network, as anything in there does (call-dial.c). */
int courier_dial(struct call *c, const char *host, uint16_t port) _must_check_;
/* Leaves a descriptor to be taken out of the child's standard error by belljar-call under its own name. */
int courier_leave_fd(const struct courier_child *child, int fd) _must_check_;
/* Carries both ways until the child ends, and returns its exit status (128 + signal). want_input: belljar-call's standard input is
 * its own; else that is empty. Bytes are counted in account. */
int courier_relay(struct call *c, struct courier_child *child, bool want_input, struct call_account *account);
/* Without the sandbox: input is written to the child, and what it prints is taken, at most max bytes. Its exit status or a negative
 * errno. */
int courier_collect(struct courier_child *child, const void *input, size_t n, size_t max, char **ret, size_t *ret_n) _must_check_;
