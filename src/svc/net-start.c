/* Processes of the network, see net-start.h. The gate's namespaces are beneath the sandbox's outer user namespace, because
 * only what has rights over that may enter the network namespace which it owns; a broker's are the host's, but for the
 * network. Both go on by themselves: pivot into an empty root, drop everything, load their filter (svc/net-cage.h). */
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/host.h"
#include "svc/net-start.h"
#include "sys/process.h"

/* User namespaces beneath the sandbox's outer one while a gate is made: the command's, the gate's, and those of gates that were
 * killed, which the kernel counts for a while longer. */
#define ROOM "16"

#define NET_START_OUTER_MAX (BROKER_FD_N - BROKER_FD_CONTROL)
#define NOBODY 65534u

#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* What the intermediate process of a gate says: the gate's pid, or -errno and where. */
struct answer {
        int32_t pid;
        char what[60];
};

static void answer(int fd, int r, const char *what) {
        struct answer a = {.pid = r};
        snprintf(a.what, sizeof(a.what), "%s", what);
        (void)!write(fd, &a, sizeof(a));
        if (r < 0)
                _exit(1);
}

/* One id, which is root there, so that an exec leaves the capabilities to confine itself with. pid 0: the caller. */
static int map_one(pid_t pid, uid_t uid, gid_t gid, int setgroups_deny) {
        char u[40], g[40];
        snprintf(u, sizeof(u), "0 %u 1", uid);
        snprintf(g, sizeof(g), "0 %u 1", gid);
        return process_map_ids(pid, u, g, setgroups_deny);
}

