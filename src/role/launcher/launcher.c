/* The launcher: PID 1 of a new set of namespaces for the first two milliseconds. Executes the plan's operations with
 * the rights of the outer user namespace, then becomes belljar-init. It parses nothing, has no threads and allocates
 * nothing that grows with hostile input; it runs before any untrusted code does.
 *
 * Order matters: all host sources are opened as detached trees first, while the host's root is as it was; the new root
 * is built on a staging tmpfs that covers /tmp; then the old root is let go. The working directory is the sandbox's
 * state directory, so that "upper" and "work" are found without a path. */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/use.h"
#include "role/launcher/launcher.h"
#include "svc/net-rules.h"
#include "sys/landlock.h"
#include "sys/mount.h"
#include "sys/netns.h"
#include "sys/process.h"

enum { INIT_CTL_FD = 3, INIT_LANDLOCK_FD = 4, INIT_TTY_FD = 5 };

void launcher_fail(const struct launch *l, int err, const char *fmt, ...) {
        struct init_msg m = {.type = INIT_LAUNCH_FAILED, .errnum = err < 0 ? -err : err};
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(m.text, sizeof(m.text), fmt, ap);
        va_end(ap);
        (void)!send(l->control, &m, sizeof(m), MSG_NOSIGNAL);
        _exit(125);
}

static void take_init_ids(const struct launcher *x) {
        uid_t id = x->plan->ids.init_uid;

        if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
                launcher_fail(x->l, errno, "the sandbox's ids cannot be taken");
}

