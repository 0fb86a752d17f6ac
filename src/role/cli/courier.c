/* See courier.h. */
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/courier.h"
#include "sys/process.h"

/* For whatever belljar-call answers at once: it is no person, and a connection that says nothing holds one of few places. */
#define PATIENCE_MS 10000
#define CHUNK 16384u
#define EXIT_REFUSED 255 /* as ssh ends for what is not the remote command's doing */

/* What a call can be of. */
static const struct {
        const char *name;
        call_kind *serve;
        bool set_id; /* what it executes may gain rights by that: newuidmap gives a sub-run on an image the ids of its parent */
} call_kinds[] = {
        {"delegate", call_delegate, true}, {"ssh", call_ssh, false}, {"ssh-keygen", call_keygen, false},
};

int courier_begin(pid_t guard) {
        sigset_t none;

        sigemptyset(&none);
        setsid(); /* the terminal's signals are the guard's */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != guard)
                return -ESRCH;
        for (int sig = 1; sig < 32; sig++)
                (void)signal(sig, SIG_DFL);
        (void)signal(SIGPIPE, SIG_IGN);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        return 0;
}

/* Everything but these and the standard three, which become /dev/null. */
static int keep_only(const int *keep, size_t n) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        unsigned from = 3;

        for (int i = 0; i < 3; i++)
                if (null < 0 || dup2(null, i) < 0)
                        return -errno;
        for (;;) {
                unsigned next = ~0u;
                for (size_t i = 0; i < n; i++)
                        if (keep[i] >= (int)from && (unsigned)keep[i] < next)
                                next = (unsigned)keep[i];
                if (next > from && syscall(SYS_close_range, from, next - 1, 0) < 0)
                        return -errno;
                if (next == ~0u)
                        return 0;
                from = next + 1;
        }
}

