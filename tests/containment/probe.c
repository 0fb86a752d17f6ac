/* What a hostile program does inside a sandbox, as one static program. Each attempt prints one line, "NAME RETURN ERRNO",
 * and nothing is concluded here: the tests of this folder look at the host, and compare with the same attempt where it
 * is allowed (bare, or at a child of its own). Run by the tests of this folder only. Nothing that is run with "bare" changes
 * the host. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <arpa/inet.h>
#include <time.h>
#include <unistd.h>

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

static void say(const char *name, long r) {
        int e = r < 0 ? errno : 0;
        printf("%s %ld %d\n", name, r, e);
        fflush(stdout);
}

/* Runs in a child what could change this process for good; the line is printed there. */
#define IN_CHILD(stmt)                                                                                                 \
        do {                                                                                                           \
                fflush(stdout);                                                                                        \
                pid_t child_ = fork();                                                                                 \
                if (child_ == 0) {                                                                                     \
                        stmt;                                                                                          \
                        fflush(stdout);                                                                                \
                        _exit(0);                                                                                      \
                }                                                                                                      \
                int status_ = 0;                                                                                       \
                if (child_ < 0 || waitpid(child_, &status_, 0) < 0)                                                    \
                        perror("fork");                                                                                \
                else if (WIFSIGNALED(status_))                                                                         \
                        printf("%s -1 %d\n", #stmt, 1000 + WTERMSIG(status_));                                         \
        } while (0)

/* ---- sockets ---- */

static void sockets(void) {
        static const struct { const char *name; int family, type, protocol; } list[] = {
                {"socket.packet", AF_PACKET, SOCK_RAW, 0x0300},
                {"socket.packet-dgram", AF_PACKET, SOCK_DGRAM, 0x0300},
                {"socket.raw", AF_INET, SOCK_RAW, IPPROTO_TCP},
                {"socket.raw6", AF_INET6, SOCK_RAW, IPPROTO_UDP},
                {"socket.raw-raw", AF_INET, SOCK_RAW, IPPROTO_RAW},
                {"socket.icmp", AF_INET, SOCK_DGRAM, IPPROTO_ICMP},
                {"socket.icmp6", AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6},
                {"socket.sctp", AF_INET, SOCK_STREAM, 132},
                {"socket.mptcp", AF_INET, SOCK_STREAM, 262},
                {"socket.alg", 38, SOCK_SEQPACKET, 0},
                {"socket.vsock", 40, SOCK_STREAM, 0},
                {"socket.bluetooth", 31, SOCK_RAW, 1},
                {"socket.can", 29, SOCK_RAW, 1},
                {"socket.tipc", 30, SOCK_STREAM, 0},
                {"socket.rds", 21, SOCK_SEQPACKET, 0},
                {"socket.kcm", 41, SOCK_DGRAM, 0},
                {"socket.qipcrtr", 42, SOCK_DGRAM, 0},
                {"socket.smc", 43, SOCK_STREAM, 0},
                {"socket.xdp", 44, SOCK_RAW, 0},
                {"socket.key", 15, SOCK_RAW, 2},
                {"socket.ax25", 3, SOCK_DGRAM, 0},
                {"socket.x25", 9, SOCK_SEQPACKET, 0},
                {"socket.netrom", 6, SOCK_SEQPACKET, 0},
                {"socket.nfc", 39, SOCK_SEQPACKET, 1},
                {"socket.rxrpc", 33, SOCK_DGRAM, AF_INET},
                {"socket.netlink-xfrm", AF_NETLINK, SOCK_RAW, NETLINK_XFRM},
                {"socket.netlink-audit", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT},
                {"socket.netlink-netfilter", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER},
                {"socket.netlink-generic", AF_NETLINK, SOCK_RAW, NETLINK_GENERIC},
                {"socket.netlink-uevent", AF_NETLINK, SOCK_DGRAM, NETLINK_KOBJECT_UEVENT},
                {"socket.netlink-diag", AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG},
                {"socket.netlink-crypto", AF_NETLINK, SOCK_RAW, NETLINK_CRYPTO},
                {"socket.netlink-connector", AF_NETLINK, SOCK_DGRAM, NETLINK_CONNECTOR},
                {"socket.ok-tcp", AF_INET, SOCK_STREAM, 0},
                {"socket.ok-udp6", AF_INET6, SOCK_DGRAM, 0},
                {"socket.ok-unix", AF_UNIX, SOCK_STREAM, 0},
                {"socket.ok-netlink-route", AF_NETLINK, SOCK_RAW, NETLINK_ROUTE},
        };

        for (size_t i = 0; i < N_OF(list); i++) {
                int fd = socket(list[i].family, list[i].type | SOCK_CLOEXEC, list[i].protocol);
                say(list[i].name, fd);
                if (fd >= 0)
                        close(fd);
                /* An int argument: the kernel reads 32 bits of it, and so must a filter. */
                if (strncmp(list[i].name, "socket.ok", 9) != 0) {
                        char name[64];
                        snprintf(name, sizeof(name), "%s-high", list[i].name);
                        fd = (int)syscall(SYS_socket, 0x7700000000ull | (unsigned)list[i].family,
                                          0x100000000ull | (unsigned)list[i].type, 0x300000000ull | (unsigned)list[i].protocol);
                        say(name, fd);
                        if (fd >= 0)
                                close(fd);
                }
        }
        int pair[2];
        say("socketpair.ok-unix", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

/* ---- kernel parts ---- */

static long clone3_(uint64_t flags) {
        struct clone_args a = {.flags = flags, .exit_signal = SIGCHLD};
        long r = syscall(SYS_clone3, &a, sizeof(a));
        if (r == 0)
                _exit(0);
        return r;
}

static long clone_(unsigned long flags) {
        long r = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
        if (r == 0)
                _exit(0);
        return r;
}

static void namespaces(void) {
        static const struct { const char *name; unsigned long flag; } list[] = {
                {"user", CLONE_NEWUSER}, {"mnt", CLONE_NEWNS}, {"net", CLONE_NEWNET}, {"pid", CLONE_NEWPID},
                {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS}, {"cgroup", CLONE_NEWCGROUP},
        };
        char name[64];

        for (size_t i = 0; i < N_OF(list); i++) {
                unsigned long with_user = list[i].flag | CLONE_NEWUSER;
                snprintf(name, sizeof(name), "unshare.%s", list[i].name);
                IN_CHILD(say(name, unshare((int)with_user)));
                snprintf(name, sizeof(name), "unshare.%s-alone", list[i].name);
                IN_CHILD(say(name, unshare((int)list[i].flag)));
                snprintf(name, sizeof(name), "unshare.%s-high", list[i].name);
                IN_CHILD(say(name, syscall(SYS_unshare, 0xdead00000000ull | with_user)));
                snprintf(name, sizeof(name), "clone.%s", list[i].name);
                IN_CHILD(say(name, clone_(with_user)));
                snprintf(name, sizeof(name), "clone3.%s", list[i].name);
                IN_CHILD(say(name, clone3_(with_user)));
        }
        IN_CHILD(say("unshare.time", unshare(CLONE_NEWTIME | CLONE_NEWUSER)));
        IN_CHILD(say("unshare.ok-files", unshare(CLONE_FILES | CLONE_FS)));
        static const char *const ns[] = {"user", "mnt", "net", "pid", "uts", "ipc", "cgroup"};
        for (size_t i = 0; i < N_OF(ns); i++) {
                char path[64];
                snprintf(path, sizeof(path), "/proc/self/ns/%s", ns[i]);
                int fd = open(path, O_RDONLY | O_CLOEXEC);
                snprintf(name, sizeof(name), "setns.%s", ns[i]);
                IN_CHILD(say(name, syscall(SYS_setns, fd, 0)));
                close(fd);
        }
}

static void kernel_parts(const char *dir) {
        char buf[4096] = "";
        union {
                struct file_handle h;
                char space[256];
        } fh = {.h = {.handle_bytes = MAX_HANDLE_SZ}};
        struct perf_event_attr pe = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(pe), .config = PERF_COUNT_SW_TASK_CLOCK,
                                     .exclude_kernel = 1};
        union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
        struct { uint32_t v[30]; } uring = {};
        int mount_id;
        long fd;

        say("io_uring_setup", fd = syscall(SYS_io_uring_setup, 4, &uring));
        say("io_uring_enter", syscall(SYS_io_uring_enter, fd, 0, 0, 0, 0, 0));
        say("io_uring_register", syscall(SYS_io_uring_register, fd, 2, 0, 0));
        say("bpf.map", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)));
        say("perf_event_open.self", syscall(SYS_perf_event_open, &pe, 0, -1, -1, 0));
        say("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC | 1));
        fd = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
        say("open.dev-userfaultfd", fd);
        say("keyctl.session", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
        say("keyctl.user", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0));
        IN_CHILD(say("add_key", syscall(SYS_add_key, "user", "belljar-probe", "x", 1, KEY_SPEC_PROCESS_KEYRING)));
        say("request_key", syscall(SYS_request_key, "user", "belljar-probe", NULL, 0));
        say("fanotify_init", syscall(SYS_fanotify_init, 0, O_RDONLY));
        say("memfd_secret", syscall(SYS_memfd_secret, 0));
#ifdef SYS_modify_ldt
        say("modify_ldt", syscall(SYS_modify_ldt, 0, buf, sizeof(buf)));
#endif
        say("name_to_handle_at", syscall(SYS_name_to_handle_at, AT_FDCWD, dir, &fh, &mount_id, 0));
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fh.h.handle_bytes == MAX_HANDLE_SZ) { /* not had from the call: inode 2, the root of an ext4, as shocker did */
                fh.h.handle_bytes = 8;
                fh.h.handle_type = 1;
                memcpy(fh.h.f_handle, "\2\0\0\0\0\0\0\0", 8);
        }
        say("open_by_handle_at", syscall(SYS_open_by_handle_at, fd, &fh, O_RDONLY));
        say("fsopen", syscall(SYS_fsopen, "tmpfs", 1));
        say("fspick", syscall(SYS_fspick, AT_FDCWD, dir, 1));
        IN_CHILD(say("open_tree.clone", syscall(SYS_open_tree, AT_FDCWD, dir, 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC)));
        say("syslog", syscall(SYS_syslog, 3, buf, sizeof(buf)));
        say("process_madvise", syscall(SYS_process_madvise, -1, buf, 1, 20, 0));
        say("migrate_pages", syscall(SYS_migrate_pages, 0, 0, buf, buf));
        say("personality.ok", syscall(SYS_personality, 0xffffffff));
        say("memfd_create.ok", syscall(SYS_memfd_create, "x", 0));
        say("getpriority.ok", syscall(SYS_getpriority, 0, 0));
        say("unknown", syscall(1999));
        say("unknown-high", syscall(0x3fffffff));
#ifdef __x86_64__
        /* The 32-bit entry: getpid is 20 there; and x32, the same table with a bit. */
        long r;
        __asm__ volatile("int $0x80" : "=a"(r) : "a"(20l) : "memory", "r8", "r9", "r10", "r11");
        errno = r < 0 ? (int)-r : 0;
        say("int80.getpid", r < 0 ? -1 : r);
        /* mount is 21 there, socketcall 102: what a filter that looks at numbers alone would take for others. */
        __asm__ volatile("int $0x80" : "=a"(r) : "a"(21l), "b"(0), "c"(0), "d"(0), "S"(0), "D"(0)
                         : "memory", "r8", "r9", "r10", "r11");
        errno = r < 0 ? (int)-r : 0;
        say("int80.mount", r < 0 ? -1 : r);
        __asm__ volatile("syscall" : "=a"(r) : "a"(0x40000000l + 39) : "rcx", "r11", "memory");
        errno = r < 0 ? (int)-r : 0;
        say("x32.getpid", r < 0 ? -1 : r);
#endif
}

