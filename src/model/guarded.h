/* Paths that the host's programs run, load or obey by themselves: what a person has to look at before it comes out of a sandbox.
 * One table, and what the policy adds (`guarded:`). Pure; called by `belljar apply` and the policy's reader.
 *
 * Names are compared as file systems that fold names do it, in any letter case: a tree may lie on one, or be copied to one. The
 * table names what runs by its name alone; what a build file names in turn (a script, a source file) it cannot know. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct guarded {
        const char *runs;    /* what would run it, a few words */
        bool never;          /* git's own: not to be taken over as a file at all */
};

/* Whether the table or one of the globs in `more` (checked, see model/glob.h; may be NULL) names the path, which is relative. */
bool guarded_find(const char *path, const struct strlist *more, struct guarded *ret);

/* The name as it is compared: folded, without what file systems leave out of names. NULL: no memory. */
char *guarded_fold(const char *path);
