/* The rules of a sandbox's network namespace, as one netlink batch (nft(8), linux/netfilter/nf_tables.h). What they do:
 *
 * - the sandbox's own addresses (127.0.0.0/8, ::1, `own`) work untouched, but for the gate's port there;
 * - port 53 goes to the gate's DNS sockets, whatever the address;
 * - a TCP connection to the pool and the ports of names, or to an address and port that a rule names, is handed to the gate's
 *   transparent listener;
 * - everything else is refused at once, and reported by NFLOG within a rate.
 *
 * Nothing here tracks connections. Negative errnos. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/net.h"

struct nft_config {
        uint8_t own[4];  /* the sandbox's own address on lo */
        uint8_t pool[4]; /* of synthetic addresses */
        unsigned pool_prefix;
        const struct net_target *targets; /* that rules name by address */
        size_t n_targets;
        const struct net_ports *ports; /* that names can be reached at */
        size_t n_ports;
        uint16_t gate_port; /* of the transparent listeners */
        uint16_t log_group;
        bool replace; /* there are rules already */
};

/* buf: at least nft_size(config) bytes. What failed is in *ret_what. */
size_t nft_size(const struct nft_config *c);
int nft_install(const struct nft_config *c, void *buf, size_t size, const char **ret_what) _must_check_;
/* A socket that reads the reports of this group. */
int nft_open_log(uint16_t group) _must_check_;
