/* Upper layer against workspace; see changes.h.
 *
 * One walk, depth first, with its stack on the heap. A level is a directory of the upper layer with what lies below
 * it, or a directory of the workspace that went away. Every lookup is one part of a path at a directory's fd without
 * following links, so that it stays beneath the roots; only the innermost OPEN_MAX levels keep their fds and an outer
 * one is reopened from its root on the way back. Overlay's marks are those of the kernel's
 * Documentation/filesystems/overlayfs.rst. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "base/fd.h"
#include "svc/changes.h"
#include "svc/same-bytes.h"
#include "sys/beneath.h"

enum {
        OPEN_MAX = 16, /* levels with open fds, three each */
};

struct dirent64_raw { /* getdents64(2) */
        uint64_t d_ino;
        int64_t d_off;
        unsigned short d_reclen;
        unsigned char d_type;
        char d_name[];
};

/* A directory to be entered, and the index of its own change in the list (-1: it has none). */
struct pending {
        char *name;
        ssize_t self;
};

struct level {
        size_t path_len; /* of walk.path, at this directory */
        int upper, lower, hide; /* -1: there is none, or it is closed */
        bool closed;
        bool has_upper, has_lower, has_hide;
        bool hides; /* a path of the list of hidden ones lies beneath */
        bool opaque; /* what lies below does not shine through */
        bool marks;  /* the directory says that it may hold whiteouts by xattr */
        ssize_t self;  /* this directory's own change, -1: none */
        ssize_t owner; /* beneath a directory that went away: the change that counts what it held, -1: none */
        dev_t dev;
        ino_t ino;
        struct pending *dirs;
        size_t n_dirs, cap_dirs, dirs_bytes, next;
};

struct walk {
        const struct changes_source *s;
        struct change_caps caps;
        struct changes *list;            /* NULL: counting only */
        struct changes_summary *summary; /* NULL: listing */
        struct level *levels;
        size_t n, cap;
        struct strbuf path;
        uint64_t entries, memory, compared, visits;
        bool unreadable; /* counting went past a directory that the modes close */
        dev_t upper_dev;
        char **hidden; /* sorted; the strings are the caller's */
        size_t n_hidden;
        char *buf; /* SAME_BUFFER bytes */
        struct error *e;
};

static const char *const kind_names[_CHANGE_KIND_MAX] = {
        [CHANGE_ADDED] = "added", [CHANGE_DELETED] = "deleted", [CHANGE_MODIFIED] = "modified",
        [CHANGE_LINK] = "link",   [CHANGE_TYPE] = "type",       [CHANGE_MODE] = "mode",
        [CHANGE_OWNER] = "owner",
};
const char *change_kind_name(enum change_kind k) { return k < _CHANGE_KIND_MAX ? kind_names[k] : "unknown"; }
char change_kind_letter(enum change_kind k) { return k < _CHANGE_KIND_MAX ? "ADMLTPO"[k] : '?'; }

const char *file_type_name(mode_t mode) {
        switch (mode & S_IFMT) {
        case S_IFREG: return "file";
        case S_IFDIR: return "directory";
        case S_IFLNK: return "link";
        case S_IFIFO: return "fifo";
        case S_IFSOCK: return "socket";
        case S_IFCHR: return "character device";
        case S_IFBLK: return "block device";
        case 0: return "nothing";
        }
        return "unknown";
}

static void change_clear(struct change *c) {
        free(c->path);
        free(c->before.link);
        free(c->after.link);
}

void changes_clear(struct changes *c) {
        for (size_t i = 0; i < c->n; i++)
                change_clear(&c->items[i]);
        free(c->items);
        *c = (struct changes){};
}

/* ---- caps ---- */

static int over_cap(struct walk *w, const char *what, uint64_t cap) {
        if (w->summary) {
                w->summary->at_least = true;
                return -E2BIG;
        }
        return error_set(w->e, E2BIG, "the run left more than %llu %s: too much to list (at %s)",
                         (unsigned long long)cap, what, w->path.data ?: "");
}

static int use_memory(struct walk *w, uint64_t n) {
        w->memory += n;
        return w->memory > w->caps.memory ? over_cap(w, "bytes of file names", w->caps.memory) : 0;
}

static int visit(struct walk *w) {
        return ++w->visits > w->caps.visits ? over_cap(w, "entries to look at", w->caps.visits) : 0;
}

