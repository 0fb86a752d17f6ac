/* One thing into the place of another, so that whoever looks sees one or the other; see apply.h. */
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "base/fd.h"
#include "model/inert.h"
#include "svc/apply-internal.h"
#include "sys/beneath.h"

enum { CHUNK = 256 << 10, SPARSE_MAX = 1 << 30 };

int apply_say(struct apply_result *r, enum apply_outcome o, const char *fmt, ...) {
        va_list ap;

        r->outcome = o;
        va_start(ap, fmt);
        vsnprintf(r->why, sizeof(r->why), fmt, ap);
        va_end(ap);
        return 0;
}

void thing_clear(struct thing *t) {
        free(t->target);
        fd_close(t->fd);
        *t = THING_NONE;
}

static int read_target(int dir, const char *name, char **ret) {
        for (size_t size = 256; size <= 1u << 16; size *= 4) {
                char *buf = malloc(size);
                if (!buf)
                        return -ENOMEM;
                ssize_t n = readlinkat(dir, name, buf, size);
                if (n >= 0 && (size_t)n < size) {
                        buf[n] = 0;
                        *ret = buf;
                        return 0;
                }
                int r = n < 0 ? -errno : 0;
                free(buf);
                if (r < 0)
                        return r;
        }
        return -ENAMETOOLONG;
}

int thing_look(int dir, const char *name, struct thing *ret) {
        _cleanup_thing_ struct thing t = THING_NONE;
        int r = 0;

        if (fstatat(dir, name, &t.st, AT_SYMLINK_NOFOLLOW) < 0) {
                if (errno != ENOENT)
                        return -errno;
        } else {
                if (S_ISREG(t.st.st_mode))
                        r = t.fd = beneath_open_regular(dir, name, &t.st);
                else if (S_ISLNK(t.st.st_mode))
                        r = read_target(dir, name, &t.target);
                if (r < 0)
                        return r;
                t.mode = t.st.st_mode;
                t.uid = t.st.st_uid;
                t.gid = t.st.st_gid;
        }
        *ret = t;
        t = THING_NONE;
        return 0;
}

static bool same_time(const struct timespec *a, const struct timespec *b) { return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec; }

bool thing_same_state(const struct thing *a, const struct thing *b) {
        return a->mode == b->mode && (!a->mode || (a->st.st_dev == b->st.st_dev && a->st.st_ino == b->st.st_ino && a->uid == b->uid &&
               a->gid == b->gid && (S_ISDIR(a->mode) || (a->st.st_size == b->st.st_size && same_time(&a->st.st_mtim, &b->st.st_mtim)))));
}

/* Writes a piece, or leaves a hole where it is zero throughout. */
static int write_piece(int to, const char *buf, size_t n, off_t at) {
        static const char zero[4096];
        size_t i = 0;

        while (i < n && memcmp(buf + i, zero, MIN(n - i, sizeof(zero))) == 0)
                i += MIN(n - i, sizeof(zero));
        if (i >= n)
                return 0;
        for (size_t k = 0; k < n;) {
                ssize_t w = pwrite(to, buf + k, n - k, at + (off_t)k);
                if (w < 0 && errno != EINTR)
                        return -errno;
                k += (size_t)MAX(w, 0);
        }
        return 0;
}

int thing_read(struct thing *t, int to) {
        struct sha256_state s;
        struct stat st;
        off_t at = 0;
        int r = 0;

        if (t->hashed && to < 0)
                return 0;
        /* A run can leave a file of any size that takes no room: what it is on the disk has to bear some relation to it. */
        if (t->st.st_size - (off_t)t->st.st_blocks * 512 > SPARSE_MAX)
                return -EFBIG;
        _cleanup_free_ char *buf = malloc(CHUNK);
        if (!buf)
                return -ENOMEM;
        sha256_begin(&s);
        for (;;) {
                ssize_t n = pread(t->fd, buf, CHUNK, at);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        r = -errno;
                if (n <= 0)
                        break;
                if (at + n > t->st.st_size) { /* it grows: not the file that was looked at */
                        r = -EBUSY;
                        break;
                }
                sha256_add(&s, buf, (size_t)n);
                if (to >= 0 && (r = write_piece(to, buf, (size_t)n, at)) < 0)
                        break;
                at += n;
        }
        uint8_t hash[SHA256_SIZE];
        sha256_end(&s, hash);
        if (r == 0 && to >= 0 && ftruncate(to, at) < 0)
                r = -errno;
        if (r == 0 && (fstat(t->fd, &st) < 0 || at != t->st.st_size || !same_time(&st.st_mtim, &t->st.st_mtim)))
                r = -EBUSY;
        if (r == 0 && t->hashed && memcmp(hash, t->hash, sizeof(hash)) != 0)
                r = -EBUSY;
        if (r < 0)
                return r;
        memcpy(t->hash, hash, sizeof(hash));
        t->hashed = true;
        return 0;
}

