/* Heads of HTTP/2: the fields of a request to struct http_head (RFC 9113 sections 8.2 and 8.3), a response to fields.
 */
#include <stdio.h>

#include "svc/h2-internal.h"

enum { METHOD, SCHEME, PATH, AUTHORITY };

/* --- A request --- */

/* At most what h2_head_field lets through. */
static struct http_span keep(struct h2_entry *e, const char *p, size_t n) {
        struct http_span span = {(uint32_t)e->text.len, (uint32_t)n};

        strbuf_add(&e->text, p, n);
        return span;
}

/* RFC 9113 section 8.3: each once, before the others, and no others: :protocol (RFC 8441) is not offered. */
static enum http_refusal pseudo_field(
        struct h2_entry *e, const char *name, size_t name_n, const char *value, size_t n) {
        static const char *const names[] = {
                [METHOD] = ":method", [SCHEME] = ":scheme", [PATH] = ":path", [AUTHORITY] = ":authority"};

        if (e->regular)
                return HTTP_BAD_PSEUDO;
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (name_n == strlen(names[i]) && memcmp(name, names[i], name_n) == 0) {
                        if (e->has_pseudo[i])
                                return HTTP_BAD_PSEUDO;
                        e->has_pseudo[i] = true;
                        e->pseudo[i] = keep(e, value, n);
                        return HTTP_OK;
                }
        return HTTP_BAD_PSEUDO;
}

/* Clients send cookies one by one, which makes them smaller; to others they are one field. */
static enum http_refusal cookie_crumb(struct h2_entry *e, const char *value, size_t n) {
        if (!nghttp2_check_header_value_rfc9113((const uint8_t *)value, n))
                return HTTP_BAD_VALUE;
        if (e->cookie.len + n + 16 > HTTP_LINE_MAX)
                return HTTP_LINE_LONG;
        if (e->cookie.len > 0 && n > 0)
                strbuf_puts(&e->cookie, "; ");
        strbuf_add(&e->cookie, value, n);
        return HTTP_OK;
}

static enum http_refusal add(struct h2_entry *e, const char *name, size_t name_n, const char *value, size_t n) {
        struct http_span a = keep(e, name, name_n), b = keep(e, value, n);

        if (e->text.failed)
                return HTTP_HEAD_LONG;
        e->head.base = e->text.data;
        return http_head_add(&e->head, a, b);
}

/* Behind the content only the form is looked at, and what must not stand there; they are dropped as those of HTTP/1. */
static enum http_refusal trailer(const char *name, size_t name_n, const char *value, size_t n) {
        _cleanup_strbuf_ struct strbuf text = {};
        struct http_head head;

        strbuf_add(&text, name, name_n);
        strbuf_add(&text, value, n);
        if (text.failed)
                return HTTP_TRAILER_LONG;
        http_head_clear(&head);
        head.base = text.data;
        enum http_refusal r = http_head_add(&head, (struct http_span){0, (uint32_t)name_n},
                                            (struct http_span){(uint32_t)name_n, (uint32_t)n});
        return !r && head.field[0].hop ? HTTP_BAD_TRAILER : r;
}

static enum http_refusal one_field(struct h2_entry *e, const char *name, size_t name_n, const char *value, size_t n) {
        for (size_t i = 0; i < name_n; i++)
                if (name[i] >= 'A' && name[i] <= 'Z')
                        return HTTP_NAME_UPPER_CASE;
        if (e->trailers)
                return name_n > 0 && name[0] == ':' ? HTTP_BAD_PSEUDO : trailer(name, name_n, value, n);
        if (name_n > 0 && name[0] == ':')
                return pseudo_field(e, name, name_n, value, n);
        e->regular = true;
        if (name_n == 6 && memcmp(name, "cookie", 6) == 0)
                return cookie_crumb(e, value, n);
        return add(e, name, name_n, value, n);
}

bool h2_head_field(struct h2_entry *e, const char *name, size_t name_n, const char *value, size_t n) {
        e->field_bytes += name_n + n + strlen(": \r\n");
        if (e->field_bytes > H2_FIELDS_FATAL)
                return false;
        if (e->refused)
                return true; /* what follows is read for HPACK's sake only */
        /* With a first line and Host it is to fit into a head of HTTP/1. */
        if (e->field_bytes > (e->trailers ? HTTP_TRAILER_MAX : HTTP_HEAD_MAX - 1024))
                e->refused = e->trailers ? HTTP_TRAILER_LONG : HTTP_HEAD_LONG;
        else
                e->refused = one_field(e, name, name_n, value, n);
        return true;
}

