/* The batch of rules, see nft.h. */
#include <arpa/inet.h>
#include <limits.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/netlink.h"
#include "sys/nft.h"

#define TABLE "belljar"
#define CHAIN "prerouting"
#define PRIORITY (-150) /* where iptables has "mangle": before anything else would look at the packet */
#define RULE_BYTES 768u /* more than any rule here takes */
#define ELEMENTS_MAX 512u /* of a message: an attribute that holds others has at most 64 KiB */
/* How nft(8) shows the elements of a set. */
#define SHOWN_AS_IPV4 7u
#define SHOWN_AS_IPV6 8u
#define SHOWN_AS_PORTS 13u
#define REPORTS_PER_SECOND 100u
#define REPORT_BYTES 64u /* of each packet: its headers */

/* One family's table, while its rules are written. */
struct table {
        struct netlink *nl;
        uint8_t family;
        unsigned daddr_offset, address_len; /* in the network header */
        size_t rule, list;
        unsigned sets; /* that it has so far */
};

/* Without NLM_F_ACK: errors are answered nevertheless, and an answer for each of many rules would not fit into the socket. */
static void begin(struct netlink *nl, uint8_t family, int type, int flags) {
        const struct nfgenmsg g = {.nfgen_family = family, .version = NFNETLINK_V0};
        netlink_begin(nl, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), (uint16_t)flags, &g, sizeof(g));
}

static void batch_mark(struct netlink *nl, int type) {
        const struct nfgenmsg g = {.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(NFNL_SUBSYS_NFTABLES)};
        netlink_begin(nl, (uint16_t)type, 0, &g, sizeof(g));
        netlink_end(nl);
}

