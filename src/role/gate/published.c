/* Published ports: connections from the host, and sockets of the sandbox's network namespace for the way on. A broker connects
 * the one to the other and carries the bytes, unread: what a gate holds of the host's network is never its to connect, because
 * its filter has no connect(2) (a listener that is shut down could be connected to anywhere). */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "role/gate/gate.h"

#define ACCEPTS 64      /* in a turn */
#define WAIT_MS 5000u   /* for the broker */

/* A connection from the host, while it waits for a broker. */
struct guest {
        struct watch outside;
        struct guest *next, **prev;
        uint16_t port;
        uint64_t deadline;
};

static void end_guest(struct gate *g, struct guest *x, bool reset) {
        const struct linger now = {.l_onoff = 1};

        if (reset)
                (void)setsockopt(x->outside.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        loop_close(&g->loop, &x->outside);
        *x->prev = x->next;
        if (x->next)
                x->next->prev = x->prev;
        g->n_clients--;
        free(x);
}

/* To the broker, with sockets for the way on. -EAGAIN: when there is one, or it can take more. */
static int join(struct gate *g, const struct guest *x) {
        const struct broker_job job = {.type = BROKER_JOIN, .port = x->port};
        struct watch *broker = gate_broker(g, 0);
        int fds[3] = {x->outside.fd}, n = 1, r;

        if (!broker)
                return -EAGAIN;
        for (int v6 = 0; v6 < 2; v6++)
                if ((fds[n] = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) >= 0)
                        n++;
        r = n > 1 ? fd_send(broker->fd, &job, sizeof(job), fds, (size_t)n, MSG_DONTWAIT) : -EMFILE;
        while (n > 1)
                close(fds[--n]);
        if (r == -EAGAIN)
                loop_want(&g->loop, broker, EPOLLIN | EPOLLOUT);
        return r;
}

static void try_join(struct gate *g, struct guest *x) {
        int r = join(g, x);
        if (r != -EAGAIN)
                end_guest(g, x, r < 0);
}

/* It waits, and has gone. */
static void outside_ready(struct watch *w, uint32_t events) {
        if (events & (EPOLLHUP | EPOLLERR))
                end_guest(&gate, loop_container(w, struct guest, outside), true);
}

void published_ready(struct watch *w, uint32_t events) {
        struct gate *g = &gate;
        size_t which = (size_t)(w - g->published);

        (void)events;
        for (int i = 0; i < ACCEPTS; i++) {
                int fd = gate_accept(w);
                if (fd < 0)
                        return;
                struct guest *x = g->n_clients < GATE_CLIENTS_MAX ? (struct guest *)calloc(1, sizeof(*x)) : NULL;
                if (!x || loop_add(&g->loop, &x->outside, fd, 0, outside_ready) < 0) {
                        close(fd);
                        free(x);
                        continue;
                }
                x->port = g->published_ports[which];
                x->deadline = g->loop.now + WAIT_MS;
                x->next = g->guests;
                x->prev = &g->guests;
                if (x->next)
                        x->next->prev = &x->next;
                g->guests = x;
                g->n_clients++;
                try_join(g, x);
        }
}

void guests_resume(struct gate *g) {
        for (struct guest *x = g->guests, *next; x && g->brokers[0].fd >= 0; x = next) {
                next = x->next;
                try_join(g, x);
        }
}

void guests_tick(struct gate *g) {
        for (struct guest *x = g->guests, *next; x; x = next) {
                next = x->next;
                if (g->loop.now >= x->deadline)
                        end_guest(g, x, true);
        }
}
