/* Sandboxes on disk, see state.h. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/ids.h"
#include "svc/remove-tree.h"
#include "svc/state-internal.h"
#include "sys/process.h"

/* Ended runs that changed nothing: so many records are kept, and taken over from the oldest on. */
#define UNCHANGED_MAX 24u

const char *const state_places[2] = {"sandboxes", "unchanged"};

void state_close(struct state *s) {
        free(s->id);
        fd_close(s->root);
        fd_close(s->dir);
        *s = STATE_NONE;
}

int state_path(char **ret, struct error *e) {
        const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

        if (xdg && xdg[0] == '/')
                *ret = str_printf("%s/belljar", xdg);
        else if (process_is_root())
                *ret = strdup("/var/lib/belljar");
        else if (home && home[0] == '/')
                *ret = str_printf("%s/.local/state/belljar", home);
        else {
                error_set(e, ENOENT, "there is no place for Belljar's state: neither XDG_STATE_HOME nor HOME is an absolute path");
                return error_fix(e, "set XDG_STATE_HOME to a directory of yours");
        }
        return *ret ? 0 : error_set(e, ENOMEM, "out of memory");
}

int state_open_root(bool create, int *ret, struct error *e) {
        _cleanup_free_ char *path = NULL;
        int r = state_path(&path, e);

        if (r < 0 || !path)
                return r;
        int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT && create) {
                for (size_t i = 0; i < ELEMENTSOF(state_places); i++) {
                        _cleanup_free_ char *p = str_printf("%s/%s", path, state_places[i]);
                        r = p ? mkdir_parents(p, 0700) : -ENOMEM;
                        if (r < 0) {
                                error_errno(e, r, "the state directory %s cannot be made", path);
                                return error_fix(e, "set XDG_STATE_HOME to a directory that you can write");
                        }
                }
                fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        }
        if (fd < 0)
                return error_errno(e, errno, "the state directory %s cannot be opened", path);
        *ret = fd;
        return 0;
}

static bool is_id(const char *s) {
        return strlen(s) == STATE_ID_LEN && strspn(s, "0123456789abcdef") == STATE_ID_LEN;
}

static int random_id(char id[STATE_ID_LEN + 1]) {
        unsigned char b[STATE_ID_LEN / 2];
        if (getrandom(b, sizeof(b), 0) != sizeof(b))
                return -EIO;
        for (size_t i = 0; i < sizeof(b); i++)
                snprintf(id + 2 * i, 3, "%02x", b[i]);
        return 0;
}

void dated_clear(struct dated_list *l) { free(l->items); }

static int by_date(const void *a, const void *b) {
        const struct dated *x = a, *y = b;
        if (x->at.tv_sec != y->at.tv_sec)
                return x->at.tv_sec < y->at.tv_sec ? -1 : 1;
        if (x->at.tv_nsec != y->at.tv_nsec)
                return x->at.tv_nsec < y->at.tv_nsec ? -1 : 1;
        return 0;
}

/* The plan is written once, at the start: its time is the sandbox's. */
int state_list_place(int root, const char *place, struct dated_list *l) {
        int fd = openat(root, place, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), r = 0;
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

        if (!d) {
                r = errno == ENOENT ? 0 : -errno;
                fd_close(fd);
                return r;
        }
        for (struct dirent *e; (e = readdir(d));) {
                struct stat st;
                char name[STATE_ID_LEN + sizeof("/plan.json")];
                if (!is_id(e->d_name))
                        continue;
                snprintf(name, sizeof(name), "%.12s/plan.json", e->d_name);
                if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                if (l->n == l->cap) {
                        size_t cap = MAX(l->cap * 2, 64u);
                        struct dated *p = reallocarray(l->items, cap, sizeof(*p));
                        if (!p) {
                                r = -ENOMEM;
                                break;
                        }
                        l->items = p;
                        l->cap = cap;
                }
                snprintf(l->items[l->n].id, sizeof(l->items[l->n].id), "%.12s", e->d_name);
                l->items[l->n++].at = st.st_mtim;
        }
        closedir(d);
        if (l->n > 1)
                qsort(l->items, l->n, sizeof(*l->items), by_date);
        return r;
}

int state_open_in(int root, const char *place, const char *id, struct state *ret) {
        char path[64];
        snprintf(path, sizeof(path), "%s/%s", place, id);
        struct state s = {
                .id = strdup(id),
                .root = fcntl(root, F_DUPFD_CLOEXEC, 3),
                .dir = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW),
        };
        if (!s.id || s.root < 0 || s.dir < 0) {
                int r = s.id ? -errno : -ENOMEM;
                state_close(&s);
                return r;
        }
        *ret = s;
        return 0;
}

