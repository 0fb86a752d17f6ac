/* L4 connections of a broker: decided on, dialled, and carried unread by relay.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "role/broker/broker.h"

void connection_end(struct connection *c, bool reset) {
        struct broker *b = &broker;
        struct net_report r = {.type = NET_ENDED, .what = NET_TCP};

        if (c->made && !c->joined) {
                net_report_place(&r, &c->request, &c->verdict);
                r.up = c->up.bytes;
                r.down = c->down.bytes;
                net_control_report(&b->control, &r);
        }
        dial_cancel(&c->dial);
        fd_close(c->other);
        if (c->deadline)
                b->n_joining--;
        if (c->client.fd >= 0 && reset)
                broker_reset_on_close(c->client.fd);
        /* Everything was written, and both sides have said that they end: what the kernel still has may arrive. */
        if (c->upstream.fd >= 0 && !reset)
                broker_close_on_end(c->upstream.fd);
        loop_close(&b->loop, &c->client);
        loop_close(&b->loop, &c->upstream);
        free(c->up.left.data);
        free(c->down.left.data);
        *c->prev = c->next;
        if (c->next)
                c->next->prev = c->prev;
        b->n_connections--;
        free(c);
}

static void deny(struct connection *c) {
        struct net_report r;

        net_report_denial(&r, NET_TCP, &broker.table, &c->request, &c->verdict);
        net_control_report(&broker.control, &r);
        connection_end(c, true);
}

static void refuse(struct connection *c, enum net_report_type type, const char *text) {
        struct net_report r = {.type = type, .what = NET_TCP};

        net_report_place(&r, &c->request, &c->verdict);
        snprintf(type == NET_SPENT ? r.text : r.why, sizeof(r.text), "%s", text);
        net_control_report(&broker.control, &r);
        connection_end(c, true);
}

static void dialled(void *owner, enum dial_result result, int fd, const char *why) {
        struct connection *c = (struct connection *)owner;

        if (result == DIAL_FORBIDDEN) {
                c->verdict.allowed = false;
                c->verdict.reason = VERDICT_ADDRESS;
                deny(c);
        } else if (result == DIAL_FAILED)
                refuse(c, NET_UPSTREAM, why);
        else if (loop_add(&broker.loop, &c->upstream, fd, EPOLLIN, NULL) < 0) {
                close(fd);
                connection_end(c, true);
        } else
                relay_start(c);
}

/* Before the upstream is there: only that the client goes away is of interest. */
static void waiting_client(struct watch *w, uint32_t events) {
        struct connection *c = loop_container(w, struct connection, client);
        if (events & (EPOLLHUP | EPOLLERR))
                connection_end(c, true);
        else
                loop_want(&broker.loop, w, 0);
}

static struct connection *add(struct broker *b, int client) {
        struct connection *c = b->n_connections < BROKER_CONNECTIONS_MAX ? (struct connection *)calloc(1, sizeof(*c)) : NULL;

        /* EPOLLIN, because most of the time it is connected before that happens. */
        if (!c || loop_add(&b->loop, &c->client, client, EPOLLIN, waiting_client) < 0) {
                broker_reset_on_close(client);
                close(client);
                free(c);
                return NULL;
        }
        c->upstream.fd = c->other = -1;
        c->next = b->connections;
        c->prev = &b->connections;
        if (c->next)
                c->next->prev = &c->next;
        b->connections = c;
        b->n_connections++;
        c->request.layer = REQUEST_L4;
        return c;
}

/* --- published ports --- */

static void inside_ready(struct watch *w, uint32_t events);

static void joined(struct connection *c) {
        broker.n_joining--;
        c->deadline = 0;
        fd_close(TAKE_FD(c->other));
        (void)broker_may_forward(&broker);
        relay_start(c);
}