static int failed(struct walk *w, int r, const char *what, const char *name) {
        error_errno(w->e, -r, "cannot %s %s%s%s", what, w->path.data ?: "", w->path.len && *name ? "/" : "", name);
        if (r == -EACCES || r == -EPERM)
                error_fix(w->e, "look at its mode and owner; chmod -R u+rwX on the sandbox's upper directory makes it "
                                "readable");
        return r;
}

/* ---- overlay's marks ---- */

enum mark { MARK_OPAQUE, MARK_WHITEOUT, MARK_WHITEOUTS, MARK_REDIRECT, MARK_METACOPY };

/* Reads one of overlay's xattrs from `name` in dirfd ("": of dirfd itself) without following a link: 0 absent, 1 present,
 * *value its first byte. There is no lgetxattrat(2) before 6.13, hence by /proc. */
static int read_mark(const struct changes_source *s, int dirfd, const char *name, enum mark m, char *value) {
        static const char *const names[][2] = {
                [MARK_OPAQUE] = {"user.overlay.opaque", "trusted.overlay.opaque"},
                [MARK_WHITEOUT] = {"user.overlay.whiteout", "trusted.overlay.whiteout"},
                [MARK_WHITEOUTS] = {"user.overlay.whiteouts", "trusted.overlay.whiteouts"},
                [MARK_REDIRECT] = {"user.overlay.redirect", "trusted.overlay.redirect"},
                [MARK_METACOPY] = {"user.overlay.metacopy", "trusted.overlay.metacopy"},
        };
        char path[NAME_MAX + 64], buf[256];

        const char *xattr = names[m][s->trusted];
        ssize_t k;
        if (*name) {
                int n = snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dirfd, name);
                if (n < 0 || (size_t)n >= sizeof(path))
                        return -ENAMETOOLONG;
                k = lgetxattr(path, xattr, buf, sizeof(buf));
        } else
                k = fgetxattr(dirfd, xattr, buf, sizeof(buf));
        if (k < 0) {
                if (errno == ENODATA || errno == EOPNOTSUPP)
                        return 0;
                if (errno != ERANGE)
                        return -errno;
                k = 0;
        }
        *value = k > 0 ? buf[0] : 0;
        return 1;
}

static bool is_whiteout_device(const struct stat *st) { return S_ISCHR(st->st_mode) && st->st_rdev == 0; }

/* 1: a whiteout. An empty file counts where its xattr says so (6.7 and later). */
static int is_whiteout(const struct changes_source *s, int dirfd, const char *name, const struct stat *st, bool marks) {
        char v;
        if (is_whiteout_device(st))
                return 1;
        if (!marks || !S_ISREG(st->st_mode) || st->st_size != 0)
                return 0;
        return read_mark(s, dirfd, name, MARK_WHITEOUT, &v);
}

/* ---- one entry ---- */

static uint32_t map_id(const struct change_ids *ids, uint32_t id, bool group) {
        if (ids->range == 0)
                return id;
        if (id < ids->base || id - ids->base >= ids->range)
                return CHANGE_ID_UNMAPPED;
        return id - ids->base + (group ? ids->host_gid : ids->host);
}

static int read_link(int dirfd, const char *name, char **ret) {
        char buf[PATH_MAX + 1];
        ssize_t n = readlinkat(dirfd, name, buf, sizeof(buf) - 1);
        if (n < 0)
                return -errno;
        buf[n] = 0;
        char *s = strdup(buf);
        if (!s)
                return -ENOMEM;
        *ret = s;
        return 0;
}

/* Fills one side from a stat; the link's target only where a list is made. */
static int fill_side(struct walk *w, struct change_side *side, int dirfd, const char *name, const struct stat *st,
                     bool upper) {
        side->mode = st->st_mode;
        side->size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
        side->uid = upper ? map_id(&w->s->ids, st->st_uid, false) : st->st_uid;
        side->gid = upper ? map_id(&w->s->ids, st->st_gid, true) : st->st_gid;
        side->nlink = (uint32_t)st->st_nlink;
        if (S_ISLNK(st->st_mode) && w->list && !side->link) {
                int r = read_link(dirfd, name, &side->link);
                if (r < 0)
                        return r;
                return use_memory(w, strlen(side->link)); /* NOLINT(clang-analyzer-core.NonNullParamChecker): read above */
        }
        return 0;
}

