/* Requests by HTTP/2: each stream is judged as a request of HTTP/1 is, and has an exchange with the broker of its own, which
 * speaks HTTP/1.1. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "role/gate/web.h"
#include "svc/h2.h"
#include "svc/http-fields.h"
#include "svc/http-relay.h"
#include "svc/stream.h"

#define BUFFER_BYTES (HTTP_HEAD_MAX + H2_STREAM_WINDOW + 4096u) /* of each direction of a stream; only while something is in it */
#define READ_BYTES 32768u
#define ROUNDS_MAX 32      /* before others have their turn */
#define IDLE_MS 300000u    /* without a stream */

struct web2 {
        struct stream client;
        struct h2 *h2;
        struct web2 *next, **prev;
        struct place place;
        struct flow2 *flows;
        const char *out; /* what h2_output gave, and is not written yet */
        size_t n_out;
        uint64_t idle_since;
        bool pumping, broken;
        bool more; /* it was stopped to let others have their turn */
};

/* One stream. */
struct flow2 {
        struct h2_stream *s;
        struct web2 *web;
        struct stream up;
        struct flow2 *next, **prev; /* of those that wait for a broker */
        struct flow2 *sibling, **before; /* of the connection's */
        char *in, *out;
        size_t in_at, n_in, out_at, n_out;
        size_t untaken;  /* bytes of content that are in out */
        uint64_t content, body_max;
        uint32_t identity; /* whose broker carries it */
        struct http1_reader reader;
        struct http1_body body;
        struct http_head response;
        bool waits, chunked, head_done, answered; /* answered here: `in` is the body */
        bool eof;
};

static struct flow2 *waiting;

static void up_ready(struct watch *w, uint32_t events);
static void pump(struct web2 *x);

static void stop_waiting(struct flow2 *f) {
        if (!f->waits)
                return;
        f->waits = false;
        *f->prev = f->next;
        if (f->next)
                f->next->prev = f->prev;
}

static void start_waiting(struct flow2 *f) {
        if (f->waits)
                return;
        f->waits = true;
        f->next = waiting;
        f->prev = &waiting;
        if (f->next)
                f->next->prev = &f->next;
        waiting = f;
}

/* --- towards the broker --- */

static bool append(struct flow2 *f, const void *data, size_t n) {
        if (!f->out && !(f->out = (char *)malloc(BUFFER_BYTES)))
                return false;
        if (f->out_at > 0) {
                memmove(f->out, f->out + f->out_at, f->n_out - f->out_at);
                f->n_out -= f->out_at;
                f->out_at = 0;
        }
        if (BUFFER_BYTES - f->n_out < n)
                return false;
        memcpy(f->out + f->n_out, data, n);
        f->n_out += n;
        return true;
}

/* Writes what there is; the client may send as much again. -1: the exchange is broken. */
static int flush_up(struct flow2 *f) {
        while (f->up.w.fd >= 0 && f->out_at < f->n_out) {
                ssize_t k = stream_write(&f->up, f->out + f->out_at, f->n_out - f->out_at);
                if (k == -EAGAIN)
                        break;
                if (k < 0) {
                        f->out_at = f->n_out; /* an answer may be there all the same */
                        break;
                }
                f->out_at += (size_t)k;
        }
        if (f->out && f->out_at == f->n_out) {
                free(f->out);
                f->out = NULL;
                f->out_at = f->n_out = 0;
                if (f->untaken > 0)
                        h2_taken(f->s, f->untaken);
                f->untaken = 0;
        }
        return 0;
}

static void want_up(struct flow2 *f) {
        stream_want(&f->up, &gate.loop, !f->eof && (!f->head_done || f->in_at == f->n_in), f->out_at < f->n_out);
}

static int open_up(struct flow2 *f) {
        int fd = exchange_open(&f->web->place, f->identity);

        if (fd == -EAGAIN) {
                start_waiting(f);
                return 0;
        }
        stop_waiting(f);
        if (fd < 0)
                return fd;
        int r = stream_init(&f->up, &gate.loop, fd, NULL, up_ready);
        if (r < 0) {
                close(fd);
                return r;
        }
        (void)flush_up(f);
        want_up(f);
        return 0;
}

/* --- answers --- */

static void answer_here(struct flow2 *f, unsigned status, const char *body, size_t n) {
        static const char type[] = "application/json";
        const struct http1_line line = {{"content-type", 12}, {type, sizeof(type) - 1}};
        struct http1_out out = {.status = (uint16_t)status, .request_method = f->s->head->method_id, .framing = HTTP_LENGTH, .length = n,
                                .more = &line, .n_more = 1};

        free(f->in);
        f->in = (char *)malloc(n + 1);
        f->in_at = 0;
        f->n_in = n;
        f->answered = f->head_done = true;
        if (out.request_method == HTTP_HEAD) {
                out.framing = HTTP_NO_BODY;
                out.say_length = true;
        }
        if (f->in)
                memcpy(f->in, body, n);
        if (!f->in || h2_respond(f->s, &out, NULL) < 0)
                h2_reset(f->s);
}

