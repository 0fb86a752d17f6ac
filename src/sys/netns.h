/* A sandbox's network namespace: every address of the world is a local one, and what is sent to it ends in sockets of the
 * gate's (kernel-level facts: ip-route(8) "local", nft.h). To be called in the new namespace, with CAP_NET_ADMIN over it,
 * before any other process runs in it: the ports are free then. Negative errnos. */
#pragma once

#include "base/macros.h"
#include "sys/nft.h"

/* Brings up lo, and nothing else: a sandbox without a network policy. */
int netns_loopback(void) _must_check_;
/* The same, and one of the gate's sockets, NETNS_DNS_UDP4: so that questions for names are answered, by a no. */
int netns_questions(int *ret) _must_check_;
/* Also the routes, the rules and the sockets. fds is untouched on failure; *ret_what names what failed. */
int netns_prepare(const struct nft_config *c, void *buf, size_t size, int fds[NETNS_N], const char **ret_what) _must_check_;
