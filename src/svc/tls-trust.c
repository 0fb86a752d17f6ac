/* Whom a broker trusts, see tls.h: the host's CA certificates, kept as bytes, of which only those are parsed that an
 * upstream's chain asks for (all of them take 20 ms and a MiB); and the sessions of upstreams. */
#include <dirent.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "svc/tls-internal.h"

#define DIRECTORY_FILES_MAX 4096u
#define CERTIFICATES_MAX 16384u

/* Where distributions have the file; the first that is there. */
static const char *const files[] = {
        "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Ubuntu, Arch, Gentoo, Alpine, Nix's */
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora, RHEL */
        "/etc/pki/tls/certs/ca-bundle.crt",                  /* older ones of these */
        "/etc/ssl/ca-bundle.pem",                            /* SUSE */
        "/var/lib/ca-certificates/ca-bundle.pem",            /* the same, where that is a link */
        "/etc/ssl/cert.pem",                                 /* Alpine, the BSDs */
        "/usr/lib/ssl/cert.pem",                             /* OpenSSL's own places */
        "/usr/local/ssl/cert.pem",
};
static const char *const directories[] = {"/etc/ssl/certs", "/etc/pki/tls/certs", "/usr/lib/ssl/certs"};

struct session {
        char host[TLS_HOST_MAX];
        bool h2;
        SSL_SESSION *session; /* NULL: free */
        uint64_t used;
};

struct certificate {
        uint8_t *der; /* OpenSSL's to free; NULL: in the store */
        long n;
        unsigned long subject; /* X509_NAME_hash */
        bool trusted;          /* with what OpenSSL adds to it */
};

struct tls_trust {
        struct strbuf pem; /* what is not listed yet */
        struct certificate *certificates;
        unsigned n;
        X509_LOOKUP_METHOD *method;
        SSL_CTX *ctx;
        uint64_t uses;
        struct session sessions[TLS_SESSIONS_MAX];
};

int tls_trust_add(struct tls_trust *t, const void *pem, size_t n) {
        strbuf_add(&t->pem, pem, n);
        strbuf_puts(&t->pem, "\n");
        return t->pem.failed ? -ENOMEM : 0;
}

static int add_file(struct tls_trust *t, int dirfd, const char *path) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = file_read(dirfd, path, TLS_BUNDLE_MAX, &text, &n);
        return r < 0 ? r : tls_trust_add(t, text, n);
}

/* "3d2a1b0c.0": as OpenSSL's look-up has them; the rest are other names of the same. */
static bool is_hashed(const char *name) {
        return strspn(name, "0123456789abcdef") == 8 && name[8] == '.' && name[9] >= '0' && name[9] <= '9' &&
               strspn(name + 9, "0123456789") == strlen(name + 9);
}

/* Closes it. */
static int add_directory(struct tls_trust *t, int fd) {
        DIR *d = fdopendir(fd);
        unsigned n = 0;
        int r = 0;

        if (!d) {
                r = -errno;
                fd_close(fd);
                return r;
        }
        for (struct dirent *e; r == 0 && n < DIRECTORY_FILES_MAX;) {
                errno = 0;
                if (!(e = readdir(d))) {
                        r = -errno;
                        break;
                }
                if (!is_hashed(e->d_name))
                        continue;
                n++;
                if ((r = add_file(t, dirfd(d), e->d_name)) != -ENOMEM)
                        r = 0; /* one that cannot be read is one that is not trusted */
        }
        closedir(d);
        return r;
}

