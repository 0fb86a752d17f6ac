/* The two values of a WebSocket's handshake (RFC 6455 section 4). Whoever writes a request anew makes the key itself and
 * checks the answer to it, and answers the client by the client's own key: neither value crosses, so 16 bytes of the
 * client's choice do not leave, and only a server that means a WebSocket is taken for one. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/http1.h"

#define WEBSOCKET_KEY_LENGTH 24u    /* base64 of 16 bytes, without NUL */
#define WEBSOCKET_ACCEPT_LENGTH 28u /* base64 of a SHA-1 */

/* The value of Sec-WebSocket-Key. */
void websocket_key(const uint8_t random[16], char ret[WEBSOCKET_KEY_LENGTH]);
/* The value of Sec-WebSocket-Accept that answers the key. */
void websocket_accept(const char key[WEBSOCKET_KEY_LENGTH], char ret[WEBSOCKET_ACCEPT_LENGTH]);
/* Whether a response that was read as a granted WebSocket (head->websocket) answers this key. */
bool websocket_granted(const struct http_head *response, const char key[WEBSOCKET_KEY_LENGTH]);

/* Frames that a server sends, in pieces as they come (RFC 6455 section 5.2). All zero at the beginning. */
struct websocket_reader {
        uint8_t head[10];
        uint8_t n_head, size_head; /* bytes that are there, and will be; 0: a frame begins */
        uint64_t left;             /* of the payload */
};
struct websocket_piece {
        size_t n;        /* bytes, at least one */
        bool is_payload; /* or of a frame's head */
        bool last;       /* the payload ends with them */
};
/* The first of n bytes (n > 0) that belong together. -EBADMSG: a frame that is masked, as none of a server's is, or has a bit that
 * no extension has been agreed for. */
int websocket_read(struct websocket_reader *w, const char *p, size_t n, struct websocket_piece *ret) _must_check_;
