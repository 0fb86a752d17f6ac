/* See net-rules.h. */
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/net-rules.h"
#include "sys/nft.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define RULES_BYTES_MAX (8u << 20)

/* Of the gate's listeners. Nobody's own server wants port 1, and nothing inside can be bound to it any more. */
#define GATE_PORT 1
#define LOG_GROUP 1

struct header {
        uint64_t n_ports, n_targets; /* arrays of which follow */
};

void net_rules_config(const struct plan_network *p, struct nft_config *ret) {
        *ret = (struct nft_config){.pool_prefix = p->pool_prefix, .targets = p->targets, .n_targets = p->n_targets, .ports = p->ports,
                                   .n_ports = p->n_ports, .gate_port = GATE_PORT, .log_group = LOG_GROUP};
        memcpy(ret->own, p->own, sizeof(ret->own));
        memcpy(ret->pool, p->pool, sizeof(ret->pool));
}

int net_rules_seal(const struct plan_network *p) {
        const struct header h = {p->n_ports, p->n_targets};
        _cleanup_fd_ int fd = memfd_create("belljar-rules", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        int r;

        if (fd < 0)
                return -errno;
        if ((r = fd_write_all(fd, &h, sizeof(h))) < 0 || (r = fd_write_all(fd, p->ports, p->n_ports * sizeof(*p->ports))) < 0 ||
            (r = fd_write_all(fd, p->targets, p->n_targets * sizeof(*p->targets))) < 0)
                return r;
        return fcntl(fd, F_ADD_SEALS, SEALS) < 0 ? -errno : TAKE_FD(fd);
}

static int install(const struct plan_network *p, const void *data, size_t size) {
        struct plan_network next = *p;
        struct nft_config config;
        struct header h;
        const char *what;

        if (size < sizeof(h))
                return -EBADMSG;
        memcpy(&h, data, sizeof(h));
        if (h.n_ports > size / sizeof(*p->ports) || h.n_targets > size / sizeof(*p->targets) ||
            size != sizeof(h) + h.n_ports * sizeof(*p->ports) + h.n_targets * sizeof(*p->targets))
                return -EBADMSG;
        next.n_ports = h.n_ports;
        next.n_targets = h.n_targets;
        next.ports = malloc(h.n_ports * sizeof(*p->ports) + 1);
        next.targets = malloc(h.n_targets * sizeof(*p->targets) + 1);
        if (!next.ports || !next.targets)
                return -ENOMEM;
        memcpy(next.ports, (const char *)data + sizeof(h), h.n_ports * sizeof(*p->ports));
        memcpy(next.targets, (const char *)data + sizeof(h) + h.n_ports * sizeof(*p->ports), h.n_targets * sizeof(*p->targets));
        net_rules_config(&next, &config);
        config.replace = true;
        _cleanup_free_ void *buf = malloc(nft_size(&config));
        return buf ? nft_install(&config, buf, nft_size(&config), &what) : -ENOMEM;
}

static int read_rules(int fd, char **ret, size_t *ret_size) {
        struct stat st;

        if ((fcntl(fd, F_GET_SEALS) & SEALS) != SEALS || fstat(fd, &st) < 0 || st.st_size > RULES_BYTES_MAX)
                return -EBADMSG;
        _cleanup_free_ char *data = malloc((size_t)st.st_size + 1);
        if (!data)
                return -ENOMEM;
        if (pread(fd, data, (size_t)st.st_size, 0) != st.st_size)
                return -EIO;
        *ret_size = (size_t)st.st_size;
        *ret = TAKE_PTR(data);
        return 0;
}

bool net_rules_same(int a, int b) {
        _cleanup_free_ char *x = NULL, *y = NULL;
        size_t n, m;

        return read_rules(a, &x, &n) == 0 && read_rules(b, &y, &m) == 0 && n == m && memcmp(x, y, n) == 0;
}

int net_rules_install(const struct plan_network *p, int fd, int userns, int netns, struct error *e) {
        _cleanup_free_ char *data = NULL;
        size_t size;
        int status, r;

        if ((r = read_rules(fd, &data, &size)) < 0)
                return error_errno(e, r, "the rules cannot be read");
        pid_t pid = fork();
        if (pid == 0) {
                if (setns(userns, CLONE_NEWUSER) < 0 || setns(netns, CLONE_NEWNET) < 0)
                        _exit(errno & 127);
                _exit(-install(p, data, size) & 127);
        }
        if (pid < 0)
                return error_errno(e, errno, "a process cannot be made");
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        int err = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
        return err ? error_errno(e, err, "the rules of the network cannot be changed") : 0;
}
