/* The gate of one sandbox: the client side of its network (docs/architecture.md, "The network"). It reads what the code
 * inside sends, answers DNS out of the policy alone, decides whether a connection may be carried, and hands it to a broker,
 * which decides again. It has no way out, no credential and no file: it lives in the sandbox's network namespace and in
 * user, mount and pid namespaces of its own. What its files share. */
#pragma once

#include <netinet/in.h>

#include "base/error.h"
#include "model/request.h"
#include "model/table.h"
#include "proto/client-hello.h"
#include "proto/net-msg.h"
#include "svc/loop.h"
#include "svc/net-control.h"
#include "svc/net-report.h"
#include "svc/tls.h"

#define GATE_CLIENTS_MAX 4096u     /* connections that are being looked at, or wait for a broker */
#define GATE_HELLO_MS 10000u       /* for a ClientHello to be complete */
#define GATE_DNS_STREAMS_MAX 64u   /* DNS over TCP: connections at once */
#define GATE_DNS_STREAM_MS 10000u

/* Names that have a synthetic address (names.c). */
struct names {
        uint32_t base, size; /* first address, in the host's byte order; how many there are */
        char **name;         /* by address; NULL: none yet */
        uint32_t n;
};

/* A connection that was accepted and is not yet a broker's. */
struct client {
        struct watch w;
        struct client *next, **prev;
        struct request request;         /* host points into `host`, or is the address's text */
        char host[REQUEST_HOST_MAX + 1];
        struct client_hello_reader hello;
        enum table_access access;
        uint64_t deadline; /* ms */
        bool waits;        /* for the broker */
};

struct gate {
        struct loop loop;
        struct net_control control;
        struct watch brokers[NET_BROKERS_MAX];
        bool wanted[NET_BROKERS_MAX]; /* asked for, and not there yet */
        uint32_t revoked;             /* bit i: the identity i is no more */
        struct watch sockets[NETNS_N];
        struct watch published[NET_PUBLISHED_MAX];
        bool deaf; /* a listener waits until the next tick: there is no descriptor for what it has */
        uint16_t published_ports[NET_PUBLISHED_MAX];
        struct guest *guests; /* published.c */
        struct table table;
        struct tls_authority *authority; /* NULL: nothing within TLS is read */
        struct names names;
        uint8_t own[4];
        struct client *clients;
        struct web *webs;   /* web.c */
        struct web2 *webs2; /* web2.c */
        unsigned n_clients, n_streams;
        struct dns_stream *streams;
};

int names_init(struct names *n, const uint8_t pool[4], unsigned prefix) _must_check_;
/* The address of a name, in network order; the same name gets the same. -ENOSPC: there are none left. */
int names_address(struct names *n, struct request_text name, uint8_t ret[4]) _must_check_;
/* The name of an address; NULL: nobody has asked for one that has it. *ret_pool: it is of the pool. */
const char *names_find(const struct names *n, const uint8_t address[4], bool *ret_pool);

void dns_udp_ready(struct watch *w, uint32_t events);
void dns_tcp_ready(struct watch *w, uint32_t events);
void dns_tick(struct gate *g);
void clients_ready(struct watch *w, uint32_t events);
/* accept4(2), non-blocking. Where there is no descriptor left, the connection is refused, rather than told of without end. */
int gate_accept(struct watch *listener);
void clients_tick(struct gate *g);
/* The broker of this identity is there, or can take more: those who wait for it go on. */
void clients_resume(struct gate *g);
/* The socket of an identity's broker; NULL: it was asked for, and clients_resume and webs_resume come when it is there. */
struct watch *gate_broker(struct gate *g, uint32_t identity);
/* A connection whose requests are read. Takes the fd. */
void web_start(struct gate *g, const struct request *place, int fd, bool tls);
void webs_resume(struct gate *g);
void webs_revoke(struct gate *g, uint32_t identity);
void webs2_revoke(struct gate *g, uint32_t identity);
void webs_tick(struct gate *g);
void published_ready(struct watch *w, uint32_t events);
void guests_resume(struct gate *g);
void guests_tick(struct gate *g);
void refused_ready(struct watch *w, uint32_t events);

/* belljar-gate --new-ca; its exit status. */
int gate_new_ca(void);
/* Another work of the program: see try.c. argv: MODE HOST PORT METHOD TARGET. */
int gate_try(char **argv);
extern struct gate gate;
