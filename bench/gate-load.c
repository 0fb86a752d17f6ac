/* The load of bench/gate: an HTTP/1.1 client that every kind is measured with, and a server that takes what is sent up.
 *
 *   gate-load                                 reads jobs from standard input, one a line; answers each with a line of JSON
 *   gate-load sink PORT TLS-PORT CERTIFICATE  takes requests with bodies on both ports, and answers when it has the whole
 *   gate-load text BYTES         writes text to standard output, the variable SECRET in it now and then where there is one
 *
 * A job is words of the form KEY=VALUE:
 *   to=ADDRESS|NAME port=N     where it connects; a name is looked up once a job
 *   host=NAME[:PORT] sni=NAME  of the field Host, and of the server name within TLS
 *   tls=1                      within TLS; nothing is verified, since it is not the client that is measured
 *   connect=HOST:PORT          asks a proxy for this place first (CONNECT)
 *   absolute=http://HOST:PORT  asks a proxy with a whole URL
 *   path=/x  send=BYTES        GET of the path, or POST with a body of so many bytes
 *   new=1                      a connection for each request, measured from connect(2); else one that is kept, from the request
 *   bearer=VARIABLE            of the environment: sent as Authorization: Bearer
 *   seek=VARIABLE              likewise: how often it is in what was received becomes part of the answer
 *   n=CONNECTIONS requests=N ms=N   closed loop on so many connections, until so many requests are done or so much time is over
 *   watch=1 large=/y           until each connection has failed, every second one with the other path. A line says when all are at
 *                              work; the answer has the times (CLOCK_MONOTONIC) of the first failure, the last, the last byte */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 2000
#define SAMPLES_MAX (1u << 20)
#define CHUNK (256u << 10)
#define HEAD_MAX 16384u

struct job {
        char to[256], host[256], sni[256], connect[256], absolute[300], path[256], large[256], bearer[64], seek[64];
        int port, tls, new, n, ms, watch;
        long long send;
        long requests;
};

enum state { CONNECTING, ASKING_PROXY, HEARING_PROXY, SHAKING, SENDING, HEARING };

struct connection {
        int fd;
        SSL *ssl;
        enum state state;
        uint32_t events;
        double begun;
        const char *text; /* what is sent */
        size_t text_n, text_at;
        long long body_left; /* to send; while HEARING: to receive, -1 within the head */
        size_t head_n;
        bool counted; /* watch: it has received something */
        char head[HEAD_MAX];
};

static struct job job;
static struct sockaddr_storage place;
static socklen_t place_n;
static int epoll;
static SSL_CTX *client_ctx;
static char chunk[CHUNK], up_text[CHUNK], request[2][4096], ask[600];
static size_t request_n[2], ask_n;
static struct connection *all;
static float *samples;
static size_t n_samples;
static long started, errors;
static long long bytes;
static char why[200];
static const char *sought;
static long n_found;
static int at_work;
static double failed_first, failed_last, heard_last;
static int ends;                  /* watch: an epoll of what becomes of the connections, whatever this program is busy with */
static _Atomic double ended_first;

/* --- what is sent --- */

/* As a model's answer or a program's output may be: words, numbers, JSON's escapes. The same text each time. */
static void make_text(char *p, size_t n, const char *secret) {
        static const char *const words[] = {
                "the ", "of ", "request ", "function ", "return ", "server ", "which ", "and ", "\\n", "configuration ", "with ", "a ", "value\\\": \\\"",
                "import ", "Because ", "error: ", "/usr/lib/", "x = ", "if (", ") {\n        ", "is ", "not ", "https://", "object ", "Kubernetes ", "test_",
                "self.", "null, ", "when ", "it ", "to ", "in ", "that ", "for ", "8f3b", "e0d1", "%20", "&amp;", "42", "1.7, ", "JSON ", "length ",
        };
        uint64_t x = 88172645463325252u;
        size_t next = secret ? 500 : SIZE_MAX;

        for (size_t at = 0; at < n;) {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                const char *word = words[x % (sizeof(words) / sizeof(*words))];
                if (at >= next) {
                        word = secret;
                        next += 65536;
                }
                size_t k = strlen(word);
                k = k < n - at ? k : n - at;
                memcpy(p + at, word, k);
                at += k;
        }
}

static int write_text(size_t n) {
        char *p = malloc(n);

        if (!p)
                return 1;
        make_text(p, n, getenv("SECRET"));
        bool good = fwrite(p, 1, n, stdout) == n && fflush(stdout) == 0;
        free(p);
        return good ? 0 : 1;
}

/* --- the client --- */

