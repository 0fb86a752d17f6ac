/* Starting a sandbox's gate and brokers: executed on demand by the process that guards its supervisor (the command line,
 * later the daemon), which has the rights for it; the supervisor has given them up. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "model/plan.h"
#include "proto/net-msg.h"

/* Starts role with fds, in the order that net-msg.h has them, and closes none of them. The process is the caller's child,
 * and dies when the caller's thread does. */
int net_start(const struct plan *p, enum net_role role, const int *fds, size_t n, pid_t *ret, int *ret_pidfd, struct error *e)
        _must_check_;
/* A provider (svc/provider.h), likewise; p is NULL where there is no sandbox. */
int net_start_provider(const struct plan *p, const int *fds, size_t n, pid_t *ret, int *ret_pidfd, struct error *e) _must_check_;
