/* Making a tree of what a tar holds. Its bytes are hostile: every name is resolved beneath the root and through no link,
 * whatever the archive made before. Directories that are links in a lower layer (/bin -> usr/bin) were looked up by the
 * import (image-through.h): here they are replaced in the names, and no more. */
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/unpack/unpack.h"
#include "svc/image-through.h"
#include "sys/beneath.h"

#define WHITEOUT ".wh."
#define OPAQUE ".wh..wh..opq"
#define XATTR_MAX 65536u          /* bytes of a value (xattr(7)) */
#define TIMES_MAX (64u << 20)     /* bytes of names of directories whose times are set at the end */
#define NOBODY 65534u
#define IMPLIED "user.overlay.implied" /* while it is unpacked: a directory that no entry has described so far */

struct strbuf unpack_implied = {.max = IMAGE_IMPLIED_MAX};

struct tree {
        const struct image_helper *h;
        struct layer_counts *counts;
        struct error *e;
        int root;
        char parent[UNPACK_NAME_MAX + 1]; /* the directory of the last entry, */
        int parent_fd;                    /* open: directories are never replaced by anything */
        bool root_described;
        struct strbuf times;              /* struct dir_time and name, for each directory entry */
};
struct dir_time {
        struct timespec at;
        size_t len;
};

static int refuse(struct tree *t, int errnum, const char *what, const char *name) {
        return error_set(t->e, errnum, "the archive has %s: %s", what, name);
}
static int failed(struct tree *t, int r, const char *name) {
        if (r == -ENOSPC || r == -EDQUOT) {
                error_errno(t->e, r, "the image cannot be stored");
                return r;
        }
        return error_errno(t->e, r, "an entry of the archive cannot be made: %s", name);
}

/* A whiteout that this archive made: the only device there can be. */
static bool is_whiteout(const struct stat *st) { return S_ISCHR(st->st_mode) && st->st_rdev == 0; }

static int mark_opaque(struct tree *t, int dir) {
        if (fsetxattr(dir, "user.overlay.opaque", "y", 1, 0) < 0)
                return error_errno(t->e, errno, "the store's file system keeps no extended attributes, which layers need");
        t->counts->opaque++;
        return 0;
}

/* The one directory `name` in dir, made where it is missing: archives may leave out parents. n: bytes of path up to it. */
static int enter(struct tree *t, int dir, const char *name, const char *path, size_t n) {
        int r = beneath_open(dir, name, O_RDONLY | O_DIRECTORY);
        struct stat st;
        bool opaque = false;

        if (r == -ENOTDIR && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && is_whiteout(&st)) {
                if (unlinkat(dir, name, 0) < 0)
                        return failed(t, -errno, path);
                opaque = true; /* it hid what lower layers have there */
                r = -ENOENT;
        }
        if (r == -ENOENT) {
                if (++t->counts->entries > t->h->max_entries)
                        return refuse(t, EFBIG, "more entries than are allowed (--max-entries N allows more)", path);
                if (mkdirat(dir, name, 0755) < 0)
                        return failed(t, -errno, path);
                r = beneath_open(dir, name, O_RDONLY | O_DIRECTORY);
                if (r >= 0 && t->h->job == JOB_LAYER) {
                        strbuf_add(&unpack_implied, path, n);
                        strbuf_add(&unpack_implied, "", 1);
                        if (fsetxattr(r, IMPLIED, "y", 1, 0) < 0 || unpack_implied.failed) {
                                close(r);
                                return failed(t, unpack_implied.failed ? -E2BIG : -errno, path);
                        }
                }
        }
        if (r == -ELOOP || r == -ENOTDIR)
                return refuse(t, ELOOP, "a name that leads through a link or a file", path);
        if (r < 0)
                return failed(t, r, path);
        if (opaque) {
                int k = mark_opaque(t, r);
                if (k < 0) {
                        close(r);
                        return k;
                }
        }
        return r;
}

