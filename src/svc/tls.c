/* TLS connections of gate and broker, see tls.h. */
#include <arpa/inet.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/str.h"
#include "svc/tls-internal.h"

#define READ_AHEAD (66u << 10) /* four records, while some of them are unread */
#define EMPTY_MAX 64u          /* messages without data in a turn */

struct tls {
        SSL *ssl;
        struct tls_trust *trust; /* of a client's side; NULL: the gate's */
        struct tls_socket socket;
        bool offer_h2, established, ended; /* ended: by this side */
        bool failed;
        int later; /* -errno of a failure that is to be told yet; 0 */
        uint32_t wants;
        char host[TLS_HOST_MAX];
        char why[TLS_WHY_MAX];
};

int tls_openssl_error(struct error *e, const char *what) {
        const char *reason = ERR_reason_error_string(ERR_peek_error());

        error_set(e, EIO, "%s: %s", what, reason ? reason : "out of memory");
        ERR_clear_error();
        return -EIO;
}

int tls_init(struct error *e) {
        uint8_t byte;
        time_t now = time(NULL);
        struct tm tm;

        /* No file of settings, and nothing at exit: the process ends with its sockets. */
        if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL) != 1 ||
                OPENSSL_init_ssl(
                        OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS | OPENSSL_INIT_LOAD_CRYPTO_STRINGS,
                        NULL) != 1 ||
                RAND_bytes(&byte, 1) != 1)
                return tls_openssl_error(e, "OpenSSL cannot be used");
        /* The C library reads the time zone once, here, although certificates have none. */
        (void)gmtime_r(&now, &tm);
        return tls_socket_init() < 0 ? tls_openssl_error(e, "OpenSSL cannot be used") : 0;
}

size_t tls_host_address(const char *host, uint8_t ret[16]) {
        return inet_pton(AF_INET, host, ret) == 1 ? 4 : inet_pton(AF_INET6, host, ret) == 1 ? 16 : 0;
}

int tls_context_common(SSL_CTX *ctx) {
        if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1)
                return -EIO;
        SSL_CTX_set_security_level(ctx, 2);
        SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
        /* Several records in a read. What is in a record that is not data is for tls_read to go past (no AUTO_RETRY).
         */
        SSL_CTX_set_read_ahead(ctx, 1);
        SSL_CTX_set_default_read_buffer_len(ctx, READ_AHEAD);
        SSL_CTX_clear_mode(ctx, SSL_MODE_AUTO_RETRY);
        SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
        return 0;
}

static struct tls *of(const SSL *ssl) { return (struct tls *)SSL_get_app_data(ssl); }
const char *tls_host(const SSL *ssl) { return of(ssl)->host; }
bool tls_offers_h2(const SSL *ssl) { return of(ssl)->offer_h2; }

void tls_keep_session(const SSL *ssl, SSL_SESSION *s) {
        struct tls *t = of(ssl);
        if (t && t->trust && SSL_get_verify_result(ssl) == X509_V_OK)
                tls_trust_keep_session(t->trust, t->host, t->offer_h2, s);
}

static struct tls *new(SSL_CTX *ctx, int fd, const char *host, bool offer_h2) {
        struct tls *t = ctx && strlen(host) < TLS_HOST_MAX ? calloc(1, sizeof(*t)) : NULL;

        if (!t)
                return NULL;
        memcpy(t->host, host, strlen(host) + 1);
        t->offer_h2 = offer_h2;
        t->ssl = SSL_new(ctx);
        t->socket.fd = fd;
        if (t->ssl && SSL_set_app_data(t->ssl, t) == 1 && tls_socket_set(t->ssl, &t->socket) == 0)
                return t;
        tls_free(t);
        return NULL;
}

/* A ticket that was given out for one host is for no other: OpenSSL compares this context before it resumes. */
static int set_session_context(SSL *ssl, const char *host) {
        uint8_t digest[EVP_MAX_MD_SIZE];
        unsigned n = 0;

        if (EVP_Digest(host, strlen(host), digest, &n, EVP_sha256(), NULL) != 1)
                return -EIO;
        return SSL_set_session_id_context(ssl, digest, MIN(n, SSL_MAX_SID_CTX_LENGTH)) == 1 ? 0 : -EIO;
}

