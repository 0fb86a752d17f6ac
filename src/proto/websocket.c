/* See websocket.h. SHA-1 stands here for what RFC 6455 makes of it, a check that the peer has read the request; it protects
 * nothing. */
#include <string.h>

#include "base/sha1.h"
#include "proto/websocket.h"

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

void websocket_key(const uint8_t random[16], char ret[WEBSOCKET_KEY_LENGTH]) { base64(random, 16, ret); }

void websocket_accept(const char key[WEBSOCKET_KEY_LENGTH], char ret[WEBSOCKET_ACCEPT_LENGTH]) {
        char text[WEBSOCKET_KEY_LENGTH + sizeof(guid) - 1];
        uint8_t digest[SHA1_SIZE];

        memcpy(text, key, WEBSOCKET_KEY_LENGTH);
        memcpy(text + WEBSOCKET_KEY_LENGTH, guid, sizeof(guid) - 1);
        sha1(text, sizeof(text), digest);
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
