/* The container tier's view: an image's root, with a layer of the sandbox's own for changes, and on it what every sandbox
 * has: a minimal /dev, an own /proc, the workspace. Nothing of the host's root is there but volumes and what `read:`
 * names. Pure; see view.h. */
#include "base/use.h"
#include "model/view.h"

/* Files that name the host and the network, in a layer of the changes: not mounted over the image's, so that a package
 * manager can replace them by a rename. */
static int add_etc(struct plan *p, const struct view_facts *f, int layer) {
        int r;

        if ((r = plan_add(p, OP_LAYER_DIR, "etc", NULL, 0, 0755, layer)) < 0 || (r = view_add_names(p, f, "etc/", layer)) < 0)
                return r;
        /* apt changes to a user of its own to fetch; with one id there is none to change to. */
        if (p->ids.single &&
            ((r = plan_add(p, OP_LAYER_DIR, "etc/apt", NULL, 0, 0755, layer)) < 0 ||
             (r = plan_add(p, OP_LAYER_DIR, "etc/apt/apt.conf.d", NULL, 0, 0755, layer)) < 0 ||
             (r = plan_add(p, OP_LAYER_FILE, "etc/apt/apt.conf.d/00belljar", "APT::Sandbox::User \"root\";\n", 0, 0644, layer)) < 0))
                return r;
        return 0;
}

static int add_files(struct plan *p, const struct view_facts *f, int layer) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < f->n_files; i++) {
                const struct view_file *file = &f->files[i];
                if (file->size > 0)
                        r = plan_add_content(p, OP_LAYER_FILE, file->path, file->text, file->size, file->mode, layer);
                else
                        r = plan_add(p, file->text ? OP_LAYER_FILE : OP_LAYER_DIR, file->path, file->text, 0, file->mode, layer);
        }
        return r;
}

int view_plan_image(struct plan *p, const struct view_facts *f, struct error *e) {
        int r = 0, layer;

        p->n_layers = 1; /* layer 0 is empty (view.c) */
        layer = (int)p->n_layers++;
        for (size_t i = 0; r == 0 && i < f->layers.n; i++)
                r = plan_add(p, OP_IMAGE_LAYER, "/", f->layers.items[i], PLAN_STORE, 0, 0);
        if (r < 0 || (r = add_etc(p, f, layer)) < 0 || (r = add_files(p, f, layer)) < 0 || (r = plan_add(p, OP_IMAGE, "/", p->image, 0, 0, layer)) < 0 ||
            /* It may be changed in every way that its permissions allow: it is the sandbox's own copy. */
            (r = plan_allow(p, "/", USE_READ | USE_EXEC | USE_WRITE | USE_CHANGE)) < 0 || (p->programs && (r = view_add_programs(p, f)) < 0) || (r = view_add_scratch(p, "/dev", 0755)) < 0 ||
            (r = view_add_dev(p, f)) < 0 || (r = view_add_kernel(p, f)) < 0 || (r = view_add_read(p, f)) < 0 ||
            (p->workspace && (r = view_add_workspace(p, f)) < 0) || (r = view_add_volumes(p, f)) < 0 || (r = view_add_calls(p, f)) < 0 ||
            (r = view_add_socket_masks(p, f)) < 0 || (!streq(p->cwd, "/") && (r = plan_add(p, OP_DIR, p->cwd, NULL, 0, 0755, 0)) < 0))
                return error_errno(e, r, "the view cannot be planned");
        return 0;
}
