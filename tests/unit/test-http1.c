/* The HTTP/1 reader and writer: what is accepted and how it is read, what is refused and why, each limit at its edge,
 * and what is written. Pieces and round trips: tests/fuzz/fuzz-http1.c; other readers:
 * tests/integration/http1-differential. */
#include <stdio.h>

#include "base/str.h"
#include "proto/http1-internal.h"
#include "tap.h"

static struct http_head head;
static enum http_refusal why;

static int request_n(const char *p, size_t n) {
        struct http1_reader r;

        http1_request_begin(&r);
        int k = http1_read_head(&r, &head, p, n);
        why = r.refused;
        return k;
}
static int request(const char *s) { return request_n(s, strlen(s)); }

static int response_to(enum http_method m, bool websocket, const char *s) {
        struct http1_reader r;
        struct http_head q = {.method_id = m, .websocket = websocket};

        http1_response_begin(&r, &q);
        int k = http1_read_head(&r, &head, s, strlen(s));
        why = r.refused;
        return k;
}

static bool is(struct http_span s, const char *text) {
        return s.n == strlen(text) && memcmp(head.base + s.at, text, s.n) == 0;
}
static bool value_is(enum http_field_id id, const char *text) {
        const struct http_field *f = http_find(&head, id);
        return f && f->value_n == strlen(text) && memcmp(head.base + f->value, text, f->value_n) == 0;
}

#define check_refused(got, text, expected)                                                                             \
        do {                                                                                                           \
                if ((got) != -EBADMSG || why != (expected)) {                                                          \
                        char shown[300];                                                                               \
                        str_visible(shown, sizeof(shown), text);                                                       \
                        printf("# %s: %d, %s, not %s\n", shown, got, http_refusal_name(why),                           \
                                http_refusal_name(expected));                                                          \
                        check(false);                                                                                  \
                }                                                                                                      \
        } while (0)

TEST(typical) {
        static const char s[] =
                "POST /a/b?c=d HTTP/1.1\r\nhost: api.a.test:8443\r\nUser-Agent:curl/7.88\r\nX-Own:  one\ttwo \t\r\n"
                "Empty:\r\nContent-Length: 12\r\nCookie: a=b\r\ncookie: c=d\r\n\r\nhello";
        check(request(s) == (int)strlen(s) - 5);
        check(head.version == HTTP_1_1 && head.method_id == HTTP_POST && is(head.method, "POST"));
        check(head.form == HTTP_FORM_ORIGIN && is(head.target, "/a/b?c=d"));
        check(head.has_host && is(head.host, "api.a.test:8443"));
        check(head.framing == HTTP_LENGTH && head.has_length && head.length == 12 && head.keep_alive);
        check(!head.websocket && !head.expect_continue && head.n_fields == 7);
        check(head.head_bytes == strlen(s) - 5);
        check(value_is(HTTP_F_USER_AGENT, "curl/7.88") && value_is(HTTP_F_COOKIE, "a=b"));
        check(head.field[2].id == HTTP_F_OTHER && head.field[2].value_n == 7 && head.field[3].value_n == 0);
        check(http_field_name(&head, &head.field[2]).n == 5 && http_field_value(&head, &head.field[2]).p[3] == '\t');
        check(head.field[0].hop && head.field[4].hop && !head.field[1].hop && !head.field[5].hop);
        check(!http_find(&head, HTTP_F_EXPECT));
}

TEST(forms) {
        check(request("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n") > 0 && head.form == HTTP_FORM_ASTERISK);
        check(request("GET http://A.test:80/x HTTP/1.1\r\nHost: a\r\n\r\n") > 0 && head.form == HTTP_FORM_ABSOLUTE);
        check(request("GET HTTPS://a.test?x HTTP/1.1\r\nHost: a\r\n\r\n") > 0 && head.form == HTTP_FORM_ABSOLUTE);
        check(request("CONNECT a.test:443 HTTP/1.1\r\nHost: a\r\n\r\n") > 0 && head.form == HTTP_FORM_AUTHORITY);
        check(head.framing == HTTP_TUNNEL);
        check(request("CONNECT [::1]:443 HTTP/1.1\r\nHost: a\r\n\r\n") > 0);
        check(request("GET //x/../%2e HTTP/1.1\r\nHost: a\r\n\r\n") > 0 && is(head.target, "//x/../%2e"));
        check(request("LIST / HTTP/1.1\r\nHost: a\r\n\r\n") > 0 && head.method_id == HTTP_OTHER_METHOD &&
                is(head.method, "LIST"));
        check(request("M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n") > 0);
}

