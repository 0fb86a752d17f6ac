/* See net-ca.h. Part of a start: no library. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/host.h"
#include "svc/net-ca.h"

#define PUBLIC_MAX 4096u
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* Its status; it has nothing to wait for. */
static int reap(struct net_ca *ca) {
        int status = -1;
        pid_t pid = ca->maker;

        ca->maker = 0;
        while (pid > 0 && waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -1;
        return status;
}

void net_ca_clear(struct net_ca *ca) {
        (void)reap(ca);
        fd_close(ca->fd);
        fd_close(ca->public);
        free(ca->cert);
        *ca = NET_CA_NONE;
}

_noreturn_ static void become(int exe, int secret, int public) {
        char *argv[] = {(char *)"belljar-gate", (char *)"--new-ca", NULL}, *env[] = {NULL};
        /* Above both places first: dup2 clears close-on-exec of what it makes, and only of that. */
        int high[2] = {fcntl(secret, F_DUPFD_CLOEXEC, 8), fcntl(public, F_DUPFD_CLOEXEC, 8)},
            program = fcntl(exe, F_DUPFD_CLOEXEC, 8);

        if (high[0] < 0 || high[1] < 0 || program < 0 || dup2(high[0], NET_CA_FD_SECRET) < 0 ||
                dup2(high[1], NET_CA_FD_PUBLIC) < 0)
                _exit(125);
        syscall(SYS_execveat, program, "", argv, env, AT_EMPTY_PATH);
        _exit(125);
}

static int memfd(const char *name) {
        int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        return fd < 0 ? -errno : fd;
}

static int read_public(int fd, struct net_ca *ca) {
        _cleanup_free_ char *text = NULL;
        const size_t n = sizeof(ca->hash) - 1;
        int r;

        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        if ((r = fd_read_all(fd, PUBLIC_MAX, &text, NULL)) < 0)
                return r;
        if (strspn(text, "0123456789abcdef") != n || text[n] != '\n' ||
                !str_after(text + n + 1, "-----BEGIN CERTIFICATE-----\n"))
                return -EBADMSG;
        memcpy(ca->hash, text, n);
        ca->cert = strdup(text + n + 1);
        return ca->cert ? 0 : -ENOMEM;
}

int net_ca_empty(struct net_ca *ret, struct error *e) {
        _cleanup_fd_ int fd = memfd("belljar-ca");

        if (fd < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
                return error_errno(e, fd < 0 ? fd : errno, "a memory file cannot be made");
        *ret = NET_CA_NONE;
        ret->fd = TAKE_FD(fd);
        return 0;
}

int net_ca_begin(struct net_ca *ret, struct error *e) {
        _cleanup_(net_ca_clear) struct net_ca ca = NET_CA_NONE;
        _cleanup_free_ char *path = NULL;
        int r = host_own_program("belljar-gate", &path, e);

        if (r < 0)
                return r;
        _cleanup_fd_ int exe = open(path, O_PATH | O_CLOEXEC);
        if (exe < 0)
                return error_errno(e, errno, "%s cannot be opened", path);
        ca.public = memfd("belljar-ca-public");
        ca.fd = memfd("belljar-ca");
        if (ca.public < 0 || ca.fd < 0)
                return error_errno(e, MIN(ca.public, ca.fd), "a memory file cannot be made");
        pid_t pid = fork();
        if (pid == 0)
                become(exe, ca.fd, ca.public);
        if (pid < 0)
                return error_errno(e, errno, "a process cannot be made");
        ca.maker = pid;
        *ret = ca;
        ca = NET_CA_NONE;
        return 0;
}

int net_ca_finish(struct net_ca *ca, struct error *e) {
        int status = reap(ca), r;

        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                return error_set(e, ECHILD, "the sandbox's CA cannot be made: belljar-gate --new-ca failed");
        if (fcntl(ca->fd, F_ADD_SEALS, SEALS) < 0)
                return error_errno(e, errno, "the sandbox's CA cannot be sealed");
        if ((r = read_public(ca->public, ca)) < 0)
                return error_errno(e, r, "the sandbox's CA cannot be read");
        fd_close(TAKE_FD(ca->public));
        return 0;
}