/* What would change the machine where it is allowed: never run bare. */
static void machine(const char *dir) {
        struct timeval tv = {};
        struct timespec ts = {};
        char buf[64] = "";

        IN_CHILD(say("mount.tmpfs", syscall(SYS_mount, "none", dir, "tmpfs", 0, NULL)));
        IN_CHILD(say("mount.bind", syscall(SYS_mount, "/etc", dir, NULL, 4096, NULL)));
        IN_CHILD(say("mount.remount", syscall(SYS_mount, NULL, "/usr", NULL, 32 | 4096, NULL)));
        IN_CHILD(say("mount.proc-sys", syscall(SYS_mount, NULL, "/proc/sys", NULL, 32 | 4096, NULL)));
        IN_CHILD(say("umount.proc-kcore", syscall(SYS_umount2, "/proc/kcore", 2)));
        IN_CHILD(say("umount.dir", syscall(SYS_umount2, dir, 2)));
        IN_CHILD(say("pivot_root", syscall(SYS_pivot_root, dir, dir)));
        IN_CHILD(say("chroot", syscall(SYS_chroot, dir)));
        IN_CHILD(say("move_mount", syscall(SYS_move_mount, AT_FDCWD, dir, AT_FDCWD, "/tmp", 0)));
        IN_CHILD(say("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/usr", 0, buf, 32)));
        say("sethostname", syscall(SYS_sethostname, "evil", 4));
        say("setdomainname", syscall(SYS_setdomainname, "evil", 4));
        say("settimeofday", syscall(SYS_settimeofday, &tv, NULL));
        say("clock_settime", syscall(SYS_clock_settime, CLOCK_REALTIME, &ts));
        say("adjtimex", syscall(SYS_adjtimex, buf));
        say("init_module", syscall(SYS_init_module, buf, 0, ""));
        say("finit_module", syscall(SYS_finit_module, 0, "", 0));
        say("delete_module", syscall(SYS_delete_module, "belljar_none", 2048));
        say("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
        say("reboot", syscall(SYS_reboot, 0xfee1dead, 672274793, 0x89abcdef /* CAD_ON: harmless */, NULL));
        say("swapon", syscall(SYS_swapon, dir, 0));
        say("swapoff", syscall(SYS_swapoff, dir));
        say("acct", syscall(SYS_acct, NULL));
        say("quotactl", syscall(SYS_quotactl, 0, NULL, 0, NULL));
        say("vhangup", syscall(SYS_vhangup));
#ifdef __x86_64__
        say("iopl", syscall(SYS_iopl, 3));
        say("ioperm", syscall(SYS_ioperm, 0, 8, 1));
#endif
        say("mknod.char", mknod("probe-null", S_IFCHR | 0666, 0x0103));
        say("mknod.block", mknod("probe-disk", S_IFBLK | 0666, 0xfe00));
        say("mknod.whiteout", mknod("probe-whiteout", S_IFCHR, 0));
        say("setuid0", setuid(0));
        say("setresuid0", setresuid(0, 0, 0));
        say("setgid0", setgid(0));
        say("setgroups0", syscall(SYS_setgroups, 1, buf));
        say("chown0", chown(".", 0, 0));
        say("mlock.ok", mlock(buf, sizeof(buf)));
        say("nice.ok", nice(1));
}

