/* A server of HTTP/2 without TLS on 127.0.0.1, for tests/integration/h2-clients: prints its port, then a line for each
 * request and each that is refused. "/N" answers with N bytes, a request with content with the number of its bytes. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/h2.h"

struct job {
        uint64_t received, length, sent;
        char text[32];
};

static void answer(struct h2_stream *s, unsigned status) {
        struct job *j = s->arg;
        struct http1_out o = {.status = (uint16_t)status, .request_method = s->head->method_id, .framing = HTTP_LENGTH,
                              .length = j->length};

        if (o.request_method == HTTP_HEAD) {
                o.framing = HTTP_NO_BODY;
                o.say_length = true;
        }
        if (h2_respond(s, &o, NULL) < 0)
                abort();
}

static void on_request(struct h2_stream *s) {
        struct http_text m = http_span_text(s->head, s->head->method), t = http_span_text(s->head, s->head->target);
        struct http_text a = http_span_text(s->head, s->head->host);
        struct job *j = calloc(1, sizeof(*j));

        if (!j)
                abort();
        printf("request %.*s %.*s %.*s %u\n", (int)m.n, m.p, (int)t.n, t.p, (int)a.n, a.p, s->head->n_fields);
        fflush(stdout);
        s->arg = j;
        for (size_t i = 1; i < t.n && t.p[i] >= '0' && t.p[i] <= '9'; i++)
                j->length = j->length * 10 + (uint64_t)(t.p[i] - '0');
        if (s->head->expect_continue) {
                struct http1_out o = {.status = 100, .request_method = s->head->method_id};
                if (h2_respond(s, &o, NULL) < 0)
                        abort();
        }
        if (s->request_done)
                answer(s, 200);
}
static void on_content(struct h2_stream *s, const char *p, size_t n, bool end) {
        struct job *j = s->arg;

        j->received += n;
        h2_taken(s, n);
        if (end) {
                j->length = (uint64_t)snprintf(j->text, sizeof(j->text), "%llu", (unsigned long long)j->received);
                answer(s, 200);
        }
}
static ssize_t on_pull(struct h2_stream *s, char *buf, size_t n, bool *end) {
        struct job *j = s->arg;

        n = (size_t)MIN((uint64_t)n, j->length - j->sent);
        if (j->text[0])
                memcpy(buf, j->text + j->sent, n);
        else
                memset(buf, 'x', n);
        j->sent += n;
        *end = j->sent == j->length;
        return (ssize_t)n;
}
static void on_refused(struct h2_stream *s, enum http_refusal why) {
        printf("refused %s\n", http_refusal_name(why));
        fflush(stdout);
        s->arg = calloc(1, sizeof(struct job));
        if (!s->arg)
                abort();
        answer(s, http_refusal_status(why));
}
static void on_closed(struct h2_stream *s, bool cut) {
        if (cut)
                printf("cut\n");
        fflush(stdout);
        free(s->arg);
}

static void serve(int fd) {
        static const struct h2_owner owner = {on_request, on_content, on_pull, on_refused, on_closed};
        static char buf[65536];
        struct h2 *h;
        const char *out;
        ssize_t n = 0;

        if (h2_new(&h, &owner, NULL, false) < 0)
                abort();
        do {
                struct timespec t;
                clock_gettime(CLOCK_MONOTONIC, &t);
                if (h2_read(h, buf, (size_t)n, (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000) < 0) {
                        printf("over: %s\n", h2_why(h));
                        fflush(stdout);
                }
                while ((n = h2_output(h, &out)) > 0)
                        if (fd_write_all(fd, out, (size_t)n) < 0)
                                break;
        } while (!h2_over(h) && (n = read(fd, buf, sizeof(buf))) > 0);
        h2_free(h);
}

int main(void) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t n = sizeof(a);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 64) < 0 ||
            getsockname(fd, (struct sockaddr *)&a, &n) < 0)
                return 1;
        printf("%u\n", ntohs(a.sin_port));
        fflush(stdout);
        for (;;) {
                int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
                if (c < 0)
                        return 1;
                if (fork() == 0) {
                        serve(c);
                        exit(0); /* leaks are looked for here */
                }
                fd_close(c);
        }
}
