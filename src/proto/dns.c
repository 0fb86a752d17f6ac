/* Queries and answers of the DNS; see dns.h. Layout of a message: RFC 1035 section 4.1. */
#include "proto/dns.h"

#include <string.h>

#define HEADER 12u
#define FLAG_QR 0x8000u
#define FLAG_AA 0x0400u
#define FLAG_TC 0x0200u
#define FLAG_RD 0x0100u
#define FLAG_RA 0x0080u
#define FLAG_CD 0x0010u
#define OPCODE(flags) ((flags) >> 11 & 0x0f)
#define CLASS_IN 1u
#define EDNS_SIZE 1232u /* what this side reads, RFC 6891 section 6.2.3 */

struct reader {
        const uint8_t *p;
        size_t n, at;
};

static bool has(const struct reader *r, size_t n) { return r->n - r->at >= n; }

/* The caller has looked that two bytes are there. */
static uint16_t take16(struct reader *r) {
        uint16_t v = (uint16_t)(r->p[r->at] << 8 | r->p[r->at + 1]);
        r->at += 2;
        return v;
}

/* A lower-case letter, a digit, '-' or '_' for a byte that may stand in a host name; 0 for any other. By hand: tolower(3) and
 * its kin depend on the locale. */
static char hostname_byte(uint8_t c) {
        if (c >= 'A' && c <= 'Z')
                return (char)(c + ('a' - 'A'));
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ? (char)c : 0;
}

/* The name of the question, uncompressed. */
static bool read_name(struct reader *r, struct dns_question *q) {
        size_t begin = r->at;

        q->is_hostname = true;
        for (;;) {
                if (!has(r, 1))
                        return false;
                uint8_t len = r->p[r->at++];
                if (len == 0)
                        break;
                /* Over 63 it is a pointer or a kind of label that RFC 6891 has taken out of use. */
                if (len > 63 || !has(r, len) || r->at + len - begin >= DNS_WIRE_MAX)
                        return false;
                if (q->n_name > 0)
                        q->name[q->n_name++] = '.';
                for (size_t i = 0; i < len; i++) {
                        char c = hostname_byte(r->p[r->at++]);
                        q->is_hostname &= c != 0;
                        q->name[q->n_name++] = c;
                }
        }
        q->n_wire = r->at - begin;
        memcpy(q->wire, r->p + begin, q->n_wire);
        if (q->n_name == 0 || !q->is_hostname) {
                q->is_hostname = false;
                q->n_name = 0;
        }
        q->name[q->n_name] = 0;
        return true;
}

/* The pseudo-record of EDNS, RFC 6891 section 6.1.2; its options are stepped over. */
static int read_opt(struct reader *r, struct dns_question *q) {
        if (!has(r, 11) || r->p[r->at] != 0)
                return DNS_FORMERR;
        r->at++;
        if (take16(r) != DNS_TYPE_OPT)
                return DNS_FORMERR;
        take16(r); /* the client's size: every answer fits the least one */
        uint16_t version = take16(r) & 0xff;
        take16(r);
        size_t left = take16(r);
        if (!has(r, left))
                return DNS_FORMERR;
        while (left > 0) {
                if (left < 4)
                        return DNS_FORMERR;
                take16(r);
                size_t len = take16(r);
                if (left - 4 < len)
                        return DNS_FORMERR;
                r->at += len;
                left -= 4 + len;
        }
        q->edns = true;
        return version == 0 ? DNS_NOERROR : DNS_BADVERS;
}

static int read_sections(struct reader *r, struct dns_question *q) {
        uint16_t questions = take16(r), answers = take16(r), authorities = take16(r), more = take16(r);
        int rcode = DNS_NOERROR;

        if (questions != 1 || answers != 0 || authorities != 0 || more > 1)
                return DNS_FORMERR;
        if (!read_name(r, q) || !has(r, 4))
                return DNS_FORMERR;
        q->type = take16(r);
        q->klass = take16(r);
        q->has_question = true;
        if (more == 1)
                rcode = read_opt(r, q);
        if (rcode == DNS_FORMERR || has(r, 1)) {
                q->edns = false;
                return DNS_FORMERR;
        }
        if (rcode != DNS_NOERROR)
                return rcode;
        /* 128 to 255 are no records but questions about them (RFC 6895 section 3.1): transfers, ANY, TSIG. */
        if (q->klass != CLASS_IN || q->type == 0 || q->type == DNS_TYPE_OPT || (q->type >= 128 && q->type <= 255))
                return DNS_REFUSED;
        return DNS_NOERROR;
}

