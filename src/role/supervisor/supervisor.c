/* The supervisor of one sandbox: forked from the command line, not executed, so that it stays small. Starts the
 * launcher, keeps the deadlines, stops what must not go on, and writes down what came of it. It parses nothing that the
 * sandbox wrote beyond fixed-size messages.
 *
 * When the command line goes away, its socket ends and the run with it; when the supervisor dies, the kernel kills
 * init (PDEATHSIG), and with init everything in its pid namespace. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/control.h"
#include "proto/control-msg.h"
#include "role/supervisor/confine.h"
#include "role/supervisor/supervisor.h"
#include "svc/entry.h"
#include "svc/ids.h"
#include "svc/state.h"
#include "sys/cgroup.h"
#include "sys/mount.h"
#include "sys/process.h"

/* A run that is over sooner leaves its plan and its end only. */
#define RECORD_AFTER_MS 50u
#define FREEZE_MS 1000u
/* Less than PULSE_ASK_MS of the guard, whose clock began later. */
#define ASKED_AFTER_MS 500u
#define GONE_MS 1000 /* for a launcher that is ending to have ended */
#define INIT_CTL_FD_LANDLOCK 4
#define INIT_CTL_FD_TTY 5

static const char *const namespace_names[7] = {"user", "mnt", "pid", "ipc", "uts", "net", "cgroup"};

