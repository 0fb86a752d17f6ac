/* What HTTP/1 (web.c) and HTTP/2 (web2.c) of the gate share (judge.c). */
#pragma once

#include "model/canonical.h"
#include "model/denial.h"
#include "proto/http1.h"
#include "role/gate/gate.h"

/* Where a connection was meant to go. */
struct place {
        struct request request; /* port, address; its host is not set */
        char host[REQUEST_HOST_MAX + 1];
        bool tls;
};
void place_init(struct place *p, const struct request *meant, bool tls);
/* Reports a refusal that is no verdict's; line is the request as far as it is known, or "". */
void place_refused(const struct place *p, enum net_what what, const char *why, const char *line);

struct judged {
        struct request request; /* points into canonical */
        struct canonical_buffer canonical;
        /* What is allowed: as it is written to the broker. */
        char target[3 * REQUEST_TARGET_MAX], authority[REQUEST_HOST_MAX + 9];
        size_t n_target, n_authority;
        uint64_t body_max;
        uint32_t identity; /* whose broker carries it */
        /* What is refused, and was reported: the answer. */
        unsigned status;
        char body[DENIAL_JSON_MAX];
        size_t n_body;
};
/* True: allowed. */
bool judge_request(const struct place *p, const struct http_head *head, struct judged *ret);
/* Target, host and the choice of fields. */
void judged_write(const struct judged *j, struct http1_out *out);
/* A socket that carries requests for this place to the identity's broker, as HTTP/1.1. -EAGAIN: none now; webs_resume and webs2_resume
 * come. */
int exchange_open(const struct place *p, uint32_t identity) _must_check_;

/* A connection within TLS, whose handshake is done, that speaks HTTP/2. Takes fd and tls. */
struct tls;
void web2_start(struct gate *g, const struct place *p, int fd, struct tls *tls);
/* What a request is told whose secret was revoked. */
size_t revoked_body(char body[DENIAL_JSON_MAX]);
void webs2_resume(struct gate *g);
void webs2_tick(struct gate *g);
