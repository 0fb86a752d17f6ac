/* The session: nghttp2's callbacks, and the limits on what a client can make it do. See h2.h. */
#include "svc/h2-internal.h"

static struct h2_entry *entry_of(struct h2_stream *s) { return (struct h2_entry *)s; }
static struct h2_entry *entry_find(struct h2 *h, int32_t id) {
        return nghttp2_session_get_stream_user_data(h->session, id);
}

/* Ends the connection, from within a callback. */
static int fatal(struct h2 *h, const char *why) {
        if (!h->failed)
                (void)nghttp2_session_terminate_session(h->session, NGHTTP2_ENHANCE_YOUR_CALM);
        h->failed = true;
        h->why = why;
        return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* --- What may not go on for ever --- */

/* Counts one more, after what time has forgiven. */
static unsigned count(struct h2_bucket *b, uint64_t now, unsigned a_second) {
        uint64_t forgiven = (now - b->at) * a_second / 1000;

        if (forgiven > 0) {
                b->n = forgiven >= b->n ? 0 : b->n - (unsigned)forgiven;
                b->at = now;
        }
        return ++b->n;
}

static int count_reset(struct h2 *h) {
        if (count(&h->resets, h->now, H2_RESETS_A_SECOND) > H2_RESETS_MAX)
                return fatal(h, "too many streams end in a reset");
        return 0;
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *arg) {
        struct h2 *h = arg;

        if (hd->type != NGHTTP2_CONTINUATION)
                h->head_since = 0;
        if (count(&h->idle, h->now, H2_IDLE_FRAMES_A_SECOND) > H2_IDLE_FRAMES_MAX)
                return fatal(h, "too many frames without a request or content");
        return 0;
}

/* --- Streams --- */

static void entry_free(struct h2_entry *e) {
        struct h2 *h = e->s.h2;

        *e->prev = e->next;
        if (e->next)
                e->next->prev = e->prev;
        h->n_streams--;
        h->heads -= e->kept;
        strbuf_clear(&e->text);
        strbuf_clear(&e->cookie);
        free(e);
}

static int refuse_stream(struct h2 *h, int32_t id) {
        h->head_since = 0; /* nobody will be told of its end */
        (void)nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg) {
        struct h2 *h = arg;
        int32_t id = frame->hd.stream_id;

        if (frame->hd.type != NGHTTP2_HEADERS)
                return 0;
        h->head_since = h->now;
        struct h2_entry *e = entry_find(h, id);
        if (e) {
                e->trailers = true;
                e->field_bytes = 0;
                return 0;
        }
        if (frame->headers.cat != NGHTTP2_HCAT_REQUEST || h->heads > H2_HEADS_MAX || h->n_streams > H2_STREAMS_MAX)
                return refuse_stream(h, id);
        e = malloc(sizeof(*e));
        if (!e)
                return refuse_stream(h, id);
        memset(e, 0, offsetof(struct h2_entry, head));
        http_head_clear(&e->head);
        memset(&e->text, 0, sizeof(*e) - offsetof(struct h2_entry, text));
        e->s = (struct h2_stream){.h2 = h, .id = id, .head = &e->head};
        e->text.max = 2 * HTTP_HEAD_MAX;
        e->cookie.max = HTTP_LINE_MAX;
        e->next = h->streams;
        e->prev = &h->streams;
        if (e->next)
                e->next->prev = &e->next;
        h->streams = e;
        h->n_streams++;
        if (nghttp2_session_set_stream_user_data(session, id, e) != 0) {
                entry_free(e);
                return refuse_stream(h, id);
        }
        return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
                     const uint8_t *value, size_t n, uint8_t flags, void *arg) {
        struct h2 *h = arg;
        struct h2_entry *e = entry_find(h, frame->hd.stream_id);

        if (!e)
                return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        if (!h2_head_field(e, (const char *)name, name_n, (const char *)value, n))
                return fatal(h, "the fields of a request are too many");
        return 0;
}

static void reset(struct h2_entry *e, uint32_t code) {
        (void)nghttp2_submit_rst_stream(e->s.h2->session, NGHTTP2_FLAG_NONE, e->s.id, code);
}

/* The owner may answer; what it leaves is reset. */
static void refuse(struct h2_entry *e) {
        e->begun = true;
        e->s.h2->owner->refused(&e->s, e->refused);
        if (!e->responded)
                reset(e, NGHTTP2_PROTOCOL_ERROR);
}

/* The request's content is complete. */
static void end_of_content(struct h2_entry *e) {
        if (e->refused || !e->begun || e->s.request_done || e->own_reset)
                return;
        if (e->head.has_length && e->received != e->head.length) {
                e->refused = HTTP_LENGTH_DIFFERS;
                reset(e, NGHTTP2_PROTOCOL_ERROR);
                return;
        }
        e->s.request_done = true;
        e->s.h2->owner->content(&e->s, "", 0, true);
}

static void head_done(struct h2_entry *e, bool end) {
        struct h2 *h = e->s.h2;

        if (e->trailers) {
                /* RFC 9113 section 8.1: they end the message. */
                if (!e->refused && !end)
                        e->refused = HTTP_BAD_TRAILER;
                if (!e->refused)
                        end_of_content(e);
                else if (e->begun && !e->responded)
                        reset(e, NGHTTP2_PROTOCOL_ERROR);
                return;
        }
        h2_head_finish(e, end);
        e->kept = sizeof(*e) + e->text.cap;
        h->heads += e->kept;
        e->s.request_done = end;
        if (e->refused) {
                refuse(e);
                return;
        }
        h->idle.n = 0;
        e->begun = true;
        h->owner->request(&e->s);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *arg) {
        struct h2 *h = arg;
        struct h2_entry *e = frame->hd.stream_id > 0 ? entry_find(h, frame->hd.stream_id) : NULL;
        bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

        if (frame->hd.type == NGHTTP2_RST_STREAM)
                return count_reset(h);
        if (frame->hd.type == NGHTTP2_HEADERS)
                h->head_since = 0;
        if (!e)
                return 0;
        if (frame->hd.type == NGHTTP2_HEADERS)
                head_done(e, end);
        else if (frame->hd.type == NGHTTP2_DATA && end)
                end_of_content(e);
        return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n, void *arg) {
        struct h2 *h = arg;
        struct h2_entry *e = entry_find(h, id);

        if (n > 0)
                h->idle.n = 0;
        if (!e || e->refused || !e->begun || e->own_reset) {
                (void)nghttp2_session_consume(session, id, n);
                return 0;
        }
        e->received += n;
        e->untaken += n;
        if (e->head.has_length && e->received > e->head.length) {
                e->refused = HTTP_LENGTH_DIFFERS;
                reset(e, NGHTTP2_PROTOCOL_ERROR);
                return 0;
        }
        if (n > 0)
                h->owner->content(&e->s, (const char *)p, n, false);
        return 0;
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *arg) {
        struct h2 *h = arg;
        struct h2_entry *e = frame->hd.stream_id > 0 ? entry_find(h, frame->hd.stream_id) : NULL;

        if (frame->hd.type == NGHTTP2_DATA && frame->hd.length > 0)
                h->idle.n = 0;
        if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR) {
                h->failed = true; /* it takes bytes and drops them from here on */
                if (!h->why[0])
                        h->why = nghttp2_http2_strerror(frame->goaway.error_code);
        }
        if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR &&
                !(e && e->own_reset))
                return count_reset(h);
        if (e && (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
            (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) {
                e->sent_all = true;
                if (!e->s.request_done) /* RFC 9113 section 8.1: the rest of the request is not wanted */
                        reset(e, NGHTTP2_NO_ERROR);
        }
        return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg) {
        struct h2 *h = arg;
        struct h2_entry *e = entry_find(h, id);

        if (!e)
                return 0;
        (void)nghttp2_session_set_stream_user_data(session, id, NULL);
        if (e->untaken > 0) /* what nobody takes any more must not narrow the others' window */
                (void)nghttp2_session_consume_connection(session, e->untaken);
        if (e->begun)
                h->owner->closed(&e->s, !e->sent_all || !e->s.request_done);
        entry_free(e);
        return 0;
}

/* --- The response --- */

static ssize_t pull(nghttp2_session *session, int32_t id, uint8_t *buf, size_t n, uint32_t *flags,
                    nghttp2_data_source *source, void *arg) {
        struct h2_entry *e = source->ptr;
        bool end = false;
        ssize_t k = e->s.h2->owner->pull(&e->s, (char *)buf, n, &end);

        if (k == -EAGAIN || (k == 0 && !end))
                return NGHTTP2_ERR_DEFERRED;
        if (k < 0 || (size_t)k > n)
                return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        e->sent += (uint64_t)k;
        if (e->framing == HTTP_LENGTH && (e->sent > e->length || (end && e->sent != e->length)))
                return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        if (end)
                *flags |= NGHTTP2_DATA_FLAG_EOF;
        return k;
}

int h2_respond(struct h2_stream *s, const struct http1_out *o, enum http_refusal *ret_refused) {
        struct h2_entry *e = entry_of(s);
        nghttp2_data_provider content = {.source.ptr = e, .read_callback = pull};

        if (e->responded)
                return -EINVAL;
        if (o->status == 101 || o->websocket || o->framing == HTTP_TUNNEL) {
                if (ret_refused)
                        *ret_refused = HTTP_UPGRADE_UNASKED;
                return -EBADMSG;
        }
        int r = h2_head_respond(e, o, o->framing == HTTP_NO_BODY ? NULL : &content, ret_refused);
        if (r < 0)
                return r;
        e->framing = o->framing;
        e->length = o->length;
        e->responded = o->status >= 200;
        return 0;
}

void h2_resume(struct h2_stream *s) { (void)nghttp2_session_resume_data(s->h2->session, s->id); }

void h2_taken(struct h2_stream *s, size_t n) {
        struct h2_entry *e = entry_of(s);

        n = MIN(n, e->untaken);
        e->untaken -= n;
        (void)nghttp2_session_consume(s->h2->session, s->id, n);
}

void h2_reset(struct h2_stream *s) {
        entry_of(s)->own_reset = true;
        reset(entry_of(s), NGHTTP2_INTERNAL_ERROR);
}

/* --- The connection --- */

static int new_session(struct h2 *h) {
        nghttp2_session_callbacks *c = NULL;
        nghttp2_option *o = NULL;
        int r = nghttp2_session_callbacks_new(&c);

        if (r == 0)
                r = nghttp2_option_new(&o);
        if (r == 0) {
                nghttp2_session_callbacks_set_on_begin_frame_callback(c, on_begin_frame);
                nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin_headers);
                nghttp2_session_callbacks_set_on_header_callback(c, on_header);
                nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame_recv);
                nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
                nghttp2_session_callbacks_set_on_frame_send_callback(c, on_frame_send);
                nghttp2_session_callbacks_set_on_stream_close_callback(c, on_stream_close);
                nghttp2_option_set_no_auto_window_update(o, 1);
                nghttp2_option_set_no_http_messaging(o, 1);
                nghttp2_option_set_no_closed_streams(o, 1);
                nghttp2_option_set_max_outbound_ack(o, H2_ACKS_MAX);
                nghttp2_option_set_max_continuations(o, H2_CONTINUATIONS_MAX);
                r = nghttp2_session_server_new2(&h->session, c, h, o);
        }
        nghttp2_option_del(o);
        nghttp2_session_callbacks_del(c);
        return r;
}