uint64_t supervisor_now(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void tell(struct supervisor *x, const struct run_msg *m) {
        (void)!send(x->s->cli, m, sizeof(*m), MSG_NOSIGNAL);
}

void supervisor_end(struct supervisor *x, enum run_end end, int status) {
        if (x->ended)
                return; /* the first reason stands */
        x->ended = true;
        if (end == END_CALLER && x->stop.by_alarm)
                end = END_TRIPWIRE; /* it was held: whoever ends it then agrees */
        if (end >= END_TIME && end <= END_HOST)
                events_simple(x, EVENT_LIMIT, run_end_name(end), "reached");
        else if (end == END_CALLER || end == END_PARENT)
                events_simple(x, EVENT_KILL, run_end_name(end), "");
        x->result.end = end;
        x->result.status = status;
        children_end(x);
}

static void fail_start(struct supervisor *x, const struct error *e) {
        struct run_msg m = {.type = RUN_FAILED, .error = *e};
        if (!x->ended)
                tell(x, &m);
        supervisor_end(x, END_FAILED, e->errnum);
}

void supervisor_fail(struct supervisor *x, const struct error *e) {
        fail_start(x, e);
        supervisor_kill(x);
}

void supervisor_kill(struct supervisor *x) {
        network_cut(x);
        /* The group first: in one step, from outside. Then init, whose namespace goes with it; also what is frozen by
         * v2 dies. */
        if (x->s->cgroup)
                (void)!cgroup_kill(x->s->cgroup);
        if (x->init_pidfd >= 0)
                (void)!process_signal(x->init_pidfd, SIGKILL);
}

static void fill_config(const struct supervisor *x, struct init_config *c) {
        const struct plan *p = x->plan;
        const struct launch *l = &x->s->launch;
        unsigned n = 0;

        *c = (struct init_config){
                .landlock_fd = p->landlock_abi ? INIT_CTL_FD_LANDLOCK : -1,
                .tty_fd = l->tty[0] || l->tty[1] || l->tty[2] ? INIT_CTL_FD_TTY : -1,
                .landlock_abi = (uint32_t)p->landlock_abi,
                .uid = p->ids.outer_uid,
                .gid = p->ids.outer_gid,
                .set_ids = !p->ids.single,
                .setgroups_deny = p->ids.single,
                .umask = p->umask,
                .capabilities = p->capabilities,
                .writes_through = plan_writes_through(p),
                .nesting = p->nesting == NESTING_USERNS,
                .trace = p->trace != TRACE_OFF,
                .no_groups = p->programs && p->ids.single,
        };
        for (size_t i = 0; i < p->ids.n_groups && i < INIT_MAX_GROUPS; i++)
                c->groups[c->n_groups++] = p->ids.outer_groups[i];
        snprintf(c->uid_map, sizeof(c->uid_map), "%s", p->ids.inner_uid_map);
        snprintf(c->gid_map, sizeof(c->gid_map), "%s", p->ids.inner_gid_map);
        snprintf(c->cwd, sizeof(c->cwd), "%s", p->cwd);
        /* No core files, and 1, not 0: a handler that core_pattern pipes to is still run at 0 (core(5); fs/coredump.c
         * gives up at 1), as root of the host and on data of the sandbox. */
        c->rlimits[n++] = (struct init_rlimit){1, RLIMIT_CORE, 1, 1};
        /* Counted in the sandbox's own user namespace, so that it bounds this run and no other (since Linux 5.14). */
        if (p->limits.want.pids.origin != LIMIT_NONE)
                c->rlimits[n++] = (struct init_rlimit){1, RLIMIT_NPROC, p->limits.want.pids.value, p->limits.want.pids.value};
        /* Not for the default: programs built with AddressSanitizer map terabytes that they never touch. */
        if (p->limits.memory == MEANS_SAMPLING && p->limits.want.memory.origin == LIMIT_USER)
                c->rlimits[n++] = (struct init_rlimit){1, RLIMIT_DATA, p->limits.want.memory.value, p->limits.want.memory.value};
        if (p->limits.disk == MEANS_SAMPLING)
                c->rlimits[n++] = (struct init_rlimit){1, RLIMIT_FSIZE, p->limits.want.disk.value, p->limits.want.disk.value};
}

/* After r, an error about the launcher's process: it has failed already, and says itself why. */
static bool launcher_gone(const struct supervisor *x, int r) {
        struct pollfd p = {.fd = x->init_pidfd, .events = POLLIN};
        return (r == -ENOENT || r == -ESRCH) && poll(&p, 1, GONE_MS) == 1;
}

static int start(struct supervisor *x, struct error *e) {
        struct supervise *s = x->s;
        const struct plan *p = x->plan;
        uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;
        int pair[2], go[2] = {-1, -1}, r;
        bool wait_for_go = !p->ids.single || (s->cgroup && (s->cgroup->v1_path[0] || s->cgroup->v1_path[1] || s->cgroup->v1_path[2]));

        /* Before the launcher's channels are made: the short-lived processes of the maps must not hold their ends. */
        if (p->ids.root && (r = trees_open(x, e)) < 0)
                return r;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
            (wait_for_go && pipe2(go, O_CLOEXEC) < 0))
                return error_errno(e, errno, "the launcher's channels cannot be made");
        x->ctl = pair[0];
        s->launch.control = pair[1];
        s->launch.go = go[0];
        struct init_config config;
        fill_config(x, &config);
        if (send(x->ctl, &config, sizeof(config), MSG_NOSIGNAL) != sizeof(config))
                return error_errno(e, errno, "init's configuration cannot be sent");
        pid_t pid = process_clone(flags, s->cgroup ? s->cgroup->v2 : -1, &x->init_pidfd);
        if (pid < 0) {
                error_errno(e, pid, "the sandbox's namespaces cannot be made");
                return error_fix(e, pid == -EPERM || pid == -ENOSPC || pid == -EUSERS
                                            ? "user namespaces are switched off for you on this host; belljar doctor says by what, and how to allow them"
                                            : "belljar doctor shows what this host can give");
        }
        if (pid == 0) {
                if (go[1] >= 0)
                        close(go[1]);
                close(x->ctl);
                fd_close(s->ca); /* the key stays out of the sandbox's namespaces from their first moment on */
                record_forget(x);
                launcher_main(p, &s->launch);
        }
        x->init_pid = pid;
        close(pair[1]);
        if (go[0] >= 0)
                close(go[0]);
        if (p->ids.root) {
                if ((r = process_map_ids(pid, p->ids.outer_uid_map, p->ids.outer_gid_map, 0)) < 0)
                        return error_errno(e, r, "the sandbox's ids cannot be mapped");
                if ((r = trees_map(x, e)) < 0)
                        return r;
        }
        /* With one id, for the walk over its files: directories whose permissions the command took away are closed to the
         * supervisor, too. A launcher that is gone already says why itself. */
        if (p->ids.subids || (p->ids.single && p->limits.disk == MEANS_SAMPLING)) {
                char path[48];
                snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
                x->userns = open(path, O_RDONLY | O_CLOEXEC);
        }
        if (p->ids.subids) {
                const struct ids ids = {.kind = IDS_SUBIDS};
                if (x->userns < 0)
                        return error_errno(e, errno, "the sandbox's user namespace cannot be opened");
                if ((r = ids_map_process(&ids, pid, p->ids.outer_uid_map, p->ids.outer_gid_map, e)) < 0)
                        return r;
        }
        if (p->network.on && (r = network_namespaces(x, pid)) < 0 && !launcher_gone(x, r))
                return error_errno(e, r, "the sandbox's namespaces cannot be opened");
        if (s->cgroup && (r = cgroup_enter_v1(s->cgroup, pid)) < 0 && !launcher_gone(x, r))
                return error_errno(e, r, "the sandbox cannot be put in its control groups");
        if (go[1] >= 0) {
                if (write(go[1], "", 1) != 1)
                        return error_errno(e, errno, "the launcher cannot be let go");
                close(go[1]);
        }
        trees_close(x);
        return 0;
}

