/* The relay and the watch, see guard.h. */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/alarm.h"
#include "role/cli/call.h"
#include "role/cli/guard.h"
#include "role/cli/net-record.h"
#include "role/cli/pulse.h"
#include "svc/net-account.h"
#include "svc/net-rules.h"
#include "svc/net-start.h"
#include "svc/net-table.h"
#include "sys/process.h"

/* Passed on to the command; TSTP pauses it, WINCH resizes its terminal, CHLD is about the supervisor. */
static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
static const int handled[] = {SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD, SIGTTOU, SIGTTIN};

/* After the caller's terminal has gone: how long the command may take to end by itself. */
#define HANGUP_GRACE_MS 2000
/* A run that a limit ended: how long its last output may wait for a reader. */
#define LAST_OUTPUT_MS 1000
/* For a supervisor that did not answer to have died of SIGKILL: one in a frozen group of cgroup v1 does when it is thawed. */
#define MUTE_LOOK_US 10000u
#define MUTE_LOOKS 100u
/* In the background there is no event for coming to the foreground: looked at so often. */
#define FOREGROUND_LOOK_MS 250

/* A gate and a broker for each identity, and those that are being replaced. */
#define NETWORK_PROCESSES_MAX (2 * (1 + NET_BROKERS_MAX))

struct buffer {
        char data[65536];
        size_t start, len;
};

/* Output on its way: read from the sandbox, written to one of our fds when that can take it. */
struct stream {
        int from; /* -1: ended */
        int to;
        size_t chunk; /* bytes that a write takes without waiting once poll has said POLLOUT */
        struct buffer buf;
};

#define RULES_PLANNED (-1) /* nothing has changed them */
#define RULES_UNKNOWN (-2)

struct relay {
        struct guard *g;
        int sigfd;
        bool in_open;     /* our stdin can still be read */
        bool mid_line;    /* what it gave last was no newline */
        bool is_raw, over, lost;
        bool pausing; /* RUN_PAUSE was not answered yet */
        bool watch_keys;  /* our stdin is the terminal whose keys go to the sandbox, and it has not hung up */
        uint64_t stop_at; /* ms, monotonic: when a run whose terminal has gone is ended; 0: not */
        struct termios saved;
        struct buffer keys; /* from stdin, on the way to the terminal */
        struct stream out[3]; /* the terminal's, stdout's, stderr's */
        uint64_t written;     /* read of all three */
        uint64_t give_up_at;  /* ms: when output that nobody takes is dropped; 0: not */
        pid_t network[NETWORK_PROCESSES_MAX]; /* gates and brokers that run */
        size_t n_network;
        struct table table; /* that is in force, mapped */
        struct account *accounts; /* of its budgets */
        size_t n_accounts;
        struct calls calls;
        struct pulse pulse;
        int init;  /* pidfd of the sandbox's; -1: it has not begun */
        bool mute; /* the supervisor did not answer, and may not die either */
        int rules; /* the namespace's, as the last change of the policy had them; RULES_* */
        struct run_result result;
        struct error *e;
};

static void fill_mask(sigset_t *mask) {
        sigemptyset(mask);
        for (size_t i = 0; i < ELEMENTSOF(passed_on); i++)
                sigaddset(mask, passed_on[i]);
        for (size_t i = 0; i < ELEMENTSOF(handled); i++)
                sigaddset(mask, handled[i]);
}

int guard_prepare(void) {
        sigset_t mask;
        fill_mask(&mask);
        signal(SIGCHLD, SIG_DFL); /* a parent that ignores it would hide the supervisor's end */
        return sigprocmask(SIG_BLOCK, &mask, NULL) < 0 ? -errno : 0;
}

static void ask(struct relay *r, uint32_t type, int status) {
        struct run_msg m = {.type = type, .status = status};
        (void)!send(r->g->supervisor, &m, sizeof(m), MSG_NOSIGNAL);
}

