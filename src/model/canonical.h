/* From what stands in a request, a URL or a policy to the one form that is decided on (docs/policy.md, "The canonical
 * form"). Whatever has two readings is refused: names outside ASCII, numbers that some read as octal, encoded slashes, paths
 * that some servers decode twice. Pure, allocates nothing, reads hostile bytes; used by gate, broker, `why` and the policy
 * reader.
 *
 * Every reader returns 0 or a negative errno, and on failure *ret_reason (which may be NULL) is a static text, one line
 * without a full stop, for the user: what is wrong with it and, where there is one, what to write instead.
 *   -EINVAL  it has no reading or two: HTTP 400
 *   -EXDEV   its parts name different destinations: HTTP 421
 *   -E2BIG   longer than a limit of request.h: HTTP 414
 * On failure the fields of *r that the function fills are empty (no host, no segments). What r points to lies in the buffer
 * that the caller gave. */
#pragma once

#include <sys/types.h>

#include "base/macros.h"
#include "model/request.h"

/* A host without a port: a name (any case, at most one final dot), an IPv4 address in any spelling that inet_aton(3) reads
 * in one way only ("127.1", "0x7f000001", "0"; not "0177.0.0.1"), an IPv6 address with or without brackets. Fills host,
 * is_address, address. An IPv4-mapped address is the IPv4 address. A name has letters, digits, '-' and '_', in labels of 1
 * to 63, and its last label is no number. No wildcards: the policy reader takes "*." away before. */
int canonical_host(const char *s, size_t n, char buf[REQUEST_HOST_MAX + 1], struct request *r, const char **ret_reason) _must_check_;

/* "host[:port]", as in Host, :authority, the target of CONNECT: an IPv6 address stands in brackets. Fills port too:
 * default_port where none stands there, and where that is 0 a port is required. */
int canonical_authority(const char *s, size_t n, uint16_t default_port, char buf[REQUEST_HOST_MAX + 1], struct request *r,
                        const char **ret_reason) _must_check_;

/* A decimal port of 1 to 65535 without a leading zero. */
int canonical_port(const char *s, size_t n, uint16_t *ret) _must_check_;

/* A method: upper-case letters, digits, '-' and '_'. Fills method, which then points to s itself. */
int canonical_method(const char *s, size_t n, struct request *r, const char **ret_reason) _must_check_;

/* The target of a request in origin form ("/path?query"), or "*", which has no segments. Fills segment, query,
 * target_bytes. size of at least n always suffices, REQUEST_TARGET_MAX for any (-E2BIG). */
int canonical_target(const char *s, size_t n, char *buf, size_t size, struct request *r, const char **ret_reason) _must_check_;

/* An absolute URL: http, https, ws, wss; no userinfo, no fragment. Fills everything but method, headers and body, layer L7;
 * size of REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX always suffices. */
int canonical_url(const char *s, size_t n, char *buf, size_t size, struct request *r, const char **ret_reason) _must_check_;

/* All that a connection and the head of a request on it say of where the request goes. A text with p NULL is absent. */
struct canonical_parts {
        bool tls;
        struct request_text dialled; /* the name that the connection's address stands for, or the address; required */
        uint16_t port;               /* of the connection; required */
        struct request_text sni;     /* of the ClientHello */
        struct request_text method, target;
        struct request_text host; /* Host or :authority; required but for CONNECT */
};
struct canonical_buffer {
        char method[REQUEST_METHOD_MAX];
        char host[REQUEST_HOST_MAX + 1], other[REQUEST_HOST_MAX + 1];
        char target[REQUEST_TARGET_MAX];
};
/* A whole request: reads each part and refuses it where two of them disagree (-EXDEV). The target is in origin form,
 * absolute form (whose scheme, host and port must be the connection's) or "*" (OPTIONS only). CONNECT is refused: a
 * connection needs no proxy. websocket, headers and body are left to the caller, who clears *r before. The texts of *r are in
 * the buffer, and outlive the parts. */
int canonical_request(const struct canonical_parts *parts, struct canonical_buffer *b, struct request *r,
                      const char **ret_reason) _must_check_;

/* True when both mean the same host and port. */
bool canonical_same_place(const struct request *a, const struct request *b);

/* The target as it is sent: everything encoded that has to be, nothing else; a space is "%20". What canonical_target reads
 * from it is the same request again, and its length is r->target_bytes. Returns the length; -ENOBUFS. */
ssize_t canonical_write_target(const struct request *r, char *buf, size_t size) _must_check_;
/* "host" or "host:port" where the port is not the scheme's own (80, with tls 443), IPv6 in brackets: the Host field as it is
 * sent. Terminated by NUL. Returns the length; -ENOBUFS, never with REQUEST_HOST_MAX + 9 bytes. */
ssize_t canonical_write_authority(const struct request *r, char *buf, size_t size) _must_check_;
