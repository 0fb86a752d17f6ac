/* A broker: the outer side of a sandbox's network, one for each upstream identity. It takes jobs from the gate, which it does
 * not trust: decides again, resolves the name only then, checks the address and keeps to it, dials, and carries bytes while
 * it has the supervisor's lease. In the host's network namespace, in user, mount and pid namespaces of its own, without
 * files. What its files share. */
#pragma once

#include <netinet/in.h>

#include "base/error.h"
#include "model/provenance.h"
#include "model/request.h"
#include "model/table.h"
#include "proto/http1.h"
#include "proto/net-msg.h"
#include "proto/redact.h"
#include "proto/websocket.h"
#include "svc/dial.h"
#include "svc/loop.h"
#include "svc/net-control.h"
#include "svc/net-report.h"
#include "svc/stream.h"
#include "svc/tls.h"

#define BROKER_CONNECTIONS_MAX 4096u
#define BROKER_JOIN_MS 5000u         /* for a published port: the connection inside */

struct broker;

struct buffer {
        char *data; /* NULL: empty */
        size_t start, len;
};

/* One direction of a relay. */
struct flow {
        struct watch *from, *to;
        struct buffer left;  /* read, and not yet written */
        uint64_t bytes;      /* written */
        bool ended;          /* from has no more */
        bool closed;         /* and `to` was told so */
};

/* L4: bytes that pass unread. */
struct connection {
        struct watch client, upstream;
        struct connection *next, **prev;
        struct request request;
        char host[REQUEST_HOST_MAX + 1];
        struct verdict verdict;
        struct flow up, down;
        struct dial *dial; /* while it is made */
        bool made;
        bool joined; /* of a published port: from the host inwards, by no rule */
        int other;   /* of a published port, while the connection inside is made: the socket to be tried next; else -1 */
        uint16_t inside;   /* and the port there */
        uint64_t deadline; /* and until when, ms */
};

struct broker {
        struct loop loop;
        struct net_control control;
        struct watch gate;
        struct table table;
        struct tls_trust *trust;
        struct connection *connections;
        struct exchange *exchanges; /* http.c */
        unsigned n_connections;     /* of both kinds */
        unsigned n_joining;         /* of published ports, not connected yet */
        uint64_t own_netns;         /* cookie of the host's network namespace; 0: not known */
        uint64_t lease, asked; /* ms: forwards until then; when it was asked for */
        bool held;             /* the lease is over: nothing is read */
};

extern struct broker broker;

/* True while bytes may be carried; asks for the lease in time. */
bool broker_may_forward(struct broker *b);
/* What a job says, read like what anybody says. */
int broker_read_place(const struct broker_job *job, struct request *r, char host[REQUEST_HOST_MAX + 1]) _must_check_;
void broker_reset_on_close(int fd);
void broker_close_on_end(int fd);

/* Jobs of the gate's; they take the socket. */
void connection_new(struct broker *b, const struct broker_job *job, int client);
/* Of a published port: takes what is in fds, and leaves -1. n is 2 or 3: outside, inside, inside by another protocol. */
void connection_join(struct broker *b, const struct broker_job *job, int *fds, size_t n);
void connections_tick(struct broker *b);
/* The network namespace of a socket (SO_NETNS_COOKIE); 0: not known. */
uint64_t broker_netns_of(int fd);
void exchange_new(struct broker *b, const struct broker_job *job, int channel);
void exchanges_tick(struct broker *b);
/* A lease has come. */
void connections_resume(struct broker *b);
void exchanges_resume(struct broker *b);
/* Another policy is in force. */
void connections_decide_again(struct broker *b);
void exchanges_decide_again(struct broker *b);

/* Where a connection leads: the request's host, or what its rule has as `to` (origin.c). */
struct origin {
        struct request place; /* host points into `host`; host, is_address, address, port and tls alone are set */
        char host[REQUEST_HOST_MAX + 1];
        char authority[REQUEST_HOST_MAX + 9]; /* as Host has it */
};
/* Of a request that *v allows, which came for *place. */
int origin_of(struct origin *ret, const struct request *place, bool tls, const struct verdict *v) _must_check_;
bool origin_same(const struct origin *a, const struct origin *b);

/* Connections that have answered (upstreams.c). Takes the stream away from where it is. */
void upstream_keep(struct stream *s, const struct request *place, bool tls);
/* true: one to the same place, whose address the verdict allows, is in *ret. */
bool upstream_take(struct stream *ret, const struct request *place, bool tls, const struct verdict *v,
                   void (*fn)(struct watch *, uint32_t)) _must_check_;
/* Whether the verdict allows the address that a connection leads to. */
bool upstream_leads(const struct stream *s, const struct verdict *v, uint16_t port) _must_check_;
/* ms until it is to be called again; -1: not. */
int upstreams_tick(void);

/* Bytes of a connection, once it is made. */
void relay_start(struct connection *c);
void relay_want(struct connection *c);
void connection_end(struct connection *c, bool reset);

/* Budgets (account.c): memory that all brokers of a sandbox share, and that outlives each. */
int account_init(int fd, const struct table *t) _must_check_;
/* Charges a connection or request to every budget that the verdict names and to the run's; false: one of them is used up, and
 * none was charged; *ret_what says which ("requests"). */