static double now(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void want(struct connection *c, uint32_t events) {
        struct epoll_event e = {.events = events, .data.ptr = c};
        if (c->events == events)
                return;
        c->events = events;
        epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &e);
}

static void drop(struct connection *c) {
        SSL_free(c->ssl);
        c->ssl = NULL;
        if (c->fd >= 0)
                close(c->fd);
        c->fd = -1;
}

/* Bytes; 0: not now (and what it waits for is set); -1: over. */
static ssize_t transfer(struct connection *c, bool out, char *data, size_t n) {
        ssize_t k;

        if (!c->ssl) {
                k = out ? send(c->fd, data, n, MSG_NOSIGNAL) : recv(c->fd, data, n, 0);
                if (k > 0)
                        return k;
                if (k < 0 && errno == EAGAIN) {
                        want(c, out ? EPOLLOUT : EPOLLIN);
                        return 0;
                }
                snprintf(why, sizeof(why), "%s", k == 0 ? "the connection was closed" : strerror(errno));
                return -1;
        }
        k = out ? SSL_write(c->ssl, data, (int)n) : SSL_read(c->ssl, data, (int)n);
        if (k > 0)
                return k;
        int e = SSL_get_error(c->ssl, (int)k);
        if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE) {
                want(c, e == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT);
                return 0;
        }
        snprintf(why, sizeof(why), "TLS: error %d within %s", e, out ? "sending" : "receiving");
        return -1;
}

static void begin_request(struct connection *c) {
        c->state = SENDING;
        c->text = request[job.watch && (c - all) % 2];
        c->text_n = request_n[job.watch && (c - all) % 2];
        c->text_at = c->head_n = 0;
        c->body_left = job.send;
        if (!job.new)
                c->begun = now();
}

static bool may_start(double until) {
        if ((job.requests && started >= job.requests) || now() >= until)
                return false;
        started++;
        return true;
}

static bool open_connection(struct connection *c) {
        const int one = 1;

        c->begun = now();
        c->fd = socket(place.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (c->fd < 0)
                return false;
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        if (connect(c->fd, (struct sockaddr *)&place, place_n) < 0 && errno != EINPROGRESS)
                return false;
        c->state = CONNECTING;
        c->events = EPOLLOUT;
        struct epoll_event e = {.events = EPOLLOUT, .data.ptr = c}, end = {.events = EPOLLRDHUP | EPOLLET};
        if (job.watch && epoll_ctl(ends, EPOLL_CTL_ADD, c->fd, &end) < 0)
                return false;
        return epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &e) == 0;
}

/* A connection that is refused or cut has its end at the socket long before a client with a hundred of them comes to read it. */
static void *watch_ends(void *arg) {
        /* Short turns (sched_setattr(2)): it is to see when something came, and not when the rest of this program let it. */
        struct {
                uint32_t size, policy;
                uint64_t flags;
                int32_t nice;
                uint32_t priority;
                uint64_t runtime, deadline, period;
        } turns = {.size = sizeof(turns), .runtime = 100000};
        struct epoll_event e;

        turns.nice = getpriority(PRIO_PROCESS, 0);
        (void)!syscall(SYS_sched_setattr, 0, &turns, 0);
        for (;;)
                if (epoll_wait(ends, &e, 1, -1) == 1 && ended_first == 0)
                        ended_first = now();
        return arg;
}

static void begin_tls(struct connection *c) {
        if (!job.tls) {
                begin_request(c);
                return;
        }
        c->ssl = SSL_new(client_ctx);
        SSL_set_fd(c->ssl, c->fd);
        SSL_set_tlsext_host_name(c->ssl, job.sni);
        SSL_set_connect_state(c->ssl);
        c->state = SHAKING;
}

/* The length of the head, when it is whole. */
static size_t head_end(struct connection *c) {
        char *end = memmem(c->head, c->head_n, "\r\n\r\n", 4);
        return end ? (size_t)(end - c->head) + 4 : 0;
}

static long long content_length(struct connection *c, size_t n) {
        for (char *p = c->head; (p = memchr(p, '\n', n - (size_t)(p - c->head))); ) {
                p++;
                if ((size_t)(p - c->head) + 16 < n && strncasecmp(p, "content-length:", 15) == 0)
                        return atoll(p + 15);
        }
        return -1;
}

/* Of a body. */
static void heard(struct connection *c, const char *p, size_t n) {
        bytes += (long long)n;
        if (job.watch) {
                heard_last = now();
                at_work += !c->counted;
                c->counted = true;
        }
        for (const char *end = p + n; sought && (p = memmem(p, (size_t)(end - p), sought, strlen(sought))); p++)
                n_found++;
}

