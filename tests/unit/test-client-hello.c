#include <fcntl.h>

#include "base/fd.h"
#include "proto/client-hello.h"
#include "tap.h"

/* A message by hand: open a length, write, close it. */
struct msg {
        uint8_t p[20000];
        size_t n;
};
static void add(struct msg *m, const void *p, size_t n) {
        memcpy(m->p + m->n, p, n);
        m->n += n;
}
static void add8(struct msg *m, unsigned v) { m->p[m->n++] = (uint8_t)v; }
static void add16(struct msg *m, unsigned v) { add8(m, v >> 8), add8(m, v & 0xff); }
static void set16(struct msg *m, size_t at, size_t v) { m->p[at] = (uint8_t)(v >> 8), m->p[at + 1] = (uint8_t)v; }
#define ADD(m, s) add(m, s, sizeof(s) - 1)

/* A good hello up to its extensions, without record header. */
static struct msg hello(void) {
        struct msg m = {};
        ADD(&m, "\1\0\0\0\3\3");
        for (int i = 0; i < 32; i++)
                add8(&m, (unsigned)i);
        ADD(&m, "\0\0\2\x13\1\1\0\0\0"); /* no session id, one cipher, no compression, length of the extensions */
        return m;
}
#define EXTENSIONS_AT 45u
static void add_ext(struct msg *m, unsigned type, const void *p, size_t n) {
        add16(m, type);
        add16(m, (unsigned)n);
        add(m, p, n);
}
#define ADD_EXT(m, type, s) add_ext(m, type, s, sizeof(s) - 1)
static void add_name(struct msg *m, const char *name) {
        add16(m, 0);
        add16(m, (unsigned)strlen(name) + 5);
        add16(m, (unsigned)strlen(name) + 3);
        add8(m, 0);
        add16(m, (unsigned)strlen(name));
        add(m, name, strlen(name));
}
static void close_hello(struct msg *m) {
        set16(m, EXTENSIONS_AT, m->n - EXTENSIONS_AT - 2);
        set16(m, 2, m->n - 4);
}
/* In records of at most `piece` bytes each. */
static struct msg records(const struct msg *m, size_t piece) {
        struct msg r = {};
        for (size_t at = 0; at < m->n;) {
                size_t n = MIN(piece, m->n - at);
                ADD(&r, "\x16\3\1");
                add16(&r, (unsigned)n);
                add(&r, m->p + at, n);
                at += n;
        }
        return r;
}

/* Gives the stream in steps; each piece in a block of its own, so that reading beyond it is seen. */
static enum client_hello_state feed(const uint8_t *p, size_t n, size_t step, struct client_hello *h, const char **why) {
        struct client_hello_reader r = {};
        enum client_hello_state s = CLIENT_HELLO_MORE;

        for (size_t have = MIN(step, n);; have = MIN(have + step, n)) {
                uint8_t *copy = malloc(have ? have : 1);
                check(copy);
                memcpy(copy, p, have);
                s = client_hello_read(&r, copy, have, h);
                free(copy);
                check(s == r.state && (s == CLIENT_HELLO_MALFORMED) == (r.why != NULL));
                if (s != CLIENT_HELLO_MORE || have == n)
                        break;
        }
        if (why)
                *why = r.why;
        return s;
}
static enum client_hello_state read_all(const struct msg *m, struct client_hello *h) {
        *h = (struct client_hello){};
        return feed(m->p, m->n, m->n, h, NULL);
}

