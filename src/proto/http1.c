/* Reads the head of a request or response: lines to parts, each looked at once. What the fields mean together stands in
 * http1-check.c. */
#include "proto/http1-internal.h"

void http_head_clear(struct http_head *h) {
        memset(h, 0, offsetof(struct http_head, field));
}

void http1_request_begin(struct http1_reader *r) { *r = (struct http1_reader){}; }

void http1_response_begin(struct http1_reader *r, const struct http_head *request) {
        *r = (struct http1_reader){.response = true, .method = request->method_id, .websocket = request->websocket};
}

void http1_response_next(struct http1_reader *r) {
        *r = (struct http1_reader){
                .response = true, .method = r->method, .websocket = r->websocket, .interim = r->interim};
}

const struct http_field *http_find(const struct http_head *h, enum http_field_id id) {
        for (size_t i = 0; i < h->n_fields; i++)
                if (h->field[i].id == id)
                        return &h->field[i];
        return NULL;
}

/* --- Fields --- */

/* "content_length" is Content-Length to whatever makes variables of fields (RFC 3875 section 4.1.18); a name that goes
 * on behind Transfer-Encoding counts as it in http-parser. */
bool http_lookalike(const char *p, size_t n) {
        char b[32];

        if ((n > 14 && http_same(p, "content-length", 14)) || (n > 17 && http_same(p, "transfer-encoding", 17)))
                return true;
        if (n > sizeof(b) || !memchr(p, '_', n))
                return false;
        for (size_t i = 0; i < n; i++)
                b[i] = p[i] == '_' ? '-' : p[i];
        return http_field_of(b, n) != HTTP_F_OTHER;
}

enum http_refusal http_head_take(struct http_head *h, struct http_span name, struct http_span value) {
        const char *p = h->base + name.at;

        if (name.n > HTTP_NAME_MAX)
                return HTTP_NAME_LONG;
        if (h->n_fields == HTTP_FIELDS_MAX)
                return HTTP_FIELDS_MANY;
        enum http_field_id id = http_field_of(p, name.n);
        if (id == HTTP_F_OTHER && http_lookalike(p, name.n))
                return HTTP_LOOKALIKE;
        h->field[h->n_fields++] = (struct http_field){
                .name = name.at,
                .name_n = (uint16_t)name.n,
                .value = value.at,
                .value_n = value.n,
                .id = (uint8_t)id,
                .hop = id != HTTP_F_OTHER && id <= HTTP_F_LAST_HOP,
        };
        return HTTP_OK;
}

enum http_refusal http_name_check(const char *p, size_t n) {
        if (n == 0 || !http_all(p, n, HTTP_C_TOKEN))
                return HTTP_BAD_NAME;
        return n > HTTP_NAME_MAX ? HTTP_NAME_LONG : HTTP_OK;
}

static bool white(char c) { return c == ' ' || c == '\t'; }

enum http_refusal http_value_check(const char *p, size_t n) {
        if (n > 0 && (white(p[0]) || white(p[n - 1])))
                return HTTP_BAD_VALUE;
        return http_value_span(p, n) == n ? HTTP_OK : HTTP_BAD_VALUE;
}

enum http_refusal http_head_add(struct http_head *h, struct http_span name, struct http_span value) {
        enum http_refusal e = http_name_check(h->base + name.at, name.n);

        if (!e)
                e = http_value_check(h->base + value.at, value.n);
        if (!e && name.n + value.n + 2 > HTTP_LINE_MAX) /* as it would be written */
                e = HTTP_LINE_LONG;
        return e ? e : http_head_take(h, name, value);
}

/* RFC 9112 section 5: name ":" OWS value OWS */
static enum http_refusal read_field(struct http_head *h, uint32_t at, uint32_t n) {
        const char *p = h->base + at, *end = p + n, *q = p;

        while (q < end && http_is(*q, HTTP_C_TOKEN))
                q++;
        if (q == end)
                return HTTP_NO_COLON;
        if (*q != ':') {
                if (*q == '\r')
                        return HTTP_BARE_CR;
                if (!white(*q))
                        return HTTP_BAD_NAME;
                while (q < end && white(*q))
                        q++;
                return q < end && *q == ':' ? HTTP_SPACE_BEFORE_COLON : HTTP_BAD_NAME;
        }
        if (q == p)
                return HTTP_BAD_NAME;
        const char *v = q + 1;
        while (v < end && white(*v))
                v++;
        while (end > v && white(end[-1]))
                end--;
        const char *stop = v + http_value_span(v, (size_t)(end - v));
        if (stop < end)
                return *stop == '\r' ? HTTP_BARE_CR : HTTP_BAD_VALUE;
        enum http_refusal e = http_head_take(h, (struct http_span){at, (uint32_t)(q - p)},
                                             (struct http_span){(uint32_t)(v - h->base), (uint32_t)(end - v)});
        /* White space behind a value is none of it, but part of the word to some readers (http-parser: "chunked "). */
        if (!e && h->field[h->n_fields - 1].hop && end < p + n)
                return HTTP_BAD_VALUE;
        return e;
}

