/* The process tier's view of the host, as plan operations: system directories read-only, a private home, /tmp and /run,
 * a minimal /dev, an own /proc, the workspace. What is not named here is not there: other top-level directories, homes,
 * logs, spools and other users' files need a `read:` of the policy. Pure; called once for a run. */
#include <stdio.h>
#include <string.h>

#include "base/use.h"
#include "model/view.h"
#include "proto/call-msg.h"

/* Top-level directories that hold programs and their data. */
static const char *const system_dirs[] = {
        "bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "opt", "nix", "gnu", "snap",
};

/* Beneath /var: package databases and caches that programs read, and links into /run. Logs, spools, mail, sites and
 * whatever else stands there stay out. /var/tmp is the sandbox's own. */
static const char *const var_shown[] = {"lib", "cache", "run", "lock", "tmp"};

/* Beneath /etc: secrets of the host and names that identify it. Most are readable by root only; they are out of
 * sight all the same, also when a mode is wrong. */
static const char *const etc_hidden[] = {
        "shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "sudoers.d", "krb5.keytab", "wireguard",
        "docker", "kubernetes", "rancher", "openvpn", "ipsec.secrets", "ppp", "credstore", "credstore.encrypted",
        "fstab", "crypttab",
};

/* Beneath /proc: kernel memory, addresses, logs, keys, devices and switches that a fresh instance shows or offers to
 * everybody. What the kernel gives to the host's root only (timer_list, vmallocinfo, slabinfo, iomem, ...) is not
 * repeated here: no process of a sandbox has that uid. */
static const char *const kernel_masked[] = {
        "/proc/kcore", "/proc/kallsyms", "/proc/kmsg", "/proc/keys", "/proc/sysrq-trigger", "/proc/interrupts",
        "/proc/modules", "/proc/acpi", "/proc/scsi", "/proc/asound", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/driver",
        "/sys/firmware", "/sys/kernel",
};

static bool has_mount_beneath(const struct view_facts *f, const char *dir) {
        for (size_t i = 0; i < f->mounts.n; i++)
                if (path_beneath(f->mounts.items[i], dir) && !streq(f->mounts.items[i], dir))
                        return true;
        return false;
}

static bool in_list(const char *const *list, size_t n, const char *s) {
        for (size_t i = 0; i < n; i++)
                if (streq(list[i], s))
                        return true;
        return false;
}

/* A read-only tree of the host. As an overlay where that is possible: an overlay does not pass connections to the
 * host's sockets or opens of its FIFOs, not even of those that are made later; a bind does. Overlays do not show the
 * mounts beneath, so a tree with such is bound. */
static int add_tree(struct plan *p, const struct view_facts *f, const char *path, unsigned flags) {
        if (has_mount_beneath(f, path))
                return plan_add(p, OP_BIND, path, path, flags | PLAN_READONLY | PLAN_RECURSIVE, 0, 0);
        return plan_add(p, OP_OVERLAY, path, path, flags | PLAN_READONLY, 0, 0);
}

/* The directories above a path, in a layer; those in `made` are there. modes: outermost first; NULL: new ones. */
static int add_layer_parents(struct plan *p, struct strlist *made, const char *path, const mode_t *modes, int layer) {
        size_t depth = 0;
        int r;

        for (const char *s = path; (s = strchr(s, '/')); s++, depth++) {
                _cleanup_free_ char *dir = strndup(path, (size_t)(s - path));
                if (!dir)
                        return -ENOMEM;
                if (strlist_has(made, dir))
                        continue;
                if ((r = strlist_add(made, dir)) < 0 ||
                    (r = plan_add(p, OP_LAYER_DIR, dir, NULL, 0, modes ? modes[depth] : 0755, layer)) < 0)
                        return r;
        }
        return 0;
}

bool view_has_own_etc(const struct view_facts *f) { return !has_mount_beneath(f, "/etc"); }

