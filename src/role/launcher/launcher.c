/* The launcher: PID 1 of a new set of namespaces for the first two milliseconds. Executes the plan's operations with
 * the rights of the outer user namespace, then becomes belljar-init. It parses nothing, has no threads and allocates
 * nothing that grows with hostile input; it runs before any untrusted code does.
 *
 * Order matters: all host sources are opened as detached trees first, while the host's root is as it was; the new root
 * is built on a staging tmpfs that covers /tmp; then the old root is let go. The working directory is the sandbox's
 * state directory, so that "upper" and "work" are found without a path. */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/use.h"
#include "svc/entry.h"
#include "sys/beneath.h"
#include "sys/landlock.h"
#include "sys/mount.h"
#include "sys/process.h"

#define STAGE "/tmp"
#define NEW_ROOT STAGE "/r"
enum { INIT_CTL_FD = 3, INIT_LANDLOCK_FD = 4, INIT_TTY_FD = 5 };

struct launcher {
        const struct plan *plan;
        const struct launch *l;
        int *trees;   /* opened sources, one an operation; -1: none */
        int root;     /* O_PATH of the new root */
        int scratch;  /* O_PATH of the writable tmpfs */
        unsigned n_scratch;
};

/* Reports what failed ("text", newline, "fix") and ends. */
static _noreturn_ _printf_(3, 4) void fail(const struct launch *l, int err, const char *fmt, ...) {
        struct init_msg m = {.type = INIT_LAUNCH_FAILED, .errnum = err < 0 ? -err : err};
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(m.text, sizeof(m.text), fmt, ap);
        va_end(ap);
        (void)!send(l->control, &m, sizeof(m), MSG_NOSIGNAL);
        _exit(125);
}

static void take_init_ids(const struct launcher *x) {
        uid_t id = x->plan->ids.init_uid;

        if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
                fail(x->l, errno, "the sandbox's ids cannot be taken");
}

static void take_ids(const struct launcher *x) {
        const struct plan_ids *ids = &x->plan->ids;
        char byte;
        int r;

        if (x->l->go >= 0) {
                if (read(x->l->go, &byte, 1) != 1)
                        _exit(125); /* the supervisor has given up and says why */
        }
        if (ids->single) {
                r = process_map_ids(0, ids->outer_uid_map, ids->outer_gid_map, 1);
                if (r < 0)
                        fail(x->l, r, "the user namespace cannot be mapped");
        } else if (!ids->subids) /* with subids the caller's own id is mapped, and the caller's files are opened with it */
                take_init_ids(x);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void open_sources(struct launcher *x) {
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
                        fail(x->l, fd, "%s cannot be shown alone: other file systems are mounted beneath it", op->source);
                if (fd < 0)
                        fail(x->l, fd, "%s cannot be opened for the sandbox", op->source);
                x->trees[i] = fd;
                if (x->plan->workspace && streq(op->target, plan_workspace_inside(x->plan))) {
                        struct stat st;
                        if (fstat(fd, &st) < 0 || st.st_dev != x->plan->workspace_dev ||
                            st.st_ino != x->plan->workspace_ino)
                                fail(x->l, ESTALE, "the workspace %s was replaced while the sandbox started", op->source);
                }
        }
}

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

static void own(const struct launcher *x, int dirfd, const char *path) {
        uid_t id = x->plan->ids.view_uid;

        if (!x->plan->ids.single && fchownat(dirfd, path, id, id, AT_SYMLINK_NOFOLLOW) < 0)
                fail(x->l, errno, "%s cannot be given to the sandbox's user", path);
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
                        own(x, parent, name);
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
                fail(x->l, r, "%s cannot be put in the image's root%s", target,
                     r == -ENOTDIR || r == -EEXIST || r == -ELOOP ? ": something else stands there" : "");
}

/* Attaches at a target of the new root, which is made where it is missing. move_mount follows no link in the last part
 * (MOVE_MOUNT_T_SYMLINKS is not set). */
static void attach(const struct launcher *x, int fd, const char *target, bool dir) {
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
                fail(x->l, r, "%s cannot be put in the sandbox's view", target);
}

