/* Hidden paths, see hide.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/glob.h"
#include "model/mint.h"
#include "svc/hide.h"
#include "svc/host.h"

#define WALK_DEPTH_MAX 256 /* directories deeper than that are refused: one fd and one state a level */

struct hide {
        struct plan *p;
        struct view_facts *v;
        struct error *e;
        uint64_t seen;
};

/* The tree of the view (workspace or a read directory) that path, absolute and clean, lies strictly beneath; the
 * innermost one. NULL: none. */
static const char *tree_of(const struct hide *h, const char *path) {
        const char *best = NULL;

        if (h->p->workspace && path_beneath(path, h->p->workspace) && !streq(path, h->p->workspace))
                return h->p->workspace;
        for (size_t i = 0; i < h->v->read.n; i++) {
                const char *t = h->v->read.items[i];
                if (path_beneath(path, t) && !streq(path, t) && (!best || strlen(t) > strlen(best)))
                        best = t;
        }
        for (size_t i = 0; i < h->v->n_volumes; i++) {
                const char *t = h->v->volumes[i].host;
                if (path_beneath(path, t) && !streq(path, t) && (!best || strlen(t) > strlen(best)))
                        best = t;
        }
        return best;
}

static bool is_writable_volume(const struct hide *h, const char *tree) {
        for (size_t i = 0; i < h->v->n_volumes; i++)
                if (h->v->volumes[i].writable && streq(h->v->volumes[i].host, tree))
                        return true;
        return false;
}

static bool is_hidden(const struct hide *h, const char *root, const char *rel) {
        for (size_t i = 0; i < h->v->n_hidden; i++)
                if (streq(h->v->hidden[i].root, root) && path_beneath(rel, h->v->hidden[i].path))
                        return true;
        return false;
}

/* Records rel beneath root, or its first part that does not exist: hiding that part also hides what the host makes
 * there later. */
static int add_hidden(struct hide *h, const char *root, const char *rel) {
        _cleanup_fd_ int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *path = NULL;
        _cleanup_free_ mode_t *modes = NULL;
        struct stat st;
        size_t depth = 0, n = 1;

        if (dir < 0)
                return error_errno(h->e, errno, "%s cannot be opened", root);
        for (const char *s = rel; (s = strchr(s, '/')); s++)
                n++;
        path = strdup(rel);
        modes = calloc(n, sizeof(mode_t));
        if (!path || !modes)
                return error_set(h->e, ENOMEM, "out of memory");
        for (char *s = path; (s = strchr(s, '/')); s++) {
                *s = 0;
                if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
                        break; /* path is cut here: this part is what gets hidden */
                modes[depth++] = st.st_mode;
                *s = '/';
        }
        if (is_hidden(h, root, path))
                return 0;
        if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_nlink > 1) {
                int r = strlist_addf(&h->p->notes, "%s/%s is hidden, but the file has %lu names: the others are in view if they lie in the workspace",
                                     root, path, (unsigned long)st.st_nlink);
                if (r < 0)
                        return error_errno(h->e, r, "a note cannot be kept");
        }
        struct view_hidden *p = reallocarray(h->v->hidden, h->v->n_hidden + 1, sizeof(*p));
        if (!p)
                return error_set(h->e, ENOMEM, "out of memory");
        h->v->hidden = p;
        char *r = strdup(root);
        if (!r)
                return error_set(h->e, ENOMEM, "out of memory");
        p[h->v->n_hidden++] = (struct view_hidden){.root = r, .path = TAKE_PTR(path), .modes = TAKE_PTR(modes)};
        h->p->hidden++;
        return 0;
}

static int refuse_mode(const struct hide *h, const char *path) {
        error_set(h->e, ENOTSUP, "%s cannot be hidden in a workspace of mode %s", path, workspace_mode_name(h->p->mode));
        return error_fix(h->e, "use --mode cow, where a hidden path stays hidden when the host replaces or makes it");
}

