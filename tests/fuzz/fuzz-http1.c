/* HTTP/1: in whatever pieces the bytes come, they are read the same; what was accepted can be written anew, and is then
 * read as the same message again. */
#include <stdio.h>

#include "http1-stream.h"
#include "proto/websocket.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static bool end_to_end(const struct http_head *h, const struct http_field *f) {
        switch (f->id) {
        case HTTP_F_SEC_WEBSOCKET_KEY:
        case HTTP_F_SEC_WEBSOCKET_VERSION:
        case HTTP_F_SEC_WEBSOCKET_ACCEPT:
        case HTTP_F_SEC_WEBSOCKET_PROTOCOL:
        case HTTP_F_SEC_WEBSOCKET_EXTENSIONS:
                return h->websocket || (f->id == HTTP_F_SEC_WEBSOCKET_VERSION && h->status == 426);
        default:
                return !f->hop;
        }
}

static void all_fields(struct strbuf *b, const struct http_head *h) {
        for (size_t i = 0; i < h->n_fields; i++) {
                const struct http_field *f = &h->field[i];
                if (end_to_end(h, f))
                        stream_field(b, h->base + f->name, f->name_n, h->base + f->value, f->value_n);
        }
}

/* What the reader takes for a handshake can be answered, and only its own answer is one. */
static void handshake(const struct http_head *h) {
        const struct http_field *f = http_find(h, HTTP_F_SEC_WEBSOCKET_KEY);
        char accept[WEBSOCKET_ACCEPT_LENGTH];

        if (h->response) {
                must(!websocket_granted(h, "AAAAAAAAAAAAAAAAAAAAAA==") ||
                        !websocket_granted(h, "BAAAAAAAAAAAAAAAAAAAAA=="));
                return;
        }
        must(f && f->value_n == WEBSOCKET_KEY_LENGTH);
        websocket_accept(http_field_value(h, f).p, accept);
        must(accept[WEBSOCKET_ACCEPT_LENGTH - 1] == '=');
}

static void rewrite(const struct http_head *h, const struct http_head *request) {
        struct http1_out o = {
                .method = http_span_text(h, h->method),
                .target = http_span_text(h, h->target),
                .host = h->has_host ? http_span_text(h, h->host) : (struct http_text){"a.test", 6},
                .expect_continue = h->expect_continue,
                .status = h->status,
                .request_method = request->method_id,
                .framing = h->framing,
                .length = h->length,
                .say_length = h->has_length && h->framing == HTTP_NO_BODY,
                .websocket = h->websocket,
                .close = !h->keep_alive && !h->websocket,
                .from = h,
        };
        struct http_head again, *second = malloc(sizeof(*second));
        struct http1_reader r;
        enum http_refusal why = HTTP_OK;
        size_t size = h->head_bytes + 200 + h->n_fields;
        char *buf = malloc(size), *twice = malloc(size);

        must(buf && twice && second);
        if (h->websocket)
                handshake(h);
        int n = h->response ? http1_write_response(&o, buf, size, &why) : http1_write_request(&o, buf, size, &why);
        if (n < 0) { /* just what may have become longer than what came */
                must(why == HTTP_HEAD_LONG || why == HTTP_LINE_LONG || why == HTTP_FIELDS_MANY || n == -ENOBUFS);
                must(h->head_bytes > HTTP_HEAD_MAX - 400 || h->n_fields > HTTP_FIELDS_MAX - 3 ||
                        h->head_bytes > HTTP_LINE_MAX);
                goto out;
        }
        if (h->response)
                http1_response_begin(&r, request);
        else
                http1_request_begin(&r);
        must(http1_read_head(&r, &again, buf, (size_t)n) == n);
        must(again.framing == h->framing && again.status == h->status && again.websocket == h->websocket);
        must(again.framing != HTTP_LENGTH || again.length == h->length);
        must(again.expect_continue == h->expect_continue);
        must(again.keep_alive == h->keep_alive);
        must(!http_find(&again, HTTP_F_KEEP_ALIVE) && !http_find(&again, HTTP_F_TE) &&
                !http_find(&again, HTTP_F_TRAILER) && !http_find(&again, HTTP_F_PROXY_CONNECTION) &&
                !http_find(&again, HTTP_F_PROXY_AUTHORIZATION));
        struct strbuf a = {}, b = {};
        all_fields(&a, h);
        all_fields(&b, &again);
        must(stream_same_buf(&a, &b));
        strbuf_clear(&a);
        strbuf_clear(&b);
        /* Written once more it is the same, byte for byte. */
        *second = again;
        o.from = second;
        int k = h->response ? http1_write_response(&o, twice, size, &why) : http1_write_request(&o, twice, size, &why);
        must(k == n && memcmp(buf, twice, (size_t)n) == 0);
        /* One byte less does not fit. */
        k = h->response ? http1_write_response(&o, twice, (size_t)n - 1, &why) :
                          http1_write_request(&o, twice, (size_t)n - 1, &why);
        must(k == -ENOBUFS);
out:
        free(buf);
        free(twice);
        free(second);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        struct http_head request;

        if (size < 1 || !stream_mode((char)data[0], &request))
                return 0;
        struct stream whole = {};
        stream_read(&whole, (char)data[0], (const char *)data + 1, size - 1, 0, rewrite);
        for (unsigned seed = 1; seed < 4; seed++) {
                struct stream pieces = {};
                stream_read(
                        &pieces, (char)data[0], (const char *)data + 1, size - 1, seed * 7919u + (unsigned)size, NULL);
                must(pieces.n == whole.n && pieces.error == whole.error && pieces.switched == whole.switched);
                for (size_t i = 0; i < whole.n; i++) {
                        struct stream_message *a = &whole.m[i], *b = &pieces.m[i];
                        must(stream_same_buf(&a->head, &b->head));
                        must(a->complete == b->complete && a->end == b->end && a->keep_alive == b->keep_alive);
                        must(stream_same_buf(&a->body, &b->body));
                }
                stream_clear(&pieces);
        }
        stream_clear(&whole);
        return 0;
}