/* Of the files that make programs trust the sandbox's CA, those that /etc's own layer can hold. */
static int add_trust_in_etc(struct plan *p, const struct view_facts *f, int layer) {
        _cleanup_strlist_ struct strlist made = {};
        int r = 0;

        for (size_t i = 0; r == 0 && i < f->n_trust; i++) {
                const struct view_trust *t = &f->trust[i];
                const char *rel = str_after(t->path, "/etc/");
                if (rel && (r = add_layer_parents(p, &made, rel, NULL, layer)) == 0)
                        r = plan_add_content(p, OP_LAYER_FILE, rel, t->data, t->size, 0644, layer);
        }
        return r;
}

/* The others: over what is there, or in /run. */
static int add_trust_elsewhere(struct plan *p, const struct view_facts *f) {
        bool own = view_has_own_etc(f);
        int r = 0;

        for (size_t i = 0; r == 0 && i < f->n_trust; i++) {
                const struct view_trust *t = &f->trust[i];
                if (path_beneath(t->path, "/etc") ? !own && t->there : t->there || path_beneath(t->path, "/run"))
                        r = plan_add_content(p, OP_FILE, t->path, t->data, t->size, 0444, 0);
        }
        return r;
}

/* layer < 0: over what is there. */
int view_add_names(struct plan *p, const struct view_facts *f, const char *etc, int layer) {
        _cleanup_free_ char *hosts = str_printf("127.0.0.1 localhost %s\n::1 localhost ip6-localhost\n", p->hostname);
        _cleanup_free_ char *hostname = str_printf("%s\n", p->hostname);
        _cleanup_free_ char *machine = str_printf("%s\n", f->machine_id);
        const struct { const char *name, *text; } files[] = {
                {"hosts", hosts}, {"hostname", hostname}, {"machine-id", machine}, {"resolv.conf", VIEW_RESOLV_CONF},
        };
        int r = 0;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(files); i++) {
                _cleanup_free_ char *path = str_printf("%s%s", etc, files[i].name);
                if (!path || !files[i].text)
                        return -ENOMEM;
                r = layer >= 0 ? plan_add(p, OP_LAYER_FILE, path, files[i].text, 0, 0644, layer)
                               : plan_add(p, OP_FILE, path, files[i].text, PLAN_OPTIONAL, 0444, 0);
        }
        return r;
}

static int add_etc(struct plan *p, const struct view_facts *f) {
        int r;

        if (has_mount_beneath(f, "/etc")) {
                /* A container's own /etc/hosts and resolv.conf are mounts: bound, with the rest covered. */
                r = plan_add(p, OP_BIND, "/etc", "/etc", PLAN_READONLY | PLAN_RECURSIVE, 0, 0);
                for (size_t i = 0; r == 0 && i < ELEMENTSOF(etc_hidden); i++) {
                        _cleanup_free_ char *t = str_printf("/etc/%s", etc_hidden[i]);
                        r = t ? plan_add(p, OP_MASK, t, NULL, 0, 0, 0) : -ENOMEM;
                }
                return r < 0 ? r : view_add_names(p, f, "/etc/", -1);
        }
        int layer = (int)p->n_layers++;
        if ((r = view_add_names(p, f, "", layer)) < 0 ||
            (f->passwd && (r = plan_add(p, OP_LAYER_FILE, "passwd", f->passwd, 0, 0644, layer)) < 0) ||
            (f->group && (r = plan_add(p, OP_LAYER_FILE, "group", f->group, 0, 0644, layer)) < 0))
                return r;
        for (size_t i = 0; i < ELEMENTSOF(etc_hidden); i++)
                if ((r = plan_add(p, OP_LAYER_WHITEOUT, etc_hidden[i], NULL, 0, 0, layer)) < 0)
                        return r;
        if ((r = add_trust_in_etc(p, f, layer)) < 0)
                return r;
        return plan_add(p, OP_OVERLAY, "/etc", "/etc", PLAN_READONLY, 0, layer);
}

