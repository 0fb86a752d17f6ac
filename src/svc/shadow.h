/* Files of the workspace that an ordinary user may write and whose owner or group the sandbox has no id for.
 *
 * An overlay that was mounted in a user namespace cannot copy such a file up (ovl_copy_up_one: EOVERFLOW), so writing
 * to it, renaming it, or making a file in such a directory would fail inside although it works outside. They are copied
 * into a layer of their own, "shadow" in the sandbox's directory, between the changes and the workspace, where they
 * belong to the sandbox's user. Where the caller has no more groups than the one that is mapped, and the workspace hands
 * none down, such files are rare (somebody else's chown): then only so many entries are looked at as takes a few
 * milliseconds. */
#pragma once

#include "base/error.h"
#include "base/str.h"

/* More than that is refused, with the fix: a run must not begin with copying gigabytes. */
#define SHADOW_MAX_BYTES (256u << 20)
#define SHADOW_MAX_ENTRIES 100000u

/* Entries that are looked at at most: by whether such files are likely. */
#define SHADOW_WALK_MAX 10000000u
#define SHADOW_WALK_UNLIKELY 20000u
/* Finds them and makes the layer beneath state_fd; returns how many there are (0: no layer was made). hidden: paths
 * relative to the workspace that are left out. */
int shadow_make(int state_fd, const char *workspace, const struct strlist *hidden, struct error *e) _must_check_;
