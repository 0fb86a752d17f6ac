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
        c->upstream.fd = -1;
        c->next = b->connections;
        c->prev = &b->connections;
        if (c->next)
                c->next->prev = &c->next;
        b->connections = c;
        b->n_connections++;
        c->request.layer = REQUEST_L4;
        return c;
}

void connection_join(struct broker *b, int outside, int inside) {
        struct connection *c = add(b, outside);

        if (c && loop_add(&b->loop, &c->upstream, inside, 0, NULL) == 0) {
                c->joined = true;
                (void)broker_may_forward(b);
                relay_start(c);
                return;
        }
        close(inside);
        if (c)
                connection_end(c, true);
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
