/* L7: requests that the gate wrote, decided on again, written anew for the upstream, and its responses written anew for the
 * gate. One exchange serves one connection of the sandbox's, or one stream of it, with one upstream at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "model/canonical.h"
#include "model/denial.h"
#include "model/why.h"
#include "proto/json-model.h"
#include "role/broker/broker.h"
#include "role/broker/sign.h"
#include "svc/http-fields.h"
#include "svc/http-relay.h"

#define MODEL_BODY_MAX (16u << 20) /* bytes of a body that has to be read before its request is decided on */

struct exchange {
        struct http_relay relay;
        struct exchange *next, **prev;
        struct request place; /* that it is for: host and port; host points into place_host */
        char place_host[REQUEST_HOST_MAX + 1];
        bool tls;
        struct origin at; /* where the upstream leads, or is to lead */
        struct dial *dial;
        /* The request at work. */
        struct request request;
        struct verdict verdict;
        struct canonical_buffer canonical;
        char target[3 * REQUEST_TARGET_MAX];
        uint64_t up, down;
        uint32_t status; /* of the response; 0: none yet */
        char why[WHY_TEXT];
        struct given_exchange given;
        bool carries; /* the broker's credential */
        struct credential_exchange credential;
        uint64_t to_model; /* the key of the destination that the request went to, where it is a model's */
        char model[JSON_MODEL_MAX]; /* that the request's body names */
        struct websocket_reader frames;    /* of a WebSocket, down */
        struct credential_body body;       /* of the request */
        struct credential_stream *rewrites[2]; /* of the bodies, down and up; NULL: not looked at so far */
};

static struct exchange *exchange_of(struct http_relay *r) { return loop_container(r, struct exchange, relay); }

/* type NET_DENIED: by the verdict; else text is the reason. */
static void report(struct exchange *x, enum net_report_type type, const char *text) {
        struct net_report r = {.type = type, .what = NET_HTTP};
        const struct request *q = x->request.host.n ? &x->request : &x->place;

        if (type == NET_DENIED && text)
                net_report_refusal(&r, NET_HTTP, q, text);
        else if (type == NET_DENIED)
                net_report_denial(&r, NET_HTTP, &broker.table, q, &x->verdict);
        else
                net_report_place(&r, q, &x->verdict);
        r.misplaced = credential_misplaced(text);
        r.up = x->up;
        r.down = x->down;
        r.response = x->status;
        r.carried = x->carries;
        if (type == NET_UPSTREAM)
                snprintf(r.why, sizeof(r.why), "%s", text);
        if (type == NET_SPENT)
                snprintf(r.text, sizeof(r.text), "%s", text);
        else
                snprintf(r.text, sizeof(r.text), "%.*s %.200s", (int)MIN(x->request.method.n, 32u), x->request.method.p ? x->request.method.p : "", x->target);
        net_control_report(&broker.control, &r);
}

static void answer(struct exchange *x, unsigned status, const char *reason, const char *rule, const char *fix) {
        char body[DENIAL_JSON_MAX];
        size_t n = denial_json(body, sizeof(body), rule, reason, fix);
        http_relay_answer(&x->relay, status, "application/json", body, n);
}

static void connected(void *owner, enum dial_result result, int fd, const char *why) {
        struct exchange *x = (struct exchange *)owner;
        struct http_relay *r = &x->relay;

        if (result != DIAL_CONNECTED) {
                if (result == DIAL_FORBIDDEN) {
                        x->verdict.reason = VERDICT_ADDRESS;
                        why = why_reason(&broker.table, &x->request, &x->verdict, x->why);
                }
                http_relay_unconnected(r, why);
                return;
        }
        struct tls *tls = x->at.place.tls ? tls_connect(broker.trust, fd, x->at.host, false) : NULL;
        if ((x->at.place.tls && !tls) || stream_init(&r->upstream.s, r->loop, fd, tls, http_relay_upstream_ready) < 0) {
                tls_free(tls);
                close(fd);
                http_relay_unconnected(r, "out of memory");
                return;
        }
        r->upstream.eof = false;
        http_relay_connected(r);
}

static void get_upstream(struct exchange *x) { dial_start(&x->dial, &x->at.place, &x->verdict, connected, x); }

