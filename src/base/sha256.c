/* See sha256.h. FIPS 180-4, sections 4.2.2, 5.1.1, 5.3.3 and 6.2.2. */
#include <string.h>

#include "base/sha256.h"

static const uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
        0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
        0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
        0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
        0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
        0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned n) { return x >> n | x << (32 - n); }

static void add_block(struct sha256_state *s, const uint8_t *p) {
        uint32_t *w = s->w, *v = s->v;

        for (unsigned i = 0; i < 16; i++)
                w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
        for (unsigned i = 16; i < 64; i++) {
                uint32_t a = w[i - 15], b = w[i - 2];
                w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
        }
        memcpy(v, s->h, sizeof(s->v));
        for (unsigned i = 0; i < 64; i++) {
                uint32_t e = v[4], a = v[0];
                uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + constants[i] + w[i];
                uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
                memmove(v + 1, v, 7 * sizeof(*v));
                v[4] += t1;
                v[0] = t1 + t2;
        }
        for (unsigned i = 0; i < 8; i++)
                s->h[i] += v[i];
}

void sha256_begin(struct sha256_state *s) {
        static const uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

        memcpy(s->h, h, sizeof(h));
        s->n = 0;
}

void sha256_add(struct sha256_state *s, const void *data, size_t n) {
        const uint8_t *p = data;
        size_t held = s->n % sizeof(s->block);

        s->n += n;
        while (n > 0) {
                if (held == 0 && n >= sizeof(s->block)) {
                        add_block(s, p);
                        p += sizeof(s->block);
                        n -= sizeof(s->block);
                        continue;
                }
                size_t take = sizeof(s->block) - held < n ? sizeof(s->block) - held : n;
                memcpy(s->block + held, p, take);
                p += take;
                n -= take;
                held = (held + take) % sizeof(s->block);
                if (held == 0)
                        add_block(s, s->block);
        }
}

void sha256_end(struct sha256_state *s, uint8_t ret[SHA256_SIZE]) {
        size_t held = s->n % sizeof(s->block);
        uint64_t bits = s->n * 8;

        s->block[held++] = 0x80;
        if (held > 56) {
                memset(s->block + held, 0, sizeof(s->block) - held);
                add_block(s, s->block);
                held = 0;
        }
        memset(s->block + held, 0, 56 - held);
        for (unsigned i = 0; i < 8; i++)
                s->block[63 - i] = (uint8_t)(bits >> 8 * i);
        add_block(s, s->block);
        for (unsigned i = 0; i < SHA256_SIZE; i++)
                ret[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
        explicit_bzero(s, sizeof(*s));
}

void sha256(const void *data, size_t n, uint8_t ret[SHA256_SIZE]) {
        struct sha256_state s;

        sha256_begin(&s);
        sha256_add(&s, data, n);
        sha256_end(&s, ret);
}

const char *sha256_text(const uint8_t hash[SHA256_SIZE], char dst[SHA256_TEXT]) {
        static const char hex[] = "0123456789abcdef";
        char *p = dst + 7;

        memcpy(dst, "sha256:", 7);
        for (unsigned i = 0; i < SHA256_SIZE; i++) {
                *p++ = hex[hash[i] >> 4];
                *p++ = hex[hash[i] & 15];
        }
        *p = 0;
        return dst;
}
