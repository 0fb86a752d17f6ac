/* Reads `network:` and `quiet:` of a policy, and the presets and recipes that it names, into rules (network.h). */
#include <string.h>

#include "model/network-preset.h"
#include "model/network-route.h"
#include "model/policy-read.h"

/* One rule under way. */
struct reading {
        struct policy_reader *c;
        const struct policy_key *section; /* network */
        struct network_rule *rule;
        unsigned written;                 /* enum network_written */
        struct network_budget budget;
};

static const struct policy_key *key_of(const struct policy_key *parent, const char *leaf) {
        return policy_key_find(parent, leaf);
}

/* Calls fn for each entry of a list of texts. */
static int read_texts(struct reading *g, const struct policy_key *k, const struct yaml_node *list,
                      int (*fn)(struct network_rule *, const char *, struct error *)) {
        if (list->kind != YAML_KIND_SEQUENCE)
                return policy_read_not_a_list(g->c, k, list);
        for (const struct yaml_node *n = list->first; n; n = n->next) {
                int r = policy_read_scalar(g->c, k, n);
                if (r < 0 || (r = policy_read_blank(g->c, k, n)) < 0)
                        return r;
                if (fn(g->rule, n->text, g->c->e) < 0)
                        return policy_read_place(g->c, n);
        }
        if (!list->first && k->type != KEY_QUERY) {
                error_set(g->c->e, EINVAL, "%s is an empty list", k->name);
                error_fix(g->c->e, "give it entries, or take the key out");
                return policy_read_place(g->c, list);
        }
        return 0;
}

static int read_port(struct reading *g, const struct policy_key *k, const struct yaml_node *n) {
        int r;

        if (n->kind == YAML_KIND_SEQUENCE)
                return read_texts(g, k, n, network_add_port);
        if ((r = policy_read_scalar(g->c, k, n)) < 0)
                return r;
        return network_add_port(g->rule, n->text, g->c->e) < 0 ? policy_read_place(g->c, n) : 0;
}

static int find_name(const char *const *names, const char *text) {
        for (int i = 0; names[i]; i++)
                if (streq(names[i], text))
                        return i;
        return -EINVAL;
}

static int not_one_of(const struct policy_key *k, const char *const *names, const char *text, struct error *e) {
        char brief[POLICY_BRIEF], list[128] = "";

        for (size_t i = 0; names[i]; i++) {
                if (i)
                        strcat(list, names[i + 1] ? ", " : " or ");
                strcat(list, names[i]);
        }
        error_set(e, EINVAL, "%s cannot be \"%s\"", k->name, policy_brief(brief, text));
        return error_fix(e, "write %s", list);
}

static int read_protocol(struct reading *g, const struct policy_key *k, const struct yaml_node *n) {
        int r = policy_read_scalar(g->c, k, n), i;

        if (r < 0)
                return r;
        if ((i = find_name(network_protocol_names, n->text)) < 0) {
                not_one_of(k, network_protocol_names, n->text, g->c->e);
                return policy_read_place(g->c, n);
        }
        g->rule->protocols = 1u << i;
        return 0;
}

static int read_shapes(struct reading *g, const struct policy_key *k, const struct yaml_node *list) {
        if (list->kind != YAML_KIND_SEQUENCE || !list->first)
                return policy_read_not_a_list(g->c, k, list);
        for (const struct yaml_node *n = list->first; n; n = n->next) {
                int r = policy_read_scalar(g->c, k, n), i;
                if (r < 0)
                        return r;
                if ((i = find_name(network_shape_names, n->text)) < 0) {
                        not_one_of(k, network_shape_names, n->text, g->c->e);
                        return policy_read_place(g->c, n);
                }
                g->rule->shapes |= 1u << i;
        }
        return 0;
}

static int add_key(struct network_rule *r, const char *key, struct error *e) { return network_add_query(r, key, NULL, e); }

