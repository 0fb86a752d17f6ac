#include <sys/stat.h>

#include "base/use.h"
#include "model/plan.h"
#include "tap.h"

/* A host as most are; each test changes what it is about. */
static struct plan *make(struct view_facts *f, const char *workspace, enum workspace_mode mode) {
        static const struct { const char *name, *link; } root[] = {
                {"bin", "usr/bin"}, {"usr", NULL}, {"etc", NULL}, {"opt", NULL}, {"home", NULL}, {"srv", NULL}, {"data", NULL},
                {"proc", NULL}, {"var", NULL},
        };
        struct plan *p = plan_new();
        p->id = strdup("000000000000");
        p->home = strdup("/home/u");
        p->hostname = strdup("belljar");
        p->cwd = strdup("/tmp");
        p->workspace = workspace ? strdup(workspace) : NULL;
        p->mode = mode;
        p->ids.inner_uid = 1000;
        f->root = calloc(ELEMENTSOF(root), sizeof(*f->root));
        for (size_t i = 0; i < ELEMENTSOF(root); i++)
                f->root[f->n_root++] = (struct view_root_entry){strdup(root[i].name), root[i].link ? strdup(root[i].link) : NULL, false};
        static const char *const var[] = {"lib", "cache", "log", "spool", "run", "tmp"};
        for (size_t i = 0; i < ELEMENTSOF(var); i++)
                check(strlist_add(&f->var, var[i]) == 0);
        check(strlist_add(&f->devices, "null") == 0);
        check(strlist_add(&f->mounts, "/") == 0 && strlist_add(&f->mounts, "/proc") == 0);
        f->sysfs = f->proc = true;
        return p;
}

static const struct plan_op *find(const struct plan *p, enum plan_op_kind kind, const char *target) {
        for (size_t i = 0; i < p->n_ops; i++)
                if (p->ops[i].kind == kind && streq(p->ops[i].target, target))
                        return &p->ops[i];
        return NULL;
}

static size_t place(const struct plan *p, const struct plan_op *op) { return (size_t)(op - p->ops); }

static void run(struct plan *p, struct view_facts *f) {
        struct error e = {};
        struct policy *policy = policy_new();
        check(view_plan(p, policy, f, &e) == 0);
        policy_free(policy);
}

TEST(nothing_of_the_user) {
        struct view_facts f = {};
        struct plan *p = make(&f, "/srv2/p", WORKSPACE_COW);
        run(p, &f);
        for (size_t i = 0; i < p->n_ops; i++) {
                const struct plan_op *op = &p->ops[i];
                if (op->kind != OP_BIND && op->kind != OP_OVERLAY)
                        continue;
                check(!path_beneath(op->source, "/home") && !path_beneath(op->source, "/srv") && !path_beneath(op->source, "/data") &&
                      !path_beneath(op->source, "/proc") && !streq(op->source, "/"));
                /* Whatever is shown is read-only but for the workspace and devices. */
                check((op->flags & (PLAN_READONLY | PLAN_DEVICE)) || streq(op->target, "/srv2/p"));
        }
        check(find(p, OP_SCRATCH, "/home/u") && find(p, OP_SCRATCH, "/tmp") && find(p, OP_SCRATCH, "/run"));
        check(find(p, OP_PROC, "/proc") && find(p, OP_READONLY, "/proc/sys"));
        static const char *const covered[] = {"/proc/kcore", "/proc/kallsyms", "/proc/kmsg", "/proc/keys", "/proc/sysrq-trigger", "/sys/kernel"};
        for (size_t i = 0; i < ELEMENTSOF(covered); i++) {
                const struct plan_op *m = find(p, OP_MASK, covered[i]);
                check(m && place(p, m) > place(p, find(p, OP_PROC, "/proc")) && place(p, m) > place(p, find(p, OP_SYSFS, "/sys")));
        }
        plan_free(p);
        view_facts_clear(&f);
}