static void rule_begin(struct table *t) {
        begin(t->nl, t->family, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
        netlink_put_str(t->nl, NFTA_RULE_TABLE, TABLE);
        netlink_put_str(t->nl, NFTA_RULE_CHAIN, CHAIN);
        t->list = netlink_nest(t->nl, NFTA_RULE_EXPRESSIONS);
}

static void rule_end(struct table *t) {
        netlink_nest_end(t->nl, t->list);
        netlink_end(t->nl);
}

struct expression {
        size_t element, data;
};

static struct expression expression_begin(struct table *t, const char *name) {
        struct expression e = {.element = netlink_nest(t->nl, NFTA_LIST_ELEM)};
        netlink_put_str(t->nl, NFTA_EXPR_NAME, name);
        e.data = netlink_nest(t->nl, NFTA_EXPR_DATA);
        return e;
}

static void expression_end(struct table *t, struct expression e) {
        netlink_nest_end(t->nl, e.data);
        netlink_nest_end(t->nl, e.element);
}

static void value(struct table *t, uint16_t type, const void *data, size_t n) {
        size_t at = netlink_nest(t->nl, type);
        netlink_put(t->nl, NFTA_DATA_VALUE, data, n);
        netlink_nest_end(t->nl, at);
}

static void compare(struct table *t, enum nft_cmp_ops op, const void *data, size_t n) {
        struct expression e = expression_begin(t, "cmp");
        netlink_put_be32(t->nl, NFTA_CMP_SREG, NFT_REG_1);
        netlink_put_be32(t->nl, NFTA_CMP_OP, op);
        value(t, NFTA_CMP_DATA, data, n);
        expression_end(t, e);
}

static void load(struct table *t, enum nft_payload_bases base, unsigned offset, unsigned n) {
        struct expression e = expression_begin(t, "payload");
        netlink_put_be32(t->nl, NFTA_PAYLOAD_DREG, NFT_REG_1);
        netlink_put_be32(t->nl, NFTA_PAYLOAD_BASE, base);
        netlink_put_be32(t->nl, NFTA_PAYLOAD_OFFSET, offset);
        netlink_put_be32(t->nl, NFTA_PAYLOAD_LEN, n);
        expression_end(t, e);
}

static void mask(struct table *t, const void *bits, size_t n) {
        static const uint8_t none[16];
        struct expression e = expression_begin(t, "bitwise");
        netlink_put_be32(t->nl, NFTA_BITWISE_SREG, NFT_REG_1);
        netlink_put_be32(t->nl, NFTA_BITWISE_DREG, NFT_REG_1);
        netlink_put_be32(t->nl, NFTA_BITWISE_LEN, (uint32_t)n);
        value(t, NFTA_BITWISE_MASK, bits, n);
        value(t, NFTA_BITWISE_XOR, none, n);
        expression_end(t, e);
}

static void match_protocol(struct table *t, uint8_t protocol) {
        struct expression e = expression_begin(t, "meta");
        netlink_put_be32(t->nl, NFTA_META_DREG, NFT_REG_1);
        netlink_put_be32(t->nl, NFTA_META_KEY, NFT_META_L4PROTO);
        expression_end(t, e);
        compare(t, NFT_CMP_EQ, &protocol, 1);
}

static void match_destination(struct table *t, const uint8_t *address, unsigned prefix) {
        uint8_t bits[16] = {}, net[16];

        if (prefix == 0)
                return;
        for (unsigned i = 0; i < t->address_len; i++) {
                unsigned left = prefix > i * 8 ? prefix - i * 8 : 0;
                bits[i] = left >= 8 ? 0xff : (uint8_t)(0xff00u >> left);
                net[i] = address[i] & bits[i];
        }
        load(t, NFT_PAYLOAD_NETWORK_HEADER, t->daddr_offset, t->address_len);
        if (prefix < t->address_len * 8)
                mask(t, bits, t->address_len);
        compare(t, NFT_CMP_EQ, net, t->address_len);
}

static void match_port(struct table *t, uint16_t from, uint16_t to) {
        const uint16_t low = htons(from), high = htons(to);

        if (from <= 1 && to == UINT16_MAX)
                return;
        load(t, NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2);
        if (from == to) {
                compare(t, NFT_CMP_EQ, &low, 2);
                return;
        }
        compare(t, NFT_CMP_GTE, &low, 2);
        compare(t, NFT_CMP_LTE, &high, 2);
}

static void match_syn(struct table *t) {
        const uint8_t fin_syn_rst_ack = 0x17, syn = 0x02;
        load(t, NFT_PAYLOAD_TRANSPORT_HEADER, 13, 1);
        mask(t, &fin_syn_rst_ack, 1);
        compare(t, NFT_CMP_EQ, &syn, 1);
}

static void accept_packet(struct table *t) {
        struct expression e = expression_begin(t, "immediate");
        netlink_put_be32(t->nl, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
        size_t data = netlink_nest(t->nl, NFTA_IMMEDIATE_DATA), verdict = netlink_nest(t->nl, NFTA_DATA_VERDICT);
        netlink_put_be32(t->nl, NFTA_VERDICT_CODE, NF_ACCEPT);
        netlink_nest_end(t->nl, verdict);
        netlink_nest_end(t->nl, data);
        expression_end(t, e);
}

static void reject(struct table *t, bool reset) {
        /* Port unreachable: icmp(7) type 3 code 3; RFC 4443 section 3.1 code 4. */
        const uint8_t code = t->family == NFPROTO_IPV4 ? 3 : 4;
        struct expression e = expression_begin(t, "reject");
        netlink_put_be32(t->nl, NFTA_REJECT_TYPE, reset ? NFT_REJECT_TCP_RST : NFT_REJECT_ICMP_UNREACH);
        if (!reset)
                netlink_put(t->nl, NFTA_REJECT_ICMP_CODE, &code, 1);
        expression_end(t, e);
}

static void report(struct table *t, uint16_t group) {
        const uint16_t be_group = htons(group), each = htons(1);
        struct expression e = expression_begin(t, "limit");
        netlink_put_be64(t->nl, NFTA_LIMIT_RATE, REPORTS_PER_SECOND);
        netlink_put_be64(t->nl, NFTA_LIMIT_UNIT, 1);
        netlink_put_be32(t->nl, NFTA_LIMIT_BURST, REPORTS_PER_SECOND);
        netlink_put_be32(t->nl, NFTA_LIMIT_TYPE, NFT_LIMIT_PKTS);
        expression_end(t, e);
        e = expression_begin(t, "log");
        netlink_put(t->nl, NFTA_LOG_GROUP, &be_group, 2);
        netlink_put_be32(t->nl, NFTA_LOG_SNAPLEN, REPORT_BYTES);
        netlink_put(t->nl, NFTA_LOG_QTHRESHOLD, &each, 2);
        expression_end(t, e);
}

static void hand_over(struct table *t, uint16_t port) {
        const uint16_t be_port = htons(port);
        struct expression e = expression_begin(t, "immediate");
        netlink_put_be32(t->nl, NFTA_IMMEDIATE_DREG, NFT_REG_1);
        value(t, NFTA_IMMEDIATE_DATA, &be_port, 2);
        expression_end(t, e);
        e = expression_begin(t, "tproxy");
        netlink_put_be32(t->nl, NFTA_TPROXY_FAMILY, t->family);
        netlink_put_be32(t->nl, NFTA_TPROXY_REG_PORT, NFT_REG_1);
        expression_end(t, e);
        accept_packet(t);
}

/* An address of the sandbox's own: everything is its own affair, but for the gate's port, which is nobody's. */
static void leave_alone(struct table *t, const uint8_t *address, unsigned prefix, uint16_t gate_port) {
        rule_begin(t);
        match_destination(t, address, prefix);
        match_protocol(t, IPPROTO_TCP);
        match_port(t, gate_port, gate_port);
        match_syn(t);
        reject(t, true);
        rule_end(t);
        rule_begin(t);
        match_destination(t, address, prefix);
        accept_packet(t);
        rule_end(t);
}

static void leave_dns(struct table *t, uint8_t protocol) {
        rule_begin(t);
        match_protocol(t, protocol);
        match_port(t, 53, 53);
        accept_packet(t);
        rule_end(t);
}

static void allow(struct table *t, const uint8_t *address, unsigned prefix, uint16_t from, uint16_t to, uint16_t gate_port) {
        rule_begin(t);
        match_destination(t, address, prefix);
        match_protocol(t, IPPROTO_TCP);
        match_port(t, from, to);
        hand_over(t, gate_port);
        rule_end(t);
}

/* ---- many addresses or ports: sets of them, so that a packet is not held against each, and a batch holds them all ---- */

static bool is_v4(const struct net_target *t) { return t->prefix >= 96 && net_is_mapped(t->address); }

/* With the first address of the range for the address: what is sorted by it is in the order of the ranges. */
static struct net_target lowest(struct net_target target) {
        for (unsigned i = 0; i < sizeof(target.address); i++) {
                unsigned left = target.prefix > i * 8 ? target.prefix - i * 8 : 0;
                target.address[i] &= left >= 8 ? 0xff : (uint8_t)(0xff00u >> left);
        }
        return target;
}

/* First and last address, as the family has them. */
static void range_of(const struct net_target *target, const struct table *t, uint8_t low[16], uint8_t high[16]) {
        unsigned skip = 16 - t->address_len;

        for (unsigned i = 0; i < t->address_len; i++) {
                unsigned left = target->prefix > (skip + i) * 8 ? target->prefix - (skip + i) * 8 : 0;
                uint8_t bits = left >= 8 ? 0xff : (uint8_t)(0xff00u >> left);
                low[i] = target->address[skip + i] & bits;
                high[i] = (uint8_t)(low[i] | (uint8_t)~bits);
        }
}

/* IPv4 first, then by ports, then by address: those that share a set stand together, those within a larger range behind it. */
static int order(const void *a, const void *b) {
        const struct net_target *x = (const struct net_target *)a, *y = (const struct net_target *)b;
        int r;

        if (is_v4(x) != is_v4(y))
                return is_v4(x) ? -1 : 1;
        if (x->ports.from != y->ports.from)
                return x->ports.from < y->ports.from ? -1 : 1;
        if (x->ports.to != y->ports.to)
                return x->ports.to < y->ports.to ? -1 : 1;
        r = memcmp(x->address, y->address, sizeof(x->address));
        return r ? r : x->prefix < y->prefix ? -1 : x->prefix > y->prefix;
}

static bool same_addresses(const struct net_target *a, const struct net_target *b) {
        return a->prefix == b->prefix && memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

/* By address, then by port: those of one family. */
static int by_address(const void *a, const void *b) {
        const struct net_target *x = (const struct net_target *)a, *y = (const struct net_target *)b;

        if (!same_addresses(x, y)) {
                int r = memcmp(x->address, y->address, sizeof(x->address));
                return r ? r : x->prefix < y->prefix ? -1 : 1;
        }
        return x->ports.from < y->ports.from ? -1 : x->ports.from > y->ports.from;
}

/* What is behind this one; false when it was the last. */
static bool next_value(const uint8_t *a, size_t n, uint8_t ret[16]) {
        memcpy(ret, a, n);
        while (n > 0)
                if (++ret[--n] != 0)
                        return true;
        return false;
}

struct elements {
        struct table *t;
        const char *set;
        size_t list;
        unsigned n, len; /* bytes of each */
};

static void elements_end(struct elements *l) {
        if (l->n == 0)
                return;
        netlink_nest_end(l->t->nl, l->list);
        netlink_end(l->t->nl);
        l->n = 0;
}

static void element(struct elements *l, const uint8_t *data, bool end) {
        struct netlink *nl = l->t->nl;

        if (l->n == ELEMENTS_MAX)
                elements_end(l);
        if (l->n++ == 0) {
                begin(nl, l->t->family, NFT_MSG_NEWSETELEM, NLM_F_CREATE);
                netlink_put_str(nl, NFTA_SET_ELEM_LIST_TABLE, TABLE);
                netlink_put_str(nl, NFTA_SET_ELEM_LIST_SET, l->set);
                l->list = netlink_nest(nl, NFTA_SET_ELEM_LIST_ELEMENTS);
        }
        size_t at = netlink_nest(nl, NFTA_LIST_ELEM);
        value(l->t, NFTA_SET_ELEM_KEY, data, l->len);
        if (end)
                netlink_put_be32(nl, NFTA_SET_ELEM_FLAGS, NFT_SET_ELEM_INTERVAL_END);
        netlink_nest_end(nl, at);
}

static void interval(struct elements *l, const uint8_t *low, const uint8_t *high) {
        uint8_t behind[16];

        element(l, low, false);
        if (next_value(high, l->len, behind))
                element(l, behind, true);
}

/* From their lowest on. Intervals of a set must not touch: those that do become one. */
struct intervals {
        struct elements l;
        bool any;
        uint8_t low[16], high[16];
};

static void add_interval(struct intervals *x, const uint8_t *low, const uint8_t *high) {
        size_t len = x->l.len;
        uint8_t behind[16];

        if (x->any && (!next_value(x->high, len, behind) || memcmp(low, behind, len) <= 0)) {
                if (memcmp(low, x->low, len) < 0)
                        memcpy(x->low, low, len);
                if (memcmp(high, x->high, len) > 0)
                        memcpy(x->high, high, len);
                return;
        }
        if (x->any)
                interval(&x->l, x->low, x->high);
        x->any = true;
        memcpy(x->low, low, len);
        memcpy(x->high, high, len);
}

static void end_intervals(struct intervals *x) {
        interval(&x->l, x->low, x->high);
        elements_end(&x->l);
}

/* Makes the table's next set, whose name is in name. */
static void set_begin(struct table *t, struct intervals *x, char name[16], unsigned len, unsigned shown_as) {
        snprintf(name, 16, "at%u", ++t->sets);
        begin(t->nl, t->family, NFT_MSG_NEWSET, NLM_F_CREATE);
        netlink_put_str(t->nl, NFTA_SET_TABLE, TABLE);
        netlink_put_str(t->nl, NFTA_SET_NAME, name);
        netlink_put_be32(t->nl, NFTA_SET_FLAGS, NFT_SET_CONSTANT | NFT_SET_INTERVAL);
        netlink_put_be32(t->nl, NFTA_SET_KEY_TYPE, shown_as);
        netlink_put_be32(t->nl, NFTA_SET_KEY_LEN, len);
        netlink_put_be32(t->nl, NFTA_SET_ID, t->sets);
        netlink_end(t->nl);
        *x = (struct intervals){.l = {.t = t, .set = name, .len = len}};
}

static void match_set(struct table *t, const char *name) {
        struct expression e = expression_begin(t, "lookup");
        netlink_put_str(t->nl, NFTA_LOOKUP_SET, name);
        netlink_put_be32(t->nl, NFTA_LOOKUP_SREG, NFT_REG_1);
        expression_end(t, e);
}

/* Many addresses at the same ports. */
static void allow_addresses(struct table *t, const struct net_target *targets, size_t n, uint16_t gate_port) {
        uint8_t low[16], high[16];
        struct intervals x;
        char name[16];

        set_begin(t, &x, name, t->address_len, t->address_len == 4 ? SHOWN_AS_IPV4 : SHOWN_AS_IPV6);
        for (size_t i = 0; i < n; i++) {
                range_of(&targets[i], t, low, high);
                add_interval(&x, low, high);
        }
        end_intervals(&x);
        rule_begin(t);
        match_protocol(t, IPPROTO_TCP);
        match_port(t, targets[0].ports.from, targets[0].ports.to);
        load(t, NFT_PAYLOAD_NETWORK_HEADER, t->daddr_offset, t->address_len);
        match_set(t, name);
        hand_over(t, gate_port);
        rule_end(t);
}

/* Many ports of the same addresses. */
static void allow_ports(struct table *t, const struct net_target *targets, size_t n, uint16_t gate_port) {
        unsigned skip = 16 - t->address_len;
        struct intervals x;
        char name[16];

        set_begin(t, &x, name, 2, SHOWN_AS_PORTS);
        for (size_t i = 0; i < n; i++) {
                const uint16_t low = htons(targets[i].ports.from), high = htons(targets[i].ports.to);
                add_interval(&x, (const uint8_t *)&low, (const uint8_t *)&high);
        }
        end_intervals(&x);
        rule_begin(t);
        match_destination(t, targets[0].address + skip, targets[0].prefix - skip * 8);
        match_protocol(t, IPPROTO_TCP);
        load(t, NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2);
        match_set(t, name);
        hand_over(t, gate_port);
        rule_end(t);
}

/* In their order, which is lost. Ports that only one target has are gathered by the addresses then. */
static void allow_targets(struct table *t, struct net_target *targets, size_t n, uint16_t gate_port) {
        unsigned skip = 16 - t->address_len;
        size_t alone = 0;

        for (size_t i = 0, k; i < n; i = k) {
                for (k = i + 1; k < n && memcmp(&targets[k].ports, &targets[i].ports, sizeof(targets->ports)) == 0;)
                        k++;
                if (k > i + 1)
                        allow_addresses(t, &targets[i], k - i, gate_port);
                else
                        targets[alone++] = targets[i];
        }
        if (alone > 1)
                qsort(targets, alone, sizeof(*targets), by_address);
        for (size_t i = 0, k; i < alone; i = k) {
                const struct net_target *first = &targets[i];
                for (k = i + 1; k < alone && same_addresses(&targets[k], first);)
                        k++;
                if (k > i + 1)
                        allow_ports(t, first, k - i, gate_port);
                else
                        allow(t, first->address + skip, first->prefix - skip * 8, first->ports.from, first->ports.to, gate_port);
        }
}

static void refuse_rest(struct table *t, uint16_t group) {
        for (int what = 0; what < 2; what++) { /* first the report, which a limit may leave out, then the refusal */
                for (int tcp = 0; tcp < 2; tcp++) {
                        rule_begin(t);
                        match_protocol(t, tcp ? IPPROTO_TCP : IPPROTO_UDP);
                        if (tcp)
                                match_syn(t);
                        if (what == 0)
                                report(t, group);
                        else
                                reject(t, tcp);
                        rule_end(t);
                }
        }
}

static void table_begin(struct table *t, struct netlink *nl, uint8_t family, bool replace) {
        bool v4 = family == NFPROTO_IPV4;

        if (replace) {
                begin(nl, family, NFT_MSG_DELTABLE, 0);
                netlink_put_str(nl, NFTA_TABLE_NAME, TABLE);
                netlink_end(nl);
        }
        *t = (struct table){.nl = nl, .family = family, .daddr_offset = v4 ? 16 : 24, .address_len = v4 ? 4 : 16};
        begin(nl, family, NFT_MSG_NEWTABLE, NLM_F_CREATE);
        netlink_put_str(nl, NFTA_TABLE_NAME, TABLE);
        netlink_end(nl);
        begin(nl, family, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
        netlink_put_str(nl, NFTA_CHAIN_TABLE, TABLE);
        netlink_put_str(nl, NFTA_CHAIN_NAME, CHAIN);
        size_t hook = netlink_nest(nl, NFTA_CHAIN_HOOK);
        netlink_put_be32(nl, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
        netlink_put_be32(nl, NFTA_HOOK_PRIORITY, (uint32_t)PRIORITY);
        netlink_nest_end(nl, hook);
        netlink_put_str(nl, NFTA_CHAIN_TYPE, "filter");
        netlink_end(nl);
}

static size_t batch_size(const struct nft_config *c) { return RULE_BYTES * (32 + c->n_ports + 2 * c->n_targets); }

size_t nft_size(const struct nft_config *c) { return batch_size(c) + c->n_targets * sizeof(*c->targets); }

/* The whole batch is one packet of netlink's. What does not fit even so fails with EMSGSIZE. */
static int send_batch(struct netlink *nl, int fd) {
        const int room = (int)MIN(nl->n + 4096, (size_t)INT_MAX), on = 1;
        uint32_t seq;

        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
        /* Errors that follow the first one may get lost, but not hide it. */
        (void)setsockopt(fd, SOL_NETLINK, NETLINK_NO_ENOBUFS, &on, sizeof(on));
        return netlink_send(nl, fd, &seq);
}

int nft_install(const struct nft_config *c, void *buf, size_t size, const char **ret_what) {
        static const uint8_t loopback4[4] = {127}, loopback6[16] = {[15] = 1};
        struct net_target *targets = (struct net_target *)((char *)buf + batch_size(c));
        struct netlink nl;
        struct table t;
        size_t n_v4 = 0;

        *ret_what = "a netfilter socket";
        _cleanup_fd_ int fd = netlink_open(NETLINK_NETFILTER);
        if (fd < 0)
                return fd;
        if (size < nft_size(c))
                return -ENOSPC;
        if (c->n_targets > 0) {
                for (size_t i = 0; i < c->n_targets; i++)
                        targets[i] = lowest(c->targets[i]);
                qsort(targets, c->n_targets, sizeof(*targets), order);
        }
        while (n_v4 < c->n_targets && is_v4(&targets[n_v4]))
                n_v4++;
        netlink_init(&nl, buf, batch_size(c));
        batch_mark(&nl, NFNL_MSG_BATCH_BEGIN);
        table_begin(&t, &nl, NFPROTO_IPV4, c->replace);
        leave_alone(&t, loopback4, 8, c->gate_port);
        leave_alone(&t, c->own, 32, c->gate_port);
        leave_dns(&t, IPPROTO_UDP);
        leave_dns(&t, IPPROTO_TCP);
        for (size_t i = 0; i < c->n_ports; i++)
                allow(&t, c->pool, c->pool_prefix, c->ports[i].from, c->ports[i].to, c->gate_port);
        allow_targets(&t, targets, n_v4, c->gate_port);
        refuse_rest(&t, c->log_group);
        table_begin(&t, &nl, NFPROTO_IPV6, c->replace);
        leave_alone(&t, loopback6, 128, c->gate_port);
        leave_dns(&t, IPPROTO_UDP);
        leave_dns(&t, IPPROTO_TCP);
        allow_targets(&t, targets + n_v4, c->n_targets - n_v4, c->gate_port);
        refuse_rest(&t, c->log_group);
        netlink_want_answer(&nl);
        batch_mark(&nl, NFNL_MSG_BATCH_END);
        *ret_what = "the rules of the network";
        return send_batch(&nl, fd);
}

int nft_open_log(uint16_t group) {
        const struct nfgenmsg g = {.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(group)};
        const struct nfulnl_msg_config_cmd bind = {.command = NFULNL_CFG_CMD_BIND};
        const struct nfulnl_msg_config_mode mode = {.copy_range = htonl(REPORT_BYTES), .copy_mode = NFULNL_COPY_PACKET};
        char buf[256] __attribute__((aligned(8)));
        struct netlink nl;
        uint32_t seq;
        int r;

        _cleanup_fd_ int fd = netlink_open(NETLINK_NETFILTER);
        if (fd < 0)
                return fd;
        netlink_init(&nl, buf, sizeof(buf));
        netlink_begin(&nl, NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG, NLM_F_ACK, &g, sizeof(g));
        netlink_put(&nl, NFULA_CFG_CMD, &bind, sizeof(bind));
        netlink_put(&nl, NFULA_CFG_MODE, &mode, sizeof(mode));
        netlink_end(&nl);
        r = netlink_send(&nl, fd, &seq);
        return r < 0 ? r : TAKE_FD(fd);
}
