/* Connections of a broker: decided on, resolved, checked, dialled; then relay.c carries their bytes. */
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "model/canonical.h"
#include "role/broker/broker.h"

static void reset_on_close(int fd) {
        const struct linger now = {.l_onoff = 1};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static void close_on_end(int fd) {
        const struct linger off = {};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
}

static void describe(const struct connection *c, struct net_report *r) {
        r->port = c->request.port;
        r->rule = c->verdict.rule;
        if (c->request.is_address)
                memcpy(r->address, c->request.address.byte, sizeof(r->address));
        memcpy(r->host, c->request.host.p, MIN(c->request.host.n, sizeof(r->host) - 1));
}

static void release(struct connection *c) {
        if (!c->resolving)
                free(c);
}

void connection_end(struct connection *c, bool reset) {
        struct broker *b = &broker;
        struct net_report r = {.type = NET_ENDED, .what = NET_TCP, .up = c->up.bytes, .down = c->down.bytes};

        if (c->gone)
                return;
        if (c->verdict.allowed) {
                describe(c, &r);
                broker_report(b, &r);
        }
        if (c->client.fd >= 0 && reset)
                reset_on_close(c->client.fd);
        /* Everything was written, and both sides have said that they end: what the kernel still has may arrive. */
        if (c->upstream.fd >= 0 && !reset)
                close_on_end(c->upstream.fd);
        loop_close(&b->loop, &c->client);
        loop_close(&b->loop, &c->upstream);
        free(c->up.left.data);
        free(c->down.left.data);
        *c->prev = c->next;
        if (c->next)
                c->next->prev = c->prev;
        b->n_connections--;
        c->gone = true;
        release(c);
}

static void refuse(struct connection *c, enum net_report_type type, enum verdict_reason reason, const char *text) {
        struct net_report r = {.type = type, .what = NET_TCP, .reason = reason, .quiet = c->verdict.quiet};

        describe(c, &r);
        c->verdict.allowed = false; /* it never was a connection */
        snprintf(r.text, sizeof(r.text), "%s", text ? text : "");
        broker_report(&broker, &r);
        connection_end(c, true);
}

static void try_next(struct connection *c);

static void dialled(struct watch *w, uint32_t events) {
        struct connection *c = loop_container(w, struct connection, upstream);
        int err = 0;
        socklen_t n = sizeof(err);

        (void)events;
        if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &err, &n) < 0)
                err = errno;
        if (err == 0) {
                relay_start(c);
                return;
        }
        c->last_error = err;
        loop_close(&broker.loop, w);
        try_next(c);
}