static int64_t now_ms(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Frames, one whole one after the other. */

static int send_all(int fd, const char *p, size_t n) {
        while (n > 0) {
                ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
                struct pollfd wait = {.fd = fd, .events = POLLOUT};
                if (k < 0 && errno != EAGAIN && errno != EINTR)
                        return -errno;
                if (k < 0 && poll(&wait, 1, -1) < 0 && errno != EINTR)
                        return -errno;
                p += MAX(k, 0);
                n -= (size_t)MAX(k, 0);
        }
        return 0;
}

void courier_send(struct call *c, enum call_frame type, const void *data, size_t n) {
        const struct call_head h = {.magic = CALL_MAGIC, .type = (uint8_t)type, .size = (uint32_t)n};

        if (n > CALL_PAYLOAD_MAX || send_all(c->conn, (const char *)&h, sizeof(h)) < 0 || send_all(c->conn, data, n) < 0)
                _exit(1);
}

static int receive(int fd, char *p, size_t n) {
        int64_t until = now_ms() + PATIENCE_MS;

        while (n > 0) {
                struct pollfd wait = {.fd = fd, .events = POLLIN};
                ssize_t k = recv(fd, p, n, 0);
                if (k == 0)
                        return -ECONNRESET;
                if (k < 0 && errno != EAGAIN && errno != EINTR)
                        return -errno;
                if (k < 0 && poll(&wait, 1, (int)MAX(until - now_ms(), 0)) == 0)
                        return -ETIMEDOUT;
                p += MAX(k, 0);
                n -= (size_t)MAX(k, 0);
        }
        return 0;
}

/* The next frame whole, payload in a buffer of CALL_PAYLOAD_MAX bytes. */
static int receive_frame(struct call *c, struct call_head *ret, char *payload) {
        int r = receive(c->conn, (char *)ret, sizeof(*ret));

        if (r == 0 && !call_head_good(ret, true))
                r = -EBADMSG;
        return r < 0 ? r : receive(c->conn, payload, ret->size);
}

static int receive_done(const struct call_head *h, const char *payload) {
        int32_t status;

        if (h->type != CALL_DONE || h->size != sizeof(status))
                return -EBADMSG;
        memcpy(&status, payload, sizeof(status));
        return status > 0 || status < -4095 ? -EBADMSG : status;
}

int courier_read_file(struct call *c, const char *path, size_t max, char **ret, size_t *ret_n) {
        _cleanup_free_ char *payload = (char *)malloc(CALL_PAYLOAD_MAX);
        _cleanup_strbuf_ struct strbuf b = {};
        struct call_head h;
        int r;

        if (!payload)
                return -ENOMEM;
        courier_send(c, CALL_READ, path, strlen(path) + 1);
        while ((r = receive_frame(c, &h, payload)) == 0 && h.type == CALL_CONTENT) {
                if (h.size > max - b.len)
                        return -EFBIG;
                strbuf_add(&b, payload, h.size);
        }
        if (r == 0)
                r = receive_done(&h, payload);
        if (r < 0)
                return r;
        *ret_n = b.len;
        *ret = strbuf_take(&b);
        return *ret ? 0 : -ENOMEM;
}

int courier_write_file(struct call *c, const char *path, const void *data, size_t n) {
        _cleanup_free_ char *payload = (char *)malloc(CALL_PAYLOAD_MAX);
        size_t k = strlen(path) + 1;
        struct call_head h;
        int r;

        if (!payload)
                return -ENOMEM;
        if (n > CALL_PAYLOAD_MAX || k > CALL_PAYLOAD_MAX - n)
                return -EFBIG;
        memcpy(payload, path, k);
        memcpy(payload + k, data, n);
        courier_send(c, CALL_WRITE, payload, k + n);
        return (r = receive_frame(c, &h, payload)) < 0 ? r : receive_done(&h, payload);
}

void courier_say(struct call *c, const char *fmt, ...) {
        char text[1024], line[1100];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        int n = snprintf(line, sizeof(line), "belljar: %s\n", text);
        courier_send(c, CALL_ERROR, line, MIN((size_t)n, sizeof(line) - 1));
}

int courier_refuse(struct call *c, struct call_account *account, const char *fix, const char *what, const char *fmt, ...) {
        struct net_report r = {.type = NET_DENIED, .what = NET_CALL};
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(r.why, sizeof(r.why), fmt, ap);
        va_end(ap);
        snprintf(r.host, sizeof(r.host), "%s", what);
        snprintf(r.fix, sizeof(r.fix), "%s", fix);
        if (account)
                __atomic_add_fetch(&account->refused, 1, __ATOMIC_RELAXED);
        (void)!send(c->report, &r, sizeof(r), MSG_DONTWAIT | MSG_NOSIGNAL); /* what finds no room is counted all the same */
        courier_say(c, "refused: %s", r.why);
        return EXIT_REFUSED;
}

/* Programs of the host. */

/* The child's own three in place, and nothing else. */
static int arrange(const int from[3]) {
        int high[3];

        for (int i = 0; i < 3; i++)
                if ((high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 32)) < 0)
                        return -errno;
        if (keep_only((int[]){high[0], high[1], high[2]}, 3) < 0)
                return -errno;
        for (int i = 0; i < 3; i++)
                if (dup2(high[i], i) < 0)
                        return -errno;
        for (int i = 0; i < 3; i++)
                close(high[i]);
        return 0;
}

static pid_t courier_pid; /* of a child's */

static int die_with_courier(void) { return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != courier_pid ? -ESRCH : 0; }

int courier_isolate(int flags) {
        char u[40], g[40];
        int r;

        snprintf(u, sizeof(u), "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
        snprintf(g, sizeof(g), "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
        if (unshare(flags) < 0)
                return -errno;
        /* The change of rights has cleared it. */
        return (r = process_map_ids(0, u, g, 1)) < 0 ? r : die_with_courier();
}

pid_t courier_start(struct call *c, struct courier_child *ret) {
        int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, r = 0;
        pid_t pid = -1;

        (void)c;
        courier_pid = getpid();
        if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, err) < 0 ||
            (pid = fork()) < 0)
                r = -errno;
        if (pid == 0) {
                if (arrange((int[]){in[0], out[1], err[1]}) < 0 || die_with_courier() < 0)
                        _exit(125);
                (void)signal(SIGPIPE, SIG_DFL);
                return 0;
        }
        fd_close(in[0]);
        fd_close(out[1]);
        fd_close(err[1]);
        if (r < 0) {
                fd_close(in[1]);
                fd_close(out[0]);
                fd_close(err[0]);
                return r;
        }
        *ret = (struct courier_child){pid, in[1], out[0], err[0]};
        for (size_t i = 0; i < 3; i++)
                (void)!fcntl((int[]){in[1], out[0], err[0]}[i], F_SETFL, O_RDWR | O_NONBLOCK);
        return pid;
}