/* The command's stdio is not the supervisor's to hold: a reader of its output must see the end. */
static void let_go_of_stdio(const struct supervise *s) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int i = 0; i < 3; i++) {
                if (null >= 0)
                        (void)!dup2(null, i);
                if ((i < 2 || s->launch.stdio[2] != s->launch.stdio[1]) && s->launch.stdio[i] > 2)
                        close(s->launch.stdio[i]);
        }
        if (null > 2)
                close(null);
        close(s->launch.init_exe);
}

void supervisor_readback_json(struct json *j, const struct supervisor *x) {
        const struct init_readback *rb = &x->readback;

        json_begin(j, "readback", '{');
        json_num(j, "uid", rb->uid);
        json_num(j, "gid", rb->gid);
        json_bool(j, "no_new_privs", rb->no_new_privs);
        json_num(j, "seccomp", rb->seccomp_mode);
        json_bool(j, "landlock", rb->landlock);
        char caps[CAPABILITIES_TEXT];
        json_str(j, "capabilities", capabilities_format(caps, rb->cap_effective | rb->cap_permitted | rb->cap_inheritable |
                                                                     rb->cap_bounding | rb->cap_ambient));
        json_end(j, '}');
}

/* The sandbox's namespaces, as the kernel numbers them; read while init lives. */
static void read_namespaces(struct supervisor *x) {
        for (size_t i = 0; i < ELEMENTSOF(namespace_names); i++) {
                char path[64];
                snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)x->init_pid, namespace_names[i]);
                ssize_t n = readlink(path, x->namespaces[i], sizeof(x->namespaces[i]) - 1);
                x->namespaces[i][MAX(n, 0)] = 0;
        }
}

static void namespaces_json(struct json *j, const struct supervisor *x) {
        json_begin(j, "namespaces", '{');
        for (size_t i = 0; i < ELEMENTSOF(namespace_names); i++)
                json_str(j, namespace_names[i], x->namespaces[i]);
        json_end(j, '}');
}

static void write_started(struct supervisor *x) {
        struct json j;

        x->record_at = 0;
        if (!x->listens)
                (void)!control_listen(x);
        state_json_begin(x->s->state, &j);
        json_str(&j, "state", "running");
        json_num(&j, "supervisor", getpid());
        json_num(&j, "init", x->init_pid);
        namespaces_json(&j, x);
        supervisor_readback_json(&j, x);
        json_end(&j, '}');
        (void)!state_write(x->s->state, "started.json", &j);
}

/* The endpoint is the guard's, and what it takes to connect from within the sandbox for a call. */
static void hand_over_calls(const struct supervisor *x, const int *fds, size_t n) {
        const struct run_msg m = {.type = RUN_CALLS};
        const int all[] = {n == 1 ? fds[0] : -1, x->network.userns, x->network.netns};

        if (n == 1)
                (void)!fd_send(x->s->cli, &m, sizeof(m), all, x->plan->network.on ? 3 : 1, 0);
}

