/* The tables of http1: classes of bytes, names of fields, methods, statuses, reasons of refusals. */
#include "proto/http1-internal.h"

#define UPPER(c) ((c) >= 'A' && (c) <= 'Z')
#define LOWER(c) ((c) >= 'a' && (c) <= 'z')
#define DIGIT(c) ((c) >= '0' && (c) <= '9')
#define ALNUM(c) (UPPER(c) || LOWER(c) || DIGIT(c))
#define HEX(c) (DIGIT(c) || ((c) >= 'A' && (c) <= 'F') || ((c) >= 'a' && (c) <= 'f'))
#define TOKEN(c)                                                                                                       \
        (ALNUM(c) || (c) == '!' || (c) == '#' || (c) == '$' || (c) == '%' || (c) == '&' || (c) == '\'' ||             \
         (c) == '*' || (c) == '+' || (c) == '-' || (c) == '.' || (c) == '^' || (c) == '_' || (c) == '`' ||            \
         (c) == '|' || (c) == '~')
#define CLASS(c)                                                                                                       \
        ((TOKEN(c) ? HTTP_C_TOKEN : 0) | ((c) == '\t' || ((c) >= ' ' && (c) != 127) ? HTTP_C_VALUE : 0) |             \
         ((c) > ' ' && (c) < 127 && (c) != '#' ? HTTP_C_TARGET : 0) |                                                 \
         (UPPER(c) || DIGIT(c) || (c) == '-' || (c) == '_' ? HTTP_C_METHOD : 0) |                                     \
         (ALNUM(c) || (c) == '-' || (c) == '.' || (c) == '_' ? HTTP_C_HOST : 0) |                                     \
         (HEX(c) || (c) == ':' || (c) == '.' ? HTTP_C_ADDRESS : 0) | (DIGIT(c) ? HTTP_C_DIGIT : 0) |                  \
         (ALNUM(c) || (c) == '+' || (c) == '/' ? HTTP_C_BASE64 : 0))
#define FOUR(c) CLASS(c), CLASS((c) + 1), CLASS((c) + 2), CLASS((c) + 3)
#define SIXTEEN(c) FOUR(c), FOUR((c) + 4), FOUR((c) + 8), FOUR((c) + 12)
#define SIXTY_FOUR(c) SIXTEEN(c), SIXTEEN((c) + 16), SIXTEEN((c) + 32), SIXTEEN((c) + 48)

const uint8_t http_class[256] = {SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128), SIXTY_FOUR(192)};

bool http_text_is(struct http_text t, const char *word) {
        return t.n == strlen(word) && http_all(t.p, t.n, HTTP_C_TOKEN) && http_same(t.p, word, t.n);
}