/* A job in the background neither changes the terminal nor reads its keys. */
static bool in_foreground(const struct relay *r) {
        pid_t fg;
        if (!r->g->stdin_raw)
                return true;
        fg = tcgetpgrp(0);
        return fg < 0 || fg == getpgrp(); /* not our controlling terminal: nobody else's job control is disturbed */
}

static uint64_t now_ms(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void set_up_stream(struct stream *o, int from, int to) {
        struct stat st;
        o->from = from;
        o->to = to;
        /* pipe(7): PIPE_BUF bytes fit when there is room at all; a terminal takes a line or so. */
        o->chunk = fstat(to, &st) == 0 && S_ISREG(st.st_mode) ? sizeof(o->buf.data) : isatty(to) ? 1024 : PIPE_BUF;
}

/* Where the terminal's output goes: to the fd of ours that stands for it. */
static int terminal_output(const struct guard *g) {
        return g->tty[1] ? 1 : g->tty[2] ? 2 : isatty(0) ? 0 : 1;
}

static void set_raw(struct relay *r, bool on) {
        if (!r->g->stdin_raw || on == r->is_raw || (on && !in_foreground(r)))
                return;
        if (on) {
                struct termios t;
                if (tcgetattr(0, &r->saved) < 0)
                        return;
                t = r->saved;
                cfmakeraw(&t);
                if (tcsetattr(0, TCSADRAIN, &t) < 0)
                        return;
        } else if (tcsetattr(0, TCSADRAIN, &r->saved) < 0)
                return;
        r->is_raw = on;
}

int guard_window(const struct guard *g, struct winsize *ret) {
        for (int fd = 0; fd < 3; fd++)
                if (g->tty[fd] && ioctl(fd, TIOCGWINSZ, ret) == 0)
                        return 0;
        return -ENOTTY;
}

static void resize(struct relay *r) {
        struct winsize w;
        if (guard_window(r->g, &w) == 0)
                (void)ioctl(r->out[0].from, TIOCSWINSZ, &w); /* tells the sandbox if it is another size */
}

static void on_supervisor(struct relay *r, int flags);

/* The run ends with it: init dies with the supervisor (PDEATHSIG), and where the supervisor cannot die, being frozen, by itself. */
static void end_supervisor(struct relay *r, const char *why) {
        kill(r->g->supervisor_pid, SIGKILL);
        if (r->init >= 0)
                (void)!process_signal(r->init, SIGKILL);
        r->lost = true;
        error_set(r->e, ECANCELED, "the supervisor %s: the run was ended", why);
}

static void lose_supervisor(struct relay *r) {
        pulse_end(&r->pulse);
        end_supervisor(r, "does not answer");
        r->over = r->mute = true;
        r->give_up_at = now_ms() + LAST_OUTPUT_MS;
}

/* Stops this command line as a shell's job, with the sandbox frozen, until somebody continues it. */
static void stop_self(struct relay *r) {
        sigset_t tstp;

        if (r->pausing || r->over)
                return;
        r->pausing = true;
        ask(r, RUN_PAUSE, 0);
        /* The answer says that nothing of the sandbox runs any more; what else comes before it, such as a gate to be started, is
         * done first. */
        while (!r->over && r->pausing) {
                struct pollfd p = {.fd = r->g->supervisor, .events = POLLIN};
                if (poll(&p, 1, PULSE_TRIES * PULSE_ANSWER_MS) == 0)
                        lose_supervisor(r);
                else
                        on_supervisor(r, MSG_DONTWAIT);
        }
        r->pausing = false;
        if (r->over)
                return;
        set_raw(r, false);
        sigemptyset(&tstp);
        sigaddset(&tstp, SIGTSTP);
        kill(0, SIGTSTP);
        sigprocmask(SIG_UNBLOCK, &tstp, NULL); /* delivered here: stops until SIGCONT */
        sigprocmask(SIG_BLOCK, &tstp, NULL);
        set_raw(r, true);
        if (r->out[0].from >= 0)
                resize(r);
        ask(r, RUN_RESUME, 0);
}

/* What the gate of a run without a network needs besides its control and the one socket: the sandbox's namespaces, a policy
 * without a rule, and no CA. */
static int complete_gate(const struct relay *r, pid_t init, const int *given, int fds[NET_START_FDS_MIN], struct error *e) {
        char path[48];
        void *table = NULL;
        size_t size;

        for (size_t i = 0; i < NET_START_FDS_MIN; i++)
                fds[i] = -1;
        snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)init);
        fds[0] = open(path, O_RDONLY | O_CLOEXEC);
        snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)init);
        fds[1] = open(path, O_RDONLY | O_CLOEXEC);
        if (fds[0] < 0 || fds[1] < 0)
                return error_errno(e, errno, "the sandbox's namespaces cannot be opened");
        int k = table_compile(&(const struct network){.run = NETWORK_NO_BUDGET}, &table, &size, e);
        if (k < 0)
                return k;
        fds[2] = fcntl(given[0], F_DUPFD_CLOEXEC, 0);
        fds[3] = net_table_seal(table, size);
        free(table);
        fds[4] = memfd_create("belljar-no-ca", MFD_CLOEXEC);
        for (size_t i = 0; i < NETNS_N; i++) /* the gate leaves alone what its configuration does not name */
                fds[5 + i] = fcntl(i == NETNS_DNS_UDP4 ? given[1] : fds[4], F_DUPFD_CLOEXEC, 0);
        for (size_t i = 0; i < NET_START_FDS_MIN; i++)
                if (fds[i] < 0)
                        return error_set(e, EMFILE, "the gate's file descriptors cannot be made");
        return 0;
}