static int read_query(struct reading *g, const struct policy_key *k, const struct yaml_node *q) {
        if (q->kind == YAML_KIND_SEQUENCE && q->n == 1 && q->first->kind == YAML_KIND_SCALAR && streq(q->first->text, "*")) {
                g->rule->any_query = true;
                return 0;
        }
        if (q->kind == YAML_KIND_SEQUENCE)
                return read_texts(g, k, q, add_key);
        if (q->kind != YAML_KIND_MAPPING) {
                error_set(g->c->e, EINVAL, "%s is a list of keys, or a mapping of keys to patterns, not %s", k->name,
                          policy_read_kind(q));
                error_fix(g->c->e, "write query: [...], or query: {KEY: PATTERN}");
                return policy_read_place(g->c, q);
        }
        for (const struct yaml_node *key = q->first; key; key = key->next) {
                const struct yaml_node *v = key->value;
                int r = yaml_is_null(v) ? 0 : policy_read_scalar(g->c, k, v);
                if (r < 0)
                        return r;
                if (network_add_query(g->rule, key->text, yaml_is_null(v) ? NULL : v->text, g->c->e) < 0)
                        return policy_read_place(g->c, key);
        }
        return 0;
}

static int read_bool(struct reading *g, const struct policy_key *k, const struct yaml_node *n, bool *ret) {
        char brief[POLICY_BRIEF];
        int r = policy_read_scalar(g->c, k, n);

        if (r < 0)
                return r;
        if (streq(n->text, "true") || streq(n->text, "false")) {
                *ret = n->text[0] == 't';
                return 0;
        }
        error_set(g->c->e, EINVAL, "%s cannot be \"%s\"", k->name, policy_brief(brief, n->text));
        error_fix(g->c->e, "write true or false");
        return policy_read_place(g->c, n);
}

static int read_amount(struct reading *g, const struct policy_key *k, const struct yaml_node *n, uint64_t *ret) {
        int r = policy_read_scalar(g->c, k, n);

        if (r < 0)
                return r;
        return policy_parse_amount(k, n->text, ret, g->c->e) < 0 ? policy_read_place(g->c, n) : 0;
}

/* headers and budget: mappings of amounts. */
static int read_amounts(struct reading *g, const struct policy_key *section, const struct yaml_node *map) {
        struct network_budget *b = &g->budget;
        uint64_t count = 0, bytes = 0;
        const struct {
                const char *leaf;
                uint64_t *amount;
        } amounts[] = {
                {"count", &count}, {"bytes", &bytes}, {"up", &b->up}, {"down", &b->down}, {"requests", &b->requests},
                {"url", &b->url}, {"hosts", &b->hosts}, {"subdomains", &b->subdomains}, {"novel", &b->novel},
        };

        if (map->kind != YAML_KIND_MAPPING || !map->first)
                return policy_read_not_a_mapping(g->c, section->name, map);
        for (const struct yaml_node *key = map->first; key; key = key->next) {
                const struct policy_key *k = key_of(section, key->text);
                int r = k ? 0 : policy_read_unknown(g->c, section, key);
                for (size_t i = 0; r >= 0 && i < ELEMENTSOF(amounts); i++)
                        if (streq(amounts[i].leaf, key->text))
                                r = read_amount(g, k, key->value, amounts[i].amount);
                if (r < 0)
                        return r;
        }
        if (b->requests != UINT64_MAX || b->url != UINT64_MAX)
                g->written |= WROTE_READ_BUDGET;
        if (b->novel != UINT64_MAX)
                g->written |= WROTE_NOVEL;
        g->rule->headers = (uint32_t)count ?: g->rule->headers;
        g->rule->header_bytes = bytes ?: g->rule->header_bytes;
        return 0;
}

static bool name_good(const char *s) {
        size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
        return n > 0 && n <= NETWORK_NAME_MAX && s[n] == 0 && s[0] != '-';
}

static int read_secret(struct reading *g, const struct policy_key *k, const struct yaml_node *n) {
        char brief[POLICY_BRIEF];
        int r = policy_read_scalar(g->c, k, n);

        if (r < 0)
                return r;
        if (!name_good(n->text)) {
                error_set(g->c->e, EINVAL, "%s: \"%s\" is not the name of a secret", k->name, policy_brief(brief, n->text));
                error_fix(g->c->e, "names have letters, digits, dashes and underscores, at most %u", NETWORK_NAME_MAX);
                return policy_read_place(g->c, n);
        }
        return policy_keep(&g->rule->secret, n->text, g->c->e);
}

