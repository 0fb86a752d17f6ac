/* Processes and user namespaces: clone3, pidfds, id maps. Negative errnos. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

/* fork(2) into new namespaces (CLONE_NEW*), with CLONE_PARENT as the caller's sibling, and, where cgroup_fd >= 0, into a v2
 * cgroup. Returns the pid, 0 in the
 * child; *ret_pidfd is set in the parent. */
pid_t process_clone(uint64_t flags, int cgroup_fd, int *ret_pidfd) _must_check_;
/* Writes "allow" rules of id maps for another process or (pid 0) for the caller. setgroups_deny: needed where the
 * writer has no CAP_SETGID in the parent namespace. */
int process_map_ids(pid_t pid, const char *uid_map, const char *gid_map, int setgroups_deny) _must_check_;
/* An fd of a user namespace with these maps, for id-mapped mounts; needs the right to write them (root). */
int process_userns(const char *uid_map, const char *gid_map) _must_check_;
/* Keeps no capability but `caps` (bits). */
int process_drop_caps(uint64_t caps) _must_check_;
/* Makes `caps` (bits) survive an exec by a user other than 0: inheritable and ambient. Drops all others. */
int process_keep_caps(uint64_t caps) _must_check_;
/* Root of the host, and not of some container's user namespace, whose root has the rights of an ordinary user. */
bool process_is_root(void);
/* Asks for short turns (0.1 ms) on the CPU, inherited by children: a task with short turns is run sooner when it wakes
 * among busy ones, which is what a process that starts and stops others needs (since Linux 6.12; before, it does nothing).
 * It gets no larger share. */
void process_short_turns(void);
/* Sends a signal through a pidfd. */
int process_signal(int pidfd, int sig) _must_check_;

/* What all processes beneath init use together, read from /proc. */
struct process_usage {
        unsigned processes, threads;
        uint64_t resident; /* bytes; shared pages count once a process */
        uint64_t cpu_ms;   /* user and system time of the living, and of init's reaped children */
};
int process_tree_usage(pid_t root, struct process_usage *ret) _must_check_;
