/* What the files of tls.h share. The only header that includes OpenSSL. */
#pragma once

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "svc/tls.h"

#define TLS_HOST_MAX 254u /* with NUL */

/* Not after a year: clients refuse longer leafs, and a sandbox that lives longer makes a new CA at its next start. */
#define TLS_CA_DAYS 365
/* Clocks: a container's or a virtual machine's may be behind. */
#define TLS_BACKDATE (60 * 60)

/* *ret is freed with X509_free. -ENOMEM. */
int tls_authority_leaf(struct tls_authority *a, const char *host, X509 **ret) _must_check_;
SSL_CTX *tls_authority_context(struct tls_authority *a);
EVP_PKEY *tls_authority_leaf_key(struct tls_authority *a);

/* NULL: no memory. The store is filled by then. */
SSL_CTX *tls_trust_context(struct tls_trust *t);
/* A session of an earlier connection, now the caller's; NULL: none. */
SSL_SESSION *tls_trust_take_session(struct tls_trust *t, const char *host, bool h2);
void tls_trust_keep_session(struct tls_trust *t, const char *host, bool h2, SSL_SESSION *s);
/* No certificate of a CA was found at all. */
bool tls_trust_is_empty(const struct tls_trust *t);

/* What both sides of tls.h want of a context. */
int tls_context_common(SSL_CTX *ctx) _must_check_;
/* Of the connection that a callback of OpenSSL's is called for. */
const char *tls_host(const SSL *ssl);
bool tls_offers_h2(const SSL *ssl);
void tls_keep_session(const SSL *ssl, SSL_SESSION *s);

/* tls-socket.c. The struct outlives the SSL, and neither closes the fd. */
struct tls_socket {
        int fd;
        bool once; /* a read that got less than it asked for is not followed by another */
        bool dry;  /* there was such a read; whoever begins a turn clears it */
        bool more; /* what is written next is followed by more */
        bool eof;
};
int tls_socket_init(void) _must_check_;
int tls_socket_set(SSL *ssl, struct tls_socket *s) _must_check_;

/* "example.com" or "192.0.2.1": 4 or 16 bytes of an address, 0 for a name. */
size_t tls_host_address(const char *host, uint8_t ret[16]);
/* OpenSSL's first reason, as an error. */
int tls_openssl_error(struct error *e, const char *what);

static inline void tls_bio_freep(BIO **p) { BIO_free_all(*p); }
static inline void tls_x509_freep(X509 **p) { X509_free(*p); }
static inline void tls_pkey_freep(EVP_PKEY **p) { EVP_PKEY_free(*p); }
#define _cleanup_bio_ _cleanup_(tls_bio_freep)
#define _cleanup_x509_ _cleanup_(tls_x509_freep)
#define _cleanup_pkey_ _cleanup_(tls_pkey_freep)
