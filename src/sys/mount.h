/* Mounts by the file-descriptor API (fsopen(2), open_tree(2), move_mount(2), mount_setattr(2): Linux 5.2 and 5.12). No
 * path is resolved twice: a tree is opened once and attached by its fd. All return an fd or 0, or a negative errno. */
#pragma once

#include <linux/mount.h> /* not <sys/mount.h>: musl has none of this, and the two do not go together */
#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

/* One option of a file system: flag (value NULL) or key=value. */
struct mount_option {
        const char *key, *value;
};

/* A detached clone of the mount at path (with all beneath when recursive). path is not followed if it is a link. */
int mount_clone(int dirfd, const char *path, bool recursive) _must_check_;
/* A detached new file system; attributes are MOUNT_ATTR_*. On failure *ret_why (optional, at least 256 bytes) gets the
 * kernel's own message, if it gave one. */
int mount_new(const char *fstype, const struct mount_option *options, unsigned n, uint64_t attributes,
              char *ret_why) _must_check_;
/* By mount(2), at target: its options may fill a page, where fsconfig(2) takes 255 bytes each. No value may hold a comma.
 * Returns an O_PATH fd of what is mounted. */
int mount_old(const char *fstype, const struct mount_option *options, unsigned n, uint64_t attributes,
              const char *target) _must_check_;
/* Sets and clears MOUNT_ATTR_* on a (detached) mount, and makes it private. */
int mount_attr(int fd, bool recursive, uint64_t set, uint64_t clear) _must_check_;
/* Maps the mount's ids through a user namespace. */
int mount_idmap(int fd, bool recursive, int userns_fd) _must_check_;
/* Attaches a detached mount at path beneath dirfd; "" is dirfd itself. */
int mount_attach(int fd, int dirfd, const char *path) _must_check_;
/* Makes every mount of this namespace private: what is attached and let go of here does so nowhere else. A namespace that
 * was made together with a user namespace need not: there the kernel sees to it (mount_namespaces(7)). */
int mount_private(void) _must_check_;
/* Makes root the root of this mount namespace and lets go of the old one. root must be a mount point. */
int mount_pivot(const char *root) _must_check_;
