/* The guard's side of calls, see call.h. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/courier.h"

void calls_take(struct calls *c, const struct plan *plan, struct net_log *log, const int *fds, size_t n) {
        if (c->listener >= 0 || (n != 1 && n != 3)) {
                for (size_t i = 0; i < n; i++)
                        close(fds[i]);
                return;
        }
        c->plan = plan;
        c->log = log;
        c->listener = fds[0];
        c->userns = n == 3 ? fds[1] : -1;
        c->netns = n == 3 ? fds[2] : -1;
        (void)!fcntl(c->listener, F_SETFL, O_RDWR | O_NONBLOCK);
        struct calls_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        /* Without them nothing can be counted or reported, so that nothing is served: whoever calls waits, and is reset at the end. */
        if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, c->report) < 0) {
                net_log_failed(log, errno, "the endpoint of calls cannot be served");
                fd_close(TAKE_FD(c->listener));
                return;
        }
        shared->revoked = c->revoked;
        c->shared = shared;
        log->plan = plan;
        log->calls = shared;
        log->dirty = true;
}

void calls_poll(const struct calls *c, struct pollfd p[CALLS_POLL]) {
        p[0] = (struct pollfd){.fd = c->n < CALLS_MAX ? c->listener : -1, .events = POLLIN};
        p[1] = (struct pollfd){.fd = c->report[0], .events = POLLIN};
}

static void start(struct calls *c, int conn) {
        /* Not on the stack, which a courier shares with the guard's own calls: it is large, and of use to the child only. */
        static struct call call;
        pid_t guard = getpid();
        unsigned slot = 0;

        while (c->couriers[slot] > 0) /* one is free, or nothing would have been accepted */
                slot++;
        c->shared->serving[slot] = 0;
        pid_t pid = fork();
        if (pid == 0) {
                if (courier_begin(guard) < 0)
                        _exit(125);
                call = (struct call){.plan = c->plan, .conn = conn, .report = c->report[1], .userns = c->userns, .netns = c->netns, .shared = c->shared, .accounts = c->shared->account, .slot = slot};
                courier_main(&call);
        }
        if (pid > 0) {
                c->couriers[slot] = pid;
                c->n++;
        } else
                net_log_failed(c->log, errno, "a call cannot be served");
}

/* One message a turn: a courier that is taken over keeps the guard no busier than the sandbox's output does. */
static void take_report(struct calls *c) {
        struct net_report r;
        ssize_t n = recv(c->report[0], &r, sizeof(r), MSG_DONTWAIT | MSG_TRUNC);

        if (n != sizeof(r))
                return;
        r.type = NET_DENIED;
        r.what = NET_CALL;
        r.rule = UINT32_MAX;
        r.reason = r.quiet = r.port = 0;
        r.host[sizeof(r.host) - 1] = r.text[0] = r.why[sizeof(r.why) - 1] = r.fix[sizeof(r.fix) - 1] = 0;
        net_log_report(c->log, &r);
}

void calls_events(struct calls *c, const struct pollfd p[CALLS_POLL]) {
        if (p[1].revents)
                take_report(c);
        if (!p[0].revents)
                return;
        _cleanup_fd_ int conn = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (conn >= 0)
                start(c, conn);
        else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED && errno != EMFILE && errno != ENFILE && errno != ENOMEM)
                fd_close(TAKE_FD(c->listener));
}

void calls_reap(struct calls *c) {
        for (size_t i = 0; i < CALLS_MAX; i++)
                if (c->couriers[i] > 0 && waitpid(c->couriers[i], NULL, WNOHANG) == c->couriers[i]) {
                        c->couriers[i] = 0;
                        c->n--;
                        c->log->dirty = true; /* what it came to is counted by now */
                }
}

void calls_revoke(struct calls *c, uint32_t which) {
        c->revoked |= which;
        if (!c->shared)
                return;
        /* Said before it is looked who is at it; a courier says first and looks then (begin of call-git.c): one of both is seen. */
        __atomic_or_fetch(&c->shared->revoked, which, __ATOMIC_SEQ_CST);
        for (size_t i = 0; i < CALLS_MAX; i++)
                if (c->couriers[i] > 0 && __atomic_load_n(&c->shared->serving[i], __ATOMIC_SEQ_CST) & which)
                        kill(c->couriers[i], SIGKILL); /* and with it what it has started */
        c->log->dirty = true;
}

void calls_end(struct calls *c) {
        for (size_t i = 0; i < CALLS_MAX; i++)
                if (c->couriers[i] > 0)
                        kill(c->couriers[i], SIGKILL);
        for (size_t i = 0; i < CALLS_MAX; i++) {
                while (c->couriers[i] > 0 && waitpid(c->couriers[i], NULL, 0) < 0 && errno == EINTR)
                        ;
                c->couriers[i] = 0;
        }
        c->n = 0;
        for (unsigned i = 0; c->report[0] >= 0 && i < NET_LOG_ENTRIES; i++)
                take_report(c);
        fd_close(TAKE_FD(c->listener));
        fd_close(TAKE_FD(c->userns));
        fd_close(TAKE_FD(c->netns));
        for (size_t i = 0; i < ELEMENTSOF(c->report); i++)
                fd_close(TAKE_FD(c->report[i]));
}
