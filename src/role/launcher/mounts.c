/* The view's mounts: the plan's operations, executed one after the other. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/use.h"
#include "role/launcher/launcher.h"
#include "sys/beneath.h"
#include "sys/mount.h"

/* Calls that wait for one of the guard's couriers. */
#define SOCKET_BACKLOG 64

void mounts_open(struct launcher *x) {
        for (size_t i = 0; i < x->plan->n_ops; i++) {
                const struct plan_op *op = &x->plan->ops[i];
                x->trees[i] = -1;
                if (op->kind != OP_BIND && op->kind != OP_OVERLAY && op->kind != OP_IMAGE_LAYER)
                        continue;
                int fd = x->l->trees && x->l->trees[i] >= 0 ? x->l->trees[i]
                                                            : mount_clone(AT_FDCWD, op->source, op->flags & PLAN_RECURSIVE);
                if (fd == -ENOENT && (op->flags & PLAN_OPTIONAL))
                        continue;
                if (fd == -EINVAL)
                        launcher_fail(x->l, fd, "%s cannot be shown alone: other file systems are mounted beneath it", op->source);
                if (fd < 0)
                        launcher_fail(x->l, fd, "%s cannot be opened for the sandbox", op->source);
                x->trees[i] = fd;
                if (x->plan->workspace && streq(op->target, plan_workspace_inside(x->plan))) {
                        struct stat st;
                        if (fstat(fd, &st) < 0 || st.st_dev != x->plan->workspace_dev ||
                            st.st_ino != x->plan->workspace_ino)
                                launcher_fail(x->l, ESTALE, "the workspace %s was replaced while the sandbox started", op->source);
                }
        }
}

static void build_stage(struct launcher *x) {
        char size[32], inodes[32];
        const struct mount_option stage[] = {{"mode", "0755"}, {"size", "16m"}};
        const struct mount_option scratch[] = {{"mode", "0755"}, {"size", size}, {"nr_inodes", inodes}};
        char path[64];
        int r, fd;

        fd = mount_new("tmpfs", stage, ELEMENTSOF(stage), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, NULL);
        if (fd < 0 || (r = mount_attach(fd, AT_FDCWD, STAGE)) < 0)
                launcher_fail(x->l, fd < 0 ? fd : r, "a tmpfs cannot be mounted");
        close(fd);
        if (mkdir(NEW_ROOT, 0755) < 0 || mkdir(STAGE "/l", 0755) < 0 || mkdir(STAGE "/s", 0755) < 0 ||
            mkdir(STAGE "/w", 0755) < 0 || mkdir(STAGE "/e", 0755) < 0 || mkdir(STAGE "/e/d", 0555) < 0 ||
            mknod(STAGE "/e/f", S_IFREG | 0000, 0) < 0)
                launcher_fail(x->l, errno, "the staging area cannot be made");
        for (unsigned i = 0; i < x->plan->n_layers; i++) {
                snprintf(path, sizeof(path), STAGE "/l/%u", i);
                if (mkdir(path, 0755) < 0)
                        launcher_fail(x->l, errno, "the staging area cannot be made");
        }
        fd = mount_clone(AT_FDCWD, NEW_ROOT, false);
        if (fd < 0 || (r = mount_attach(fd, AT_FDCWD, NEW_ROOT)) < 0)
                launcher_fail(x->l, fd < 0 ? fd : r, "the new root cannot be made");
        x->root = fd; /* a detached tree's fd goes on to name the mount once it is attached */
        fd = mount_clone(AT_FDCWD, STAGE "/e", false);
        if (fd < 0 || (r = mount_attr(fd, false, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0)) < 0 ||
            (r = mount_attach(fd, AT_FDCWD, STAGE "/e")) < 0)
                launcher_fail(x->l, fd < 0 ? fd : r, "the covers cannot be made");
        close(fd);
        snprintf(size, sizeof(size), "%llu", (unsigned long long)x->plan->limits.scratch_bytes);
        snprintf(inodes, sizeof(inodes), "%llu", (unsigned long long)x->plan->limits.scratch_inodes);
        fd = mount_new("tmpfs", scratch, ELEMENTSOF(scratch), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, NULL);
        if (fd < 0 || (r = mount_attach(fd, AT_FDCWD, STAGE "/w")) < 0)
                launcher_fail(x->l, fd < 0 ? fd : r, "the scratch file system cannot be mounted");
        x->scratch = fd;
}

