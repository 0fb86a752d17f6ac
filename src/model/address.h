/* Addresses: what kind each is (public, loopback, metadata service, ...), by IANA's registries of special-purpose addresses
 * (RFC 6890), and ranges of them. An IPv4 address is the IPv4-mapped IPv6 one. An IPv6 address that carries an IPv4 one
 * (NAT64, 6to4, Teredo, ISATAP, ...) is judged by that one as well: a gateway on the way might unpack it. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "model/request.h"

#define ADDRESS_TEXT_MAX 46u     /* with the NUL */
#define ADDRESS_EMBEDDED_MAX 5u

enum address_class {
        ADDRESS_PUBLIC,        /* globally reachable unicast */
        ADDRESS_THIS_HOST,     /* 0.0.0.0/8, :: : Linux connects to itself */
        ADDRESS_LOOPBACK,
        ADDRESS_LINK_LOCAL,
        ADDRESS_METADATA,      /* where clouds hand credentials to their machines */
        ADDRESS_PRIVATE,       /* RFC 1918, and site-local IPv6 */
        ADDRESS_UNIQUE_LOCAL,  /* RFC 4193 */
        ADDRESS_SHARED,        /* carrier-grade NAT, RFC 6598 */
        ADDRESS_MULTICAST,     /* broadcast too */
        ADDRESS_DOCUMENTATION,
        ADDRESS_BENCHMARKING,
        ADDRESS_TRANSITION,    /* carries an IPv4 address by a mechanism that is none of the public network's any more */
        ADDRESS_RESERVED,      /* everything else that is not globally reachable, also what nobody has been given yet */
        ADDRESS_CLASSES
};
/* "loopback", "link-local", "metadata service". */
const char *address_class_name(enum address_class c);

/* The class, its embedded addresses considered: of 64:ff9b::7f00:1 it is loopback. */
enum address_class address_class(const struct request_address *a);
bool address_is_public(const struct request_address *a);
bool address_is_ipv4(const struct request_address *a);
/* The IPv4 addresses that an IPv6 one carries, by every way in which it might be read; 0 for an IPv4 address itself. */
size_t address_embedded(const struct request_address *a, struct request_address ret[ADDRESS_EMBEDDED_MAX]);

/* Reads one address in its usual spelling: dotted decimal without leading zeros, or as RFC 4291 section 2.2 has it, without
 * brackets and zone. The other spellings are canonical_host's. -EINVAL. */
int address_parse(const char *s, size_t n, struct request_address *ret) _must_check_;
/* As RFC 5952 has it, a mapped one as IPv4, any other in hexadecimal alone. Returns buf. */
char *address_format(const struct request_address *a, char buf[ADDRESS_TEXT_MAX]);

struct address_range {
        uint8_t byte[16]; /* bits behind `bits` are 0 */
        uint8_t bits;     /* 0 to 128; of an IPv4 range 96 more than it is written with */
};
/* "10.0.0.0/8", "2001:db8::/32"; an address alone is the range of that one. -EINVAL; -ERANGE where bits behind the length
 * are set ("10.0.0.1/8"): *ret is then, all the same, the range that is meant. */
int address_range_parse(const char *s, size_t n, struct address_range *ret) _must_check_;
/* "::/0" has every IPv6 address and no IPv4 one. */
bool address_range_has(const struct address_range *r, const struct request_address *a);

/* True when a connection may be made to it: it is public, or one of the ranges has it and each address that it carries is
 * public or in one of them as well. A metadata service is opened by a range of just that one address only. */
bool address_allowed(const struct request_address *a, const struct address_range *ranges, size_t n);
/* The index-th range of the registries, of whatever class; false when there are no more. */
bool address_special_range(size_t index, struct address_range *ret);
