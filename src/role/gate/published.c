/* Published ports: connections from the host, which are made inside and joined by a broker, unread. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "role/gate/gate.h"

#define ACCEPTS 64      /* in a turn */
#define CONNECT_MS 5000u

/* A connection from the host, while the one inside is made. */
struct guest {
        struct watch inside;
        struct guest *next, **prev;
        int outside;
        uint16_t port;
        bool v6, made;
        uint64_t deadline;
};

static void end_guest(struct gate *g, struct guest *x, bool reset) {
        const struct linger now = {.l_onoff = 1};

        if (reset)
                (void)setsockopt(x->outside, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        fd_close(x->outside);
        loop_close(&g->loop, &x->inside);
        *x->prev = x->next;
        if (x->next)
                x->next->prev = x->prev;
        g->n_clients--;
        free(x);
}

static void join(struct gate *g, struct guest *x) {
        const struct broker_job job = {.type = BROKER_JOIN, .port = x->port};
        struct watch *broker = gate_broker(g);
        int r = -EAGAIN;

        x->made = true;
        loop_want(&g->loop, &x->inside, 0);
        if (broker) {
                r = fd_send(broker->fd, &job, sizeof(job), (const int[]){x->outside, x->inside.fd}, 2, MSG_DONTWAIT);
                if (r == -EAGAIN)
                        loop_want(&g->loop, broker, EPOLLIN | EPOLLOUT);
        }
        if (r != -EAGAIN)
                end_guest(g, x, r < 0);
}

static void connected(struct watch *w, uint32_t events);

static int connect_inside(struct gate *g, struct guest *x) {
        const struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(x->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        const struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(x->port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
        _cleanup_fd_ int fd = socket(x->v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int r;

        if (fd < 0)
                return -errno;
        if (connect(fd, x->v6 ? (const struct sockaddr *)&a6 : (const struct sockaddr *)&a4, x->v6 ? sizeof(a6) : sizeof(a4)) < 0 &&
            errno != EINPROGRESS)
                return -errno;
        r = loop_add(&g->loop, &x->inside, fd, EPOLLOUT, connected);
        return r < 0 ? r : TAKE_FD(fd);
}

static void connected(struct watch *w, uint32_t events) {
        struct guest *x = loop_container(w, struct guest, inside);
        struct gate *g = &gate;
        int err = 0;
        socklen_t n = sizeof(err);

        if (x->made) { /* it waits for the broker, and somebody has gone */
                if (events & (EPOLLHUP | EPOLLERR))
                        end_guest(g, x, true);
                return;
        }
        if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &err, &n) == 0 && err == 0) {
                join(g, x);
                return;
        }
        loop_close(&g->loop, w);
        /* A server may listen on ::1 alone. */
        if (x->v6 || (x->v6 = true, connect_inside(g, x)) < 0)
                end_guest(g, x, true);
}

void published_ready(struct watch *w, uint32_t events) {
        struct gate *g = &gate;
        size_t which = (size_t)(w - g->published);

        (void)events;
        for (int i = 0; i < ACCEPTS; i++) {
                int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
                if (fd < 0)
                        return;
                struct guest *x = g->n_clients < GATE_CLIENTS_MAX ? (struct guest *)calloc(1, sizeof(*x)) : NULL;
                if (!x) {
                        close(fd);
                        continue;
                }
                *x = (struct guest){.inside.fd = -1, .outside = fd, .port = g->published_ports[which], .deadline = g->loop.now + CONNECT_MS};
                x->next = g->guests;
                x->prev = &g->guests;
                if (x->next)
                        x->next->prev = &x->next;
                g->guests = x;
                g->n_clients++;
                if (connect_inside(g, x) < 0)
                        end_guest(g, x, true);
        }
}

void guests_resume(struct gate *g) {
        for (struct guest *x = g->guests, *next; x && g->brokers[0].fd >= 0; x = next) {
                next = x->next;
                if (x->made)
                        join(g, x);
        }
}

void guests_tick(struct gate *g) {
        for (struct guest *x = g->guests, *next; x; x = next) {
                next = x->next;
                if (g->loop.now >= x->deadline)
                        end_guest(g, x, true);
        }
}
