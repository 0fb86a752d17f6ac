/* Reads belljar.yaml into a struct policy, driven by the table of its keys (policy-table.h). Every value is typed by
 * the table and not by YAML: `yes`, `010` and `1:30` are text until a key says what it wants. Errors begin with
 * FILE:LINE:COLUMN. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "model/policy-table.h"
#include "proto/yaml.h"

struct context {
        struct policy *p;
        const char *name; /* of the file */
        struct error *e;
};

/* Puts the place in front of an error that has been set. */
static int place(struct context *c, unsigned line, unsigned column) {
        if (!c->e)
                return -EINVAL;
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

static int place_at(struct context *c, const struct yaml_node *n) { return place(c, n->line, n->column); }

static const char *kind_name(const struct yaml_node *n) {
        if (yaml_is_null(n))
                return "nothing";
        return n->kind == YAML_KIND_MAPPING ? "a mapping" : n->kind == YAML_KIND_SEQUENCE ? "a list" : "a single value";
}

/* A scalar that stands for one value of a table's type. */
static int check_scalar(struct context *c, const struct policy_key *k, const struct yaml_node *n) {
        if (n->kind != YAML_KIND_SCALAR) {
                error_set(c->e, EINVAL, "%s takes a single value, not %s", k->name, kind_name(n));
                return place_at(c, n);
        }
        if (n->style == YAML_STYLE_PLAIN && n->len == 0) {
                error_set(c->e, EINVAL, "%s has no value", k->name);
                error_fix(c->e, "write one, or take the key out");
                return place_at(c, n);
        }
        if (n->style == YAML_STYLE_BLOCK) {
                /* It would end with a line break, which no path and no number is meant to have. */
                error_set(c->e, EINVAL, "%s cannot be a block of lines (| or >)", k->name);
                error_fix(c->e, "write it on one line");
                return place_at(c, n);
        }
        return 0;
}

static int read_scalar(struct context *c, const struct policy_key *k, const struct yaml_node *n) {
        int r = check_scalar(c, k, n);
        if (r < 0)
                return r;
        if (k->type == KEY_VERSION && n->style != YAML_STYLE_PLAIN) {
                error_set(c->e, EINVAL, "version is a number");
                error_fix(c->e, "write version: 1, without quotes");
                return place_at(c, n);
        }
        if (policy_set_scalar(c->p, k, n->text, c->e) < 0)
                return place_at(c, n);
        return 0;
}

/* "[~/.ssh ~/.aws]" is one entry that names nothing: it must not pass for two. */
static int check_blank(struct context *c, const struct policy_key *k, const struct yaml_node *n) {
        char brief[POLICY_BRIEF];

        if (n->style != YAML_STYLE_PLAIN || !strpbrk(n->text, " \t"))
                return 0;
        error_set(c->e, EINVAL, "%s: the entry \"%s\" has a blank in it", k->name, policy_brief(brief, n->text));
        error_fix(c->e, "put it into quotes if it is one, or a comma between two");
        return place_at(c, n);
}

static int not_a_list(struct context *c, const struct policy_key *k, const struct yaml_node *n) {
        error_set(c->e, EINVAL, "%s is a list, not %s", k->name, kind_name(n));
        if (yaml_is_null(n))
                error_fix(c->e, "give it entries, or take the key out");
        else if (k->type == KEY_WORDS)
                error_fix(c->e, "write %s: [\"PROGRAM\", \"ARGUMENT\"]: a line is not split into words", policy_key_leaf(k));
        else
                error_fix(c->e, "write %s: [...], or an entry a line with a dash in front", policy_key_leaf(k));
        return place_at(c, n);
}

static int read_list(struct context *c, const struct policy_key *k, const struct yaml_node *list) {
        if (list->kind != YAML_KIND_SEQUENCE)
                return not_a_list(c, k, list);
        for (const struct yaml_node *n = list->first; n; n = n->next) {
                int r = check_scalar(c, k, n);
                if (r < 0 || (r = check_blank(c, k, n)) < 0)
                        return r;
                if (policy_add_item(c->p, k, n->text, c->e) < 0)
                        return place_at(c, n);
        }
        if (k->type == KEY_WORDS)
                c->p->has_entrypoint = true;
        return 0;
}

static int not_a_mapping(struct context *c, const char *what, const struct yaml_node *n) {
        error_set(c->e, EINVAL, "%s is a mapping of keys and values, not %s", what, kind_name(n));
        if (yaml_is_null(n))
                error_fix(c->e, "give it keys, or take it out");
        return place_at(c, n);
}

static int read_env(struct context *c, const struct policy_key *k, const struct yaml_node *map) {
        if (map->kind != YAML_KIND_MAPPING)
                return not_a_mapping(c, k->name, map);
        for (const struct yaml_node *key = map->first; key; key = key->next) {
                const struct yaml_node *v = key->value;
                char brief[POLICY_BRIEF];
                if (v->kind != YAML_KIND_SCALAR) {
                        error_set(c->e, EINVAL, "%s: %s takes a single value, not %s", k->name,
                                  policy_brief(brief, key->text), kind_name(v));
                        return place_at(c, v);
                }
                if (policy_set_env(c->p, key->text, yaml_is_null(v) ? NULL : v->text, c->e) < 0)
                        return place_at(c, key);
        }
        return 0;
}

static int unknown_key(struct context *c, const struct policy_key *section, const struct yaml_node *key) {
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
        return place_at(c, key);
}

static const struct yaml_node *find(const struct yaml_node *map, const char *name) {
        if (map->kind == YAML_KIND_MAPPING)
                for (const struct yaml_node *key = map->first; key; key = key->next)
                        if (streq(key->text, name))
                                return key->value;
        return NULL;
}

/* A volume in its long form. */
static int read_volume(struct context *c, const struct policy_key *volumes, const struct yaml_node *map) {
        const struct yaml_node *host = find(map, "host"), *inside = find(map, "inside"), *mode = find(map, "mode");

        for (const struct yaml_node *key = map->first; key; key = key->next) {
                const struct policy_key *k = policy_key_find(volumes, key->text);
                int r = k ? check_scalar(c, k, key->value) : unknown_key(c, volumes, key);
                if (r < 0)
                        return r;
                if (policy_check_volume(k, key->value->text, c->e) < 0)
                        return place_at(c, key->value);
        }
        if (!host || !inside) {
                error_set(c->e, EINVAL, "a volume without the key %s", host ? "inside" : "host");
                error_fix(c->e, "write {host: PATH, inside: /PATH}, or HOST:INSIDE");
                return place_at(c, map);
        }
        if (policy_keep_volume(c->p, host->text, inside->text, mode && streq(mode->text, "rw"),
                               (struct policy_place){map->line, map->column}, c->e) < 0)
                return place_at(c, inside);
        return 0;
}

static int read_volumes(struct context *c, const struct policy_key *k, const struct yaml_node *list) {
        if (list->kind != YAML_KIND_SEQUENCE)
                return not_a_list(c, k, list);
        for (const struct yaml_node *n = list->first; n; n = n->next) {
                int r;
                if (n->kind == YAML_KIND_MAPPING) {
                        if ((r = read_volume(c, k, n)) < 0)
                                return r;
                        continue;
                }
                if ((r = check_scalar(c, k, n)) < 0 || (r = check_blank(c, k, n)) < 0)
                        return r;
                if (policy_add_volume(c->p, n->text, c->e) < 0)
                        return place_at(c, n);
                c->p->volumes[c->p->n_volumes - 1].place = (struct policy_place){n->line, n->column};
        }
        return 0;
}

static int read_section(struct context *c, const struct policy_key *section, const struct yaml_node *map);

static int read_value(struct context *c, const struct policy_key *k, const struct yaml_node *key) {
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
        case KEY_LATER:
                error_set(c->e, ENOTSUP, "this version of Belljar does not enforce %s, and so refuses a policy that has it",
                          k->name);
                error_fix(c->e, "take %s out if the run may go without it", k->name);
                return place_at(c, key);
        default:
                return read_scalar(c, k, key->value);
        }
}

