/* See stream.h. */
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/stream.h"

int stream_init(struct stream *s, struct loop *l, int fd, struct tls *tls, void (*fn)(struct watch *, uint32_t)) {
        *s = (struct stream){.w.fd = -1};
        int r = loop_add(l, &s->w, fd, 0, fn);
        if (r < 0)
                return r;
        s->tls = tls;
        s->shaking = tls != NULL;
        return 0;
}

int stream_move(struct stream *to, struct stream *from, struct loop *l, void (*fn)(struct watch *, uint32_t)) {
        int fd = loop_release(l, &from->w);

        *to = *from;
        to->w = (struct watch){.fd = -1};
        from->tls = NULL;
        int r = loop_add(l, &to->w, fd, 0, fn);
        if (r < 0) {
                stream_close(to, l);
                fd_close(fd);
        }
        return r;
}

void stream_close(struct stream *s, struct loop *l) {
        tls_free(s->tls);
        s->tls = NULL;
        loop_close(l, &s->w);
}

void stream_close_gently(struct stream *s, struct loop *l) {
        const struct linger off = {};
        if (s->w.fd >= 0)
                (void)setsockopt(s->w.fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
        stream_close(s, l);
}

void stream_reset(struct stream *s, struct loop *l) {
        const struct linger now = {.l_onoff = 1};
        if (s->w.fd >= 0)
                (void)setsockopt(s->w.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        stream_close(s, l);
}

int stream_handshake(struct stream *s) {
        if (!s->shaking)
                return 0;
        int r = tls_handshake(s->tls);
        s->read_turned = r == -EAGAIN && tls_wants(s->tls) == EPOLLOUT;
        if (r == 0)
                s->shaking = false;
        return r;
}

ssize_t stream_read(struct stream *s, void *buf, size_t n) {
        ssize_t k;

        if (!s->tls) {
                k = recv(s->w.fd, buf, n, MSG_DONTWAIT);
                s->drained = k < 0 ? errno == EAGAIN : k > 0 && (size_t)k < n;
                return k < 0 ? (errno == EINTR ? -EAGAIN : -errno) : k;
        }
        k = tls_read(s->tls, buf, n);
        s->read_turned = k == -EAGAIN && tls_wants(s->tls) == EPOLLOUT;
        s->drained = !s->read_turned && (k == -EAGAIN || (k > 0 && tls_drained(s->tls)));
        return k;
}

ssize_t stream_write(struct stream *s, const void *buf, size_t n) {
        ssize_t k;

        if (!s->tls) {
                k = send(s->w.fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL);
                return k < 0 ? (errno == EINTR ? -EAGAIN : -errno) : k;
        }
        k = tls_write(s->tls, buf, n);
        s->write_turned = k == -EAGAIN && tls_wants(s->tls) == EPOLLIN;
        return k;
}

void stream_shutdown(struct stream *s) {
        if (s->tls && !s->shaking)
                (void)!tls_shutdown(s->tls);
        if (s->w.fd >= 0)
                (void)shutdown(s->w.fd, SHUT_WR);
}

void stream_want(struct stream *s, struct loop *l, bool in, bool out) {
        uint32_t events = 0;

        if (s->w.fd < 0)
                return;
        if (s->shaking)
                events = s->read_turned ? EPOLLOUT : EPOLLIN;
        else {
                if (in)
                        events |= s->read_turned ? EPOLLOUT : EPOLLIN;
                if (out)
                        events |= s->write_turned ? EPOLLIN : EPOLLOUT;
        }
        loop_want(l, &s->w, events);
}
