/* HTTP/2: any bytes behind the client's preface. What comes out as a request can be written as HTTP/1.1, and is read as
 * the same; every stream that was begun is closed, once; nothing is kept. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "svc/h2.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static struct {
        size_t begun, closed;
        uint64_t content;
} seen;

static bool any(struct http_text t, const char *chars, size_t n) {
        for (size_t i = 0; i < t.n; i++)
                if (memchr(chars, t.p[i], n))
                        return true;
        return false;
}

static void as_http1(const struct http_head *h) {
        static char buf[HTTP_HEAD_MAX];
        struct http1_out o = {
                .method = http_span_text(h, h->method),
                .target = http_span_text(h, h->target),
                .host = http_span_text(h, h->host),
                .expect_continue = h->expect_continue,
                .framing = h->framing == HTTP_NO_BODY ? HTTP_NO_BODY : h->has_length ? HTTP_LENGTH : HTTP_CHUNKED,
                .length = h->length,
                .from = h,
        };
        enum http_refusal why = HTTP_OK;

        must(h->has_host && h->version == HTTP_2 && !h->response);
        for (size_t i = 0; i < h->n_fields; i++) {
                must(!any(http_field_name(h, &h->field[i]), "\r\n\0: ABCXYZ", 11));
                must(!any(http_field_value(h, &h->field[i]), "\r\n\0", 3));
        }
        if (h->method_id == HTTP_TRACE && o.framing == HTTP_CHUNKED)
                return;
        must(http1_write_request(&o, buf, sizeof(buf), &why) > 0);
}

static void respond(struct h2_stream *s, unsigned status) {
        static const char name[] = "X-Name", value[] = "v";
        struct http1_line more = {{name, 6}, {value, 1}};
        struct http1_out o = {
                .status = (uint16_t)status, .request_method = s->head->method_id, .more = &more, .n_more = 1};

        o.framing = o.request_method == HTTP_HEAD ? HTTP_NO_BODY : s->id % 4 == 1 ? HTTP_LENGTH : HTTP_CHUNKED;
        o.length = 3000;
        must(h2_respond(s, &o, NULL) == 0);
        must(h2_respond(s, &o, NULL) == -EINVAL);
}

static void on_request(struct h2_stream *s) {
        seen.begun++;
        as_http1(s->head);
        s->arg = calloc(1, sizeof(size_t));
        must(s->arg);
        if (s->head->target.n % 5 == 4)
                h2_reset(s);
        else if (s->request_done || s->head->target.n % 2)
                respond(s, 200);
}
static void on_content(struct h2_stream *s, const char *p, size_t n, bool end) {
        for (size_t i = 0; i < n; i++) /* all of it can be read */
                seen.content += (unsigned char)p[i];
        must(!end || n == 0);
        h2_taken(s, n);
        if (end && s->head->target.n % 2 == 0)
                respond(s, 403);
}
static ssize_t on_pull(struct h2_stream *s, char *buf, size_t n, bool *end) {
        size_t *sent = s->arg;
        size_t k = MIN(n, 3000 - *sent);

        memset(buf, 'x', k);
        *sent += k;
        *end = *sent == 3000;
        return (ssize_t)k;
}
static void on_refused(struct h2_stream *s, enum http_refusal why) {
        seen.begun++;
        must(why != HTTP_OK && http_refusal_status(why) >= 400);
        s->arg = calloc(1, sizeof(size_t));
        must(s->arg);
        if (s->id % 8 != 3)
                respond(s, http_refusal_status(why));
}
static void on_closed(struct h2_stream *s, bool cut) {
        seen.closed++;
        free(s->arg);
        s->arg = NULL;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        static const struct h2_owner owner = {on_request, on_content, on_pull, on_refused, on_closed};
        static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
        struct h2 *h = NULL;
        const char *out;
        uint64_t now = 1;

        memset(&seen, 0, sizeof(seen));
        must(h2_new(&h, &owner, NULL, true) == 0);
        must(h2_read(h, preface, sizeof(preface) - 1, now) == 0);
        for (size_t at = 0; at < size && !h2_over(h);) {
                size_t n = MIN(size - at, (size_t)(data[at] % 97) * (data[at] % 5 ? 1 : 40) + 1);
                char *piece = malloc(n);
                must(piece);
                memcpy(piece, data + at, n);
                if (h2_read(h, piece, n, now) < 0)
                        must(h2_why(h)[0]);
                free(piece);
                at += n;
                now += 1;
                for (unsigned i = 0; i < 100 && h2_output(h, &out) > 0; i++)
                        ;
                must(h2_streams(h) <= H2_STREAMS_MAX + 1);
        }
        h2_free(h);
        must(seen.begun == seen.closed);
        return 0;
}
