/* What is taken over and what is not; see apply.h. */
#include <stdio.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/fd.h"
#include "model/inert.h"
#include "svc/apply-internal.h"
#include "sys/beneath.h"

#define SECOND INT64_C(1000000000)

static int64_t ns_of(const struct timespec *t) { return t->tv_sec * SECOND + t->tv_nsec; }

/* Of these the kernel of this machine itself writes the times, from the clock that a run's start is taken from. */
static bool has_our_clock(int root) {
        static const unsigned long known[] = {0xef53 /* ext */, 0x58465342 /* xfs */, 0x9123683e /* btrfs */, 0x01021994 /* tmpfs */,
                                              0xf2f52010 /* f2fs */, 0x2fc12fc1 /* zfs */, 0xca451a4e /* bcachefs */, 0x794c7630 /* overlay */,
                                              0x858458f6 /* ramfs */};
        _cleanup_fd_ int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct statfs s;

        if (fd < 0 || fstatfs(fd, &s) < 0)
                return false;
        for (size_t i = 0; i < ELEMENTSOF(known); i++)
                if ((unsigned long)s.f_type == known[i])
                        return true;
        return false;
}

int64_t apply_began(int root, int64_t began, int64_t clock) {
        struct timespec real, boot;

        if (clock_gettime(CLOCK_REALTIME, &real) == 0 && clock_gettime(CLOCK_BOOTTIME, &boot) == 0) {
                int64_t back = clock - (ns_of(&real) - ns_of(&boot));
                if (back > SECOND / 10) /* less is the clock being slewed */
                        began -= back;
        }
        return has_our_clock(root) ? began : began - 10 * SECOND;
}

int apply_open(struct apply *a, int state_fd, bool make, struct error *e) { return journal_open(a, state_fd, make, e); }

void apply_close(struct apply *a) {
        for (size_t i = 0; i < a->n; i++) {
                free(a->entries[i].path);
                free(a->entries[i].temp);
                thing_clear(&a->entries[i].old);
                thing_clear(&a->entries[i].new);
        }
        free(a->entries);
        fd_close(a->journal);
        fd_close(a->dir);
        *a = APPLY_NONE;
}

int apply_digest(const struct apply *a, const struct change *c, char ret[APPLY_DIGEST], uint8_t ret_content[SHA256_SIZE], struct error *e) {
        _cleanup_thing_ struct thing t = THING_NONE;
        char head[64];
        uint8_t hash[SHA256_SIZE];
        struct sha256_state s;

        if (S_ISREG(c->after.mode)) {
                t.fd = beneath_open_regular(a->upper, c->path, &t.st);
                int r = t.fd < 0 ? t.fd : thing_read(&t, -1);
                if (r < 0)
                        return error_errno(e, -r, "a file of the run cannot be read");
        }
        sha256_begin(&s);
        snprintf(head, sizeof(head), "belljar-yes-1 %o", (unsigned)c->after.mode);
        sha256_add(&s, head, strlen(head) + 1);
        sha256_add(&s, c->path, strlen(c->path) + 1);
        if (c->after.link)
                sha256_add(&s, c->after.link, strlen(c->after.link) + 1);
        sha256_add(&s, t.hash, sizeof(t.hash));
        sha256_end(&s, hash);
        for (size_t i = 0; i < sizeof(hash); i++)
                snprintf(ret + 2 * i, 3, "%02x", hash[i]);
        if (ret_content)
                memcpy(ret_content, t.hash, sizeof(t.hash));
        return 0;
}

/* ---- one change ---- */

bool apply_in_halves(const struct change *c) {
        return c->kind == CHANGE_TYPE && (S_ISDIR(c->before.mode) || S_ISDIR(c->after.mode));
}

/* Whether it is still what the run started from. *ret_no: why not. */
static int check_base(const struct apply *a, const char *path, mode_t expected, struct thing *t, const char **ret_no) {
        const struct thing *ours = NULL;

        *ret_no = NULL;
        if (!expected && t->mode)
                *ret_no = "it appeared on the host meanwhile";
        else if (expected && !t->mode)
                *ret_no = "it is gone from the host meanwhile";
        else if ((expected & S_IFMT) != (t->mode & S_IFMT))
                *ret_no = "it is something else on the host meanwhile";
        if (*ret_no || !t->mode || S_ISDIR(t->mode) || ns_of(&t->st.st_ctim) <= a->began)
                return 0;
        if (!(ours = journal_last(a, path)))
                *ret_no = "it changed on the host since the run started";
        else {
                int r = thing_equal(t, ours);
                if (r < 0)
                        return r;
                if (r == 0)
                        *ret_no = "it changed on the host since it was taken over";
        }
        return 0;
}

