/* What gate, broker and supervisor read from each other (proto/net-msg.h), and what is done with it. Input: a letter, and
 *   r  a report, as the supervisor gets it from a gate or a broker
 *   o  a byte: how many fds came; an order
 *   j  a byte: how many fds came; a job, as a broker gets it from a gate
 *   x  a job and a NUL-less stream of HTTP, as an exchange has it: read, made canonical, decided on and written for the upstream,
 *      by the functions of role/broker/exchange.c and in their order
 *   a  an answer of a broker's, as a gate reads and writes it.
 * What is taken is within its limits; what is allowed and written anew is read by the next as the same request, for the same
 * place, and decided on alike, with the fields that it was decided on by. */
#include <stdlib.h>
#include <string.h>

#include "model/canonical.h"
#include "model/network.h"
#include "model/table.h"
#include "proto/http1.h"
#include "proto/net-msg.h"
#include "svc/http-fields.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)
#define MESSAGES_MAX 8

/* One rule; NULL: not said. */
static void add(struct network *n, struct network_rule r, const char *host, const char *port, const char *const *methods, const char *const *paths,
                const char *const *keys, unsigned written) {
        struct error e = {};

        must(network_set_host(&r, host, &e) == 0 && (!port || network_add_port(&r, port, &e) == 0));
        for (; methods && *methods; methods++)
                must(network_add_method(&r, *methods, &e) == 0);
        for (; paths && *paths; paths++)
                must(network_add_path(&r, *paths, &e) == 0);
        for (; keys && *keys; keys++)
                must(network_add_query(&r, *keys, NULL, &e) == 0);
        r.budget = SIZE_MAX;
        written |= (port ? WROTE_PORT : 0) | (methods ? WROTE_METHODS : 0) | (paths ? WROTE_PATHS : 0) | (keys ? WROTE_QUERY : 0);
        must(network_add_rule(n, &r, written, &e) == 0);
}

/* Without the reader of files: what libyaml wrote is unknown to the memory sanitizer. */
static const struct table *policy(void) {
        static const char *const get[] = {"GET", "POST", NULL}, *const put[] = {"PUT", NULL};
        static const char *const open[] = {"/a/**", "/b/*", NULL}, *const secret[] = {"/a/secret/**", NULL}, *const keys[] = {"q", "page", NULL};
        const struct network_rule http = {.protocols = NETWORK_HTTP};
        static struct table t;
        static void *block;
        struct network n = {.run = NETWORK_NO_BUDGET};
        struct error e = {};
        size_t size;

        if (block)
                return &t;
        add(&n, http, "a.test", NULL, get, open, keys, WROTE_PROTOCOL);
        add(&n, (struct network_rule){.protocols = NETWORK_HTTPS, .body = 100, .body_written = true}, "a.test", NULL, put, NULL, NULL, WROTE_PROTOCOL | WROTE_BODY);
        add(&n, (struct network_rule){.protocols = NETWORK_HTTP, .websocket = true}, "*.w.test", NULL, NULL, NULL, NULL, WROTE_PROTOCOL | WROTE_WEBSOCKET);
        add(&n, http, "10.1.2.3", "8080", NULL, NULL, NULL, WROTE_PROTOCOL);
        add(&n, (struct network_rule){.deny = true}, "a.test", NULL, NULL, secret, NULL, 0);
        must(table_compile(&n, &block, &size, &e) == 0 && table_load(block, size, &t) == 0);
        network_clear(&n);
        return &t;
}

static void report(const unsigned char *p, size_t n) {
        struct net_report r;

        memset(&r, 0x5a, sizeof(r));
        if (net_report_read(p, n, &r) < 0)
                return;
        must(n == sizeof(r) && memcmp(&r, p, n) == 0);
        must(strlen(r.host) < NET_HOST_MAX && strlen(r.text) < NET_TEXT_MAX && strlen(r.why) < NET_WHY_MAX && strlen(r.fix) < NET_WHY_MAX);
        must(r.port <= UINT16_MAX && r.what <= NET_HTTP && r.type >= NET_DENIED && r.type <= NET_ASKED);
        must(r.type != NET_BROKER_WANTED || r.rule < NET_BROKERS_MAX);
}