int thing_equal(struct thing *a, const struct thing *b) {
        if ((a->mode & S_IFMT) != (b->mode & S_IFMT))
                return 0;
        if (!a->mode)
                return 1;
        if (S_ISLNK(a->mode))
                return a->target && b->target && streq(a->target, b->target);
        if (S_ISDIR(a->mode)) /* whether it has setgid is for the directory above to say */
                return (a->mode & 0777) == (b->mode & 0777);
        if ((a->mode & 07777) != (b->mode & 07777) || !S_ISREG(a->mode))
                return 0;
        int r = thing_read(a, -1);
        return r < 0 ? r : b->hashed && memcmp(a->hash, b->hash, SHA256_SIZE) == 0;
}

int place_parent(const struct apply *a, const char *path, const char **ret_name) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *dir = slash ? strndup(path, (size_t)(slash - path)) : strdup("");

        if (!dir)
                return -ENOMEM;
        *ret_name = slash ? slash + 1 : path;
        if (!**ret_name || streq(*ret_name, ".") || streq(*ret_name, ".."))
                return -EINVAL;
        return beneath_open(a->root, dir, O_RDONLY | O_DIRECTORY);
}

/* ---- what is written beside ---- */

/* The host's file keeps what is its own: attributes of the user, and its access list. */
static int copy_xattrs(int from, int to, bool from_run) {
        _cleanup_free_ char *names = NULL, *value = NULL;
        ssize_t n = flistxattr(from, NULL, 0);

        if (n <= 0)
                return n == 0 || errno == EOPNOTSUPP ? 0 : -errno;
        names = malloc((size_t)n);
        value = malloc(XATTR_SIZE_MAX);
        if (!names || !value)
                return -ENOMEM;
        n = flistxattr(from, names, (size_t)n);
        for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1) {
                if (!inert_xattr(names + i) && (from_run || !streq(names + i, "system.posix_acl_access")))
                        continue;
                ssize_t k = fgetxattr(from, names + i, value, XATTR_SIZE_MAX);
                if (k < 0 || fsetxattr(to, names + i, value, (size_t)k, 0) < 0)
                        return -errno;
        }
        return n < 0 ? -errno : 0;
}

static int write_text(int fd, const struct placing *p, uint8_t hash[SHA256_SIZE]) {
        sha256(p->text, p->text_size, hash);
        return p->text_size > 0 ? fd_write_all(fd, p->text, p->text_size) : 0;
}

