/* The sandbox's CA, and the certificates that its gate shows, see tls.h. Certificates as RFC 5280 has them and as the
 * strict ones of today's verifiers want them: version 3, random serial numbers, key identifiers, the host in the
 * alternative name alone (critical, as the subject is empty: section 4.2.1.6), a key usage and an extended one. */
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "svc/tls-internal.h"

#define DAY (24 * 60 * 60)

struct leaf {
        char host[TLS_HOST_MAX];
        X509 *cert;     /* NULL: free */
        uint64_t used;  /* a counter */
        time_t renew;
};

struct tls_authority {
        X509 *ca;
        EVP_PKEY *key, *leaf_key;
        SSL_CTX *ctx;
        uint64_t uses;
        struct leaf leafs[TLS_LEAFS_MAX];
};

static EVP_PKEY *new_key(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256"); }

/* 159 bits and positive (RFC 5280 section 4.1.2.2: 20 bytes at most). */
static int set_serial(X509 *x) {
        uint8_t bytes[20];

        if (RAND_bytes(bytes, sizeof(bytes)) != 1)
                return -EIO;
        bytes[0] = (uint8_t)((bytes[0] & 0x3f) | 0x40);
        BIGNUM *n = BN_bin2bn(bytes, sizeof(bytes), NULL);
        bool ok = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));
        BN_free(n);
        return ok ? 0 : -ENOMEM;
}

static int add_extension(X509 *x, X509 *issuer, int nid, const char *value) {
        X509V3_CTX ctx;

        X509V3_set_ctx_nodb(&ctx);
        X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
        X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
        bool ok = ext && X509_add_ext(x, ext, -1);
        X509_EXTENSION_free(ext);
        return ok ? 0 : -ENOMEM;
}

/* The name as it is, whatever it holds: X509V3_EXT_conf would read commas and colons of its own. */
static int add_host(X509 *x, const char *host) {
        uint8_t address[16];
        size_t n = tls_host_address(host, address);
        GENERAL_NAMES *names = GENERAL_NAMES_new();
        GENERAL_NAME *name = GENERAL_NAME_new();
        ASN1_STRING *text = n > 0 ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
        int r = -ENOMEM;

        if (names && name && text &&
                ASN1_STRING_set(text, n > 0 ? (const void *)address : host, n > 0 ? (int)n : (int)strlen(host))) {
                GENERAL_NAME_set0_value(name, n > 0 ? GEN_IPADD : GEN_DNS, text);
                text = NULL;
                if (sk_GENERAL_NAME_push(names, name) > 0) {
                        name = NULL;
                        r = X509_add1_ext_i2d(x, NID_subject_alt_name, names, 1, 0) == 1 ? 0 : -ENOMEM;
                }
        }
        ASN1_STRING_free(text);
        GENERAL_NAME_free(name);
        GENERAL_NAMES_free(names);
        return r;
}

/* What a CA's and a leaf have in common. */
static int begin(X509 *x, EVP_PKEY *key, long days) {
        int r;

        if (X509_set_version(x, X509_VERSION_3) != 1 || (r = set_serial(x)) < 0 ||
                !X509_gmtime_adj(X509_getm_notBefore(x), -TLS_BACKDATE) ||
                !X509_gmtime_adj(X509_getm_notAfter(x), days * DAY) || X509_set_pubkey(x, key) != 1)
                return -ENOMEM;
        return 0;
}

static int make_ca(EVP_PKEY *key, X509 **ret) {
        _cleanup_x509_ X509 *x = X509_new();
        uint8_t random[4];
        char name[48];

        if (!x || RAND_bytes(random, sizeof(random)) != 1)
                return -ENOMEM;
        snprintf(name, sizeof(name), "Belljar sandbox %02x%02x%02x%02x", random[0], random[1], random[2], random[3]);
        X509_NAME *subject = X509_get_subject_name(x);
        if (begin(x, key, TLS_CA_DAYS) < 0 ||
                X509_NAME_add_entry_by_NID(
                        subject, NID_organizationName, MBSTRING_UTF8, (const uint8_t *)"Belljar", -1, -1, 0) != 1 ||
                X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, (const uint8_t *)name, -1, -1, 0) !=
                        1 ||
                X509_set_issuer_name(x, subject) != 1 ||
                add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") < 0 ||
                add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") < 0 ||
                add_extension(x, x, NID_subject_key_identifier, "hash") < 0 || X509_sign(x, key, EVP_sha256()) <= 0)
                return -ENOMEM;
        *ret = TAKE_PTR(x);
        return 0;
}