TEST(etc_and_var_hide_what_is_private) {
        struct view_facts f = {};
        struct plan *p = make(&f, NULL, WORKSPACE_COW);
        run(p, &f);
        const struct plan_op *etc = find(p, OP_OVERLAY, "/etc"), *var = find(p, OP_OVERLAY, "/var");
        check(etc && var && etc->layer != var->layer && etc->layer > 0 && var->layer > 0);
        check(find(p, OP_LAYER_WHITEOUT, "shadow")->layer == etc->layer);
        check(find(p, OP_LAYER_WHITEOUT, "log")->layer == var->layer && find(p, OP_LAYER_WHITEOUT, "spool")->layer == var->layer);
        check(!find(p, OP_LAYER_WHITEOUT, "lib") && !find(p, OP_LAYER_WHITEOUT, "tmp"));
        check(place(p, find(p, OP_LAYER_WHITEOUT, "shadow")) < place(p, etc)); /* a layer is whole before it is mounted */
        plan_free(p);
        view_facts_clear(&f);
}

TEST(mounts_beneath_are_bound) {
        struct view_facts f = {};
        struct plan *p = make(&f, NULL, WORKSPACE_COW);
        check(strlist_add(&f.mounts, "/etc/resolv.conf") == 0 && strlist_add(&f.mounts, "/var/lib/docker") == 0 &&
              strlist_add(&f.mounts, "/opt/x") == 0);
        run(p, &f);
        const struct plan_op *etc = find(p, OP_BIND, "/etc"), *lib = find(p, OP_BIND, "/var/lib"), *opt = find(p, OP_BIND, "/opt");
        check(etc && lib && opt && etc->flags & PLAN_RECURSIVE && lib->flags & PLAN_READONLY);
        check(find(p, OP_MASK, "/etc/shadow"));
        check(!find(p, OP_OVERLAY, "/etc") && !find(p, OP_OVERLAY, "/var") && !find(p, OP_BIND, "/var"));
        plan_free(p);
        view_facts_clear(&f);
}

TEST(workspace_modes) {
        static const struct { enum workspace_mode mode; enum plan_op_kind kind; unsigned set, clear; unsigned use; } t[] = {
                {WORKSPACE_COW, OP_OVERLAY, PLAN_UPPER, PLAN_READONLY, USE_WRITE | USE_CHANGE},
                {WORKSPACE_RO, OP_OVERLAY, PLAN_READONLY, PLAN_UPPER, 0},
                {WORKSPACE_RW, OP_BIND, 0, PLAN_READONLY | PLAN_UPPER | PLAN_RECURSIVE, USE_WRITE | USE_CHANGE},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                struct view_facts f = {};
                struct plan *p = make(&f, "/srv2/p", t[i].mode);
                run(p, &f);
                const struct plan_op *ws = find(p, t[i].kind, "/srv2/p");
                check(ws && (ws->flags & t[i].set) == t[i].set && !(ws->flags & t[i].clear));
                bool ruled = false;
                for (size_t k = 0; k < p->n_rules; k++)
                        if (streq(p->rules[k].path, "/srv2/p")) {
                                ruled = true;
                                check((p->rules[k].use & (USE_WRITE | USE_CHANGE)) == t[i].use);
                        }
                check(ruled);
                plan_free(p);
                view_facts_clear(&f);
        }
}

TEST(hidden_layer) {
        struct view_facts f = {};
        struct plan *p = make(&f, "/srv2/p", WORKSPACE_COW);
        f.hidden = calloc(2, sizeof(*f.hidden));
        f.n_hidden = 2;
        f.hidden[0] = (struct view_hidden){strdup("/srv2/p"), strdup("a/b/.env"), calloc(3, sizeof(mode_t))};
        f.hidden[0].modes[0] = 0750;
        f.hidden[0].modes[1] = 0700;
        f.hidden[1] = (struct view_hidden){strdup("/srv2/p"), strdup("a/key"), calloc(2, sizeof(mode_t))};
        f.hidden[1].modes[0] = 0750;
        run(p, &f);
        const struct plan_op *ws = find(p, OP_OVERLAY, "/srv2/p"), *a = find(p, OP_LAYER_DIR, "a"), *b = find(p, OP_LAYER_DIR, "a/b");
        check(ws->layer > 0 && a->layer == ws->layer && a->mode == 0750 && b->mode == 0700 && place(p, a) < place(p, b));
        check(place(p, b) < place(p, find(p, OP_LAYER_WHITEOUT, "a/b/.env")));
        check(find(p, OP_LAYER_WHITEOUT, "a/key")->layer == ws->layer);
        size_t n = 0;
        for (size_t i = 0; i < p->n_ops; i++)
                n += p->ops[i].kind == OP_LAYER_DIR && streq(p->ops[i].target, "a");
        check(n == 1);
        plan_free(p);
        view_facts_clear(&f);
}