static int read_key(struct context *c, const struct policy_key *k, const struct yaml_node *key) {
        int r = read_value(c, k, key);
        const struct policy_place at = {key->value->line, key->value->column};
        if (r >= 0 && k->place)
                *(struct policy_place *)((char *)c->p + k->place) = at;
        return r;
}

static int read_section(struct context *c, const struct policy_key *section, const struct yaml_node *map) {
        if (map->kind != YAML_KIND_MAPPING)
                return not_a_mapping(c, section ? section->name : "a policy", map);
        for (const struct yaml_node *key = map->first; key; key = key->next) {
                const struct policy_key *k = policy_key_find(section, key->text);
                int r = k ? read_key(c, k, key) : unknown_key(c, section, key);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The version comes first, wherever it stands: with another one, the other keys may not mean what they mean here. */
static int read_required(struct context *c, const struct yaml_node *root) {
        for (size_t i = 0; i < n_policy_keys; i++) {
                const struct policy_key *k = &policy_keys[i];
                const struct yaml_node *n;
                if (!k->required || !policy_key_within(k, NULL))
                        continue;
                n = find(root, k->name);
                if (!n) {
                        error_set(c->e, EINVAL, "the key %s is missing", k->name);
                        error_fix(c->e, k->type == KEY_VERSION ? "begin the file with version: 1" : "add it");
                        return place_at(c, root);
                }
                int r = read_scalar(c, k, n);
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
        struct context c = {.p = p, .name = name, .e = e ?: &scratch};

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
                return not_a_mapping(&c, "a policy", root);
        r = read_required(&c, root);
        if (r < 0)
                return r;
        r = read_section(&c, NULL, root);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(p);
        return 0;
}