static int to_text(BIO *b, char *ret) {
        char *data;
        long n = BIO_get_mem_data(b, &data);

        if (n <= 0 || (unsigned long)n >= TLS_PEM_MAX)
                return -EFBIG;
        memcpy(ret, data, (size_t)n);
        ret[n] = 0;
        return 0;
}

int tls_ca_new(struct tls_ca *ret, struct error *e) {
        /* Where nothing was set up yet, as little as is needed: the texts of errors take longer than a key. */
        bool started = OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS |
                                                   OPENSSL_INIT_NO_ATEXIT,
                               NULL) == 1;
        _cleanup_pkey_ EVP_PKEY *key = new_key();
        _cleanup_x509_ X509 *x = NULL;
        _cleanup_bio_ BIO *cert_text = BIO_new(BIO_s_mem()), *key_text = BIO_new(BIO_s_secmem());
        struct tls_ca ca;

        if (!started || !key || !cert_text || !key_text || make_ca(key, &x) < 0 ||
                PEM_write_bio_X509(cert_text, x) != 1 ||
                PEM_write_bio_PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL) != 1 ||
                to_text(cert_text, ca.cert) < 0 || to_text(key_text, ca.key) < 0)
                return tls_openssl_error(e, "the sandbox's CA cannot be made");
        snprintf(ca.subject_hash, sizeof(ca.subject_hash), "%08x",
                (unsigned)X509_NAME_hash_ex(X509_get_subject_name(x), NULL, NULL, NULL));
        *ret = ca;
        OPENSSL_cleanse(&ca, sizeof(ca));
        return 0;
}

/* The names of a client and of the ClientHello's reader (proto/client-hello.h) must be one; a client that sends none is
 * the gate's to judge. */
static int check_name(SSL *ssl, int *alert, void *arg) {
        const char *sni = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name), *host = tls_host(ssl);
        size_t n = sni ? strlen(sni) : 0;

        (void)arg;
        if (!sni)
                return SSL_TLSEXT_ERR_NOACK;
        if (n > 0 && sni[n - 1] == '.')
                n--;
        if (n == strlen(host) && strncasecmp(sni, host, n) == 0)
                return SSL_TLSEXT_ERR_OK;
        *alert = SSL_AD_UNRECOGNIZED_NAME;
        return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int choose_alpn(SSL *ssl, const uint8_t **out, uint8_t *out_len, const uint8_t *in, unsigned in_len, void *arg) {
        static const uint8_t ours[] = "\2h2\10http/1.1";
        size_t skip = tls_offers_h2(ssl) ? 0 : 3;

        (void)arg;
        /* RFC 7301 section 3.2: nothing in common ends the handshake. */
        return SSL_select_next_proto((uint8_t **)out, out_len, ours + skip, (unsigned)(sizeof(ours) - 1 - skip), in,
                       in_len) == OPENSSL_NPN_NEGOTIATED
                       ? SSL_TLSEXT_ERR_OK
                       : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *make_context(void) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

        if (!ctx || tls_context_common(ctx) < 0 || SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
                SSL_CTX_free(ctx);
                return NULL;
        }
        /* Tickets alone: sealed with a key of this process, they take no memory here. */
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
        (void)SSL_CTX_set_num_tickets(ctx, 1);
        SSL_CTX_set_tlsext_servername_callback(ctx, check_name);
        SSL_CTX_set_alpn_select_cb(ctx, choose_alpn, NULL);
        return ctx;
}