bool account_begin(const struct verdict *v, const struct request *r, const char **ret_what) _must_check_;
bool account_bytes(const struct verdict *v, bool up, uint64_t n, const char **ret_what) _must_check_;
/* Bits of a URL that nobody gave; false also where no budget says that there may be any: *ret_budgeted. */
bool account_novel(const struct verdict *v, uint64_t bits, bool *ret_budgeted) _must_check_;

/* A request that carries a secret: false where it has been used `most` times (0: any number). Then what its bytes came to; and
 * a placeholder that was found where it does not belong. */
bool account_secret_use(uint32_t identity, uint64_t most) _must_check_;
void account_secret_bytes(uint32_t identity, uint64_t up, uint64_t down);
void account_secret_refused(uint32_t identity);
/* A request that goes to a model's destination: its key, 0 where the verdict's is none; and then its bytes, also when another policy is
 * in force. */
uint64_t account_model(const struct verdict *v);
void account_model_bytes(uint64_t key, uint64_t up, uint64_t down);

/* Where URLs come from (given.c): memory that all brokers share, and what each exchange needs to know. */
struct given_exchange {
        char url[PROVENANCE_TEXT_MAX]; /* asked for, as text */
        size_t n_url;
        struct url_scan *scan;         /* of the response's body, while there is something to be found */
        struct given_words *words;     /* what the request's fields say, until its response has come */
};
int given_init(int fd) _must_check_;
/* Another policy is in force. */
void given_policy(const struct table *t);
/* A request that *v allows: whether its URL was given, or is paid for. false: *v says why; *ret_spent is set where a budget is
 * used up. */
bool given_ask(struct given_exchange *x, const struct request *r, struct verdict *v, const char **ret_spent) _must_check_;
/* What its fields say, which go along; false: no memory. */
bool given_fields(struct given_exchange *x, const struct http_head *h) _must_check_;
/* Whether the request that is at work may go on under another policy's verdict, which allows it; false: *v says why. */
bool given_still(const struct given_exchange *x, struct verdict *v) _must_check_;
/* n bytes of its body, or of its WebSocket, were sent. */
void given_body(const struct given_exchange *x, size_t n);
/* Whether responses are looked at: then they must not be encoded. */
bool given_asked(void);
void given_response(struct given_exchange *x, const struct http_head *h);
void given_content(struct given_exchange *x, const char *p, size_t n);
void given_done(struct given_exchange *x, bool cut);
/* http_fields_keep, but for what would have the response encoded. */
bool given_keep(void *arg, const struct http_head *head, const struct http_field *field);

/* What a request and its credential have to know of each other. */
struct credential_exchange {
        const char *body; /* where whole: of the request, as it will be sent */
        size_t n_body;
        bool whole;
        bool gather;      /* set: the body is needed before it can be sent; it is to be asked again then */
        bool parts;       /* set: the response may be a part of something */
        uint64_t generation; /* set: of the credential when it was asked for */
};
/* The broker's credential, and everybody's placeholders (credential.c). Reads the block of secrets and locks its memory. */
int credential_init(int fd, struct error *e) _must_check_;
/* Its value anew, of a block that comes later: what begins from here on has that. */
int credential_renew(int fd, struct error *e) _must_check_;
#define CREDENTIAL_GENERATIONS 16u /* what began so many renewals ago is cut: its value is not looked for any more */
uint64_t credential_generation(void);
/* 0: it has none. */
uint32_t credential_identity(void);
/* Whether that reason of a refusal is that a placeholder stood where it does not belong. */
bool credential_misplaced(const char *why);
/* What a request needs on its way: fields, or a target, in out; *ret_carries: the credential is in it. false: it is refused, and
 * *ret_why says why. What out points to is good until the next request. */
bool credential_request(const struct http_head *head, const struct request *q, struct http1_out *out, struct credential_exchange *x, bool *ret_carries,
                        const char **ret_why) _must_check_;
/* Whether bodies of requests are looked at, and those of responses: how many bytes of them are kept back at most, or 0. */
size_t credential_reads_up(void);
/* Of a response, with its head; false: no memory. */
struct credential_stream;
bool credential_reads_down(struct credential_stream **stream, size_t *ret) _must_check_;
/* Takes the credential out of a response's head, where it lies. false: it may not go on. */
bool credential_response(const struct http_head *head, const struct credential_exchange *x, const char **ret_why) _must_check_;
/* An http_relay_owner's rewrite; *stream is made with the first call, and the caller's to free. */
size_t credential_rewrite(struct credential_stream **stream, bool up, const char *p, size_t n, bool last, char *out) _must_check_;
/* The same for what comes through a WebSocket. */
size_t credential_rewrite_frames(struct credential_stream **stream, struct websocket_reader *w, const char *p, size_t n, char *out) _must_check_;

/* What a body has of it (credential-body.c); zeroed: a body without a field for it. */
struct body_field;
struct net_secret_block;
struct credential_body {
        struct body_field *field;
        bool carries;    /* the credential is in it */
        uint64_t generation; /* of the credential that it has */
        const char *why; /* it may not go on: a text of this broker's, which is good until the next */
};
const struct net_secret_block *credential_block(void);
/* With a request's head; false: no memory. */
bool credential_body_begin(struct credential_body *x, const struct http_head *head) _must_check_;
void credential_body_end(struct credential_body *x);
/* How many bytes it holds back at most. */
size_t credential_body_held(void);
/* The next *n bytes with the credential where it belongs; false: x->why says why they may not go on. Good until the next call. */
bool credential_body_fill(struct credential_body *x, const char **p, size_t *n, bool last) _must_check_;
