/* Removing a hostile tree; see remove-tree.h.
 *
 * Depth first with a stack on the heap. Only the innermost OPEN_MAX directories keep their fd; an outer one is
 * reopened by ".." from its child on the way back and counts only if it is the same inode as before. */
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

enum {
        OPEN_MAX = 32,   /* directories with an open fd */
        BATCH_MAX = 512, /* subdirectories remembered of one directory at a time */
        PASSES_MAX = 4,  /* rereads of a directory that is not empty although nothing failed in it */
};

struct level {
        char *name;
        int fd; /* -1: closed to save fds */
        dev_t dev;
        ino_t ino;
        off_t off; /* where the next batch begins */
        bool at_end, failed;
        int passes;
        struct strlist batch;
        size_t next;
};

struct removal {
        struct level *levels;
        size_t n, cap;
        int base; /* the caller's directory */
        dev_t dev;
        struct remove_tree_stats stats;
        int first;
        struct error *e;
};

static void note(struct removal *w, int r, const char *what, const char *name) {
        w->stats.failed++;
        if (w->n > 0)
                w->levels[w->n - 1].failed = true;
        if (w->first == 0) {
                w->first = r;
                error_errno(w->e, -r, "cannot %s %s", what, name);
        }
}

static int parent_fd(struct removal *w) { return w->n == 0 ? w->base : w->levels[w->n - 1].fd; }

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

        _cleanup_fd_ int pfd = openat(parent_fd(w), name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (pfd < 0)
                return -errno;
        if (fstat(pfd, &st) < 0)
                return -errno;
        /* A bind mount from the same file system has the same st_dev: since 5.8 the kernel says what is a mount. */
        if (syscall(SYS_statx, pfd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_TYPE, &sx) == 0 &&
            (sx.stx_attributes_mask & sx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
                return -EBUSY;
        if (w->n > 0 && st.st_dev != w->dev)
                return -EBUSY;
        if ((st.st_mode & 0700) != 0700 && geteuid() != 0) {
                int r = make_accessible(pfd, st.st_mode);
                if (r < 0)
                        return r;
        }
        _cleanup_fd_ int fd = openat(pfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno == EACCES && make_accessible(pfd, st.st_mode) == 0) /* root without capabilities */
                fd = openat(pfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (w->n == w->cap) {
                size_t cap = MAX(w->cap * 2, 64u);
                struct level *p = reallocarray(w->levels, cap, sizeof(*p));
                if (!p)
                        return -ENOMEM;
                w->levels = p;
                w->cap = cap;
        }
        struct level *l = &w->levels[w->n];
        *l = (struct level){.name = strdup(name), .fd = -1, .dev = st.st_dev, .ino = st.st_ino};
        if (!l->name)
                return -ENOMEM;
        l->fd = TAKE_FD(fd);
        if (w->n++ == 0)
                w->dev = st.st_dev;
        if (w->n > OPEN_MAX) {
                struct level *old = &w->levels[w->n - 1 - OPEN_MAX];
                fd_close(old->fd);
                old->fd = -1;
        }
        return 0;
}

/* Takes the innermost directory off the stack; the outer one has an open fd again afterwards, or the whole walk
 * ends (-ESTALE: somebody moved directories under it). */
static int pop(struct removal *w) {
        struct level *l = &w->levels[w->n - 1];
        int r = 0;

        if (w->n > 1 && l[-1].fd < 0) {
                struct stat st;
                int fd = openat(l->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (fd < 0)
                        r = -errno;
                else if (fstat(fd, &st) < 0 || st.st_dev != l[-1].dev || st.st_ino != l[-1].ino) {
                        fd_close(fd);
                        r = -ESTALE;
                } else
                        l[-1].fd = fd;
        }
        fd_close(l->fd);
        free(l->name);
        strlist_clear(&l->batch);
        w->n--;
        return r;
}

/* Unlinks the files of the innermost directory and collects the next subdirectories. */
static int read_batch(struct removal *w) {
        struct level *l = &w->levels[w->n - 1];
        _Alignas(struct dirent64_raw) char buf[32768];

        strlist_clear(&l->batch);
        l->next = 0;
        if (lseek(l->fd, l->off, SEEK_SET) < 0)
                return -errno;
        while (l->batch.n < BATCH_MAX) {
                long n = syscall(SYS_getdents64, l->fd, buf, sizeof(buf));
                if (n < 0)
                        return -errno;
                if (n == 0) {
                        l->at_end = true;
                        return 0;
                }
                for (long i = 0; i < n && l->batch.n < BATCH_MAX;) {
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
                        int r = strlist_add(&l->batch, d->d_name);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

/* The innermost directory is read to its end: removes it, or has it read again when something is left that no
 * error explains (a file system whose offsets move while entries go). */
static int finish_level(struct removal *w) {
        struct level *l = &w->levels[w->n - 1];
        bool failed = l->failed;

        _cleanup_free_ char *name = strdup(l->name);
        if (!name)
                return -ENOMEM;
        if (!failed && w->n > 1 && l[-1].fd < 0) {
                /* the parent comes back by pop() */
        } else if (!failed) {
                if (unlinkat(w->n == 1 ? w->base : l[-1].fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT) {
                        w->stats.removed++;
                        return pop(w);
                }
                if (errno == ENOTEMPTY && ++l->passes < PASSES_MAX) {
                        l->off = 0;
                        l->at_end = false;
                        return 0;
                }
        }
        int r = pop(w);
        if (r < 0)
                return r;
        if (failed) {
                if (w->n > 0)
                        w->levels[w->n - 1].failed = true; /* not empty, and the reason is noted already */
                return 0;
        }
        if (unlinkat(parent_fd(w), name, AT_REMOVEDIR) == 0 || errno == ENOENT)
                w->stats.removed++;
        else if (errno == ENOTEMPTY && w->n > 0 && w->levels[w->n - 1].passes < PASSES_MAX)
                return 0; /* seen again when the parent is reread: its own rmdir fails with ENOTEMPTY */
        else
                note(w, -errno, "remove the directory", name);
        return 0;
}

static int run(struct removal *w) {
        while (w->n > 0) {
                struct level *l = &w->levels[w->n - 1];
                int r;

                if (l->next < l->batch.n) {
                        const char *name = l->batch.items[l->next++];
                        r = push(w, name);
                        if (r == -ENOMEM)
                                return r;
                        if (r < 0 && r != -ENOENT)
                                note(w, r, r == -EBUSY ? "cross the mount at" : "open the directory", name);
                        continue;
                }
                if (l->at_end)
                        r = finish_level(w);
                else {
                        r = read_batch(w);
                        if (r < 0 && r != -ENOMEM) {
                                note(w, r, "read the directory", l->name);
                                l->at_end = true;
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
        for (size_t i = 0; i < w.n; i++) {
                fd_close(w.levels[i].fd);
                free(w.levels[i].name);
                strlist_clear(&w.levels[i].batch);
        }
        free(w.levels);
        if (ret_stats)
                *ret_stats = w.stats;
        return w.first;
}
