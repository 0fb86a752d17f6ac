/* What the files of h2 share. */
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/str.h"
#include "svc/h2.h"

/* A stream as it is kept here; the owner sees its first part. */
struct h2_entry {
        struct h2_stream s; /* first */
        struct h2_entry *next, **prev;
        struct http_head head;

        /* The head as it comes: names and values, one behind the other; it does not move once `begun`. */
        struct strbuf text;
        struct strbuf cookie; /* crumbs, joined: RFC 9113 section 8.2.3 */
        struct http_span pseudo[4];
        bool has_pseudo[4];   /* as h2-head.c orders them */
        bool regular;         /* a field that is no pseudo field has come */
        bool trailers;        /* now a second block of fields comes */
        size_t field_bytes;   /* of this block, also those that are not kept */
        size_t kept;          /* of text, counted in h2.heads */
        enum http_refusal refused;

        bool begun;           /* the owner knows it */
        bool own_reset;       /* by the owner */
        uint64_t received;    /* content */
        size_t untaken;       /* what of it the owner has not taken */
        enum http_framing framing; /* of the response */
        uint64_t length, sent;
        bool responded, sent_all; /* a final head was submitted; END_STREAM was sent */
};

/* What may come often, or in a burst, but not both. */
struct h2_bucket {
        unsigned n;
        uint64_t at; /* ms: when it was lowered last */
};

struct h2 {
        nghttp2_session *session;
        const struct h2_owner *owner;
        void *arg;
        bool tls;
        struct h2_entry *streams;
        size_t n_streams;
        size_t heads;         /* bytes kept by all of them */
        uint64_t now;         /* ms */
        uint64_t head_since;  /* see h2_head_since; of streams that were not refused */
        struct h2_bucket resets, idle;
        bool failed;          /* nothing more is read */
        bool dead;            /* nor written */
        const char *why;
        char *line;           /* HTTP_HEAD_MAX bytes, for a response's head; NULL: not needed yet */
};

/* One field of a request's head, or of its trailers. What is wrong is kept in e->refused. false: the connection is to
 * end. */
bool h2_head_field(struct h2_entry *e, const char *name, size_t name_n, const char *value, size_t value_n);
/* All of it is there; end: no content follows. Sets e->refused, or fills e->head. */
void h2_head_finish(struct h2_entry *e, bool end);
/* Submits the head of a response, checked by being written and read as HTTP/1. */
int h2_head_respond(struct h2_entry *e, const struct http1_out *o, nghttp2_data_provider *content,
                    enum http_refusal *ret_refused) _must_check_;
