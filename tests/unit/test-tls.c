/* TLS of gate and broker against each other and against OpenSSL used by itself, over socket pairs; and under the gate's
 * and the broker's system call lists. */
#include <linux/seccomp.h>
#include <openssl/pem.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "base/fd.h"
#include "generated/seccomp-broker.h"
#include "generated/seccomp-gate.h"
#include "svc/tls-internal.h"
#include "sys/seccomp.h"
#include "tap.h"

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifndef ADDRESS_SANITIZER
#define ADDRESS_SANITIZER 0
#endif

static struct tls_ca ca;
static struct tls_authority *authority;
static struct tls_trust *trust;
static char ca_file[] = "/tmp/test-tls-XXXXXX";

/* A CA, its authority, and a client's side that trusts it and nobody else. */
static void set_up(void) {
        struct error e = {};
        char both[2 * TLS_PEM_MAX];

        (void)signal(SIGPIPE, SIG_IGN); /* as net_cage has it */
        check(tls_init(&e) == 0);
        check(tls_ca_new(&ca, &e) == 0);
        snprintf(both, sizeof(both), "%s%s", ca.key, ca.cert);
        check(tls_authority_load(both, strlen(both), &authority, &e) == 0);
        _cleanup_fd_ int fd = mkstemp(ca_file);
        check(fd >= 0 && fd_write_all(fd, ca.cert, strlen(ca.cert)) == 0);
        check(lseek(fd, 0, SEEK_SET) == 0 && tls_trust_new(TAKE_FD(fd), -1, &trust, &e) == 0);
        unlink(ca_file);
}

static void tear_down(void) {
        tls_authority_free(authority);
        tls_trust_free(trust);
}

static void make_pair(int fds[2]) {
        check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
}

/* Both sides in turn, until each has an end of it. */
static void shake(struct tls *a, struct tls *b, int *ra, int *rb) {
        *ra = *rb = -EAGAIN;
        for (int i = 0; i < 100 && (*ra == -EAGAIN || *rb == -EAGAIN); i++) {
                if (*ra == -EAGAIN) {
                        *ra = tls_handshake(a);
                        check(*ra != -EAGAIN || tls_wants(a) == EPOLLIN || tls_wants(a) == EPOLLOUT);
                }
                if (*rb == -EAGAIN)
                        *rb = tls_handshake(b);
        }
}

struct pair {
        int fd[2];
        struct tls *gate, *client;
        int r_gate, r_client;
};

static void pair_free(struct pair *p) {
        tls_free(p->gate);
        tls_free(p->client);
        fd_close(p->fd[0]);
        fd_close(p->fd[1]);
}
#define _cleanup_pair_ _cleanup_(pair_free)

static struct pair connect_pair(const char *served, bool h2_served, const char *wanted, bool h2_wanted) {
        struct pair p = {};

        make_pair(p.fd);
        p.gate = tls_accept(authority, p.fd[0], served, h2_served);
        p.client = tls_connect(trust, p.fd[1], wanted, h2_wanted);
        check(p.gate && p.client);
        shake(p.gate, p.client, &p.r_gate, &p.r_client);
        return p;
}

/* One message over, to its end. */
static void send_text(struct tls *from, struct tls *to, const char *text) {
        char buf[256];
        size_t got = 0, n = strlen(text);

        check(tls_write(from, text, n) == (ssize_t)n);
        for (int i = 0; i < 10 && got < n; i++) {
                ssize_t k = tls_read(to, buf + got, sizeof(buf) - got);
                check(k > 0 || k == -EAGAIN); /* a ticket is a record without data */
                got += k > 0 ? (size_t)k : 0;
        }
        check(got == n && memcmp(buf, text, n) == 0);
}

TEST(handshake_and_data) {
        static const char *const hosts[] = {"example.com", "xn--mnchen-3ya.example", "a.b.c.d.e.f.example", "192.0.2.7",
                "2001:db8::1", "::1", "localhost"};

        set_up();
        for (size_t i = 0; i < ELEMENTSOF(hosts); i++) {
                _cleanup_pair_ struct pair p = connect_pair(hosts[i], false, hosts[i], false);
                check(p.r_gate == 0 && p.r_client == 0);
                check_streq(tls_version(p.client), "TLSv1.3");
                check(!tls_resumed(p.client));
                send_text(p.client, p.gate, "GET / HTTP/1.1\r\n\r\n");
                send_text(p.gate, p.client, "HTTP/1.1 200 OK\r\n\r\n");
                check_streq(tls_why(p.gate), "");
        }
        char longest[254];
        for (size_t i = 0; i < 253; i++)
                longest[i] = i % 64 == 63 ? '.' : 'a';
        longest[253] = 0;
        _cleanup_pair_ struct pair p = connect_pair(longest, true, longest, true);
        check(p.r_gate == 0 && p.r_client == 0);
        char longer[300];
        memset(longer, 'a', sizeof(longer) - 1);
        longer[sizeof(longer) - 1] = 0;
        check(!tls_accept(authority, p.fd[0], longer, false));
        tear_down();
}

