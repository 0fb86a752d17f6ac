/* The CA of one sandbox, as those see it who must not know its key: made by a program of its own (`belljar-gate
 * --new-ca`, which has OpenSSL), passed to the sandbox's gate as a sealed memfd that nobody else reads. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* File descriptors of belljar-gate --new-ca. */
enum { NET_CA_FD_SECRET = 3, NET_CA_FD_PUBLIC = 4 };

struct net_ca {
        int fd;        /* key and certificate, sealed, close-on-exec; empty where there is no CA */
        char *cert;    /* PEM; NULL: there is none */
        char hash[9];  /* of its subject, as OpenSSL's directories of certificates have it */
        pid_t maker;   /* until it is finished: who makes it, and where it says what is public */
        int public;
};
#define NET_CA_NONE ((struct net_ca){.fd = -EBADF, .public = -EBADF})
void net_ca_clear(struct net_ca *ca);

/* It takes some milliseconds of another process; what comes between the two is for free. */
int net_ca_begin(struct net_ca *ret, struct error *e) _must_check_;
int net_ca_finish(struct net_ca *ca, struct error *e) _must_check_;
/* A sandbox where nothing within TLS is read. */
int net_ca_empty(struct net_ca *ret, struct error *e) _must_check_;
