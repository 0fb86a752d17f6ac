/* Where things go in the new root: directories, links and mount points, made where they are missing. In an image every
 * step is looked up with the image as the root, see find_in_image. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifndef __GLIBC__
#include <linux/stat.h> /* struct statx; glibc has its own */
#endif

#include "base/fd.h"
#include "role/launcher/launcher.h"
#include "sys/beneath.h"
#include "sys/mount.h"

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x00001000u /* 5.8 */
#endif

static int mount_id(int fd, uint64_t *ret) {
        struct statx sx;
        if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &sx) < 0)
                return -errno;
        if (!(sx.stx_mask & STATX_MNT_ID))
                return -ENOSYS;
        *ret = sx.stx_mnt_id;
        return 0;
}

void place_writes_through(struct launcher *x, int mount) {
        int r = x->through || (x->through = calloc(x->plan->n_ops, sizeof(*x->through))) ? 0 : -ENOMEM;

        if (r < 0 || (r = mount_id(mount, &x->through[x->n_through++])) < 0)
                launcher_fail(x->l, r, "what writes through to the host cannot be told from the rest");
}

/* Nothing is made on the host as a mount point or a place to start in. -ENOENT where it would be. */
static int may_make_in(const struct launcher *x, int parent) {
        uint64_t id = 0;
        int r = x->n_through == 0 ? 0 : mount_id(parent, &id);

        for (unsigned i = 0; r == 0 && i < x->n_through; i++)
                if (x->through[i] == id)
                        r = -ENOENT;
        return r;
}

