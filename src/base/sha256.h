/* SHA-256, where a start has to name something by its content, and where a key is derived: the programs that do link no
 * library for it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32u

void sha256(const void *data, size_t n, uint8_t ret[SHA256_SIZE]);

/* In pieces. What has been hashed may be secret: until sha256_end wipes it, it stands in the struct and, but for what a compiler
 * keeps in registers and spills from them, nowhere else. */
struct sha256_state {
        uint32_t h[8], w[64], v[8];
        uint64_t n;        /* bytes so far */
        uint8_t block[64]; /* the last n % 64 of them */
};
void sha256_begin(struct sha256_state *s);
void sha256_add(struct sha256_state *s, const void *data, size_t n);
void sha256_end(struct sha256_state *s, uint8_t ret[SHA256_SIZE]);

/* "sha256:0123...", as images and others name things; returns dst. */
#define SHA256_TEXT (7 + 2 * SHA256_SIZE + 1)
const char *sha256_text(const uint8_t hash[SHA256_SIZE], char dst[SHA256_TEXT]);