static void take_ids(const struct launcher *x) {
        const struct plan_ids *ids = &x->plan->ids;
        char byte;
        int r;

        if (x->l->go >= 0) {
                if (read(x->l->go, &byte, 1) != 1)
                        _exit(125); /* the supervisor has given up and says why */
        }
        if (ids->single) {
                r = process_map_ids(0, ids->outer_uid_map, ids->outer_gid_map, 1);
                if (r < 0)
                        launcher_fail(x->l, r, "the user namespace cannot be mapped");
        } else if (!ids->subids) /* with subids the caller's own id is mapped, and the caller's files are opened with it */
                take_init_ids(x);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void make_network(const struct launcher *x) {
        const struct plan_network *net = &x->plan->network;
        struct nft_config config;
        struct init_msg m = {.type = INIT_NETWORK};
        const char *what;
        int fds[NETNS_N], r;

        if (!net->on) {
                if ((r = netns_questions(fds)) < 0 || (r = fd_send(x->l->control, &m, sizeof(m), fds, 1, 0)) < 0)
                        launcher_fail(x->l, r, "the loopback interface cannot be brought up");
                close(fds[0]);
                return;
        }
        net_rules_config(net, &config);
        _cleanup_free_ void *buf = malloc(nft_size(&config));
        if (!buf)
                launcher_fail(x->l, ENOMEM, "out of memory");
        if ((r = netns_prepare(&config, buf, nft_size(&config), fds, &what)) == -EMSGSIZE)
                launcher_fail(x->l, r, "the rules name more addresses and ports than this kernel takes at once (net.core.wmem_max)\n"
                                       "write ranges of them in the place of single ones");
        if (r < 0)
                launcher_fail(x->l, r, "network-redirect: %s cannot be made\nbelljar doctor says what this kernel lacks for it; where they are modules: "
                                       "sudo modprobe -a nft_tproxy nft_reject_ipv4 nft_reject_ipv6 nft_log nft_limit nfnetlink_log", what);
        if ((r = fd_send(x->l->control, &m, sizeof(m), fds, NETNS_N, 0)) < 0)
                launcher_fail(x->l, r, "the gate's sockets cannot be handed over");
        for (size_t i = 0; i < NETNS_N; i++)
                close(fds[i]);
}

/* Servers of images listen on ports below 1024, as root; the capability for that would be one over the network namespace. */
static void open_low_ports(void) {
        (void)!file_poke(AT_FDCWD, "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
}

/* The payload's own namespace is the only one that may be made beneath. The filter refuses more, too. With nesting there may
 * be others: each takes memory of the kernel's that no limit but a cgroup's counts. */
static void bound_namespaces(enum nesting nesting) {
        static const char *const kinds[] = {"user", "mnt", "pid", "ipc", "uts", "net"};
        char path[64];

        for (size_t i = 0; i < (nesting ? ELEMENTSOF(kinds) : 1); i++) {
                snprintf(path, sizeof(path), "/proc/sys/user/max_%s_namespaces", kinds[i]);
                (void)!file_poke(AT_FDCWD, path, nesting ? "256" : "1");
        }
}

/* The ruleset that the command's process puts in force; made here, where the plan is known. */
static int make_ruleset(const struct launcher *x) {
        const struct plan *p = x->plan;
        int abi = p->landlock_abi, r;

        if (abi == 0)
                return -1;
        int fd = p->nesting ? landlock_new_scopes() : landlock_new(abi, true);
        if (fd < 0)
                launcher_fail(x->l, fd, "a Landlock ruleset cannot be made");
        if (p->nesting)
                return fd;
        for (size_t i = 0; i < p->n_rules; i++)
                if ((r = landlock_allow_path(fd, abi, p->rules[i].path, p->rules[i].use)) < 0)
                        launcher_fail(x->l, r, "%s cannot be allowed by Landlock", p->rules[i].path);
        /* The caller's own redirections stand: "echo x >/dev/stderr" opens the file behind fd 2 once more. */
        for (int i = 0; i < 3; i++) {
                struct stat st;
                if (x->l->tty[i] || fstat(x->l->stdio[i], &st) < 0 || !(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode)))
                        continue;
                if ((r = landlock_allow(fd, abi, x->l->stdio[i], i == 0 ? USE_READ : USE_WRITE)) < 0 && r != -EBADFD)
                        launcher_fail(x->l, r, "file descriptor %d cannot be allowed by Landlock", i);
        }
        return fd;
}

/* A terminal of the sandbox's own devpts; its master goes to the command line. Returns the other end, or -1. */
static int make_terminal(const struct launcher *x) {
        const struct launch *l = x->l;
        int unlock = 0;

        if (!l->tty[0] && !l->tty[1] && !l->tty[2])
                return -1;
        _cleanup_fd_ int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
                launcher_fail(l, errno, "a terminal cannot be made");
        int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (slave < 0)
                launcher_fail(l, errno, "a terminal cannot be opened");
        struct winsize w = {.ws_row = l->rows, .ws_col = l->columns};
        (void)ioctl(master, TIOCSWINSZ, &w); /* before the command looks */
        if (!x->plan->ids.single && fchown(slave, x->plan->ids.outer_uid, x->plan->ids.outer_gid) < 0)
                launcher_fail(l, errno, "the terminal cannot be given to the sandbox's user");
        struct init_msg m = {.type = INIT_TERMINAL};
        if (fd_send(l->control, &m, sizeof(m), &master, 1, 0) < 0)
                launcher_fail(l, errno, "the terminal cannot be handed over");
        return slave;
}

/* Puts fds where init expects them and everything else out of its reach. */
static void arrange_fds(const struct launcher *x, int ruleset, int tty) {
        const struct launch *l = x->l;
        int low[3], high[4], n = 0;

        /* Above the range that is about to be filled, so that no dup2 overwrites one that is still needed. */
        const int keep[] = {l->control, ruleset, tty, l->init_exe};
        for (size_t i = 0; i < ELEMENTSOF(keep); i++) {
                high[i] = keep[i] < 0 ? -1 : fcntl(keep[i], F_DUPFD_CLOEXEC, 32);
                if (keep[i] >= 0 && high[i] < 0)
                        launcher_fail(l, errno, "file descriptors cannot be arranged");
        }
        for (int i = 0; i < 3; i++) {
                low[i] = fcntl(l->tty[i] ? tty : l->stdio[i], F_DUPFD_CLOEXEC, 32);
                if (low[i] < 0)
                        launcher_fail(l, errno, "file descriptors cannot be arranged");
        }
        for (int i = 0; i < 3; i++)
                n |= dup2(low[i], i);
        n |= dup2(high[0], INIT_CTL_FD);
        if (high[1] >= 0)
                n |= dup2(high[1], INIT_LANDLOCK_FD);
        if (high[2] >= 0)
                n |= dup2(high[2], INIT_TTY_FD);
        if (n < 0)
                launcher_fail(l, errno, "file descriptors cannot be arranged");
        /* Everything above was opened close-on-exec; this makes it so whatever was forgotten. */
        if (syscall(SYS_close_range, 6, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
                launcher_fail(l, errno, "file descriptors cannot be closed");
        if (high[1] < 0)
                close(INIT_LANDLOCK_FD);
        if (high[2] < 0)
                close(INIT_TTY_FD);
        char **argv = calloc(x->plan->argv.n + 2, sizeof(char *));
        char *none[] = {NULL};
        if (argv) {
                argv[0] = (char *)"belljar-init";
                for (size_t i = 0; i < x->plan->argv.n; i++)
                        argv[i + 1] = x->plan->argv.items[i];
                syscall(SYS_execveat, high[3], "", argv, x->plan->env.items ? x->plan->env.items : none, AT_EMPTY_PATH);
        }
        launcher_fail(l, errno, "belljar-init cannot be executed");
}

void launcher_main(const struct plan *plan, const struct launch *l) {
        struct launcher x = {.plan = plan, .l = l};
        int r;

        umask(0);
        x.trees = calloc(plan->n_ops, sizeof(int));
        if (!x.trees)
                launcher_fail(l, ENOMEM, "out of memory");
        take_ids(&x);
        if (!strlist_has(&plan->without, "cgroup-namespace") && unshare(CLONE_NEWCGROUP) < 0)
                launcher_fail(l, errno, "a cgroup namespace cannot be made\nuse --without=cgroup-namespace to go on without it");
        bound_namespaces(plan->nesting);
        mounts_open(&x);
        mounts_build(&x);
        /* An image's root is an overlay of the sandbox's own, to be changed as it likes. */
        r = plan->image ? 0 : mount_attr(x.root, false, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0);
        if (r < 0)
                launcher_fail(l, r, "the root cannot be made read-only");
        if (plan->image)
                open_low_ports();
        make_network(&x);
        if (sethostname(plan->hostname, strlen(plan->hostname)) < 0)
                launcher_fail(l, errno, "the host name cannot be set");
        r = mount_pivot(NEW_ROOT);
        if (r < 0)
                launcher_fail(l, r, "the new root cannot be entered");
        int ruleset = make_ruleset(&x);
        int tty = make_terminal(&x);
        /* What init needs where the payload has another uid, and drops again but for KILL once it has started it: to
         * change ids, to write the inner map of another uid's process (SYS_ADMIN over a namespace that is not its own,
         * DAC_OVERRIDE for the /proc file, SETFCAP because it holds the outer id 0: user_namespaces(7)), to drop the
         * rest. Nothing otherwise. */
        if (plan->ids.subids) {
                take_init_ids(&x);
                prctl(PR_SET_PDEATHSIG, SIGKILL); /* the change of ids has cleared it */
        }
        r = process_keep_caps(!plan->ids.single ? 1ull << CAP_SETUID | 1ull << CAP_SETGID | 1ull << CAP_KILL |
                                                       1ull << CAP_SETPCAP | 1ull << CAP_SETFCAP | 1ull << CAP_DAC_OVERRIDE |
                                                       1ull << CAP_SYS_ADMIN
                                             : 0);
        if (r < 0)
                launcher_fail(l, r, "capabilities cannot be dropped");
        arrange_fds(&x, ruleset, tty);
        __builtin_unreachable();
}
