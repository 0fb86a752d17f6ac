/* Reads belljar.yaml into a struct policy, driven by the table of its keys (policy-table.h). Every value is typed by
 * the table and not by YAML: `yes`, `010` and `1:30` are text until a key says what it wants. Errors begin with
 * FILE:LINE:COLUMN. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "model/policy-read.h"

static int place(struct policy_reader *c, unsigned line, unsigned column) {
        struct error inner = *c->e;
        /* The name's end tells more than its beginning, and the message must have room. */
        const char *name = c->name;
        size_t len = strlen(name);
        if (len > 200)
                name += len - 200;
        error_set(c->e, inner.errnum, "%s%s:%u:%u: %s", len > 200 ? "..." : "", name, line, column, inner.msg);
        memcpy(c->e->fix, inner.fix, sizeof(inner.fix));
        return -c->e->errnum;
}

int policy_read_place(struct policy_reader *c, const struct yaml_node *n) { return place(c, n->line, n->column); }

const char *policy_read_kind(const struct yaml_node *n) {
        if (yaml_is_null(n))
                return "nothing";
        return n->kind == YAML_KIND_MAPPING ? "a mapping" : n->kind == YAML_KIND_SEQUENCE ? "a list" : "a single value";
}

int policy_read_scalar(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n) {
        if (n->kind != YAML_KIND_SCALAR) {
                error_set(c->e, EINVAL, "%s takes a single value, not %s", k->name, policy_read_kind(n));
                return policy_read_place(c, n);
        }
        if (n->style == YAML_STYLE_PLAIN && n->len == 0) {
                error_set(c->e, EINVAL, "%s has no value", k->name);
                error_fix(c->e, "write one, or take the key out");
                return policy_read_place(c, n);
        }
        if (n->style == YAML_STYLE_BLOCK) {
                /* It would end with a line break, which no path and no number is meant to have. */
                error_set(c->e, EINVAL, "%s cannot be a block of lines (| or >)", k->name);
                error_fix(c->e, "write it on one line");
                return policy_read_place(c, n);
        }
        return 0;
}

static int read_value_of(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n) {
        int r = policy_read_scalar(c, k, n);
        if (r < 0)
                return r;
        if (k->type == KEY_VERSION && n->style != YAML_STYLE_PLAIN) {
                error_set(c->e, EINVAL, "version is a number");
                error_fix(c->e, "write version: 1, without quotes");
                return policy_read_place(c, n);
        }
        if (policy_set_scalar(c->p, k, n->text, c->e) < 0)
                return policy_read_place(c, n);
        return 0;
}

int policy_read_blank(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n) {
        char brief[POLICY_BRIEF];

        if (n->style != YAML_STYLE_PLAIN || !strpbrk(n->text, " \t"))
                return 0;
        error_set(c->e, EINVAL, "%s: the entry \"%s\" has a blank in it", k->name, policy_brief(brief, n->text));
        error_fix(c->e, "put it into quotes if it is one, or a comma between two");
        return policy_read_place(c, n);
}

int policy_read_not_a_list(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n) {
        error_set(c->e, EINVAL, "%s is a list, not %s", k->name, policy_read_kind(n));
        if (yaml_is_null(n))
                error_fix(c->e, "give it entries, or take the key out");
        else if (k->type == KEY_WORDS)
                error_fix(c->e, "write %s: [\"PROGRAM\", \"ARGUMENT\"]: a line is not split into words", policy_key_leaf(k));
        else
                error_fix(c->e, "write %s: [...], or an entry a line with a dash in front", policy_key_leaf(k));
        return policy_read_place(c, n);
}

int policy_read_items(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list,
                      int (*add)(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n)) {
        if (list->kind != YAML_KIND_SEQUENCE)
                return policy_read_not_a_list(c, k, list);
        for (const struct yaml_node *n = list->first; n; n = n->next) {
                int r = policy_read_scalar(c, k, n);
                if (r < 0 || (r = policy_read_blank(c, k, n)) < 0)
                        return r;
                if (add(c, k, n) < 0)
                        return policy_read_place(c, n);
        }
        return 0;
}

static int add_item(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n) {
        return policy_add_item(c->p, k, n->text, c->e);
}