static int add_var(struct plan *p, const struct view_facts *f) {
        int r;

        if (has_mount_beneath(f, "/var")) {
                /* No overlay shows mounts: the two trees are bound. */
                for (size_t i = 0; i < 2; i++) {
                        _cleanup_free_ char *path = str_printf("/var/%s", var_shown[i]);
                        if (!path)
                                return -ENOMEM;
                        if ((r = add_tree(p, f, path, PLAN_OPTIONAL)) < 0)
                                return r;
                }
                if ((r = plan_add(p, OP_SYMLINK, "/var/run", "../run", 0, 0, 0)) < 0)
                        return r;
                return plan_add(p, OP_SYMLINK, "/var/lock", "../run/lock", 0, 0, 0);
        }
        int layer = (int)p->n_layers++;
        for (size_t i = 0; i < f->var.n; i++)
                if (!in_list(var_shown, ELEMENTSOF(var_shown), f->var.items[i]) &&
                    (r = plan_add(p, OP_LAYER_WHITEOUT, f->var.items[i], NULL, 0, 0, layer)) < 0)
                        return r;
        if (!strlist_has(&f->var, "tmp") && (r = plan_add(p, OP_LAYER_DIR, "tmp", NULL, 0, 01777, layer)) < 0)
                return r;
        return plan_add(p, OP_OVERLAY, "/var", "/var", PLAN_READONLY | PLAN_OPTIONAL, 0, layer);
}

int view_add_programs(struct plan *p, const struct view_facts *f) {
        int r;

        for (size_t i = 0; i < f->n_root; i++) {
                const struct view_root_entry *e = &f->root[i];
                _cleanup_free_ char *path = str_printf("/%s", e->name);
                if (!path)
                        return -ENOMEM;
                if (!in_list(system_dirs, ELEMENTSOF(system_dirs), e->name))
                        continue;
                if (e->link)
                        r = plan_add(p, OP_SYMLINK, path, e->link, 0, 0, 0);
                else if (e->empty)
                        r = plan_add(p, OP_DIR, path, NULL, 0, 0755, 0);
                else if (p->image && (streq(e->name, "opt") || streq(e->name, "snap")))
                        continue;
                else if (streq(e->name, "opt") || streq(e->name, "snap"))
                        r = add_tree(p, f, path, 0);
                else
                        r = plan_add(p, OP_BIND, path, path, PLAN_READONLY | PLAN_RECURSIVE, 0, 0);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_root(struct plan *p, const struct view_facts *f) {
        int r = view_add_programs(p, f);

        if (r < 0 || (r = add_etc(p, f)) < 0)
                return r;
        if ((r = add_var(p, f)) < 0)
                return r;
        static const char *const empty[] = {"/srv", "/mnt", "/media", "/home", "/root"};
        for (size_t i = 0; i < ELEMENTSOF(empty); i++)
                if ((r = plan_add(p, OP_DIR, empty[i], NULL, 0, 0755, 0)) < 0)
                        return r;
        return plan_allow(p, "/", USE_READ | USE_EXEC);
}

int view_add_scratch(struct plan *p, const char *path, mode_t mode) {
        int r = plan_add(p, OP_SCRATCH, path, NULL, 0, mode, 0);
        return r < 0 ? r : plan_allow(p, path, USE_READ | USE_EXEC | USE_WRITE | USE_CHANGE);
}

int view_add_dev(struct plan *p, const struct view_facts *f) {
        static const struct { const char *target, *link; } links[] = {
                {"/dev/fd", "/proc/self/fd"}, {"/dev/stdin", "/proc/self/fd/0"}, {"/dev/stdout", "/proc/self/fd/1"},
                {"/dev/stderr", "/proc/self/fd/2"}, {"/dev/ptmx", "pts/ptmx"},
        };
        int r;

        for (size_t i = 0; i < f->devices.n; i++) {
                _cleanup_free_ char *path = str_printf("/dev/%s", f->devices.items[i]);
                if (!path)
                        return -ENOMEM;
                if ((r = plan_add(p, OP_BIND, path, path, PLAN_DEVICE, 0, 0)) < 0)
                        return r;
        }
        for (size_t i = 0; i < ELEMENTSOF(links); i++)
                if ((r = plan_add(p, OP_SYMLINK, links[i].target, links[i].link, 0, 0, 0)) < 0)
                        return r;
        if ((r = plan_add(p, OP_DEVPTS, "/dev/pts", NULL, 0, 0, 0)) < 0 ||
            (r = plan_allow(p, "/dev", USE_WRITE | USE_DEVICE)) < 0 ||
            /* POSIX message queues: Landlock judges mq_open(3) by the root of this file system. */
            (r = plan_add(p, OP_MQUEUE, "/dev/mqueue", NULL, 0, 0, 0)) < 0 ||
            (r = plan_allow(p, "/dev/mqueue", USE_READ | USE_WRITE | USE_CHANGE)) < 0)
                return r;
        return view_add_scratch(p, "/dev/shm", 01777);
}

int view_add_kernel(struct plan *p, const struct view_facts *f) {
        int r;

        if ((r = plan_add(p, OP_PROC, "/proc", NULL, 0, 0, 0)) < 0 ||
            (r = plan_add(p, OP_READONLY, "/proc/sys", NULL, 0, 0, 0)) < 0)
                return r;
        if ((r = plan_allow(p, "/proc", USE_WRITE)) < 0 ||
            (f->sysfs && (r = plan_add(p, OP_SYSFS, "/sys", NULL, PLAN_READONLY, 0, 0)) < 0))
                return r;
        for (size_t i = 0; i < ELEMENTSOF(kernel_masked); i++)
                if ((f->sysfs || !str_after(kernel_masked[i], "/sys/")) &&
                    (r = plan_add(p, OP_MASK, kernel_masked[i], NULL, 0, 0, 0)) < 0)
                        return r;
        return 0;
}

/* The whiteout of a hidden path stands where the place or a directory above it would: then it is made when it is attached. */
static bool is_hidden_place(const struct view_facts *f, const char *root, const char *place) {
        for (size_t i = 0; i < f->n_hidden; i++) {
                const char *rest = streq(f->hidden[i].root, root) ? str_after(place, f->hidden[i].path) : NULL;
                if (rest && (*rest == 0 || *rest == '/'))
                        return true;
        }
        return false;
}

static int add_places(struct plan *p, const struct view_facts *f, const char *root, struct strlist *made, int *layer) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < f->places.n + f->place_files.n; i++) {
                bool file = i >= f->places.n;
                const char *path = file ? f->place_files.items[i - f->places.n] : f->places.items[i];
                if (is_hidden_place(f, root, path) || strlist_has(made, path))
                        continue;
                if (*layer == 0)
                        *layer = (int)p->n_layers++;
                if ((r = add_layer_parents(p, made, path, NULL, *layer)) == 0 && (r = strlist_add(made, path)) == 0)
                        r = file ? plan_add(p, OP_LAYER_FILE, path, "", 0, 0644, *layer)
                                 : plan_add(p, OP_LAYER_DIR, path, NULL, 0, 0755, *layer);
        }
        return r;
}

