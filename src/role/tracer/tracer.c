/* The tracer of one sandbox: tells its supervisor what the sandbox executes, and what comes of it. Every execve(2) of the sandbox
 * waits, by the filter that init has loaded, until it is answered here; a tracer that is not there any more is ENOSYS for all of
 * them. It never says no, and changes nothing: the answer is always "go on".
 *
 * Two looks at each exec. Before it the path, the arguments and the working directory are read from the memory of who asks, who
 * can change them afterwards: a claim. After it the file that runs is what the kernel has in /proc/PID/exe: a fact. The same
 * filter reports set_tid_address(2), which C libraries call once at the start of every program, so that the second look comes
 * while the new program stands still. Programs that do not call it are looked at by the clock, or when they execute the next.
 *
 * Forked from the supervisor and locked in at once: in the sandbox's outer user namespace, of whose capabilities it keeps
 * CAP_SYS_PTRACE, which is over the sandbox and nothing else; its root is /proc; the rest is src/seccomp/tracer.list. */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "generated/seccomp-tracer.h"
#include "role/tracer/tracer.h"
#include "svc/entry.h"
#include "sys/process.h"
#include "sys/seccomp.h"

enum { LISTENER_FD = 3, SOCKET_FD = 4, EPOLL_FD = 6, DESCRIPTORS_KEPT = 16 };
enum { PENDING_MAX = 128, BUCKETS = 1024, EVENTS = 64 };
#define LAST_EXITS_MS 50

/* Since Linux 6.6 (linux/seccomp.h). */
#define NOTIFY_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#define NOTIFY_SYNC 1u

/* Since Linux 6.13; the status since 6.15 (linux/pidfd.h). */
struct pidfd_info_ {
        uint64_t mask, cgroup;
        uint32_t ids[11];
        int32_t status;
};
#define PIDFD_GET_INFO_ _IOWR(0xff, 11, struct pidfd_info_)
#define PIDFD_INFO_EXIT_ 8u

/* An exec that was let go, and has not been seen to be done yet. */
struct pending {
        bool used, ready; /* ready: to be told */
        struct running before;
        uint64_t due; /* ms: when to look */
        unsigned looks;
        struct trace_msg msg;
};

/* A process that has executed something. */
struct traced {
        pid_t pid;
        int pidfd;
        struct traced *next;
};

static struct pending pending[PENDING_MAX];
static struct traced *traced[BUCKETS];
static unsigned n_traced, traced_max, n_pending;
static uint64_t lost;
static bool any;

static uint64_t now_ms(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Waits where the supervisor is behind: what is to be executed waits along. */
static void tell(const struct trace_msg *m) {
        while (send(SOCKET_FD, m, sizeof(*m), MSG_NOSIGNAL) < 0)
                if (errno != EINTR)
                        _exit(1); /* no supervisor, no run */
}

_noreturn_ static void fail(int err, const char *what) {
        struct trace_msg m = {.type = TRACE_FAILED, .errnum = err < 0 ? -err : err};

        strncpy(m.path, what, sizeof(m.path) - 1);
        tell(&m);
        _exit(1);
}

static struct traced **find(pid_t pid) {
        struct traced **at = &traced[(unsigned)pid % BUCKETS];

        while (*at && (*at)->pid != pid)
                at = &(*at)->next;
        return at;
}

static void forget(struct traced **at) {
        struct traced *t = *at;

        *at = t->next;
        close(t->pidfd);
        free(t);
        n_traced--;
}

/* Executions of a process whose end is told later are told before it. */
static void flush(pid_t pid);

/* Its end: with its status where the kernel keeps that, which is once it is reaped. False: not yet. */
static bool ended(struct traced **at, bool last) {
        struct trace_msg m = {.type = TRACE_EXIT, .pid = (*at)->pid};
        struct pidfd_info_ info = {.mask = PIDFD_INFO_EXIT_};
        struct pollfd p = {.fd = (*at)->pidfd, .events = POLLIN};

        if (poll(&p, 1, 0) != 1 && !last)
                return false;
        bool told = ioctl((*at)->pidfd, PIDFD_GET_INFO_, &info) == 0;
        if (told && info.mask & PIDFD_INFO_EXIT_) {
                m.status = info.status;
                m.known = 1;
        } else if (told && !(p.revents & POLLHUP) && !last)
                return false;
        flush(m.pid);
        forget(at);
        tell(&m);
        return true;
}

/* From here on its end is waited for. Takes the pidfd, or -1. */
static void follow(pid_t pid, int pidfd) {
        struct traced **at = find(pid);

        if (*at) {
                struct pollfd p = {.fd = (*at)->pidfd, .events = POLLIN};
                if (poll(&p, 1, 0) == 0) {
                        fd_close(pidfd);
                        return;
                }
                (void)ended(at, true); /* of a former process with this number */
        }
        if (n_traced >= traced_max)
                fd_close(TAKE_FD(pidfd));
        struct traced *t = pidfd < 0 ? NULL : (struct traced *)malloc(sizeof(*t));
        struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.u64 = (uint64_t)pid};
        if (!t || epoll_ctl(EPOLL_FD, EPOLL_CTL_ADD, pidfd, &ev) < 0) {
                fd_close(pidfd);
                free(t);
                lost++;
                return;
        }
        at = find(pid);
        *t = (struct traced){pid, pidfd, *at};
        *at = t;
        n_traced++;
}