static const char *const spelling[HTTP_F_N] = {
        [HTTP_F_HOST] = "Host",
        [HTTP_F_CONTENT_LENGTH] = "Content-Length",
        [HTTP_F_TRANSFER_ENCODING] = "Transfer-Encoding",
        [HTTP_F_CONNECTION] = "Connection",
        [HTTP_F_KEEP_ALIVE] = "Keep-Alive",
        [HTTP_F_PROXY_CONNECTION] = "Proxy-Connection",
        [HTTP_F_TE] = "TE",
        [HTTP_F_TRAILER] = "Trailer",
        [HTTP_F_UPGRADE] = "Upgrade",
        [HTTP_F_EXPECT] = "Expect",
        [HTTP_F_HTTP2_SETTINGS] = "HTTP2-Settings",
        [HTTP_F_PROXY_AUTHENTICATE] = "Proxy-Authenticate",
        [HTTP_F_PROXY_AUTHORIZATION] = "Proxy-Authorization",
        [HTTP_F_PROXY_AUTHENTICATION_INFO] = "Proxy-Authentication-Info",
        [HTTP_F_SEC_WEBSOCKET_KEY] = "Sec-WebSocket-Key",
        [HTTP_F_SEC_WEBSOCKET_VERSION] = "Sec-WebSocket-Version",
        [HTTP_F_SEC_WEBSOCKET_ACCEPT] = "Sec-WebSocket-Accept",
        [HTTP_F_SEC_WEBSOCKET_PROTOCOL] = "Sec-WebSocket-Protocol",
        [HTTP_F_SEC_WEBSOCKET_EXTENSIONS] = "Sec-WebSocket-Extensions",
        [HTTP_F_ACCEPT] = "Accept",
        [HTTP_F_ACCEPT_ENCODING] = "Accept-Encoding",
        [HTTP_F_ALT_SVC] = "Alt-Svc",
        [HTTP_F_AUTHORIZATION] = "Authorization",
        [HTTP_F_CACHE_CONTROL] = "Cache-Control",
        [HTTP_F_CONTENT_ENCODING] = "Content-Encoding",
        [HTTP_F_CONTENT_TYPE] = "Content-Type",
        [HTTP_F_COOKIE] = "Cookie",
        [HTTP_F_DATE] = "Date",
        [HTTP_F_ETAG] = "ETag",
        [HTTP_F_FORWARDED] = "Forwarded",
        [HTTP_F_LOCATION] = "Location",
        [HTTP_F_MAX_FORWARDS] = "Max-Forwards",
        [HTTP_F_ORIGIN] = "Origin",
        [HTTP_F_RANGE] = "Range",
        [HTTP_F_REFERER] = "Referer",
        [HTTP_F_SERVER] = "Server",
        [HTTP_F_SET_COOKIE] = "Set-Cookie",
        [HTTP_F_STRICT_TRANSPORT_SECURITY] = "Strict-Transport-Security",
        [HTTP_F_USER_AGENT] = "User-Agent",
        [HTTP_F_VIA] = "Via",
        [HTTP_F_WWW_AUTHENTICATE] = "WWW-Authenticate",
        [HTTP_F_X_FORWARDED_FOR] = "X-Forwarded-For",
        [HTTP_F_X_FORWARDED_HOST] = "X-Forwarded-Host",
        [HTTP_F_X_FORWARDED_PROTO] = "X-Forwarded-Proto",
        [HTTP_F_X_HTTP_METHOD_OVERRIDE] = "X-HTTP-Method-Override",
        [HTTP_F_X_ORIGINAL_URL] = "X-Original-URL",
        [HTTP_F_X_REWRITE_URL] = "X-Rewrite-URL",
};

const char *http_field_spelling(enum http_field_id id) { return id < HTTP_F_N ? spelling[id] : NULL; }

/* By length: a name has at most a handful of candidates. tests/unit/test-http1.c asks for every name of the table. */
enum http_field_id http_field_of(const char *p, size_t n) {
        enum { MOST = 6 };
        static const uint8_t of_length[][MOST] = {
                [2] = {HTTP_F_TE},
                [3] = {HTTP_F_VIA},
                [4] = {HTTP_F_HOST, HTTP_F_DATE, HTTP_F_ETAG},
                [5] = {HTTP_F_RANGE},
                [6] = {HTTP_F_ACCEPT, HTTP_F_COOKIE, HTTP_F_ORIGIN, HTTP_F_EXPECT, HTTP_F_SERVER},
                [7] = {HTTP_F_REFERER, HTTP_F_UPGRADE, HTTP_F_TRAILER, HTTP_F_ALT_SVC},
                [8] = {HTTP_F_LOCATION},
                [9] = {HTTP_F_FORWARDED},
                [10] = {HTTP_F_USER_AGENT, HTTP_F_CONNECTION, HTTP_F_SET_COOKIE, HTTP_F_KEEP_ALIVE},
                [12] = {HTTP_F_CONTENT_TYPE, HTTP_F_MAX_FORWARDS},
                [13] = {HTTP_F_AUTHORIZATION, HTTP_F_CACHE_CONTROL, HTTP_F_X_REWRITE_URL},
                [14] = {HTTP_F_CONTENT_LENGTH, HTTP_F_HTTP2_SETTINGS, HTTP_F_X_ORIGINAL_URL},
                [15] = {HTTP_F_ACCEPT_ENCODING, HTTP_F_X_FORWARDED_FOR},
                [16] = {HTTP_F_CONTENT_ENCODING, HTTP_F_PROXY_CONNECTION, HTTP_F_WWW_AUTHENTICATE,
                        HTTP_F_X_FORWARDED_HOST},
                [17] = {HTTP_F_TRANSFER_ENCODING, HTTP_F_SEC_WEBSOCKET_KEY, HTTP_F_X_FORWARDED_PROTO},
                [18] = {HTTP_F_PROXY_AUTHENTICATE},
                [19] = {HTTP_F_PROXY_AUTHORIZATION},
                [20] = {HTTP_F_SEC_WEBSOCKET_ACCEPT},
                [21] = {HTTP_F_SEC_WEBSOCKET_VERSION},
                [22] = {HTTP_F_SEC_WEBSOCKET_PROTOCOL, HTTP_F_X_HTTP_METHOD_OVERRIDE},
                [24] = {HTTP_F_SEC_WEBSOCKET_EXTENSIONS},
                [25] = {HTTP_F_PROXY_AUTHENTICATION_INFO, HTTP_F_STRICT_TRANSPORT_SECURITY},
        };

