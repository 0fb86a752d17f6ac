/* Feeding the helpers of an import, see image-stream.h. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sodium/crypto_hash_sha256.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/image-stream.h"
#include "sys/process.h"

#define BLOCK (256u << 10)
#define STALL_MS (120 * 1000)        /* without a byte moved anywhere: given up */
#define SPACE_STEP (64u << 20)       /* bytes between looks at the free space */
#define OVERHEAD 8192u               /* bytes of headers an entry that a tar may have beside its data */

struct helper {
        pid_t pid;
        int pidfd, to, from, report;
};
#define HELPER_NONE (struct helper){.pid = -1, .pidfd = -EBADF, .to = -EBADF, .from = -EBADF, .report = -EBADF}

static void close_end(int *fd) {
        fd_close(*fd);
        *fd = -EBADF;
}

static void helper_end(struct helper *h) {
        close_end(&h->to);
        close_end(&h->from);
        if (h->pid > 0) {
                (void)!process_signal(h->pidfd, SIGKILL);
                while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        close_end(&h->pidfd);
        close_end(&h->report);
        h->pid = -1;
}
#define _cleanup_helper_ _cleanup_(helper_end)

static void hex_of(const unsigned char *sum, char hex[65]) {
        for (size_t i = 0; i < crypto_hash_sha256_BYTES; i++)
                snprintf(hex + 2 * i, 3, "%02x", sum[i]);
}

void stream_digest(const void *data, size_t n, char hex[65]) {
        unsigned char sum[crypto_hash_sha256_BYTES];
        crypto_hash_sha256(sum, data, n);
        hex_of(sum, hex);
}

int stream_digest_of(int fd, char hex[65]) {
        unsigned char sum[crypto_hash_sha256_BYTES];
        crypto_hash_sha256_state state;
        _cleanup_free_ unsigned char *buffer = malloc(BLOCK);
        ssize_t n;

        if (!buffer)
                return -ENOMEM;
        crypto_hash_sha256_init(&state);
        while ((n = read(fd, buffer, BLOCK)) != 0) {
                if (n > 0)
                        crypto_hash_sha256_update(&state, buffer, (unsigned long long)n);
                else if (errno != EINTR)
                        return -errno;
        }
        crypto_hash_sha256_final(&state, sum);
        hex_of(sum, hex);
        return 0;
}

/* A pipe whose end that stays here does not block. */
static int make_pipe(int *ours, int *theirs, bool we_write) {
        int p[2];
        if (pipe2(p, O_CLOEXEC) < 0)
                return -errno;
        *ours = p[we_write];
        *theirs = p[!we_write];
        (void)fcntl(*ours, F_SETPIPE_SZ, 1 << 20);
        return fcntl(*ours, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

/* Forked in the directory that it is to have: in its own mount namespace, a working directory is what it can reach without
 * a right to any path. */
static int helper_start(const struct image_work *w, enum image_job job, int dir, const struct stream_source *s,
                        const struct stream_limits *l, struct helper *ret, struct error *e) {
        const bool packs = job == JOB_PACK || job == JOB_EXPORT;
        const uint64_t flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
        struct image_helper spec = {.job = job, .in = -EBADF, .out = -EBADF, .report = -EBADF, .max_bytes = l->bytes,
                                    .max_entries = l->entries, .n_ids = w->ids.n,
                                    .through = s ? s->through : NULL, .n_through = s ? s->n_through : 0,
                                    .keep_ids = job == JOB_PACK && w->ids.kind == IDS_RANGE};
        _cleanup_helper_ struct helper h = HELPER_NONE;
        int r = make_pipe(&h.report, &spec.report, false);

        if (r == 0 && !packs)
                r = make_pipe(&h.to, &spec.in, true);
        if (r == 0 && (packs || job == JOB_DECOMPRESS))
                r = make_pipe(&h.from, &spec.out, false);
        _cleanup_fd_ int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (r == 0 && (here < 0 || fchdir(dir) < 0))
                r = -errno;
        /* The root of a layer may be closed to the caller, whose layer it is: then only the child's root may enter. A caller who is
         * root enters anyhow, and the child would not come past the caller's own directory. */
        bool in_child = r == 0 && job == JOB_EXPORT && chdir("tree") < 0;
        if (r < 0)
                error_errno(e, r, "a helper of the import cannot be started");
        else if (spec.keep_ids) {
                /* The owners of files are to be read as the host has them. */
                h.pid = process_clone(flags, -1, &h.pidfd);
                if (h.pid < 0)
                        r = error_errno(e, h.pid, "a helper of the import cannot be started");
        } else
                r = h.pid = ids_fork(&w->ids, flags, &h.pidfd, e);
        if (h.pid == 0 && r >= 0) {
                if (in_child && chdir("tree") < 0)
                        _exit(1);
                image_helper_main(&spec);
        }
        if (here >= 0 && fchdir(here) < 0 && r >= 0)
                r = error_errno(e, errno, "the working directory is gone");
        fd_close(spec.in);
        fd_close(spec.out);
        fd_close(spec.report);
        if (r < 0)
                return r;
        *ret = h;
        h = HELPER_NONE;
        return 0;
}

/* To the end of the report, which is that of the helper. Never more than fits. */
static size_t read_report(int fd, char *buffer, size_t size) {
        size_t have = 0;

        while (have < size) {
                ssize_t n = read(fd, buffer + have, size - have);
                if (n == 0)
                        break;
                if (n > 0)
                        have += (size_t)n;
                else if (errno == EAGAIN) {
                        struct pollfd p = {.fd = fd, .events = POLLIN};
                        if (poll(&p, 1, STALL_MS) == 0)
                                break;
                } else if (errno != EINTR)
                        break;
        }
        return have;
}

/* Waits for its end; what it reports, or why there is no report, as an error. *ret_implied (may be NULL): see
 * struct image_report. */
static int helper_wait(struct helper *h, struct image_report *ret, char **ret_implied, struct error *e) {
        struct image_report report;
        _cleanup_free_ char *implied = NULL;
        int status = 0;

        close_end(&h->to);
        close_end(&h->from);
        size_t n = read_report(h->report, (char *)&report, sizeof(report));
        if (n == sizeof(report) && report.implied > 0 && report.implied <= IMAGE_IMPLIED_MAX) {
                implied = malloc(report.implied);
                if (!implied)
                        return error_set(e, ENOMEM, "out of memory");
                if (read_report(h->report, implied, report.implied) != report.implied || implied[report.implied - 1] != 0)
                        n = 0;
        }
        close_end(&h->report); /* whatever it still has to say */
        while (waitpid(h->pid, &status, 0) < 0 && errno == EINTR)
                ;
        h->pid = -1;
        if (n != sizeof(report) || report.implied > IMAGE_IMPLIED_MAX) {
                if (WIFSIGNALED(status))
                        return error_set(e, EIO, "a helper of the import was ended by signal %d", WTERMSIG(status));
                return error_set(e, EIO, "a helper of the import ended without a report");
        }
        report.error.msg[sizeof(report.error.msg) - 1] = report.error.fix[sizeof(report.error.fix) - 1] = 0;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                int errnum = report.error.errnum > 0 && report.error.errnum < 4096 ? report.error.errnum : EIO;
                error_set(e, errnum, "%s", report.error.msg[0] ? report.error.msg : "a helper of the import failed");
                return report.error.fix[0] ? error_fix(e, "%s", report.error.fix) : -errnum;
        }
        *ret = report;
        if (ret_implied)
                *ret_implied = TAKE_PTR(implied);
        return 0;
}

struct flow {
        const struct image_work *w;
        const struct stream_limits *l;
        struct helper *first, *last;
        int source;               /* -1: the first helper makes the stream itself */
        int kept;                 /* what was read of the source before: comes first; -1: nothing */
        bool keep;                /* what is read is kept there */
        crypto_hash_sha256_state raw_hash, plain_hash;
        uint64_t raw, plain, looked_at;
        char raw_buffer[BLOCK], plain_buffer[BLOCK];
        size_t raw_at, raw_len, plain_at, plain_len;
        bool source_end, plain_end, last_gone, whole; /* whole: the last must read to the end */
};

static int check_limits(struct flow *f, struct error *e) {
        struct statvfs vfs;

        if (f->source >= 0 && f->l->ratio && f->plain > STREAM_FREE && f->plain / f->l->ratio > f->raw) {
                error_set(e, EFBIG, "the data are more than %llu times as large as they are compressed", (unsigned long long)f->l->ratio);
                return error_fix(e, "where they are meant to be: --max-size SIZE");
        }
        if (f->plain > f->l->bytes && f->plain - f->l->bytes > f->l->entries * OVERHEAD) {
                error_set(e, EFBIG, "the image is larger than is allowed");
                return error_fix(e, "where it is meant to be: --max-size SIZE");
        }
        if (f->plain - f->looked_at < SPACE_STEP)
                return 0;
        f->looked_at = f->plain;
        if (fstatvfs(f->w->dir, &vfs) == 0 && (uint64_t)vfs.f_bavail * vfs.f_frsize < f->l->space_floor) {
                error_set(e, ENOSPC, "less than 5 %% of the store's file system are free");
                return error_fix(e, "make room (belljar image prune), or set XDG_STATE_HOME to another file system");
        }
        return 0;
}

static int fill_raw(struct flow *f, struct error *e) {
        ssize_t n = f->kept >= 0 && !f->keep ? read(f->kept, f->raw_buffer, BLOCK) : 0;
        int r;

        if (n == 0)
                n = read(f->source, f->raw_buffer, BLOCK);
        if (n < 0)
                return errno == EINTR ? 0 : error_errno(e, errno, "the image cannot be read");
        if (n > 0 && f->keep) {
                if (f->raw > f->l->bytes)
                        return error_set(e, EFBIG, "the image is larger than is allowed");
                if ((r = fd_write_all(f->kept, f->raw_buffer, (size_t)n)) < 0)
                        return error_errno(e, r, "the beginning of the image cannot be kept");
        }
        if (n == 0) {
                f->source_end = true;
                return 0;
        }
        crypto_hash_sha256_update(&f->raw_hash, (unsigned char *)f->raw_buffer, (unsigned long long)n);
        f->raw += (uint64_t)n;
        f->raw_at = 0;
        f->raw_len = (size_t)n;
        return 0;
}

/* A helper that has seen enough closes its end: the rest is read for its digest only. */
static bool give(int *fd, const char *buffer, size_t *at, size_t *len) {
        ssize_t n = write(*fd, buffer + *at, *len - *at);
        if (n < 0)
                return errno == EAGAIN || errno == EINTR;
        *at += (size_t)n;
        if (*at == *len)
                *at = *len = 0;
        return true;
}

static int fill_plain(struct flow *f, struct error *e) {
        ssize_t n = read(f->first->from, f->plain_buffer, BLOCK);
        if (n < 0)
                return errno == EINTR || errno == EAGAIN ? 0 : error_errno(e, errno, "the plain data cannot be read");
        if (n == 0) {
                f->plain_end = true;
                return 0;
        }
        crypto_hash_sha256_update(&f->plain_hash, (unsigned char *)f->plain_buffer, (unsigned long long)n);
        f->plain += (uint64_t)n;
        f->plain_at = 0;
        f->plain_len = (size_t)n;
        return check_limits(f, e);
}

/* One round: what is at hand is moved on, then the next event is waited for. */
static int step(struct flow *f, struct error *e) {
        struct helper *a = f->first, *b = f->last;
        int r;

        if (f->source >= 0 && !f->source_end && f->raw_len == 0 && (r = fill_raw(f, e)) < 0)
                return r;
        if (a->to < 0)
                f->raw_at = f->raw_len = 0;
        if (f->source_end && f->raw_len == 0)
                close_end(&a->to);
        if (f->plain_end && f->plain_len == 0)
                close_end(&b->to);
        struct pollfd p[3] = {
                {.fd = f->raw_len ? a->to : -1, .events = POLLOUT},
                {.fd = f->plain_end || f->plain_len ? -1 : a->from, .events = POLLIN},
                {.fd = f->plain_len ? b->to : -1, .events = POLLOUT},
        };
        if (p[0].fd < 0 && p[1].fd < 0 && p[2].fd < 0)
                return 0;
        int n = poll(p, 3, f->source >= 0 && !f->source_end && f->raw_len == 0 ? 0 : STALL_MS);
        if (n < 0)
                return errno == EINTR ? 0 : error_errno(e, errno, "the helpers of the import cannot be waited for");
        if (n == 0 && (f->source < 0 || f->source_end || f->raw_len > 0))
                return error_set(e, ETIMEDOUT, "the import came to a halt for %d seconds", STALL_MS / 1000);
        if (p[0].revents && !give(&a->to, f->raw_buffer, &f->raw_at, &f->raw_len))
                close_end(&a->to);
        if (p[1].revents && (r = fill_plain(f, e)) < 0)
                return r;
        if (p[2].revents && !give(&b->to, f->plain_buffer, &f->plain_at, &f->plain_len))
                f->last_gone = true;
        return 0;
}

static int run_flow(struct flow *f, struct stream_result *ret, struct error *e) {
        unsigned char sum[crypto_hash_sha256_BYTES];
        struct image_report first;
        struct error why = {};
        int r = 0;

        crypto_hash_sha256_init(&f->raw_hash);
        crypto_hash_sha256_init(&f->plain_hash);
        while (r == 0 && !f->last_gone && !((f->source < 0 || f->source_end) && f->plain_end && f->plain_len == 0))
                r = step(f, e);
        if (r < 0)
                return r;
        /* The first's reason is the better one: what comes after it saw its stream end. But one that could not go on
         * because the last had ended has none. */
        if (f->last_gone) {
                r = helper_wait(f->last, &ret->report, NULL, e);
                if (r == 0 && f->whole)
                        r = error_set(e, EIO, "a helper of the import ended before its stream did");
                return r;
        }
        r = helper_wait(f->first, &first, NULL, e);
        if (r < 0)
                return r;
        r = helper_wait(f->last, &ret->report, &ret->implied, &why);
        if (r < 0) {
                *e = why;
                return r;
        }
        crypto_hash_sha256_final(&f->raw_hash, sum);
        hex_of(sum, ret->raw_hex);
        crypto_hash_sha256_final(&f->plain_hash, sum);
        hex_of(sum, ret->plain_hex);
        ret->raw_bytes = f->raw;
        ret->plain_bytes = f->plain;
        ret->source = first.counts;
        return 0;
}

static int stream(const struct image_work *w, const struct stream_source *s, enum image_job first, int first_dir, enum image_job last,
                  int last_dir, const struct stream_limits *l, struct stream_result *ret, struct error *e) {
        _cleanup_helper_ struct helper a = HELPER_NONE, b = HELPER_NONE;
        struct stream_result result = {};
        _cleanup_free_ struct flow *f = malloc(sizeof(*f));
        int r;

        if (!f)
                return error_set(e, ENOMEM, "out of memory");
        if ((r = helper_start(w, first, first_dir, NULL, l, &a, e)) < 0 || (r = helper_start(w, last, last_dir, s, l, &b, e)) < 0)
                return r;
        *f = (struct flow){.w = w, .l = l, .first = &a, .last = &b, .source = s->fd, .kept = s->kept, .keep = s->look,
                           .whole = last != JOB_LOOK};
        if (s->kept >= 0 && lseek(s->kept, 0, SEEK_SET) < 0)
                return error_errno(e, errno, "the beginning of the image cannot be read");
        r = run_flow(f, &result, e);
        if (r == 0)
                *ret = result;
        return r;
}

int stream_export(const struct image_work *w, int layer, int to, const struct stream_limits *l, struct stream_result *ret, struct error *e) {
        _cleanup_helper_ struct helper h = HELPER_NONE;
        struct stream_result result = {};
        struct image_report report;
        unsigned char sum[crypto_hash_sha256_BYTES];
        crypto_hash_sha256_state state;
        _cleanup_free_ char *buffer = malloc(BLOCK);
        ssize_t n;
        int r;

        if (!buffer)
                return error_set(e, ENOMEM, "out of memory");
        if ((r = helper_start(w, JOB_EXPORT, layer, NULL, l, &h, e)) < 0)
                return r;
        crypto_hash_sha256_init(&state);
        while ((n = read(h.from, buffer, BLOCK)) != 0) {
                struct pollfd p = {.fd = h.from, .events = POLLIN};
                if (n < 0 && errno == EAGAIN && poll(&p, 1, STALL_MS) == 0)
                        return error_set(e, ETIMEDOUT, "the layer's reader came to a halt for %d seconds", STALL_MS / 1000);
                if (n < 0 && errno != EAGAIN && errno != EINTR)
                        return error_errno(e, errno, "a layer cannot be read");
                if (n < 0)
                        continue;
                crypto_hash_sha256_update(&state, (unsigned char *)buffer, (unsigned long long)n);
                result.plain_bytes += (uint64_t)n;
                if (result.plain_bytes > l->bytes && result.plain_bytes - l->bytes > l->entries * OVERHEAD)
                        return error_set(e, EFBIG, "a layer is larger than is allowed");
                if ((r = fd_write_all(to, buffer, (size_t)n)) < 0)
                        return error_errno(e, r, "a layer cannot be written out");
        }
        if ((r = helper_wait(&h, &report, NULL, e)) < 0)
                return r;
        crypto_hash_sha256_final(&state, sum);
        hex_of(sum, result.plain_hex);
        *ret = result;
        return 0;
}

int stream_file(const struct image_work *w, int fd, enum image_job job, int dir, int empty, const struct stream_limits *l,
                struct stream_result *ret, struct error *e) {
        return stream(w, &(struct stream_source){.fd = fd, .kept = -EBADF}, JOB_DECOMPRESS, empty, job, dir, l, ret, e);
}

int stream_once(const struct image_work *w, const struct stream_source *s, enum image_job job, int dir, int empty,
                const struct stream_limits *l, struct stream_result *ret, struct error *e) {
        return stream(w, s, JOB_DECOMPRESS, empty, job, dir, l, ret, e);
}

int stream_directory(const struct image_work *w, int from, int dir, const struct stream_limits *l, struct stream_result *ret,
                     struct error *e) {
        return stream(w, &(struct stream_source){.fd = -EBADF, .kept = -EBADF}, JOB_PACK, from, JOB_LAYER, dir, l, ret, e);
}
