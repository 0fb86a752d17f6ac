/* What a run may hand on while it runs (--delegate NAME=POLICY-FILE): the policies are read once, at the start, and each is held against
 * the run's own before anything is started. They are held against it again whenever one is used: it may have been changed. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "role/cli/prepare.h"
#include "role/cli/tool.h"
#include "svc/host.h"

#define POLICY_MAX (1u << 20)
#define DELEGATES_MAX 16u

static bool name_good(const char *s, size_t n) {
        if (n == 0 || n > 31)
                return false;
        for (size_t i = 0; i < n; i++)
                if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= '0' && s[i] <= '9') || (i > 0 && (s[i] == '-' || s[i] == '_'))))
                        return false;
        return true;
}

int tool_delegate(struct run_options *o, const char *text, struct error *e) {
        const char *equals = strchr(text, '=');
        struct plan_delegate d = {};

        if (!equals || !equals[1] || !name_good(text, (size_t)(equals - text))) {
                error_set(e, EINVAL, "--delegate takes NAME=POLICY-FILE");
                return error_fix(e, "names have letters, digits, - and _, at most 31");
        }
        for (size_t i = 0; i < o->n_delegates; i++)
                if (strlen(o->delegates[i].name) == (size_t)(equals - text) && strncmp(o->delegates[i].name, text, (size_t)(equals - text)) == 0)
                        return error_set(e, EINVAL, "two delegates have the name %s", o->delegates[i].name);
        if (o->n_delegates == DELEGATES_MAX)
                return error_set(e, E2BIG, "more than %u delegates", DELEGATES_MAX);
        struct plan_delegate *more = reallocarray(o->delegates, o->n_delegates + 1, sizeof(*more));
        if (!more)
                return error_set(e, ENOMEM, "out of memory");
        o->delegates = more;
        d.name = strndup(text, (size_t)(equals - text));
        d.file = strdup(equals + 1);
        int r = d.name && d.file ? file_read(AT_FDCWD, d.file, POLICY_MAX, &d.text, &d.size) : -ENOMEM;
        more[o->n_delegates++] = d; /* cleared with the options */
        return r < 0 ? error_errno(e, r, "the policy %s cannot be read", equals + 1) : 0;
}

/* As `belljar run --parent` would see it, but for what only a parent that runs can say. */
static int check_one(const struct run_options *o, const struct prepared *x, const struct plan_delegate *d, struct error *e) {
        const char *slash = strrchr(d->file, '/');
        _cleanup_fd_ int fd = memfd_create(slash ? slash + 1 : d->file, MFD_CLOEXEC);
        _cleanup_free_ char *path = fd < 0 ? NULL : str_printf("/proc/self/fd/%d", fd);
        _cleanup_prepared_ struct prepared y = PREPARED_NONE;
        struct run_options c = {};
        int r;

        if (!path || fd_write_all(fd, d->text, d->size) < 0)
                return error_set(e, EIO, "the policy %s cannot be kept", d->file);
        char *argv[] = {(char *)"run", (char *)"--dry-run", (char *)"-f", path, (char *)"--", (char *)"true", NULL};
        r = run_options_parse(&c, 6, argv, e);
        for (size_t i = 0; r == 0 && i < c.policy->network.n_secrets; i++)
                if (c.policy->network.secrets[i].source == SECRET_ENV) {
                        error_set(e, EINVAL, "the secret %s comes from a variable, which is taken out of the environment when the run starts",
                                  c.policy->network.secrets[i].name);
                        r = error_fix(e, "keep it in the store, for a run that delegates it: belljar secret set %s", c.policy->network.secrets[i].name);
                }
        c.no_workspace = c.no_workspace || o->no_workspace;
        if (r == 0)
                r = prepare_check_sources(d->file, c.policy->network.secrets, c.policy->network.n_secrets, x->plan, e);
        if (r == 0 && (r = tool_grant_at_start(&c, x, e)) == 0)
                r = prepare(&c, &y, e);
        run_options_clear(&c);
        return r;
}

int tool_delegates(const struct run_options *o, const struct prepared *x, struct error *e) {
        for (size_t i = 0; i < o->n_delegates; i++) {
                struct error inner = {};
                int r = check_one(o, x, &o->delegates[i], &inner);
                if (r == 0)
                        continue;
                error_set(e, -r, "delegate %s: %.400s", o->delegates[i].name, inner.msg);
                return inner.fix[0] ? error_fix(e, "%s", inner.fix) : r;
        }
        return 0;
}