static void send_ready(void) {
        for (unsigned i = 0; n_pending > 0 && i < PENDING_MAX; i++)
                if (pending[i].used && pending[i].ready) {
                        pending[i].used = false;
                        n_pending--;
                        tell(&pending[i].msg);
                }
}

/* Looks whether it has come to be. To be told, then; or when there is no more time. */
static void look(struct pending *p, bool last) {
        struct running now;

        if (p->ready)
                return;
        if (look_running(p->msg.pid, &now, NULL) == 0 && now.ino && running_differs(&now, &p->before))
                look_executed(p->msg.pid, &p->msg);
        p->ready = p->msg.known || last;
}

static struct pending *pending_of(pid_t pid) {
        for (unsigned i = 0; n_pending > 0 && i < PENDING_MAX; i++)
                if (pending[i].used && !pending[i].ready && pending[i].msg.pid == pid)
                        return &pending[i];
        return NULL;
}

static void flush(pid_t pid) {
        struct pending *p = pending_of(pid);

        if (p)
                p->ready = true; /* it has ended, or what has its number is another */
        send_ready();
}

static struct pending *new_pending(void) {
        struct pending *oldest = &pending[0];

        for (unsigned i = 0; i < PENDING_MAX; i++) {
                if (!pending[i].used)
                        return &pending[i];
                if (pending[i].due < oldest->due)
                        oldest = &pending[i];
        }
        look(oldest, true);
        send_ready();
        return oldest;
}

