/* ClientHellos: the answer is the same however the bytes come, is final before CLIENT_HELLO_STREAM_MAX bytes, never looks
 * behind what it was given, and what it read keeps its limits. The last byte says in what steps it comes. */
#include <stdlib.h>
#include <string.h>

#include "proto/client-hello.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static enum client_hello_state feed(const unsigned char *p, size_t n, size_t step, struct client_hello *h) {
        struct client_hello_reader r = {};

        for (size_t have = MIN(step, n);; have = MIN(have + step, n)) {
                /* A block of just that size, for the sanitizer. */
                unsigned char *copy = malloc(have ? have : 1);
                must(copy);
                memcpy(copy, p, have);
                enum client_hello_state s = client_hello_read(&r, copy, have, h);
                must(s == r.state && (s == CLIENT_HELLO_MALFORMED) == (r.why != NULL));
                must(s != CLIENT_HELLO_MORE || have < CLIENT_HELLO_STREAM_MAX);
                free(copy);
                if (s != CLIENT_HELLO_MORE || have == n)
                        return s;
        }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        struct client_hello a = {}, b = {};

        if (size < 1 || size > 2 * CLIENT_HELLO_STREAM_MAX)
                return 0;
        size_t step = size > 2000 ? size / 16 : data[size - 1] % 64 + 1u;
        enum client_hello_state s = feed(data, size, size, &a);
        must(feed(data, size, step, &b) == s);
        if (s != CLIENT_HELLO_DONE)
                return 0;
        must(a.stream_bytes == b.stream_bytes && strcmp(a.sni, b.sni) == 0 && a.n_alpn == b.n_alpn && memcmp(a.alpn, b.alpn, a.n_alpn) == 0);
        must(a.ech == b.ech && a.early_data == b.early_data && a.versions == b.versions);
        must(a.stream_bytes <= size && a.stream_bytes <= CLIENT_HELLO_STREAM_MAX);
        must(a.n_sni <= CLIENT_HELLO_SNI_MAX && strlen(a.sni) == a.n_sni && a.n_alpn <= CLIENT_HELLO_ALPN_MAX);
        must(!client_hello_offers(&a, ""));
        client_hello_offers(&a, "h2");
        /* It is complete by itself, and not a byte sooner. */
        must(feed(data, a.stream_bytes, a.stream_bytes, &b) == CLIENT_HELLO_DONE);
        must(feed(data, a.stream_bytes - 1, a.stream_bytes, &b) == CLIENT_HELLO_MORE);
        return 0;
}