static void on_init(struct supervisor *x) {
        struct init_msg m;
        int fds[FD_PASS_MAX];
        size_t n_fds;
        ssize_t n = fd_receive(x->ctl, &m, sizeof(m), fds, &n_fds, MSG_DONTWAIT);

        if (n <= 0) {
                /* ECONNRESET: it ended with something unread; what it said before is still to come. */
                if (n == -EAGAIN || n == -EINTR || n == -ECONNRESET)
                        return;
                fd_close(TAKE_FD(x->ctl)); /* init is ending; its pidfd tells when it has */
                return;
        }
        struct run_msg out = {};
        switch (n == sizeof(m) ? m.type : 0) {
        case INIT_LAUNCH_FAILED: {
                struct error e = {};
                m.text[sizeof(m.text) - 1] = 0;
                char *fix = strchr(m.text, '\n');
                if (fix)
                        *fix++ = 0;
                error_errno(&e, m.errnum, "%s", m.text);
                if (fix)
                        error_fix(&e, "%s", fix);
                supervisor_fail(x, &e);
                break;
        }
        case INIT_TRACE:
                tracing_begin(x, fds, n_fds);
                n_fds = 0;
                break;
        case INIT_STARTED:
                if (!tracing_ready(x))
                        break;
                x->running = true;
                out.type = RUN_STARTED;
                out.readback = m.readback;
                (void)!fd_send(x->s->cli, &out, sizeof(out), &x->init_pidfd, 1, 0);
                x->readback = m.readback;
                read_namespaces(x); /* not allowed any more afterwards */
                struct error ce = {};
                if (supervisor_confine(x->s, &ce) < 0) {
                        supervisor_fail(x, &ce);
                        break;
                }
                record_start(x);
                x->record_at = supervisor_now() + RECORD_AFTER_MS;
                break;
        case INIT_EXEC_FAILED:
                supervisor_end(x, END_NOEXEC, m.errnum);
                break;
        case INIT_STOPPED:
                out.type = RUN_STOPPED;
                out.status = m.status;
                tell(x, &out);
                break;
        case INIT_EXITED:
                supervisor_end(x, END_EXIT, m.status);
                x->all_gone = true;
                break;
        case INIT_PAUSED:
                out.type = RUN_PAUSED;
                tell(x, &out);
                break;
        case INIT_TERMINAL:
                out.type = RUN_TERMINAL;
                if (n_fds == 1)
                        (void)!fd_send(x->s->cli, &out, sizeof(out), fds, 1, 0);
                break;
        case INIT_CALLS:
                hand_over_calls(x, fds, n_fds);
                break;
        case INIT_NETWORK:
                network_take(x, fds, n_fds);
                n_fds = 0;
                break;
        }
        for (size_t i = 0; i < n_fds; i++)
                close(fds[i]);
}

