/* One end of a relay of HTTP (http-relay.h): a stream, and what was read from it or is to be written to it. */
#pragma once

#include "proto/http1.h"
#include "svc/stream.h"

#define HTTP_RELAY_BYTES (HTTP_HEAD_MAX + 4096u) /* of each buffer, which exists only while something is in it */
#define HTTP_ROOM_MIN 8192u /* less room is waited for to grow */

struct http_buffer {
        char *data; /* NULL: empty */
        size_t at, n; /* [at, n) is what is in it */
};

struct http_end {
        struct stream s;
        struct http_buffer in, out;
        bool eof;  /* nothing more comes */
        bool ready; /* connected: may be written and read */
        bool drained; /* there was nothing more to read, and no event since */
        bool used;    /* an upstream: it has answered a request before */
};

static inline size_t http_filled(const struct http_buffer *b) { return b->n - b->at; }
static inline size_t http_room(const struct http_buffer *b) { return HTTP_RELAY_BYTES - http_filled(b); }
void http_empty(struct http_buffer *b);
/* Space for at least one byte behind what is there; false: no memory, or full. */
bool http_make_room(struct http_buffer *b) _must_check_;
/* n is no more than there is room for. */
bool http_append(struct http_buffer *b, const void *data, size_t n) _must_check_;
/* The first n are done with. */
void http_take(struct http_buffer *b, size_t n);

static inline bool http_end_usable(const struct http_end *e) { return e->ready && e->s.w.fd >= 0 && !e->s.shaking; }
/* Reads at most n bytes into b, behind what is there. 1: something came, or the end; 0: nothing now; < 0: broken. */
int http_end_fill_some(struct http_end *e, struct http_buffer *b, uint64_t n) _must_check_;
static inline int http_end_fill(struct http_end *e) { return http_end_fill_some(e, &e->in, UINT64_MAX); }
/* Writes what there is of e->out. 1: some; 0: nothing now; < 0: broken. */
int http_end_flush(struct http_end *e) _must_check_;
