/* `belljar apply`: which changes are meant, which of them want a yes of their own, and their order. svc/apply.h takes them over. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/guarded.h"
#include "proto/quote.h"
#include "role/cli/apply.h"
#include "role/cli/commands.h"
#include "role/cli/options.h"
#include "svc/ids.h"
#include "svc/state-read.h"

enum { SHOWN_MAX = 100 }; /* guarded changes that are shown whole */

static int no_memory(struct error *e) { return error_set(e, ENOMEM, "out of memory"); }

static int on_option(int id, const char *arg, void *data, struct error *e) {
        struct apply_options *o = data;

        switch (id) {
        case OPT_LAST: o->last = true; return 0;
        case OPT_TAKE_ALL: o->all = true; return 0;
        case OPT_ASK: o->ask = true; return 0;
        case OPT_UNDO: o->undo = true; return 0;
        case OPT_XATTRS: o->xattrs = true; return 0;
        case OPT_YES_TO: {
                const char *hash = strrchr(arg, '=');
                if (!hash || hash == arg || strlen(hash + 1) != APPLY_DIGEST - 1) {
                        error_set(e, EINVAL, "--yes-to takes PATH=HASH, with all 64 digits of the hash");
                        return error_fix(e, "belljar apply shows both with each guarded file");
                }
                return strlist_add(&o->yes, arg) < 0 ? no_memory(e) : 0;
        }
        default: return error_set(e, EINVAL, "unexpected option");
        }
}

/* ---- which ---- */

/* As a path within the workspace: what is relative counts from here, where here is in it. */
static int add_path(struct apply_options *o, const char *workspace, const char *arg, struct error *e) {
        _cleanup_free_ char *cwd = getcwd(NULL, 0);
        bool here = cwd && path_beneath(cwd, workspace);
        _cleanup_free_ char *joined = arg[0] == '/' ? strdup(arg) : str_printf("%s/%s", here ? cwd : workspace, arg);
        _cleanup_free_ char *clean = joined ? path_clean(joined) : NULL;

        if (!clean)
                return no_memory(e);
        if (path_has_dotdot(arg) || !path_beneath(clean, workspace)) {
                _cleanup_free_ char *shown = str_visible_dup(arg);
                error_set(e, EINVAL, "%s is not in the workspace", shown ? shown : "the path");
                return error_fix(e, "name files of the workspace, without ..");
        }
        const char *rest = clean + strlen(workspace);
        return strlist_add(&o->paths, rest + strspn(rest, "/")) < 0 ? no_memory(e) : 0;
}

static bool is_git(const char *path) {
        struct guarded g = {};
        return guarded_find(path, NULL, &g) && g.never;
}

static bool beneath(const char *path, const char *dir) {
        const char *rest = str_after(path, dir);
        return !*dir || (rest && (!*rest || *rest == '/'));
}

/* *ret: one flag a change. A path that names none is an error, as a slip of the pen would otherwise look like success. */
static int select_changes(struct applying *x, bool **ret, struct error *e) {
        const struct changes *c = &x->changes;
        const struct apply_options *o = x->o;
        _cleanup_free_ bool *selected = calloc(c->n + 1, sizeof(*selected));

        if (!selected)
                return no_memory(e);
        for (size_t i = 0; i < c->n; i++)
                selected[i] = (o->all || (o->ask && o->paths.n == 0)) && !is_git(c->items[i].path);
        for (size_t k = 0; k < o->paths.n; k++) {
                bool any = false;
                for (size_t i = 0; i < c->n; i++)
                        if (beneath(c->items[i].path, o->paths.items[k])) {
                                any = true;
                                /* Of git's own nothing comes out as a file, unless it is asked for: then it is refused by name. */
                                selected[i] = selected[i] || !is_git(c->items[i].path) || is_git(o->paths.items[k]);
                        }
                if (!any) {
                        _cleanup_free_ char *shown = str_visible_dup(o->paths.items[k]);
                        error_set(e, ENOENT, "the run changed nothing at %s", shown ? shown : "a path");
                        return error_fix(e, "belljar diff --name-only lists what it changed");
                }
        }
        *ret = TAKE_PTR(selected);
        return 0;
}