static void order(size_t n_fds, const unsigned char *p, size_t n) {
        struct net_order o;

        if (net_order_read(p, n, n_fds, &o) < 0)
                return;
        must(n == sizeof(o) && n_fds <= 2);
        must(o.type != NET_CONFIG || (o.n_published <= NET_PUBLISHED_MAX && o.pool_prefix <= 32));
        must(o.type != NET_BROKER || (o.n < NET_BROKERS_MAX && n_fds == 1));
        must(o.type != NET_POLICY || n_fds > 0);
}

static bool take_job(size_t n_fds, const unsigned char *p, size_t n, struct broker_job *j, struct request *place, char host[REQUEST_HOST_MAX + 1]) {
        if (broker_job_read(p, n, n_fds, j) < 0)
                return false;
        must(n == sizeof(*j) && n_fds >= 1 && n_fds <= 3 && (n_fds == 1) == (j->type != BROKER_JOIN));
        must(j->port > 0 && j->port <= UINT16_MAX && strlen(j->host) < NET_HOST_MAX);
        *place = (struct request){};
        if (j->type == BROKER_JOIN || canonical_host(j->host, strlen(j->host), host, place, NULL) < 0)
                return false;
        place->port = (uint16_t)j->port;
        must(place->host.n > 0 && place->host.n <= REQUEST_HOST_MAX);
        return true;
}

static void job(size_t n_fds, const unsigned char *p, size_t n) {
        char host[REQUEST_HOST_MAX + 1];
        struct request place;
        struct broker_job j;
        struct verdict v;

        if (!take_job(n_fds, p, n, &j, &place, host))
                return;
        place.layer = REQUEST_L4;
        table_decide(policy(), &place, &v);
        must(!v.allowed); /* the policy has no rule for unread connections */
}

struct read_request {
        struct request r;
        struct canonical_buffer canonical;
        struct verdict v;
        char target[3 * REQUEST_TARGET_MAX], authority[REQUEST_HOST_MAX + 9];
        size_t n_target, n_authority;
};

/* As exchange.c has it; false: refused or cut. */
static bool judge(const struct http_head *h, const struct broker_job *j, const struct request *place, struct read_request *x) {
        const struct canonical_parts parts = {
                .tls = j->tls, .dialled = place->host, .port = place->port,
                .method = {http_span_text(h, h->method).p, h->method.n},
                .target = {http_span_text(h, h->target).p, h->target.n},
                .host = {http_span_text(h, h->host).p, h->host.n},
        };

        x->r = (struct request){};
        if (canonical_request(&parts, &x->canonical, &x->r, NULL) < 0)
                return false;
        http_fields_measure(h, &x->r);
        ssize_t n = canonical_write_target(&x->r, x->target, sizeof(x->target)), a = canonical_write_authority(&x->r, x->authority, sizeof(x->authority));
        if (n < 0 || a < 0)
                return false;
        x->n_target = (size_t)n;
        x->n_authority = (size_t)a;
        table_decide(policy(), &x->r, &x->v);
        return x->v.allowed;
}

/* What leaves is what was decided on. */
static void leaves(const struct http_head *h, const struct broker_job *j, const struct request *place, const struct read_request *x) {
        static char buf[HTTP_HEAD_MAX];
        static struct read_request again;
        struct http1_out o = {
                .from = h, .framing = h->framing, .length = h->length, .websocket = h->websocket, .keep = http_fields_keep,
                .method = http_span_text(h, h->method), .target = {x->target, x->n_target}, .host = {x->authority, x->n_authority},
        };
        enum http_refusal why = HTTP_OK;
        struct http1_reader r;
        struct http_head next;

        int n = http1_write_request(&o, buf, sizeof(buf), &why);
        if (n < 0)
                return;
        http1_request_begin(&r);
        must(http1_read_head(&r, &next, buf, (size_t)n) == n);
        must(next.form == HTTP_FORM_ORIGIN || next.form == HTTP_FORM_ASTERISK);
        must(judge(&next, j, place, &again) && again.v.rule == x->v.rule);
        must(again.n_target == x->n_target && memcmp(again.target, x->target, x->n_target) == 0);
        must(again.n_authority == x->n_authority && memcmp(again.authority, x->authority, x->n_authority) == 0);
        must(again.r.method.n == x->r.method.n && memcmp(again.r.method.p, x->r.method.p, x->r.method.n) == 0);
        must(canonical_same_place(&again.r, &x->r));
        must(again.r.n_headers == x->r.n_headers && again.r.header_bytes == x->r.header_bytes && again.r.body_bytes == x->r.body_bytes);
        must(next.framing == h->framing && next.websocket == h->websocket && (next.framing != HTTP_LENGTH || next.length == h->length));
}

