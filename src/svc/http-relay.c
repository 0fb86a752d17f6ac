/* The relay of http-relay.h. One function does all that can be done and then waits: no state is kept in who called. */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "svc/http-relay.h"

#define ROUNDS_MAX 64      /* before others have their turn */
#define CHUNK_SPACE 64u    /* head and tail of a chunk, and the last chunk */
#define FLUSH_BYTES 16384u  /* so much is not kept back for what may go along with it */

static size_t gathered_bytes; /* of all relays */

static void gather_drop(struct http_relay *r) {
        gathered_bytes -= r->gather.cap;
        free(r->gather.head);
        free(r->gather.data);
        r->gather = (struct http_gather){};
}

static void close_upstream(struct http_relay *r) {
        stream_close_gently(&r->upstream.s, r->loop);
        http_empty(&r->upstream.in);
        http_empty(&r->upstream.out);
        r->upstream.eof = r->upstream.ready = r->upstream.drained = r->upstream.used = false;
}

/* As close_upstream, where it may be of use to somebody else. */
static void part_upstream(struct http_relay *r) {
        const struct http_end *u = &r->upstream;

        if (r->owner->idle && http_end_usable(u) && !u->eof && http_filled(&u->in) == 0 && http_filled(&u->out) == 0)
                r->owner->idle(r);
        close_upstream(r);
}

void http_relay_part(struct http_relay *r) { part_upstream(r); }

/* --- the end --- */

void http_relay_cut(struct http_relay *r) {
        if (r->state == HTTP_RELAY_ENDED)
                return;
        bool busy = r->state == HTTP_RELAY_ACTIVE || r->state == HTTP_RELAY_TUNNEL;
        r->state = HTTP_RELAY_ENDED;
        if (busy)
                r->owner->done(r, true);
        stream_reset(&r->client.s, r->loop);
        if (busy)
                stream_reset(&r->upstream.s, r->loop);
        else
                part_upstream(r);
        gather_drop(r);
        http_empty(&r->again);
        http_empty(&r->client.in);
        http_empty(&r->client.out);
        http_empty(&r->upstream.in);
        http_empty(&r->upstream.out);
        if (!r->running)
                r->owner->ended(r);
}

static void end_gently(struct http_relay *r) {
        stream_close(&r->client.s, r->loop);
        http_relay_cut(r);
}

static void begin_closing(struct http_relay *r) {
        close_upstream(r);
        gather_drop(r);
        http_empty(&r->again);
        r->state = HTTP_RELAY_CLOSING;
        r->deadline = r->loop->now + HTTP_RELAY_LINGER_MS;
}

void http_relay_answer(struct http_relay *r, unsigned status, const char *type, const char *body, size_t n) {
        const struct http1_line line = {{"content-type", 12}, {type, strlen(type)}};
        struct http1_out out = {.status = (uint16_t)status, .request_method = r->request.method_id, .framing = HTTP_LENGTH, .length = n,
                                .close = true, .more = &line, .n_more = 1};
        char head[1024];

        if (r->state == HTTP_RELAY_CLOSING || r->state == HTTP_RELAY_ENDED)
                return;
        if (r->request.method_id == HTTP_HEAD) {
                out.framing = HTTP_NO_BODY;
                out.say_length = true;
        }
        int k = http1_write_response(&out, head, sizeof(head), NULL);
        begin_closing(r);
        if (k < 0 || http_room(&r->client.out) < (size_t)k + n || !http_append(&r->client.out, head, (size_t)k) ||
            (out.framing == HTTP_LENGTH && !http_append(&r->client.out, body, n)))
                http_relay_cut(r);
}

void http_relay_take_back(struct http_relay *r, unsigned status, const char *type, const char *body, size_t n) {
        if (r->state != HTTP_RELAY_ACTIVE || r->response_begun) {
                http_relay_cut(r);
                return;
        }
        stream_reset(&r->upstream.s, r->loop);
        http_relay_answer(r, status, type, body, n);
        if (r->state != HTTP_RELAY_CLOSING)
                return;
        r->owner->done(r, true);
        http_relay_run(r);
}

static void refuse(struct http_relay *r, enum http_refusal why) {
        bool busy = r->state == HTTP_RELAY_ACTIVE;

        if (!r->response_begun || !busy)
                r->owner->refused(r, why);
        if (r->state != HTTP_RELAY_CLOSING)
                http_relay_cut(r);
        else if (busy)
                r->owner->done(r, true);
}

