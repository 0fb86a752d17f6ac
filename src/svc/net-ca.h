/* The CA of one sandbox, as those see it who must not know its key: made by a program of its own (`belljar-gate --new-ca`,
 * which has OpenSSL), passed to the sandbox's gate as a sealed memfd that nobody else reads. */
#pragma once

#include "base/error.h"

/* File descriptors of belljar-gate --new-ca. */
enum { NET_CA_FD_SECRET = 3, NET_CA_FD_PUBLIC = 4 };

struct net_ca {
        int fd;        /* key and certificate, sealed, close-on-exec; empty where there is no CA */
        char *cert;    /* PEM; NULL: there is none */
        char hash[9];  /* of its subject, as OpenSSL's directories of certificates have it */
};
#define NET_CA_NONE ((struct net_ca){.fd = -EBADF})
void net_ca_clear(struct net_ca *ca);

int net_ca_new(struct net_ca *ret, struct error *e) _must_check_;
/* A sandbox where nothing within TLS is read. */
int net_ca_empty(struct net_ca *ret, struct error *e) _must_check_;
