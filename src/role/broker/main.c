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
        if (job->port == 0 || job->port > UINT16_MAX || !memchr(job->host, 0, sizeof(job->host)))
                return -EBADMSG;
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
                connections_decide_again(b);
                exchanges_decide_again(b);
                net_control_say(&b->control, NET_POLICY_DONE, 0);
        }
}

static void gate_ready(struct watch *w, uint32_t events) {
        struct broker_job job;
        int fds[FD_PASS_MAX];
        size_t n_fds;

        (void)events;
        ssize_t n = fd_receive(w->fd, &job, sizeof(job), fds, &n_fds, MSG_DONTWAIT);
        if (n == -EAGAIN || n == -EINTR)
                return;
        if (n <= 0) {
                /* The gate has ended; what passes here goes on, and the next gate gets a broker of its own. */
                loop_close(&broker.loop, w);
                return;
        }
        if (n == sizeof(job) && n_fds == 1 && (job.type == BROKER_CONNECT || job.type == BROKER_EXCHANGE)) {
                if (job.type == BROKER_CONNECT)
                        connection_new(&broker, &job, fds[0]);
                else
                        exchange_new(&broker, &job, fds[0]);
                n_fds = 0;
        }
        if (n == sizeof(job) && n_fds == 2 && job.type == BROKER_JOIN) {
                connection_join(&broker, fds[0], fds[1]);
                n_fds = 0;
        }
        for (size_t i = 0; i < n_fds; i++)
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
                        dials_tick(b);
                        exchanges_tick(b);
                }
                timeout = (int)(next - b->loop.now);
        }
        if (b->held && b->n_connections > 0) {
                (void)broker_may_forward(b);
                timeout = HELD_TICK_MS;
        }
        if (b->gate.fd < 0 && b->n_connections == 0)
                exit(0);
        return dns >= 0 && (timeout < 0 || dns < timeout) ? dns : timeout;
}

int main(void) {
        struct broker *b = &broker;
        struct error e = {};

        /* What the caller goes by, where its environment says so (net-start.c). */
        int next = BROKER_FD_TRUST, file = getenv("SSL_CERT_FILE") ? next++ : -1, directory = getenv("SSL_CERT_DIR") ? next : -1;
        if (loop_init(&b->loop) < 0 || resolver_init(b) < 0 || tls_init(&e) < 0 || tls_trust_new(file, directory, &b->trust, &e) < 0)
                return 3;
        if (net_cage(seccomp_broker, ELEMENTSOF(seccomp_broker), &e) < 0)
                return 2;
        if (net_table_map(BROKER_FD_TABLE, &b->table) < 0)
                return 4;
        if (account_init(BROKER_FD_BUDGETS, &b->table) < 0)
                return 4;
        close(BROKER_FD_TABLE);
        close(BROKER_FD_BUDGETS);
        if (net_control_init(&b->control, &b->loop, BROKER_FD_CONTROL, take_order) < 0 ||
            loop_add(&b->loop, &b->gate, BROKER_FD_GATE, EPOLLIN, gate_ready) < 0)
                return 5;
        loop_run(&b->loop, tick, b);
        return 0;
}
