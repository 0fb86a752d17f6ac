/* Reads the body of a message, by its length, in chunks (RFC 9112 section 7.1) or to the end of the connection. It
 * knows the last byte exactly: what is behind it is never looked at. */
#include "proto/http1-internal.h"

enum state {
        DONE,
        CONTENT,        /* left bytes of content */
        TO_THE_END,
        SIZE,           /* hexadecimal digits */
        SIZE_LF,
        DATA,           /* left bytes of a chunk */
        DATA_CR,
        DATA_LF,
        TRAILER_START,  /* of a line */
        TRAILER_NAME,
        TRAILER_VALUE,
        TRAILER_LF,
        LAST_LF,
};

void http1_body_begin(struct http1_body *b, const struct http_head *h) {
        *b = (struct http1_body){.framing = h->framing, .max = UINT64_MAX};
        switch (h->framing) {
        case HTTP_LENGTH:
                b->left = h->length;
                b->state = h->length > 0 ? CONTENT : DONE;
                break;
        case HTTP_CHUNKED:
                b->state = SIZE;
                break;
        case HTTP_CLOSE:
                b->state = TO_THE_END;
                break;
        case HTTP_NO_BODY:
        case HTTP_TUNNEL:
        case HTTP_STREAM:
                b->state = DONE;
                break;
        }
}

static enum http_refusal size_digit(struct http1_body *b, char c) {
        unsigned digit;

        if (c >= '0' && c <= '9')
                digit = (unsigned)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
                digit = (unsigned)((c | 0x20) - 'a' + 10);
        else if (b->digits == 0)
                return HTTP_BAD_CHUNK_SIZE;
        else if (c == '\r') {
                b->state = SIZE_LF;
                return HTTP_OK;
        } else
                return c == ';' || c == ' ' || c == '\t' ? HTTP_CHUNK_EXTENSION : HTTP_BAD_CHUNK_SIZE;
        if (++b->digits > 16)
                return HTTP_BAD_CHUNK_SIZE;
        b->left = b->left << 4 | digit;
        return b->left > HTTP_LENGTH_MAX ? HTTP_CHUNK_LARGE : HTTP_OK;
}

/* A field behind the body may be anything but what frames or routes (RFC 9110 section 6.5.1). */
static enum http_refusal trailer_name_end(struct http1_body *b) {
        size_t n = MIN((size_t)b->name_n, sizeof(b->name));

        if (n == 0)
                return HTTP_BAD_TRAILER;
        enum http_field_id id = b->name_n == n ? http_field_of(b->name, n) : HTTP_F_OTHER;
        if (id == HTTP_F_OTHER)
                return http_lookalike(b->name, n) ? HTTP_BAD_TRAILER : HTTP_OK;
        return id <= HTTP_F_LAST_HOP ? HTTP_BAD_TRAILER : HTTP_OK;
}

static enum http_refusal trailer_byte(struct http1_body *b, char c) {
        if (++b->trailer_bytes > HTTP_TRAILER_MAX)
                return HTTP_TRAILER_LONG;
        switch (b->state) {
        case TRAILER_START:
                if (c == '\r') {
                        b->state = LAST_LF;
                        return HTTP_OK;
                }
                if (++b->trailers > HTTP_TRAILERS_MAX)
                        return HTTP_TRAILER_LONG;
                b->name_n = 0;
                b->state = TRAILER_NAME;
                __attribute__((fallthrough));
        case TRAILER_NAME:
                if (c == ':') {
                        b->state = TRAILER_VALUE;
                        return trailer_name_end(b);
                }
                if (!http_is(c, HTTP_C_TOKEN))
                        return HTTP_BAD_TRAILER;
                if (b->name_n < sizeof(b->name))
                        b->name[b->name_n] = c;
                if (b->name_n <= sizeof(b->name)) /* one more means: longer than any that matters */
                        b->name_n++;
                return HTTP_OK;
        case TRAILER_VALUE:
                if (c == '\r')
                        b->state = TRAILER_LF;
                else if (!http_is(c, HTTP_C_VALUE))
                        return HTTP_BAD_TRAILER;
                return HTTP_OK;
        case TRAILER_LF:
                b->state = TRAILER_START;
                return c == '\n' ? HTTP_OK : HTTP_BARE_CR;
        default: /* LAST_LF */
                b->state = DONE;
                return c == '\n' ? HTTP_OK : HTTP_BARE_CR;
        }
}

/* One byte of what stands around the content. */
static enum http_refusal framing_byte(struct http1_body *b, char c) {
        switch (b->state) {
        case SIZE:
                return size_digit(b, c);
        case SIZE_LF:
                b->state = b->left > 0 ? DATA : TRAILER_START;
                return c == '\n' ? HTTP_OK : HTTP_BARE_CR;
        case DATA_CR:
                b->state = DATA_LF;
                return c == '\r' ? HTTP_OK : HTTP_BAD_CHUNK_END;
        case DATA_LF:
                b->state = SIZE;
                b->digits = 0;
                return c == '\n' ? HTTP_OK : HTTP_BAD_CHUNK_END;
        default:
                return trailer_byte(b, c);
        }
}

static int refuse(struct http1_body *b, enum http_refusal why) {
        b->refused = why;
        return -EBADMSG;
}

/* What is behind the maximum is refused as soon as it is announced. */
static bool too_large(const struct http1_body *b) {
        return b->total > b->max || (b->state != TO_THE_END && b->left > b->max - b->total);
}

int http1_body_read(struct http1_body *b, const char *buf, size_t n, struct http_text *slice, size_t *used) {
        size_t i = 0;

        *slice = (struct http_text){buf, 0};
        *used = 0;
        if (b->refused)
                return -EBADMSG;
        for (;;) {
                switch (b->state) {
                case DONE:
                        *used = i;
                        return 1;
                case CONTENT:
                case DATA:
                case TO_THE_END: {
                        if (too_large(b))
                                return refuse(b, HTTP_BODY_LARGE);
                        size_t k = b->state == TO_THE_END ? n - i : (size_t)MIN((uint64_t)(n - i), b->left);
                        *slice = (struct http_text){buf + i, k};
                        *used = i + k;
                        b->total += k;
                        if (b->state == TO_THE_END)
                                return b->total > b->max ? refuse(b, HTTP_BODY_LARGE) : 0;
                        b->left -= k;
                        if (b->left > 0)
                                return 0;
                        if (b->state == CONTENT) {
                                b->state = DONE;
                                return 1;
                        }
                        b->state = DATA_CR;
                        return 0; /* one slice a call */
                }
                default:
                        if (i == n) {
                                *used = i;
                                return 0;
                        }
                        enum http_refusal why = framing_byte(b, buf[i++]);
                        if (why)
                                return refuse(b, why);
                }
        }
}

int http1_body_eof(struct http1_body *b) {
        if (b->refused)
                return -EBADMSG;
        if (b->state == DONE || b->state == TO_THE_END) {
                b->state = DONE;
                return 0;
        }
        return refuse(b, HTTP_TRUNCATED);
}
