/* Loading a filter that was compiled at build time (src/seccomp). */
#pragma once

#include <linux/filter.h>
#include <stddef.h>

#include "base/macros.h"

/* n instructions. The process must have no_new_privs. Does nothing in a build with the address sanitizer, whose own calls
 * are on no list. */
int seccomp_load(const struct sock_filter *filter, size_t n) _must_check_;