static void build_stage(struct launcher *x) {
        char size[32], inodes[32];
        const struct mount_option stage[] = {{"mode", "0755"}, {"size", "16m"}};
        const struct mount_option scratch[] = {{"mode", "0755"}, {"size", size}, {"nr_inodes", inodes}};
        char path[64];
        int r, fd;

        fd = mount_new("tmpfs", stage, ELEMENTSOF(stage), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, NULL);
        if (fd < 0 || (r = mount_attach(fd, AT_FDCWD, STAGE)) < 0)
                fail(x->l, fd < 0 ? fd : r, "a tmpfs cannot be mounted");
        close(fd);
        if (mkdir(NEW_ROOT, 0755) < 0 || mkdir(STAGE "/l", 0755) < 0 || mkdir(STAGE "/s", 0755) < 0 ||
            mkdir(STAGE "/w", 0755) < 0 || mkdir(STAGE "/e", 0755) < 0 || mkdir(STAGE "/e/d", 0555) < 0 ||
            mknod(STAGE "/e/f", S_IFREG | 0000, 0) < 0)
                fail(x->l, errno, "the staging area cannot be made");
        for (unsigned i = 0; i < x->plan->n_layers; i++) {
                snprintf(path, sizeof(path), STAGE "/l/%u", i);
                if (mkdir(path, 0755) < 0)
                        fail(x->l, errno, "the staging area cannot be made");
        }
        fd = mount_clone(AT_FDCWD, NEW_ROOT, false);
        if (fd < 0 || (r = mount_attach(fd, AT_FDCWD, NEW_ROOT)) < 0)
                fail(x->l, fd < 0 ? fd : r, "the new root cannot be made");
        x->root = fd; /* a detached tree's fd goes on to name the mount once it is attached */
        fd = mount_clone(AT_FDCWD, STAGE "/e", false);
        if (fd < 0 || (r = mount_attr(fd, false, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0)) < 0 ||
            (r = mount_attach(fd, AT_FDCWD, STAGE "/e")) < 0)
                fail(x->l, fd < 0 ? fd : r, "the covers cannot be made");
        close(fd);
        snprintf(size, sizeof(size), "%llu", (unsigned long long)x->plan->limits.scratch_bytes);
        snprintf(inodes, sizeof(inodes), "%llu", (unsigned long long)x->plan->limits.scratch_inodes);
        fd = mount_new("tmpfs", scratch, ELEMENTSOF(scratch), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, NULL);
        if (fd < 0 || (r = mount_attach(fd, AT_FDCWD, STAGE "/w")) < 0)
                fail(x->l, fd < 0 ? fd : r, "the scratch file system cannot be mounted");
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
                        fail(x->l, r, "%s cannot be made %s", op->target, op->flags & PLAN_READONLY ? "read-only" : "safe");
        }
        struct stat st = {.st_mode = S_IFCHR};
        if (!(op->flags & PLAN_DEVICE) && fstat(tree, &st) < 0)
                fail(x->l, errno, "%s cannot be looked at", op->target);
        attach(x, tree, op->target, S_ISDIR(st.st_mode));
}

static void do_overlay(struct launcher *x, const struct plan_op *op, int tree, size_t i) {
        char lower[128], path[48], why[256] = "";
        const char *shadow = (op->flags & PLAN_UPPER) && x->plan->shadow ? "shadow:" : "";
        struct mount_option o[6];
        unsigned n = 0;
        int r;

        snprintf(path, sizeof(path), STAGE "/s/%zu", i);
        if (mkdir(path, 0755) < 0)
                fail(x->l, errno, "the staging area cannot be made");
        r = mount_attach(tree, AT_FDCWD, path);
        if (r < 0)
                fail(x->l, r, "%s cannot be staged", op->source);
        if (op->layer == 0 && (op->flags & PLAN_UPPER))
                snprintf(lower, sizeof(lower), "%s%s", shadow, path);
        else
                snprintf(lower, sizeof(lower), STAGE "/l/%d:%s%s", op->layer, shadow, path);
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
                        fail(x->l, fd, "no overlay can be mounted over %s%s%s\n"
                             "keep the state on ext4, xfs, btrfs or tmpfs (XDG_STATE_HOME), or use --mode ro",
                             op->source, why[0] ? ": " : "", why);
                fail(x->l, fd, "no overlay can be mounted over %s%s%s", op->source, why[0] ? ": " : "", why);
        }
        attach(x, fd, op->target, true);
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
                        fail(x->l, errno, "the image's layer %s cannot be staged", x->plan->ops[k].source);
                strbuf_printf(&lower, ":%s", path);
        }
        if (lower.failed)
                fail(x->l, ENOMEM, "out of memory");
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
                fail(x->l, fd, "the image's layers cannot be put together%s%s\n"
                     "keep the state on ext4, xfs, btrfs or tmpfs (XDG_STATE_HOME)", why[0] ? ": " : "", why);
        if (lower.len < 256 && (r = mount_attach(fd, AT_FDCWD, NEW_ROOT)) < 0)
                fail(x->l, r, "the image's root cannot be entered");
        close(x->root);
        x->root = fd;
}