static void fail(struct flow2 *f, const char *why) {
        char body[DENIAL_JSON_MAX];

        if (f->head_done)
                h2_reset(f->s);
        else
                answer_here(f, 502, body, denial_json(body, sizeof(body), NULL, why, ""));
}

/* 1: something came; 0: nothing now; -1: it has ended. */
static int fill_in(struct flow2 *f) {
        if (f->up.w.fd < 0 || f->eof)
                return -1;
        if (!f->in && !(f->in = (char *)malloc(BUFFER_BYTES)))
                return -1;
        if (f->in_at == f->n_in)
                f->in_at = f->n_in = 0;
        if (f->n_in == BUFFER_BYTES)
                return 0;
        ssize_t k = stream_read(&f->up, f->in + f->n_in, BUFFER_BYTES - f->n_in);
        if (k > 0) {
                f->n_in += (size_t)k;
                return 1;
        }
        if (k == -EAGAIN)
                return 0;
        f->eof = true;
        return -1;
}

static void read_response(struct flow2 *f) {
        for (;;) {
                int n = f->n_in > f->in_at ? http1_read_head(&f->reader, &f->response, f->in + f->in_at, f->n_in - f->in_at) : 0;
                if (n < 0) {
                        fail(f, "the answer cannot be read");
                        return;
                }
                if (n == 0) {
                        int k = fill_in(f);
                        if (k < 0)
                                fail(f, "the connection was closed without an answer");
                        if (k <= 0)
                                return;
                        continue;
                }
                if (f->response.status < 200) {
                        f->in_at += (size_t)n;
                        http1_response_next(&f->reader);
                        continue;
                }
                struct http1_out out = {.from = &f->response, .status = f->response.status, .request_method = f->s->head->method_id,
                                        .framing = f->response.framing == HTTP_CLOSE ? HTTP_CHUNKED : f->response.framing,
                                        .length = f->response.length, .keep = http_fields_keep};
                out.say_length = out.framing == HTTP_NO_BODY && f->response.has_length;
                http1_body_begin(&f->body, &f->response);
                f->head_done = true;
                if (h2_respond(f->s, &out, NULL) < 0)
                        h2_reset(f->s);
                f->in_at += (size_t)n;
                return;
        }
}

static void up_ready(struct watch *w, uint32_t events) {
        struct flow2 *f = loop_container(w, struct flow2, up.w);
        struct web2 *x = f->web;

        (void)flush_up(f);
        if (!f->head_done)
                read_response(f);
        else
                h2_resume(f->s);
        want_up(f);
        pump(x);
}

/* --- streams --- */

static void begin_flow(struct flow2 *f, struct h2_stream *s, struct web2 *x) {
        f->s = s;
        f->web = x;
        f->up.w.fd = -1;
        f->sibling = x->flows;
        f->before = &x->flows;
        if (f->sibling)
                f->sibling->before = &f->sibling;
        x->flows = f;
}

static void on_request(struct h2_stream *s) {
        static struct judged j; /* used up before the next */
        struct web2 *x = (struct web2 *)h2_arg(s->h2);
        struct flow2 *f = (struct flow2 *)calloc(1, sizeof(*f));

        s->arg = f;
        if (!f) {
                h2_reset(s);
                return;
        }
        begin_flow(f, s, x);
        if (!judge_request(&x->place, s->head, &j)) {
                answer_here(f, j.status, j.body, j.n_body);
                return;
        }
        struct http1_out out = {.from = s->head, .method = http_span_text(s->head, s->head->method), .framing = HTTP_NO_BODY};
        if (s->head->framing != HTTP_NO_BODY) {
                out.framing = s->head->has_length ? HTTP_LENGTH : HTTP_CHUNKED;
                out.length = s->head->length;
        }
        f->chunked = out.framing == HTTP_CHUNKED;
        f->body_max = j.body_max;
        f->identity = j.identity;
        judged_write(&j, &out);
        f->out = (char *)malloc(BUFFER_BYTES);
        int n = f->out ? http1_write_request(&out, f->out, BUFFER_BYTES, NULL) : -ENOMEM;
        if (n < 0) {
                h2_reset(s);
                return;
        }
        f->n_out = (size_t)n;
        http1_response_begin(&f->reader, s->head);
        if (s->head->expect_continue) {
                const struct http1_out go_on = {.status = 100, .request_method = s->head->method_id};
                (void)!h2_respond(s, &go_on, NULL);
        }
        if (open_up(f) < 0)
                h2_reset(s);
}

