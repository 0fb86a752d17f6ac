/* A request in its canonical form (docs/policy.md, "The canonical form"): what the policy's automaton decides on, in the
 * gate, in the broker and in `belljar why` alike. Made by canonical.c, which refuses whatever can be read in two ways;
 * nothing else fills this struct. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_HOST_MAX 253u     /* bytes, RFC 1035 section 2.3.4 in text form */
#define REQUEST_METHOD_MAX 32u
#define REQUEST_TARGET_MAX 8192u  /* bytes of path and query as they came */
#define REQUEST_SEGMENTS_MAX 128u
#define REQUEST_QUERY_MAX 128u

/* Not terminated by NUL; points into the owner's buffer. */
struct request_text {
        const char *p;
        size_t n;
};

/* An address; IPv4 as ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2). */
struct request_address {
        uint8_t byte[16];
};

enum request_layer {
        REQUEST_L4, /* a TCP connection whose bytes nobody reads: host and port only */
        REQUEST_L7, /* an HTTP request */
};

struct request {
        enum request_layer layer;
        /* The name that is meant, lower case, A-labels, no final dot; or, where is_address, the address as RFC 5952
         * has it, IPv4 for the mapped ones. */
        struct request_text host;
        bool is_address;
        struct request_address address;
        uint16_t port;

        /* REQUEST_L7 */
        bool tls;       /* https or wss */
        bool websocket; /* asks for an upgrade to a WebSocket */
        struct request_text method;
        /* Percent-decoded exactly once, dot segments gone: "/" has one empty segment, "/a/" has "a" and "". No segment
         * holds a slash, a NUL or a control character. */
        struct request_text segment[REQUEST_SEGMENTS_MAX];
        size_t n_segments;
        /* In the order in which they came; decoded once ("+" is a space); a key may stand more than once. */
        struct request_query {
                struct request_text key, value;
                bool has_value; /* "a=" has one, "a" has none */
        } query[REQUEST_QUERY_MAX];
        size_t n_query;
        size_t target_bytes; /* of path and query as they will be sent: what a URL budget is charged */
        size_t n_headers, header_bytes; /* as they will be sent: names, values */
        /* What the body names as the model that is asked (proto/json-model.h). Until it was read, rules that say which models fit as if
         * it did. */
        bool model_read;
        struct request_text model; /* n 0: it names none, or none that can be told; no_model says why, a static text */
        const char *no_model;
        bool has_body;
        uint64_t body_bytes; /* declared; UINT64_MAX: not known in advance */
};
