/* Requests that the policy's rules look at: read as HTTP/1, within the TLS that is ended here or in the clear, decided on, and
 * written anew to a broker. What is refused is answered here, and never leaves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "model/canonical.h"
#include "model/denial.h"
#include "model/why.h"
#include "role/gate/gate.h"
#include "svc/http-fields.h"
#include "svc/http-relay.h"

struct web {
        struct http_relay relay;
        struct web *next, **prev;
        struct request place; /* host and port; host points into place_host */
        char place_host[REQUEST_HOST_MAX + 1];
        bool tls;
        bool waits; /* for the broker */
        struct request request;
        struct canonical_buffer canonical;
        char target[3 * REQUEST_TARGET_MAX], authority[REQUEST_HOST_MAX + 9];
};

static struct web *web_of(struct http_relay *r) { return loop_container(r, struct web, relay); }

static void report(struct web *x, enum net_what what, const char *why, const char *line) {
        struct net_report r;

        net_report_refusal(&r, what, &x->place, why);
        snprintf(r.text, sizeof(r.text), "%s", line);
        gate_report(&gate, &r);
}

static void answer(struct web *x, unsigned status, const char *rule, const char *reason, const char *fix) {
        char body[DENIAL_JSON_MAX];
        size_t n = denial_json(body, sizeof(body), rule, reason, fix);
        http_relay_answer(&x->relay, status, "application/json", body, n);
}

/* "GET /path", for a person: what came, as far as it fits. */
static void request_line(const struct web *x, const struct http_head *h, char *buf, size_t size) {
        struct http_text m = http_span_text(h, h->method), t = http_span_text(h, h->target);
        snprintf(buf, size, "%.*s %.*s", (int)MIN(m.n, 16u), m.p, (int)MIN(t.n, 200u), t.p);
}

/* A socket to the broker for this connection's requests. */
static int open_exchange(struct web *x) {
        struct broker_job job = {.type = BROKER_EXCHANGE, .port = x->place.port, .tls = x->tls};
        struct watch *broker = gate_broker(&gate);
        int pair[2], r;

        if (!broker) {
                x->waits = true;
                return 0;
        }
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return -errno;
        memcpy(job.host, x->place_host, MIN(strlen(x->place_host), sizeof(job.host) - 1));
        r = fd_send(broker->fd, &job, sizeof(job), &pair[1], 1, MSG_DONTWAIT);
        close(pair[1]);
        if (r == -EAGAIN) {
                loop_want(&gate.loop, broker, EPOLLIN | EPOLLOUT);
                x->waits = true;
                r = 0;
        } else if (r == 0) {
                x->waits = false;
                r = stream_init(&x->relay.upstream.s, &gate.loop, pair[0], NULL, http_relay_upstream_ready);
                if (r == 0) {
                        x->relay.upstream.ready = true;
                        x->relay.upstream.eof = false;
                        return 0;
                }
        }
        close(pair[0]);
        return r;
}

static enum http_relay_verdict on_request(struct http_relay *r, struct http1_out *out) {
        struct web *x = web_of(r);
        const struct canonical_parts parts = {
                .tls = x->tls, .dialled = x->place.host, .port = x->place.port,
                .method = {out->method.p, out->method.n},
                .target = {http_span_text(&r->request, r->request.target).p, r->request.target.n},
                .host = {r->request.has_host ? http_span_text(&r->request, r->request.host).p : NULL, r->request.host.n},
        };
        char line[NET_TEXT_MAX];
        struct verdict v;
        const char *why = NULL;

