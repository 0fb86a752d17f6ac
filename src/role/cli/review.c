/* `belljar diff` and `belljar discard` as commands; the work is in diff.c and svc/. */
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/commands.h"
#include "role/cli/diff.h"
#include "role/cli/layers.h"
#include "role/cli/options.h"
#include "svc/apply.h"
#include "svc/ids.h"
#include "svc/state-read.h"

struct review_options {
        enum diff_form form;
        bool last;
};

static int on_option(int id, const char *arg, void *data, struct error *e) {
        struct review_options *o = data;
        (void)arg;
        switch (id) {
        case OPT_NAME_ONLY: o->form = DIFF_NAME_ONLY; return 0;
        case OPT_STAT: o->form = DIFF_STAT; return 0;
        case OPT_JSON: o->form = DIFF_JSON; return 0;
        case OPT_LAST: o->last = true; return 0;
        default: return error_set(e, EINVAL, "unexpected option");
        }
}

static int open_operand(const char *name, int argc, char **argv, struct review_options *o, struct state *ret,
                        json_t **ret_plan, struct error *e) {
        int first, r;

        if ((r = options_parse(command_find(name), argc, argv, on_option, o, &first, e)) < 0)
                return r;
        if (argc - first > 1)
                return error_set(e, EINVAL, "belljar %s takes one sandbox", name);
        if ((r = find_sandbox(first < argc ? argv[first] : NULL, o->last, ret, e)) < 0)
                return r;
        r = state_read(ret, "plan.json", ret_plan);
        return r < 0 ? error_errno(e, r, "the plan of %s cannot be read", ret->id) : 0;
}

int command_diff(int argc, char **argv) {
        _cleanup_state_ struct state s = STATE_NONE;
        struct review_options o = {.form = DIFF_UNIFIED};
        json_t *plan = NULL;
        struct error e = {};
        int r = open_operand("diff", argc, argv, &o, &s, &plan, &e);

        if (r == 0) {
                _cleanup_free_ char *workspace = layers_workspace(plan);
                struct diff_options d = {.form = o.form, .tty = isatty(1), .ids = layers_ids(plan)};
                if (!workspace)
                        r = error_set(&e, ENOENT, "the sandbox %s had no workspace", s.id);
                else if (!json_is_true(json_object_get(json_object_get(plan, "user"), "subids")) || (r = ids_continue(&e)) == 0)
                        r = o.form == DIFF_JSON ? diff_json(s.dir, workspace, &d, stdout, &e)
                                                : diff_print(s.dir, workspace, &d, stdout, &e);
        }
        json_decref(plan);
        if (r < 0)
                error_print(&e);
        return r < 0 ? EXIT_BELLJAR : 0;
}

/* What a killed apply has begun in the workspace is ended before its record goes. */
static int end_apply(const struct state *s, const json_t *plan, struct error *e) {
        _cleanup_free_ char *workspace = layers_workspace(plan);
        _cleanup_fd_ int root = workspace ? open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC) : -EBADF;
        _cleanup_apply_ struct apply a = APPLY_NONE;

        if (root < 0)
                return 0;
        a.root = root;
        int r = apply_open(&a, s->dir, false, e);
        return r == -ENOENT ? 0 : r;
}

int command_discard(int argc, char **argv) {
        _cleanup_state_ struct state s = STATE_NONE;
        struct review_options o = {};
        json_t *plan = NULL;
        struct error e = {};
        uint64_t removed = 0;
        int r = open_operand("discard", argc, argv, &o, &s, &plan, &e);

        if (r == 0 && state_alive(&s)) {
                error_set(&e, EBUSY, "the sandbox %s is running", s.id);
                r = error_fix(&e, "belljar kill %s first", s.id);
        }
        if (r == 0 && json_is_true(json_object_get(json_object_get(plan, "user"), "subids")))
                r = ids_continue(&e);
        if (r == 0)
                r = end_apply(&s, plan, &e);
        json_decref(plan);
        if (r == 0)
                r = diff_discard(s.dir, &removed, &e);
        if (r < 0) {
                error_print(&e);
                return EXIT_BELLJAR;
        }
        state_release(&s, false, false);
        printf("%s\n", s.id);
        return 0;
}