/* The connection that there is was made for an earlier request, whose rules may have led elsewhere, or open another address. */
static void find_upstream(struct exchange *x, const struct origin *to) {
        struct http_relay *r = &x->relay;

        if (!origin_same(&x->at, to)) {
                dial_cancel(&x->dial);
                http_relay_part(r);
        }
        x->at = *to;
        x->at.place.host.p = x->at.host;
        if (r->upstream.s.w.fd >= 0 && !upstream_leads(&r->upstream.s, &x->verdict, x->at.place.port))
                stream_reset(&r->upstream.s, r->loop);
        if (r->upstream.s.w.fd >= 0 || x->dial)
                return;
        r->upstream.used = upstream_take(&r->upstream.s, &x->at.place, x->at.place.tls, &x->verdict, http_relay_upstream_ready);
        if (r->upstream.used)
                http_relay_connected(r);
        else
                get_upstream(x);
}

/* By its verdict, which the gate did not have: reported, and in words. */
static size_t deny(struct exchange *x, char body[DENIAL_JSON_MAX]) {
        char reason[WHY_TEXT], rule[WHY_TEXT], fix[WHY_TEXT];

        report(x, NET_DENIED, NULL);
        return denial_json(body, DENIAL_JSON_MAX, why_place(&broker.table, x->verdict.rule, rule),
                           why_reason(&broker.table, &x->request, &x->verdict, reason), why_fix(&broker.table, &x->request, &x->verdict, fix));
}

/* Its URL was not given by anybody, or its body names another model. */
static enum http_relay_verdict refuse_reported(struct exchange *x) {
        char body[DENIAL_JSON_MAX];

        http_relay_answer(&x->relay, 403, "application/json", body, deny(x, body));
        return HTTP_RELAY_ANSWERED;
}

static enum http_relay_verdict refuse_plainly(struct exchange *x, unsigned status, const char *why) {
        report(x, NET_DENIED, why);
        answer(x, status, why, NULL, "");
        return HTTP_RELAY_ANSWERED;
}

/* What the body is said to be: JSON in UTF-8, as it is. NULL: that it is. */
static const char *unreadable(const struct http_head *h) {
        unsigned types = 0;

        for (size_t i = 0; i < h->n_fields; i++) {
                struct http_text v = http_field_value(h, &h->field[i]);
                if (h->field[i].id == HTTP_F_CONTENT_ENCODING && !(v.n == 8 && strncasecmp(v.p, "identity", 8) == 0))
                        return "the body is encoded, and which model it names cannot be read";
                if (h->field[i].id != HTTP_F_CONTENT_TYPE)
                        continue;
                /* No other character set, in which the same bytes say something else. */
                static const char json[] = "application/json", *const charsets[] = {"charset=utf-8", "charset=\"utf-8\""};
                const size_t n = sizeof(json) - 1;
                bool good = v.n >= n && strncasecmp(v.p, json, n) == 0 && types++ == 0;
                size_t at = n;
                while (good && at < v.n && (v.p[at] == ' ' || v.p[at] == ';'))
                        at++;
                good = good && (at == v.n || (at > n && memchr(v.p + n, ';', at - n)));
                for (size_t k = 0; good && at < v.n && k < ELEMENTSOF(charsets); k++)
                        if (v.n - at == strlen(charsets[k]) && strncasecmp(v.p + at, charsets[k], v.n - at) == 0)
                                at = v.n;
                if (!good || at < v.n)
                        types = 2;
        }
        return types == 1 ? NULL : "the body is not said to be application/json, and which model it names cannot be read";
}

/* Decides once more, with the model that the body names. false: it is refused. */
static bool decide_model(struct exchange *x, const char *p, size_t n, const char *why) {
        static struct json_model m;

        x->request.model_read = true;
        x->request.model = (struct request_text){};
        json_model_begin(&m);
        if (!why && json_model_read(&m, p, n) == 0 && json_model_end(&m) == 0 && m.found) {
                memcpy(x->model, m.name, m.n_name);
                x->request.model = (struct request_text){x->model, m.n_name};
        }
        x->request.no_model = why ? why : m.why;
        table_decide(&broker.table, &x->request, &x->verdict);
        return x->verdict.allowed;
}