static int add_hosts_own(struct tls_trust *t) {
        int r = -ENOENT;

        for (size_t i = 0; r < 0 && r != -ENOMEM && i < ELEMENTSOF(files); i++)
                r = add_file(t, AT_FDCWD, files[i]);
        for (size_t i = 0; r < 0 && r != -ENOMEM && i < ELEMENTSOF(directories); i++)
                r = add_directory(t, open(directories[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        return r == -ENOMEM ? r : 0; /* a host without any: each upstream is refused with the reason */
}

int tls_trust_new(int file, int directory, struct tls_trust **ret, struct error *e) {
        struct tls_trust *t = calloc(1, sizeof(*t));
        _cleanup_free_ char *text = NULL;
        _cleanup_fd_ int dir = directory;
        size_t n = 0;
        int r = t ? 0 : -ENOMEM;

        if (t)
                t->pem.max = 2 * TLS_BUNDLE_MAX;
        if (r == 0 && file >= 0 && (r = fd_read_all(file, TLS_BUNDLE_MAX, &text, &n)) == 0)
                r = tls_trust_add(t, text, n);
        fd_close(file);
        if (r == 0 && directory >= 0)
                r = add_directory(t, TAKE_FD(dir));
        if (r == 0 && file < 0 && directory < 0)
                r = add_hosts_own(t);
        if (r < 0) {
                tls_trust_free(t);
                return error_errno(e, r, "the CA certificates cannot be read");
        }
        *ret = t;
        return 0;
}

void tls_trust_free(struct tls_trust *t) {
        if (!t)
                return;
        for (size_t i = 0; i < ELEMENTSOF(t->sessions); i++)
                SSL_SESSION_free(t->sessions[i].session);
        SSL_CTX_free(t->ctx);
        X509_LOOKUP_meth_free(t->method);
        for (unsigned i = 0; i < t->n; i++)
                OPENSSL_free(t->certificates[i].der);
        free(t->certificates);
        strbuf_clear(&t->pem);
        free(t);
}

bool tls_trust_is_empty(const struct tls_trust *t) { return t->n == 0; }

/* An element of DER: *p goes to its content; its length. -1: it is cut short. */
static long enter(const uint8_t **p, const uint8_t *end) {
        long n;
        int tag, class;
        return ASN1_get_object(p, &n, &tag, &class, end - *p) & 0x80 ? -1 : n;
}

/* The hash of the subject of a certificate that is not parsed (RFC 5280 section 4.1). */
static bool subject_hash(const uint8_t *der, long size, unsigned long *ret) {
        const uint8_t *p = der, *end = der + size;
        long n = enter(&p, end); /* Certificate */

        if (n < 0)
                return false;
        end = p + n;
        if ((n = enter(&p, end)) < 0) /* TBSCertificate */
                return false;
        end = p + n;
        bool version = p < end && *p == 0xa0;
        /* version, serial number, algorithm, issuer, validity */
        for (int before = version ? 5 : 4; before > 0; before--) {
                if ((n = enter(&p, end)) < 0)
                        return false;
                p += n;
        }
        X509_NAME *name = d2i_X509_NAME(NULL, &p, end - p);
        int ok = 0;
        if (name)
                *ret = X509_NAME_hash_ex(name, NULL, NULL, &ok);
        X509_NAME_free(name);
        return ok;
}

static int list_certificates(struct tls_trust *t) {
        BIO *b = t->pem.len > 0 ? BIO_new_mem_buf(t->pem.data, (int)t->pem.len) : NULL;
        char *name, *header;
        struct certificate c;
        int r = 0;

        if (t->pem.len == 0)
                return 0;
        if (!b)
                return -ENOMEM;
        for (unsigned i = 0; r == 0 && i < CERTIFICATES_MAX; i++) {
                if (PEM_read_bio(b, &name, &header, &c.der, &c.n) != 1) {
                        if (ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE)
                                break;
                        ERR_clear_error();
                        continue;
                }
                c.trusted = strcmp(name, PEM_STRING_X509_TRUSTED) == 0;
                bool good =
                        (c.trusted || strcmp(name, PEM_STRING_X509) == 0 || strcmp(name, PEM_STRING_X509_OLD) == 0) &&
                        subject_hash(c.der, c.n, &c.subject);
                struct certificate *more = good ? reallocarray(t->certificates, t->n + 1, sizeof(*more)) : NULL;
                if (more) {
                        t->certificates = more;
                        more[t->n++] = c;
                } else {
                        OPENSSL_free(c.der);
                        r = good ? -ENOMEM : 0;
                }
                OPENSSL_free(name);
                OPENSSL_free(header);
        }
        ERR_clear_error();
        BIO_free(b);
        strbuf_clear(&t->pem);
        t->pem.max = 2 * TLS_BUNDLE_MAX;
        return r;
}

/* What OpenSSL asks for and has not in its store. */
static int find_certificate(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name, X509_OBJECT *ret) {
        struct tls_trust *t = X509_LOOKUP_get_method_data(lookup);
        X509_STORE *store = X509_LOOKUP_get_store(lookup);
        unsigned long subject = X509_NAME_hash_ex(name, NULL, NULL, NULL);

        if (type != X509_LU_X509)
                return 0;
        for (unsigned i = 0; i < t->n; i++) {
                struct certificate *c = &t->certificates[i];
                if (!c->der || c->subject != subject)
                        continue;
                const uint8_t *p = c->der;
                X509 *x = c->trusted ? d2i_X509_AUX(NULL, &p, c->n) : d2i_X509(NULL, &p, c->n);
                if (x)
                        (void)X509_STORE_add_cert(store, x);
                X509_free(x);
                OPENSSL_free(c->der);
                c->der = NULL;
        }
        X509_OBJECT *found = X509_OBJECT_retrieve_by_subject(X509_STORE_get0_objects(store), X509_LU_X509, name);
        X509 *x = found ? X509_OBJECT_get0_X509(found) : NULL;
        if (!x || X509_OBJECT_set1_X509(ret, x) != 1)
                return 0;
        X509_free(x); /* the store's reference is what stands, as with OpenSSL's own look-ups */
        return 1;
}

static int add_lookup(struct tls_trust *t) {
        t->method = X509_LOOKUP_meth_new("belljar");
        X509_LOOKUP *lookup = t->method && X509_LOOKUP_meth_set_get_by_subject(t->method, find_certificate) == 1
                                      ? X509_STORE_add_lookup(SSL_CTX_get_cert_store(t->ctx), t->method) : NULL;
        return lookup && X509_LOOKUP_set_method_data(lookup, t) == 1 ? 0 : -ENOMEM;
}

static int keep(SSL *ssl, SSL_SESSION *s) {
        tls_keep_session(ssl, s);
        return 0; /* with no reference of OpenSSL's */
}

static SSL_CTX *make_context(void) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

        if (!ctx || tls_context_common(ctx) < 0 ||
                /* With an ephemeral key, and encrypted and authenticated in one; then what older servers have. */
                SSL_CTX_set_cipher_list(
                        ctx, "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20:ECDHE+AES:!aNULL:!PSK:!SRP") != 1) {
                SSL_CTX_free(ctx);
                return NULL;
        }
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
        SSL_CTX_set_verify_depth(ctx, TLS_CHAIN_DEPTH_MAX);
        SSL_CTX_set_max_cert_list(ctx, TLS_CHAIN_BYTES_MAX);
        /* A CA that the host names counts, also where it is itself signed by one that the host does not have. */
        X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx), X509_V_FLAG_PARTIAL_CHAIN);
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(ctx, keep);
        SSL_CTX_set_timeout(ctx, TLS_SESSION_SECONDS);
        return ctx;
}