static const char *yes_to(const struct apply_options *o, const char *path) {
        for (size_t i = 0; i < o->yes.n; i++) {
                const char *hash = strrchr(o->yes.items[i], '=');
                size_t n = (size_t)(hash - o->yes.items[i]);
                if (strlen(path) == n && memcmp(path, o->yes.items[i], n) == 0)
                        return hash + 1;
        }
        return NULL;
}

static void say(const char *word, const char *path, const char *why) {
        struct strbuf b = {};

        quote_name(&b, "", path);
        _cleanup_free_ char *name = strbuf_take(&b);
        printf("%-9s %s%s%s\n", word, name ? name : "?", why[0] ? ": " : "", why);
}

/* Without questions: all that is selected, but of guarded ones those whose hash was named. */
static int decide(struct applying *x, const bool *selected, struct error *e) {
        size_t shown = 0;

        for (size_t i = 0; i < x->changes.n; i++) {
                const struct change *c = &x->changes.items[i];
                const char *yes = yes_to(x->o, c->path);
                struct decision *d = &x->decisions[i];
                struct guarded g = {};
                char digest[APPLY_DIGEST];
                if (!selected[i] && !yes)
                        continue;
                /* A directory is nothing that runs; what it holds is looked at by itself. */
                bool guarded = guarded_find(c->path, x->guarded, &g) && (g.never || !S_ISDIR(c->after.mode ?: c->before.mode));
                if (g.never) {
                        say("refused", c->path, "files of git do not come out");
                        x->left++;
                        continue;
                }
                if (!guarded) {
                        d->take = true;
                        continue;
                }
                int r = apply_digest(&x->a, c, digest, d->content, e);
                if (r < 0)
                        return r;
                if (yes && streq(yes, digest)) {
                        d->take = true;
                        d->content_set = S_ISREG(c->after.mode);
                        continue;
                }
                x->left++;
                if (yes)
                        say("refused", c->path, "its content is not the one that was agreed to");
                if (shown++ >= SHOWN_MAX)
                        say("guarded", c->path, "name it to see it");
                else if ((r = apply_show_guarded(x, c, g.runs, e)) < 0)
                        return r;
        }
        return 0;
}

/* ---- doing it ---- */

static bool is_directory(const struct change *c) { return S_ISDIR(c->after.mode); }

/* A file that is taken over takes the new directories above it along. */
static void take_parents(struct applying *x) {
        for (size_t i = 0; i < x->changes.n; i++) {
                struct change *d = &x->changes.items[i];
                if (!is_directory(d) || S_ISDIR(d->before.mode) || x->decisions[i].take || is_git(d->path))
                        continue;
                for (size_t k = i + 1; k < x->changes.n && str_after(x->changes.items[k].path, d->path); k++)
                        if (x->decisions[k].take && x->changes.items[k].after.mode && beneath(x->changes.items[k].path, d->path)) {
                                x->decisions[i].take = true;
                                break;
                        }
        }
}

static void report(struct applying *x, const struct change *c, const struct apply_result *res) {
        static const char *const words[] = {[APPLY_TAKEN] = "taken", [APPLY_NOTHING] = "same", [APPLY_CONFLICT] = "conflict", [APPLY_REFUSED] = "refused"};

        if (res->outcome == APPLY_TAKEN)
                x->taken++;
        else if (res->outcome != APPLY_NOTHING)
                x->left++;
        if (res->outcome != APPLY_NOTHING)
                say(words[res->outcome], c->path, res->why);
}

static int take(struct applying *x, size_t i, enum apply_half half, struct error *e) {
        const struct decision *d = &x->decisions[i];
        struct change c = x->changes.items[i];
        struct apply_result res = {};
        const struct apply_want want = {.content = d->content_set && !d->text_set ? d->content : NULL, .old = d->old_set ? d->old : NULL,
                                        .text = d->text_set ? d->text : NULL, .text_size = d->text_size};

        if (is_git(c.path)) /* whoever decided it */
                return error_set(e, EPERM, "files of git do not come out");
        if (d->keep_mode)
                c.after.mode = S_IFREG | (c.before.mode & 07777);
        if (c.kind == CHANGE_OWNER && c.before.mode == c.after.mode) {
                say("refused", c.path, "who owns a file does not come out");
                x->left++;
                return 0;
        }
        int r = apply_take(&x->a, &c, half, &want, &res, e);
        if (r == 0)
                report(x, &c, &res);
        return r;
}