static int read_list(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list) {
        int r = policy_read_items(c, k, list, add_item);

        if (r < 0)
                return r;
        if (k->type == KEY_WORDS)
                c->p->has_entrypoint = true;
        return 0;
}

int policy_read_not_a_mapping(struct policy_reader *c, const char *what, const struct yaml_node *n) {
        error_set(c->e, EINVAL, "%s is a mapping of keys and values, not %s", what, policy_read_kind(n));
        if (yaml_is_null(n))
                error_fix(c->e, "give it keys, or take it out");
        return policy_read_place(c, n);
}

static int read_env(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *map) {
        if (map->kind != YAML_KIND_MAPPING)
                return policy_read_not_a_mapping(c, k->name, map);
        for (const struct yaml_node *key = map->first; key; key = key->next) {
                const struct yaml_node *v = key->value;
                char brief[POLICY_BRIEF];
                if (v->kind != YAML_KIND_SCALAR) {
                        error_set(c->e, EINVAL, "%s: %s takes a single value, not %s", k->name,
                                  policy_brief(brief, key->text), policy_read_kind(v));
                        return policy_read_place(c, v);
                }
                if (policy_set_env(c->p, key->text, yaml_is_null(v) ? NULL : v->text, c->e) < 0)
                        return policy_read_place(c, key);
        }
        return 0;
}

int policy_read_unknown(struct policy_reader *c, const struct policy_key *section, const struct yaml_node *key) {
        const struct policy_key *near = policy_key_nearest(section, key->text);
        char brief[POLICY_BRIEF];

        policy_brief(brief, key->text);
        if (section)
                error_set(c->e, EINVAL, "there is no key \"%s\" in %s", brief, section->name);
        else
                error_set(c->e, EINVAL, "there is no key \"%s\"", brief);
        if (near && policy_key_within(near, section))
                error_fix(c->e, "did you mean %s?", policy_key_leaf(near));
        else if (near && strchr(near->name, '.'))
                error_fix(c->e, "did you mean %s, which stands in %.*s?", policy_key_leaf(near),
                          (int)(strrchr(near->name, '.') - near->name), near->name);
        else if (near)
                error_fix(c->e, "did you mean %s, which stands at the top?", near->name);
        return policy_read_place(c, key);
}

const struct yaml_node *policy_read_find(const struct yaml_node *map, const char *name) {
        if (map->kind == YAML_KIND_MAPPING)
                for (const struct yaml_node *key = map->first; key; key = key->next)
                        if (streq(key->text, name))
                                return key->value;
        return NULL;
}

/* A volume in its long form. */
static int read_volume(struct policy_reader *c, const struct policy_key *volumes, const struct yaml_node *map) {
        const struct yaml_node *host = policy_read_find(map, "host"), *inside = policy_read_find(map, "inside"), *mode = policy_read_find(map, "mode");

        for (const struct yaml_node *key = map->first; key; key = key->next) {
                const struct policy_key *k = policy_key_find(volumes, key->text);
                int r = k ? policy_read_scalar(c, k, key->value) : policy_read_unknown(c, volumes, key);
                if (r < 0)
                        return r;
                if (policy_check_volume(k, key->value->text, c->e) < 0)
                        return policy_read_place(c, key->value);
        }
        if (!host || !inside) {
                error_set(c->e, EINVAL, "a volume without the key %s", host ? "inside" : "host");
                error_fix(c->e, "write {host: PATH, inside: /PATH}, or HOST:INSIDE");
                return policy_read_place(c, map);
        }
        if (policy_keep_volume(c->p, host->text, inside->text, mode && streq(mode->text, "rw"),
                               (struct policy_place){map->line, map->column}, c->e) < 0)
                return policy_read_place(c, inside);
        return 0;
}

static int read_volumes(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list) {
        if (list->kind != YAML_KIND_SEQUENCE)
                return policy_read_not_a_list(c, k, list);
        for (const struct yaml_node *n = list->first; n; n = n->next) {
                int r;
                if (n->kind == YAML_KIND_MAPPING) {
                        if ((r = read_volume(c, k, n)) < 0)
                                return r;
                        continue;
                }
                if ((r = policy_read_scalar(c, k, n)) < 0 || (r = policy_read_blank(c, k, n)) < 0)
                        return r;
                if (policy_add_volume(c->p, n->text, c->e) < 0)
                        return policy_read_place(c, n);
                c->p->volumes[c->p->n_volumes - 1].place = (struct policy_place){n->line, n->column};
        }
        return 0;
}