struct tls *tls_accept(struct tls_authority *a, int fd, const char *host, bool offer_h2) {
        struct tls *t = new(tls_authority_context(a), fd, host, offer_h2);
        X509 *leaf = NULL;

        if (t && tls_authority_leaf(a, host, &leaf) == 0 && SSL_use_certificate(t->ssl, leaf) == 1 &&
            SSL_use_PrivateKey(t->ssl, tls_authority_leaf_key(a)) == 1 && set_session_context(t->ssl, host) == 0) {
                X509_free(leaf);
                SSL_set_accept_state(t->ssl);
                return t;
        }
        X509_free(leaf);
        tls_free(t);
        ERR_clear_error();
        return NULL;
}

struct tls *tls_connect(struct tls_trust *trust, int fd, const char *host, bool offer_h2) {
        static const uint8_t protocols[] = "\2h2\10http/1.1";
        size_t skip = offer_h2 ? 0 : 3;
        struct tls *t = new(tls_trust_context(trust), fd, host, offer_h2);
        uint8_t address[16];
        size_t n = tls_host_address(host, address);

        if (!t)
                return NULL;
        t->trust = trust;
        X509_VERIFY_PARAM *verify = SSL_get0_param(t->ssl);
        X509_VERIFY_PARAM_set_hostflags(
                verify, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        if ((n > 0 ? X509_VERIFY_PARAM_set1_ip(verify, address, n)
                   : X509_VERIFY_PARAM_set1_host(verify, host, 0) && SSL_set_tlsext_host_name(t->ssl, host)) != 1 ||
            SSL_set_alpn_protos(t->ssl, protocols + skip, (unsigned)(sizeof(protocols) - 1 - skip)) != 0) {
                tls_free(t);
                ERR_clear_error();
                return NULL;
        }
        SSL_SESSION *session = tls_trust_take_session(trust, host, offer_h2);
        if (session)
                (void)SSL_set_session(t->ssl, session);
        SSL_SESSION_free(session);
        SSL_set_connect_state(t->ssl);
        return t;
}

void tls_free(struct tls *t) {
        if (!t)
                return;
        SSL_free(t->ssl);
        free(t);
}

static void explain(struct tls *t, unsigned long err) {
        int reason = ERR_GET_REASON(err);
        long verified = SSL_get_verify_result(t->ssl);
        const char *text = ERR_reason_error_string(err);
        char why[TLS_WHY_MAX];

        if (t->trust && verified != X509_V_OK) { /* never otherwise: what was not verified goes no further */
                if (tls_trust_is_empty(t->trust))
                        snprintf(why, sizeof(why), "this host has no CA certificates to verify it by");
                else if (verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH)
                        snprintf(why, sizeof(why), "its certificate is for another host");
                else
                        snprintf(why, sizeof(why), "its certificate is not good: %s",
                                X509_verify_cert_error_string(verified));
        } else if (!t->trust && (reason == SSL_AD_REASON_OFFSET + SSL_AD_UNKNOWN_CA ||
                                        reason == SSL_AD_REASON_OFFSET + SSL_AD_BAD_CERTIFICATE ||
                                        reason == SSL_AD_REASON_OFFSET + SSL_AD_CERTIFICATE_UNKNOWN))
                snprintf(why, sizeof(why), "the client does not trust the sandbox's CA (%s)",
                        SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET));
        else if (reason > SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256)
                snprintf(why, sizeof(why), "the other side ended it: %s",
                        SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET));
        else
                snprintf(why, sizeof(why), "%s", text ? text : "a TLS error");
        str_visible(t->why, sizeof(t->why), why);
}

/* What a call that returned r <= 0 means. */
static int result(struct tls *t, int r, int err) {
        const char *away = t->established ? "the connection was cut" : "the connection ended within the handshake";
        unsigned long first = ERR_peek_error();

        switch (SSL_get_error(t->ssl, r)) {
        case SSL_ERROR_WANT_READ:
                t->wants = EPOLLIN;
                return -EAGAIN;
        case SSL_ERROR_WANT_WRITE:
                t->wants = EPOLLOUT;
                return -EAGAIN;
        case SSL_ERROR_ZERO_RETURN:
                if (t->established)
                        return 0;
                r = -ECONNRESET;
                break;
        case SSL_ERROR_SYSCALL:
                r = -ECONNRESET;
                if (err != 0 && err != ECONNRESET && err != EPIPE)
                        away = strerror(err);
                break;
        default:
                if (ERR_GET_REASON(first) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
                        r = -ECONNRESET;
                        break;
                }
                explain(t, first);
                r = -EPROTO;
        }
        if (r == -ECONNRESET)
                snprintf(t->why, sizeof(t->why), "%s", away);
        t->failed = true;
        ERR_clear_error();
        return r;
}