/* Opens the directory that path lies in, and finds its last part. */
static int open_parent(struct tree *t, const char *path, const char **ret_name) {
        const char *slash = strrchr(path, '/');
        size_t n = slash ? (size_t)(slash - path) : 0;

        *ret_name = slash ? slash + 1 : path;
        if (t->parent_fd >= 0 && strlen(t->parent) == n && memcmp(t->parent, path, n) == 0)
                return 0;
        fd_close(t->parent_fd);
        memcpy(t->parent, path, n);
        t->parent[n] = 0;
        t->parent_fd = beneath_open(t->root, n ? t->parent : ".", O_RDONLY | O_DIRECTORY);
        if (t->parent_fd >= 0)
                return 0;
        _cleanup_fd_ int at = fcntl(t->root, F_DUPFD_CLOEXEC, 3);
        for (const char *p = path; at >= 0 && p < path + n;) {
                char part[256];
                size_t len = strcspn(p, "/");
                memcpy(part, p, len);
                part[len] = 0;
                if (t->h->job == JOB_LAYER && str_after(part, WHITEOUT))
                        return refuse(t, EINVAL, "a whiteout that is a directory", path);
                int next = enter(t, at, part, path, (size_t)(p - path) + len);
                if (next < 0)
                        return next;
                close(at);
                at = next;
                p += len + 1;
        }
        if (at < 0)
                return failed(t, -errno, path);
        t->parent_fd = TAKE_FD(at);
        return 0;
}

/* What stands under the name of a new entry gives way, if it is of the same kind: a later entry replaces an earlier one, as
 * tar has it. *ret_was_whiteout: lower layers must not be seen through a directory of this name. */