int h2_new(struct h2 **ret, const struct h2_owner *owner, void *arg, bool tls) {
        static const nghttp2_settings_entry settings[] = {
                {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_STREAMS_MAX},
                {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_STREAM_WINDOW},
                {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_MAX},
                {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
        };
        struct h2 *h = calloc(1, sizeof(*h));

        if (!h)
                return -ENOMEM;
        h->owner = owner;
        h->arg = arg;
        h->tls = tls;
        h->why = "";
        if (new_session(h) != 0 ||
            nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings, ELEMENTSOF(settings)) != 0 ||
            nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0, H2_CONNECTION_WINDOW) != 0) {
                h2_free(h);
                return -ENOMEM;
        }
        *ret = h;
        return 0;
}

void h2_free(struct h2 *h) {
        if (!h)
                return;
        for (struct h2_entry *e; (e = h->streams);) {
                if (e->begun)
                        h->owner->closed(&e->s, true);
                entry_free(e);
        }
        nghttp2_session_del(h->session);
        free(h->line);
        free(h);
}

void *h2_arg(struct h2 *h) { return h->arg; }
const char *h2_why(const struct h2 *h) { return h->why; }
size_t h2_streams(const struct h2 *h) { return h->n_streams; }
uint64_t h2_head_since(const struct h2 *h) { return h->head_since; }

