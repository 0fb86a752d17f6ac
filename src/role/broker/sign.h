/* What credential.c asks sign.c. */
#pragma once

#include "svc/net-secret.h"

#include "role/broker/broker.h"

#define SIGN_LINES_MAX 4u
#define SIGN_TOO_LONG "the request's body is too long to be signed, which takes all of it (1 MiB), or too many are waiting for the rest of theirs"

/* A request as it leaves: fields to add and its target; good until the next. */
struct sign_made {
        struct http_text target;
        struct http1_line line[SIGN_LINES_MAX];
        size_t n_lines;
};

/* The block stays where it is. */
int sign_init(const struct net_secret_block *b, struct error *e) _must_check_;
/* Looks at what the client has signed. false: it is refused. */
bool sign_ask(const struct http_head *head, const struct request *q, const char **ret_why) _must_check_;
/* Whether it is to be signed: none of what follows is for others. */
bool sign_asked(void);
/* Whether a part of an object may be asked for, and answered. */
bool sign_takes_parts(void);
/* Whether a field of it does not leave as it came. */
bool sign_drops(struct http_text name, struct http_text value);
/* Signs it; drop: the fields that do not leave. Sets x->gather instead where the body is needed and not there. */
bool sign_make(const struct http_head *head, const struct request *q, const struct http1_out *out, const bool *drop, struct credential_exchange *x,
               struct sign_made *ret, const char **ret_why) _must_check_;