TEST(alpn) {
        static const struct {
                bool gate, client;
                enum tls_alpn want;
        } cases[] = {{false, false, TLS_ALPN_HTTP1}, {true, false, TLS_ALPN_HTTP1}, {false, true, TLS_ALPN_HTTP1},
                {true, true, TLS_ALPN_H2}};

        set_up();
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_pair_ struct pair p =
                        connect_pair("example.com", cases[i].gate, "example.com", cases[i].client);
                check(p.r_gate == 0 && p.r_client == 0);
                check(tls_alpn(p.gate) == cases[i].want && tls_alpn(p.client) == cases[i].want);
        }
        tear_down();
}

TEST(another_host_than_the_one_meant) {
        set_up();
        { /* The ClientHello's name is not the one that the gate was told. */
                _cleanup_pair_ struct pair p = connect_pair("good.example", true, "evil.example", true);
                check(p.r_gate == -EPROTO && p.r_client == -EPROTO);
                check(strstr(tls_why(p.client), "unrecognized name"));
        }
        { /* No name in the ClientHello: the certificate's does not fit. */
                _cleanup_pair_ struct pair p = connect_pair("good.example", true, "192.0.2.1", true);
                check(p.r_client == -EPROTO);
                check_streq(tls_why(p.client), "its certificate is for another host");
        }
        {
                _cleanup_pair_ struct pair p = connect_pair("192.0.2.2", true, "192.0.2.1", true);
                check(p.r_client == -EPROTO);
                check_streq(tls_why(p.client), "its certificate is for another host");
        }
        tear_down();
}

TEST(truncation_is_told_from_an_end) {
        char buf[64];

        set_up();
        for (int cut = 0; cut < 2; cut++) {
                _cleanup_pair_ struct pair p = connect_pair("example.com", true, "example.com", true);
                check(p.r_gate == 0 && p.r_client == 0);
                send_text(p.gate, p.client, "half of it");
                if (!cut)
                        check(tls_shutdown(p.gate) == 0 && tls_shutdown(p.gate) == 0);
                tls_free(TAKE_PTR(p.gate));
                fd_close(TAKE_FD(p.fd[0]));
                ssize_t r = tls_read(p.client, buf, sizeof(buf));
                while (r == -EAGAIN)
                        r = tls_read(p.client, buf, sizeof(buf));
                check(r == (cut ? -ECONNRESET : 0));
                check_streq(tls_why(p.client), cut ? "the connection was cut" : "");
                check(!cut || tls_read(p.client, buf, sizeof(buf)) == -EPROTO); /* and stays so */
        }
        for (int half = 0; half < 2; half++) { /* one direction ends, the other goes on */
                _cleanup_pair_ struct pair p = connect_pair("example.com", true, "example.com", true);
                struct tls *first = half ? p.gate : p.client, *second = half ? p.client : p.gate;
                check(tls_shutdown(first) == 0);
                ssize_t r;
                while ((r = tls_read(second, buf, sizeof(buf))) == -EAGAIN)
                        ;
                check(r == 0);
                send_text(second, first, "still here");
        }
        { /* within the handshake */
                struct pair p = {};
                make_pair(p.fd);
                p.client = tls_connect(trust, p.fd[1], "example.com", false);
                check(tls_handshake(p.client) == -EAGAIN && tls_wants(p.client) == EPOLLIN);
                fd_close(TAKE_FD(p.fd[0]));
                check(tls_handshake(p.client) == -ECONNRESET);
                check_streq(tls_why(p.client), "the connection ended within the handshake");
                pair_free(&p);
        }
        tear_down();
}

