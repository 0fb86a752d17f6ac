/* What the rules of the network namespace refused at the first packet, as NFLOG reports it: turned into denials with a name
 * where the gate knows one. */
#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <string.h>
#include <sys/socket.h>

#include "model/address.h"
#include "model/canonical.h"
#include "role/gate/gate.h"

static void deny(struct gate *g, uint8_t protocol, const uint8_t address[16], uint16_t port) {
        struct verdict v = {.reason = VERDICT_HOST, .rule = TABLE_NONE, .route = TABLE_NONE};
        struct net_report report;
        struct request q = {.layer = REQUEST_L4};
        char text[ADDRESS_TEXT_MAX], buf[REQUEST_HOST_MAX + 1];
        bool pool = false;
        const char *name = net_is_mapped(address) ? names_find(&g->names, address + 12, &pool) : NULL;

        if (name)
                q.host = (struct request_text){name, strlen(name)};
        else {
                if (pool) /* an address that stands for nothing */
                        return;
                struct request_address a;
                memcpy(a.byte, address, sizeof(a.byte));
                address_format(&a, text);
                if (canonical_host(text, strlen(text), buf, &q, NULL) < 0)
                        return;
        }
        q.port = port;
        if (protocol != IPPROTO_TCP)
                net_report_refusal(&report, NET_UDP, &q, "only DNS and TCP are carried");
        else {
                table_decide(&g->table, &q, &v);
                if (v.allowed) /* by now, or it was refused for its packet */
                        return;
                net_report_denial(&report, NET_TCP, &g->table, &q, &v);
        }
        net_control_report(&g->control, &report);
}

/* The first bytes of a packet: an IP header and, with luck, ports. */
static void read_packet(struct gate *g, const uint8_t *p, size_t n) {
        uint8_t address[16] = {[10] = 0xff, [11] = 0xff};
        size_t header;
        uint8_t protocol;

        if (n < 1)
                return;
        if (p[0] >> 4 == 4 && n >= sizeof(struct iphdr)) {
                header = (size_t)(p[0] & 15) * 4;
                protocol = p[9];
                memcpy(address + 12, p + 16, 4);
        } else if (p[0] >> 4 == 6 && n >= sizeof(struct ip6_hdr)) {
                header = sizeof(struct ip6_hdr);
                protocol = p[6];
                memcpy(address, p + 24, 16);
        } else
                return;
        if ((protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) || header + 4 > n)
                return;
        deny(g, protocol, address, (uint16_t)(p[header + 2] << 8 | p[header + 3]));
}

static void read_message(struct gate *g, const struct nlmsghdr *h) {
        const char *at = (const char *)h + NLMSG_HDRLEN + sizeof(struct nfgenmsg), *end = (const char *)h + h->nlmsg_len;

        if (h->nlmsg_type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET))
                return;
        while (end - at >= (ptrdiff_t)sizeof(struct nlattr)) {
                struct nlattr a;
                memcpy(&a, at, sizeof(a));
                if (a.nla_len < sizeof(a) || a.nla_len > end - at)
                        return;
                if ((a.nla_type & NLA_TYPE_MASK) == NFULA_PAYLOAD)
                        read_packet(g, (const uint8_t *)at + sizeof(a), a.nla_len - sizeof(a));
                at += MIN((size_t)NLA_ALIGN(a.nla_len), (size_t)(end - at));
        }
}

void refused_ready(struct watch *w, uint32_t events) {
        char buf[16384] __attribute__((aligned(8)));

        (void)events;
        for (int i = 0; i < 16; i++) {
                ssize_t n = recv(w->fd, buf, sizeof(buf), MSG_DONTWAIT); /* ENOBUFS: some were lost */
                if (n <= 0)
                        return;
                for (size_t at = 0; at + NLMSG_HDRLEN + sizeof(struct nfgenmsg) <= (size_t)n;) {
                        const struct nlmsghdr *h = (const struct nlmsghdr *)(buf + at);
                        if (h->nlmsg_len < NLMSG_HDRLEN + sizeof(struct nfgenmsg) || h->nlmsg_len > (size_t)n - at)
                                return;
                        read_message(&gate, h);
                        at += NLMSG_ALIGN(h->nlmsg_len);
                }
        }
}
