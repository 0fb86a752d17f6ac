/* Building and sending netlink messages, see netlink.h. */
#include <arpa/inet.h>
#include <endian.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/netlink.h"

static void *room(struct netlink *nl, size_t n) {
        size_t whole = NLMSG_ALIGN(n);

        if (nl->overflow || nl->size - nl->n < whole) {
                nl->overflow = true;
                return NULL;
        }
        void *p = nl->buf + nl->n;
        memset(p, 0, whole);
        nl->n += whole;
        return p;
}

void netlink_begin(struct netlink *nl, uint16_t type, uint16_t flags, const void *header, size_t n) {
        nl->msg = nl->n;
        struct nlmsghdr *h = (struct nlmsghdr *)room(nl, sizeof(*h));
        if (!h)
                return;
        *h = (struct nlmsghdr){.nlmsg_type = type, .nlmsg_flags = (uint16_t)(flags | NLM_F_REQUEST), .nlmsg_seq = ++nl->seq};
        void *p = room(nl, n);
        if (p && n)
                memcpy(p, header, n);
}

void netlink_end(struct netlink *nl) {
        if (!nl->overflow)
                ((struct nlmsghdr *)(nl->buf + nl->msg))->nlmsg_len = (uint32_t)(nl->n - nl->msg);
}

void netlink_want_answer(struct netlink *nl) {
        if (!nl->overflow)
                ((struct nlmsghdr *)(nl->buf + nl->msg))->nlmsg_flags |= NLM_F_ACK;
}

void netlink_put(struct netlink *nl, uint16_t type, const void *data, size_t n) {
        struct nlattr *a = (struct nlattr *)room(nl, NLA_HDRLEN + n);
        if (!a)
                return;
        *a = (struct nlattr){.nla_type = type, .nla_len = (uint16_t)(NLA_HDRLEN + n)};
        if (n)
                memcpy((char *)a + NLA_HDRLEN, data, n);
}

void netlink_put_str(struct netlink *nl, uint16_t type, const char *s) { netlink_put(nl, type, s, strlen(s) + 1); }

void netlink_put_u32(struct netlink *nl, uint16_t type, uint32_t v) { netlink_put(nl, type, &v, sizeof(v)); }

void netlink_put_be32(struct netlink *nl, uint16_t type, uint32_t v) {
        v = htonl(v);
        netlink_put(nl, type, &v, sizeof(v));
}

void netlink_put_be64(struct netlink *nl, uint16_t type, uint64_t v) {
        v = htobe64(v);
        netlink_put(nl, type, &v, sizeof(v));
}

size_t netlink_nest(struct netlink *nl, uint16_t type) {
        size_t at = nl->n;
        netlink_put(nl, (uint16_t)(type | NLA_F_NESTED), NULL, 0);
        return at;
}

void netlink_nest_end(struct netlink *nl, size_t at) {
        if (!nl->overflow)
                ((struct nlattr *)(nl->buf + at))->nla_len = (uint16_t)(nl->n - at);
}

int netlink_open(int protocol) {
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
        return fd < 0 ? -errno : fd;
}

/* How many of the messages want an answer. */
static unsigned count_acks(const struct netlink *nl) {
        unsigned n = 0;
        for (size_t at = 0; at < nl->n;) {
                const struct nlmsghdr *h = (const struct nlmsghdr *)(nl->buf + at);
                n += (h->nlmsg_flags & NLM_F_ACK) != 0;
                at += h->nlmsg_len;
        }
        return n;
}

int netlink_send(struct netlink *nl, int fd, uint32_t *ret_seq) {
        const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
        unsigned acks = count_acks(nl);
        char answer[8192] __attribute__((aligned(8)));

        if (nl->overflow)
                return -ENOSPC;
        if (sendto(fd, nl->buf, nl->n, 0, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
                return -errno;
        nl->n = 0;
        while (acks > 0) {
                /* The kernel answers within sendto: nothing to wait for, and no answer is a fault. */
                ssize_t n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : -EPROTO;
                for (size_t at = 0; at + sizeof(struct nlmsghdr) <= (size_t)n;) {
                        const struct nlmsghdr *h = (const struct nlmsghdr *)(answer + at);
                        if (h->nlmsg_len < sizeof(*h) || h->nlmsg_len > (size_t)n - at)
                                return -EPROTO;
                        if (h->nlmsg_type == NLMSG_ERROR) {
                                const struct nlmsgerr *e = (const struct nlmsgerr *)(h + 1);
                                if (h->nlmsg_len < NLMSG_HDRLEN + sizeof(e->error))
                                        return -EPROTO;
                                if (e->error != 0) {
                                        *ret_seq = h->nlmsg_seq;
                                        return e->error;
                                }
                                acks -= acks > 0;
                        }
                        at += NLMSG_ALIGN(h->nlmsg_len);
                }
        }
        return 0;
}