static void send_init(struct supervisor *x, uint32_t type, int status) {
        struct init_msg m = {.type = type, .status = status};
        if (x->ctl >= 0)
                (void)!send(x->ctl, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

int supervisor_pause(struct supervisor *x, enum pause_reason why, bool on) {
        const unsigned before = x->pauses;
        struct run_msg answer = {.type = RUN_PAUSED};

        x->pauses = on ? before | why : before & ~(unsigned)why;
        const int can = x->s->cgroup && x->s->cgroup->can_freeze ? 0 : -ENOSYS;
        if (!before == !x->pauses) /* as it was, but for what would not freeze in time before */
                return on && can == 0 ? cgroup_freeze(x->s->cgroup, true, FREEZE_MS) : can;
        int r = can == 0 ? cgroup_freeze(x->s->cgroup, on, FREEZE_MS) : can;
        if (can < 0)
                send_init(x, on ? INIT_PAUSE : INIT_RESUME, 0); /* INIT_PAUSED is the answer */
        else if (on)
                tell(x, &answer);
        x->paused = on;
        events_simple(x, on ? EVENT_FREEZE : EVENT_THAW, "", "");
        children_say(x, on ? CONTROL_WORD_PAUSE : CONTROL_WORD_RESUME, NULL);
        if (on)
                x->paused_at = supervisor_now();
        else
                x->paused_total += supervisor_now() - x->paused_at;
        return r;
}

static void on_cli(struct supervisor *x) {
        struct run_msg m, answer = {.type = RUN_PAUSED};
        int fds[FD_PASS_MAX];
        size_t n_fds;
        ssize_t n = fd_receive(x->s->cli, &m, sizeof(m), fds, &n_fds, MSG_DONTWAIT);

        if (n == -EAGAIN || n == -EINTR || n == -ECONNRESET)
                return;
        if (n != sizeof(m)) {
                supervisor_end(x, END_CALLER, 0);
                supervisor_kill(x);
                return;
        }
        switch (m.type) {
        case RUN_SIGNAL:
                if (x->stop.holds && (m.status == SIGINT || m.status == SIGTERM || m.status == SIGHUP)) {
                        supervisor_end(x, END_CALLER, m.status); /* it is frozen, and must not run to hear of it */
                        supervisor_kill(x);
                } else
                        send_init(x, INIT_SIGNAL, m.status);
                break;
        case RUN_PAUSE:
                if (x->paused)
                        tell(x, &answer);
                (void)!supervisor_pause(x, PAUSE_TERMINAL, true);
                break;
        case RUN_RESUME:
                (void)!supervisor_pause(x, PAUSE_TERMINAL, false);
                send_init(x, INIT_CONTINUE, 0);
                break;
        case RUN_ASK:
                tell(x, &(const struct run_msg){.type = RUN_HERE});
                break;
        case RUN_NET_RULES_DONE:
                m.error.msg[sizeof(m.error.msg) - 1] = 0;
                network_rules_done(x, m.status, m.error.msg);
                break;
        case RUN_NET_STARTED:
                if (n_fds == 1)
                        network_started(x, m.serial, fds[--n_fds]);
                break;
        case RUN_NET_RENEWED:
                if (n_fds == 1 && m.identity < NET_BROKERS_MAX)
                        network_renewed(x, m.identity, fds[0]);
                break;
        case RUN_STOP:
                supervisor_end(x, (enum run_end)m.status, 0);
                supervisor_kill(x);
                break;
        }
        for (size_t i = 0; i < n_fds; i++)
                close(fds[i]);
}

void supervisor_own(const struct supervisor *x) {
        if (x->userns >= 0)
                (void)!setns(x->userns, CLONE_NEWUSER);
}

/* What the run changed of its image's root is of no use to the next. */
static void remove_root(const struct supervisor *x) {
        if (!x->plan->image)
                return;
        if (x->userns < 0) {
                (void)!state_remove_root(x->s->state);
                return;
        }
        pid_t pid = fork();
        if (pid == 0) {
                supervisor_own(x);
                _exit(state_remove_root(x->s->state) < 0);
        }
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
}

static int next_timeout(struct supervisor *x, bool ticks) {
        uint64_t at = UINT64_MAX, now;

        if (x->ended)
                return 200; /* dying: kill once more, should something have slipped into the group meanwhile */
        if (x->plan->limits.time == MEANS_TIMER && !x->paused)
                at = x->started + x->paused_total + x->plan->limits.want.time.value;
        if (ticks && !x->paused)
                at = MIN(at, x->tick_at);
        if (x->record_at)
                at = MIN(at, x->record_at);
        at = MIN(at, network_due(x));
        if (at == UINT64_MAX)
                return -1;
        now = supervisor_now();
        return at <= now ? 0 : (int)MIN(at - now, 1u << 30);
}

static void on_time(struct supervisor *x, bool ticks) {
        uint64_t now = supervisor_now();

        if (x->ended) {
                supervisor_kill(x);
                return;
        }
        if (x->record_at && now >= x->record_at)
                write_started(x);
        network_tick(x);
        if (x->plan->limits.time == MEANS_TIMER && !x->paused &&
            now >= x->started + x->paused_total + x->plan->limits.want.time.value) {
                supervisor_end(x, END_TIME, 0);
                supervisor_kill(x);
        } else if (ticks && now >= x->tick_at)
                sample_tick(x);
}

/* The command line may be gone, and has nothing more to say. */
static bool is_over_for_cli(const struct supervisor *x) { return x->ended && (x->result.end == END_CALLER || x->result.end == END_TRIPWIRE); }

static void loop(struct supervisor *x) {
        bool ticks = sample_needed(x->plan);

        sample_begin(x);
        for (;;) {
                struct pollfd p[8 + NETWORK_POLL_MAX + CHILDREN_POLL_MAX] = {
                        {.fd = x->init_pidfd, .events = POLLIN},
                        {.fd = x->ctl, .events = POLLIN},
                        {.fd = x->s->cli, .events = POLLIN},
                        {.fd = x->sigfd, .events = POLLIN},
                        {.fd = x->disk_pipe, .events = POLLIN},
                        {.fd = x->listens ? x->control : -1, .events = POLLIN},
                        {.fd = x->asker, .events = POLLIN},
                        {.fd = x->tracer.fd, .events = POLLIN},
                };
                size_t n_network = network_poll(x, p + 8), n_children = children_poll(x, p + 8 + n_network);
                int n = poll(p, 8 + n_network + n_children, next_timeout(x, ticks));
                if (n < 0 && errno != EINTR) {
                        supervisor_end(x, END_FAILED, errno);
                        supervisor_kill(x);
                        break;
                }
                if (p[1].revents && x->ctl >= 0)
                        on_init(x);
                if (x->all_gone)
                        break;
                if (p[0].revents) {
                        while (x->ctl >= 0) /* its last words */
                                on_init(x);
                        break;
                }
                if (p[2].revents && !is_over_for_cli(x))
                        on_cli(x);
                if (p[3].revents) {
                        struct signalfd_siginfo info;
                        (void)!read(x->sigfd, &info, sizeof(info));
                        supervisor_end(x, END_CALLER, SIGTERM);
                        supervisor_kill(x);
                }
                if (x->disk_pipe >= 0 && p[4].revents)
                        sample_on_disk_walk(x);
                network_events(x, p + 8, n_network);
                children_events(x, p + 8 + n_network, n_children);
                if (p[7].revents)
                        tracing_events(x);
                if (p[5].revents || p[6].revents)
                        control_events(x, p[5].revents, p[6].revents);
                on_time(x, ticks);
                record_flush(x);
                if (is_over_for_cli(x) && p[2].revents & POLLHUP)
                        x->s->cli = -1; /* gone: not polled again */
        }
}

/* Waits until init has gone, and with it the namespaces and mounts: the kernel takes them down before. */
static void wait_for_init(struct supervisor *x) {
        if (x->init_pid > 0) {
                siginfo_t si;
                while (waitid(P_PIDFD, (id_t)x->init_pidfd, &si, WEXITED) < 0 && errno == EINTR)
                        ;
                x->init_pid = 0;
        }
}

static void fill_result(struct supervisor *x) {
        struct cgroup_stats cs = {};
        struct rusage ru;

        if (!x->ended) /* init was killed from outside, or by the kernel */
                supervisor_end(x, x->running ? END_LOST : END_FAILED, 0);
        if (x->s->cgroup) {
                cgroup_stats(x->s->cgroup, &cs);
                if (cs.oom_kills && (x->result.end == END_EXIT || x->result.end == END_LOST))
                        x->result.end = END_MEMORY;
        }
        getrusage(RUSAGE_CHILDREN, &ru);
        x->result.wall_ms = supervisor_now() - x->started;
        x->result.cpu_ms = cs.cpu_ms ? cs.cpu_ms
                                     : (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000 +
                                               (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1000;
        x->result.memory_peak = cs.memory_peak ? cs.memory_peak : x->peak_memory;
        x->result.processes_peak = cs.pids_peak ? (uint32_t)cs.pids_peak : x->peak_processes;
        x->result.changed = state_changed(x->s->state);
}

static int write_ended(const struct supervisor *x) {
        struct json j;

        state_json_begin(x->s->state, &j);
        json_str(&j, "state", "ended");
        json_str(&j, "end", run_end_name(x->result.end));
        json_num(&j, "status", x->result.status);
        json_num(&j, "wall_ms", (long long)x->result.wall_ms);
        json_num(&j, "cpu_ms", (long long)x->result.cpu_ms);
        json_num(&j, "memory_peak", (long long)x->result.memory_peak);
        supervisor_readback_json(&j, x);
        namespaces_json(&j, x);
        json_end(&j, '}');
        return state_write(x->s->state, "ended.json", &j);
}

static void finish(struct supervisor *x) {
        struct run_msg m = {.type = RUN_ENDED}, here = {.type = RUN_HERE, .status = 1};

        /* What follows may take long. Of a run that is over so soon the guard has asked for nothing. */
        if (supervisor_now() >= x->started + ASKED_AFTER_MS)
                tell(x, &here);
        children_end(x);
        if (x->all_gone)
                network_flush(x);
        network_cut(x);
        network_last_started(x);
        if (x->listens)
                (void)unlinkat(x->s->state->dir, CONTROL_SOCKET, 0);
        /* After init's own word that the command and all it left are gone, the answer need not wait for the kernel to
         * take the namespaces down. */
        if (!x->all_gone)
                wait_for_init(x);
        tracing_end(x);
        fill_result(x);
        /* Before the answer: belljar diff may be the caller's next command. */
        if (x->running && x->result.changed && x->plan->workspace && x->plan->mode == WORKSPACE_COW)
                files_record(x);
        if (x->running && (record_end(x) < 0 || write_ended(x) < 0)) {
                /* On a full disk there is room once what the run wrote to its image's root is gone. */
                wait_for_init(x);
                remove_root(x);
                (void)!record_end(x); /* a trail without an end says so itself */
                (void)!write_ended(x);
        }
        m.result = x->result;
        tell(x, &m);
        close(x->s->cli);
        /* The command line has gone on; what follows may take as long as the kernel and the disk take. */
        wait_for_init(x);
        control_answer_to(&x->stop.killer, 0, NULL);
        if (x->s->cgroup) {
                (void)!cgroup_kill(x->s->cgroup);
                if (cgroup_remove(x->s->cgroup, 2000) >= 0)
                        (void)!state_write_groups(x->s->state, "");
        }
        remove_root(x);
        /* What rang is not overwritten by the next run's record. */
        if (x->s->remove || (!x->result.changed && x->stop.n_alarms == 0) || !x->running)
                state_release(x->s->state, !x->running, x->s->remove);
}

void supervisor_main(struct supervise *s) {
        struct supervisor x = {.s = s, .plan = s->plan, .ctl = -1, .init_pidfd = -1, .disk_pipe = -1, .userns = -1, .control = -1, .asker = -1, .stop.killer = -1, .record = RECORD_NONE, .tracer = TRACER_NONE};
        struct error e = {};
        sigset_t mask;
        int r;

        network_init(&x.network);
        stop_init(&x);
        children_init(&x);
        setsid(); /* the terminal's signals are the command line's to interpret */
        prctl(PR_SET_NAME, "belljar-super");
        prctl(PR_SET_DUMPABLE, 1); /* as its guard is not where it has secrets: the launcher has to write its own id maps */
        sigemptyset(&mask);
        sigaddset(&mask, SIGTERM);
        sigaddset(&mask, SIGINT);
        sigaddset(&mask, SIGHUP);
        sigaddset(&mask, SIGPIPE);
        sigprocmask(SIG_BLOCK, &mask, NULL);
        sigdelset(&mask, SIGPIPE);
        x.started = supervisor_now();
        if (fchdir(s->state->dir) < 0)
                r = error_errno(&e, errno, "the sandbox's directory cannot be entered");
        else if ((r = control_make(&x)) < 0 || ((x.plan->network.on || x.plan->n_delegates > 0) && (r = control_listen(&x)) < 0))
                error_errno(&e, r, "the sandbox's socket cannot be made");
        else if ((r = record_open(&x, &e)) == 0 && (r = start(&x, &e)) == 0)
                r = record_ready(&x, &e);
        let_go_of_stdio(s);
        prctl(PR_SET_DUMPABLE, 0); /* not before: see above */
        x.sigfd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
        if (r < 0) {
                supervisor_fail(&x, &e);
        }
        if (x.init_pid > 0)
                loop(&x);
        finish(&x);
        _exit(0);
}