/* Layer 0 is empty: an overlay needs two layers. Returns the layer with the whiteouts of everything hidden beneath
 * root and, of the workspace, the places that are made; 0 if there is nothing. */
int view_add_hidden_layer(struct plan *p, const struct view_facts *f, const char *root) {
        _cleanup_strlist_ struct strlist made = {};
        int layer = 0, r;

        for (size_t i = 0; i < f->n_hidden; i++) {
                const struct view_hidden *h = &f->hidden[i];
                if (!streq(h->root, root))
                        continue;
                if (layer == 0)
                        layer = (int)p->n_layers++;
                if ((r = add_layer_parents(p, &made, h->path, h->modes, layer)) < 0 ||
                    (r = plan_add(p, OP_LAYER_WHITEOUT, h->path, NULL, 0, 0, layer)) < 0)
                        return r;
        }
        if (p->workspace && p->mode == WORKSPACE_COW && streq(root, p->workspace) && (r = add_places(p, f, root, &made, &layer)) < 0)
                return r;
        return layer;
}

int view_add_read(struct plan *p, const struct view_facts *f) {
        int r;

        for (size_t i = 0; i < f->own_dirs.n; i++)
                if ((r = plan_add(p, OP_DIR, f->own_dirs.items[i], NULL, 0, 0755, 0)) < 0)
                        return r;
        for (size_t i = 0; i + 1 < f->links.n; i += 2)
                if ((r = plan_add(p, OP_SYMLINK, f->links.items[i], f->links.items[i + 1], 0, 0, 0)) < 0)
                        return r;
        for (size_t i = 0; i < f->read.n; i++) {
                const char *path = f->read.items[i];
                int layer = view_add_hidden_layer(p, f, path);
                if (layer < 0)
                        return layer;
                if (strlist_has(&f->read_files, path))
                        r = plan_add(p, OP_BIND, path, path, PLAN_READONLY | PLAN_IDMAP, 0, 0);
                else if (has_mount_beneath(f, path))
                        r = plan_add(p, OP_BIND, path, path, PLAN_READONLY | PLAN_RECURSIVE | PLAN_IDMAP, 0, 0);
                else
                        r = plan_add(p, OP_OVERLAY, path, path, PLAN_READONLY | PLAN_IDMAP, 0, layer);
                if (r < 0)
                        return r;
        }
        return 0;
}

