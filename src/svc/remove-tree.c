/* Removing a hostile tree; see remove-tree.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#ifndef __GLIBC__
#include <linux/stat.h> /* struct statx; glibc has its own */
#endif

#include "base/fd.h"
#include "base/str.h"
#include "svc/remove-tree.h"
#include "svc/tree-walk.h"

enum {
        BATCH_MAX = 512, /* subdirectories remembered of one directory at a time */
        PASSES_MAX = 4,  /* rereads of a directory that is not empty although nothing failed in it */
};

/* Of a directory that is being emptied. */
struct emptying {
        bool at_end, failed;
        int passes;
        struct strlist batch;
        size_t next;
        char name[];
};

struct removal {
        struct tree_walk walk;
        int base; /* the caller's directory */
        struct remove_tree_stats stats;
        int first;
        struct error *e;
};

static struct emptying *innermost(struct removal *w) { return w->walk.n > 0 ? tree_walk_top(&w->walk)->own : NULL; }

static void emptying_free(struct emptying *x) {
        strlist_clear(&x->batch);
        free(x);
}
static void emptying_freep(struct emptying **x) { emptying_free(*x); }

static void note(struct removal *w, int r, const char *what, const char *name) {
        w->stats.failed++;
        if (w->walk.n > 0)
                innermost(w)->failed = true;
        if (w->first == 0) {
                w->first = r;
                error_errno(w->e, -r, "cannot %s %s", what, name);
        }
}

static int parent_fd(struct removal *w) { return w->walk.n == 0 ? w->base : tree_walk_top(&w->walk)->fd; }

/* Through the O_PATH fd, so that it is this very directory that changes; chmod(2) by name would follow a link. */
static int make_accessible(int pfd, mode_t mode) {
        char proc[64];
        snprintf(proc, sizeof(proc), "/proc/self/fd/%d", pfd);
        return chmod(proc, (mode & 07777) | 0700) < 0 ? -errno : 0;
}

