/* `belljar ps`, `rm`, what stop.h has, and finding the sandbox that a command means. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/commands.h"
#include "role/cli/control-call.h"
#include "role/cli/options.h"
#include "role/cli/stop.h"
#include "svc/state-read.h"
#include "sys/process.h"

int find_sandbox(const char *which, bool last, struct state *ret, struct error *e) {
        _cleanup_free_ char *cwd = getcwd(NULL, 0);
        _cleanup_fd_ int root = -EBADF;
        int r = state_open_root(true, &root, e);

        if (r < 0)
                return r;
        r = state_find(root, which, cwd ? cwd : "", last, ret, e);
        if (r == 0 && !which && isatty(2))
                fprintf(stderr, "belljar: %s, the last sandbox%s\n", ret->id, last ? "" : " started here");
        return r;
}

struct list_options {
        bool all, json, force, last;
        const char *hold;
};

static int on_option(int id, const char *arg, void *data, struct error *e) {
        struct list_options *o = data;
        switch (id) {
        case OPT_HOLD: o->hold = arg; return 0;
        case OPT_ALL: o->all = true; return 0;
        case OPT_JSON: o->json = true; return 0;
        case OPT_FORCE: o->force = true; return 0;
        case OPT_LAST: o->last = true; return 0;
        default: return error_set(e, EINVAL, "unexpected option");
        }
}

static const char *text_of(json_t *j, const char *key) {
        const char *s = json_string_value(json_object_get(j, key));
        return s ? s : "";
}

/* One line, or one object. */
static json_t *describe(int root, const char *id, bool *ret_alive) {
        _cleanup_state_ struct state s = STATE_NONE;
        json_t *plan = NULL, *status = NULL, *out;
        struct error e = {};

        if (state_find(root, id, NULL, true, &s, &e) < 0)
                return NULL;
        *ret_alive = state_alive(&s);
        if (!*ret_alive && state_reclaim(&s) < 0)
                return NULL;
        if (state_read(&s, "plan.json", &plan) < 0) {
                if (!*ret_alive && !state_changed(&s))
                        return NULL; /* gone with the words above, or an empty one kept for the next run */
                plan = json_object();
        }
        status = state_status(&s);
        _cleanup_strbuf_ struct strbuf cmd = {};
        size_t i;
        json_t *a;
        json_array_foreach(json_object_get(plan, "argv"), i, a) {
                strbuf_printf(&cmd, "%s%s", i ? " " : "", json_string_value(a));
        }
        strbuf_puts(&cmd, "");
        json_t *stop = NULL;
        if (*ret_alive && state_read(&s, "stop.json", &stop) < 0)
                stop = NULL;
        const char *state = !*ret_alive ? "ended" : json_array_size(json_object_get(stop, "holds")) ? "held"
                            : json_is_true(json_object_get(stop, "paused")) ? "paused" : json_is_true(json_object_get(stop, "cut")) ? "cut" : "running";
        out = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s}", "id", s.id, "parent", text_of(plan, "parent"), "name", text_of(plan, "name"), "state",
                        state, "end", text_of(status, "end"), "workspace", text_of(plan, "workspace"),
                        "mode", text_of(plan, "mode"), "changes", state_changed(&s), "command", cmd.data ? cmd.data : "");
        json_object_set(out, "holds", json_object_get(stop, "holds") ?: json_null());
        json_decref(stop);
        json_decref(plan);
        json_decref(status);
        return out;
}