/* One absolute path. What it links to is hidden as well, so that the content has no other name in view. */
static int hide_path(struct hide *h, const char *path) {
        const char *tree = tree_of(h, path);
        int r;

        if (h->p->workspace && path_beneath(h->p->workspace, path)) {
                error_set(h->e, EINVAL, "%s is to be hidden, but the workspace lies in it", path);
                return error_fix(h->e, "hide what lies beneath the workspace, or choose another workspace");
        }
        if (tree && h->p->workspace && streq(tree, h->p->workspace) && h->p->mode != WORKSPACE_COW)
                return refuse_mode(h, path);
        if (tree && is_writable_volume(h, tree)) {
                error_set(h->e, ENOTSUP, "%s cannot be hidden in the volume %s, which is writable", path, tree);
                return error_fix(h->e, "make the volume read-only, or choose one that does not hold it");
        }
        if (tree)
                r = add_hidden(h, tree, path + strlen(tree) + 1);
        else
                r = strlist_add(&h->v->hidden_elsewhere, path);
        if (r < 0)
                return h->e->errnum ? r : error_errno(h->e, r, "%s cannot be hidden", path);
        struct stat st;
        if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
                _cleanup_free_ char *real = realpath(path, NULL);
                if (real && tree_of(h, real))
                        return hide_path(h, real);
        }
        return 0;
}

