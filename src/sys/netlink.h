/* Netlink messages, built in a buffer and sent as one batch (netlink(7)): a few microseconds, where the libraries that do
 * the same cost milliseconds at each start. Negative errnos. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

struct netlink {
        char *buf;
        size_t size, n;
        size_t msg;    /* where the message that is being built begins */
        uint32_t seq;  /* of the last message */
        bool overflow; /* it did not fit: netlink_send fails */
};

static inline void netlink_init(struct netlink *nl, void *buf, size_t size) {
        *nl = (struct netlink){.buf = (char *)buf, .size = size};
}
/* Begins a message; header is what follows struct nlmsghdr. netlink_end closes it. */
void netlink_begin(struct netlink *nl, uint16_t type, uint16_t flags, const void *header, size_t n);
void netlink_end(struct netlink *nl);
/* The message that was built last is to be answered (NLM_F_ACK). */
void netlink_want_answer(struct netlink *nl);
void netlink_put(struct netlink *nl, uint16_t type, const void *data, size_t n);
void netlink_put_str(struct netlink *nl, uint16_t type, const char *s);
void netlink_put_u32(struct netlink *nl, uint16_t type, uint32_t v);   /* as the host has it */
void netlink_put_be32(struct netlink *nl, uint16_t type, uint32_t v);  /* in network order */
void netlink_put_be64(struct netlink *nl, uint16_t type, uint64_t v);
/* An attribute that holds others: what nest returns is handed to nest_end. */
size_t netlink_nest(struct netlink *nl, uint16_t type);
void netlink_nest_end(struct netlink *nl, size_t at);

/* Opens a socket of this protocol (NETLINK_ROUTE, NETLINK_NETFILTER). */
int netlink_open(int protocol) _must_check_;
/* Sends everything and reads the answers to all messages that ask for one (NLM_F_ACK). The first error is returned, and the
 * number of its message, from 1, in *ret_seq. The buffer is empty again then. */
int netlink_send(struct netlink *nl, int fd, uint32_t *ret_seq) _must_check_;