/* A gate or broker, which the supervisor has no right to start. One that cannot be is seen by it as one that ended. */
static void start_network(struct relay *r, const struct run_msg *m, const int *given, size_t n) {
        const enum net_role role = (enum net_role)m->status;
        const struct plan *p = r->g->plan;
        int made[NET_START_FDS_MIN], all[FD_PASS_MAX + 1], secret = -1, pidfd, k = 0;
        bool bare = !p->network.on && role == NET_ROLE_GATE && n == 2;
        struct error e = {};
        pid_t pid;

        if (r->n_network >= ELEMENTSOF(r->network) || role > NET_ROLE_BROKER)
                return;
        if (bare)
                k = complete_gate(r, m->init, given, made, &e);
        else if (role == NET_ROLE_BROKER) {
                memcpy(all, given, n * sizeof(*all));
                all[n++] = secret = k = credentials_pipe(p, r->g->credentials, m->identity);
                k = k < 0 ? error_errno(&e, k, "the broker cannot be given its secret") : 0;
                given = all;
        }
        if (k == 0)
                k = net_start(p, role, bare ? made : given, bare ? NET_START_FDS_MIN : n, &pid, &pidfd, &e);
        fd_close(secret);
        for (size_t i = 0; bare && i < NET_START_FDS_MIN; i++)
                fd_close(made[i]);
        if (k == 0) {
                /* By which the supervisor ends it, whatever it does. */
                const struct run_msg started = {.type = RUN_NET_STARTED, .serial = m->serial};
                (void)!fd_send(r->g->supervisor, &started, sizeof(started), &pidfd, 1, 0);
                close(pidfd);
                r->network[r->n_network++] = pid;
                r->g->log.gates += role == NET_ROLE_GATE;
                r->g->log.brokers += role == NET_ROLE_BROKER;
                r->g->log.dirty = true;
        } else if (p->network.on)
                net_log_failed(&r->g->log, 0, e.msg);
}

/* The policy that is in force, as the log needs it: what it cannot have it goes without. */
static void follow_policy(struct relay *r, int table, int budgets) {
        struct account *old = r->accounts;
        size_t n_old = r->n_accounts;
        bool mapped = table >= 0 && net_table_map(table, &r->table) == 0;

        r->accounts = NULL;
        if (budgets < 0 || account_map(budgets, &r->accounts, &r->n_accounts) < 0)
                r->accounts = NULL;
        net_log_policy(&r->g->log, mapped ? &r->table : NULL, r->accounts);
        if (old)
                account_unmap(old, n_old);
}