int view_add_workspace(struct plan *p, const struct view_facts *f) {
        const char *inside = plan_workspace_inside(p);
        int r, layer = view_add_hidden_layer(p, f, p->workspace);

        if (layer < 0)
                return layer;
        switch (p->mode) {
        case WORKSPACE_COW:
                r = plan_add(p, OP_OVERLAY, inside, p->workspace, PLAN_UPPER | PLAN_IDMAP, 0, layer);
                break;
        case WORKSPACE_RO:
                r = plan_add(p, OP_OVERLAY, inside, p->workspace, PLAN_READONLY | PLAN_IDMAP, 0, 0);
                break;
        default:
                r = plan_add(p, OP_BIND, inside, p->workspace, PLAN_IDMAP, 0, 0);
        }
        if (r < 0)
                return r;
        return plan_allow(p, inside,
                          USE_READ | USE_EXEC | (p->mode == WORKSPACE_RO ? 0 : USE_WRITE | USE_CHANGE));
}

int view_add_volumes(struct plan *p, const struct view_facts *f) {
        int r;

        for (size_t i = 0; i < f->n_volumes; i++) {
                const struct view_volume *v = &f->volumes[i];
                unsigned flags = PLAN_VOLUME | PLAN_IDMAP | (v->writable ? 0 : PLAN_READONLY);
                /* A directory that is only read goes through an overlay, as every tree of the host: the host's sockets
                 * and FIFOs stay out of reach. */
                if (v->writable || v->file)
                        r = plan_add(p, OP_BIND, v->inside, v->host, flags, 0, 0);
                else if ((r = view_add_hidden_layer(p, f, v->host)) >= 0)
                        r = plan_add(p, OP_OVERLAY, v->inside, v->host, flags, 0, r);
                if (r < 0 || (r = plan_allow(p, v->inside, USE_READ | USE_EXEC | (v->writable ? USE_WRITE | USE_CHANGE : 0))) < 0)
                        return r;
        }
        return 0;
}

int view_add_calls(struct plan *p, const struct view_facts *f) {
        int r = 0;

        if (p->calls.n == 0)
                return 0;
        for (size_t i = 0; r == 0 && i < p->calls.n; i++) {
                _cleanup_free_ char *path = str_printf(CALL_FOLDER "/%s", p->calls.items[i]);
                if (!path)
                        return -ENOMEM;
                if ((r = plan_add_content(p, OP_FILE, path, f->call_program, f->call_size, 0555, 0)) == 0)
                        p->ops[p->n_ops - 1].flags |= PLAN_EXEC;
        }
        return r < 0 ? r : plan_add(p, OP_SOCKET, CALL_SOCKET, NULL, 0, 0666, 0);
}

