/* Process starts as the supervisor hears of them: it starts the tracer with the listener that init hands over, keeps nothing of that
 * itself, and takes the tracer's word for events. While the tracer lives, nothing is executed without it; when it ends before
 * its time, the kernel refuses every further exec, and the run is ended here. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "proto/trace-msg.h"
#include "role/supervisor/supervisor.h"
#include "sys/process.h"

/* Messages in a turn of the loop: what else is to be done does not wait for a flood. */
#define TURN_MAX 64u
#define LAST_WORDS_MS 1000

static void failed(struct supervisor *x, int err, const char *what) {
        struct error e = {};

        if (x->ended)
                return;
        if (err)
                error_errno(&e, err, "%s", what);
        else
                error_set(&e, EPIPE, "%s", what);
        events_simple(x, EVENT_FAILURE, "trace", what);
        supervisor_fail(x, &e);
}

/* The first process of the sandbox can still be looked at: the supervisor has not locked itself in. */
static int start(struct supervisor *x, int listener) {
        const struct plan_ids *ids = &x->plan->ids;
        char path[48];
        int pair[2];

        snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)x->init_pid);
        _cleanup_fd_ int userns = open(path, O_RDONLY | O_CLOEXEC);
        if (userns < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        pid_t pid = process_clone(0, -1, &x->tracer.pidfd);
        if (pid == 0) {
                const struct tracing t = {.listener = listener, .socket = pair[1], .userns = userns, .id = ids->init_uid, .single = ids->single};
                tracer_main(&t);
        }
        close(pair[1]);
        if (pid < 0) {
                close(pair[0]);
                return (int)pid;
        }
        x->tracer.fd = pair[0];
        return 0;
}

void tracing_begin(struct supervisor *x, const int *fds, size_t n) {
        int r = n == 1 && x->plan->trace && x->tracer.fd < 0 ? start(x, fds[0]) : -EBADMSG;

        for (size_t i = 0; i < n; i++)
                close(fds[i]); /* the tracer's alone: it is there as long as the tracer */
        if (r < 0)
                failed(x, r, "the tracer cannot be started");
}

bool tracing_ready(struct supervisor *x) {
        if (x->plan->trace == TRACE_OFF || x->tracer.fd >= 0)
                return true;
        failed(x, 0, "what runs would not be traced");
        return false;
}

static void over(struct supervisor *x) {
        fd_close(TAKE_FD(x->tracer.fd));
        if (!x->tracer.done)
                failed(x, 0, "the tracer has ended: what is executed cannot be recorded");
}

/* One message; false: there is none now. */
static bool take(struct supervisor *x) {
        static struct trace_msg raw, m;
        static struct event ev;
        ssize_t n = recv(x->tracer.fd, &raw, sizeof(raw), MSG_DONTWAIT | MSG_TRUNC);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return false;
        if (n <= 0 || trace_msg_read(&raw, (size_t)n, &m) < 0) {
                over(x);
                return false;
        }
        switch (m.type) {
        case TRACE_FAILED:
                failed(x, m.errnum, m.path);
                break;
        case TRACE_DONE:
                x->tracer.done = true;
                trail_count_lost(&x->record.trail, m.lost);
                break;
        default:
                trace_msg_event(&m, &ev);
                supervisor_event(x, &ev);
        }
        return true;
}

void tracing_events(struct supervisor *x) {
        for (unsigned i = 0; i < TURN_MAX && take(x); i++)
                ;
}

void tracing_end(struct supervisor *x) {
        struct tracer_side *t = &x->tracer;
        const uint64_t until = supervisor_now() + LAST_WORDS_MS;
        struct pollfd p = {.fd = t->fd, .events = POLLIN};
        siginfo_t si;

        for (uint64_t now; t->fd >= 0 && (now = supervisor_now()) < until && poll(&p, 1, (int)(until - now)) > 0;)
                tracing_events(x);
        if (t->pidfd >= 0) {
                (void)!process_signal(t->pidfd, SIGKILL);
                while (waitid(P_PIDFD, (id_t)t->pidfd, &si, WEXITED) < 0 && errno == EINTR)
                        ;
        }
        fd_close(t->pidfd);
        fd_close(t->fd);
        *t = TRACER_NONE;
}