/* --- The first line of a request --- */

enum http_refusal http_head_method(struct http_head *h, struct http_span method) {
        const char *p = h->base + method.at;

        if (method.n == 0 || p[0] < 'A' || p[0] > 'Z' || !http_all(p, method.n, HTTP_C_METHOD))
                return HTTP_BAD_METHOD;
        if (method.n > HTTP_METHOD_MAX)
                return HTTP_METHOD_LONG;
        h->method = method;
        h->method_id = http_method_of(p, method.n);
        return HTTP_OK;
}

enum http_refusal http_host_check(const char *p, size_t n, bool port) {
        size_t i = 0;

        if (n == 0 || n > HTTP_HOST_MAX)
                return HTTP_BAD_HOST;
        if (p[0] == '[') {
                for (i = 1; i < n && http_is(p[i], HTTP_C_ADDRESS); i++)
                        ;
                if (i < 3 || i == n || p[i] != ']')
                        return HTTP_BAD_HOST;
                i++;
        } else {
                while (i < n && http_is(p[i], HTTP_C_HOST))
                        i++;
        }
        if (i == 0 || (i == n && port))
                return HTTP_BAD_HOST;
        if (i == n)
                return HTTP_OK;
        if (p[i] != ':' || n - i < 2 || n - i > 6 || !http_all(p + i + 1, n - i - 1, HTTP_C_DIGIT))
                return HTTP_BAD_HOST;
        unsigned number = 0;
        for (i++; i < n; i++)
                number = number * 10 + (unsigned)(p[i] - '0');
        return number >= 1 && number <= 65535 ? HTTP_OK : HTTP_BAD_HOST;
}

enum http_refusal http_head_host(struct http_head *h, struct http_span host) {
        enum http_refusal e = http_host_check(h->base + host.at, host.n, false);

        if (e)
                return e;
        h->host = host;
        h->has_host = true;
        return HTTP_OK;
}

/* "http://authority" and what follows: RFC 9112 section 3.2.2. User information is not read (RFC 9110 4.2.4). */
static enum http_refusal absolute_form(const char *p, size_t n) {
        size_t skip = n >= 7 && http_same(p, "http", 4) && memcmp(p + 4, "://", 3) == 0 ? 7 :
                n >= 8 && http_same(p, "https", 5) && memcmp(p + 5, "://", 3) == 0 ? 8 : 0;

        if (!skip)
                return HTTP_BAD_TARGET_FORM;
        size_t end = skip;
        while (end < n && p[end] != '/' && p[end] != '?')
                end++;
        return http_host_check(p + skip, end - skip, false);
}

enum http_refusal http_head_target(struct http_head *h, struct http_span target) {
        const char *p = h->base + target.at;

        if (target.n > HTTP_TARGET_MAX)
                return HTTP_TARGET_LONG;
        if (target.n == 0 || !http_all(p, target.n, HTTP_C_TARGET))
                return HTTP_BAD_TARGET;
        h->target = target;
        if (h->method_id == HTTP_CONNECT) {
                h->form = HTTP_FORM_AUTHORITY;
                return http_host_check(p, target.n, true);
        }
        if (p[0] == '/') {
                h->form = HTTP_FORM_ORIGIN;
                return HTTP_OK;
        }
        if (target.n == 1 && p[0] == '*') {
                h->form = HTTP_FORM_ASTERISK;
                return h->method_id == HTTP_OPTIONS ? HTTP_OK : HTTP_BAD_TARGET_FORM;
        }
        h->form = HTTP_FORM_ABSOLUTE;
        return absolute_form(p, target.n);
}

static enum http_refusal read_version(struct http_head *h, const char *p, size_t n) {
        if (n != 8 || memcmp(p, "HTTP/", 5) != 0 || !http_is(p[5], HTTP_C_DIGIT) || p[6] != '.' ||
            !http_is(p[7], HTTP_C_DIGIT))
                return HTTP_BAD_VERSION;
        if (p[5] != '1' || p[7] > '1')
                return HTTP_VERSION_UNKNOWN;
        h->version = p[7] == '1' ? HTTP_1_1 : HTTP_1_0;
        return HTTP_OK;
}

