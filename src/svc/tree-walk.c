/* The stack of a walk, see tree-walk.h. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/tree-walk.h"

enum { OPEN_MAX = 32 };

int tree_walk_push(struct tree_walk *w, int *fd, const struct stat *st, void *own) {
        if (w->n == w->cap) {
                size_t cap = MAX(w->cap * 2, 64u);
                struct tree_level *p = reallocarray(w->levels, cap, sizeof(*p));
                if (!p)
                        return -ENOMEM;
                w->levels = p;
                w->cap = cap;
        }
        w->levels[w->n++] = (struct tree_level){.fd = TAKE_FD(*fd), .dev = st->st_dev, .ino = st->st_ino, .own = own};
        if (w->n > OPEN_MAX) {
                struct tree_level *old = &w->levels[w->n - 1 - OPEN_MAX];
                fd_close(old->fd);
                old->fd = -1;
        }
        return 0;
}

ssize_t tree_walk_read(struct tree_walk *w, void *buf, size_t size) {
        struct tree_level *l = tree_walk_top(w);
        long n = lseek(l->fd, l->off, SEEK_SET) < 0 ? -1 : syscall(SYS_getdents64, l->fd, buf, size);

        return n < 0 ? -errno : n;
}

int tree_walk_pop(struct tree_walk *w) {
        struct tree_level *l = &w->levels[--w->n];
        int r = 0;

        if (w->n > 0 && l[-1].fd < 0) {
                struct stat st;
                _cleanup_fd_ int fd = openat(l->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (fd < 0 || fstat(fd, &st) < 0)
                        r = -errno;
                else if (st.st_dev != l[-1].dev || st.st_ino != l[-1].ino)
                        r = -ESTALE;
                else
                        l[-1].fd = TAKE_FD(fd);
        }
        fd_close(l->fd);
        return r;
}

void tree_walk_clear(struct tree_walk *w) {
        for (size_t i = 0; i < w->n; i++)
                fd_close(w->levels[i].fd);
        free(w->levels);
        *w = (struct tree_walk){};
}
