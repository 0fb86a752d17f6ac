/* `belljar-gate --try MODE HOST PORT METHOD TARGET`: one attempt, made from within a sandbox as any program there would make it, for
 * `belljar why --probe`. MODE is tcp, tls, raw (bytes that are no request), http or https. It knows nothing of the policy. What
 * happened goes to standard output, a word and its value a line:
 *
 *   dns ADDRESS | dns nxdomain | dns none | dns failed      unless HOST is an address
 *   connect ok | connect refused | connect TEXT
 *   tls VERSION | tls-failed TEXT
 *   status N        of the response; body TEXT: its beginning, where it is a refusal of Belljar's form
 *   end data | eof | reset | silent | TEXT                  what became of the connection
 *
 * What comes from the upstream is printable and bounded; it is untrusted all the same. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "proto/dns.h"
#include "proto/http1.h"
#include "role/gate/gate.h"
#include "svc/tls.h"

#define DNS_MS 5000
/* Longer than a broker tries to reach an upstream, so that the end of that is seen. */
#define ALL_MS 40000
/* A server that says nothing. */
#define SILENT_MS 3000
#define BODY_SHOWN 2048u

struct attempt {
        const char *mode, *host, *method, *target;
        uint16_t port;
        int fd;
        struct tls_trust *trust;
        struct tls *tls;
        uint64_t until; /* ms, monotonic */
};

static uint64_t now_ms(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void say(const char *word, const char *value) {
        char visible[4 * BODY_SHOWN];
        str_visible(visible, sizeof(visible), value);
        printf("%s %s\n", word, visible);
        (void)fflush(stdout);
}

/* False: in vain. */
static bool wait_for(int fd, short events, uint64_t until) {
        for (;;) {
                uint64_t now = now_ms();
                struct pollfd p = {.fd = fd, .events = events};
                if (now >= until)
                        return false;
                int n = poll(&p, 1, (int)(until - now));
                if (n > 0)
                        return true;
                if (n < 0 && errno != EINTR)
                        return false;
        }
}

/* ---- names ---- */

static size_t question(const char *host, uint8_t *q, size_t size) {
        static const uint8_t head[12] = {0x5a, 0x17, 0x01, 0, 0, 1}, tail[5] = {0, 0, DNS_TYPE_A, 0, 1};
        size_t n = sizeof(head);

        if (strlen(host) > DNS_NAME_MAX || size < sizeof(head) + DNS_WIRE_MAX + sizeof(tail))
                return 0;
        memcpy(q, head, sizeof(head));
        for (const char *p = host; *p;) {
                size_t k = strcspn(p, ".");
                if (k == 0 || k > 63)
                        return 0;
                q[n++] = (uint8_t)k;
                memcpy(q + n, p, k);
                n += k;
                p += k + (p[k] == '.');
        }
        memcpy(q + n, tail, sizeof(tail));
        return n + sizeof(tail);
}

/* The first address of an answer of the gate's: the name in it is a pointer (RFC 1035, section 4.1.4). */
static bool first_address(const uint8_t *a, size_t n, size_t question_end, uint8_t ret[4]) {
        for (size_t at = question_end; at + 12 <= n && (a[at] & 0xc0) == 0xc0;) {
                size_t length = (size_t)a[at + 10] << 8 | a[at + 11];
                if (at + 12 + length > n)
                        return false;
                if (a[at + 2] == 0 && a[at + 3] == DNS_TYPE_A && length == 4) {
                        memcpy(ret, a + at + 12, 4);
                        return true;
                }
                at += 12 + length;
        }
        return false;
}

/* The length of the answer; *ret_n: of the question, with which it begins. 0: there is none. */
static size_t ask(const char *host, uint8_t *a, size_t size, size_t *ret_n) {
        const struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(53), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        uint8_t q[12 + DNS_WIRE_MAX + 5];
        size_t n = question(host, q, sizeof(q));
        ssize_t k = -1;

        _cleanup_fd_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (n > 0 && fd >= 0 && connect(fd, (const struct sockaddr *)&server, sizeof(server)) == 0 && send(fd, q, n, 0) == (ssize_t)n &&
            wait_for(fd, POLLIN, now_ms() + DNS_MS))
                k = recv(fd, a, size, 0);
        *ret_n = n;
        if (k < 12 || k < (ssize_t)n)
                return 0;
        return memcmp(a, q, 2) == 0 && a[2] & 0x80 ? (size_t)k : 0;
}

static bool resolve(const char *host, struct sockaddr_in *ret) {
        uint8_t a[2048], address[4];
        size_t n, k = ask(host, a, sizeof(a), &n);

        if (k == 0) {
                say("dns", "failed");
                return false;
        }
        if ((a[3] & 0x0f) != DNS_NOERROR) {
                say("dns", (a[3] & 0x0f) == DNS_NXDOMAIN ? "nxdomain" : "failed");
                return false;
        }
        if (!first_address(a, k, n, address)) {
                say("dns", "none");
                return false;
        }
        char text[INET_ADDRSTRLEN];
        *ret = (struct sockaddr_in){.sin_family = AF_INET};
        memcpy(&ret->sin_addr, address, 4);
        say("dns", inet_ntop(AF_INET, address, text, sizeof(text)));
        return true;
}

/* ---- the connection ---- */

static bool dial(struct attempt *x) {
        struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(x->port)};
        struct sockaddr_in four = {.sin_family = AF_INET};
        bool v6 = inet_pton(AF_INET6, x->host, &six.sin6_addr) == 1;
        socklen_t size = sizeof(int);
        int err = 0;

        if (!v6 && inet_pton(AF_INET, x->host, &four.sin_addr) != 1 && !resolve(x->host, &four))
                return false;
        four.sin_port = htons(x->port);
        x->fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        const struct sockaddr *to = v6 ? (const struct sockaddr *)&six : (const struct sockaddr *)&four;
        if (x->fd < 0 || (connect(x->fd, to, v6 ? sizeof(six) : sizeof(four)) < 0 && errno != EINPROGRESS))
                err = errno;
        else if (!wait_for(x->fd, POLLOUT, x->until))
                err = ETIMEDOUT;
        else
                (void)getsockopt(x->fd, SOL_SOCKET, SO_ERROR, &err, &size);
        say("connect", err == 0 ? "ok" : err == ECONNREFUSED ? "refused" : strerror(err));
        return err == 0;
}

