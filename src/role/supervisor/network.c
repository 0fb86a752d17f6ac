/* The network as the supervisor sees it: it holds the gate's sockets until something comes in on one of them, asks its guard
 * for a gate then and for a broker when the gate wants one, passes on what they report, and renews their leases. Gate and
 * brokers end when the supervisor's sockets to them do. */
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "role/supervisor/supervisor.h"

/* A gate that ends is started again, but not for ever: each may have been taken over. */
#define GATES_MAX 5u
/* How long a broker forwards without asking again; a supervisor that hangs closes the network within this time. */
#define LEASE_MS 2000u
/* How long the end of a run waits for a gate's last reports. */
#define FLUSH_MS 50u
/* Brokers that a run starts, however often its gate asks. */
#define BROKERS_STARTED_MAX 64u
/* Bytes in the command line's socket that it has not read, beyond which reports are dropped: what else is said to it must never
 * wait, and with it the deadlines, because a gate says much. The socket takes about twice as much. */
#define UNREAD_MAX 98304

void network_init(struct network_side *n) {
        for (size_t i = 0; i < ELEMENTSOF(n->sockets); i++)
                n->sockets[i] = -1;
        for (size_t i = 0; i < ELEMENTSOF(n->brokers); i++)
                n->brokers[i] = -1;
        n->userns = n->netns = n->gate = n->table = n->ca = -1;
        n->next[0] = n->next[1] = n->next[2] = -1;
}

static void close_sockets(struct network_side *n) {
        for (size_t i = 0; i < ELEMENTSOF(n->sockets); i++)
                fd_close(TAKE_FD(n->sockets[i]));
}

void network_cut(struct supervisor *x) {
        struct network_side *n = &x->network;

        fd_close(TAKE_FD(n->gate));
        for (size_t i = 0; i < ELEMENTSOF(n->brokers); i++)
                fd_close(TAKE_FD(n->brokers[i]));
        close_sockets(n);
        for (size_t i = 0; i < x->plan->network.n_published && !n->closed; i++)
                fd_close(x->s->published[i]);
        n->closed = true;
        control_answer(x, -ESHUTDOWN, "the run has no network any more");
}

static void drop_next(struct network_side *n) {
        for (size_t i = 0; i < ELEMENTSOF(n->next); i++)
                fd_close(TAKE_FD(n->next[i]));
}

/* First the rules, by the guard, all or none; what they let through is decided on by the gate all the same. */
void network_update(struct supervisor *x, int fds[3], bool reads_tls) {
        struct network_side *n = &x->network;
        const int rules[] = {n->userns, n->netns, fds[2]};
        struct run_msg m = {.type = RUN_NET_RULES};
        struct stat st;

        if (n->next[0] >= 0) { /* who asked for it has gone, and the guard has not answered yet */
                control_answer(x, -EBUSY, "another policy is just being put in force");
                for (size_t i = 0; i < ELEMENTSOF(n->next); i++)
                        close(fds[i]);
                return;
        }
        memcpy(n->next, fds, sizeof(n->next));
        if (n->closed || n->table < 0)
                control_answer(x, -ENOTSUP, "the run was started without a network");
        else if (reads_tls && (fstat(n->ca, &st) < 0 || st.st_size == 0))
                control_answer(x, -ENOTSUP, "rules that look at requests within TLS need a CA in the sandbox, which is made at the start, "
                                            "when the policy has such a rule");
        else if (fd_send(x->s->cli, &m, sizeof(m), rules, ELEMENTSOF(rules), MSG_DONTWAIT) < 0)
                control_answer(x, -EIO, "the run's own command does not answer");
        else
                return;
        drop_next(n);
}

static void settle(struct supervisor *x) {
        if (x->network.unsure == 0)
                control_answer(x, 0, NULL);
}

void network_rules_done(struct supervisor *x, int result, const char *text) {
        struct network_side *n = &x->network;
        const struct net_order order = {.type = NET_POLICY};

        if (n->next[0] < 0)
                return;
        if (result < 0) {
                drop_next(n);
                control_answer(x, result, text);
                return;
        }
        /* Those that are started from here on have it from the start. */
        close(n->table);
        close(x->s->budgets);
        n->table = TAKE_FD(n->next[0]);
        x->s->budgets = TAKE_FD(n->next[1]);
        drop_next(n);
        n->unsure = 0;
        const int both[] = {n->table, x->s->budgets};
        /* One that does not take it does not go on with the old one either. */
        if (n->gate >= 0) {
                if (fd_send(n->gate, &order, sizeof(order), both, 1, MSG_DONTWAIT) == 0)
                        n->unsure++;
                else
                        fd_close(TAKE_FD(n->gate));
        }
        for (size_t i = 0; i < ELEMENTSOF(n->brokers); i++) {
                if (n->brokers[i] < 0)
                        continue;
                if (fd_send(n->brokers[i], &order, sizeof(order), both, 2, MSG_DONTWAIT) == 0)
                        n->unsure++;
                else
                        fd_close(TAKE_FD(n->brokers[i]));
        }
        settle(x);
}

