/* The process tier's system call list as the kernel enforces it, and a life of the supervisor under its own list. Each
 * call is made in a child of its own, three ways:
 *
 *      real    under the filter as it is;
 *      marked  under the same filter with 1000 added to each errno that it returns: no kernel function answers such a
 *              number, so it tells "the filter refused" from "the kernel refused", also for calls that would be
 *              denied to an ordinary user, or do harm to the machine if root made them without a filter;
 *      bare    without a filter, where the arguments are harmless and the answer differs.
 *
 * Nothing here succeeds in changing the machine, whatever the filter does: arguments are wrong on purpose. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <termios.h>

#include "base/macros.h"
#include "generated/seccomp-process.h"
#include "generated/seccomp-supervisor.h"
#include "tap.h"

#define MARK 1000
#define HIGH (0xdeadbeefull << 32)
#define BAD ((unsigned long)1)          /* a pointer that faults */
#define NS_FLAGS_THREAD 0x00010000ul    /* CLONE_THREAD alone: EINVAL before anything is made */

enum mode { BARE, REAL, MARKED };

static void load_filter(enum mode mode) {
        static struct sock_filter f[ELEMENTSOF(seccomp_process)];
        struct sock_fprog prog = {ELEMENTSOF(f), f};

        memcpy(f, seccomp_process, sizeof(f));
        for (size_t i = 0; mode == MARKED && i < ELEMENTSOF(f); i++)
                if (f[i].code == (BPF_RET | BPF_K) && (f[i].k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
                        f[i].k += MARK;
        check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0);
}

/* Runs fn(arg) in a child; its result, or -1 where it died. */
static int in_child(enum mode mode, int (*fn)(const void *), const void *arg) {
        static int *slot;
        int status;
        pid_t pid;

        if (!slot) {
                slot = mmap(NULL, sizeof(*slot), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
                check(slot != MAP_FAILED);
        }
        *slot = -1;
        fflush(stdout);
        pid = fork();
        check(pid >= 0);
        if (pid == 0) {
                setsid(); /* no terminal that a call could act on */
                check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
                if (mode != BARE)
                        load_filter(mode);
                *slot = fn(arg);
                _exit(0);
        }
        check(waitpid(pid, &status, 0) == pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                printf("# the child ended with wait status %#x\n", (unsigned)status);
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? *slot : -1;
}

struct row {
        const char *what;
        long nr;
        unsigned long a[6];
        int want;       /* the filter's errno; 0: it lets the call through */
        bool bare;      /* harmless without the filter; then refused: another answer, allowed: the same one */
};

/* The errno of the call, 0 for success. */
static int make_call(const void *arg) {
        const struct row *r = arg;
        long x = syscall(r->nr, r->a[0], r->a[1], r->a[2], r->a[3], r->a[4], r->a[5]);

        if (r->nr == SYS_clone && x == 0)
                _exit(0);
        return x == -1 ? errno : 0;
}

static void run_rows(const struct row *rows, size_t n) {
        size_t bad = 0;

        for (size_t i = 0; i < n; i++) {
                const struct row *r = &rows[i];
                int real = in_child(REAL, make_call, r), marked = in_child(MARKED, make_call, r);
                int bare = r->bare ? in_child(BARE, make_call, r) : -1;
                bool ok;

                if (r->want)
                        ok = real == r->want && marked == r->want + MARK &&
                             (!r->bare || (bare >= 0 && bare != r->want));
                else
                        ok = real >= 0 && marked == real && (!r->bare || bare == real);
                if (!ok) {
                        printf("# %s: wanted %d: real %d, marked %d, bare %d\n", r->what, r->want, real, marked, bare);
                        bad++;
                }
        }
        printf("# %zu calls\n", n);
        check(bad == 0);
}
#define RUN(rows) run_rows(rows, ELEMENTSOF(rows))

#define REFUSED(call, ...) {#call, SYS_##call, {__VA_ARGS__}, EPERM, false}
#define REFUSED_BARE(call, ...) {#call, SYS_##call, {__VA_ARGS__}, EPERM, true}
#define ANSWERS(e, call, ...) {#call, SYS_##call, {__VA_ARGS__}, e, false}
#define ANSWERS_BARE(e, call, ...) {#call, SYS_##call, {__VA_ARGS__}, e, true}
#define ALLOWED(call, ...) {#call, SYS_##call, {__VA_ARGS__}, 0, true}

TEST(mounts_and_namespaces) {
        static const struct row rows[] = {
                REFUSED_BARE(mount, 0, 0, BAD, 0, 0),
                REFUSED_BARE(umount2, 0, 0x8000),
                REFUSED(pivot_root, BAD, BAD),
                REFUSED(chroot, BAD),
                REFUSED(fsopen, BAD, 0),
                REFUSED(fsmount, -1, 0, 0),
                REFUSED_BARE(fsconfig, -1, 0, 0, 0, 0),
                REFUSED(fspick, -1, BAD, 0),
                REFUSED(move_mount, -1, BAD, -1, BAD, 0),
                REFUSED_BARE(open_tree, -1, BAD, 2),
                REFUSED_BARE(mount_setattr, -1, BAD, 2, 0, 0),
                {"open_tree_attr", 467, {-1, BAD, 2}, EPERM, true},
                REFUSED_BARE(setns, -1, 0),
                REFUSED(sethostname, BAD, -1),
                REFUSED(setdomainname, BAD, -1),
                REFUSED(open_by_handle_at, -1, BAD, 0),
                REFUSED_BARE(name_to_handle_at, -1, BAD, BAD, BAD, 0),
                /* what a program may do instead */
                ALLOWED(statfs, BAD, BAD),
                ALLOWED(openat, -1, BAD, 0),
                ALLOWED(openat2, -1, BAD, BAD, 0),
                ALLOWED(statx, -1, BAD, 0, 0, BAD),
                ALLOWED(uname, BAD),
                {"statmount", 457, {BAD, BAD, 0, 0}, 0, true},
                {"listmount", 458, {BAD, BAD, 0, 0}, 0, true},
        };
        RUN(rows);
}

TEST(kernel_parts) {
        static const struct row rows[] = {
                REFUSED(io_uring_setup, 0, BAD),
                REFUSED_BARE(io_uring_enter, -1, 0, 0, 0, 0, 0),
                REFUSED_BARE(io_uring_register, -1, 0, 0, 0),
                ALLOWED(io_setup, 0, BAD),
                REFUSED(bpf, -1, BAD, 0),
                REFUSED_BARE(perf_event_open, BAD, 0, 0, -1, 0),
                REFUSED(userfaultfd, -1),
                REFUSED_BARE(add_key, BAD, BAD, BAD, 0, 0),
                REFUSED_BARE(keyctl, 999),
                REFUSED_BARE(request_key, BAD, BAD, BAD, 0),
                REFUSED(fanotify_init, -1, 0),
                REFUSED_BARE(fanotify_mark, -1, 0, 0, 0, 0),
                ALLOWED(inotify_init1, 0),
                REFUSED_BARE(memfd_secret, 0xff),
                ALLOWED(memfd_create, BAD, 0),
                REFUSED_BARE(process_madvise, -1, BAD, 0, 0, 1),
                ALLOWED(madvise, 1, 1, 0),
                REFUSED(migrate_pages, 1, 0, BAD, BAD),
                REFUSED_BARE(move_pages, 1, 0, 0, 0, 0, 0x80),
                REFUSED_BARE(move_pages, HIGH | 1, 0, 0, 0, 0, 0x80),
                ALLOWED(move_pages, 0, 0, 0, 0, 0, 0x80),
                {"lsm_set_self_attr", 460, {0, BAD, 0, 1}, EPERM, true},
#ifdef __x86_64__
                REFUSED_BARE(modify_ldt, 99, 0, 0),
                REFUSED_BARE(iopl, 9),
                REFUSED_BARE(ioperm, -1, -1, 1),
                ALLOWED(arch_prctl, 0, BAD),
#endif
        };
        RUN(rows);
}

TEST(administration) {
        static const struct row rows[] = {
                REFUSED(init_module, BAD, 0, BAD),
                REFUSED(finit_module, -1, BAD, 0),
                REFUSED(delete_module, BAD, 0),
                REFUSED(kexec_load, 0, 0, BAD, -1),
                REFUSED(kexec_file_load, -1, -1, 0, BAD, -1),
                REFUSED(reboot, 0, 0, 0, 0),
                REFUSED(swapon, BAD, 0),
                REFUSED(swapoff, BAD),
                REFUSED(acct, BAD),
                REFUSED_BARE(quotactl, 0xff, BAD, 0, BAD),
                REFUSED_BARE(quotactl_fd, -1, 0xff, 0, BAD),
                REFUSED(syslog, 999, BAD, 0),
                REFUSED(vhangup, 0),
                REFUSED(nfsservctl, 0),
                REFUSED(lookup_dcookie, 0, BAD, 0),
                REFUSED_BARE(settimeofday, BAD, 0),
                REFUSED_BARE(clock_settime, 99, BAD),
                REFUSED_BARE(adjtimex, BAD),
                REFUSED_BARE(clock_adjtime, 99, BAD),
                ALLOWED(gettimeofday, 0, 0),
                ALLOWED(clock_gettime, 99, BAD),
                ALLOWED(sysinfo, BAD),
        };
        RUN(rows);
}

TEST(clone_and_unshare) {
        static const unsigned long flags[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWNET,    CLONE_NEWPID,
                                              CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP, 0x80 /* CLONE_NEWTIME */};
        static const struct row more[] = {
                {"unshare(CLONE_NEWUSER)", SYS_unshare, {CLONE_NEWUSER}, EPERM, false},
                {"unshare(CLONE_FS|CLONE_FILES)", SYS_unshare, {CLONE_FS | CLONE_FILES}, 0, true},
                {"unshare(0)", SYS_unshare, {0}, 0, true},
                {"clone(SIGCHLD)", SYS_clone, {SIGCHLD}, 0, true},
                {"clone(garbage|SIGCHLD)", SYS_clone, {HIGH | SIGCHLD}, 0, true},
                {"clone(CLONE_THREAD)", SYS_clone, {NS_FLAGS_THREAD}, 0, true},
                {"clone(CLONE_NEWUSER)", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, EPERM, false},
                {"clone3", SYS_clone3, {BAD, 0}, ENOSYS, true},
        };

        for (size_t i = 0; i < ELEMENTSOF(flags); i++) {
                /* 0x40 is no flag of unshare, and CLONE_THREAD alone none of clone: EINVAL where no filter is. */
                struct row r[] = {
                        {"unshare", SYS_unshare, {flags[i] | 0x40}, EPERM, true},
                        {"unshare, high bits", SYS_unshare, {HIGH | flags[i] | CLONE_FILES}, EPERM, true},
                        {"clone", SYS_clone, {flags[i] | NS_FLAGS_THREAD}, EPERM, true},
                        {"clone, high bits", SYS_clone, {HIGH | flags[i] | NS_FLAGS_THREAD}, EPERM, true},
                };
                printf("# flag %#lx\n", flags[i]);
                run_rows(r, flags[i] == 0x80 ? 2 : 4); /* in clone, 0x80 belongs to the exit signal */
        }
        RUN(more);
}

TEST(sockets) {
        const int inet[] = {AF_INET, AF_INET6};
        static const struct row rows[] = {
                {"unix stream", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, 0, true},
                {"unix dgram", SYS_socket, {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0}, 0, true},
                {"unix seqpacket", SYS_socket, {AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0}, 0, true},
                {"unix, high bits", SYS_socket, {HIGH | AF_UNIX, HIGH | SOCK_STREAM, HIGH}, 0, true},
                {"unix raw", SYS_socket, {AF_UNIX, SOCK_RAW, 0}, EAFNOSUPPORT, true},
                {"route netlink", SYS_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0}, 0, true},
                {"route netlink dgram", SYS_socket, {AF_NETLINK, SOCK_DGRAM, 0}, 0, true},
                {"uevent netlink", SYS_socket, {AF_NETLINK, SOCK_RAW, 15}, EPROTONOSUPPORT, true},
                {"xfrm netlink", SYS_socket, {AF_NETLINK, SOCK_RAW, 6}, EPROTONOSUPPORT, false},
                {"audit netlink", SYS_socket, {AF_NETLINK, SOCK_RAW, 9}, EPROTONOSUPPORT, false},
                {"netfilter netlink", SYS_socket, {AF_NETLINK, SOCK_RAW, 12}, EPROTONOSUPPORT, false},
                {"netfilter netlink, high bits", SYS_socket, {HIGH | AF_NETLINK, SOCK_RAW, HIGH | 12}, EPROTONOSUPPORT,
                 false},
                {"packet", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, EAFNOSUPPORT, true},
                {"packet, high bits", SYS_socket, {HIGH | AF_PACKET, SOCK_DGRAM, 0}, EAFNOSUPPORT, true},
                {"alg", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, EAFNOSUPPORT, false},
                {"vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, EAFNOSUPPORT, false},
                {"key", SYS_socket, {AF_KEY, SOCK_RAW, 2}, EAFNOSUPPORT, false},
                {"xdp", SYS_socket, {44, SOCK_RAW, 0}, EAFNOSUPPORT, false},
                {"bluetooth", SYS_socket, {AF_BLUETOOTH, SOCK_RAW, 0}, EAFNOSUPPORT, false},
                {"unspecified", SYS_socket, {0, SOCK_STREAM, 0}, EAFNOSUPPORT, false},
                {"no family", SYS_socket, {-1, SOCK_STREAM, 0}, EAFNOSUPPORT, false},
                {"pair", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, BAD}, 0, true},
                {"pair of inet", SYS_socketpair, {AF_INET, SOCK_STREAM, 0, BAD}, EAFNOSUPPORT, true},
                {"pair of tipc", SYS_socketpair, {AF_TIPC, SOCK_STREAM, 0, BAD}, EAFNOSUPPORT, false},
                ALLOWED(bind, -1, BAD, 0),
                ALLOWED(connect, -1, BAD, 0),
        };

        for (size_t i = 0; i < ELEMENTSOF(inet); i++) {
                unsigned long f = (unsigned long)inet[i];
                struct row r[] = {
                        {"stream", SYS_socket, {f, SOCK_STREAM | SOCK_CLOEXEC, 0}, 0, true},
                        {"tcp", SYS_socket, {f, SOCK_STREAM | SOCK_NONBLOCK, 6}, 0, true},
                        {"udp", SYS_socket, {f, SOCK_DGRAM, 17}, 0, true},
                        {"tcp, high bits", SYS_socket, {HIGH | f, HIGH | SOCK_STREAM, HIGH | 6}, 0, true},
                        {"raw", SYS_socket, {f, SOCK_RAW, 1}, EPERM, false},
                        {"raw, cloexec", SYS_socket, {f, SOCK_RAW | SOCK_CLOEXEC, 255}, EPERM, false},
                        {"old packet", SYS_socket, {f, SOCK_PACKET, 0}, EPERM, false},
                        {"ping", SYS_socket, {f, SOCK_DGRAM, 1}, EPROTONOSUPPORT, false},
                        {"sctp", SYS_socket, {f, SOCK_STREAM, 132}, EPROTONOSUPPORT, false},
                        {"udplite", SYS_socket, {f, SOCK_DGRAM, 136}, EPROTONOSUPPORT, false},
                        {"mptcp", SYS_socket, {f, SOCK_STREAM, 262}, EPROTONOSUPPORT, false},
                        {"mptcp, high bits", SYS_socket, {HIGH | f, SOCK_STREAM, HIGH | 262}, EPROTONOSUPPORT, false},
                };
                printf("# family %lu\n", f);
                RUN(r);
        }
        RUN(rows);
}

TEST(ioctls) {
        static const unsigned long refused[] = {TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCSSERIAL, 0xaa00};
        static const unsigned long allowed[] = {TCGETS, TIOCGWINSZ, TIOCSWINSZ, FIONREAD, FIONBIO, TIOCSPGRP};

        for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                struct row r[] = {
                        {"plain", SYS_ioctl, {-1, refused[i], BAD}, EPERM, true},
                        {"one high bit", SYS_ioctl, {-1, 1ul << 32 | refused[i], BAD}, EPERM, true},
                        {"high bits", SYS_ioctl, {-1, HIGH | refused[i], BAD}, EPERM, true},
                        {"sign bits", SYS_ioctl, {-1, 0xfffffffful << 32 | refused[i], BAD}, EPERM, true},
                        {"not the same request", SYS_ioctl, {-1, refused[i] | 0x10000, BAD}, 0, true},
                };
                printf("# request %#lx\n", refused[i]);
                RUN(r);
        }
        for (size_t i = 0; i < ELEMENTSOF(allowed); i++) {
                struct row r[] = {
                        {"plain", SYS_ioctl, {-1, allowed[i], BAD}, 0, true},
                        {"high bits", SYS_ioctl, {-1, HIGH | allowed[i], BAD}, 0, true},
                };
                RUN(r);
        }
}

TEST(pid_1_is_out_of_reach) {
        static unsigned long mask = 1, old[2];
        const unsigned long m = (unsigned long)&mask, o = (unsigned long)old;
        const unsigned long class_none = 7ul << 13; /* no such class: EINVAL before anything is looked up */
        const struct row rows[] = {
                /* Resource 999 does not exist: EINVAL where no filter is. */
                {"prlimit of 1", SYS_prlimit64, {1, 999, m, 0}, EPERM, false},
                {"prlimit of 1, high bits", SYS_prlimit64, {HIGH | 1, 999, m, 0}, EPERM, false},
                {"prlimit of another", SYS_prlimit64, {(unsigned long)getppid(), 999, m, 0}, EPERM, true},
                {"prlimit of another, high bits", SYS_prlimit64, {HIGH | (unsigned long)getppid(), 999, m, 0}, EPERM,
                 true},
                {"prlimit, new at a low address only", SYS_prlimit64, {1, 999, 1, 0}, EPERM, true},
                {"prlimit, new at a high address only", SYS_prlimit64, {1, 999, 1ul << 32, 0}, EPERM, true},
                {"prlimit, looking at 1", SYS_prlimit64, {1, 999, 0, o}, 0, true},
                {"prlimit, looking at itself", SYS_prlimit64, {(unsigned long)getpid(), RLIMIT_NOFILE, 0, o}, 0, true},
                {"prlimit of itself", SYS_prlimit64, {0, 999, m, o}, 0, true},
                {"prlimit of itself, high bits", SYS_prlimit64, {HIGH, 999, m, o}, 0, true},
                {"setpriority of 1", SYS_setpriority, {PRIO_PROCESS, 1, 0}, EPERM, false},
                {"setpriority of 1, high bits", SYS_setpriority, {HIGH | PRIO_PROCESS, HIGH | 1, 0}, EPERM, false},
                {"setpriority of a group", SYS_setpriority, {PRIO_PGRP, 0x7fffffff, 0}, EPERM, true},
                {"setpriority of a user", SYS_setpriority, {PRIO_USER, 0x7ffffff0, 0}, EPERM, true},
                {"setpriority of nothing", SYS_setpriority, {99, 0, 0}, EPERM, true},
                {"setpriority of itself", SYS_setpriority, {PRIO_PROCESS, 0, 19}, 0, true},
                {"setpriority of itself, high bits", SYS_setpriority, {HIGH | PRIO_PROCESS, HIGH, 19}, 0, true},
                {"sched_setaffinity of 1", SYS_sched_setaffinity, {1, 8, BAD}, EPERM, true},
                {"sched_setaffinity of 1, high bits", SYS_sched_setaffinity, {HIGH | 1, 8, BAD}, EPERM, true},
                {"sched_setaffinity of itself", SYS_sched_setaffinity, {0, 8, m}, 0, true},
                {"sched_setscheduler of 1", SYS_sched_setscheduler, {1, 0, 0}, EPERM, true},
                {"sched_setscheduler of 1, high bits", SYS_sched_setscheduler, {HIGH | 1, 0, 0}, EPERM, true},
                {"sched_setscheduler of itself", SYS_sched_setscheduler, {0, 0, 0}, 0, true},
                {"sched_setparam of 1", SYS_sched_setparam, {1, 0}, EPERM, true},
                {"sched_setparam of 1, high bits", SYS_sched_setparam, {HIGH | 1, 0}, EPERM, true},
                {"sched_setparam of itself", SYS_sched_setparam, {0, 0}, 0, true},
                {"sched_setattr of 1", SYS_sched_setattr, {1, 0, 0}, EPERM, true},
                {"sched_setattr of 1, high bits", SYS_sched_setattr, {HIGH | 1, 0, 0}, EPERM, true},
                {"sched_setattr of itself", SYS_sched_setattr, {0, 0, 0}, 0, true},
                {"ioprio_set of 1", SYS_ioprio_set, {1, 1, class_none}, EPERM, true},
                {"ioprio_set of 1, high bits", SYS_ioprio_set, {HIGH | 1, HIGH | 1, class_none}, EPERM, true},
                {"ioprio_set of a group", SYS_ioprio_set, {2, 0, class_none}, EPERM, true},
                {"ioprio_set of a user", SYS_ioprio_set, {3, 0, class_none}, EPERM, true},
                {"ioprio_set of itself", SYS_ioprio_set, {1, 0, class_none}, 0, true},
                ALLOWED(getpriority, PRIO_PROCESS, 0),
                ALLOWED(sched_getaffinity, 1, 128, BAD),
                ALLOWED(sched_getattr, 0, BAD, 48, 0),
                /* what debuggers need */
                ALLOWED(ptrace, -1, 0, 0, 0),
                ALLOWED(process_vm_readv, 0x7fffffff, 0, 0, 0, 0, 0),
                ALLOWED(process_vm_writev, 0x7fffffff, 0, 0, 0, 0, 0),
                ALLOWED(kcmp, 0x7fffffff, 0x7fffffff, 0, 0, 0),
                ALLOWED(pidfd_open, 0x7fffffff, 0),
                ALLOWED(pidfd_getfd, -1, 0, 0),
                ALLOWED(pidfd_send_signal, -1, 0, 0, 0),
        };
        RUN(rows);
}

/* As a payload of the same uid: limits, renices and reschedules PID 1, by every number that the kernel takes for it. */
static int attack_pid_1(const void *arg) {
        static const unsigned long one[] = {1, HIGH | 1, 1ul << 32 | 1};
        struct rlimit64 low = {33, 33};
        struct sched_param idle = {0};

        for (size_t i = 0; i < ELEMENTSOF(one); i++) {
                syscall(SYS_prlimit64, one[i], (long)RLIMIT_NOFILE, &low, NULL);
                syscall(SYS_setpriority, HIGH | PRIO_PROCESS, one[i], 11L);
                syscall(SYS_setpriority, (long)PRIO_USER, 0L, 11L);
                syscall(SYS_sched_setscheduler, one[i], (long)SCHED_IDLE, &idle);
        }
        return 0;
}

/* PID 1 of a pid name space. 0 where the attack under the filter changed nothing and the bare one did; 1, 2, 3. */
static int be_pid_1(void) {
        struct rlimit before, now;
        int nice = getpriority(PRIO_PROCESS, 0); /* the suite may run under nice(1) */

        check(getpid() == 1 && getrlimit(RLIMIT_NOFILE, &before) == 0 && before.rlim_cur > 33);
        check(in_child(REAL, attack_pid_1, NULL) == 0);
        check(getrlimit(RLIMIT_NOFILE, &now) == 0);
        if (now.rlim_cur != before.rlim_cur || now.rlim_max != before.rlim_max)
                return 1;
        if (getpriority(PRIO_PROCESS, 0) != nice || sched_getscheduler(0) != SCHED_OTHER)
                return 2;
        check(in_child(BARE, attack_pid_1, NULL) == 0);
        check(getrlimit(RLIMIT_NOFILE, &now) == 0);
        return now.rlim_cur == 33 && getpriority(PRIO_PROCESS, 0) == 11 && sched_getscheduler(0) == SCHED_IDLE ? 0 : 3;
}

/* The result of be_pid_1(), 9 where it died, 77 where there are no user name spaces. */
static int with_pid_1(const void *arg) {
        int status;
        pid_t pid;

        if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
                return 77;
        pid = fork();
        if (pid == 0) {
                int r = be_pid_1();

                fflush(stdout);
                _exit(r);
        }
        return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}

TEST(pid_1_keeps_its_limits) {
        int r = in_child(BARE, with_pid_1, NULL);

        if (r == 77)
                skip("no user name spaces here");
        if (r != 0)
                printf("# result %d\n", r);
        check(r == 0);
}

TEST(nodes_and_personality) {
        static const struct row rows[] = {
                {"mknodat char", SYS_mknodat, {-1, BAD, S_IFCHR | 0600, 0x103}, EPERM, true},
                {"mknodat block", SYS_mknodat, {-1, BAD, S_IFBLK | 0600, 0x103}, EPERM, true},
                {"mknodat char, high bits", SYS_mknodat, {-1, BAD, HIGH | 0x10000 | S_IFCHR, 0}, EPERM, true},
                {"mknodat fifo", SYS_mknodat, {-1, BAD, S_IFIFO | 0600, 0}, 0, true},
                {"mknodat file", SYS_mknodat, {-1, BAD, S_IFREG | 0600, 0}, 0, true},
                {"mknodat file, no type", SYS_mknodat, {-1, BAD, 02755, 0}, 0, true},
                {"mknodat socket", SYS_mknodat, {-1, BAD, S_IFSOCK | 0600, 0}, 0, true},
#ifdef SYS_mknod
                {"mknod char", SYS_mknod, {BAD, S_IFCHR | 0600, 0x103}, EPERM, true},
                {"mknod block", SYS_mknod, {BAD, S_IFBLK | 0600, 0x103}, EPERM, true},
                {"mknod fifo", SYS_mknod, {BAD, S_IFIFO | 0600, 0}, 0, true},
                {"chmod setgid", SYS_chmod, {BAD, 02755}, 0, true},
#endif
                {"fchmodat setgid", SYS_fchmodat, {-1, BAD, 02755}, 0, true},
                {"fchmodat2", 452, {-1, BAD, 02755, 0}, 0, true},
                {"personality of old uname", SYS_personality, {0x20000}, EPERM, true},
                {"personality of old uname, high bits", SYS_personality, {HIGH | 0x20000}, EPERM, true},
                {"personality of executable data", SYS_personality, {0x400000}, EPERM, true},
                {"personality of zero page", SYS_personality, {0x100000}, EPERM, true},
                {"personality none", SYS_personality, {0}, 0, true},
                {"personality query", SYS_personality, {0xffffffff}, 0, true},
                {"personality query, sign extended", SYS_personality, {-1ul}, 0, true},
                {"personality linux32", SYS_personality, {8}, 0, true},
                {"personality for gdb", SYS_personality, {0x40000}, 0, true},
        };
        RUN(rows);
}

TEST(today_and_tomorrow) {
        /* The kernel's own answer, ENOSYS where it is older, comes through unchanged. */
        static const struct row rows[] = {
                ALLOWED(rseq, BAD, 0, 0, 0),
                ALLOWED(membarrier, 0, 0, 0),
                ALLOWED(faccessat2, -1, BAD, 0, 0),
                ALLOWED(close_range, 1000, 1000, 0),
                ALLOWED(epoll_pwait2, -1, 0, 0, 0, 0, 0),
                ALLOWED(copy_file_range, -1, 0, -1, 0, 0, 0),
                ALLOWED(preadv2, -1, 0, 0, 0, 0, 0),
                ALLOWED(getrandom, 0, 0, 0),
                ALLOWED(mbind, 1, 0, 0, 0, 0, 0),
                ALLOWED(set_mempolicy, -1, 0, 0),
                ALLOWED(get_mempolicy, 0, 0, 0, 0, 99),
                ALLOWED(process_mrelease, -1, 0),
                ALLOWED(landlock_create_ruleset, BAD, 0, 2),
                ALLOWED(landlock_add_rule, -1, 0, 0, 0),
                ALLOWED(landlock_restrict_self, -1, 0),
                ALLOWED(seccomp, 99, 0, 0),
                ALLOWED(prctl, PR_GET_DUMPABLE, 0, 0, 0, 0),
                ALLOWED(futex, BAD, 99, 0, 0, 0, 0),
                ALLOWED(futex_waitv, BAD, 0, 0, 0, 0),
                ALLOWED(semget, 0, -1, 0),
                ALLOWED(shmctl, -1, 0, 0),
                ALLOWED(msgctl, -1, 0, 0),
                ALLOWED(mq_open, BAD, 0, 0, 0),
                ALLOWED(capset, BAD, BAD),
                ALLOWED(setresuid, -1, -1, -1),
                ALLOWED(listxattr, BAD, 0, 0),
                {"cachestat", 451, {-1, 0, 0, 0}, 0, true},
                {"map_shadow_stack", 453, {0, 0, 99}, 0, true},
                {"futex_wake", 454, {BAD, 0, 0, 0}, 0, true},
                {"futex_wait", 455, {BAD, 0, 0, 0, 0, 0}, 0, true},
                {"futex_requeue", 456, {BAD, 0, 0, 0}, 0, true},
                {"mseal", 462, {1, 1, 1}, 0, true},
                {"getxattrat", 464, {-1, BAD, 0, BAD, BAD, 0}, 0, true},
                {"file_getattr", 468, {-1, BAD, BAD, 0, 0}, 0, true},
        };
        RUN(rows);
}

TEST(unknown_numbers) {
        static const struct row rows[] = {
                {"4095", 4095, {0}, ENOSYS, false},
                {"just above", 500, {0}, ENOSYS, false},
                {"-2", -2, {0}, ENOSYS, false},
                {"0x80000000", 0x80000000l, {0}, ENOSYS, false},
#ifdef __x86_64__
                {"in the gap", 400, {0}, ENOSYS, false},
                {"x32 getpid", 0x40000000 | 39, {0}, ENOSYS, false},
                {"x32 mount", 0x40000000 | 165, {0}, ENOSYS, false},
                {"x32 execve", 0x40000000 | 520, {0}, ENOSYS, false},
                {"x32 number without its bit", 520, {0}, ENOSYS, false},
#endif
        };
        RUN(rows);
}

#ifdef __x86_64__
/* A call by the 32-bit entry, by its 32-bit number; the result, or negative errno. */
static int call_32(const void *arg) {
        long r;

        __asm__ volatile("int $0x80"
                         : "=a"(r)
                         : "a"((long)*(const int *)arg), "b"(0L), "c"(0L), "d"(0L)
                         : "memory", "r8", "r9", "r10", "r11");
        return (int)r;
}

TEST(entry_32_bit) {
        int getpid_32 = 20, umask_32 = 60, keyctl_32 = 288;

        if (in_child(BARE, call_32, &getpid_32) <= 0)
                skip("the kernel has no 32-bit entry");
        check(in_child(BARE, call_32, &umask_32) >= 0);
        check(in_child(REAL, call_32, &getpid_32) == -ENOSYS);
        check(in_child(REAL, call_32, &umask_32) == -ENOSYS);
        check(in_child(REAL, call_32, &keyctl_32) == -ENOSYS);
        check(in_child(MARKED, call_32, &getpid_32) == -ENOSYS - MARK);
        check(in_child(MARKED, call_32, &keyctl_32) == -ENOSYS - MARK);
}
#endif

/* What the supervisor's loop does, in a child that has one of its own to end; 0 where all works. */
static int supervise(const void *arg) {
        struct sock_fprog prog = {ELEMENTSOF(seccomp_supervisor), (struct sock_filter *)seccomp_supervisor};
        struct itimerspec soon = {.it_value.tv_nsec = 1000000};
        struct epoll_event ev = {.events = EPOLLIN};
        char dir[] = "/tmp/test-seccomp-XXXXXX", buf[256];
        int ep, timer, pidfd, fd;
        sigset_t set;
        siginfo_t si;
        pid_t pid;

        pid = fork();
        if (pid == 0) {
                pause();
                _exit(0);
        }
        if (pid < 0 || !mkdtemp(dir) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) != 0)
                return 1;
        ep = epoll_create1(EPOLL_CLOEXEC);
        timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
        pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        if (ep < 0 || timer < 0 || pidfd < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0 || signalfd(-1, &set, 0) < 0)
                return 2;
        if (timerfd_settime(timer, 0, &soon, NULL) < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, timer, &ev) < 0 ||
            epoll_wait(ep, &ev, 1, 1000) != 1)
                return 3;
        fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, buf, sizeof(buf)) <= 0 || close(fd) < 0)
                return 4;
        if (chdir(dir) == 0 || errno != EPERM) /* it works by directory fds */
                return 5;
        fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || mkdirat(fd, "d", 0700) < 0 || renameat(fd, "d", fd, "e") < 0 ||
            unlinkat(fd, "e", AT_REMOVEDIR) < 0 || rmdir(dir) < 0)
                return 6;
        /* What it has no business with; the sockets worked before. */
        if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EPERM || socket(AF_INET, SOCK_STREAM, 0) >= 0 ||
            errno != EPERM)
                return 7;
        if (execl("/bin/true", "true", NULL) == 0 || errno != EPERM ||
            syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) >= 0 || errno != EPERM)
                return 8;
        pid_t walker = fork(); /* counts the upper layer */
        if (walker == 0)
                _exit(0);
        if (walker < 0 || waitpid(walker, NULL, 0) != walker)
                return 12;
        if (syscall(4095) == 0 || errno != EPERM || unshare(0) == 0 || errno != EPERM)
                return 9;
        if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0 || waitid(P_PID, (id_t)pid, &si, WEXITED) < 0)
                return 10;
        return si.si_code == CLD_KILLED ? 0 : 11;
}