static void do_scratch(struct launcher *x, const struct plan_op *op) {
        char name[16];
        int fd;

        snprintf(name, sizeof(name), "%u", x->n_scratch++);
        if (mkdirat(x->scratch, name, op->mode) < 0)
                fail(x->l, errno, "%s cannot be made", op->target);
        own(x, x->scratch, name);
        fd = mount_clone(x->scratch, name, false);
        if (fd < 0)
                fail(x->l, fd, "%s cannot be made", op->target);
        attach(x, fd, op->target, true);
        close(fd);
}

static void do_mask(const struct launcher *x, const struct plan_op *op) {
        struct stat st;
        _cleanup_fd_ int at = x->plan->image ? beneath_open_in_root(x->root, op->target + 1) : -EBADF;

        /* Looked at first: letting go of a tree that found no place costs an RCU grace period. */
        if (x->plan->image ? at < 0 || fstat(at, &st) < 0 : fstatat(x->root, op->target + 1, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                int err = at < 0 && x->plan->image ? -at : errno;
                if (err == ENOENT || err == ENOTDIR || err == EACCES)
                        return;
                fail(x->l, err, "%s cannot be looked at", op->target);
        }
        if (S_ISLNK(st.st_mode))
                return; /* where it leads is covered under its own name */
        _cleanup_fd_ int fd = mount_clone(AT_FDCWD, S_ISDIR(st.st_mode) ? STAGE "/e/d" : STAGE "/e/f", false);
        int r = fd < 0 ? fd : x->plan->image ? mount_attach(fd, at, "") : mount_attach(fd, x->root, op->target + 1);
        if (r < 0)
                fail(x->l, r, "%s cannot be covered", op->target);
}

static void do_readonly(struct launcher *x, const struct plan_op *op) {
        _cleanup_fd_ int at = x->plan->image ? beneath_open_in_root(x->root, op->target + 1) : -EBADF;
        int fd = !x->plan->image ? mount_clone(x->root, op->target + 1, false) : at < 0 ? at : mount_clone(at, "", false);
        int r;

        if (fd < 0 || (r = mount_attr(fd, false, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, 0)) < 0 ||
            (r = x->plan->image ? mount_attach(fd, at, "") : mount_attach(fd, x->root, op->target + 1)) < 0)
                fail(x->l, fd < 0 ? fd : r, "%s cannot be made read-only", op->target);
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
                fail(x->l, fd, "a /proc of its own cannot be mounted: this host's own /proc is partly covered, as in a container\n"
                     "start the container with --security-opt systempaths=unconfined (docker) or --security-opt unmask=ALL (podman)");
        if (fd < 0)
                fail(x->l, fd, "%s cannot be mounted at %s%s%s", type, op->target, why[0] ? ": " : "", why);
        attach(x, fd, op->target, true);
        close(fd);
}

static void do_layer(struct launcher *x, const struct plan_op *op) {
        char path[4200];
        int r = snprintf(path, sizeof(path), STAGE "/l/%d/%s", op->layer, op->target);

        if (r < 0 || (size_t)r >= sizeof(path))
                fail(x->l, ENAMETOOLONG, "%s cannot be hidden", op->target);
        if (op->kind == OP_LAYER_DIR) {
                if (mkdir(path, 0700) < 0 || chmod(path, op->mode & 03777) < 0) /* mkdir drops the set-group-ID bit */
                        fail(x->l, errno, "%s cannot be made in a layer", op->target);
                own(x, AT_FDCWD, path);
        } else if (op->kind == OP_LAYER_WHITEOUT) {
                if (mknod(path, S_IFCHR, makedev(0, 0)) < 0)
                        fail(x->l, errno, "%s cannot be hidden", op->target);
        } else {
                _cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, op->mode);
                if (fd < 0 || (r = fd_write_all(fd, op->source, strlen(op->source))) < 0)
                        fail(x->l, fd < 0 ? errno : r, "%s cannot be made in a layer", op->target);
        }
}