static void do_bind(struct launcher *x, const struct plan_op *op, int tree) {
        uint64_t set = MOUNT_ATTR_NOSUID;
        int r;

        if (!(op->flags & PLAN_DEVICE))
                set |= MOUNT_ATTR_NODEV;
        if (op->flags & PLAN_READONLY)
                set |= MOUNT_ATTR_RDONLY;
        if (!(op->flags & PLAN_DEVICE)) { /* a device node has nothing beneath it, and must not be nodev */
                r = mount_attr(tree, op->flags & PLAN_RECURSIVE, set, 0);
                if (r < 0)
                        launcher_fail(x->l, r, "%s cannot be made %s", op->target, op->flags & PLAN_READONLY ? "read-only" : "safe");
        }
        struct stat st = {.st_mode = S_IFCHR};
        if (!(op->flags & PLAN_DEVICE) && fstat(tree, &st) < 0)
                launcher_fail(x->l, errno, "%s cannot be looked at", op->target);
        place_attach(x, tree, op->target, S_ISDIR(st.st_mode));
        if (!(op->flags & (PLAN_DEVICE | PLAN_READONLY)))
                place_writes_through(x, tree);
}

/* A directory of a layer hides the one at `target` of the tree below, whose mode and owner it must have; one that is new is
 * the view's. */
