/* One request to the supervisor of a sandbox that runs, over the socket in its directory (proto/control-msg.h). */
#pragma once

#include "base/error.h"
#include "proto/control-msg.h"
#include "svc/state.h"

/* Waits for the answer; what the supervisor refuses is the error. */
int control_call(const struct state *s, const struct control_request *q, const int *fds, size_t n, struct error *e) _must_check_;