int courier_leave_fd(const struct courier_child *child, int fd) { return fd_send(child->err, "", 1, &fd, 1, 0); }

/* Both directions, each with one frame in hand. */
struct carrier {
        struct call *c;
        struct courier_child *child;
        struct call_account *account;
        struct call_head head; /* from inside */
        char payload[CALL_PAYLOAD_MAX];
        size_t done; /* of head and payload; once the frame is whole, of the payload written */
        bool whole;
        struct {
                struct call_head head;
                char payload[CHUNK];
        } down;
        size_t down_done, down_n; /* down_n 0: nothing to be sent */
};

static void count(uint64_t *n, size_t k) {
        if (n)
                __atomic_add_fetch(n, k, __ATOMIC_RELAXED);
}

_noreturn_ static void gone(struct carrier *x) {
        kill(x->child->pid, SIGKILL);
        _exit(1);
}

static void take(struct carrier *x) {
        size_t whole = sizeof(x->head) + (x->done < sizeof(x->head) ? 0 : x->head.size);
        char *at = x->done < sizeof(x->head) ? (char *)&x->head + x->done : x->payload + (x->done - sizeof(x->head));
        ssize_t n = recv(x->c->conn, at, whole - x->done, 0);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0)
                gone(x);
        x->done += (size_t)n;
        if (x->done < sizeof(x->head))
                return;
        if (x->head.type != CALL_INPUT && x->head.type != CALL_INPUT_END)
                gone(x);
        if (!call_head_good(&x->head, true))
                gone(x);
        if (x->done < sizeof(x->head) + x->head.size)
                return;
        x->done = 0;
        x->whole = x->head.type == CALL_INPUT && x->child->in >= 0 && x->head.size > 0; /* else nobody wants it any more */
        if (x->head.type == CALL_INPUT_END)
                fd_close(TAKE_FD(x->child->in));
}

static void feed(struct carrier *x) {
        ssize_t n = write(x->child->in, x->payload + x->done, x->head.size - x->done);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n < 0) {
                fd_close(TAKE_FD(x->child->in));
                x->whole = false;
                x->done = 0;
                return;
        }
        count(x->account ? &x->account->up : NULL, (size_t)n);
        x->done += (size_t)n;
        if (x->done == x->head.size) {
                x->whole = false;
                x->done = 0;
        }
}

static void fetch(struct carrier *x, int *fd, enum call_frame type) {
        ssize_t n = read(*fd, x->down.payload, sizeof(x->down.payload));

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                fd_close(TAKE_FD(*fd));
                return;
        }
        count(x->account ? &x->account->down : NULL, (size_t)n);
        x->down.head = (struct call_head){.magic = CALL_MAGIC, .type = (uint8_t)type, .size = (uint32_t)n};
        x->down_n = sizeof(x->down.head) + (size_t)n;
        x->down_done = 0;
}

static void push(struct carrier *x) {
        ssize_t n = send(x->c->conn, (const char *)&x->down + x->down_done, x->down_n - x->down_done, MSG_NOSIGNAL);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n < 0)
                gone(x);
        x->down_done += (size_t)n;
        if (x->down_done == x->down_n)
                x->down_n = 0;
}