static int read_section(struct policy_reader *c, const struct policy_key *section, const struct yaml_node *map);

static int read_value(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *key) {
        switch (k->type) {
        case KEY_SECTION:
                return read_section(c, k, key->value);
        case KEY_ENV:
                return read_env(c, k, key->value);
        case KEY_PATHS:
        case KEY_GLOBS:
        case KEY_NAMES:
        case KEY_WORDS:
                return read_list(c, k, key->value);
        case KEY_VOLUMES:
                return read_volumes(c, k, key->value);
        case KEY_USE:
                return policy_read_use(c, k, key->value);
        case KEY_SECRETS:
                return policy_read_secrets(c, k, key->value);
        case KEY_GIT_SSH:
                return policy_read_git_ssh(c, k, key->value);
        case KEY_SIGN:
                return policy_read_sign(c, k, key->value);
        case KEY_TRIPWIRES:
                return policy_read_tripwires(c, k, key->value);
        case KEY_NETWORK:
                return policy_read_network(c, k, key->value);
        case KEY_PLACES:
                return policy_read_quiet(c, k, key->value);
        case KEY_URLS:
                return policy_read_given(c, k, key->value);
        case KEY_LATER:
                error_set(c->e, ENOTSUP, "this version of Belljar does not enforce %s, and so refuses a policy that has it",
                          k->name);
                error_fix(c->e, "take %s out if the run may go without it", k->name);
                return policy_read_place(c, key);
        default:
                return read_value_of(c, k, key->value);
        }
}

static int read_key(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *key) {
        int r = read_value(c, k, key);
        const struct policy_place at = {key->value->line, key->value->column};
        if (r >= 0 && k->place)
                *(struct policy_place *)((char *)c->p + k->place) = at;
        return r;
}

static int read_section(struct policy_reader *c, const struct policy_key *section, const struct yaml_node *map) {
        if (map->kind != YAML_KIND_MAPPING)
                return policy_read_not_a_mapping(c, section ? section->name : "a policy", map);
        for (const struct yaml_node *key = map->first; key; key = key->next) {
                const struct policy_key *k = policy_key_find(section, key->text);
                int r = k ? read_key(c, k, key) : policy_read_unknown(c, section, key);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The version comes first, wherever it stands: with another one, the other keys may not mean what they mean here. */
static int read_required(struct policy_reader *c, const struct yaml_node *root) {
        for (size_t i = 0; i < n_policy_keys; i++) {
                const struct policy_key *k = &policy_keys[i];
                const struct yaml_node *n;
                if (!k->required || !policy_key_within(k, NULL))
                        continue;
                n = policy_read_find(root, k->name);
                if (!n) {
                        error_set(c->e, EINVAL, "the key %s is missing", k->name);
                        error_fix(c->e, k->type == KEY_VERSION ? "begin the file with version: 1" : "add it");
                        return policy_read_place(c, root);
                }
                int r = read_value_of(c, k, n);
                if (r < 0)
                        return r;
        }
        return 0;
}

int policy_parse(const char *text, size_t len, const char *name, struct policy **ret, struct error *e) {
        _cleanup_policy_ struct policy *p = policy_new();
        _cleanup_yaml_ struct yaml_node *root = NULL;
        struct yaml_error ye = {};
        struct error scratch = {}; /* so that what is below need not ask whether the caller wants one */
        struct policy_reader c = {.p = p, .name = name, .e = e ?: &scratch};

        if (!p)
                return error_set(e, ENOMEM, "out of memory");
        p->source = strdup(name);
        if (!p->source)
                return error_set(e, ENOMEM, "out of memory");
        int r = yaml_read(text, len, &root, &ye);
        if (r < 0) {
                error_set(c.e, -r, "%s", ye.msg);
                return place(&c, ye.line, ye.column);
        }
        if (root->kind != YAML_KIND_MAPPING)
                return policy_read_not_a_mapping(&c, "a policy", root);
        r = read_required(&c, root);
        if (r < 0)
                return r;
        r = read_section(&c, NULL, root);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(p);
        return 0;
}
