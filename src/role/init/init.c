/* belljar-init: PID 1 of a sandbox. Lives in the outer user namespace, holds nothing of the host, reaps what is
 * orphaned, starts the command in an inner user namespace with every control applied, and reports.
 *
 * The command may have the same uid. What keeps it away from PID 1: another user namespace and no dumpable memory
 * (ptrace, /proc/1/mem, pidfd_getfd), no signal handlers (the kernel drops what a PID 1 has no handler for; SIGCHLD is
 * read from a signalfd and only causes a look at the children), Landlock's signal scope, and the seccomp list, which
 * refuses prlimit, priorities and scheduling of PID 1 and of process groups and users.
 *
 * Freestanding: no libc, no allocation; argv is the command, envp its environment, and struct init_config comes over
 * the socket at CTL_FD. Executed by the launcher. */
#include <asm/unistd.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/signal.h>
#include <linux/wait.h>

#include "proto/init-msg.h"
#include "sys/raw-syscall.h"
#include "generated/seccomp-groups.h"
#include "generated/seccomp-inert.h"
#include "generated/seccomp-nested.h"
#include "generated/seccomp-process.h"

enum { CTL_FD = 3 };

#ifndef LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF
#define LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF 1u
#endif
#define MSG_NOSIGNAL_ 0x4000
#define SIGSET_SIZE 8
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1u << 5) /* 5.19 */
#endif
#define POLLIN_ 1
#define POLLHUP_ 16
#define SFD_FLAGS (02000000 | 04000) /* SFD_CLOEXEC | SFD_NONBLOCK */
#define O_CLOEXEC_ 02000000
#define TIOCSCTTY_ 0x540e
#define TIOCSPGRP_ 0x5410

struct pollfd_ {
        int fd;
        short events, revents;
};

static struct init_config config;
static int paused; /* by INIT_PAUSE: stops are our own doing */

/* The compiler emits calls to these for struct copies (and must not see these loops as such: -fno-builtin). */
void *memcpy(void *d, const void *s, size_t n);
void *memset(void *d, int c, size_t n);
void *memcpy(void *d, const void *s, size_t n) {
        for (size_t i = 0; i < n; i++)
                ((char *)d)[i] = ((const char *)s)[i];
        return d;
}
void *memset(void *d, int c, size_t n) {
        for (size_t i = 0; i < n; i++)
                ((char *)d)[i] = (char)c;
        return d;
}
static size_t len(const char *s) {
        size_t n = 0;
        while (s[n])
                n++;
        return n;
}

static void quit(int code) {
        for (;;)
                sc(__NR_exit_group, code);
}

static void tell(struct init_msg *m) {
        sc(__NR_sendto, CTL_FD, m, sizeof(*m), MSG_NOSIGNAL_, 0, 0);
}

static void fail(const char *what, long err) {
        struct init_msg m = {.type = INIT_LAUNCH_FAILED, .errnum = (int)-err};
        size_t n = len(what);
        memcpy(m.text, what, n < sizeof(m.text) ? n : sizeof(m.text) - 1);
        tell(&m);
        quit(125);
}

static long write_file(const char *path, const char *text) {
        long fd = sc(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC_);
        if (fd < 0)
                return fd;
        long r = sc(__NR_write, fd, text, len(text));
        sc(__NR_close, fd);
        return r < 0 ? r : 0;
}

/* "/proc/PID/NAME" */
static void proc_path(char *d, long pid, const char *name) {
        char digits[20];
        int n = 0;
        memcpy(d, "/proc/", 6);
        d += 6;
        do
                digits[n++] = (char)('0' + pid % 10);
        while ((pid /= 10) > 0);
        while (n > 0)
                *d++ = digits[--n];
        *d++ = '/';
        memcpy(d, name, len(name) + 1);
}

static void drop_capabilities(uint64_t keep) {
        struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct d[2] = {
                {.effective = (uint32_t)keep, .permitted = (uint32_t)keep},
                {.effective = (uint32_t)(keep >> 32), .permitted = (uint32_t)(keep >> 32)},
        };
        long r = 0;
        for (int c = 0; c < 64 && r == 0; c++)
                if (!(keep >> c & 1))
                        r = sc(__NR_prctl, PR_CAPBSET_DROP, c, 0, 0, 0);
        if (r == -EINVAL) /* past the kernel's last capability */
                r = 0;
        if (r < 0 || (r = sc(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)) < 0 ||
            (r = sc(__NR_capset, &h, d)) < 0)
                fail("the capabilities cannot be dropped", r);
}

