/* The handshake of a WebSocket: the example of RFC 6455 section 1.3, and what Python's hashlib and base64 say. */
#include "proto/websocket.h"
#include "tap.h"

TEST(values) {
        static const struct {
                const char *random, *key, *accept;
        } t[] = {
                {"\x74\x68\x65\x20\x73\x61\x6d\x70\x6c\x65\x20\x6e\x6f\x6e\x63\x65",
                 "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="},
                {"\x44\x20\x82\x3c\xfd\xe6\xf1\xc2\x6b\x30\xf9\x0e\xc7\xdd\x01\xe4",
                 "RCCCPP3m8cJrMPkOx90B5A==", "5GPxJaDMcQYIiwhZFr4BcznxFS4="},
                {"\x88\x75\x34\xa2\x0f\x0b\x0d\x04\xc3\x6e\xd8\x0e\x71\xe0\xfd\x77",
                 "iHU0og8LDQTDbtgOceD9dw==", "nAcWP33JG3yNj2ttIMwPrBgV8GQ="},
                {"\xb0\x76\x70\xeb\x94\x0b\xd5\x33\x5f\x97\x3d\xaa\xd8\x61\x9b\x91",
                 "sHZw65QL1TNflz2q2GGbkQ==", "KNGd69nHKZsxh74dfEiihMxNsU4="},
                {"\xff\xc9\x11\xf5\x7c\xce\xd4\x58\xbb\xbf\x2c\xe0\x37\x53\xc9\xbd",
                 "/8kR9XzO1Fi7vyzgN1PJvQ==", "OHFebRxisun0ktdVSs52onxr1Ns="},
                {"\xfa\x0f\xf0\x16\x9d\xc9\x57\x56\x74\x06\x66\x76\xcf\xb0\xb4\xeb",
                 "+g/wFp3JV1Z0BmZ2z7C06w==", "R2PTjOqZQ6JDtCG+SVMPSnSlvSY="},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                char key[WEBSOCKET_KEY_LENGTH + 1] = "", accept[WEBSOCKET_ACCEPT_LENGTH + 1] = "";
                websocket_key((const uint8_t *)t[i].random, key);
                check_streq(key, t[i].key);
                websocket_accept(key, accept);
                check_streq(accept, t[i].accept);
        }
        check_streq(t[0].accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(granted) {
        static const char s[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
        struct http_head request = {.method_id = HTTP_GET, .websocket = true}, head;
        struct http1_reader r;

        http1_response_begin(&r, &request);
        check(http1_read_head(&r, &head, s, strlen(s)) == (int)strlen(s));
        check(websocket_granted(&head, "dGhlIHNhbXBsZSBub25jZQ=="));
        check(!websocket_granted(&head, "dGhlIHNhbXBsZSBub25jZR=="));
        head.websocket = false;
        check(!websocket_granted(&head, "dGhlIHNhbXBsZSBub25jZQ=="));
}

TAP_MAIN
