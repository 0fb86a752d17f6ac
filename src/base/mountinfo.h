/* Reader of the text of /proc/PID/mountinfo (proc_pid_mountinfo(5)). Pure: no I/O, so it is fuzzed. It stands in
 * base because sys (cgroup-find.c), the pure layers and the launcher all need it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

/* More mounts than that are refused: fs.mount-max is 100,000 unless an administrator raised it. */
#define MOUNTINFO_MAX 131072u

/* One mount. All strings are unescaped (\040 and the like) and belong to the array's own block. */
struct mountinfo {
        unsigned long long id, parent;
        unsigned major, minor;
        const char *root;    /* the directory of the file system that is mounted, as "/", or "/a//deleted" */
        const char *target;  /* where, relative to the reader's root */
        const char *options; /* of the mount: "rw,nosuid,relatime" */
        const char *fields;  /* "shared:1 master:2"; "" where there are none */
        const char *fstype;
        const char *source;  /* as given to mount(2): may be "" and need not be a path */
        const char *super;   /* options of the file system: "rw,memory" */
};

/* Reads the whole text, in the kernel's order: of two mounts on one target the later one is seen, unless a mount
 * above it came later still. One block: free(*ret) releases everything. An empty text gives *n 0 and a block all
 * the same. -EBADMSG for a line that the kernel would not write, -E2BIG beyond MOUNTINFO_MAX, -ENOMEM. */
int mountinfo_parse(const char *text, struct mountinfo **ret, size_t *n) _must_check_;

/* True when the comma-separated list has the option as a whole word; a "name=value" is found by "name=value". */
bool mountinfo_has_option(const char *options, const char *option);

/* The mount that a path (absolute, clean) lies on, by the target that is longest and, of equals, last; NULL when
 * none covers it (a chroot whose root is no mount). */
const struct mountinfo *mountinfo_of_path(const struct mountinfo *m, size_t n, const char *path);
