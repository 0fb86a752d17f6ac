/* See net-control.h. */
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "svc/net-control.h"

static void ready(struct watch *w, uint32_t events) {
        struct net_control *c = loop_container(w, struct net_control, w);
        struct net_order o;
        int fds[FD_PASS_MAX];
        size_t n_fds;

        (void)events;
        ssize_t n = fd_receive(w->fd, &o, sizeof(o), fds, &n_fds, MSG_DONTWAIT | MSG_TRUNC);
        if (n == -EAGAIN || n == -EINTR)
                return;
        if (n <= 0 || net_order_read(&o, (size_t)n, n_fds, &o) < 0)
                exit(n > 0); /* no order that is not understood is one that may be left undone */
        c->order(&o, fds, n_fds);
        for (size_t i = 0; i < n_fds; i++)
                fd_close(fds[i]);
}

int net_control_init(struct net_control *c, struct loop *l, int fd, void (*order)(const struct net_order *, int *, size_t)) {
        *c = (struct net_control){.loop = l, .order = order};
        l->urgent = &c->w; /* a revocation does not wait until a hundred busy connections had their turn */
        return loop_add(l, &c->w, fd, EPOLLIN, ready);
}

void net_control_report(struct net_control *c, const struct net_report *r) {
        uint64_t second = c->loop->now / 1000;

        if (c->second != second) {
                c->second = second;
                c->reports = c->ended = 0;
        }
        struct net_report said = *r;
        said.lost = c->lost;
        if (((r->type == NET_ENDED || r->type == NET_ASKED) && c->ended++ >= NET_ENDED_MAX) || c->reports++ >= NET_REPORTS_MAX ||
            send(c->w.fd, &said, sizeof(said), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                c->lost++;
        else
                c->lost = 0;
}

void net_control_say(struct net_control *c, enum net_report_type type, uint32_t rule) {
        const struct net_report r = {.type = type, .rule = rule, .lost = c->lost};
        if (send(c->w.fd, &r, sizeof(r), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(r))
                c->lost = 0;
}