/* ---- a process that is not its own ---- */

static void open_of(pid_t pid, const char *name, int flags, const char *text) {
        char path[80], label[96], buf[64];

        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
        int fd = open(path, flags | O_CLOEXEC);
        long r = fd;
        if (fd >= 0 && text)
                r = write(fd, text, strlen(text));
        else if (fd >= 0 && (flags & O_ACCMODE) == O_RDONLY && !(flags & O_DIRECTORY)) {
                /* Some check at the read, not at the open. */
                if (strcmp(name, "mem") == 0 || strcmp(name, "pagemap") == 0)
                        r = pread(fd, buf, 8, 0x400000);
                else
                        r = read(fd, buf, sizeof(buf));
                if (r == 0)
                        errno = ENODATA, r = -1;
        }
        int saved = errno;
        snprintf(label, sizeof(label), "%s.%s", text ? "write" : (flags & O_ACCMODE) == O_RDONLY ? "read" : "openw", name);
        for (char *c = label; *c; c++)
                if (*c == ' ')
                        *c = '_';
        errno = saved;
        say(label, r);
        if (fd >= 0)
                close(fd);
}

static void link_of(pid_t pid, const char *name) {
        char path[80], label[96], target[4096];
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
        long r = readlink(path, target, sizeof(target) - 1);
        snprintf(label, sizeof(label), "link.%s", name);
        say(label, r);
}

