/* HTTP messages, read strictly and written anew (RFC 9110, RFC 9112). Pure: no I/O, no allocation, every size bounded
 * by a limit named here; what it is given is hostile.
 *
 * Strict means: whatever two readers could understand differently is refused, with a reason, rather than repaired.
 * Lines end with CRLF and nothing else, no field is folded, a length is said once and in one way. What is accepted is
 * kept as offsets into the caller's buffer; what leaves is written from these parts (http1_write_*), never copied as a
 * line.
 *
 * struct http_head is the same for HTTP/1 and for HTTP/2 (svc/h2.h fills it from its streams).
 *
 *     struct http1_reader r;  struct http_head head;
 *     http1_request_begin(&r);
 *     each time that bytes came:  n = http1_read_head(&r, &head, buf, len);
 *         0: more is needed; > 0: the head was buf[0..n), the body follows; < 0: refused, http_refusal_text(r.refused)
 *     http1_body_begin(&b, &head);
 *     until it returns 1:  http1_body_read(&b, p, left, &slice, &used)
 *     what stands behind `used` is the next request: http1_request_begin again
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* Limits, in bytes unless said otherwise. */
#define HTTP_METHOD_MAX 32u
#define HTTP_TARGET_MAX 8192u
#define HTTP_HOST_MAX 261u       /* a name of 253, ":65535", and room for the brackets of an address */
#define HTTP_NAME_MAX 128u       /* name of a field */
#define HTTP_LINE_MAX 16384u     /* any line, without its CRLF */
#define HTTP_HEAD_MAX 65536u     /* from the first byte to the empty line */
#define HTTP_FIELDS_MAX 128u     /* fields in one head */
#define HTTP_TRAILERS_MAX 32u    /* fields behind a chunked body, which are read and dropped */
#define HTTP_TRAILER_MAX 8192u   /* all of them */
#define HTTP_INTERIM_MAX 16u     /* 1xx answers before the final one */
#define HTTP_LENGTH_MAX (UINT64_MAX >> 1) /* Content-Length, and the size of a chunk */

/* Not terminated by NUL. */
struct http_text {
        const char *p;
        size_t n;
};
/* A piece of the buffer that a head was read from. */
struct http_span {
        uint32_t at, n;
};

enum http_method {
        HTTP_OTHER_METHOD, /* upper case letters, digits, "-" and "_", beginning with a letter */
        HTTP_GET,
        HTTP_HEAD,
        HTTP_POST,
        HTTP_PUT,
        HTTP_DELETE,
        HTTP_CONNECT,
        HTTP_OPTIONS,
        HTTP_TRACE,
        HTTP_PATCH,
};

enum http_version {
        HTTP_1_0,
        HTTP_1_1,
        HTTP_2,
};

/* RFC 9112 section 3.2 */
enum http_form {
        HTTP_FORM_ORIGIN,    /* "/path?query" */
        HTTP_FORM_ABSOLUTE,  /* "http://host/path": whether it agrees with Host is for the caller to see */
        HTTP_FORM_AUTHORITY, /* "host:port", with CONNECT only; for HTTP/2 too */
        HTTP_FORM_ASTERISK,  /* "*", with OPTIONS only */
};

/* How the end of a body is known (RFC 9112 section 6.3). */
enum http_framing {
        HTTP_NO_BODY,
        HTTP_LENGTH,  /* head->length bytes */
        HTTP_CHUNKED,
        HTTP_CLOSE,   /* response: until the peer closes */
        HTTP_TUNNEL,  /* nothing that follows is HTTP: CONNECT (once answered 2xx) and 101 */
        HTTP_STREAM,  /* HTTP/2: until END_STREAM; length, where said, is checked by the adapter */
};

