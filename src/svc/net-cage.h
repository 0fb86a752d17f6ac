/* How gate and broker lock themselves in, before they read a byte that somebody else wrote. */
#pragma once

#include <linux/filter.h>
#include <stddef.h>

#include "base/error.h"

#define NET_MEMORY_MAX (256u << 20) /* bytes of a gate, and of a broker; docs/threat-model.md */

/* In user, mount and pid namespaces of their own (net-start.h): an empty, read-only root, no capability, no new programs, no
 * core, no access by others' ptrace, so much memory, no file by Landlock where the kernel has it, and the filter. Dies with its parent. */
int net_cage(const struct sock_filter *filter, size_t n, struct error *e) _must_check_;
