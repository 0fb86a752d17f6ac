/* What is done with a request's head whichever HTTP it came by: read into its canonical form, decided on, refused in words or
 * given its exchange with a broker. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "model/canonical.h"
#include "model/denial.h"
#include "model/why.h"
#include "role/gate/web.h"
#include "svc/http-fields.h"

void place_init(struct place *p, const struct request *meant, bool tls) {
        *p = (struct place){.tls = tls};
        memcpy(p->host, meant->host.p, MIN(meant->host.n, sizeof(p->host) - 1));
        p->request = (struct request){.is_address = meant->is_address, .address = meant->address, .port = meant->port};
}

/* place may have been moved since it was made. */
static struct request_text host_of(const struct place *p) { return (struct request_text){p->host, strlen(p->host)}; }

void place_refused(const struct place *p, enum net_what what, const char *why, const char *line) {
        struct request q = p->request;
        struct net_report r;

        q.host = host_of(p);
        net_report_refusal(&r, what, &q, why);
        snprintf(r.text, sizeof(r.text), "%s", line);
        net_control_report(&gate.control, &r);
}

static struct request_text text_of(const struct http_head *h, struct http_span s) {
        struct http_text t = http_span_text(h, s);
        return (struct request_text){t.p, t.n};
}

bool judge_request(const struct place *p, const struct http_head *head, struct judged *ret) {
        const struct canonical_parts parts = {.tls = p->tls, .dialled = host_of(p), .port = p->request.port, .method = text_of(head, head->method),
                                              .target = text_of(head, head->target),
                                              .host = head->has_host ? text_of(head, head->host) : (struct request_text){}};
        struct http_text m = http_span_text(head, head->method), t = http_span_text(head, head->target);
        struct net_report denial;
        struct verdict v;
        char line[NET_TEXT_MAX], rule[WHY_TEXT];
        const char *why = NULL;

        snprintf(line, sizeof(line), "%.*s %.*s", (int)MIN(m.n, 16u), m.p, (int)MIN(t.n, 200u), t.p);
        ret->request = (struct request){};
        int k = canonical_request(&parts, &ret->canonical, &ret->request, &why);
        if (k < 0) {
                place_refused(p, NET_HTTP, why, line);
                ret->status = k == -EXDEV ? 421 : k == -E2BIG ? 414 : 400;
                ret->n_body = denial_json(ret->body, sizeof(ret->body), NULL, why, "");
                return false;
        }
        http_fields_measure(head, &ret->request);
        table_decide(&gate.table, &ret->request, &v);
        if (!v.allowed) {
                net_report_denial(&denial, NET_HTTP, &gate.table, &ret->request, &v);
                snprintf(denial.text, sizeof(denial.text), "%s", line);
                net_control_report(&gate.control, &denial);
                ret->status = 403;
                ret->n_body = denial_json(ret->body, sizeof(ret->body), v.reason == VERDICT_DENIED ? why_place(&gate.table, v.rule, rule) : NULL,
                                          denial.why, denial.fix);
                return false;
        }
        ret->identity = verdict_identity(&v);
        if (ret->identity >= NET_BROKERS_MAX || gate.revoked >> ret->identity & 1) {
                snprintf(rule, sizeof(rule), "the secret %s is not to be used any more", table_secret_name(&gate.table, v.secret) ?: "?");
                place_refused(p, NET_HTTP, rule, line);
                ret->status = 403;
                ret->n_body = denial_json(ret->body, sizeof(ret->body), NULL, rule, "");
                return false;
        }
        ssize_t n = canonical_write_target(&ret->request, ret->target, sizeof(ret->target)),
                a = canonical_write_authority(&ret->request, ret->authority, sizeof(ret->authority));
        if (n < 0 || a < 0) {
                ret->status = 414;
                ret->n_body = denial_json(ret->body, sizeof(ret->body), NULL, "the request is too long", "");
                return false;
        }
        ret->n_target = (size_t)n;
        ret->n_authority = (size_t)a;
        ret->body_max = v.body_max;
        return true;
}

void judged_write(const struct judged *j, struct http1_out *out) {
        out->target = (struct http_text){j->target, j->n_target};
        out->host = (struct http_text){j->authority, j->n_authority};
        out->keep = http_fields_keep;
}

int exchange_open(const struct place *p, uint32_t identity) {
        struct broker_job job = {.type = BROKER_EXCHANGE, .port = p->request.port, .tls = p->tls};
        struct watch *broker;
        int pair[2], r;

        if (gate.revoked >> identity & 1)
                return -EACCES;
        if (!(broker = gate_broker(&gate, identity)))
                return -EAGAIN;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return -errno;
        memcpy(job.host, p->host, sizeof(job.host) < sizeof(p->host) ? sizeof(job.host) : sizeof(p->host));
        r = fd_send(broker->fd, &job, sizeof(job), &pair[1], 1, MSG_DONTWAIT);
        close(pair[1]);
        if (r == 0)
                return pair[0];
        close(pair[0]);
        if (r == -EAGAIN)
                loop_want(&gate.loop, broker, EPOLLIN | EPOLLOUT);
        return r;
}