/* The fields that somebody here asks about. Order of http_field_name(). */
enum http_field_id {
        HTTP_F_OTHER,
        /* What frames and routes: never forwarded, made anew. */
        HTTP_F_HOST,
        HTTP_F_CONTENT_LENGTH,
        HTTP_F_TRANSFER_ENCODING,
        HTTP_F_CONNECTION,
        HTTP_F_KEEP_ALIVE,
        HTTP_F_PROXY_CONNECTION,
        HTTP_F_TE,
        HTTP_F_TRAILER,
        HTTP_F_UPGRADE,
        HTTP_F_EXPECT,
        HTTP_F_HTTP2_SETTINGS,
        HTTP_F_PROXY_AUTHENTICATE,
        HTTP_F_PROXY_AUTHORIZATION,
        HTTP_F_PROXY_AUTHENTICATION_INFO,
        HTTP_F_LAST_HOP = HTTP_F_PROXY_AUTHENTICATION_INFO,
        /* Forwarded where a WebSocket was asked for. */
        HTTP_F_SEC_WEBSOCKET_KEY,
        HTTP_F_SEC_WEBSOCKET_VERSION,
        HTTP_F_SEC_WEBSOCKET_ACCEPT,
        HTTP_F_SEC_WEBSOCKET_PROTOCOL,
        HTTP_F_SEC_WEBSOCKET_EXTENSIONS,
        /* Ordinary ones, for the caller's switch. */
        HTTP_F_ACCEPT,
        HTTP_F_ACCEPT_ENCODING,
        HTTP_F_ALT_SVC,
        HTTP_F_AUTHORIZATION,
        HTTP_F_CACHE_CONTROL,
        HTTP_F_CONTENT_ENCODING,
        HTTP_F_CONTENT_TYPE,
        HTTP_F_COOKIE,
        HTTP_F_DATE,
        HTTP_F_ETAG,
        HTTP_F_FORWARDED,
        HTTP_F_LOCATION,
        HTTP_F_MAX_FORWARDS,
        HTTP_F_ORIGIN,
        HTTP_F_RANGE,
        HTTP_F_REFERER,
        HTTP_F_SERVER,
        HTTP_F_SET_COOKIE,
        HTTP_F_STRICT_TRANSPORT_SECURITY,
        HTTP_F_USER_AGENT,
        HTTP_F_VIA,
        HTTP_F_WWW_AUTHENTICATE,
        HTTP_F_X_FORWARDED_FOR,
        HTTP_F_X_FORWARDED_HOST,
        HTTP_F_X_FORWARDED_PROTO,
        HTTP_F_X_HTTP_METHOD_OVERRIDE,
        HTTP_F_X_ORIGINAL_URL,
        HTTP_F_X_REWRITE_URL,
        HTTP_F_N
};

struct http_field {
        uint32_t name, value; /* offsets; the value without white space around it */
        uint32_t value_n;
        uint16_t name_n;
        uint8_t id;           /* enum http_field_id */
        bool hop;             /* for this connection only: up to HTTP_F_LAST_HOP, or named by Connection */
};

/* A request or a response, as read. Valid while the buffer is; where the buffer moved, set base. */
struct http_head {
        const char *base; /* what all offsets count from */
        bool response;
        enum http_version version; /* 1.0 or 1.1: the peer's */

        /* A request */
        enum http_method method_id;
        enum http_form form;
        struct http_span method;
        struct http_span target; /* as it came: visible ASCII without "#" */
        struct http_span host;   /* Host, or :authority; never empty where it is there */
        bool has_host;           /* always so for 1.1; HTTP/2: where :authority or Host was sent */
        bool https;              /* HTTP/2: :scheme is https */
        bool expect_continue;    /* waits for 100 before it sends the body */

        /* A response */
        uint16_t status; /* 100 to 599 */

        /* Both */
        bool websocket;  /* asks for one with all that RFC 6455 section 4.1 wants; a response: grants it (101) */
        bool has_length; /* Content-Length was there: with HEAD and 304 it says nothing of what follows */
        uint64_t length;
        enum http_framing framing;
        bool keep_alive; /* another message may follow on this connection */
        bool has_trailer, te_trailers; /* noted: a Trailer field; "trailers" in TE */

        size_t head_bytes; /* HTTP/1: length of the head. HTTP/2: names and values */
        uint16_t n_fields;
        struct http_field field[HTTP_FIELDS_MAX]; /* all that came, in order */
};

static inline struct http_text http_span_text(const struct http_head *h, struct http_span s) {
        return (struct http_text){h->base + s.at, s.n};
}
static inline struct http_text http_field_name(const struct http_head *h, const struct http_field *f) {
        return (struct http_text){h->base + f->name, f->name_n};
}
static inline struct http_text http_field_value(const struct http_head *h, const struct http_field *f) {
        return (struct http_text){h->base + f->value, f->value_n};
}
/* The first field of that id, NULL where there is none. */
const struct http_field *http_find(const struct http_head *h, enum http_field_id id);