/* Most policies differ in what the gate decides alone, and a change of the namespace's rules takes the kernel 10 ms and more. */
static int change_namespace(struct relay *r, const int *fds, struct error *e) {
        _cleanup_fd_ int planned = r->rules == RULES_PLANNED ? net_rules_seal(&r->g->plan->network) : -1;
        int k;

        if (net_rules_same(r->rules == RULES_PLANNED ? planned : r->rules, fds[2]))
                return 0;
        fd_close(r->rules);
        r->rules = RULES_UNKNOWN;
        if ((k = net_rules_install(&r->g->plan->network, fds[2], fds[0], fds[1], e)) < 0)
                return k;
        if ((k = fcntl(fds[2], F_DUPFD_CLOEXEC, 0)) >= 0)
                r->rules = k;
        return 0;
}

static void change_rules(struct relay *r, const int *fds, size_t n) {
        struct run_msg done = {.type = RUN_NET_RULES_DONE, .status = -EPROTO};

        if (n == 5)
                done.status = change_namespace(r, fds, &done.error);
        (void)send(r->g->supervisor, &done, sizeof(done), MSG_NOSIGNAL);
        if (done.status == 0) {
                r->g->log.updates++;
                follow_policy(r, fds[3], fds[4]);
                r->g->log.dirty = true;
        }
}

/* Gates and brokers that have ended. */
static void reap_network(struct relay *r) {
        for (size_t i = 0; i < r->n_network;) {
                if (waitpid(r->network[i], NULL, WNOHANG) == r->network[i])
                        r->network[i] = r->network[--r->n_network];
                else
                        i++;
        }
}

/* None outlives the run. */
static void end_network(struct relay *r) {
        for (size_t i = 0; i < r->n_network; i++)
                kill(r->network[i], SIGKILL);
        for (size_t i = 0; i < r->n_network; i++)
                while (waitpid(r->network[i], NULL, 0) < 0 && errno == EINTR)
                        ;
        r->n_network = 0;
}

/* One message. flags: MSG_DONTWAIT, or 0. */
static void on_supervisor(struct relay *r, int flags) {
        struct run_msg m;
        int fds[FD_PASS_MAX];
        size_t n_fds;
        ssize_t n = fd_receive(r->g->supervisor, &m, sizeof(m), fds, &n_fds, flags);

        if (n == -EAGAIN || n == -EINTR || n == -ECONNRESET)
                return;
        if (n != sizeof(m)) {
                r->lost = r->over = true;
                m.type = 0;
        }
        pulse_heard(&r->pulse, now_ms());
        switch (m.type) {
        case RUN_FAILED:
                *r->e = m.error;
                break;
        case RUN_STARTED:
                pulse_begin(&r->pulse, now_ms(), r->g->plan->limits.time == MEANS_TIMER ? r->g->plan->limits.want.time.value : 0);
                if (n_fds == 1)
                        r->init = fds[--n_fds];
                break;
        case RUN_HERE:
                if (m.status)
                        pulse_end(&r->pulse);
                break;
        case RUN_TERMINAL:
                if (n_fds != 1)
                        break;
                set_up_stream(&r->out[0], fds[0], terminal_output(r->g));
                n_fds = 0;
                (void)fcntl(r->out[0].from, F_SETFL, O_RDWR | O_NONBLOCK);
                resize(r);
                set_raw(r, true);
                break;
        case RUN_STOPPED:
                stop_self(r);
                break;
        case RUN_PAUSED:
                r->pausing = false;
                break;
        case RUN_NET_START:
                start_network(r, &m, fds, n_fds);
                break;
        case RUN_NET_RULES:
                change_rules(r, fds, n_fds);
                break;
        case RUN_NET_REPORT:
                net_log_report(&r->g->log, &m.report);
                break;
        case RUN_CALLS:
                calls_take(&r->calls, r->g->plan, &r->g->log, fds, n_fds);
                n_fds = 0;
                break;
        case RUN_NET_SECRET:
                credentials_end(r->g->credentials, m.identity, (uint32_t)m.status);
                break;
        case RUN_CUT:
                calls_end(&r->calls);
                for (uint32_t i = 1; i <= r->g->plan->network.n_secrets; i++)
                        credentials_end(r->g->credentials, i, SECRET_REVOKED);
                break;
        case RUN_ALARM:
                m.report.why[sizeof(m.report.why) - 1] = m.report.text[sizeof(m.report.text) - 1] = 0;
                alarm_say(r->g->plan->id, (enum trip_do)m.status, m.report.text, m.report.why, r->is_raw);
                break;
        case RUN_NET_FAILED:
                net_log_failed(&r->g->log, m.status, m.report.text);
                break;
        case RUN_ENDED:
                r->result = m.result;
                r->over = true;
                if (m.result.end != END_EXIT && m.result.end != END_NOEXEC)
                        r->give_up_at = now_ms() + LAST_OUTPUT_MS;
                break;
        }
        for (size_t i = 0; i < n_fds; i++)
                close(fds[i]);
}