int network_namespaces(struct supervisor *x, pid_t init) {
        struct network_side *n = &x->network;
        char path[48];

        snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)init);
        n->userns = open(path, O_RDONLY | O_CLOEXEC);
        snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)init);
        n->netns = open(path, O_RDONLY | O_CLOEXEC);
        n->table = x->s->table;
        n->ca = x->s->ca;
        return n->userns < 0 || n->netns < 0 ? -errno : 0;
}

void network_take(struct supervisor *x, const int *fds, size_t n) {
        if (n == 1 && !x->plan->network.on && x->network.sockets[NETNS_DNS_UDP4] < 0) {
                x->network.sockets[NETNS_DNS_UDP4] = fds[0];
                return;
        }
        if (n == NETNS_N && x->network.sockets[0] < 0) {
                memcpy(x->network.sockets, fds, sizeof(x->network.sockets));
                return;
        }
        for (size_t i = 0; i < n; i++)
                close(fds[i]);
}

static int ask_guard(struct supervisor *x, enum net_role role, const int *fds, size_t n) {
        struct run_msg m = {.type = RUN_NET_START, .status = role};
        return fd_send(x->s->cli, &m, sizeof(m), fds, n, MSG_DONTWAIT);
}

/* A pair of sockets, one end of which stays here. */
static int make_pair(int *ret_ours, int *ret_theirs) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return -errno;
        *ret_ours = pair[0];
        *ret_theirs = pair[1];
        return 0;
}

