/* Classes of addresses; see address.h. Sources: IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190),
 * IPv4 and IPv6 multicast (RFC 5771, RFC 4291), as of October 2024. */
#include "model/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

struct special {
        struct address_range range;
        enum address_class klass;
};
#define V4(a, b, c, d, bits, k) {{{[10] = 0xff, [11] = 0xff, a, b, c, d}, 96 + (bits)}, ADDRESS_##k}
#define V6(bits, k, ...) {{{__VA_ARGS__}, bits}, ADDRESS_##k}

/* The first that fits counts. What is globally reachable inside a range that is not, and that nobody needs to reach (anycast
 * of protocols that Belljar does not carry), is left to its range. */
static const struct special specials[] = {
        /* The metadata services of clouds. */
        V4(169, 254, 169, 254, 32, METADATA), /* nearly all */
        V4(169, 254, 169, 253, 32, METADATA), /* AWS: resolver and clock */
        V4(169, 254, 169, 123, 32, METADATA),
        V4(169, 254, 170, 2, 32, METADATA),   /* AWS: credentials of a container */
        V4(169, 254, 170, 23, 32, METADATA),  /* AWS: of a pod */
        V4(169, 254, 42, 42, 32, METADATA),   /* Scaleway */
        V4(169, 254, 0, 23, 32, METADATA),    /* Tencent */
        V4(100, 100, 100, 200, 32, METADATA), /* Alibaba */
        V4(168, 63, 129, 16, 32, METADATA),   /* Azure: the host, on a public address */
        V4(192, 0, 0, 192, 32, METADATA),     /* Oracle */
        V6(128, METADATA, 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54), /* AWS: fd00:ec2::254, ::253, ::123, ::23 */
        V6(128, METADATA, 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x53),
        V6(128, METADATA, 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x01, 0x23),
        V6(128, METADATA, 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x00, 0x23),
        V6(128, METADATA, 0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54), /* Google: fd20:ce::254 */
        V6(128, METADATA, 0xfd, 0x00, 0x00, 0x42, [14] = 0x00, 0x42), /* Scaleway: fd00:42::42 */

        V4(0, 0, 0, 0, 8, THIS_HOST),           /* RFC 791 section 3.2 */
        V4(10, 0, 0, 0, 8, PRIVATE),            /* RFC 1918 */
        V4(100, 64, 0, 0, 10, SHARED),          /* RFC 6598 */
        V4(127, 0, 0, 0, 8, LOOPBACK),          /* RFC 1122 section 3.2.1.3 */
        V4(169, 254, 0, 0, 16, LINK_LOCAL),     /* RFC 3927 */
        V4(172, 16, 0, 0, 12, PRIVATE),
        V4(192, 0, 0, 0, 24, RESERVED),         /* RFC 6890 section 2.1 */
        V4(192, 0, 2, 0, 24, DOCUMENTATION),    /* RFC 5737 */
        V4(192, 88, 99, 0, 24, TRANSITION),     /* 6to4 relays, RFC 7526 */
        V4(192, 168, 0, 0, 16, PRIVATE),
        V4(198, 18, 0, 0, 15, BENCHMARKING),    /* RFC 2544 */
        V4(198, 51, 100, 0, 24, DOCUMENTATION),
        V4(203, 0, 113, 0, 24, DOCUMENTATION),
        V4(224, 0, 0, 0, 4, MULTICAST),         /* RFC 5771 */
        V4(255, 255, 255, 255, 32, MULTICAST),  /* limited broadcast, RFC 8190 */
        V4(240, 0, 0, 0, 4, RESERVED),          /* RFC 1112 section 4 */
        V4(0, 0, 0, 0, 0, PUBLIC),

        V6(128, THIS_HOST, 0),
        V6(128, LOOPBACK, [15] = 1),
        V6(96, TRANSITION, 0),                                     /* IPv4-compatible, RFC 4291 section 2.5.5.1 */
        V6(96, TRANSITION, [8] = 0xff, 0xff),                      /* IPv4-translated, RFC 2765 section 2.1 */
        V6(96, PUBLIC, 0x00, 0x64, 0xff, 0x9b),                    /* NAT64, RFC 6052: what it carries decides */
        V6(48, TRANSITION, 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01),    /* local NAT64, RFC 8215 */
        V6(32, TRANSITION, 0x20, 0x01),                            /* Teredo, RFC 4380 */
        V6(48, BENCHMARKING, 0x20, 0x01, 0x00, 0x02),              /* RFC 5180 */
        V6(23, RESERVED, 0x20, 0x01),                              /* IETF protocols, RFC 2928 */
        V6(32, DOCUMENTATION, 0x20, 0x01, 0x0d, 0xb8),             /* RFC 3849 */
        V6(16, TRANSITION, 0x20, 0x02),                            /* 6to4, RFC 3056, RFC 7526 */
        V6(20, DOCUMENTATION, 0x3f, 0xff),                         /* RFC 9637 */
        V6(3, PUBLIC, 0x20),                                       /* all global unicast, RFC 4291 section 2.4 */
        V6(7, UNIQUE_LOCAL, 0xfc),                                 /* RFC 4193 */
        V6(10, LINK_LOCAL, 0xfe, 0x80),                            /* RFC 4291 section 2.5.6 */
        V6(10, PRIVATE, 0xfe, 0xc0),                               /* site-local, RFC 3879 */
        V6(8, MULTICAST, 0xff),                                    /* RFC 4291 section 2.7 */
};

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

