/* See websocket.h. SHA-1 stands here for what RFC 6455 makes of it, a check that the peer has read the request; it protects
 * nothing. */
#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "base/sha1.h"
#include "proto/websocket.h"

static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455 section 1.3 */

void websocket_key(const uint8_t random[16], char ret[WEBSOCKET_KEY_LENGTH]) { (void)base64_encode(random, 16, ret); }

void websocket_accept(const char key[WEBSOCKET_KEY_LENGTH], char ret[WEBSOCKET_ACCEPT_LENGTH]) {
        char text[WEBSOCKET_KEY_LENGTH + sizeof(guid) - 1];
        uint8_t digest[SHA1_SIZE];

        memcpy(text, key, WEBSOCKET_KEY_LENGTH);
        memcpy(text + WEBSOCKET_KEY_LENGTH, guid, sizeof(guid) - 1);
        sha1(text, sizeof(text), digest);
        (void)base64_encode(digest, sizeof(digest), ret);
}

bool websocket_granted(const struct http_head *response, const char key[WEBSOCKET_KEY_LENGTH]) {
        const struct http_field *f = http_find(response, HTTP_F_SEC_WEBSOCKET_ACCEPT);
        char expected[WEBSOCKET_ACCEPT_LENGTH];

        if (!response->websocket || !f || f->value_n != WEBSOCKET_ACCEPT_LENGTH)
                return false;
        websocket_accept(key, expected);
        return memcmp(http_field_value(response, f).p, expected, WEBSOCKET_ACCEPT_LENGTH) == 0;
}

/* A head that is whole. */
static void begin_payload(struct websocket_reader *w) {
        const unsigned length = w->head[1];

        w->left = length;
        if (length >= 126)
                w->left = 0;
        for (unsigned i = 2; length >= 126 && i < w->size_head; i++)
                w->left = w->left << 8 | w->head[i];
        w->n_head = w->size_head = 0;
}

int websocket_read(struct websocket_reader *w, const char *p, size_t n, struct websocket_piece *ret) {
        *ret = (struct websocket_piece){};
        if (w->left > 0) {
                ret->n = w->left < n ? (size_t)w->left : n;
                ret->is_payload = true;
                w->left -= ret->n;
                ret->last = w->left == 0;
                return 0;
        }
        while (ret->n < n && (w->size_head == 0 || w->n_head < w->size_head)) {
                w->head[w->n_head++] = (uint8_t)p[ret->n++];
                if (w->n_head == 1 && w->head[0] & 0x70)
                        return -EBADMSG;
                if (w->n_head == 2) {
                        if (w->head[1] & 0x80)
                                return -EBADMSG;
                        w->size_head = w->head[1] == 127 ? 10 : w->head[1] == 126 ? 4 : 2;
                }
        }
        if (w->size_head > 0 && w->n_head == w->size_head)
                begin_payload(w);
        return 0;
}
