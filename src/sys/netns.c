/* Routes, addresses and sockets of a sandbox's network namespace, see netns.h. */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/netlink.h"
#include "sys/netns.h"

/* Of the loopback device in every namespace (net/core/dev.c: it is the first). */
#define LOOPBACK_INDEX 1
/* As many connections as can wait for the gate to accept; bounded by net.core.somaxconn as well. */
#define BACKLOG 4096

int netns_loopback(void) {
        _cleanup_fd_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
        return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr) < 0 ? -errno : 0;
}

/* An address that is no loopback one: resolvers leave out a family that has none (getaddrinfo(3), AI_ADDRCONFIG), and what
 * is sent to anywhere comes from it. */
static void put_address(struct netlink *nl, const uint8_t own[4]) {
        const struct ifaddrmsg a = {.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_scope = RT_SCOPE_UNIVERSE,
                                    .ifa_index = LOOPBACK_INDEX};
        netlink_begin(nl, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, &a, sizeof(a));
        netlink_put(nl, IFA_LOCAL, own, 4);
        netlink_put(nl, IFA_ADDRESS, own, 4);
        netlink_end(nl);
}

/* Every address is a local one. */
static void put_route(struct netlink *nl, uint8_t family, const uint8_t *source) {
        const struct rtmsg m = {.rtm_family = family, .rtm_table = RT_TABLE_LOCAL, .rtm_protocol = RTPROT_STATIC,
                                .rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE, .rtm_type = RTN_LOCAL};
        netlink_begin(nl, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, &m, sizeof(m));
        netlink_put_u32(nl, RTA_OIF, LOOPBACK_INDEX);
        if (source)
                netlink_put(nl, RTA_PREFSRC, source, 4);
        netlink_end(nl);
}

static int set(int fd, int level, int option) {
        const int on = 1;
        return setsockopt(fd, level, option, &on, sizeof(on)) < 0 ? -errno : 0;
}

/* No SO_REUSEADDR or SO_REUSEPORT: with either, a process of the same user inside could take its place. */
static int bound(int family, int type, uint16_t port, bool transparent) {
        const struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(port)};
        const struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        bool v4 = family == AF_INET;
        int r;

        _cleanup_fd_ int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (!v4 && (r = set(fd, IPPROTO_IPV6, IPV6_V6ONLY)) < 0)
                return r;
        if (transparent && (r = v4 ? set(fd, IPPROTO_IP, IP_TRANSPARENT) : set(fd, IPPROTO_IPV6, IPV6_TRANSPARENT)) < 0)
                return r;
        if (type == SOCK_DGRAM && (r = v4 ? set(fd, IPPROTO_IP, IP_PKTINFO) : set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO)) < 0)
                return r;
        if (bind(fd, v4 ? (const struct sockaddr *)&a4 : (const struct sockaddr *)&a6, v4 ? sizeof(a4) : sizeof(a6)) < 0)
                return -errno;
        if (type == SOCK_STREAM && listen(fd, BACKLOG) < 0)
                return -errno;
        return TAKE_FD(fd);
}

int netns_questions(int *ret) {
        int r = netns_loopback();
        if (r < 0)
                return r;
        *ret = bound(AF_INET, SOCK_DGRAM, 53, false);
        return MIN(*ret, 0);
}

int netns_prepare(const struct nft_config *c, void *buf, size_t size, int fds[NETNS_N], const char **ret_what) {
        static const struct {
                int family, type;
                bool gate;
        } sockets[] = {
                [NETNS_TCP4] = {AF_INET, SOCK_STREAM, true},       [NETNS_TCP6] = {AF_INET6, SOCK_STREAM, true},
                [NETNS_DNS_UDP4] = {AF_INET, SOCK_DGRAM, false},   [NETNS_DNS_UDP6] = {AF_INET6, SOCK_DGRAM, false},
                [NETNS_DNS_TCP4] = {AF_INET, SOCK_STREAM, false},  [NETNS_DNS_TCP6] = {AF_INET6, SOCK_STREAM, false},
        };
        char space[1024] __attribute__((aligned(8)));
        struct netlink nl;
        uint32_t seq;
        int made[NETNS_N], r;

        *ret_what = "the loopback interface";
        if ((r = netns_loopback()) < 0)
                return r;
        *ret_what = "the routes";
        _cleanup_fd_ int route = netlink_open(NETLINK_ROUTE);
        if (route < 0)
                return route;
        netlink_init(&nl, space, sizeof(space));
        put_address(&nl, c->own);
        put_route(&nl, AF_INET, c->own);
        put_route(&nl, AF_INET6, NULL);
        if ((r = netlink_send(&nl, route, &seq)) < 0)
                return r;
        /* Before the rules, and before anything else can be bound. */
        *ret_what = "the gate's sockets";
        for (size_t i = 0; i < NETNS_N; i++) {
                made[i] = i == NETNS_LOG ? nft_open_log(c->log_group)
                                         : bound(sockets[i].family, sockets[i].type, sockets[i].gate ? c->gate_port : 53,
                                                 sockets[i].gate);
                if (made[i] < 0) {
                        r = made[i];
                        while (i > 0)
                                close(made[--i]);
                        return r;
                }
        }
        if ((r = nft_install(c, buf, size, ret_what)) < 0) {
                for (size_t i = 0; i < NETNS_N; i++)
                        close(made[i]);
                return r;
        }
        memcpy(fds, made, sizeof(made));
        return 0;
}