static void watch(struct relay *r, bool busy) {
        if (r->over || r->lost)
                return;
        switch (pulse_turn(&r->pulse, now_ms(), busy)) {
        case PULSE_NOTHING:
                break;
        case PULSE_ASK: {
                const struct run_msg m = {.type = RUN_ASK};
                (void)!send(r->g->supervisor, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
                break;
        }
        case PULSE_LOST:
                lose_supervisor(r);
                break;
        }
}

static void on_signal(struct relay *r) {
        struct signalfd_siginfo s;

        while (read(r->sigfd, &s, sizeof(s)) == sizeof(s)) {
                int sig = (int)s.ssi_signo, status;
                if (sig == SIGTSTP)
                        stop_self(r);
                else if (sig == SIGTTOU || sig == SIGTTIN)
                        ;
                else if (sig == SIGWINCH || sig == SIGCONT) {
                        if (sig == SIGCONT && r->out[0].from >= 0)
                                set_raw(r, true);
                        if (r->out[0].from >= 0)
                                resize(r);
                } else if (sig == SIGCHLD) {
                        reap_network(r);
                        calls_reap(&r->calls);
                        /* A supervisor that is stopped keeps no deadline and hears no alarm: the run ends. */
                        if (waitpid(r->g->supervisor_pid, &status, WNOHANG | WUNTRACED) == r->g->supervisor_pid &&
                            WIFSTOPPED(status))
                                end_supervisor(r, "was stopped");
                } else if (r->over) {
                        if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP)
                                r->give_up_at = now_ms(); /* only its output waits for a reader */
                } else
                        ask(r, RUN_SIGNAL, sig);
        }
}

/* Reads what is there, within the limit of output. */
static void pull(struct relay *r, struct stream *o) {
        ssize_t n = read(o->from, o->buf.data, sizeof(o->buf.data));

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                /* EIO: nobody has the terminal open any more. Anything else would be output lost without a word. */
                if (n < 0 && errno != EIO) {
                        error_errno(r->e, errno, "the command's output cannot be read");
                        ask(r, RUN_STOP, END_FAILED);
                }
                fd_close(TAKE_FD(o->from));
                return;
        }
        size_t take = (size_t)n;
        if (r->g->output_limit) {
                uint64_t left = r->g->output_limit > r->written ? r->g->output_limit - r->written : 0;
                if (take > left) {
                        take = (size_t)left;
                        ask(r, RUN_STOP, END_OUTPUT);
                }
        }
        r->written += (uint64_t)n;
        o->buf.start = 0;
        o->buf.len = take;
}

static void push(struct stream *o) {
        ssize_t n = write(o->to, o->buf.data + o->buf.start, MIN(o->buf.len, o->chunk));

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n < 0) { /* our reader is gone: the sandbox gets SIGPIPE or EIO in turn */
                o->buf.len = 0;
                fd_close(TAKE_FD(o->from));
                return;
        }
        o->buf.start += (size_t)n;
        o->buf.len -= (size_t)n;
}

