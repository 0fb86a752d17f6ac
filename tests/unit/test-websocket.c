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

/* Frames of every form of length, in pieces of every size: heads and payloads are told apart, and each payload's end is seen. */
TEST(frames) {
        static const uint8_t heads[][10] = {{0x81, 5}, {0x01, 0}, {0x82, 126, 0, 200}, {0x80, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70}, {0x89, 0}, {0x88, 2}};
        static const size_t head_n[] = {2, 2, 4, 10, 2, 2}, payload_n[] = {5, 0, 200, 70000, 0, 2};
        static char all[80000];
        size_t n = 0, payload = 0, ends = 0;

        for (size_t i = 0; i < ELEMENTSOF(heads); i++) {
                memcpy(all + n, heads[i], head_n[i]);
                memset(all + n + head_n[i], (int)('a' + i), payload_n[i]);
                n += head_n[i] + payload_n[i];
                payload += payload_n[i];
                ends += payload_n[i] > 0;
        }
        for (size_t step = 1; step < n; step = step * 3 + 1) {
                struct websocket_reader w = {};
                size_t seen = 0, last = 0;
                for (size_t at = 0; at < n; at += step)
                        for (size_t from = at, to = at + step < n ? at + step : n; from < to;) {
                                struct websocket_piece p;
                                check(websocket_read(&w, all + from, to - from, &p) == 0 && p.n > 0 && p.n <= to - from);
                                check(!p.last || p.is_payload);
                                for (size_t i = 0; p.is_payload && i < p.n; i++)
                                        check(all[from + i] >= 'a' && all[from + i] <= 'f');
                                seen += p.is_payload ? p.n : 0;
                                last += p.last;
                                from += p.n;
                        }
                check(seen == payload && last == ends);
        }
        static const char *const bad[] = {"\xc1\x01", "\xa1\x01", "\x91\x01", "\x81\x85"};
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                struct websocket_reader w = {};
                struct websocket_piece p;
                check(websocket_read(&w, bad[i], 2, &p) == -EBADMSG);
        }
}

TAP_MAIN
