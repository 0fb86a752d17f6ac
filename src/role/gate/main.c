/* belljar-gate: see gate.h. Executed by net-start.c with the fds of net-msg.h; reads nothing that the sandbox sent before it
 * is locked in. Ends when the supervisor closes its end. */
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "generated/seccomp-gate.h"
#include "role/gate/web.h"
#include "svc/net-cage.h"
#include "svc/net-table.h"

#define TICK_MS 1000

struct gate gate;

static void resume_all(void) {
        clients_resume(&gate);
        webs_resume(&gate);
        webs2_resume(&gate);
        guests_resume(&gate);
}

/* A broker says nothing on this socket: it has ended. Those who wait for it ask for another. */
static void broker_ready(struct watch *w, uint32_t events) {
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                loop_close(&gate.loop, w);
        else
                loop_want(&gate.loop, w, EPOLLIN); /* there is room: whoever finds none says so again */
        resume_all();
}

static void take_order(const struct net_order *o, int *fds, size_t n) {
        struct gate *g = &gate;

        if (o->type == NET_BROKER && n == 1 && o->n < NET_BROKERS_MAX) {
                loop_close(&g->loop, &g->brokers[o->n]);
                g->wanted[o->n] = false;
                if (loop_add(&g->loop, &g->brokers[o->n], fds[0], EPOLLIN, broker_ready) == 0)
                        fds[0] = -1;
                resume_all();
        } else if (o->type == NET_REVOKED) {
                g->revoked |= 1u << o->n;
                loop_close(&g->loop, &g->brokers[o->n]);
                webs_revoke(g, o->n);
                webs2_revoke(g, o->n);
                resume_all();
        } else if (o->type == NET_FLUSH) {
                if (g->sockets[NETNS_LOG].fd >= 0)
                        refused_ready(&g->sockets[NETNS_LOG], EPOLLIN);
                net_control_say(&g->control, NET_FLUSHED, 0);
        } else if (o->type == NET_POLICY && n == 1) {
                if (net_table_map(fds[0], &g->table) < 0)
                        exit(1); /* never the old one on */
                net_control_say(&g->control, NET_POLICY_DONE, 0);
        }
}

static void hear_again(struct gate *g) {
        g->deaf = false;
        for (size_t i = 0; i < ELEMENTSOF(g->sockets); i++)
                if (g->sockets[i].fd >= 0)
                        loop_want(&g->loop, &g->sockets[i], EPOLLIN);
        for (size_t i = 0; i < ELEMENTSOF(g->published); i++)
                if (g->published_ports[i] && g->published[i].fd >= 0)
                        loop_want(&g->loop, &g->published[i], EPOLLIN);
}

/* Deadlines are seconds away: what looks at every connection is done once in a while, and not with each batch of events. */
static int tick(void *arg) {
        static uint64_t next;
        struct gate *g = (struct gate *)arg;

        if (g->loop.now < next)
                return (int)(next - g->loop.now);
        const bool deaf = g->deaf;
        next = g->loop.now + TICK_MS;
        if (deaf)
                hear_again(g);
        clients_tick(g);
        webs_tick(g);
        webs2_tick(g);
        guests_tick(g);
        dns_tick(g);
        if (deaf || g->clients || g->webs || g->webs2 || g->guests || g->streams)
                return TICK_MS;
        next = 0;
        return -1;
}

/* The CA's key is in this process alone from here on, and only as OpenSSL has it. */
static int load_ca(struct gate *g) {
        struct error e = {};
        struct stat st;

        if (fstat(GATE_FD_CA, &st) < 0)
                return -errno;
        if (st.st_size > 0) {
                void *pem = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, GATE_FD_CA, 0);
                if (pem == MAP_FAILED)
                        return -errno;
                int r = tls_authority_load(pem, (size_t)st.st_size, &g->authority, &e);
                munmap(pem, (size_t)st.st_size);
                if (r < 0)
                        return r;
        }
        close(GATE_FD_CA);
        return 0;
}

int main(int argc, char **argv) {
        static void (*const ready[NETNS_N])(struct watch *, uint32_t) = {
                [NETNS_TCP4] = clients_ready, [NETNS_TCP6] = clients_ready, [NETNS_DNS_UDP4] = dns_udp_ready,
                [NETNS_DNS_UDP6] = dns_udp_ready, [NETNS_DNS_TCP4] = dns_tcp_ready, [NETNS_DNS_TCP6] = dns_tcp_ready,
                [NETNS_LOG] = refused_ready,
        };
        struct gate *g = &gate;
        struct net_order config;
        struct error e = {};

        if (argc == 2 && streq(argv[1], "--new-ca"))
                return gate_new_ca();
        if (argc >= 7 && streq(argv[1], "--try"))
                return gate_try(argv + 2);
        for (size_t i = 0; i < ELEMENTSOF(g->brokers); i++)
                g->brokers[i].fd = -1;
        for (size_t i = 0; i < NETNS_N; i++)
                g->sockets[i].fd = -1;
        if (tls_init(&e) < 0)
                return 2;
        if (net_cage(seccomp_gate, ELEMENTSOF(seccomp_gate), &e) < 0)
                return 2;
        ssize_t n = recv(GATE_FD_CONTROL, &config, sizeof(config), MSG_TRUNC);
        if (n < 0 || net_order_read(&config, (size_t)n, 0, &config) < 0 || config.type != NET_CONFIG)
                return 3;
        if (loop_init(&g->loop) < 0 || net_table_map(GATE_FD_TABLE, &g->table) < 0 ||
            names_init(&g->names, config.pool, config.pool_prefix) < 0 || load_ca(g) < 0)
                return 4;
        memcpy(g->own, config.own, sizeof(g->own));
        g->revoked = config.revoked;
        close(GATE_FD_TABLE);
        if (net_control_init(&g->control, &g->loop, GATE_FD_CONTROL, take_order) < 0)
                return 5;
        /* What is accepted has it from its listener (tcp(7)): an answer in two writes must not wait for the client's
         * acknowledgement of the first, which may take 40 ms. */
        const int on = 1;
        for (int i = NETNS_TCP4; i <= NETNS_TCP6; i++)
                if (config.sockets & 1u << i && setsockopt(GATE_FD_SOCKETS + i, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
                        return 5;
        for (int i = 0; i < NETNS_N; i++)
                if (config.sockets & 1u << i && loop_add(&g->loop, &g->sockets[i], GATE_FD_SOCKETS + i, EPOLLIN, ready[i]) < 0)
                        return 5;
        for (uint32_t i = 0; i < config.n_published; i++) {
                g->published_ports[i] = config.published[i];
                if (loop_add(&g->loop, &g->published[i], GATE_FD_PUBLISHED + (int)i, EPOLLIN, published_ready) < 0)
                        return 5;
        }
        loop_run(&g->loop, tick, g);
        return 0;
}
