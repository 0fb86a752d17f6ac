/* What the fields of a head mean together: where the body ends, whether the connection goes on, whether it becomes a
 * WebSocket (RFC 9112 sections 6 and 9, RFC 9110 section 7.6, RFC 6455 section 4). */
#include <strings.h>

#include "proto/http1-internal.h"

/* What was gathered in one pass over the fields. */
struct facts {
        bool close, keep_alive, upgrade_option;  /* options of Connection */
        bool proxy_close;
        bool coding;                             /* Transfer-Encoding: chunked */
        bool upgrade, upgrade_websocket;         /* an Upgrade field; it says just "websocket" */
        bool key, version_13, accept;            /* of the handshake, each once and well-formed */
        unsigned protocols;                      /* in Upgrade */
};

/* The next element of a comma-separated list, without white space around it. Empty elements are none: *ret has n 0. */
static bool next_element(struct http_text *rest, struct http_text *ret) {
        if (!rest->p)
                return false;
        const char *comma = memchr(rest->p, ',', rest->n), *end = comma ? comma : rest->p + rest->n;
        const char *p = rest->p, *e = end;
        while (p < e && (*p == ' ' || *p == '\t'))
                p++;
        while (e > p && (e[-1] == ' ' || e[-1] == '\t'))
                e--;
        *ret = (struct http_text){p, (size_t)(e - p)};
        if (comma) {
                rest->n -= (size_t)(comma + 1 - rest->p);
                rest->p = comma + 1;
        } else {
                rest->p = NULL;
        }
        return true;
}

/* RFC 9110 section 7.6.1: only fields of this connection may be named. To name these would take from the other end what
 * it decides by. */
static bool may_be_named(enum http_field_id id, bool response) {
        switch (id) {
        case HTTP_F_TRANSFER_ENCODING: /* some caches say so of their answers; it frames them all the same */
                return response;
        case HTTP_F_OTHER:
        case HTTP_F_KEEP_ALIVE:
        case HTTP_F_PROXY_CONNECTION:
        case HTTP_F_TE:
        case HTTP_F_TRAILER:
        case HTTP_F_UPGRADE:
        case HTTP_F_HTTP2_SETTINGS:
        case HTTP_F_PROXY_AUTHENTICATE:
        case HTTP_F_PROXY_AUTHORIZATION:
        case HTTP_F_PROXY_AUTHENTICATION_INFO:
                return true;
        default:
                return false;
        }
}

static void mark_named(struct http_head *h, struct http_text name) {
        for (size_t i = 0; i < h->n_fields; i++) {
                struct http_field *f = &h->field[i];
                if (f->id == HTTP_F_OTHER && f->name_n == name.n && http_same(h->base + f->name, name.p, name.n))
                        f->hop = true;
        }
}

/* The beginning of a word that matters: http-parser then misses the option behind it. */
static bool half_a_word(struct http_text e) {
        static const char *const words[] = {"close", "keep-alive", "upgrade"};

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (e.n < strlen(words[i]) && http_same(e.p, words[i], e.n))
                        return true;
        return false;
}

static enum http_refusal read_connection(struct http_head *h, struct http_text value, struct facts *f) {
        if (memchr(value.p, '\t', value.n)) /* allowed, but part of the word to http-parser */
                return HTTP_BAD_CONNECTION;
        for (struct http_text e; next_element(&value, &e);) {
                if (e.n == 0 || e.n > HTTP_NAME_MAX || !http_all(e.p, e.n, HTTP_C_TOKEN) || half_a_word(e))
                        return HTTP_BAD_CONNECTION;
                if (http_text_is(e, "close"))
                        f->close = true;
                else if (http_text_is(e, "keep-alive"))
                        f->keep_alive = true;
                else if (http_text_is(e, "upgrade"))
                        f->upgrade_option = true;
                else if (!may_be_named(http_field_of(e.p, e.n), h->response))
                        return HTTP_CONNECTION_NAMES;
                else
                        mark_named(h, e);
        }
        return f->close && f->keep_alive ? HTTP_BAD_CONNECTION : HTTP_OK;
}