static void fail(struct http_relay *r, const char *text) {
        bool busy = r->state == HTTP_RELAY_ACTIVE;

        if (busy && !r->response_begun)
                r->owner->failed(r, text);
        if (r->state != HTTP_RELAY_CLOSING)
                http_relay_cut(r);
        else
                r->owner->done(r, true);
}

/* --- bodies --- */

static bool has_no_body(const struct http_head *h) { return h->framing == HTTP_NO_BODY || (h->framing == HTTP_LENGTH && h->length == 0); }

/* Bytes that are a body's as they come, where they are written as they are: from one socket into the buffer of the other. */
static bool passes_whole(const struct http1_body *b, enum http_framing framing) {
        return framing != HTTP_CHUNKED && ((b->framing == HTTP_LENGTH && b->left > 0) || b->framing == HTTP_CLOSE);
}

static int pass_body(struct http_relay *r, bool up, struct http1_body *b, bool *ret_done, enum http_refusal *ret_refused) {
        struct http_end *from = up ? &r->client : &r->upstream, *to = up ? &r->upstream : &r->client;
        struct http_buffer *out = &to->out;
        struct http_text slice;
        size_t used;

        if (!http_make_room(out))
                return out->data ? 0 : -ENOMEM;
        size_t n = out->n;
        int k = http_end_fill_some(from, out, b->framing == HTTP_LENGTH ? b->left : UINT64_MAX);
        if (k <= 0)
                return k;
        if (from->eof) {
                k = http1_body_eof(b);
                *ret_done = k == 0;
                *ret_refused = b->refused;
                return k < 0 ? k : 1;
        }
        size_t came = out->n - n;
        k = http1_body_read(b, out->data + n, came, &slice, &used);
        *ret_refused = b->refused;
        if (k < 0) {
                out->n = n;
                return k;
        }
        *ret_done = k == 1;
        if (!up && r->owner->content)
                r->owner->content(r, slice.p, slice.n);
        return r->owner->moved(r, up, came) ? 1 : -ECANCELED;
}

/* What a rewriter made, until it is in a buffer. */
static char rewritten[HTTP_RELAY_BYTES + HTTP_REWRITE_HELD];

/* Some of a body, decoded, as it goes on. */
static int put_body(struct http_relay *r, bool up, struct http_text slice, bool last, enum http_framing framing, enum http_refusal *ret_refused) {
        struct http_buffer *out = up ? &r->upstream.out : &r->client.out;
        char head[HTTP1_CHUNK_HEAD_MAX];

        if (up ? r->rewrites_up : r->rewrites_down) {
                slice.n = r->owner->rewrite(r, up, slice.p, slice.n, last, rewritten);
                slice.p = rewritten;
                if (slice.n == SIZE_MAX) {
                        *ret_refused = HTTP_BODY_PLACEHOLDER;
                        return -EBADMSG;
                }
        }
        if (slice.n == 0)
                return 0;
        if (!up && r->owner->content)
                r->owner->content(r, slice.p, slice.n);
        size_t n = framing == HTTP_CHUNKED ? http1_chunk_head(head, slice.n) : 0;
        if (!http_append(out, head, n) || !http_append(out, slice.p, slice.n) || (n > 0 && !http_append(out, HTTP1_CHUNK_TAIL, 2)))
                return -ENOMEM;
        return 0;
}

