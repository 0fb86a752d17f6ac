/* Changes counted, for the line at the end of a run; see changes.h. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "svc/changes-internal.h"

/* True where the directory holds nothing, by one getdents. */
static int is_empty(int dirfd) {
        _Alignas(struct dirent64_raw) char buf[512];

        _cleanup_fd_ int fd = open_dir_at(dirfd, ".", O_RDONLY);
        if (fd < 0)
                return fd;
        long n = syscall(SYS_getdents64, fd, buf, sizeof(buf));
        if (n < 0)
                return errno == EINVAL ? 0 : -errno; /* EINVAL: the first name is longer than the buffer */
        for (long i = 0; i < n;) {
                const struct dirent64_raw *d = (const void *)(buf + i);
                i += d->d_reclen;
                if (!streq(d->d_name, ".") && !streq(d->d_name, ".."))
                        return 0;
        }
        return 1;
}

static int count(const struct changes_source *s, struct changes_summary *ret, bool *ret_unreadable, struct error *e) {
        static const struct change_caps def = {UINT64_MAX, 4096, 64u << 20, 256u << 20, 1000000};
        struct changes_summary sum = {};
        struct walk w = {.s = s, .summary = &sum, .e = e};

        int r = walk_trees(&w, &def);
        if (r == -EACCES) /* mode 000 and the like: not worth failing a run's end */
                sum.at_least = w.unreadable = true;
        else if (r < 0 && !(r == -E2BIG && sum.at_least))
                return r;
        if (e)
                *e = (struct error){};
        *ret = sum;
        *ret_unreadable = w.unreadable;
        return 0;
}

/* Counts once more in a child whose owner's modes do not bind. */
static int count_unbound(const struct changes_source *s, struct changes_summary *ret) {
        struct changes_summary sum;
        bool unreadable;
        int p[2], status;

        if (pipe2(p, O_CLOEXEC) < 0)
                return -errno;
        _cleanup_fd_ int rd = p[0];
        pid_t parent = getpid(), pid = fork();
        if (pid == 0) {
                if (changes_unbind() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
                    count(s, &sum, &unreadable, NULL) < 0 || fd_write_all(p[1], &sum, sizeof(sum)) < 0)
                        _exit(1);
                _exit(0);
        }
        int r = pid < 0 ? -errno : 0;
        close(p[1]);
        if (r < 0)
                return r;
        ssize_t n;
        do
                n = read(rd, &sum, sizeof(sum));
        while (n < 0 && errno == EINTR);
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        if (n != (ssize_t)sizeof(sum) || status != 0)
                return -EIO;
        *ret = sum;
        return 0;
}

int changes_summary(const struct changes_source *s, struct changes_summary *ret, struct error *e) {
        struct changes_summary sum = {};
        bool unreadable = false;
        int r = s->upper_fd < 0 ? 1 : is_empty(s->upper_fd);

        if (r == -EACCES) /* a run may close the workspace itself */
                unreadable = sum.at_least = true;
        else if (r < 0)
                return error_errno(e, -r, "cannot read the run's upper layer");
        else if (r == 0) {
                r = count(s, &sum, &unreadable, e);
                if (r < 0)
                        return r;
        }
        /* Where that fails too, the first count stands, as a lower bound. */
        if (unreadable && geteuid() != 0)
                (void)!count_unbound(s, &sum);
        *ret = sum;
        return 0;
}

void changes_summary_line(const struct changes_summary *s, char *dst, size_t size) {
        char bytes[32];

        if (s->added + s->changed + s->deleted == 0 && !s->at_least) {
                snprintf(dst, size, "no changes");
                return;
        }
        snprintf(dst, size, "%s%llu added, %llu changed, %llu deleted (%s)", s->at_least ? "at least " : "",
                 (unsigned long long)s->added, (unsigned long long)s->changed, (unsigned long long)s->deleted,
                 format_size(bytes, sizeof(bytes), s->bytes));
}
