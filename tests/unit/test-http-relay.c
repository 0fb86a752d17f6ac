/* The relay between two plain streams, with a client and an upstream of the test's own. */
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "svc/http-relay.h"
#include "tap.h"

#define OUTSIDE 200000u

static struct loop loop;
static struct http_relay relay;
static int client, upstream; /* the test's ends */
static unsigned opened, finished, cuts;
static bool over, unreachable;
static size_t rewrites;
static char got[4u << 20];

static void open_upstream(struct http_relay *r) {
        int pair[2];

        check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
        check(stream_init(&r->upstream.s, &loop, pair[0], NULL, http_relay_upstream_ready) == 0);
        upstream = pair[1];
        opened++;
        http_relay_connected(r);
}

static enum http_relay_verdict on_request(struct http_relay *r, struct http1_out *out) {
        if (unreachable)
                http_relay_unconnected(r, "no route");
        else if (r->upstream.s.w.fd < 0)
                open_upstream(r);
        r->rewrites_up = rewrites;
        out->target = http_span_text(&r->request, r->request.target);
        out->host = http_span_text(&r->request, r->request.host);
        return HTTP_RELAY_FORWARD;
}

/* Nothing with an X in it goes up. */
static size_t rewrite(struct http_relay *r, bool up, const char *p, size_t n, bool last, char *out) {
        memcpy(out, p, n);
        return memchr(p, 'X', n) ? SIZE_MAX : n;
}

static enum http_relay_verdict on_response(struct http_relay *r, struct http1_out *out) { return HTTP_RELAY_FORWARD; }
static bool may_read(struct http_relay *r, bool up) { return true; }
static bool moved(struct http_relay *r, bool up, size_t n) { return true; }
static void refused(struct http_relay *r, enum http_refusal why) { http_relay_answer(r, 403, "text/plain", "", 0); }
static void failed(struct http_relay *r, const char *text) { http_relay_answer(r, 502, "text/plain", text, strlen(text)); }
static void done(struct http_relay *r, bool cut) {
        finished++;
        cuts += cut;
}
static void ended(struct http_relay *r) { over = true; }

static void again(struct http_relay *r) {
        if (unreachable)
                http_relay_unconnected(r, "no route");
        else
                open_upstream(r);
}

static struct stream parked;
static void parked_ready(struct watch *w, uint32_t events) {}
static void idle(struct http_relay *r) {
        check(parked.w.fd < 0 && stream_move(&parked, &r->upstream.s, &loop, parked_ready) == 0 && r->upstream.s.w.fd < 0);
}

static const struct http_relay_owner owner = {
        .request = on_request, .response = on_response, .may_read = may_read, .moved = moved, .rewrite = rewrite, .refused = refused,
        .failed = failed, .idle = idle, .again = again, .done = done, .ended = ended,
};

static void set_up(void) {
        relay = (struct http_relay){};
        int pair[2];

        check(loop_init(&loop) == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
        check(stream_init(&relay.client.s, &loop, pair[0], NULL, http_relay_client_ready) == 0);
        client = pair[1];
        relay.upstream.s.w.fd = parked.w.fd = -1;
        over = unreachable = false;
        http_relay_init(&relay, &owner, &loop);
        http_relay_run(&relay);
}

static int turns;
static int one_turn(void *arg) {
        loop.stop = turns-- == 0;
        return 0;
}

static void serve(void) {
        turns = 8;
        loop.stop = false;
        loop_run(&loop, one_turn, NULL);
}

static void say(int fd, const char *text) { check(send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text)); }

/* What has come, as text. */
static const char *hear(int fd) {
        ssize_t n = recv(fd, got, sizeof(got) - 1, 0);
        got[MAX(n, 0)] = 0;
        return got;
}

TEST(a_body_of_length_0_ends_with_its_head) {
        set_up();
        for (int i = 0; i < 3; i++) {
                say(client, "POST /a HTTP/1.1\r\nHost: h.test\r\nContent-Length: 0\r\n\r\n");
                serve();
                check(strstr(hear(upstream), "POST /a HTTP/1.1\r\n"));
                say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                serve();
                check(strncmp(hear(client), "HTTP/1.1 200", 12) == 0 && finished == (unsigned)i + 1);
        }
        check(opened == 1 && cuts == 0);
}