static void proc_files(pid_t pid) {
        static const char *const files[] = {"mem", "environ", "maps", "smaps", "auxv", "stack", "syscall", "pagemap",
                                            "numa_maps", "map_files", "io", "personality", "fdinfo", "timers"};
        static const char *const links[] = {"root", "cwd", "exe", "fd/0", "fd/3", "ns/user", "ns/mnt", "ns/net", "ns/pid",
                                            "ns/ipc", "ns/uts", "ns/cgroup"};
        static const struct { const char *name, *text; } writes[] = {
                {"oom_score_adj", "1000"}, {"oom_adj", "15"}, {"timerslack_ns", "5000000"}, {"autogroup", "19"},
                {"clear_refs", "1"}, {"coredump_filter", "0x7f"}, {"comm", "pwned"}, {"sched", "0"}, {"setgroups", "allow"},
                {"uid_map", "0 0 1"}, {"gid_map", "0 0 1"}, {"projid_map", "0 0 1"}, {"loginuid", "0"},
                {"make-it-fail", "1"}, {"fail-nth", "1"}, {"timens_offsets", "monotonic 5 0"}, {"attr/current", "x"},
                {"attr/exec", "x"}, {"task/1/comm", "pwned"},
        };

        for (size_t i = 0; i < N_OF(files); i++)
                open_of(pid, files[i], O_RDONLY, NULL);
        open_of(pid, "mem", O_RDWR, NULL);
        open_of(pid, "exe", O_WRONLY, NULL);
        open_of(pid, "root", O_RDONLY | O_DIRECTORY, NULL);
        open_of(pid, "cwd", O_RDONLY | O_DIRECTORY, NULL);
        open_of(pid, "fd", O_RDONLY | O_DIRECTORY, NULL);
        open_of(pid, "root/etc/hostname", O_RDONLY, NULL);
        for (size_t i = 0; i < N_OF(links); i++)
                link_of(pid, links[i]);
        for (size_t i = 0; i < N_OF(writes); i++)
                open_of(pid, writes[i].name, O_WRONLY, writes[i].text);
}

static void limits_of(pid_t pid) {
        struct rlimit l = {64, 64};
        struct sched_param sp = {.sched_priority = 0};
        struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t prio; uint64_t a, b, c; uint32_t d, e; } attr = {
                .size = 48, .policy = SCHED_IDLE, .nice = 19};
        unsigned long cpu0[16] = {1};
        const unsigned long hi = 0xabcd00000000ul | (unsigned)pid;

        for (int k = 0; k < 16; k++) {
                char name[32];
                struct rlimit z = {0, 0};
                snprintf(name, sizeof(name), "prlimit.%d", k);
                say(name, syscall(SYS_prlimit64, pid, k, &z, NULL));
                snprintf(name, sizeof(name), "prlimit-high.%d", k);
                say(name, syscall(SYS_prlimit64, hi, 0x100000000ul | (unsigned)k, &z, NULL));
        }
        say("prlimit.nofile", syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, &l, NULL));
        say("setpriority.process", syscall(SYS_setpriority, PRIO_PROCESS, pid, 19));
        say("setpriority.process-high", syscall(SYS_setpriority, 0x900000000ul | PRIO_PROCESS, hi, 19));
        say("setpriority.pgrp", syscall(SYS_setpriority, PRIO_PGRP, pid, 19));
        say("setpriority.user", syscall(SYS_setpriority, PRIO_USER, 0, 19));
        say("setpriority.user-uid", syscall(SYS_setpriority, PRIO_USER, getuid(), 19));
        say("ioprio_set.process", syscall(SYS_ioprio_set, 1, pid, 3 << 13));
        say("ioprio_set.process-high", syscall(SYS_ioprio_set, 0x500000001ul, hi, 3 << 13));
        say("ioprio_set.pgrp", syscall(SYS_ioprio_set, 2, pid, 3 << 13));
        say("ioprio_set.user", syscall(SYS_ioprio_set, 3, getuid(), 3 << 13));
        say("sched_setscheduler", syscall(SYS_sched_setscheduler, pid, SCHED_IDLE, &sp));
        say("sched_setscheduler-high", syscall(SYS_sched_setscheduler, hi, SCHED_IDLE, &sp));
        say("sched_setparam", syscall(SYS_sched_setparam, pid, &sp));
        say("sched_setattr", syscall(SYS_sched_setattr, pid, &attr, 0));
        say("sched_setattr-high", syscall(SYS_sched_setattr, hi, &attr, 0));
        say("sched_setaffinity", syscall(SYS_sched_setaffinity, pid, sizeof(cpu0), cpu0));
        say("sched_setaffinity-high", syscall(SYS_sched_setaffinity, hi, sizeof(cpu0), cpu0));
        say("sched_core", syscall(SYS_prctl, 62, 1, pid, 0, 0));
        say("setpgid", setpgid(pid, 0));
}

static void memory_of(pid_t pid) {
        char buf[16] = "x";
        struct iovec local = {buf, 8}, remote = {(void *)0x400000, 8};
        void *pages[1] = {(void *)0x400000};
        int nodes[1] = {0}, status[1];
        unsigned long mask[2] = {1, 0};
        struct perf_event_attr pe = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(pe), .config = PERF_COUNT_SW_TASK_CLOCK,
                                     .exclude_kernel = 1};

        say("process_vm_readv", syscall(SYS_process_vm_readv, pid, &local, 1, &remote, 1, 0));
        say("process_vm_writev", syscall(SYS_process_vm_writev, pid, &local, 1, &remote, 1, 0));
        say("kcmp", syscall(SYS_kcmp, pid, getpid(), 0 /* KCMP_FILE */, 0, 0));
        say("move_pages", syscall(SYS_move_pages, pid, 1, pages, nodes, status, 2));
        say("migrate_pages", syscall(SYS_migrate_pages, pid, 64, mask, mask));
        say("perf_event_open", syscall(SYS_perf_event_open, &pe, pid, -1, -1, 0));
        long pfd = syscall(SYS_pidfd_open, pid, 0);
        say("pidfd_open", pfd);
        for (int fd = 0; fd < 6; fd++) {
                char name[32];
                snprintf(name, sizeof(name), "pidfd_getfd.%d", fd);
                long r = syscall(SYS_pidfd_getfd, pfd, fd, 0);
                say(name, r);
                if (r >= 0)
                        close((int)r);
        }
        struct iovec range = {(void *)0x400000, 4096};
        say("process_madvise", syscall(SYS_process_madvise, pfd, &range, 1, 21 /* MADV_PAGEOUT */, 0));
        say("process_mrelease", syscall(SYS_process_mrelease, pfd, 0));
        say("setns.pidfd", syscall(SYS_setns, pfd, CLONE_NEWNS | CLONE_NEWPID));
        say("ptrace.seize", ptrace(PTRACE_SEIZE, pid, 0, 0));
        say("ptrace.seize-detach", ptrace(PTRACE_DETACH, pid, 0, 0));
        long r = ptrace(PTRACE_ATTACH, pid, 0, 0);
        say("ptrace.attach", r);
        if (r == 0) {
                waitpid(pid, status, __WALL);
                errno = 0;
                say("ptrace.peek", ptrace(PTRACE_PEEKDATA, pid, pages[0], 0) == -1 && errno ? -1 : 0);
                ptrace(PTRACE_DETACH, pid, 0, 0);
        }
        if (pfd >= 0)
                close((int)pfd);
}

