/* A connection from within the sandbox's network, for what runs outside for a call: it goes the way of everything else in there, through
 * the gate, so it is decided on and counted as any other. The process that makes it enters the namespaces for that alone, hands the
 * socket over and ends; no process of the sandbox ever has the socket. */
#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/address.h"
#include "proto/dns.h"
#include "role/cli/courier.h"

#define DNS_PATIENCE_MS 10000 /* the question may be what the gate is started for */
#define CONNECT_PATIENCE_S 30

/* A question for the one address that a name has in there (RFC 1035 section 4.1). Returns its length; 0: not a name. */
static size_t write_question(uint8_t *p, uint16_t id, const char *name) {
        size_t n = 12;

        memset(p, 0, 12);
        p[0] = (uint8_t)(id >> 8);
        p[1] = (uint8_t)id;
        p[2] = 1; /* recursion desired */
        p[5] = 1; /* one question */
        while (*name) {
                size_t label = strcspn(name, ".");
                if (label == 0 || label > 63 || n + label + 6 > DNS_REPLY_MAX)
                        return 0;
                p[n++] = (uint8_t)label;
                memcpy(p + n, name, label);
                n += label;
                name += label + (name[label] == '.');
        }
        memcpy(p + n, (const uint8_t[]){0, 0, DNS_TYPE_A, 0, 1}, 5);
        return n + 5;
}

/* Behind a name at i; n: there is none. */
static size_t skip_name(const uint8_t *p, size_t n, size_t i) {
        while (i < n && p[i] != 0 && p[i] < 0xc0)
                i += 1u + p[i];
        return i >= n ? n : MIN(n, i + (p[i] == 0 ? 1 : 2));
}

static int read_answer(const uint8_t *p, size_t n, uint16_t id, struct in_addr *ret) {
        if (n < 12 || p[0] != id >> 8 || p[1] != (id & 0xff) || !(p[2] & 0x80))
                return -EAGAIN; /* somebody else's */
        if ((p[3] & 15) != DNS_NOERROR)
                return -ENOENT;
        size_t i = skip_name(p, n, 12) + 4;
        for (unsigned left = (unsigned)p[6] << 8 | p[7]; left > 0; left--) {
                i = skip_name(p, n, i);
                if (i + 10 > n)
                        return -EBADMSG;
                size_t size = (size_t)p[i + 8] << 8 | p[i + 9];
                if (i + 10 + size > n)
                        return -EBADMSG;
                if (p[i + 1] == DNS_TYPE_A && p[i] == 0 && size == 4) {
                        memcpy(ret, p + i + 10, 4);
                        return 0;
                }
                i += 10 + size;
        }
        return -ENOENT;
}

static int resolve(const char *name, struct in_addr *ret) {
        const struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        uint8_t buf[DNS_REPLY_MAX];
        uint16_t id;

        if (getrandom(&id, sizeof(id), 0) != sizeof(id))
                return -EIO;
        _cleanup_fd_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        size_t n = write_question(buf, id, name);
        if (fd < 0 || connect(fd, (const struct sockaddr *)&server, sizeof(server)) < 0)
                return -errno;
        if (n == 0)
                return -EINVAL;
        if (send(fd, buf, n, 0) < 0)
                return -errno;
        for (int r = -EAGAIN;;) {
                struct pollfd p = {.fd = fd, .events = POLLIN};
                if (poll(&p, 1, DNS_PATIENCE_MS) <= 0)
                        return -ETIMEDOUT;
                ssize_t got = recv(fd, buf, sizeof(buf), 0);
                if (got < 0)
                        return -errno;
                if ((r = read_answer(buf, (size_t)got, id, ret)) != -EAGAIN)
                        return r;
        }
}

static int dial(const char *host, uint16_t port) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
        struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        const struct timeval patience = {.tv_sec = CONNECT_PATIENCE_S};
        struct request_address address;
        bool v4 = true;
        int r = 0;

        if (address_parse(host, strlen(host), &address) == 0) {
                v4 = address_is_ipv4(&address);
                memcpy(&a.sin_addr, address.byte + 12, 4);
                memcpy(&a6.sin6_addr, address.byte, 16);
        } else
                r = resolve(host, &a.sin_addr);
        if (r < 0)
                return r;
        _cleanup_fd_ int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
            connect(fd, v4 ? (struct sockaddr *)&a : (struct sockaddr *)&a6, v4 ? sizeof(a) : sizeof(a6)) < 0)
                return -errno;
        if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){}, sizeof(struct timeval)) < 0)
                return -errno;
        return TAKE_FD(fd);
}

_noreturn_ static void enter_and_dial(const struct call *c, pid_t courier, int to, const char *host, uint16_t port) {
        int32_t status = 0;
        int fd = -1;

        if (setns(c->userns, CLONE_NEWUSER) < 0 || setns(c->netns, CLONE_NEWNET) < 0)
                status = -errno;
        else if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != courier) /* the change of namespaces has cleared it */
                _exit(1);
        else
                fd = dial(host, port);
        status = fd < 0 && status == 0 ? fd : status;
        (void)!fd_send(to, &status, sizeof(status), &fd, fd >= 0 ? 1 : 0, 0);
        _exit(0);
}

int courier_dial(struct call *c, const char *host, uint16_t port) {
        int pair[2], fds[FD_PASS_MAX];
        pid_t courier = getpid();
        int32_t status = -ECHILD;
        size_t n = 0;

        if (c->userns < 0 || c->netns < 0)
                return -ENETUNREACH;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        pid_t pid = fork();
        if (pid == 0)
                enter_and_dial(c, courier, pair[1], host, port);
        close(pair[1]);
        ssize_t k = pid < 0 ? -errno : fd_receive(pair[0], &status, sizeof(status), fds, &n, 0);
        close(pair[0]);
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        if (k == sizeof(status) && status == 0 && n == 1)
                return fds[0];
        for (size_t i = 0; i < n; i++)
                close(fds[i]);
        return status < 0 ? status : -ECHILD;
}