/* The fds to their places, everything else closed, and away. Never returns. */
_noreturn_ static void become(int exe, const char *name, const int *fds, size_t n, char **env) {
        char *argv[] = {(char *)name, NULL};
        int high[NET_START_FDS_MAX + 1], null = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (n > NET_START_FDS_MAX || null < 0)
                _exit(125);
        for (size_t i = 0; i <= n; i++)
                if ((high[i] = fcntl(i < n ? fds[i] : exe, F_DUPFD_CLOEXEC, 32)) < 0)
                        _exit(125);
        for (int i = 0; i < 3; i++)
                if (dup2(null, i) < 0)
                        _exit(125);
        for (size_t i = 0; i < n; i++)
                if (dup2(high[i], 3 + (int)i) < 0)
                        _exit(125);
        if (syscall(SYS_close_range, 3 + (unsigned)n, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
                _exit(125);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        syscall(SYS_execveat, high[n], "", argv, env, AT_EMPTY_PATH);
        _exit(125);
}

/* Enters the sandbox's namespaces and makes the gate beneath them, as a child of the caller's. */
_noreturn_ static void enter(const struct plan *p, int exe, const int *fds, size_t n, int report) {
        uid_t uid = p->ids.init_uid;
        gid_t gid = p->ids.single ? p->ids.outer_gid : uid;
        int pidfd, r = 0;

        if (setns(fds[0], CLONE_NEWUSER) < 0 || setns(fds[1], CLONE_NEWNET) < 0)
                answer(report, -errno, "the sandbox's namespaces cannot be entered");
        if (!p->ids.single && (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0))
                answer(report, -errno, "the gate's ids cannot be taken");
        /* The launcher has left no room for another user namespace; there is some for as long as it takes to make one. The
         * filter of what runs inside refuses to make any. */
        if (!p->nesting && (r = file_poke(AT_FDCWD, "/proc/sys/user/max_user_namespaces", ROOM)) < 0)
                answer(report, r, "a user namespace cannot be made room for");
        prctl(PR_SET_DUMPABLE, 1); /* for its own maps, which the change of ids has taken away */
        pid_t pid = process_clone(NAMESPACES | CLONE_PARENT, -1, &pidfd);
        if (pid == 0) {
                if (map_one(0, uid, gid, 1) < 0)
                        _exit(125);
                become(exe, "belljar-gate", fds + 2, n - 2, (char *[]){NULL});
        }
        r = pid < 0 ? (int)pid : p->nesting ? 0 : file_poke(AT_FDCWD, "/proc/sys/user/max_user_namespaces", "1");
        if (r < 0 && pid > 0)
                (void)!process_signal(pidfd, SIGKILL);
        answer(report, r < 0 ? r : (int)pid, "the gate's namespaces cannot be made");
        _exit(0);
}

static int start_gate(const struct plan *p, int exe, const int *fds, size_t n, pid_t *ret, struct error *e) {
        struct answer a = {};
        int report[2];

        if (n < NET_START_FDS_MIN || n > NET_START_FDS_MAX)
                return error_set(e, EPROTO, "a gate was asked for with %zu file descriptors", n);
        if (pipe2(report, O_CLOEXEC) < 0)
                return error_errno(e, errno, "a pipe cannot be made");
        pid_t pid = fork();
        if (pid == 0)
                enter(p, exe, fds, n, report[1]);
        int err = errno;
        close(report[1]);
        ssize_t got = pid < 0 ? -1 : read(report[0], &a, sizeof(a));
        close(report[0]);
        if (pid < 0)
                return error_errno(e, err, "a process cannot be made");
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        if (got != sizeof(a))
                return error_set(e, ECHILD, "the gate could not be started");
        a.what[sizeof(a.what) - 1] = 0;
        if (a.pid <= 0)
                return error_errno(e, a.pid, "%s", a.what);
        *ret = a.pid;
        return 0;
}

/* The CA certificates that the caller goes by, opened with the caller's rights: all that a broker gets of its environment. */
static int add_trust(int *fds, size_t *n, char **env, struct error *e) {
        static char *const names[BROKER_FD_TRUST_N] = {"SSL_CERT_FILE=", "SSL_CERT_DIR="};

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *name = strndup(names[i], strlen(names[i]) - 1);
                const char *value = name ? getenv(name) : NULL;
                if (!value || !*value)
                        continue;
                int fd = open(value, O_RDONLY | O_CLOEXEC | (i > 0 ? O_DIRECTORY : 0));
                if (fd < 0) {
                        error_errno(e, errno, "%s, which %s names, cannot be read", value, name);
                        return error_fix(e, "correct the variable, or unset it");
                }
                fds[(*n)++] = fd;
                *env++ = names[i];
        }
        *env = NULL;
        return 0;
}

/* A process of the host's network namespace, with one id, and all others of the namespaces its own. */
static int start_outer(const char *name, int exe, bool root, uid_t uid, gid_t gid, const int *fds, size_t n, pid_t *ret, int *ret_pidfd, struct error *e) {
        int all[NET_START_OUTER_MAX + BROKER_FD_TRUST_N], go[2] = {-1, -1}, r;
        char byte;
        char *env[BROKER_FD_TRUST_N + 1];
        size_t n_all = n;

        if (n > NET_START_OUTER_MAX)
                return error_set(e, EPROTO, "%s was asked for with %zu file descriptors", name, n);
        memcpy(all, fds, n * sizeof(*all));
        r = add_trust(all, &n_all, env, e);
        if (r == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0)
                r = error_errno(e, errno, "a pair of sockets cannot be made");
        pid_t pid = r < 0 ? -1 : process_clone(NAMESPACES, -1, ret_pidfd);
        if (pid == 0) {
                close(go[1]);
                /* A guard that has secrets is not dumpable, and a copy of it would not be either: its maps could not be written. The
                 * secrets themselves are in no copy (vault.h). */
                if (prctl(PR_SET_DUMPABLE, 1) < 0 || write(go[0], "", 1) != 1 || read(go[0], &byte, 1) != 1 ||
                    (root && (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)))
                        _exit(125);
                become(exe, name, all, n_all, env);
        }
        while (n_all > n)
                close(all[--n_all]);
        if (r < 0)
                return r;
        close(go[0]);
        if (pid < 0) {
                close(go[1]);
                return error_errno(e, pid, "the namespaces of %s cannot be made", name);
        }
        r = read(go[1], &byte, 1) != 1 ? -ECHILD : map_one(pid, uid, gid, !root);
        if (r == 0 && send(go[1], "", 1, MSG_NOSIGNAL) != 1)
                r = -errno;
        close(go[1]);
        if (r < 0) {
                (void)!process_signal(*ret_pidfd, SIGKILL);
                while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                        ;
                close(*ret_pidfd);
                return error_errno(e, r, "the ids of %s cannot be mapped", name);
        }
        *ret = pid;
        return 0;
}

static int start_broker(const struct plan *p, int exe, const int *fds, size_t n, pid_t *ret, int *ret_pidfd, struct error *e) {
        bool root = p->ids.root;
        /* Run by root, it has an id of the sandbox's range, and none of the host's. */
        uid_t uid = root ? p->ids.uid_base + p->ids.init_uid : geteuid();

        if (n != BROKER_FD_N - BROKER_FD_CONTROL)
                return error_set(e, EPROTO, "a broker was asked for with %zu file descriptors", n);
        return start_outer("belljar-broker", exe, root, uid, root ? uid : getegid(), fds, n, ret, ret_pidfd, e);
}

/* As a broker; without a sandbox, root's is nobody. */
int net_start_provider(const struct plan *p, const int *fds, size_t n, pid_t *ret, int *ret_pidfd, struct error *e) {
        bool root = p ? p->ids.root : process_is_root();
        uid_t uid = !root ? geteuid() : p ? p->ids.uid_base + p->ids.init_uid : NOBODY;
        _cleanup_free_ char *path = NULL;
        int r = host_own_program("belljar-provider", &path, e);

        if (r < 0)
                return r;
        _cleanup_fd_ int exe = open(path, O_PATH | O_CLOEXEC);
        if (exe < 0)
                return error_errno(e, errno, "%s cannot be opened", path);
        return start_outer("belljar-provider", exe, root, uid, root ? uid : getegid(), fds, n, ret, ret_pidfd, e);
}

int net_start(const struct plan *p, enum net_role role, const int *fds, size_t n, pid_t *ret, int *ret_pidfd, struct error *e) {
        bool gate = role == NET_ROLE_GATE;
        _cleanup_free_ char *path = NULL;
        int r = host_own_program(gate ? "belljar-gate" : "belljar-broker", &path, e);

        if (r < 0)
                return r;
        _cleanup_fd_ int exe = open(path, O_PATH | O_CLOEXEC);
        if (exe < 0)
                return error_errno(e, errno, "%s cannot be opened", path);
        if (!gate)
                return start_broker(p, exe, fds, n, ret, ret_pidfd, e);
        r = start_gate(p, exe, fds, n, ret, e);
        if (r < 0)
                return r;
        *ret_pidfd = (int)syscall(SYS_pidfd_open, *ret, 0);
        return *ret_pidfd < 0 ? error_errno(e, errno, "the gate cannot be watched") : 0;
}