TEST(places_in_the_workspace) {
        for (int mode = 0; mode < 2; mode++) {
                struct view_facts f = {};
                struct plan *p = make(&f, "/srv2/p", mode ? WORKSPACE_RO : WORKSPACE_COW);
                f.hidden = calloc(1, sizeof(*f.hidden));
                f.n_hidden = 1;
                f.hidden[0] = (struct view_hidden){strdup("/srv2/p"), strdup("a/b/.env"), calloc(3, sizeof(mode_t))};
                f.hidden[0].modes[0] = 0750;
                check(strlist_add(&f.places, "a/new") == 0 && strlist_add(&f.places, "x/y") == 0 && strlist_add(&f.places, "a/b/.env/z") == 0);
                check(strlist_add(&f.place_files, "x/file") == 0);
                run(p, &f);
                const struct plan_op *ws = find(p, OP_OVERLAY, "/srv2/p"), *a = find(p, OP_LAYER_DIR, "a"), *new = find(p, OP_LAYER_DIR, "a/new");
                check(ws && a->mode == 0750);
                if (mode) { /* there no layer of changes lies above */
                        check(!new && !find(p, OP_LAYER_FILE, "x/file"));
                } else {
                        check(new && new->layer == ws->layer && place(p, a) < place(p, new) && place(p, new) < place(p, ws));
                        check(find(p, OP_LAYER_DIR, "x") && find(p, OP_LAYER_DIR, "x/y")->layer == ws->layer);
                        check(find(p, OP_LAYER_FILE, "x/file")->layer == ws->layer && !*find(p, OP_LAYER_FILE, "x/file")->source);
                        check(!find(p, OP_LAYER_DIR, "a/b/.env") && !find(p, OP_LAYER_DIR, "a/b/.env/z")); /* a whiteout is there */
                }
                plan_free(p);
                view_facts_clear(&f);
        }
}

TEST(sockets_are_covered_where_bound) {
        struct view_facts f = {};
        struct plan *p = make(&f, "/srv2/p", WORKSPACE_RW);
        static const char *const s[] = {"/srv2/p/a.sock", "/usr/lib/x.sock", "/var/lib/y.sock", "/run/z.sock", "/home/u/h.sock"};
        for (size_t i = 0; i < ELEMENTSOF(s); i++)
                check(strlist_add(&f.sockets, s[i]) == 0);
        run(p, &f);
        check(find(p, OP_MASK, "/srv2/p/a.sock") && find(p, OP_MASK, "/usr/lib/x.sock"));
        check(!find(p, OP_MASK, "/var/lib/y.sock")); /* an overlay passes nothing */
        check(!find(p, OP_MASK, "/run/z.sock") && !find(p, OP_MASK, "/home/u/h.sock")); /* not in view */
        plan_free(p);
        view_facts_clear(&f);
}

TEST(read_before_workspace) {
        struct view_facts f = {};
        struct plan *p = make(&f, "/srv2/p", WORKSPACE_COW);
        check(strlist_add(&f.read, "/home/u/.config/git") == 0 && strlist_add(&f.read, "/srv2") == 0);
        check(strlist_add(&f.read, "/etc/x") == 0 && strlist_add(&f.read_files, "/etc/x") == 0);
        run(p, &f);
        check(place(p, find(p, OP_OVERLAY, "/srv2")) < place(p, find(p, OP_OVERLAY, "/srv2/p")));
        check(place(p, find(p, OP_SCRATCH, "/home/u")) < place(p, find(p, OP_OVERLAY, "/home/u/.config/git")));
        check(find(p, OP_BIND, "/etc/x")->flags & PLAN_READONLY);
        plan_free(p);
        view_facts_clear(&f);
}

TEST(printed) {
        struct view_facts f = {};
        struct plan *p = make(&f, "/srv2/p\n", WORKSPACE_COW);
        check(strlist_add(&p->env, "TOKEN=hunter2") == 0 && strlist_add(&p->argv, "x") == 0);
        run(p, &f);
        char *s = plan_format(p);
        check(s && strstr(s, "TOKEN") && !strstr(s, "hunter2") && strstr(s, "/srv2/p\\x0a"));
        free(s);
        struct json j = {};
        json_begin(&j, NULL, '{');
        plan_json(p, true, &j);
        json_end(&j, '}');
        s = strbuf_take(&j.text);
        check(s && strstr(s, "\"TOKEN\"") && !strstr(s, "hunter2"));
        free(s);
        plan_free(p);
        view_facts_clear(&f);
}