/* Of a connection that has failed. */
static int failed_before(struct tls *t) {
        int r = t->later ? t->later : -EPROTO;
        t->later = 0;
        return r;
}

int tls_handshake(struct tls *t) {
        if (t->failed)
                return failed_before(t);
        ERR_clear_error();
        errno = 0;
        t->socket.dry = false;
        int r = SSL_do_handshake(t->ssl);
        if (r == 1) {
                t->established = true;
                return 0;
        }
        return result(t, r, errno);
}

ssize_t tls_read(struct tls *t, void *buf, size_t n) {
        size_t got = 0;
        int r = 0;

        if (t->failed)
                return failed_before(t);
        t->socket.dry = false;
        t->socket.once = true;
        for (unsigned empty = 0; got < n && empty < EMPTY_MAX;) {
                ERR_clear_error();
                errno = 0;
                if ((r = SSL_read(t->ssl, (char *)buf + got, (int)MIN(n - got, (size_t)INT32_MAX))) > 0) {
                        got += (size_t)r;
                        continue;
                }
                r = result(t, r, errno);
                if (r != -EAGAIN || t->socket.dry || t->wants != EPOLLIN)
                        break;
                empty++; /* a message without data; there may be more behind it, for which no event will come */
                t->wants = EPOLLOUT; /* where this is the last turn for now */
        }
        t->socket.once = false;
        if (got == 0)
                return r;
        if (t->failed)
                t->later = r;
        t->socket.dry &= r == -EAGAIN; /* there may be more; or it has ended, and says so again */
        return (ssize_t)got;
}

ssize_t tls_write(struct tls *t, const void *buf, size_t n) {
        size_t done = 0;
        int r = 1;

        if (t->failed)
                return failed_before(t);
        /* A call of OpenSSL's is a record (PARTIAL_WRITE); the kernel is told that others follow. */
        while (done < n && r > 0) {
                ERR_clear_error();
                errno = 0;
                t->socket.more = n - done > SSL3_RT_MAX_PLAIN_LENGTH;
                r = SSL_write(t->ssl, (const char *)buf + done, (int)MIN(n - done, (size_t)INT32_MAX));
                if (r > 0)
                        done += (size_t)r;
                else
                        r = result(t, r, errno);
        }
        t->socket.more = false;
        if (done > 0 && t->failed)
                t->later = r;
        return done > 0 ? (ssize_t)done : r == 0 ? -ECONNRESET : r;
}

int tls_shutdown(struct tls *t) {
        if (t->failed)
                return failed_before(t);
        if (t->ended)
                return 0; /* another call of OpenSSL's would wait for the other side's */
        ERR_clear_error();
        errno = 0;
        int r = SSL_shutdown(t->ssl);
        if (r < 0)
                return result(t, r, errno);
        t->ended = true;
        return 0;
}

uint32_t tls_wants(const struct tls *t) { return t->wants; }
bool tls_drained(const struct tls *t) { return t->socket.dry && SSL_pending(t->ssl) == 0; }
size_t tls_pending(const struct tls *t) { return (size_t)SSL_pending(t->ssl); }
bool tls_resumed(const struct tls *t) { return SSL_session_reused(t->ssl) == 1; }
const char *tls_version(const struct tls *t) { return SSL_get_version(t->ssl); }
const char *tls_why(const struct tls *t) { return t->why; }

enum tls_alpn tls_alpn(const struct tls *t) {
        const uint8_t *p;
        unsigned n;

        SSL_get0_alpn_selected(t->ssl, &p, &n);
        return n == 2 && memcmp(p, "h2", 2) == 0         ? TLS_ALPN_H2
               : n == 8 && memcmp(p, "http/1.1", 8) == 0 ? TLS_ALPN_HTTP1
                                                         : TLS_ALPN_NONE;
}