/* Takes the change over (its links too); name is its last part. *ret_index: -1 when only counting. */
static int emit(struct walk *w, struct change *c, const char *name, ssize_t *ret_index) {
        if (ret_index)
                *ret_index = -1;
        if (w->summary) {
                if (c->kind == CHANGE_ADDED)
                        w->summary->added++;
                else if (c->kind == CHANGE_DELETED)
                        w->summary->deleted++;
                else
                        w->summary->changed++;
                return 0;
        }
        if (++w->entries > w->caps.entries)
                return over_cap(w, "changes", w->caps.entries);
        size_t name_len = strlen(name), len = w->path.len + (w->path.len > 0) + name_len;
        int r = use_memory(w, len + 1 + sizeof(*c));
        if (r < 0)
                return r;
        if (w->list->n == w->list->cap) {
                size_t cap = MAX(w->list->cap * 2, 64u);
                struct change *p = reallocarray(w->list->items, cap, sizeof(*p));
                if (!p)
                        return -ENOMEM;
                w->list->items = p;
                w->list->cap = cap;
        }
        c->path = malloc(len + 1);
        if (!c->path)
                return -ENOMEM;
        if (w->path.len > 0) {
                memcpy(c->path, w->path.data, w->path.len);
                c->path[w->path.len] = '/';
        }
        memcpy(c->path + len - name_len, name, name_len + 1);
        c->peer = -1;
        if (ret_index)
                *ret_index = (ssize_t)w->list->n;
        w->list->items[w->list->n++] = *c;
        *c = (struct change){};
        return 0;
}

static enum same compare(struct walk *w, int ufd, int lfd, const char *name, off_t size) {
        if (size == 0)
                return SAME_YES;
        _cleanup_fd_ int a = beneath_open_regular(ufd, name, NULL);
        _cleanup_fd_ int b = a < 0 ? -EBADF : beneath_open_regular(lfd, name, NULL);
        if (a < 0 || b < 0)
                return SAME_UNREAD;
        uint64_t left = w->caps.compare - MIN(w->caps.compare, w->compared), budget = left;
        enum same r = same_bytes(a, b, size, w->buf, &budget);
        w->compared += left - budget;
        return r;
}

/* ---- what was hidden ---- */