bool address_is_ipv4(const struct request_address *a) { return memcmp(a->byte, mapped, sizeof(mapped)) == 0; }

const char *address_class_name(enum address_class c) {
        static const char *const names[ADDRESS_CLASSES] = {
                "public", "this host", "loopback", "link-local", "metadata service", "private", "unique-local",
                "carrier-grade NAT", "multicast", "documentation", "benchmarking", "IPv6 transition", "reserved",
        };
        return c < ADDRESS_CLASSES ? names[c] : "reserved";
}

bool address_range_has(const struct address_range *r, const struct request_address *a) {
        size_t whole = r->bits / 8, rest = r->bits % 8;

        if (r->bits > 128 || (r->bits < 96 && address_is_ipv4(a)))
                return false;
        return memcmp(r->byte, a->byte, whole) == 0 && (rest == 0 || (r->byte[whole] ^ a->byte[whole]) >> (8 - rest) == 0);
}

/* By the registries alone. */
static enum address_class registered(const struct request_address *a) {
        for (size_t i = 0; i < ELEMENTSOF(specials); i++)
                if (address_range_has(&specials[i].range, a))
                        return specials[i].klass;
        return ADDRESS_RESERVED;
}

static void set_ipv4(struct request_address *ret, const uint8_t v4[4]) {
        memcpy(ret->byte, mapped, sizeof(mapped));
        memcpy(ret->byte + sizeof(mapped), v4, 4);
}

static bool all_zero(const uint8_t *p, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (p[i] != 0)
                        return false;
        return true;
}

/* RFC 6052 section 2.2: an IPv4 address behind a prefix of 48, 56, 64 or 96 bits; byte 8 is stepped over. */
static size_t local_nat64(const uint8_t *b, struct request_address *ret) {
        size_t n = 0;

        for (size_t prefix = 6; prefix <= 8; prefix++) {
                uint8_t v4[4];
                size_t at = prefix;
                for (size_t i = 0; i < 4; i++) {
                        at += at == 8;
                        v4[i] = b[at++];
                }
                if (b[8] == 0 && all_zero(b + at, 16 - at) && !all_zero(v4, 4))
                        set_ipv4(&ret[n++], v4);
        }
        if (!all_zero(b + 12, 4))
                set_ipv4(&ret[n++], b + 12);
        return n;
}

size_t address_embedded(const struct request_address *a, struct request_address ret[ADDRESS_EMBEDDED_MAX]) {
        static const uint8_t translated[12] = {[8] = 0xff, [9] = 0xff}, nat64[12] = {0x00, 0x64, 0xff, 0x9b};
        static const uint8_t local[6] = {0x00, 0x64, 0xff, 0x9b, 0x00, 0x01};
        static const uint8_t teredo[4] = {0x20, 0x01};
        const uint8_t *b = a->byte;
        size_t n = 0;

        if (address_is_ipv4(a))
                return 0;
        if (all_zero(b, 12)) {
                if (!all_zero(b + 12, 3) || b[15] > 1) /* :: and ::1 carry nothing */
                        set_ipv4(&ret[n++], b + 12);
        } else if (memcmp(b, translated, sizeof(translated)) == 0 || memcmp(b, nat64, sizeof(nat64)) == 0)
                set_ipv4(&ret[n++], b + 12);
        else if (memcmp(b, local, sizeof(local)) == 0)
                n += local_nat64(b, ret);
        else if (b[0] == 0x20 && b[1] == 0x02)
                set_ipv4(&ret[n++], b + 2);
        else if (memcmp(b, teredo, sizeof(teredo)) == 0) {
                /* Server, and the client with every bit turned: RFC 4380 section 4. */
                uint8_t client[4] = {b[12] ^ 0xff, b[13] ^ 0xff, b[14] ^ 0xff, b[15] ^ 0xff};
                set_ipv4(&ret[n++], b + 4);
                set_ipv4(&ret[n++], client);
        }
        /* ISATAP, RFC 5214 section 6.1: behind any prefix. */
        if ((b[8] & 0xfd) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe)
                set_ipv4(&ret[n++], b + 12);
        return n;
}

enum address_class address_class(const struct request_address *a) {
        struct request_address inner[ADDRESS_EMBEDDED_MAX];
        enum address_class own = registered(a);

        if (own != ADDRESS_PUBLIC && own != ADDRESS_TRANSITION)
                return own;
        size_t n = address_embedded(a, inner);
        for (size_t i = 0; i < n; i++) {
                enum address_class k = registered(&inner[i]);
                if (k == ADDRESS_METADATA)
                        return k;
                if (k != ADDRESS_PUBLIC && (own == ADDRESS_PUBLIC || own == ADDRESS_TRANSITION))
                        own = k;
        }
        return own;
}

