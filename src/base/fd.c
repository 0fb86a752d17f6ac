/* Whole reads and writes, small files; see fd.h. */
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"

void fd_close(int fd) {
        if (fd >= 0) {
                int saved = errno;
                close(fd);
                errno = saved;
        }
}

int fd_write_all(int fd, const void *data, size_t n) {
        for (const char *p = data; n > 0;) {
                ssize_t k = write(fd, p, n);
                if (k < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                p += k;
                n -= (size_t)k;
        }
        return 0;
}

int fd_read_all(int fd, size_t max, char **ret, size_t *ret_len) {
        _cleanup_strbuf_ struct strbuf b = {.max = max};

        for (;;) {
                char chunk[16384];
                ssize_t k = read(fd, chunk, sizeof(chunk));
                if (k < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                if (k == 0)
                        break;
                if ((size_t)k > max - MIN(max, b.len))
                        return -EFBIG;
                strbuf_add(&b, chunk, (size_t)k);
        }
        size_t len = b.len;
        char *s = strbuf_take(&b);
        if (!s)
                return -ENOMEM;
        *ret = s;
        if (ret_len)
                *ret_len = len;
        return 0;
}

int file_read(int dirfd, const char *path, size_t max, char **ret, size_t *ret_len) {
        _cleanup_fd_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return -errno;
        return fd_read_all(fd, max, ret, ret_len);
}

int file_poke(int dirfd, const char *path, const char *value) {
        _cleanup_fd_ int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return -errno;
        ssize_t k = write(fd, value, strlen(value));
        if (k < 0)
                return -errno;
        return (size_t)k == strlen(value) ? 0 : -EIO;
}

int file_replace(int dirfd, const char *name, const void *data, size_t n, mode_t mode) {
        char tmp[NAME_MAX + 1];
        int r = snprintf(tmp, sizeof(tmp), ".%s.%d", name, (int)getpid());
        if (r < 0 || (size_t)r >= sizeof(tmp))
                return -ENAMETOOLONG;
        _cleanup_fd_ int fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
        if (fd < 0)
                return -errno;
        r = fd_write_all(fd, data, n);
        if (r >= 0 && renameat(dirfd, tmp, dirfd, name) < 0)
                r = -errno;
        if (r < 0)
                (void)unlinkat(dirfd, tmp, 0);
        return r;
}

int mkdir_parents(const char *path, mode_t mode) {
        _cleanup_free_ char *p = strdup(path);
        if (!p)
                return -ENOMEM;
        for (char *s = p + 1; *s; s++) {
                if (*s != '/')
                        continue;
                *s = 0;
                if (mkdir(p, mode) < 0 && errno != EEXIST)
                        return -errno;
                *s = '/';
        }
        if (mkdir(p, mode) < 0 && errno != EEXIST)
                return -errno;
        return 0;
}

union ancillary {
        struct cmsghdr h;
        char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
};

int fd_send(int sock, const void *data, size_t size, const int *fds, size_t n, int flags) {
        union ancillary c = {};
        struct iovec iov = {(void *)data, size};
        struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

        if (n > FD_PASS_MAX)
                return -EINVAL;
        if (n > 0) {
                m.msg_control = &c;
                m.msg_controllen = CMSG_SPACE(sizeof(int) * n);
                struct cmsghdr *h = CMSG_FIRSTHDR(&m);
                h->cmsg_level = SOL_SOCKET;
                h->cmsg_type = SCM_RIGHTS;
                h->cmsg_len = CMSG_LEN(sizeof(int) * n);
                memcpy(CMSG_DATA(h), fds, sizeof(int) * n);
        }
        return sendmsg(sock, &m, flags | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t fd_receive(int sock, void *data, size_t size, int *fds, size_t *ret_n, int flags) {
        union ancillary c = {};
        struct iovec iov = {data, size};
        struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)};
        ssize_t n = recvmsg(sock, &m, flags | MSG_CMSG_CLOEXEC);

        *ret_n = 0;
        if (n < 0)
                return -errno;
        struct cmsghdr *h = CMSG_FIRSTHDR(&m); /* the kernel puts all of one message's into one */
        if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS) {
                *ret_n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                memcpy(fds, CMSG_DATA(h), sizeof(int) * *ret_n);
        }
        return n;
}
