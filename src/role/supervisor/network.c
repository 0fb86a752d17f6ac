/* The network as the supervisor sees it: it holds the gate's sockets until something comes in on one of them, asks its guard
 * for a gate then and for a broker when the gate wants one, passes on what they report, and renews their leases. Gate and
 * brokers end when the supervisor's sockets to them do: by themselves, and by SIGKILL (peer.c). */
#include <linux/sockios.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "model/secret-sigv4.h"
#include "role/supervisor/supervisor.h"
#include "svc/net-account.h"
#include "sys/process.h"

/* A gate that ends is started again, but not for ever: each may have been taken over. */
#define GATES_MAX 5u
/* How long a broker forwards without asking again; a supervisor that hangs closes the network within this time. */
#define LEASE_MS 2000u
/* How long a gate or a broker may take to put another policy in force, before it is ended. */
#define UPDATE_MS 5000u
/* How long the end of a run waits for a gate's last reports. */
#define FLUSH_MS 50u
/* The same where the kernel has refusals that no gate has read: it may only be starting, on a busy machine. */
#define FLUSH_UNREAD_MS 1000u
/* Brokers that a run starts, however often its gate asks. */
#define BROKERS_STARTED_MAX 64u
/* Bytes in the command line's socket that it has not read, beyond which reports are dropped: what else is said to it must never
 * wait, and with it the deadlines, because a gate says much. The socket takes about twice as much. */
#define UNREAD_MAX 98304

void network_init(struct network_side *n) {
        for (size_t i = 0; i < ELEMENTSOF(n->sockets); i++)
                n->sockets[i] = -1;
        n->gate = PEER_NONE;
        for (size_t i = 0; i < ELEMENTSOF(n->brokers); i++)
                n->brokers[i] = PEER_NONE;
        n->asker = -1;
        n->userns = n->netns = n->table = n->ca = -1;
        n->former[0] = n->former[1] = -1;
}

static void close_sockets(struct network_side *n) {
        for (size_t i = 0; i < ELEMENTSOF(n->sockets); i++)
                fd_close(TAKE_FD(n->sockets[i]));
}

void network_cut(struct supervisor *x) {
        struct network_side *n = &x->network;

        peer_close(&n->gate);
        for (size_t i = 0; i < ELEMENTSOF(n->brokers); i++)
                peer_close(&n->brokers[i]);
        close_sockets(n);
        for (size_t i = 0; i < x->plan->network.n_published && !n->closed; i++)
                fd_close(x->s->published[i]);
        n->closed = true;
        control_answer_to(&n->asker, -ESHUTDOWN, "the run has no network any more");
}

/* One that does not take it does not go on with the old one either. */
static void order_policy(struct network_peer *p, const int *fds, size_t n) {
        const struct net_order order = {.type = NET_POLICY};

        if (p->fd < 0)
                return;
        p->unsure++;
        if (fd_send(p->fd, &order, sizeof(order), fds, n, MSG_DONTWAIT) < 0)
                peer_close(p);
}

/* For all that run, and those that are started from here on. */
static void change_policy(struct supervisor *x, int table, int budgets) {
        const int both[] = {table, budgets};
        struct network_side *n = &x->network;

        n->table = table;
        x->s->budgets = budgets;
        n->unsure_until = supervisor_now() + UPDATE_MS;
        order_policy(&n->gate, both, 1);
        for (size_t i = 0; i < ELEMENTSOF(n->brokers); i++)
                order_policy(&n->brokers[i], both, 2);
}

/* Every gate and broker that runs has said that the new policy is in force, or runs no more; and the guard, that the rules are. */
static void settle(struct supervisor *x) {
        struct network_side *n = &x->network;
        bool unsure = n->gate.unsure > 0 || n->former[0] >= 0;

        for (size_t i = 0; i < ELEMENTSOF(n->brokers); i++)
                unsure = unsure || n->brokers[i].unsure > 0;
        if (unsure)
                return;
        n->unsure_until = 0;
        control_answer_to(&n->asker, 0, NULL);
}

/* Gate and brokers have it at once: they decide, whatever the namespace's rules let through, which take the kernel a grace period
 * of RCU (10 ms and more). Where the guard cannot change those, the former policy comes back. */