static void read_back(struct init_readback *rb, int landlock) {
        struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct d[2] = {};

        rb->uid = (uint32_t)sc(__NR_getuid);
        rb->gid = (uint32_t)sc(__NR_getgid);
        rb->no_new_privs = (uint32_t)sc(__NR_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
        rb->seccomp_mode = (uint32_t)sc(__NR_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);
        rb->landlock = (uint32_t)landlock;
        sc(__NR_capget, &h, d);
        rb->cap_effective = d[0].effective | (uint64_t)d[1].effective << 32;
        rb->cap_permitted = d[0].permitted | (uint64_t)d[1].permitted << 32;
        rb->cap_inheritable = d[0].inheritable | (uint64_t)d[1].inheritable << 32;
        for (int c = 0; c < 64; c++) {
                long b = sc(__NR_prctl, PR_CAPBSET_READ, c, 0, 0, 0);
                if (b < 0)
                        break;
                if (b == 1)
                        rb->cap_bounding |= 1ull << c;
                /* Ambient capabilities are permitted ones (capabilities(7)). */
                if (rb->cap_permitted && sc(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, c, 0, 0) == 1)
                        rb->cap_ambient |= 1ull << c;
        }
}

/* execvpe as the shell does it; returns the errno to report. */
static long exec_command(char **argv, char **envp) {
        static char path[INIT_MAX_PATH + 256];
        const char *list = "/usr/local/bin:/usr/bin:/bin";
        long err = -ENOENT;

        for (const char *p = argv[0]; *p; p++)
                if (*p == '/')
                        return sc(__NR_execve, argv[0], argv, envp);
        for (char **e = envp; *e; e++)
                if ((*e)[0] == 'P' && (*e)[1] == 'A' && (*e)[2] == 'T' && (*e)[3] == 'H' && (*e)[4] == '=')
                        list = *e + 5;
        size_t n = len(argv[0]);
        while (*argv[0]) {
                size_t k = 0;
                while (list[k] && list[k] != ':')
                        k++;
                /* An empty part would mean the working directory, which is the agent's to write: skipped. */
                if (k > 0 && k + 1 + n + 1 <= sizeof(path)) {
                        memcpy(path, list, k);
                        path[k] = '/';
                        memcpy(path + k + 1, argv[0], n + 1);
                        long r = sc(__NR_execve, path, argv, envp);
                        if (r != -ENOENT && r != -ENOTDIR && r != -EACCES)
                                return r;
                        if (r == -EACCES)
                                err = r;
                }
                if (!list[k])
                        break;
                list += k + 1;
        }
        return err;
}

/* The inner user namespace. `to` and `from` are pipes to and from init, which writes the maps where they have more
 * than one line; a single id is written by the process itself. */
static void enter_inner_namespace(int to, int from) {
        long r;
        char byte = 0;

        /* Its /proc files must belong to its own uid while the maps are written. Nobody can trace it yet: it still has
         * another user namespace than everything that runs inside. */
        sc(__NR_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
        r = sc(__NR_unshare, CLONE_NEWUSER);
        if (r < 0)
                fail("the inner user namespace cannot be made", r);
        if (config.setgroups_deny) {
                if ((r = write_file("/proc/self/setgroups", "deny")) < 0 ||
                    (r = write_file("/proc/self/uid_map", config.uid_map)) < 0 ||
                    (r = write_file("/proc/self/gid_map", config.gid_map)) < 0)
                        fail("the inner user namespace cannot be mapped", r);
        } else {
                r = sc(__NR_write, to, &byte, 1);
                if (r == 1)
                        r = sc(__NR_read, from, &byte, 1);
                if (r != 1) /* init has said why, if it could */
                        fail("the inner user namespace was not mapped", r < 0 ? r : -EPIPE);
        }
}

/* The short turns of Belljar's own processes (process_short_turns) are not for the command. */
static void usual_turns(void) {
        struct {
                uint32_t size, policy;
                uint64_t flags;
                int32_t nice;
                uint32_t priority;
                uint64_t runtime, deadline, period;
        } a = {.size = sizeof(a)};
        /* getpriority(2), the system call: 20 - nice. */
        long p = sc(__NR_getpriority, 0, 0);
        if (p > 0) {
                a.nice = (int32_t)(20 - p);
                sc(__NR_sched_setattr, 0, &a, 0);
        }
}

/* Every execve(2) waits for the tracer from here on, and the start of each C library shows itself (role/tracer). What a program
 * runs is told by the kernel, and PR_SET_MM could change that. Foreign calls are the other filter's to refuse. */
static long trace(void) {
#if defined(__x86_64__)
        const uint32_t native = AUDIT_ARCH_X86_64;
#else
        const uint32_t native = AUDIT_ARCH_AARCH64;
#endif
        struct sock_filter f[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, __builtin_offsetof(struct seccomp_data, arch)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, native, 0, 7),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, __builtin_offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_execve, 6, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_execveat, 5, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_set_tid_address, 4, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 2),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, __builtin_offsetof(struct seccomp_data, args[0])), /* its low half: an int */
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_MM, 2, 0),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        };
        const struct sock_fprog prog = {.len = sizeof(f) / sizeof(f[0]), .filter = f};
        return sc(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &prog);
}