int tls_authority_load(const void *pem, size_t n, struct tls_authority **ret, struct error *e) {
        struct tls_authority *a = n > 2 * TLS_PEM_MAX ? NULL : calloc(1, sizeof(*a));
        _cleanup_bio_ BIO *b = a ? BIO_new_mem_buf(pem, (int)n) : NULL;
        _cleanup_bio_ BIO *again = a ? BIO_new_mem_buf(pem, (int)n) : NULL;

        if (!b || !again) {
                free(a);
                return error_set(e, a ? ENOMEM : EFBIG, "the sandbox's CA cannot be kept");
        }
        a->ca = PEM_read_bio_X509(b, NULL, NULL, NULL);
        a->key = PEM_read_bio_PrivateKey(again, NULL, NULL, NULL);
        if (a->ca && a->key && X509_check_private_key(a->ca, a->key) == 1 && X509_check_ca(a->ca) == 1 &&
                (a->leaf_key = new_key()) && (a->ctx = make_context())) {
                *ret = a;
                return 0;
        }
        tls_authority_free(a);
        return tls_openssl_error(e, "the sandbox's CA cannot be read");
}

void tls_authority_free(struct tls_authority *a) {
        if (!a)
                return;
        for (size_t i = 0; i < ELEMENTSOF(a->leafs); i++)
                X509_free(a->leafs[i].cert);
        SSL_CTX_free(a->ctx);
        EVP_PKEY_free(a->leaf_key);
        EVP_PKEY_free(a->key);
        X509_free(a->ca);
        free(a);
}

SSL_CTX *tls_authority_context(struct tls_authority *a) { return a->ctx; }
EVP_PKEY *tls_authority_leaf_key(struct tls_authority *a) { return a->leaf_key; }

static int mint(struct tls_authority *a, const char *host, X509 **ret) {
        _cleanup_x509_ X509 *x = X509_new();

        if (!x || begin(x, a->leaf_key, TLS_LEAF_DAYS) < 0 ||
                X509_set_issuer_name(x, X509_get_subject_name(a->ca)) != 1 ||
                add_extension(x, a->ca, NID_basic_constraints, "critical,CA:FALSE") < 0 ||
                add_extension(x, a->ca, NID_key_usage, "critical,digitalSignature") < 0 ||
                add_extension(x, a->ca, NID_ext_key_usage, "serverAuth") < 0 ||
                add_extension(x, a->ca, NID_subject_key_identifier, "hash") < 0 ||
                add_extension(x, a->ca, NID_authority_key_identifier, "keyid:always") < 0 || add_host(x, host) < 0 ||
                X509_sign(x, a->key, EVP_sha256()) <= 0)
                return -ENOMEM;
        *ret = TAKE_PTR(x);
        return 0;
}

int tls_authority_leaf(struct tls_authority *a, const char *host, X509 **ret) {
        struct leaf *at = &a->leafs[0];
        time_t now = time(NULL);
        X509 *x;
        int r;

        if (strlen(host) >= sizeof(at->host))
                return -ENAMETOOLONG;
        /* The one of this host; else a free one, or the one that was not used for longest. */
        for (size_t i = 0; i < ELEMENTSOF(a->leafs); i++) {
                struct leaf *l = &a->leafs[i];
                if (l->cert && strcmp(l->host, host) == 0) {
                        at = l;
                        break;
                }
                if (at->cert && (!l->cert || l->used < at->used))
                        at = l;
        }
        if (!at->cert || strcmp(at->host, host) != 0 || now >= at->renew) {
                if ((r = mint(a, host, &x)) < 0)
                        return r;
                X509_free(at->cert);
                at->cert = x;
                at->renew = now + (time_t)TLS_LEAF_DAYS * DAY / 2;
                snprintf(at->host, sizeof(at->host), "%s", host);
        }
        at->used = ++a->uses;
        X509_up_ref(at->cert);
        *ret = at->cert;
        return 0;
}
