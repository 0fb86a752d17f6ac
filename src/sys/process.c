/* Processes, see process.h. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/process.h"

#define TREE_MAX_DEPTH 512 /* a chain of parents longer than this is not followed further */

pid_t process_clone(uint64_t flags, int cgroup_fd, int *ret_pidfd) {
        int pidfd = -1;
        struct clone_args a = {
                .flags = flags | CLONE_PIDFD | (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
                .pidfd = (uint64_t)(uintptr_t)&pidfd,
                .exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD, /* clone(2): that of the caller then */
                .cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
        };
        long pid = syscall(SYS_clone3, &a, sizeof(a));
        if (pid < 0)
                return -errno;
        if (pid > 0)
                *ret_pidfd = pidfd;
        return (pid_t)pid;
}

int process_map_ids(pid_t pid, const char *uid_map, const char *gid_map, int setgroups_deny) {
        char dir[40];
        int r;

        if (pid == 0)
                snprintf(dir, sizeof(dir), "/proc/self");
        else
                snprintf(dir, sizeof(dir), "/proc/%d", (int)pid);
        _cleanup_fd_ int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (setgroups_deny && (r = file_poke(fd, "setgroups", "deny")) < 0)
                return r;
        r = file_poke(fd, "uid_map", uid_map);
        if (r < 0)
                return r;
        return file_poke(fd, "gid_map", gid_map);
}

static int end_at_once(void *arg) {
        (void)arg;
        _exit(0);
}

int process_userns(const char *uid_map, const char *gid_map) {
        /* Nothing but an _exit(2) runs on it, in the parent's memory and while the parent waits (CLONE_VFORK): no page table is
         * copied. The dead process keeps its namespace until it is reaped. */
        _Alignas(16) char stack[16384];
        char path[40];
        int r, fd;

        pid_t pid = clone(end_at_once, stack + sizeof(stack), CLONE_NEWUSER | CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
        if (pid < 0)
                return -errno;
        r = process_map_ids(pid, uid_map, gid_map, 0);
        if (r == 0) {
                snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
                fd = open(path, O_RDONLY | O_CLOEXEC);
                r = fd < 0 ? -errno : fd;
        }
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        return r;
}

static int set_caps(uint64_t caps, uint64_t inheritable) {
        struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct d[2] = {
                {.effective = (uint32_t)caps, .permitted = (uint32_t)caps, .inheritable = (uint32_t)inheritable},
                {.effective = (uint32_t)(caps >> 32), .permitted = (uint32_t)(caps >> 32),
                 .inheritable = (uint32_t)(inheritable >> 32)},
        };
        for (int c = 0; c < 64; c++)
                if (!(caps >> c & 1) && prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0) {
                        if (errno == EINVAL)
                                break; /* past the kernel's last */
                        return -errno;
                }
        if (syscall(SYS_capset, &h, d) < 0 || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
                return -errno;
        return 0;
}

int process_drop_caps(uint64_t caps) { return set_caps(caps, 0); }

int process_keep_caps(uint64_t caps) {
        int r = set_caps(caps, caps);

        for (int c = 0; r == 0 && c < 64; c++)
                if ((caps >> c & 1) && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, c, 0, 0) < 0)
                        r = -errno;
        return r;
}

bool process_is_root(void) {
        static int known = -1;

        if (known < 0) {
                _cleanup_free_ char *map = NULL;
                unsigned long inside, outside, n;
                /* Where it cannot be told, it is taken for root of the host, whose id must not be mapped: in a container
                 * the range of ids is then refused by the kernel. */
                bool told = geteuid() == 0 && file_read(AT_FDCWD, "/proc/self/uid_map", 65536, &map, NULL) == 0 &&
                            sscanf(map, "%lu %lu %lu", &inside, &outside, &n) == 3;
                known = geteuid() == 0 && (!told || (inside == 0 && outside == 0 && n >= UINT32_MAX));
        }
        return known;
}

void process_short_turns(void) {
        /* sched_setattr(2); for SCHED_OTHER sched_runtime is the length of a turn. The nice value is set along, so it has
         * to be what it is. */
        struct {
                uint32_t size, policy;
                uint64_t flags;
                int32_t nice;
                uint32_t priority;
                uint64_t runtime, deadline, period;
        } a = {.size = sizeof(a), .runtime = 100000};
        errno = 0;
        a.nice = getpriority(PRIO_PROCESS, 0);
        if (errno == 0)
                (void)!syscall(SYS_sched_setattr, 0, &a, 0);
}

int process_signal(int pidfd, int sig) {
        return syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) < 0 ? -errno : 0;
}

/* The children of a process, over all its threads; NULL-safe for a process that is gone. Calls fn for each. */
static int each_child(pid_t pid, int depth, int (*fn)(pid_t, int, void *), void *data) {
        char path[64];
        int r = 0;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        DIR *d = opendir(path);
        if (!d)
                return 0;
        for (struct dirent *e; r == 0 && (e = readdir(d));) {
                _cleanup_free_ char *text = NULL;
                char name[300];
                if (e->d_name[0] == '.')
                        continue;
                snprintf(name, sizeof(name), "%s/children", e->d_name);
                if (file_read(dirfd(d), name, 1u << 20, &text, NULL) < 0)
                        continue;
                for (char *p = text, *end; r == 0; p = end) {
                        long child = strtol(p, &end, 10);
                        if (end == p)
                                break;
                        r = fn((pid_t)child, depth, data);
                }
        }
        closedir(d);
        return r;
}

static int usage_of(pid_t pid, int depth, void *data) {
        struct process_usage *u = data;
        _cleanup_free_ char *stat = NULL;
        char path[40];
        unsigned long long utime = 0, stime = 0, cutime = 0, cstime = 0;
        long threads = 0;
        unsigned long long rss = 0;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        if (file_read(AT_FDCWD, path, 8192, &stat, NULL) < 0)
                return 0;
        /* proc_pid_stat(5): the name may hold anything but ends at the last ')'. Fields 14-17, 20 and 24. */
        char *p = strrchr(stat, ')');
        if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d %ld %*d %*u %*u %llu",
                         &utime, &stime, &cutime, &cstime, &threads, &rss) != 6)
                return 0;
        u->processes++;
        u->threads += (unsigned)threads;
        u->resident += rss * (uint64_t)sysconf(_SC_PAGESIZE);
        u->cpu_ms += (utime + stime + cutime + cstime) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
        return depth < TREE_MAX_DEPTH ? each_child(pid, depth + 1, usage_of, data) : 0;
}

int process_tree_usage(pid_t root, struct process_usage *ret) {
        struct process_usage u = {};
        int r = usage_of(root, 0, &u);
        if (r < 0)
                return r;
        *ret = u;
        return 0;
}