void network_update(struct supervisor *x, int fds[3], bool reads_tls) {
        struct network_side *n = &x->network;
        const int rules[] = {n->userns, n->netns, fds[2], fds[0], fds[1]};
        struct run_msg m = {.type = RUN_NET_RULES};
        struct stat st;

        if (n->former[0] >= 0) /* who asked for it has gone, and the guard has not answered yet */
                control_answer(x, -EBUSY, "another policy is just being put in force");
        else if (n->closed || n->table < 0)
                control_answer(x, -ENOTSUP, "the run was started without a network");
        else if (reads_tls && (fstat(n->ca, &st) < 0 || st.st_size == 0))
                control_answer(x, -ENOTSUP, "rules that look at requests within TLS need a CA in the sandbox, which is made at the start, "
                                            "when the policy has such a rule");
        else if (account_carry(x->s->budgets, fds[1]) < 0)
                control_answer(x, -EIO, "what the run has used of its budget cannot be carried over");
        else if (fd_send(x->s->cli, &m, sizeof(m), rules, ELEMENTSOF(rules), MSG_DONTWAIT) < 0)
                control_answer(x, -EIO, "the run's own command does not answer");
        else {
                n->former[0] = n->table;
                n->former[1] = x->s->budgets;
                change_policy(x, TAKE_FD(fds[0]), TAKE_FD(fds[1]));
                n->asker = TAKE_FD(x->asker);
                events_policy(x, n->table);
                children_end(x);
        }
        for (size_t i = 0; i < 3; i++)
                fd_close(fds[i]);
}

