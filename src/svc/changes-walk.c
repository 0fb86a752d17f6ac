/* The walk through the upper layer and the workspace; see changes-internal.h. */
#include <sys/syscall.h>

#include "svc/changes-internal.h"
#include "svc/same-bytes.h"
#include "sys/beneath.h"

enum {
        OPEN_MAX = 16, /* levels with open fds, three each */
};

static void level_close(struct level *l) {
        fd_close(l->upper);
        fd_close(l->lower);
        fd_close(l->hide);
        l->upper = l->lower = l->hide = -1;
}

static int push(struct walk *w, struct level *l) {
        if (w->n >= w->caps.depth)
                return walk_over_cap(w, "levels of directories", w->caps.depth);
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
                return walk_failed(w, r, "return to", "");
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
                return walk_failed(w, fd, "list the workspace's", "");
        for (;;) {
                long n = syscall(SYS_getdents64, fd, buf, sizeof(buf));
                if (n < 0)
                        return walk_failed(w, -errno, "list the workspace's", "");
                if (n == 0)
                        return 0;
                for (long i = 0; i < n;) {
                        const struct dirent64_raw *d = (const void *)(buf + i);
                        struct stat st;
                        struct below b = {};
                        i += d->d_reclen;
                        if (streq(d->d_name, ".") || streq(d->d_name, ".."))
                                continue;
                        int r = walk_visit(w);
                        if (r < 0)
                                return r;
                        if (l->has_upper && fstatat(l->upper, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                                continue;
                        r = walk_look_below(w, l, d->d_name, &b);
                        if (r < 0)
                                return r;
                        if (b.hidden)
                                note_hidden_gone(w, l);
                        if (!b.there)
                                continue;
                        r = walk_entry_gone(w, l, d->d_name, &b);
                        if (r < 0)
                                return r;
                }
        }
}

static int list_upper(struct walk *w, struct level *l) {
        _Alignas(struct dirent64_raw) char buf[32768];
        char v = 0;
        int r;

        r = mark_read(w->s, l->upper, "", MARK_REDIRECT, &v);
        if (r > 0)
                return error_set(w->e, EOPNOTSUPP, "%s is a redirected directory (overlay redirect_dir), which Belljar "
                                 "does not make", w->path.data ?: "the upper layer");
        if (r >= 0)
                r = mark_read(w->s, l->upper, "", MARK_OPAQUE, &v);
        if (r > 0) {
                if (v == 'y')
                        l->opaque = true;
                else if (v == 'x')
                        l->marks = true; /* 6.8 and later: not opaque, but with whiteouts by xattr */
        }
        if (r >= 0 && !l->marks) {
                r = mark_read(w->s, l->upper, "", MARK_WHITEOUTS, &v);
                l->marks = r > 0;
        }
        if (r < 0)
                return walk_failed(w, r, "read the marks of", "");
        for (;;) {
                long n = syscall(SYS_getdents64, l->upper, buf, sizeof(buf));
                if (n < 0)
                        return walk_failed(w, -errno, "list", "");
                if (n == 0)
                        break;
                for (long i = 0; i < n;) {
                        const struct dirent64_raw *d = (const void *)(buf + i);
                        i += d->d_reclen;
                        if (streq(d->d_name, ".") || streq(d->d_name, ".."))
                                continue;
                        r = walk_upper_entry(w, l, d->d_name);
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

        r = walk_look_below(w, parent, name, &b);
        if (r < 0)
                return r;
        if (parent->has_upper && fstatat(parent->upper, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
                r = l.upper = open_dir_at(parent->upper, name, O_RDONLY);
                if (r < 0) {
                        if (w->summary && r == -EACCES) {
                                w->summary->at_least = w->unreadable = true;
                                return 0;
                        }
                        return walk_failed(w, r, "open", name);
                }
                if (fstat(l.upper, &st) < 0)
                        return walk_failed(w, -errno, "look at", name);
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
                        return walk_failed(w, r, "open the workspace's", name);
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

int walk_trees(struct walk *w, const struct change_caps *def) {
        const struct change_caps *c = &w->s->caps;

        w->caps = (struct change_caps){
                .entries = c->entries ?: def->entries, .depth = c->depth ?: def->depth,
                .memory = c->memory ?: def->memory,    .compare = c->compare ?: def->compare,
                .visits = c->visits ?: def->visits,
        };
        w->path.max = 16u << 20;
        w->buf = malloc(SAME_BUFFER);
        int r = w->buf ? walk_sort_hidden(w) : -ENOMEM;
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