/* 1: go on; 0: waits; -1: failed; 2: the response is there. */
static int step(struct connection *c) {
        ssize_t k;

        switch (c->state) {
        case CONNECTING: {
                int err = 0;
                socklen_t n = sizeof(err);
                getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &n);
                if (err) {
                        snprintf(why, sizeof(why), "connect: %s", strerror(err));
                        return -1;
                }
                c->text_at = c->head_n = 0;
                if (ask_n > 0) {
                        c->state = ASKING_PROXY;
                        c->text = ask;
                        c->text_n = ask_n;
                } else
                        begin_tls(c);
                return 1;
        }
        case ASKING_PROXY:
        case SENDING:
                while (c->text_at < c->text_n) {
                        if ((k = transfer(c, true, (char *)c->text + c->text_at, c->text_n - c->text_at)) <= 0)
                                return (int)k;
                        c->text_at += (size_t)k;
                }
                if (c->state == ASKING_PROXY) {
                        c->state = HEARING_PROXY;
                        return 1;
                }
                if (c->body_left > 0) {
                        if ((k = transfer(c, true, up_text, c->body_left < CHUNK ? (size_t)c->body_left : CHUNK)) <= 0)
                                return (int)k;
                        c->body_left -= k;
                        bytes += k;
                        return 1;
                }
                c->state = HEARING;
                c->body_left = -1;
                return 1;
        case HEARING_PROXY:
                if ((k = transfer(c, false, c->head + c->head_n, HEAD_MAX - c->head_n)) <= 0)
                        return (int)k;
                c->head_n += (size_t)k;
                if (!head_end(c))
                        return c->head_n < HEAD_MAX ? 1 : -1;
                if (c->head_n < 12 || memcmp(c->head + 9, "200", 3) != 0) {
                        snprintf(why, sizeof(why), "CONNECT: %.12s", c->head);
                        return -1;
                }
                begin_tls(c);
                return 1;
        case SHAKING: {
                int r = SSL_do_handshake(c->ssl);
                if (r == 1) {
                        begin_request(c);
                        return 1;
                }
                int e = SSL_get_error(c->ssl, r);
                if (e != SSL_ERROR_WANT_READ && e != SSL_ERROR_WANT_WRITE) {
                        snprintf(why, sizeof(why), "TLS: the handshake failed");
                        return -1;
                }
                want(c, e == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT);
                return 0;
        }
        case HEARING:
        default:
                if (c->body_left >= 0) {
                        if (c->body_left == 0)
                                return 2;
                        if ((k = transfer(c, false, chunk, c->body_left < CHUNK ? (size_t)c->body_left : CHUNK)) <= 0)
                                return (int)k;
                        c->body_left -= k;
                        heard(c, chunk, (size_t)k);
                        return c->body_left == 0 ? 2 : 1;
                }
                if ((k = transfer(c, false, c->head + c->head_n, HEAD_MAX - c->head_n)) <= 0)
                        return (int)k;
                c->head_n += (size_t)k;
                size_t n = head_end(c);
                if (n == 0)
                        return c->head_n < HEAD_MAX ? 1 : -1;
                if (memcmp(c->head + 9, "20", 2) != 0 || (c->body_left = content_length(c, n)) < (long long)(c->head_n - n)) {
                        snprintf(why, sizeof(why), "the response is %.12s", c->head);
                        return -1;
                }
                c->body_left -= (long long)(c->head_n - n);
                heard(c, c->head + n, c->head_n - n);
                return c->body_left == 0 ? 2 : 1;
        }
}

static void serve(struct connection *c, double until, int *alive) {
        for (int i = 0; i < (job.watch ? 4 : 64) && c->fd >= 0; i++) { /* who watches has an eye on all of them */
                int k = step(c);
                if (k == 0)
                        return;
                if (k == 1)
                        continue;
                if (k == 2) {
                        if (n_samples < SAMPLES_MAX)
                                samples[n_samples++] = (float)((now() - c->begun) * 1e6);
                        if (!job.new) {
                                if (may_start(until)) {
                                        begin_request(c);
                                        continue;
                                }
                                drop(c);
                                (*alive)--;
                                return;
                        }
                } else
                        errors++;
                drop(c);
                if (job.watch) {
                        failed_last = now();
                        if (failed_first == 0)
                                failed_first = failed_last;
                        (*alive)--;
                        return;
                }
                if (errors > 100 || !may_start(until) || !open_connection(c)) {
                        drop(c);
                        (*alive)--;
                }
                return;
        }
        /* Others have their turn; level-triggered events bring it back, but what OpenSSL holds does not. */
        if (c->fd >= 0)
                want(c, c->state == HEARING || c->state == HEARING_PROXY ? (c->ssl && SSL_pending(c->ssl) ? EPOLLIN | EPOLLOUT : EPOLLIN) : EPOLLOUT);
}