/* Opens a directory to be emptied and puts it on the stack. */
static int push(struct removal *w, const char *name) {
        struct statx sx;
        struct stat st;
        int r;

        _cleanup_fd_ int pfd = openat(parent_fd(w), name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (pfd < 0)
                return -errno;
        if (fstat(pfd, &st) < 0)
                return -errno;
        /* A bind mount from the same file system has the same st_dev: since 5.8 the kernel says what is a mount. */
        if (syscall(SYS_statx, pfd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_TYPE, &sx) == 0 &&
            (sx.stx_attributes_mask & sx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
                return -EBUSY;
        if (w->walk.n > 0 && st.st_dev != w->walk.levels[0].dev)
                return -EBUSY;
        if ((st.st_mode & 0700) != 0700 && geteuid() != 0) {
                r = make_accessible(pfd, st.st_mode);
                if (r < 0)
                        return r;
        }
        _cleanup_fd_ int fd = openat(pfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno == EACCES && make_accessible(pfd, st.st_mode) == 0) /* root without capabilities */
                fd = openat(pfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        size_t n = strlen(name) + 1;
        struct emptying *own = calloc(1, sizeof(*own) + n);
        if (!own)
                return -ENOMEM;
        memcpy(own->name, name, n);
        r = tree_walk_push(&w->walk, &fd, &st, own);
        if (r < 0)
                free(own);
        return r;
}

static int pop(struct removal *w) {
        emptying_free(innermost(w));
        return tree_walk_pop(&w->walk);
}

/* Unlinks the files of the innermost directory and collects the next subdirectories. */
static int read_batch(struct removal *w) {
        struct tree_level *l = tree_walk_top(&w->walk);
        struct emptying *x = l->own;
        _Alignas(struct dirent64_raw) char buf[32768];

        strlist_clear(&x->batch);
        x->next = 0;
        while (x->batch.n < BATCH_MAX) {
                ssize_t n = tree_walk_read(&w->walk, buf, sizeof(buf));
                if (n < 0)
                        return (int)n;
                if (n == 0) {
                        x->at_end = true;
                        return 0;
                }
                for (ssize_t i = 0; i < n && x->batch.n < BATCH_MAX;) {
                        const struct dirent64_raw *d = (const void *)(buf + i);
                        i += d->d_reclen;
                        l->off = d->d_off;
                        if (streq(d->d_name, ".") || streq(d->d_name, ".."))
                                continue;
                        /* EISDIR is Linux's answer for a directory, EPERM that of POSIX. */
                        if (d->d_type != DT_DIR) {
                                if (unlinkat(l->fd, d->d_name, 0) == 0) {
                                        w->stats.removed++;
                                        continue;
                                }
                                if (errno == ENOENT)
                                        continue;
                                if (errno != EISDIR) {
                                        note(w, -errno, "remove", d->d_name);
                                        continue;
                                }
                        }
                        int r = strlist_add(&x->batch, d->d_name);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

/* The innermost directory is read to its end: removes it, or has it read again when something is left that no
 * error explains (a file system whose offsets move while entries go). */
static int finish_level(struct removal *w) {
        struct tree_level *l = tree_walk_top(&w->walk);
        struct emptying *x = l->own;
        bool failed = x->failed, outermost = w->walk.n == 1;

        if (!failed && !outermost && l[-1].fd < 0) {
                /* the parent comes back by pop() */
        } else if (!failed) {
                if (unlinkat(outermost ? w->base : l[-1].fd, x->name, AT_REMOVEDIR) == 0 || errno == ENOENT) {
                        w->stats.removed++;
                        return pop(w);
                }
                if (errno == ENOTEMPTY && ++x->passes < PASSES_MAX) {
                        l->off = 0;
                        x->at_end = false;
                        return 0;
                }
        }
        _cleanup_(emptying_freep) struct emptying *gone = x;
        int r = tree_walk_pop(&w->walk);
        if (r < 0)
                return r;
        if (failed) {
                if (!outermost)
                        innermost(w)->failed = true; /* not empty, and the reason is noted already */
                return 0;
        }
        if (unlinkat(parent_fd(w), gone->name, AT_REMOVEDIR) == 0 || errno == ENOENT)
                w->stats.removed++;
        else if (errno == ENOTEMPTY && !outermost && innermost(w)->passes < PASSES_MAX)
                return 0; /* seen again when the parent is reread: its own rmdir fails with ENOTEMPTY */
        else
                note(w, -errno, "remove the directory", gone->name);
        return 0;
}

static int run(struct removal *w) {
        for (struct emptying *x; (x = innermost(w));) {
                int r;

                if (x->next < x->batch.n) {
                        const char *name = x->batch.items[x->next++];
                        r = push(w, name);
                        if (r == -ENOMEM)
                                return r;
                        if (r < 0 && r != -ENOENT)
                                note(w, r, r == -EBUSY ? "cross the mount at" : "open the directory", name);
                        continue;
                }
                if (x->at_end)
                        r = finish_level(w);
                else {
                        r = read_batch(w);
                        if (r < 0 && r != -ENOMEM) {
                                note(w, r, "read the directory", x->name);
                                x->at_end = true;
                                r = 0;
                        }
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

int remove_tree(int dirfd, const char *name, struct remove_tree_stats *ret_stats, struct error *e) {
        struct removal w = {.base = dirfd, .e = e};
        struct stat st;
        int r;

        if (!*name || strchr(name, '/') || streq(name, ".") || streq(name, ".."))
                return error_set(e, EINVAL, "not a name to remove: %s", name);
        if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                if (errno == ENOENT)
                        return 0;
                return error_errno(e, errno, "cannot look at %s", name);
        }
        if (!S_ISDIR(st.st_mode)) {
                if (unlinkat(dirfd, name, 0) == 0)
                        w.stats.removed++;
                else
                        note(&w, -errno, "remove", name);
        } else {
                r = push(&w, name);
                if (r < 0)
                        note(&w, r, r == -EBUSY ? "cross the mount at" : "open the directory", name);
                else {
                        r = run(&w);
                        if (r < 0 && w.first == 0) {
                                w.first = r;
                                error_errno(e, -r, "cannot remove all of %s", name);
                        }
                }
        }
        for (size_t i = 0; i < w.walk.n; i++)
                emptying_free(w.walk.levels[i].own);
        tree_walk_clear(&w.walk);
        if (ret_stats)
                *ret_stats = w.stats;
        return w.first;
}