/* As the programs themselves send it. */
TEST(programs) {
        static const struct {
                const char *file, *sni, *alpn;
                unsigned versions;
        } t[] = {
                {"openssl", "api.example.com", "\2h2\10http/1.1", 0x1e},
                {"openssl-tls12", "api.example.com", "", 0x0f},
                {"openssl-no-sni", "", "", 0x1e},
                {"openssl-fragments", "api.example.com", NULL, 0x1e},
                {"curl", "api.example.com", "\2h2\10http/1.1", 0x1e},
                {"curl-http1", "api.example.com", "\10http/1.1", 0x1e},
                {"gnutls", "api.example.com", "\2h2", 0x1e},
                {"wget", "localhost", "", 0x1e},
                {"python", "api.example.com", "", 0x18},
                {"node", "api.example.com", "\2h2\10http/1.1", 0x18},
                {"go", "api.example.com", "\2h2\10http/1.1", 0x18},
                {"java-17", "api.example.com", "\2h2\10http/1.1", 0x18},
                {"java-25", "api.example.com", "\2h2\10http/1.1", 0x18},
        };
        int dir = open(SOURCE_ROOT "/tests/fuzz/corpus/fuzz-client-hello", O_PATH | O_DIRECTORY | O_CLOEXEC);
        check(dir >= 0);
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                _cleanup_free_ char *data = NULL;
                size_t n;
                check(file_read(dir, t[i].file, 65536, &data, &n) == 0);
                printf("# %s\n", t[i].file);
                static const size_t steps[] = {1, 7, 100, 65536};
                for (size_t s = 0; s < ELEMENTSOF(steps); s++) {
                        struct client_hello h = {};
                        check(feed((uint8_t *)data, n, steps[s], &h, NULL) == CLIENT_HELLO_DONE);
                        check(h.stream_bytes == n && h.n_sni == strlen(h.sni) && !h.ech && !h.early_data);
                        check_streq(h.sni, t[i].sni);
                        check(!t[i].alpn || (h.n_alpn == strlen(t[i].alpn) && memcmp(h.alpn, t[i].alpn, h.n_alpn) == 0));
                        check(h.versions == t[i].versions);
                }
                struct client_hello h;
                check(feed((uint8_t *)data, n - 1, n, &h, NULL) == CLIENT_HELLO_MORE);
        }
        close(dir);
}

TEST(parts) {
        struct client_hello h;
        struct msg m = hello(), r;

        close_hello(&m);
        r = records(&m, 16384);
        check(read_all(&r, &h) == CLIENT_HELLO_DONE && h.n_sni == 0 && h.n_alpn == 0 && h.versions == 0x0f);
        m.n -= 2; /* without extensions, as TLS 1.0 has it */
        set16(&m, 2, m.n - 4);
        r = records(&m, 16384);
        check(read_all(&r, &h) == CLIENT_HELLO_DONE && h.stream_bytes == r.n);

        m = hello();
        ADD_EXT(&m, 0x0a0a, "");
        add_name(&m, "OK.test");
        ADD_EXT(&m, 16, "\0\14\2h2\10http/1.1");
        ADD_EXT(&m, 43, "\6\x1a\x1a\3\4\3\3");
        ADD_EXT(&m, 0xfe0d, "\0\0\1\0\1");
        ADD_EXT(&m, 42, "");
        ADD_EXT(&m, 41, "junk");
        close_hello(&m);
        static const size_t pieces[] = {16384, 100, 50, 7};
        for (size_t i = 0; i < ELEMENTSOF(pieces); i++) {
                r = records(&m, pieces[i]);
                size_t n = r.n;
                ADD(&r, "\x17\3\3\0\5early"); /* early data is left alone */
                check(read_all(&r, &h) == CLIENT_HELLO_DONE && h.stream_bytes == n);
                check_streq(h.sni, "OK.test");
                check(h.ech && h.early_data && h.versions == 0x18);
                check(client_hello_offers(&h, "h2") && client_hello_offers(&h, "http/1.1") && !client_hello_offers(&h, "h3") &&
                      !client_hello_offers(&h, "http/1") && !client_hello_offers(&h, ""));
        }
        r = records(&m, 1);
        check(read_all(&r, &h) == CLIENT_HELLO_MALFORMED); /* one byte a record */
        /* whatever ends early is waited for, byte by byte */
        r = records(&m, 50);
        for (size_t i = 0; i < r.n; i++) {
                check(feed(r.p, i, i ? i : 1, &h, NULL) == CLIENT_HELLO_MORE);
                check(feed(r.p, i, 3, &h, NULL) == CLIENT_HELLO_MORE);
        }
        check(feed(r.p, r.n, 1, &h, NULL) == CLIENT_HELLO_DONE);
}

TEST(not_tls) {
        static const char *const t[] = {"GET / HTTP/1.1\r\n", "SSH-2.0-x", "\x80\x2e\1\3\1", "\x16\2\1", "\x16\3\5", "\x17\3\3", "\x15\3\1",
                                        "\x14\3\3", "{"};
        struct client_hello h;
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                check(feed((const uint8_t *)t[i], strlen(t[i]), 1, &h, NULL) == CLIENT_HELLO_NOT_TLS);
                check(feed((const uint8_t *)t[i], strlen(t[i]), 99, &h, NULL) == CLIENT_HELLO_NOT_TLS);
        }
        check(feed((const uint8_t *)"\x16\3\1", 0, 1, &h, NULL) == CLIENT_HELLO_MORE);
}

