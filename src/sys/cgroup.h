/* The control group of one sandbox: made where cgroup_find() says that the caller may, in the v2 tree and, on hybrid
 * and v1 hosts run by root, in the controllers' own trees. Negative errnos. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "sys/cgroup-find.h"

struct cgroup_limits {
        uint64_t memory;    /* bytes; 0: none */
        uint64_t cpu_milli; /* thousandths of a CPU; 0: none */
        uint64_t pids;      /* 0: none */
};

struct cgroup {
        char *v2_path;  /* NULL: none */
        int v2;         /* O_DIRECTORY fd of it, for clone3; -1 */
        bool can_kill, can_freeze; /* v2: the files are there */
        unsigned v2_has;           /* CGROUP_BITs of the controllers in force in the v2 group */
        char *v1_path[CGROUP_N];   /* NULL: none */
};
void cgroup_clear(struct cgroup *c);
#define _cleanup_cgroup_ _cleanup_(cgroup_clear)

/* Makes group(s) named `name` and sets the limits that the layout allows; `v1` are CGROUP_BITs of v1 controllers to use
 * as well. What could be done is in *ret: the caller compares it with what it needs. Undoes all on failure. */
int cgroup_create(const struct cgroup_layout *l, const char *name, const struct cgroup_limits *limits, unsigned v1,
                  struct cgroup *ret) _must_check_;
/* Moves a process into the v1 groups (the v2 group is entered by clone3). */
int cgroup_enter_v1(const struct cgroup *c, pid_t pid) _must_check_;
/* The paths of what cgroup_create would make, one a line: recorded before, so that a crash leaves a trace of them.
 * Allocated. */
char *cgroup_paths(const struct cgroup_layout *l, const char *name, unsigned v1);

/* Kills everything in the group. -ENOSYS without cgroup.kill. */
int cgroup_kill(const struct cgroup *c) _must_check_;
/* Freezes or thaws; returns once the kernel says that it is so, or -ETIMEDOUT after timeout_ms. -ENOSYS without. */
int cgroup_freeze(const struct cgroup *c, bool on, unsigned timeout_ms) _must_check_;

struct cgroup_stats {
        uint64_t memory_peak, memory_now; /* bytes; 0: not known */
        uint64_t cpu_ms;                  /* 0: not known */
        uint64_t pids_peak;
        uint64_t oom_kills;
};
void cgroup_stats(const struct cgroup *c, struct cgroup_stats *ret);
/* Removes the directories; waits up to timeout_ms for the kernel to let go of the last process. */
int cgroup_remove(const struct cgroup *c, unsigned timeout_ms) _must_check_;
