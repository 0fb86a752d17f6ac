/* HMAC-SHA-256 (RFC 2104), for what is signed with a secret: all that the key can be told from stands in the caller's struct,
 * which may lie in locked memory, and is wiped at the end. */
#pragma once

#include "base/sha256.h"

struct hmac_sha256 {
        struct sha256_state hash;
        uint8_t key[64]; /* the key, filled up, as the outer hash takes it */
};
void hmac_sha256_begin(struct hmac_sha256 *h, const void *key, size_t n);
void hmac_sha256_add(struct hmac_sha256 *h, const void *data, size_t n);
/* Wipes *h. ret may be the key that hmac_sha256_begin was given. */
void hmac_sha256_end(struct hmac_sha256 *h, uint8_t ret[SHA256_SIZE]);
