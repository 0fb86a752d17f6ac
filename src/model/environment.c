/* The sandbox's environment, see environment.h. */
#include <string.h>

#include "model/environment.h"

/* Names, or beginnings of names ("LC_*"). */
static const char *const inherited[] = {
        "PATH", "TERM", "COLORTERM", "NO_COLOR", "CLICOLOR", "FORCE_COLOR", "LANG", "LANGUAGE", "LC_*", "TZ", "SHELL",
        "EDITOR", "VISUAL", "PAGER", "LESS", "COLUMNS", "LINES", "CI", "DEBIAN_FRONTEND", "SOURCE_DATE_EPOCH",
};

static bool is_inherited(const char *assignment) {
        size_t n = strcspn(assignment, "=");

        for (size_t i = 0; i < ELEMENTSOF(inherited); i++) {
                size_t k = strlen(inherited[i]);
                if (inherited[i][k - 1] == '*' ? strncmp(assignment, inherited[i], k - 1) == 0
                                               : k == n && strncmp(assignment, inherited[i], n) == 0)
                        return true;
        }
        return false;
}

static const char *lookup(char *const *env, const char *name) {
        size_t n = strlen(name);
        for (; *env; env++)
                if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
                        return *env + n + 1;
        return NULL;
}

const char *environment_get(const struct strlist *l, const char *name) {
        size_t n = strlen(name);
        for (size_t i = 0; i < l->n; i++)
                if (strncmp(l->items[i], name, n) == 0 && l->items[i][n] == '=')
                        return l->items[i] + n + 1;
        return NULL;
}

static bool is_set(const struct policy *p, const char *assignment) {
        size_t n = strcspn(assignment, "=");
        for (size_t i = 0; i < p->n_env; i++)
                if (strlen(p->env[i].name) == n && strncmp(p->env[i].name, assignment, n) == 0)
                        return true;
        return false;
}

/* What the policy sets or takes over. */
static int add_rules(struct strlist *ret, char *const *caller, const struct policy *policy, struct error *e) {
        int r = 0;

        for (size_t i = 0; i < policy->n_env && r == 0; i++) {
                const char *value = policy->env[i].value ? policy->env[i].value : lookup(caller, policy->env[i].name);
                if (!value) {
                        error_set(e, ENOENT, "the variable %s is to be taken over, but it is not set", policy->env[i].name);
                        return error_fix(e, "set it, or give it a value (-e %s=VALUE)", policy->env[i].name);
                }
                r = strlist_addf(ret, "%s=%s", policy->env[i].name, value);
        }
        return r;
}

struct variable {
        const char *name, *value; /* NULL: none */
};

/* Those that neither the policy nor the image (may be NULL) sets. */
static int add_own(struct strlist *ret, const struct variable *own, size_t n, const struct strlist *image, const struct policy *policy) {
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++) {
                if (!own[i].value || (image && environment_get(image, own[i].name)))
                        continue;
                _cleanup_free_ char *a = str_printf("%s=%s", own[i].name, own[i].value);
                if (!a)
                        r = -ENOMEM;
                else if (!is_set(policy, a))
                        r = strlist_add(ret, a);
        }
        return r;
}

int environment_plan(struct strlist *ret, char *const *caller, const struct policy *policy, const char *home,
                     const char *user, const char *runtime_dir, const char *hostname, struct error *e) {
        const struct variable own[] = {
                {"HOME", home}, {"USER", user}, {"LOGNAME", user}, {"XDG_RUNTIME_DIR", runtime_dir}, {"BELLJAR", "1"},
                {"HOSTNAME", lookup(caller, "HOSTNAME") ? hostname : NULL},
                /* fakeroot would try each chown for real first, and take EINVAL (an id that is not mapped) for a failure. */
                {"FAKEROOTDONTTRYCHOWN", "1"},
        };
        int r = 0;

        for (char *const *v = caller; *v && r == 0; v++)
                if (is_inherited(*v) && !is_set(policy, *v))
                        r = strlist_add(ret, *v);
        if (r == 0 && !lookup(caller, "PATH"))
                r = strlist_add(ret, "PATH=/usr/local/bin:/usr/bin:/bin");
        if (r == 0)
                r = add_own(ret, own, ELEMENTSOF(own), NULL, policy);
        if (r == 0)
                r = add_rules(ret, caller, policy, e);
        return r < 0 && !e->errnum ? error_errno(e, r, "the environment cannot be made") : r;
}

int environment_plan_image(struct strlist *ret, char *const *caller, const struct strlist *image, const struct policy *policy,
                           const char *home, const char *hostname, bool single, struct error *e) {
        static const char *const terminal[] = {"TERM", "COLORTERM", "NO_COLOR", "CLICOLOR", "FORCE_COLOR", "COLUMNS", "LINES"};
        const struct variable own[] = {
                {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, {"HOME", home}, {"HOSTNAME", hostname},
                {"BELLJAR", "1"},
                {"FAKEROOTDONTTRYCHOWN", single ? "1" : NULL}, /* as above */
        };
        int r = 0;

        for (size_t i = 0; i < image->n && r == 0; i++)
                if (!is_set(policy, image->items[i]))
                        r = strlist_add(ret, image->items[i]);
        if (r == 0)
                r = add_own(ret, own, ELEMENTSOF(own), image, policy);
        for (size_t i = 0; i < ELEMENTSOF(terminal) && r == 0; i++)
                r = add_own(ret, &(struct variable){terminal[i], lookup(caller, terminal[i])}, 1, image, policy);
        if (r == 0)
                r = add_rules(ret, caller, policy, e);
        return r < 0 && !e->errnum ? error_errno(e, r, "the environment cannot be made") : r;
}

int environment_set(struct strlist *env, const struct policy *policy, const char *name, const char *value) {
        _cleanup_free_ char *a = str_printf("%s=%s", name, value);
        size_t n = strlen(name);

        if (!a)
                return -ENOMEM;
        if (is_set(policy, a))
                return 0;
        for (size_t i = 0; i < env->n; i++)
                if (strncmp(env->items[i], name, n) == 0 && env->items[i][n] == '=') {
                        free(env->items[i]);
                        env->items[i] = TAKE_PTR(a);
                        return 0;
                }
        return strlist_add(env, a);
}
