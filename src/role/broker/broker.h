/* A broker: the outer side of a sandbox's network, one for each upstream identity. It takes jobs from the gate, which it does
 * not trust: decides again, resolves the name only then, checks the address and keeps to it, dials, and carries bytes while
 * it has the supervisor's lease. In the host's network namespace, in user, mount and pid namespaces of its own, without
 * files. What its files share. */
#pragma once

#include <netinet/in.h>

#include "base/error.h"
#include "model/request.h"
#include "model/table.h"
#include "proto/net-msg.h"
#include "svc/loop.h"

#define BROKER_CONNECTIONS_MAX 4096u
#define BROKER_ADDRESSES_MAX 8u      /* of a name, that are tried */
#define BROKER_DIAL_MS 30000u        /* for all of it: resolving, and every address */
#define BROKER_ATTEMPT_MS 5000u      /* for one address, where there are others */
#define BROKER_REPORTS_MAX 200u      /* a second */

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

struct connection {
        struct watch client, upstream;
        struct connection *next, **prev;
        struct request request;
        char host[REQUEST_HOST_MAX + 1];
        struct verdict verdict;
        struct flow up, down;
        uint64_t deadline; /* ms: of dialling; 0: connected */
        uint64_t attempt_deadline;
        struct sockaddr_in6 address[BROKER_ADDRESSES_MAX]; /* or a sockaddr_in */
        size_t n_addresses, tried;
        int last_error;
        bool resolving;    /* an answer is to come, and finds it gone if need be */
        bool gone;
};

struct broker {
        struct loop loop;
        struct watch control, gate;
        struct table table;
        struct connection *connections;
        unsigned n_connections;
        uint64_t lease, asked; /* ms: forwards until then; when it was asked for */
        bool held;             /* the lease is over: nothing is read */
        uint64_t reports_second;
        unsigned reports;
};

extern struct broker broker;

void broker_report(struct broker *b, struct net_report *r);
/* True while bytes may be carried; asks for the lease in time. */
bool broker_may_forward(struct broker *b);

/* A job of the gate's; takes the client's socket. */
void connection_new(struct broker *b, const struct broker_job *job, int client);
/* The name's addresses; called once, later or at once. */
void connection_resolved(struct connection *c, const struct sockaddr_in6 *addresses, size_t n, const char *why);
void connections_tick(struct broker *b);
/* A lease has come, or another policy. */
void connections_resume(struct broker *b);
void connections_decide_again(struct broker *b);

/* Bytes of a connection, once it is made. */
void relay_start(struct connection *c);
void relay_want(struct connection *c);
void connection_end(struct connection *c, bool reset);

/* The resolver: the host's servers and its hosts file, read before the cage. */
int resolver_init(struct broker *b) _must_check_;
void resolver_ask(struct connection *c);
/* ms until the next timeout; -1: none. */
int resolver_tick(void);