static void check_bad_stream(const struct msg *r, const char *wanted) {
        struct client_hello h;
        const char *why = NULL;
        check(feed(r->p, r->n, 1, &h, &why) == CLIENT_HELLO_MALFORMED);
        check_streq(why, wanted);
        check(feed(r->p, r->n, r->n, &h, &why) == CLIENT_HELLO_MALFORMED);
        check_streq(why, wanted);
}
static void check_bad(const struct msg *m, const char *wanted) {
        struct msg r = records(m, 16384);
        check_bad_stream(&r, wanted);
        r = records(m, m->n / 20 + 1);
        check_bad_stream(&r, wanted);
}

TEST(extensions) {
#define BAD(type, s, why)                                                                      \
        do {                                                                                   \
                struct msg bad_ = hello();                                                     \
                ADD_EXT(&bad_, type, s);                                                       \
                close_hello(&bad_);                                                            \
                check_bad(&bad_, why);                                                         \
        } while (0)
        static const char one[] = "its server_name does not hold exactly one name", none[] = "its server_name holds no host name";
        BAD(0, "", none);
        BAD(0, "\0\0", none);
        BAD(0, "\0\6\0\0\3abc\0", none);                  /* a byte behind the list */
        BAD(0, "\0\7\0\0\3abc\0", one);                   /* a byte in it */
        BAD(0, "\0\14\0\0\3abc\0\0\3abd", one);           /* two names */
        BAD(0, "\0\6\1\0\3abc", none);                    /* of an unknown kind */
        BAD(0, "\0\6\0\0\4abc", one);
        BAD(0, "\0\6\0\0\2abc", one);
        BAD(0, "\0\3\0\0\0", "its server_name is empty or too long");
        BAD(0, "\0\6\0\0\3a\0c", "its server_name is no host name");
        BAD(0, "\0\6\0\0\3a c", "its server_name is no host name");
        BAD(0, "\0\6\0\0\3a:c", "its server_name is no host name");
        BAD(0, "\0\6\0\0\3a*c", "its server_name is no host name");
        BAD(0, "\0\6\0\0\3a\xc3\xa9", "its server_name is no host name");
        static const char alpn[] = "its list of application protocols is malformed";
        BAD(16, "", alpn);
        BAD(16, "\0\0", alpn);
        BAD(16, "\0\1\0", alpn);
        BAD(16, "\0\3\3h2", alpn);
        BAD(16, "\0\4\2h2\0", alpn);
        BAD(16, "\0\4\2h2", alpn);
        BAD(16, "\0\2\2h2", alpn);
        static const char versions[] = "its list of versions is malformed";
        BAD(43, "", versions);
        BAD(43, "\0", versions);
        BAD(43, "\3\3\4\3", versions);
        BAD(43, "\2\3\4\3", versions);
        BAD(43, "\4\3\4", versions);
        BAD(42, "x", "its early_data is malformed");

        struct msg m = hello();
        add_name(&m, "ok.test");
        add_name(&m, "no.test");
        close_hello(&m);
        check_bad(&m, "it has an extension twice");
        m = hello();
        ADD_EXT(&m, 0x1a1a, "");
        ADD_EXT(&m, 0x1a1a, "");
        close_hello(&m);
        check_bad(&m, "it has an extension twice");
        m = hello();
        ADD_EXT(&m, 41, "x");
        ADD_EXT(&m, 21, "");
        close_hello(&m);
        check_bad(&m, "an extension stands behind its pre_shared_key");
        m = hello();
        for (unsigned i = 0; i < CLIENT_HELLO_EXTENSIONS_MAX + 1; i++)
                ADD_EXT(&m, 100 + i, "");
        close_hello(&m);
        check_bad(&m, "it has too many extensions");
        m = hello();
        add16(&m, 21);
        add16(&m, 1); /* an extension longer than what holds it */
        close_hello(&m);
        check_bad(&m, "an extension ends early");
        m = hello();
        add8(&m, 21);
        close_hello(&m);
        check_bad(&m, "an extension ends early");
        m = hello();
        close_hello(&m);
        add8(&m, 0); /* bytes behind the extensions */
        set16(&m, 2, m.n - 4);
        check_bad(&m, "its extensions do not fill it");
        m = hello();
        set16(&m, EXTENSIONS_AT, 5); /* longer than the message */
        set16(&m, 2, m.n - 4);
        check_bad(&m, "its extensions do not fill it");

        char name[260];
        memset(name, 'a', sizeof(name));
        name[255] = 0;
        m = hello();
        add_name(&m, name);
        close_hello(&m);
        check_bad(&m, "its server_name is empty or too long");
        name[254] = 0;
        m = hello();
        add_name(&m, name);
        close_hello(&m);
        struct client_hello h;
        struct msg r = records(&m, 64);
        check(read_all(&r, &h) == CLIENT_HELLO_DONE);
        check_streq(h.sni, name);

        char protocols[260];
        memset(protocols, 'p', sizeof(protocols));
        protocols[0] = 1, protocols[1] = 0; /* 256 bytes of protocols: 1 + 127, 1 + 127 */
        protocols[2] = 127, protocols[130] = 127;
        m = hello();
        add_ext(&m, 16, protocols, 258);
        close_hello(&m);
        check_bad(&m, "its list of application protocols is too long");
        protocols[0] = 0, protocols[1] = (char)255;
        protocols[130] = 126;
        m = hello();
        add_ext(&m, 16, protocols, 257);
        close_hello(&m);
        r = records(&m, 64);
        check(read_all(&r, &h) == CLIENT_HELLO_DONE && h.n_alpn == 255);
}