static int dial(const struct sockaddr_in6 *to) {
        const int on = 1;
        bool v4 = to->sin6_family == AF_INET;
        _cleanup_fd_ int fd = socket(to->sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return -errno;
        reset_on_close(fd); /* a cut is a cut: kill -9 delivers nothing that is still queued */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        if (connect(fd, (const struct sockaddr *)to, v4 ? sizeof(struct sockaddr_in) : sizeof(*to)) < 0 && errno != EINPROGRESS)
                return -errno;
        return TAKE_FD(fd);
}

static void try_next(struct connection *c) {
        while (c->tried < c->n_addresses) {
                int fd = dial(&c->address[c->tried++]);
                if (fd < 0) {
                        c->last_error = -fd;
                        continue;
                }
                if (loop_add(&broker.loop, &c->upstream, fd, EPOLLOUT, dialled) < 0) {
                        close(fd);
                        break;
                }
                c->attempt_deadline = c->tried < c->n_addresses ? broker.loop.now + BROKER_ATTEMPT_MS : UINT64_MAX;
                return;
        }
        refuse(c, NET_UPSTREAM, VERDICT_ALLOWED, strerror(c->last_error ? c->last_error : EHOSTUNREACH));
}

static void to_request_address(const struct sockaddr_in6 *a, struct request_address *ret) {
        *ret = (struct request_address){.byte = {[10] = 0xff, [11] = 0xff}};
        if (a->sin6_family == AF_INET) {
                struct sockaddr_in v4;
                memcpy(&v4, a, sizeof(v4));
                memcpy(ret->byte + 12, &v4.sin_addr, 4);
        } else
                memcpy(ret->byte, &a->sin6_addr, 16);
}

void connection_resolved(struct connection *c, const struct sockaddr_in6 *addresses, size_t n, const char *why) {
        struct request_address a;

        c->resolving = false;
        if (c->gone) {
                free(c);
                return;
        }
        for (size_t i = 0; i < n && c->n_addresses < BROKER_ADDRESSES_MAX; i++) {
                to_request_address(&addresses[i], &a);
                if (table_address_allowed(&broker.table, &c->verdict, &a, c->request.port))
                        c->address[c->n_addresses++] = addresses[i];
        }
        if (n > 0 && c->n_addresses == 0)
                refuse(c, NET_DENIED, VERDICT_ADDRESS, "");
        else if (n == 0)
                refuse(c, NET_UPSTREAM, VERDICT_ALLOWED, why);
        else
                try_next(c);
}

/* Before the upstream is there: only that the client goes away is of interest. */
static void waiting_client(struct watch *w, uint32_t events) {
        struct connection *c = loop_container(w, struct connection, client);
        if (events & (EPOLLHUP | EPOLLERR))
                connection_end(c, true);
}

static void decide(struct connection *c) { table_decide(&broker.table, &c->request, &c->verdict); }

void connection_new(struct broker *b, const struct broker_job *job, int client) {
        struct connection *c = b->n_connections < BROKER_CONNECTIONS_MAX ? (struct connection *)calloc(1, sizeof(*c)) : NULL;
        const char *why = NULL;

        if (!c || loop_add(&b->loop, &c->client, client, 0, waiting_client) < 0) {
                reset_on_close(client);
                close(client);
                free(c);
                return;
        }
        c->upstream.fd = -1;
        c->next = b->connections;
        c->prev = &b->connections;
        if (c->next)
                c->next->prev = &c->next;
        b->connections = c;
        b->n_connections++;
        c->deadline = b->loop.now + BROKER_DIAL_MS;
        /* What the gate says is read like what anybody says: the text alone, by the same reader. */
        c->request.layer = REQUEST_L4;
        if (job->port == 0 || job->port > UINT16_MAX || !memchr(job->host, 0, sizeof(job->host)) ||
            canonical_host(job->host, strlen(job->host), c->host, &c->request, &why) < 0) {
                connection_end(c, true);
                return;
        }
        c->request.port = (uint16_t)job->port;
        decide(c);
        if (!c->verdict.allowed) {
                refuse(c, NET_DENIED, c->verdict.reason, "");
                return;
        }
        (void)broker_may_forward(b); /* the lease comes while it is dialled */
        if (!c->request.is_address) {
                c->resolving = true;
                resolver_ask(c);
                return;
        }
        struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(c->request.port)};
        if (net_is_mapped(c->request.address.byte)) {
                struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(c->request.port)};
                memcpy(&v4.sin_addr, c->request.address.byte + 12, 4);
                memcpy(&a, &v4, sizeof(v4));
        } else
                memcpy(&a.sin6_addr, c->request.address.byte, 16);
        connection_resolved(c, &a, 1, NULL);
}

void connections_tick(struct broker *b) {
        for (struct connection *c = b->connections, *next; c; c = next) {
                next = c->next;
                if (c->deadline == 0)
                        continue;
                if (b->loop.now >= c->deadline)
                        refuse(c, NET_UPSTREAM, VERDICT_ALLOWED, "no answer came in time");
                else if (c->upstream.fd >= 0 && b->loop.now >= c->attempt_deadline) {
                        c->last_error = ETIMEDOUT;
                        loop_close(&b->loop, &c->upstream);
                        try_next(c);
                }
        }
}

void connections_resume(struct broker *b) {
        for (struct connection *c = b->connections; c; c = c->next)
                if (c->deadline == 0)
                        relay_want(c);
}

void connections_decide_again(struct broker *b) {
        for (struct connection *c = b->connections, *next; c; c = next) {
                next = c->next;
                decide(c);
                if (!c->verdict.allowed)
                        refuse(c, NET_DENIED, c->verdict.reason, "");
        }
}