bool address_is_public(const struct request_address *a) { return address_class(a) == ADDRESS_PUBLIC; }

int address_parse(const char *s, size_t n, struct request_address *ret) {
        char text[ADDRESS_TEXT_MAX];
        struct in_addr v4;
        struct in6_addr v6;

        if (n >= sizeof(text) || memchr(s, 0, n))
                return -EINVAL;
        memcpy(text, s, n);
        text[n] = 0;
        if (inet_pton(AF_INET, text, &v4) == 1) {
                uint8_t b[4];
                memcpy(b, &v4, 4);
                set_ipv4(ret, b);
                return 0;
        }
        if (inet_pton(AF_INET6, text, &v6) != 1)
                return -EINVAL;
        memcpy(ret->byte, &v6, 16);
        return 0;
}

/* RFC 5952, sections 4 and 5. By hand: the C libraries that Belljar is built with differ in what they write with dots, and
 * the text of a policy's host has to be the same in all of its programs. */
char *address_format(const struct request_address *a, char buf[ADDRESS_TEXT_MAX]) {
        const uint8_t *b = a->byte;
        unsigned group[8], run = 8, longest = 1; /* of zeros: where, and how many; a single one is not shortened */
        size_t at = 0;

        if (address_is_ipv4(a)) {
                snprintf(buf, ADDRESS_TEXT_MAX, "%u.%u.%u.%u", b[12], b[13], b[14], b[15]);
                return buf;
        }
        for (unsigned i = 0; i < 8; i++)
                group[i] = (unsigned)b[2 * i] << 8 | b[2 * i + 1];
        for (unsigned i = 0, n = 0; i < 8; i++) {
                n = group[i] == 0 ? n + 1 : 0;
                if (n > longest) {
                        longest = n;
                        run = i + 1 - n;
                }
        }
        for (unsigned i = 0; i < 8; i++) {
                if (i == run) {
                        at += (size_t)snprintf(buf + at, ADDRESS_TEXT_MAX - at, "::");
                        i += longest - 1;
                        continue;
                }
                bool colon = i > 0 && buf[at - 1] != ':';
                at += (size_t)snprintf(buf + at, ADDRESS_TEXT_MAX - at, "%s%x", colon ? ":" : "", group[i]);
        }
        return buf;
}

int address_range_parse(const char *s, size_t n, struct address_range *ret) {
        const char *slash = memchr(s, '/', n);
        size_t length = slash ? (size_t)(slash - s) : n;
        struct request_address a;
        unsigned bits = 0;

        if (address_parse(s, length, &a) < 0)
                return -EINVAL;
        bool v4 = !memchr(s, ':', length);
        unsigned most = v4 ? 32 : 128;
        if (!slash)
                bits = most;
        else {
                const char *p = slash + 1;
                size_t digits = n - length - 1;
                if (digits == 0 || digits > 3 || (digits > 1 && *p == '0'))
                        return -EINVAL;
                for (size_t i = 0; i < digits; i++) {
                        if (p[i] < '0' || p[i] > '9')
                                return -EINVAL;
                        bits = bits * 10 + (unsigned)(p[i] - '0');
                }
                if (bits > most)
                        return -EINVAL;
        }
        bits += v4 ? 96 : 0;
        /* A part of the mapped addresses and something else would be half a range of IPv4. */
        if (address_is_ipv4(&a) && bits < 96)
                return -EINVAL;
        struct address_range r = {.bits = (uint8_t)bits};
        for (unsigned i = 0; i < 16; i++) {
                unsigned keep = bits <= 8 * i ? 0 : MIN(bits - 8 * i, 8u);
                r.byte[i] = a.byte[i] & (uint8_t)(0xff00u >> keep);
        }
        *ret = r;
        return memcmp(r.byte, a.byte, 16) == 0 ? 0 : -ERANGE;
}

static bool any_has(const struct request_address *a, const struct address_range *ranges, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (address_range_has(&ranges[i], a))
                        return true;
        return false;
}

bool address_allowed(const struct request_address *a, const struct address_range *ranges, size_t n) {
        struct request_address inner[ADDRESS_EMBEDDED_MAX];
        enum address_class k = address_class(a);

        if (k == ADDRESS_PUBLIC)
                return true;
        for (size_t i = 0; i < n; i++)
                if (ranges[i].bits == 128 && address_range_has(&ranges[i], a))
                        return true;
        if (k == ADDRESS_METADATA || !any_has(a, ranges, n))
                return false;
        size_t n_inner = address_embedded(a, inner);
        for (size_t i = 0; i < n_inner; i++) {
                k = registered(&inner[i]);
                if (k == ADDRESS_METADATA || (k != ADDRESS_PUBLIC && !any_has(&inner[i], ranges, n)))
                        return false;
        }
        return true;
}

bool address_special_range(size_t index, struct address_range *ret) {
        if (index >= ELEMENTSOF(specials))
                return false;
        *ret = specials[index].range;
        return true;
}
