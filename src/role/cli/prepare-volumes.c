/* Volumes of a run: what stands on the host, and what must not be one. Looks, changes nothing. */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/prepare.h"
#include "sys/beneath.h"

static int add_volume(struct prepared *x, const struct volume *v, struct error *e) {
        struct view_facts *f = &x->host.view;
        struct stat st;

        if (stat(v->host, &st) < 0) {
                error_errno(e, errno, "the volume %s cannot be found on this host", v->host);
                return error_fix(e, "make it, or correct -v");
        }
        if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
                return error_set(e, EINVAL, "the volume %s is neither a directory nor a regular file", v->host);
        static const char *const kernel[] = {"/proc", "/sys", "/dev", "/run"};
        for (size_t i = 0; i < ELEMENTSOF(kernel); i++)
                if (streq(v->host, "/") || path_beneath(v->host, kernel[i]))
                        return error_set(e, EINVAL, "%s cannot be a volume: it is the system's", v->host);
        if (x->plan->state && (path_beneath(x->plan->state, v->host) || path_beneath(v->host, x->plan->state)))
                return error_set(e, EPERM, "%s cannot be a volume: Belljar keeps its state there", v->host);
        char exe[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
        exe[MAX(n, 0)] = 0;
        if (v->writable && path_beneath(exe, v->host)) {
                error_set(e, EPERM, "the volume %s holds Belljar's own program, and the sandbox could replace it", v->host);
                return error_fix(e, "make it read-only, or install Belljar elsewhere");
        }
        struct view_volume *p = reallocarray(f->volumes, f->n_volumes + 1, sizeof(*p));
        if (!p)
                return error_set(e, ENOMEM, "out of memory");
        f->volumes = p;
        p[f->n_volumes] = (struct view_volume){.host = strdup(v->host), .inside = strdup(v->inside), .writable = v->writable,
                                               .file = S_ISREG(st.st_mode)};
        f->n_volumes++;
        return p[f->n_volumes - 1].host && p[f->n_volumes - 1].inside ? 0 : error_set(e, ENOMEM, "out of memory");
}

/* Notes a place in the workspace where nothing stands. One that a link leads to, which only the view can tell, is made when
 * it is attached. */
static int add_place(struct prepared *x, int workspace, const char *inside, bool file) {
        const char *root = plan_workspace_inside(x->plan);
        struct view_facts *f = &x->host.view;
        int fd = -ENOENT;

        if (streq(inside, root) || !path_beneath(inside, root))
                return 0;
        _cleanup_free_ char *rel = strdup(inside + strlen(root) + 1);
        if (!rel)
                return -ENOMEM;
        for (char *end = rel + strlen(rel), *cut = end; fd == -ENOENT && cut;) {
                char was = *cut;
                *cut = 0;
                fd = beneath_open(workspace, rel, cut == end ? O_PATH : O_PATH | O_DIRECTORY);
                if (fd >= 0 && cut == end) { /* it is there */
                        close(fd);
                        return 0;
                }
                char *above = strrchr(rel, '/');
                *cut = was;
                cut = above ? above : cut > rel ? rel : NULL;
                if (fd >= 0)
                        break;
        }
        if (fd < 0)
                return 0;
        close(fd);
        return strlist_add(file ? &f->place_files : &f->places, rel);
}

static bool in_other_volume(const struct view_facts *f, const char *inside) {
        for (size_t i = 0; i < f->n_volumes; i++)
                if (!streq(f->volumes[i].inside, inside) && path_beneath(inside, f->volumes[i].inside))
                        return true;
        return false;
}

/* Changes of the workspace are kept apart, and the mount points are none of the run's. */
static int add_places(struct prepared *x, struct error *e) {
        const struct view_facts *f = &x->host.view;
        const struct plan *p = x->plan;
        int r = 0;

        if (!p->workspace || p->mode != WORKSPACE_COW || (f->n_volumes == 0 && !p->image))
                return 0;
        _cleanup_fd_ int fd = open(p->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (size_t i = 0; fd >= 0 && r == 0 && i < f->n_volumes; i++)
                if (!in_other_volume(f, f->volumes[i].inside))
                        r = add_place(x, fd, f->volumes[i].inside, f->volumes[i].file);
        if (fd >= 0 && r == 0 && p->image && !in_other_volume(f, p->cwd))
                r = add_place(x, fd, p->cwd, false);
        return r < 0 ? error_errno(e, r, "the places in the workspace cannot be listed") : 0;
}

static int by_place(const void *a, const void *b) {
        const struct view_volume *x = a, *y = b;
        return strcmp(x->inside, y->inside);
}

int prepare_volumes(const struct policy *policy, struct prepared *x, struct error *e) {
        struct view_facts *f = &x->host.view;
        int r = 0;

        for (size_t i = 0; r == 0 && i < policy->n_volumes; i++)
                r = add_volume(x, &policy->volumes[i], e);
        if (f->n_volumes > 1)
                qsort(f->volumes, f->n_volumes, sizeof(*f->volumes), by_place);
        return r < 0 ? r : add_places(x, e);
}
