/* HTTP/1 between two streams, one request after the other: each head is read, judged by the owner, and written anew; bodies
 * are decoded and framed anew (docs/architecture.md, "The network"). The gate has one from a client to its broker, the broker
 * one from the gate to the upstream: both read strictly, and neither passes on a line that it did not write itself. */
#pragma once

#include "proto/http1.h"
#include "svc/http-end.h"

#define HTTP_RELAY_HEAD_MS 30000u   /* for a head, from its first byte to its end */
#define HTTP_REWRITE_HELD 58368u    /* bytes that a rewriter keeps back at most */
#define HTTP_GATHER_MAX (1u << 20)   /* bytes of a body that is gathered, where the owner names no other number; more is refused as
                                      * HTTP_BODY_LARGE while gather.on */
#define HTTP_GATHER_ALL (64u << 20)  /* of all of them in this process at once; likewise */
#define HTTP_RELAY_LINGER_MS 2000u  /* for a client to take an answer after which the connection is closed */

enum http_relay_verdict {
        HTTP_RELAY_FORWARD,  /* out is filled: write it. Where the upstream is not ready, it waits for http_relay_connected */
        HTTP_RELAY_GATHER,   /* nothing is sent before all of the body is there: then `gathered` is called */
        HTTP_RELAY_ANSWERED, /* http_relay_answer was called */
        HTTP_RELAY_CUT,      /* reset both */
};

struct http_relay;
struct http_relay_owner {
        /* A request's head is in r->request; out has its framing and `from` already: method, target and host are to be set, and
         * what goes along with it. */
        enum http_relay_verdict (*request)(struct http_relay *r, struct http1_out *out);
        /* After HTTP_RELAY_GATHER, likewise, with the body in r->gather as it will go on (rewritten). May be NULL. */
        enum http_relay_verdict (*gathered)(struct http_relay *r, struct http1_out *out);
        /* A response's head is in r->response; out can go as it is. */
        enum http_relay_verdict (*response)(struct http_relay *r, struct http1_out *out);
        /* Before n bytes of a body (or of a tunnel) are read from the client (up) or the upstream. false: not now; the owner
         * calls http_relay_run again. */
        bool (*may_read)(struct http_relay *r, bool up);
        /* Bytes of a response's body, before they go on; may be NULL. */
        void (*content)(struct http_relay *r, const char *p, size_t n);
        /* Where r->rewrites_up or r->rewrites_down: what goes on in place of n bytes of a body or tunnel, into out, which takes n +
         * HTTP_REWRITE_HELD. Bytes may be kept back, but none once `last` is said. The sum of what comes out is that of what went in.
         * A request of a length of at most 16 KiB is not sent before its end was rewritten.
         * SIZE_MAX: it may not go on, and is refused as HTTP_BODY_PLACEHOLDER. */
        size_t (*rewrite)(struct http_relay *r, bool up, const char *p, size_t n, bool last, char *out);
        /* n bytes of a body or tunnel went by. false: reset. */
        bool (*moved)(struct http_relay *r, bool up, size_t n);
        /* The client's message is none that can be read (http_refusal_text(why)), or could not be sent in time (HTTP_OK): calls
         * http_relay_answer, or does nothing: then it is a reset. */
        void (*refused)(struct http_relay *r, enum http_refusal why);
        /* The upstream failed before a response was written: likewise. text is static or r's, one line. */
        void (*failed)(struct http_relay *r, const char *text);
        /* The upstream is idle, can take another request, and is about to be closed: whoever moves r->upstream.s away keeps it.
         * May be NULL, as may the next. */
        void (*idle)(struct http_relay *r);
        /* An upstream that had answered before was closed without a word to this request, which the relay sends once more: the
         * owner gets it another one, and calls http_relay_connected or http_relay_unconnected. */
        void (*again)(struct http_relay *r);
        /* A request and its response are done; or, where cut, as far as it came. */
        void (*done)(struct http_relay *r, bool cut);
        /* Both streams are closed; the owner frees what r is in. */
        void (*ended)(struct http_relay *r);
};

struct http_relay {
        const struct http_relay_owner *owner;
        struct loop *loop;
        struct http_end client, upstream;
        struct http1_reader request_reader, response_reader;
        struct http_head request, response;
        struct http1_body request_body, response_body;
        struct http_gather {
                bool on;          /* the body is being read */
                char *head;       /* of the request, which r->request points into from then on */
                char *data;       /* [at, n): the body, and what of it has not gone on */
                size_t at, n, cap;
        } gather;
        struct http_buffer again; /* the request as it was written, while it may be sent once more (RFC 9112 section 9.3.1) */
        enum http_relay_state {
                HTTP_RELAY_REQUEST, /* reads a head, or waits for one */
                HTTP_RELAY_ACTIVE,  /* a request is on its way, a response may be */
                HTTP_RELAY_TUNNEL,  /* a WebSocket */
                HTTP_RELAY_CLOSING, /* the last bytes to the client */
                HTTP_RELAY_ENDED,
        } state;
        enum http_framing up, down;  /* as they are written */
        bool request_done, response_begun, response_done;
        bool close;      /* after this response */
        bool running;    /* within http_relay_run */
        bool starting;   /* within the owner's `request` */
        const char *unconnected; /* the upstream could not be had, which was known at once */
        size_t rewrites_up, rewrites_down; /* by the owner's rewrite, which keeps back so many bytes at most, up to HTTP_REWRITE_HELD; 0: not. It sets them
                                            * with the request, or the response */
        bool said_end[2];/* tunnel: the end was passed on, up and down */
        uint64_t body_max; /* of the request's body; the owner sets it with the request */
        uint64_t gather_max; /* of one that is gathered; likewise; 0: HTTP_GATHER_MAX */
        uint64_t deadline; /* ms; 0: none */
        const char *why;   /* of failed */
};

/* client has been initialised with http_relay_ready as its function; upstream likewise, or has fd -1 until http_relay_connected. */
void http_relay_init(struct http_relay *r, const struct http_relay_owner *owner, struct loop *loop);
/* Of a stream's watch: the relay must be that of the end. */
void http_relay_client_ready(struct watch *w, uint32_t events);
void http_relay_upstream_ready(struct watch *w, uint32_t events);
/* What a step of the client's handshake has brought, for an owner that makes it. */
void http_relay_shaken(struct http_relay *r, int result);
/* Within `request`: the upstream that there is, if any, is not the one for this request. */
void http_relay_part(struct http_relay *r);
/* The upstream is there. */
void http_relay_connected(struct http_relay *r);
/* It could not be had: the request is answered by `failed`. */
void http_relay_unconnected(struct http_relay *r, const char *text);
/* Does what can be done, and waits for the rest. May end the relay. */
void http_relay_run(struct http_relay *r);
/* Deadlines. */
void http_relay_tick(struct http_relay *r);
/* Answers the request that is being read in place of an upstream, and closes the connection behind it: within `request`,
 * `refused` and `failed`. */
void http_relay_answer(struct http_relay *r, unsigned status, const char *type, const char *body, size_t n);
/* What is at work must not go on: the upstream sees a reset, the client this answer, or a reset where a response has begun. */
void http_relay_take_back(struct http_relay *r, unsigned status, const char *type, const char *body, size_t n);
/* Ends it now: both sides see a reset. */
void http_relay_cut(struct http_relay *r);