int dns_read(const uint8_t *p, size_t n, struct dns_question *ret) {
        struct reader r = {p, n, 0};
        struct dns_question q = {};

        if (n > DNS_QUERY_MAX)
                return -EMSGSIZE;
        if (n < HEADER)
                return -EBADMSG;
        q.id = take16(&r);
        uint16_t flags = take16(&r);
        if (flags & FLAG_QR)
                return -EBADMSG;
        q.opcode = OPCODE(flags);
        q.recursion_desired = flags & FLAG_RD;
        q.checking_disabled = flags & FLAG_CD;

        int rcode = DNS_NOTIMP;
        if (q.opcode == 0) {
                rcode = read_sections(&r, &q);
                if (flags & FLAG_TC) /* a query in pieces does not exist */
                        rcode = DNS_FORMERR;
        }
        if (rcode == DNS_FORMERR) { /* a name that was read by halves is not repeated */
                q.has_question = q.is_hostname = q.edns = false;
                q.n_name = q.n_wire = 0;
                q.name[0] = 0;
        }
        *ret = q;
        return rcode;
}

struct writer {
        uint8_t *p;
        size_t size, at;
        bool full;
};

static void put(struct writer *w, const void *p, size_t n) {
        if (w->full || w->size - w->at < n) {
                w->full = true;
                return;
        }
        memcpy(w->p + w->at, p, n);
        w->at += n;
}

static void put8(struct writer *w, uint8_t v) { put(w, &v, 1); }
static void put16(struct writer *w, uint16_t v) { put(w, (uint8_t[]){(uint8_t)(v >> 8), (uint8_t)v}, 2); }
static void put32(struct writer *w, uint32_t v) {
        put16(w, (uint16_t)(v >> 16));
        put16(w, (uint16_t)v);
}

/* The root's, which lies above every name: whoever caches reads the time from it and asks it nothing. */
static void put_soa(struct writer *w, uint32_t ttl) {
        put8(w, 0);
        put16(w, DNS_TYPE_SOA);
        put16(w, CLASS_IN);
        put32(w, ttl);
        put16(w, 1 + 1 + 5 * 4);
        put8(w, 0); /* MNAME, RNAME: the root */
        put8(w, 0);
        put32(w, 1); /* SERIAL, REFRESH, RETRY, EXPIRE, MINIMUM */
        put32(w, 3600);
        put32(w, 600);
        put32(w, 86400);
        put32(w, ttl);
}

ssize_t dns_write(const struct dns_question *q, const struct dns_answer *a, uint8_t *buf, size_t size) {
        struct writer w = {buf, size, 0, false};
        size_t length = q->type == DNS_TYPE_A ? 4 : 16;
        bool soa = q->has_question && a->n_addresses == 0 && (a->rcode == DNS_NXDOMAIN || a->rcode == DNS_NOERROR);

        if (a->n_addresses > DNS_ADDRESSES_MAX || (unsigned)a->rcode > DNS_BADVERS || (a->rcode > 15 && !q->edns))
                return -EINVAL;
        if (a->n_addresses > 0 && (!q->has_question || a->rcode != DNS_NOERROR || q->klass != CLASS_IN ||
                                   (q->type != DNS_TYPE_A && q->type != DNS_TYPE_AAAA)))
                return -EINVAL;

        put16(&w, q->id);
        put16(&w, (uint16_t)(FLAG_QR | (unsigned)q->opcode << 11 | (a->rcode == DNS_NOERROR || a->rcode == DNS_NXDOMAIN ? FLAG_AA : 0) |
                             (q->recursion_desired ? FLAG_RD : 0) | FLAG_RA | (q->checking_disabled ? FLAG_CD : 0) |
                             (a->rcode & 0x0f)));
        put16(&w, q->has_question);
        put16(&w, (uint16_t)a->n_addresses);
        put16(&w, soa);
        put16(&w, q->edns);
        if (q->has_question) {
                put(&w, q->wire, q->n_wire);
                put16(&w, q->type);
                put16(&w, q->klass);
        }
        for (size_t i = 0; i < a->n_addresses; i++) {
                put16(&w, 0xc000 | HEADER); /* a pointer to the name in the question */
                put16(&w, q->type);
                put16(&w, CLASS_IN);
                put32(&w, a->ttl);
                put16(&w, (uint16_t)length);
                put(&w, a->address[i], length);
        }
        if (soa)
                put_soa(&w, a->ttl);
        if (q->edns) {
                put8(&w, 0);
                put16(&w, DNS_TYPE_OPT);
                put16(&w, EDNS_SIZE);
                put32(&w, (uint32_t)a->rcode >> 4 << 24); /* upper bits of the rcode, version 0, no flags */
                put16(&w, 0);
        }
        return w.full ? -ENOBUFS : (ssize_t)w.at;
}

int dns_frame(const uint8_t *p, size_t n, size_t *ret) {
        if (n < 2)
                return -EAGAIN;
        size_t length = (size_t)p[0] << 8 | p[1];
        if (length < HEADER || length > DNS_QUERY_MAX)
                return -EMSGSIZE;
        if (n - 2 < length)
                return -EAGAIN;
        *ret = length;
        return 0;
}