/* What goes, from the leaves up; what comes, from the root down; then the modes of directories, from the leaves up. */
static int do_all(struct applying *x, struct error *e) {
        const struct changes *c = &x->changes;
        int r = 0;

        take_parents(x);
        for (size_t i = c->n; r == 0 && i-- > 0;)
                if (x->decisions[i].take && (!c->items[i].after.mode || apply_in_halves(&c->items[i])))
                        r = take(x, i, APPLY_OLD, e);
        for (size_t i = 0; r == 0 && i < c->n; i++) {
                const struct change *it = &c->items[i];
                if (x->decisions[i].take && it->after.mode && !(is_directory(it) && S_ISDIR(it->before.mode)))
                        r = take(x, i, apply_in_halves(it) ? APPLY_NEW : APPLY_BOTH, e);
        }
        for (size_t i = c->n; r == 0 && i-- > 0;) {
                struct apply_result res = {};
                if (!x->decisions[i].take || !is_directory(&c->items[i]))
                        continue;
                r = apply_directory_mode(&x->a, &c->items[i], &res, e);
                if (r == 0 && (S_ISDIR(c->items[i].before.mode) || res.outcome != APPLY_TAKEN))
                        report(x, &c->items[i], &res);
        }
        return r;
}

static void on_undone(const char *path, const struct apply_result *res, void *data) {
        struct applying *x = data;

        if (res->outcome == APPLY_CONFLICT || res->outcome == APPLY_REFUSED)
                x->left++;
        else
                x->taken++;
        say(res->outcome == APPLY_CONFLICT ? "conflict" : res->outcome == APPLY_REFUSED ? "refused" : "undone", path, res->why);
}

struct job {
        struct applying x;
        struct layers layers;
        const struct state *state;
};

static int in_child(void *data, struct error *e) {
        struct job *j = data;
        struct applying *x = &j->x;
        _cleanup_free_ bool *selected = NULL;
        int r;

        x->a.mask = umask(0);
        umask(x->a.mask);
        if (x->o->undo) {
                r = apply_open(&x->a, j->state->dir, false, e);
                if (r == -ENOENT && (!e || !e->errnum))
                        return error_set(e, ENOENT, "nothing was taken over from %s", j->state->id);
                if (r == 0)
                        r = apply_undo(&x->a, on_undone, x, e);
        } else {
                r = changes_read(&x->source, &x->changes, e);
                if (r == 0 && !(x->decisions = calloc(x->changes.n + 1, sizeof(*x->decisions))))
                        r = no_memory(e);
                if (r == 0)
                        r = select_changes(x, &selected, e);
                if (r == 0)
                        r = apply_open(&x->a, j->state->dir, true, e);
                if (r == 0)
                        r = x->o->ask ? apply_ask(x, selected, e) : decide(x, selected, e);
                if (r == 0)
                        r = do_all(x, e);
        }
        if (r == 0)
                printf("%llu %s, %llu not\n", (unsigned long long)x->taken, x->o->undo ? "taken back" : "taken over", (unsigned long long)x->left);
        if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
                r = error_errno(e, errno ? errno : EIO, "what was done cannot be written");
        return r < 0 ? r : x->left > 0;
}

/* ---- the command ---- */

/* The first word is a sandbox, or a path of the last one here. */
static int find(struct apply_options *o, int argc, char **argv, int *first, struct state *ret, struct error *e) {
        int r = -ENOENT;

        if (*first < argc && !o->last) {
                r = find_sandbox(argv[*first], false, ret, e);
                if (r == 0) {
                        ++*first;
                        return 0;
                }
                if (r != -ENOENT)
                        return r;
                *e = (struct error){};
        }
        return find_sandbox(NULL, o->last, ret, e);
}

