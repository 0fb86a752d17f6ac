/* The event loop of gate and broker: epoll(7), level-triggered, one thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/macros.h"

#define LOOP_BATCH 256

/* Embedded in what it belongs to; fn gets it back. Not to be moved while it is in a loop. */
struct watch {
        int fd; /* -1: not in the loop */
        uint32_t events; /* 0: there is an fd that is not in the loop yet */
        void (*fn)(struct watch *w, uint32_t events);
};

struct loop {
        int epoll;
        bool stop;
        struct epoll_event batch[LOOP_BATCH];
        int n, at;    /* of the batch: how many, which is being served */
        struct watch *urgent; /* NULL: none. Its function is called once in a while within a long batch, whether there is something or not */
        uint64_t now; /* ms, CLOCK_MONOTONIC, of the batch */
};

#define loop_container(w, type, member) ((type *)((char *)(w)-offsetof(type, member)))

int loop_init(struct loop *l) _must_check_;
int loop_add(struct loop *l, struct watch *w, int fd, uint32_t events, void (*fn)(struct watch *, uint32_t)) _must_check_;
/* Changes what is waited for; nothing where it is the same. It cannot fail for an fd that is in the loop. */
void loop_want(struct loop *l, struct watch *w, uint32_t events);
/* Takes it out, also of the batch that is being served, and closes its fd. Nothing where it is not in. */
void loop_close(struct loop *l, struct watch *w);
/* The same without closing: returns the fd. */
int loop_release(struct loop *l, struct watch *w);
/* Serves events until loop->stop; calls tick after each batch, and at the latest when the time it returned last has passed
 * (ms; -1: never). */
void loop_run(struct loop *l, int (*tick)(void *arg), void *arg);