TEST(a_head_and_its_body_go_together) {
        set_up();
        say(client, "POST / HTTP/1.1\r\nHost: h.test\r\nContent-Length: 4\r\n\r\nbody");
        http_relay_run(&relay); /* without the loop: this is all in one turn */
        relay.client.drained = false;
        http_relay_run(&relay);
        check(strstr(hear(upstream), "\r\n\r\nbody"));
        say(upstream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nall\r\n0\r\n\r\n");
        serve();
        check(strstr(hear(client), "\r\n\r\n3\r\nall\r\n0\r\n\r\n"));
}

TEST(bodies_are_whole) {
        static char body[3u << 20];
        char head[128];

        for (size_t i = 0; i < sizeof(body); i++)
                body[i] = (char)('a' + i * 7 % 23);
        set_up();
        snprintf(head, sizeof(head), "POST / HTTP/1.1\r\nHost: h.test\r\nContent-Length: %zu\r\n\r\n", sizeof(body));
        for (int back = 0; back < 2; back++) {
                int from = back ? upstream : client;
                size_t sent = 0, n = 0, start = 0;
                if (back)
                        snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", sizeof(body));
                say(from, head);
                while (n < start + sizeof(body)) {
                        ssize_t k = send(from, body + sent, MIN(sizeof(body) - sent, (size_t)50000), MSG_NOSIGNAL | MSG_DONTWAIT);
                        sent += k > 0 ? (size_t)k : 0;
                        serve();
                        k = recv(back ? client : upstream, got + n, sizeof(got) - n, MSG_DONTWAIT);
                        check(k > 0 || errno == EAGAIN);
                        n += k > 0 ? (size_t)k : 0;
                        if (start == 0 && n > 0) {
                                char *end = (char *)memmem(got, n, "\r\n\r\n", 4);
                                check(end);
                                start = (size_t)(end - got) + 4;
                        }
                }
                check(n == start + sizeof(body) && memcmp(got + start, body, sizeof(body)) == 0);
        }
        serve();
        check(finished == 1 && cuts == 0);
}

TEST(a_client_that_has_ended_its_side_gets_its_answer) {
        static char body[OUTSIDE];
        size_t n = 0;

        memset(body, 'x', sizeof(body));
        set_up();
        int little = 4096;
        check(setsockopt(relay.client.s.w.fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof(little)) == 0);
        say(client, "GET / HTTP/1.1\r\nHost: h.test\r\n\r\n");
        check(shutdown(client, SHUT_WR) == 0);
        serve();
        check(strstr(hear(upstream), "GET / "));
        say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n");
        for (size_t sent = 0; sent < sizeof(body) || !over;) {
                ssize_t k = send(upstream, body + sent, sizeof(body) - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
                sent += k > 0 ? (size_t)k : 0;
                serve();
                k = recv(client, got + n, 1000, MSG_DONTWAIT); /* slowly */
                check(k != 0 || n > OUTSIDE);
                n += k > 0 ? (size_t)k : 0;
        }
        for (ssize_t k; (k = recv(client, got + n, sizeof(got) - n, MSG_DONTWAIT)) > 0;)
                n += (size_t)k;
        char *end = (char *)memmem(got, n, "\r\n\r\n", 4);
        check(end && n == (size_t)(end - got) + 4 + OUTSIDE && finished == 1 && cuts == 0);
}

TEST(an_upstream_that_has_gone_is_replaced) {
        set_up();
        for (int i = 0; i < 3; i++) {
                say(client, "GET / HTTP/1.1\r\nHost: h.test\r\n\r\n");
                serve();
                check(opened == (unsigned)i + 1 && strstr(hear(upstream), "GET / "));
                say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                serve();
                check(strstr(hear(client), "\r\n\r\nok"));
                close(upstream);
                if (i == 1)
                        serve(); /* seen while it idles; else with the next request */
        }
        check(cuts == 0);
}

static void one_answer(void) {
        say(client, "GET /first HTTP/1.1\r\nHost: h.test\r\n\r\n");
        serve();
        check(strstr(hear(upstream), "GET /first "));
        say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        serve();
        check(strstr(hear(client), "\r\n\r\nok"));
}

/* It closes in the moment in which it is asked again. */
TEST(a_request_that_nobody_heard_is_sent_once_more) {
        static const char *const heads[] = {"GET /second", "HEAD /second"};

        for (size_t i = 0; i < ELEMENTSOF(heads); i++) {
                set_up();
                opened = finished = 0;
                one_answer();
                say(client, heads[i]);
                say(client, " HTTP/1.1\r\nHost: h.test\r\nX-A: b\r\n\r\n");
                serve();
                check(strncmp(hear(upstream), heads[i], strlen(heads[i])) == 0 && opened == 1);
                close(upstream);
                serve();
                check(opened == 2 && strncmp(hear(upstream), heads[i], strlen(heads[i])) == 0 && strstr(got, "b\r\n\r\n"));
                say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                serve();
                check(strncmp(hear(client), "HTTP/1.1 200", 12) == 0 && finished == 2 && cuts == 0);
                /* Once. */
                say(client, "GET /third HTTP/1.1\r\nHost: h.test\r\n\r\n");
                serve();
                close(upstream);
                serve();
                check(opened == 3);
                close(upstream);
                serve();
                check(opened == 3 && strncmp(hear(client), "HTTP/1.1 502", 12) == 0);
                cuts = 0;
        }
}

TEST(and_then_there_may_be_no_upstream) {
        set_up();
        one_answer();
        say(client, "GET / HTTP/1.1\r\nHost: h.test\r\n\r\n");
        serve();
        unreachable = true;
        close(upstream);
        serve();
        check(strncmp(hear(client), "HTTP/1.1 502", 12) == 0 && strstr(got, "no route"));
}

TEST(what_may_have_had_an_effect_is_not_sent_again) {
        static const char *const requests[] = {"POST / HTTP/1.1\r\nHost: h.test\r\nContent-Length: 0\r\n\r\n",
                                               "GET / HTTP/1.1\r\nHost: h.test\r\nContent-Length: 1\r\n\r\nx",
                                               "DELETE / HTTP/1.1\r\nHost: h.test\r\n\r\n",
                                               "GET /word HTTP/1.1\r\nHost: h.test\r\n\r\n"};

        for (size_t i = 0; i < ELEMENTSOF(requests); i++) {
                set_up();
                one_answer();
                opened = 0;
                say(client, requests[i]);
                serve();
                check(hear(upstream)[0]);
                if (strstr(requests[i], "/word"))
                        say(upstream, "HTTP/1.1 103 Early Hints\r\n\r\n");
                serve();
                close(upstream);
                serve();
                check(opened == 0 && strncmp(hear(client), "HTTP/1.1 502", 12) == 0);
        }
}

/* An upstream that is good for more is its owner's when the client goes, one that is not is closed. */
TEST(an_idle_upstream_is_handed_on) {
        char byte;

        set_up();
        one_answer();
        close(client);
        serve();
        check(over && parked.w.fd > 0 && recv(upstream, &byte, 1, 0) < 0 && errno == EAGAIN);
        stream_close(&parked, &loop);
        set_up();
        say(client, "GET / HTTP/1.1\r\nHost: h.test\r\nConnection: close\r\n\r\n");
        serve();
        say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        serve();
        check(strncmp(hear(client), "HTTP/1.1 200", 12) == 0 && parked.w.fd > 0);
        stream_close(&parked, &loop);
        set_up();
        say(client, "GET / HTTP/1.1\r\nHost: h.test\r\nConnection: close\r\n\r\n");
        serve();
        say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore");
        serve();
        check(parked.w.fd < 0 && hear(upstream)[0] && recv(upstream, &byte, 1, 0) <= 0);
        set_up();
        say(client, "GET / HTTP/1.1\r\nHost: h.test\r\nConnection: close\r\n\r\n");
        serve();
        say(upstream, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        serve();
        check(parked.w.fd < 0);
}

/* The owner knows at once that there is no upstream. */
TEST(no_upstream_at_all) {
        set_up();
        unreachable = true;
        say(client, "GET / HTTP/1.1\r\nHost: h.test\r\n\r\n");
        serve();
        check(strncmp(hear(client), "HTTP/1.1 502", 12) == 0 && strstr(got, "\r\n\r\nno route"));
        check(recv(client, got, 1, 0) == 0 && finished == 1 && cuts == 1);
}

/* A short body that may be refused is there before its head is sent; one that says no length, or is long, is not waited for. */
TEST(what_is_refused_was_not_sent) {
        static const char *const heads[] = {"POST / HTTP/1.1\r\nHost: h.test\r\nContent-Length: 8\r\n\r\n", "POST / HTTP/1.1\r\nHost: h.test\r\nTransfer-Encoding: chunked\r\n\r\n",
                                            "POST / HTTP/1.1\r\nHost: h.test\r\nContent-Length: 16385\r\n\r\n"};

        for (size_t i = 0; i < ELEMENTSOF(heads); i++) {
                set_up();
                rewrites = 100;
                say(client, heads[i]);
                serve();
                check((hear(upstream)[0] != 0) == (i > 0));
                if (i != 1)
                        say(client, "body");
                serve();
                check((hear(upstream)[0] != 0) == (i > 1) && hear(client)[0] == 0);
                say(client, i == 1 ? "4\r\nabXY\r\n0\r\n\r\n" : "wXyz");
                serve();
                check(hear(upstream)[0] == 0 && strncmp(hear(client), "HTTP/1.1 403", 12) == 0);
        }
        set_up();
        one_answer();
        opened = 0;
        rewrites = 100;
        say(client, heads[0]);
        serve();
        say(client, "bo");
        serve();
        close(upstream); /* it has waited long enough, and never heard of this */
        serve();
        check(opened == 1 && hear(upstream)[0] == 0 && hear(client)[0] == 0);
        say(client, "dy");
        serve();
        check(hear(upstream)[0] == 0);
        say(client, "last");
        serve();
        check(strncmp(hear(upstream), "POST / HTTP/1.1\r\n", 17) == 0 && strstr(got, "\r\n\r\nbodylast"));
        say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        serve();
        check(strncmp(hear(client), "HTTP/1.1 200", 12) == 0);
}

/* Two requests in one write: the second is read when the first is done. */
TEST(requests_that_come_together) {
        set_up();
        say(client, "GET /1 HTTP/1.1\r\nHost: h.test\r\n\r\nGET /2 HTTP/1.1\r\nHost: h.test\r\n\r\n");
        serve();
        check(strstr(hear(upstream), "GET /1 ") && !strstr(got, "/2"));
        say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
        serve();
        check(strstr(hear(client), "\r\n\r\n1") && strstr(hear(upstream), "GET /2 "));
        say(upstream, "HTTP/1.1 204 No Content\r\n\r\n");
        serve();
        check(strncmp(hear(client), "HTTP/1.1 204", 12) == 0 && finished == 2);
}

TAP_MAIN
