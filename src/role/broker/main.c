/* belljar-broker: see broker.h. Executed by net-start.c with the fds of net-msg.h; locks itself in before it takes a job. Ends
 * when the supervisor closes its end. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "generated/seccomp-broker.h"
#include "model/canonical.h"
#include "role/broker/broker.h"
#include "svc/net-cage.h"
#include "svc/net-table.h"
#include "svc/resolver.h"

#define TICK_MS 1000
#define RENEW_MS 1000 /* before a lease ends, the next is asked for */
#define ASK_AGAIN_MS 250
#define HELD_TICK_MS 100

struct broker broker;

void broker_reset_on_close(int fd) {
        const struct linger now = {.l_onoff = 1};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

void broker_close_on_end(int fd) {
        const struct linger off = {};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
}

int broker_read_place(const struct broker_job *job, struct request *r, char host[REQUEST_HOST_MAX + 1]) {
        int k = canonical_host(job->host, strlen(job->host), host, r, NULL);
        r->port = (uint16_t)job->port;
        return k;
}

bool broker_may_forward(struct broker *b) {
        if (b->loop.now + RENEW_MS >= b->lease && b->loop.now >= b->asked + ASK_AGAIN_MS) {
                b->asked = b->loop.now;
                net_control_say(&b->control, NET_LEASE_WANTED, 0);
        }
        bool may = b->loop.now < b->lease;
        b->held = !may;
        return may;
}

static void take_order(const struct net_order *o, int *fds, size_t n) {
        struct broker *b = &broker;

        if (o->type == NET_LEASE) {
                b->lease = o->n;
                b->held = b->loop.now >= b->lease;
                connections_resume(b);
                exchanges_resume(b);
        } else if (o->type == NET_POLICY && n == 2) {
                if (net_table_map(fds[0], &b->table) < 0 || account_init(fds[1], &b->table) < 0)
                        exit(1); /* never the old one on */
                given_policy(&b->table);
                connections_decide_again(b);
                exchanges_decide_again(b);
                net_control_say(&b->control, NET_POLICY_DONE, 0);
        } else if (o->type == NET_RENEWED && n == 1) {
                struct error e = {};
                if (credential_renew(fds[0], &e) < 0)
                        exit(1); /* the next one is started with the new value */
        }
}

uint64_t broker_netns_of(int fd) {
        uint64_t cookie = 0;
        socklen_t n = sizeof(cookie);
        return getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &n) == 0 && n == sizeof(cookie) ? cookie : 0;
}

static void take_job(struct broker *b, const struct broker_job *job, int *fds, size_t n) {
        if (job->type == BROKER_JOIN)
                connection_join(b, job, fds, n);
        else if (job->type == BROKER_CONNECT)
                connection_new(b, job, TAKE_FD(fds[0]));
        else
                exchange_new(b, job, TAKE_FD(fds[0]));
}

/* A gate that has ended, or says what none says: what passes here goes on, and the next gate gets a broker of its own. */
static void gate_ready(struct watch *w, uint32_t events) {
        struct broker_job job;
        int fds[FD_PASS_MAX];
        size_t n_fds;

        (void)events;
        ssize_t n = fd_receive(w->fd, &job, sizeof(job), fds, &n_fds, MSG_DONTWAIT | MSG_TRUNC);
        if (n == -EAGAIN || n == -EINTR)
                return;
        int r = n > 0 ? broker_job_read(&job, (size_t)n, n_fds, &job) : -ECONNRESET;
        if (r == 0)
                take_job(&broker, &job, fds, n_fds);
        else if (r != -EMFILE)
                loop_close(&broker.loop, w);
        for (size_t i = 0; i < n_fds && n >= 0; i++)
                fd_close(fds[i]);
}

/* Deadlines are seconds away: what looks at every connection is done once in a while, and not with each batch of events. */
static int tick(void *arg) {
        static uint64_t next;
        struct broker *b = (struct broker *)arg;
        int dns = resolver_tick(), timeout = -1;

        if (b->n_connections > 0) {
                if (b->loop.now >= next) {
                        next = b->loop.now + TICK_MS;
                        dials_tick();
                        connections_tick(b);
                        exchanges_tick(b);
                }
                timeout = (int)(next - b->loop.now);
        }
        int idle = upstreams_tick();
        if (idle >= 0 && (timeout < 0 || idle < timeout))
                timeout = idle;
        if (b->held && b->n_connections > 0) {
                (void)broker_may_forward(b);
                timeout = HELD_TICK_MS;
        }
        if (b->gate.fd < 0 && b->n_connections == 0)
                exit(0);
        return dns >= 0 && (timeout < 0 || dns < timeout) ? dns : timeout;
}

static bool allows(const struct verdict *v, const struct request_address *a, uint16_t port) { return table_address_allowed(&broker.table, v, a, port); }

int main(void) {
        struct broker *b = &broker;
        struct error e = {};

        /* What the caller goes by, where its environment says so (net-start.c). */
        int next = BROKER_FD_TRUST, file = getenv("SSL_CERT_FILE") ? next++ : -1, directory = getenv("SSL_CERT_DIR") ? next : -1;
        if (loop_init(&b->loop) < 0 || resolver_init(&b->loop) < 0 || tls_init(&e) < 0 || tls_trust_new(file, directory, &b->trust, &e) < 0)
                return 3;
        dial_init(&b->loop, allows);
        /* The filter has no calls for memory that is locked. */
        if (credential_init(BROKER_FD_SECRET, &e) < 0)
                return 4;
        close(BROKER_FD_SECRET);
        _cleanup_fd_ int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        b->own_netns = own < 0 ? 0 : broker_netns_of(own);
        if (net_cage(seccomp_broker, ELEMENTSOF(seccomp_broker), &e) < 0)
                return 2;
        if (net_table_map(BROKER_FD_TABLE, &b->table) < 0)
                return 4;
        if (account_init(BROKER_FD_BUDGETS, &b->table) < 0 || given_init(BROKER_FD_GIVEN) < 0)
                return 4;
        given_policy(&b->table);
        close(BROKER_FD_TABLE);
        close(BROKER_FD_BUDGETS);
        close(BROKER_FD_GIVEN);
        if (net_control_init(&b->control, &b->loop, BROKER_FD_CONTROL, take_order) < 0 ||
            loop_add(&b->loop, &b->gate, BROKER_FD_GATE, EPOLLIN, gate_ready) < 0)
                return 5;
        loop_run(&b->loop, tick, b);
        return 0;
}
