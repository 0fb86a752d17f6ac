/* Where the caller stands in the host's control groups, and where it may make a child group. Looks only: reads
 * /proc/self and asks access(2); makes, moves and writes nothing. Called by doctor and by the launcher. Errors are
 * negative errnos. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

enum cgroup_controller { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_FREEZER, CGROUP_N };
#define CGROUP_BIT(c) (1u << (c))
#define CGROUP_LIMITS (CGROUP_BIT(CGROUP_MEMORY) | CGROUP_BIT(CGROUP_PIDS) | CGROUP_BIT(CGROUP_CPU))

/* "memory", "pids", "cpu", "freezer" */
const char *cgroup_controller_name(enum cgroup_controller c);

enum cgroup_mode {
        CGROUP_MODE_NONE,   /* nothing mounted that can be seen from here */
        CGROUP_MODE_V1,     /* v1 hierarchies only */
        CGROUP_MODE_HYBRID, /* v1 controllers and a v2 tree beside them */
        CGROUP_MODE_V2,     /* one tree */
};

/* One hierarchy as seen by the caller. Strings are owned. */
struct cgroup_place {
        char *mount;     /* its mount point; NULL: not mounted in view */
        char *root;      /* what of the hierarchy is mounted there, as mountinfo says it */
        char *own;       /* the caller's group as /proc/self/cgroup says it; NULL: none */
        char *dir;       /* the directory of that group; NULL: not beneath the mount */
        bool read_only;  /* the mount is */
        char *base;      /* nearest directory, from `dir` upwards, where a child can be made and entered; or NULL */
        unsigned have;   /* v2: CGROUP_BITs that a child of `base` gets as things stand, or after enabling */
        unsigned enable; /* v2: those of `have` that must first be written to base/cgroup.subtree_control */
        /* v2: those of `have` for which the processes of `base`, which is then the caller's own group and holds
         * nobody else, must first be moved to a child ("no internal processes", cgroups(7)). */
        unsigned evacuate;
        int why; /* positive errno of the last refusal where base is NULL: EACCES, EROFS, ENOENT */
};

struct cgroup_layout {
        enum cgroup_mode mode;
        struct cgroup_place v2;
        struct cgroup_place v1[CGROUP_N];
        bool nsdelegate;  /* v2 mounted with it: a cgroup namespace is a border for moves */
        bool file_kill;   /* cgroup.kill was seen in a v2 group (not in the root group, which never has it) */
        bool file_freeze; /* cgroup.freeze likewise */
        bool v2_root;     /* the caller's v2 group is the real root, where neither file can be seen */
};

void cgroup_layout_clear(struct cgroup_layout *l);
#define _cleanup_cgroup_layout_ _cleanup_(cgroup_layout_clear)

/* The caller's view. A host without control groups is no error: mode is CGROUP_MODE_NONE. On failure *ret is
 * untouched. -EBADMSG for unreadable files, -ENOMEM, or what reading /proc gave. */
int cgroup_find(struct cgroup_layout *ret) _must_check_;
/* The same with the text of /proc/self/mountinfo, for callers that have it. */
int cgroup_find_in(const char *mountinfo, struct cgroup_layout *ret) _must_check_;

/* The parts, for tests and the fuzzer. */

/* Pure: mode, mounts, own groups and their directories from the texts of /proc/self/cgroup and mountinfo. */
int cgroup_layout_parse(const char *cgroup, const char *mountinfo, struct cgroup_layout *ret) _must_check_;
/* Pure: the own path for a controller ("" for v2) in the text of /proc/self/cgroup; allocated. -ENOENT without a
 * line for it, -EBADMSG for text that the kernel would not write. */
int cgroup_own_path(const char *cgroup, const char *controller, char **ret) _must_check_;
/* Pure: the directory of the group `own` where `root` of its hierarchy is mounted at `mount`; -ENOENT when it is
 * not beneath that (a cgroup namespace or a bind mount hides it). */
int cgroup_dir_of(const char *mount, const char *root, const char *own, char **ret) _must_check_;
/* Fills base, have, enable, evacuate and why from p->mount and p->dir, by looking at the directories. */
int cgroup_place_find_v2(struct cgroup_place *p) _must_check_;
int cgroup_place_find_v1(struct cgroup_place *p) _must_check_;
