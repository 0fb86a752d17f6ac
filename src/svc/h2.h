/* HTTP/2 towards a client (RFC 9113), by nghttp2: frames, HPACK, flow control. What a message means is read by the same
 * rules as HTTP/1 (proto/http1.h): a request comes out as the same struct http_head, a response goes in as the same
 * struct http1_out. No socket: bytes in (h2_read), bytes out (h2_output). Called by the gate; the client is hostile,
 * and all that it can make grow has a limit here.
 *
 * nghttp2's own checks of messages are off, because it drops or resets without a reason: every rule of RFC 9113 section
 * 8 is checked in h2-head.c and http_head_finish_h2, and a refused request is answered with its status. */
#pragma once

#include <sys/types.h>

#include "proto/http1.h"

#define H2_STREAMS_MAX 100u           /* at once, in a connection */
#define H2_STREAM_WINDOW 65535u       /* bytes of content that the owner of a stream has not taken yet */
#define H2_CONNECTION_WINDOW (1u << 20) /* of all streams */
#define H2_HEADS_MAX (1u << 20) /* bytes of fields that all streams keep; a stream beyond is refused (REFUSED_STREAM)  \
                                 */
#define H2_FIELDS_FATAL (4u * HTTP_HEAD_MAX) /* bytes of one head, decompressed: the connection ends */
#define H2_CONTINUATIONS_MAX 8u       /* CONTINUATION frames of one head (CVE-2024-28182) */
#define H2_ACKS_MAX 64u               /* acknowledgements of PING and SETTINGS that wait to be sent */
#define H2_RESETS_MAX 200u /* streams that ended in a reset, by whichever side (CVE-2023-44487, CVE-2025-8671), */
#define H2_RESETS_A_SECOND 33u        /* and how many are forgiven each second */
#define H2_IDLE_FRAMES_MAX 2000u      /* frames in a row that carry no request and no content, */
#define H2_IDLE_FRAMES_A_SECOND 10u   /* and how many are forgiven each second */

struct h2;

/* One request and its response. Freed after `closed`. */
struct h2_stream {
        struct h2 *h2;
        int32_t id;
        void *arg; /* the owner's */
        /* HTTP_NO_BODY, or HTTP_STREAM (has_length: it is checked here to be the length of the content). */
        const struct http_head *head;
        bool request_done; /* all of its content was handed over */
};

struct h2_owner {
        /* A head is there and good. The owner answers with h2_respond, now or later, or with h2_reset. */
        void (*request)(struct h2_stream *s);
        /* Content of the request; end: there is no more (n may be 0 then). The owner says with h2_taken when it has
         * gone on. */
        void (*content)(struct h2_stream *s, const char *p, size_t n, bool end);
        /* Fills buf with at most n bytes of the response's content. Returns how many; -EAGAIN: not now, the owner calls
         * h2_resume; else the stream is reset. *end: no more comes behind these. */
        ssize_t (*pull)(struct h2_stream *s, char *buf, size_t n, bool *end);
        /* A request is refused; `request` is not called for it. The owner answers with h2_respond
         * (http_refusal_status(why)), or does nothing: then it is reset. head is what could be read of it: method,
         * target and host have n 0 where they could not. */
        void (*refused)(struct h2_stream *s, enum http_refusal why);
        /* After `request` or `refused`: the stream has ended; cut: before both messages were complete. */
        void (*closed)(struct h2_stream *s, bool cut);
};

/* tls: the scheme is to be https. -ENOMEM. */
int h2_new(struct h2 **ret, const struct h2_owner *owner, void *arg, bool tls) _must_check_;
/* Calls `closed` for every stream that is left. Not from within a callback. */
void h2_free(struct h2 *h);
void *h2_arg(struct h2 *h);

/* Takes all n bytes and calls back. now: ms of a monotonic clock. -EPROTO: the connection is over: what h2_output still
 * has is to be sent, and it is to be closed; h2_why says why. Not from within a callback. */
int h2_read(struct h2 *h, const char *buf, size_t n, uint64_t now) _must_check_;
/* The next bytes to send; they stay until the next call. 0: none now. -EPROTO: as above, and there is nothing to send.
 * Not from within a callback. */
ssize_t h2_output(struct h2 *h, const char **ret) _must_check_;
/* Nothing more will be read or written: it ended well, or not. */
bool h2_over(const struct h2 *h);
/* One line, static; "" where nothing is wrong. */
const char *h2_why(const struct h2 *h);
/* No new requests (GOAWAY); those that are there go on. */
void h2_goaway(struct h2 *h);
size_t h2_streams(const struct h2 *h);
/* When the head, or the trailers, began whose end has not come, as h2_read's now; 0: there is none. */
uint64_t h2_head_since(const struct h2 *h);

/* Writes the head of the response: what http1_write_response would, in HTTP/2's form. With 1xx another one follows;
 * with HTTP_NO_BODY the stream is at its end; else content is pulled. -EBADMSG (*ret_refused may be NULL), -ENOMEM;
 * -EINVAL where a final one was written already. */
int h2_respond(struct h2_stream *s, const struct http1_out *o, enum http_refusal *ret_refused) _must_check_;
void h2_resume(struct h2_stream *s);
/* n bytes of content have gone on: the client may send as many more. */
void h2_taken(struct h2_stream *s, size_t n);
/* Ends the stream at once; the client sees that it was cut. `closed` is called later. */
void h2_reset(struct h2_stream *s);
