/* A stream of HTTP/1 messages, read by our reader. The first byte of an input says what it is: 'Q' requests; responses
 * to one request each: 'R' GET, 'H' HEAD, 'C' CONNECT, 'W' a GET that asks for a WebSocket. */
#pragma once

#include "http1-oracle.h"
#include "proto/http1.h"

static inline void stream_head(struct strbuf *b, const struct http_head *h) {
        if (h->response) {
                strbuf_printf(b, "%u", h->status);
        } else {
                stream_text(b, h->base + h->method.at, h->method.n, false);
                strbuf_puts(b, " ");
                stream_text(b, h->base + h->target.at, h->target.n, false);
        }
        strbuf_printf(b, " 1.%d\n", h->version == HTTP_1_1);
        for (size_t i = 0; i < h->n_fields; i++) {
                const struct http_field *f = &h->field[i];
                stream_field(b, h->base + f->name, f->name_n, h->base + f->value, f->value_n);
        }
}

static inline bool stream_mode(char mode, struct http_head *request) {
        http_head_clear(request);
        request->method_id = mode == 'H' ? HTTP_HEAD : mode == 'C' ? HTTP_CONNECT : HTTP_GET;
        request->websocket = mode == 'W';
        return mode == 'Q' || mode == 'R' || mode == 'H' || mode == 'C' || mode == 'W';
}

/* The next piece: all that is there, or a length drawn from *seed. */
static inline size_t stream_piece(unsigned *seed, size_t left) {
        if (*seed == 0)
                return left;
        *seed = *seed * 1103515245u + 12345u;
        size_t k = (*seed >> 16) % ((*seed >> 8) % 7 == 0 ? 200 : 9) + 1;
        return MIN(k, left);
}

/* seed 0: in one piece. Every piece stands in memory of just its size, so that a look behind it is noticed. each:
 * called with every head that is accepted. */
static inline void stream_read(struct stream *s, char mode, const char *data, size_t n, unsigned seed,
                               void (*each)(const struct http_head *head, const struct http_head *request)) {
        struct http_head request, head;
        struct http1_reader r;
        size_t at = 0;

        must(stream_mode(mode, &request));
        if (mode == 'Q')
                http1_request_begin(&r);
        else
                http1_response_begin(&r, &request);
        while (at < n && s->n < STREAM_MESSAGES) {
                struct stream_message *m = &s->m[s->n];
                size_t have = 0;
                int k = 0;
                char *copy = NULL;
                while (k == 0 && at + have < n) {
                        have += stream_piece(&seed, n - at - have);
                        free(copy);
                        copy = malloc(have);
                        must(copy);
                        memcpy(copy, data + at, have);
                        k = http1_read_head(&r, &head, copy, have);
                }
                if (k == 0) {
                        free(copy);
                        return;
                }
                s->n++;
                if (k < 0) {
                        must(r.refused && http_refusal_status(r.refused) >= 400);
                        s->error = http_refusal_name(r.refused);
                        free(copy);
                        return;
                }
                must((size_t)k <= have && k <= (int)HTTP_HEAD_MAX);
                must(http1_read_head(&r, &head, copy, have) == -EINVAL);
                m->has_head = true;
                stream_head(&m->head, &head);
                if (each)
                        each(&head, &request);
                m->keep_alive = head.keep_alive;
                s->other_method |= !head.response && head.method_id == HTTP_OTHER_METHOD;
                at += (size_t)k;
                struct http1_body b;
                http1_body_begin(&b, &head);
                int done = 0;
                for (;;) {
                        size_t piece = stream_piece(&seed, n - at), used;
                        struct http_text slice;
                        char *part = malloc(piece ? piece : 1);
                        must(part);
                        memcpy(part, data + at, piece);
                        done = http1_body_read(&b, part, piece, &slice, &used);
                        must(done < 0 || used <= piece);
                        must(done != 0 || piece == 0 || used > 0);
                        must(slice.p >= part && slice.p + slice.n <= part + piece);
                        if (done >= 0)
                                strbuf_add(&m->body, slice.p, slice.n);
                        free(part);
                        if (done < 0)
                                break;
                        at += used;
                        if (done || at == n)
                                break;
                }
                free(copy);
                if (done == 0 && b.framing == HTTP_CLOSE)
                        done = http1_body_eof(&b) == 0;
                if (done < 0) {
                        s->error = http_refusal_name(b.refused);
                        return;
                }
                if (done == 0) {
                        must(http1_body_eof(&b) == -EBADMSG && b.refused == HTTP_TRUNCATED);
                        return;
                }
                m->complete = true;
                m->end = at;
                if (head.framing == HTTP_TUNNEL || (head.websocket && !head.response)) {
                        s->switched = true;
                        return;
                }
                if (!head.keep_alive && (!head.response || head.status >= 200))
                        return;
                if (mode == 'Q')
                        http1_request_begin(&r);
                else if (head.status < 200)
                        http1_response_next(&r);
                else
                        http1_response_begin(&r, &request);
        }
}