TEST(supervisor_list) {
        int r = in_child(BARE, supervise, NULL);

        if (r != 0)
                printf("# step %d failed\n", r);
        check(r == 0);
}

/* Types a character into a terminal of its own; 1 where it arrived, 0 where TIOCSTI was refused and nothing did. */
static int type_into_terminal(const void *arg) {
        int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
        const unsigned long *request = arg;
        struct termios t;
        struct pollfd p;
        char c = 'x', name[64];
        long r;

        if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 || ptsname_r(master, name, sizeof(name)) != 0)
                return -2;
        slave = open(name, O_RDWR | O_NOCTTY);
        if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0 || tcgetattr(slave, &t) < 0)
                return -2;
        t.c_lflag &= ~(tcflag_t)ICANON;
        if (tcsetattr(slave, TCSANOW, &t) < 0)
                return -2;
        r = syscall(SYS_ioctl, (long)slave, *request, &c);
        p = (struct pollfd){.fd = slave, .events = POLLIN};
        if (poll(&p, 1, 50) == 1)
                return 1;
        return r < 0 && errno == EPERM ? 0 : -3;
}

TEST(tiocsti_types_nothing) {
        unsigned long plain = TIOCSTI, high = HIGH | TIOCSTI;
        int bare = in_child(BARE, type_into_terminal, &plain);

        check(in_child(REAL, type_into_terminal, &plain) == 0);
        check(in_child(REAL, type_into_terminal, &high) == 0);
        if (bare != 1)
                skip("the kernel refuses TIOCSTI by itself (dev.tty.legacy_tiocsti)");
}

