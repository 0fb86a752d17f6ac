/* Removing a tree whose content is hostile: any depth, any names, any modes. Callers: `belljar discard`, `belljar
 * rm`, the clean-up after a crash. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct remove_tree_stats {
        uint64_t removed; /* entries */
        uint64_t failed;
};

/* Removes `name` (one part, no slash) beneath dirfd with all that it holds. Never follows a link, never crosses a
 * mount (what is mounted stays, as an error), opens nothing but directories, and gives the caller's own directories
 * the modes that removing needs. Goes on after an error and returns the first one; 0 when `name` is not there.
 * Uses a bounded number of fds and memory of the order of the depth. *ret_stats may be NULL. */
int remove_tree(int dirfd, const char *name, struct remove_tree_stats *ret_stats, struct error *e) _must_check_;
