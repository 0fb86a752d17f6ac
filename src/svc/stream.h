/* One end of a connection: a socket in the loop, with TLS on it or without. */
#pragma once

#include <sys/types.h>

#include "svc/loop.h"
#include "svc/tls.h"

struct stream {
        struct watch w;
        struct tls *tls;      /* NULL: plain */
        bool shaking;         /* the handshake is not done */
        bool read_turned;     /* TLS: reading waits for the socket to be writable */
        bool write_turned;    /* and the other way round */
        bool drained;         /* the last read took all that there was; an event tells of more */
};

/* fd is the stream's afterwards, tls as well (may be NULL). */
int stream_init(struct stream *s, struct loop *l, int fd, struct tls *tls, void (*fn)(struct watch *, uint32_t)) _must_check_;
/* From one place to another, in the same loop; what is waited for is to be said again. On failure it is closed. */
int stream_move(struct stream *to, struct stream *from, struct loop *l, void (*fn)(struct watch *, uint32_t)) _must_check_;
void stream_close(struct stream *s, struct loop *l);
/* Close; what was written may still arrive (a socket may have been set to reset on close). */
void stream_close_gently(struct stream *s, struct loop *l);
/* Close, and the peer sees a reset. */
void stream_reset(struct stream *s, struct loop *l);

/* 0: done, or there is none. -EAGAIN; -EPROTO, -ECONNRESET: tls_why. */
int stream_handshake(struct stream *s) _must_check_;
/* As recv(2) and send(2), with negative errnos; 0 of a read is an end that the peer has said. */
ssize_t stream_read(struct stream *s, void *buf, size_t n) _must_check_;
ssize_t stream_write(struct stream *s, const void *buf, size_t n) _must_check_;
/* Says that nothing more comes from here. */
void stream_shutdown(struct stream *s);
/* What is waited for. */
void stream_want(struct stream *s, struct loop *l, bool in, bool out);