static void *thread(void *arg) {
        *(int *)arg = 7;
        return NULL;
}

/* Each a thing that programs do; 0 where all work. */
static int ordinary_life(const void *arg) {
        struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
        struct sock_fprog own = {1, &allow};
        char *const argv[] = {(char *)"true", NULL}, *const envp[] = {NULL};
        char dir[] = "/tmp/test-seccomp-XXXXXX", path[64];
        int sv[2], seen = 0, status, fd;
        struct stat st;
        pthread_t t;
        pid_t pid;

        if (pthread_create(&t, NULL, thread, &seen) != 0 || pthread_join(t, NULL) != 0 || seen != 7)
                return 1;
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, envp) != 0 || waitpid(pid, &status, 0) != pid ||
            status != 0)
                return 2;
        fd = memfd_create("test", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, 4096) < 0 || mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
                return 3;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0 || write(sv[0], "x", 1) != 1)
                return 4;
        if (nice(1) == -1)
                return 5;
        if (!mkdtemp(dir))
                return 6;
        snprintf(path, sizeof(path), "%s/node", dir);
        if (mknod(path, S_IFCHR | 0600, 0x103) == 0 || errno != EPERM || lstat(path, &st) == 0)
                return 7;
        if (mkfifo(path, 0600) < 0 || lstat(path, &st) < 0 || !S_ISFIFO(st.st_mode) || unlink(path) < 0 ||
            rmdir(dir) < 0)
                return 8;
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &own) != 0)
                return 9;
        if (unshare(CLONE_NEWUSER) == 0 || errno != EPERM)
                return 10;
        return 0;
}

TEST(ordinary_programs) {
        int r = in_child(REAL, ordinary_life, NULL);

        if (r != 0)
                printf("# step %d failed\n", r);
        check(r == 0);
}

TAP_MAIN
