/* SHA-256, where a start has to name something by its content: the start program links no library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32u

void sha256(const void *data, size_t n, uint8_t ret[SHA256_SIZE]);
/* "sha256:0123...", as images and others name things; returns dst. */
#define SHA256_TEXT (7 + 2 * SHA256_SIZE + 1)
const char *sha256_text(const uint8_t hash[SHA256_SIZE], char dst[SHA256_TEXT]);
