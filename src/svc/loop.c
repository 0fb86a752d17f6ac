/* The event loop, see loop.h. */
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/loop.h"

#define URGENT_EACH 8 /* events */

static uint64_t now_ms(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int loop_init(struct loop *l) {
        *l = (struct loop){.epoll = epoll_create1(EPOLL_CLOEXEC), .now = now_ms()};
        return l->epoll < 0 ? -errno : 0;
}

int loop_add(struct loop *l, struct watch *w, int fd, uint32_t events, void (*fn)(struct watch *, uint32_t)) {
        /* See loop_want. */
        struct epoll_event e = {.events = events ? events : EPOLLONESHOT, .data.ptr = w};
        if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
                return -errno;
        *w = (struct watch){.fd = fd, .events = e.events, .fn = fn};
        return 0;
}

void loop_want(struct loop *l, struct watch *w, uint32_t events) {
        struct epoll_event e = {.events = events, .data.ptr = w};
        /* Nothing is waited for: EPOLLHUP and EPOLLERR come nevertheless, but once, and not without end. */
        if (events == 0)
                e.events = events = EPOLLONESHOT;
        if (w->fd < 0 || w->events == events)
                return;
        w->events = events;
        (void)epoll_ctl(l->epoll, EPOLL_CTL_MOD, w->fd, &e);
}

int loop_release(struct loop *l, struct watch *w) {
        if (w->fd < 0)
                return -1;
        if (w->events != 0)
                (void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
        for (int i = l->at + 1; i < l->n; i++)
                if (l->batch[i].data.ptr == w)
                        l->batch[i].data.ptr = NULL;
        return TAKE_FD(w->fd);
}

void loop_close(struct loop *l, struct watch *w) { fd_close(loop_release(l, w)); }

/* Before the event that is next, which it may take out of the batch. */
static void ask_urgent(struct loop *l) {
        l->at--;
        l->urgent->fn(l->urgent, EPOLLIN);
        l->at++;
}

void loop_run(struct loop *l, int (*tick)(void *arg), void *arg) {
        int timeout = tick(arg);
        while (!l->stop) {
                l->n = epoll_wait(l->epoll, l->batch, LOOP_BATCH, timeout);
                l->now = now_ms();
                for (l->at = 0; l->at < l->n && !l->stop; l->at++) {
                        if (l->urgent && l->n >= URGENT_EACH && l->at % URGENT_EACH == 0)
                                ask_urgent(l);
                        struct watch *w = (struct watch *)l->batch[l->at].data.ptr;
                        if (w)
                                w->fn(w, l->batch[l->at].events);
                }
                l->n = 0;
                timeout = tick(arg);
        }
}
