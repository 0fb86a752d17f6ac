/* Addresses and ports as the plan names them and the kernel gets them: planned by the model, put in force by sys. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct net_ports {
        uint16_t from, to;
};

/* Addresses of both families in 16 bytes, IPv4 mapped (RFC 4291 section 2.5.5.2), and ports there. */
struct net_target {
        uint8_t address[16];
        unsigned prefix; /* bits of the 128 */
        struct net_ports ports;
};

static inline bool net_is_mapped(const uint8_t address[16]) {
        static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
        return memcmp(address, prefix, sizeof(prefix)) == 0;
}

/* The ways into a sandbox's network namespace that are the gate's. */
enum netns_fd {
        NETNS_TCP4, NETNS_TCP6, /* transparent listeners: getsockname(2) of an accepted connection is where it was meant to go */
        NETNS_DNS_UDP4, NETNS_DNS_UDP6, /* with IP_PKTINFO and IPV6_RECVPKTINFO: answered from the address that was asked */
        NETNS_DNS_TCP4, NETNS_DNS_TCP6,
        NETNS_LOG, /* netlink: reports of what was refused at the first packet */
        NETNS_N,
};