/* What is sent, and to whom; once more where the credential needs the body, and it is there. */
static enum http_relay_verdict go_on(struct exchange *x, struct http1_out *out) {
        struct http_relay *r = &x->relay;
        const char *why = NULL;
        struct origin to;

        out->target = (struct http_text){x->target, strlen(x->target)};
        if (origin_of(&to, &x->place, x->tls, &x->verdict) < 0)
                return HTTP_RELAY_CUT;
        out->host = (struct http_text){to.authority, strlen(to.authority)};
        out->keep = http_fields_keep;
        if (given_asked()) { /* it is read on its way */
                static const struct http1_line plain = {{"accept-encoding", 15}, {"identity", 8}};
                out->keep = given_keep;
                out->more = &plain;
                out->n_more = 1;
        }
        if (!credential_request(&r->request, &x->request, out, &x->credential, &x->carries, &why))
                return refuse_plainly(x, 403, why);
        r->body_max = x->verdict.body_max;
        (void)broker_may_forward(&broker);
        if (x->credential.gather)
                return HTTP_RELAY_GATHER;
        x->to_model = account_model(&x->verdict);
        find_upstream(x, &to);
        out->host = (struct http_text){x->at.authority, strlen(x->at.authority)};
        return HTTP_RELAY_FORWARD;
}

/* Where the head passes: budgets, the credential, and the way. */
static enum http_relay_verdict send_on(struct exchange *x, struct http1_out *out) {
        struct http_relay *r = &x->relay;
        const char *spent = NULL;

        if (verdict_identity(&x->verdict) != credential_identity())
                return refuse_plainly(x, 403, x->request.model_read ? "the rules give the model that the body names another secret than its path, or the policy has changed meanwhile"
                                                                    : "the policy has changed meanwhile: the request is another broker's now");
        if (!given_ask(&x->given, &x->request, &x->verdict, &spent) && !spent)
                return refuse_reported(x);
        if (spent || !account_begin(&x->verdict, &x->request, &spent)) {
                report(x, NET_SPENT, spent);
                answer(x, 403, denial_spent(spent), NULL, "");
                return HTTP_RELAY_ANSWERED;
        }
        return given_fields(&x->given, &r->request) ? go_on(x, out) : HTTP_RELAY_CUT;
}

static enum http_relay_verdict on_request(struct http_relay *r, struct http1_out *out) {
        struct exchange *x = exchange_of(r);
        const struct canonical_parts parts = {
                .tls = x->tls, .dialled = x->place.host, .port = x->place.port,
                .method = {out->method.p, out->method.n},
                .target = {http_span_text(&r->request, r->request.target).p, r->request.target.n},
                .host = {http_span_text(&r->request, r->request.host).p, r->request.host.n},
        };
        const char *why = NULL;

        x->up = x->down = x->status = 0;
        x->carries = false;
        x->credential = (struct credential_exchange){};
        x->to_model = 0;
        x->frames = (struct websocket_reader){};
        x->verdict = (struct verdict){.rule = TABLE_NONE, .route = TABLE_NONE};
        x->request = (struct request){};
        x->target[0] = 0;
        if (canonical_request(&parts, &x->canonical, &x->request, &why) < 0) {
                /* The gate has let pass what it should not have: it is not to be trusted with another word. */
                report(x, NET_DENIED, why);
                return HTTP_RELAY_CUT;
        }
        http_fields_measure(&r->request, &x->request);
        ssize_t n = canonical_write_target(&x->request, x->target, sizeof(x->target) - 1);
        if (n < 0)
                return HTTP_RELAY_CUT;
        x->target[n] = 0;
        table_decide(&broker.table, &x->request, &x->verdict);
        if (!x->verdict.allowed) {
                char text[WHY_TEXT];
                report(x, NET_DENIED, NULL);
                answer(x, 403, why_reason(&broker.table, &x->request, &x->verdict, text), NULL, "");
                return HTTP_RELAY_ANSWERED;
        }
        credential_body_end(&x->body);
        if (!credential_body_begin(&x->body, &r->request))
                return HTTP_RELAY_CUT;
        r->rewrites_up = credential_reads_up();
        if (!x->verdict.models)
                return send_on(x, out);
        why = r->request_done ? "the request has no body" : unreadable(&r->request);
        if (!why) {
                r->body_max = x->verdict.body_max;
                r->gather_max = MODEL_BODY_MAX;
                return HTTP_RELAY_GATHER;
        }
        return decide_model(x, NULL, 0, why) ? send_on(x, out) : refuse_reported(x);
}

