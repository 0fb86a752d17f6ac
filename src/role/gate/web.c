/* Requests that the policy's rules look at: read as HTTP/1, within the TLS that is ended here or in the clear, decided on, and
 * written anew to a broker. What is refused is answered here, and never leaves. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "role/gate/web.h"
#include "svc/http-fields.h"
#include "svc/http-relay.h"

struct web {
        struct http_relay relay;
        struct web *next, **prev;
        struct place place;
        uint32_t identity; /* whose broker the upstream is */
        bool waits; /* for the broker */
};

/* Used up before the next: what of it is sent is written within the same call. */
static struct judged judged;

static struct web *web_of(struct http_relay *r) { return loop_container(r, struct web, relay); }

static void answer(struct web *x, unsigned status, const char *reason) {
        char body[DENIAL_JSON_MAX];
        size_t n = denial_json(body, sizeof(body), NULL, reason, "");
        http_relay_answer(&x->relay, status, "application/json", body, n);
}

/* A socket to the broker for this connection's requests; where there is none now, it waits. */
static int open_exchange(struct web *x) {
        int fd = exchange_open(&x->place, x->identity), r;

        x->waits = fd == -EAGAIN;
        if (fd < 0)
                return x->waits ? 0 : fd;
        r = stream_init(&x->relay.upstream.s, &gate.loop, fd, NULL, http_relay_upstream_ready);
        if (r < 0) {
                close(fd);
                return r;
        }
        x->relay.upstream.ready = true;
        x->relay.upstream.eof = false;
        return 0;
}

static enum http_relay_verdict on_request(struct http_relay *r, struct http1_out *out) {
        struct web *x = web_of(r);

        if (!judge_request(&x->place, &r->request, &judged)) {
                http_relay_answer(r, judged.status, "application/json", judged.body, judged.n_body);
                return HTTP_RELAY_ANSWERED;
        }
        if (judged.identity != x->identity)
                http_relay_part(r);
        x->identity = judged.identity;
        if (r->upstream.s.w.fd < 0 && open_exchange(x) < 0)
                return HTTP_RELAY_CUT;
        judged_write(&judged, out);
        r->body_max = judged.body_max;
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
                place_refused(&x->place, NET_TLS, text, "");
                return;
        }
        place_refused(&x->place, NET_HTTP, text, "");
        answer(x, why == HTTP_OK ? 408 : why == HTTP_BODY_LARGE ? 403 : http_refusal_status(why), text);
}

static void failed(struct http_relay *r, const char *text) { answer(web_of(r), 502, text); }

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

/* Once the handshake is done, it is known which HTTP the client speaks. */
static void client_ready(struct watch *w, uint32_t events) {
        struct web *x = loop_container(w, struct web, relay.client.s.w);
        struct stream *s = &x->relay.client.s;

        if (!s->shaking) {
                http_relay_client_ready(w, events);
                return;
        }
        int k = stream_handshake(s);
        if (k == 0 && tls_alpn(s->tls) == TLS_ALPN_H2) {
                struct tls *tls = TAKE_PTR(s->tls);
                web2_start(&gate, &x->place, loop_release(&gate.loop, w), tls);
                http_relay_cut(&x->relay);
        } else
                http_relay_shaken(&x->relay, k);
}

void web_start(struct gate *g, const struct request *meant, int fd, bool tls) {
        struct web *x = (struct web *)calloc(1, sizeof(*x));
        struct tls *t = NULL;

        if (x)
                place_init(&x->place, meant, tls);
        if (x && tls && g->authority)
                t = tls_accept(g->authority, fd, x->place.host, true);
        if (!x || (tls && !t) || stream_init(&x->relay.client.s, &g->loop, fd, t, client_ready) < 0) {
                const struct linger now = {.l_onoff = 1};
                (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
                tls_free(t);
                close(fd);
                free(x);
                return;
        }
        x->relay.upstream.s.w.fd = -1;
        x->next = g->webs;
        x->prev = &g->webs;
        if (x->next)
                x->next->prev = &x->next;
        g->webs = x;
        g->n_clients++;
        http_relay_init(&x->relay, &owner, &g->loop);
        if (tls)
                client_ready(&x->relay.client.s.w, EPOLLIN);
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

size_t revoked_body(char body[DENIAL_JSON_MAX]) {
        return denial_json(body, DENIAL_JSON_MAX, NULL, "the secret of this request is not to be used any more", "");
}

/* What is under way ends now, and not when it is seen that the broker has gone. */
void webs_revoke(struct gate *g, uint32_t identity) {
        char body[DENIAL_JSON_MAX];
        size_t n = revoked_body(body);

        for (struct web *x = g->webs, *next; x; x = next) {
                next = x->next;
                if (x->identity != identity || (x->relay.state != HTTP_RELAY_ACTIVE && x->relay.state != HTTP_RELAY_TUNNEL))
                        continue;
                x->waits = false;
                http_relay_take_back(&x->relay, 403, "application/json", body, n);
        }
}

void webs_tick(struct gate *g) {
        for (struct web *x = g->webs, *next; x; x = next) {
                next = x->next;
                http_relay_tick(&x->relay);
        }
}