int command_ps(int argc, char **argv) {
        struct list_options o = {};
        _cleanup_strlist_ struct strlist ids = {};
        _cleanup_fd_ int root = -EBADF;
        struct error e = {};
        int first, r;

        if (options_parse(command_find("ps"), argc, argv, on_option, &o, &first, &e) < 0 ||
            state_open_root(true, &root, &e) < 0)
                goto fail;
        if ((r = state_list(root, &ids)) < 0) {
                error_errno(&e, r, "the state directory cannot be read");
                goto fail;
        }
        json_t *list = json_array();
        for (size_t i = 0; i < ids.n; i++) {
                bool alive = false;
                json_t *d = describe(root, ids.items[i], &alive);
                if (d && (alive || o.all))
                        json_array_append_new(list, d);
                else
                        json_decref(d);
        }
        if (o.json) {
                json_dumpf(list, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
                printf("\n");
        } else {
                size_t i;
                json_t *d;
                printf("%-13s %-8s %-9s %-8s %s\n", "ID", "STATE", "CHANGES", "NAME", "COMMAND");
                json_array_foreach(list, i, d) {
                        char cmd[128];
                        str_visible(cmd, sizeof(cmd), text_of(d, "command"));
                        printf("%-13s %-8s %-9s %-8s %s%s%s%s\n", text_of(d, "id"), text_of(d, "state"),
                               json_is_true(json_object_get(d, "changes")) ? "kept" : "-", text_of(d, "name")[0] ? text_of(d, "name") : "-", cmd,
                               text_of(d, "parent")[0] ? " (of " : "", text_of(d, "parent"), text_of(d, "parent")[0] ? ")" : "");
                        size_t k;
                        json_t *hold;
                        json_array_foreach(json_object_get(d, "holds"), k, hold)
                                printf("  held: belljar release --hold %s\n", json_string_value(hold));
                }
        }
        json_decref(list);
        return 0;
fail:
        error_print(&e);
        return EXIT_BELLJAR;
}

/* Asks the supervisor to end the run, and waits until it has. */
static int end_running(struct state *s, struct error *e) {
        const struct control_request q = {.type = CONTROL_KILL};
        struct control_answer answer;
        int r = control_ask(s, &q, NULL, 0, &answer, e);

        if (r < 0 && r != -ESRCH)
                return r;
        for (int i = 0; i < 2000 && state_alive(s); i++)
                usleep(1000);
        return state_alive(s) ? error_set(e, ETIMEDOUT, "the sandbox %s does not end", s->id) : 0;
}

static int for_each(const char *name, int argc, char **argv,
                    int (*fn)(struct state *s, const struct list_options *o, struct error *e)) {
        struct list_options o = {};
        struct error e = {};
        int first, status = 0;

        if (options_parse(command_find(name), argc, argv, on_option, &o, &first, &e) < 0) {
                error_print(&e);
                return EXIT_BELLJAR;
        }
        int n = argc - first;
        for (int i = 0; i < (n ? n : 1); i++) {
                _cleanup_state_ struct state s = STATE_NONE;
                if (find_sandbox(n ? argv[first + i] : NULL, o.last, &s, &e) < 0 || fn(&s, &o, &e) < 0) {
                        error_print(&e);
                        status = EXIT_BELLJAR;
                } else
                        printf("%s\n", s.id);
        }
        return status;
}

static int remove_one(struct state *s, const struct list_options *o, struct error *e) {
        if (o->force && state_alive(s)) {
                int r = end_running(s, e);
                if (r < 0 && e->errnum != ESRCH)
                        return r;
        }
        if (state_alive(s)) {
                error_set(e, EBUSY, "the sandbox %s is running", s->id);
                return error_fix(e, "belljar kill %s, or belljar rm --force %s", s->id, s->id);
        }
        int r = state_reclaim(s);
        return r < 0 ? error_errno(e, r, "the sandbox %s cannot be removed", s->id) : state_remove(s, e);
}

int command_rm(int argc, char **argv) { return for_each("rm", argc, argv, remove_one); }

static int find_running(struct state **ret, size_t *ret_n, struct error *e) {
        _cleanup_strlist_ struct strlist ids = {};
        _cleanup_fd_ int root = -EBADF;
        int r = state_open_root(true, &root, e);

        if (r == 0 && (r = state_list_at_once(root, &ids)) < 0)
                error_errno(e, r, "the state directory cannot be read");
        if (r == 0 && !(*ret = calloc(ids.n + 1, sizeof(**ret))))
                r = error_set(e, ENOMEM, "out of memory");
        for (size_t i = 0; r == 0 && i < ids.n; i++)
                if (state_find(root, ids.items[i], NULL, true, &(*ret)[*ret_n], e) == 0)
                        (*ret_n)++;
        return r;
}

int command_stop(int argc, char **argv) {
        struct list_options o = {};
        struct error e = {};
        struct state *of = NULL;
        char which[64];
        size_t n = 0;
        int first, r = options_parse(command_find(argv[0]), argc, argv, on_option, &o, &first, &e);
        const uint32_t verb = stop_verb(command_find(argv[0])->name);

        if (r == 0 && verb == CONTROL_RELEASE && (!o.hold || first < argc || !stop_sandbox_of(o.hold, which, sizeof(which)))) {
                r = error_set(&e, EINVAL, "belljar release takes --hold ID, and nothing else");
                error_fix(&e, "belljar ps shows the holds of each sandbox");
        }
        if (r == 0 && o.all && first < argc)
                r = error_set(&e, EINVAL, "--all, or sandboxes by name");
        if (r == 0 && o.all)
                r = find_running(&of, &n, &e);
        else if (r == 0 && !(of = calloc((size_t)argc + 1, sizeof(*of))))
                r = error_set(&e, ENOMEM, "out of memory");
        for (int i = first; r == 0 && !o.all && (i < argc || i == first); i++) {
                of[n] = STATE_NONE;
                r = find_sandbox(o.hold ? which : i < argc ? argv[i] : NULL, o.last, &of[n], &e);
                n += r == 0;
        }
        const struct state **p = r == 0 ? calloc(n + 1, sizeof(*p)) : NULL;
        for (size_t i = 0; p && i < n; i++)
                p[i] = &of[i];
        if (r < 0)
                error_print(&e);
        else
                r = p ? stop_ask(verb, p, n, o.hold, o.all) : -ENOMEM;
        free(p);
        for (size_t i = 0; i < n; i++)
                state_close(&of[i]);
        free(of);
        return r < 0 ? EXIT_BELLJAR : 0;
}