/* Moves some of a body from one end to the other. 1: progress; 0: waits; < 0: an error of the reader, *ret_refused. */
static int move_body(struct http_relay *r, bool up, struct http1_body *b, enum http_framing framing, bool *ret_done,
                     enum http_refusal *ret_refused) {
        struct http_end *from = up ? &r->client : &r->upstream, *to = up ? &r->upstream : &r->client;
        struct http_text slice = {};
        size_t used = 0, space = http_room(&to->out);
        const size_t rewrites = up ? r->rewrites_up : r->rewrites_down;
        int rc, k = 0;

        *ret_refused = HTTP_OK;
        space -= MIN(space, rewrites);
        if (space < HTTP_ROOM_MIN)
                return 0;
        if (http_filled(&from->in) == 0) {
                if (!r->owner->may_read(r, up))
                        return 0;
                if (!rewrites && passes_whole(b, framing))
                        return pass_body(r, up, b, ret_done, ret_refused);
                k = http_end_fill(from);
                if (k < 0)
                        return k;
                if (http_filled(&from->in) == 0) {
                        if (!from->eof)
                                return 0;
                        rc = http1_body_eof(b);
                        *ret_refused = b->refused;
                        if (rc < 0)
                                return rc;
                        *ret_done = true;
                }
        }
        if (!*ret_done) {
                rc = http1_body_read(b, from->in.data + from->in.at, MIN(http_filled(&from->in), space - CHUNK_SPACE), &slice, &used);
                *ret_refused = b->refused;
                if (rc < 0)
                        return rc;
                *ret_done = rc == 1;
        }
        if (slice.n > 0 || (rewrites && *ret_done)) {
                rc = put_body(r, up, slice, *ret_done, framing, ret_refused);
                if (rc < 0)
                        return rc;
        }
        http_take(&from->in, used);
        if (slice.n > 0 && !r->owner->moved(r, up, slice.n))
                return -ECANCELED;
        if (*ret_done && framing == HTTP_CHUNKED && !http_append(&to->out, HTTP1_CHUNK_LAST, strlen(HTTP1_CHUNK_LAST)))
                return -ENOMEM;
        return used > 0 || *ret_done || k > 0;
}

/* --- requests --- */

/* The upstream has said something, or gone, while nobody has asked it anything. */
static void watch_idle_upstream(struct http_relay *r) {
        if (http_end_fill(&r->upstream) != 0)
                close_upstream(r);
}

/* A server may close a connection in the very moment in which it is used again; a client that had its own connection to it
 * would try once more. Only what changes nothing, and is there as a whole. */
static bool may_send_again(const struct http_relay *r) {
        return r->owner->again && r->upstream.used && r->request_done &&
               (r->request.method_id == HTTP_GET || r->request.method_id == HTTP_HEAD);
}

/* True: the upstream is gone without a word, and another is on its way. */
static bool send_again(struct http_relay *r) {
        if (http_filled(&r->again) == 0 || http_filled(&r->upstream.in) > 0)
                return false;
        close_upstream(r);
        r->upstream.out = r->again;
        r->again = (struct http_buffer){};
        r->starting = true;
        r->owner->again(r);
        r->starting = false;
        if (r->unconnected)
                fail(r, TAKE_PTR(r->unconnected));
        return true;
}

/* What the owner rewrites it may also refuse: a request whose body is short, and on its way, waits until it is whole, and of
 * one that is refused nothing was sent. One that says no length may be half of a conversation. */
static bool holds(const struct http_relay *r) {
        return r->state == HTTP_RELAY_ACTIVE && r->gather.n == 0 && r->rewrites_up > 0 && r->up == HTTP_LENGTH && r->request.length <= FLUSH_BYTES && !r->request_done &&
               !r->response_begun && http_room(&r->upstream.out) >= r->rewrites_up + HTTP_ROOM_MIN;
}

/* An upstream of an earlier request may be closed meanwhile; it has not heard of this one. */
static bool replace_upstream(struct http_relay *r) {
        if (!r->owner->again || !r->upstream.used || !http_end_usable(&r->upstream))
                return false;
        r->upstream.drained = false;
        if (http_end_fill(&r->upstream) == 0)
                return false;
        http_empty(&r->upstream.in);
        r->again = r->upstream.out;
        r->upstream.out = (struct http_buffer){};
        return send_again(r);
}

/* The head is decided on: it is written, and what follows is on its way. The bytes of it that are still in client.in are taken. */
static int send_request(struct http_relay *r, const struct http1_out *out, size_t head) {
        enum http_refusal why = HTTP_OK;

        if (!http_make_room(&r->upstream.out)) {
                http_relay_cut(r);
                return 1;
        }
        int k = http1_write_request(out, r->upstream.out.data + r->upstream.out.n, HTTP_RELAY_BYTES - r->upstream.out.n, &why);
        if (k < 0) {
                refuse(r, why ? why : HTTP_HEAD_LONG);
                return 1;
        }
        r->upstream.out.n += (size_t)k;
        if (may_send_again(r) && !http_append(&r->again, r->upstream.out.data + r->upstream.out.at, http_filled(&r->upstream.out))) {
                http_relay_cut(r);
                return 1;
        }
        r->state = HTTP_RELAY_ACTIVE;
        http1_response_begin(&r->response_reader, &r->request);
        http_take(&r->client.in, head);
        if (r->unconnected)
                fail(r, TAKE_PTR(r->unconnected));
        return 1;
}

