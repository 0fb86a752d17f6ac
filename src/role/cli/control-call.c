/* See control-call.h. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "role/cli/control-call.h"

#define ANSWER_SECONDS 10

int control_call(const struct state *s, const struct control_request *q, const int *fds, size_t n, struct error *e) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        const struct timeval patience = {.tv_sec = ANSWER_SECONDS};
        struct control_answer answer;
        _cleanup_fd_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        int r;

        snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET, s->dir);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
                return error_errno(e, errno, "a socket cannot be made");
        if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0) {
                error_set(e, errno, errno == ENOENT || errno == ECONNREFUSED ? "%s does not run, or was started without a network" : "%s cannot be asked", s->id);
                return error_fix(e, "a network is given at the start: belljar run --allow HOST, or network: in the policy");
        }
        if ((r = fd_send(fd, q, sizeof(*q), fds, n, 0)) < 0)
                return error_errno(e, r, "%s cannot be asked", s->id);
        ssize_t k = recv(fd, &answer, sizeof(answer), 0);
        if (k != sizeof(answer))
                return error_set(e, k < 0 ? errno : EPROTO, "%s does not answer: whether it did what was asked is not known", s->id);
        answer.text[sizeof(answer.text) - 1] = 0;
        return answer.result < 0 ? error_set(e, -answer.result, "%s", answer.text) : 0;
}
