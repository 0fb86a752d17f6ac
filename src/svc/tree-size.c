/* The size of a hostile tree, see tree-size.h.
 *
 * nftw(3) gives up on a path longer than PATH_MAX, and what it has not counted by then would be beyond every limit. Here:
 * depth first; only the innermost OPEN_MAX directories keep their fd, an outer one is reopened by ".." from its child. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "svc/remove-tree.h"
#include "svc/tree-size.h"

enum { OPEN_MAX = 32, NAME_COST = 256 };

struct level {
        int fd; /* -1: closed to save fds */
        ino_t ino;
        off_t off; /* where reading goes on */
};

struct count {
        struct level *levels;
        size_t n, cap;
        dev_t dev;
        uint64_t bytes;
        int first; /* error */
};

static void note(struct count *w, int r) {
        if (w->first == 0)
                w->first = r;
}

static int enter(struct count *w, int at, const char *name) {
        struct stat st;
        _cleanup_fd_ int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd < 0 || fstat(fd, &st) < 0) {
                if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP) /* those: it was replaced meanwhile */
                        note(w, -errno);
                return 0;
        }
        if (w->n > 0 && st.st_dev != w->dev)
                return 0;
        if (w->n == w->cap) {
                size_t cap = MAX(w->cap * 2, 64u);
                struct level *p = reallocarray(w->levels, cap, sizeof(*p));
                if (!p)
                        return -ENOMEM;
                w->levels = p;
                w->cap = cap;
        }
        if (w->n == 0)
                w->dev = st.st_dev;
        w->levels[w->n++] = (struct level){.fd = TAKE_FD(fd), .ino = st.st_ino};
        if (w->n > OPEN_MAX) {
                struct level *old = &w->levels[w->n - 1 - OPEN_MAX];
                fd_close(old->fd);
                old->fd = -1;
        }
        return 0;
}

/* -ESTALE: somebody moved directories about. */
static int leave(struct count *w) {
        struct level *l = &w->levels[--w->n];
        int r = 0;

        if (w->n > 0 && l[-1].fd < 0) {
                struct stat st;
                _cleanup_fd_ int fd = openat(l->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (fd < 0)
                        r = -errno;
                else if (fstat(fd, &st) < 0 || st.st_dev != w->dev || st.st_ino != l[-1].ino)
                        r = -ESTALE;
                else
                        l[-1].fd = TAKE_FD(fd);
        }
        fd_close(l->fd);
        return r;
}

/* Reads on in the innermost directory, until it ends or a directory in it is entered. */
static int read_on(struct count *w) {
        struct level *l = &w->levels[w->n - 1];
        _Alignas(struct dirent64_raw) char buf[8192];

        if (lseek(l->fd, l->off, SEEK_SET) < 0)
                return -errno;
        long n = syscall(SYS_getdents64, l->fd, buf, sizeof(buf));
        if (n < 0 && errno != ENOENT)
                note(w, -errno);
        if (n <= 0)
                return leave(w);
        for (long i = 0; i < n;) {
                const struct dirent64_raw *d = (const void *)(buf + i);
                struct stat st;
                i += d->d_reclen;
                l->off = d->d_off;
                if (streq(d->d_name, ".") || streq(d->d_name, ".."))
                        continue;
                if (fstatat(l->fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                        if (errno != ENOENT)
                                note(w, -errno);
                        continue;
                }
                w->bytes += (uint64_t)st.st_blocks * 512 + NAME_COST;
                if (S_ISDIR(st.st_mode)) {
                        size_t before = w->n;
                        int r = enter(w, l->fd, d->d_name);
                        if (r < 0 || w->n > before)
                                return r;
                }
        }
        return 0;
}

int tree_size(int dirfd, const char *name, uint64_t *bytes) {
        struct count w = {};
        int r = enter(&w, dirfd, name);

        while (r == 0 && w.n > 0)
                r = read_on(&w);
        for (size_t i = 0; i < w.n; i++)
                fd_close(w.levels[i].fd);
        free(w.levels);
        *bytes += w.bytes;
        return r < 0 ? r : w.first;
}
