/* TLS of gate and broker: OpenSSL 3 behind one header. Only the files tls*.c include it. On sockets
 * that do not block, from the loop; one thread.
 *
 * tls_init is called before the cage and makes OpenSSL read and set up what it will need: afterwards nothing here opens
 * a file or maps memory that is executed. What is not said to fail does not. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define TLS_WHY_MAX 160u
#define TLS_PEM_MAX 2048u          /* certificate and key of the sandbox's CA, each */
#define TLS_LEAFS_MAX 512u         /* certificates that an authority keeps, the last used ones */
#define TLS_LEAF_DAYS 7u           /* how long they are good; a new one is made at half of it */
#define TLS_SESSIONS_MAX 128u      /* upstream sessions that are kept for resumption, with their certificates */
#define TLS_SESSION_SECONDS 7200u
#define TLS_CHAIN_BYTES_MAX 65536u /* of an upstream's certificates */
#define TLS_CHAIN_DEPTH_MAX 8u
#define TLS_BUNDLE_MAX (8u << 20)  /* bytes of a file of CA certificates */

/* Once in a process, before net_cage. -ENOMEM, -EIO: there is no randomness. */
int tls_init(struct error *e) _must_check_;

/* --- the sandbox's own CA --- */

/* An ECDSA P-256 key and a certificate for it that may sign leafs and nothing else, good for a year from an hour before
 * now. The subject has a random part, so that two sandboxes' are two. Both end with NUL. */
struct tls_ca {
        char cert[TLS_PEM_MAX], key[TLS_PEM_MAX];
        char subject_hash[9]; /* as OpenSSL looks it up in a directory: "3d2a1b0c", a link of that name and ".0" */
};
int tls_ca_new(struct tls_ca *ret, struct error *e) _must_check_;

/* Mints the certificates that the gate shows. */
struct tls_authority;
/* pem: the CA's key and certificate, in any order. The leafs' own key is made here. */
int tls_authority_load(const void *pem, size_t n, struct tls_authority **ret, struct error *e) _must_check_;
void tls_authority_free(struct tls_authority *a);

/* --- whom a broker trusts --- */

struct tls_trust;
/* The host's CA certificates, as bytes: called before the cage; those that are asked for are parsed later.
 * file and directory (fds; -1: none) stand in for the host's own, as SSL_CERT_FILE and SSL_CERT_DIR do with OpenSSL,
 * and are closed. Without any certificate every upstream is refused, and says so. */
int tls_trust_new(int file, int directory, struct tls_trust **ret, struct error *e) _must_check_;
/* More of them. */
int tls_trust_add(struct tls_trust *t, const void *pem, size_t n) _must_check_;
void tls_trust_free(struct tls_trust *t);

/* --- connections --- */

struct tls;
enum tls_alpn { TLS_ALPN_NONE, TLS_ALPN_HTTP1, TLS_ALPN_H2 };

/* host: canonical, a name or an address (model/request.h), ends with NUL; copied. fd stays the caller's, and is neither
 * closed nor shut down here; it outlives the struct. NULL: no memory, or the certificate cannot be made. */

/* The client's ClientHello is unread yet. One that names another host than this is refused. */
struct tls *tls_accept(struct tls_authority *a, int fd, const char *host, bool offer_h2);
/* TLS 1.2 or 1.3; the certificate must be good for host. A session is resumed only for the same host and offer. */
struct tls *tls_connect(struct tls_trust *t, int fd, const char *host, bool offer_h2);
void tls_free(struct tls *t);

/* All four: -EAGAIN: wait for tls_wants, and call again. After -EPROTO and -ECONNRESET nothing but tls_why and
 * tls_free. */

/* 0: done. -EPROTO: see tls_why. -ECONNRESET: the other side went away. */
int tls_handshake(struct tls *t) _must_check_;
/* Bytes; 0: the other side has said that it ends. -ECONNRESET: TCP ended without that: what came may be cut short.
 * -EPROTO. */
ssize_t tls_read(struct tls *t, void *buf, size_t n) _must_check_;
/* Bytes taken, which may be fewer. After that, and after -EAGAIN, the next call begins with the bytes that were not
 * taken, which may lie elsewhere, and has at least as many. n > 0. -EPROTO, -ECONNRESET. */
ssize_t tls_write(struct tls *t, const void *buf, size_t n) _must_check_;
/* Says that nothing more will be written (close_notify); 0: it is on its way. Reading goes on. */
int tls_shutdown(struct tls *t) _must_check_;

/* EPOLLIN or EPOLLOUT: what the last call that returned -EAGAIN waits for. */
uint32_t tls_wants(const struct tls *t);
/* The last tls_read took all that there was. Where it is not so, no event may come for the rest: it is to be called
 * again. */
bool tls_drained(const struct tls *t);
/* Bytes that are decrypted and were not taken. */
size_t tls_pending(const struct tls *t);
/* Once the handshake is done. */
enum tls_alpn tls_alpn(const struct tls *t);
bool tls_resumed(const struct tls *t);
/* "TLSv1.3" */
const char *tls_version(const struct tls *t);
/* Why it failed: "certificate has expired", "the client does not trust the certificate (unknown ca)". Printable, one
 * line, below TLS_WHY_MAX; in the struct. "" where nothing did. */
const char *tls_why(const struct tls *t);