/* The caller's terminal is gone. */
static void hang_up(struct relay *r) {
        if (r->stop_at)
                return;
        r->in_open = r->watch_keys = false;
        r->stop_at = now_ms() + HANGUP_GRACE_MS;
        ask(r, RUN_SIGNAL, SIGHUP);
}

static void on_keys(struct relay *r) {
        struct buffer *b = &r->keys;
        ssize_t n = read(0, b->data, sizeof(b->data));

        if (n <= 0) {
                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return;
                /* VEOF, as a terminal says it. After an unfinished line the first only hands that line over. */
                if (n < 0 && r->g->stdin_raw) {
                        hang_up(r);
                        return;
                }
                r->in_open = false;
                b->data[0] = b->data[1] = 4;
                n = r->mid_line ? 2 : 1;
        } else
                r->mid_line = b->data[n - 1] != '\n';
        b->start = 0;
        b->len = (size_t)n;
}

static void push_keys(struct relay *r) {
        struct buffer *b = &r->keys;
        ssize_t n = write(r->out[0].from, b->data + b->start, b->len);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
                b->len = 0;
        else if (n > 0) {
                b->start += (size_t)n;
                b->len -= (size_t)n;
        }
}

static bool output_left(const struct relay *r) {
        for (size_t i = 0; i < ELEMENTSOF(r->out); i++)
                if (r->out[i].from >= 0 || r->out[i].buf.len > 0)
                        return true;
        return false;
}

static int next_timeout(const struct relay *r, bool foreground) {
        const uint64_t credentials = credentials_due(r->g->credentials), now = credentials < UINT64_MAX ? now_ms() : 0;
        int record = net_record_due(&r->g->log), left = credentials < UINT64_MAX ? (int)MIN(credentials - MIN(now, credentials), 3600u * 1000u) : -1;

        if (left >= 0 && (record < 0 || left < record))
                record = left;
        left = r->pulse.watched && !r->over ? pulse_due(&r->pulse, now_ms(), r->calls.n > 0) : -1;
        if (left >= 0 && (record < 0 || left < record))
                record = left;

        if (r->stop_at || r->give_up_at)
                return LAST_OUTPUT_MS / 4;
        if (r->watch_keys && !foreground)
                return record < 0 ? FOREGROUND_LOOK_MS : MIN(record, FOREGROUND_LOOK_MS);
        return record;
}

/* Secrets that have a new value, by their identities' bits: for the brokers that run. */
static void renew(struct relay *r, uint32_t which) {
        r->g->log.dirty = r->g->log.dirty || (which && r->g->plan->network.on);
        for (uint32_t i = 1; which >> i && i < NET_BROKERS_MAX; i++) {
                const struct run_msg m = {.type = RUN_NET_RENEWED, .identity = i};
                int block = which >> i & 1 ? credentials_pipe(r->g->plan, r->g->credentials, i) : -1;
                if (block >= 0)
                        (void)!fd_send(r->g->supervisor, &m, sizeof(m), &block, 1, 0);
                fd_close(block);
        }
}