static void look_as_below(const struct launcher *x, int tree, const char *target, mode_t mode, const char *path) {
        struct stat st;
        bool there = tree >= 0 && fstatat(tree, target, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);

        if (!there || x->plan->ids.single || fchownat(AT_FDCWD, path, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
                place_own(x, AT_FDCWD, path);
        if (chmod(path, (there ? st.st_mode : mode) & 03777) < 0) /* mkdir drops the set-group-ID bit */
                launcher_fail(x->l, errno, "%s cannot be made in a layer", target);
}

static void do_overlay(struct launcher *x, const struct plan_op *op, int tree, size_t i) {
        char lower[128], path[48], top[48], why[256] = "";
        const char *shadow = (op->flags & PLAN_UPPER) && x->plan->shadow ? "shadow:" : "";
        struct mount_option o[6];
        unsigned n = 0;
        int r;

        snprintf(path, sizeof(path), STAGE "/s/%zu", i);
        if (mkdir(path, 0755) < 0)
                launcher_fail(x->l, errno, "the staging area cannot be made");
        /* What is only read has the layer's own directory for its root. */
        if (op->layer == 0)
                snprintf(top, sizeof(top), STAGE "/s/%zu.top", i);
        else
                snprintf(top, sizeof(top), STAGE "/l/%d", op->layer);
        if (!(op->flags & PLAN_UPPER)) {
                if (op->layer == 0 && mkdir(top, 0755) < 0)
                        launcher_fail(x->l, errno, "the staging area cannot be made");
                look_as_below(x, tree, ".", 0755, top);
        }
        r = mount_attach(tree, AT_FDCWD, path);
        if (r < 0)
                launcher_fail(x->l, r, "%s cannot be staged", op->source);
        if (op->layer == 0 && (op->flags & PLAN_UPPER))
                snprintf(lower, sizeof(lower), "%s%s", shadow, path);
        else
                snprintf(lower, sizeof(lower), "%s:%s%s", top, shadow, path);
        o[n++] = (struct mount_option){"lowerdir", lower};
        if (op->flags & PLAN_UPPER) {
                o[n++] = (struct mount_option){"upperdir", "upper"};
                o[n++] = (struct mount_option){"workdir", "work"};
                /* No sync of the host's file system at every end of a run; see docs/architecture.md. */
                o[n++] = (struct mount_option){"volatile", NULL};
        }
        o[n++] = (struct mount_option){"userxattr", NULL};
        int fd = mount_new("overlay", o, n,
                           MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (op->flags & PLAN_READONLY ? MOUNT_ATTR_RDONLY : 0u), why);
        if (fd < 0) {
                if (op->flags & PLAN_UPPER)
                        launcher_fail(x->l, fd, "no overlay can be mounted over %s%s%s\n"
                             "keep the state on ext4, xfs, btrfs or tmpfs (XDG_STATE_HOME), or use --mode ro",
                             op->source, why[0] ? ": " : "", why);
                launcher_fail(x->l, fd, "no overlay can be mounted over %s%s%s", op->source, why[0] ? ": " : "", why);
        }
        place_attach(x, fd, op->target, true);
        close(fd);
}

/* The image's trees as one overlay. An option of fsconfig(2) is 255 bytes long at most; a longer list of layers goes in by
 * mount(2), which takes a page. */
static void do_image(struct launcher *x, const struct plan_op *op, size_t i) {
        _cleanup_strbuf_ struct strbuf lower = {};
        char why[256] = "", path[48];
        struct mount_option o[6];
        unsigned n = 0;
        int r, fd;

        strbuf_printf(&lower, STAGE "/l/%d", op->layer);
        for (size_t k = 0; k < i; k++) {
                if (x->plan->ops[k].kind != OP_IMAGE_LAYER)
                        continue;
                snprintf(path, sizeof(path), STAGE "/s/%zu", k);
                if (mkdir(path, 0755) < 0 || (r = mount_attach(x->trees[k], AT_FDCWD, path)) < 0)
                        launcher_fail(x->l, errno, "the image's layer %s cannot be staged", x->plan->ops[k].source);
                strbuf_printf(&lower, ":%s", path);
        }
        if (lower.failed)
                launcher_fail(x->l, ENOMEM, "out of memory");
        o[n++] = (struct mount_option){"lowerdir", lower.data};
        o[n++] = (struct mount_option){"upperdir", "root"};
        o[n++] = (struct mount_option){"workdir", "root.work"};
        o[n++] = (struct mount_option){"volatile", NULL};
        o[n++] = (struct mount_option){"userxattr", NULL};
        if (lower.len < 256)
                fd = mount_new("overlay", o, n, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, why);
        else
                fd = mount_old("overlay", o, n, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, NEW_ROOT);
        if (fd < 0)
                launcher_fail(x->l, fd, "the image's layers cannot be put together%s%s\n"
                     "keep the state on ext4, xfs, btrfs or tmpfs (XDG_STATE_HOME)", why[0] ? ": " : "", why);
        if (lower.len < 256 && (r = mount_attach(fd, AT_FDCWD, NEW_ROOT)) < 0)
                launcher_fail(x->l, r, "the image's root cannot be entered");
        close(x->root);
        x->root = fd;
}

static void do_scratch(struct launcher *x, const struct plan_op *op) {
        char name[16];
        int fd;

        snprintf(name, sizeof(name), "%u", x->n_scratch++);
        if (mkdirat(x->scratch, name, op->mode) < 0)
                launcher_fail(x->l, errno, "%s cannot be made", op->target);
        place_own(x, x->scratch, name);
        fd = mount_clone(x->scratch, name, false);
        if (fd < 0)
                launcher_fail(x->l, fd, "%s cannot be made", op->target);
        place_attach(x, fd, op->target, true);
        close(fd);
}

static void do_file(struct launcher *x, const struct plan_op *op, size_t i) {
        char path[48];
        struct stat st;
        int fd, r;

        if (op->flags & PLAN_OPTIONAL && (fstatat(x->root, op->target + 1, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode)))
                return; /* a link leads into what is the sandbox's own */
        snprintf(path, sizeof(path), STAGE "/s/%zu", i);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, op->mode);
        if (fd < 0 || (r = fd_write_all(fd, op->source, op->size)) < 0)
                launcher_fail(x->l, fd < 0 ? errno : r, "%s cannot be made", op->target);
        close(fd);
        fd = mount_clone(AT_FDCWD, path, false);
        if (fd < 0 || (r = mount_attr(fd, false, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (op->flags & PLAN_EXEC ? 0u : MOUNT_ATTR_NOEXEC), 0)) < 0)
                launcher_fail(x->l, fd < 0 ? fd : r, "%s cannot be shown", op->target);
        place_attach(x, fd, op->target, false);
        close(fd);
}

/* Made on the staging tmpfs and shown by a mount, so that it can neither be removed nor replaced inside. What listens goes to the
 * supervisor at once: nobody in the sandbox ever has it. */
static void do_socket(struct launcher *x, const struct plan_op *op, size_t i) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        struct init_msg m = {.type = INIT_CALLS};
        int r = 0;

        snprintf(a.sun_path, sizeof(a.sun_path), STAGE "/s/%zu", i);
        _cleanup_fd_ int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (sock < 0 || bind(sock, (struct sockaddr *)&a, sizeof(a)) < 0 || chmod(a.sun_path, op->mode) < 0 || listen(sock, SOCKET_BACKLOG) < 0)
                launcher_fail(x->l, errno, "%s cannot be made", op->target);
        _cleanup_fd_ int fd = mount_clone(AT_FDCWD, a.sun_path, false);
        if (fd < 0 || (r = mount_attr(fd, false, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, 0)) < 0)
                launcher_fail(x->l, fd < 0 ? fd : r, "%s cannot be shown", op->target);
        place_attach(x, fd, op->target, false);
        if ((r = fd_send(x->l->control, &m, sizeof(m), &sock, 1, 0)) < 0)
                launcher_fail(x->l, r, "%s cannot be handed over", op->target);
}