static int status_of(pid_t pid) {
        int status;

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return EXIT_REFUSED;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int courier_relay(struct call *c, struct courier_child *child, bool want_input, struct call_account *account) {
        static struct carrier x;
        _cleanup_fd_ int pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
        bool ended = false;

        x = (struct carrier){.c = c, .child = child, .account = account};
        if (pidfd < 0)
                gone(&x);
        if (want_input)
                courier_send(c, CALL_WANT_INPUT, NULL, 0);
        else
                fd_close(TAKE_FD(child->in));
        /* What it has left is read; what its own children still hold open is not waited for. */
        while (x.down_n > 0 || !ended) {
                struct pollfd p[5] = {
                        {.fd = c->conn, .events = (short)((x.whole ? 0 : POLLIN) | (x.down_n > 0 ? POLLOUT : 0))},
                        {.fd = x.whole ? child->in : -1, .events = POLLOUT},
                        {.fd = x.down_n > 0 ? -1 : child->out, .events = POLLIN},
                        {.fd = x.down_n > 0 ? -1 : child->err, .events = POLLIN},
                        {.fd = x.down_n > 0 ? -1 : pidfd, .events = POLLIN},
                };
                if (poll(p, ELEMENTSOF(p), -1) < 0 && errno != EINTR)
                        gone(&x);
                if (p[0].revents & (POLLHUP | POLLERR) && !(p[0].revents & POLLIN && !x.whole))
                        gone(&x);
                if (x.down_n > 0 && p[0].revents & POLLOUT)
                        push(&x);
                if (!x.whole && p[0].revents & POLLIN)
                        take(&x);
                else if (x.whole && p[1].revents)
                        feed(&x);
                if (x.down_n == 0 && p[2].revents)
                        fetch(&x, &child->out, CALL_OUTPUT);
                else if (x.down_n == 0 && p[3].revents)
                        fetch(&x, &child->err, CALL_ERROR);
                else if (x.down_n == 0 && p[4].revents && !p[2].revents && !p[3].revents)
                        ended = true;
        }
        return status_of(child->pid);
}

int courier_collect(struct courier_child *child, const void *input, size_t n, size_t max, char **ret, size_t *ret_n) {
        _cleanup_strbuf_ struct strbuf b = {};
        char buf[4096];
        size_t done = 0;

        while (child->out >= 0) {
                struct pollfd p[3] = {{.fd = child->in, .events = POLLOUT}, {.fd = child->out, .events = POLLIN}, {.fd = child->err, .events = POLLIN}};
                if (done == n)
                        fd_close(TAKE_FD(child->in));
                p[0].fd = child->in;
                if (poll(p, ELEMENTSOF(p), -1) < 0 && errno != EINTR)
                        return -errno;
                if (p[2].revents && read(child->err, buf, sizeof(buf)) <= 0) /* what it has to say besides is nobody's */
                        fd_close(TAKE_FD(child->err));
                ssize_t k = child->in >= 0 && p[0].revents ? write(child->in, (const char *)input + done, n - done) : 0;
                if (k < 0 && errno != EAGAIN && errno != EINTR)
                        fd_close(TAKE_FD(child->in));
                done += (size_t)MAX(k, 0);
                if (!p[1].revents)
                        continue;
                if ((k = read(child->out, buf, sizeof(buf))) == 0 || (k < 0 && errno != EAGAIN && errno != EINTR))
                        fd_close(TAKE_FD(child->out));
                if ((size_t)MAX(k, 0) > max - b.len) {
                        kill(child->pid, SIGKILL);
                        (void)status_of(child->pid);
                        return -EFBIG;
                }
                strbuf_add(&b, buf, (size_t)MAX(k, 0));
        }
        int status = status_of(child->pid);
        *ret_n = b.len;
        *ret = strbuf_take(&b);
        return *ret ? status : -ENOMEM;
}

void courier_main(struct call *c) {
        struct call_head h;
        int32_t status = EXIT_REFUSED;

        /* Before anything of the sandbox's is read, where no call of this run needs it otherwise. */
        if (!strlist_has(&c->plan->calls, "delegate") && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                _exit(1);
        if (keep_only((int[]){c->conn, c->report, c->userns, c->netns}, 4) < 0 || receive_frame(c, &h, c->begin) < 0 || h.type != CALL_BEGIN)
                _exit(1);
        if (call_words_read(c->begin, h.size, &c->words) < 0)
                _exit(1);
        size_t kind = 0;
        while (kind < ELEMENTSOF(call_kinds) && !streq(call_kinds[kind].name, c->words.name))
                kind++;
        /* Whoever speaks to the socket can name what this run cannot call. */
        if (kind == ELEMENTSOF(call_kinds) || !strlist_has(&c->plan->calls, c->words.name))
                courier_refuse(c, NULL, "", c->words.name, "this run cannot call %s", c->words.name);
        else if (call_kinds[kind].set_id || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
                status = call_kinds[kind].serve(c);
        courier_send(c, CALL_EXIT, &status, sizeof(status));
        _exit(0);
}