static void signal_all(pid_t pid) {
        long pfd = syscall(SYS_pidfd_open, pid, 0);
        siginfo_t info = {.si_code = SI_QUEUE};
        int ways[4] = {};

        for (int sig = 1; sig <= 64; sig++) {
                ways[0] += kill(pid, sig) == 0;
                ways[1] += syscall(SYS_tgkill, pid, pid, sig) == 0;
                info.si_signo = sig;
                ways[2] += syscall(SYS_rt_sigqueueinfo, pid, sig, &info) == 0;
                ways[3] += syscall(SYS_pidfd_send_signal, pfd, sig, NULL, 0) == 0;
        }
        printf("signals.sent %d %d %d %d\n", ways[0], ways[1], ways[2], ways[3]);
        /* Many of one: the queue is accounted to the sender. */
        for (int i = 0; i < 20000; i++) {
                info.si_signo = SIGRTMIN + 1;
                syscall(SYS_rt_sigqueueinfo, pid, SIGRTMIN + 1, &info);
                kill(pid, SIGCHLD);
        }
        say("signals.alive", kill(pid, 0));
}

static void attack(pid_t pid, bool fatal) {
        proc_files(pid);
        memory_of(pid);
        if (fatal) {
                kill(-pid, 0);
                signal_all(pid);
        }
        limits_of(pid);
}

static int command_attack(const char *who) {
        if (strcmp(who, "child") != 0) {
                attack((pid_t)atoi(who), true);
                return 0;
        }
        /* The twin: the same at a child, which is allowed to be looked into. */
        pid_t pid = fork();
        if (pid == 0)
                for (;;)
                        pause();
        attack(pid, false);
        int status;
        say("kill", kill(pid, SIGKILL));
        while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
                ;
        printf("killed %d %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0, 0);
        return 0;
}

/* Every process that can be named by any means. */
static void pids(void) {
        for (int pid = 1; pid < 40000; pid++) {
                bool k = kill(pid, 0) == 0 || errno == EPERM;
                long fd = syscall(SYS_pidfd_open, pid, 0);
                if (k || fd >= 0)
                        printf("pid %d %d\n", pid, (int)k);
                if (fd >= 0)
                        close((int)fd);
        }
}

static void fds(void) {
        for (int fd = 0; fd < 4096; fd++) {
                struct stat st;
                if (fcntl(fd, F_GETFD) >= 0 && fstat(fd, &st) == 0)
                        printf("fd %d %o %o\n", fd, st.st_mode & S_IFMT, (unsigned)fcntl(fd, F_GETFL) & O_ACCMODE);
        }
}

/* ---- terminal ---- */

static void terminal_fd(const char *name, int fd) {
        static const struct { const char *name; unsigned long request; } list[] = {
                {"TIOCSTI", 0x5412}, {"TIOCLINUX", 0x541c}, {"TIOCSETD", 0x5423}, {"TIOCCONS", 0x541d},
                {"TIOCSSERIAL", 0x541f},
        };
        static const unsigned long highs[] = {0, 1ul << 32, 0xffffffff00000000ul, 0x8000000000000000ul};
        char label[96];

        for (size_t i = 0; i < N_OF(list); i++)
                for (size_t k = 0; k < N_OF(highs); k++) {
                        char arg[64] = "#";
                        if (list[i].request == 0x541c)
                                arg[0] = 3; /* paste the selection */
                        if (list[i].request == 0x5423)
                                memcpy(arg, "\x0f\0\0\0", 4);
                        snprintf(label, sizeof(label), "%s.%s.%zu", name, list[i].name, k);
                        say(label, syscall(SYS_ioctl, fd, list[i].request | highs[k], arg));
                }
        struct winsize w;
        snprintf(label, sizeof(label), "%s.ok-TIOCGWINSZ", name);
        say(label, ioctl(fd, TIOCGWINSZ, &w));
        snprintf(label, sizeof(label), "%s.TIOCSCTTY", name);
        say(label, ioctl(fd, TIOCSCTTY, 1));
}

static void terminal(void) {
        terminal_fd("fd0", 0);
        terminal_fd("fd1", 1);
        terminal_fd("fd2", 2);
        int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
        say("open.dev-tty", fd);
        if (fd >= 0)
                terminal_fd("tty", fd);
        static const char *const others[] = {"/dev/console", "/dev/tty0", "/dev/tty1", "/dev/ttyS0", "/dev/vcs", "/dev/vcsa",
                                             "/dev/mem", "/dev/kmsg", "/dev/fuse", "/dev/kvm", "/dev/net/tun", "/dev/vda",
                                             "/dev/sda", "/dev/loop0", "/dev/loop-control", "/dev/snapshot", "/dev/hpet"};
        for (size_t i = 0; i < N_OF(others); i++) {
                char name[64];
                snprintf(name, sizeof(name), "open.%s", others[i]);
                say(name, open(others[i], O_RDONLY | O_NOCTTY | O_CLOEXEC));
        }
}

/* ---- network ---- */

static int address(const char *host, const char *port, struct sockaddr_storage *ss, socklen_t *len) {
        struct sockaddr_in *a = (void *)ss;
        struct sockaddr_in6 *b = (void *)ss;
        memset(ss, 0, sizeof(*ss));
        if (inet_pton(AF_INET, host, &a->sin_addr) == 1) {
                a->sin_family = AF_INET;
                a->sin_port = htons((uint16_t)atoi(port));
                *len = sizeof(*a);
                return AF_INET;
        }
        if (inet_pton(AF_INET6, host, &b->sin6_addr) == 1) {
                b->sin6_family = AF_INET6;
                b->sin6_port = htons((uint16_t)atoi(port));
                *len = sizeof(*b);
                return AF_INET6;
        }
        fprintf(stderr, "probe: %s is no address\n", host);
        exit(2);
}

static void net_tcp(const char *host, const char *port, const char *text) {
        struct sockaddr_storage ss;
        socklen_t len;
        char name[128];
        int family = address(host, port, &ss, &len), fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0), err = 0;
        struct timespec t0, t1;

        clock_gettime(CLOCK_MONOTONIC, &t0);
        long r = connect(fd, (void *)&ss, len);
        if (r < 0 && errno == EINPROGRESS) {
                struct pollfd p = {fd, POLLOUT, 0};
                socklen_t n = sizeof(err);
                if (poll(&p, 1, 3000) == 0)
                        err = ETIMEDOUT;
                else
                        getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &n);
                r = err ? -1 : 0;
                errno = err;
        }
        int saved = errno;
        clock_gettime(CLOCK_MONOTONIC, &t1);
        if (r == 0)
                (void)!write(fd, text, strlen(text));
        snprintf(name, sizeof(name), "tcp.%s.%s", host, port);
        errno = saved;
        say(name, r);
        printf("ms.%s %ld 0\n", name, (t1.tv_sec - t0.tv_sec) * 1000 + (t1.tv_nsec - t0.tv_nsec) / 1000000);
        close(fd);
}

