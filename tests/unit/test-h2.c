/* HTTP/2 towards a client: requests by nghttp2's own client side, and frames that no library would send, made by hand.
 */
#include <nghttp2/nghttp2.h>
#include <stdio.h>

#include "base/str.h"
#include "svc/h2.h"
#include "tap.h"

/* --- An owner that writes down what it is told --- */

static struct {
        struct strbuf log;
        struct http_head head;  /* of the last request, with its text */
        char *text;
        struct h2_stream *last;
        bool wait;              /* does not answer by itself */
        bool keep;              /* does not take content */
        size_t length, chunk;   /* of the response */
        bool deferred;
        enum http_framing framing;
} own = {.length = 5, .chunk = 1000, .framing = HTTP_LENGTH};

static void span_add(const struct http_head *h, struct http_span s) {
        strbuf_add(&own.log, h->base + s.at, s.n);
}

static void answer(struct h2_stream *s, unsigned status) {
        static const struct http1_line more = {{"X-Own", 5}, {"Yes", 3}};
        struct http1_out o = {.status = (uint16_t)status,
                .request_method = s->head->method_id,
                .more = &more,
                .n_more = 1,
                .framing = own.framing,
                .length = own.length};

        if (o.request_method == HTTP_HEAD || status < 200) {
                o.framing = HTTP_NO_BODY;
                o.say_length = status >= 200;
        }
        check(h2_respond(s, &o, NULL) == 0);
}

static void on_request(struct h2_stream *s) {
        strbuf_puts(&own.log, "request ");
        span_add(s->head, s->head->method);
        strbuf_puts(&own.log, " ");
        span_add(s->head, s->head->target);
        strbuf_puts(&own.log, " ");
        span_add(s->head, s->head->host);
        strbuf_puts(&own.log, s->request_done ? "\n" : " body\n");
        own.head = *s->head;
        own.last = s;
        s->arg = calloc(1, sizeof(size_t));
        check(s->arg && own.head.version == HTTP_2 && own.head.https);
        if (!own.wait)
                answer(s, 200);
}
static void on_content(struct h2_stream *s, const char *p, size_t n, bool end) {
        strbuf_puts(&own.log, "content ");
        if (n < 100)
                strbuf_add(&own.log, p, n);
        else
                strbuf_printf(&own.log, "%zu", n);
        strbuf_puts(&own.log, end ? " end\n" : "\n");
        if (!own.keep)
                h2_taken(s, n);
}
static ssize_t on_pull(struct h2_stream *s, char *buf, size_t n, bool *end) {
        size_t *sent = s->arg;

        if (own.deferred)
                return -EAGAIN;
        n = MIN(n, MIN(own.chunk, own.length - *sent));
        memset(buf, 'r', n);
        *sent += n;
        *end = *sent == own.length;
        return (ssize_t)n;
}
static void on_refused(struct h2_stream *s, enum http_refusal why) {
        strbuf_printf(&own.log, "refused %s\n", http_refusal_name(why));
        s->arg = calloc(1, sizeof(size_t));
        check(s->arg);
        if (!own.wait)
                answer(s, http_refusal_status(why));
}
static void on_closed(struct h2_stream *s, bool cut) {
        strbuf_puts(&own.log, cut ? "cut\n" : "closed\n");
        if (own.last == s)
                own.last = NULL;
        free(s->arg);
}
static const struct h2_owner owner = {on_request, on_content, on_pull, on_refused, on_closed};

static void log_is(const char *expected) {
        char *s = strbuf_take(&own.log);
        check_streq(s, expected);
        free(s);
}

/* --- A client of the library --- */

static struct client {
        nghttp2_session *session;
        struct strbuf log;
        size_t data;
        const char *body;
        size_t body_n;
} client;

