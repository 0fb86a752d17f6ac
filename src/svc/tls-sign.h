/* A signature with a private key, for the provider's tokens. OpenSSL stays behind this. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TLS_SIGNATURE_MAX 1024u /* of RSA with 8,192 bits */

/* RSASSA-PKCS1-v1_5 with SHA-256 (RS256 of RFC 7518). pem: an RSA key without a passphrase. ret has TLS_SIGNATURE_MAX bytes. No
 * error quotes the key. */
int tls_sign_rs256(const char *pem, size_t n_pem, const void *data, size_t n, uint8_t *ret, size_t *ret_n, struct error *e) _must_check_;