static enum http_relay_verdict on_gathered(struct http_relay *r, struct http1_out *out) {
        struct exchange *x = exchange_of(r);

        x->credential.whole = true;
        x->credential.body = r->gather.data;
        x->credential.n_body = r->gather.n;
        if (x->credential.gather) /* all else was settled before */
                return go_on(x, out);
        return decide_model(x, r->gather.data, r->gather.n, NULL) ? send_on(x, out) : refuse_reported(x);
}

static void failed(struct http_relay *r, const char *text) {
        struct exchange *x = exchange_of(r);
        char at[WHY_TEXT];

        if (!canonical_same_place(&x->at.place, &x->place) && x->verdict.reason != VERDICT_ADDRESS) {
                snprintf(at, sizeof(at), "%s: %s", x->at.authority, text); /* not what the request names */
                text = at;
        }
        /* An address that no rule opens is a denial, and not a failure of the upstream's. */
        report(x, x->verdict.reason == VERDICT_ADDRESS ? NET_DENIED : NET_UPSTREAM, x->verdict.reason == VERDICT_ADDRESS ? NULL : text);
        answer(x, 502, text, NULL, "");
}

static enum http_relay_verdict on_response(struct http_relay *r, struct http1_out *out) {
        const char *why;

        exchange_of(r)->status = r->response.status;
        if (!credential_response(&r->response, &exchange_of(r)->credential, &why)) {
                failed(r, why);
                return HTTP_RELAY_ANSWERED;
        }
        if (!credential_reads_down(&exchange_of(r)->rewrites[0], &r->rewrites_down)) {
                failed(r, strerror(ENOMEM));
                return HTTP_RELAY_ANSWERED;
        }
        given_response(&exchange_of(r)->given, &r->response);
        out->keep = http_fields_keep;
        return HTTP_RELAY_FORWARD;
}

static size_t rewrite(struct http_relay *r, bool up, const char *p, size_t n, bool last, char *out) {
        struct exchange *x = exchange_of(r);

        if (up && !credential_body_fill(&x->body, &p, &n, last))
                return SIZE_MAX;
        x->carries |= up && x->body.carries;
        return r->state == HTTP_RELAY_TUNNEL ? credential_rewrite_frames(&x->rewrites[up], &x->frames, p, n, out)
                                             : credential_rewrite(&x->rewrites[up], up, p, n, last, out);
}

static bool may_read(struct http_relay *r, bool up) { return broker_may_forward(&broker); }

static void content(struct http_relay *r, const char *p, size_t n) { given_content(&exchange_of(r)->given, p, n); }

static bool moved(struct http_relay *r, bool up, size_t n) {
        struct exchange *x = exchange_of(r);
        const char *spent = NULL;

        if (up) {
                x->up += n;
                given_body(&x->given, n);
        } else
                x->down += n;
        if (account_bytes(&x->verdict, up, n, &spent))
                return true;
        report(x, NET_SPENT, spent);
        return false;
}

static void refused(struct http_relay *r, enum http_refusal why) {
        struct exchange *x = exchange_of(r);

        if (why == HTTP_BODY_LARGE || why == HTTP_BODY_PLACEHOLDER) {
                const char *text = why == HTTP_BODY_PLACEHOLDER && x->body.why ? x->body.why : http_refusal_text(why);
                if (why == HTTP_BODY_LARGE && r->gather.on && x->credential.gather && x->verdict.body_max > HTTP_GATHER_MAX)
                        text = SIGN_TOO_LONG;
                else if (why == HTTP_BODY_LARGE && r->gather.on && !x->credential.gather && x->verdict.body_max > MODEL_BODY_MAX)
                        text = "the body is larger than one that is read whole to see which model it names";
                report(x, NET_DENIED, text);
                answer(x, 403, text, NULL, "");
        } /* else: nothing that the gate writes is refused here; it is a reset */
}