static int client_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
                         const uint8_t *value, size_t n, uint8_t flags, void *arg) {
        strbuf_printf(&client.log, "%s=%s ", (const char *)name, (const char *)value);
        return 0;
}
static int client_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n, void *arg) {
        client.data += n;
        return 0;
}
static int client_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg) {
        strbuf_printf(&client.log, "closed %u\n", code);
        return 0;
}
static ssize_t client_body(nghttp2_session *session, int32_t id, uint8_t *buf, size_t n, uint32_t *flags,
                           nghttp2_data_source *source, void *arg) {
        n = MIN(n, client.body_n);
        if (client.body)
                memcpy(buf, client.body, n);
        else
                memset(buf, 'c', n);
        client.body_n -= n;
        if (client.body_n == 0)
                *flags |= NGHTTP2_DATA_FLAG_EOF;
        return (ssize_t)n;
}

static struct h2 *connected(void) {
        nghttp2_session_callbacks *c;
        struct h2 *h;

        check(h2_new(&h, &owner, &own, true) == 0 && h2_arg(h) == &own);
        check(nghttp2_session_callbacks_new(&c) == 0);
        nghttp2_session_callbacks_set_on_header_callback(c, client_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, client_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(c, client_close);
        check(nghttp2_session_client_new(&client.session, c, NULL) == 0);
        nghttp2_session_callbacks_del(c);
        check(nghttp2_submit_settings(client.session, 0, NULL, 0) == 0);
        return h;
}

/* Until neither has anything to say. */
static void exchange(struct h2 *h) {
        for (bool more = true; more;) {
                const uint8_t *p;
                const char *q;
                ssize_t n;

                more = false;
                while ((n = nghttp2_session_mem_send(client.session, &p)) > 0) {
                        check(h2_read(h, (const char *)p, (size_t)n, 1) == 0);
                        more = true;
                }
                while ((n = h2_output(h, &q)) > 0) {
                        check(nghttp2_session_mem_recv(client.session, (const uint8_t *)q, (size_t)n) == n);
                        more = true;
                }
        }
}

#define NV(n, v) {(uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), sizeof(n) - 1, sizeof(v) - 1, 0}

static void client_request(const char *method, const char *path, const char *body, size_t n) {
        nghttp2_nv nv[] = {NV(":method", ""), NV(":scheme", "https"), NV(":path", ""), NV(":authority", "a.test"),
                           NV("accept", "*/*"), NV("cookie", "a=b"), NV("x-one", "1"), NV("cookie", "c=d")};
        nghttp2_data_provider content = {.read_callback = client_body};

        nv[0].value = (uint8_t *)(uintptr_t)method;
        nv[0].valuelen = strlen(method);
        nv[2].value = (uint8_t *)(uintptr_t)path;
        nv[2].valuelen = strlen(path);
        client.body = body;
        client.body_n = n;
        check(nghttp2_submit_request(client.session, NULL, nv, ELEMENTSOF(nv), n ? &content : NULL, NULL) > 0);
}
static void client_log_is(const char *expected) {
        char *s = strbuf_take(&client.log);
        check_streq(s, expected);
        free(s);
}
static void both_free(struct h2 *h) {
        h2_free(h);
        nghttp2_session_del(client.session);
        strbuf_clear(&own.log);
        strbuf_clear(&client.log);
}

TEST(get_and_post) {
        struct h2 *h = connected();
        client_request("GET", "/x?y", NULL, 0);
        exchange(h);
        log_is("request GET /x?y a.test\nclosed\n");
        client_log_is(":status=200 x-own=Yes content-length=5 closed 0\n");
        check(client.data == 5 && h2_streams(h) == 0);
        check(own.head.framing == HTTP_NO_BODY && own.head.n_fields == 3);

        client_request("HEAD", "/", NULL, 0);
        exchange(h);
        log_is("request HEAD / a.test\nclosed\n");
        client_log_is(":status=200 x-own=Yes content-length=5 closed 0\n");

        own.wait = true;
        client_request("POST", "/p", "hello", 5);
        exchange(h);
        log_is("request POST /p a.test body\ncontent hello\ncontent  end\n");
        check(own.head.framing == HTTP_STREAM && !own.head.has_length);
        answer(own.last, 103);
        answer(own.last, 201);
        exchange(h);
        log_is("closed\n");
        client_log_is(":status=103 x-own=Yes :status=201 x-own=Yes content-length=5 closed 0\n");
        check(!h2_over(h) && h2_why(h)[0] == '\0');
        both_free(h);
}

TEST(cookies_are_one) {
        struct h2 *h = connected();
        own.wait = true;
        client_request("GET", "/", NULL, 0);
        exchange(h);
        check(own.last != NULL);
        const struct http_field *f = http_find(own.last->head, HTTP_F_COOKIE);
        struct http_text v = http_field_value(own.last->head, f);
        check(v.n == 8 && memcmp(v.p, "a=b; c=d", 8) == 0);
        log_is("request GET / a.test\n");
        /* One that was not answered is cut at the end. */
        h2_free(h);
        log_is("cut\n");
        nghttp2_session_del(client.session);
}

TEST(large_both_ways) {
        struct h2 *h = connected();
        own.wait = own.keep = true;
        own.length = 3u << 20;
        own.chunk = 100000;
        client_request("POST", "/", NULL, 1u << 20);
        exchange(h);
        /* The client stops at the window until something is taken. */
        check(own.last && client.body_n == (1u << 20) - H2_STREAM_WINDOW);
        h2_taken(own.last, H2_STREAM_WINDOW);
        exchange(h);
        check(client.body_n == (1u << 20) - 2 * H2_STREAM_WINDOW);
        own.keep = false;
        h2_taken(own.last, H2_STREAM_WINDOW);
        exchange(h);
        check(client.body_n == 0 && own.last->request_done);
        own.deferred = true;
        answer(own.last, 200);
        exchange(h);
        check(client.data == 0);
        own.deferred = false;
        h2_resume(own.last);
        exchange(h);
        check(client.data == own.length && h2_streams(h) == 0);
        /* Of a stream that ends with content that nobody took, the others have the window again. */
        own.keep = true;
        for (int i = 0; i < 40; i++) {
                client_request("POST", "/", NULL, 60000);
                exchange(h);
                check(client.body_n == 0 && own.last);
                h2_reset(own.last);
                exchange(h);
        }
        both_free(h);
}

TEST(early_answer) {
        struct h2 *h = connected();
        own.keep = true;
        client_request("POST", "/", NULL, 1u << 20);
        exchange(h);
        /* The answer is complete, and the rest of the content is not sent. */
        check(client.data == 5 && client.body_n > 0 && h2_streams(h) == 0);
        client_log_is(":status=200 x-own=Yes content-length=5 closed 0\n");
        both_free(h);
}

TEST(wrong_length_of_a_response) {
        struct h2 *h = connected();
        own.wait = true;
        client_request("GET", "/", NULL, 0);
        exchange(h);
        answer(own.last, 200); /* 5 bytes, it says */
        own.length = 3;
        exchange(h);
        client_log_is(":status=200 x-own=Yes content-length=5 closed 2\n");
        log_is("request GET / a.test\ncut\n");
        own.length = 5;
        client_request("GET", "/", NULL, 0);
        exchange(h);
        struct http1_out o = {.status = 101};
        enum http_refusal why = HTTP_OK;
        check(h2_respond(own.last, &o, &why) == -EBADMSG && why == HTTP_UPGRADE_UNASKED);
        struct http1_line bad = {{"X\r\n", 3}, {"y", 1}};
        o = (struct http1_out){.status = 200, .framing = HTTP_CLOSE, .more = &bad, .n_more = 1};
        check(h2_respond(own.last, &o, &why) == -EBADMSG && why == HTTP_BAD_NAME);
        h2_reset(own.last);
        exchange(h);
        both_free(h);
}

TEST(goaway) {
        struct h2 *h = connected();
        own.wait = true;
        client_request("GET", "/", NULL, 0);
        exchange(h);
        h2_goaway(h);
        exchange(h);
        check(!h2_over(h));
        answer(own.last, 200);
        exchange(h);
        client_log_is(":status=200 x-own=Yes content-length=5 closed 0\n");
        check(h2_over(h));
        both_free(h);
}

/* --- Frames by hand --- */

static struct strbuf wire;

static void frame(unsigned type, unsigned flags, unsigned id, const void *p, size_t n) {
        const unsigned char head[9] = {(unsigned char)(n >> 16), (unsigned char)(n >> 8), (unsigned char)n,
                (unsigned char)type, (unsigned char)flags, (unsigned char)(id >> 24), (unsigned char)(id >> 16),
                (unsigned char)(id >> 8), (unsigned char)id};
        strbuf_add(&wire, head, sizeof(head));
        strbuf_add(&wire, p, n);
}

static void hpack_length(struct strbuf *b, size_t n) {
        unsigned char c = (unsigned char)MIN(n, (size_t)127);

        strbuf_add(b, &c, 1);
        for (n -= c; c == 127; n >>= 7) {
                unsigned char d = (unsigned char)((n & 127) | (n > 127 ? 128 : 0));
                strbuf_add(b, &d, 1);
                if (n <= 127)
                        break;
        }
}
/* Fields as "name\nvalue\n..."; a value may hold \1 for CR LF. */
static struct strbuf fields(const char *text) {
        struct strbuf b = {};

