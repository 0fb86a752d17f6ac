/* Opening what lies beneath a directory whose content is hostile: no link is followed, nothing above the root is
 * reached, and no FIFO, socket or device is ever opened. Paths may be longer than PATH_MAX. Callers: whatever reads
 * an upper layer or writes back to a workspace. Errors are negative errnos. */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include "base/macros.h"

/* Opens `path` (relative, without ".." parts; "" and "." are the root itself) beneath root; the last part is not
 * followed either. O_CLOEXEC and O_NOFOLLOW are added. -ELOOP where a part is a link, -EXDEV or -EINVAL where the
 * path would leave the root. */
int beneath_open(int root, const char *path, int flags) _must_check_;
/* The same by one openat a part: what beneath_open does on a kernel without openat2 (before 5.6). */
int beneath_open_walk(int root, const char *path, int flags) _must_check_;
/* Opens a regular file for reading, checked before it is opened: -EBADFD when it is anything else. *ret_st may be
 * NULL. */
int beneath_open_regular(int root, const char *path, struct stat *ret_st) _must_check_;
/* An O_PATH fd of `path` with root as the root of all links on the way, the last part's too, as a process in it would
 * find it (RESOLVE_IN_ROOT of openat2(2)). */
int beneath_open_in_root(int root, const char *path) _must_check_;
