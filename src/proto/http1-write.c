/* Writes heads from parts: nothing of a line that came is copied, names are spelt in one way, and what frames the
 * message is said by the caller. What was written is read once more with our own reader before it is handed over, so
 * that nothing leaves that could be read otherwise. */
#include "proto/http1-internal.h"

struct pen {
        char *p;
        size_t n, size;
        unsigned fields;
        bool full;
        enum http_refusal refused;
};

static void put(struct pen *w, const char *p, size_t n) {
        if (n > w->size - w->n) {
                w->full = true;
                return;
        }
        memcpy(w->p + w->n, p, n);
        w->n += n;
}
static void puts_(struct pen *w, const char *s) { put(w, s, strlen(s)); }
static void put_text(struct pen *w, struct http_text t) { put(w, t.p ? t.p : "", t.n); }

static void put_number(struct pen *w, uint64_t n) {
        char b[20];
        size_t i = sizeof(b);

        do
                b[--i] = (char)('0' + n % 10);
        while ((n /= 10) > 0);
        put(w, b + i, sizeof(b) - i);
}

/* "x-request-id" as "X-Request-Id": HTTP/2 has lower case only, and some servers want what they know. One spelling for
 * all leaves no room to say something by it. */
static void put_name(struct pen *w, struct http_text name) {
        const char *known = http_field_spelling(http_field_of(name.p, name.n));
        bool start = true;

        if (known) {
                put(w, known, name.n);
                return;
        }
        for (size_t i = 0; i < name.n; i++) {
                char c = name.p[i];
                if (c >= 'A' && c <= 'Z')
                        c = (char)(c | 0x20);
                if (start && c >= 'a' && c <= 'z')
                        c = (char)(c & ~0x20);
                start = c == '-';
                put(w, &c, 1);
        }
}

static void put_field(struct pen *w, struct http_text name, struct http_text value) {
        enum http_refusal e = http_name_check(name.p, name.n);

        if (!e)
                e = http_value_check(value.p, value.n);
        if (e) {
                w->refused = e;
                return;
        }
        put_name(w, name);
        puts_(w, ": ");
        put_text(w, value);
        puts_(w, "\r\n");
        w->fields++;
}
static void put_known(struct pen *w, enum http_field_id id, const char *value) {
        const char *name = http_field_spelling(id);

        put_field(w, (struct http_text){name, strlen(name)}, (struct http_text){value, strlen(value)});
}

/* Of this connection, or made anew below. */
bool http1_goes_along(const struct http1_out *o, const struct http_field *f) {
        if (f->hop || (f->id != HTTP_F_OTHER && f->id <= HTTP_F_LAST_HOP))
                return false;
        switch (f->id) {
        case HTTP_F_SEC_WEBSOCKET_KEY:
        case HTTP_F_SEC_WEBSOCKET_ACCEPT:
        case HTTP_F_SEC_WEBSOCKET_PROTOCOL:
        case HTTP_F_SEC_WEBSOCKET_EXTENSIONS:
                if (!o->websocket)
                        return false;
                break;
        case HTTP_F_SEC_WEBSOCKET_VERSION: /* a 426 lists them */
                if (!o->websocket && o->status != 426)
                        return false;
                break;
        default:
                break;
        }
        return !o->keep || o->keep(o->arg, o->from, f);
}

static void put_fields(struct pen *w, const struct http1_out *o) {
        for (size_t i = 0; o->from && i < o->from->n_fields; i++) {
                const struct http_field *f = &o->from->field[i];
                if (http1_goes_along(o, f))
                        put_field(w, http_field_name(o->from, f), http_field_value(o->from, f));
        }
        for (size_t i = 0; i < o->n_more; i++) {
                struct http_text name = o->more[i].name;
                enum http_field_id id = http_name_check(name.p, name.n) ? HTTP_F_OTHER : http_field_of(name.p, name.n);
                if (id != HTTP_F_OTHER && id <= HTTP_F_LAST_HOP)
                        w->refused = HTTP_MADE_ANEW;
                put_field(w, name, o->more[i].value);
        }
}