static int make_way(struct tree *t, const char *name, mode_t kind, const char *path, bool *ret_was_whiteout) {
        struct stat st;

        *ret_was_whiteout = false;
        if (fstatat(t->parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : failed(t, -errno, path);
        if (is_whiteout(&st))
                *ret_was_whiteout = true;
        else if ((st.st_mode & S_IFMT) != kind)
                return refuse(t, EEXIST, "two entries of one name that are of different kinds", path);
        else if (kind == S_IFDIR)
                return 0;
        return unlinkat(t->parent_fd, name, 0) < 0 ? failed(t, -errno, path) : 0;
}

static uint32_t owner(struct tree *t, int64_t id) {
        if (id >= 0 && id < (int64_t)t->h->n_ids && id < UINT32_MAX)
                return (uint32_t)id;
        if (t->h->n_ids > 1 || id != 0)
                t->counts->ids++;
        return t->h->n_ids > NOBODY ? NOBODY : 0;
}

static int set_attributes(struct tree *t, int fd, struct archive_entry *entry, const char *path) {
        const char *name;
        const void *value;
        size_t n;

        for (archive_entry_xattr_reset(entry); archive_entry_xattr_next(entry, &name, &value, &n) == ARCHIVE_OK;) {
                if (!str_after(name, "user.") || str_after(name, "user.overlay.") || n > XATTR_MAX || strlen(name) > 255) {
                        t->counts->attributes++;
                        continue;
                }
                if (fsetxattr(fd, name, value, n, 0) < 0)
                        return failed(t, -errno, path);
        }
        return 0;
}

static void times_of(struct archive_entry *entry, struct timespec ts[2]) {
        ts[0] = ts[1] = (struct timespec){archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)};
        if (ts[1].tv_nsec < 0 || ts[1].tv_nsec > 999999999)
                ts[0].tv_nsec = ts[1].tv_nsec = 0;
}

/* Owner, mode, attributes of a file or directory: in this order, as chown(2) clears bits of the mode. */
static int finish(struct tree *t, int fd, struct archive_entry *entry, const char *path) {
        mode_t mode = archive_entry_mode(entry) & 07777;
        bool dir = archive_entry_filetype(entry) == AE_IFDIR;
        struct timespec ts[2];

        if (t->h->job == JOB_ARCHIVE)
                return 0;
        if (!dir && (mode & 06000)) {
                /* Inside, programs have no_new_privs: they would gain nothing. A directory's set-gid bit is inheritance. */
                t->counts->setid++;
                mode &= ~(mode_t)06000;
        }
        if (dir)
                mode &= ~(mode_t)04000;
        uint32_t uid = owner(t, archive_entry_uid(entry)), gid = owner(t, archive_entry_gid(entry));
        if (fchown(fd, uid, gid) < 0 || fchmod(fd, mode) < 0)
                return failed(t, -errno, path);
        int r = set_attributes(t, fd, entry, path);
        if (r < 0 || dir)
                return r;
        times_of(entry, ts);
        return futimens(fd, ts) < 0 ? failed(t, -errno, path) : 0;
}

static void remember_time(struct tree *t, struct archive_entry *entry, const char *path) {
        struct timespec ts[2];
        struct dir_time d = {.len = strlen(path)};

        times_of(entry, ts);
        d.at = ts[1];
        strbuf_add(&t->times, &d, sizeof(d));
        strbuf_add(&t->times, path, d.len + 1);
}

/* Those that stayed without an entry are told: what such a directory is like is said by the layers below. Here it gets
 * values that depend on nothing. */
static void finish_implied(struct tree *t) {
        struct strbuf kept = {.max = IMAGE_IMPLIED_MAX};

        if (!t->root_described)
                strbuf_add(&kept, "", 1);
        for (size_t at = 0; at < unpack_implied.len; at += strlen(unpack_implied.data + at) + 1) {
                const char *path = unpack_implied.data + at;
                _cleanup_fd_ int fd = beneath_open(t->root, path, O_RDONLY | O_DIRECTORY);
                if (fd < 0 || fremovexattr(fd, IMPLIED) < 0)
                        continue;
                (void)!futimens(fd, (struct timespec[2]){});
                strbuf_add(&kept, path, strlen(path) + 1);
        }
        strbuf_clear(&unpack_implied);
        unpack_implied = kept;
}

/* Making entries changes the times of their directories, so they come last. One that cannot be set is no harm. */
static void set_times(struct tree *t) {
        for (size_t at = 0; !t->times.failed && at < t->times.len;) {
                struct dir_time d;
                memcpy(&d, t->times.data + at, sizeof(d));
                const char *path = t->times.data + at + sizeof(d);
                at += sizeof(d) + d.len + 1;
                _cleanup_fd_ int fd = beneath_open(t->root, path[0] ? path : ".", O_RDONLY | O_DIRECTORY);
                if (fd >= 0)
                        (void)!futimens(fd, (struct timespec[2]){d.at, d.at});
        }
}

static int make_directory(struct tree *t, struct archive_entry *entry, const char *name, const char *path) {
        bool hidden;
        int r = make_way(t, name, S_IFDIR, path, &hidden);

        if (r < 0)
                return r;
        if (mkdirat(t->parent_fd, name, 0700) < 0 && errno != EEXIST)
                return failed(t, -errno, path);
        _cleanup_fd_ int fd = beneath_open(t->parent_fd, name, O_RDONLY | O_DIRECTORY);
        if (fd < 0)
                return failed(t, fd, path);
        if (hidden && (r = mark_opaque(t, fd)) < 0)
                return r;
        if (fremovexattr(fd, IMPLIED) < 0 && errno != ENODATA && errno != ENOTSUP)
                return failed(t, -errno, path);
        if (t->h->job == JOB_LAYER)
                remember_time(t, entry, path);
        return finish(t, fd, entry, path);
}

static int write_data(struct tree *t, struct archive *a, int fd, int64_t size, const char *path) {
        const void *data;
        size_t n;
        la_int64_t offset;
        int r;

        while ((r = archive_read_data_block(a, &data, &n, &offset)) >= ARCHIVE_WARN && r != ARCHIVE_EOF)
                for (size_t done = 0; done < n;) {
                        if (offset < 0 || offset > size || (la_int64_t)n > size - offset)
                                return refuse(t, EBADMSG, "data beyond the end of a file", path);
                        ssize_t k = pwrite(fd, (const char *)data + done, n - done, offset + (la_int64_t)done);
                        if (k < 0 && errno != EINTR)
                                return failed(t, -errno, path);
                        done += k < 0 ? 0 : (size_t)k;
                }
        if (r != ARCHIVE_EOF)
                return error_set(t->e, EBADMSG, "the archive is damaged or incomplete: %s", archive_error_string(a));
        return ftruncate(fd, size) < 0 ? failed(t, -errno, path) : 0; /* a hole at the end */
}

static int make_file(struct tree *t, struct archive *a, struct archive_entry *entry, const char *name, const char *path) {
        int64_t size = archive_entry_size(entry);
        bool hidden;
        int r;

        if (size < 0 || (uint64_t)size > t->h->max_bytes - MIN(t->h->max_bytes, t->counts->bytes)) {
                refuse(t, EFBIG, "more bytes than are allowed", path);
                return error_fix(t->e, "where it is meant: --max-size SIZE, and room on the disk");
        }
        t->counts->bytes += (uint64_t)size;
        if ((r = make_way(t, name, S_IFREG, path, &hidden)) < 0)
                return r;
        _cleanup_fd_ int fd = openat(t->parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return failed(t, -errno, path);
        if ((r = write_data(t, a, fd, size, path)) < 0)
                return r;
        return finish(t, fd, entry, path);
}

static int make_symlink(struct tree *t, struct archive_entry *entry, const char *name, const char *path) {
        const char *target = archive_entry_symlink(entry);
        struct timespec ts[2];
        bool hidden;
        int r = make_way(t, name, S_IFLNK, path, &hidden);

        if (r < 0)
                return r;
        if (!target || !target[0] || strlen(target) > 4095)
                return refuse(t, EINVAL, "a symbolic link without a target, or one that is too long", path);
        if (symlinkat(target, t->parent_fd, name) < 0)
                return failed(t, -errno, path);
        if (t->h->job == JOB_ARCHIVE)
                return 0;
        times_of(entry, ts);
        uint32_t uid = owner(t, archive_entry_uid(entry)), gid = owner(t, archive_entry_gid(entry));
        if (fchownat(t->parent_fd, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0 ||
            utimensat(t->parent_fd, name, ts, AT_SYMLINK_NOFOLLOW) < 0)
                return failed(t, -errno, path);
        return 0;
}

/* A name of the archive as a path in the tree. */
static int place_of(struct tree *t, const char *given, char path[UNPACK_NAME_MAX + 1]) {
        unsigned depth = 0;
        int r = unpack_name(given, path, t->e);

        if (r < 0 || t->h->n_through == 0)
                return r;
        r = through_apply(t->h->through, t->h->n_through, path, UNPACK_NAME_MAX + 1);
        for (const char *p = path; r == 0 && (p = strchr(p, '/')); p++)
                if (++depth >= UNPACK_DEPTH_MAX)
                        r = -ENAMETOOLONG;
        return r < 0 ? refuse(t, ENAMETOOLONG, "a name that leads too deep", given) : 0;
}

/* To a file or link that the archive made before. */
static int make_hardlink(struct tree *t, const char *given, const char *name, const char *path) {
        char target[UNPACK_NAME_MAX + 1], dir[UNPACK_NAME_MAX + 1];
        struct stat st;
        bool hidden;
        int r = place_of(t, given, target);

        if (r < 0)
                return r;
        if (streq(target, path))
                return refuse(t, EINVAL, "a hard link to itself", path);
        const char *slash = strrchr(target, '/');
        size_t n = slash ? (size_t)(slash - target) : 0;
        memcpy(dir, target, n);
        dir[n] = 0;
        _cleanup_fd_ int from = beneath_open(t->root, n ? dir : ".", O_PATH | O_DIRECTORY);
        const char *last = slash ? slash + 1 : target;
        if (from < 0 || !last[0] || fstatat(from, last, &st, AT_SYMLINK_NOFOLLOW) < 0 || is_whiteout(&st))
                return refuse(t, EINVAL, "a hard link to what it has not put there before", path);
        if (S_ISDIR(st.st_mode))
                return refuse(t, EINVAL, "a hard link to a directory", path);
        if ((r = make_way(t, name, st.st_mode & S_IFMT, path, &hidden)) < 0)
                return r;
        return linkat(from, last, t->parent_fd, name, 0) < 0 ? failed(t, -errno, path) : 0;
}

/* ".wh.NAME": what lower layers have under NAME is not seen. What this layer has there stays (OCI image-spec, layer.md);
 * of a directory only what this layer has. */
static int make_whiteout(struct tree *t, const char *name, const char *path) {
        struct stat st;

        if (streq(name, OPAQUE))
                return mark_opaque(t, t->parent_fd);
        const char *of = name + strlen(WHITEOUT);
        if (str_after(of, WHITEOUT)) /* aufs' own bookkeeping */
                return 0;
        if (!of[0] || streq(of, ".") || streq(of, ".."))
                return refuse(t, EINVAL, "a whiteout of no file", path);
        if (fstatat(t->parent_fd, of, &st, AT_SYMLINK_NOFOLLOW) == 0) {
                if (!S_ISDIR(st.st_mode))
                        return 0;
                _cleanup_fd_ int fd = beneath_open(t->parent_fd, of, O_RDONLY | O_DIRECTORY);
                return fd < 0 ? failed(t, fd, path) : mark_opaque(t, fd);
        }
        if (mknodat(t->parent_fd, of, S_IFCHR, 0) < 0)
                return failed(t, -errno, path);
        t->counts->whiteouts++;
        return 0;
}

static int make_entry(struct tree *t, struct archive *a, struct archive_entry *entry) {
        const char *given = archive_entry_pathname(entry), *hard = archive_entry_hardlink(entry), *name;
        mode_t kind = archive_entry_filetype(entry);
        char path[UNPACK_NAME_MAX + 1];
        int r;

        if (!given || !given[0])
                return refuse(t, EINVAL, "an entry without a name", "");
        if ((r = place_of(t, given, path)) < 0)
                return r;
        if (++t->counts->entries > t->h->max_entries) {
                error_set(t->e, EFBIG, "the archive has more than %llu entries", (unsigned long long)t->h->max_entries);
                return error_fix(t->e, "where it is meant: --max-entries N");
        }
        if (!path[0]) {
                if (kind != AE_IFDIR || hard)
                        return refuse(t, EINVAL, "a root that is no directory", given);
                t->root_described = true;
                if (t->h->job == JOB_LAYER)
                        remember_time(t, entry, path);
                return finish(t, t->root, entry, ".");
        }
        /* Before the parents are made: nothing comes of what is left out. */
        if (!hard && (kind == AE_IFIFO || kind == AE_IFCHR || kind == AE_IFBLK)) {
                if (t->h->job == JOB_ARCHIVE || (kind != AE_IFIFO && !str_after(path, "dev/")))
                        return refuse(t, EPERM, "a device or FIFO", path);
                t->counts->devices++;
                return 0;
        }
        r = open_parent(t, path, &name);
        /* umoci names what was in a directory that has become a link: nothing of lower layers is seen through it anyway. */
        if (r == -ELOOP && t->h->job == JOB_LAYER && str_after(name, WHITEOUT)) {
                *t->e = (struct error){};
                return 0;
        }
        if (r < 0)
                return r;
        if (t->h->job == JOB_LAYER && str_after(name, WHITEOUT)) {
                if (hard || kind != AE_IFREG)
                        return refuse(t, EINVAL, "a whiteout that is no regular file", path);
                return make_whiteout(t, name, path);
        }
        if (hard)
                return make_hardlink(t, hard, name, path);
        switch (kind) {
        case AE_IFDIR: return make_directory(t, entry, name, path);
        case AE_IFREG: return make_file(t, a, entry, name, path);
        case AE_IFLNK: return make_symlink(t, entry, name, path);
        default: return refuse(t, EINVAL, "an entry of a kind that cannot be", path);
        }
}

/* The digest is of the whole stream: what follows the archive's end is read as well. */
static int drain(struct tree *t) {
        static char buffer[65536];
        ssize_t n;
        while ((n = read(t->h->in, buffer, sizeof(buffer))) != 0)
                if (n < 0 && errno != EINTR)
                        return failed(t, -errno, "(the end)");
        return 0;
}

int unpack_tree(const struct image_helper *h, struct image_report *report) {
        struct tree t = {.h = h, .counts = &report->counts, .e = &report->error, .parent_fd = -EBADF, .times = {.max = TIMES_MAX}};
        struct archive *a = NULL;
        struct archive_entry *entry;
        int r, k = ARCHIVE_OK;

        t.root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (t.root < 0)
                return error_errno(t.e, errno, "the tree cannot be opened");
        r = unpack_reader(h->in, false, &a, t.e);
        if (r < 0) {
                close(t.root);
                return r;
        }
        while (r == 0 && (k = archive_read_next_header(a, &entry)) >= ARCHIVE_WARN && k != ARCHIVE_EOF)
                r = make_entry(&t, a, entry);
        if (r == 0 && k != ARCHIVE_EOF)
                r = error_set(t.e, EBADMSG, "the archive is damaged or incomplete: %s", archive_error_string(a));
        if (r == 0)
                r = drain(&t);
        if (r == 0 && h->job == JOB_LAYER) {
                finish_implied(&t);
                set_times(&t);
        }
        archive_read_free(a);
        strbuf_clear(&t.times);
        fd_close(t.parent_fd);
        close(t.root);
        return r;
}
