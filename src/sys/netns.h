/* A sandbox's network namespace: every address of the world is a local one, and what is sent to it ends in sockets of the
 * gate's (kernel-level facts: ip-route(8) "local", nft.h). To be called in the new namespace, with CAP_NET_ADMIN over it,
 * before any other process runs in it: the ports are free then. Negative errnos. */
#pragma once

#include "base/macros.h"
#include "sys/nft.h"

/* The gate's sockets. */
enum netns_fd {
        NETNS_TCP4, NETNS_TCP6, /* transparent listeners: getsockname(2) of an accepted connection is where it was meant to go */
        NETNS_DNS_UDP4, NETNS_DNS_UDP6, /* with IP_PKTINFO and IPV6_RECVPKTINFO: answered from the address that was asked */
        NETNS_DNS_TCP4, NETNS_DNS_TCP6,
        NETNS_LOG, /* netlink: reports of what was refused at the first packet */
        NETNS_N,
};

/* Brings up lo, and nothing else: a sandbox without a network policy. */
int netns_loopback(void) _must_check_;
/* Also the routes, the rules and the sockets. fds is untouched on failure; *ret_what names what failed. */
int netns_prepare(const struct nft_config *c, void *buf, size_t size, int fds[NETNS_N], const char **ret_what) _must_check_;