/* A regular file beside; *ret becomes what it is. */
static int make_file(const struct apply *a, const struct placing *p, const char *temp, struct thing *ret) {
        _cleanup_thing_ struct thing from = THING_NONE;
        struct stat parent;
        uint8_t hash[SHA256_SIZE];
        int r;

        _cleanup_fd_ int fd = openat(p->dir, temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        if (p->text)
                r = write_text(fd, p, hash);
        else {
                from.fd = fcntl(p->from, F_DUPFD_CLOEXEC, 3);
                r = from.fd < 0 || fstat(from.fd, &from.st) < 0 ? -errno : thing_read(&from, fd);
                memcpy(hash, from.hash, sizeof(hash));
        }
        if (r == 0 && p->new->hashed && memcmp(hash, p->new->hash, sizeof(hash)) != 0)
                r = -EKEYREJECTED;
        /* It belongs to whom the old one belonged, or the directory. */
        if (r == 0 && p->old->mode && (p->old->uid != geteuid() || p->old->gid != getegid()) && fchown(fd, p->old->uid, p->old->gid) < 0)
                r = -errno;
        if (r == 0 && !p->old->mode && geteuid() == 0 && (fstat(p->dir, &parent) < 0 || fchown(fd, parent.st_uid, parent.st_gid) < 0))
                r = -errno;
        if (r == 0 && S_ISREG(p->old->mode))
                r = copy_xattrs(p->old->fd, fd, false);
        if (r == 0 && p->xattrs_from >= 0)
                r = copy_xattrs(p->xattrs_from, fd, true);
        if (r == 0 && (fchmod(fd, p->new->mode & 0777) < 0 || fsync(fd) < 0))
                r = -errno;
        if (r < 0)
                return r;
        r = thing_look(p->dir, temp, ret);
        if (r == 0) {
                memcpy(ret->hash, hash, sizeof(hash));
                ret->hashed = true;
        }
        return r;
}

static int make_link(const struct placing *p, const char *temp, struct thing *ret) {
        struct stat parent;

        if (symlinkat(p->new->target, p->dir, temp) < 0)
                return -errno;
        if (geteuid() == 0 && (fstat(p->dir, &parent) < 0 || fchownat(p->dir, temp, parent.st_uid, parent.st_gid, AT_SYMLINK_NOFOLLOW) < 0))
                return -errno;
        return thing_look(p->dir, temp, ret);
}

static int put_aside(struct apply *a, size_t i, struct thing *old) {
        char name[32];

        if (!S_ISREG(old->mode))
                return 0;
        journal_copy_name(i, name);
        _cleanup_fd_ int fd = openat(a->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        int r = thing_read(old, fd);
        return r == 0 && fsync(fd) < 0 ? -errno : r;
}

/* ---- the change of places ---- */

static int rename_to(int dir, const char *from, const char *to, unsigned flags) {
        return syscall(SYS_renameat2, dir, from, dir, to, flags) < 0 ? -errno : 0;
}

/* -EBUSY: what stood there is not what was looked at, and stands there again. */
static int swap(const struct placing *p, const char *temp) {
        _cleanup_thing_ struct thing out = THING_NONE;
        int r;

        if (!p->old->mode) {
                r = rename_to(p->dir, temp, p->name, RENAME_NOREPLACE);
                return r == -EEXIST ? -EBUSY : r;
        }
        const unsigned flags = p->new->mode ? RENAME_EXCHANGE : RENAME_NOREPLACE;
        r = p->new->mode ? rename_to(p->dir, temp, p->name, flags) : rename_to(p->dir, p->name, temp, flags);
        if (r == -ENOENT)
                return -EBUSY;
        if (r < 0)
                return r;
        r = thing_look(p->dir, temp, &out);
        if (r == 0 && thing_same_state(&out, p->old))
                return 0;
        /* Somebody was faster: back. Whatever came meanwhile in its place stays, and so does this, beside it. */
        r = rename_to(p->dir, temp, p->name, flags);
        return r < 0 ? r : -EBUSY;
}

static int failed(struct apply_result *ret, int r) {
        switch (r) {
        case -EBUSY: return apply_say(ret, APPLY_CONFLICT, "it changes on the host at this moment");
        case -EKEYREJECTED: return apply_say(ret, APPLY_REFUSED, "its content is not the one that was agreed to");
        case -EFBIG: return apply_say(ret, APPLY_REFUSED, "a sparse file, far larger than what it holds");
        case -EINVAL: case -ENOSYS:
                return apply_say(ret, APPLY_REFUSED, "this file system cannot let two files change places in one step");
        case -EPERM: case -EACCES: return apply_say(ret, APPLY_REFUSED, "it may not be written: %s", strerror(-r));
        default: return apply_say(ret, APPLY_REFUSED, "%s", strerror(-r));
        }
}

static int temp_name(char dst[40]) {
        uint64_t x;
        if (getrandom(&x, sizeof(x), 0) != sizeof(x))
                return -EIO;
        snprintf(dst, 40, ".belljar-apply-%016llx", (unsigned long long)x);
        return 0;
}

int place(struct apply *a, const struct placing *p, struct apply_result *ret, struct error *e) {
        char temp[40];
        int r = temp_name(temp);

        if (r < 0)
                return error_errno(e, -r, "no random numbers");
        ssize_t i = journal_add(a, p->path, temp, p->undo, e);
        if (i < 0)
                return (int)i;
        struct apply_entry *x = &a->entries[i];
        if ((r = put_aside(a, (size_t)i, p->old)) < 0)
                goto not_done;
        if (S_ISREG(p->new->mode))
                r = make_file(a, p, temp, &x->new);
        else if (S_ISLNK(p->new->mode))
                r = make_link(p, temp, &x->new);
        if (r < 0)
                goto not_done;
        x->old = *p->old; /* its fd and target remain the caller's */
        x->old.fd = -EBADF;
        x->old.target = p->old->target ? strdup(p->old->target) : NULL;
        fd_close(TAKE_FD(x->new.fd));
        if (p->old->target && !x->old.target)
                return error_set(e, ENOMEM, "out of memory");
        r = journal_stage(a, (size_t)i, STAGE_BEGUN, p->old->mode != 0, e);
        if (r < 0)
                return r;
        r = swap(p, temp);
        if (r < 0)
                goto not_done;
        if (p->old->mode)
                (void)unlinkat(p->dir, temp, 0);
        if (fsync(p->dir) < 0 && errno != EINVAL && errno != EROFS)
                return error_errno(e, errno, "the workspace cannot be synced");
        ret->outcome = APPLY_TAKEN;
        return journal_stage(a, (size_t)i, STAGE_DONE, false, e);

not_done:
        (void)failed(ret, r);
        /* Only what was made here: where the old thing is beside (a failed way back), it is not to be lost. */
        _cleanup_thing_ struct thing there = THING_NONE;
        if (thing_look(p->dir, temp, &there) == 0 && there.mode) {
                if (x->stage == STAGE_TEMP || (there.st.st_ino == x->new.st.st_ino && there.st.st_dev == x->new.st.st_dev))
                        (void)unlinkat(p->dir, temp, 0);
                else
                        (void)apply_say(ret, APPLY_CONFLICT, "somebody else changes it too; what stood there is now %s beside it", temp);
        }
        return journal_stage(a, (size_t)i, STAGE_NOT, false, e);
}

/* ---- after a crash ---- */

static int recover_begun(struct apply *a, struct apply_entry *x, int dir, const char *name, bool *ret_done, struct error *e) {
        _cleanup_thing_ struct thing here = THING_NONE, beside = THING_NONE;
        int r = thing_look(dir, name, &here);

        if (r == 0)
                r = thing_look(dir, x->temp, &beside);
        int is_new = r == 0 ? thing_equal(&here, &x->new) : r;
        int beside_new = is_new >= 0 ? thing_equal(&beside, &x->new) : is_new;
        int beside_old = beside_new >= 0 ? thing_equal(&beside, &x->old) : beside_new;
        if (beside_old < 0)
                return error_errno(e, -beside_old, "what an earlier apply has left of %s cannot be read", x->path);
        if (!beside.mode) { /* all is done, or all is as it was */
                *ret_done = is_new;
                return 0;
        }
        if (x->new.mode && beside_new) { /* they have not changed places, or back */
                (void)unlinkat(dir, x->temp, 0);
                *ret_done = false;
                return 0;
        }
        if (beside_old) {
                (void)unlinkat(dir, x->temp, 0);
                *ret_done = true;
                return 0;
        }
        /* It was changed in the moment before. */
        r = rename_to(dir, x->temp, name, x->new.mode && is_new ? RENAME_EXCHANGE : RENAME_NOREPLACE);
        if (r < 0)
                return error_errno(e, -r, "what stood at %s is %s beside it, and cannot be put back", x->path, x->temp);
        if (x->new.mode && is_new)
                (void)unlinkat(dir, x->temp, 0);
        *ret_done = false;
        return 0;
}

int place_recover(struct apply *a, size_t i, struct error *e) {
        struct apply_entry *x = &a->entries[i];
        const char *name;
        bool done = false;
        int r;

        _cleanup_fd_ int dir = place_parent(a, x->path, &name);
        if (dir < 0 && dir != -ENOENT)
                return error_errno(e, -dir, "what an earlier apply has left at %s cannot be ended", x->path);
        if (x->stage == STAGE_TEMP) { /* nothing was changed yet */
                if (dir >= 0 && x->temp)
                        (void)unlinkat(dir, x->temp, 0);
        } else if (dir >= 0 && x->temp) {
                if ((r = recover_begun(a, x, dir, name, &done, e)) < 0)
                        return r;
        } else if (dir >= 0) { /* a directory's */
                _cleanup_thing_ struct thing here = THING_NONE;
                if ((r = thing_look(dir, name, &here)) < 0 || (r = thing_equal(&here, &x->new)) < 0)
                        return error_errno(e, -r, "what an earlier apply has left at %s cannot be read", x->path);
                done = r > 0;
                if (!x->old.mode && S_ISDIR(here.mode)) { /* it was made, perhaps without its mode yet */
                        _cleanup_fd_ int fd = beneath_open(dir, name, O_RDONLY | O_DIRECTORY);
                        done = fd >= 0 && fchmod(fd, x->new.mode & 0777) == 0;
                }
        }
        return journal_stage(a, i, done ? STAGE_DONE : STAGE_NOT, true, e);
}
