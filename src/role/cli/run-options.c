/* The words of `belljar run`: options over the policy file, see prepare.h. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/options.h"
#include "role/cli/prepare.h"
#include "role/cli/tool.h"
#include "svc/publish.h"

#define ENV_FILE_MAX (1u << 20)

void run_options_clear(struct run_options *o) {
        policy_free(o->policy);
        if (o->grant)
                o->grant->end(o->grant);
        for (size_t i = 0; i < o->n_delegates; i++) {
                free(o->delegates[i].name);
                free(o->delegates[i].file);
                free(o->delegates[i].text);
        }
        free(o->delegates);
        strlist_clear(&o->late);
        *o = (struct run_options){};
}

static int remember(struct run_options *o, int id, const char *arg, struct error *e) {
        int r = strlist_addf(&o->late, "%d %s", id, arg ? arg : "");
        return r < 0 ? error_errno(e, r, "the options cannot be kept") : 0;
}

static int on_option(int id, const char *arg, void *data, struct error *e) {
        struct run_options *o = data;

        switch (id) {
        case OPT_POLICY: o->policy_file = arg; return 0;
        case OPT_NAME:
                if (!arg[0] || strlen(arg) > 63 || strspn(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != strlen(arg))
                        return error_set(e, EINVAL, "--name takes letters, digits, '-', '_' and '.', 63 at most");
                o->name = arg;
                return 0;
        case OPT_PUBLISH:
                if (o->n_publish == PUBLISH_MAX)
                        return error_set(e, E2BIG, "more than %u ports are to be published", PUBLISH_MAX);
                return publish_parse(arg, &o->publish[o->n_publish++], e);
        case OPT_DELEGATE: return tool_delegate(o, arg, e);
        case OPT_PARENT: o->parent = arg; return 0;
        case OPT_NO_WORKSPACE: o->no_workspace = true; return 0;
        case OPT_RM: o->rm = true; return 0;
        case OPT_TTY: o->tty = true; return 0;
        case OPT_NO_TTY: o->no_tty = true; return 0;
        case OPT_INTERACTIVE: return 0;
        case OPT_QUIET: o->quiet = true; return 0;
        case OPT_DRY_RUN: o->dry_run = true; return 0;
        case OPT_JSON: o->json = true; return 0;
        case OPT_EVENTS: o->events_file = arg; return 0;
        default: return remember(o, id, arg, e); /* after the policy file, which it overrides */
        }
}

static int read_env_file(struct policy *p, const char *path, struct error *e) {
        _cleanup_free_ char *text = NULL;
        size_t len;
        int r = file_read(AT_FDCWD, path, ENV_FILE_MAX, &text, &len);

        if (r < 0)
                return error_errno(e, r, "%s cannot be read", path);
        if (strlen(text) != len)
                return error_set(e, EINVAL, "%s holds a NUL byte", path);
        for (char *line = text, *next; line; line = next) {
                next = strchr(line, '\n');
                if (next)
                        *next++ = 0;
                while (*line == ' ' || *line == '\t')
                        line++;
                if (!*line || *line == '#')
                        continue;
                if ((r = policy_add_env(p, line, e)) < 0)
                        return r;
        }
        return 0;
}

/* Paths from the command line are relative to where it was given. */
static int add_read(struct policy *p, const char *path, const char *cwd, const char *home, struct error *e) {
        _cleanup_free_ char *abs = NULL;
        int r;

        if (!path[0])
                return error_set(e, EINVAL, "a path is empty");
        if ((r = host_resolve(path, cwd, home, &abs, e)) < 0)
                return r;
        return policy_add_read(p, abs, e);
}

/* A word without a slash that names no directory here is the name of a workspace that Belljar keeps. */
static int set_workspace(struct policy *p, const char *value, const char *cwd, const char *home, struct error *e) {
        _cleanup_free_ char *abs = NULL;
        struct stat st;
        int r;

        if (value[0] && !strchr(value, '/') && value[0] != '.' && value[0] != '~' && stat(value, &st) < 0)
                return policy_set_workspace_name(p, value, e);
        if ((r = host_resolve(value, cwd, home, &abs, e)) < 0)
                return r;
        return policy_set_workspace_path(p, abs, e);
}

static int resolve_volume(struct volume *v, const char *base, const char *home, struct error *e) {
        char *abs = NULL;
        int r = host_resolve(v->host, base, home, &abs, e);

        if (r < 0)
                return r;
        free(v->host);
        v->host = abs;
        return 0;
}

/* Relative paths of sources begin where the secret was named. */
static int resolve_sources(struct policy *p, const char *base, const char *home, struct error *e) {
        for (size_t i = 0; i < p->network.n_secrets; i++) {
                struct secret *s = &p->network.secrets[i];
                char *abs = NULL;
                if (s->source != SECRET_FILE || s->from[0] == '/')
                        continue;
                int r = host_resolve(s->from, base, home, &abs, e);
                if (r < 0)
                        return r;
                free(s->from);
                s->from = abs;
        }
        return 0;
}

static int add_volume(struct policy *p, const char *value, const char *cwd, const char *home, struct error *e) {
        int r = policy_add_volume(p, value, e);
        return r < 0 ? r : resolve_volume(&p->volumes[p->n_volumes - 1], cwd, home, e);
}