/* The modes of the user's own directories count, also where this process is above them (changes_unbind). */
static bool is_writable(int dir) {
        struct stat st;
        return fstat(dir, &st) == 0 && (geteuid() == 0 || st.st_uid != geteuid() || st.st_mode & S_IWUSR);
}

/* Links lead to where they say only as long as nothing on the way is a link that leads out. */
static bool link_stays(const struct apply *a, const char *path, const char *target) {
        _cleanup_free_ char *to = inert_link_path(path, target);

        if (!to)
                return false;
        for (char *end = to + strlen(to);;) { /* as far as it is there */
                _cleanup_fd_ int fd = beneath_open(a->root, to, O_PATH);
                if (fd >= 0)
                        return true; /* its last part may be a link: one of the host's own, or checked as this is */
                if (fd == -ELOOP)
                        return false;
                if (fd != -ENOENT && fd != -ENOTDIR)
                        return false;
                while (end > to && *end != '/')
                        end--;
                if (end == to)
                        return true;
                *end = 0;
        }
}

/* Directories need no copies and no place beside. */
static int make_directory(struct apply *a, const char *path, int dir, const char *name, mode_t mode, bool undo, struct apply_result *ret,
                          struct error *e) {
        struct stat st;
        ssize_t i = journal_add(a, path, NULL, undo, e);

        if (i < 0)
                return (int)i;
        a->entries[i].new.mode = S_IFDIR | mode;
        int r = journal_stage(a, (size_t)i, STAGE_BEGUN, false, e);
        if (r < 0)
                return r;
        ret->outcome = APPLY_TAKEN;
        if (mkdirat(dir, name, 0700) < 0)
                (void)apply_say(ret, APPLY_REFUSED, "the directory cannot be made: %s", strerror(errno));
        else {
                _cleanup_fd_ int fd = beneath_open(dir, name, O_RDONLY | O_DIRECTORY);
                if (fd < 0 || (geteuid() == 0 && (fstat(dir, &st) < 0 || fchown(fd, st.st_uid, st.st_gid) < 0)) || fchmod(fd, mode & 0777) < 0)
                        (void)apply_say(ret, APPLY_REFUSED, "the directory cannot be given its mode");
        }
        return journal_stage(a, (size_t)i, ret->outcome == APPLY_TAKEN ? STAGE_DONE : STAGE_NOT, false, e);
}

static int remove_directory(struct apply *a, const char *path, int dir, const char *name, const struct thing *old, bool undo,
                            struct apply_result *ret, struct error *e) {
        ssize_t i = journal_add(a, path, NULL, undo, e);

        if (i < 0)
                return (int)i;
        a->entries[i].old.mode = old->mode;
        int r = journal_stage(a, (size_t)i, STAGE_BEGUN, false, e);
        if (r < 0)
                return r;
        ret->outcome = APPLY_TAKEN;
        if (unlinkat(dir, name, AT_REMOVEDIR) < 0) {
                if (errno == ENOTEMPTY || errno == EEXIST)
                        (void)apply_say(ret, APPLY_CONFLICT, "the directory still holds something");
                else
                        (void)apply_say(ret, APPLY_REFUSED, "the directory cannot be removed: %s", strerror(errno));
        }
        return journal_stage(a, (size_t)i, ret->outcome == APPLY_TAKEN ? STAGE_DONE : STAGE_NOT, false, e);
}

/* A directory that the host made since: an empty one too is its own. What happens in a directory changes all its other times. */
static bool is_new_directory(const struct apply *a, const char *path, int dir, const char *name) {
        const struct thing *ours = journal_last(a, path);
        struct statx st;

        return !(ours && S_ISDIR(ours->mode)) && statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) == 0 && st.stx_mask & STATX_BTIME &&
               st.stx_btime.tv_sec * SECOND + st.stx_btime.tv_nsec > a->began;
}

static int open_place(const struct apply *a, const char *path, const char **ret_name, struct thing *ret, struct apply_result *res) {
        int dir = place_parent(a, path, ret_name), r;

        if (dir == -ELOOP || dir == -ENOTDIR || dir == -EXDEV)
                (void)apply_say(res, APPLY_CONFLICT, "a directory on its path is something else on the host");
        else if (dir == -ENOENT)
                (void)apply_say(res, APPLY_CONFLICT, "a directory on its path is not there on the host");
        else if (dir < 0)
                (void)apply_say(res, APPLY_REFUSED, "its directory cannot be opened: %s", strerror(-dir));
        else if (!is_writable(dir)) {
                fd_close(TAKE_FD(dir));
                (void)apply_say(res, APPLY_REFUSED, "its directory is not writable");
        } else if ((r = thing_look(dir, *ret_name, ret)) < 0) {
                fd_close(TAKE_FD(dir));
                (void)apply_say(res, APPLY_REFUSED, "what is there cannot be read: %s", strerror(-r));
        }
        return dir;
}

