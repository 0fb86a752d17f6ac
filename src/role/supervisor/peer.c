/* A gate or a broker as the supervisor knows it: a socket, and a pidfd to end it by. Either may have been taken over: what it
 * says is read as fixed-size messages, so many a second, and its process ends with the conversation. */
#include <signal.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "role/supervisor/supervisor.h"
#include "sys/process.h"

/* Messages of one in a second. Reports are 200 at most (svc/net-control.h); the rest is leases and brokers that are asked for. */
#define SAID_MAX 400u

/* A pair of sockets, one end of which stays here. */
int peer_open(struct network_peer *p, uint32_t serial, int *ret_theirs) {
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return -errno;
        *p = PEER_NONE;
        p->fd = pair[0];
        p->serial = serial;
        *ret_theirs = pair[1];
        return 0;
}

void peer_close(struct network_peer *p) {
        if (p->pidfd >= 0)
                (void)!process_signal(p->pidfd, SIGKILL);
        fd_close(p->pidfd);
        fd_close(p->fd);
        *p = PEER_NONE;
}

int peer_read(struct network_peer *p, struct net_report *ret) {
        const uint64_t second = supervisor_now() / 1000;
        struct net_report r;

        if (p->second != second) {
                p->second = second;
                p->said = 0;
        }
        if (p->said >= SAID_MAX)
                return 0;
        ssize_t n = recv(p->fd, &r, sizeof(r), MSG_DONTWAIT | MSG_TRUNC); /* descriptors that come with it are dropped */
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n <= 0)
                return -ECONNRESET;
        p->said++;
        return net_report_read(&r, (size_t)n, ret) < 0 ? -EBADMSG : 1;
}

bool peer_heard(const struct network_peer *p) { return p->fd >= 0 && (p->said < SAID_MAX || p->second != supervisor_now() / 1000); }

uint64_t peer_due(const struct network_peer *p) { return p->fd < 0 || peer_heard(p) ? UINT64_MAX : (p->second + 1) * 1000; }