static int apply_late(struct run_options *o, const char *cwd, const char *home, struct error *e) {
        static const struct { int id; const char *name; } limits[] = {
                {OPT_MEMORY, "memory"}, {OPT_CPU, "cpu"}, {OPT_PIDS, "pids"}, {OPT_DISK, "disk"}, {OPT_OUTPUT, "output"},
                {OPT_TIME, "time"}, {OPT_IDLE, "idle"},
        };
        struct policy *p = o->policy;
        int r = 0;

        /* As docker has it, -e wins over --env-file wherever the two stand. */
        for (size_t i = 0; r >= 0 && i < o->late.n; i++) {
                char *value;
                if (strtol(o->late.items[i], &value, 10) == OPT_ENV_FILE)
                        r = read_env_file(p, value + 1, e);
        }
        for (size_t i = 0; r >= 0 && i < o->late.n; i++) {
                char *value;
                int id = (int)strtol(o->late.items[i], &value, 10);
                value++;
                for (size_t k = 0; k < ELEMENTSOF(limits); k++)
                        if (limits[k].id == id)
                                r = policy_set_limit(p, limits[k].name, value, e);
                switch (id) {
                case OPT_WORKSPACE: r = set_workspace(p, value, cwd, home, e); break;
                case OPT_VOLUME: r = add_volume(p, value, cwd, home, e); break;
                case OPT_MODE: r = policy_set_workspace_mode(p, value, e); break;
                case OPT_TIER: r = policy_set_tier(p, value, e); break;
                case OPT_MIN_TIER: r = policy_set_min_tier(p, value, e); break;
                case OPT_TRUST: r = policy_set_trust(p, value, e); break;
                case OPT_TRACE: r = policy_set_trace(p, value, e); break;
                case OPT_NESTING: r = policy_set_nesting(p, value, e); break;
                case OPT_IMAGE: r = policy_set_image(p, value, e); break;
                case OPT_USER: r = policy_set_user(p, value, e); break;
                case OPT_ENTRYPOINT: r = policy_set_entrypoint(p, value, e); break;
                case OPT_WORKDIR: r = policy_set_workdir(p, value, e); break;
                case OPT_READ: r = add_read(p, value, cwd, home, e); break;
                case OPT_HIDE: r = policy_add_hide(p, value, e); break;
                case OPT_USE: r = tool_use(p, value, e); break;
                case OPT_ALLOW: r = policy_add_allow(p, value, e); break;
                case OPT_DENY: r = policy_add_deny(p, value, e); break;
                case OPT_GIVEN: r = policy_add_given(p, value, e); break;
                case OPT_TRIPWIRE: r = policy_set_tripwire(p, value, e); break;
                case OPT_SECRET: r = tool_secret(p, value, e); break;
                case OPT_ENV: r = policy_add_env(p, value, e); break;
                case OPT_WITHOUT: r = policy_add_without(p, value, e); break;
                }
        }
        return r < 0 ? r : resolve_sources(p, cwd, home, e);
}

/* Paths of the file are relative to the file's own directory. */
static int read_policy(struct run_options *o, const char *cwd, const char *home, struct error *e) {
        _cleanup_free_ char *real = NULL, *dir = NULL;
        int r;

        if (!o->policy_file) {
                o->policy = policy_new();
                return o->policy ? 0 : error_set(e, ENOMEM, "out of memory");
        }
        if ((r = tool_policy(o->policy_file, &o->policy, e)) < 0)
                return r;
        if (str_after(o->policy_file, "/proc/self/fd/")) /* it has no place of its own */
                dir = strdup(cwd);
        else {
                if ((r = host_resolve(o->policy_file, cwd, home, &real, e)) < 0)
                        return r;
                dir = strndup(real, (size_t)(strrchr(real, '/') - real));
        }
        if (!dir)
                return error_set(e, ENOMEM, "out of memory");
        struct strlist written = o->policy->read;
        o->policy->read = (struct strlist){};
        for (size_t i = 0; r >= 0 && i < written.n; i++)
                r = add_read(o->policy, written.items[i], dir[0] ? dir : "/", home, e);
        strlist_clear(&written);
        for (size_t i = 0; r >= 0 && i < o->policy->n_volumes; i++)
                r = resolve_volume(&o->policy->volumes[i], dir[0] ? dir : "/", home, e);
        if (r < 0 || (r = resolve_sources(o->policy, dir[0] ? dir : "/", home, e)) < 0 ||
            (r = prepare_calls_paths(o->policy, dir[0] ? dir : "/", home, e)) < 0)
                return r;
        if (o->policy->workspace.path) {
                _cleanup_free_ char *abs = NULL;
                if ((r = host_resolve(o->policy->workspace.path, dir[0] ? dir : "/", home, &abs, e)) < 0)
                        return r;
                free(o->policy->workspace.path);
                o->policy->workspace.path = TAKE_PTR(abs);
        }
        return 0;
}

int run_options_parse(struct run_options *o, int argc, char **argv, struct error *e) {
        _cleanup_free_ char *home = NULL, *cwd = NULL;
        int first, r;

        if ((r = options_parse(command_find("run"), argc, argv, on_option, o, &first, e)) < 0)
                return r;
        o->argv = argv + first;
        o->argc = argc - first;
        if (o->argc > 0 && !o->argv[0][0])
                return error_set(e, EINVAL, "the command is empty");
        home = host_home();
        cwd = getcwd(NULL, 0); /* may be gone: an error only where it is needed */
        if (!home)
                return error_set(e, ENOMEM, "out of memory");
        if ((r = read_policy(o, cwd && cwd[0] == '/' ? cwd : "/", home, e)) < 0)
                return r;
        if ((r = apply_late(o, cwd && cwd[0] == '/' ? cwd : "/", home, e)) < 0 || (r = policy_check(o->policy, e)) < 0)
                return r;
        if (o->parent && (r = tool_grant(o, e)) < 0)
                return r;
        if (o->argc == 0 && !o->policy->image) {
                error_set(e, EINVAL, "there is no command to run");
                return error_fix(e, "belljar run [OPTION...] [--] COMMAND [ARG...]");
        }
        return 0;
}
