/* Recipes (policies/harness/) and presets that a policy names with `use` at its top, or the command line with --use: a recipe is
 * a whole of rules, variables, what is to be seen of the home and files for the sandbox's /etc, for a program that runs agents.
 * The user's own words go before its: a variable that the policy sets stays as it is, and a rule for the very host that the
 * recipe refuses quietly takes that refusal's place. */
#include <string.h>

#include "model/network-preset.h"
#include "model/policy-read.h"

#define SUMMARY "summary"

static const struct network_preset *find(const struct network_preset *list, const char *name) {
        for (; list->name; list++)
                if (streq(list->name, name))
                        return list;
        return NULL;
}

static int no_recipe(const char *name, struct error *e) {
        char brief[POLICY_BRIEF];
        _cleanup_strbuf_ struct strbuf b = {};

        for (const struct network_preset *p = network_recipes; p->name; p++)
                strbuf_printf(&b, "%s%s", p == network_recipes ? "" : ", ", p->name);
        error_set(e, EINVAL, "there is no recipe \"%s\", and no preset of that name", policy_brief(brief, name));
        return error_fix(e, "there are the recipes %s, and the presets of docs/policy.md", b.data ?: "none");
}

static bool is_set(const struct policy *p, const char *name) {
        for (size_t i = 0; i < p->n_env; i++)
                if (streq(p->env[i].name, name))
                        return true;
        return false;
}

static int add_variables(struct policy_reader *c, const struct yaml_node *map) {
        int r = 0;

        for (const struct yaml_node *n = map ? map->first : NULL; n && r >= 0; n = n->next)
                if (!is_set(c->p, n->text))
                        r = policy_set_env(c->p, n->text, n->value->text, c->e);
        return r;
}

static int add_reads(struct policy_reader *c, const struct yaml_node *list) {
        for (const struct yaml_node *n = list ? list->first : NULL; n; n = n->next)
                if (!strlist_has(&c->p->read_there, n->text) && strlist_add(&c->p->read_there, n->text) < 0)
                        return error_set(c->e, ENOMEM, "out of memory");
        return 0;
}

static int add_file(struct policy *p, const char *name, const char *text, const char *recipe) {
        struct policy_file *files = reallocarray(p->files, p->n_files + 1, sizeof(*files)), *f;

        if (!files)
                return -ENOMEM;
        p->files = files;
        f = &files[p->n_files++];
        *f = (struct policy_file){str_printf("/etc/%s", name), strdup(text), strdup(recipe)};
        return f->path && f->text && f->recipe ? 0 : -ENOMEM;
}

static int add_files(struct policy_reader *c, const struct yaml_node *map, const char *recipe) {
        for (const struct yaml_node *n = map ? map->first : NULL; n; n = n->next)
                if (add_file(c->p, n->text, n->value->text, recipe) < 0)
                        return error_set(c->e, ENOMEM, "out of memory");
        return 0;
}

/* Texts of the program's own: what they are is a test's to see (tests/unit/test-policy-use.c); a key that is not known here
 * would be a part of a recipe that is not in force. */
static int check_keys(struct policy_reader *c, const struct yaml_node *root, const char *name) {
        static const char *const known[] = {SUMMARY, "network", "quiet", "env", "read", "etc", NULL};

        for (const struct yaml_node *key = root->first; key; key = key->next) {
                size_t i = 0;
                while (known[i] && !streq(known[i], key->text))
                        i++;
                if (!known[i])
                        return error_set(c->e, EINVAL, "the recipe %s has the key %s, which is not known", name, key->text);
        }
        return 0;
}

static int add_recipe(struct policy_reader *c, const struct network_preset *recipe, struct policy_place at) {
        _cleanup_yaml_ struct yaml_node *root = NULL;
        _cleanup_free_ char *name = str_printf("recipe %s", recipe->name);
        struct policy_reader inner = *c;
        struct yaml_error ye = {};
        int r = yaml_read(recipe->text, strlen(recipe->text), &root, &ye);

        if (r < 0 || !name)
                return error_set(c->e, name ? -r : ENOMEM, "the recipe %s, line %u: %s", recipe->name, ye.line, ye.msg);
        inner.name = name;
        if ((r = check_keys(&inner, root, recipe->name)) < 0 ||
            (r = policy_read_rules_of(&inner, policy_read_find(root, "network"), recipe->name, at)) < 0 ||
            (r = policy_read_quiet_of(&inner, policy_read_find(root, "quiet"), recipe->name, at)) < 0 ||
            (r = add_variables(&inner, policy_read_find(root, "env"))) < 0 ||
            (r = add_reads(&inner, policy_read_find(root, "read"))) < 0)
                return r;
        return add_files(&inner, policy_read_find(root, "etc"), recipe->name);
}

static int add_preset(struct policy_reader *c, const struct network_preset *preset, struct policy_place at) {
        _cleanup_yaml_ struct yaml_node *root = NULL;
        int r = yaml_read(preset->text, strlen(preset->text), &root, NULL);

        if (r < 0)
                return error_set(c->e, -r, "the preset %s cannot be read", preset->name);
        if (policy_read_find(root, "parameters")) {
                error_set(c->e, EINVAL, "the preset %s has parameters, which have no place here", preset->name);
                return error_fix(c->e, "write it under network in a policy: - {use: %s, ...}", preset->name);
        }
        return policy_read_rules_of(c, policy_read_find(root, "network"), preset->name, at);
}

static int add_one(struct policy_reader *c, const char *name, struct policy_place at) {
        const struct network_preset *recipe = find(network_recipes, name), *preset = find(network_presets, name);
        int r;

        if (strlist_has(&c->p->use, name))
                return 0;
        if (!recipe && !preset)
                return no_recipe(name, c->e);
        if ((r = recipe ? add_recipe(c, recipe, at) : add_preset(c, preset, at)) < 0)
                return r;
        return strlist_add(&c->p->use, name) < 0 ? error_set(c->e, ENOMEM, "out of memory") : 0;
}

static int add_use(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n) {
        return add_one(c, n->text, (struct policy_place){n->line, n->column});
}

int policy_read_use(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list) {
        return policy_read_items(c, k, list, add_use);
}

int policy_add_use(struct policy *p, const char *name, struct error *e) {
        struct error scratch = {};
        struct policy_reader c = {.p = p, .name = "the command line", .e = e ?: &scratch};
        return add_one(&c, name, (struct policy_place){});
}

int policy_add_preset_with(struct policy *p, const char *preset, const char *secret, struct error *e) {
        struct error scratch = {};
        struct policy_reader c = {.p = p, .name = "--secret", .e = e ?: &scratch};
        _cleanup_yaml_ struct yaml_node *list = NULL;
        /* Names: of letters, digits, dashes and underscores, whoever wrote them (hosts_of, secret_name_good). */
        _cleanup_free_ char *text = str_printf("- {use: %s, secret: %s}\n", preset, secret);

        if (!text || yaml_read(text, strlen(text), &list, NULL) < 0)
                return error_set(c.e, text ? EINVAL : ENOMEM, "%s is no preset", preset);
        return policy_read_network(&c, policy_key_find(NULL, "network"), list);
}