TEST(big_writes) {
        const size_t total = 8u << 20;
        uint8_t *data = malloc(total), *got = malloc(total);
        size_t sent = 0, received = 0;
        bool waited = false;

        set_up();
        _cleanup_pair_ struct pair p = connect_pair("example.com", true, "example.com", true);
        check(data && got && p.r_client == 0);
        for (size_t i = 0; i < total; i++)
                data[i] = (uint8_t)(i * 2654435761u >> 13);
        while (received < total) {
                for (int i = 0; sent < total; i++) {
                        /* Elsewhere each time, and with more behind it. */
                        size_t n = MIN(total - sent, (size_t)20000 + 7000 * (size_t)(i % 5));
                        uint8_t *copy = malloc(n);
                        memcpy(copy, data + sent, n);
                        ssize_t r = tls_write(p.client, copy, MIN(total - sent, n));
                        free(copy);
                        if (r == -EAGAIN) {
                                check(tls_wants(p.client) == EPOLLOUT);
                                waited = true;
                                break;
                        }
                        check(r > 0);
                        sent += (size_t)r;
                }
                ssize_t r = tls_read(p.gate, got + received, total - received);
                if (r == -EAGAIN)
                        continue;
                check(r > 0);
                received += (size_t)r;
        }
        check(waited && memcmp(data, got, total) == 0);
        free(data);
        free(got);
        tear_down();
}

TEST(pending_bytes) {
        char buf[4];

        set_up();
        _cleanup_pair_ struct pair p = connect_pair("example.com", true, "example.com", true);
        check(tls_write(p.client, "twelve bytes", 12) == 12);
        check(tls_read(p.gate, buf, sizeof(buf)) == 4 && tls_pending(p.gate) == 8);
        check(tls_read(p.gate, buf, sizeof(buf)) == 4 && tls_pending(p.gate) == 4);
        check(tls_read(p.gate, buf, sizeof(buf)) == 4 && tls_pending(p.gate) == 0);
        check(tls_read(p.gate, buf, sizeof(buf)) == -EAGAIN && tls_wants(p.gate) == EPOLLIN);
        tear_down();
}

/* What OpenSSL has taken from the socket ahead of its turn: no event tells of it. */
TEST(records_are_read_together) {
        char buf[64];

        set_up();
        _cleanup_pair_ struct pair p = connect_pair("example.com", true, "example.com", true);
        /* The client has tickets in front of the data, which are records without any. */
        for (int side = 0; side < 2; side++) {
                struct tls *from = side ? p.client : p.gate, *to = side ? p.gate : p.client;
                check(tls_write(from, "one ", 4) == 4 && tls_write(from, "two ", 4) == 4 && tls_write(from, "three", 5) == 5);
                check(tls_read(to, buf, 6) == 6 && !tls_drained(to)); /* full: there may be more, and is */
                check(tls_read(to, buf + 6, sizeof(buf) - 6) == 7 && tls_drained(to) && memcmp(buf, "one two three", 13) == 0);
                check(tls_read(to, buf, sizeof(buf)) == -EAGAIN && tls_wants(to) == EPOLLIN && tls_drained(to));
        }
        /* An end right behind the data is told of in the next call. */
        check(tls_write(p.gate, "last", 4) == 4 && tls_shutdown(p.gate) == 0);
        check(tls_read(p.client, buf, sizeof(buf)) == 4 && !tls_drained(p.client));
        check(tls_read(p.client, buf, sizeof(buf)) == 0);
        /* So is what breaks the connection. */
        check(tls_write(p.client, "fine", 4) == 4 && write(p.fd[1], "\x17\x03\x03\x00\x20no record of this connection....", 37) == 37);
        check(tls_read(p.gate, buf, sizeof(buf)) == 4 && !tls_drained(p.gate));
        check(tls_read(p.gate, buf, sizeof(buf)) == -EPROTO && tls_why(p.gate)[0]);
        check(tls_read(p.gate, buf, sizeof(buf)) == -EPROTO);
        tear_down();
}

static bool once_resumed(const char *host, bool h2) {
        char buf[16];
        _cleanup_pair_ struct pair p = connect_pair(host, h2, host, h2);

        check(p.r_gate == 0 && p.r_client == 0);
        bool resumed = tls_resumed(p.client);
        check(tls_resumed(p.gate) == resumed);
        send_text(p.gate, p.client, "with a ticket before it");
        check(tls_shutdown(p.client) == 0 && tls_read(p.gate, buf, sizeof(buf)) == 0);
        return resumed;
}

TEST(resumption) {
        set_up();
        check(!once_resumed("example.com", true));
        check(once_resumed("example.com", true));
        check(once_resumed("example.com", true)); /* each time with a new ticket */
        check(!once_resumed("other.example", true));
        check(!once_resumed("example.com", false)); /* another offer */
        /* The cache is bounded. */
        for (unsigned i = 0; i < TLS_SESSIONS_MAX; i++) {
                char host[32];
                snprintf(host, sizeof(host), "h%u.example", i);
                check(!once_resumed(host, true));
        }
        check(!once_resumed("example.com", true) && once_resumed("h100.example", true));
        tear_down();
}