int apply_take(struct apply *a, const struct change *c, enum apply_half half, const struct apply_want *want, struct apply_result *ret,
               struct error *e) {
        static const struct apply_want any = {};
        static const struct change_side none = {};
        const struct change_side *before = &c->before, *after = half == APPLY_OLD ? &none : &c->after;
        _cleanup_thing_ struct thing old = THING_NONE;
        const char *name, *no;
        int r;

        *ret = (struct apply_result){};
        if (half == APPLY_NEW)
                before = &none;
        if (!want)
                want = &any;
        if (c->flags & (CHANGE_OVER_HIDDEN | CHANGE_HOLDS_HIDDEN))
                return apply_say(ret, APPLY_REFUSED, "it would go over something that was hidden from the run");
        if (after->mode && !S_ISREG(after->mode) && !S_ISLNK(after->mode) && !S_ISDIR(after->mode))
                return apply_say(ret, APPLY_REFUSED, "a %s does not come out", file_type_name(after->mode));
        if (S_ISLNK(after->mode) && !link_stays(a, c->path, after->link))
                return apply_say(ret, APPLY_REFUSED, "a link that leads out of the workspace, or could");
        _cleanup_fd_ int dir = open_place(a, c->path, &name, &old, ret);
        if (dir < 0)
                return 0;
        if (!after->mode && !old.mode)
                return apply_say(ret, APPLY_NOTHING, "it is gone already");
        if ((r = check_base(a, c->path, before->mode, &old, &no)) < 0)
                return apply_say(ret, APPLY_CONFLICT, "the host's file cannot be compared: %s", strerror(-r));
        if (no)
                return apply_say(ret, APPLY_CONFLICT, "%s", no);
        if (old.mode && !S_ISREG(old.mode) && !S_ISLNK(old.mode) && !S_ISDIR(old.mode))
                return apply_say(ret, APPLY_REFUSED, "the host's %s stays: it could not be put back", file_type_name(old.mode));
        if (S_ISDIR(after->mode))
                return old.mode ? apply_say(ret, APPLY_NOTHING, "it is there already")
                                : make_directory(a, c->path, dir, name, inert_mode(0, after->mode, a->mask) | 0700, false, ret, e);
        if (S_ISDIR(old.mode))
                return after->mode ? apply_say(ret, APPLY_CONFLICT, "the directory is still there")
                       : is_new_directory(a, c->path, dir, name) ? apply_say(ret, APPLY_CONFLICT, "it appeared on the host meanwhile")
                                   : remove_directory(a, c->path, dir, name, &old, false, ret, e);
        if (want->old && (!S_ISREG(old.mode) || thing_read(&old, -1) < 0 || memcmp(old.hash, want->old, SHA256_SIZE) != 0))
                return apply_say(ret, APPLY_CONFLICT, "it changed on the host since it was shown");
        _cleanup_fd_ int from = S_ISREG(after->mode) ? beneath_open_regular(a->upper, c->path, NULL) : -EBADF;
        if (S_ISREG(after->mode) && from < 0)
                return apply_say(ret, APPLY_REFUSED, "the run's file cannot be read: %s", strerror(-from));
        struct thing new = {.mode = S_ISLNK(after->mode) ? after->mode : after->mode ? S_IFREG | inert_mode(S_ISREG(old.mode) ? old.mode : 0, after->mode, a->mask) : 0,
                            .target = after->link, .hashed = want->content != NULL, .fd = -EBADF};
        if (c->kind == CHANGE_MODE && new.mode == old.mode)
                return apply_say(ret, APPLY_NOTHING, "of its mode nothing is left that comes out");
        if (want->content)
                memcpy(new.hash, want->content, SHA256_SIZE);
        const struct placing p = {.path = c->path, .old = &old, .new = &new, .dir = dir, .name = name, .from = from, .text = want->text,
                                  .text_size = want->text_size, .xattrs_from = a->xattrs && S_ISREG(after->mode) ? from : -1};
        if ((r = place(a, &p, ret, e)) < 0)
                return r;
        if (ret->outcome == APPLY_TAKEN && S_ISREG(after->mode) && after->mode & 07000)
                snprintf(ret->why, sizeof(ret->why), "without its setuid, setgid or sticky bit");
        return 0;
}