/* Sandboxes of root are passed through by other ids (the launcher reaches upper/ by its working directory): the
 * directory above them keeps everybody else out. */
static mode_t dir_mode(void) { return process_is_root() ? 0711 : 0700; }

/* The oldest record, if there are enough of them, becomes the directory of the new sandbox. */
static int take_over(int root, const char *id, struct state *ret) {
        _cleanup_(dated_clear) struct dated_list old = {};

        if (state_list_place(root, "unchanged", &old) < 0 || old.n < UNCHANGED_MAX / 2)
                return -ENOENT;
        for (size_t i = 0; i < old.n; i++) {
                _cleanup_state_ struct state s = STATE_NONE;
                char from[64], to[64];
                if (state_open_in(root, "unchanged", old.items[i].id, &s) < 0 || flock(s.dir, LOCK_EX | LOCK_NB) < 0)
                        continue;
                snprintf(from, sizeof(from), "unchanged/%s", s.id);
                snprintf(to, sizeof(to), "sandboxes/%s", id);
                /* Between opening and locking, another run may have taken it: then its name is gone. */
                if (renameat(root, from, root, to) < 0)
                        continue;
                snprintf(s.id, STATE_ID_LEN + 1, "%s", id);
                *ret = s;
                s = STATE_NONE;
                return 0;
        }
        return -ENOENT;
}

/* Made under a name that is no id, and renamed once it is locked: nobody finds it in between and takes it for the remains
 * of a crash. */
static int make_new(int root, const char *id, struct state *ret) {
        _cleanup_state_ struct state s = STATE_NONE;
        char hidden[STATE_ID_LEN + sizeof(STATE_NEW_PREFIX) + 16], path[64], from[64];
        int r;

        snprintf(hidden, sizeof(hidden), STATE_NEW_PREFIX "%d-%s", (int)getpid(), id);
        snprintf(from, sizeof(from), "sandboxes/%s", hidden);
        snprintf(path, sizeof(path), "sandboxes/%s", id);
        if (mkdirat(root, from, 0700) < 0)
                return -errno;
        r = state_open_in(root, "sandboxes", hidden, &s);
        if (r == 0 && (flock(s.dir, LOCK_EX | LOCK_NB) < 0 || fchmod(s.dir, dir_mode()) < 0 ||
                       syscall(SYS_renameat2, root, from, root, path, 1 /* RENAME_NOREPLACE */) < 0))
                r = -errno;
        if (r < 0) {
                (void)unlinkat(root, from, AT_REMOVEDIR);
                return r;
        }
        snprintf(s.id, strlen(hidden) + 1, "%s", id); /* NOLINT(clang-analyzer-core.NonNullParamChecker): opened */
        *ret = s;
        s = STATE_NONE;
        return 0;
}

/* Another run may be making the state directory, and have come no further than its outermost part. */
static void make_places(int root) {
        for (size_t i = 0; i < ELEMENTSOF(state_places); i++)
                (void)!mkdirat(root, state_places[i], 0700);
}

int state_create(int root, mode_t mode, uid_t uid, gid_t gid, struct state *ret, struct error *e) {
        _cleanup_state_ struct state s = STATE_NONE;
        char id[STATE_ID_LEN + 1];
        int r;

        for (int tries = 0;; tries++) {
                if ((r = random_id(id)) < 0)
                        return error_errno(e, r, "no random id can be made");
                r = take_over(root, id, &s);
                if (r == -ENOENT)
                        r = make_new(root, id, &s);
                if (r == 0)
                        break;
                if (r == -ENOENT && tries < 3) {
                        make_places(root);
                        continue;
                }
                if (r != -EEXIST || tries > 8) {
                        error_errno(e, r, "a directory for the sandbox cannot be made");
                        return error_fix(e, "make room there, or set XDG_STATE_HOME to a directory that you can write");
                }
        }
        /* One that was taken over may have lost them to a removal that was interrupted. */
        if ((mkdirat(s.dir, "upper", 0700) < 0 && errno != EEXIST) || (mkdirat(s.dir, "work", 0700) < 0 && errno != EEXIST))
                return error_errno(e, errno, "the layer for changes cannot be made");
        if (fchmodat(s.dir, "upper", (mode & 03777) | 0700, 0) < 0 ||
            (process_is_root() && (fchownat(s.dir, "upper", uid, gid, AT_SYMLINK_NOFOLLOW) < 0 ||
                                fchownat(s.dir, "work", uid, gid, AT_SYMLINK_NOFOLLOW) < 0)))
                return error_errno(e, errno, "the layer for changes cannot be made");
        /* Otherwise a former run's last word to the next one. */
        (void)!utimensat(s.dir, "upper", NULL, 0);
        *ret = s;
        s = STATE_NONE;
        return 0;
}