/* --- against OpenSSL by itself --- */

static X509 *ca_cert(void) {
        BIO *b = BIO_new_mem_buf(ca.cert, -1);
        X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);
        BIO_free(b);
        return x;
}

static EVP_PKEY *ca_key(void) {
        BIO *b = BIO_new_mem_buf(ca.key, -1);
        EVP_PKEY *k = PEM_read_bio_PrivateKey(b, NULL, NULL, NULL);
        BIO_free(b);
        return k;
}

static void extend(X509 *x, X509 *issuer, int nid, const char *value) {
        X509V3_CTX ctx;
        X509V3_set_ctx_nodb(&ctx);
        X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
        X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
        check(ext && X509_add_ext(x, ext, -1));
        X509_EXTENSION_free(ext);
}

struct made {
        const char *san, *cn, *usage;
        long from, until; /* seconds from now */
        enum { BY_CA, BY_ITSELF, BY_LEAF, BY_OTHER } signer;
        const char *why; /* NULL: good */
};

/* A server whose certificate is as the case has it, against tls_connect. */
static void serve(const struct made *m, const char *host) {
        EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256"), *issuer_key = ca_key(), *middle_key = NULL;
        X509 *x = X509_new(), *issuer = ca_cert(), *middle = NULL;
        SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
        int fds[2], r = -EAGAIN, ours = 0;

        if (m->signer == BY_OTHER) {
                EVP_PKEY_free(issuer_key);
                issuer_key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
        } else if (m->signer == BY_LEAF) { /* a leaf of the CA's signs as if it were one */
                check(tls_authority_leaf(authority, "leaf.example", &middle) == 0);
                middle_key = tls_authority_leaf_key(authority);
        }
        X509_set_version(x, X509_VERSION_3);
        ASN1_INTEGER_set(X509_get_serialNumber(x), 7);
        X509_gmtime_adj(X509_getm_notBefore(x), m->from);
        X509_gmtime_adj(X509_getm_notAfter(x), m->until);
        X509_set_pubkey(x, key);
        X509_NAME_add_entry_by_NID(
                X509_get_subject_name(x), NID_commonName, MBSTRING_UTF8, (const uint8_t *)m->cn, -1, -1, 0);
        X509_set_issuer_name(x, X509_get_subject_name(m->signer == BY_ITSELF ? x : middle ? middle : issuer));
        if (m->san)
                extend(x, issuer, NID_subject_alt_name, m->san);
        if (m->usage)
                extend(x, issuer, NID_ext_key_usage, m->usage);
        check(X509_sign(x, m->signer == BY_ITSELF ? key : middle ? middle_key : issuer_key, EVP_sha256()) > 0);
        check(SSL_CTX_use_certificate(ctx, x) == 1 && SSL_CTX_use_PrivateKey(ctx, key) == 1);
        if (middle)
                check(SSL_CTX_add1_chain_cert(ctx, middle) == 1);
        make_pair(fds);
        SSL *ssl = SSL_new(ctx);
        SSL_set_fd(ssl, fds[0]);
        SSL_set_accept_state(ssl);
        struct tls *t = tls_connect(trust, fds[1], host, false);
        check(t);
        for (int i = 0; i < 20 && r == -EAGAIN; i++) {
                r = tls_handshake(t);
                ours = SSL_do_handshake(ssl);
        }
        if (m->why) {
                if (r != -EPROTO || !strstr(tls_why(t), m->why))
                        printf("# %s: %d %s\n", m->why, r, tls_why(t));
                check(r == -EPROTO && strstr(tls_why(t), m->why));
        } else
                check(r == 0 && ours == 1);
        tls_free(t);
        SSL_free(ssl);
        SSL_CTX_free(ctx);
        X509_free(x);
        X509_free(issuer);
        X509_free(middle);
        EVP_PKEY_free(key);
        EVP_PKEY_free(issuer_key);
        close(fds[0]);
        close(fds[1]);
}