/* The listener leaves: whoever held it inside could let everything pass, and a tracer that is gone would not be noticed. */
static void hand_over_listener(void) {
        struct init_msg m = {.type = INIT_TRACE};
        struct { void *base; size_t n; } data = {&m, sizeof(m)};
        struct { size_t n; int level, type, fd, pad; } control = {.n = 20, .level = 1 /* SOL_SOCKET */, .type = 1 /* SCM_RIGHTS */};
        struct {
                void *name; uint64_t name_size;
                void *data; size_t n_data;
                void *control; size_t control_size;
                int64_t flags;
        } h = {.data = &data, .n_data = 1, .control = &control, .control_size = sizeof(control)};
        long fd = trace();

        if (fd < 0)
                fail(fd == -EBUSY ? "what runs cannot be traced: Belljar itself is under another tracer of this kind, and the kernel has one a process\n"
                                    "run it outside of that, or with --trace off"
                                  : "what runs cannot be traced\nLinux 5.19 or newer is needed; --trace off goes on without", fd);
        control.fd = (int)fd;
        long r = sc(__NR_sendmsg, CTL_FD, &h, MSG_NOSIGNAL_);
        if (r < 0)
                fail("the tracer's listener cannot be handed over", r);
        sc(__NR_close, fd);
}

static void payload(char **argv, char **envp, const int up[2], const int down[2]) {
        long r;
        int landlock = 0;
        uint64_t none = 0;

        /* init's ends: while they were open here, too, neither would see the other's end. */
        sc(__NR_close, up[0]);
        sc(__NR_close, down[1]);
        if (config.tty_fd >= 0) {
                /* The first job of a terminal session whose leader is init: in its own process group, which is not
                 * orphaned, so that ^Z stops it as under a shell. */
                uint64_t ttou = 1ull << (22 - 1);
                int pgrp = (int)sc(__NR_getpid);
                sc(__NR_rt_sigprocmask, SIG_BLOCK, &ttou, 0, SIGSET_SIZE);
                sc(__NR_setpgid, 0, 0);
                r = sc(__NR_ioctl, config.tty_fd, TIOCSPGRP_, &pgrp);
                if (r < 0)
                        fail("the terminal's foreground cannot be set", r);
        } else
                sc(__NR_setsid);
        if (config.set_ids) {
                if ((r = sc(__NR_setgroups, config.n_groups, config.groups)) < 0 ||
                    (r = sc(__NR_setresgid, config.gid, config.gid, config.gid)) < 0 ||
                    (r = sc(__NR_setresuid, config.uid, config.uid, config.uid)) < 0)
                        fail("the sandbox's user cannot be taken", r);
        }
        for (int i = 0; i < INIT_N_RLIMITS; i++) {
                struct { uint64_t soft, hard; } l = {config.rlimits[i].soft, config.rlimits[i].hard};
                if (config.rlimits[i].set && (r = sc(__NR_prlimit64, 0, config.rlimits[i].resource, &l, 0)) < 0)
                        fail("a resource limit cannot be set", r);
        }
        usual_turns();
        enter_inner_namespace(up[1], down[0]);
        if ((r = sc(__NR_chdir, config.cwd)) < 0)
                fail("the working directory cannot be entered", r);
        sc(__NR_umask, config.umask);
        if ((r = sc(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) < 0)
                fail("no_new_privs cannot be set", r);
        drop_capabilities(config.capabilities);
        if (config.landlock_fd >= 0) {
                /* A hostile command could flood the host's audit log with denials: they are not logged. */
                uint32_t flags = config.landlock_abi >= 7 ? LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF : 0;
                r = sc(__NR_landlock_restrict_self, config.landlock_fd, flags);
                if (r < 0)
                        fail("Landlock cannot be put in force", r);
                landlock = 1;
        }
        r = sc(__NR_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
        if (r < 0)
                fail("inherited file descriptors cannot be closed", r);
        sc(__NR_rt_sigprocmask, SIG_SETMASK, &none, 0, SIGSET_SIZE);

        struct sock_fprog prog = {
                .len = sizeof(seccomp_process) / sizeof(seccomp_process[0]),
                .filter = (struct sock_filter *)(uintptr_t)seccomp_process,
        };
        if (config.nesting)
                prog = (struct sock_fprog){
                        .len = sizeof(seccomp_nested) / sizeof(seccomp_nested[0]),
                        .filter = (struct sock_filter *)(uintptr_t)seccomp_nested,
                };
        const struct sock_fprog inert = {
                .len = sizeof(seccomp_inert) / sizeof(seccomp_inert[0]),
                .filter = (struct sock_filter *)(uintptr_t)seccomp_inert,
        };
        const struct sock_fprog groups = {
                .len = sizeof(seccomp_groups) / sizeof(seccomp_groups[0]),
                .filter = (struct sock_filter *)(uintptr_t)seccomp_groups,
        };
        /* The last one loaded must allow seccomp(2) until then. */
        if (config.no_groups && (r = sc(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &groups)) < 0)
                fail("the system call filter cannot be loaded", r);
        if (config.writes_through && (r = sc(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &inert)) < 0)
                fail("the system call filter cannot be loaded", r);
        if (config.trace)
                hand_over_listener();
        r = sc(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
        if (r < 0)
                fail("the system call filter cannot be loaded", r);

        struct init_msg m = {.type = INIT_STARTED};
        read_back(&m.readback, landlock);
        tell(&m);
        r = exec_command(argv, envp);
        m = (struct init_msg){.type = INIT_EXEC_FAILED, .errnum = (int)-r};
        tell(&m);
        quit(r == -ENOENT || r == -ENOTDIR ? 127 : 126);
}

static void write_inner_maps(long pid) {
        char path[64];
        long r;

        proc_path(path, pid, "uid_map");
        if ((r = write_file(path, config.uid_map)) < 0)
                fail("the inner uid map cannot be written", r);
        proc_path(path, pid, "gid_map");
        if ((r = write_file(path, config.gid_map)) < 0)
                fail("the inner gid map cannot be written", r);
}

static long start(char **argv, char **envp) {
        int up[2] = {-1, -1}, down[2] = {-1, -1};
        char byte = 0;
        long r;

        if ((r = sc(__NR_pipe2, up, O_CLOEXEC_)) < 0 || (r = sc(__NR_pipe2, down, O_CLOEXEC_)) < 0)
                fail("a pipe cannot be made", r);
        long pid = sc(__NR_clone, 17 /* SIGCHLD */, 0, 0, 0, 0);
        if (pid < 0)
                fail("a process cannot be made", pid);
        if (pid == 0)
                payload(argv, envp, up, down);
        sc(__NR_close, up[1]);
        sc(__NR_close, down[0]);
        if (!config.setgroups_deny) {
                r = sc(__NR_read, up[0], &byte, 1);
                if (r == 1) {
                        write_inner_maps(pid);
                        drop_capabilities(1ull << CAP_KILL); /* before the command runs: to signal it, nothing else */
                        r = sc(__NR_write, down[1], &byte, 1);
                }
                if (r != 1) /* also where the other has said why, and ended */
                        fail("the command's process does not get ready", r < 0 ? r : -EPIPE);
        }
        sc(__NR_close, up[0]);
        sc(__NR_close, down[1]);
        if (config.landlock_fd >= 0)
                sc(__NR_close, config.landlock_fd);
        return pid;
}

/* Kills what the command left running and waits until it is gone: once init says that the run is over, nothing in the
 * sandbox can change a file any more. Nothing can be made meanwhile: kill(-1) reaches every process but init. */
static void end_all(void) {
        int status;
        while (sc(__NR_kill, -1, 9) == 0)
                while (sc(__NR_wait4, -1, &status, __WALL, 0) > 0)
                        ;
}

/* Reaps everything; tells of the command's end and, under a terminal, of its stops. */
static void reap(long main_pid) {
        for (;;) {
                int status = 0;
                /* __WALL: also children that a clone without SIGCHLD left to us. */
                long pid = sc(__NR_wait4, -1, &status, WNOHANG | WUNTRACED | __WALL, 0);
                if (pid <= 0)
                        return;
                if (pid != main_pid)
                        continue;
                struct init_msg m = {.status = status};
                if ((status & 0xff) == 0x7f) {
                        m.type = INIT_STOPPED;
                        m.status = status >> 8 & 0xff;
                        if (config.tty_fd >= 0 && !paused)
                                tell(&m);
                        continue;
                }
                end_all();
                m.type = INIT_EXITED;
                tell(&m);
                quit(0);
        }
}

static void obey(long main_pid) {
        struct init_msg m = {};
        long n = sc(__NR_recvfrom, CTL_FD, &m, sizeof(m), 0, 0, 0);

        if (n != sizeof(m))
                quit(0); /* the supervisor is gone */
        if (m.type == INIT_SIGNAL)
                sc(__NR_kill, main_pid, m.status);
        else if (m.type == INIT_PAUSE || m.type == INIT_RESUME) {
                paused = m.type == INIT_PAUSE;
                sc(__NR_kill, -1, paused ? 19 /* SIGSTOP */ : 18 /* SIGCONT */);
                if (paused) {
                        m = (struct init_msg){.type = INIT_PAUSED};
                        tell(&m);
                }
        } else if (m.type == INIT_CONTINUE) {
                int pgrp = (int)main_pid;
                if (config.tty_fd >= 0)
                        sc(__NR_ioctl, config.tty_fd, TIOCSPGRP_, &pgrp);
                sc(__NR_kill, -main_pid, 18 /* SIGCONT */);
        }
}

int init_main(long *stack);
int init_main(long *stack) {
        long argc = stack[0];
        char **argv = (char **)(stack + 1), **envp = argv + argc + 1;
        uint64_t chld = 1ull << (17 - 1), ttou = 1ull << (22 - 1);
        long r;

        sc(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
        sc(__NR_prctl, PR_SET_PDEATHSIG, 9, 0, 0, 0);
        if (argc < 2 || sc(__NR_recvfrom, CTL_FD, &config, sizeof(config), 0, 0, 0) != sizeof(config))
                quit(125);
        sc(__NR_rt_sigprocmask, SIG_BLOCK, &chld, 0, SIGSET_SIZE);
        long sfd = sc(__NR_signalfd4, -1, &chld, SIGSET_SIZE, SFD_FLAGS);
        if (sfd < 0)
                fail("a signalfd cannot be made", sfd);
        sc(__NR_setsid);
        if (config.tty_fd >= 0) {
                sc(__NR_rt_sigprocmask, SIG_BLOCK, &ttou, 0, SIGSET_SIZE);
                r = sc(__NR_ioctl, config.tty_fd, TIOCSCTTY_, 0);
                if (r < 0)
                        fail("the terminal cannot be taken", r);
        }
        long pid = start(argv + 1, envp);

        for (int fd = 0; fd < 3; fd++)
                sc(__NR_close, fd); /* a reader of the command's output must see its end */
        for (;;) {
                struct pollfd_ p[2] = {{CTL_FD, POLLIN_, 0}, {(int)sfd, POLLIN_, 0}};
                struct { uint64_t data[16]; } info;
                r = sc(__NR_ppoll, p, 2, 0, 0, 0);
                if (r < 0 && r != -EINTR)
                        quit(125);
                if (p[1].revents) {
                        while (sc(__NR_read, sfd, &info, sizeof(info)) > 0)
                                ;
                        reap(pid);
                }
                if (p[0].revents)
                        obey(pid);
        }
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall init_main\n\thlt\n");
#else
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tmov x0, sp\n\tbl init_main\n\tbrk #1\n");
#endif