static void do_dir(const struct launcher *x, const struct plan_op *op) {
        int r;

        if (x->plan->image) {
                _cleanup_fd_ int fd = -EBADF;
                if ((r = find_in_image(x, op->target + 1, true, &fd)) < 0)
                        fail(x->l, r, "%s cannot be made in the image's root", op->target);
                return;
        }
        r = make_parents(x->root, op->target + 1, false);
        if (r == 0 && mkdirat(x->root, op->target + 1, op->mode) < 0 && errno != EEXIST)
                r = -errno;
        if (r < 0)
                fail(x->l, r, "%s cannot be made", op->target);
        own(x, x->root, op->target + 1);
}

static void do_symlink(const struct launcher *x, const struct plan_op *op) {
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
                fail(x->l, r, "the link %s cannot be made", op->target);
}

static void execute(struct launcher *x) {
        for (size_t i = 0; i < x->plan->n_ops; i++) {
                const struct plan_op *op = &x->plan->ops[i];
                switch (op->kind) {
                case OP_DIR:
                        do_dir(x, op);
                        break;
                case OP_SYMLINK:
                        do_symlink(x, op);
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
                case OP_LAYER_DIR:
                case OP_LAYER_WHITEOUT:
                case OP_LAYER_FILE:
                        do_layer(x, op);
                        break;
                }
        }
}

static void bring_up_loopback(const struct launch *l) {
        _cleanup_fd_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
        if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr) < 0)
                fail(l, errno, "the loopback interface cannot be brought up");
}

/* Servers of images listen on ports below 1024, as root; the capability for that would be one over the network namespace. */
static void open_low_ports(void) {
        (void)!file_poke(AT_FDCWD, "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
}

/* The ruleset that the command's process puts in force; made here, where the plan is known. */
static int make_ruleset(const struct launcher *x) {
        const struct plan *p = x->plan;
        int abi = p->landlock_abi, r;

        if (abi == 0)
                return -1;
        int fd = landlock_new(abi, true);
        if (fd < 0)
                fail(x->l, fd, "a Landlock ruleset cannot be made");
        for (size_t i = 0; i < p->n_rules; i++)
                if ((r = landlock_allow_path(fd, abi, p->rules[i].path, p->rules[i].use)) < 0)
                        fail(x->l, r, "%s cannot be allowed by Landlock", p->rules[i].path);
        /* The caller's own redirections stand: "echo x >/dev/stderr" opens the file behind fd 2 once more. */
        for (int i = 0; i < 3; i++) {
                struct stat st;
                if (x->l->tty[i] || fstat(x->l->stdio[i], &st) < 0 || !(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode)))
                        continue;
                if ((r = landlock_allow(fd, abi, x->l->stdio[i], i == 0 ? USE_READ : USE_WRITE)) < 0 && r != -EBADFD)
                        fail(x->l, r, "file descriptor %d cannot be allowed by Landlock", i);
        }
        return fd;
}

/* A terminal of the sandbox's own devpts; its master goes to the command line. Returns the other end, or -1. */
static int make_terminal(const struct launcher *x) {
        const struct launch *l = x->l;
        int unlock = 0;

        if (!l->tty[0] && !l->tty[1] && !l->tty[2])
                return -1;
        _cleanup_fd_ int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
                fail(l, errno, "a terminal cannot be made");
        int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (slave < 0)
                fail(l, errno, "a terminal cannot be opened");
        struct winsize w = {.ws_row = l->rows, .ws_col = l->columns};
        (void)ioctl(master, TIOCSWINSZ, &w); /* before the command looks */
        if (!x->plan->ids.single && fchown(slave, x->plan->ids.outer_uid, x->plan->ids.outer_gid) < 0)
                fail(l, errno, "the terminal cannot be given to the sandbox's user");
        struct init_msg m = {.type = INIT_TERMINAL};
        struct iovec iov = {&m, sizeof(m)};
        union {
                struct cmsghdr h;
                char space[CMSG_SPACE(sizeof(int))];
        } c = {};
        struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)};
        struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(h), &master, sizeof(int));
        if (sendmsg(l->control, &msg, MSG_NOSIGNAL) < 0)
                fail(l, errno, "the terminal cannot be handed over");
        return slave;
}