static void exchange(const unsigned char *p, size_t n) {
        static struct read_request x;
        char host[REQUEST_HOST_MAX + 1];
        struct http1_reader reader;
        struct http1_body body;
        struct broker_job j;
        struct request place;
        struct http_head h;

        if (n < sizeof(j) || !take_job(1, p, sizeof(j), &j, &place, host) || j.type != BROKER_EXCHANGE)
                return;
        p += sizeof(j);
        n -= sizeof(j);
        for (int i = 0; i < MESSAGES_MAX; i++) {
                http1_request_begin(&reader);
                int head = http1_read_head(&reader, &h, (const char *)p, n);
                if (head <= 0)
                        return;
                if (!judge(&h, &j, &place, &x))
                        return; /* answered, and the connection ends behind it */
                must(canonical_same_place(&x.r, &place) && x.r.layer == REQUEST_L7);
                leaves(&h, &j, &place, &x);
                p += head;
                n -= (size_t)head;
                http1_body_begin(&body, &h);
                body.max = MIN(body.max, x.v.body_max);
                for (int k = 0; k == 0 && h.framing != HTTP_NO_BODY;) {
                        struct http_text slice;
                        size_t used;
                        if (n == 0 || (k = http1_body_read(&body, (const char *)p, n, &slice, &used)) < 0)
                                return;
                        must(used <= n && slice.n <= used && body.total <= x.v.body_max);
                        p += used;
                        n -= used;
                }
                if (h.websocket)
                        return;
        }
}

static void answer(const unsigned char *p, size_t n) {
        static const char request[] = "GET /a/x HTTP/1.1\r\nHost: a.test\r\n\r\n";
        static char buf[HTTP_HEAD_MAX];
        struct http1_reader reader;
        struct http_head asked, h, again;

        http1_request_begin(&reader);
        must(http1_read_head(&reader, &asked, request, sizeof(request) - 1) > 0);
        http1_response_begin(&reader, &asked);
        for (;;) {
                int head = http1_read_head(&reader, &h, (const char *)p, n);
                if (head <= 0)
                        return;
                if (h.status >= 200 || h.status == 101)
                        break;
                p += head;
                n -= (size_t)head;
                http1_response_next(&reader);
        }
        struct http1_out o = {.from = &h, .status = h.status, .request_method = asked.method_id, .framing = h.framing == HTTP_CLOSE ? HTTP_CHUNKED : h.framing,
                              .length = h.length, .websocket = h.websocket, .keep = http_fields_keep,
                              .say_length = h.framing == HTTP_NO_BODY && h.has_length};
        int k = http1_write_response(&o, buf, sizeof(buf), NULL);
        if (k < 0)
                return;
        http1_response_begin(&reader, &asked);
        must(http1_read_head(&reader, &again, buf, (size_t)k) == k);
        must(again.status == h.status && again.framing == o.framing && (again.framing != HTTP_LENGTH || again.length == h.length));
        must(!http_find(&again, HTTP_F_ALT_SVC) && !http_find(&again, HTTP_F_KEEP_ALIVE) && !http_find(&again, HTTP_F_TRAILER));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        if (size < 2 || size > 2 * HTTP_HEAD_MAX)
                return 0;
        /* Blocks of just their size, for the sanitizer. */
        bool counted = data[0] == 'o' || data[0] == 'j';
        size_t n = size - (counted ? 2 : 1);
        unsigned char *copy = (unsigned char *)malloc(n ? n : 1);
        must(copy);
        memcpy(copy, data + size - n, n);
        switch (data[0]) {
        case 'r':
                report(copy, n);
                break;
        case 'o':
                order(data[1], copy, n);
                break;
        case 'j':
                job(data[1], copy, n);
                break;
        case 'x':
                exchange(copy, n);
                break;
        case 'a':
                answer(copy, n);
                break;
        }
        free(copy);
        return 0;
}