/* RFC 9112 section 3: method SP request-target SP HTTP-version */
static enum http_refusal read_request_line(struct http_head *h, const char *p, uint32_t n) {
        const char *end = p + n;
        const char *a = memchr(p, ' ', n);
        const char *b = a ? memchr(a + 1, ' ', (size_t)(end - a - 1)) : NULL;
        enum http_refusal e;

        if (memchr(p, '\r', n))
                return HTTP_BARE_CR;
        if (!b || b == a + 1)
                return HTTP_BAD_REQUEST_LINE;
        e = http_head_method(h, (struct http_span){0, (uint32_t)(a - p)});
        if (!e)
                e = read_version(h, b + 1, (size_t)(end - b - 1));
        return e ? e : http_head_target(h, (struct http_span){(uint32_t)(a + 1 - p), (uint32_t)(b - a - 1)});
}

/* RFC 9112 section 4: HTTP-version SP status-code SP [ reason-phrase ]; the second space is left out by some servers
 * where there is no phrase, which has one reading. */
static enum http_refusal read_status_line(struct http_head *h, const char *p, uint32_t n) {
        enum http_refusal e;

        if (memchr(p, '\r', n))
                return HTTP_BARE_CR;
        if (n < 12 || p[8] != ' ')
                return HTTP_BAD_STATUS_LINE;
        e = read_version(h, p, 8);
        if (e)
                return e;
        if (!http_all(p + 9, 3, HTTP_C_DIGIT) || p[9] < '1' || p[9] > '5')
                return HTTP_BAD_STATUS;
        if (n > 12 && (p[12] != ' ' || !http_all(p + 13, n - 13, HTTP_C_VALUE)))
                return HTTP_BAD_STATUS_LINE;
        h->status = (uint16_t)((p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0'));
        return HTTP_OK;
}

/* --- Lines --- */

/* Finds the line that begins at r->line. 1: *ret_n bytes and CRLF; 0: not complete; else refused. What is refused
 * depends on the bytes of the line in their order, never on how many came at once. */
static int next_line(struct http1_reader *r, const char *buf, size_t n, uint32_t *ret_n) {
        const char *p = buf + r->line;
        size_t have = n - r->line;
        size_t room = HTTP_HEAD_MAX - r->line, limit = MIN(room, HTTP_LINE_MAX + 2), look = MIN(have, limit);

        if (have == 0)
                return 0;
        if (room == 0) {
                r->refused = HTTP_HEAD_LONG;
                return -EBADMSG;
        }
        /* Said at once: neither a TLS record nor a folded field gets to send more. */
        if (r->line == 0 && !r->response && p[0] != '\r' && p[0] != '\n' && (p[0] < 'A' || p[0] > 'Z')) {
                r->refused = HTTP_BAD_METHOD;
                return -EBADMSG;
        }
        if (white(p[0])) {
                r->refused = HTTP_FOLDED;
                return -EBADMSG;
        }
        size_t from = r->scanned - r->line;
        const char *lf = look > from ? memchr(p + from, '\n', look - from) : NULL;
        if (!lf) {
                r->scanned = r->line + (uint32_t)look;
                if (look < limit)
                        return 0;
                r->refused = limit == room ? HTTP_HEAD_LONG :
                        r->line == 0 && !r->response ? HTTP_TARGET_LONG : HTTP_LINE_LONG;
                return -EBADMSG;
        }
        if (lf == p || lf[-1] != '\r') {
                r->refused = HTTP_BARE_LF;
                return -EBADMSG;
        }
        *ret_n = (uint32_t)(lf - p - 1);
        return 1;
}

int http1_read_head(struct http1_reader *r, struct http_head *h, const char *buf, size_t n) {
        if (r->refused)
                return -EBADMSG;
        if (r->done)
                return -EINVAL;
        if (r->line == 0) {
                http_head_clear(h);
                h->response = r->response;
        }
        h->base = buf;
        for (;;) {
                uint32_t at = r->line, length;
                int k = next_line(r, buf, n, &length);
                if (k <= 0)
                        return k;
                r->line = r->scanned = at + length + 2;
                if (at == 0)
                        r->refused = length == 0 ? HTTP_EMPTY_FIRST_LINE :
                                r->response ? read_status_line(h, buf, length) : read_request_line(h, buf, length);
                else if (length > 0)
                        r->refused = read_field(h, at, length);
                else
                        break;
                if (r->refused)
                        return -EBADMSG;
        }
        r->done = true;
        h->head_bytes = r->line;
        r->refused = r->response ? http1_finish_response(r, h) : http1_finish_request(h);
        return r->refused ? -EBADMSG : (int)h->head_bytes;
}