/* RFC 9110 section 7.8: protocol-name [ "/" protocol-version ]. What is no WebSocket is not taken up, and dropped. */
static enum http_refusal read_upgrade(struct http_text value, struct facts *f) {
        f->upgrade = true;
        for (struct http_text e; next_element(&value, &e);) {
                const char *slash = memchr(e.p, '/', e.n);
                size_t name = slash ? (size_t)(slash - e.p) : e.n, version = slash ? e.n - name - 1 : 0;
                if (name == 0 || !http_all(e.p, name, HTTP_C_TOKEN) || (slash && version == 0) ||
                    (slash && !http_all(slash + 1, version, HTTP_C_TOKEN)))
                        return HTTP_BAD_UPGRADE;
                f->protocols++;
                if (http_text_is((struct http_text){e.p, name}, "websocket")) {
                        if (slash)
                                return HTTP_BAD_UPGRADE;
                        f->upgrade_websocket = true;
                }
        }
        return f->upgrade_websocket && f->protocols > 1 ? HTTP_BAD_UPGRADE : HTTP_OK;
}

/* A Content-Length is digits: no sign, no list, no leading zero (which some read as octal). */
static enum http_refusal read_length(struct http_head *h, struct http_text v) {
        uint64_t n = 0;

        if (h->has_length)
                return HTTP_LENGTH_TWICE;
        if (v.n == 0 || !http_all(v.p, v.n, HTTP_C_DIGIT) || (v.n > 1 && v.p[0] == '0'))
                return HTTP_BAD_LENGTH;
        for (size_t i = 0; i < v.n; i++) {
                if (n > HTTP_LENGTH_MAX / 10)
                        return HTTP_LENGTH_LARGE;
                n = n * 10 + (uint64_t)(v.p[i] - '0');
                if (n > HTTP_LENGTH_MAX)
                        return HTTP_LENGTH_LARGE;
        }
        h->has_length = true;
        h->length = n;
        return HTTP_OK;
}

/* Base64 of that many bytes, which leave `pad` signs at the end. */
static bool is_base64(struct http_text v, size_t n, size_t pad) {
        if (v.n != n)
                return false;
        for (size_t i = n - pad; i < n; i++)
                if (v.p[i] != '=')
                        return false;
        return http_all(v.p, n - pad, HTTP_C_BASE64);
}

static enum http_refusal read_handshake(enum http_field_id id, struct http_text v, struct facts *f) {
        bool *seen = id == HTTP_F_SEC_WEBSOCKET_KEY ? &f->key :
                id == HTTP_F_SEC_WEBSOCKET_VERSION ? &f->version_13 : &f->accept;
        bool good = id == HTTP_F_SEC_WEBSOCKET_KEY ? is_base64(v, 24, 2) :
                id == HTTP_F_SEC_WEBSOCKET_VERSION ? v.n == 2 && memcmp(v.p, "13", 2) == 0 : is_base64(v, 28, 1);

        if (*seen || !good)
                return HTTP_BAD_WEBSOCKET;
        *seen = true;
        return HTTP_OK;
}

static enum http_refusal read_one(struct http_head *h, const struct http_field *field, struct facts *f) {
        struct http_text v = http_field_value(h, field);