/* Why a message is refused. Each has a status for the client (of a response: 502) and a text of one line. */
enum http_refusal {
        HTTP_OK,
        /* The first line */
        HTTP_BAD_REQUEST_LINE,
        HTTP_BAD_METHOD,
        HTTP_METHOD_LONG,
        HTTP_BAD_TARGET,
        HTTP_BAD_TARGET_FORM,
        HTTP_TARGET_LONG,
        HTTP_BAD_VERSION,
        HTTP_VERSION_UNKNOWN,
        HTTP_BAD_STATUS_LINE,
        HTTP_BAD_STATUS,
        /* Lines */
        HTTP_BARE_CR,
        HTTP_BARE_LF,
        HTTP_FOLDED,
        HTTP_EMPTY_FIRST_LINE,
        HTTP_LINE_LONG,
        HTTP_HEAD_LONG,
        HTTP_FIELDS_MANY,
        HTTP_BAD_NAME,
        HTTP_NAME_LONG,
        HTTP_SPACE_BEFORE_COLON,
        HTTP_NO_COLON,
        HTTP_BAD_VALUE,
        HTTP_LOOKALIKE,
        /* What the fields mean */
        HTTP_HOST_MISSING,
        HTTP_HOST_TWICE,
        HTTP_BAD_HOST,
        HTTP_BAD_LENGTH,
        HTTP_LENGTH_TWICE,
        HTTP_LENGTH_AND_CODING,
        HTTP_LENGTH_LARGE,
        HTTP_CODING_UNKNOWN,
        HTTP_CODING_TWICE,
        HTTP_CODING_IN_1_0,
        HTTP_BAD_CONNECTION,
        HTTP_CONNECTION_NAMES,
        HTTP_BAD_UPGRADE,
        HTTP_BAD_WEBSOCKET,
        HTTP_EXPECT_UNKNOWN,
        HTTP_BODY_NOT_ALLOWED,
        HTTP_UPGRADE_UNASKED,
        HTTP_INTERIM_MANY,
        /* The body */
        HTTP_BAD_CHUNK_SIZE,
        HTTP_CHUNK_EXTENSION,
        HTTP_CHUNK_LARGE,
        HTTP_BAD_CHUNK_END,
        HTTP_BAD_TRAILER,
        HTTP_TRAILER_LONG,
        HTTP_BODY_LARGE,
        HTTP_BODY_PLACEHOLDER, /* found by the broker (role/broker/credential.c) */
        HTTP_TRUNCATED,
        /* HTTP/2 only */
        HTTP_BAD_PSEUDO,
        HTTP_PSEUDO_MISSING,
        HTTP_SCHEME_DIFFERS,
        HTTP_CONNECT_NOT_HERE,
        HTTP_NAME_UPPER_CASE,
        HTTP_CONNECTION_FIELD,
        HTTP_HOST_DIFFERS,
        HTTP_LENGTH_DIFFERS,
        /* Writing only */
        HTTP_MADE_ANEW,
        HTTP_NOT_AS_MEANT,
        HTTP_REFUSAL_N
};
unsigned http_refusal_status(enum http_refusal r); /* 400, 413, 414, 417, 431, 501, 505 */
const char *http_refusal_name(enum http_refusal r); /* "bare-lf" */
const char *http_refusal_text(enum http_refusal r);

/* --- Heads --- */

struct http1_reader {
        enum http_refusal refused; /* why http1_read_head returned -EBADMSG */
        bool response, done;
        bool websocket; /* response: the request asked for a WebSocket */
        enum http_method method; /* response: of the request that it answers */
        unsigned interim;        /* 1xx so far */
        uint32_t line, scanned;  /* the line that is not complete yet, and how far it was looked at */
};

void http1_request_begin(struct http1_reader *r);
/* The response to that request, of which only the method and whether it asks for a WebSocket are looked at. */
void http1_response_begin(struct http1_reader *r, const struct http_head *request);
/* After a 1xx (not 101) the next head belongs to the same request. */
void http1_response_next(struct http1_reader *r);

/* buf[0..n) is all that came of the message so far; a further call has the same bytes and more (the buffer may have
 * moved), the same head, and looks only at what is new. Returns 0 while the head is not complete, its length once it
 * is, -EBADMSG where it is refused (r->refused; whatever the pieces, the same), -EINVAL after the end. Only once a
 * length was returned is head for others to read. */
int http1_read_head(struct http1_reader *r, struct http_head *head, const char *buf, size_t n) _must_check_;

/* --- Bodies --- */