static void do_mask(const struct launcher *x, const struct plan_op *op) {
        struct stat st;
        _cleanup_fd_ int at = x->plan->image ? beneath_open_in_root(x->root, op->target + 1) : -EBADF;

        /* Looked at first: letting go of a tree that found no place costs an RCU grace period. */
        if (x->plan->image ? at < 0 || fstat(at, &st) < 0 : fstatat(x->root, op->target + 1, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                int err = at < 0 && x->plan->image ? -at : errno;
                if (err == ENOENT || err == ENOTDIR || err == EACCES)
                        return;
                launcher_fail(x->l, err, "%s cannot be looked at", op->target);
        }
        if (S_ISLNK(st.st_mode))
                return; /* where it leads is covered under its own name */
        _cleanup_fd_ int fd = mount_clone(AT_FDCWD, S_ISDIR(st.st_mode) ? STAGE "/e/d" : STAGE "/e/f", false);
        int r = fd < 0 ? fd : x->plan->image ? mount_attach(fd, at, "") : mount_attach(fd, x->root, op->target + 1);
        if (r < 0)
                launcher_fail(x->l, r, "%s cannot be covered", op->target);
}

static void do_readonly(struct launcher *x, const struct plan_op *op) {
        _cleanup_fd_ int at = x->plan->image ? beneath_open_in_root(x->root, op->target + 1) : -EBADF;
        int fd = !x->plan->image ? mount_clone(x->root, op->target + 1, false) : at < 0 ? at : mount_clone(at, "", false);
        int r;

        if (fd < 0 || (r = mount_attr(fd, false, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, 0)) < 0 ||
            (r = x->plan->image ? mount_attach(fd, at, "") : mount_attach(fd, x->root, op->target + 1)) < 0)
                launcher_fail(x->l, fd < 0 ? fd : r, "%s cannot be made read-only", op->target);
        close(fd);
}

static void do_new(struct launcher *x, const struct plan_op *op) {
        static const struct mount_option pts[] = {{"newinstance", NULL}, {"ptmxmode", "0666"}, {"mode", "0620"}};
        uint64_t attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
        const char *type = op->kind == OP_PROC ? "proc" : op->kind == OP_SYSFS ? "sysfs" : op->kind == OP_MQUEUE ? "mqueue" : "devpts";
        char why[256] = "";

        if (op->kind != OP_DEVPTS)
                attr |= MOUNT_ATTR_NODEV;
        if (op->flags & PLAN_READONLY)
                attr |= MOUNT_ATTR_RDONLY;
        int fd = mount_new(type, op->kind == OP_DEVPTS ? pts : NULL, op->kind == OP_DEVPTS ? ELEMENTSOF(pts) : 0, attr, why);
        if (fd == -EPERM && op->kind == OP_PROC)
                launcher_fail(x->l, fd, "a /proc of its own cannot be mounted: this host's own /proc is partly covered, as in a container\n"
                     "start the container with --security-opt systempaths=unconfined (docker) or --security-opt unmask=ALL (podman)");
        if (fd < 0)
                launcher_fail(x->l, fd, "%s cannot be mounted at %s%s%s", type, op->target, why[0] ? ": " : "", why);
        place_attach(x, fd, op->target, true);
        close(fd);
}

/* The tree that a layer will cover, as the sandbox will see it; -1: none. */
static int tree_below(struct launcher *x, int layer) {
        if (x->layer != layer) {
                x->layer = layer;
                x->below = -1;
                for (size_t i = 0; i < x->plan->n_ops && x->below < 0; i++)
                        if (x->plan->ops[i].kind == OP_OVERLAY && x->plan->ops[i].layer == layer)
                                x->below = x->trees[i];
        }
        return x->below;
}

static void do_layer(struct launcher *x, const struct plan_op *op) {
        char path[4200];
        int r = snprintf(path, sizeof(path), STAGE "/l/%d/%s", op->layer, op->target);

        if (r < 0 || (size_t)r >= sizeof(path))
                launcher_fail(x->l, ENAMETOOLONG, "%s cannot be hidden", op->target);
        if (op->kind == OP_LAYER_DIR) {
                if (mkdir(path, 0700) < 0 && errno != EEXIST) /* two that need it: the same */
                        launcher_fail(x->l, errno, "%s cannot be made in a layer", op->target);
                look_as_below(x, tree_below(x, op->layer), op->target, op->mode, path);
        } else if (op->kind == OP_LAYER_WHITEOUT) {
                if (mknod(path, S_IFCHR, makedev(0, 0)) < 0)
                        launcher_fail(x->l, errno, "%s cannot be hidden", op->target);
        } else {
                _cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, op->mode);
                if (fd < 0 || (r = fd_write_all(fd, op->source, op->size)) < 0)
                        launcher_fail(x->l, fd < 0 ? errno : r, "%s cannot be made in a layer", op->target);
                if (x->plan->image) /* whose root may write to it: overlayfs copies no file up whose owner has no id there */
                        place_own(x, AT_FDCWD, path);
        }
}

