/* The supervisor's own cage: put on once the sandbox runs, before its command does anything. */
#pragma once

#include "svc/entry.h"

/* No new privileges, no capabilities beyond what ending and tidying up take, Landlock on the state directory, /proc and
 * the control groups, and the system calls of src/seccomp/supervisor.list. What the kernel has not is left out and no
 * error. */
int supervisor_confine(const struct supervise *s, struct error *e) _must_check_;