static void on_content(struct h2_stream *s, const char *p, size_t n, bool end) {
        struct flow2 *f = (struct flow2 *)s->arg;
        char head[HTTP1_CHUNK_HEAD_MAX];
        bool ok = true;

        if (!f || f->answered) {
                h2_taken(s, n);
                return;
        }
        f->content += n;
        if (f->content > f->body_max) {
                char body[DENIAL_JSON_MAX];
                place_refused(&f->web->place, NET_HTTP, http_refusal_text(HTTP_BODY_LARGE), "");
                stream_reset(&f->up, &gate.loop);
                if (f->head_done)
                        h2_reset(s);
                else
                        answer_here(f, 403, body, denial_json(body, sizeof(body), NULL, http_refusal_text(HTTP_BODY_LARGE), ""));
                h2_taken(s, n);
                return;
        }
        if (n > 0) {
                size_t k = f->chunked ? http1_chunk_head(head, n) : 0;
                ok = append(f, head, k) && append(f, p, n) && (k == 0 || append(f, HTTP1_CHUNK_TAIL, 2));
                f->untaken += n;
        }
        if (end && f->chunked)
                ok = ok && append(f, HTTP1_CHUNK_LAST, strlen(HTTP1_CHUNK_LAST));
        if (!ok) {
                h2_reset(s);
                return;
        }
        (void)flush_up(f);
        want_up(f);
}

static ssize_t on_pull(struct h2_stream *s, char *buf, size_t n, bool *end) {
        struct flow2 *f = (struct flow2 *)s->arg;
        struct http_text slice = {};
        size_t used = 0;
        int k = 0;

        if (!f)
                return -EPROTO;
        if (f->answered) {
                n = MIN(n, f->n_in - f->in_at);
                memcpy(buf, f->in + f->in_at, n);
                f->in_at += n;
                *end = f->in_at == f->n_in;
                return (ssize_t)n;
        }
        while (slice.n == 0) {
                if (f->in_at == f->n_in && (k = fill_in(f)) <= 0) {
                        if (k == 0) {
                                want_up(f);
                                return -EAGAIN;
                        }
                        if (http1_body_eof(&f->body) < 0)
                                return -ECONNRESET; /* cut, and said to be */
                        *end = true;
                        return 0;
                }
                k = http1_body_read(&f->body, f->in + f->in_at, MIN(f->n_in - f->in_at, n), &slice, &used);
                if (k < 0)
                        return -EPROTO;
                if (slice.n > 0)
                        memcpy(buf, slice.p, slice.n);
                f->in_at += used;
                *end = k == 1;
                if (k == 1)
                        break;
        }
        return (ssize_t)slice.n;
}

static void on_refused(struct h2_stream *s, enum http_refusal why) {
        struct web2 *x = (struct web2 *)h2_arg(s->h2);
        struct flow2 *f = (struct flow2 *)calloc(1, sizeof(*f));
        char body[DENIAL_JSON_MAX];

        s->arg = f;
        if (!f)
                return;
        begin_flow(f, s, x);
        place_refused(&x->place, NET_HTTP, http_refusal_text(why), "");
        answer_here(f, http_refusal_status(why), body, denial_json(body, sizeof(body), NULL, http_refusal_text(why), ""));
}

static void on_closed(struct h2_stream *s, bool cut) {
        struct flow2 *f = (struct flow2 *)s->arg;

        if (!f)
                return;
        stop_waiting(f);
        *f->before = f->sibling;
        if (f->sibling)
                f->sibling->before = f->before;
        if (cut)
                stream_reset(&f->up, &gate.loop);
        else
                stream_close(&f->up, &gate.loop);
        free(f->in);
        free(f->out);
        free(f);
        s->arg = NULL;
}

static const struct h2_owner owner = {.request = on_request, .content = on_content, .pull = on_pull, .refused = on_refused, .closed = on_closed};

/* --- the connection --- */

static void end(struct web2 *x) {
        *x->prev = x->next;
        if (x->next)
                x->next->prev = x->prev;
        gate.n_clients--;
        h2_free(x->h2);
        stream_close(&x->client, &gate.loop);
        free(x);
}

