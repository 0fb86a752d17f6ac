/* See tls-sign.h. */
#include <openssl/pem.h>

#include "svc/tls-internal.h"
#include "svc/tls-sign.h"

/* Nobody is asked for a passphrase. */
static int no_passphrase(char *buf, int size, int rw, void *arg) {
        (void)buf;
        (void)size;
        (void)rw;
        (void)arg;
        return -1;
}

int tls_sign_rs256(const char *pem, size_t n_pem, const void *data, size_t n, uint8_t *ret, size_t *ret_n, struct error *e) {
        _cleanup_bio_ BIO *in = BIO_new_mem_buf(pem, (int)n_pem);
        _cleanup_pkey_ EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, no_passphrase, NULL) : NULL;
        size_t k = TLS_SIGNATURE_MAX;

        ERR_clear_error();
        if (!key || !EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_get_bits(key) < 2048 || EVP_PKEY_get_size(key) > (int)TLS_SIGNATURE_MAX)
                return error_set(e, EINVAL, "the private key is no RSA key in PEM form, of 2,048 bits and without a passphrase");
        EVP_MD_CTX *ctx = EVP_MD_CTX_new();
        bool ok = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 && EVP_DigestSign(ctx, ret, &k, data, n) == 1;
        EVP_MD_CTX_free(ctx);
        ERR_clear_error();
        if (!ok)
                return error_set(e, EIO, "the private key signs nothing");
        *ret_n = k;
        return 0;
}
