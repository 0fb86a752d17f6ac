/* Copies of files with unmapped owners, see shadow.h. The tree is the user's own, but what lies in it may have been
 * written by an earlier sandbox: no link is followed and nothing but regular files is opened. */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/remove-tree.h"
#include "svc/shadow.h"

#define DEPTH_MAX 256

struct shadow {
        int state;
        int layer; /* -1 until the first entry */
        uid_t uid;
        gid_t gid;
        const struct strlist *hidden;
        uint64_t seen, max, bytes;
        unsigned entries;
        struct error *e;
};

static bool likely(const struct stat *workspace) {
        gid_t groups[1024], gid = getegid();
        int n = getgroups(ELEMENTSOF(groups), groups);

        if (n < 0 || workspace->st_gid != gid || workspace->st_mode & S_ISGID)
                return true;
        for (int i = 0; i < n; i++)
                if (groups[i] != gid)
                        return true;
        return false;
}

static int too_much(struct shadow *s, const char *path) {
        error_set(s->e, EOVERFLOW, "too many files of the workspace have a group that the sandbox has no id for, the last seen is %s", path);
        return error_fix(s->e, "give them your own group (chgrp -R %u DIR), or start with theirs: sg GROUP -c 'belljar run ...'",
                         (unsigned)s->gid);
}

/* mkdir(2) ignores the set-group-ID bit, which a directory that hands its group down has. */
static int make_dir(int layer, const char *path, mode_t mode) {
        if (mkdirat(layer, path, 0700) < 0)
                return errno == EEXIST ? 0 : -errno;
        return fchmodat(layer, path, mode & 03777, 0) < 0 ? -errno : 0;
}