static void begin_body(struct http_relay *r) {
        http1_body_begin(&r->request_body, &r->request);
        r->request_body.max = MIN(r->request_body.max, r->body_max);
        if (r->request.expect_continue && !r->request_done && !http_append(&r->client.out, "HTTP/1.1 100 Continue\r\n\r\n", 25))
                http_relay_cut(r);
}

/* --- bodies that are wanted whole --- */

static int begin_gathering(struct http_relay *r, size_t head) {
        if (!(r->gather.head = (char *)malloc(head))) {
                http_relay_cut(r);
                return 1;
        }
        memcpy(r->gather.head, r->client.in.data + r->client.in.at, head);
        r->request.base = r->gather.head;
        r->gather.on = true;
        r->body_max = MIN(r->body_max, r->gather_max ? r->gather_max : HTTP_GATHER_MAX);
        r->state = HTTP_RELAY_ACTIVE;
        http_take(&r->client.in, head);
        begin_body(r);
        return 1;
}

static bool gather_add(struct http_gather *g, const char *p, size_t n) {
        if (n > g->cap - g->n) {
                size_t more = MAX(g->cap, MAX((size_t)4096, n));
                char *data = more <= HTTP_GATHER_ALL - gathered_bytes ? (char *)realloc(g->data, g->cap + more) : NULL;
                if (!data)
                        return false;
                g->data = data;
                g->cap += more;
                gathered_bytes += more;
        }
        if (n > 0)
                memcpy(g->data + g->n, p, n);
        g->n += n;
        return true;
}

/* All of it is there. */
static int send_gathered(struct http_relay *r) {
        struct http1_out out = {.from = &r->request, .framing = HTTP_LENGTH, .length = r->gather.n, .method = http_span_text(&r->request, r->request.method)};

        r->gather.on = false;
        r->up = HTTP_LENGTH;
        r->request_done = r->gather.n == 0;
        watch_idle_upstream(r);
        r->starting = true;
        enum http_relay_verdict verdict = r->owner->gathered(r, &out);
        r->starting = false;
        if (verdict == HTTP_RELAY_FORWARD)
                return send_request(r, &out, 0);
        if (r->state == HTTP_RELAY_CLOSING)
                r->owner->done(r, true);
        else
                http_relay_cut(r);
        return 1;
}

/* Some more of it. */
static int gather_body(struct http_relay *r) {
        struct http_end *from = &r->client;
        struct http_text slice = {};
        size_t used = 0;
        int k = 0, rc = 0;

        if (http_filled(&from->in) == 0) {
                if (!r->owner->may_read(r, true))
                        return 0;
                if ((k = http_end_fill(from)) < 0)
                        return k;
                if (http_filled(&from->in) == 0 && !from->eof)
                        return 0;
        }
        if (http_filled(&from->in) > 0)
                rc = http1_body_read(&r->request_body, from->in.data + from->in.at, http_filled(&from->in), &slice, &used);
        else if ((rc = http1_body_eof(&r->request_body)) == 0)
                rc = 1;
        if (rc < 0) {
                refuse(r, r->request_body.refused);
                return 1;
        }
        const size_t came = slice.n;
        if (r->rewrites_up) {
                slice.n = r->owner->rewrite(r, true, slice.p, slice.n, rc == 1, rewritten);
                slice.p = rewritten;
        }
        if (slice.n == SIZE_MAX || !gather_add(&r->gather, slice.p, slice.n)) {
                refuse(r, slice.n == SIZE_MAX ? HTTP_BODY_PLACEHOLDER : HTTP_BODY_LARGE);
                return 1;
        }
        http_take(&from->in, used);
        if (came > 0 && !r->owner->moved(r, true, came))
                return -ECANCELED;
        return rc == 1 ? send_gathered(r) : 1;
}