TEST(certificates) {
        enum { DAY = 86400 };
        static const struct made cases[] = {
                {"DNS:example.com", "x", "serverAuth", -DAY, DAY, BY_CA, NULL},
                {"DNS:other.example,DNS:example.com", "x", NULL, -DAY, DAY, BY_CA, NULL},
                {"DNS:example.com", "x", "serverAuth", -2 * DAY, -60, BY_CA, "certificate has expired"},
                {"DNS:example.com", "x", "serverAuth", DAY, 2 * DAY, BY_CA, "certificate is not yet valid"},
                {"DNS:example.com", "x", "serverAuth", -DAY, DAY, BY_ITSELF, "self-signed certificate"},
                {"DNS:example.com", "x", "serverAuth", -DAY, DAY, BY_OTHER, "certificate signature failure"},
                {"DNS:example.com", "x", "serverAuth", -DAY, DAY, BY_LEAF, "its certificate is not good"},
                {"DNS:example.com", "x", "clientAuth", -DAY, DAY, BY_CA, "unsuitable certificate purpose"},
                {"DNS:example.org", "example.com", "serverAuth", -DAY, DAY, BY_CA, "for another host"},
                {NULL, "example.com", "serverAuth", -DAY, DAY, BY_CA,
                        "for another host"}, /* the common name is no name */
                {"IP:192.0.2.1", "example.com", "serverAuth", -DAY, DAY, BY_CA, "for another host"},
                {"DNS:*.com", "x", "serverAuth", -DAY, DAY, BY_CA, "for another host"},
                {"DNS:ex*.com", "x", "serverAuth", -DAY, DAY, BY_CA, "for another host"},
        };
        static const struct made wild = {"DNS:*.example.com", "x", "serverAuth", -DAY, DAY, BY_CA, NULL},
                                 deep = {"DNS:*.example.com", "x", "serverAuth", -DAY, DAY, BY_CA, "for another host"},
                                 text = {"DNS:192.0.2.1", "192.0.2.1", "serverAuth", -DAY, DAY, BY_CA,
                                         "for another host"};

        set_up();
        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                serve(&cases[i], "example.com");
        serve(&wild, "www.example.com");
        serve(&deep, "a.www.example.com");
        serve(&text, "192.0.2.1"); /* an address is no name */
        tear_down();
}

TEST(no_ca_at_all) {
        struct tls_trust *none = NULL;
        char empty[] = "/tmp/test-tls-XXXXXX";
        struct error e = {};
        struct pair p = {};

        set_up();
        _cleanup_fd_ int fd = mkstemp(empty);
        check(tls_trust_new(TAKE_FD(fd), -1, &none, &e) == 0);
        unlink(empty);
        make_pair(p.fd);
        p.gate = tls_accept(authority, p.fd[0], "example.com", false);
        p.client = tls_connect(none, p.fd[1], "example.com", false);
        shake(p.gate, p.client, &p.r_gate, &p.r_client);
        check(p.r_client == -EPROTO && p.r_gate == -EPROTO);
        check_streq(tls_why(p.client), "this host has no CA certificates to verify it by");
        check_streq(tls_why(p.gate), "the client does not trust the sandbox's CA (unknown CA)");
        pair_free(&p);
        /* More of them make the next one good. */
        p = (struct pair){};
        check(tls_trust_add(none, "junk before\n", 12) == 0 && tls_trust_add(none, ca.cert, strlen(ca.cert)) == 0);
        make_pair(p.fd);
        p.gate = tls_accept(authority, p.fd[0], "example.com", false);
        p.client = tls_connect(none, p.fd[1], "example.com", false);
        shake(p.gate, p.client, &p.r_gate, &p.r_client);
        check(p.r_client == 0 && p.r_gate == 0);
        pair_free(&p);
        tls_trust_free(none);
        none = NULL;
        int closed = open("/", O_PATH | O_CLOEXEC); /* neither can be read */
        check(tls_trust_new(closed, -1, &none, &e) == -EBADF && !none && e.errnum);
        check(tls_trust_new(-1, open("/", O_PATH | O_CLOEXEC), &none, &e) == -EBADF && !none);
        tear_down();
}