/* The first line, then "Host: a" and the end. */
TEST(refused_first_lines) {
        static const struct {
                const char *line;
                enum http_refusal why;
        } t[] = {
                {"GET /", HTTP_BAD_REQUEST_LINE},
                {"GET  / HTTP/1.1", HTTP_BAD_REQUEST_LINE},
                {"GET", HTTP_BAD_REQUEST_LINE},
                {"GET\t/ HTTP/1.1", HTTP_BAD_REQUEST_LINE},
                {"GET /  HTTP/1.1", HTTP_BAD_VERSION},
                {"GET / HTTP/1.1 ", HTTP_BAD_VERSION},
                {"GET / ", HTTP_BAD_VERSION},
                {"GET /a b HTTP/1.1", HTTP_BAD_VERSION},
                {"GET / http/1.1", HTTP_BAD_VERSION},
                {"GET / HTTP/1.10", HTTP_BAD_VERSION},
                {"GET / HTTP/1.", HTTP_BAD_VERSION},
                {"GET / HTTP/x.1", HTTP_BAD_VERSION},
                {"GET / HTTP/1.2", HTTP_VERSION_UNKNOWN},
                {"GET / HTTP/0.9", HTTP_VERSION_UNKNOWN},
                {"PRI * HTTP/2.0", HTTP_VERSION_UNKNOWN},
                {"get / HTTP/1.1", HTTP_BAD_METHOD},
                {"GeT / HTTP/1.1", HTTP_BAD_METHOD},
                {"G@T / HTTP/1.1", HTTP_BAD_METHOD},
                {"1GET / HTTP/1.1", HTTP_BAD_METHOD},
                {"\x16\x03\x01", HTTP_BAD_METHOD},
                {"/ HTTP/1.1", HTTP_BAD_METHOD},
                {"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1", HTTP_METHOD_LONG},
                {"GET /#f HTTP/1.1", HTTP_BAD_TARGET},
                {"GET /\x80 HTTP/1.1", HTTP_BAD_TARGET},
                {"GET /\x7f HTTP/1.1", HTTP_BAD_TARGET},
                {"GET /\x01 HTTP/1.1", HTTP_BAD_TARGET},
                {"GET /\t HTTP/1.1", HTTP_BAD_TARGET},
                {"GET * HTTP/1.1", HTTP_BAD_TARGET_FORM},
                {"GET x HTTP/1.1", HTTP_BAD_TARGET_FORM},
                {"GET a.test:443 HTTP/1.1", HTTP_BAD_TARGET_FORM},
                {"GET ftp://a/ HTTP/1.1", HTTP_BAD_TARGET_FORM},
                {"GET http:/a HTTP/1.1", HTTP_BAD_TARGET_FORM},
                {"GET http:// HTTP/1.1", HTTP_BAD_HOST},
                {"GET http://u@a.test/ HTTP/1.1", HTTP_BAD_HOST},
                {"GET http:///x HTTP/1.1", HTTP_BAD_HOST},
                {"GET http://a\\@b/ HTTP/1.1", HTTP_BAD_HOST},
                {"GET http://a:99999/ HTTP/1.1", HTTP_BAD_HOST},
                {"CONNECT / HTTP/1.1", HTTP_BAD_HOST},
                {"CONNECT a.test HTTP/1.1", HTTP_BAD_HOST},
                {"CONNECT a: HTTP/1.1", HTTP_BAD_HOST},
                {"CONNECT http://a:443 HTTP/1.1", HTTP_BAD_HOST},
                {"CONNECT a:443/ HTTP/1.1", HTTP_BAD_HOST},
                {"", HTTP_EMPTY_FIRST_LINE},
                {" GET / HTTP/1.1", HTTP_BAD_METHOD},
                {"GET /\r HTTP/1.1", HTTP_BARE_CR},
                {"GET / HTTP/1.1\r", HTTP_BARE_CR},
                {"GET / HTTP/1.1\nX: y", HTTP_BARE_LF},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                char *s = str_printf("%s\r\nHost: a\r\n\r\n", t[i].line);
                int k = request(s);
                check_refused(k, t[i].line, t[i].why);
                free(s);
        }
        int k = request_n("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 29);
        check_refused(k, "a NUL", HTTP_BAD_TARGET);
}

/* What stands behind the request line of "POST / HTTP/1.1" and "Host: a". */
TEST(refused_fields) {
        static const struct {
                const char *fields;
                enum http_refusal why;
        } t[] = {
                {"X", HTTP_NO_COLON},
                {"X : y", HTTP_SPACE_BEFORE_COLON},
                {"X\t: y", HTTP_SPACE_BEFORE_COLON},
                {": y", HTTP_BAD_NAME},
                {"X(: y", HTTP_BAD_NAME},
                {"X y: z", HTTP_BAD_NAME},
                {"\xe9: y", HTTP_BAD_NAME},
                {"X: y\r\n z", HTTP_FOLDED},
                {" X: y", HTTP_FOLDED},
                {"\tX: y", HTTP_FOLDED},
                {"X: y\nZ: a", HTTP_BARE_LF},
                {"X: y\rZ: a", HTTP_BARE_CR},
                {"X\r: y", HTTP_BARE_CR},
                {"X: y\r", HTTP_BARE_CR},
                {"X: \x01", HTTP_BAD_VALUE},
                {"X: \x7f", HTTP_BAD_VALUE},
                {"X: \x0b", HTTP_BAD_VALUE},
                {"Content_Length: 3", HTTP_LOOKALIKE},
                {"content-Length-: 3", HTTP_LOOKALIKE},
                {"transfer_encoding: chunked", HTTP_LOOKALIKE},
                {"Transfer-Encodings: chunked", HTTP_LOOKALIKE},
                {"X_Forwarded-For: 1.2.3.4", HTTP_LOOKALIKE},
                {"Host: a", HTTP_HOST_TWICE},
                {"host: b", HTTP_HOST_TWICE},
                {"Content-Length: 5, 5", HTTP_BAD_LENGTH},
                {"Content-Length: +5", HTTP_BAD_LENGTH},
                {"Content-Length: -5", HTTP_BAD_LENGTH},
                {"Content-Length: 0x5", HTTP_BAD_LENGTH},
                {"Content-Length:", HTTP_BAD_LENGTH},
                {"Content-Length: 05", HTTP_BAD_LENGTH},
                {"Content-Length: 5 ", HTTP_BAD_VALUE},
                {"Content-Length: 5 5", HTTP_BAD_LENGTH},
                {"Content-Length: 5.0", HTTP_BAD_LENGTH},
                {"Content-Length: 9223372036854775808", HTTP_LENGTH_LARGE},
                {"Content-Length: 18446744073709551621", HTTP_LENGTH_LARGE},
                {"Content-Length: 99999999999999999999999999", HTTP_LENGTH_LARGE},
                {"Content-Length: 5\r\nContent-Length: 5", HTTP_LENGTH_TWICE},
                {"Content-Length: 5\r\ncontent-length: 6", HTTP_LENGTH_TWICE},
                {"Content-Length: 5\r\nTransfer-Encoding: chunked", HTTP_LENGTH_AND_CODING},
                {"Transfer-Encoding: chunked\r\nContent-Length: 0", HTTP_LENGTH_AND_CODING},
                {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", HTTP_CODING_TWICE},
                {"Transfer-Encoding: chunked, chunked", HTTP_CODING_UNKNOWN},
                {"Transfer-Encoding: gzip, chunked", HTTP_CODING_UNKNOWN},
                {"Transfer-Encoding: identity", HTTP_CODING_UNKNOWN},
                {"Transfer-Encoding: xchunked", HTTP_CODING_UNKNOWN},
                {"Transfer-Encoding:", HTTP_CODING_UNKNOWN},
                {"Transfer-Encoding: chunked ", HTTP_BAD_VALUE},
                {"Transfer-Encoding: \x0b"
                 "chunked",
                        HTTP_BAD_VALUE},
                {"Transfer-Encoding: chunked;a=b", HTTP_CODING_UNKNOWN},
                {"Connection: close, keep-alive", HTTP_BAD_CONNECTION},
                {"Connection: close\r\nConnection: keep-alive", HTTP_BAD_CONNECTION},
                {"Connection: a b", HTTP_BAD_CONNECTION},
                {"Connection: ", HTTP_BAD_CONNECTION},
                {"Connection: a,,b", HTTP_BAD_CONNECTION},
                {"Connection: keep-al", HTTP_BAD_CONNECTION},
                {"Connection: a,\tb", HTTP_BAD_CONNECTION},
                {"Connection: Host", HTTP_CONNECTION_NAMES},
                {"Connection: x, Content-Length", HTTP_CONNECTION_NAMES},
                {"Connection: Transfer-Encoding", HTTP_CONNECTION_NAMES},
                {"Connection: authorization", HTTP_CONNECTION_NAMES},
                {"Connection: cookie", HTTP_CONNECTION_NAMES},
                {"Upgrade: websocket", HTTP_BAD_UPGRADE},
                {"Connection: upgrade\r\nUpgrade: websocket, h2c", HTTP_BAD_UPGRADE},
                {"Connection: upgrade\r\nUpgrade: websocket/13", HTTP_BAD_UPGRADE},
                {"Upgrade: a b", HTTP_BAD_UPGRADE},
                {"Upgrade: ", HTTP_BAD_UPGRADE},
                {"Proxy-Connection: upgrade", HTTP_BAD_UPGRADE},
                {"Connection: upgrade\r\nUpgrade: websocket", HTTP_BAD_WEBSOCKET},
                {"Expect: 200-ok", HTTP_EXPECT_UNKNOWN},
                {"Expect: 100-continue\r\nExpect: 100-continue", HTTP_EXPECT_UNKNOWN},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                char *s = str_printf("POST / HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", t[i].fields);
                int k = request(s);
                check_refused(k, t[i].fields, t[i].why);
                free(s);
        }
        int k = request_n("GET / HTTP/1.1\r\nHost: a\r\nX: y\0\r\n\r\n", 35);
        check_refused(k, "a NUL", HTTP_BAD_VALUE);
        k = request("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n");
        check_refused(k, "chunked in 1.0", HTTP_CODING_IN_1_0);
        k = request("GET / HTTP/1.1\r\nX: y\r\n\r\n");
        check_refused(k, "no Host", HTTP_HOST_MISSING);
        k = request("GET / HTTP/1.1\r\nHost: a\r\n\n");
        check_refused(k, "LF at the end", HTTP_BARE_LF);
        k = request("CONNECT a:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        check_refused(k, "CONNECT with a length", HTTP_BODY_NOT_ALLOWED);
        k = request("TRACE / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        check_refused(k, "TRACE with a body", HTTP_BODY_NOT_ALLOWED);
}

TEST(hosts) {
        static const char *const good[] = {"a", "A.Test", "a.test:1", "a.test:65535", "127.0.0.1:80", "[::1]",
                "[::ffff:1.2.3.4]:443", "a_b.test.", "xn--bcher-kva.test"};
        static const char *const bad[] = {"", "a b", "a,b", "a:", "a:0", "a:65536", "a:000080", "a:8a", "a:80:80",
                ":80", "u@a", "a/b", "a\\b", "a%41", "[::1", "::1", "[]", "[::1]x", "[::1]:", "[g::1]", "a[", "\xe9",
                "a#b", "a?b", "http://a"};
        char s[200];

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                snprintf(s, sizeof(s), "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", good[i]);
                if (request(s) <= 0)
                        printf("# %s: %s\n", good[i], http_refusal_name(why));
                check(request(s) > 0 && is(head.host, good[i]));
        }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                snprintf(s, sizeof(s), "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", bad[i]);
                int k = request(s);
                check_refused(k, bad[i], HTTP_BAD_HOST);
        }
}

TEST(keep_alive) {
        static const struct {
                const char *version, *fields;
                bool keep;
        } t[] = {
                {"1.1", "", true},
                {"1.1", "Connection: close\r\n", false},
                {"1.1", "Connection: x, CLOSE\r\n", false},
                {"1.0", "", false},
                {"1.0", "Connection: Keep-Alive\r\n", true},
                {"1.0", "Proxy-Connection: keep-alive\r\n", false},
                {"1.1", "Proxy-Connection: close\r\n", false},
                {"1.1", "Connection: keep-alive\r\n", true},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                char *s = str_printf("GET / HTTP/%s\r\nHost: a\r\n%s\r\n", t[i].version, t[i].fields);
                check(request(s) > 0 && head.keep_alive == t[i].keep);
                free(s);
        }
}

TEST(hop_by_hop) {
        check(request("GET / HTTP/1.1\r\nHost: a\r\nX-One: 1\r\nConnection: x-one, Keep-Alive\r\nX-Two: "
                      "2\r\nKeep-Alive: 5\r\nx-ONE: 3\r\nTE: trailers\r\nTrailer: X\r\n"
                      "Proxy-Authorization: x\r\nHTTP2-Settings: x\r\n\r\n") > 0);
        static const bool hop[] = {true, true, true, false, true, true, true, true, true, true};
        check(head.n_fields == ELEMENTSOF(hop));
        for (size_t i = 0; i < ELEMENTSOF(hop); i++)
                check(head.field[i].hop == hop[i]);
        check(head.te_trailers && head.has_trailer);
}

TEST(websocket) {
        static const char *const rest = "Upgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n";
        static const struct {
                const char *line, *fields;
                enum http_refusal why;
        } t[] = {
                {"GET / HTTP/1.1", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n",
                        HTTP_OK},
                {"POST / HTTP/1.1", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n",
                        HTTP_BAD_WEBSOCKET},
                {"GET / HTTP/1.0", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n",
                        HTTP_BAD_UPGRADE},
                {"GET / HTTP/1.1", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 8\r\n",
                        HTTP_BAD_WEBSOCKET},
                {"GET / HTTP/1.1", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", HTTP_BAD_WEBSOCKET},
                {"GET / HTTP/1.1", "Sec-WebSocket-Version: 13\r\n", HTTP_BAD_WEBSOCKET},
                {"GET / HTTP/1.1", "Sec-WebSocket-Key: short==\r\nSec-WebSocket-Version: 13\r\n", HTTP_BAD_WEBSOCKET},
                {"GET / HTTP/1.1",
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Key: "
                        "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n",
                        HTTP_BAD_WEBSOCKET},
                {"GET / HTTP/1.1",
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nContent-Length: "
                        "0\r\n",
                        HTTP_BAD_WEBSOCKET},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                char *s = str_printf("%s\r\nHost: a\r\n%s%s\r\n", t[i].line, rest, t[i].fields);
                int k = request(s);
                if (t[i].why)
                        check_refused(k, t[i].fields, t[i].why);
                else
                        check(k > 0 && head.websocket && head.framing == HTTP_NO_BODY);
                free(s);
        }
        /* What is no WebSocket is not taken up. */
        check(request("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: "
                      "h2c\r\nHTTP2-Settings: AAMA\r\n\r\n") > 0);
        check(!head.websocket && head.keep_alive);

        static const char *const granted = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
                                           "Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
        check(response_to(HTTP_GET, true, granted) > 0 && head.websocket && head.framing == HTTP_TUNNEL &&
                !head.keep_alive);
        int k = response_to(HTTP_GET, false, granted);
        check_refused(k, granted, HTTP_UPGRADE_UNASKED);
        k = response_to(HTTP_GET, true, "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
        check_refused(k, "no accept", HTTP_BAD_WEBSOCKET);
        k = response_to(HTTP_GET, true, "HTTP/1.1 101 x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n");
        check_refused(k, "h2c", HTTP_BAD_UPGRADE);
        k = response_to(HTTP_GET, true,
                "HTTP/1.1 101 x\r\nContent-Length: 0\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
        check_refused(k, "101 with a length", HTTP_BODY_NOT_ALLOWED);
}

TEST(expect) {
        check(request("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n") > 0 &&
                head.expect_continue);
        check(request("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n") > 0 &&
                !head.expect_continue);
}

/* n bytes of 'x' between a and b. */
static struct strbuf padded(const char *a, size_t n, const char *b) {
        struct strbuf s = {};

        strbuf_puts(&s, a);
        for (size_t i = 0; i < n; i++)
                strbuf_puts(&s, "x");
        strbuf_puts(&s, b);
        return s;
}
static int padded_request(const char *a, size_t n, const char *b) {
        _cleanup_strbuf_ struct strbuf s = padded(a, n, b);
        return request_n(s.data, s.len);
}

TEST(limits) {
        check(padded_request("GET /", HTTP_TARGET_MAX - 1, " HTTP/1.1\r\nHost: a\r\n\r\n") > 0);
        int k = padded_request("GET /", HTTP_TARGET_MAX, " HTTP/1.1\r\nHost: a\r\n\r\n");
        check_refused(k, "target", HTTP_TARGET_LONG);
        k = padded_request("GET /", 100000, "");
        check_refused(k, "endless target", HTTP_TARGET_LONG);
        check(padded_request("GET / HTTP/1.1\r\nHost: a\r\nX: ", HTTP_LINE_MAX - 3, "\r\n\r\n") > 0);
        k = padded_request("GET / HTTP/1.1\r\nHost: a\r\nX: ", HTTP_LINE_MAX - 2, "\r\n\r\n");
        check_refused(k, "line", HTTP_LINE_LONG);
        k = padded_request("GET / HTTP/1.1\r\nHost: a\r\nX: ", HTTP_LINE_MAX, "");
        check_refused(k, "endless line", HTTP_LINE_LONG);
        check(padded_request("GET / HTTP/1.1\r\nHost: a\r\nX: ", HTTP_LINE_MAX - 2, "") == 0);
        check(padded_request("GET / HTTP/1.1\r\nHost: a\r\n", HTTP_NAME_MAX, ": y\r\n\r\n") > 0);
        k = padded_request("GET / HTTP/1.1\r\nHost: a\r\n", HTTP_NAME_MAX + 1, ": y\r\n\r\n");
        check_refused(k, "name", HTTP_NAME_LONG);
        char host[HTTP_HOST_MAX + 1];
        memset(host, 'a', sizeof(host));
        check(http_host_check(host, HTTP_HOST_MAX, false) == HTTP_OK &&
                http_host_check(host, HTTP_HOST_MAX + 1, false) == HTTP_BAD_HOST);

        for (unsigned more = 0; more < 2; more++) {
                _cleanup_strbuf_ struct strbuf s = {};
                strbuf_puts(&s, "GET / HTTP/1.1\r\nHost: a\r\n");
                for (unsigned i = 1; i < HTTP_FIELDS_MAX + more; i++)
                        strbuf_printf(&s, "X%u: y\r\n", i);
                strbuf_puts(&s, "\r\n");
                k = request_n(s.data, s.len);
                if (more)
                        check_refused(k, "fields", HTTP_FIELDS_MANY);
                else
                        check(k > 0 && head.n_fields == HTTP_FIELDS_MAX);
        }
        /* The whole head, up to the last byte of the empty line. */
        for (unsigned more = 0; more < 2; more++) {
                _cleanup_strbuf_ struct strbuf s = {};
                strbuf_puts(&s, "GET / HTTP/1.1\r\nHost: a\r\n");
                while (s.len < HTTP_HEAD_MAX - 2) {
                        size_t n = MIN((size_t)HTTP_HEAD_MAX - 2 - s.len, (size_t)10000);
                        if (HTTP_HEAD_MAX - 2 - s.len - n < 10 && HTTP_HEAD_MAX - 2 - s.len - n > 0)
                                n -= 100;
                        _cleanup_strbuf_ struct strbuf line =
                                padded("X: ", n - 5 + (s.len + n == HTTP_HEAD_MAX - 2 ? more : 0), "\r\n");
                        strbuf_add(&s, line.data, line.len);
                }
                strbuf_puts(&s, "\r\n");
                check(s.len == HTTP_HEAD_MAX + more);
                k = request_n(s.data, s.len);
                if (more)
                        check_refused(k, "head", HTTP_HEAD_LONG);
                else
                        check(k == (int)HTTP_HEAD_MAX);
        }
}

TEST(early) {
        /* Refused before the line is complete, and asked for more while there is nothing wrong. */
        int k = request_n("\x16\x03", 2);
        check_refused(k, "TLS", HTTP_BAD_METHOD);
        k = request("GET / HTTP/1.1\r\nHost: a\r\n ");
        check_refused(k, "folded", HTTP_FOLDED);
        static const char s[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        for (size_t n = 0; n < strlen(s); n++)
                check(request_n(s, n) == 0);
        struct http1_reader r;
        http1_request_begin(&r);
        check(http1_read_head(&r, &head, s, strlen(s)) > 0);
        check(http1_read_head(&r, &head, s, strlen(s)) == -EINVAL);
        http1_request_begin(&r);
        check(http1_read_head(&r, &head, "x", 1) == -EBADMSG && http1_read_head(&r, &head, s, strlen(s)) == -EBADMSG);
}

TEST(responses) {
        static const struct {
                enum http_method m;
                const char *text;
                enum http_framing framing;
                bool keep;
        } t[] = {
                {HTTP_GET, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", HTTP_LENGTH, true},
                {HTTP_GET, "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n", HTTP_LENGTH, true},
                {HTTP_GET, "HTTP/1.1 299 \xe9t\xe9\r\nTransfer-Encoding: Chunked\r\n\r\n", HTTP_CHUNKED, true},
                {HTTP_GET, "HTTP/1.1 200 OK\r\n\r\n", HTTP_CLOSE, false},
                {HTTP_GET, "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n", HTTP_CLOSE, false},
                {HTTP_GET, "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", HTTP_LENGTH, false},
                {HTTP_GET, "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n", HTTP_LENGTH, true},
                {HTTP_GET, "HTTP/1.1 204 No Content\r\n\r\n", HTTP_NO_BODY, true},
                {HTTP_GET, "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", HTTP_NO_BODY, true},
                {HTTP_GET, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", HTTP_NO_BODY, true},
                {HTTP_HEAD, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", HTTP_NO_BODY, true},
                {HTTP_HEAD, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_NO_BODY, true},
                {HTTP_CONNECT, "HTTP/1.1 200 OK\r\n\r\n", HTTP_TUNNEL, false},
                {HTTP_CONNECT, "HTTP/1.1 407 No\r\nContent-Length: 5\r\n\r\n", HTTP_LENGTH, true},
                {HTTP_GET, "HTTP/1.1 100 Continue\r\n\r\n", HTTP_NO_BODY, true},
                {HTTP_GET,
                        "HTTP/1.1 200 OK\r\nConnection: keep-alive, Transfer-Encoding\r\nTransfer-Encoding: "
                        "chunked\r\n\r\n",
                        HTTP_CHUNKED, true},
                {HTTP_GET, "HTTP/1.1 200 OK\r\nUpgrade: h2,h2c\r\nConnection: Upgrade\r\nContent-Length: 5\r\n\r\n",
                        HTTP_LENGTH, true},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                int k = response_to(t[i].m, false, t[i].text);
                if (k <= 0 || head.framing != t[i].framing || head.keep_alive != t[i].keep)
                        printf("# %zu: %d %s\n", i, k, http_refusal_name(why));
                check(k == (int)strlen(t[i].text) && head.framing == t[i].framing && head.keep_alive == t[i].keep);
        }
}

TEST(refused_responses) {
        static const struct {
                enum http_method m;
                const char *text;
                enum http_refusal why;
        } t[] = {
                {HTTP_GET, "HTTP/1.1 20 OK\r\n", HTTP_BAD_STATUS},
                {HTTP_GET, "HTTP/1.1 600 OK\r\n", HTTP_BAD_STATUS},
                {HTTP_GET, "HTTP/1.1 099 OK\r\n", HTTP_BAD_STATUS},
                {HTTP_GET, "HTTP/1.1 2000\r\n", HTTP_BAD_STATUS_LINE},
                {HTTP_GET, "HTTP/1.1 200OK\r\n", HTTP_BAD_STATUS_LINE},
                {HTTP_GET, "HTTP/1.1  200 OK\r\n", HTTP_BAD_STATUS},
                {HTTP_GET, "HTTP/1.1\t200 OK\r\n", HTTP_BAD_STATUS_LINE},
                {HTTP_GET, "HTTP/2.0 200 OK\r\n", HTTP_VERSION_UNKNOWN},
                {HTTP_GET, "ICY/1.0 200 OK\r\n", HTTP_BAD_STATUS_LINE},
                {HTTP_GET, "HTTPS1.1 200 OK\r\n", HTTP_BAD_VERSION},
                {HTTP_GET, "\r\nHTTP/1.1 200 OK\r\n", HTTP_EMPTY_FIRST_LINE},
                {HTTP_GET, "HTTP/1.1 200 O\x01K\r\n", HTTP_BAD_STATUS_LINE},
                {HTTP_GET, "HTTP/1.1 200 OK\nX: y\r\n", HTTP_BARE_LF},
                {HTTP_GET, "HTTP/1.1 200 O\rK\r\n", HTTP_BARE_CR},
                {HTTP_GET, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", HTTP_LENGTH_TWICE},
                {HTTP_GET, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                        HTTP_LENGTH_AND_CODING},
                {HTTP_GET, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", HTTP_CODING_UNKNOWN},
                {HTTP_GET, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_CODING_IN_1_0},
                {HTTP_GET, "HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\n", HTTP_BODY_NOT_ALLOWED},
                {HTTP_GET, "HTTP/1.1 204 x\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_BODY_NOT_ALLOWED},
                {HTTP_GET, "HTTP/1.1 103 x\r\nContent-Length: 0\r\n\r\n", HTTP_BODY_NOT_ALLOWED},
                {HTTP_GET, "HTTP/1.1 100 x\r\nConnection: close\r\n\r\n", HTTP_BAD_CONNECTION},
                {HTTP_GET, "HTTP/1.0 100 x\r\nConnection: keep-alive\r\n\r\n", HTTP_BAD_CONNECTION},
                {HTTP_CONNECT, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", HTTP_BODY_NOT_ALLOWED},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                int k = response_to(t[i].m, false, t[i].text);
                check_refused(k, t[i].text, t[i].why);
        }
        struct http1_reader r;
        struct http_head q = {.method_id = HTTP_GET};
        http1_response_begin(&r, &q);
        for (unsigned i = 0; i < HTTP_INTERIM_MAX; i++) {
                check(http1_read_head(&r, &head, "HTTP/1.1 103 x\r\n\r\n", 18) == 18);
                http1_response_next(&r);
        }
        check(http1_read_head(&r, &head, "HTTP/1.1 103 x\r\n\r\n", 18) == -EBADMSG && r.refused == HTTP_INTERIM_MANY);
}

/* Reads a chunked body and what is behind it; *ret_left: bytes behind the end. */
static int body(const char *s, char *content, size_t *ret_left) {
        struct http1_body b;
        struct http_head h = {.framing = HTTP_CHUNKED};
        const char *p = s;
        size_t n = strlen(s), used;
        int k = 0;

        http1_body_begin(&b, &h);
        while (k == 0 && n > 0) {
                struct http_text slice;
                k = http1_body_read(&b, p, n, &slice, &used);
                why = b.refused;
                if (k < 0)
                        return k;
                memcpy(content, slice.p, slice.n);
                content += slice.n;
                p += used;
                n -= used;
        }
        *content = '\0';
        *ret_left = n;
        return k;
}

TEST(chunks) {
        static const struct {
                const char *text, *content;
                size_t left;
        } good[] = {
                {"0\r\n\r\nGET", "", 3},
                {"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world", 0},
                {"A\r\n0123456789\r\n0\r\n\r\n\r\n", "0123456789", 2},
                {"0000000000000001\r\nx\r\n00\r\n\r\n", "x", 0},
                {"1\r\n\n\r\n0\r\nX: y\r\nZ:\r\n\r\nPOST", "\n", 4},
        };
        static const struct {
                const char *text;
                enum http_refusal why;
        } bad[] = {
                {"\r\n", HTTP_BAD_CHUNK_SIZE},
                {"x\r\n", HTTP_BAD_CHUNK_SIZE},
                {"0x5\r\n", HTTP_BAD_CHUNK_SIZE},
                {"+5\r\n", HTTP_BAD_CHUNK_SIZE},
                {"-5\r\n", HTTP_BAD_CHUNK_SIZE},
                {" 5\r\n", HTTP_BAD_CHUNK_SIZE},
                {"5\n", HTTP_BAD_CHUNK_SIZE},
                {"5_0\r\n", HTTP_BAD_CHUNK_SIZE},
                {"5;a\r\n", HTTP_CHUNK_EXTENSION},
                {"5 \r\n", HTTP_CHUNK_EXTENSION},
                {"5\t\r\n", HTTP_CHUNK_EXTENSION},
                {"00000000000000005\r\n", HTTP_BAD_CHUNK_SIZE},
                {"ffffffffffffffff\r\n", HTTP_CHUNK_LARGE},
                {"8000000000000000\r\n", HTTP_CHUNK_LARGE},
                {"5\rX", HTTP_BARE_CR},
                {"1\r\nxy", HTTP_BAD_CHUNK_END},
                {"1\r\nx\n", HTTP_BAD_CHUNK_END},
                {"1\r\nx\ry", HTTP_BAD_CHUNK_END},
                {"0\r\nX\r\n", HTTP_BAD_TRAILER},
                {"0\r\n: y\r\n", HTTP_BAD_TRAILER},
                {"0\r\n X: y\r\n", HTTP_BAD_TRAILER},
                {"0\r\nX: y\n", HTTP_BAD_TRAILER},
                {"0\r\nX : y\r\n", HTTP_BAD_TRAILER},
                {"0\r\nX: \x01\r\n", HTTP_BAD_TRAILER},
                {"0\r\nX: y\rz", HTTP_BARE_CR},
                {"0\r\n\rx", HTTP_BARE_CR},
                {"0\r\n\n", HTTP_BAD_TRAILER},
                {"0\r\nContent-Length: 5\r\n", HTTP_BAD_TRAILER},
                {"0\r\ntransfer_encoding: chunked\r\n", HTTP_BAD_TRAILER},
                {"0\r\nHost: a\r\n", HTTP_BAD_TRAILER},
        };
        char content[64];
        size_t left;

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                check(body(good[i].text, content, &left) == 1);
                check_streq(content, good[i].content);
                check(left == good[i].left);
        }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                int k = body(bad[i].text, content, &left);
                check_refused(k, bad[i].text, bad[i].why);
        }
}

TEST(trailers) {
        size_t left;
        char content[8];

        for (unsigned more = 0; more < 2; more++) {
                _cleanup_strbuf_ struct strbuf s = {};
                strbuf_puts(&s, "0\r\n");
                for (unsigned i = 0; i < HTTP_TRAILERS_MAX + more; i++)
                        strbuf_puts(&s, "X: y\r\n");
                strbuf_puts(&s, "\r\n");
                int k = body(s.data, content, &left);
                if (more)
                        check_refused(k, "trailers", HTTP_TRAILER_LONG);
                else
                        check(k == 1);
                _cleanup_strbuf_ struct strbuf t = padded("0\r\nX: ", HTTP_TRAILER_MAX - 7 + more, "\r\n\r\n");
                k = body(t.data, content, &left);
                if (more)
                        check_refused(k, "trailer bytes", HTTP_TRAILER_LONG);
                else
                        check(k == 1);
        }
}

TEST(lengths) {
        struct http1_body b;
        struct http_head h = {.framing = HTTP_LENGTH, .length = 5};
        struct http_text s;
        size_t used;

        http1_body_begin(&b, &h);
        check(http1_body_read(&b, "he", 2, &s, &used) == 0 && used == 2 && s.n == 2);
        check(http1_body_read(&b, "lloGET", 6, &s, &used) == 1 && used == 3 && s.n == 3);
        check(http1_body_read(&b, "GET", 3, &s, &used) == 1 && used == 0 && s.n == 0);
        check(http1_body_eof(&b) == 0);

        http1_body_begin(&b, &h);
        b.max = 4;
        check(http1_body_read(&b, "h", 1, &s, &used) == -EBADMSG && b.refused == HTTP_BODY_LARGE);
        check(http_refusal_status(b.refused) == 413);
        http1_body_begin(&b, &h);
        b.max = 5;
        check(http1_body_read(&b, "hello", 5, &s, &used) == 1);
        http1_body_begin(&b, &h);
        check(http1_body_read(&b, "hell", 4, &s, &used) == 0 && http1_body_eof(&b) == -EBADMSG &&
                b.refused == HTTP_TRUNCATED);
        check(http1_body_read(&b, "o", 1, &s, &used) == -EBADMSG);

        h.framing = HTTP_CLOSE;
        http1_body_begin(&b, &h);
        check(http1_body_read(&b, "hello", 5, &s, &used) == 0 && used == 5 && s.n == 5);
        check(http1_body_eof(&b) == 0 && http1_body_read(&b, "x", 1, &s, &used) == 1 && used == 0);
        http1_body_begin(&b, &h);
        b.max = 4;
        check(http1_body_read(&b, "hello", 5, &s, &used) == -EBADMSG && b.refused == HTTP_BODY_LARGE);

        h.framing = HTTP_CHUNKED;
        http1_body_begin(&b, &h);
        b.max = 9;
        check(http1_body_read(&b, "5\r\nhello", 8, &s, &used) == 0 && used == 8 && s.n == 5);
        check(http1_body_read(&b, "\r\n5\r\nworld", 10, &s, &used) == -EBADMSG && b.refused == HTTP_BODY_LARGE);
        for (unsigned i = 0; i < 2; i++) {
                h.framing = i ? HTTP_TUNNEL : HTTP_NO_BODY;
                http1_body_begin(&b, &h);
                check(http1_body_read(&b, "x", 1, &s, &used) == 1 && used == 0);
        }
}

static struct http_text text(const char *s) { return (struct http_text){s, strlen(s)}; }
static bool no_cookies(void *arg, const struct http_head *h, const struct http_field *f) {
        (*(unsigned *)arg)++;
        return f->id != HTTP_F_COOKIE;
}

TEST(write_request) {
        char buf[1000];
        unsigned asked = 0;
        static const char s[] = "POST http://b.test/x HTTP/1.1\r\nHost: b.test\r\naccept:  */*\r\nX-REQUEST-id: "
                                "5\r\nCookie: a\r\nConnection: x-hop\r\nX-Hop: 1\r\n"
                                "Transfer-Encoding: chunked\r\nTE: trailers\r\nExpect: "
                                "100-continue\r\nProxy-Authorization: Basic x\r\nSec-WebSocket-Key: x\r\n\r\n";
        check(request(s) > 0);
        struct http1_line more[] = {{text("authorization"), text("Bearer t")}};
        struct http1_out o = {.method = text("PUT"),
                .target = text("/x?y"),
                .host = text("a.test"),
                .framing = HTTP_LENGTH,
                .length = 7,
                .from = &head,
                .keep = no_cookies,
                .arg = &asked,
                .more = more,
                .n_more = 1};
        struct http_head copy = head;
        o.from = &copy;
        int n = http1_write_request(&o, buf, sizeof(buf) - 1, &why);
        check(n > 0);
        buf[n] = '\0';
        check_streq(buf, "PUT /x?y HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\nX-Request-Id: 5\r\nAuthorization: Bearer "
                         "t\r\nContent-Length: 7\r\n\r\n");
        check(asked == 3);
        o = (struct http1_out){.method = text("GET"),
                .target = text("*"),
                .host = text("a"),
                .framing = HTTP_CHUNKED,
                .close = true,
                .expect_continue = true};
        o.method = text("OPTIONS");
        n = http1_write_request(&o, buf, sizeof(buf) - 1, &why);
        check(n > 0);
        buf[n] = '\0';
        check_streq(buf, "OPTIONS * HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: "
                         "chunked\r\nConnection: close\r\n\r\n");
        check(http1_write_request(&o, buf, (size_t)n, NULL) == n &&
                http1_write_request(&o, buf, (size_t)n - 1, NULL) == -ENOBUFS);
}

TEST(write_refuses) {
        static const struct {
                const char *method, *target, *host, *name, *value;
                enum http_refusal why;
        } t[] = {
                {"get", "/", "a", "X", "y", HTTP_BAD_METHOD},
                {"", "/", "a", "X", "y", HTTP_BAD_METHOD},
                {"GET", "", "a", "X", "y", HTTP_BAD_REQUEST_LINE},
                {"GET", "/ HTTP/1.1\r\nX: y\r\n\r\nGET /", "a", "X", "y", HTTP_HOST_MISSING},
                {"GET", "/ HTTP/1.1\r\nHost: b\r\n\r\nGET /", "a", "X", "y", HTTP_NOT_AS_MEANT},
                {"GET", "/\n", "a", "X", "y", HTTP_BARE_LF},
                {"GET", "/ x", "a", "X", "y", HTTP_BAD_VERSION},
                {"GET", "/", "", "X", "y", HTTP_BAD_HOST},
                {"GET", "/", "a\r\nX: y", "X", "y", HTTP_NOT_AS_MEANT},
                {"GET", "/", "a b", "X", "y", HTTP_BAD_HOST},
                {"GET", "/", "a ", "X", "y", HTTP_BAD_VALUE},
                {"GET /x HTTP/1.1\r\nHost: b\r\n\r\nGET", "/", "a", "X", "y", HTTP_NOT_AS_MEANT},
                {"GET", "/", "a", "X y", "z", HTTP_BAD_NAME},
                {"GET", "/", "a", "", "z", HTTP_BAD_NAME},
                {"GET", "/", "a", "X", "y\r\nZ: a", HTTP_BAD_VALUE},
                {"GET", "/", "a", "X", " y", HTTP_BAD_VALUE},
                {"GET", "/", "a", "X", "y\t", HTTP_BAD_VALUE},
                {"GET", "/", "a", "X\r\nZ", "y", HTTP_BAD_NAME},
                {"GET", "/", "a", "Content-Length", "5", HTTP_MADE_ANEW},
                {"GET", "/", "a", "connection", "close", HTTP_MADE_ANEW},
                {"GET", "/", "a", "Content_Length", "5", HTTP_LOOKALIKE},
                {"GET", "/", "a", "Host", "b", HTTP_MADE_ANEW},
                {"CONNECT", "/", "a", "X", "y", HTTP_BAD_HOST},
                {"CONNECT", "a:1", "a", "X", "y", HTTP_NOT_AS_MEANT},
        };
        char buf[1000];
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                struct http1_line more = {text(t[i].name), text(t[i].value)};
                struct http1_out o = {.method = text(t[i].method),
                        .target = text(t[i].target),
                        .host = text(t[i].host),
                        .more = &more,
                        .n_more = 1};
                int k = http1_write_request(&o, buf, sizeof(buf), &why);
                check_refused(k, t[i].method, t[i].why);
        }
}

TEST(write_response) {
        char buf[1000];
        check(response_to(HTTP_GET, false,
                      "HTTP/1.0 404 whatever\r\nserver: x\r\nSet-Cookie: a\r\nset-cookie: b\r\nConnection: "
                      "close\r\n\r\n") > 0);
        struct http_head copy = head;
        struct http1_out o = {.status = 404, .request_method = HTTP_GET, .framing = HTTP_CHUNKED, .from = &copy};
        int n = http1_write_response(&o, buf, sizeof(buf) - 1, &why);
        check(n > 0);
        buf[n] = '\0';
        check_streq(buf, "HTTP/1.1 404 Not Found\r\nServer: x\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nTransfer-Encoding: "
                         "chunked\r\n\r\n");
        o = (struct http1_out){.status = 299, .request_method = HTTP_GET, .framing = HTTP_CLOSE};
        n = http1_write_response(&o, buf, sizeof(buf) - 1, &why);
        check(n > 0);
        buf[n] = '\0';
        check_streq(buf, "HTTP/1.1 299 \r\nConnection: close\r\n\r\n");
        o = (struct http1_out){.status = 200, .request_method = HTTP_HEAD, .say_length = true, .length = 77};
        n = http1_write_response(&o, buf, sizeof(buf) - 1, &why);
        check(n > 0);
        buf[n] = '\0';
        check_streq(buf, "HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n");
        /* A body where there is none, or none where there would be one. */
        o = (struct http1_out){.status = 200, .request_method = HTTP_GET};
        check_refused(http1_write_response(&o, buf, sizeof(buf), &why), "no framing", HTTP_NOT_AS_MEANT);
        o = (struct http1_out){.status = 304, .request_method = HTTP_GET, .framing = HTTP_LENGTH, .length = 5};
        check_refused(http1_write_response(&o, buf, sizeof(buf), &why), "304 with a body", HTTP_NOT_AS_MEANT);
        o = (struct http1_out){.status = 204, .request_method = HTTP_GET, .framing = HTTP_CHUNKED};
        check_refused(http1_write_response(&o, buf, sizeof(buf), &why), "204 with a body", HTTP_BODY_NOT_ALLOWED);
        o = (struct http1_out){.status = 7, .request_method = HTTP_GET};
        check_refused(http1_write_response(&o, buf, sizeof(buf), &why), "status 7", HTTP_BAD_STATUS_LINE);
}

TEST(write_chunks) {
        char b[HTTP1_CHUNK_HEAD_MAX];
        check(http1_chunk_head(b, 1) == 3 && memcmp(b, "1\r\n", 3) == 0);
        check(http1_chunk_head(b, 0xabc0) == 6 && memcmp(b, "abc0\r\n", 6) == 0);
        check(http1_chunk_head(b, UINT64_MAX) == 18 && memcmp(b, "ffffffffffffffff\r\n", 18) == 0);
}

TEST(value_span) {
        /* Every byte at every place of a word, with the rest good. */
        for (int c = 0; c < 256; c++)
                for (size_t n = 1; n < 26; n++)
                        for (size_t at = 0; at < n; at++) {
                                char b[32];
                                memset(b, at % 2 ? 'x' : '\xff', sizeof(b));
                                b[at] = (char)c;
                                size_t want = http_is((char)c, HTTP_C_VALUE) ? n : at;
                                check(http_value_span(b, n) == want);
                                b[at] = '\t';
                                check(http_value_span(b, n) == n);
                        }
        check(http_value_span("", 0) == 0);
}

TEST(tables) {
        static const unsigned known[] = {400, 403, 413, 414, 417, 431, 500, 501, 505};

        for (int i = 1; i < HTTP_F_N; i++) {
                const char *name = http_field_spelling((enum http_field_id)i);
                check(name != NULL);
                if (http_field_of(name, strlen(name)) != (enum http_field_id)i)
                        printf("# %s is not found\n", name);
                check(http_field_of(name, strlen(name)) == (enum http_field_id)i);
                check(http_field_of(name, strlen(name) - 1) == HTTP_F_OTHER || i == HTTP_F_OTHER);
        }
        check(http_field_spelling(HTTP_F_OTHER) == NULL && http_field_of("x", 1) == HTTP_F_OTHER);
        for (int i = 0; i < HTTP_REFUSAL_N; i++) {
                enum http_refusal r = (enum http_refusal)i;
                check(http_refusal_name(r) && http_refusal_text(r) && strlen(http_refusal_text(r)) > 10);
                for (int j = 0; j < i; j++)
                        check(!streq(http_refusal_name(r), http_refusal_name((enum http_refusal)j)));
                bool found = i == 0;
                for (size_t k = 0; k < ELEMENTSOF(known); k++)
                        found |= known[k] == http_refusal_status(r);
                check(found);
        }
        /* The classes, asked one by one. */
        for (int c = 0; c < 256; c++) {
                bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), digit = c >= '0' && c <= '9';
                check(http_is((char)c, HTTP_C_TOKEN) == (letter || digit || (c && strchr("!#$%&'*+-.^_`|~", c))));
                check(http_is((char)c, HTTP_C_VALUE) == (c == '\t' || (c >= 0x20 && c != 0x7f)));
                check(http_is((char)c, HTTP_C_TARGET) == (c > 0x20 && c < 0x7f && c != '#'));
        }
}

TAP_MAIN