int state_make_root(const struct state *s, uid_t uid, gid_t gid, struct error *e) {
        static const char *const names[] = {"root", "root.work"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (mkdirat(s->dir, names[i], 0755) < 0 || fchmodat(s->dir, names[i], 0755, 0) < 0 ||
                    (process_is_root() && fchownat(s->dir, names[i], uid, gid, AT_SYMLINK_NOFOLLOW) < 0))
                        return error_errno(e, errno, "the layer for changes of the image's root cannot be made");
        return 0;
}

int state_remove_root(const struct state *s) {
        int r = remove_tree(s->dir, "root", NULL, NULL);
        return r < 0 ? r : remove_tree(s->dir, "root.work", NULL, NULL);
}

/* Overwritten in place and filled up with newlines: a truncation would give blocks back, and a crash leaves half a
 * text, which a reader of JSON takes as missing. */
static int write_in_place(int dir, const char *name, int flags, struct strbuf *text) {
        _cleanup_fd_ int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0) {
                strbuf_clear(text);
                return -errno;
        }
        while (!text->failed && (uint64_t)st.st_size > text->len)
                strbuf_puts(text, "\n");
        size_t n = text->len;
        _cleanup_free_ char *s = strbuf_take(text);
        return s ? fd_write_all(fd, s, n) : -ENOMEM;
}

int state_write(const struct state *s, const char *name, struct json *j) {
        return write_in_place(s->dir, name, O_CREAT, &j->text);
}

int state_rewrite(const struct state *s, const char *name, struct json *j) {
        return write_in_place(s->dir, name, 0, &j->text);
}

/* The plan is written by this program, one key a line: with one blank before it stands what is of the whole. Of a former use of
 * the directory it has another id. */
static bool plan_has_name(const struct state *s, const char *line) {
        _cleanup_free_ char *text = NULL, *id = str_printf("\n \"id\": \"%s\",\n", s->id);
        return id && file_read(s->dir, "plan.json", STATE_FILE_MAX, &text, NULL) == 0 && strstr(text, id) && strstr(text, line);
}

int state_list_at_once(int root, struct strlist *ret) {
        _cleanup_(dated_clear) struct dated_list all = {};
        int r = state_list_place(root, state_places[0], &all);

        for (size_t i = 0; r == 0 && i < all.n; i++)
                r = strlist_add(ret, all.items[i].id);
        return r;
}

int state_find_at_once(int root, const char *which, struct state *ret) {
        _cleanup_(dated_clear) struct dated_list all = {};
        _cleanup_free_ char *line = NULL;
        int r;

        if (is_id(which))
                return state_open_in(root, state_places[0], which, ret);
        /* Nothing in it that JSON writes in another way. */
        if (which[strspn(which, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")] || !(line = str_printf("\n \"name\": \"%s\",\n", which)) ||
            (r = state_list_place(root, state_places[0], &all)) < 0)
                return -ENOENT;
        *ret = STATE_NONE;
        for (size_t i = 0; i < all.n; i++) {
                _cleanup_state_ struct state s = STATE_NONE;
                if (state_open_in(root, state_places[0], all.items[i].id, &s) < 0 || !plan_has_name(&s, line))
                        continue;
                if (ret->id) {
                        state_close(ret);
                        return -ENOTUNIQ;
                }
                *ret = s;
                s = STATE_NONE;
        }
        return ret->id ? 0 : -ENOENT;
}

bool state_is_locked(const struct state *s) {
        /* A read lock that can be had means that nobody holds the supervisor's exclusive one. */
        if (flock(s->dir, LOCK_SH | LOCK_NB) < 0)
                return errno == EWOULDBLOCK;
        (void)flock(s->dir, LOCK_UN);
        return false;
}

int state_write_groups(const struct state *s, const char *paths) {
        struct strbuf b = {};
        strbuf_puts(&b, paths);
        return write_in_place(s->dir, "cgroup", O_CREAT, &b);
}

void state_json_begin(const struct state *s, struct json *j) {
        *j = (struct json){};
        json_begin(j, NULL, '{');
        json_str(j, "id", s->id);
}

