/* What no kernel mechanism of this host bounds, looked at now and then: memory, disk, idleness. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/supervisor/supervisor.h"
#include "svc/state.h"
#include "svc/tree-size.h"
#include "sys/process.h"

#define TICK_FIRST_MS 50u
#define TICK_MAX_MS 250u
#define DISK_WALK_MS 500u
/* A sandbox that moves directories about while they are counted is given so many tries. */
#define DISK_TRIES 4u
/* Where no cgroup bounds the sandbox's memory: the host's last reserve, below which the sandbox ends. */
#define HOST_RESERVE (192ull << 20)

/* A field of /proc/meminfo, in bytes; `missing` where there is none. */
static uint64_t host_memory_field(const char *name, uint64_t missing) {
        _cleanup_free_ char *text = NULL;
        if (file_read(AT_FDCWD, "/proc/meminfo", 8192, &text, NULL) < 0)
                return missing;
        const char *p = strstr(text, name);
        return p ? strtoull(p + strlen(name), NULL, 10) * 1024 : missing;
}

struct walked {
        uint64_t bytes;
        int err; /* what could not be counted, and why; 0 */
};

/* How much the upper layer holds, counted by a child of its own: a tree of hostile shape may take long. A limit that
 * cannot be watched ends the run. */
static void start_disk_walk(struct supervisor *x) {
        int p[2] = {-1, -1};
        pid_t self = getpid(), pid = pipe2(p, O_CLOEXEC) < 0 ? -1 : fork();

        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() != self)
                        _exit(1);
                supervisor_own(x);
                struct walked w = {};
                w.err = tree_size(x->s->state->dir, "upper", &w.bytes);
                int r = x->plan->image ? tree_size(x->s->state->dir, "root", &w.bytes) : 0;
                w.err = w.err < 0 ? w.err : r;
                (void)!write(p[1], &w, sizeof(w));
                _exit(0);
        }
        fd_close(p[1]);
        if (pid < 0) {
                fd_close(p[0]);
                supervisor_end(x, END_FAILED, errno);
                supervisor_kill(x);
                return;
        }
        x->disk_pipe = p[0];
        x->disk_walk_at = supervisor_now();
}

void sample_on_disk_walk(struct supervisor *x) {
        struct walked w = {};
        ssize_t n = read(x->disk_pipe, &w, sizeof(w));

        fd_close(TAKE_FD(x->disk_pipe));
        while (waitpid(-1, NULL, WNOHANG) > 0)
                ; /* the walker; init is waited for by its pidfd */
        if (n != sizeof(w)) /* it was killed, or ran out of memory */
                w = (struct walked){.bytes = x->disk_used_at_walk, .err = -EIO};
        x->disk_used_at_walk = w.bytes;
        x->disk_walk_ms = supervisor_now() - x->disk_walk_at;
        x->disk_failed = w.err < 0 ? x->disk_failed + 1 : 0;
        if (w.bytes > x->plan->limits.want.disk.value || x->disk_failed >= DISK_TRIES) {
                supervisor_end(x, END_DISK, 0);
                supervisor_kill(x);
        } else if (x->disk_failed)
                x->disk_unseen = true; /* counted again soon */
}

/* The free space of the file system is cheap to ask for: when it fell by as much as the sandbox has left of its limit,
 * the upper layer is counted. Others may free meanwhile what the sandbox takes, so that it is counted now and then
 * in any case, as often as a twentieth of the time allows. */
static void sample_disk(struct supervisor *x, bool busy) {
        struct statfs fs;
        uint64_t limit = x->plan->limits.want.disk.value, now = supervisor_now();

        if (x->plan->limits.disk != MEANS_SAMPLING || x->disk_pipe >= 0 || fstatfs(x->s->state->dir, &fs) < 0)
                return;
        uint64_t left = (uint64_t)fs.f_bfree * (uint64_t)fs.f_bsize;
        uint64_t room = limit > x->disk_used_at_walk ? limit - x->disk_used_at_walk : 0;
        if (x->disk_free_at_walk == 0 || left > x->disk_free_at_walk)
                x->disk_free_at_walk = left;
        bool fell = x->disk_free_at_walk - left > room;
        /* Also what it wrote just before it fell idle is counted, once; and what took less time than the kernel counts. */
        x->disk_unseen |= busy || x->disk_free_at_walk - left > room / 4;
        bool due = x->disk_unseen && now - x->disk_walk_at > MAX(DISK_WALK_MS, 20 * x->disk_walk_ms);
        if (fell || due) {
                x->disk_unseen = false;
                x->disk_free_at_walk = left;
                start_disk_walk(x);
        }
}

void sample_tick(struct supervisor *x) {
        const struct plan_limits *l = &x->plan->limits;
        struct process_usage u = {};
        uint64_t now = supervisor_now(), cpu = 0;

        if (l->memory == MEANS_SAMPLING || l->idle == MEANS_TIMER || l->disk == MEANS_SAMPLING) {
                if (!process_tree_usage(x->init_pid, &u)) {
                        cpu = u.cpu_ms;
                        x->peak_memory = MAX(x->peak_memory, u.resident);
                        x->peak_processes = MAX(x->peak_processes, u.processes);
                }
        }
        if (l->memory == MEANS_SAMPLING) {
                /* What lies in memory that no process has mapped (memfd, tmpfs, System V segments) is seen only in the
                 * host's total: a growth beyond the user's own limit, while the sandbox is busy, counts as its. */
                uint64_t shared = l->want.memory.origin == LIMIT_USER ? host_memory_field("Shmem:", 0) : 0;
                bool grown = cpu != x->last_cpu_ms && shared > x->shared_at_start + l->want.memory.value;
                if (u.resident > l->want.memory.value || grown) {
                        supervisor_end(x, END_MEMORY, 0);
                        supervisor_kill(x);
                } else if (host_memory_field("MemAvailable:", UINT64_MAX) < HOST_RESERVE) {
                        supervisor_end(x, END_HOST, 0);
                        supervisor_kill(x);
                }
        }
        sample_disk(x, cpu != x->last_cpu_ms);
        if (l->idle == MEANS_TIMER && !x->paused) {
                if (cpu != x->last_cpu_ms || x->idle_since == 0)
                        x->idle_since = now;
                else if (now - x->idle_since >= l->want.idle.value) {
                        supervisor_end(x, END_IDLE, 0);
                        supervisor_kill(x);
                }
        }
        /* A sandbox that does nothing is looked at less often. */
        x->tick_ms = cpu != x->last_cpu_ms ? TICK_FIRST_MS : MIN(x->tick_ms * 2, TICK_MAX_MS);
        x->last_cpu_ms = cpu;
        x->tick_at = now + x->tick_ms;
}

bool sample_needed(const struct plan *p) {
        return p->limits.memory == MEANS_SAMPLING || p->limits.disk == MEANS_SAMPLING || p->limits.idle == MEANS_TIMER;
}

void sample_begin(struct supervisor *x) {
        if (x->plan->limits.memory == MEANS_SAMPLING && x->plan->limits.want.memory.origin == LIMIT_USER)
                x->shared_at_start = host_memory_field("Shmem:", UINT64_MAX / 2);
        x->disk_unseen = true;
        x->tick_ms = TICK_FIRST_MS;
        x->tick_at = x->started + TICK_FIRST_MS;
}
