/* ClientHello; see client-hello.h. The message may be cut into records anywhere: a cursor steps over their headers, so that
 * nothing is copied but what is kept. */
#include "proto/client-hello.h"

#include <string.h>

#define RECORD_HEADER 5u
#define RECORD_MAX 16384u /* RFC 8446 section 5.1 */
#define RECORD_HANDSHAKE 22u
#define MESSAGE_HEADER 4u
#define MESSAGE_CLIENT_HELLO 1u
#define TLS_1_2 0x0303u
#define TLS_1_3 0x0304u

enum extension { /* the IANA registry "TLS ExtensionType Values" */
        EXT_SERVER_NAME = 0,
        EXT_ALPN = 16,
        EXT_PRE_SHARED_KEY = 41,
        EXT_EARLY_DATA = 42,
        EXT_SUPPORTED_VERSIONS = 43,
        EXT_ECH = 0xfe0d,  /* RFC 9849 */
        EXT_ESNI = 0xffce, /* draft-ietf-tls-esni-06 and before */
};

/* Over the message in whole records. Positions count bytes of the message. */
struct cursor {
        const uint8_t *p; /* the stream */
        size_t at;        /* in it */
        size_t left;      /* in the record */
        size_t pos;
};

static size_t record_length(const uint8_t *header) { return (size_t)header[3] << 8 | header[4]; }

/* Takes n bytes that lie before end; dst may be NULL. */
static bool take(struct cursor *c, size_t end, void *dst, size_t n) {
        uint8_t *out = dst;

        if (end - c->pos < n)
                return false;
        c->pos += n;
        while (n > 0) {
                if (c->left == 0) {
                        c->left = record_length(c->p + c->at);
                        c->at += RECORD_HEADER;
                }
                size_t part = MIN(n, c->left);
                if (out) {
                        memcpy(out, c->p + c->at, part);
                        out += part;
                }
                c->at += part;
                c->left -= part;
                n -= part;
        }
        return true;
}

static bool take8(struct cursor *c, size_t end, size_t *ret) {
        uint8_t b;
        if (!take(c, end, &b, 1))
                return false;
        *ret = b;
        return true;
}

static bool take16(struct cursor *c, size_t end, size_t *ret) {
        uint8_t b[2];
        if (!take(c, end, b, 2))
                return false;
        *ret = (size_t)b[0] << 8 | b[1];
        return true;
}

/* A list behind a length of 1 or 2 bytes, which fills the rest up to end exactly. */
static bool enter_last(struct cursor *c, size_t end, size_t width) {
        size_t n;
        return (width == 1 ? take8(c, end, &n) : take16(c, end, &n)) && end - c->pos == n;
}

