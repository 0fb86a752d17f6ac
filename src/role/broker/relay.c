/* Carrying bytes between the sandbox's socket and the upstream's, unread. What cannot be written at once is kept, and nothing
 * more is read from that side until it was: memory is bounded by one buffer a direction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "role/broker/broker.h"

#define CHUNK (256u << 10)

static char chunk[CHUNK]; /* one for all: it is empty between two events */

static void tell_end(struct flow *f) {
        if (f->ended && !f->closed && f->left.len == 0) {
                f->closed = true;
                (void)shutdown(f->to->fd, SHUT_WR);
        }
}

/* What one side is waited for: to be read, while what it sends has somewhere to go, and written, while something is kept for
 * it. */
static uint32_t wanted(const struct flow *out_of, const struct flow *into) {
        return (!out_of->ended && out_of->left.len == 0 && !broker.held ? EPOLLIN : 0) | (into->left.len > 0 ? EPOLLOUT : 0);
}

void relay_want(struct connection *c) {
        loop_want(&broker.loop, &c->client, wanted(&c->up, &c->down));
        loop_want(&broker.loop, &c->upstream, wanted(&c->down, &c->up));
}

/* -1: the connection is broken. */
static int keep(struct flow *f, const char *data, size_t n) {
        f->left.data = (char *)malloc(n);
        if (!f->left.data)
                return -1;
        memcpy(f->left.data, data, n);
        f->left.start = 0;
        f->left.len = n;
        return 0;
}

static int write_some(struct flow *f, const char *data, size_t n, size_t *ret) {
        ssize_t k = send(f->to->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (k < 0) {
                *ret = 0;
                return errno == EAGAIN || errno == EINTR ? 0 : -1;
        }
        *ret = (size_t)k;
        f->bytes += (size_t)k;
        return 0;
}

static int push_left(struct flow *f) {
        size_t k;

        if (f->left.len == 0)
                return 0;
        if (write_some(f, f->left.data + f->left.start, f->left.len, &k) < 0)
                return -1;
        f->left.start += k;
        f->left.len -= k;
        if (f->left.len == 0) {
                free(f->left.data);
                f->left = (struct buffer){};
        }
        return 0;
}

static int pull(struct connection *c, struct flow *f) {
        const char *spent;
        size_t k;
        ssize_t n = recv(f->from->fd, chunk, sizeof(chunk), MSG_DONTWAIT);

        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -1;
        if (n == 0) {
                f->ended = true;
                return 0;
        }
        if (!c->joined && !account_bytes(&c->verdict, f == &c->up, (size_t)n, &spent)) {
                struct net_report r = {.type = NET_SPENT, .what = NET_TCP};
                net_report_place(&r, &c->request, &c->verdict);
                snprintf(r.text, sizeof(r.text), "%s", spent);
                net_control_report(&broker.control, &r);
                return -1;
        }
        if (write_some(f, chunk, (size_t)n, &k) < 0)
                return -1;
        return k < (size_t)n ? keep(f, chunk + k, (size_t)n - k) : 0;
}

static void serve(struct connection *c, struct flow *out_of, struct flow *into, uint32_t events) {
        int r = 0;

        if (events & EPOLLOUT)
                r = push_left(into);
        if (r == 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !out_of->ended && out_of->left.len == 0 &&
            broker_may_forward(&broker))
                r = pull(c, out_of);
        if (r == 0 && events & EPOLLERR)
                r = -1;
        if (r < 0) {
                connection_end(c, true);
                return;
        }
        tell_end(&c->up);
        tell_end(&c->down);
        if (c->up.closed && c->down.closed)
                connection_end(c, false);
        else
                relay_want(c);
}

static void client_ready(struct watch *w, uint32_t events) {
        struct connection *c = loop_container(w, struct connection, client);
        serve(c, &c->up, &c->down, events);
}

static void upstream_ready(struct watch *w, uint32_t events) {
        struct connection *c = loop_container(w, struct connection, upstream);
        serve(c, &c->down, &c->up, events);
}

void relay_start(struct connection *c) {
        c->up = (struct flow){.from = &c->client, .to = &c->upstream};
        c->down = (struct flow){.from = &c->upstream, .to = &c->client};
        c->client.fn = client_ready;
        c->upstream.fn = upstream_ready;
        c->made = true;
        serve(c, &c->up, &c->down, EPOLLIN); /* most clients speak first, and have */
}
