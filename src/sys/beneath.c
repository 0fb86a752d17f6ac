/* Lookups beneath a hostile root; see beneath.h. */
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "base/str.h"
#include "sys/beneath.h"

static bool has_no_way_out(const char *path) { return path[0] != '/' && !path_has_dotdot(path); }

/* The root itself, reopened. */
static int open_root(int root, int flags) {
        int fd = openat(root, ".", flags | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int beneath_open_walk(int root, const char *path, int flags) {
        _cleanup_fd_ int at = -EBADF;

        if (!has_no_way_out(path))
                return -EXDEV;
        while (*path == '/' || (path[0] == '.' && (path[1] == '/' || path[1] == 0)))
                path++;
        if (!*path)
                return open_root(root, flags);
        for (;;) {
                char part[NAME_MAX + 1];
                size_t n = strcspn(path, "/");
                const char *rest = path + n;
                while (*rest == '/' || (rest[0] == '.' && (rest[1] == '/' || rest[1] == 0)))
                        rest++;
                if (n > NAME_MAX)
                        return -ENAMETOOLONG;
                memcpy(part, path, n);
                part[n] = 0;
                int fd = openat(at >= 0 ? at : root, part,
                                (*rest ? O_PATH | O_DIRECTORY : flags) | O_NOFOLLOW | O_CLOEXEC);
                if (fd < 0) {
                        /* O_DIRECTORY wins over O_NOFOLLOW in what a link is called. */
                        struct stat st;
                        int r = -errno;
                        if (r == -ENOTDIR && fstatat(at >= 0 ? at : root, part, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                            S_ISLNK(st.st_mode))
                                r = -ELOOP;
                        return r;
                }
                if (!*rest)
                        return fd;
                fd_close(at);
                at = fd;
                path = rest;
        }
}

static int open_step(int root, const char *path, int flags) {
        struct open_how how = {
                .flags = (unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        /* RESOLVE_BENEATH answers EAGAIN when a rename anywhere on the machine raced with a "..": there is none
         * in the path, so a few tries are plenty. */
        for (int i = 0; i < 8; i++) {
                long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
                if (fd >= 0)
                        return (int)fd;
                if (errno != EAGAIN && errno != EINTR)
                        break;
        }
        /* ENOSYS: an old kernel. EPERM: a seccomp filter of a container that does not know the call. */
        if (errno == ENOSYS || errno == EPERM || errno == EAGAIN)
                return beneath_open_walk(root, path, flags);
        return -errno;
}

int beneath_open(int root, const char *path, int flags) {
        _cleanup_fd_ int at = -EBADF;

        if (!has_no_way_out(path))
                return -EXDEV;
        if (!*path || streq(path, "."))
                return open_root(root, flags);
        /* A tree can be deeper than a path can say: in steps of whole parts. */
        while (strlen(path) >= PATH_MAX) {
                char step[PATH_MAX];
                size_t n = PATH_MAX - 1;
                while (n > 0 && path[n] != '/')
                        n--;
                if (n == 0)
                        return -ENAMETOOLONG;
                memcpy(step, path, n);
                step[n] = 0;
                int fd = open_step(at >= 0 ? at : root, step, O_PATH | O_DIRECTORY);
                if (fd < 0)
                        return fd;
                fd_close(at);
                at = fd;
                path += n;
                while (*path == '/')
                        path++;
        }
        return open_step(at >= 0 ? at : root, path, flags);
}

int beneath_open_regular(int root, const char *path, struct stat *ret_st) {
        struct stat st, now;
        char proc[64];

        /* O_PATH looks without touching: opening a device can act, opening a FIFO can wake or block somebody. */
        _cleanup_fd_ int pfd = beneath_open(root, path, O_PATH);
        if (pfd < 0)
                return pfd;
        if (fstat(pfd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return S_ISLNK(st.st_mode) ? -ELOOP : -EBADFD;
        snprintf(proc, sizeof(proc), "/proc/self/fd/%d", pfd);
        _cleanup_fd_ int fd = open(proc, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT) { /* no /proc */
                fd = beneath_open(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
                if (fd < 0)
                        return fd;
        }
        if (fd < 0)
                return -errno;
        if (fstat(fd, &now) < 0)
                return -errno;
        if (!S_ISREG(now.st_mode) || now.st_dev != st.st_dev || now.st_ino != st.st_ino)
                return -EBADFD;
        if (ret_st)
                *ret_st = now;
        return TAKE_FD(fd);
}

int beneath_open_in_root(int root, const char *path) {
        struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
        int fd;

        /* EAGAIN: something on the way was renamed meanwhile (openat2(2)). */
        do
                fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
        while (fd < 0 && errno == EAGAIN);
        return fd < 0 ? -errno : fd;
}
