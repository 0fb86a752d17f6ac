/* A connection to an upstream, while it is made, for what stands in the host's network (brokers, the provider): the name is
 * resolved, its addresses are checked, one is dialled after the other. */
#pragma once

#include <netinet/in.h>

#include "model/request.h"
#include "model/table.h"
#include "svc/loop.h"

#define DIAL_ADDRESSES_MAX 8u      /* of a name, that are tried */
#define DIAL_MS 30000u             /* for all of it: resolving, and every address */
#define DIAL_ATTEMPT_MS 5000u      /* for one address, where there are others */

enum dial_result {
        DIAL_CONNECTED, /* fd is the owner's */
        DIAL_FORBIDDEN, /* every address is one that no rule opens */
        DIAL_FAILED,    /* why says it */
};
struct dial {
        struct watch w;
        struct dial **slot; /* the owner's pointer to it; NULL: it is not wanted any more */
        struct dial *next, **prev;
        void (*done)(void *owner, enum dial_result result, int fd, const char *why);
        void *owner;
        struct verdict verdict;
        struct request request; /* host points into `host` */
        char host[REQUEST_HOST_MAX + 1];
        struct sockaddr_in6 address[DIAL_ADDRESSES_MAX]; /* or a sockaddr_in */
        size_t n_addresses, tried;
        uint64_t deadline, attempt_deadline; /* ms */
        int last_error;
        bool resolving; /* the resolver has it */
        struct dial *same; /* the resolver's: the next that waits for the same answer */
};

/* Whether an address may be dialled under a verdict: asked of every one. */
typedef bool dial_allows(const struct verdict *v, const struct request_address *a, uint16_t port);
/* Once in a process. */
void dial_init(struct loop *l, dial_allows *fn);
/* *slot is set while it is at work, and NULL again when done is called, once, which may be within this call. */
void dial_start(struct dial **slot, const struct request *r, const struct verdict *v,
                void (*done)(void *owner, enum dial_result result, int fd, const char *why), void *owner);
void dial_cancel(struct dial **slot);
void dials_tick(void);
void dial_address_of(const struct sockaddr_in6 *a, struct request_address *ret);
/* The resolver's answer: called once for each resolver_ask, later or at once. */
void dial_resolved(struct dial *d, const struct sockaddr_in6 *addresses, size_t n, const char *why);
