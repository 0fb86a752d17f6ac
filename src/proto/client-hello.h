/* The first message of a TLS client (ClientHello; RFC 8446 section 4.1.2, RFC 5246 section 7.4.1.2), read strictly from the
 * first bytes of a stream without consuming them: which name it asks for, which protocols it offers, whether it hides a
 * second ClientHello (ECH). The gate decides on that before it ends TLS or passes it on. Pure, allocates nothing, reads
 * hostile bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define CLIENT_HELLO_MAX 16384u      /* bytes of the message; with post-quantum keys and ECH they have about 2,000 */
#define CLIENT_HELLO_RECORDS_MAX 32u /* records that it may be spread over */
/* Bytes of the stream after which the reader has decided, one way or the other. */
#define CLIENT_HELLO_STREAM_MAX (CLIENT_HELLO_MAX + 5u * CLIENT_HELLO_RECORDS_MAX)
#define CLIENT_HELLO_EXTENSIONS_MAX 64u
#define CLIENT_HELLO_SNI_MAX 254u  /* 253 and a final dot, which RFC 6066 forbids and clients send */
#define CLIENT_HELLO_ALPN_MAX 255u /* bytes of the list */

enum client_hello_state {
        CLIENT_HELLO_MORE,      /* so far it is well; more bytes are needed */
        CLIENT_HELLO_DONE,      /* read */
        CLIENT_HELLO_NOT_TLS,   /* something else: plain HTTP, ssh, SSLv2 */
        CLIENT_HELLO_MALFORMED, /* TLS, but no ClientHello as the RFCs have it, or beyond a limit above: `why` */
};

struct client_hello {
        size_t stream_bytes; /* of the stream that it takes up; what is behind it is early data */
        /* The name asked for, as it came, NUL-terminated: letters, digits, '-', '_' and '.'; n_sni 0: none. */
        char sni[CLIENT_HELLO_SNI_MAX + 1];
        size_t n_sni;
        /* The protocols in the order of preference, each behind a byte with its length, as OpenSSL takes them. */
        uint8_t alpn[CLIENT_HELLO_ALPN_MAX];
        size_t n_alpn;
        bool ech; /* encrypted_client_hello, or its forerunner: the name that is meant may be another; browsers send it
                     without meaning (RFC 9849 section 6.2) */
        bool early_data;
        uint8_t versions; /* bit n: 0x0300 + n is offered, so bit 3 is TLS 1.2 and bit 4 TLS 1.3 */
};

/* What the reader knows between two calls; zeroed at first. */
struct client_hello_reader {
        enum client_hello_state state;
        const char *why;  /* where MALFORMED: a static text */
        size_t at;        /* offset of the record that is not whole yet */
        size_t collected; /* bytes of the message in the records before it */
        unsigned records; /* of them */
};

/* p is the stream from its first byte, n all that has come so far: each call gives at least the bytes of the one before. An
 * answer other than MORE is final. Time is linear in all bytes, however they come. *ret is filled when DONE. */
enum client_hello_state client_hello_read(struct client_hello_reader *r, const uint8_t *p, size_t n,
                                          struct client_hello *ret) _must_check_;

/* True when the list offers that protocol ("h2", "http/1.1"). */
bool client_hello_offers(const struct client_hello *h, const char *protocol);