static int read_rule_key(struct reading *g, const struct policy_key *k, const struct yaml_node *key) {
        static const struct { const char *leaf; unsigned bit; } bits[] = {
                {"port", WROTE_PORT}, {"protocol", WROTE_PROTOCOL}, {"methods", WROTE_METHODS}, {"paths", WROTE_PATHS},
                {"query", WROTE_QUERY}, {"headers", WROTE_HEADERS}, {"body", WROTE_BODY}, {"shapes", WROTE_SHAPES},
                {"websocket", WROTE_WEBSOCKET}, {"provenance", WROTE_PROVENANCE}, {"secret", WROTE_SECRET},
                {"budget", WROTE_BUDGET}, {"addresses", WROTE_ADDRESSES}, {"to", WROTE_TO}, {"models", WROTE_MODELS},
        };
        const struct yaml_node *v = key->value;
        const char *leaf = policy_key_leaf(k);
        int r;

        for (size_t i = 0; i < ELEMENTSOF(bits); i++)
                if (streq(leaf, bits[i].leaf))
                        g->written |= bits[i].bit;
        switch (k->type) {
        case KEY_HOST:
                if ((r = policy_read_scalar(g->c, k, v)) < 0)
                        return r;
                return network_set_host(g->rule, v->text, g->c->e) < 0 ? policy_read_place(g->c, v) : 0;
        case KEY_PORT:
                return read_port(g, k, v);
        case KEY_PROTOCOL:
                return read_protocol(g, k, v);
        case KEY_TEXTS:
                return read_texts(g, k, v, streq(leaf, "methods") ? network_add_method
                                           : streq(leaf, "paths") ? network_add_path
                                           : streq(leaf, "models") ? network_add_model
                                                                  : network_add_address);
        case KEY_SHAPES:
                return read_shapes(g, k, v);
        case KEY_QUERY:
                return read_query(g, k, v);
        case KEY_SECRET:
                return read_secret(g, k, v);
        case KEY_ORIGIN:
                if ((r = policy_read_scalar(g->c, k, v)) < 0)
                        return r;
                return network_set_to(g->rule, v->text, g->c->e) < 0 ? policy_read_place(g->c, v) : 0;
        case KEY_SECTION:
                return read_amounts(g, k, v);
        case KEY_BYTES:
                g->rule->body_written = true;
                return read_amount(g, k, v, &g->rule->body);
        case KEY_BOOL:
                return read_bool(g, k, v, streq(leaf, "deny") ? &g->rule->deny
                                          : streq(leaf, "quiet") ? &g->rule->quiet
                                          : streq(leaf, "websocket") ? &g->rule->websocket
                                                                     : &g->rule->provenance);
        default: /* a parameter */
                error_set(g->c->e, EINVAL, "%s without the key use, whose preset it would be for", k->name);
                return policy_read_place(g->c, key);
        }
}

/* What a preset's or a recipe's rules get from what uses it. */
struct use {
        const struct yaml_node *node;   /* the rule; of a recipe NULL */
        const struct network_preset *preset;
        const char *name;               /* by which the rules are known */
        struct policy_place at;         /* in the policy; line 0: the command line */
        char *secret;
        struct network_budget budget;
        unsigned written;
        size_t budget_index;
        bool model;                     /* the preset is a provider's of models */
};

static int add_rule(struct reading *g, const struct use *use) {
        struct network *n = &g->c->p->network;

        if (use && use->secret && !g->rule->deny) {
                if (policy_keep(&g->rule->secret, use->secret, g->c->e) < 0)
                        return -ENOMEM;
                g->written |= WROTE_SECRET;
        }
        if (use && use->written & WROTE_BUDGET && !g->rule->deny) {
                g->rule->budget = use->budget_index;
                g->written |= WROTE_BUDGET | (use->written & (WROTE_READ_BUDGET | WROTE_NOVEL));
        } else if (g->written & WROTE_BUDGET) {
                if ((g->rule->budget = network_add_budget(n, &g->budget)) == SIZE_MAX)
                        return error_set(g->c->e, ENOMEM, "out of memory");
        }
        if (use && policy_keep(&g->rule->preset, use->name, g->c->e) < 0)
                return -ENOMEM;
        g->rule->model = g->rule->to || (use && use->model && !g->rule->deny);
        if (use && !use->node && g->rule->deny) {
                g->rule->yields = true;
                if (network_has_allow(n, g->rule))
                        return 0;
        }
        return network_add_rule(n, g->rule, g->written, g->c->e);
}

