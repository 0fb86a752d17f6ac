/* One entry of the trees: what has become of it, and its place in the list; see changes-internal.h. */
#include <limits.h>

#include "svc/changes-internal.h"
#include "svc/same-bytes.h"
#include "sys/beneath.h"

int walk_over_cap(struct walk *w, const char *what, uint64_t cap) {
        if (w->summary) {
                w->summary->at_least = true;
                return -E2BIG;
        }
        return error_set(w->e, E2BIG, "the run left more than %llu %s: too much to list (at %s)",
                         (unsigned long long)cap, what, w->path.data ?: "");
}

int walk_use_memory(struct walk *w, uint64_t n) {
        w->memory += n;
        return w->memory > w->caps.memory ? walk_over_cap(w, "bytes of file names", w->caps.memory) : 0;
}

int walk_visit(struct walk *w) {
        return ++w->visits > w->caps.visits ? walk_over_cap(w, "entries to look at", w->caps.visits) : 0;
}

int walk_failed(struct walk *w, int r, const char *what, const char *name) {
        error_errno(w->e, -r, "cannot %s %s%s%s", what, w->path.data ?: "", w->path.len && *name ? "/" : "", name);
        if (r == -EACCES || r == -EPERM)
                error_fix(w->e, "look at its mode and owner; chmod -R u+rwX on the sandbox's upper directory makes it "
                                "readable");
        return r;
}

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
                return walk_use_memory(w, strlen(side->link)); /* NOLINT(clang-analyzer-core.NonNullParamChecker): read */
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
                return walk_over_cap(w, "changes", w->caps.entries);
        size_t name_len = strlen(name), len = w->path.len + (w->path.len > 0) + name_len;
        int r = walk_use_memory(w, len + 1 + sizeof(*c));
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

static int remember_dir(struct walk *w, struct level *l, const char *name, ssize_t self) {
        size_t bytes = strlen(name) + 1 + sizeof(*l->dirs);

        l->dirs_bytes += bytes;
        int r = walk_use_memory(w, bytes);
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

int walk_entry_gone(struct walk *w, struct level *l, const char *name, const struct below *b) {
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
                        return walk_failed(w, r, "read the link", name);
                content = !c->after.link || !c->before.link || !streq(c->after.link, c->before.link);
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

int walk_upper_entry(struct walk *w, struct level *l, const char *name) {
        _cleanup_(change_clear) struct change c = {};
        struct below b = {};
        struct stat st;
        ssize_t index = -1;
        bool changed = true;
        char v;
        int r = walk_visit(w);

        if (r < 0)
                return r;
        if (fstatat(l->upper, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : walk_failed(w, -errno, "look at", name);
        r = walk_look_below(w, l, name, &b);
        if (r < 0)
                return r;
        r = mark_is_whiteout(w->s, l->upper, name, &st, l->marks);
        if (r < 0)
                return walk_failed(w, r, "read the marks of", name);
        if (r > 0)
                return b.there ? walk_entry_gone(w, l, name, &b) : 0;
        if (S_ISREG(st.st_mode)) {
                r = mark_read(w->s, l->upper, name, MARK_METACOPY, &v);
                /* A file that one may not read has no mark that overlay could have read either. */
                if (r < 0 && r != -EACCES)
                        return walk_failed(w, r, "read the marks of", name);
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