/* Listening sockets that a bind would show: covered. */
int view_add_socket_masks(struct plan *p, const struct view_facts *f) {
        for (size_t i = 0; i < f->sockets.n; i++) {
                const char *s = f->sockets.items[i];
                const struct plan_op *over = NULL;
                for (size_t k = 0; k < p->n_ops; k++) {
                        const struct plan_op *op = &p->ops[k];
                        if ((op->kind == OP_BIND || op->kind == OP_OVERLAY) ? path_beneath(s, op->source)
                            : op->kind == OP_SCRATCH && path_beneath(s, op->target))
                                over = op; /* the last one attached is what is seen */
                }
                if (over && over->kind == OP_BIND) {
                        _cleanup_free_ char *t = str_printf("%s%s", over->target, s + strlen(over->source));
                        int r = t ? plan_add(p, OP_MASK, t, NULL, 0, 0, 0) : -ENOMEM;
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

int view_plan(struct plan *p, const struct policy *policy, const struct view_facts *f, struct error *e) {
        int r;

        if (p->image)
                return view_plan_image(p, f, e);
        p->n_layers = 1;
        if ((r = add_root(p, f)) < 0 || (r = view_add_scratch(p, "/tmp", 01777)) < 0 ||
            (r = view_add_scratch(p, "/var/tmp", 01777)) < 0 || (r = view_add_scratch(p, "/run", 0755)) < 0 ||
            (r = view_add_dev(p, f)) < 0 || (r = view_add_kernel(p, f)) < 0 || (r = add_trust_elsewhere(p, f)) < 0)
                return error_errno(e, r, "the view cannot be planned");
        _cleanup_free_ char *runtime = str_printf("/run/user/%u", (unsigned)p->ids.inner_uid);
        if (!runtime)
                return error_set(e, ENOMEM, "out of memory");
        if ((r = plan_add(p, OP_DIR, runtime, NULL, 0, 0700, 0)) < 0 ||
            (r = plan_add(p, OP_DIR, "/run/lock", NULL, 0, 01777, 0)) < 0)
                return error_errno(e, r, "the view cannot be planned");
        bool home_first = !p->workspace || !path_beneath(p->home, p->workspace);
        if (home_first && !streq(p->home, "/") && (r = view_add_scratch(p, p->home, 0700)) < 0)
                return error_errno(e, r, "the view cannot be planned");
        if ((r = view_add_read(p, f)) < 0 || (p->workspace && (r = view_add_workspace(p, f)) < 0) ||
            (r = view_add_volumes(p, f)) < 0 || (r = view_add_calls(p, f)) < 0)
                return error_errno(e, r, "the view cannot be planned");
        for (size_t i = 0; i < f->hidden_elsewhere.n; i++)
                if ((r = plan_add(p, OP_MASK, f->hidden_elsewhere.items[i], NULL, 0, 0, 0)) < 0)
                        return error_errno(e, r, "the view cannot be planned");
        if ((r = view_add_socket_masks(p, f)) < 0)
                return error_errno(e, r, "the view cannot be planned");
        return 0;
}

void view_facts_clear(struct view_facts *f) {
        for (size_t i = 0; i < f->n_root; i++) {
                free(f->root[i].name);
                free(f->root[i].link);
        }
        free(f->root);
        for (size_t i = 0; i < f->n_hidden; i++) {
                free(f->hidden[i].root);
                free(f->hidden[i].path);
                free(f->hidden[i].modes);
        }
        free(f->hidden);
        strlist_clear(&f->var);
        strlist_clear(&f->devices);
        strlist_clear(&f->mounts);
        strlist_clear(&f->sockets);
        strlist_clear(&f->read);
        strlist_clear(&f->read_files);
        strlist_clear(&f->links);
        strlist_clear(&f->own_dirs);
        strlist_clear(&f->hidden_elsewhere);
        strlist_clear(&f->layers);
        strlist_clear(&f->places);
        strlist_clear(&f->place_files);
        for (size_t i = 0; i < f->n_volumes; i++) {
                free(f->volumes[i].host);
                free(f->volumes[i].inside);
        }
        free(f->volumes);
        for (size_t i = 0; i < f->n_files; i++) {
                free(f->files[i].path);
                free(f->files[i].text);
        }
        free(f->files);
        for (size_t i = 0; i < f->n_trust; i++) {
                free(f->trust[i].path);
                free(f->trust[i].data);
        }
        free(f->trust);
        free(f->call_program);
        free(f->passwd);
        free(f->group);
        *f = (struct view_facts){};
}
