/* Connections to upstreams, see dial.h: decided on before, resolved only then, and pinned to an address that was checked. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/net.h"
#include "svc/resolver.h"

static struct loop *loop;
static dial_allows *allows;
static struct dial *dials;

void dial_init(struct loop *l, dial_allows *fn) {
        loop = l;
        allows = fn;
}

static void unlink_dial(struct dial *d) {
        *d->prev = d->next;
        if (d->next)
                d->next->prev = d->prev;
}

/* Over: the owner is told, unless it is gone. */
static void end(struct dial *d, enum dial_result result, int fd, const char *why) {
        struct dial **slot = d->slot;

        unlink_dial(d);
        if (slot) {
                *slot = NULL;
                d->done(d->owner, result, fd, why);
        } else
                fd_close(fd);
        free(d);
}

void dial_cancel(struct dial **slot) {
        struct dial *d = *slot;

        if (!d)
                return;
        *slot = NULL;
        d->slot = NULL;
        loop_close(loop, &d->w);
        if (!d->resolving) /* the resolver's answer finds it otherwise */
                end(d, DIAL_FAILED, -1, NULL);
}

static void try_next(struct dial *d);

static void connected(struct watch *w, uint32_t events) {
        struct dial *d = loop_container(w, struct dial, w);
        int err = 0;
        socklen_t n = sizeof(err);

        (void)events;
        if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &err, &n) < 0)
                err = errno;
        if (err == 0) {
                end(d, DIAL_CONNECTED, loop_release(loop, w), NULL);
                return;
        }
        d->last_error = err;
        loop_close(loop, w);
        try_next(d);
}

static int dial(const struct sockaddr_in6 *to, bool *ret_connected) {
        const struct linger now = {.l_onoff = 1};
        const int on = 1;
        socklen_t n = to->sin6_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(*to);
        _cleanup_fd_ int fd = socket(to->sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return -errno;
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)); /* a cut is a cut: kill -9 delivers nothing that is still queued */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        *ret_connected = connect(fd, (const struct sockaddr *)to, n) == 0;
        if (!*ret_connected && errno != EINPROGRESS)
                return -errno;
        /* What is on this host has answered meanwhile: to ask again is cheaper than to wait for the event. */
        *ret_connected = *ret_connected || connect(fd, (const struct sockaddr *)to, n) == 0 || errno == EISCONN;
        if (!*ret_connected && errno != EALREADY && errno != EINPROGRESS)
                return -errno;
        return TAKE_FD(fd);
}

static void try_next(struct dial *d) {
        while (d->tried < d->n_addresses) {
                bool there = false;
                int fd = dial(&d->address[d->tried++], &there);
                if (fd < 0) {
                        d->last_error = -fd;
                        continue;
                }
                if (there) {
                        end(d, DIAL_CONNECTED, fd, NULL);
                        return;
                }
                if (loop_add(loop, &d->w, fd, EPOLLOUT, connected) < 0) {
                        close(fd);
                        break;
                }
                d->attempt_deadline = d->tried < d->n_addresses ? loop->now + DIAL_ATTEMPT_MS : UINT64_MAX;
                return;
        }
        end(d, DIAL_FAILED, -1, strerror(d->last_error ? d->last_error : EHOSTUNREACH));
}

void dial_address_of(const struct sockaddr_in6 *a, struct request_address *ret) {
        *ret = (struct request_address){.byte = {[10] = 0xff, [11] = 0xff}};
        if (a->sin6_family == AF_INET) {
                struct sockaddr_in v4;
                memcpy(&v4, a, sizeof(v4));
                memcpy(ret->byte + 12, &v4.sin_addr, 4);
        } else
                memcpy(ret->byte, &a->sin6_addr, 16);
}

void dial_resolved(struct dial *d, const struct sockaddr_in6 *addresses, size_t n, const char *why) {
        struct request_address a;

        d->resolving = false;
        if (!d->slot) {
                end(d, DIAL_FAILED, -1, NULL);
                return;
        }
        for (size_t i = 0; i < n && d->n_addresses < DIAL_ADDRESSES_MAX; i++) {
                dial_address_of(&addresses[i], &a);
                if (allows(&d->verdict, &a, d->request.port))
                        d->address[d->n_addresses++] = addresses[i];
        }
        if (n > 0 && d->n_addresses == 0)
                end(d, DIAL_FORBIDDEN, -1, NULL);
        else if (n == 0)
                end(d, DIAL_FAILED, -1, why);
        else
                try_next(d);
}

static void dial_address(struct dial *d) {
        struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(d->request.port)};

        if (net_is_mapped(d->request.address.byte)) {
                struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(d->request.port)};
                memcpy(&v4.sin_addr, d->request.address.byte + 12, 4);
                memcpy(&a, &v4, sizeof(v4));
        } else
                memcpy(&a.sin6_addr, d->request.address.byte, 16);
        dial_resolved(d, &a, 1, NULL);
}

void dial_start(struct dial **slot, const struct request *r, const struct verdict *v,
                void (*done)(void *owner, enum dial_result result, int fd, const char *why), void *owner) {
        struct dial *d = (struct dial *)calloc(1, sizeof(*d));

        if (!d) {
                done(owner, DIAL_FAILED, -1, strerror(ENOMEM));
                return;
        }
        d->w.fd = -1;
        d->slot = slot;
        d->done = done;
        d->owner = owner;
        d->verdict = *v;
        d->request.is_address = r->is_address;
        d->request.address = r->address;
        d->request.port = r->port;
        memcpy(d->host, r->host.p, MIN(r->host.n, sizeof(d->host) - 1));
        d->request.host = (struct request_text){d->host, strlen(d->host)};
        d->deadline = loop->now + DIAL_MS;
        d->next = dials;
        d->prev = &dials;
        if (d->next)
                d->next->prev = &d->next;
        dials = d;
        *slot = d;
        if (r->is_address)
                dial_address(d);
        else {
                d->resolving = true;
                resolver_ask(d);
        }
}

void dials_tick(void) {
        for (struct dial *d = dials, *next; d; d = next) {
                next = d->next;
                if (loop->now >= d->deadline && d->slot) {
                        struct dial **slot = d->slot;
                        void (*done)(void *, enum dial_result, int, const char *) = d->done;
                        void *owner = d->owner;
                        dial_cancel(slot);
                        done(owner, DIAL_FAILED, -1, "no answer came in time");
                        next = dials; /* the list may be another */
                } else if (d->w.fd >= 0 && loop->now >= d->attempt_deadline) {
                        d->last_error = ETIMEDOUT;
                        loop_close(loop, &d->w);
                        try_next(d);
                        next = dials;
                }
        }
}