static void net_udp(const char *host, const char *port, const char *text) {
        struct sockaddr_storage ss;
        socklen_t len;
        char name[128];
        int family = address(host, port, &ss, &len), fd = socket(family, SOCK_DGRAM, 0), one = 1;

        setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one));
        long r = sendto(fd, text, strlen(text), 0, (void *)&ss, len);
        snprintf(name, sizeof(name), "udp.%s.%s", host, port);
        say(name, r);
        close(fd);
}

static void net_unix(const char *path, const char *text, bool abstract) {
        static const struct { const char *name; int type; } types[] = {
                {"stream", SOCK_STREAM}, {"dgram", SOCK_DGRAM}, {"seqpacket", SOCK_SEQPACKET}};
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        size_t n = strlen(path);

        if (n + 2 > sizeof(a.sun_path)) {
                fprintf(stderr, "probe: path too long\n");
                exit(2);
        }
        memcpy(a.sun_path + abstract, path, n);
        for (size_t i = 0; i < N_OF(types); i++) {
                char name[256];
                int fd = socket(AF_UNIX, types[i].type, 0);
                long r = connect(fd, (void *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + abstract));
                int saved = errno;
                if (r == 0)
                        (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
                snprintf(name, sizeof(name), "%s.%s", abstract ? "abstract" : "unix", types[i].name);
                errno = saved;
                say(name, r);
                close(fd);
        }
}

/* Which ports of loopback answer. */
static void net_scan(void) {
        int n = 0;
        for (int port = 1; port < 65536; port++) {
                struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
                int fd = socket(AF_INET, SOCK_STREAM, 0);
                struct sockaddr_in own = {};
                socklen_t len = sizeof(own);
                /* A socket whose own port happens to be the one that it calls reaches itself. */
                if (fd >= 0 && connect(fd, (void *)&a, sizeof(a)) == 0 &&
                    (getsockname(fd, (void *)&own, &len) < 0 || own.sin_port != a.sin_port))
                        printf("open-port %d 0\n", port), n++;
                if (fd >= 0)
                        close(fd);
        }
        printf("scan %d 0\n", n);
}

/* ---- IPC ---- */

static int command_ipc(const char *verb, const char *tag) {
        key_t key = (key_t)strtol(tag, NULL, 16);
        char name[64];
        bool make = strcmp(verb, "make") == 0;
        int flags = make ? IPC_CREAT | IPC_EXCL | 0666 : 0;

        int id = shmget(key, 4096, flags);
        say("sysv.shm", id);
        if (id >= 0) {
                char *p = shmat(id, NULL, 0);
                if (p != (void *)-1 && make)
                        snprintf(p, 64, "canary-%s", tag);
                else if (p != (void *)-1)
                        printf("sysv.shm-text %s\n", p);
        }
        say("sysv.sem", semget(key, 1, flags));
        id = msgget(key, flags);
        say("sysv.msg", id);
        struct { long type; char text[32]; } m = {1, "canary"};
        if (id >= 0 && make)
                say("sysv.msgsnd", msgsnd(id, &m, 32, IPC_NOWAIT));
        snprintf(name, sizeof(name), "/bj-%s", tag);
        struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 64};
        mqd_t q = make ? mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0666, &attr) : mq_open(name, O_RDWR);
        say("posix.mq", q);
        int fd = make ? shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0666) : shm_open(name, O_RDWR, 0);
        say("posix.shm", fd);
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        size_t n = strlen(name);
        memcpy(a.sun_path + 1, name, n);
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
        say("abstract", make ? (bind(s, (void *)&a, len) < 0 ? -1 : listen(s, 5)) : connect(s, (void *)&a, len));
        return 0;
}

/* ---- resources ---- */

static void hog_pages(int fd, const char *what) {
        static char block[1 << 20];
        memset(block, 0x5a, sizeof(block));
        for (uint64_t total = 0;; total += sizeof(block)) {
                ssize_t n = write(fd, block, sizeof(block));
                if (n <= 0) {
                        printf("hog.%s %llu %d\n", what, (unsigned long long)total >> 20, errno);
                        fflush(stdout);
                        return;
                }
        }
}