/* Where the body ends, and what becomes of the connection. */
static void put_framing(struct pen *w, const struct http1_out *o) {
        if (o->framing == HTTP_CHUNKED) {
                put_known(w, HTTP_F_TRANSFER_ENCODING, "chunked");
        } else if (o->framing == HTTP_LENGTH || o->say_length) {
                puts_(w, "Content-Length: ");
                put_number(w, o->length);
                puts_(w, "\r\n");
                w->fields++;
        }
        if (o->websocket) {
                put_known(w, HTTP_F_UPGRADE, "websocket");
                put_known(w, HTTP_F_CONNECTION, "Upgrade");
        } else if (o->close || o->framing == HTTP_CLOSE) {
                put_known(w, HTTP_F_CONNECTION, "close");
        }
        puts_(w, "\r\n");
}

static bool same_text(const struct http_head *h, struct http_span s, struct http_text t) {
        return s.n == t.n && memcmp(h->base + s.at, t.p, t.n) == 0;
}

/* Reads it back. */
static int finish(struct pen *w, const struct http1_out *o, bool response, enum http_refusal *ret_refused) {
        struct http_head h;
        struct http1_reader r = {
                .response = response, .method = o->request_method, .websocket = response && o->websocket};

        if (w->full && !w->refused)
                return -ENOBUFS;
        if (!w->refused) {
                int n = http1_read_head(&r, &h, w->p, w->n);
                bool last = o->close || o->framing == HTTP_CLOSE || (response && o->framing == HTTP_TUNNEL);
                if (n < 0)
                        w->refused = r.refused;
                else if ((size_t)n != w->n || h.framing != o->framing || h.n_fields != w->fields ||
                         h.websocket != o->websocket || h.keep_alive == last ||
                         (o->framing == HTTP_LENGTH && h.length != o->length) ||
                         h.has_length != (o->framing == HTTP_LENGTH || o->say_length) ||
                         h.expect_continue != (o->expect_continue && !response) ||
                         (response ? h.status != o->status :
                                     !same_text(&h, h.method, o->method) || !same_text(&h, h.target, o->target) ||
                                             !same_text(&h, h.host, o->host)))
                        w->refused = HTTP_NOT_AS_MEANT;
        }
        if (w->refused) {
                if (ret_refused)
                        *ret_refused = w->refused;
                return -EBADMSG;
        }
        return (int)w->n;
}

int http1_write_request(const struct http1_out *o, char *buf, size_t size, enum http_refusal *ret_refused) {
        struct pen w = {.p = buf, .size = MIN(size, (size_t)HTTP_HEAD_MAX)};

        put_text(&w, o->method);
        puts_(&w, " ");
        put_text(&w, o->target);
        puts_(&w, " HTTP/1.1\r\n");
        put_known(&w, HTTP_F_HOST, "");
        w.n -= w.full ? 0 : 2; /* the value goes before the CRLF */
        put_text(&w, o->host);
        puts_(&w, "\r\n");
        put_fields(&w, o);
        if (o->expect_continue)
                put_known(&w, HTTP_F_EXPECT, "100-continue");
        put_framing(&w, o);
        return finish(&w, o, false, ret_refused);
}

int http1_write_response(const struct http1_out *o, char *buf, size_t size, enum http_refusal *ret_refused) {
        struct pen w = {.p = buf, .size = MIN(size, (size_t)HTTP_HEAD_MAX)};

        puts_(&w, "HTTP/1.1 ");
        put_number(&w, o->status);
        puts_(&w, " ");
        puts_(&w, http_reason_phrase(o->status));
        puts_(&w, "\r\n");
        put_fields(&w, o);
        put_framing(&w, o);
        return finish(&w, o, true, ret_refused);
}

size_t http1_chunk_head(char dst[HTTP1_CHUNK_HEAD_MAX], uint64_t n) {
        char b[16];
        size_t i = sizeof(b), k;

        do
                b[--i] = "0123456789abcdef"[n & 15];
        while ((n >>= 4) > 0);
        k = sizeof(b) - i;
        memcpy(dst, b + i, k);
        memcpy(dst + k, "\r\n", 2);
        return k + 2;
}