static int fail(struct h2 *h, ssize_t r) {
        h->failed = true; /* memory, or no preface of HTTP/2 */
        if (!h->why[0])
                h->why = nghttp2_strerror((int)r);
        return -EPROTO;
}

int h2_read(struct h2 *h, const char *buf, size_t n, uint64_t now) {
        if (h->failed)
                return -EPROTO;
        if (h->now == 0)
                h->resets.at = h->idle.at = now;
        h->now = now;
        ssize_t k = nghttp2_session_mem_recv(h->session, (const uint8_t *)buf, n);
        if (k < 0)
                return fail(h, k);
        return h->failed ? -EPROTO : 0;
}

ssize_t h2_output(struct h2 *h, const char **ret) {
        const uint8_t *p = NULL;
        ssize_t k = nghttp2_session_mem_send(h->session, &p);

        if (k < 0) {
                h->dead = true;
                return fail(h, k);
        }
        *ret = (const char *)p;
        return k > 0 ? k : h->failed ? -EPROTO : 0;
}

bool h2_over(const struct h2 *h) {
        return h->dead || ((h->failed || !nghttp2_session_want_read(h->session)) &&
                           !nghttp2_session_want_write(h->session));
}

void h2_goaway(struct h2 *h) {
        (void)nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(h->session),
                                    NGHTTP2_NO_ERROR, NULL, 0);
}
