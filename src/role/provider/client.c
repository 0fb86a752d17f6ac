/* See client.h. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/fd.h"
#include "model/canonical.h"
#include "role/provider/client.h"
#include "svc/resolver.h"
#include "svc/stream.h"
#include "svc/vault.h"

#define TICK_MS 1000

static struct loop loop;
static struct tls_trust *trust;
static struct address_range ranges[CLIENT_RANGES_MAX];
static size_t n_ranges;
static struct vault_text in, out, scratch;

/* The call that is under way. */
static struct {
        struct dial *dial;
        struct stream s;
        struct request place;
        char text[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX];
        char host[256];
        uint64_t deadline; /* ms */
        size_t n_out, sent;
        size_t n_in;       /* bytes of `in` that have come */
        struct http1_reader reader;
        struct http_head head;
        struct http1_body b;
        size_t head_end;   /* 0: the head is not whole */
        size_t read, body; /* of `in`: up to here it was read; bytes of content, which stand from head_end on */
        int r;
        struct error *e;
} c;

static uint64_t now_ms(void) {
        struct timespec t;
        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool allows(const struct verdict *v, const struct request_address *a, uint16_t port) {
        (void)v;
        (void)port;
        return address_allowed(a, ranges, n_ranges);
}

static int read_ranges(const char *p, struct error *e) {
        while (*(p += strspn(p, " "))) {
                size_t n = strcspn(p, " ");
                if (n_ranges == CLIENT_RANGES_MAX || address_range_parse(p, n, &ranges[n_ranges]) == -EINVAL)
                        return error_set(e, EINVAL, "the addresses cannot be read");
                n_ranges++;
                p += n;
        }
        return 0;
}

int client_init(int trust_file, int trust_directory, const char *addresses, struct error *e) {
        int r = read_ranges(addresses, e);

        if (r < 0 || (r = vault_alloc(CLIENT_HEAD_MAX + CLIENT_BODY_MAX, &in, e)) < 0 || (r = vault_alloc(CLIENT_REQUEST_MAX, &out, e)) < 0 ||
            (r = vault_alloc(CLIENT_REQUEST_MAX, &scratch, e)) < 0)
                return r;
        if ((r = loop_init(&loop)) < 0 || (r = resolver_init(&loop)) < 0)
                return error_errno(e, r, "names cannot be asked for");
        dial_init(&loop, allows);
        return (r = tls_init(e)) < 0 ? r : tls_trust_new(trust_file, trust_directory, &trust, e);
}

char *client_scratch(void) { return scratch.p; }

/* --- the call --- */

static void finish(int r) {
        c.r = r;
        loop.stop = true;
}

static void fail(int errnum, const char *why) { finish(error_set(c.e, errnum, "%s: %s", c.host, why && *why ? why : "it cannot be reached")); }

static void fail_io(ssize_t r) {
        const char *why = tls_why(c.s.tls);
        fail((int)-r, *why ? why : r == -ECONNRESET ? "it closed the connection before its answer was whole" : strerror((int)-r));
}

/* What has come of the body, its content moved to where it is whole. */
static void read_body(void) {
        while (c.read < c.n_in) {
                struct http_text slice;
                size_t used;
                int r = http1_body_read(&c.b, in.p + c.read, c.n_in - c.read, &slice, &used);
                if (r < 0) {
                        fail(EBADMSG, http_refusal_text(c.b.refused));
                        return;
                }
                if (slice.n > 0)
                        memmove(in.p + c.head_end + c.body, slice.p, slice.n);
                c.body += slice.n;
                c.read += used;
                if (r == 1) {
                        finish(0);
                        return;
                }
        }
        /* Framing that was read makes room. */
        c.n_in = c.read = c.head_end + c.body;
}

static void read_head(void) {
        int n;

        while ((n = http1_read_head(&c.reader, &c.head, in.p, c.n_in)) > 0 && c.head.status < 200 && c.head.status != 101) {
                memmove(in.p, in.p + n, c.n_in - (size_t)n);
                c.n_in -= (size_t)n;
                http1_response_next(&c.reader);
        }
        if (n < 0 || c.n_in > (n > 0 ? in.cap : CLIENT_HEAD_MAX) || (n > 0 && ((unsigned)n > CLIENT_HEAD_MAX || c.head.framing == HTTP_TUNNEL))) {
                fail(EBADMSG, n < 0 ? http_refusal_text(c.reader.refused) : "its answer is longer than any that is expected");
                return;
        }
        if (n == 0)
                return;
        c.head_end = c.read = (size_t)n;
        http1_body_begin(&c.b, &c.head);
        c.b.max = CLIENT_BODY_MAX;
        if (c.head.framing == HTTP_NO_BODY || (c.head.framing == HTTP_LENGTH && c.head.length == 0))
                finish(0);
        else
                read_body();
}

static void receive(void) {
        while (!loop.stop) {
                if (c.n_in == in.cap) {
                        fail(EFBIG, "its answer is longer than any that is expected");
                        return;
                }
                ssize_t n = stream_read(&c.s, in.p + c.n_in, in.cap - c.n_in);
                if (n == -EAGAIN)
                        return;
                if (n == 0 && c.head_end > 0 && http1_body_eof(&c.b) == 0) {
                        finish(0);
                        return;
                }
                if (n <= 0) {
                        fail_io(n < 0 ? n : -ECONNRESET);
                        return;
                }
                c.n_in += (size_t)n;
                if (c.head_end > 0)
                        read_body();
                else
                        read_head();
        }
}

static void ready(struct watch *w, uint32_t events) {
        ssize_t n = stream_handshake(&c.s);

        (void)w;
        (void)events;
        while (n == 0 && c.sent < c.n_out) {
                if ((n = stream_write(&c.s, out.p + c.sent, c.n_out - c.sent)) > 0) {
                        c.sent += (size_t)n;
                        n = 0;
                }
        }
        if (n < 0 && n != -EAGAIN)
                fail_io(n);
        else if (n == 0)
                receive();
        stream_want(&c.s, &loop, true, c.sent < c.n_out);
}

static void dialled(void *owner, enum dial_result result, int fd, const char *why) {
        (void)owner;
        if (result != DIAL_CONNECTED) {
                fail(result == DIAL_FORBIDDEN ? EPERM : EHOSTUNREACH, result == DIAL_FORBIDDEN ? "its address is not public, and the secret's `addresses` do not name it" : why);
                return;
        }
        struct tls *tls = tls_connect(trust, fd, c.host, false);
        if (!tls || stream_init(&c.s, &loop, fd, tls, ready) < 0) {
                tls_free(tls);
                fd_close(fd);
                fail(ENOMEM, "there is no memory for a connection");
                return;
        }
        ready(&c.s.w, 0);
}

static int tick(void *arg) {
        int dns = resolver_tick();

        (void)arg;
        dials_tick();
        if (loop.now >= c.deadline && !loop.stop)
                fail(ETIMEDOUT, "no answer came in time");
        if (loop.stop)
                return 0;
        int left = (int)MIN(c.deadline - loop.now, TICK_MS);
        return dns >= 0 ? MIN(dns, left) : left;
}

static int write_request(const struct client_ask *a, struct error *e) {
        const struct http1_line own[] = {{{"user-agent", 10}, {"belljar", 7}}, {{"accept-encoding", 15}, {"identity", 8}}};
        struct http1_line more[16];
        char target[REQUEST_TARGET_MAX], host[REQUEST_HOST_MAX + 9];
        ssize_t n_target = canonical_write_target(&c.place, target, sizeof(target)), n_host = canonical_write_authority(&c.place, host, sizeof(host));

        if (a->n_more > ELEMENTSOF(more) - ELEMENTSOF(own) || n_target < 0 || n_host < 0)
                return error_set(e, E2BIG, "the request is too long");
        memcpy(more, own, sizeof(own));
        memcpy(more + ELEMENTSOF(own), a->more, a->n_more * sizeof(*more));
        const struct http1_out o = {.method = {a->method, strlen(a->method)}, .target = {target, (size_t)n_target}, .host = {host, (size_t)n_host},
                                    .framing = a->body ? HTTP_LENGTH : HTTP_NO_BODY, .length = a->n_body, .close = true, .more = more,
                                    .n_more = a->n_more + ELEMENTSOF(own)};
        int n = http1_write_request(&o, out.p, out.cap, NULL);
        if (n < 0 || a->n_body > out.cap - (size_t)n)
                return error_set(e, E2BIG, "the request cannot be written: it is too long, or has characters that no field has");
        if (a->body)
                memcpy(out.p + n, a->body, a->n_body);
        c.n_out = (size_t)n + a->n_body;
        return 0;
}

static void begin_response(const char *method) {
        const struct http_head request = {.method_id = streq(method, "HEAD") ? HTTP_HEAD : streq(method, "GET") ? HTTP_GET : HTTP_POST};
        http1_response_begin(&c.reader, &request);
}

int client_call(const struct client_ask *a, char host[256], struct client_answer *ret, struct error *e) {
        const char *why = "";
        int r;

        memset(&c, 0, sizeof(c));
        c.s.w.fd = -1;
        c.e = e;
        if (canonical_url(a->url, strlen(a->url), c.text, sizeof(c.text), &c.place, &why) < 0 || !c.place.tls || c.place.websocket)
                return error_set(e, EINVAL, "the address is none of https: %s", why);
        snprintf(c.host, sizeof(c.host), "%.*s", (int)c.place.host.n, c.place.host.p);
        snprintf(host, 256, "%s", c.host);
        if ((r = write_request(a, e)) < 0)
                return r;
        begin_response(a->method);
        loop.now = now_ms();
        c.deadline = loop.now + a->timeout_ms;
        loop.stop = false;
        dial_start(&c.dial, &c.place, &(const struct verdict){}, dialled, NULL);
        loop_run(&loop, tick, NULL);
        dial_cancel(&c.dial);
        stream_close(&c.s, &loop);
        explicit_bzero(out.p, c.n_out);
        if (c.r == 0)
                *ret = (struct client_answer){c.head.status, &c.head, in.p + c.head_end, c.body};
        return c.r;
}