        switch (field->id) {
        case HTTP_F_HOST:
                if (h->response)
                        return HTTP_OK;
                if (h->has_host)
                        return HTTP_HOST_TWICE;
                return http_head_host(h, (struct http_span){field->value, field->value_n});
        case HTTP_F_CONTENT_LENGTH:
                return read_length(h, v);
        case HTTP_F_TRANSFER_ENCODING:
                if (f->coding)
                        return HTTP_CODING_TWICE;
                f->coding = true;
                return http_text_is(v, "chunked") ? HTTP_OK : HTTP_CODING_UNKNOWN;
        case HTTP_F_CONNECTION:
                return read_connection(h, v, f);
        case HTTP_F_PROXY_CONNECTION: { /* of old clients of proxies; some servers take it for Connection */
                struct facts p = {};
                enum http_refusal e = read_connection(h, v, &p);
                f->proxy_close |= p.close;
                return e ? e : p.upgrade_option ? HTTP_BAD_UPGRADE : HTTP_OK;
        }
        case HTTP_F_UPGRADE:
                return read_upgrade(v, f);
        case HTTP_F_EXPECT:
                if (h->response)
                        return HTTP_OK;
                if (h->expect_continue || !http_text_is(v, "100-continue"))
                        return HTTP_EXPECT_UNKNOWN;
                h->expect_continue = true;
                return HTTP_OK;
        case HTTP_F_TE:
                h->te_trailers |= http_text_is(v, "trailers");
                return HTTP_OK;
        case HTTP_F_TRAILER:
                h->has_trailer = true;
                return HTTP_OK;
        default:
                return HTTP_OK;
        }
}

/* The fields of a handshake count only where there is one: a server may list versions in a 426. */
static enum http_refusal read_handshakes(struct http_head *h, struct facts *f) {
        for (size_t i = 0; i < h->n_fields; i++) {
                enum http_field_id id = h->field[i].id;
                if (id != HTTP_F_SEC_WEBSOCKET_KEY && id != HTTP_F_SEC_WEBSOCKET_VERSION &&
                    id != HTTP_F_SEC_WEBSOCKET_ACCEPT)
                        continue;
                enum http_refusal e = read_handshake(id, http_field_value(h, &h->field[i]), f);
                if (e)
                        return e;
        }
        return HTTP_OK;
}

static enum http_refusal read_all(struct http_head *h, struct facts *f) {
        for (size_t i = 0; i < h->n_fields; i++) {
                if (h->field[i].id == HTTP_F_OTHER)
                        continue;
                enum http_refusal e = read_one(h, &h->field[i], f);
                if (e)
                        return e;
        }
        if (f->coding && h->version == HTTP_1_0)
                return HTTP_CODING_IN_1_0;
        if (f->coding && h->has_length)
                return HTTP_LENGTH_AND_CODING;
        h->keep_alive = !f->close && !f->proxy_close && (h->version == HTTP_1_1 || f->keep_alive);
        return HTTP_OK;
}

enum http_refusal http1_finish_request(struct http_head *h) {
        struct facts f = {};
        enum http_refusal e = read_all(h, &f);

        if (e)
                return e;
        if (h->version == HTTP_1_1 && !h->has_host)
                return HTTP_HOST_MISSING;
        if (h->version == HTTP_1_0) /* RFC 9110 section 10.1.1 */
                h->expect_continue = false;
        if ((h->method_id == HTTP_CONNECT && (f.coding || h->has_length)) ||
            (h->method_id == HTTP_TRACE && (f.coding || h->length > 0)))
                return HTTP_BODY_NOT_ALLOWED;

        if (f.upgrade_websocket) {
                if (!f.upgrade_option || h->version == HTTP_1_0)
                        return HTTP_BAD_UPGRADE;
                e = read_handshakes(h, &f);
                if (e)
                        return e;
                if (h->method_id != HTTP_GET || !f.key || !f.version_13 || f.accept || f.coding || h->has_length)
                        return HTTP_BAD_WEBSOCKET;
                h->websocket = true;
        }
        h->framing = f.coding ? HTTP_CHUNKED : h->has_length ? HTTP_LENGTH : HTTP_NO_BODY;
        if (h->method_id == HTTP_CONNECT)
                h->framing = HTTP_TUNNEL;
        return HTTP_OK;
}