static int by_string(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* What the list of hidden paths says of a name in the current directory: itself, or something beneath it. */
static int look_hidden(struct walk *w, const char *name, bool *ret_itself, bool *ret_beneath) {
        _cleanup_strbuf_ struct strbuf p = {};
        size_t lo = 0, hi = w->n_hidden;

        strbuf_puts(&p, w->path.data ?: "");
        if (p.len > 0)
                strbuf_puts(&p, "/");
        strbuf_puts(&p, name);
        if (p.failed)
                return -ENOMEM;
        *ret_itself = w->n_hidden > 0 && bsearch(&p.data, w->hidden, w->n_hidden, sizeof(*w->hidden), by_string);
        strbuf_puts(&p, "/");
        if (p.failed)
                return -ENOMEM;
        while (lo < hi) { /* the first that is not below "PATH/" */
                size_t mid = lo + (hi - lo) / 2;
                if (strcmp(w->hidden[mid], p.data) < 0)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        *ret_beneath = lo < w->n_hidden && str_after(w->hidden[lo], p.data);
        return 0;
}

static int hidden_sort(struct walk *w) {
        const struct strlist *l = w->s->hidden;

        if (!l || l->n == 0)
                return 0;
        w->hidden = reallocarray(NULL, l->n, sizeof(*w->hidden));
        if (!w->hidden)
                return -ENOMEM;
        memcpy(w->hidden, l->items, l->n * sizeof(*w->hidden));
        w->n_hidden = l->n;
        qsort(w->hidden, w->n_hidden, sizeof(*w->hidden), by_string);
        return 0;
}

/* What the workspace has at a name, as the run saw it. */
struct below {
        bool there;    /* and not hidden */
        bool hidden;   /* there on the host, hidden from the run */
        bool hide_dir; /* the whiteout layer has a directory of that name */
        bool hides;    /* the list has something beneath it */
        struct stat st;
};

static int look_below(struct walk *w, const struct level *l, const char *name, struct below *ret) {
        struct below b = {};
        struct stat h;

        if (l->has_lower) {
                if (fstatat(l->lower, name, &b.st, AT_SYMLINK_NOFOLLOW) == 0)
                        b.there = true;
                else if (errno != ENOENT && errno != ENOTDIR)
                        return failed(w, -errno, "look in the workspace at", name);
        }
        if (l->has_hide && fstatat(l->hide, name, &h, AT_SYMLINK_NOFOLLOW) == 0) {
                int r = is_whiteout(w->s, l->hide, name, &h, true);
                if (r < 0)
                        return failed(w, r, "read the marks of hidden", name);
                if (r > 0) {
                        b.hidden = b.there;
                        b.there = false;
                } else if (S_ISDIR(h.st_mode))
                        b.hide_dir = true;
        }
        if (l->hides) {
                bool itself;
                int r = look_hidden(w, name, &itself, &b.hides);
                if (r < 0)
                        return r;
                if (itself) {
                        b.hidden = b.hidden || b.there;
                        b.there = false;
                }
        }
        *ret = b;
        return 0;
}

static int open_dir_at(int dirfd, const char *name, int flags) {
        int fd = openat(dirfd, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* ---- levels ---- */

static void level_close(struct level *l) {
        fd_close(l->upper);
        fd_close(l->lower);
        fd_close(l->hide);
        l->upper = l->lower = l->hide = -1;
}

static int push(struct walk *w, struct level *l) {
        if (w->n >= w->caps.depth)
                return over_cap(w, "levels of directories", w->caps.depth);
        if (w->n == w->cap) {
                size_t cap = MAX(w->cap * 2, 32u);
                struct level *p = reallocarray(w->levels, cap, sizeof(*p));
                if (!p)
                        return -ENOMEM;
                w->levels = p;
                w->cap = cap;
        }
        l->path_len = w->path.len;
        w->levels[w->n++] = *l;
        l->upper = l->lower = l->hide = -1;
        if (w->n > OPEN_MAX) {
                struct level *old = &w->levels[w->n - 1 - OPEN_MAX];
                level_close(old);
                old->closed = true;
        }
        return 0;
}

static void path_cut(struct walk *w, size_t len) {
        w->path.len = len;
        if (w->path.data)
                w->path.data[len] = 0;
}

static int path_push(struct walk *w, const char *name) {
        if (w->path.len > 0)
                strbuf_puts(&w->path, "/");
        strbuf_puts(&w->path, name);
        return w->path.failed ? -ENOMEM : 0;
}

static int reopen(struct walk *w, struct level *l) {
        const char *path = w->path.data ?: "";
        struct stat st;

        if (!l->closed)
                return 0;
        int r = 0;
        if (l->has_upper)
                r = l->upper = beneath_open(w->s->upper_fd, path, O_RDONLY | O_DIRECTORY);
        if (r >= 0 && l->has_lower)
                r = l->lower = beneath_open(w->s->lower_fd, path, O_PATH | O_DIRECTORY);
        if (r >= 0 && l->has_hide)
                r = l->hide = beneath_open(w->s->hide_fd, path, O_PATH | O_DIRECTORY);
        if (r >= 0 && (fstat(l->has_upper ? l->upper : l->lower, &st) < 0 || st.st_dev != l->dev || st.st_ino != l->ino))
                r = -ESTALE;
        if (r < 0)
                return failed(w, r, "return to", "");
        l->closed = false;
        return 0;
}

static void pop(struct walk *w) {
        struct level *l = &w->levels[--w->n];
        level_close(l);
        for (size_t i = 0; i < l->n_dirs; i++)
                free(l->dirs[i].name);
        free(l->dirs);
        w->memory -= l->dirs_bytes;
        path_cut(w, w->n > 0 ? w->levels[w->n - 1].path_len : 0);
}

static int remember_dir(struct walk *w, struct level *l, const char *name, ssize_t self) {
        size_t bytes = strlen(name) + 1 + sizeof(*l->dirs);

        l->dirs_bytes += bytes;
        int r = use_memory(w, bytes);
        if (r < 0)
                return r;
        if (l->n_dirs == l->cap_dirs) {
                size_t cap = MAX(l->cap_dirs * 2, 16u);
                struct pending *p = reallocarray(l->dirs, cap, sizeof(*p));
                if (!p)
                        return -ENOMEM;
                l->dirs = p;
                l->cap_dirs = cap;
        }
        l->dirs[l->n_dirs].name = strdup(name);
        if (!l->dirs[l->n_dirs].name)
                return -ENOMEM;
        l->dirs[l->n_dirs++].self = self;
        return 0;
}

/* ---- what went away ---- */

/* A thing of the workspace that the run's view no longer has: reported by its own entry, or counted by the directory
 * that went away with it. Directories among them are remembered in l, to be entered later. */
static int entry_gone(struct walk *w, struct level *l, const char *name, const struct below *b) {
        ssize_t index = -1;

        if (l->owner >= 0) {
                w->list->items[l->owner].beneath++;
        } else {
                _cleanup_(change_clear) struct change c = {.kind = CHANGE_DELETED};
                int r = fill_side(w, &c.before, l->lower, name, &b->st, false);
                if (r < 0)
                        return r;
                r = emit(w, &c, name, &index);
                if (r < 0)
                        return r;
        }
        if (S_ISDIR(b->st.st_mode) && w->list)
                return remember_dir(w, l, name, index);
        return 0;
}

/* Marks the entry that accounts for this level: something hidden went with it. */
static void note_hidden_gone(struct walk *w, const struct level *l) {
        ssize_t i = l->owner >= 0 ? l->owner : l->self;
        if (w->list && i >= 0)
                w->list->items[i].flags |= CHANGE_HOLDS_HIDDEN;
}

/* Lists a directory of the workspace; of names that the upper layer has as well nothing is said here. */
static int list_lower(struct walk *w, struct level *l) {
        _Alignas(struct dirent64_raw) char buf[32768];

        _cleanup_fd_ int fd = open_dir_at(l->lower, ".", O_RDONLY);
        if (fd < 0)
                return failed(w, fd, "list the workspace's", "");
        for (;;) {
                long n = syscall(SYS_getdents64, fd, buf, sizeof(buf));
                if (n < 0)
                        return failed(w, -errno, "list the workspace's", "");
                if (n == 0)
                        return 0;
                for (long i = 0; i < n;) {
                        const struct dirent64_raw *d = (const void *)(buf + i);
                        struct stat st;
                        struct below b = {};
                        i += d->d_reclen;
                        if (streq(d->d_name, ".") || streq(d->d_name, ".."))
                                continue;
                        int r = visit(w);
                        if (r < 0)
                                return r;
                        if (l->has_upper && fstatat(l->upper, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                                continue;
                        r = look_below(w, l, d->d_name, &b);
                        if (r < 0)
                                return r;
                        if (b.hidden)
                                note_hidden_gone(w, l);
                        if (!b.there)
                                continue;
                        r = entry_gone(w, l, d->d_name, &b);
                        if (r < 0)
                                return r;
                }
        }
}

/* ---- entries of the upper layer ---- */

static bool owners_differ(struct walk *w, const struct stat *u, const struct stat *lo) {
        const struct change_ids *ids = &w->s->ids;
        return ids->range > 0 &&
               (map_id(ids, u->st_uid, false) != lo->st_uid || map_id(ids, u->st_gid, true) != lo->st_gid);
}

/* Both sides have a thing of the same type: what is different about it? Returns false: nothing. */
static int compare_same_type(struct walk *w, struct level *l, const char *name, const struct stat *u,
                             const struct stat *lo, struct change *c) {
        bool content = false;
        int r;

        if (S_ISREG(u->st_mode)) {
                content = u->st_size != lo->st_size;
                if (!content) {
                        enum same same = compare(w, l->upper, l->lower, name, u->st_size);
                        content = same != SAME_YES;
                        if (same == SAME_UNREAD)
                                c->flags |= CHANGE_UNREAD;
                        if (same == SAME_CAPPED)
                                c->flags |= CHANGE_UNCOMPARED;
                }
                c->kind = CHANGE_MODIFIED;
        } else if (S_ISLNK(u->st_mode)) {
                r = read_link(l->upper, name, &c->after.link);
                if (r >= 0)
                        r = read_link(l->lower, name, &c->before.link);
                if (r < 0)
                        return failed(w, r, "read the link", name);
                content = !streq(c->after.link, c->before.link);
                c->kind = CHANGE_LINK;
        } else if (S_ISCHR(u->st_mode) || S_ISBLK(u->st_mode)) {
                content = u->st_rdev != lo->st_rdev;
                c->kind = CHANGE_TYPE;
        }
        if (content)
                return true;
        if (owners_differ(w, u, lo)) {
                c->kind = CHANGE_OWNER;
                return true;
        }
        if (!S_ISLNK(u->st_mode) && (u->st_mode & 07777) != (lo->st_mode & 07777)) {
                c->kind = CHANGE_MODE;
                return true;
        }
        return false;
}

/* One entry of an upper directory. */
static int upper_entry(struct walk *w, struct level *l, const char *name) {
        _cleanup_(change_clear) struct change c = {};
        struct below b = {};
        struct stat st;
        ssize_t index = -1;
        bool changed = true;
        char v;
        int r = visit(w);

        if (r < 0)
                return r;
        if (fstatat(l->upper, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : failed(w, -errno, "look at", name);
        r = look_below(w, l, name, &b);
        if (r < 0)
                return r;
        r = is_whiteout(w->s, l->upper, name, &st, l->marks);
        if (r < 0)
                return failed(w, r, "read the marks of", name);
        if (r > 0)
                return b.there ? entry_gone(w, l, name, &b) : 0;
        if (S_ISREG(st.st_mode)) {
                r = read_mark(w->s, l->upper, name, MARK_METACOPY, &v);
                /* A file that one may not read has no mark that overlay could have read either. */
                if (r < 0 && r != -EACCES)
                        return failed(w, r, "read the marks of", name);
                if (r > 0)
                        return error_set(w->e, EOPNOTSUPP, "%s%s%s is a metadata-only copy (overlay metacopy), which "
                                         "Belljar does not make", w->path.data ?: "", w->path.len ? "/" : "", name);
        }
        if (w->summary && !S_ISDIR(st.st_mode))
                w->summary->bytes += (uint64_t)st.st_blocks * 512 / MAX((uint64_t)st.st_nlink, 1u);

        if (b.hidden)
                c.flags |= CHANGE_OVER_HIDDEN;
        if (!b.there)
                c.kind = CHANGE_ADDED;
        else if ((b.st.st_mode & S_IFMT) != (st.st_mode & S_IFMT))
                c.kind = CHANGE_TYPE;
        else {
                r = compare_same_type(w, l, name, &st, &b.st, &c);
                if (r < 0)
                        return r;
                changed = r > 0;
        }
        if (changed) {
                r = fill_side(w, &c.after, l->upper, name, &st, true);
                if (r >= 0 && b.there)
                        r = fill_side(w, &c.before, l->lower, name, &b.st, false);
                if (r >= 0)
                        r = emit(w, &c, name, &index);
                if (r < 0)
                        return r;
        }
        /* To be entered: what the upper directory holds, or what the workspace's directory in its place held. */
        if (S_ISDIR(st.st_mode) || (b.there && S_ISDIR(b.st.st_mode) && w->list))
                return remember_dir(w, l, name, index);
        return 0;
}

static int list_upper(struct walk *w, struct level *l) {
        _Alignas(struct dirent64_raw) char buf[32768];
        char v = 0;
        int r;

        r = read_mark(w->s, l->upper, "", MARK_REDIRECT, &v);
        if (r > 0)
                return error_set(w->e, EOPNOTSUPP, "%s is a redirected directory (overlay redirect_dir), which Belljar "
                                 "does not make", w->path.data ?: "the upper layer");
        if (r >= 0)
                r = read_mark(w->s, l->upper, "", MARK_OPAQUE, &v);
        if (r > 0) {
                if (v == 'y')
                        l->opaque = true;
                else if (v == 'x')
                        l->marks = true; /* 6.8 and later: not opaque, but with whiteouts by xattr */
        }
        if (r >= 0 && !l->marks) {
                r = read_mark(w->s, l->upper, "", MARK_WHITEOUTS, &v);
                l->marks = r > 0;
        }
        if (r < 0)
                return failed(w, r, "read the marks of", "");
        for (;;) {
                long n = syscall(SYS_getdents64, l->upper, buf, sizeof(buf));
                if (n < 0)
                        return failed(w, -errno, "list", "");
                if (n == 0)
                        break;
                for (long i = 0; i < n;) {
                        const struct dirent64_raw *d = (const void *)(buf + i);
                        i += d->d_reclen;
                        if (streq(d->d_name, ".") || streq(d->d_name, ".."))
                                continue;
                        r = upper_entry(w, l, d->d_name);
                        if (r < 0)
                                return r;
                }
        }
        return l->opaque && l->has_lower ? list_lower(w, l) : 0;
}

/* Goes into a directory that was remembered. */
static int enter(struct walk *w, struct level *parent, const struct pending *dir) {
        struct level l = {.upper = -1, .lower = -1, .hide = -1, .self = dir->self, .owner = parent->owner,
                          .opaque = parent->opaque};
        const char *name = dir->name;
        struct below b = {};
        struct stat st;
        bool gone = true;
        int r;

        r = look_below(w, parent, name, &b);
        if (r < 0)
                return r;
        if (parent->has_upper && fstatat(parent->upper, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
                r = l.upper = open_dir_at(parent->upper, name, O_RDONLY);
                if (r < 0) {
                        if (w->summary && r == -EACCES) {
                                w->summary->at_least = w->unreadable = true;
                                return 0;
                        }
                        return failed(w, r, "open", name);
                }
                if (fstat(l.upper, &st) < 0)
                        return failed(w, -errno, "look at", name);
                if (st.st_dev != w->upper_dev) {
                        fd_close(l.upper);
                        return error_set(w->e, EXDEV, "%s%s%s in the upper layer is a mount, which no run makes",
                                         w->path.data ?: "", w->path.len ? "/" : "", name);
                }
                l.has_upper = true;
                gone = false;
        }
        if (b.there && S_ISDIR(b.st.st_mode)) {
                r = l.lower = open_dir_at(parent->lower, name, O_PATH);
                if (r >= 0 && b.hide_dir)
                        r = l.hide = open_dir_at(parent->hide, name, O_PATH);
                if (r < 0) {
                        level_close(&l);
                        return failed(w, r, "open the workspace's", name);
                }
                l.has_lower = true;
                l.has_hide = b.hide_dir;
                l.hides = b.hides;
        }
        if (!l.has_upper && !l.has_lower)
                return 0;
        if (gone && l.owner < 0 && !w->s->expand)
                l.owner = dir->self;
        r = fstat(l.has_upper ? l.upper : l.lower, &st) < 0 ? -errno : 0;
        if (r >= 0) {
                l.dev = st.st_dev;
                l.ino = st.st_ino;
                r = path_push(w, name);
        }
        if (r >= 0)
                r = push(w, &l);
        if (r < 0) {
                level_close(&l);
                return r;
        }
        struct level *top = &w->levels[w->n - 1];
        if (!gone)
                return list_upper(w, top);
        r = list_lower(w, top);
        if (r == -EACCES) {
                /* The user may be unable to look into a directory of the workspace: it is gone all the same. */
                if (top->owner >= 0)
                        w->list->items[top->owner].flags |= CHANGE_BENEATH_CUT;
                if (w->e)
                        *w->e = (struct error){};
                return 0;
        }
        return r;
}

static int walk_run(struct walk *w) {
        struct level root = {.upper = -1, .lower = -1, .hide = -1, .self = -1, .owner = -1,
                             .has_upper = true, .has_lower = true};
        struct stat st;
        int r;

        r = root.upper = open_dir_at(w->s->upper_fd, ".", O_RDONLY);
        if (r >= 0)
                r = root.lower = open_dir_at(w->s->lower_fd, ".", O_PATH);
        if (r >= 0 && w->s->hide_fd >= 0) {
                root.has_hide = true;
                r = root.hide = open_dir_at(w->s->hide_fd, ".", O_PATH);
        }
        if (r >= 0 && fstat(root.upper, &st) < 0)
                r = -errno;
        if (r < 0) {
                level_close(&root);
                return error_errno(w->e, -r, "cannot open the layers of the run");
        }
        root.hides = w->n_hidden > 0;
        w->upper_dev = root.dev = st.st_dev;
        root.ino = st.st_ino;
        r = push(w, &root);
        if (r < 0) {
                level_close(&root);
                return r;
        }
        r = list_upper(w, &w->levels[0]);
        while (r >= 0 && w->n > 0) {
                struct level *l = &w->levels[w->n - 1];
                if (l->next >= l->n_dirs) {
                        pop(w);
                        continue;
                }
                r = reopen(w, l);
                if (r >= 0) { /* a copy: entering may move the stack */
                        struct level parent = *l;
                        r = enter(w, &parent, &parent.dirs[l->next++]);
                }
        }
        return r;
}

static int walk_all(struct walk *w, const struct change_caps *def) {
        const struct change_caps *c = &w->s->caps;

        w->caps = (struct change_caps){
                .entries = c->entries ?: def->entries, .depth = c->depth ?: def->depth,
                .memory = c->memory ?: def->memory,    .compare = c->compare ?: def->compare,
                .visits = c->visits ?: def->visits,
        };
        w->path.max = 16u << 20;
        w->buf = malloc(SAME_BUFFER);
        int r = w->buf ? hidden_sort(w) : -ENOMEM;
        if (r >= 0)
                r = walk_run(w);
        while (w->n > 0)
                pop(w);
        free(w->levels);
        free(w->buf);
        free(w->hidden);
        strbuf_clear(&w->path);
        if (r == -ENOMEM)
                error_set(w->e, ENOMEM, "out of memory while reading the changes");
        return r;
}

/* ---- the calls ---- */

static int by_path(const void *a, const void *b) {
        return strcmp(((const struct change *)a)->path, ((const struct change *)b)->path);
}

int changes_read(const struct changes_source *s, struct changes *ret, struct error *e) {
        static const struct change_caps def = {1000000, 4096, 512u << 20, 64ull << 30, 20000000};
        _cleanup_changes_ struct changes list = {};
        struct walk w = {.s = s, .list = &list, .e = e};

        if (s->upper_fd >= 0) {
                int r = walk_all(&w, &def);
                if (r < 0)
                        return r;
        }
        if (list.n > 0)
                qsort(list.items, list.n, sizeof(*list.items), by_path);
        *ret = list;
        list = (struct changes){};
        return 0;
}

/* True where the directory holds nothing, by one getdents. */
static int is_empty(int dirfd) {
        _Alignas(struct dirent64_raw) char buf[512];

        _cleanup_fd_ int fd = open_dir_at(dirfd, ".", O_RDONLY);
        if (fd < 0)
                return fd;
        long n = syscall(SYS_getdents64, fd, buf, sizeof(buf));
        if (n < 0)
                return errno == EINVAL ? 0 : -errno; /* EINVAL: the first name is longer than the buffer */
        for (long i = 0; i < n;) {
                const struct dirent64_raw *d = (const void *)(buf + i);
                i += d->d_reclen;
                if (!streq(d->d_name, ".") && !streq(d->d_name, ".."))
                        return 0;
        }
        return 1;
}

static int count(const struct changes_source *s, struct changes_summary *ret, bool *ret_unreadable, struct error *e) {
        static const struct change_caps def = {UINT64_MAX, 4096, 64u << 20, 256u << 20, 1000000};
        struct changes_summary sum = {};
        struct walk w = {.s = s, .summary = &sum, .e = e};

        int r = walk_all(&w, &def);
        if (r == -EACCES) /* mode 000 and the like: not worth failing a run's end */
                sum.at_least = w.unreadable = true;
        else if (r < 0 && !(r == -E2BIG && sum.at_least))
                return r;
        if (e)
                *e = (struct error){};
        *ret = sum;
        *ret_unreadable = w.unreadable;
        return 0;
}

/* Counts once more in a child whose owner's modes do not bind. */
static int count_unbound(const struct changes_source *s, struct changes_summary *ret) {
        struct changes_summary sum;
        bool unreadable;
        int p[2], status;

        if (pipe2(p, O_CLOEXEC) < 0)
                return -errno;
        _cleanup_fd_ int rd = p[0];
        pid_t parent = getpid(), pid = fork();
        if (pid == 0) {
                if (changes_unbind() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
                    count(s, &sum, &unreadable, NULL) < 0 || fd_write_all(p[1], &sum, sizeof(sum)) < 0)
                        _exit(1);
                _exit(0);
        }
        int r = pid < 0 ? -errno : 0;
        close(p[1]);
        if (r < 0)
                return r;
        ssize_t n;
        do
                n = read(rd, &sum, sizeof(sum));
        while (n < 0 && errno == EINTR);
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        if (n != (ssize_t)sizeof(sum) || status != 0)
                return -EIO;
        *ret = sum;
        return 0;
}

int changes_summary(const struct changes_source *s, struct changes_summary *ret, struct error *e) {
        struct changes_summary sum = {};
        bool unreadable = false;
        int r = s->upper_fd < 0 ? 1 : is_empty(s->upper_fd);

        if (r == -EACCES) /* a run may close the workspace itself */
                unreadable = sum.at_least = true;
        else if (r < 0)
                return error_errno(e, -r, "cannot read the run's upper layer");
        else if (r == 0) {
                r = count(s, &sum, &unreadable, e);
                if (r < 0)
                        return r;
        }
        /* Where that fails too, the first count stands, as a lower bound. */
        if (unreadable && geteuid() != 0)
                (void)!count_unbound(s, &sum);
        *ret = sum;
        return 0;
}

void changes_summary_line(const struct changes_summary *s, char *dst, size_t size) {
        char bytes[32];

        if (s->added + s->changed + s->deleted == 0 && !s->at_least) {
                snprintf(dst, size, "no changes");
                return;
        }
        snprintf(dst, size, "%s%llu added, %llu changed, %llu deleted (%s)", s->at_least ? "at least " : "",
                 (unsigned long long)s->added, (unsigned long long)s->changed, (unsigned long long)s->deleted,
                 format_size(bytes, sizeof(bytes), s->bytes));
}