/* The CA among others, among what is none, and once more after the first connection. */
TEST(one_of_many) {
        static const char *const junk[] = {
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
                "-----BEGIN CERTIFICATE-----\nMIIBsTCCAVegAwIBAgIU\n-----END CERTIFICATE-----\n",
                "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
                "-----BEGIN X509 CRL-----\nMAMBAgM=\n-----END X509 CRL-----\n",
                "-----BEGIN CERTIFICATE-----\nMIIB",
        };
        struct tls_trust *t = NULL;
        struct tls_ca other;
        struct error e = {};
        char empty[] = "/tmp/test-tls-XXXXXX";

        set_up();
        int fd = mkstemp(empty);
        check(tls_trust_new(fd, -1, &t, &e) == 0);
        unlink(empty);
        for (unsigned round = 0; round < 3; round++) {
                struct pair p = {};
                make_pair(p.fd);
                p.gate = tls_accept(authority, p.fd[0], "example.com", false);
                p.client = tls_connect(t, p.fd[1], "example.com", false);
                shake(p.gate, p.client, &p.r_gate, &p.r_client);
                check(p.r_client == (round == 2 ? 0 : -EPROTO));
                if (round == 1)
                        check(strstr(tls_why(p.client), "unable to get local issuer certificate"));
                pair_free(&p);
                check(tls_ca_new(&other, &e) == 0 && tls_trust_add(t, other.cert, strlen(other.cert)) == 0);
                for (size_t i = 0; i < ELEMENTSOF(junk) - (round == 1); i++)
                        check(tls_trust_add(t, junk[i], strlen(junk[i])) == 0);
                if (round == 1)
                        check(tls_trust_add(t, ca.cert, strlen(ca.cert)) == 0 &&
                                tls_trust_add(t, ca.cert, strlen(ca.cert)) == 0);
        }
        tls_trust_free(t);
        tear_down();
}

TEST(directory_of_certificates) {
        char dir[] = "/tmp/test-tls-XXXXXX", path[64], other[64];
        struct tls_trust *t = NULL;
        struct error e = {};
        struct pair p = {};

        set_up();
        check(mkdtemp(dir));
        snprintf(path, sizeof(path), "%s/%s.0", dir, ca.subject_hash);
        snprintf(other, sizeof(other), "%s/README", dir);
        _cleanup_fd_ int one = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600),
                         two = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        check(fd_write_all(one, ca.cert, strlen(ca.cert)) == 0 && fd_write_all(two, "no", 2) == 0);
        check(tls_trust_new(-1, open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), &t, &e) == 0);
        make_pair(p.fd);
        p.gate = tls_accept(authority, p.fd[0], "example.com", false);
        p.client = tls_connect(t, p.fd[1], "example.com", false);
        shake(p.gate, p.client, &p.r_gate, &p.r_client);
        check(p.r_client == 0 && p.r_gate == 0);
        pair_free(&p);
        tls_trust_free(t);
        check(unlink(path) == 0 && unlink(other) == 0 && rmdir(dir) == 0);
        tear_down();
}

/* A client of OpenSSL's own against the gate. */
static int against_gate(const char *served, const char *sni, int version, const char *alpn, SSL_SESSION **session,
        bool *ret_resumed, char *ret_why) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
        int fds[2], r = -EAGAIN, theirs = 0;
        char buf[16];

        SSL_CTX_set_security_level(ctx, 0);
        SSL_CTX_set_min_proto_version(ctx, version);
        SSL_CTX_set_max_proto_version(ctx, version);
        make_pair(fds);
        SSL *ssl = SSL_new(ctx);
        SSL_set_fd(ssl, fds[1]);
        if (sni)
                SSL_set_tlsext_host_name(ssl, sni);
        if (alpn)
                SSL_set_alpn_protos(ssl, (const uint8_t *)alpn, (unsigned)strlen(alpn));
        if (session && *session)
                SSL_set_session(ssl, *session);
        SSL_set_connect_state(ssl);
        struct tls *t = tls_accept(authority, fds[0], served, true);
        for (int i = 0; i < 20 && (r == -EAGAIN || (r == 0 && theirs != 1)); i++) {
                theirs = SSL_do_handshake(ssl);
                r = r == -EAGAIN ? tls_handshake(t) : r;
        }
        if (r == 0 && theirs == 1 && session) {
                check(tls_write(t, "x", 1) == 1 && SSL_read(ssl, buf, 1) == 1);
                SSL_SESSION_free(*session);
                *session = SSL_get1_session(ssl);
                *ret_resumed = SSL_session_reused(ssl);
                check(SSL_shutdown(ssl) == 0);
        }
        if (ret_why)
                snprintf(ret_why, TLS_WHY_MAX, "%s", tls_why(t));
        tls_free(t);
        SSL_free(ssl);
        SSL_CTX_free(ctx);
        close(fds[0]);
        close(fds[1]);
        return r;
}

