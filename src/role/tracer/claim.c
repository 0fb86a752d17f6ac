/* What is read of traced processes; see tracer.h. Their memory is theirs to change at any moment, also between this look and the
 * kernel's own: what is read of it is a claim. What the kernel says of a process by /proc is the fact. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/tracer/tracer.h"
#include "svc/entry.h"

#define PAGE 4096u /* no smaller one; what a piece within it says holds for larger ones */
#define STARTSTACK 28 /* fields of /proc/PID/stat, proc(5) */
#define PPID 4
#define ARGUMENTS_MAX 512u

bool running_differs(const struct running *a, const struct running *b) { return a->dev != b->dev || a->ino != b->ino || a->stack != b->stack; }

static ssize_t read_small(pid_t pid, const char *name, char *buf, size_t size) {
        char path[48];

        snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
        _cleanup_fd_ int fd = openat(TRACER_PROC_FD, path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);
        if (n < 0)
                return -errno;
        buf[n] = 0;
        return n;
}

/* The program's name, in parentheses, is the program's to choose: the last one ends it. */
static uint64_t stat_field(const char *stat, int field) {
        const char *p = strrchr(stat, ')');

        for (int at = 2; p && at < field; at++)
                if ((p = strchr(p, ' ')))
                        p++;
        return p ? strtoull(p, NULL, 10) : 0;
}

int look_running(pid_t tid, struct running *ret, pid_t *ret_parent) {
        char stat[1024], path[48];
        struct stat st;
        ssize_t n = read_small(tid, "stat", stat, sizeof(stat));

        if (n < 0)
                return (int)n;
        *ret = (struct running){.stack = stat_field(stat, STARTSTACK)};
        if (ret_parent)
                *ret_parent = (pid_t)stat_field(stat, PPID);
        snprintf(path, sizeof(path), "%d/exe", (int)tid);
        if (fstatat(TRACER_PROC_FD, path, &st, 0) == 0) {
                ret->dev = st.st_dev;
                ret->ino = st.st_ino;
        }
        return 0;
}

pid_t look_process(pid_t tid) {
        char status[4096];
        const char *at = read_small(tid, "status", status, sizeof(status)) < 0 ? NULL : strstr(status, "\nTgid:");

        return at ? (pid_t)strtol(at + 6, NULL, 10) : tid;
}

/* A link of /proc. The kernel gives at most a page. */
static bool link_text(const char *path, char *dst, size_t size) {
        ssize_t n = readlinkat(TRACER_PROC_FD, path, dst, size - 1);

        dst[MAX(n, 0)] = 0;
        return n >= 0 && (size_t)n < size - 1;
}

void look_executed(pid_t pid, struct trace_msg *m) {
        char path[48];
        struct stat st;

        snprintf(path, sizeof(path), "%d/exe", (int)pid);
        if (fstatat(TRACER_PROC_FD, path, &st, 0) < 0)
                return;
        m->dev = st.st_dev;
        m->ino = st.st_ino;
        m->known = 1;
        if (!link_text(path, m->exe, sizeof(m->exe)))
                m->cut |= EVENT_F_EXE;
}

/* As much as lies in the page. */
static ssize_t read_memory(pid_t tid, uint64_t at, void *dst, size_t n) {
        struct iovec to = {dst, MIN(n, PAGE - at % PAGE)}, from = {(void *)(uintptr_t)at, to.iov_len};
        ssize_t got = process_vm_readv(tid, &to, 1, &from, 1, 0);

        return got < 0 ? -errno : got;
}

/* Bytes of the text, with its NUL; 0: it did not fit, and is cut; -EFAULT, -EPERM. */
static ssize_t read_text(pid_t tid, uint64_t at, char *dst, size_t size) {
        for (size_t n = 0; n < size;) {
                ssize_t got = read_memory(tid, at + n, dst + n, size - n);
                if (got <= 0) {
                        dst[0] = 0;
                        return got < 0 ? got : -EFAULT;
                }
                const char *nul = (const char *)memchr(dst + n, 0, (size_t)got);
                if (nul)
                        return nul - dst + 1;
                n += (size_t)got;
        }
        dst[size - 1] = 0;
        return 0;
}

static void read_arguments(pid_t tid, uint64_t at, struct trace_msg *m) {
        uint64_t pointers[64];
        size_t used = 0;

        for (size_t k = 0, n = 0; m->n_argv < ARGUMENTS_MAX; k++) {
                if (k == n) { /* the next ones, or the first; a pointer that is not aligned may lie in two pages */
                        ssize_t got = at == 0 || at % sizeof(pointers[0]) ? 0 : read_memory(tid, at, pointers, sizeof(pointers));
                        if (got < (ssize_t)sizeof(pointers[0]))
                                break;
                        at += (uint64_t)got;
                        n = (size_t)got / sizeof(pointers[0]);
                        k = 0;
                }
                if (pointers[k] == 0)
                        return;
                if (used == sizeof(m->argv))
                        break;
                ssize_t len = read_text(tid, pointers[k], m->argv + used, sizeof(m->argv) - used);
                if (len < 0)
                        break;
                m->n_argv++;
                if (len == 0)
                        break;
                used += (size_t)len;
        }
        m->cut |= EVENT_F_ARGV;
}

/* A path that is relative to a descriptor, or is the descriptor's own file (AT_EMPTY_PATH). */
static void read_at(pid_t tid, int32_t dirfd, struct trace_msg *m) {
        char link[48], name[EVENT_PATH_MAX];
        size_t n;

        if (m->path[0] == '/' || dirfd == AT_FDCWD)
                return;
        memcpy(name, m->path, sizeof(name));
        snprintf(link, sizeof(link), "%d/fd/%d", (int)tid, (int)dirfd);
        if (!link_text(link, m->path, sizeof(m->path)))
                m->cut |= EVENT_F_PATH;
        if (!name[0])
                return;
        n = strlen(m->path);
        if (snprintf(m->path + n, sizeof(m->path) - n, "/%s", name) >= (int)(sizeof(m->path) - n))
                m->cut |= EVENT_F_PATH;
}

int claim_read(const struct seccomp_notif *n, struct trace_msg *m) {
        const bool at = n->data.nr == SYS_execveat;
        const __u64 *args = n->data.args + (at ? 1 : 0);
        const pid_t tid = (pid_t)n->pid;
        char path[48];
        ssize_t r = read_text(tid, args[0], m->path, sizeof(m->path));

        snprintf(path, sizeof(path), "%d/cwd", (int)tid);
        if (!link_text(path, m->cwd, sizeof(m->cwd)))
                m->cut |= EVENT_F_CWD;
        if (r <= 0)
                m->cut |= EVENT_F_PATH;
        else if (at)
                read_at(tid, (int32_t)n->data.args[0], m);
        read_arguments(tid, args[1], m);
        return r == -EPERM || r == -ENOSYS ? (int)r : 0;
}
