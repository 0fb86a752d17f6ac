/* Requests of other commands to this run, over the socket in its directory: only the run's own user can open it, and is asked
 * for once more. One is served at a time. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/fd.h"
#include "proto/control-msg.h"
#include "role/supervisor/supervisor.h"

int control_make(struct supervisor *x) {
        x->control = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        return x->control < 0 ? -errno : 0;
}

/* The directory is the working directory: sockaddr_un has no room for long paths. A socket of its former use goes. */
int control_listen(struct supervisor *x) {
        const struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = CONTROL_SOCKET};

        if ((unlink(CONTROL_SOCKET) < 0 && errno != ENOENT) || bind(x->control, (const struct sockaddr *)&a, sizeof(a)) < 0 || listen(x->control, 8) < 0)
                return -errno;
        x->listens = true;
        return 0;
}

void control_answer_to(int *asker, int result, const char *text) {
        struct control_answer a = {.result = result};

        if (*asker < 0)
                return;
        snprintf(a.text, sizeof(a.text), "%s", text ? text : "");
        (void)!send(*asker, &a, sizeof(a), MSG_NOSIGNAL | MSG_DONTWAIT);
        fd_close(TAKE_FD(*asker));
}

void control_answer(struct supervisor *x, int result, const char *text) { control_answer_to(&x->asker, result, text); }

static void serve(struct supervisor *x) {
        struct control_request q;
        int fds[FD_PASS_MAX];
        size_t n_fds;
        ssize_t n = fd_receive(x->asker, &q, sizeof(q), fds, &n_fds, MSG_DONTWAIT);

        if (n == -EAGAIN || n == -EINTR)
                return;
        if (n <= 0)
                fd_close(TAKE_FD(x->asker));
        else if (n == sizeof(q) && q.type == CONTROL_DELEGATE && n_fds == 0 && !x->ended)
                children_grant(x);
        else if (n == sizeof(q) && q.type >= CONTROL_KILL && q.type <= CONTROL_RESUME && n_fds == 0) {
                q.name[sizeof(q.name) - 1] = 0;
                stop_request(x, &q);
        } else if (n == sizeof(q) && q.type == CONTROL_UPDATE && x->s->parent >= 0) {
                control_answer(x, -EPERM, "a sub-run keeps the policy that was found to lie within its parent's");
        } else if (n == sizeof(q) && q.type == CONTROL_UPDATE && n_fds == 3 && !x->ended) {
                network_update(x, fds, q.reads_tls);
                n_fds = 0;
        } else if (n == sizeof(q) && q.type == CONTROL_REVOKE && n_fds == 0 && !x->ended) {
                q.name[sizeof(q.name) - 1] = 0;
                int r = network_revoke_named(x, q.name);
                control_answer(x, r, r < 0 ? "the run has no secret of that name" : NULL);
        } else
                control_answer(x, -EPROTO, "the sandbox was started by another version of belljar");
        for (size_t i = 0; i < n_fds; i++)
                close(fds[i]);
}

void control_events(struct supervisor *x, bool knock, bool said) {
        struct ucred who;
        socklen_t n = sizeof(who);

        if (said && x->asker >= 0)
                serve(x);
        if (!knock)
                return;
        fd_close(TAKE_FD(x->asker)); /* it has said nothing so far: somebody who does must not wait for it, and it can come again */
        x->asker = accept4(x->control, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (x->asker >= 0 && (getsockopt(x->asker, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 || who.uid != geteuid()))
                fd_close(TAKE_FD(x->asker));
}