/* A rule of its own, or one of a preset. */
static int read_rule(struct policy_reader *c, const struct policy_key *section, const struct yaml_node *map,
                     const struct use *use) {
        struct network_rule rule = {.line = use ? use->at.line : map->line, .column = use ? use->at.column : map->column};
        struct reading g = {.c = c, .section = section, .rule = &rule, .budget = NETWORK_NO_BUDGET};
        int r = 0;

        if (map->kind != YAML_KIND_MAPPING)
                return policy_read_not_a_mapping(c, "a rule", map);
        for (const struct yaml_node *key = map->first; key && r >= 0; key = key->next) {
                const struct policy_key *k = key_of(section, key->text);
                r = k ? read_rule_key(&g, k, key) : policy_read_unknown(c, section, key);
        }
        if (r >= 0 && add_rule(&g, use) < 0)
                r = policy_read_place(c, map);
        network_rule_clear(&rule);
        return r;
}

/* Presets */

static const struct network_preset *find_preset(const char *name) {
        for (const struct network_preset *p = network_presets; p->name; p++)
                if (streq(p->name, name))
                        return p;
        return NULL;
}

static int no_preset(struct policy_reader *c, const struct yaml_node *n) {
        char brief[POLICY_BRIEF];
        _cleanup_strbuf_ struct strbuf b = {};

        for (const struct network_preset *p = network_recipes; p->name; p++)
                if (streq(p->name, n->text)) {
                        error_set(c->e, EINVAL, "%s is a recipe, which is more than rules", p->name);
                        error_fix(c->e, "write use: [%s] at the top of the policy, beside network", p->name);
                        return policy_read_place(c, n);
                }
        for (const struct network_preset *p = network_presets; p->name; p++)
                strbuf_printf(&b, "%s%s", p == network_presets ? "" : ", ", p->name);
        error_set(c->e, EINVAL, "there is no preset \"%s\"", policy_brief(brief, n->text));
        error_fix(c->e, "there are %s", b.data ?: "none");
        return policy_read_place(c, n);
}

/* What stands for a parameter goes into names of hosts and paths: nothing in it may mean more there than it does here. */
static bool parameter_good(const char *kind, const char *v) {
        static const char *const label = "abcdefghijklmnopqrstuvwxyz0123456789-";
        static const char *const part = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
        size_t n = strlen(v), owner;

        if (n == 0 || n > POLICY_PARAMETER_MAX)
                return false;
        if (streq(kind, "label"))
                return n <= 63 && strspn(v, label) == n && v[0] != '-' && v[n - 1] != '-';
        owner = strspn(v, part);
        return owner > 0 && v[0] != '.' && v[owner] == '/' && v[owner + 1] && v[owner + 1] != '.' &&
               strspn(v + owner + 1, part) == n - owner - 1 &&
               !(n > 4 && streq(v + n - 4, ".git")); /* the presets add it where it belongs */
}

static int read_parameter(struct policy_reader *c, const struct yaml_node *kind, const struct yaml_node *given,
                          const struct use *use, const char *name) {
        const struct policy_key *k = key_of(policy_key_find(NULL, "network"), name);
        char brief[POLICY_BRIEF];
        int r;

        if (!given) {
                error_set(c->e, EINVAL, "the preset %s needs the key %s", use->preset->name, name);
                error_fix(c->e, streq(kind->text, "path") ? "add %s: OWNER/NAME" : "add %s: NAME", name);
                return policy_read_place(c, use->node);
        }
        if ((r = policy_read_scalar(c, k, given)) < 0)
                return r;
        if (parameter_good(kind->text, given->text))
                return 0;
        error_set(c->e, EINVAL, "%s cannot be \"%s\"", k->name, policy_brief(brief, given->text));
        error_fix(c->e, streq(kind->text, "path") ? "write it like OWNER/NAME, without .git at the end"
                                                  : "write one label: small letters, digits and dashes");
        return policy_read_place(c, given);
}