/* Some of it goes on. */
static int pass_gathered(struct http_relay *r) {
        struct http_gather *g = &r->gather;
        size_t n = MIN(g->n - g->at, http_room(&r->upstream.out));

        if (n == 0)
                return 0;
        if (!http_append(&r->upstream.out, g->data + g->at, n))
                return -ENOMEM;
        g->at += n;
        r->request_done = g->at == g->n;
        return 1;
}

static int start_request(struct http_relay *r, size_t head) {
        struct http1_out out = {.from = &r->request, .framing = r->request.framing, .length = r->request.length,
                                .websocket = r->request.websocket};

        r->upstream.drained = false; /* whether it is still there is asked of the kernel, not of the last event */
        watch_idle_upstream(r);
        r->deadline = 0;
        r->body_max = UINT64_MAX;
        r->gather_max = 0;
        r->rewrites_up = r->rewrites_down = 0;
        r->request_done = has_no_body(&r->request);
        r->response_begun = r->response_done = false;
        r->close = !r->request.keep_alive || r->request.version == HTTP_1_0;
        r->up = r->request.framing;
        out.method = http_span_text(&r->request, r->request.method);
        r->starting = true;
        enum http_relay_verdict verdict = r->owner->request(r, &out);
        r->starting = false;
        switch (verdict) {
        case HTTP_RELAY_FORWARD:
                break;
        case HTTP_RELAY_GATHER:
                return begin_gathering(r, head);
        case HTTP_RELAY_ANSWERED:
                return 1;
        case HTTP_RELAY_CUT:
        default:
                http_relay_cut(r);
                return 1;
        }
        begin_body(r);
        return r->state == HTTP_RELAY_ENDED ? 1 : send_request(r, &out, head);
}

static int read_request(struct http_relay *r) {
        struct http_end *c = &r->client;
        int k = 0, n;

        if (http_filled(&c->in) == 0 && !c->eof && (k = http_end_fill(c)) <= 0)
                return k;
        if (http_filled(&c->in) == 0) { /* the end, between two requests */
                if (http_filled(&c->out) > 0)
                        return 0; /* it may still read the answer */
                end_gently(r);
                return 1;
        }
        if (r->deadline == 0)
                r->deadline = r->loop->now + HTTP_RELAY_HEAD_MS;
        n = http1_read_head(&r->request_reader, &r->request, c->in.data + c->in.at, http_filled(&c->in));
        if (n < 0) {
                refuse(r, r->request_reader.refused);
                return 1;
        }
        if (n > 0)
                return start_request(r, (size_t)n);
        if (c->eof)
                return -ECONNRESET;
        return k > 0 ? 1 : http_end_fill(c);
}

static int step_up(struct http_relay *r) {
        enum http_refusal why;
        bool done = false;

        if (r->state == HTTP_RELAY_REQUEST)
                return read_request(r);
        if (r->state != HTTP_RELAY_ACTIVE || r->request_done || r->response_done)
                return 0;
        if (r->gather.on)
                return gather_body(r);
        if (r->gather.n > 0)
                return pass_gathered(r);
        if (holds(r) && replace_upstream(r))
                return 1;
        int k = move_body(r, true, &r->request_body, r->up, &done, &why);
        if (k == -EBADMSG) {
                refuse(r, why);
                return 1;
        }
        r->request_done |= done;
        return k;
}

/* --- responses --- */

static int start_response(struct http_relay *r, size_t head) {
        struct http_head *h = &r->response;
        bool old = r->request.version == HTTP_1_0;
        struct http1_out out = {.from = h, .status = h->status, .request_method = r->request.method_id, .framing = h->framing,
                                .length = h->length, .websocket = h->websocket};
        enum http_refusal why = HTTP_OK;

        if (h->framing == HTTP_CHUNKED || h->framing == HTTP_CLOSE)
                out.framing = old ? HTTP_CLOSE : HTTP_CHUNKED;
        out.say_length = h->framing == HTTP_NO_BODY && h->has_length;
        r->close |= out.framing == HTTP_CLOSE || !r->request_done;
        out.close = r->close && h->framing != HTTP_TUNNEL;
        r->down = out.framing;
        if (r->owner->response(r, &out) != HTTP_RELAY_FORWARD) {
                if (r->state != HTTP_RELAY_CLOSING)
                        http_relay_cut(r);
                else
                        r->owner->done(r, true);
                return 1;
        }
        if (!http_make_room(&r->client.out))
                return -ENOMEM;
        int k = http1_write_response(&out, r->client.out.data + r->client.out.n, HTTP_RELAY_BYTES - r->client.out.n, &why);
        if (k < 0) {
                fail(r, "the upstream's answer cannot be written again");
                return 1;
        }
        r->client.out.n += (size_t)k;
        http_empty(&r->again);
        r->response_begun = true;
        http1_body_begin(&r->response_body, h);
        http_take(&r->upstream.in, head);
        if (h->framing == HTTP_TUNNEL)
                r->state = HTTP_RELAY_TUNNEL;
        else
                r->response_done = has_no_body(h);
        return 1;
}