TEST(what_the_gate_takes) {
        char why[TLS_WHY_MAX];

        set_up();
        check(against_gate("example.com", "example.com", TLS1_3_VERSION, NULL, NULL, NULL, NULL) == 0);
        check(against_gate("example.com", "example.com", TLS1_2_VERSION, NULL, NULL, NULL, NULL) == 0);
        check(against_gate("example.com", "EXAMPLE.com", TLS1_2_VERSION, "\2h2", NULL, NULL, NULL) == 0);
        check(against_gate("example.com", "example.com.", TLS1_3_VERSION, "\10http/1.1", NULL, NULL, NULL) == 0);
        check(against_gate("example.com", NULL, TLS1_3_VERSION, NULL, NULL, NULL, NULL) == 0);
        check(against_gate("example.com", "example.com", TLS1_1_VERSION, NULL, NULL, NULL, why) == -EPROTO &&
                strstr(why, "unsupported protocol"));
        check(against_gate("example.com", "example.com", TLS1_VERSION, NULL, NULL, NULL, why) == -EPROTO);
        check(against_gate("example.com", "example.org", TLS1_3_VERSION, NULL, NULL, NULL, NULL) == -EPROTO);
        check(against_gate("example.com", "example.comm", TLS1_2_VERSION, NULL, NULL, NULL, NULL) == -EPROTO);
        check(against_gate("example.com", "example.co", TLS1_2_VERSION, NULL, NULL, NULL, NULL) == -EPROTO);
        check(against_gate("example.com", "example.com", TLS1_3_VERSION, "\10acme/1.0", NULL, NULL, why) == -EPROTO);
        tear_down();
}

TEST(a_ticket_is_for_one_host) {
        static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

        set_up();
        for (size_t i = 0; i < ELEMENTSOF(versions); i++) {
                SSL_SESSION *s = NULL;
                bool resumed = false;
                check(against_gate("a.example", "a.example", versions[i], NULL, &s, &resumed, NULL) == 0 && !resumed);
                check(against_gate("a.example", "a.example", versions[i], NULL, &s, &resumed, NULL) == 0 && resumed);
                int r = against_gate("b.example", "b.example", versions[i], NULL, &s, &resumed, NULL);
                check(r < 0 || !resumed);
                SSL_SESSION_free(s);
        }
        tear_down();
}

TEST(not_tls) {
        static const char *const texts[] = {"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "SSH-2.0-x\r\n",
                "\x16\x03\x01\xff\xff\x01", "\x80\x2e\x01"};

        set_up();
        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                int fds[2];
                make_pair(fds);
                struct tls *t = tls_accept(authority, fds[0], "example.com", true);
                check(write(fds[1], texts[i], strlen(texts[i])) > 0);
                close(fds[1]);
                int r = tls_handshake(t);
                check((r == -EPROTO || r == -ECONNRESET) && tls_why(t)[0]);
                tls_free(t);
                close(fds[0]);
        }
        tear_down();
}

TEST(leafs) {
        X509 *first = NULL, *again = NULL, *x = NULL, *issuer = NULL;
        char host[32];
        int pday, psec;

        set_up();
        check(tls_authority_leaf(authority, "example.com", &first) == 0 &&
                tls_authority_leaf(authority, "example.com", &again) == 0);
        check(first == again);
        issuer = ca_cert();
        check(X509_verify(first, X509_get0_pubkey(issuer)) == 1);
        check(X509_get_version(first) == X509_VERSION_3 && X509_NAME_entry_count(X509_get_subject_name(first)) == 0);
        check(X509_check_ca(first) == 0 && X509_check_host(first, "example.com", 0, 0, NULL) == 1 &&
                X509_check_host(first, "www.example.com", 0, 0, NULL) == 0);
        check(ASN1_TIME_diff(&pday, &psec, X509_get0_notBefore(first), NULL) && pday == 0 && psec >= 3600 &&
                psec < 3700);
        check(ASN1_TIME_diff(&pday, &psec, NULL, X509_get0_notAfter(first)) && pday <= 7 && pday >= 6);
        BIGNUM *serial = ASN1_INTEGER_to_BN(X509_get0_serialNumber(first), NULL);
        check(BN_num_bits(serial) > 120);
        BN_free(serial);
        X509_free(first);
        X509_free(again);
        /* Each has its own serial number; the ones that were used last are kept, and no more than the bound. */
        check(tls_authority_leaf(authority, "keep.example", &first) == 0);
        for (unsigned i = 0; i < 3 * TLS_LEAFS_MAX; i++) {
                snprintf(host, sizeof(host), "h%u.example", i);
                check(tls_authority_leaf(authority, host, &x) == 0);
                check(ASN1_INTEGER_cmp(X509_get0_serialNumber(x), X509_get0_serialNumber(first)) != 0);
                X509_free(x);
                check(tls_authority_leaf(authority, "keep.example", &x) == 0 && x == first);
                X509_free(x);
        }
        X509_free(first);
        X509_free(issuer);
        tear_down();
}