/* The same for the directory above a path of the new root. */
static int may_make(const struct launcher *x, const char *path) {
        char parent[4096];
        const char *slash = strrchr(path, '/');
        size_t n = slash ? (size_t)(slash - path) : 0;

        if (x->n_through == 0 || n == 0)
                return 0;
        if (n >= sizeof(parent))
                return -ENAMETOOLONG;
        memcpy(parent, path, n);
        parent[n] = 0;
        _cleanup_fd_ int fd = openat(x->root, parent, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : may_make_in(x, fd);
}

static int make_dir(const struct launcher *x, const char *path, mode_t mode) {
        struct stat st;
        int r;

        if (x->n_through > 0 && fstatat(x->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
                return 0;
        if ((r = may_make(x, path)) < 0)
                return r;
        return mkdirat(x->root, path, mode) < 0 && errno != EEXIST ? -errno : 0;
}

/* Makes the directories above path in the new root, and path itself when dir is set. What exists stays. */
static int make_parents(const struct launcher *x, const char *path, bool dir) {
        char p[4096];
        size_t n = strlen(path);

        if (n >= sizeof(p))
                return -ENAMETOOLONG;
        memcpy(p, path, n + 1);
        for (char *s = p + 1; *s; s++) {
                if (*s != '/')
                        continue;
                *s = 0;
                int r = make_dir(x, p, 0755);
                if (r < 0)
                        return r;
                *s = '/';
        }
        return dir ? make_dir(x, p, 0755) : 0;
}

void place_own(const struct launcher *x, int dirfd, const char *path) {
        uid_t id = x->plan->ids.view_uid;

        if (!x->plan->ids.single && fchownat(dirfd, path, id, id, AT_SYMLINK_NOFOLLOW) < 0)
                launcher_fail(x->l, errno, "%s cannot be given to the sandbox's user", path);
}

/* An image may hold links wherever a directory is expected. They are followed as inside the image, never to the host:
 * each step is resolved with the image as the root. O_PATH; *ret is where path leads, made where it is missing. */
static int find_in_image(const struct launcher *x, const char *path, bool dir, int *ret) {
        _cleanup_fd_ int parent = beneath_open_in_root(x->root, ".");
        char p[4096];
        size_t n = strlen(path);

        if (n >= sizeof(p))
                return -ENAMETOOLONG;
        memcpy(p, path, n + 1);
        for (char *name = p; parent >= 0;) {
                char *slash = strchr(name, '/');
                if (slash)
                        *slash = 0;
                int fd = beneath_open_in_root(x->root, p);
                if (fd == -ENOENT) {
                        bool is_dir = slash || dir;
                        if ((fd = may_make_in(x, parent)) < 0)
                                return fd;
                        /* EEXIST: a link that leads nowhere. */
                        if ((is_dir ? mkdirat(parent, name, 0755) : mknodat(parent, name, S_IFREG | 0644, 0)) < 0)
                                return -errno;
                        place_own(x, parent, name);
                        fd = beneath_open_in_root(x->root, p);
                }
                if (fd < 0 || !slash) {
                        *ret = fd;
                        return MIN(fd, 0);
                }
                fd_close(parent);
                parent = fd;
                *slash = '/';
                name = slash + 1;
        }
        return parent;
}

_noreturn_ static void fail_to_place(const struct launcher *x, int r, const char *target, const char *where) {
        if (r == -ENOENT && x->n_through > 0)
                launcher_fail(x->l, r, "%s would have to be made on the host\nmake it there first, or choose another place", target);
        if (r == -EROFS)
                launcher_fail(x->l, r, "%s cannot be put in %s\nchoose a place that does not lie in what is read-only, or that is there already",
                              target, where);
        launcher_fail(x->l, r, "%s cannot be put in %s%s", target, where,
                      /* EINVAL: a directory on a file, or a file on a directory (move_mount(2)). */
                     r == -ENOTDIR || r == -EEXIST || r == -ELOOP || r == -EINVAL ? ": something else stands there" : "");
}

static void attach_in_image(const struct launcher *x, int fd, const char *target, bool dir) {
        _cleanup_fd_ int at = -EBADF;
        int r = find_in_image(x, target + 1, dir, &at);

        if (r == 0)
                r = mount_attach(fd, at, "");
        if (r < 0)
                fail_to_place(x, r, target, x->plan->image ? "the image's root" : "the sandbox's view");
}

/* Attaches at a target of the new root, which is made where it is missing. move_mount follows no link in the last part
 * (MOVE_MOUNT_T_SYMLINKS is not set). */
static bool has_volumes(const struct plan *p) {
        for (size_t i = 0; i < p->n_ops; i++)
                if (p->ops[i].flags & PLAN_VOLUME)
                        return true;
        return false;
}

void place_attach(const struct launcher *x, int fd, const char *target, bool dir) {
        /* A volume's place may lie in the workspace, whose links a former run may have made: as in an image, none leads out. */
        if (x->plan->image || has_volumes(x->plan)) {
                attach_in_image(x, fd, target, dir);
                return;
        }
        const char *rel = target[1] ? target + 1 : ".";
        /* Most targets are missing; one that cannot be made may be there. */
        bool made = x->n_through == 0 && (dir ? mkdirat(x->root, rel, 0755) : mknodat(x->root, rel, S_IFREG | 0644, 0)) == 0;
        int r = mount_attach(fd, x->root, rel);

        if (r == -ENOENT && !made) {
                r = make_parents(x, rel, dir);
                if (r == 0 && !dir && (r = may_make(x, rel)) == 0 && mknodat(x->root, rel, S_IFREG | 0644, 0) < 0)
                        r = -errno;
                if (r == 0)
                        r = mount_attach(fd, x->root, rel);
        }
        if (r < 0)
                fail_to_place(x, r, target, "the sandbox's view");
}

void place_dir(const struct launcher *x, const struct plan_op *op) {
        int r;

        if (x->plan->image) {
                _cleanup_fd_ int fd = -EBADF;
                if ((r = find_in_image(x, op->target + 1, true, &fd)) < 0)
                        fail_to_place(x, r, op->target, "the image's root");
                return;
        }
        r = make_parents(x, op->target + 1, false);
        if (r == 0)
                r = make_dir(x, op->target + 1, op->mode);
        if (r < 0)
                launcher_fail(x->l, r, "%s cannot be made", op->target);
        place_own(x, x->root, op->target + 1);
}

void place_symlink(const struct launcher *x, const struct plan_op *op) {
        const char *name = strrchr(op->target, '/') + 1;
        int r;

        if (x->plan->image) {
                char parent[64];
                _cleanup_fd_ int fd = -EBADF;
                int n = (int)(name - op->target) - 2; /* -1: in the root itself */
                snprintf(parent, sizeof(parent), "%.*s", MAX(n, 1), n > 0 ? op->target + 1 : ".");
                r = find_in_image(x, parent, true, &fd);
                if (r == 0 && symlinkat(op->source, fd, name) < 0)
                        r = -errno;
        } else {
                r = symlinkat(op->source, x->root, op->target + 1) < 0 ? -errno : 0;
                if (r == -ENOENT && (r = make_parents(x, op->target + 1, false)) == 0)
                        r = symlinkat(op->source, x->root, op->target + 1) < 0 ? -errno : 0;
        }
        if (r < 0)
                launcher_fail(x->l, r, "the link %s cannot be made", op->target);
}
