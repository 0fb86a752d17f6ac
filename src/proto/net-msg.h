/* What gate, brokers, supervisor and the command line say to each other about the network: fixed-size structs over
 * SOCK_SEQPACKET pairs, no pointers, one message a datagram. All ends come from one build. What a gate or a broker says is
 * untrusted: numbers are checked where they are used as an index, texts end where their arrays end and are shown through
 * str_visible only. */
#pragma once

#include <stdint.h>

#include "base/macros.h"
#include "base/net.h"

enum {
        NET_HOST_MAX = 254,  /* a name of 253 bytes, or an address, and NUL */
        NET_TEXT_MAX = 256,  /* and NUL within */
        NET_WHY_MAX = 512,
        NET_PUBLISHED_MAX = 16,
        NET_BROKERS_MAX = 16, /* upstream identities of one sandbox: 0 is without a credential, i has the i-th secret (model/secret.h) */
};

/* File descriptors that the programs are executed with. */
enum {
        GATE_FD_CONTROL = 3, /* to the supervisor */
        GATE_FD_TABLE,       /* the compiled policy, sealed */
        GATE_FD_CA,          /* the sandbox's CA, key and certificate, sealed; empty where nothing within TLS is read */
        GATE_FD_SOCKETS,     /* NETNS_N of them, in the order of enum netns_fd */
        GATE_FD_N = GATE_FD_SOCKETS + NETNS_N,
        GATE_FD_PUBLISHED = GATE_FD_N, /* listeners of the host: as many as NET_CONFIG says */

        BROKER_FD_CONTROL = 3,
        BROKER_FD_TABLE,
        BROKER_FD_GATE,      /* to the gate */
        BROKER_FD_BUDGETS,   /* what was charged so far: memory that all brokers of the sandbox share */
        BROKER_FD_GIVEN,     /* the URLs that the run was given so far: likewise (svc/net-given.h) */
        BROKER_FD_SECRET,    /* the block of secrets, in a pipe (svc/net-secret.h) */
        BROKER_FD_N,
        BROKER_FD_TRUST = BROKER_FD_N, /* what the caller's SSL_CERT_FILE, then SSL_CERT_DIR name, where it has these; then the
                                          variable is in the broker's environment, too */
        BROKER_FD_TRUST_N = 2,
};

enum net_what {
        NET_DNS, /* a question: host */
        NET_TCP, /* a connection: host, or address where no name is known, and port */
        NET_UDP, /* datagrams: address and port */
        NET_TLS, /* a connection whose ClientHello does not fit: host and port, text */
        NET_HTTP, /* a request: host, port, text is its method and target */
        NET_CALL, /* of couriers only (role/cli/call.h): host is what was asked for */
};

enum net_report_type {
        NET_DENIED = 1,  /* what, host, address, port, reason, rule, quiet, why, fix; text */
        NET_UPSTREAM,    /* an allowed connection could not be made: host, port, why */
        NET_SPENT,       /* a budget is used up: host, port, rule; text says which */
        NET_ENDED,       /* a connection or an exchange is over: host, port, rule, up, down; text, response, carried */
        NET_BROKER_WANTED, /* gate: rule is the identity, below NET_BROKERS_MAX */
        NET_POLICY_DONE,   /* the new policy is in force */
        NET_FLUSHED,       /* gate: the answer to NET_FLUSH */
        NET_LEASE_WANTED,  /* broker: has something to forward, and no lease */
        NET_ASKED,         /* gate: a question for a name that is allowed: host; text: its type */
};

struct net_report {
        uint32_t type;
        uint32_t what;   /* enum net_what */
        uint32_t reason; /* enum verdict_reason (model/table.h) */
        uint32_t rule;   /* of the compiled policy; UINT32_MAX: none */
        uint32_t quiet;
        uint32_t port;
        uint64_t up, down; /* bytes */
        uint8_t address[16]; /* zero: none */
        char host[NET_HOST_MAX];
        char text[NET_TEXT_MAX]; /* NET_HTTP: method and target; NET_SPENT: the budget */
        char why[NET_WHY_MAX];   /* one line: the reason of a denial or a failure */
        char fix[NET_WHY_MAX];   /* what would allow it; empty: nothing */
        uint64_t lost;       /* reports that were not sent since the last one that was: there were too many */
        uint32_t response;   /* of an exchange: the status of its answer; 0: it had none */
        uint32_t carried;    /* 1: it carried the broker's secret */
        uint32_t misplaced;  /* 1: NET_DENIED: a secret's placeholder stood where it does not belong */
        uint32_t pad;
};

enum net_order_type {
        NET_CONFIG = 1, /* to a gate, first: pool, own, sockets, published */
        NET_BROKER,     /* to a gate: n is the identity; ancillary: the socket to it */
        NET_LEASE,      /* to a broker: forwards until n (ms, CLOCK_MONOTONIC) */
        NET_FLUSH,      /* to a gate, at the end: reports what has come in by now, then says NET_FLUSHED */
        NET_REVOKED,    /* to a gate: the identity n is no more */
        NET_RENEWED,    /* to a broker: its secret has a new value; ancillary: the block of secrets, in a pipe (svc/net-secret.h) */
        NET_POLICY,     /* to both: ancillary: the new compiled policy, sealed; to a broker also memory for its budgets */
};

struct net_order {
        uint32_t type;
        uint32_t pool_prefix;
        uint64_t n;
        uint8_t pool[4], own[4];
        uint32_t sockets; /* bit i: the socket of enum netns_fd i is there */
        uint32_t n_published;
        uint32_t revoked; /* of NET_CONFIG: bit i: the identity i is no more */
        uint16_t published[NET_PUBLISHED_MAX]; /* ports inside, in the order of the listeners */
};

/* What the gate hands to a broker, with the client's socket as ancillary fd. */
enum broker_job_type {
        BROKER_CONNECT = 1, /* L4: the socket is the client's, and its bytes pass unread */
        BROKER_JOIN,        /* a published port: a connection of the host's, and one or two sockets of the sandbox's network namespace
                             * (IPv4, then IPv6) to be connected to port there; bytes pass unread */
        BROKER_EXCHANGE,    /* L7: the socket carries requests, written by the gate as HTTP/1.1, one after the other */
};
struct broker_job {
        uint32_t type;
        uint32_t port;
        uint32_t tls;            /* L7: within TLS */
        char host[NET_HOST_MAX]; /* canonical name or address */
};

/* One message as it was received: n is its length (MSG_TRUNC: the whole, also where it did not fit), n_fds what came with it.
 * -EBADMSG: no program of this build sends it. *ret is whole and within the limits above otherwise: types and numbers are known
 * ones, texts end within their arrays. A job also -EMFILE: sockets that came with it were lost, because the broker has no room for
 * them. */
int net_report_read(const void *data, size_t n, struct net_report *ret) _must_check_;
int net_order_read(const void *data, size_t n, size_t n_fds, struct net_order *ret) _must_check_;
int broker_job_read(const void *data, size_t n, size_t n_fds, struct broker_job *ret) _must_check_;

/* What the supervisor asks the command line (its guard) to start, since it has no right to: a gate, with the sandbox's user
 * and network namespaces, control, table, CA and sockets as ancillary fds; a broker, with control, table and its socket to the
 * gate. */
enum net_role { NET_ROLE_GATE, NET_ROLE_BROKER };
enum { NET_START_FDS_MIN = 2 + GATE_FD_N - GATE_FD_CONTROL, NET_START_FDS_MAX = NET_START_FDS_MIN + NET_PUBLISHED_MAX };