TEST(the_ca) {
        struct tls_ca one, two;
        struct tls_authority *a = NULL;
        struct error e = {};

        set_up();
        check(tls_ca_new(&one, &e) == 0 && tls_ca_new(&two, &e) == 0);
        check(strcmp(one.cert, two.cert) != 0 && strcmp(one.key, two.key) != 0 &&
                strcmp(one.subject_hash, two.subject_hash) != 0);
        X509 *x = ca_cert();
        check(X509_check_ca(x) == 1 && X509_get_pathlen(x) == 0 && X509_verify(x, X509_get0_pubkey(x)) == 1);
        check(X509_get_key_usage(x) == (KU_KEY_CERT_SIGN | KU_CRL_SIGN));
        X509_free(x);
        /* Not: nothing, a key without a certificate, one of another's, a leaf. */
        check(tls_authority_load("", 0, &a, &e) < 0 && !a && e.errnum);
        check(tls_authority_load(one.key, strlen(one.key), &a, &e) < 0 && !a);
        char mixed[2 * TLS_PEM_MAX];
        snprintf(mixed, sizeof(mixed), "%s%s", one.key, two.cert);
        check(tls_authority_load(mixed, strlen(mixed), &a, &e) < 0 && !a);
        tear_down();
}

/* --- under the lists: a call that they refuse ends the process --- */

static void lock_in(const struct sock_filter *list, size_t n) {
        struct sock_filter f[1024];

        check(n <= ELEMENTSOF(f));
        memcpy(f, list, n * sizeof(*f));
        for (size_t i = 0; i < n; i++)
                if (f[i].code == (BPF_RET | BPF_K) && (f[i].k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
                        f[i].k = SECCOMP_RET_KILL_PROCESS;
        check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && seccomp_load(f, n) == 0);
}

/* From the first call after tls_init on, everything is made under the list. */
static void live_under(const struct sock_filter *list, size_t n) {
        struct tls_ca made;
        char both[2 * TLS_PEM_MAX], name[64];
        struct error e = {};
        struct pair p[8];

        check(tls_init(&e) == 0 && tls_ca_new(&made, &e) == 0);
        snprintf(both, sizeof(both), "%s%s", made.key, made.cert);
        int fd = mkstemp(ca_file);
        check(fd >= 0 && fd_write_all(fd, made.cert, strlen(made.cert)) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
                tls_trust_new(fd, -1, &trust, &e) == 0);
        unlink(ca_file);
        for (size_t i = 0; i < ELEMENTSOF(p); i++)
                make_pair(p[i].fd);
        lock_in(list, n);
        check(tls_authority_load(both, strlen(both), &authority, &e) == 0);
        for (size_t i = 0; i < ELEMENTSOF(p); i++) {
                snprintf(name, sizeof(name), "h%zu.example", i / 2);
                p[i].gate = tls_accept(authority, p[i].fd[0], name, i % 3);
                p[i].client = tls_connect(trust, p[i].fd[1], i == 5 ? "192.0.2.1" : name, i % 4); /* one that fails */
                check(p[i].gate && p[i].client);
                shake(p[i].gate, p[i].client, &p[i].r_gate, &p[i].r_client);
                check(p[i].r_client == (i == 5 ? -EPROTO : 0));
                if (i == 5)
                        continue;
                send_text(p[i].gate, p[i].client, "down");
                send_text(p[i].client, p[i].gate, "up");
                check(tls_shutdown(p[i].client) == 0);
                tls_free(p[i].gate);
                tls_free(p[i].client);
        }
        fflush(stdout);
        _exit(0);
}

TEST(the_lists_hold_here) {
        int status;

        if (ADDRESS_SANITIZER)
                skip("no list is loaded beneath the address sanitizer");
        pid_t pid = fork();
        if (pid == 0) {
                lock_in(seccomp_broker, ELEMENTSOF(seccomp_broker));
                _exit(open("/etc/ssl/openssl.cnf", O_RDONLY | O_CLOEXEC) >= 0 ? 0 : 1);
        }
        check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

TEST(under_the_list_of_the_gate) { live_under(seccomp_gate, ELEMENTSOF(seccomp_gate)); }
TEST(under_the_list_of_the_broker) { live_under(seccomp_broker, ELEMENTSOF(seccomp_broker)); }

TAP_MAIN