        x->request = (struct request){};
        request_line(x, &r->request, line, sizeof(line));
        int k = canonical_request(&parts, &x->canonical, &x->request, &why);
        if (k < 0) {
                report(x, NET_HTTP, why, line);
                answer(x, k == -EXDEV ? 421 : k == -E2BIG ? 414 : 400, NULL, why, "");
                return HTTP_RELAY_ANSWERED;
        }
        http_fields_measure(&r->request, &x->request);
        table_decide(&gate.table, &x->request, &v);
        if (!v.allowed) {
                char rule[WHY_TEXT];
                struct net_report denial;
                net_report_denial(&denial, NET_HTTP, &gate.table, &x->request, &v);
                snprintf(denial.text, sizeof(denial.text), "%s", line);
                gate_report(&gate, &denial);
                answer(x, 403, v.reason == VERDICT_DENIED ? why_place(&gate.table, v.rule, rule) : NULL, denial.why, denial.fix);
                return HTTP_RELAY_ANSWERED;
        }
        ssize_t n = canonical_write_target(&x->request, x->target, sizeof(x->target)),
                a = canonical_write_authority(&x->request, x->authority, sizeof(x->authority));
        if (n < 0 || a < 0 || (r->upstream.s.w.fd < 0 && open_exchange(x) < 0))
                return HTTP_RELAY_CUT;
        out->target = (struct http_text){x->target, (size_t)n};
        out->host = (struct http_text){x->authority, (size_t)a};
        out->keep = http_fields_keep;
        r->body_max = v.body_max;
        return HTTP_RELAY_FORWARD;
}

static enum http_relay_verdict on_response(struct http_relay *r, struct http1_out *out) {
        out->keep = http_fields_keep;
        return HTTP_RELAY_FORWARD;
}

static bool may_read(struct http_relay *r, bool up) { return true; }
static bool moved(struct http_relay *r, bool up, size_t n) { return true; }

static void refused(struct http_relay *r, enum http_refusal why) {
        struct web *x = web_of(r);
        const char *text = why == HTTP_OK && r->why ? r->why : http_refusal_text(why);

        if (r->client.s.shaking) {
                report(x, NET_TLS, text, "");
                return;
        }
        report(x, NET_HTTP, text, "");
        answer(x, why == HTTP_OK ? 408 : why == HTTP_BODY_LARGE ? 403 : http_refusal_status(why), NULL, text, "");
}

static void failed(struct http_relay *r, const char *text) { answer(web_of(r), 502, NULL, text, ""); }

static void done(struct http_relay *r, bool cut) {}

static void ended(struct http_relay *r) {
        struct web *x = web_of(r);

        *x->prev = x->next;
        if (x->next)
                x->next->prev = x->prev;
        gate.n_clients--;
        free(x);
}

static const struct http_relay_owner owner = {
        .request = on_request, .response = on_response, .may_read = may_read, .moved = moved, .refused = refused,
        .failed = failed, .done = done, .ended = ended,
};

void web_start(struct gate *g, const struct request *place, int fd, bool tls) {
        struct web *x = (struct web *)calloc(1, sizeof(*x));
        struct tls *t = NULL;

        if (x && tls && g->authority) {
                memcpy(x->place_host, place->host.p, MIN(place->host.n, sizeof(x->place_host) - 1));
                t = tls_accept(g->authority, fd, x->place_host, false);
        }
        if (!x || (tls && !t) || stream_init(&x->relay.client.s, &g->loop, fd, t, http_relay_client_ready) < 0) {
                const struct linger now = {.l_onoff = 1};
                (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
                tls_free(t);
                close(fd);
                free(x);
                return;
        }
        memcpy(x->place_host, place->host.p, MIN(place->host.n, sizeof(x->place_host) - 1));
        x->place = (struct request){.is_address = place->is_address, .address = place->address, .port = place->port};
        x->place.host = (struct request_text){x->place_host, strlen(x->place_host)};
        x->tls = tls;
        x->relay.upstream.s.w.fd = -1;
        x->next = g->webs;
        x->prev = &g->webs;
        if (x->next)
                x->next->prev = &x->next;
        g->webs = x;
        g->n_clients++;
        http_relay_init(&x->relay, &owner, &g->loop);
        if (tls)
                http_relay_client_ready(&x->relay.client.s.w, EPOLLIN);
        else
                http_relay_run(&x->relay);
}

void webs_resume(struct gate *g) {
        for (struct web *x = g->webs, *next; x; x = next) {
                next = x->next;
                if (!x->waits)
                        continue;
                if (open_exchange(x) < 0)
                        http_relay_cut(&x->relay);
                else if (!x->waits)
                        http_relay_run(&x->relay);
        }
}

void webs_tick(struct gate *g) {
        for (struct web *x = g->webs, *next; x; x = next) {
                next = x->next;
                http_relay_tick(&x->relay);
        }
}