static int command_hog(const char *what, const char *where) {
        if (strcmp(what, "malloc") == 0)
                for (uint64_t total = 0;; total++) {
                        char *p = malloc(1 << 20);
                        if (!p) {
                                printf("hog.malloc %llu %d\n", (unsigned long long)total, errno);
                                return 0;
                        }
                        memset(p, 0x5a, 1 << 20);
                }
        if (strcmp(what, "memfd") == 0) {
                int fd = (int)syscall(SYS_memfd_create, "hog", 0);
                hog_pages(fd, what);
        } else if (strcmp(what, "memfds") == 0) {
                for (int i = 0; i < 1000; i++) {
                        int fd = (int)syscall(SYS_memfd_create, "hog", 0);
                        if (fd < 0 || ftruncate(fd, 64 << 20) < 0)
                                break;
                        char *p = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
                        if (p == MAP_FAILED)
                                break;
                        memset(p, 0x5a, 64 << 20);
                        munmap(p, 64 << 20); /* held by the fd, in nobody's resident size */
                }
                say("hog.memfds", -1);
        } else if (strcmp(what, "shm") == 0) {
                for (int i = 0; i < 1000; i++) {
                        int id = shmget(IPC_PRIVATE, 64 << 20, IPC_CREAT | 0600);
                        char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
                        if (p == (void *)-1)
                                break;
                        memset(p, 0x5a, 64 << 20);
                        shmdt(p); /* held by the name space, in nobody's resident size */
                }
                say("hog.shm", -1);
        } else if (strcmp(what, "file") == 0) {
                int fd = open(where, O_WRONLY | O_CREAT | O_TRUNC, 0600);
                if (fd < 0) {
                        say("hog.file", fd);
                        return 1;
                }
                signal(SIGXFSZ, SIG_IGN);
                hog_pages(fd, what);
        } else if (strcmp(what, "files") == 0) {
                signal(SIGXFSZ, SIG_IGN);
                for (int i = 0; i < 100000; i++) {
                        char name[4200];
                        static char block[1 << 20];
                        snprintf(name, sizeof(name), "%s/hog%d", where, i);
                        int fd = open(name, O_WRONLY | O_CREAT, 0600);
                        if (fd < 0 || write(fd, block, sizeof(block)) <= 0) {
                                printf("hog.files %d %d\n", i, errno);
                                return 0;
                        }
                        close(fd);
                }
        } else if (strcmp(what, "inodes") == 0) {
                for (int i = 0;; i++) {
                        char name[4200];
                        snprintf(name, sizeof(name), "%s/i%d", where, i);
                        int fd = open(name, O_WRONLY | O_CREAT, 0600);
                        if (fd < 0) {
                                printf("hog.inodes %d %d\n", i, errno);
                                return 0;
                        }
                        close(fd);
                }
        } else if (strcmp(what, "fds") == 0) {
                int n = 0;
                while (open("/dev/null", O_RDONLY) >= 0)
                        n++;
                printf("hog.fds %d %d\n", n, errno);
        } else if (strcmp(what, "pipes") == 0) {
                int n = 0, p[2];
                static char block[1 << 20];
                while (pipe2(p, O_NONBLOCK) == 0) {
                        (void)fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
                        (void)!write(p[1], block, sizeof(block));
                        n++;
                }
                printf("hog.pipes %d %d\n", n, errno);
        } else if (strcmp(what, "inotify") == 0) {
                int n = 0;
                while (inotify_init1(0) >= 0)
                        n++;
                printf("hog.inotify %d %d\n", n, errno);
        } else if (strcmp(what, "sockets") == 0) {
                int n = 0, p[2];
                static char block[200000];
                while (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p) == 0) {
                        while (write(p[0], block, sizeof(block)) > 0)
                                ;
                        n++;
                }
                printf("hog.sockets %d %d\n", n, errno);
        } else if (strcmp(what, "fork") == 0) {
                signal(SIGTERM, SIG_IGN);
                for (;;)
                        if (fork() == 0)
                                setsid();
        } else if (strcmp(what, "forkn") == 0) {
                /* How many live at once: counted, and let go. */
                int n = 0;
                while (n < 100000) {
                        pid_t pid = fork();
                        if (pid < 0)
                                break;
                        if (pid == 0)
                                for (;;)
                                        pause();
                        n++;
                }
                printf("hog.forkn %d %d\n", n, errno);
        } else if (strcmp(what, "spin") == 0) {
                for (int i = 0; i < 16; i++)
                        if (fork() == 0)
                                for (volatile int k = 0;; k++)
                                        ;
                for (;;)
                        pause();
        } else if (strcmp(what, "stubborn") == 0) {
                for (int sig = 1; sig < 65; sig++)
                        signal(sig, SIG_IGN);
                for (int i = 0; i < 8; i++)
                        if (fork() == 0)
                                setsid();
                printf("stubborn 0 0\n");
                fflush(stdout);
                for (;;)
                        pause();
        } else
                return 2;
        return 0;
}

/* As a program of an image, under another name: says in the files named by planted/targets beside its own folder that it
 * was run, under which name and with which ids. Nobody outside may ever do that. */
static int planted(const char *name) {
        char exe[4096], path[4200], line[512] = "", map[128] = "";
        ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
        FILE *m = fopen("/proc/self/uid_map", "re");

        if (m) {
                (void)!fgets(map, sizeof(map), m);
                fclose(m);
        }
        exe[n < 0 ? 0 : n] = 0;
        for (char *slash; (slash = strrchr(exe, '/'));) {
                *slash = 0;
                snprintf(path, sizeof(path), "%s/planted/targets", exe);
                FILE *f = fopen(path, "re");
                while (f && fgets(line, sizeof(line), f)) {
                        line[strcspn(line, "\n")] = 0;
                        FILE *to = fopen(line, "ae");
                        if (!to)
                                continue;
                        fprintf(to, "%s %s", name, map);
                        fclose(to);
                }
                if (f)
                        fclose(f);
        }
        return 0;
}