/* Walks beneath root (absolute) and hides what the set names. Links are not followed. */
static int walk(struct hide *h, const struct globset *g, int parent, const char *name, const char *path,
                const uint64_t *state, unsigned depth) {
        size_t words = globset_words(g);
        _cleanup_free_ uint64_t *below = calloc(words ? words : 1, sizeof(uint64_t));
        int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;

        if (!below)
                return error_set(h->e, ENOMEM, "out of memory");
        if (fd < 0) {
                if (errno == EACCES || errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
                        return 0; /* the sandbox's user cannot look there either, or it is gone */
                return error_errno(h->e, errno, "%s cannot be searched for hidden paths", path);
        }
        if (depth > WALK_DEPTH_MAX) {
                close(fd);
                return error_set(h->e, ELOOP, "%s lies too deep to be searched for hidden paths", path);
        }
        DIR *d = fdopendir(fd);
        if (!d) {
                close(fd);
                return error_errno(h->e, errno, "%s cannot be searched for hidden paths", path);
        }
        for (struct dirent *e; r == 0 && (e = readdir(d));) {
                if (streq(e->d_name, ".") || streq(e->d_name, ".."))
                        continue;
                if (++h->seen > HIDE_WALK_MAX) {
                        r = error_set(h->e, E2BIG, "the search for hidden paths saw more than %u entries", HIDE_WALK_MAX);
                        break;
                }
                unsigned f = globset_step(g, state, e->d_name, below, NULL);
                if (f == 0)
                        continue;
                _cleanup_free_ char *child = str_printf("%s/%s", path, e->d_name);
                if (!child)
                        r = error_set(h->e, ENOMEM, "out of memory");
                else if (f & GLOBSET_MATCH)
                        r = hide_path(h, child);
                else if (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN)
                        r = walk(h, g, dirfd(d), e->d_name, child, below, depth + 1);
        }
        closedir(d);
        return r;
}

static int walk_root(struct hide *h, const struct globset *g, const char *root) {
        _cleanup_free_ uint64_t *state = calloc(MAX(globset_words(g), 1u), sizeof(uint64_t));

        if (!state)
                return error_set(h->e, ENOMEM, "out of memory");
        return globset_start(g, state) & GLOBSET_BELOW ? walk(h, g, AT_FDCWD, root, root, state, 0) : 0;
}

/* What a tree that is bound writable must not offer. FIFOs and sockets: their other ends, on the host, would be reached;
 * they are covered. Set-user-ID and set-group-ID programs: who may write to one by way of mmap(2) keeps its bits, and has it
 * run on the host with its owner's rights; the run is refused. */
static int walk_special(struct hide *h, int parent, const char *name, const char *path, unsigned depth) {
        int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

        if (!d) {
                fd_close(fd);
                return 0; /* the sandbox's user cannot look there either */
        }
        for (struct dirent *e; r == 0 && (e = readdir(d));) {
                unsigned char type = e->d_type;
                struct stat st;
                if (streq(e->d_name, ".") || streq(e->d_name, ".."))
                        continue;
                if (type == DT_UNKNOWN && fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                        type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISFIFO(st.st_mode) ? DT_FIFO : S_ISSOCK(st.st_mode) ? DT_SOCK : DT_REG;
                if (type == DT_REG && fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                    ((st.st_mode & S_ISUID) || (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))) {
                        error_set(h->e, EPERM, "%s/%s has a set-user-ID or set-group-ID bit, and the sandbox could write to it", path, e->d_name);
                        r = error_fix(h->e, "take the bit away, or use --mode cow, or a read-only volume");
                        break;
                }
                if (type != DT_DIR && type != DT_FIFO && type != DT_SOCK)
                        continue;
                if (++h->seen > HIDE_WALK_MAX || depth > WALK_DEPTH_MAX) {
                        error_set(h->e, E2BIG, "it is too large or too deep, at %s, to find the host's FIFOs and sockets in it", path);
                        r = error_fix(h->e, "use --mode cow, or a read-only volume, which do not pass them");
                        break;
                }
                _cleanup_free_ char *child = str_printf("%s/%s", path, e->d_name);
                if (!child)
                        r = error_set(h->e, ENOMEM, "out of memory");
                else if (type == DT_DIR)
                        r = walk_special(h, fd, e->d_name, child, depth + 1);
                else if (!strlist_has(&h->v->sockets, child) && (r = strlist_add(&h->v->sockets, child)) < 0)
                        error_errno(h->e, r, "the host's FIFOs and sockets cannot be listed");
        }
        closedir(d);
        return r;
}

/* A secret that is read from a file has no name inside. */
static int hide_source(struct hide *h, const struct secret *s, const char *here, const char *home) {
        _cleanup_free_ char *path = NULL, *pattern = NULL, *why = NULL;
        int r;

        if (s->source != SECRET_FILE)
                return 0;
        r = host_resolve(s->from, here, home, &path, h->e);
        if (r == 0 && (r = hide_path(h, path)) == 0) {
                if (tree_of(h, path) && (!(pattern = glob_escape(path)) || strlist_add(&h->p->hide, pattern) < 0 ||
                                         strlist_addf(&h->p->notes, "%s, where the secret %s comes from, is hidden from the run", path, s->name) < 0))
                        return error_set(h->e, ENOMEM, "out of memory");
                return 0;
        }
        if ((why = strdup(h->e->msg)))
                snprintf(h->e->msg, sizeof(h->e->msg), "the secret %s lies in what the run sees: %s", s->name, why);
        return r;
}

static int hide_sources(struct hide *h, const char *home) {
        _cleanup_free_ char *here = realpath(".", NULL);
        int r = 0;

        for (size_t i = 0; i < h->p->network.n_secrets && r == 0; i++) {
                const struct secret *s = &h->p->network.secrets[i];
                struct secret beside = {.name = s->name};
                if ((r = hide_source(h, s, here ?: "/", home)) < 0 || !s->mint || !s->mint->client_source)
                        continue;
                if ((r = secret_parse_source(s->mint->client_source, &beside, h->e)) == 0)
                        r = hide_source(h, &beside, here ?: "/", home);
                free(beside.from);
        }
        return r;
}

int hide_gather(struct plan *p, const struct policy *policy, const char *home, struct view_facts *v, struct error *e) {
        struct hide h = {.p = p, .v = v, .e = e};
        _cleanup_globset_ struct globset *relative = NULL;
        bool any = false;
        int r;

        e->errnum = 0;
        if (p->workspace && p->mode == WORKSPACE_RW && (r = walk_special(&h, AT_FDCWD, p->workspace, p->workspace, 0)) < 0)
                return r;
        for (size_t i = 0; i < v->n_volumes; i++)
                if (v->volumes[i].writable && !v->volumes[i].file &&
                    (r = walk_special(&h, AT_FDCWD, v->volumes[i].host, v->volumes[i].host, 0)) < 0)
                        return r;
        /* The records and layers of other sandboxes, and the orders for this one, are nobody's inside. */
        if (p->state && tree_of(&h, p->state)) {
                if (p->workspace && p->mode != WORKSPACE_COW && path_beneath(p->state, p->workspace)) {
                        error_set(e, EPERM, "Belljar keeps its state in the workspace, at %s", p->state);
                        return error_fix(e, "use --mode cow, or set XDG_STATE_HOME to a directory elsewhere");
                }
                if ((r = hide_path(&h, p->state)) < 0)
                        return r;
        }
        if ((r = hide_sources(&h, home)) < 0)
                return r;
        if (policy->hide.n == 0)
                return 0;
        if ((r = globset_new(&relative)) < 0)
                return error_errno(e, r, "the hidden paths cannot be searched for");
        for (size_t i = 0; i < policy->hide.n; i++) {
                const char *pattern = policy->hide.items[i];
                bool absolute = glob_is_absolute(pattern);
                _cleanup_free_ char *path = NULL;

                if (!absolute && !p->workspace) {
                        error_set(e, EINVAL, "%s is to be hidden in the workspace, and there is none", pattern);
                        return error_fix(e, "name it by its absolute path, or give the run a workspace");
                }
                if (!absolute && p->mode != WORKSPACE_COW)
                        return refuse_mode(&h, pattern);
                if (glob_is_literal(pattern)) {
                        _cleanup_free_ char *plain = glob_unescape(pattern), *clean = NULL;
                        if (!plain)
                                return error_set(e, ENOMEM, "out of memory");
                        /* Only what leads to the last part is resolved: a link is hidden by its own name, too. */
                        _cleanup_free_ char *joined = absolute ? strdup(plain) : str_printf("%s/%s", p->workspace, plain);
                        if (!joined || !(clean = path_clean(joined)))
                                return error_set(e, ENOMEM, "out of memory");
                        char *slash = strrchr(clean, '/');
                        if (!slash || !slash[1] || streq(slash, "/.."))
                                return error_set(e, EINVAL, "%s names nothing that could be hidden", pattern);
                        _cleanup_free_ char *head = strndup(clean, (size_t)(slash - clean)), *dir = NULL;
                        if (!head || (r = host_resolve(head[0] ? head : "/", "/", home, &dir, e)) < 0)
                                return head ? r : error_set(e, ENOMEM, "out of memory");
                        path = str_printf("%s/%s", streq(dir, "/") ? "" : dir, slash + 1);
                        if (!path)
                                return error_set(e, ENOMEM, "out of memory");
                        if ((r = hide_path(&h, path)) < 0)
                                return r;
                } else if (!absolute) {
                        any = true;
                        if ((r = globset_add(relative, pattern)) < 0)
                                return error_errno(e, r, "%s cannot be hidden", pattern);
                } else {
                        /* An absolute glob: one walk from the directory that its literal part names. */
                        _cleanup_free_ char *base = NULL, *real = NULL;
                        _cleanup_globset_ struct globset *g = NULL;
                        const char *rest;
                        if ((r = glob_split(pattern, &base, &rest)) < 0)
                                return error_errno(e, r, "%s cannot be hidden", pattern);
                        if ((r = host_resolve(base, "/", home, &real, e)) < 0)
                                return r;
                        if ((r = globset_new(&g)) < 0 || (r = globset_add(g, rest)) < 0)
                                return error_errno(e, r, "%s cannot be hidden", pattern);
                        if ((r = walk_root(&h, g, real)) < 0)
                                return r;
                }
        }
        return any ? walk_root(&h, relative, p->workspace) : 0;
}