static enum http_refusal finish(struct h2_entry *e, bool end) {
        struct http_head *h = &e->head;
        const char *scheme = e->s.h2->tls ? "https" : "http";
        enum http_refusal r;

        if (e->cookie.len > 0) {
                r = add(e, "cookie", 6, e->cookie.data, e->cookie.len);
                if (r)
                        return r;
        }
        if (e->text.failed)
                return HTTP_HEAD_LONG;
        h->base = e->text.data ? e->text.data : "";
        if (!e->has_pseudo[METHOD])
                return HTTP_PSEUDO_MISSING;
        r = http_head_method(h, e->pseudo[METHOD]);
        if (r)
                return r;
        if (h->method_id == HTTP_CONNECT)
                return HTTP_CONNECT_NOT_HERE;
        if (!e->has_pseudo[SCHEME] || !e->has_pseudo[PATH])
                return HTTP_PSEUDO_MISSING;
        r = http_head_target(h, e->pseudo[PATH]);
        if (!r && h->form == HTTP_FORM_ABSOLUTE)
                r = HTTP_BAD_TARGET_FORM;
        if (!r && e->has_pseudo[AUTHORITY])
                r = http_head_host(h, e->pseudo[AUTHORITY]);
        if (r)
                return r;
        if (e->pseudo[SCHEME].n != strlen(scheme) ||
            memcmp(h->base + e->pseudo[SCHEME].at, scheme, e->pseudo[SCHEME].n) != 0)
                return HTTP_SCHEME_DIFFERS;
        h->https = e->s.h2->tls;
        /* Room for what is added when it is written: Host, what frames it, a credential. */
        if (h->n_fields > HTTP_FIELDS_MAX - 8)
                return HTTP_FIELDS_MANY;
        r = http_head_finish_h2(h);
        if (!r && end && h->length > 0)
                r = HTTP_LENGTH_DIFFERS;
        h->framing = end ? HTTP_NO_BODY : HTTP_STREAM;
        h->head_bytes = e->field_bytes;
        return r;
}

void h2_head_finish(struct h2_entry *e, bool end) {
        if (!e->refused)
                e->refused = finish(e, end);
        e->head.base = e->text.data ? e->text.data : "";
        e->s.head = &e->head;
        strbuf_clear(&e->cookie);
}

/* --- A response --- */

static nghttp2_nv pair(const char *name, size_t name_n, const char *value, size_t n) {
        return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, name_n, n, NGHTTP2_NV_FLAG_NONE};
}

int h2_head_respond(struct h2_entry *e, const struct http1_out *o, nghttp2_data_provider *content,
                    enum http_refusal *ret_refused) {
        struct h2 *h2 = e->s.h2;
        struct http_head head, request = {.method_id = o->request_method};
        struct http1_reader r;
        nghttp2_nv nv[HTTP_FIELDS_MAX + 1];
        char status[8];
        size_t k = 0;

        if (!h2->line)
                h2->line = malloc(HTTP_HEAD_MAX);
        if (!h2->line)
                return -ENOMEM;
        int n = http1_write_response(o, h2->line, HTTP_HEAD_MAX, ret_refused);
        if (n < 0)
                return n == -ENOBUFS ? -EBADMSG : n;
        http1_response_begin(&r, &request);
        n = http1_read_head(&r, &head, h2->line, (size_t)n);
        if (n <= 0)
                return -EBADMSG;
        snprintf(status, sizeof(status), "%03u", head.status % 1000u);
        nv[k++] = pair(":status", 7, status, 3);
        for (size_t i = 0; i < head.n_fields; i++) {
                const struct http_field *f = &head.field[i];
                if (f->hop && f->id != HTTP_F_CONTENT_LENGTH)
                        continue;
                char *name = h2->line + f->name;
                for (size_t j = 0; j < f->name_n; j++)
                        if (name[j] >= 'A' && name[j] <= 'Z')
                                name[j] = (char)(name[j] | 0x20);
                nv[k++] = pair(name, f->name_n, h2->line + f->value, f->value_n);
        }
        int rc = head.status < 200 ?
                nghttp2_submit_headers(h2->session, NGHTTP2_FLAG_NONE, e->s.id, NULL, nv, k, NULL) :
                nghttp2_submit_response(h2->session, e->s.id, nv, k, content);
        return rc == 0 ? 0 : rc == NGHTTP2_ERR_NOMEM ? -ENOMEM : -EINVAL;
}