static int by_size(const void *a, const void *b) {
        float x = *(const float *)a, y = *(const float *)b;
        return x < y ? -1 : x > y;
}

static bool read_job(char *line) {
        job = (struct job){.n = 1, .ms = 60000};
        for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
                char *value = strchr(word, '=');
                if (!value)
                        return false;
                *value++ = 0;
                const struct {
                        const char *name;
                        char *text;
                        size_t n;
                } texts[] = {{"to", job.to, sizeof(job.to)}, {"host", job.host, sizeof(job.host)}, {"sni", job.sni, sizeof(job.sni)}, {"connect", job.connect, sizeof(job.connect)},
                             {"absolute", job.absolute, sizeof(job.absolute)}, {"path", job.path, sizeof(job.path)}, {"large", job.large, sizeof(job.large)},
                             {"bearer", job.bearer, sizeof(job.bearer)}, {"seek", job.seek, sizeof(job.seek)}};
                const struct {
                        const char *name;
                        int *n;
                } numbers[] = {{"port", &job.port}, {"tls", &job.tls}, {"new", &job.new}, {"n", &job.n}, {"ms", &job.ms}, {"watch", &job.watch}};
                bool known = false;
                for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
                        if (strcmp(word, texts[i].name) == 0)
                                known = snprintf(texts[i].text, texts[i].n, "%s", value) < (int)texts[i].n;
                for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
                        if (strcmp(word, numbers[i].name) == 0) {
                                *numbers[i].n = atoi(value);
                                known = true;
                        }
                if (strcmp(word, "requests") == 0) {
                        job.requests = atol(value);
                        known = true;
                } else if (strcmp(word, "send") == 0) {
                        job.send = atoll(value);
                        known = true;
                }
                if (!known)
                        return false;
        }
        return job.n > 0 && job.n <= CONNECTIONS_MAX;
}

static void run_job(void) {
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_INET}, *found;
        char port[8], body[64] = "";
        int alive = 0;
        bool said = false;

        snprintf(port, sizeof(port), "%d", job.port);
        int r = getaddrinfo(job.to, port, &hints, &found);
        if (r != 0) {
                printf("{\"error\": \"%s: %s\"}\n", job.to, gai_strerror(r));
                return;
        }
        memcpy(&place, found->ai_addr, found->ai_addrlen);
        place_n = found->ai_addrlen;
        freeaddrinfo(found);
        if (job.send > 0)
                snprintf(body, sizeof(body), "Content-Length: %lld\r\n", job.send);
        for (int i = 0; i < 2; i++)
                request_n[i] = (size_t)snprintf(request[i], sizeof(request[i]), "%s %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: gate-load\r\nAccept: */*\r\n%s%s%s%s\r\n",
                                                job.send > 0 ? "POST" : "GET", job.absolute, i ? job.large : job.path, job.host, body,
                                                job.bearer[0] ? "Authorization: Bearer " : "", job.bearer[0] ? (getenv(job.bearer) ?: "") : "", job.bearer[0] ? "\r\n" : "");
        sought = job.seek[0] ? getenv(job.seek) : NULL;
        n_found = at_work = 0;
        failed_first = failed_last = heard_last = ended_first = 0;
        ask_n = job.connect[0] ? (size_t)snprintf(ask, sizeof(ask), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", job.connect, job.connect) : 0;
        n_samples = 0;
        started = errors = 0;
        bytes = 0;
        why[0] = 0;
        double begun = now(), until = begun + job.ms / 1e3;
        for (int i = 0; i < job.n; i++) {
                all[i].fd = -1;
                all[i].counted = false;
                if (!may_start(until))
                        break;
                if (open_connection(&all[i]))
                        alive++;
        }
        while (alive > 0 && now() < until + 0.05) {
                struct epoll_event e[64];
                int n = epoll_wait(epoll, e, 64, 20);
                for (int i = 0; i < n; i++)
                        serve(e[i].data.ptr, until, &alive);
                if (job.watch && !said && (at_work == job.n || alive < job.n)) {
                        said = true;
                        printf("{\"at_work\": %d}\n", at_work);
                }
        }
        double took = now() - begun;
        for (int i = 0; i < job.n; i++)
                drop(&all[i]);
        qsort(samples, n_samples, sizeof(*samples), by_size);
        printf("{\"requests\": %zu, \"errors\": %ld, \"why\": \"%s\", \"seconds\": %.6f, \"bytes\": %lld", n_samples, errors, why, took, bytes);
        if (n_samples > 0)
                printf(", \"p50\": %.1f, \"p99\": %.1f", (double)samples[n_samples / 2], (double)samples[n_samples * 99 / 100]);
        if (sought)
                printf(", \"found\": %ld", n_found);
        if (job.watch)
                printf(", \"alive\": %d, \"ended_first\": %.9f, \"failed_first\": %.9f, \"failed_last\": %.9f, \"heard_last\": %.9f", alive, ended_first, failed_first, failed_last, heard_last);
        puts("}");
}