void mounts_build(struct launcher *x) {
        build_stage(x);
        for (size_t i = 0; i < x->plan->n_ops; i++) {
                const struct plan_op *op = &x->plan->ops[i];
                switch (op->kind) {
                case OP_DIR:
                        place_dir(x, op);
                        break;
                case OP_SYMLINK:
                        place_symlink(x, op);
                        break;
                case OP_BIND:
                        if (x->trees[i] >= 0)
                                do_bind(x, op, x->trees[i]);
                        break;
                case OP_OVERLAY:
                        if (x->trees[i] >= 0)
                                do_overlay(x, op, x->trees[i], i);
                        break;
                case OP_IMAGE_LAYER:
                        break; /* opened; OP_IMAGE takes it */
                case OP_IMAGE:
                        do_image(x, op, i);
                        break;
                case OP_SCRATCH:
                        do_scratch(x, op);
                        break;
                case OP_PROC:
                case OP_SYSFS:
                case OP_DEVPTS:
                case OP_MQUEUE:
                        do_new(x, op);
                        break;
                case OP_MASK:
                        do_mask(x, op);
                        break;
                case OP_READONLY:
                        do_readonly(x, op);
                        break;
                case OP_FILE:
                        do_file(x, op, i);
                        break;
                case OP_SOCKET:
                        do_socket(x, op, i);
                        break;
                case OP_LAYER_DIR:
                case OP_LAYER_WHITEOUT:
                case OP_LAYER_FILE:
                        do_layer(x, op);
                        break;
                }
        }
}
