/* See provider.h. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/secret.h"
#include "model/token.h"
#include "svc/net-start.h"
#include "svc/provider.h"
#include "sys/process.h"

/* The kind, and then each text with its NUL. */
static int job_pipe(const struct provider_job *job, struct error *e) {
        _cleanup_vault_ struct vault_text block = {};
        size_t n = 0;
        int pair[2], r = vault_alloc(PROVIDER_JOB_BYTES, &block, e);

        if (r < 0)
                return r;
        block.p[n++] = (char)job->kind;
        for (size_t i = 0; i < PROVIDER_TEXTS; i++) {
                const char *text = job->text[i] ? job->text[i] : "";
                size_t k = strlen(text) + 1;
                if (k > block.cap - n)
                        return error_set(e, E2BIG, "what a token is asked with is too long");
                memcpy(block.p + n, text, k);
                n += k;
        }
        if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
                return error_errno(e, errno, "a pipe cannot be made");
        ssize_t k = write(pair[1], block.p, n);
        close(pair[1]);
        if (k == (ssize_t)n)
                return pair[0];
        close(pair[0]);
        return error_set(e, E2BIG, "what a token is asked with is too long");
}

int provider_job_read(int fd, struct vault_text *memory, struct provider_job *ret, struct error *e) {
        struct provider_job job = {};
        int r = vault_read(fd, -1, PROVIDER_JOB_BYTES, -1, memory, e);

        if (r < 0)
                return r;
        const char *p = memory->p, *end = memory->p + memory->n;
        job.kind = p < end ? (enum provider_kind)*p++ : PROVIDER_KINDS;
        for (size_t i = 0; i < PROVIDER_TEXTS; i++) {
                const char *nul = p < end ? (const char *)memchr(p, 0, (size_t)(end - p)) : NULL;
                if (!nul)
                        return error_set(e, EBADMSG, "the job cannot be read");
                job.text[i] = p;
                p = nul + 1;
        }
        if (p != end || (unsigned)job.kind >= PROVIDER_KINDS)
                return error_set(e, EBADMSG, "the job cannot be read");
        *ret = job;
        return 0;
}

/* A vault's text ends where its pages do. */
#define ALIGN 16u

int provider_reply_alloc(struct vault_text *memory, struct error *e) { return vault_alloc(sizeof(struct provider_reply) + ALIGN, memory, e); }

struct provider_reply *provider_reply_in(const struct vault_text *memory) {
        return (struct provider_reply *)(void *)(memory->p + (ALIGN - (uintptr_t)memory->p % ALIGN) % ALIGN);
}

int provider_start(const struct provider_job *job, const struct plan *plan, struct provider *ret, struct error *e) {
        struct provider p = PROVIDER_NONE;
        int pair[2], r = provider_reply_alloc(&p.reply, e);

        if (r < 0)
                return r;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
                r = error_errno(e, errno, "the provider's channel cannot be made");
                vault_free(&p.reply);
                return r;
        }
        int pipe = job_pipe(job, e);
        r = pipe < 0 ? pipe : net_start_provider(plan, (const int[]){pair[1], pipe}, 2, &p.pid, &p.pidfd, e);
        fd_close(pipe);
        close(pair[1]);
        p.fd = pair[0];
        if (r < 0) {
                close(pair[0]);
                vault_free(&p.reply);
                return r;
        }
        *ret = p;
        return 0;
}

int provider_send(struct provider *p, enum provider_order order) {
        const uint32_t o = order;

        p->order = order;
        return p->fd < 0 ? -ECONNRESET : send(p->fd, &o, sizeof(o), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(o) ? 0 : -errno;
}

/* What it says ends where its array ends, and has nothing that a terminal would obey. */
static void make_text(char *s, size_t size) {
        s[size - 1] = 0;
        for (; *s; s++)
                if (*s < ' ' || *s > '~')
                        *s = '?';
}

static bool is_value(const char *s, size_t size) {
        size_t n = strnlen(s, size);

        for (size_t i = 0; i < n; i++)
                if (s[i] <= ' ' || s[i] > '~')
                        return false;
        return n == 0 || (n >= SECRET_VALUE_MIN && n < size);
}

int provider_reply_check(struct provider_reply *a, size_t n, enum provider_order order) {
        if (n != sizeof(*a) || a->order != (uint32_t)order || a->errnum < 0 || a->seconds < 0 || a->seconds > TOKEN_SECONDS_MAX)
                return -EBADMSG;
        make_text(a->host, sizeof(a->host));
        make_text(a->why, sizeof(a->why));
        return is_value(a->value, sizeof(a->value)) && is_value(a->next, sizeof(a->next)) ? 0 : -EBADMSG;
}

int provider_receive(struct provider *p, int timeout_ms, const struct provider_reply **ret) {
        struct pollfd w = {p->fd, POLLIN, 0};
        struct provider_reply *a = provider_reply_in(&p->reply);
        int r;

        if (p->fd < 0)
                return -ECONNRESET;
        while ((r = poll(&w, 1, timeout_ms)) < 0 && errno == EINTR)
                ;
        if (r <= 0)
                return r < 0 ? -errno : timeout_ms == 0 ? -EAGAIN : -ETIMEDOUT;
        ssize_t n = recv(p->fd, a, sizeof(*a), MSG_DONTWAIT | MSG_TRUNC);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return -EAGAIN;
        if (n <= 0)
                return -ECONNRESET;
        if ((r = provider_reply_check(a, (size_t)n, p->order)) == 0)
                *ret = a;
        return r;
}

const char *provider_why(int r) {
        return r == -ETIMEDOUT ? "no answer came in time" : r == -EBADMSG ? "the process that asks (belljar-provider) says what it never says"
                                                                        : "the process that asks (belljar-provider) has ended";
}

int provider_ask(struct provider *p, enum provider_order order, int timeout_ms, const struct provider_reply **ret, struct error *e) {
        int r = provider_send(p, order);

        if (r == 0)
                r = provider_receive(p, timeout_ms, ret);
        if (r < 0)
                return error_set(e, -r, "%s", provider_why(r));
        return (*ret)->errnum == 0 ? 0 : error_set(e, (*ret)->errnum, "%s", (*ret)->why);
}

void provider_forget(struct provider *p) {
        fd_close(p->fd);
        fd_close(p->pidfd);
        *p = PROVIDER_NONE;
}

void provider_end(struct provider *p) {
        if (p->pid > 0) {
                (void)!process_signal(p->pidfd, SIGKILL);
                while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        vault_free(&p->reply);
        provider_forget(p);
}
