/* File descriptors: closing, whole reads and writes, small files. Errors are negative errnos. */
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/str.h"

/* Closes an fd that may be negative; keeps errno. */
void fd_close(int fd);
static inline void fd_closep(int *fd) { fd_close(*fd); }
#define _cleanup_fd_ _cleanup_(fd_closep)

/* Writes all of it, through short writes and EINTR. */
int fd_write_all(int fd, const void *data, size_t n) _must_check_;
/* Reads to the end of the file, at most max bytes (-EFBIG beyond); the result is NUL-terminated. */
int fd_read_all(int fd, size_t max, char **ret, size_t *ret_len) _must_check_;

/* Reads a whole file beneath dirfd (AT_FDCWD allowed). */
int file_read(int dirfd, const char *path, size_t max, char **ret, size_t *ret_len) _must_check_;
/* Opens, writes in one write(2) and closes: for files of /proc, /sys and cgroups that exist already. */
int file_poke(int dirfd, const char *path, const char *value) _must_check_;
/* Replaces the file so that a reader and a crash see the old or the new one, whole. mode as for open(2). */
int file_replace(int dirfd, const char *name, const void *data, size_t n, mode_t mode) _must_check_;
/* Makes the directory and its parents; what exists is left as it is. */
int mkdir_parents(const char *path, mode_t mode) _must_check_;

#define FD_PASS_MAX 32u
/* Sends one message with file descriptors, which stay the caller's. flags as for sendmsg(2); MSG_NOSIGNAL is added. */
int fd_send(int sock, const void *data, size_t size, const int *fds, size_t n, int flags) _must_check_;
/* Receives one message of at most size bytes and at most FD_PASS_MAX descriptors, close-on-exec, now the caller's: fds has
 * room for that many. Returns the message's length, 0 at the end of the stream. */
ssize_t fd_receive(int sock, void *data, size_t size, int *fds, size_t *ret_n, int flags) _must_check_;