static int read_response(struct http_relay *r) {
        struct http_end *u = &r->upstream;
        int k = 0, n;

        if (!http_end_usable(u) || http_filled(&r->client.out) > 0)
                return 0; /* a head has the whole of the buffer */
        if (http_filled(&u->in) == 0) {
                k = http_end_fill(u);
                if ((k < 0 || (http_filled(&u->in) == 0 && u->eof)) && send_again(r))
                        return 1;
                if (k < 0)
                        return k;
                if (http_filled(&u->in) == 0) {
                        if (u->eof) {
                                fail(r, "the connection was closed without an answer");
                                return 1;
                        }
                        return 0;
                }
        }
        n = http1_read_head(&r->response_reader, &r->response, u->in.data + u->in.at, http_filled(&u->in));
        if (n < 0) {
                r->why = http_refusal_text(r->response_reader.refused);
                fail(r, r->why);
                return 1;
        }
        if (n > 0) {
                if (r->response.status >= 200 || r->response.status == 101)
                        return start_response(r, (size_t)n);
                http_take(&u->in, (size_t)n);
                http_empty(&r->again);
                http1_response_next(&r->response_reader);
                return 1;
        }
        if (u->eof) {
                fail(r, "the connection was closed within the head of the answer");
                return 1;
        }
        return k > 0 ? 1 : http_end_fill(u);
}

/* Both are done. */
static void finish(struct http_relay *r) {
        (void)!http_end_flush(&r->client); /* before the report of it; an error comes again */
        gather_drop(r);
        r->owner->done(r, false);
        /* What an upstream has said beyond its answer is no answer to another request (RFC 9112 section 6.3). */
        if (!r->response.keep_alive || r->response.framing == HTTP_CLOSE || !r->request_done || http_filled(&r->upstream.in) > 0)
                close_upstream(r);
        r->upstream.used = true;
        if (r->close) {
                part_upstream(r);
                begin_closing(r);
                return;
        }
        r->state = HTTP_RELAY_REQUEST;
        http1_request_begin(&r->request_reader);
}

static int step_down(struct http_relay *r) {
        enum http_refusal why;

        if (r->state != HTTP_RELAY_ACTIVE)
                return 0;
        if (!r->response_begun)
                return read_response(r);
        if (!r->response_done) {
                int k = move_body(r, false, &r->response_body, r->down, &r->response_done, &why);
                if (k == -EBADMSG) {
                        fail(r, http_refusal_text(why));
                        return 1;
                }
                if (k != 0)
                        return k;
        }
        if (r->response_done && (r->request_done || r->close)) {
                finish(r);
                return 1;
        }
        return 0;
}

/* --- tunnels, and the last bytes --- */

static int tunnel(struct http_relay *r, bool up) {
        struct http_end *from = up ? &r->client : &r->upstream, *to = up ? &r->upstream : &r->client;
        size_t space = http_room(&to->out), n;
        const size_t rewrites = up ? 0 : r->rewrites_down;
        int k = 0;

        space -= MIN(space, rewrites);

        if (http_filled(&from->in) == 0 && space >= HTTP_ROOM_MIN && r->owner->may_read(r, up) && (k = http_end_fill(from)) < 0)
                return k;
        n = MIN(http_filled(&from->in), space);
        if (n > 0) {
                const char *p = from->in.data + from->in.at;
                size_t out = n;
                if (rewrites) {
                        out = r->owner->rewrite(r, up, p, n, false, rewritten);
                        p = rewritten;
                        if (out == SIZE_MAX)
                                return -EBADMSG;
                }
                if (!http_append(&to->out, p, out))
                        return -ENOMEM;
                http_take(&from->in, n);
                return r->owner->moved(r, up, n) ? 1 : -ECANCELED;
        }
        if (from->eof && !r->said_end[up] && http_filled(&to->out) == 0) {
                r->said_end[up] = true;
                stream_shutdown(&to->s);
                if (r->said_end[!up]) {
                        r->owner->done(r, false);
                        r->state = HTTP_RELAY_CLOSING;
                        end_gently(r);
                }
                return 1;
        }
        return k;
}

