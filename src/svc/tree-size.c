/* The size of a hostile tree, see tree-size.h.
 *
 * nftw(3) gives up on a path longer than PATH_MAX, and what it has not counted by then would be beyond every limit. */
#include <fcntl.h>

#include "base/fd.h"
#include "base/str.h"
#include "svc/tree-size.h"
#include "svc/tree-walk.h"

enum { NAME_COST = 256 };

struct count {
        struct tree_walk walk;
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
        if (w->walk.n > 0 && st.st_dev != w->walk.levels[0].dev)
                return 0;
        return tree_walk_push(&w->walk, &fd, &st, NULL);
}

/* Reads on in the innermost directory, until it ends or a directory in it is entered. */
static int read_on(struct count *w) {
        struct tree_level *l = tree_walk_top(&w->walk);
        _Alignas(struct dirent64_raw) char buf[8192];

        ssize_t n = tree_walk_read(&w->walk, buf, sizeof(buf));
        if (n < 0 && n != -ENOENT)
                note(w, (int)n);
        if (n <= 0)
                return tree_walk_pop(&w->walk);
        for (ssize_t i = 0; i < n;) {
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
                        size_t before = w->walk.n;
                        int r = enter(w, l->fd, d->d_name);
                        if (r < 0 || w->walk.n > before)
                                return r;
                }
        }
        return 0;
}

int tree_size(int dirfd, const char *name, uint64_t *bytes) {
        struct count w = {};
        int r = enter(&w, dirfd, name);

        while (r == 0 && w.walk.n > 0)
                r = read_on(&w);
        tree_walk_clear(&w.walk);
        *bytes += w.bytes;
        return r < 0 ? r : w.first;
}