int apply_directory_mode(struct apply *a, const struct change *c, struct apply_result *ret, struct error *e) {
        const char *name;

        *ret = (struct apply_result){.outcome = APPLY_NOTHING};
        _cleanup_fd_ int dir = place_parent(a, c->path, &name);
        _cleanup_fd_ int fd = dir >= 0 ? beneath_open(dir, name, O_RDONLY | O_DIRECTORY) : dir;
        struct stat st;
        if (fd < 0 || fstat(fd, &st) < 0)
                return 0; /* which was said when it could not be made */
        mode_t mode = inert_mode(c->kind == CHANGE_MODE ? c->before.mode : 0, c->after.mode, a->mask);
        if ((st.st_mode & 0777) == mode)
                return 0;
        ssize_t i = journal_add(a, c->path, NULL, false, e);
        if (i < 0)
                return (int)i;
        a->entries[i].old.mode = st.st_mode;
        a->entries[i].new.mode = S_IFDIR | (st.st_mode & 07000) | mode;
        int r = journal_stage(a, (size_t)i, STAGE_BEGUN, false, e);
        if (r < 0)
                return r;
        if (fchmod(fd, a->entries[i].new.mode & 07777) < 0)
                (void)apply_say(ret, APPLY_REFUSED, "the directory's mode cannot be set: %s", strerror(errno));
        else
                ret->outcome = APPLY_TAKEN;
        return journal_stage(a, (size_t)i, ret->outcome == APPLY_TAKEN ? STAGE_DONE : STAGE_NOT, false, e);
}

/* ---- and back ---- */

static int undo_one(struct apply *a, size_t i, struct apply_result *ret, struct error *e) {
        _cleanup_free_ char *path = strdup(a->entries[i].path); /* the list may move */
        _cleanup_thing_ struct thing now = THING_NONE;
        struct thing was = a->entries[i].old;
        const struct thing made = a->entries[i].new;
        const char *name;
        char copy[32];

        if (!path)
                return error_set(e, ENOMEM, "out of memory");
        _cleanup_fd_ int dir = open_place(a, path, &name, &now, ret);
        if (dir == -ENOENT && !was.mode)
                return apply_say(ret, APPLY_NOTHING, "it is gone already");
        if (dir < 0)
                return 0;
        int r = thing_equal(&now, &made);
        if (r == 0 && (r = thing_equal(&now, &was)) > 0) /* by hand, or by an undo that was killed */
                return apply_say(ret, APPLY_NOTHING, "it is so already");
        if (r < 0)
                return apply_say(ret, APPLY_CONFLICT, "the host's file cannot be compared: %s", strerror(-r));
        if (!thing_equal(&now, &made))
                return apply_say(ret, APPLY_CONFLICT, "it changed on the host since it was taken over");
        if (S_ISDIR(made.mode) && S_ISDIR(was.mode)) { /* its mode */
                _cleanup_fd_ int fd = beneath_open(dir, name, O_RDONLY | O_DIRECTORY);
                return apply_say(ret, fd >= 0 && fchmod(fd, was.mode & 07777) == 0 ? APPLY_TAKEN : APPLY_REFUSED, "%s", "");
        }
        if (S_ISDIR(made.mode))
                return remove_directory(a, path, dir, name, &now, true, ret, e);
        if (S_ISDIR(was.mode))
                return make_directory(a, path, dir, name, was.mode & 0777, true, ret, e);
        journal_copy_name(i, copy);
        _cleanup_fd_ int from = S_ISREG(was.mode) ? openat(a->dir, copy, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -EBADF;
        if (S_ISREG(was.mode) && from < 0)
                return apply_say(ret, APPLY_REFUSED, "the copy of what was there is gone");
        const struct placing p = {.path = path, .old = &now, .new = &was, .dir = dir, .name = name, .from = from, .xattrs_from = -1, .undo = true};
        return place(a, &p, ret, e);
}

int apply_undo(struct apply *a, void (*fn)(const char *path, const struct apply_result *r, void *data), void *data, struct error *e) {
        for (size_t i = a->n; i-- > 0;) {
                struct apply_result res = {};
                if (a->entries[i].stage != STAGE_DONE || a->entries[i].undo)
                        continue;
                int r = undo_one(a, i, &res, e);
                if (r == 0 && (res.outcome == APPLY_TAKEN || res.outcome == APPLY_NOTHING))
                        r = journal_stage(a, i, STAGE_UNDONE, true, e);
                if (r < 0)
                        return r;
                fn(a->entries[i].path, &res, data);
        }
        return 0;
}
