/* One request to the supervisor of a sandbox that runs, over the socket in its directory (proto/control-msg.h). */
#pragma once

#include "base/error.h"
#include "proto/control-msg.h"
#include "svc/state.h"

/* Asks, and (control_end) waits for the answer, in two steps: several can be asked before the first has answered. An fd to be closed by the
 * caller. -ESRCH: it does not run; of control_end -ECONNRESET: the connection ended, -EAGAIN: it does not answer. */
int control_begin(const struct state *s, const struct control_request *q, const int *fds, size_t n, struct error *e) _must_check_;
int control_end(int fd, const struct state *s, struct control_answer *ret, struct error *e) _must_check_;
/* Both, again where the connection ended without an answer. */
int control_ask(const struct state *s, const struct control_request *q, const int *fds, size_t n, struct control_answer *ret, struct error *e) _must_check_;
/* Of a supervisor that does not answer over fd: it is killed, and with it everything in its sandbox. */
int control_end_supervisor(int fd, const struct state *s, struct error *e) _must_check_;
/* Waits for the answer; what the supervisor refuses is the error. */
int control_call(const struct state *s, const struct control_request *q, const int *fds, size_t n, struct error *e) _must_check_;
