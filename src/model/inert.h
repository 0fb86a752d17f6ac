/* What of a file may come out of a sandbox: nothing that acts. Pure; called by `belljar apply`. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/macros.h"

/* Whether a symbolic link at `path` (relative to the root) with this target names something beneath the root, by its text: relative,
 * with ".." only at the front and no more of them than there are directories above the link. One after a name could lead out through
 * a link of that name. What the names on the way are is for whoever looks at the tree. */
bool inert_link(const char *path, const char *target);
/* The target as a path from the root. NULL: not inert_link, or no memory. */
char *inert_link_path(const char *path, const char *target);

/* Permissions of a file that comes out: none of the special bits, and of those that it had not before (before 0: all) only what the
 * umask lets pass. */
mode_t inert_mode(mode_t before, mode_t after, mode_t mask);

/* Whether an xattr may come out: the user's own, but none by which an overlay steers. */
bool inert_xattr(const char *name);

/* Whether a name of a branch or a tag (what follows refs/heads/) can stand as a file's path in refs/ and on a command line: what
 * git-check-ref-format(1) demands and, beyond that, UTF-8 without characters that deceive, no leading dash and no part that is
 * longer than a name. */
bool inert_ref(const char *name);