static void loop(struct relay *r) {
        struct guard *g = r->g;
        struct stream *tty = &r->out[0];

        while (!r->over || output_left(r)) {
                bool foreground = in_foreground(r);
                bool keys = tty->from >= 0 && g->tty[0] && r->in_open && r->keys.len == 0 && !r->over && foreground;
                if (tty->from >= 0 && foreground)
                        set_raw(r, true);
                struct pollfd p[6 + CALLS_POLL + SECRETS_MAX] = {
                        {.fd = r->sigfd, .events = POLLIN},
                        {.fd = r->over ? -1 : g->supervisor, .events = POLLIN},
                        /* Without POLLIN it still tells that the terminal hung up. */
                        {.fd = keys || (r->watch_keys && !r->over) ? 0 : -1, .events = keys ? POLLIN : 0},
                };
                for (int i = 0; i < 3; i++) {
                        const struct stream *o = &r->out[i];
                        p[3 + i] = o->buf.len ? (struct pollfd){.fd = o->to, .events = POLLOUT}
                                              : (struct pollfd){.fd = o->from, .events = POLLIN};
                }
                /* Keys are pushed when the terminal can take them; its output is waited for at the same fd. */
                if (r->keys.len && tty->from >= 0 && tty->buf.len == 0)
                        p[3].events |= POLLOUT;
                calls_poll(&r->calls, p + 6);
                if (r->pulse.asked || !r->pulse.watched)
                        p[6].fd = -1; /* a call waits for the answer */
                const size_t n_providers = r->over ? 0 : credentials_poll(g->credentials, p + 6 + CALLS_POLL);
                if (poll(p, 6 + CALLS_POLL + n_providers, next_timeout(r, foreground)) < 0) {
                        if (errno != EINTR)
                                usleep(10000); /* no memory just now; the output must not be cut short */
                        continue;
                }
                net_record_write(&r->g->log);
                renew(r, credentials_work(g->credentials));
                if (r->stop_at && now_ms() >= r->stop_at)
                        ask(r, RUN_STOP, END_CALLER);
                if (r->give_up_at && now_ms() >= r->give_up_at)
                        break;
                if (p[0].revents)
                        on_signal(r);
                /* Nothing is done outside for a run whose supervisor does not watch it. */
                const bool call = p[6].revents;
                if (call && !pulse_fresh(&r->pulse, now_ms()))
                        p[6].revents = 0;
                calls_events(&r->calls, p + 6);
                if (p[1].revents)
                        on_supervisor(r, MSG_DONTWAIT);
                else
                        watch(r, call || r->calls.n > 0 || p[0].revents || p[2].revents || p[3].revents || p[4].revents || p[5].revents);
                for (int i = 0; i < 3; i++) {
                        struct stream *o = &r->out[i];
                        if (!p[3 + i].revents)
                                continue;
                        if (o->buf.len)
                                push(o);
                        else if (o->from >= 0 && p[3 + i].revents & (POLLIN | POLLHUP | POLLERR))
                                pull(r, o);
                }
                if (r->keys.len && tty->from >= 0)
                        push_keys(r); /* the master does not block */
                if (p[2].revents & POLLIN || (p[2].revents && !r->watch_keys))
                        on_keys(r);
                else if (p[2].revents)
                        hang_up(r);
        }
}

void guard_run(struct guard *g, struct run_result *ret, struct error *e) {
        /* Not on the stack: its buffers are most of it, and need not be zeroed, nor even touched. */
        static struct relay r;
        sigset_t mask;
        int status;

        r.g = g;
        r.e = e;
        r.in_open = true;
        r.rules = RULES_PLANNED;
        r.calls = CALLS_NONE;
        r.init = -1;
        r.watch_keys = g->stdin_raw;
        r.out[0].from = r.out[1].from = r.out[2].from = -1;
        for (int i = 0; i < 2; i++)
                if (g->out[i] >= 0)
                        set_up_stream(&r.out[i + 1], g->out[i], i + 1);
        follow_policy(&r, g->table, g->budgets);
        fd_close(TAKE_FD(g->table));
        fd_close(TAKE_FD(g->budgets));
        fill_mask(&mask);
        r.sigfd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
        loop(&r);
        calls_end(&r.calls);
        end_network(&r);
        set_raw(&r, false);
        fd_close(r.sigfd);
        fd_close(r.init);
        /* After its last message, which init and all it held did not outlive, the supervisor only tidies up: it is not
         * waited for. One that was lost is, so that its lock is free. */
        if (r.lost) {
                for (unsigned i = 0; r.mute && i < MUTE_LOOKS && waitpid(g->supervisor_pid, &status, WNOHANG) == 0; i++)
                        usleep(MUTE_LOOK_US);
                while (!r.mute && waitpid(g->supervisor_pid, &status, 0) < 0 && errno == EINTR)
                        ;
                r.result = (struct run_result){.end = END_FAILED};
                if (e->errnum == 0)
                        error_set(e, ECANCELED, "the supervisor died: the run was ended");
        }
        if (e->errnum && r.result.end == END_EXIT)
                r.result.end = END_FAILED;
        g->calls = r.calls.accounts;
        *ret = r.result;
}