/* --- What a tracer is to be told of, and not to be fooled by. --- */

/* Executes the program so many times, one after the other. */
static int command_spawn(int n, char *path) {
        char *argv[] = {path, NULL}, *env[] = {NULL};
        volatile int status, failed = 0; /* vfork(2) */

        for (volatile int i = 0; i < n; i++) {
                pid_t pid = vfork();
                if (pid == 0) {
                        execve(path, argv, env);
                        _exit(111);
                }
                failed += pid < 0 || waitpid(pid, (int *)&status, 0) != pid || status != 0;
        }
        printf("spawned %d %d\n", n, failed);
        return 0;
}

/* Two paths of one length; what is in `shown` changes all the time. */
struct flip {
        volatile char shown[4096];
        const char *a, *b;
};

static int flipper(void *arg) {
        struct flip *f = (struct flip *)arg;

        for (unsigned i = 0;; i++) {
                const char *now = i & 1 ? f->a : f->b;
                for (size_t k = 0; now[k]; k++)
                        f->shown[k] = now[k];
        }
        return 0;
}

/* A second thread changes the path while the first executes it, and makes the kernel believe, as far as it can, that a program
 * has just begun. */
static int command_race(int n, const char *a, const char *b) {
        static char stack[65536];
        int status, failed = 0;

        for (int i = 0; i < n; i++) {
                pid_t pid = fork();
                if (pid == 0) {
                        struct flip *f = (struct flip *)calloc(1, sizeof(*f));
                        char *argv[] = {(char *)(uintptr_t)f->shown, NULL}, *env[] = {NULL};
                        f->a = a;
                        f->b = b;
                        strcpy((char *)(uintptr_t)f->shown, a);
                        if (clone(flipper, stack + sizeof(stack), CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, f) < 0)
                                _exit(112);
                        for (int k = 0; k < 3; k++)
                                syscall(SYS_set_tid_address, stack);
                        for (;;) /* half of one and half of the other is no path */
                                execve(argv[0], argv, env);
                }
                failed += pid < 0 || waitpid(pid, &status, 0) != pid;
        }
        printf("raced %d %d\n", n, failed);
        return 0;
}

/* Another listener, and the ways to change what the kernel says of a process. */
static void tracing(void) {
        struct sock_filter pass[] = {{0x06, 0, 0, 0x7fff0000}};
        struct { unsigned short n; struct sock_filter *f; } prog = {1, pass};
        struct { uint64_t field[12]; void *auxv; uint32_t n_auxv, exe; } map = {.exe = (uint32_t)-1};

        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        say("listener", syscall(SYS_seccomp, 1, 8, &prog));
        say("filter", syscall(SYS_seccomp, 1, 0, &prog));
        say("mm.map", prctl(PR_SET_MM, 14, &map, sizeof(map), 0));
        say("mm.exe", prctl(PR_SET_MM, 13, 0, 0, 0));
        say("mm.high", syscall(SYS_prctl, PR_SET_MM | 1ull << 32, 14, &map, sizeof(map), 0));
}

static int usage(void) {
        fprintf(stderr, "usage: probe kernel DIR [bare] | attack PID|child | pids | fds | terminal | tcp HOST PORT TEXT | udp "
                        "HOST PORT TEXT | unix PATH TEXT | abstract NAME TEXT | scan | ipc make|find TAG | hog KIND [WHERE] | "
                        "proc PID | spawn N PATH | race N PATH PATH | tracing\n");
        return 2;
}

int main(int argc, char **argv) {
        const char *c = argc > 1 ? argv[1] : "", *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];

        if (strncmp(name, "probe", 5) != 0 && strcmp(name, "p") != 0)
                return planted(name);
        if (strcmp(c, "kernel") == 0 && argc > 2) {
                sockets();
                namespaces();
                kernel_parts(argv[2]);
                if (argc == 3)
                        machine(argv[2]);
        } else if (strcmp(c, "attack") == 0 && argc == 3)
                return command_attack(argv[2]);
        else if (strcmp(c, "proc") == 0 && argc == 3)
                proc_files((pid_t)atoi(argv[2]));
        else if (strcmp(c, "pids") == 0)
                pids();
        else if (strcmp(c, "fds") == 0)
                fds();
        else if (strcmp(c, "terminal") == 0)
                terminal();
        else if (strcmp(c, "tcp") == 0 && argc == 5)
                net_tcp(argv[2], argv[3], argv[4]);
        else if (strcmp(c, "udp") == 0 && argc == 5)
                net_udp(argv[2], argv[3], argv[4]);
        else if (strcmp(c, "unix") == 0 && argc == 4)
                net_unix(argv[2], argv[3], false);
        else if (strcmp(c, "abstract") == 0 && argc == 4)
                net_unix(argv[2], argv[3], true);
        else if (strcmp(c, "scan") == 0)
                net_scan();
        else if (strcmp(c, "ipc") == 0 && argc == 4)
                return command_ipc(argv[2], argv[3]);
        else if (strcmp(c, "tracing") == 0)
                tracing();
        else if (strcmp(c, "spawn") == 0 && argc == 4)
                return command_spawn(atoi(argv[2]), argv[3]);
        else if (strcmp(c, "race") == 0 && argc == 5)
                return command_race(atoi(argv[2]), argv[3], argv[4]);
        else if (strcmp(c, "hog") == 0 && argc >= 3)
                return command_hog(argv[2], argc > 3 ? argv[3] : ".");
        else
                return usage();
        return 0;
}