        if (n >= ELEMENTSOF(of_length))
                return HTTP_F_OTHER;
        for (const uint8_t *c = of_length[n]; *c; c++)
                if (http_same(p, spelling[*c], n))
                        return *c;
        return HTTP_F_OTHER;
}

enum http_method http_method_of(const char *p, size_t n) {
        static const char *const names[] = {
                [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",       [HTTP_POST] = "POST",
                [HTTP_PUT] = "PUT",         [HTTP_DELETE] = "DELETE",   [HTTP_CONNECT] = "CONNECT",
                [HTTP_OPTIONS] = "OPTIONS", [HTTP_TRACE] = "TRACE",     [HTTP_PATCH] = "PATCH",
        };

        for (size_t i = 1; i < ELEMENTSOF(names); i++)
                if (names[i][0] == p[0] && strlen(names[i]) == n && memcmp(names[i], p, n) == 0)
                        return (enum http_method)i;
        return HTTP_OTHER_METHOD;
}

const char *http_reason_phrase(unsigned status) {
        static const struct {
                uint16_t status;
                const char *text;
        } t[] = {
                {100, "Continue"}, {101, "Switching Protocols"}, {102, "Processing"}, {103, "Early Hints"},
                {200, "OK"}, {201, "Created"}, {202, "Accepted"}, {203, "Non-Authoritative Information"},
                {204, "No Content"}, {205, "Reset Content"}, {206, "Partial Content"}, {207, "Multi-Status"},
                {300, "Multiple Choices"}, {301, "Moved Permanently"}, {302, "Found"}, {303, "See Other"},
                {304, "Not Modified"}, {307, "Temporary Redirect"}, {308, "Permanent Redirect"},
                {400, "Bad Request"}, {401, "Unauthorized"}, {402, "Payment Required"}, {403, "Forbidden"},
                {404, "Not Found"}, {405, "Method Not Allowed"}, {406, "Not Acceptable"}, {408, "Request Timeout"},
                {409, "Conflict"}, {410, "Gone"}, {411, "Length Required"}, {412, "Precondition Failed"},
                {413, "Content Too Large"}, {414, "URI Too Long"}, {415, "Unsupported Media Type"},
                {416, "Range Not Satisfiable"}, {417, "Expectation Failed"}, {421, "Misdirected Request"},
                {422, "Unprocessable Content"}, {425, "Too Early"}, {426, "Upgrade Required"},
                {428, "Precondition Required"}, {429, "Too Many Requests"}, {431, "Request Header Fields Too Large"},
                {451, "Unavailable For Legal Reasons"}, {500, "Internal Server Error"}, {501, "Not Implemented"},
                {502, "Bad Gateway"}, {503, "Service Unavailable"}, {504, "Gateway Timeout"},
                {505, "HTTP Version Not Supported"}, {511, "Network Authentication Required"},
        };

        for (size_t i = 0; i < ELEMENTSOF(t); i++)
                if (t[i].status == status)
                        return t[i].text;
        return ""; /* RFC 9112 section 4: may be empty */
}

static const struct {
        uint16_t status;
        const char *name, *text;
} refusals[HTTP_REFUSAL_N] = {
        [HTTP_OK] = {200, "ok", "nothing was refused"},
        [HTTP_BAD_REQUEST_LINE] = {400, "request-line",
                "the request line is not a method, a target and a version with one space between them"},
        [HTTP_BAD_METHOD] = {400, "method", "the method is not made of upper case letters, digits, \"-\" and \"_\""},
        [HTTP_METHOD_LONG] = {501, "method-long", "the method has more than 32 bytes"},
        [HTTP_BAD_TARGET] = {400, "target",
                "the request target has a byte that is not visible ASCII, or a \"#\": it must be percent-encoded"},
        [HTTP_BAD_TARGET_FORM] = {400, "target-form",
                "the request target is neither a path nor a URL of http or https (\"*\" is for OPTIONS, \"host:port\" "
                "for CONNECT)"},
        [HTTP_TARGET_LONG] = {414, "target-long", "the request target has more than 8192 bytes"},
        [HTTP_BAD_VERSION] = {400, "version", "what stands at the place of the HTTP version is none"},
        [HTTP_VERSION_UNKNOWN] = {505, "version-unknown", "only HTTP/1.1 and HTTP/1.0 are spoken here"},
        [HTTP_BAD_STATUS_LINE] = {400, "status-line",
                "the status line is not a version, a status and a phrase with one space between them"},
        [HTTP_BAD_STATUS] = {400, "status", "the status is not a number from 100 to 599"},
        [HTTP_BARE_CR] = {400, "bare-cr", "a carriage return stands alone, without a line feed behind it"},
        [HTTP_BARE_LF] = {400, "bare-lf", "a line ends with a line feed alone"},
        [HTTP_FOLDED] = {400, "folded", "a line begins with white space (folded fields are obsolete)"},
        [HTTP_EMPTY_FIRST_LINE] = {400, "empty-line", "an empty line stands before the message"},
        [HTTP_LINE_LONG] = {431, "line-long", "a field has more than 16384 bytes"},
        [HTTP_HEAD_LONG] = {431, "head-long", "the fields have more than 65536 bytes together"},
        [HTTP_FIELDS_MANY] = {431, "fields-many", "there are more than 128 fields"},
        [HTTP_BAD_NAME] = {400, "field-name", "the name of a field has a byte that no name may have, or is empty"},
        [HTTP_NAME_LONG] = {431, "field-name-long", "the name of a field has more than 128 bytes"},
        [HTTP_SPACE_BEFORE_COLON] = {400, "space-before-colon",
                "white space stands between the name of a field and its colon"},
        [HTTP_NO_COLON] = {400, "no-colon", "a field has no colon"},
        [HTTP_BAD_VALUE] = {400, "field-value",
                "the value of a field has a control character, or white space behind it where it frames the message"},
        [HTTP_LOOKALIKE] = {400, "lookalike",
                "the name of a field is almost that of another, which some take for it (\"_\" for \"-\", or more "
                "behind it)"},
        [HTTP_HOST_MISSING] = {400, "host-missing", "there is no Host"},
        [HTTP_HOST_TWICE] = {400, "host-twice", "there is more than one Host"},
        [HTTP_BAD_HOST] = {400, "host",
                "Host (or the authority of the target) is not a name or an address, with or without a port"},
        [HTTP_BAD_LENGTH] = {400, "length", "Content-Length is not one plain decimal number"},
        [HTTP_LENGTH_TWICE] = {400, "length-twice", "there is more than one Content-Length"},
        [HTTP_LENGTH_AND_CODING] = {400, "length-and-coding", "there are both Content-Length and Transfer-Encoding"},
        [HTTP_LENGTH_LARGE] = {413, "length-large", "Content-Length is larger than any body can be"},
        [HTTP_CODING_UNKNOWN] = {501, "coding-unknown", "the only transfer coding that is read here is \"chunked\""},
        [HTTP_CODING_TWICE] = {400, "coding-twice", "there is more than one Transfer-Encoding"},
        [HTTP_CODING_IN_1_0] = {400, "coding-in-1.0", "HTTP/1.0 has no Transfer-Encoding"},
        [HTTP_BAD_CONNECTION] = {400, "connection",
                "Connection is not a list of names, or says \"close\" where that cannot be"},
        [HTTP_CONNECTION_NAMES] = {400, "connection-names", "Connection names a field that is meant for the other end"},
        [HTTP_BAD_UPGRADE] = {400, "upgrade",
                "Upgrade and Connection do not agree, or a WebSocket is one of several protocols"},
        [HTTP_BAD_WEBSOCKET] = {400, "websocket",
                "the handshake of the WebSocket is not the one of RFC 6455, version 13"},
        [HTTP_EXPECT_UNKNOWN] = {417, "expect", "the only expectation that is known here is \"100-continue\""},
        [HTTP_BODY_NOT_ALLOWED] = {400, "body-not-allowed", "a body is announced where there can be none"},
        [HTTP_UPGRADE_UNASKED] = {400, "upgrade-unasked", "the answer changes to a protocol that was not asked for"},
        [HTTP_INTERIM_MANY] = {400, "interim-many", "there are more than 16 answers of status 1xx"},
        [HTTP_BAD_CHUNK_SIZE] = {400, "chunk-size", "the size of a chunk is not 1 to 16 hexadecimal digits and CRLF"},
        [HTTP_CHUNK_EXTENSION] = {400, "chunk-extension", "a chunk has an extension, or white space behind its size"},
        [HTTP_CHUNK_LARGE] = {413, "chunk-large", "the size of a chunk is larger than any body can be"},
        [HTTP_BAD_CHUNK_END] = {400, "chunk-end", "a chunk does not end with CRLF where its size says"},
        [HTTP_BAD_TRAILER] = {400, "trailer", "a field behind the body is malformed, or one that cannot stand there"},
        [HTTP_TRAILER_LONG] = {431, "trailer-long", "there are more than 32 fields or 8192 bytes behind the body"},
        [HTTP_BODY_LARGE] = {413, "body-large", "the body is larger than is allowed"},
        [HTTP_BODY_PLACEHOLDER] = {403, "body-placeholder", "the body has the placeholder of a secret"},
        [HTTP_TRUNCATED] = {400, "truncated", "the connection was closed before the end of the message"},
        [HTTP_BAD_PSEUDO] = {400, "pseudo-field",
                "a pseudo field is unknown, stands twice, or stands behind the others"},
        [HTTP_PSEUDO_MISSING] = {400, "pseudo-field-missing", "a pseudo field is missing or empty"},
        [HTTP_SCHEME_DIFFERS] = {400, "scheme-differs", "the scheme is not that of the connection"},
        [HTTP_CONNECT_NOT_HERE] = {501, "connect-not-here", "CONNECT is not spoken over HTTP/2 here"},
        [HTTP_NAME_UPPER_CASE] = {400, "field-name-case",
                "the name of a field has an upper case letter, which HTTP/2 does not have"},
        [HTTP_CONNECTION_FIELD] = {400, "connection-field",
                "a field is about the connection, which HTTP/2 does not have"},
        [HTTP_HOST_DIFFERS] = {400, "host-differs", "Host is not the same as the authority"},
        [HTTP_LENGTH_DIFFERS] = {400, "length-differs", "Content-Length is not the length of the body"},
        [HTTP_MADE_ANEW] = {500, "made-anew", "a field that is to be added is one that is written here by itself"},
        [HTTP_NOT_AS_MEANT] = {500, "not-as-meant", "what would be written would be read as something else"},
};

unsigned http_refusal_status(enum http_refusal r) { return r < HTTP_REFUSAL_N ? refusals[r].status : 400; }
const char *http_refusal_name(enum http_refusal r) { return r < HTTP_REFUSAL_N ? refusals[r].name : "unknown"; }
const char *http_refusal_text(enum http_refusal r) { return r < HTTP_REFUSAL_N ? refusals[r].text : "unknown"; }