/* By IPv4, then by IPv6, where a server listens on that alone; the sockets are of the sandbox's network namespace. */
static void connect_inside(struct connection *c) {
        const struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(c->inside), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        const struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(c->inside), .sin6_addr = IN6ADDR_LOOPBACK_INIT};

        for (;;) {
                int fd = c->upstream.fd, family = 0;
                socklen_t n = sizeof(family);
                (void)getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &n);
                int r = family == AF_INET ? connect(fd, (const struct sockaddr *)&a4, sizeof(a4)) : connect(fd, (const struct sockaddr *)&a6, sizeof(a6));
                if (r == 0) {
                        joined(c);
                        return;
                }
                if (errno == EINPROGRESS) {
                        loop_want(&broker.loop, &c->upstream, EPOLLOUT);
                        return;
                }
                loop_close(&broker.loop, &c->upstream);
                if (c->other < 0 || loop_add(&broker.loop, &c->upstream, c->other, 0, inside_ready) < 0) {
                        connection_end(c, true);
                        return;
                }
                c->other = -1;
        }
}

static void inside_ready(struct watch *w, uint32_t events) {
        struct connection *c = loop_container(w, struct connection, upstream);
        socklen_t n = sizeof(int);
        int err = 0;

        if (!(events & EPOLLOUT) && !(events & (EPOLLERR | EPOLLHUP)))
                return;
        if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &err, &n) == 0 && err == 0 && !(events & (EPOLLERR | EPOLLHUP))) {
                joined(c);
                return;
        }
        loop_close(&broker.loop, w);
        if (c->other >= 0 && loop_add(&broker.loop, w, TAKE_FD(c->other), 0, inside_ready) == 0)
                connect_inside(c);
        else
                connection_end(c, true);
}

/* What a gate calls a socket of the sandbox's may be one of the host's that it was given, such as a listener: connected to
 * 127.0.0.1 there, it would reach what listens on the host. */
static bool is_inside(const struct broker *b, int fd) {
        uint64_t of = broker_netns_of(fd);
        return of != 0 && b->own_netns != 0 && of != b->own_netns;
}

void connection_join(struct broker *b, const struct broker_job *job, int *fds, size_t n) {
        for (size_t i = 1; i < n; i++)
                if (!is_inside(b, fds[i]) || fcntl(fds[i], F_SETFL, O_RDWR | O_NONBLOCK) < 0)
                        return;
        struct connection *c = add(b, TAKE_FD(fds[0]));
        if (!c)
                return;
        c->joined = true;
        c->inside = (uint16_t)job->port;
        if (loop_add(&b->loop, &c->upstream, fds[1], 0, inside_ready) < 0) {
                connection_end(c, true);
                return;
        }
        fds[1] = -1;
        if (n > 2)
                c->other = TAKE_FD(fds[2]);
        c->deadline = b->loop.now + BROKER_JOIN_MS;
        b->n_joining++;
        connect_inside(c);
}

void connections_tick(struct broker *b) {
        if (b->n_joining == 0)
                return;
        for (struct connection *c = b->connections, *next; c; c = next) {
                next = c->next;
                if (c->deadline && b->loop.now >= c->deadline)
                        connection_end(c, true);
        }
}

void connection_new(struct broker *b, const struct broker_job *job, int client) {
        struct connection *c = add(b, client);
        const char *spent = NULL;

        if (!c)
                return;
        if (broker_read_place(job, &c->request, c->host) < 0) {
                connection_end(c, true);
                return;
        }
        table_decide(&b->table, &c->request, &c->verdict);
        if (!c->verdict.allowed) {
                deny(c);
                return;
        }
        if (!account_begin(&c->verdict, &c->request, &spent)) {
                refuse(c, NET_SPENT, spent);
                return;
        }
        (void)broker_may_forward(b); /* the lease comes while it is dialled */
        dial_start(&c->dial, &c->request, &c->verdict, dialled, c);
}

void connections_resume(struct broker *b) {
        for (struct connection *c = b->connections; c; c = c->next)
                if (c->made)
                        relay_want(c);
}

void connections_decide_again(struct broker *b) {
        for (struct connection *c = b->connections, *next; c; c = next) {
                next = c->next;
                if (c->joined)
                        continue;
                table_decide(&b->table, &c->request, &c->verdict);
                if (!c->verdict.allowed)
                        deny(c);
        }
}