/* Puts fds where init expects them and everything else out of its reach. */
static void arrange_fds(const struct launcher *x, int ruleset, int tty) {
        const struct launch *l = x->l;
        int low[3], high[4], n = 0;

        /* Above the range that is about to be filled, so that no dup2 overwrites one that is still needed. */
        const int keep[] = {l->control, ruleset, tty, l->init_exe};
        for (size_t i = 0; i < ELEMENTSOF(keep); i++) {
                high[i] = keep[i] < 0 ? -1 : fcntl(keep[i], F_DUPFD_CLOEXEC, 32);
                if (keep[i] >= 0 && high[i] < 0)
                        fail(l, errno, "file descriptors cannot be arranged");
        }
        for (int i = 0; i < 3; i++) {
                low[i] = fcntl(l->tty[i] ? tty : l->stdio[i], F_DUPFD_CLOEXEC, 32);
                if (low[i] < 0)
                        fail(l, errno, "file descriptors cannot be arranged");
        }
        for (int i = 0; i < 3; i++)
                n |= dup2(low[i], i);
        n |= dup2(high[0], INIT_CTL_FD);
        if (high[1] >= 0)
                n |= dup2(high[1], INIT_LANDLOCK_FD);
        if (high[2] >= 0)
                n |= dup2(high[2], INIT_TTY_FD);
        if (n < 0)
                fail(l, errno, "file descriptors cannot be arranged");
        /* Everything above was opened close-on-exec; this makes it so whatever was forgotten. */
        if (syscall(SYS_close_range, 6, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
                fail(l, errno, "file descriptors cannot be closed");
        if (high[1] < 0)
                close(INIT_LANDLOCK_FD);
        if (high[2] < 0)
                close(INIT_TTY_FD);
        char **argv = calloc(x->plan->argv.n + 2, sizeof(char *));
        char *none[] = {NULL};
        if (!argv)
                fail(l, ENOMEM, "out of memory");
        argv[0] = (char *)"belljar-init";
        for (size_t i = 0; i < x->plan->argv.n; i++)
                argv[i + 1] = x->plan->argv.items[i];
        syscall(SYS_execveat, high[3], "", argv, x->plan->env.items ? x->plan->env.items : none, AT_EMPTY_PATH);
        fail(l, errno, "belljar-init cannot be executed");
}

void launcher_main(const struct plan *plan, const struct launch *l) {
        struct launcher x = {.plan = plan, .l = l};
        int r;

        umask(0);
        x.trees = calloc(plan->n_ops, sizeof(int));
        if (!x.trees)
                fail(l, ENOMEM, "out of memory");
        take_ids(&x);
        if (!strlist_has(&plan->without, "cgroup-namespace") && unshare(CLONE_NEWCGROUP) < 0)
                fail(l, errno, "a cgroup namespace cannot be made\nuse --without=cgroup-namespace to go on without it");
        /* The payload's own namespace is the only one that may be made beneath. The filter refuses more, too. */
        (void)!file_poke(AT_FDCWD, "/proc/sys/user/max_user_namespaces", "1");
        open_sources(&x);
        build_stage(&x);
        execute(&x);
        /* An image's root is an overlay of the sandbox's own, to be changed as it likes. */
        r = plan->image ? 0 : mount_attr(x.root, false, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0);
        if (r < 0)
                fail(l, r, "the root cannot be made read-only");
        if (plan->image)
                open_low_ports();
        bring_up_loopback(l);
        if (sethostname(plan->hostname, strlen(plan->hostname)) < 0)
                fail(l, errno, "the host name cannot be set");
        r = mount_pivot(NEW_ROOT);
        if (r < 0)
                fail(l, r, "the new root cannot be entered");
        int ruleset = make_ruleset(&x);
        int tty = make_terminal(&x);
        /* What init needs where the payload has another uid, and drops again but for KILL once it has started it: to
         * change ids, to write the inner map of another uid's process (SYS_ADMIN over a namespace that is not its own,
         * DAC_OVERRIDE for the /proc file, SETFCAP because it holds the outer id 0: user_namespaces(7)), to drop the
         * rest. Nothing otherwise. */
        if (plan->ids.subids) {
                take_init_ids(&x);
                prctl(PR_SET_PDEATHSIG, SIGKILL); /* the change of ids has cleared it */
        }
        r = process_keep_caps(!plan->ids.single ? 1ull << CAP_SETUID | 1ull << CAP_SETGID | 1ull << CAP_KILL |
                                                       1ull << CAP_SETPCAP | 1ull << CAP_SETFCAP | 1ull << CAP_DAC_OVERRIDE |
                                                       1ull << CAP_SYS_ADMIN
                                             : 0);
        if (r < 0)
                fail(l, r, "capabilities cannot be dropped");
        arrange_fds(&x, ruleset, tty);
        __builtin_unreachable();
}
