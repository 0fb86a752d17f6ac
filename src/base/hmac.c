/* See hmac.h. */
#include <string.h>

#include "base/hmac.h"

static void xor_key(struct hmac_sha256 *h, uint8_t with) {
        for (unsigned i = 0; i < sizeof(h->key); i++)
                h->key[i] ^= with;
}

void hmac_sha256_begin(struct hmac_sha256 *h, const void *key, size_t n) {
        memset(h->key, 0, sizeof(h->key));
        if (n > sizeof(h->key)) {
                sha256_begin(&h->hash);
                sha256_add(&h->hash, key, n);
                sha256_end(&h->hash, h->key);
        } else if (n > 0)
                memcpy(h->key, key, n);
        xor_key(h, 0x36);
        sha256_begin(&h->hash);
        sha256_add(&h->hash, h->key, sizeof(h->key));
        xor_key(h, 0x36 ^ 0x5c);
}

void hmac_sha256_add(struct hmac_sha256 *h, const void *data, size_t n) { sha256_add(&h->hash, data, n); }

void hmac_sha256_end(struct hmac_sha256 *h, uint8_t ret[SHA256_SIZE]) {
        uint8_t *inner = ret; /* nothing of its own to wipe */

        sha256_end(&h->hash, inner);
        sha256_begin(&h->hash);
        sha256_add(&h->hash, h->key, sizeof(h->key));
        sha256_add(&h->hash, inner, SHA256_SIZE);
        sha256_end(&h->hash, ret);
        explicit_bzero(h, sizeof(*h));
}
