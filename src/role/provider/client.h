/* One HTTPS request and its answer: HTTP/1.1 on a connection of its own, to a host whose certificate is good for the trust that
 * the caller goes by, at a public address or one that the policy names. Everything is bounded; no redirect is followed, no cookie
 * kept. One call at a time. */
#pragma once

#include "base/error.h"
#include "model/address.h"
#include "proto/http1.h"

#define CLIENT_REQUEST_MAX 65536u
#define CLIENT_HEAD_MAX 16384u
#define CLIENT_BODY_MAX (256u << 10)
#define CLIENT_RANGES_MAX 64u

/* Before the cage: sockets' loop, names, trust (fds as tls_trust_new has them), locked memory. addresses: ranges, separated by
 * blanks. */
int client_init(int trust_file, int trust_directory, const char *addresses, struct error *e) _must_check_;

struct client_ask {
        const char *method, *url;       /* url: https */
        const struct http1_line *more;  /* fields beside Host, Content-Length, User-Agent, Accept-Encoding */
        size_t n_more;
        const char *body;               /* NULL: none */
        size_t n_body;
        unsigned timeout_ms;
};
struct client_answer {
        unsigned status;
        const struct http_head *head;   /* it and the body are good until the next call */
        const char *body;
        size_t n_body;
};
/* host: whom it went to, for messages. Any status is an answer; an error is one line that begins with the host. */
int client_call(const struct client_ask *ask, char host[256], struct client_answer *ret, struct error *e) _must_check_;

/* Memory for a request's parts: locked, CLIENT_REQUEST_MAX bytes, used anew by each call of whoever writes one. */
char *client_scratch(void);