struct http1_body {
        enum http_refusal refused;
        enum http_framing framing;
        uint8_t state;
        uint8_t digits;
        uint64_t left;     /* of the body or the chunk */
        uint64_t max;      /* content bytes: more is refused as HTTP_BODY_LARGE; the caller may lower it */
        uint64_t total;    /* content bytes so far */
        uint32_t trailer_bytes;
        uint16_t trailers;
        uint8_t name_n;
        char name[32];     /* of a trailer field, as far as a name that matters is long */
};

/* A tunnel (and a CONNECT request) has no body: what follows is not read here. */
void http1_body_begin(struct http1_body *b, const struct http_head *head);
/* Reads from buf: *slice is the part of it that is content (may be empty), *used what was consumed, framing included:
 * at least 1 where n > 0 and the body is not at its end. Returns 1 when the body is at its end: the bytes from *used on
 * belong to the next message, and were not looked at. 0: call again with the bytes from *used on. -EBADMSG: refused. */
int http1_body_read(
        struct http1_body *b, const char *buf, size_t n, struct http_text *slice, size_t *used) _must_check_;
/* The peer has closed. 0: the body was at its end, or ends so; -EBADMSG: it was cut (HTTP_TRUNCATED). */
int http1_body_eof(struct http1_body *b) _must_check_;

/* --- Writing --- */

struct http1_line {
        struct http_text name, value;
};

/* True: the field may go on. Asked for every field that is not of this connection only (http_field.hop) and not made
 * anew. */
typedef bool http1_keep(void *arg, const struct http_head *head, const struct http_field *field);

/* A head to write. What is not set is zero. */
struct http1_out {
        /* A request: all three as the caller decided on them. */
        struct http_text method, target, host;
        bool expect_continue;
        /* A response; the reason phrase is our own. */
        uint16_t status;
        enum http_method request_method; /* that it answers */
        /* Both */
        enum http_framing
                framing; /* HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED; a response also HTTP_CLOSE, HTTP_TUNNEL */
        uint64_t length;           /* HTTP_LENGTH; with HTTP_NO_BODY and say_length: to HEAD, and of a 304 */
        bool say_length;
        bool websocket;            /* asks, or with 101 grants */
        bool close;                /* the last message of this connection */
        const struct http_head *from; /* whose fields go along, or NULL */
        http1_keep *keep;          /* NULL: all of them */
        void *arg;
        const struct http1_line *more; /* fields to add: these must not be of those made anew */
        size_t n_more;
};

/* Writes the head, HTTP/1.1 always. Returns its length. -ENOBUFS: it does not fit into size bytes; -EBADMSG: what would
 * be written is nothing that http1_read_head accepts and reads the same (*ret_refused says why; may be NULL). */
int http1_write_request(const struct http1_out *o, char *buf, size_t size, enum http_refusal *ret_refused) _must_check_;
int http1_write_response(
        const struct http1_out *o, char *buf, size_t size, enum http_refusal *ret_refused) _must_check_;

/* A chunk is: its head, n bytes of content, HTTP1_CHUNK_TAIL. n is not 0. Returns the head's length. */
#define HTTP1_CHUNK_HEAD_MAX 18u
size_t http1_chunk_head(char dst[HTTP1_CHUNK_HEAD_MAX], uint64_t n);
#define HTTP1_CHUNK_TAIL "\r\n"
#define HTTP1_CHUNK_LAST "0\r\n\r\n"

/* --- For svc/h2, which fills a head from its own fields --- */

void http_head_clear(struct http_head *h);
/* Takes a field that stands at these offsets of h->base; names are compared without regard to case. Checks name and
 * value (HTTP_BAD_NAME, HTTP_BAD_VALUE, HTTP_LOOKALIKE, HTTP_FIELDS_MANY ...). */
enum http_refusal http_head_add(struct http_head *h, struct http_span name, struct http_span value);
/* Method, target and form of a request, from their texts in h->base. */
enum http_refusal http_head_method(struct http_head *h, struct http_span method);
enum http_refusal http_head_target(struct http_head *h, struct http_span target);
enum http_refusal http_head_host(struct http_head *h, struct http_span host);
/* What the fields mean together, once all are there and method, target and (where it was sent) authority are set: as
 * for HTTP/1.1, and without any field about the connection (RFC 9113 section 8.2.2). Sets all but framing. */
enum http_refusal http_head_finish_h2(struct http_head *h);
/* Whether a field of a response to be written goes along: not of this connection, not made anew, wanted by o->keep. */
bool http1_goes_along(const struct http1_out *o, const struct http_field *f);
