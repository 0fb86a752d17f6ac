/* DNS as the gate speaks it with the programs of a sandbox: a strict reader of a query with one question (RFC 1035, with
 * EDNS(0), RFC 6891) and a writer of answers. What goes upstream is not made here (c-ares does that) and nothing of a query
 * is ever passed on. Pure, allocates nothing, reads hostile bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

#define DNS_NAME_MAX 253u    /* bytes of a name as text, without the final dot */
#define DNS_WIRE_MAX 255u    /* of a name on the wire, RFC 1035 section 2.3.4 */
#define DNS_QUERY_MAX 1232u  /* of a query that is read; a resolver's own have less than 512, padded ones (RFC 8467) too */
#define DNS_ADDRESSES_MAX 8u /* in one answer */
/* Header, question, addresses, SOA, OPT. An answer never needs more, so none is ever truncated: 12 + 259 + 8 * 28 + 11 is
 * below 512, the least that every client takes over UDP. */
#define DNS_REPLY_MAX 512u

enum dns_rcode { /* RFC 1035 section 4.1.1, RFC 6891 section 9 */
        DNS_NOERROR = 0,
        DNS_FORMERR = 1,
        DNS_SERVFAIL = 2,
        DNS_NXDOMAIN = 3,
        DNS_NOTIMP = 4,
        DNS_REFUSED = 5,
        DNS_BADVERS = 16,
};

enum dns_type { /* those that something here depends on */
        DNS_TYPE_A = 1,
        DNS_TYPE_SOA = 6,
        DNS_TYPE_AAAA = 28,
        DNS_TYPE_OPT = 41,
        DNS_TYPE_SVCB = 64,
        DNS_TYPE_HTTPS = 65,
        DNS_TYPE_IXFR = 251,
        DNS_TYPE_AXFR = 252,
        DNS_TYPE_ANY = 255,
};

struct dns_question {
        uint16_t id;
        uint8_t opcode;
        bool recursion_desired, checking_disabled; /* echoed, RFC 6895 section 2 */
        bool edns;
        bool has_question; /* what follows was read; otherwise the answer has no question section */
        uint16_t type, klass;
        uint8_t wire[DNS_WIRE_MAX]; /* the name in the case in which it came, which the answer repeats */
        size_t n_wire;
        /* The name as text: lower case, no final dot, NUL-terminated. is_hostname: every byte of it is a letter, a digit, '-'
         * or '_', so that text and wire name the same; otherwise it is empty: nothing is reached by such a name. The root
         * (". NS") is empty too and no host name. */
        char name[DNS_NAME_MAX + 1];
        size_t n_name;
        bool is_hostname;
};

/* Reads one query. Returns:
 *   DNS_NOERROR  a question of class IN about one name, which the caller answers: addresses for A and AAAA, an empty
 *                DNS_NOERROR for any other type of a name that exists, HTTPS and SVCB among them
 *   another enum dns_rcode: what to answer with; *ret is filled as far as the answer needs it. FORMERR: no query as RFC 1035
 *                has it, more than one question, records in other sections than OPT, compression in the question, bytes
 *                behind the end; NOTIMP: another opcode than QUERY; BADVERS: a later EDNS; REFUSED: another class, zone
 *                transfers, ANY (RFC 8482) and the other meta types
 *   -EBADMSG     not to be answered: no whole header, or itself an answer (two servers would answer each other for ever)
 *   -EMSGSIZE    longer than DNS_QUERY_MAX: not to be answered */
int dns_read(const uint8_t *p, size_t n, struct dns_question *ret) _must_check_;

struct dns_answer {
        enum dns_rcode rcode;
        uint32_t ttl; /* seconds, of the addresses; of the absence, where there are none */
        /* The addresses: of 4 bytes each in an answer to A, of 16 to AAAA; must be 0 of them for other types and rcodes. */
        size_t n_addresses;
        uint8_t address[DNS_ADDRESSES_MAX][16];
};

/* Writes the answer to a question that dns_read filled. NXDOMAIN and an empty NOERROR carry a SOA, of the root, so that
 * caches keep them for ttl seconds (RFC 2308 section 5). Returns its length; -ENOBUFS (never with DNS_REPLY_MAX), -EINVAL
 * where addresses do not fit the question. */
ssize_t dns_write(const struct dns_question *q, const struct dns_answer *a, uint8_t *buf, size_t size) _must_check_;

/* The length of the message at the head of a TCP stream (RFC 1035 section 4.2.2), which begins behind the two bytes of its
 * length: 0 and *ret where it is there as a whole, -EAGAIN where bytes are missing, -EMSGSIZE where it is none that
 * dns_read takes: the connection is then closed. */
int dns_frame(const uint8_t *p, size_t n, size_t *ret) _must_check_;
