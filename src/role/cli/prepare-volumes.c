/* Volumes of a run: what stands on the host, and what must not be one. Looks, changes nothing. */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/prepare.h"

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
        return r;
}
