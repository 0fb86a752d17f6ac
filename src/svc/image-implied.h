/* Directories that a layer's tar has entries beneath, but no entry for: tools leave out parents that did not change (umoci,
 * bazel). Alone, such a tree cannot say what mode, owner and time its directory has, and overlayfs takes them from the
 * topmost tree that has the directory: /tmp would lose its sticky bit. As layers are shared, what is right in one image can
 * be wrong in another. So the import makes one more layer, uppermost, of those directories alone, with what the layers say
 * that do describe them. Caller: image-import.c. */
#pragma once

#include <sys/stat.h>

#include "svc/image-store.h"

struct implied_layer {
        int tree;               /* O_PATH of a directory */
        struct strlist implied; /* sorted (implied_read) */
};
/* Paths that end in NUL, as a layer's helper reports them. -EBADMSG where one is no clean path beneath a root. */
int implied_read(const char *data, size_t n, struct strlist *ret) _must_check_;
bool implied_has(const struct strlist *sorted, const char *path);

/* What one tree has under a path; HIDDEN: what lies on the way is no directory. *ret_opaque: nothing of lower trees is seen
 * there. link (may be NULL): PATH_MAX bytes. In implied_ask's child, as modes may keep a tree shut. */
enum look { LOOK_ABSENT, LOOK_DIR, LOOK_LINK, LOOK_OTHER, LOOK_HIDDEN };
enum look implied_look(int tree, const char *path, struct stat *ret_st, bool *ret_opaque, char *link);
/* Runs fn in a child that sees the trees' owners as they are inside, and through every mode; *ret_fd: what it wrote. */
int implied_ask(const struct ids *ids, int (*fn)(void *arg, int out), void *arg, int *ret_fd, struct error *e) _must_check_;
/* layers: bottom first. *ret_fd: a tar of that layer; -1 where none is needed. */
int implied_make(const struct ids *ids, const struct implied_layer *layers, size_t n, int *ret_fd, struct error *e) _must_check_;