static void go_on(uint64_t id) {
        struct seccomp_notif_resp answer = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        (void)!ioctl(LISTENER_FD, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* ENOENT: it was killed meanwhile */
}

/* Its process asks for another. What has not come to be, with the same arguments, was a step of a search along PATH. */
static void supersede(struct pending *former, struct trace_msg *next) {
        const struct trace_msg *m = &former->msg;

        look(former, true);
        if (m->known || m->n_argv != next->n_argv || m->cut & EVENT_F_ARGV || memcmp(m->argv, next->argv, sizeof(m->argv)) != 0)
                return;
        next->tried = m->tried + 1;
        former->used = false;
        n_pending--;
}

static void on_exec(const struct seccomp_notif *n) {
        struct pending *p = new_pending(), *former;
        struct trace_msg *m = &p->msg;
        int r;

        memset(m, 0, sizeof(*m));
        m->type = TRACE_EXEC;
        r = claim_read(n, m);
        if (r < 0 && !any)
                fail(r, "the memory of what is to be traced cannot be read");
        /* There is one of a process, by the number of its first thread. */
        m->pid = (pid_t)n->pid;
        int pidfd = (int)syscall(SYS_pidfd_open, m->pid, 0);
        if (pidfd < 0 && (m->pid = look_process(m->pid)) != (pid_t)n->pid)
                pidfd = (int)syscall(SYS_pidfd_open, m->pid, 0);
        r = look_running((pid_t)n->pid, &p->before, &m->parent);
        /* What was read is of the one that waits, and not of a later one with its number. */
        if (r < 0 || ioctl(LISTENER_FD, SECCOMP_IOCTL_NOTIF_ID_VALID, &n->id) < 0) {
                fd_close(pidfd);
                return;
        }
        any = true;
        former = pending_of(m->pid);
        if (former)
                supersede(former, m);
        follow(m->pid, pidfd);
        p->used = true;
        p->ready = false;
        p->looks = 0;
        p->due = now_ms() + 1;
        n_pending++;
        go_on(n->id);
}

static void on_notification(void) {
        struct seccomp_notif n = {};

        if (ioctl(LISTENER_FD, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
                return; /* it was killed meanwhile */
        if (n.data.nr == SYS_set_tid_address) {
                struct pending *p = pending_of((pid_t)n.pid);
                if (p)
                        look(p, false);
                go_on(n.id);
        } else
                on_exec(&n);
        send_ready(); /* not while anything waits for an answer: the supervisor may be waiting for it to stand still */
}

/* ms until the next look; -1: none is due. */
static int next_look(void) {
        uint64_t at = UINT64_MAX, now = n_pending ? now_ms() : 0;

        for (unsigned i = 0; n_pending > 0 && i < PENDING_MAX; i++)
                if (pending[i].used)
                        at = MIN(at, pending[i].due);
        return at == UINT64_MAX ? -1 : at <= now ? 0 : (int)(at - now);
}

static void look_by_the_clock(void) {
        static const unsigned after[] = {4, 16, 64, 256};
        uint64_t now = n_pending ? now_ms() : 0;

        for (unsigned i = 0; n_pending > 0 && i < PENDING_MAX; i++)
                if (pending[i].used && pending[i].due <= now) {
                        look(&pending[i], pending[i].looks == ELEMENTSOF(after));
                        if (!pending[i].ready)
                                pending[i].due = now + after[pending[i].looks++];
                }
        send_ready();
}

/* Nothing runs any more under the filter: what is not told yet. */
_noreturn_ static void finish(void) {
        struct trace_msg m = {.type = TRACE_DONE};
        const uint64_t until = now_ms() + LAST_EXITS_MS;
        struct epoll_event ev[EVENTS];

        for (unsigned i = 0; i < PENDING_MAX; i++)
                if (pending[i].used)
                        pending[i].ready = true;
        send_ready();
        for (unsigned b = 0; b < BUCKETS; b++)
                for (struct traced **at = &traced[b]; *at;)
                        if (!ended(at, now_ms() >= until))
                                (void)!epoll_wait(EPOLL_FD, ev, EVENTS, 5);
        m.lost = lost;
        tell(&m);
        _exit(0);
}

_noreturn_ static void loop(void) {
        for (;;) {
                struct pollfd p[] = {{.fd = LISTENER_FD, .events = POLLIN}, {.fd = EPOLL_FD, .events = POLLIN}, {.fd = SOCKET_FD, .events = POLLRDHUP}};
                struct epoll_event ev[EVENTS];

                if (poll(p, ELEMENTSOF(p), next_look()) < 0) {
                        if (errno != EINTR)
                                fail(errno, "the tracer cannot wait");
                        continue;
                }
                if (p[2].revents)
                        _exit(1); /* the supervisor is gone */
                if (p[0].revents & POLLIN) /* first: a process waits */
                        on_notification();
                int n = p[1].revents ? epoll_wait(EPOLL_FD, ev, EVENTS, 0) : 0;
                for (int i = 0; i < n; i++) {
                        struct traced **at = find((pid_t)ev[i].data.u64);
                        if (*at)
                                (void)ended(at, false);
                }
                look_by_the_clock();
                if (p[0].revents & POLLHUP && !(p[0].revents & POLLIN))
                        finish();
        }
}

/* Descriptors where they belong, and no others: the supervisor's are not for it. */
static int arrange(const struct tracing *t) {
        const int keep[] = {t->listener, t->socket, open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), epoll_create1(EPOLL_CLOEXEC)};
        int high[ELEMENTSOF(keep)], userns = fcntl(t->userns, F_DUPFD_CLOEXEC, 64);

        for (size_t i = 0; i < ELEMENTSOF(keep); i++)
                if (keep[i] < 0 || (high[i] = fcntl(keep[i], F_DUPFD_CLOEXEC, 64)) < 0)
                        return -errno;
        for (size_t i = 0; i < ELEMENTSOF(keep); i++)
                if (dup2(high[i], LISTENER_FD + (int)i) < 0)
                        return -errno;
        int r = userns < 0 || setns(userns, CLONE_NEWUSER) < 0 ? -errno : 0;
        if (syscall(SYS_close_range, LISTENER_FD + ELEMENTSOF(keep), ~0u, 0) < 0)
                return -errno;
        return r;
}

static int take_ids(const struct tracing *t) {
        const uid_t id = t->id;

        if (t->single)
                return 0;
        if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
                return -errno;
        return 0;
}

static int limits(void) {
        const struct rlimit none = {0, 0};
        struct rlimit files;

        if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_FSIZE, &none) < 0 || getrlimit(RLIMIT_NOFILE, &files) < 0)
                return -errno;
        files.rlim_cur = files.rlim_max;
        traced_max = (unsigned)MIN(files.rlim_max, 65536u) - DESCRIPTORS_KEPT;
        return setrlimit(RLIMIT_NOFILE, &files) < 0 ? -errno : 0;
}

static int lock_in(const struct tracing *t) {
        int r = arrange(t);

        if (r < 0)
                return r;
        /* It runs where who waits for it ran: half of the wait is else for another processor to wake up. */
        uint64_t flags = NOTIFY_SYNC;
        (void)!ioctl(LISTENER_FD, NOTIFY_SET_FLAGS, flags);
        if (prctl(PR_SET_NAME, "belljar-tracer") < 0 || fchdir(TRACER_PROC_FD) < 0 || chroot(".") < 0)
                return -errno;
        if ((r = take_ids(t)) < 0 || (r = limits()) < 0 || (r = process_drop_caps(1ull << CAP_SYS_PTRACE)) < 0)
                return r;
        /* After the last change of ids, which clears the one and sets the other. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        return seccomp_load(seccomp_tracer, ELEMENTSOF(seccomp_tracer));
}

void tracer_main(const struct tracing *t) {
        int r = lock_in(t);

        if (r < 0)
                fail(r, "the tracer cannot lock itself in");
        loop();
}