static void add_volume(struct view_facts *f, const char *host, const char *inside, bool writable, bool file) {
        f->volumes = realloc(f->volumes, (f->n_volumes + 1) * sizeof(*f->volumes));
        f->volumes[f->n_volumes++] = (struct view_volume){strdup(host), strdup(inside), writable, file};
}

static struct plan *make_image(struct view_facts *f, enum workspace_mode mode) {
        struct plan *p = make(f, "/srv2/p", mode);
        p->image = strdup("debian:12");
        p->inside = strdup("/workspace");
        check(strlist_add(&f->layers, "../../images/layers/top/tree") == 0);
        check(strlist_add(&f->layers, "../../images/layers/base/tree") == 0);
        return p;
}

TEST(image_shows_nothing_of_the_host) {
        struct view_facts f = {};
        struct plan *p = make_image(&f, WORKSPACE_COW);
        run(p, &f);
        for (size_t i = 0; i < p->n_ops; i++) {
                const struct plan_op *op = &p->ops[i];
                if (op->kind != OP_BIND && op->kind != OP_OVERLAY)
                        continue;
                check((op->flags & PLAN_DEVICE) || streq(op->source, "/srv2/p"));
        }
        const struct plan_op *image = find(p, OP_IMAGE, "/"), *ws = find(p, OP_OVERLAY, "/workspace");
        check(image && ws && (ws->flags & PLAN_UPPER) && streq(ws->source, "/srv2/p") && place(p, image) < place(p, ws));
        /* The topmost layer comes first, and all come before they are put together; what stands on them comes after. */
        const struct plan_op *top = find(p, OP_IMAGE_LAYER, "/");
        check(top && streq(top->source, "../../images/layers/top/tree") && streq(top[1].source, "../../images/layers/base/tree") &&
              (top->flags & PLAN_STORE));
        check(place(p, top + 1) < place(p, image) && place(p, image) < place(p, find(p, OP_PROC, "/proc")));
        check(find(p, OP_READONLY, "/proc/sys") && find(p, OP_MASK, "/proc/kcore") && find(p, OP_SCRATCH, "/dev"));
        check(find(p, OP_LAYER_FILE, "etc/hosts")->layer == image->layer);
        check(!find(p, OP_LAYER_FILE, "etc/apt/apt.conf.d/00belljar"));
        check(!plan_writes_through(p));
        plan_free(p);
        view_facts_clear(&f);
}

TEST(image_with_one_id) {
        struct view_facts f = {};
        struct plan *p = make_image(&f, WORKSPACE_COW);
        p->ids.single = true;
        run(p, &f);
        check(find(p, OP_LAYER_FILE, "etc/apt/apt.conf.d/00belljar"));
        plan_free(p);
        view_facts_clear(&f);
}

TEST(volumes) {
        struct view_facts f = {}, g = {};
        struct plan *p = make_image(&f, WORKSPACE_RO);
        add_volume(&f, "/srv2/in", "/in", false, false);
        add_volume(&f, "/srv2/in.txt", "/in.txt", false, true);
        check(strlist_add(&f.sockets, "/srv2/in/s") == 0);
        run(p, &f);
        const struct plan_op *in = find(p, OP_OVERLAY, "/in");
        check(in && (in->flags & PLAN_READONLY) && streq(in->source, "/srv2/in"));
        const struct plan_op *file = find(p, OP_BIND, "/in.txt");
        check(file && (file->flags & PLAN_READONLY));
        check(!plan_writes_through(p));
        check(!find(p, OP_MASK, "/in/s")); /* an overlay passes no connection */
        plan_free(p);

        p = make(&g, "/srv2/p", WORKSPACE_COW); /* the host's own root has them as well */
        add_volume(&g, "/srv2/out", "/data/out", true, false);
        check(strlist_add(&g.sockets, "/srv2/out/s") == 0);
        run(p, &g);
        const struct plan_op *out = find(p, OP_BIND, "/data/out");
        check(out && !(out->flags & PLAN_READONLY) && (out->flags & PLAN_VOLUME));
        check(plan_writes_through(p));
        check(find(p, OP_MASK, "/data/out/s")); /* by its place inside */
        plan_free(p);
        view_facts_clear(&f);
        view_facts_clear(&g);
}

TAP_MAIN