bool state_changed(const struct state *s) {
        int fd = openat(s->dir, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        bool any = false;

        if (!d) {
                bool gone = errno == ENOENT;
                fd_close(fd);
                return !gone; /* unreadable: something was done to it */
        }
        for (struct dirent *e; !any && (e = readdir(d));)
                any = !streq(e->d_name, ".") && !streq(e->d_name, "..");
        closedir(d);
        return any;
}

static int count_unchanged(int root) {
        int fd = openat(root, "unchanged", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        if (!d) {
                fd_close(fd);
                return 0;
        }
        for (struct dirent *e; (e = readdir(d));)
                n += is_id(e->d_name);
        closedir(d);
        return n;
}

static const char *place_of(const struct state *s, char path[64]) {
        for (size_t i = 0; i < ELEMENTSOF(state_places); i++) {
                struct stat a, b;
                snprintf(path, 64, "%s/%s", state_places[i], s->id);
                if (fstatat(s->root, path, &a, AT_SYMLINK_NOFOLLOW) == 0 && fstat(s->dir, &b) == 0 && a.st_ino == b.st_ino)
                        return path;
        }
        return NULL;
}

int state_remove_dir(struct state *s, struct error *e) {
        char path[64];
        int r;

        if (!place_of(s, path))
                return 0;
        char *slash = strchr(path, '/');
        *slash = 0;
        _cleanup_fd_ int place = openat(s->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (place < 0)
                return error_errno(e, errno, "the sandbox %s cannot be removed", s->id);
        r = remove_tree(place, s->id, NULL, e);
        if (r == -EACCES || r == -EPERM)
                r = ids_remove(place, s->id, e);
        return r == -ENOENT ? 0 : r;
}

bool state_has_groups(const struct state *s) {
        _cleanup_free_ char *text = NULL;
        return file_read(s->dir, "cgroup", 64u << 10, &text, NULL) == 0 && text[strspn(text, "\n")];
}

/* Whether the empty upper/ is as a new one would be, once state_create has set its mode (and, by root, its owner): a run
 * may have given it, as the root of its workspace, to another id, or left attributes for the next run to find. */
static bool as_new(const struct state *s) {
        _cleanup_fd_ int fd = openat(s->dir, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        char names[1024];
        int flags = 0, usual = 0;
        struct stat st, dir;

        if (fd < 0 || fstat(fd, &st) < 0 || fstat(s->dir, &dir) < 0 ||
            (!process_is_root() && (st.st_uid != dir.st_uid || st.st_gid != dir.st_gid)))
                return false;
        ssize_t n = flistxattr(fd, names, sizeof(names));
        if (n < 0 && errno != ENOTSUP)
                return false;
        for (const char *p = names; p < names + n; p += strlen(p) + 1)
                /* Of overlayfs itself: what a run calls so gets another "overlay.", or is refused (overlayfs.rst). */
                if ((!str_after(p, "user.overlay.") || str_after(p, "user.overlay.overlay.")) && !streq(p, "security.selinux"))
                        return false;
        return ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || ioctl(s->dir, FS_IOC_GETFLAGS, &usual) < 0 ||
               !((flags ^ usual) & FS_FL_USER_MODIFIABLE);
}

void state_release(struct state *s, bool forget, bool remove) {
        char from[64], to[64];

        /* The supervisor holds the lock; whoever else comes here takes it. */
        if (flock(s->dir, LOCK_EX | LOCK_NB) < 0 || (mkdirat(s->dir, "upper", 0700) < 0 && errno != EEXIST))
                return;
        if (state_has_groups(s)) /* the record of a group that could not be removed must not be taken over */
                return;
        if (remove || state_changed(s) || !as_new(s) || count_unchanged(s->root) >= (int)UNCHANGED_MAX) {
                (void)!state_remove_dir(s, NULL);
                return;
        }
        /* The kernel's own leftovers of the overlay (overlayfs.rst: workdir must be empty the next time). */
        if (remove_tree(s->dir, "shadow", NULL, NULL) < 0 || remove_tree(s->dir, "upper.discarded", NULL, NULL) < 0 ||
            remove_tree(s->dir, "applied", NULL, NULL) < 0 ||
            state_remove_root(s) < 0 || remove_tree(s->dir, "work", NULL, NULL) < 0 || mkdirat(s->dir, "work", 0700) < 0) {
                (void)!state_remove_dir(s, NULL);
                return;
        }
        if (forget)
                for (size_t i = 0; i < 4; i++)
                        (void)unlinkat(s->dir, ((const char *[]){"plan.json", "started.json", "ended.json", "trail.jsonl"})[i], 0);
        snprintf(from, sizeof(from), "sandboxes/%s", s->id);
        snprintf(to, sizeof(to), "unchanged/%s", s->id);
        if (renameat(s->root, from, s->root, to) < 0)
                (void)!state_remove_dir(s, NULL);
}