/* Of the last call on x->tls, which returned -EAGAIN. */
static bool tls_wait(const struct attempt *x) { return wait_for(x->fd, tls_wants(x->tls) & EPOLLOUT ? POLLOUT : POLLIN, x->until); }

static int trusted_file(const char *name, int flags) {
        const char *path = getenv(name);
        return path ? open(path, O_RDONLY | O_CLOEXEC | flags) : -1;
}

static bool begin_tls(struct attempt *x) {
        struct error e = {};
        int r = tls_init(&e);

        if (r == 0)
                r = tls_trust_new(trusted_file("SSL_CERT_FILE", 0), trusted_file("SSL_CERT_DIR", O_DIRECTORY), &x->trust, &e);
        if (r < 0 || !(x->tls = tls_connect(x->trust, x->fd, x->host, false))) {
                say("tls-failed", e.msg[0] ? e.msg : "out of memory");
                return false;
        }
        while ((r = tls_handshake(x->tls)) == -EAGAIN && tls_wait(x))
                ;
        if (r == 0) {
                say("tls", tls_version(x->tls));
                return true;
        }
        say("tls-failed", r == -EAGAIN ? "nothing came" : r == -ECONNRESET ? "the connection was reset" : tls_why(x->tls));
        return false;
}

/* -ETIMEDOUT where nothing happens in time; else as read(2) and tls_read have it. */
static ssize_t take(struct attempt *x, void *buf, size_t n) {
        for (;;) {
                ssize_t k = x->tls ? tls_read(x->tls, buf, n) : read(x->fd, buf, n);
                if (!x->tls && k < 0)
                        k = -errno;
                if (k != -EAGAIN && k != -EINTR)
                        return k;
                if (!(x->tls ? tls_wait(x) : wait_for(x->fd, POLLIN, x->until)))
                        return -ETIMEDOUT;
        }
}

static bool put(struct attempt *x, const char *p, size_t n) {
        while (n > 0) {
                ssize_t k = x->tls ? tls_write(x->tls, p, n) : send(x->fd, p, n, MSG_NOSIGNAL);
                if (!x->tls && k < 0)
                        k = -errno;
                if (k >= 0) {
                        p += k;
                        n -= (size_t)k;
                } else if ((k != -EAGAIN && k != -EINTR) || !(x->tls ? tls_wait(x) : wait_for(x->fd, POLLOUT, x->until)))
                        return false;
        }
        return true;
}

static void say_end(ssize_t k) {
        say("end", k > 0 ? "data" : k == 0 ? "eof" : k == -ECONNRESET ? "reset" : k == -ETIMEDOUT ? "silent" : "failed");
}

/* ---- the request ---- */

static size_t request_of(const struct attempt *x, char *buf, size_t size) {
        static const struct http1_line more[] = {{{"User-Agent", 10}, {"belljar-probe", 13}}, {{"Accept", 6}, {"*/*", 3}}};
        bool sends = streq(x->method, "POST") || streq(x->method, "PUT") || streq(x->method, "PATCH");
        bool six = strchr(x->host, ':'), usual = x->port == (streq(x->mode, "https") ? 443 : 80);
        char host[HTTP_HOST_MAX + 1];
        enum http_refusal why;

        int k = snprintf(host, sizeof(host), usual ? "%s%s%s" : "%s%s%s:%u", six ? "[" : "", x->host, six ? "]" : "", x->port);
        if (k < 0 || (size_t)k >= sizeof(host))
                return 0;
        const struct http1_out o = {.method = {x->method, strlen(x->method)}, .target = {x->target, strlen(x->target)}, .host = {host, (size_t)k},
                                    .framing = sends ? HTTP_LENGTH : HTTP_NO_BODY, .close = true, .more = more, .n_more = ELEMENTSOF(more)};
        int n = http1_write_request(&o, buf, size, &why);
        return n > 0 ? (size_t)n : 0;
}