/* --- the sink --- */

static SSL_CTX *server_ctx;

static ssize_t take(int fd, SSL *ssl, char *buf, size_t n) { return ssl ? SSL_read(ssl, buf, (int)n) : recv(fd, buf, n, 0); }

static void *sink_connection(void *arg) {
        static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        int fd = (int)((intptr_t)arg >> 1);
        SSL *ssl = (intptr_t)arg & 1 ? SSL_new(server_ctx) : NULL;
        struct connection *c = calloc(1, sizeof(*c));
        char *buf = malloc(CHUNK);
        ssize_t k = 1;

        if (ssl) {
                SSL_set_fd(ssl, fd);
                k = SSL_accept(ssl);
        }
        while (k > 0) {
                size_t n = 0;
                c->head_n = 0;
                while (n == 0 && c->head_n < HEAD_MAX && (k = take(fd, ssl, c->head + c->head_n, HEAD_MAX - c->head_n)) > 0) {
                        c->head_n += (size_t)k;
                        n = head_end(c);
                }
                if (n == 0)
                        break;
                long long left = content_length(c, n) - (long long)(c->head_n - n);
                while (left > 0 && (k = take(fd, ssl, buf, left < CHUNK ? (size_t)left : CHUNK)) > 0)
                        left -= k;
                if (k <= 0)
                        break;
                k = ssl ? SSL_write(ssl, ok, sizeof(ok) - 1) : send(fd, ok, sizeof(ok) - 1, MSG_NOSIGNAL);
        }
        SSL_free(ssl);
        close(fd);
        free(c);
        free(buf);
        return NULL;
}

static void *sink_port(void *arg) {
        intptr_t port = (intptr_t)arg >> 1, tls = (intptr_t)arg & 1;
        const int one = 1;
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 4096) < 0) {
                perror("gate-load: sink");
                exit(1);
        }
        for (;;) {
                int c = accept(fd, NULL, NULL);
                pthread_t t;
                if (c < 0)
                        continue;
                setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
                if (pthread_create(&t, NULL, sink_connection, (void *)((intptr_t)c << 1 | tls)) == 0)
                        pthread_detach(t);
                else
                        close(c);
        }
}

int main(int argc, char **argv) {
        char line[4096];

        signal(SIGPIPE, SIG_IGN);
        if (argc == 3 && strcmp(argv[1], "text") == 0)
                return write_text((size_t)atoll(argv[2]));
        if (argc == 5 && strcmp(argv[1], "sink") == 0) {
                pthread_t t;
                server_ctx = SSL_CTX_new(TLS_server_method());
                if (SSL_CTX_use_certificate_chain_file(server_ctx, argv[4]) != 1 ||
                    SSL_CTX_use_PrivateKey_file(server_ctx, argv[4], SSL_FILETYPE_PEM) != 1)
                        return 1;
                pthread_create(&t, NULL, sink_port, (void *)((intptr_t)atoi(argv[2]) << 1));
                sink_port((void *)((intptr_t)atoi(argv[3]) << 1 | 1));
        }
        pthread_t watcher;
        make_text(up_text, sizeof(up_text), NULL);
        all = calloc(CONNECTIONS_MAX, sizeof(*all));
        samples = calloc(SAMPLES_MAX, sizeof(*samples));
        epoll = epoll_create1(EPOLL_CLOEXEC);
        ends = epoll_create1(EPOLL_CLOEXEC);
        client_ctx = SSL_CTX_new(TLS_client_method());
        if (!all || !samples || epoll < 0 || ends < 0 || !client_ctx || pthread_create(&watcher, NULL, watch_ends, NULL) != 0)
                return 1;
        SSL_CTX_set_mode(client_ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        setvbuf(stdout, NULL, _IOLBF, 0);
        while (fgets(line, sizeof(line), stdin)) {
                if (read_job(line))
                        run_job();
                else
                        puts("{\"error\": \"this is no job\"}");
        }
        return 0;
}
