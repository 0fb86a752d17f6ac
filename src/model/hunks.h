/* Parts of a change: the hunks of a unified diff, and a file with only some of them taken. Pure; called by `belljar apply`. The diff
 * and both texts may be hostile; what comes out is the old text with whole hunks of the diff in it, or an error. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define HUNKS_MAX 65536u

struct hunk {
        size_t at, size;          /* in the diff, its line "@@ ... @@" included */
        uint64_t old_at, old_n;   /* lines of the old text: the first, from 0, and how many */
};

/* -EINVAL: no unified diff; -E2BIG. *ret is the caller's. */
int hunks_parse(const char *diff, size_t n, struct hunk **ret, size_t *ret_n) _must_check_;
/* Appends the old text with the hunks that `take` names. -EINVAL where a hunk does not fit it exactly. */
int hunks_apply(const char *old, size_t old_n, const char *diff, const struct hunk *hunks, size_t n, const bool *take,
                struct strbuf *out) _must_check_;
