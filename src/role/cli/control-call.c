/* See control-call.h. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/control-call.h"
#include "sys/process.h"

#define ANSWER_SECONDS 10
#define KNOCK_US 2000u
#define KNOCKS 1000
#define TRIES 20 /* its place may have been given to another that came at the same moment */

/* A run that has just begun has its socket in the next milliseconds. */
static int knock(int fd, const struct state *s) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};

        snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET, s->dir);
        for (int i = 0; connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0; i++) {
                if ((errno != ENOENT && errno != ECONNREFUSED) || !state_is_locked(s) || i >= KNOCKS)
                        return -errno;
                usleep(KNOCK_US);
        }
        return 0;
}

int control_begin(const struct state *s, const struct control_request *q, const int *fds, size_t n, struct error *e) {
        const struct timeval patience = {.tv_sec = ANSWER_SECONDS};
        _cleanup_fd_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        int r;

        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
                return error_errno(e, errno, "a socket cannot be made");
        if ((r = knock(fd, s)) < 0)
                return error_set(e, r == -ENOENT || r == -ECONNREFUSED ? ESRCH : -r, r == -ENOENT || r == -ECONNREFUSED ? "the sandbox %s is not running" : "%s cannot be asked", s->id);
        if ((r = fd_send(fd, q, sizeof(*q), fds, n, 0)) < 0)
                return error_errno(e, r, "%s cannot be asked", s->id);
        return TAKE_FD(fd);
}

int control_end(int fd, const struct state *s, struct control_answer *ret, struct error *e) {
        ssize_t k = recv(fd, ret, sizeof(*ret), 0);

        if (k < 0)
                return error_set(e, errno, "%s does not answer: whether it did what was asked is not known", s->id);
        if (k != sizeof(*ret))
                return error_set(e, ECONNRESET, "%s has ended, or hears others at the moment", s->id);
        ret->text[sizeof(ret->text) - 1] = 0;
        return ret->result < 0 ? error_set(e, -ret->result, "%s", ret->text) : 0;
}

int control_ask(const struct state *s, const struct control_request *q, const int *fds, size_t n, struct control_answer *ret, struct error *e) {
        int r = -ECONNRESET;

        for (int i = 0; r == -ECONNRESET && i < TRIES; i++) {
                _cleanup_fd_ int fd = control_begin(s, q, fds, n, e);
                r = fd < 0 ? fd : control_end(fd, s, ret, e);
        }
        return r;
}

int control_call(const struct state *s, const struct control_request *q, const int *fds, size_t n, struct error *e) {
        struct control_answer answer;

        return control_ask(s, q, fds, n, &answer, e);
}

int control_end_supervisor(int fd, const struct state *s, struct error *e) {
        struct ucred who;
        socklen_t n = sizeof(who);

        /* It has the other end still, or that would have ended: the number is its. */
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 || who.uid != geteuid() || who.pid <= 1)
                return error_errno(e, errno ? errno : EPERM, "the supervisor of %s cannot be found", s->id);
        _cleanup_fd_ int pidfd = (int)syscall(SYS_pidfd_open, who.pid, 0);
        int r = pidfd < 0 ? -errno : process_signal(pidfd, SIGKILL);
        struct pollfd p = {.fd = pidfd, .events = POLLIN};
        if (r == 0 && poll(&p, 1, ANSWER_SECONDS * 1000) != 1)
                r = -ETIMEDOUT;
        return r < 0 && r != -ESRCH ? error_errno(e, r, "the supervisor of %s cannot be ended", s->id) : 0;
}