/* The broker is killed, and with it go its sockets: nothing that carries the secret is sent from here on. */
static void end_secret(struct supervisor *x, uint32_t identity, enum secret_end why) {
        const struct net_order order = {.type = NET_REVOKED, .n = identity};
        const struct run_msg m = {.type = RUN_NET_SECRET, .status = why, .identity = identity};
        struct network_side *n = &x->network;

        if (n->revoked >> identity & 1)
                return;
        n->revoked |= 1u << identity;
        peer_close(&n->brokers[identity]);
        if (n->gate.fd >= 0 && fd_send(n->gate.fd, &order, sizeof(order), NULL, 0, MSG_DONTWAIT) < 0)
                peer_close(&n->gate); /* the next one is told when it starts */
        (void)!send(x->s->cli, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
        events_secret_over(x, identity, why == SECRET_REVOKED);
        children_say(x, CONTROL_WORD_REVOKED, x->plan->network.secrets[identity - 1].name);
        settle(x);
}

void network_forget_secrets(struct supervisor *x) {
        for (size_t i = 0; i < x->plan->network.n_secrets; i++)
                x->network.revoked |= 1u << (i + 1);
}

void network_renewed(struct supervisor *x, uint32_t identity, int block) {
        const struct net_order order = {.type = NET_RENEWED, .n = identity};
        struct network_peer *p = &x->network.brokers[identity];

        if (p->fd >= 0 && fd_send(p->fd, &order, sizeof(order), &block, 1, MSG_DONTWAIT) < 0)
                peer_close(p); /* the next is started with it */
}

int network_revoke_named(struct supervisor *x, const char *name) {
        const struct plan_network *p = &x->plan->network;
        bool found = false;

        for (size_t i = 0; i < p->n_secrets; i++)
                if (!name[0] || streq(name, p->secrets[i].name) || secret_is_part_of(&p->secrets[i], name)) {
                        found = true;
                        end_secret(x, (uint32_t)i + 1, SECRET_REVOKED);
                }
        return found ? 0 : -ENOENT;
}

uint64_t network_secret_left(const struct supervisor *x, uint32_t identity) {
        const uint64_t now = supervisor_now(), ttl = x->plan->network.secrets[identity - 1].ttl;

        if (x->network.revoked >> identity & 1)
                return 0;
        if (ttl == 0)
                return UINT64_MAX;
        return x->started + ttl > now ? x->started + ttl - now : 0;
}

/* ms, when the first secret ends that has not yet; UINT64_MAX: none does. */
static uint64_t secrets_due(const struct supervisor *x) {
        const struct plan_network *p = &x->plan->network;
        uint64_t at = UINT64_MAX;

        for (size_t i = 0; i < p->n_secrets; i++)
                if (p->secrets[i].ttl && !(x->network.revoked >> (i + 1) & 1))
                        at = MIN(at, x->started + p->secrets[i].ttl);
        return at;
}

static void secrets_tick(struct supervisor *x) {
        const struct plan_network *p = &x->plan->network;

        for (size_t i = 0; i < p->n_secrets; i++)
                if (p->secrets[i].ttl && supervisor_now() >= x->started + p->secrets[i].ttl)
                        end_secret(x, (uint32_t)i + 1, SECRET_EXPIRED);
}

void network_rules_done(struct supervisor *x, int result, const char *text) {
        struct network_side *n = &x->network;
        int table = TAKE_FD(n->former[0]), budgets = TAKE_FD(n->former[1]);

        if (table < 0)
                return;
        if (result < 0) {
                int refused[] = {n->table, x->s->budgets};
                (void)!account_carry(x->s->budgets, budgets); /* else it has what was used until then */
                change_policy(x, table, budgets);
                events_policy(x, n->table); /* the former one */
                table = refused[0];
                budgets = refused[1];
                control_answer_to(&n->asker, result, text);
        }
        close(table);
        close(budgets);
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

static int ask_guard(struct supervisor *x, enum net_role role, uint32_t serial, uint32_t identity, const int *fds, size_t n) {
        struct run_msg m = {.type = RUN_NET_START, .status = role, .serial = serial, .identity = identity};
        return fd_send(x->s->cli, &m, sizeof(m), fds, n, MSG_DONTWAIT);
}

static void fail(struct supervisor *x, int err, const char *what) {
        if (!x->plan->network.on) /* there was none to fail */
                return;
        struct run_msg m = {.type = RUN_NET_FAILED, .status = err};
        snprintf(m.report.text, sizeof(m.report.text), "%s", what);
        events_simple(x, EVENT_FAILURE, "network", what);
        (void)!send(x->s->cli, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A run without a network has a gate only to say no to questions for names, and to tell the caller of it. What it needs, the
 * guard makes when it is asked. */
static int ask_for_answers(struct supervisor *x, int theirs) {
        const int fds[] = {theirs, x->network.sockets[NETNS_DNS_UDP4]};
        struct run_msg m = {.type = RUN_NET_START, .status = NET_ROLE_GATE, .serial = x->network.gate.serial, .init = x->init_pid};

        return fd_send(x->s->cli, &m, sizeof(m), fds, ELEMENTSOF(fds), MSG_DONTWAIT);
}

static void start_gate(struct supervisor *x) {
        struct network_side *n = &x->network;
        const struct plan_network *plan = &x->plan->network;
        struct net_order config = {.type = NET_CONFIG, .pool_prefix = plan->pool_prefix, .revoked = n->revoked};
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
        if ((r = peer_open(&n->gate, ++n->serial, &theirs)) == 0) {
                fds[2] = theirs;
                fds[3] = n->table;
                fds[4] = n->ca;
                memcpy(fds + 5, n->sockets, sizeof(n->sockets));
                memcpy(fds + NET_START_FDS_MIN, x->s->published, sizeof(int) * plan->n_published);
                r = fd_send(n->gate.fd, &config, sizeof(config), NULL, 0, MSG_DONTWAIT);
                if (r == 0)
                        r = plan->on ? ask_guard(x, NET_ROLE_GATE, n->serial, 0, fds, NET_START_FDS_MIN + plan->n_published) : ask_for_answers(x, theirs);
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
        int control = -1, channel[2] = {-1, -1}, r = -ESHUTDOWN;

        if (identity > x->plan->network.n_secrets || n->revoked >> identity & 1 || x->ended || n->brokers_started >= BROKERS_STARTED_MAX)
                return;
        n->brokers_started++;
        peer_close(&n->brokers[identity]);
        if ((r = peer_open(&n->brokers[identity], ++n->serial, &control)) < 0)
                return;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, channel) < 0)
                r = -errno;
        if (r == 0) {
                const int fds[] = {control, n->table, channel[1], x->s->budgets, x->s->given};
                if ((r = ask_guard(x, NET_ROLE_BROKER, n->serial, identity, fds, ELEMENTSOF(fds))) == 0)
                        r = fd_send(n->gate.fd, &order, sizeof(order), &channel[0], 1, MSG_DONTWAIT);
        }
        fd_close(channel[0]);
        fd_close(channel[1]);
        close(control);
        if (r < 0) {
                fail(x, r, "a broker cannot be started");
                peer_close(&n->brokers[identity]);
        }
}

static void grant_lease(struct supervisor *x, int broker) {
        struct net_order order = {.type = NET_LEASE, .n = supervisor_now() + LEASE_MS};
        if (!x->paused && !x->ended)
                (void)!fd_send(broker, &order, sizeof(order), NULL, 0, MSG_DONTWAIT);
}

static void on_report(struct supervisor *x, const struct net_report *report, struct network_peer *from) {
        const bool gate = from == &x->network.gate;
        struct run_msg m = {.type = RUN_NET_REPORT};
        int unread;

        stop_report(x, report); /* first: an alarm waits for nothing. `from` may be closed then */
        trail_count_lost(&x->record.trail, report->lost);
        switch (report->type) {
        case NET_BROKER_WANTED:
                if (gate)
                        start_broker(x, report->rule);
                break;
        case NET_FLUSHED:
                x->network.flushed = x->network.flushed || gate;
                break;
        case NET_POLICY_DONE:
                from->unsure -= from->unsure > 0;
                settle(x);
                break;
        case NET_LEASE_WANTED:
                if (!gate)
                        grant_lease(x, from->fd);
                break;
        case NET_ASKED:
                events_report(x, report, from);
                break;
        case NET_DENIED:
        case NET_UPSTREAM:
        case NET_SPENT:
        case NET_ENDED:
                events_report(x, report, from);
                m.report = *report;
                /* A command line that does not read for a while loses reports, and delays nothing. */
                if (ioctl(x->s->cli, SIOCOUTQ, &unread) < 0 || unread > UNREAD_MAX ||
                    send(x->s->cli, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                        x->network.lost++;
                break;
        }
}

/* All that is there, within a turn; the end closes it. */
static void read_reports(struct supervisor *x, struct network_peer *p) {
        struct net_report report;
        int k = 1;

        for (unsigned i = 0; i < 64 && p->fd >= 0 && k > 0; i++)
                if ((k = peer_read(p, &report)) > 0)
                        on_report(x, &report, p);
        if (k >= 0)
                return;
        if (k == -EBADMSG)
                fail(x, 0, p == &x->network.gate ? "the gate sent what no gate sends, and was ended" : "a broker sent what no broker sends, and was ended");
        peer_close(p);
        settle(x);
}

static bool has_unread(const struct network_side *n) {
        struct pollfd p = {.fd = n->sockets[NETNS_LOG], .events = POLLIN};
        return p.fd >= 0 && poll(&p, 1, 0) > 0 && p.revents & POLLIN;
}

static bool has_unread_reports(const struct network_peer *p) {
        struct pollfd q = {.fd = p->fd, .events = POLLIN};
        return peer_heard(p) && poll(&q, 1, 0) > 0;
}

/* A command that ends at once after a refusal: the line about it is still on its way, or waits for a gate. */
void network_flush(struct supervisor *x) {
        const struct net_order order = {.type = NET_FLUSH};
        struct network_side *n = &x->network;
        bool unread = !n->closed && has_unread(n);

        if (unread && n->gate.fd < 0)
                start_gate(x);
        const uint64_t until = supervisor_now() + (unread ? FLUSH_UNREAD_MS : FLUSH_MS);
        if (n->gate.fd >= 0 && fd_send(n->gate.fd, &order, sizeof(order), NULL, 0, MSG_DONTWAIT) < 0)
                return;
        for (uint64_t now; peer_heard(&n->gate) && !n->flushed && (now = supervisor_now()) < until;) {
                struct pollfd p = {.fd = n->gate.fd, .events = POLLIN};
                if (poll(&p, 1, (int)(until - now)) > 0)
                        read_reports(x, &n->gate);
        }
        /* A broker reports before the answer that the command has had. */
        for (size_t i = 0; i < ELEMENTSOF(n->brokers); i++)
                while (has_unread_reports(&n->brokers[i]))
                        read_reports(x, &n->brokers[i]);
}

void network_started(struct supervisor *x, uint32_t serial, int pidfd) {
        struct network_side *n = &x->network;
        struct network_peer *p = n->gate.serial == serial ? &n->gate : NULL;

        for (size_t i = 0; i < ELEMENTSOF(n->brokers) && !p; i++)
                if (n->brokers[i].serial == serial)
                        p = &n->brokers[i];
        if (p && p->fd >= 0 && p->pidfd < 0)
                p->pidfd = pidfd;
        else { /* it has been closed meanwhile */
                (void)!process_signal(pidfd, SIGKILL);
                close(pidfd);
        }
}

void network_last_started(struct supervisor *x) {
        int fds[FD_PASS_MAX];
        struct run_msg m;
        size_t n;

        while (x->s->cli >= 0 && fd_receive(x->s->cli, &m, sizeof(m), fds, &n, MSG_DONTWAIT) > 0)
                for (size_t i = 0; i < n; i++) {
                        (void)!process_signal(fds[i], SIGKILL);
                        close(fds[i]);
                }
}

uint64_t network_due(const struct supervisor *x) {
        const struct network_side *n = &x->network;
        uint64_t at = peer_due(&n->gate);

        for (size_t i = 0; i < ELEMENTSOF(n->brokers); i++)
                at = MIN(at, peer_due(&n->brokers[i]));
        at = MIN(at, secrets_due(x));
        return n->unsure_until ? MIN(at, n->unsure_until) : at;
}

void network_tick(struct supervisor *x) {
        struct network_side *n = &x->network;

        secrets_tick(x);
        if (n->unsure_until == 0 || supervisor_now() < n->unsure_until)
                return;
        if (n->gate.unsure)
                peer_close(&n->gate);
        for (size_t i = 0; i < ELEMENTSOF(n->brokers); i++)
                if (n->brokers[i].unsure)
                        peer_close(&n->brokers[i]);
        n->unsure_until = 0; /* the guard may still be at it: it is stopped, or the machine is slow */
        settle(x);
}

size_t network_poll(const struct supervisor *x, struct pollfd *p) {
        const struct network_side *n = &x->network;
        size_t k = 0;

        if (n->gate.fd >= 0) {
                if (peer_heard(&n->gate))
                        p[k++] = (struct pollfd){.fd = n->gate.fd, .events = POLLIN};
        } else { /* nobody reads these: whatever comes in starts a gate */
                for (size_t i = 0; i < ELEMENTSOF(n->sockets); i++)
                        if (n->sockets[i] >= 0)
                                p[k++] = (struct pollfd){.fd = n->sockets[i], .events = POLLIN};
                for (size_t i = 0; i < x->plan->network.n_published && n->sockets[0] >= 0; i++)
                        p[k++] = (struct pollfd){.fd = x->s->published[i], .events = POLLIN};
        }
        for (size_t i = 0; i < ELEMENTSOF(n->brokers); i++)
                if (peer_heard(&n->brokers[i]))
                        p[k++] = (struct pollfd){.fd = n->brokers[i].fd, .events = POLLIN};
        return k;
}

void network_events(struct supervisor *x, const struct pollfd *p, size_t n) {
        struct network_side *net = &x->network;
        bool knock = false;

        for (size_t i = 0; i < n; i++) {
                if (!p[i].revents)
                        continue;
                if (p[i].fd == net->gate.fd)
                        read_reports(x, &net->gate);
                else {
                        struct network_peer *broker = NULL;
                        for (size_t k = 0; k < ELEMENTSOF(net->brokers); k++)
                                if (net->brokers[k].fd >= 0 && net->brokers[k].fd == p[i].fd)
                                        broker = &net->brokers[k];
                        if (broker)
                                read_reports(x, broker);
                        else
                                knock = true;
                }
        }
        if (knock && net->gate.fd < 0 && !net->closed && !x->ended)
                start_gate(x);
}