static int closing(struct http_relay *r) {
        int k;

        if (http_filled(&r->client.out) > 0)
                return 0;
        if (!r->said_end[0]) {
                r->said_end[0] = true;
                stream_shutdown(&r->client.s);
        }
        http_empty(&r->client.in);
        k = http_end_fill(&r->client); /* what it still sends is of no use; closing over it would reset the answer */
        http_empty(&r->client.in);
        if (k < 0 || r->client.eof)
                end_gently(r);
        return k;
}

/* --- the engine --- */

static bool wants_in(const struct http_relay *r, bool up) {
        const struct http_end *from = up ? &r->client : &r->upstream, *to = up ? &r->upstream : &r->client;

        if (from->eof)
                return false;
        switch (r->state) {
        case HTTP_RELAY_REQUEST:
                return true;
        case HTTP_RELAY_ACTIVE:
                if (up ? r->request_done || r->response_done : r->response_done)
                        return false;
                if (up && r->gather.n > 0 && !r->gather.on)
                        return false; /* it is all there */
                if (!up && !r->response_begun)
                        return http_filled(&to->out) == 0;
                return http_room(&to->out) >= HTTP_ROOM_MIN && r->owner->may_read((struct http_relay *)r, up);
        case HTTP_RELAY_TUNNEL:
                return http_room(&to->out) >= HTTP_ROOM_MIN && r->owner->may_read((struct http_relay *)r, up);
        case HTTP_RELAY_CLOSING:
                return up;
        case HTTP_RELAY_ENDED:
        default:
                return false;
        }
}

/* What is not of interest now, and was before, is left in the loop until it happens: most of it is soon wanted again. */
static void wait_for(struct http_relay *r, bool up, bool out) {
        struct http_end *e = up ? &r->client : &r->upstream;
        bool in = wants_in(r, up) || (e->drained && !e->eof && e->s.w.events & EPOLLIN);

        stream_want(&e->s, r->loop, in, out);
}

static int steps(struct http_relay *r) {
        int sum, k;

        if (r->state == HTTP_RELAY_REQUEST || r->gather.on)
                watch_idle_upstream(r);
        switch (r->state) {
        case HTTP_RELAY_REQUEST:
        case HTTP_RELAY_ACTIVE:
                if ((sum = step_up(r)) < 0 || r->gather.on)
                        return sum;
                k = step_down(r);
                if (k < 0 && r->state == HTTP_RELAY_ACTIVE && !r->response_begun) {
                        fail(r, "the connection was reset");
                        k = 1;
                }
                break;
        case HTTP_RELAY_TUNNEL:
                if ((sum = tunnel(r, true)) < 0)
                        return sum;
                k = r->state == HTTP_RELAY_TUNNEL ? tunnel(r, false) : 0;
                break;
        case HTTP_RELAY_CLOSING:
                return closing(r);
        case HTTP_RELAY_ENDED:
        default:
                return 0;
        }
        return k < 0 ? k : (sum | k);
}

static int flush_both(struct http_relay *r) {
        int up = holds(r) ? 0 : http_end_flush(&r->upstream), down;

        if (up < 0 && r->state != HTTP_RELAY_CLOSING) {
                /* It may have answered and closed before it read everything. */
                http_empty(&r->upstream.out);
                r->close |= http_filled(&r->again) == 0;
                r->request_done = true;
                up = 1;
        }
        down = http_end_flush(&r->client);
        return down < 0 ? down : (MAX(up, 0) | down);
}

/* What comes together goes together: a head waits for what there is of its body. */
static int round_of(struct http_relay *r) {
        int k = steps(r), f;

        if (k < 0 || (k > 0 && http_filled(&r->client.out) < FLUSH_BYTES && http_filled(&r->upstream.out) < FLUSH_BYTES))
                return k;
        f = flush_both(r);
        return f < 0 ? f : (k | f);
}