        while (*text) {
                strbuf_add(&b, "\0", 1);
                for (int i = 0; i < 2; i++) {
                        size_t n = strcspn(text, "\n");
                        hpack_length(&b, n);
                        for (size_t k = 0; k < n; k++)
                                strbuf_add(&b, text[k] == '\1' ? "\n" : text + k, 1);
                        text += n + (text[n] != '\0');
                }
        }
        return b;
}
static void headers(unsigned id, const char *text, bool end) {
        _cleanup_strbuf_ struct strbuf b = fields(text);
        frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | (end ? NGHTTP2_FLAG_END_STREAM : 0), id, b.data ? b.data : "",
                b.len);
}

static struct h2 *raw(void) {
        struct h2 *h;

        check(h2_new(&h, &owner, &own, true) == 0);
        strbuf_clear(&wire);
        strbuf_puts(&wire, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        frame(NGHTTP2_SETTINGS, 0, 0, "", 0);
        return h;
}
/* Sends what is there, in small pieces, and drops what comes back. */
static int go(struct h2 *h, uint64_t now) {
        int r = 0;
        const char *out;

        for (size_t at = 0; at < wire.len && r == 0; at += 100)
                r = h2_read(h, wire.data + at, MIN(wire.len - at, (size_t)100), now);
        strbuf_clear(&wire);
        for (unsigned i = 0; i < 100000 && h2_output(h, &out) > 0; i++)
                ;
        return r;
}

#define GOOD ":method\nGET\n:scheme\nhttps\n:path\n/\n:authority\na.test\n"

TEST(refused) {
        static const struct {
                const char *fields;
                enum http_refusal why;
        } t[] = {
                {GOOD, HTTP_OK},
                {GOOD "te\ntrailers\n", HTTP_OK},
                {GOOD "host\nA.test\n", HTTP_OK},
                {GOOD "x\n\xe9\n", HTTP_OK},
                {":method\nGET\n:scheme\nhttps\n:path\n/\nhost\na.test\n", HTTP_OK},
                {":method\nOPTIONS\n:scheme\nhttps\n:path\n*\n:authority\na.test\n", HTTP_OK},
                {"", HTTP_PSEUDO_MISSING},
                {":scheme\nhttps\n:path\n/\n:authority\na\n", HTTP_PSEUDO_MISSING},
                {":method\nGET\n:path\n/\n:authority\na\n", HTTP_PSEUDO_MISSING},
                {":method\nGET\n:scheme\nhttps\n:authority\na\n", HTTP_PSEUDO_MISSING},
                {":method\nGET\n:scheme\nhttps\n:path\n/\n", HTTP_HOST_MISSING},
                {GOOD ":method\nGET\n", HTTP_BAD_PSEUDO},
                {GOOD ":authority\na.test\n", HTTP_BAD_PSEUDO},
                {GOOD ":protocol\nwebsocket\n", HTTP_BAD_PSEUDO},
                {GOOD ":x\ny\n", HTTP_BAD_PSEUDO},
                {"x\ny\n" GOOD, HTTP_BAD_PSEUDO},
                {":method\nget\n:scheme\nhttps\n:path\n/\n:authority\na\n", HTTP_BAD_METHOD},
                {":method\n\n:scheme\nhttps\n:path\n/\n:authority\na\n", HTTP_BAD_METHOD},
                {":method\nG T\n:scheme\nhttps\n:path\n/\n:authority\na\n", HTTP_BAD_METHOD},
                {":method\nCONNECT\n:authority\na:443\n", HTTP_CONNECT_NOT_HERE},
                {":method\nGET\n:scheme\nhttp\n:path\n/\n:authority\na\n", HTTP_SCHEME_DIFFERS},
                {":method\nGET\n:scheme\nHTTPS\n:path\n/\n:authority\na\n", HTTP_SCHEME_DIFFERS},
                {":method\nGET\n:scheme\nhttps\n:path\n\n:authority\na\n", HTTP_BAD_TARGET},
                {":method\nGET\n:scheme\nhttps\n:path\na\n:authority\na\n", HTTP_BAD_TARGET_FORM},
                {":method\nGET\n:scheme\nhttps\n:path\nhttps://a/\n:authority\na\n", HTTP_BAD_TARGET_FORM},
                {":method\nGET\n:scheme\nhttps\n:path\n/ HTTP/1.1\1x: y\n:authority\na\n", HTTP_BAD_TARGET},
                {":method\nGET\n:scheme\nhttps\n:path\n/#\n:authority\na\n", HTTP_BAD_TARGET},
                {":method\nGET\n:scheme\nhttps\n:path\n/\n:authority\nu@a\n", HTTP_BAD_HOST},
                {":method\nGET\n:scheme\nhttps\n:path\n/\n:authority\n\n", HTTP_BAD_HOST},
                {GOOD "host\nb.test\n", HTTP_HOST_DIFFERS},
                {GOOD "host\na.test\nhost\na.test\n", HTTP_HOST_TWICE},
                {":method\nGET\n:scheme\nhttps\n:path\n/\nhost\na.test\nhost\nb.test\n", HTTP_HOST_TWICE},
                {GOOD "connection\nclose\n", HTTP_CONNECTION_FIELD},
                {GOOD "transfer-encoding\nchunked\n", HTTP_CONNECTION_FIELD},
                {GOOD "upgrade\nh2c\n", HTTP_CONNECTION_FIELD},
                {GOOD "keep-alive\n5\n", HTTP_CONNECTION_FIELD},
                {GOOD "proxy-connection\nx\n", HTTP_CONNECTION_FIELD},
                {GOOD "http2-settings\nx\n", HTTP_CONNECTION_FIELD},
                {GOOD "te\ngzip\n", HTTP_CONNECTION_FIELD},
                {GOOD "X-Up\n1\n", HTTP_NAME_UPPER_CASE},
                {GOOD "x y\n1\n", HTTP_BAD_NAME},
                {GOOD "x\1y\n1\n", HTTP_BAD_NAME},
                {GOOD "x:\n1\n", HTTP_BAD_NAME},
                {GOOD "\nv\n", HTTP_BAD_NAME},
                {GOOD "x\na\1b\n", HTTP_BAD_VALUE},
                {GOOD "x\n a\n", HTTP_BAD_VALUE},
                {GOOD "x\na\t\n", HTTP_BAD_VALUE},
                {GOOD "cookie\na\1b\n", HTTP_BAD_VALUE},
                {GOOD "content_length\n5\n", HTTP_LOOKALIKE},
                {GOOD "content-length\n5, 5\n", HTTP_BAD_LENGTH},
                {GOOD "content-length\n0\ncontent-length\n0\n", HTTP_LENGTH_TWICE},
                {GOOD "content-length\n5\n", HTTP_LENGTH_DIFFERS},
                {GOOD "expect\nx\n", HTTP_EXPECT_UNKNOWN},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                struct h2 *h = raw();
                headers(1, t[i].fields, true);
                headers(3, GOOD, true); /* one that is refused harms no other */
                check(go(h, 1) == 0);
                char *log = strbuf_take(&own.log), expected[100];
                snprintf(expected, sizeof(expected), "refused %s\n", http_refusal_name(t[i].why));
                if (t[i].why ? !strstr(log, expected) : strstr(log, "refused") != NULL)
                        printf("# %zu: %s, not %s", i, log, expected);
                check(t[i].why ? strstr(log, expected) != NULL : strstr(log, "refused") == NULL);
                check(strstr(log, "request GET / a.test\n") && h2_streams(h) == 0);
                free(log);
                h2_free(h);
        }
}

TEST(content_and_its_length) {
        struct h2 *h = raw();
        headers(1, ":method\nPOST\n:scheme\nhttps\n:path\n/\n:authority\na\ncontent-length\n5\n", false);
        frame(NGHTTP2_DATA, 0, 1, "hel", 3);
        frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, "lo", 2);
        check(go(h, 1) == 0);
        log_is("request POST / a body\ncontent hel\ncontent lo\ncontent  end\nclosed\n");
        own.wait = true;
        headers(3, ":method\nPOST\n:scheme\nhttps\n:path\n/\n:authority\na\ncontent-length\n5\n", false);
        frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 3, "hel", 3);
        headers(5, ":method\nPOST\n:scheme\nhttps\n:path\n/\n:authority\na\ncontent-length\n5\n", false);
        frame(NGHTTP2_DATA, 0, 5, "hello!", 6);
        headers(7, ":method\nPOST\n:scheme\nhttps\n:path\n/\n:authority\na\n", false);
        headers(7, "x-sum\n1\n", true);
        check(go(h, 1) == 0);
        log_is("request POST / a body\ncontent hel\nrequest POST / a body\nrequest POST / a body\ncontent  "
               "end\ncut\ncut\n");
        check(h2_streams(h) == 1);
        h2_free(h);
        strbuf_clear(&own.log);
        /* Trailers that may not be. */
        static const char *const bad[] = {
                "content-length\n1\n", ":path\n/\n", "x y\n1\n", "x\na\1b\n", "X\ny\n", "transfer-encoding\nchunked\n"};
        for (size_t i = 0; i <= ELEMENTSOF(bad); i++) {
                h = raw();
                headers(1, ":method\nPOST\n:scheme\nhttps\n:path\n/\n:authority\na\n", false);
                headers(1, i < ELEMENTSOF(bad) ? bad[i] : "x\ny\n", i < ELEMENTSOF(bad));
                check(go(h, 1) == 0);
                log_is("request POST / a body\ncut\n");
                h2_free(h);
        }
}