static void write_out(struct web2 *x) {
        x->more = false;
        for (int i = 0;; i++) {
                if (i == ROUNDS_MAX) {
                        x->more = true;
                        return;
                }
                if (x->n_out == 0) {
                        ssize_t n = h2_output(x->h2, &x->out);
                        if (n <= 0) {
                                x->broken |= n < 0;
                                return;
                        }
                        x->n_out = (size_t)n;
                }
                ssize_t k = stream_write(&x->client, x->out, x->n_out);
                if (k == -EAGAIN)
                        return;
                if (k < 0) {
                        x->broken = true;
                        return;
                }
                x->out += k;
                x->n_out -= (size_t)k;
        }
}

static void read_in(struct web2 *x) {
        static char buf[READ_BYTES];

        /* To the end of what is there: no event tells of bytes that TLS has taken from the socket already. */
        while (!x->broken) {
                ssize_t n = stream_read(&x->client, buf, sizeof(buf));
                if (n == -EAGAIN)
                        return;
                if (n <= 0) {
                        x->broken = true;
                        return;
                }
                if (h2_read(x->h2, buf, (size_t)n, gate.loop.now) < 0) {
                        place_refused(&x->place, NET_HTTP, h2_why(x->h2), "");
                        write_out(x);
                        x->broken = true;
                }
        }
}

/* Sends what there is. May end it. */
static void pump(struct web2 *x) {
        if (x->pumping)
                return;
        x->pumping = true;
        write_out(x);
        x->pumping = false;
        if (h2_streams(x->h2) > 0)
                x->idle_since = gate.loop.now;
        if (x->broken || h2_over(x->h2)) {
                end(x);
                return;
        }
        stream_want(&x->client, &gate.loop, true, x->n_out > 0 || x->more);
}

static void client_ready(struct watch *w, uint32_t events) {
        struct web2 *x = loop_container(w, struct web2, client.w);

        x->pumping = true;
        read_in(x);
        x->pumping = false;
        pump(x);
}

void web2_start(struct gate *g, const struct place *p, int fd, struct tls *tls) {
        struct web2 *x = (struct web2 *)calloc(1, sizeof(*x));

        if (!x || h2_new(&x->h2, &owner, x, true) < 0 || stream_init(&x->client, &g->loop, fd, tls, client_ready) < 0) {
                if (x && x->h2)
                        h2_free(x->h2);
                tls_free(tls);
                close(fd);
                free(x);
                return;
        }
        x->client.shaking = false;
        x->place = *p;
        x->idle_since = g->loop.now;
        x->next = g->webs2;
        x->prev = &g->webs2;
        if (x->next)
                x->next->prev = &x->next;
        g->webs2 = x;
        g->n_clients++;
        client_ready(&x->client.w, EPOLLIN);
}

void webs2_resume(struct gate *g) {
        for (struct flow2 *f = waiting, *next; f; f = next) {
                next = f->next;
                if (g->brokers[f->identity].fd < 0 && !(g->revoked >> f->identity & 1))
                        continue;
                if (open_up(f) < 0)
                        h2_reset(f->s);
        }
        for (struct web2 *x = g->webs2, *next; x; x = next) {
                next = x->next;
                pump(x);
        }
}

/* As webs_revoke: this stream, and no other of its connection. What has come of its answer already stays where it is. */
static void revoke_flow(struct flow2 *f, const char *body, size_t n) {
        stop_waiting(f);
        stream_reset(&f->up, &gate.loop);
        free(f->out);
        f->out = NULL;
        f->out_at = f->n_out = f->in_at = f->n_in = 0;
        if (f->untaken > 0)
                h2_taken(f->s, f->untaken);
        f->untaken = 0;
        f->eof = true;
        if (f->head_done)
                h2_reset(f->s);
        else
                answer_here(f, 403, body, n);
}

void webs2_revoke(struct gate *g, uint32_t identity) {
        char body[DENIAL_JSON_MAX];
        size_t n = revoked_body(body);

        for (struct web2 *x = g->webs2, *next; x; x = next) {
                next = x->next;
                for (struct flow2 *f = x->flows; f; f = f->sibling)
                        if (f->identity == identity && !f->answered)
                                revoke_flow(f, body, n);
                pump(x);
        }
}

void webs2_tick(struct gate *g) {
        for (struct web2 *x = g->webs2, *next; x; x = next) {
                next = x->next;
                uint64_t since = h2_head_since(x->h2);
                bool late = since > 0 && g->loop.now >= since + HTTP_RELAY_HEAD_MS; /* as with HTTP/1 */
                if (!late && (h2_streams(x->h2) > 0 || g->loop.now < x->idle_since + IDLE_MS))
                        continue;
                if (late)
                        place_refused(&x->place, NET_HTTP, "no request came in time", "");
                h2_goaway(x->h2);
                x->broken |= late;
                pump(x);
        }
}
