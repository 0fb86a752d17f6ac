/* A run whose root is none of an image and none of the host's: what prepare.c does otherwise for it. Caller: prepare.c, for
 * `belljar image build`. Nothing on the host is changed here. */
#include <string.h>

#include "role/cli/prepare.h"

int prepare_root_open(const struct run_options *o, struct prepared *x, struct error *e) {
        struct plan *p = x->plan;
        int r;

        if ((r = ids_find(&x->ids, e)) < 0)
                return r;
        x->image = (struct image){.workdir = strdup("/")};
        x->user = (struct image_user){};
        p->image = strdup(o->root->name);
        p->programs = true;
        free(p->home);
        p->home = strdup("/root");
        if (!x->image.workdir || !p->image || !p->home)
                return error_set(e, ENOMEM, "out of memory");
        return 0;
}

/* Directories of Belljar's own state, which prepare_volumes would refuse from the user. */
int prepare_root_facts(const struct run_options *o, struct prepared *x, struct error *e) {
        struct view_facts *f = &x->host.view;
        const struct strlist *l = o->root->trees;

        f->files = o->root->files;
        f->n_files = o->root->n_files;
        o->root->files = NULL;
        o->root->n_files = 0;
        for (size_t i = 0; i + 1 < l->n; i += 2) {
                struct view_volume *v = reallocarray(f->volumes, f->n_volumes + 1, sizeof(*v));
                if (!v)
                        return error_set(e, ENOMEM, "out of memory");
                f->volumes = v;
                v[f->n_volumes] = (struct view_volume){.host = strdup(l->items[i]), .inside = strdup(l->items[i + 1])};
                f->n_volumes++;
                if (!v[f->n_volumes - 1].host || !v[f->n_volumes - 1].inside)
                        return error_set(e, ENOMEM, "out of memory");
        }
        return 0;
}