/* The beginning of a body, as far as it comes. */
static void read_body(struct attempt *x, const struct http_head *head, char *buf, size_t have) {
        char body[BODY_SHOWN + 1];
        size_t n = 0, used;
        struct http1_body b;
        int r = 0;

        http1_body_begin(&b, head);
        while (r == 0 && n < BODY_SHOWN) {
                struct http_text slice = {};
                for (size_t at = 0; r == 0 && at < have && n < BODY_SHOWN; at += used) {
                        r = http1_body_read(&b, buf + at, have - at, &slice, &used);
                        size_t k = MIN(slice.n, BODY_SHOWN - n);
                        if (r >= 0 && k > 0)
                                memcpy(body + n, slice.p, k);
                        n += r >= 0 ? k : 0;
                        if (used == 0)
                                break;
                }
                ssize_t k = r == 0 && n < BODY_SHOWN && head->framing != HTTP_NO_BODY ? take(x, buf, HTTP_HEAD_MAX) : 0;
                if (k <= 0)
                        break;
                have = (size_t)k;
        }
        while (n > 0 && body[n - 1] == '\n')
                n--;
        for (size_t i = 0; i < n; i++)
                if ((unsigned char)body[i] < 0x20 || body[i] == 0x7f)
                        body[i] = '?';
        body[n] = 0;
        if (str_after(body, "{\"denied_by\":")) /* JSON: not escaped once more */
                printf("body %s\n", body);
}

static void exchange(struct attempt *x) {
        static char buf[HTTP_HEAD_MAX + 1];
        static struct http_head head, asked;
        struct http1_reader reader;
        size_t n = request_of(x, buf, sizeof(buf)), have = 0;
        ssize_t k = 0;
        int r = 0;

        if (n == 0) {
                say("end", "the request cannot be written");
                return;
        }
        asked.base = x->method;
        if (http_head_method(&asked, (struct http_span){0, (uint32_t)strlen(x->method)}) != HTTP_OK || !put(x, buf, n)) {
                say("end", "reset");
                return;
        }
        http1_response_begin(&reader, &asked);
        for (;;) {
                if (have == HTTP_HEAD_MAX || (k = take(x, buf + have, HTTP_HEAD_MAX - have)) <= 0)
                        break;
                have += (size_t)k;
                while ((r = http1_read_head(&reader, &head, buf, have)) > 0 && head.status < 200 && head.status != 101) {
                        have -= (size_t)r;
                        memmove(buf, buf + r, have);
                        http1_response_next(&reader);
                }
                if (r != 0)
                        break;
        }
        if (r <= 0) {
                if (r < 0)
                        say("end", http_refusal_text(reader.refused));
                else
                        say_end(k);
                return;
        }
        char status[8];
        snprintf(status, sizeof(status), "%u", head.status);
        say("status", status);
        have -= (size_t)r;
        memmove(buf, buf + r, have);
        if (head.status >= 400)
                read_body(x, &head, buf, have);
}

/* Sends nothing, and says that; what the other side does then shows that there is one. */
static void listen_only(struct attempt *x) {
        static const char junk[] = "\1\2belljar: no request of any kind\r\n\r\n";
        char buf[256];

        if (streq(x->mode, "raw") && !put(x, junk, sizeof(junk) - 1)) {
                say("end", "reset");
                return;
        }
        x->until = MIN(x->until, now_ms() + SILENT_MS);
        ssize_t k = take(x, buf, sizeof(buf));
        if (k == -ETIMEDOUT) {
                if (x->tls)
                        (void)!tls_shutdown(x->tls);
                else
                        (void)shutdown(x->fd, SHUT_WR);
                x->until = now_ms() + ALL_MS - SILENT_MS;
                k = take(x, buf, sizeof(buf));
        }
        say_end(k);
}

int gate_try(char **argv) {
        struct attempt x = {.mode = argv[0], .host = argv[1], .method = argv[3], .target = argv[4], .fd = -1, .until = now_ms() + ALL_MS};
        bool tls = streq(x.mode, "tls") || streq(x.mode, "https"), http = streq(x.mode, "http") || streq(x.mode, "https");
        uint64_t port;

        if (parse_u64(argv[2], &port) < 0 || port == 0 || port > UINT16_MAX)
                return 2;
        x.port = (uint16_t)port;
        if (dial(&x) && (!tls || begin_tls(&x))) {
                if (http)
                        exchange(&x);
                else
                        listen_only(&x);
        }
        tls_free(x.tls);
        tls_trust_free(x.trust);
        fd_close(x.fd);
        /* What the kernel refused waits for a gate, which may only be starting: an answer of its shows that it is there. */
        uint8_t a[512];
        size_t n;
        (void)ask("localhost", a, sizeof(a), &n);
        return 0;
}