TEST(limits) {
        /* Fields: refused with a status while they can be dropped, the end of the connection beyond. */
        for (unsigned more = 0; more < 2; more++) {
                struct h2 *h = raw();
                _cleanup_strbuf_ struct strbuf b = fields(GOOD);
                for (unsigned i = 0; i < 5; i++) {
                        _cleanup_strbuf_ struct strbuf text = {};
                        strbuf_printf(&text, "x%u\n", i);
                        for (unsigned k = 0; k < 15000; k++)
                                strbuf_puts(&text, "v");
                        _cleanup_strbuf_ struct strbuf one = fields(text.data);
                        strbuf_add(&b, one.data, one.len);
                }
                /* A table entry of 4,000 bytes, one byte each time it is named. */
                _cleanup_strbuf_ struct strbuf text = {};
                strbuf_puts(&text, "y\n");
                for (unsigned k = 0; k < 4000; k++)
                        strbuf_puts(&text, "v");
                _cleanup_strbuf_ struct strbuf one = fields(text.data);
                one.data[0] = 0x40;
                strbuf_add(&b, one.data, one.len);
                for (unsigned i = 0; more && i < 100; i++)
                        strbuf_add(&b, "\xbe", 1);
                for (size_t at = 0; at < b.len; at += 16000)
                        frame(at == 0 ? NGHTTP2_HEADERS : NGHTTP2_CONTINUATION,
                                (at == 0 ? NGHTTP2_FLAG_END_STREAM : 0) |
                                        (at + 16000 >= b.len ? NGHTTP2_FLAG_END_HEADERS : 0),
                                1, b.data + at, MIN(b.len - at, (size_t)16000));
                headers(3, GOOD, true);
                check(go(h, 1) == (more ? -EPROTO : 0));
                if (more)
                        check_streq(h2_why(h), "the fields of a request are too many");
                log_is(more ? "" : "refused head-long\nrequest GET / a.test\nclosed\nclosed\n");
                h2_free(h);
        }
        /* Many of them. */
        for (unsigned more = 0; more < 2; more++) {
                struct h2 *h = raw();
                _cleanup_strbuf_ struct strbuf text = {};
                strbuf_puts(&text, GOOD);
                for (unsigned i = 0; i < HTTP_FIELDS_MAX - 8 + more; i++)
                        strbuf_printf(&text, "x%u\ny\n", i);
                headers(1, text.data, true);
                check(go(h, 1) == 0);
                log_is(more ? "refused fields-many\nclosed\n" : "request GET / a.test\nclosed\n");
                h2_free(h);
        }
        /* CONTINUATION without an end. */
        struct h2 *h = raw();
        frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, "", 0);
        for (unsigned i = 0; i < H2_CONTINUATIONS_MAX + 2; i++)
                frame(NGHTTP2_CONTINUATION, 0, 1, "", 0);
        check(go(h, 1) == -EPROTO && h2_why(h)[0]);
        h2_free(h);
        /* Streams at once. */
        h = raw();
        own.wait = true;
        for (unsigned i = 0; i < H2_STREAMS_MAX + 10; i++)
                headers(2 * i + 1, GOOD, true);
        check(go(h, 1) == 0 && h2_streams(h) == H2_STREAMS_MAX);
        h2_free(h);
        strbuf_clear(&own.log);
        own.wait = false;
        /* Frames that carry nothing. */
        for (unsigned more = 0; more < 2; more++) {
                h = raw();
                for (unsigned i = 0; i + 2 < H2_IDLE_FRAMES_MAX + 2 * more; i++)
                        frame(NGHTTP2_WINDOW_UPDATE, 0, 0, "\0\0\0\1", 4);
                check(go(h, 1) == (more ? -EPROTO : 0));
                headers(1, GOOD, true);
                check(go(h, 1) == (more ? -EPROTO : 0));
                h2_free(h);
                strbuf_clear(&own.log);
        }
        /* A PING now and then is no flood. */
        h = raw();
        for (unsigned i = 0; i < 2 * H2_IDLE_FRAMES_MAX; i++) {
                frame(NGHTTP2_PING, 0, 0, "12345678", 8);
                check(go(h, 1 + (uint64_t)i * 110) == 0);
        }
        h2_free(h);
        /* PING without reading the answers. */
        h = raw();
        for (unsigned i = 0; i < H2_ACKS_MAX + 5; i++)
                frame(NGHTTP2_PING, 0, 0, "12345678", 8);
        check(go(h, 1) == -EPROTO);
        h2_free(h);
}

