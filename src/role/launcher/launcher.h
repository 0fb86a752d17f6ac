/* What the launcher's files share: the launcher's own state, its way to give up, and the steps of building the view. */
#pragma once

#include "svc/entry.h"

/* The staging tmpfs, which covers the host's /tmp in the sandbox's mount namespace, and the new root on it. */
#define STAGE "/tmp"
#define NEW_ROOT STAGE "/r"

struct launcher {
        const struct plan *plan;
        const struct launch *l;
        int *trees;   /* opened sources, one an operation; -1: none */
        int root;     /* O_PATH of the new root */
        int scratch;  /* O_PATH of the writable tmpfs */
        unsigned n_scratch;
        uint64_t *through; /* mount ids of what writes through to the host */
        unsigned n_through;
        int layer;    /* that was looked up last, and the tree that it covers; 0: none yet */
        int below;
};

/* Reports what failed ("text", newline, "fix") and ends. */
_noreturn_ _printf_(3, 4) void launcher_fail(const struct launch *l, int err, const char *fmt, ...);

/* Gives what was made at path to the owner of the view: the sandbox's user, an image's root. */
void place_own(const struct launcher *x, int dirfd, const char *path);
/* Attaches a detached mount at a target of the new root, which is made where it is missing; on the host nothing is. */
void place_attach(const struct launcher *x, int fd, const char *target, bool dir);
/* Says that an attached mount is the host's own tree, writable. */
void place_writes_through(struct launcher *x, int mount);
/* Makes a directory, or a link, of the plan. */
void place_dir(const struct launcher *x, const struct plan_op *op);
void place_symlink(const struct launcher *x, const struct plan_op *op);

/* Opens all sources of the host as detached trees, while the host's root is as it was; then builds the new root from the
 * plan's operations. */
void mounts_open(struct launcher *x);
void mounts_build(struct launcher *x);
