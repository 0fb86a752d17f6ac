/* A run on an image: what prepare.c does otherwise for the host's root. Nothing on the host is changed here. */
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/use.h"
#include "model/environment.h"
#include "proto/init-msg.h"
#include "role/cli/prepare.h"
#include "svc/state.h"

#define COMMAND_MAX (1u << 20) /* bytes: under the kernel's limit together with the environment */

extern char **environ;

/* What package managers and servers that change their user need, over the image's own ids and nothing else: the network,
 * the mounts and PID 1 belong to the outer user namespace. user_namespaces(7), capabilities(7). */
#define ROOT_CAPABILITIES                                                                                              \
        (1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER | 1ull << CAP_FSETID | 1ull << CAP_KILL |   \
         1ull << CAP_SETGID | 1ull << CAP_SETUID)

int prepare_image_open(const struct run_options *o, struct prepared *x, struct error *e) {
        struct plan *p = x->plan;
        const char *spec = o->policy->user;
        _cleanup_fd_ int root = -EBADF;
        int r;

        r = state_open_root(false, &root, e);
        if (r == -ENOENT) {
                error_set(e, ENOENT, "there is no image %s", o->policy->image);
                return error_fix(e, "belljar image import --name %s SOURCE", o->policy->image);
        }
        if (r < 0 || (r = image_open(root, o->policy->image, &x->image, e)) < 0 || (r = ids_find(&x->ids, e)) < 0 ||
            (r = image_user_find(root, &x->image, spec ? spec : x->image.user, &x->user, e)) < 0)
                return r;
        p->image = strdup(x->image.name);
        free(p->home);
        p->home = strdup(x->user.home);
        if (!p->image || !p->home)
                return error_set(e, ENOMEM, "out of memory");
        p->capabilities = x->user.uid == 0 ? ROOT_CAPABILITIES : 0;
        if (x->ids.kind == IDS_ONE) {
                r = strlist_addf(&p->notes, "one user id for the whole image: changing users or owners fails inside (%s)", x->ids.why);
                if (r < 0)
                        return error_errno(e, r, "a note cannot be kept");
        }
        return 0;
}

static int plan_argv(const struct run_options *o, struct prepared *x, struct error *e) {
        const struct policy *policy = o->policy;
        const struct strlist *entry = policy->has_entrypoint ? &policy->entrypoint : &x->image.entrypoint;
        struct plan *p = x->plan;
        size_t bytes = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < entry->n; i++)
                r = strlist_add(&p->argv, entry->items[i]);
        for (int i = 0; r == 0 && i < o->argc; i++)
                r = strlist_add(&p->argv, o->argv[i]);
        /* The image's arguments were meant for the image's program. */
        if (o->argc == 0 && !policy->has_entrypoint)
                for (size_t i = 0; r == 0 && i < x->image.cmd.n; i++)
                        r = strlist_add(&p->argv, x->image.cmd.items[i]);
        if (r < 0)
                return error_errno(e, r, "the command cannot be kept");
        if (p->argv.n == 0 || !p->argv.items[0][0]) {
                error_set(e, EINVAL, "the image %s names no command of its own", p->image);
                return error_fix(e, "belljar run --image %s -- COMMAND [ARG...]", p->image);
        }
        for (size_t i = 0; i < p->argv.n; i++)
                bytes += strlen(p->argv.items[i]) + 1;
        return bytes > COMMAND_MAX ? error_set(e, E2BIG, "the command is longer than %u bytes", COMMAND_MAX) : 0;
}

/* The user's word, the image's, the place in the workspace where the caller stands. */
static int plan_directory(const struct run_options *o, struct prepared *x, struct error *e) {
        struct plan *p = x->plan;
        const char *said = o->policy->workdir, *inside = plan_workspace_inside(p);
        _cleanup_free_ char *cwd = getcwd(NULL, 0), *joined = NULL;

        if (said && said[0] == '/')
                p->cwd = path_clean(said);
        else if (said) {
                joined = str_printf("%s/%s", inside ? inside : x->image.workdir, said);
                p->cwd = joined ? path_clean(joined) : NULL;
        } else if (!streq(x->image.workdir, "/") || !inside)
                p->cwd = strdup(x->image.workdir);
        else if (cwd && path_beneath(cwd, p->workspace))
                p->cwd = str_printf("%s%s", inside, cwd + strlen(p->workspace));
        else
                p->cwd = strdup(inside);
        if (!p->cwd)
                return error_set(e, ENOMEM, "out of memory");
        if (path_has_dotdot(p->cwd))
                return error_set(e, EINVAL, "the working directory %s goes through \"..\"", p->cwd);
        if (strlen(p->cwd) >= INIT_MAX_PATH)
                return error_set(e, ENAMETOOLONG, "the working directory's path is too long");
        return 0;
}

int prepare_image_command(const struct run_options *o, struct prepared *x, struct error *e) {
        int r = plan_argv(o, x, e);

        if (r < 0 || (r = plan_directory(o, x, e)) < 0)
                return r;
        return environment_plan_image(&x->plan->env, environ, &x->image.env, o->policy, x->plan->home, x->plan->hostname,
                                      x->plan->ids.single, e);
}

int prepare_image_facts(struct prepared *x, struct error *e) {
        int r = 0;

        /* The supervisor and the launcher stand in the sandbox's directory, two beneath the state's. */
        for (size_t i = 0; r == 0 && i < x->image.layers.n; i++)
                r = strlist_addf(&x->host.view.layers, "../../%s", x->image.layers.items[i]);
        return r < 0 ? error_errno(e, r, "the image's layers cannot be listed") : 0;
}
