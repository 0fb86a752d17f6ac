/* Landlock rulesets (landlock(7)) by raw system calls: what a domain may do beneath which directories. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/use.h"

/* The kernel's ABI version; 0 where Landlock is not built in or not enabled, a negative errno where that cannot be
 * told. */
int landlock_abi(void);

/* A ruleset that handles every file right, and, with `scoped`, from ABI 6, keeps signals and connections to abstract
 * sockets within the domain. */
int landlock_new(int abi, bool scoped) _must_check_;
/* One that handles no file right, so that mounts stay possible (landlock(7)), and keeps the same within. ABI 6 or later. */
int landlock_new_scopes(void) _must_check_;
/* Allows `use` (enum tree_use) beneath fd (a directory) or on it (anything else). */
int landlock_allow(int ruleset, int abi, int fd, unsigned use) _must_check_;
/* The same for a path, following links; a missing path is no error. */
int landlock_allow_path(int ruleset, int abi, const char *path, unsigned use) _must_check_;
/* Puts the ruleset in force for the calling thread, which needs no_new_privs: for Belljar's own roles. */
int landlock_restrict(int ruleset) _must_check_;