/* The directories above and at path exist in the layer, with the modes of the workspace's. */
static int make_dirs(struct shadow *s, int ws, const char *path, bool itself) {
        _cleanup_free_ char *p = strdup(path);
        struct stat st;

        if (!p)
                return error_set(s->e, ENOMEM, "out of memory");
        if (s->layer < 0) {
                if (mkdirat(s->state, "shadow", 0700) < 0 ||
                    (s->layer = openat(s->state, "shadow", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
                        return error_errno(s->e, errno, "a layer for files of other groups cannot be made");
                if (fstat(ws, &st) < 0 || fchmod(s->layer, st.st_mode & 03777) < 0)
                        return error_errno(s->e, errno, "a layer for files of other groups cannot be made");
        }
        for (char *c = p; *c; c++) {
                if (*c != '/')
                        continue;
                *c = 0;
                if (fstatat(ws, p, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                    make_dir(s->layer, p, st.st_mode) < 0)
                        return error_errno(s->e, errno, "%s cannot be made in the layer", p);
                *c = '/';
        }
        if (itself && (fstatat(ws, p, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                       make_dir(s->layer, p, st.st_mode) < 0))
                return error_errno(s->e, errno, "%s cannot be made in the layer", p);
        return 0;
}

static int copy_file(struct shadow *s, int dir, const char *name, const char *path) {
        _cleanup_fd_ int from = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), to = -EBADF;
        struct stat st;

        if (from < 0)
                return errno == EACCES || errno == ENOENT || errno == ELOOP
                               ? 0 : error_errno(s->e, errno, "%s cannot be read", path);
        if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
                return 0;
        s->bytes += (uint64_t)st.st_size;
        if (s->bytes > SHADOW_MAX_BYTES)
                return too_much(s, path);
        to = openat(s->layer, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (to < 0)
                return error_errno(s->e, errno, "%s cannot be copied into the layer", path);
        if (ioctl(to, FICLONE, from) < 0) {
                off_t left = st.st_size;
                while (left > 0) {
                        ssize_t n = copy_file_range(from, NULL, to, NULL, (size_t)left, 0);
                        if (n < 0)
                                return error_errno(s->e, errno, "%s cannot be copied into the layer", path);
                        if (n == 0)
                                break; /* it became shorter */
                        left -= n;
                }
        }
        struct timespec times[2] = {st.st_atim, st.st_mtim};
        if (fchmod(to, st.st_mode & 01777) < 0 || futimens(to, times) < 0)
                return error_errno(s->e, errno, "%s cannot be copied into the layer", path);
        return 0;
}

static int copy_link(struct shadow *s, int dir, const char *name, const char *path) {
        char target[4096];
        ssize_t n = readlinkat(dir, name, target, sizeof(target));

        if (n < 0 || n == sizeof(target))
                return 0;
        target[n] = 0;
        if (symlinkat(target, s->layer, path) < 0)
                return error_errno(s->e, errno, "%s cannot be copied into the layer", path);
        return 0;
}

static bool is_hidden(const struct shadow *s, const char *path) {
        for (size_t i = 0; i < s->hidden->n; i++)
                if (path_beneath(path, s->hidden->items[i]))
                        return true;
        return false;
}

static int walk(struct shadow *s, int ws, int parent, const char *name, const char *path, unsigned depth) {
        int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

        if (!d) {
                fd_close(fd);
                return 0; /* the sandbox's user cannot look there either */
        }
        for (struct dirent *e; r == 0 && (e = readdir(d));) {
                struct stat st;
                if (streq(e->d_name, ".") || streq(e->d_name, "..") || fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                if (++s->seen > s->max || depth > DEPTH_MAX)
                        break; /* what is beyond keeps its owner, and fails inside as described */
                bool foreign = st.st_gid != s->gid || st.st_uid != s->uid;
                if (!foreign && !S_ISDIR(st.st_mode))
                        continue;
                _cleanup_free_ char *child = path[0] ? str_printf("%s/%s", path, e->d_name) : strdup(e->d_name);
                if (!child) {
                        r = error_set(s->e, ENOMEM, "out of memory");
                        break;
                }
                if (is_hidden(s, child))
                        continue;
                /* What the caller may not write outside is not made writable inside. A link has no mode: whose it is
                 * decides. */
                if (foreign && (S_ISLNK(st.st_mode) ? st.st_uid == s->uid
                                                    : faccessat(fd, e->d_name, W_OK, AT_EACCESS) == 0)) {
                        if (++s->entries > SHADOW_MAX_ENTRIES)
                                r = too_much(s, child);
                        else if ((S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) || S_ISDIR(st.st_mode)))
                                r = make_dirs(s, ws, child, S_ISDIR(st.st_mode));
                        if (r == 0 && S_ISREG(st.st_mode))
                                r = copy_file(s, fd, e->d_name, child);
                        else if (r == 0 && S_ISLNK(st.st_mode))
                                r = copy_link(s, fd, e->d_name, child);
                }
                if (r == 0 && S_ISDIR(st.st_mode))
                        r = walk(s, ws, fd, e->d_name, child, depth + 1);
        }
        closedir(d);
        return r;
}

int shadow_make(int state_fd, const char *workspace, const struct strlist *hidden, struct error *e) {
        _cleanup_fd_ int ws = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct shadow s = {.state = state_fd, .layer = -EBADF, .uid = geteuid(), .gid = getegid(), .hidden = hidden, .e = e};
        struct stat st;
        int r;

        if (ws < 0 || fstat(ws, &st) < 0)
                return error_errno(e, errno, "the workspace %s cannot be opened", workspace);
        s.max = likely(&st) ? SHADOW_WALK_MAX : SHADOW_WALK_UNLIKELY;
        mode_t mask = umask(0);
        r = st.st_gid != s.gid && faccessat(ws, ".", W_OK, AT_EACCESS) == 0 ? make_dirs(&s, ws, "", false) : 0;
        if (r == 0)
                s.entries += s.layer >= 0;
        if (r == 0)
                r = walk(&s, ws, AT_FDCWD, workspace, "", 0);
        umask(mask);
        fd_close(s.layer);
        if (r < 0)
                (void)!remove_tree(state_fd, "shadow", NULL, NULL);
        return r < 0 ? r : (int)s.entries;
}
