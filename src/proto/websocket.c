/* See websocket.h. SHA-1 stands here for what RFC 6455 makes of it, a check that the peer has read the request; it protects
 * nothing. */
#include "proto/websocket.h"

#include <string.h>

static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455 section 1.3 */

static void base64(const uint8_t *p, size_t n, char *ret) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

        for (size_t i = 0; i < n; i += 3, ret += 4) {
                bool two = i + 1 < n, three = i + 2 < n;
                uint32_t v = (uint32_t)p[i] << 16 | (two ? (uint32_t)p[i + 1] << 8 : 0) | (three ? p[i + 2] : 0);
                ret[0] = digits[v >> 18];
                ret[1] = digits[v >> 12 & 63];
                ret[2] = two ? digits[v >> 6 & 63] : '=';
                ret[3] = three ? digits[v & 63] : '=';
        }
}

static uint32_t rotate(uint32_t x, unsigned n) { return x << n | x >> (32 - n); }

/* One block of FIPS 180-4 section 6.1.2. */
static void sha1_block(uint32_t h[5], const uint8_t block[64]) {
        static const uint32_t k[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
        uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

        for (unsigned i = 0; i < 16; i++)
                w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                        (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
        for (unsigned i = 16; i < 80; i++)
                w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        for (unsigned i = 0; i < 80; i++) {
                uint32_t f = i < 20 ? (b & c) | (~b & d) : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
                uint32_t t = rotate(a, 5) + f + e + k[i / 20] + w[i];
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

void websocket_key(const uint8_t random[16], char ret[WEBSOCKET_KEY_LENGTH]) { base64(random, 16, ret); }

void websocket_accept(const char key[WEBSOCKET_KEY_LENGTH], char ret[WEBSOCKET_ACCEPT_LENGTH]) {
        enum { N = WEBSOCKET_KEY_LENGTH + sizeof(guid) - 1 }; /* 60 bytes; padded (section 5.1.1) two blocks */
        uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
        uint8_t blocks[128] = {}, digest[20];

        memcpy(blocks, key, WEBSOCKET_KEY_LENGTH);
        memcpy(blocks + WEBSOCKET_KEY_LENGTH, guid, sizeof(guid) - 1);
        blocks[N] = 0x80;
        blocks[126] = N * 8 >> 8;
        blocks[127] = N * 8 & 255;
        sha1_block(h, blocks);
        sha1_block(h, blocks + 64);
        for (unsigned i = 0; i < 20; i++)
                digest[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
        base64(digest, sizeof(digest), ret);
}

bool websocket_granted(const struct http_head *response, const char key[WEBSOCKET_KEY_LENGTH]) {
        const struct http_field *f = http_find(response, HTTP_F_SEC_WEBSOCKET_ACCEPT);
        char expected[WEBSOCKET_ACCEPT_LENGTH];

        if (!response->websocket || !f || f->value_n != WEBSOCKET_ACCEPT_LENGTH)
                return false;
        websocket_accept(key, expected);
        return memcmp(http_field_value(response, f).p, expected, WEBSOCKET_ACCEPT_LENGTH) == 0;
}