static enum http_refusal finish_interim(struct http1_reader *r, struct http_head *h, struct facts *f) {
        if (f->coding || h->has_length)
                return HTTP_BODY_NOT_ALLOWED;
        /* The final answer is still to come: a connection that ends here is another reading. */
        if (!h->keep_alive || h->version == HTTP_1_0)
                return HTTP_BAD_CONNECTION;
        h->framing = HTTP_NO_BODY;
        if (h->status != 101)
                return ++r->interim > HTTP_INTERIM_MAX ? HTTP_INTERIM_MANY : HTTP_OK;
        if (!r->websocket)
                return HTTP_UPGRADE_UNASKED;
        if (!f->upgrade_option || !f->upgrade_websocket)
                return HTTP_BAD_UPGRADE;
        enum http_refusal e = read_handshakes(h, f);
        if (!e && (!f->accept || f->key))
                e = HTTP_BAD_WEBSOCKET;
        if (e)
                return e;
        h->websocket = true;
        h->framing = HTTP_TUNNEL;
        h->keep_alive = false;
        return HTTP_OK;
}

/* RFC 9112 section 6.3 */
enum http_refusal http1_finish_response(struct http1_reader *r, struct http_head *h) {
        struct facts f = {};
        enum http_refusal e = read_all(h, &f);

        if (e)
                return e;
        if (h->status < 200)
                return finish_interim(r, h, &f);
        if (r->method == HTTP_CONNECT && h->status < 300) {
                if (f.coding || h->has_length)
                        return HTTP_BODY_NOT_ALLOWED;
                h->framing = HTTP_TUNNEL;
                h->keep_alive = false;
        } else if (h->status == 204) { /* servers do send a length of 0 */
                if (f.coding || h->length > 0)
                        return HTTP_BODY_NOT_ALLOWED;
                h->framing = HTTP_NO_BODY;
        } else if (h->status == 304 || r->method == HTTP_HEAD) {
                h->framing = HTTP_NO_BODY;
        } else if (f.coding) {
                h->framing = HTTP_CHUNKED;
        } else if (h->has_length) {
                h->framing = HTTP_LENGTH;
        } else {
                h->framing = HTTP_CLOSE;
                h->keep_alive = false;
        }
        return HTTP_OK;
}

static bool of_the_connection(enum http_field_id id) {
        switch (id) {
        case HTTP_F_CONNECTION:
        case HTTP_F_KEEP_ALIVE:
        case HTTP_F_PROXY_CONNECTION:
        case HTTP_F_TRANSFER_ENCODING:
        case HTTP_F_UPGRADE:
        case HTTP_F_HTTP2_SETTINGS:
                return true;
        default:
                return false;
        }
}

/* RFC 9113 section 8.3.1: Host may stand beside :authority, and then says the same. */
static enum http_refusal host_beside_authority(struct http_head *h, const struct http_field *f, bool *seen) {
        if (*seen)
                return HTTP_HOST_TWICE;
        *seen = true;
        if (!h->has_host)
                return http_head_host(h, (struct http_span){f->value, f->value_n});
        if (f->value_n != h->host.n || strncasecmp(h->base + f->value, h->base + h->host.at, h->host.n) != 0)
                return HTTP_HOST_DIFFERS;
        return HTTP_OK;
}

enum http_refusal http_head_finish_h2(struct http_head *h) {
        struct facts f = {};
        bool host_seen = false;

        h->version = HTTP_2;
        h->keep_alive = true;
        for (size_t i = 0; i < h->n_fields; i++) {
                const struct http_field *field = &h->field[i];
                if (of_the_connection(field->id) ||
                    (field->id == HTTP_F_TE && !http_text_is(http_field_value(h, field), "trailers")))
                        return HTTP_CONNECTION_FIELD;
                enum http_refusal e = field->id == HTTP_F_HOST ? host_beside_authority(h, field, &host_seen) :
                                                                 read_one(h, field, &f);
                if (e)
                        return e;
        }
        if (!h->has_host)
                return HTTP_HOST_MISSING;
        return h->method_id == HTTP_TRACE && h->length > 0 ? HTTP_BODY_NOT_ALLOWED : HTTP_OK;
}
