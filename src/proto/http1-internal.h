/* What the parts of http1 share: classes of bytes, comparing names. */
#pragma once

#include <string.h>

#include "proto/http1.h"

enum {
        HTTP_C_TOKEN = 1,   /* RFC 9110 section 5.6.2 */
        HTTP_C_VALUE = 2,   /* HTAB, SP, VCHAR, obs-text: RFC 9110 section 5.5 */
        HTTP_C_TARGET = 4,  /* visible ASCII without "#", which begins a fragment and is never sent */
        HTTP_C_METHOD = 8,  /* A-Z 0-9 - _ */
        HTTP_C_HOST = 16,   /* A-Z a-z 0-9 - . _ */
        HTTP_C_ADDRESS = 32, /* hexadecimal digits, ":" and "." */
        HTTP_C_DIGIT = 64,
        HTTP_C_BASE64 = 128,
};
extern const uint8_t http_class[256];

static inline bool http_is(char c, unsigned classes) { return http_class[(unsigned char)c] & classes; }
/* True when all n bytes are of the class. */
static inline bool http_all(const char *p, size_t n, unsigned class) {
        for (size_t i = 0; i < n; i++)
                if (!http_is(p[i], class))
                        return false;
        return true;
}

/* How many bytes from p on are of HTTP_C_VALUE. Most of a head is values: eight bytes at a time, by the byte where one
 * of them is a control character (or a tab). */
static inline size_t http_value_span(const char *p, size_t n) {
        const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
        size_t i = 0;

        for (;;) {
                for (uint64_t x; n - i >= sizeof(x); i += sizeof(x)) {
                        memcpy(&x, p + i, sizeof(x));
                        uint64_t del = x ^ ones * 0x7f;
                        /* Some byte < 0x20, some byte == 0x7f; never misses one, and says "some" too often at most. */
                        if (((x - ones * 0x20) & ~x & tops) || ((del - ones) & ~del & tops))
                                break;
                }
                size_t stop = MIN(i + sizeof(uint64_t), n);
                while (i < stop && http_is(p[i], HTTP_C_VALUE))
                        i++;
                if (i < stop || i == n)
                        return i;
        }
}

/* Compares tokens without regard to case; of the bytes of tokens, only letters differ in this one bit and are both
 * written in names here. */
static inline bool http_same(const char *p, const char *name, size_t n) {
        size_t i = 0;

        for (uint64_t a, b; n - i >= sizeof(a); i += sizeof(a)) {
                memcpy(&a, p + i, sizeof(a));
                memcpy(&b, name + i, sizeof(b));
                if ((a ^ b) & ~0x2020202020202020u)
                        return false;
        }
        for (; i < n; i++)
                if ((p[i] | 0x20) != (name[i] | 0x20))
                        return false;
        return true;
}
/* The same for a whole text; any bytes: what is no token never equals one. */
bool http_text_is(struct http_text t, const char *word);

enum http_field_id http_field_of(const char *name, size_t n);
/* As it is written: "Content-Length"; NULL for HTTP_F_OTHER. */
const char *http_field_spelling(enum http_field_id id);
const char *http_reason_phrase(unsigned status);
enum http_method http_method_of(const char *p, size_t n);

/* Takes a field whose bytes have been looked at. */
enum http_refusal http_head_take(struct http_head *h, struct http_span name, struct http_span value);
/* A name that is none of the known ones, but is taken for one by some. */
bool http_lookalike(const char *p, size_t n);
/* Why that name, or that value (trimmed), is none. */
enum http_refusal http_name_check(const char *p, size_t n);
enum http_refusal http_value_check(const char *p, size_t n);
/* "host[:port]"; port: it must be there. */
enum http_refusal http_host_check(const char *p, size_t n, bool port);

/* What the fields mean together, once all are there. */
enum http_refusal http1_finish_request(struct http_head *h);
enum http_refusal http1_finish_response(struct http1_reader *r, struct http_head *h);
