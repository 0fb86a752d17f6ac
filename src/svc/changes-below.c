/* What the run saw below its changes: overlay's marks, and what was hidden from it; see changes-internal.h. */
#include <limits.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "svc/changes-internal.h"

/* There is no lgetxattrat(2) before 6.13, hence by /proc. */
int mark_read(const struct changes_source *s, int dirfd, const char *name, enum mark m, char *value) {
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

int mark_is_whiteout(const struct changes_source *s, int dirfd, const char *name, const struct stat *st, bool marks) {
        char v;
        if (is_whiteout_device(st))
                return 1;
        if (!marks || !S_ISREG(st->st_mode) || st->st_size != 0)
                return 0;
        return mark_read(s, dirfd, name, MARK_WHITEOUT, &v);
}

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

int walk_sort_hidden(struct walk *w) {
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

int walk_look_below(struct walk *w, const struct level *l, const char *name, struct below *ret) {
        struct below b = {};
        struct stat h;

        if (l->has_lower) {
                if (fstatat(l->lower, name, &b.st, AT_SYMLINK_NOFOLLOW) == 0)
                        b.there = true;
                else if (errno != ENOENT && errno != ENOTDIR)
                        return walk_failed(w, -errno, "look in the workspace at", name);
        }
        if (l->has_hide && fstatat(l->hide, name, &h, AT_SYMLINK_NOFOLLOW) == 0) {
                int r = mark_is_whiteout(w->s, l->hide, name, &h, true);
                if (r < 0)
                        return walk_failed(w, r, "read the marks of hidden", name);
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