TEST(body) {
        struct msg m;
#define BAD_BYTE(at, v, why)                                                                   \
        do {                                                                                   \
                m = hello();                                                                   \
                close_hello(&m);                                                               \
                m.p[at] = v;                                                                   \
                check_bad(&m, why);                                                            \
        } while (0)
        BAD_BYTE(0, 2, "its first message is no ClientHello");
        BAD_BYTE(4, 2, "it names no version");
        BAD_BYTE(4, 4, "it names no version");
        BAD_BYTE(38, 33, "its session id is malformed");
        BAD_BYTE(40, 0, "its list of ciphers is malformed");
        BAD_BYTE(40, 1, "its list of ciphers is malformed");
        BAD_BYTE(40, 200, "its list of ciphers is malformed");
        BAD_BYTE(43, 0, "its list of compressions is malformed");
        BAD_BYTE(43, 9, "its list of compressions ends early");
        BAD_BYTE(44, 1, "it wants compression");
        BAD_BYTE(1, 1, "it is too long");
        m = hello();
        m.n = 8;
        set16(&m, 2, 4);
        check_bad(&m, "its session id is malformed");
        m.n = 4;
        set16(&m, 2, 0);
        check_bad(&m, "it names no version");
        m = hello(); /* two compressions are TLS 1.2's affair */
        m.n = 43;
        ADD(&m, "\2\1\0");
        struct client_hello h;
        set16(&m, 2, m.n - 4);
        struct msg r = records(&m, 99);
        check(read_all(&r, &h) == CLIENT_HELLO_DONE);
        ADD(&m, "\0\7\0\x2b\0\3\2\3\4");
        set16(&m, 2, m.n - 4);
        check_bad(&m, "it offers TLS 1.3 with compression");
}

TEST(records) {
        struct msg m = hello(), r;
        struct client_hello h;

        close_hello(&m);
        r = records(&m, 30);
        r.p[35] = 23; /* application data between the records */
        check_bad_stream(&r, "another record comes before its end");
        r.p[35] = 0x14;
        check_bad_stream(&r, "another record comes before its end");
        r = records(&m, 99);
        set16(&r, 3, 0);
        check_bad_stream(&r, "it has a record without a length that is allowed");
        set16(&r, 3, 16385);
        check_bad_stream(&r, "it has a record without a length that is allowed");
        set16(&r, 3, 16384);
        check_bad_stream(&r, "something follows it in its record");
        size_t n = m.n;
        add8(&m, 1); /* the next message begins in its record */
        r = records(&m, 99);
        check_bad_stream(&r, "something follows it in its record");

        /* just as long as allowed, in as many records, and one byte longer */
        static uint8_t padding[20000];
        m.n = n;
        m.n = EXTENSIONS_AT + 2;
        add_ext(&m, 21, padding, CLIENT_HELLO_MAX - m.n - 4);
        close_hello(&m);
        check(m.n == CLIENT_HELLO_MAX);
        r = records(&m, CLIENT_HELLO_MAX / CLIENT_HELLO_RECORDS_MAX);
        check(r.n == CLIENT_HELLO_STREAM_MAX && read_all(&r, &h) == CLIENT_HELLO_DONE);
        r = records(&m, CLIENT_HELLO_MAX / CLIENT_HELLO_RECORDS_MAX - 1);
        check_bad_stream(&r, "it is spread over too many records");
        add8(&m, 0);
        set16(&m, 2, m.n - 4);
        r = records(&m, 16384);
        check_bad_stream(&r, "it is too long");
        r = records(&m, 512);
        check_bad_stream(&r, "it is too long");
}

TAP_MAIN
