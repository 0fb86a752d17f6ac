/* Where things go in the new root: directories, links and mount points, made where they are missing. In an image every
 * step is looked up with the image as the root, see find_in_image. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/launcher/launcher.h"
#include "sys/beneath.h"
#include "sys/mount.h"

/* Makes the directories above path (relative to dirfd), and path itself when dir is set. What exists stays. */
static int make_parents(int dirfd, const char *path, bool dir) {
        char p[4096];
        size_t n = strlen(path);

        if (n >= sizeof(p))
                return -ENAMETOOLONG;
        memcpy(p, path, n + 1);
        for (char *s = p + 1; *s; s++) {
                if (*s != '/')
                        continue;
                *s = 0;
                if (mkdirat(dirfd, p, 0755) < 0 && errno != EEXIST)
                        return -errno;
                *s = '/';
        }
        if (dir && mkdirat(dirfd, p, 0755) < 0 && errno != EEXIST)
                return -errno;
        return 0;
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

static void attach_in_image(const struct launcher *x, int fd, const char *target, bool dir) {
        _cleanup_fd_ int at = -EBADF;
        int r = find_in_image(x, target + 1, dir, &at);

        if (r == 0)
                r = mount_attach(fd, at, "");
        if (r < 0)
                launcher_fail(x->l, r, "%s cannot be put in the image's root%s", target,
                     r == -ENOTDIR || r == -EEXIST || r == -ELOOP ? ": something else stands there" : "");
}

/* Attaches at a target of the new root, which is made where it is missing. move_mount follows no link in the last part
 * (MOVE_MOUNT_T_SYMLINKS is not set). */
void place_attach(const struct launcher *x, int fd, const char *target, bool dir) {
        if (x->plan->image) {
                attach_in_image(x, fd, target, dir);
                return;
        }
        const char *rel = target[1] ? target + 1 : ".";
        /* Most targets are missing; one that cannot be made may be there. */
        bool made = (dir ? mkdirat(x->root, rel, 0755) : mknodat(x->root, rel, S_IFREG | 0644, 0)) == 0;
        int r = mount_attach(fd, x->root, rel);

        if (r == -ENOENT && !made) {
                r = make_parents(x->root, rel, dir);
                if (r == 0 && !dir && mknodat(x->root, rel, S_IFREG | 0644, 0) < 0)
                        r = -errno;
                if (r == 0)
                        r = mount_attach(fd, x->root, rel);
        }
        if (r < 0)
                launcher_fail(x->l, r, "%s cannot be put in the sandbox's view", target);
}

void place_dir(const struct launcher *x, const struct plan_op *op) {
        int r;

        if (x->plan->image) {
                _cleanup_fd_ int fd = -EBADF;
                if ((r = find_in_image(x, op->target + 1, true, &fd)) < 0)
                        launcher_fail(x->l, r, "%s cannot be made in the image's root", op->target);
                return;
        }
        r = make_parents(x->root, op->target + 1, false);
        if (r == 0 && mkdirat(x->root, op->target + 1, op->mode) < 0 && errno != EEXIST)
                r = -errno;
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
                snprintf(parent, sizeof(parent), "%.*s", (int)(name - op->target - 2), op->target + 1);
                r = find_in_image(x, parent, true, &fd);
                if (r == 0 && symlinkat(op->source, fd, name) < 0)
                        r = -errno;
        } else {
                r = symlinkat(op->source, x->root, op->target + 1) < 0 ? -errno : 0;
                if (r == -ENOENT && (r = make_parents(x->root, op->target + 1, false)) == 0)
                        r = symlinkat(op->source, x->root, op->target + 1) < 0 ? -errno : 0;
        }
        if (r < 0)
                launcher_fail(x->l, r, "the link %s cannot be made", op->target);
}