/* Streams that are opened only to be reset (CVE-2023-44487), and such as make us reset them (CVE-2025-8671). */
/* What has no end is known by its age. */
TEST(head_since) {
        _cleanup_strbuf_ struct strbuf good = fields(GOOD);
        struct h2 *h = raw();

        check(go(h, 5) == 0 && h2_head_since(h) == 0);
        frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, good.data, 10);
        check(go(h, 7) == 0 && h2_head_since(h) == 7);
        frame(NGHTTP2_CONTINUATION, 0, 1, good.data + 10, 5); /* a little more of it makes it no younger */
        check(go(h, 9) == 0 && h2_head_since(h) == 7 && h2_streams(h) == 1);
        frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 1, good.data + 15, good.len - 15);
        check(go(h, 11) == 0 && h2_head_since(h) == 0);
        log_is("request GET / a.test\nclosed\n");
        /* Half a frame. */
        frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 3, good.data, good.len);
        wire.len -= 3;
        check(go(h, 13) == 0 && h2_head_since(h) == 13);
        strbuf_add(&wire, good.data + good.len - 3, 3);
        check(go(h, 15) == 0 && h2_head_since(h) == 0);
        log_is("request GET / a.test\nclosed\n");
        /* Trailers. */
        headers(5, ":method\nPOST\n:scheme\nhttps\n:path\n/\n:authority\na.test\n", false);
        frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 5, "", 0);
        check(go(h, 17) == 0 && h2_head_since(h) == 17);
        h2_free(h);
        log_is("request POST / a.test body\ncut\n");
}

