/* The mount API's calls, see mount.h. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "sys/mount.h"


#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#define DETACH 2 /* MNT_DETACH of umount2(2) */
#define PROPAGATE_PRIVATE (1u << 18) /* MS_PRIVATE of mount(2) */

int mount_clone(int dirfd, const char *path, bool recursive) {
        int fd = (int)syscall(SYS_open_tree, dirfd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW |
                                                (path[0] ? 0u : (unsigned)AT_EMPTY_PATH) |
                                                (recursive ? (unsigned)AT_RECURSIVE : 0u));
        return fd < 0 ? -errno : fd;
}

int mount_new(const char *fstype, const struct mount_option *options, unsigned n, uint64_t attributes,
              char *ret_why) {
        _cleanup_fd_ int ctx = (int)syscall(SYS_fsopen, fstype, FSOPEN_CLOEXEC);
        int r = 0;

        if (ctx < 0)
                return -errno;
        for (unsigned i = 0; i < n && r == 0; i++)
                if (syscall(SYS_fsconfig, ctx, options[i].value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, options[i].key,
                             options[i].value, 0) < 0)
                        r = -errno;
        if (r == 0 && syscall(SYS_fsconfig, ctx, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                r = -errno;
        if (r == 0) {
                r = (int)syscall(SYS_fsmount, ctx, FSMOUNT_CLOEXEC, (unsigned)attributes);
                if (r >= 0)
                        return r;
                r = -errno;
        }
        if (ret_why) {
                /* Messages come as "e text", one a read (fsopen(2)). */
                char line[256];
                ssize_t k = read(ctx, line, sizeof(line) - 1);
                ret_why[0] = 0;
                if (k > 2) {
                        line[k] = 0;
                        line[strcspn(line, "\n")] = 0;
                        snprintf(ret_why, 256, "%s", line + 2);
                }
        }
        return r;
}

int mount_old(const char *fstype, const struct mount_option *options, unsigned n, uint64_t attributes, const char *target) {
        _cleanup_strbuf_ struct strbuf data = {};
        /* MS_NOSUID 2, MS_NODEV 4, MS_RDONLY 1 of mount(2) have the values of MOUNT_ATTR_*. */
        unsigned long flags = attributes & (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);

        for (unsigned i = 0; i < n; i++)
                strbuf_printf(&data, "%s%s%s%s", i ? "," : "", options[i].key, options[i].value ? "=" : "",
                              options[i].value ? options[i].value : "");
        if (data.failed)
                return -ENOMEM;
        if (data.len >= 4096)
                return -E2BIG;
        if (syscall(SYS_mount, fstype, target, fstype, flags, data.data) < 0)
                return -errno;
        int fd = open(target, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int mount_attr(int fd, bool recursive, uint64_t set, uint64_t clear) {
        /* Private: a clone of a host's mount would go on receiving what the host mounts beneath it, writable. */
        struct mount_attr a = {.attr_set = set, .attr_clr = clear, .propagation = PROPAGATE_PRIVATE};
        if (syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | (recursive ? (unsigned)AT_RECURSIVE : 0u), &a, sizeof(a)) < 0)
                return -errno;
        return 0;
}

int mount_idmap(int fd, bool recursive, int userns_fd) {
        struct mount_attr a = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns_fd};
        if (syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | (recursive ? (unsigned)AT_RECURSIVE : 0u), &a, sizeof(a)) < 0)
                return -errno;
        return 0;
}

int mount_attach(int fd, int dirfd, const char *path) {
        unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (path[0] ? 0 : MOVE_MOUNT_T_EMPTY_PATH);
        return syscall(SYS_move_mount, fd, "", dirfd, path, flags) < 0 ? -errno : 0;
}

int mount_private(void) {
        struct mount_attr a = {.propagation = PROPAGATE_PRIVATE};
        return syscall(SYS_mount_setattr, AT_FDCWD, "/", (unsigned)AT_RECURSIVE, &a, sizeof(a)) < 0 ? -errno : 0;
}

int mount_pivot(const char *root) {
        /* pivot_root(".", "."): the old root ends up on top of the new one and is let go of (pivot_root(2), NOTES). */
        if (chdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || syscall(SYS_umount2, ".", DETACH) < 0 || chdir("/") < 0)
                return -errno;
        return 0;
}