static void done(struct http_relay *r, bool cut) {
        struct exchange *x = exchange_of(r);

        given_done(&x->given, cut);
        credential_body_end(&x->body);
        for (size_t i = 0; i < ELEMENTSOF(x->rewrites); i++)
                free(TAKE_PTR(x->rewrites[i])); /* the next body is another text */
        x->up += x->request.target_bytes + x->request.header_bytes;
        account_model_bytes(x->to_model, x->up, x->down);
        if (x->carries)
                account_secret_bytes(credential_identity(), x->up, x->down);
        report(x, NET_ENDED, NULL);
}

static void idle(struct http_relay *r) {
        struct exchange *x = exchange_of(r);

        upstream_keep(&r->upstream.s, &x->at.place, x->at.place.tls);
}

static void again(struct http_relay *r) { get_upstream(exchange_of(r)); }

static void ended(struct http_relay *r) {
        struct exchange *x = exchange_of(r);

        dial_cancel(&x->dial);
        given_done(&x->given, true);
        credential_body_end(&x->body);
        for (size_t i = 0; i < ELEMENTSOF(x->rewrites); i++)
                free(x->rewrites[i]);
        *x->prev = x->next;
        if (x->next)
                x->next->prev = x->prev;
        broker.n_connections--;
        free(x);
}

static const struct http_relay_owner owner = {
        .request = on_request, .gathered = on_gathered, .response = on_response, .may_read = may_read, .content = content, .rewrite = rewrite, .moved = moved, .refused = refused,
        .failed = failed, .idle = idle, .again = again, .done = done, .ended = ended,
};

void exchange_new(struct broker *b, const struct broker_job *job, int channel) {
        struct exchange *x = b->n_connections < BROKER_CONNECTIONS_MAX ? (struct exchange *)calloc(1, sizeof(*x)) : NULL;

        if (!x || broker_read_place(job, &x->place, x->place_host) < 0 ||
            stream_init(&x->relay.client.s, &b->loop, channel, NULL, http_relay_client_ready) < 0) {
                close(channel);
                free(x);
                return;
        }
        x->tls = job->tls;
        if (origin_of(&x->at, &x->place, x->tls, &(struct verdict){.route = TABLE_NONE}) < 0) {
                stream_reset(&x->relay.client.s, &b->loop);
                free(x);
                return;
        }
        x->relay.upstream.s.w.fd = -1;
        x->next = b->exchanges;
        x->prev = &b->exchanges;
        if (x->next)
                x->next->prev = &x->next;
        b->exchanges = x;
        b->n_connections++;
        http_relay_init(&x->relay, &owner, &b->loop);
        x->relay.deadline = 0; /* the gate has its own */
        http_relay_run(&x->relay);
}

void exchanges_resume(struct broker *b) {
        for (struct exchange *x = b->exchanges, *next; x; x = next) {
                next = x->next;
                http_relay_run(&x->relay);
        }
}

void exchanges_tick(struct broker *b) {
        for (struct exchange *x = b->exchanges, *next; x; x = next) {
                next = x->next;
                http_relay_tick(&x->relay);
        }
}

void exchanges_decide_again(struct broker *b) {
        char body[DENIAL_JSON_MAX];
        struct verdict v;

        for (struct exchange *x = b->exchanges, *next; x; x = next) {
                next = x->next;
                if (x->relay.state != HTTP_RELAY_ACTIVE && x->relay.state != HTTP_RELAY_TUNNEL)
                        continue; /* its next request is decided on by itself */
                table_decide(&b->table, &x->request, &v);
                x->verdict = v;
                struct origin to;
                /* Of one whose body is not there yet nothing has left. */
                bool there = v.allowed && (x->relay.gather.on || (origin_of(&to, &x->place, x->tls, &v) == 0 && origin_same(&to, &x->at)));
                if (there && verdict_identity(&v) == credential_identity() && given_still(&x->given, &x->verdict))
                        continue;
                dial_cancel(&x->dial);
                http_relay_take_back(&x->relay, 403, "application/json", body, deny(x, body));
        }
}