TEST(resets) {
        for (unsigned kind = 0; kind < 2; kind++) {
                struct h2 *h = raw();
                unsigned id = 1, ended = 0;
                own.wait = true;
                for (; ended <= H2_RESETS_MAX; ended++, id += 2) {
                        headers(id, GOOD, kind == 0);
                        if (kind == 0)
                                frame(NGHTTP2_RST_STREAM, 0, id, "\0\0\0\10", 4);
                        else
                                frame(NGHTTP2_WINDOW_UPDATE, 0, id, "\x7f\xff\xff\xff", 4);
                        if (go(h, 1) < 0)
                                break;
                }
                /* The 201st; our own reset is noticed when it is sent, after the bytes that made it. */
                headers(id + 2, GOOD, true);
                check(ended >= H2_RESETS_MAX - 1 && go(h, 1) == -EPROTO);
                check_streq(h2_why(h), "too many streams end in a reset");
                h2_free(h);
                strbuf_clear(&own.log);
                /* Slowly, it may go on. */
                h = raw();
                uint64_t now = 1;
                id = 1;
                for (unsigned i = 0; i < 3 * H2_RESETS_MAX; i++, id += 2, now += 40) {
                        headers(id, GOOD, kind == 0);
                        if (kind == 0)
                                frame(NGHTTP2_RST_STREAM, 0, id, "\0\0\0\10", 4);
                        else
                                frame(NGHTTP2_WINDOW_UPDATE, 0, id, "\x7f\xff\xff\xff", 4);
                        check(go(h, now) == 0);
                }
                h2_free(h);
                strbuf_clear(&own.log);
        }
        /* What the owner resets is not held against the client. */
        struct h2 *h = raw();
        for (unsigned i = 0; i < 2 * H2_RESETS_MAX; i++) {
                headers(2 * i + 1, GOOD, true);
                check(go(h, 1) == 0 && own.last);
                h2_reset(own.last);
                check(go(h, 1) == 0 && !own.last);
        }
        h2_free(h);
        strbuf_clear(&own.log);
}