void http_relay_run(struct http_relay *r) {
        int k = 1;

        if (r->running)
                return;
        r->running = true;
        for (int i = 0; i < ROUNDS_MAX && k > 0 && r->state != HTTP_RELAY_ENDED; i++)
                k = round_of(r);
        if (k > 0 && r->state != HTTP_RELAY_ENDED && flush_both(r) < 0)
                k = -ECONNRESET;
        if (k < 0)
                http_relay_cut(r);
        r->running = false;
        if (r->state == HTTP_RELAY_ENDED) {
                r->owner->ended(r);
                return;
        }
        wait_for(r, true, http_filled(&r->client.out) > 0 || k > 0);
        wait_for(r, false, http_filled(&r->upstream.out) > 0 && !holds(r));
}

void http_relay_init(struct http_relay *r, const struct http_relay_owner *owner, struct loop *loop) {
        r->owner = owner;
        r->loop = loop;
        r->state = HTTP_RELAY_REQUEST;
        http1_request_begin(&r->request_reader);
        r->deadline = loop->now + HTTP_RELAY_HEAD_MS;
        r->client.ready = true;
}

/* That it can be written says nothing of what there is to read, except within TLS, where one may wait for the other. */
static void happened(struct http_end *e, uint32_t events) {
        if (e->s.tls || events & ~(uint32_t)EPOLLOUT)
                e->drained = false;
}

void http_relay_shaken(struct http_relay *r, int result) {
        if (result == -EAGAIN)
                stream_want(&r->client.s, r->loop, true, false);
        else if (result < 0) {
                r->why = tls_why(r->client.s.tls);
                r->owner->refused(r, HTTP_OK);
                http_relay_cut(r);
        } else
                http_relay_run(r);
}

void http_relay_client_ready(struct watch *w, uint32_t events) {
        struct http_relay *r = loop_container(w, struct http_relay, client.s.w);

        happened(&r->client, events);
        if (r->client.s.shaking)
                http_relay_shaken(r, stream_handshake(&r->client.s));
        else if (events & EPOLLERR || (events & EPOLLHUP && !(events & EPOLLIN) && r->state == HTTP_RELAY_ACTIVE))
                http_relay_cut(r); /* nobody waits for the answer any more */
        else
                http_relay_run(r);
}

void http_relay_upstream_ready(struct watch *w, uint32_t events) {
        struct http_relay *r = loop_container(w, struct http_relay, upstream.s.w);

        happened(&r->upstream, events);
        if (r->upstream.s.shaking) {
                int k = stream_handshake(&r->upstream.s);
                if (k == -EAGAIN) {
                        stream_want(&r->upstream.s, r->loop, true, false);
                        return;
                }
                if (k < 0) {
                        static char why[TLS_WHY_MAX];
                        strncpy(why, tls_why(r->upstream.s.tls), sizeof(why) - 1);
                        http_relay_unconnected(r, why);
                        return;
                }
        }
        http_relay_run(r);
}

void http_relay_connected(struct http_relay *r) {
        r->upstream.ready = true;
        if (r->upstream.s.shaking)
                http_relay_upstream_ready(&r->upstream.s.w, 0);
        else
                http_relay_run(r);
}

void http_relay_unconnected(struct http_relay *r, const char *text) {
        if (r->starting) {
                close_upstream(r);
                r->unconnected = text;
                return;
        }
        if (r->state == HTTP_RELAY_ACTIVE) {
                bool was = r->running;
                r->running = true; /* `failed` is not to find it gone */
                fail(r, text);
                r->running = was;
        } else
                close_upstream(r);
        if (r->state == HTTP_RELAY_ENDED) {
                if (!r->running)
                        r->owner->ended(r);
        } else
                http_relay_run(r);
}

void http_relay_tick(struct http_relay *r) {
        if (r->deadline == 0 || r->loop->now < r->deadline)
                return;
        if (r->state == HTTP_RELAY_CLOSING) {
                http_relay_cut(r);
                return;
        }
        r->running = true;
        r->deadline = 0;
        r->why = "no request came in time";
        if (http_filled(&r->client.in) > 0)
                refuse(r, HTTP_OK);
        else
                end_gently(r);
        r->running = false;
        if (r->state == HTTP_RELAY_ENDED)
                r->owner->ended(r);
        else
                http_relay_run(r);
}