static int check_words(const struct apply_options *o, bool paths, struct error *e) {
        if (o->undo && (o->all || o->ask || o->yes.n || o->xattrs || paths))
                return error_set(e, EINVAL, "--undo takes back all that was taken over, and goes with nothing else");
        if (o->ask && (o->all || o->yes.n))
                return error_set(e, EINVAL, "--interactive asks: it does not go with --all and --yes-to");
        if (!o->undo && !o->ask && !o->all && !paths && !o->yes.n) {
                error_set(e, EINVAL, "which changes?");
                return error_fix(e, "belljar diff shows them; then name paths, or say --interactive or --all");
        }
        return 0;
}

static int prepare(struct job *j, const json_t *plan, const char *workspace, struct error *e) {
        struct stat st;
        json_t *began = json_object_get(plan, "began"), *inode = json_object_get(plan, "workspace_inode");
        int r = layers_open(j->state->dir, workspace, &j->layers, e);

        if (r < 0)
                return r;
        if (!json_is_integer(began) || !json_is_integer(inode))
                return error_set(e, EINVAL, "the run was started by an older belljar, which did not write down when");
        if (fstat(j->layers.lower, &st) < 0 || st.st_ino != (ino_t)json_integer_value(inode)) {
                error_set(e, ESTALE, "another directory stands where the run's workspace was");
                return error_fix(e, "put the one back that it started from");
        }
        j->x.a.root = j->layers.lower;
        j->x.a.upper = j->layers.upper;
        j->x.a.began = apply_began(j->layers.lower, json_integer_value(began), json_integer_value(json_object_get(plan, "clock")));
        j->x.source = (struct changes_source){.upper_fd = j->layers.upper, .lower_fd = j->layers.lower, .hide_fd = -1, .hidden = &j->layers.hidden,
                                              .ids = layers_ids(plan), .expand = true};
        return 0;
}

int command_apply(int argc, char **argv) {
        _cleanup_state_ struct state s = STATE_NONE;
        _cleanup_strlist_ struct strlist guarded = {};
        _cleanup_free_ char *workspace = NULL;
        struct apply_options o = {};
        struct job j = {.x = {.a = APPLY_NONE, .o = &o, .guarded = &guarded}, .layers = LAYERS_NONE, .state = &s};
        json_t *plan = NULL, *item;
        struct error e = {};
        size_t i;
        int first, r = options_parse(command_find("apply"), argc, argv, on_option, &o, &first, &e);

        if (r == 0)
                r = find(&o, argc, argv, &first, &s, &e);
        if (r == 0)
                r = check_words(&o, first < argc, &e);
        if (r == 0 && (r = state_read(&s, "plan.json", &plan)) < 0)
                error_errno(&e, -r, "the plan of %s cannot be read", s.id);
        if (r == 0 && state_alive(&s)) {
                error_set(&e, EBUSY, "the sandbox %s is running", s.id);
                r = error_fix(&e, "wait for its end, or belljar kill %s", s.id);
        }
        if (r == 0 && !(workspace = layers_workspace(plan)))
                r = error_set(&e, ENOENT, "the sandbox %s had no workspace", s.id);
        if (r == 0 && json_is_true(json_object_get(json_object_get(plan, "user"), "subids")))
                r = ids_continue(&e);
        for (int k = first; r == 0 && k < argc; k++)
                r = add_path(&o, workspace, argv[k], &e);
        json_array_foreach(json_object_get(plan, "guarded"), i, item)
                if (r == 0 && (!json_is_string(item) || strlist_add(&guarded, json_string_value(item)) < 0))
                        r = no_memory(&e);
        if (r == 0)
                r = prepare(&j, plan, workspace, &e);
        if (r == 0)
                r = layers_in_child(in_child, &j, &e);
        json_decref(plan);
        layers_clear(&j.layers);
        strlist_clear(&o.yes);
        strlist_clear(&o.paths);
        if (r < 0)
                error_print(&e);
        return r < 0 ? EXIT_BELLJAR : r;
}