TEST(protocol_errors) {
        /* Frames against the protocol end it with a GOAWAY that says so; what the client ends is no error. */
        struct h2 *h = raw();
        frame(NGHTTP2_WINDOW_UPDATE, 0, 0, "\x7f\xff\xff\xff", 4);
        (void)go(h, 1);
        check(h2_over(h));
        check_streq(h2_why(h), "FLOW_CONTROL_ERROR");
        check(h2_read(h, "x", 1, 1) == -EPROTO);
        h2_free(h);
        h = raw();
        headers(2, GOOD, true);
        (void)go(h, 1);
        check(h2_over(h));
        check_streq(h2_why(h), "PROTOCOL_ERROR");
        h2_free(h);
        h = raw();
        headers(1, GOOD, true);
        frame(NGHTTP2_GOAWAY, 0, 0, "\0\0\0\0\0\0\0\0", 8);
        check(go(h, 1) == 0 && h2_over(h));
        check_streq(h2_why(h), "");
        log_is("request GET / a.test\nclosed\n");
        h2_free(h);
}

TEST(not_http2) {
        struct h2 *h;
        check(h2_new(&h, &owner, &own, true) == 0);
        check(h2_read(h, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27, 1) == -EPROTO && h2_why(h)[0]);
        const char *out;
        ssize_t n;
        while ((n = h2_output(h, &out)) > 0)
                ;
        check(n == -EPROTO && h2_over(h));
        check(h2_read(h, "x", 1, 1) == -EPROTO);
        h2_free(h);
        h2_free(NULL);
}

TAP_MAIN