SSL_CTX *tls_trust_context(struct tls_trust *t) {
        if (list_certificates(t) < 0)
                return NULL;
        if (t->ctx)
                return t->ctx;
        t->ctx = make_context();
        if (t->ctx && add_lookup(t) < 0) {
                SSL_CTX_free(t->ctx);
                t->ctx = NULL;
                X509_LOOKUP_meth_free(t->method);
                t->method = NULL;
        }
        return t->ctx;
}

static struct session *find_session(struct tls_trust *t, const char *host, bool h2) {
        for (size_t i = 0; i < ELEMENTSOF(t->sessions); i++) {
                struct session *s = &t->sessions[i];
                if (s->session && s->h2 == h2 && strcmp(s->host, host) == 0)
                        return s;
        }
        return NULL;
}

SSL_SESSION *tls_trust_take_session(struct tls_trust *t, const char *host, bool h2) {
        struct session *s = find_session(t, host, h2);

        if (!s)
                return NULL;
        SSL_SESSION *session = s->session;
        if (SSL_SESSION_get_protocol_version(session) < TLS1_3_VERSION && SSL_SESSION_is_resumable(session)) {
                s->used = ++t->uses;
                SSL_SESSION_up_ref(session);
        } else
                s->session = NULL; /* a ticket is for one use (RFC 8446 appendix C.4) */
        if (SSL_SESSION_is_resumable(session))
                return session;
        SSL_SESSION_free(session);
        return NULL;
}

void tls_trust_keep_session(struct tls_trust *t, const char *host, bool h2, SSL_SESSION *session) {
        struct session *at = find_session(t, host, h2);

        if (!at) {
                at = &t->sessions[0];
                for (size_t i = 1; at->session && i < ELEMENTSOF(t->sessions); i++)
                        if (!t->sessions[i].session || t->sessions[i].used < at->used)
                                at = &t->sessions[i];
        }
        SSL_SESSION_free(at->session);
        SSL_SESSION_up_ref(session);
        *at = (struct session){.h2 = h2, .session = session, .used = ++t->uses};
        memcpy(at->host, host, strlen(host) + 1);
}