static bool sni_byte(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/* RFC 6066 section 3: a list, but of one kind of name, of which there may be one. */
static const char *read_server_name(struct cursor *c, size_t end, struct client_hello *h) {
        size_t type, n;

        if (!enter_last(c, end, 2) || !take8(c, end, &type) || type != 0 || !take16(c, end, &n))
                return "its server_name holds no host name";
        if (end - c->pos != n)
                return "its server_name does not hold exactly one name";
        if (n == 0 || n > CLIENT_HELLO_SNI_MAX)
                return "its server_name is empty or too long";
        if (!take(c, end, h->sni, n))
                return "its server_name ends early";
        for (size_t i = 0; i < n; i++)
                if (!sni_byte(h->sni[i]))
                        return "its server_name is no host name";
        h->sni[n] = 0;
        h->n_sni = n;
        return NULL;
}

/* RFC 7301 section 3.1. */
static const char *read_alpn(struct cursor *c, size_t end, struct client_hello *h) {
        if (!enter_last(c, end, 2) || end == c->pos)
                return "its list of application protocols is malformed";
        if (end - c->pos > CLIENT_HELLO_ALPN_MAX)
                return "its list of application protocols is too long";
        h->n_alpn = end - c->pos;
        if (!take(c, end, h->alpn, h->n_alpn))
                return "its list of application protocols ends early";
        for (size_t i = 0; i < h->n_alpn; i += 1u + h->alpn[i])
                if (h->alpn[i] == 0 || h->alpn[i] >= h->n_alpn - i)
                        return "its list of application protocols is malformed";
        return NULL;
}

/* RFC 8446 section 4.2.1. */
static const char *read_versions(struct cursor *c, size_t end, struct client_hello *h) {
        if (!enter_last(c, end, 1) || end == c->pos || (end - c->pos) % 2 != 0)
                return "its list of versions is malformed";
        h->versions = 0;
        while (c->pos < end) {
                size_t version;
                if (!take16(c, end, &version))
                        return "its list of versions ends early";
                if (version >= 0x0300 && version <= TLS_1_3)
                        h->versions |= (uint8_t)(1u << (version - 0x0300));
        }
        return NULL;
}

static const char *read_extension(struct cursor *c, size_t end, size_t type, struct client_hello *h) {
        switch (type) {
        case EXT_SERVER_NAME:
                return read_server_name(c, end, h);
        case EXT_ALPN:
                return read_alpn(c, end, h);
        case EXT_SUPPORTED_VERSIONS:
                return read_versions(c, end, h);
        case EXT_EARLY_DATA:
                h->early_data = true;
                return end == c->pos ? NULL : "its early_data is malformed";
        case EXT_ECH:
        case EXT_ESNI:
                h->ech = true;
                break;
        default:
                break;
        }
        return take(c, end, NULL, end - c->pos) ? NULL : "an extension ends early";
}

static const char *read_extensions(struct cursor *c, size_t end, struct client_hello *h) {
        size_t seen[CLIENT_HELLO_EXTENSIONS_MAX], n_seen = 0;

        if (!enter_last(c, end, 2))
                return "its extensions do not fill it";
        while (c->pos < end) {
                size_t type, n;
                if (!take16(c, end, &type) || !take16(c, end, &n) || end - c->pos < n)
                        return "an extension ends early";
                if (n_seen == CLIENT_HELLO_EXTENSIONS_MAX)
                        return "it has too many extensions";
                for (size_t i = 0; i < n_seen; i++)
                        if (seen[i] == type)
                                return "it has an extension twice";
                seen[n_seen++] = type;
                const char *why = read_extension(c, c->pos + n, type, h);
                if (why)
                        return why;
                if (type == EXT_PRE_SHARED_KEY && c->pos != end) /* RFC 8446 section 4.2.11 */
                        return "an extension stands behind its pre_shared_key";
        }
        return NULL;
}

/* The body of the message: everything behind its header. */
static const char *read_body(struct cursor *c, size_t end, struct client_hello *h) {
        size_t version, n, method = 0;
        bool null = false;

        if (!take16(c, end, &version) || version < 0x0300 || version >> 8 != 3)
                return "it names no version";
        if (!take(c, end, NULL, 32) || !take8(c, end, &n) || n > 32 || !take(c, end, NULL, n))
                return "its session id is malformed";
        if (!take16(c, end, &n) || n == 0 || n % 2 != 0 || !take(c, end, NULL, n))
                return "its list of ciphers is malformed";
        if (!take8(c, end, &n) || n == 0)
                return "its list of compressions is malformed";
        for (size_t i = 0; i < n; i++) {
                if (!take8(c, end, &method))
                        return "its list of compressions ends early";
                null |= method == 0;
        }
        if (!null)
                return "it wants compression";
        /* The versions that it has without the extension that lists them: up to this one. */
        h->versions = (uint8_t)((2u << (MIN(version, TLS_1_2) - 0x0300u)) - 1);
        if (c->pos < end) {
                const char *why = read_extensions(c, end, h);
                if (why)
                        return why;
        }
        if (h->versions >> 4 & 1 && n != 1) /* RFC 8446 section 4.1.2 */
                return "it offers TLS 1.3 with compression";
        return NULL;
}

static enum client_hello_state fail(struct client_hello_reader *r, const char *why) {
        r->why = why;
        return r->state = CLIENT_HELLO_MALFORMED;
}

/* The header of the record at r->at as far as it is there. */
static enum client_hello_state check_header(struct client_hello_reader *r, const uint8_t *p, size_t n) {
        const uint8_t *header = p + r->at;
        size_t have = n - r->at;

        if ((have > 0 && header[0] != RECORD_HANDSHAKE) || (have > 1 && header[1] != 3) || (have > 2 && header[2] > 4)) {
                if (r->records == 0)
                        return r->state = CLIENT_HELLO_NOT_TLS;
                return fail(r, "another record comes before its end");
        }
        if (have < RECORD_HEADER)
                return CLIENT_HELLO_MORE;
        size_t length = record_length(header);
        if (length == 0 || length > RECORD_MAX)
                return fail(r, "it has a record without a length that is allowed");
        if (r->collected + length > CLIENT_HELLO_MAX)
                return fail(r, "it is too long");
        return CLIENT_HELLO_MORE;
}

/* What the first bytes of the message say; collected counts those that are there. */
static enum client_hello_state check_message(struct client_hello_reader *r, const uint8_t *p, size_t collected, size_t *ret_length) {
        struct cursor c = {.p = p};
        uint8_t header[MESSAGE_HEADER];

        *ret_length = SIZE_MAX;
        if (collected == 0)
                return CLIENT_HELLO_MORE;
        size_t n = MIN(collected, sizeof(header));
        if (!take(&c, collected, header, n) || header[0] != MESSAGE_CLIENT_HELLO)
                return fail(r, "its first message is no ClientHello");
        if (n < sizeof(header))
                return CLIENT_HELLO_MORE;
        size_t length = (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];
        if (length > CLIENT_HELLO_MAX - MESSAGE_HEADER)
                return fail(r, "it is too long");
        *ret_length = length + MESSAGE_HEADER;
        return CLIENT_HELLO_MORE;
}

enum client_hello_state client_hello_read(struct client_hello_reader *r, const uint8_t *p, size_t n, struct client_hello *ret) {
        size_t length;

        while (r->state == CLIENT_HELLO_MORE) {
                if (check_header(r, p, n) != CLIENT_HELLO_MORE)
                        break;
                size_t have = n - r->at;
                if (have < RECORD_HEADER)
                        break;
                size_t record = record_length(p + r->at), here = MIN(have - RECORD_HEADER, record);
                if (check_message(r, p, r->collected + here, &length) != CLIENT_HELLO_MORE)
                        break;
                /* A message that ends inside a record: nothing may follow before the server's answer. */
                if (length < r->collected + record)
                        return fail(r, "something follows it in its record");
                if (here < record)
                        break;
                r->at += RECORD_HEADER + record;
                r->collected += record;
                r->records++;
                if (r->collected == length) {
                        struct client_hello h = {.stream_bytes = r->at};
                        struct cursor c = {.p = p};
                        if (!take(&c, length, NULL, MESSAGE_HEADER))
                                return fail(r, "it ends early");
                        const char *why = read_body(&c, length, &h);
                        if (why)
                                return fail(r, why);
                        *ret = h;
                        return r->state = CLIENT_HELLO_DONE;
                }
                if (r->records == CLIENT_HELLO_RECORDS_MAX)
                        return fail(r, "it is spread over too many records");
        }
        return r->state;
}

bool client_hello_offers(const struct client_hello *h, const char *protocol) {
        size_t n = strlen(protocol);

        for (size_t i = 0; i < h->n_alpn; i += 1u + h->alpn[i])
                if (h->alpn[i] == n && memcmp(h->alpn + i + 1, protocol, n) == 0)
                        return true;
        return false;
}