/* "{NAME}" in a preset's texts becomes what stands for it. */
static int substitute(struct yaml_node *n, const struct yaml_node *given) {
        for (; n; n = n->next) {
                int r = 0;
                if (n->kind != YAML_KIND_SCALAR)
                        r = substitute(n->first, given);
                else if (n->value) /* a key */
                        r = substitute(n->value, given);
                for (char *open = n->kind == YAML_KIND_SCALAR && !n->value ? strchr(n->text, '{') : NULL; open && r >= 0;
                     open = strchr(n->text, '{')) {
                        size_t k = strcspn(open, "}");
                        _cleanup_free_ char *name = strndup(open + 1, k ? k - 1 : 0);
                        const struct yaml_node *v = name ? policy_read_find(given, name) : NULL;
                        char *text = v ? str_printf("%.*s%s%s", (int)(open - n->text), n->text, v->text, open + k + 1) : NULL;
                        if (!text)
                                return -ENOMEM;
                        free(n->text);
                        n->text = text;
                        n->len = strlen(text);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The keys beside `use`. */
static int read_use(struct policy_reader *c, const struct policy_key *section, const struct yaml_node *map,
                    const struct yaml_node *parameters, struct use *use) {
        struct network_rule rule = {};
        struct reading g = {.c = c, .section = section, .rule = &rule, .budget = NETWORK_NO_BUDGET};
        int r = 0;

        for (const struct yaml_node *key = map->first; key && r >= 0; key = key->next) {
                const struct policy_key *k = key_of(section, key->text);
                if (!k)
                        r = policy_read_unknown(c, section, key);
                else if (k->type == KEY_PRESET || (parameters && policy_read_find(parameters, key->text)))
                        continue;
                else if (streq(key->text, "secret") || streq(key->text, "budget"))
                        r = read_rule_key(&g, k, key);
                else {
                        error_set(c->e, EINVAL, "%s beside use: the preset %s says what it is, or has no such parameter", k->name,
                                  use->preset->name);
                        error_fix(c->e, "beside use stand the preset's parameters, secret and budget");
                        r = policy_read_place(c, key);
                }
        }
        for (const struct yaml_node *key = parameters ? parameters->first : NULL; key && r >= 0; key = key->next)
                r = read_parameter(c, key->value, policy_read_find(map, key->text), use, key->text);
        use->written = g.written;
        use->budget_index = SIZE_MAX;
        if (r >= 0 && g.written & WROTE_BUDGET &&
            (use->budget_index = network_add_budget(&c->p->network, &g.budget)) == SIZE_MAX)
                r = error_set(c->e, ENOMEM, "out of memory");
        use->secret = TAKE_PTR(rule.secret);
        network_rule_clear(&rule);
        return r;
}

static int expand(struct policy_reader *c, const struct policy_key *section, const struct yaml_node *map,
                  const struct yaml_node *name) {
        _cleanup_yaml_ struct yaml_node *root = NULL;
        struct yaml_error ye = {};
        struct use use = {.node = map, .preset = find_preset(name->text), .at = {map->line, map->column}};
        struct policy_reader inner = *c;
        _cleanup_free_ char *inner_name = NULL;
        int r;

        if (!use.preset)
                return no_preset(c, name);
        if ((r = yaml_read(use.preset->text, strlen(use.preset->text), &root, &ye)) < 0) {
                error_set(c->e, -r, "the preset %s, line %u: %s", use.preset->name, ye.line, ye.msg);
                return policy_read_place(c, name);
        }
        use.name = use.preset->name;
        use.model = network_preset_models(use.preset);
        r = read_use(c, section, map, policy_read_find(root, "parameters"), &use);
        inner.name = inner_name = str_printf("preset %s", use.preset->name);
        if (r >= 0 && (!inner_name || substitute(root->first, map) < 0))
                r = error_set(c->e, ENOMEM, "out of memory");
        const struct yaml_node *rules = policy_read_find(root, "network");
        for (const struct yaml_node *n = rules ? rules->first : NULL; n && r >= 0; n = n->next)
                if ((r = read_rule(&inner, section, n, &use)) < 0)
                        r = policy_read_place(c, name);
        free(use.secret);
        return r;
}

/* A preset within a recipe: one that has no parameters. */
static int expand_within(struct policy_reader *c, const struct policy_key *section, const struct yaml_node *name, const struct use *use) {
        const struct network_preset *preset = find_preset(name->text);
        _cleanup_yaml_ struct yaml_node *root = NULL;
        const struct yaml_node *rules;
        int r = preset ? yaml_read(preset->text, strlen(preset->text), &root, NULL) : -EINVAL;

        if (r < 0)
                return error_set(c->e, -r, "the preset %s of the recipe %s cannot be read", name->text, use->name);
        rules = policy_read_find(root, "network");
        struct use within = *use;
        within.model = network_preset_models(preset);
        for (const struct yaml_node *n = rules ? rules->first : NULL; n && r >= 0; n = n->next)
                r = read_rule(c, section, n, &within);
        return r;
}

static int keep_source(struct policy_reader *c) {
        struct network *net = &c->p->network;
        return net->source || !c->p->source || (net->source = strdup(c->p->source)) ? 0 : error_set(c->e, ENOMEM, "out of memory");
}

int policy_read_rules_of(struct policy_reader *c, const struct yaml_node *list, const char *name, struct policy_place at) {
        const struct policy_key *section = policy_key_find(NULL, "network");
        const struct network_preset *preset = find_preset(name);
        const struct use use = {.name = name, .at = at, .budget_index = SIZE_MAX, .model = preset && network_preset_models(preset)};
        int r = keep_source(c);

        for (const struct yaml_node *n = list ? list->first : NULL; n && r >= 0; n = n->next) {
                const struct yaml_node *within = policy_read_find(n, "use");
                r = within ? expand_within(c, section, within, &use) : read_rule(c, section, n, &use);
        }
        return r;
}

int policy_read_quiet_of(struct policy_reader *c, const struct yaml_node *list, const char *name, struct policy_place at) {
        struct network *net = &c->p->network;
        int r = keep_source(c);

        for (const struct yaml_node *n = list ? list->first : NULL; n && r >= 0; n = n->next) {
                struct network_rule rule = {.deny = true, .quiet = true, .yields = true, .line = at.line, .column = at.column};
                if ((r = network_set_host(&rule, n->text, c->e)) >= 0 && !network_has_allow(net, &rule) &&
                    (r = policy_keep(&rule.preset, name, c->e)) >= 0)
                        r = network_add_rule(net, &rule, 0, c->e);
                network_rule_clear(&rule);
        }
        return r;
}

int policy_read_network(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list) {
        if (!c->p->network.source && !(c->p->network.source = strdup(c->name)))
                return error_set(c->e, ENOMEM, "out of memory");
        if (list->kind != YAML_KIND_SEQUENCE)
                return policy_read_not_a_list(c, k, list);
        for (const struct yaml_node *n = list->first; n; n = n->next) {
                const struct yaml_node *use = policy_read_find(n, "use");
                int r;
                if (use) {
                        if ((r = policy_read_scalar(c, key_of(k, "use"), use)) >= 0)
                                r = expand(c, k, n, use);
                } else
                        r = read_rule(c, k, n, NULL);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_given(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n) {
        return network_add_given(&c->p->network, n->text, c->e);
}

int policy_read_given(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list) {
        return policy_read_items(c, k, list, add_given);
}

int policy_read_quiet(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list) {
        struct network *net = &c->p->network;

        if (!net->source && !(net->source = strdup(c->name)))
                return error_set(c->e, ENOMEM, "out of memory");
        if (list->kind != YAML_KIND_SEQUENCE)
                return policy_read_not_a_list(c, k, list);
        for (const struct yaml_node *n = list->first; n; n = n->next) {
                int r = policy_read_scalar(c, k, n);
                if (r < 0 || (r = policy_read_blank(c, k, n)) < 0)
                        return r;
                if (network_add_deny(net, n->text, true, c->e) < 0)
                        return policy_read_place(c, n);
                net->rules[net->n_rules - 1].line = n->line;
                net->rules[net->n_rules - 1].column = n->column;
        }
        return 0;
}
