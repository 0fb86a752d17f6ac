/* See sha1.h. FIPS 180-4, section 6.1.2. */
#include <string.h>

#include "base/sha1.h"

static uint32_t rotate(uint32_t x, unsigned n) { return x << n | x >> (32 - n); }

static void sha1_block(uint32_t h[5], const uint8_t *p) {
        uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

        for (unsigned i = 0; i < 16; i++)
                w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 |
                       p[4 * i + 3];
        for (unsigned i = 16; i < 80; i++)
                w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        for (unsigned i = 0; i < 80; i++) {
                uint32_t f = i < 20 ? (b & c) | (~b & d) : i < 40 || i >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
                uint32_t k = i < 20 ? 0x5a827999u : i < 40 ? 0x6ed9eba1u : i < 60 ? 0x8f1bbcdcu : 0xca62c1d6u;
                uint32_t t = rotate(a, 5) + f + e + w[i] + k;
                e = d;
                d = c;
                c = rotate(b, 30);
                b = a;
                a = t;
        }
        h[0] += a;
        h[1] += b;
        h[2] += c;
        h[3] += d;
        h[4] += e;
}

void sha1(const void *data, size_t n, uint8_t ret[SHA1_SIZE]) {
        const uint8_t *p = data;
        uint32_t h[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
        uint8_t tail[128] = {};
        size_t left = n % 64, size = left < 56 ? 64 : 128;

        for (size_t i = 0; i + 64 <= n; i += 64)
                sha1_block(h, p + i);
        memcpy(tail, p + n - left, left);
        tail[left] = 0x80;
        for (unsigned i = 0; i < 8; i++)
                tail[size - 1 - i] = (uint8_t)((uint64_t)n * 8 >> (8 * i));
        for (size_t i = 0; i < size; i += 64)
                sha1_block(h, tail + i);
        for (unsigned i = 0; i < SHA1_SIZE; i++)
                ret[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}