static void fail(struct supervisor *x, int err, const char *what) {
        if (!x->plan->network.on) /* there was none to fail */
                return;
        struct run_msg m = {.type = RUN_NET_FAILED, .status = err};
        snprintf(m.report.text, sizeof(m.report.text), "%s", what);
        (void)!send(x->s->cli, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A run without a network has a gate only to say no to questions for names, and to tell the caller of it. What it needs, the
 * guard makes when it is asked. */
static int ask_for_answers(struct supervisor *x, int theirs) {
        const int fds[] = {theirs, x->network.sockets[NETNS_DNS_UDP4]};
        struct run_msg m = {.type = RUN_NET_START, .status = NET_ROLE_GATE, .init = x->init_pid};

        return fd_send(x->s->cli, &m, sizeof(m), fds, ELEMENTSOF(fds), MSG_DONTWAIT);
}

static void start_gate(struct supervisor *x) {
        struct network_side *n = &x->network;
        const struct plan_network *plan = &x->plan->network;
        struct net_order config = {.type = NET_CONFIG, .pool_prefix = plan->pool_prefix};
        int fds[FD_PASS_MAX] = {n->userns, n->netns}, theirs = -1, r;

        if (n->gates++ >= GATES_MAX) {
                fail(x, 0, "the gate ended too often: this run has no network any more");
                network_cut(x);
                return;
        }
        memcpy(config.pool, plan->pool, sizeof(config.pool));
        memcpy(config.own, plan->own, sizeof(config.own));
        for (size_t i = 0; i < ELEMENTSOF(n->sockets); i++)
                config.sockets |= (n->sockets[i] >= 0 ? 1u : 0u) << i;
        config.n_published = (uint32_t)plan->n_published;
        for (size_t i = 0; i < plan->n_published; i++)
                config.published[i] = plan->published[i].inside;
        if ((r = make_pair(&n->gate, &theirs)) == 0) {
                fds[2] = theirs;
                fds[3] = n->table;
                fds[4] = n->ca;
                memcpy(fds + 5, n->sockets, sizeof(n->sockets));
                memcpy(fds + NET_START_FDS_MIN, x->s->published, sizeof(int) * plan->n_published);
                r = fd_send(n->gate, &config, sizeof(config), NULL, 0, MSG_DONTWAIT);
                if (r == 0)
                        r = plan->on ? ask_guard(x, NET_ROLE_GATE, fds, NET_START_FDS_MIN + plan->n_published) : ask_for_answers(x, theirs);
                close(theirs);
        }
        if (r < 0) {
                fail(x, r, "the gate cannot be started");
                network_cut(x);
        }
}

/* The broker of one upstream identity, with a socket between it and the gate. */
static void start_broker(struct supervisor *x, uint32_t identity) {
        struct network_side *n = &x->network;
        struct net_order order = {.type = NET_BROKER, .n = identity};
        int control = -1, channel = -1, gate = -1, r;

        if (identity != 0 || n->brokers_started >= BROKERS_STARTED_MAX) /* 0 is the only one as yet: no credential */
                return;
        n->brokers_started++;
        fd_close(TAKE_FD(n->brokers[identity]));
        if ((r = make_pair(&n->brokers[identity], &control)) < 0)
                return;
        r = make_pair(&gate, &channel);
        if (r == 0) {
                const int fds[] = {control, n->table, channel, x->s->budgets};
                if ((r = ask_guard(x, NET_ROLE_BROKER, fds, ELEMENTSOF(fds))) == 0)
                        r = fd_send(n->gate, &order, sizeof(order), &gate, 1, MSG_DONTWAIT);
                close(gate);
                close(channel);
        }
        close(control);
        if (r < 0) {
                fail(x, r, "a broker cannot be started");
                fd_close(TAKE_FD(n->brokers[identity]));
        }
}

static void grant_lease(struct supervisor *x, int broker) {
        struct net_order order = {.type = NET_LEASE, .n = supervisor_now() + LEASE_MS};
        if (!x->paused && !x->ended)
                (void)!fd_send(broker, &order, sizeof(order), NULL, 0, MSG_DONTWAIT);
}

/* Everything is a number or a text that ends within its array; what is not is dropped. */
static void on_report(struct supervisor *x, struct net_report *report, int from) {
        struct run_msg m = {.type = RUN_NET_REPORT};
        int unread;

        report->host[sizeof(report->host) - 1] = 0;
        report->text[sizeof(report->text) - 1] = 0;
        report->why[sizeof(report->why) - 1] = 0;
        report->fix[sizeof(report->fix) - 1] = 0;
        switch (report->type) {
        case NET_BROKER_WANTED:
                if (from == x->network.gate && report->rule < NET_BROKERS_MAX)
                        start_broker(x, report->rule);
                break;
        case NET_FLUSHED:
                x->network.flushed = true;
                break;
        case NET_POLICY_DONE:
                if (x->network.unsure > 0 && --x->network.unsure == 0)
                        settle(x);
                break;
        case NET_LEASE_WANTED:
                if (from != x->network.gate)
                        grant_lease(x, from);
                break;
        case NET_DENIED:
        case NET_UPSTREAM:
        case NET_SPENT:
        case NET_ENDED:
                m.report = *report;
                /* A command line that does not read for a while loses reports, and delays nothing. */
                if (ioctl(x->s->cli, SIOCOUTQ, &unread) < 0 || unread > UNREAD_MAX ||
                    send(x->s->cli, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                        x->network.lost++;
                break;
        }
}

/* All that is there, within a turn; the end closes it. */
static void read_reports(struct supervisor *x, int *fd) {
        for (unsigned i = 0; i < 64 && *fd >= 0; i++) {
                struct net_report report;
                ssize_t n = recv(*fd, &report, sizeof(report), MSG_DONTWAIT);
                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return;
                if (n == sizeof(report))
                        on_report(x, &report, *fd);
                else if (n <= 0) {
                        fd_close(TAKE_FD(*fd));
                        if (x->network.unsure > 0 && --x->network.unsure == 0)
                                settle(x);
                }
        }
}

/* A command that ends at once after a refusal: the line about it is still on its way. */
void network_flush(struct supervisor *x) {
        const struct net_order order = {.type = NET_FLUSH};
        const uint64_t until = supervisor_now() + FLUSH_MS;
        struct network_side *n = &x->network;

        if (n->gate >= 0 && fd_send(n->gate, &order, sizeof(order), NULL, 0, MSG_DONTWAIT) < 0)
                return;
        for (uint64_t now; n->gate >= 0 && !n->flushed && (now = supervisor_now()) < until;) {
                struct pollfd p = {.fd = n->gate, .events = POLLIN};
                if (poll(&p, 1, (int)(until - now)) > 0)
                        read_reports(x, &n->gate);
        }
        for (size_t i = 0; i < ELEMENTSOF(n->brokers); i++)
                if (n->brokers[i] >= 0)
                        read_reports(x, &n->brokers[i]);
}

size_t network_poll(const struct supervisor *x, struct pollfd *p) {
        const struct network_side *n = &x->network;
        size_t k = 0;

        if (n->gate >= 0)
                p[k++] = (struct pollfd){.fd = n->gate, .events = POLLIN};
        else { /* nobody reads these: whatever comes in starts a gate */
                for (size_t i = 0; i < ELEMENTSOF(n->sockets); i++)
                        if (n->sockets[i] >= 0)
                                p[k++] = (struct pollfd){.fd = n->sockets[i], .events = POLLIN};
                for (size_t i = 0; i < x->plan->network.n_published && n->sockets[0] >= 0; i++)
                        p[k++] = (struct pollfd){.fd = x->s->published[i], .events = POLLIN};
        }
        for (size_t i = 0; i < ELEMENTSOF(n->brokers); i++)
                if (n->brokers[i] >= 0)
                        p[k++] = (struct pollfd){.fd = n->brokers[i], .events = POLLIN};
        return k;
}

void network_events(struct supervisor *x, const struct pollfd *p, size_t n) {
        struct network_side *net = &x->network;
        bool knock = false;

        for (size_t i = 0; i < n; i++) {
                if (!p[i].revents)
                        continue;
                if (p[i].fd == net->gate)
                        read_reports(x, &net->gate);
                else {
                        int *broker = NULL;
                        for (size_t k = 0; k < ELEMENTSOF(net->brokers); k++)
                                if (net->brokers[k] >= 0 && net->brokers[k] == p[i].fd)
                                        broker = &net->brokers[k];
                        if (broker)
                                read_reports(x, broker);
                        else
                                knock = true;
                }
        }
        if (knock && net->gate < 0 && !net->closed && !x->ended)
                start_gate(x);
}
