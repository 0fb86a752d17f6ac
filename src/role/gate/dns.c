/* DNS for the programs of the sandbox: a name that some rule can reach has a synthetic address, every other does not exist.
 * No question ever goes further. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "model/canonical.h"
#include "proto/dns.h"
#include "role/gate/gate.h"

#define TTL 30u      /* seconds; an address stands for its name as long as the run */
#define BATCH 64     /* questions in a turn */

/* DNS over TCP: one question after the other. */
struct dns_stream {
        struct watch w;
        struct dns_stream *next, **prev;
        uint64_t deadline;
        size_t n;
        uint8_t buf[2 + DNS_QUERY_MAX];
};

static bool ends_in(struct request_text s, const char *end) {
        size_t n = strlen(end);
        return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

static void deny(struct gate *g, const struct dns_question *q, const struct request *r) {
        struct verdict v;
        struct net_report report;

        /* Reverse look-ups are made by many programs of their own accord, and lead nowhere. */
        if ((q->type != DNS_TYPE_A && q->type != DNS_TYPE_AAAA) || ends_in(r->host, ".arpa"))
                return;
        struct request asked = *r;
        asked.port = 443; /* what it is most likely meant for */
        table_decide(&g->table, &asked, &v);
        if (v.reason != VERDICT_DENIED) /* a rule that denies the name says why, and whether without a word */
                v = (struct verdict){.reason = VERDICT_HOST, .rule = TABLE_NONE, .route = TABLE_NONE};
        net_report_denial(&report, NET_DNS, &g->table, &asked, &v);
        net_control_report(&g->control, &report);
}

static void say_asked(struct gate *g, const struct dns_question *q, const struct request *r) {
        struct net_report report = {.type = NET_ASKED, .what = NET_DNS};

        net_report_place(&report, r, NULL);
        snprintf(report.text, sizeof(report.text), q->type == DNS_TYPE_A ? "A" : q->type == DNS_TYPE_AAAA ? "AAAA" : "type %u", q->type);
        net_control_report(&g->control, &report);
}

static void answer_name(struct gate *g, const struct dns_question *q, struct dns_answer *a) {
        struct request r = {};
        char buf[REQUEST_HOST_MAX + 1];

        a->ttl = TTL;
        /* The root exists: a resolver that hears otherwise takes every name for absent (RFC 8020). */
        a->rcode = q->n_wire <= 1 ? DNS_NOERROR : DNS_NXDOMAIN;
        if (!q->is_hostname || canonical_host(q->name, q->n_name, buf, &r, NULL) < 0 || r.is_address)
                return;
        bool localhost = (r.host.n == 9 && memcmp(r.host.p, "localhost", 9) == 0) || ends_in(r.host, ".localhost");
        if (localhost) { /* RFC 6761 section 6.3 */
                a->rcode = DNS_NOERROR;
                if (q->type == DNS_TYPE_A)
                        memcpy(a->address[a->n_addresses++], (const uint8_t[]){127, 0, 0, 1}, 4);
                else if (q->type == DNS_TYPE_AAAA)
                        a->address[a->n_addresses++][15] = 1;
                return;
        }
        if (!table_name_reachable(&g->table, r.host)) {
                deny(g, q, &r);
                return;
        }
        say_asked(g, q, &r);
        a->rcode = DNS_NOERROR;
        if (q->type != DNS_TYPE_A)
                return;
        if (names_address(&g->names, r.host, a->address[0]) < 0)
                a->rcode = DNS_SERVFAIL;
        else
                a->n_addresses = 1;
}

/* The length of the answer, 0: none is due. */
static size_t answer(struct gate *g, const uint8_t *query, size_t n, uint8_t *reply, size_t size) {
        struct dns_question q;
        struct dns_answer a = {};
        int r = dns_read(query, n, &q);

        if (r < 0)
                return 0;
        a.rcode = (enum dns_rcode)r;
        if (r == DNS_NOERROR)
                answer_name(g, &q, &a);
        ssize_t len = dns_write(&q, &a, reply, size);
        return len < 0 ? 0 : (size_t)len;
}

void dns_udp_ready(struct watch *w, uint32_t events) {
        struct gate *g = &gate;
        uint8_t query[DNS_QUERY_MAX + 1], reply[DNS_REPLY_MAX];
        union {
                struct cmsghdr h;
                char space[CMSG_SPACE(sizeof(struct in6_pktinfo))];
        } c;
        struct sockaddr_in6 from;

        (void)events;
        for (int i = 0; i < BATCH; i++) {
                struct iovec iov = {query, sizeof(query)};
                struct msghdr m = {.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov, .msg_iovlen = 1,
                                   .msg_control = &c, .msg_controllen = sizeof(c)};
                ssize_t n = recvmsg(w->fd, &m, MSG_DONTWAIT);
                if (n < 0)
                        return;
                size_t len = answer(g, query, (size_t)n, reply, sizeof(reply));
                struct cmsghdr *h = CMSG_FIRSTHDR(&m);
                if (len == 0 || !h)
                        continue;
                /* From the address that was asked: pktinfo goes back as it came, but for the interface. */
                if (h->cmsg_level == IPPROTO_IP && h->cmsg_type == IP_PKTINFO) {
                        struct in_pktinfo p;
                        memcpy(&p, CMSG_DATA(h), sizeof(p));
                        p = (struct in_pktinfo){.ipi_spec_dst = p.ipi_addr};
                        memcpy(CMSG_DATA(h), &p, sizeof(p));
                } else if (h->cmsg_level == IPPROTO_IPV6 && h->cmsg_type == IPV6_PKTINFO) {
                        struct in6_pktinfo p;
                        memcpy(&p, CMSG_DATA(h), sizeof(p));
                        p.ipi6_ifindex = 0;
                        memcpy(CMSG_DATA(h), &p, sizeof(p));
                } else
                        continue;
                iov = (struct iovec){reply, len};
                (void)!sendmsg(w->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
}

static void end_stream(struct gate *g, struct dns_stream *s) {
        loop_close(&g->loop, &s->w);
        *s->prev = s->next;
        if (s->next)
                s->next->prev = s->prev;
        g->n_streams--;
        free(s);
}

static void stream_ready(struct watch *w, uint32_t events) {
        struct dns_stream *s = loop_container(w, struct dns_stream, w);
        struct gate *g = &gate;
        uint8_t reply[2 + DNS_REPLY_MAX];
        size_t frame;

        (void)events;
        ssize_t n = recv(w->fd, s->buf + s->n, sizeof(s->buf) - s->n, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                end_stream(g, s);
                return;
        }
        s->n += (size_t)n;
        int r;
        while ((r = dns_frame(s->buf, s->n, &frame)) == 0) {
                size_t len = answer(g, s->buf + 2, frame, reply + 2, sizeof(reply) - 2);
                reply[0] = (uint8_t)(len >> 8);
                reply[1] = (uint8_t)len;
                /* Of a few hundred bytes: one that does not fit belongs to a client that does not read. */
                if (len == 0 || send(w->fd, reply, len + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(len + 2)) {
                        end_stream(g, s);
                        return;
                }
                memmove(s->buf, s->buf + 2 + frame, s->n - 2 - frame);
                s->n -= 2 + frame;
                s->deadline = g->loop.now + GATE_DNS_STREAM_MS;
        }
        if (r != -EAGAIN)
                end_stream(g, s);
}

void dns_tcp_ready(struct watch *w, uint32_t events) {
        struct gate *g = &gate;

        (void)events;
        int fd = gate_accept(w);
        if (fd < 0)
                return;
        struct dns_stream *s = g->n_streams < GATE_DNS_STREAMS_MAX ? (struct dns_stream *)calloc(1, sizeof(*s)) : NULL;
        if (!s || loop_add(&g->loop, &s->w, fd, EPOLLIN, stream_ready) < 0) {
                free(s);
                close(fd);
                return;
        }
        s->deadline = g->loop.now + GATE_DNS_STREAM_MS;
        s->next = g->streams;
        s->prev = &g->streams;
        if (s->next)
                s->next->prev = &s->next;
        g->streams = s;
        g->n_streams++;
}

void dns_tick(struct gate *g) {
        for (struct dns_stream *s = g->streams, *next; s; s = next) {
                next = s->next;
                if (g->loop.now >= s->deadline)
                        end_stream(g, s);
        }
}
