/* The stack of a walk through a hostile tree of any depth, depth first: only the innermost directories keep their fd; an
 * outer one is reopened by ".." from its child on the way back, and counts only if it is the directory that it was. */
#pragma once

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/macros.h"

struct dirent64_raw { /* getdents64(2) */
        uint64_t d_ino;
        int64_t d_off;
        unsigned short d_reclen;
        unsigned char d_type;
        char d_name[];
};

struct tree_level {
        int fd; /* -1: closed to save fds */
        dev_t dev;
        ino_t ino;
        off_t off; /* where reading goes on */
        void *own; /* the walker's, who frees it */
};
struct tree_walk {
        struct tree_level *levels;
        size_t n, cap;
};

static inline struct tree_level *tree_walk_top(struct tree_walk *w) { return &w->levels[w->n - 1]; }
/* Enters a directory: takes the fd over where it goes well. -ENOMEM. */
int tree_walk_push(struct tree_walk *w, int *fd, const struct stat *st, void *own) _must_check_;
/* Entries of the innermost directory, from `off` on; 0 at its end. */
ssize_t tree_walk_read(struct tree_walk *w, void *buf, size_t size) _must_check_;
/* Leaves the innermost directory; the outer one has an open fd again. -ESTALE: somebody moved directories about. */
int tree_walk_pop(struct tree_walk *w) _must_check_;
void tree_walk_clear(struct tree_walk *w);
