/* Reads `secrets:` of a policy (secret.h). */
#include <string.h>

#include "model/mint.h"
#include "model/policy-read.h"
#include "model/secret-sigv4.h"

static int set_text(struct secret *s, const char *leaf, const char *text, struct error *e) {
        if (streq(leaf, "from"))
                return secret_parse_source(text, s, e);
        if (streq(leaf, "header"))
                return secret_set_header(s, text, e);
        if (streq(leaf, "basic"))
                return secret_set_basic(s, text, e);
        if (streq(leaf, "query"))
                return secret_set_query(s, text, e);
        if (streq(leaf, "body"))
                return secret_set_body(s, text, e);
        if (!secret_variable_good(text))
                return error_set(e, EINVAL, "env: what it says is no name of a variable");
        return policy_keep(&s->variable, text, e);
}

static int add_address(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n) {
        struct network *w = &c->p->network;
        struct address_range range;
        int r = network_range_parse(n->text, &range, c->e);

        (void)k;
        if (r < 0)
                return r;
        return strlist_add(&w->secrets[w->n_secrets - 1].addresses, n->text) < 0 ? error_set(c->e, ENOMEM, "out of memory") : 0;
}

static struct secret *sigv4_of(struct policy_reader *c) { return &c->p->network.secrets[c->p->network.n_secrets - 1]; }

static int add_name(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n) {
        const char *leaf = policy_key_leaf(k);

        return streq(leaf, "services")  ? secret_sigv4_add_service(sigv4_of(c), n->text, c->e)
               : streq(leaf, "regions") ? secret_sigv4_add_region(sigv4_of(c), n->text, c->e)
                                        : secret_sigv4_add_allow(sigv4_of(c), n->text, c->e);
}

/* All but its parts, which are secrets of their own and come behind it. */
static int read_sigv4(struct policy_reader *c, struct secret *s, const struct policy_key *section, const struct yaml_node *map) {
        if (map->kind != YAML_KIND_MAPPING)
                return policy_read_not_a_mapping(c, "sigv4", map);
        if (secret_set_sigv4(s, c->e) < 0)
                return policy_read_place(c, map);
        for (const struct yaml_node *n = map->first; n; n = n->next) {
                const struct policy_key *k = policy_key_find(section, n->text);
                if (!k)
                        return policy_read_unknown(c, section, n);
                int r = k->type == KEY_TEXTS ? policy_read_items(c, k, n->value, add_name) : policy_read_scalar(c, k, n->value);
                if (r < 0)
                        return r;
                if (k->type == KEY_TEXTS && !n->value->first) {
                        error_set(c->e, EINVAL, "%s: an empty list", k->name);
                        error_fix(c->e, "name one, or leave the key out");
                        return policy_read_place(c, n->value);
                }
        }
        if (policy_read_find(map, "key"))
                return 0;
        error_set(c->e, EINVAL, "sigv4 without the key \"key\", which says the access key id");
        error_fix(c->e, "write key: env:AWS_ACCESS_KEY_ID, or the id itself");
        return policy_read_place(c, map);
}

static int add_parts(struct policy_reader *c, const struct yaml_node *name, bool minted) {
        static const struct {
                const char *key;
                enum secret_part part;
        } parts[] = {{"key", PART_KEY}, {"session", PART_SESSION}};

        if (minted) {
                error_set(c->e, EINVAL, "sigv4: requests are signed with a key, which is not minted");
                return policy_read_place(c, name);
        }
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                const struct yaml_node *n = policy_read_find(policy_read_find(name->value, "sigv4"), parts[i].key);
                if (n && secret_sigv4_add_part(&c->p->network.secrets, &c->p->network.n_secrets, name->text, parts[i].part, n->text, c->e) < 0)
                        return policy_read_place(c, n);
        }
        return 0;
}

static int read_key(struct policy_reader *c, struct secret *s, const struct policy_key *k, const struct yaml_node *v) {
        if (k->type == KEY_MINT)
                return policy_read_mint(c, s, k, v);
        if (k->type == KEY_TEXTS)
                return policy_read_items(c, k, v, add_address);
        const bool places = s->place != SECRET_ANY_FIELD;
        const char *leaf = policy_key_leaf(k);
        int r = k->type == KEY_SECTION ? 0 : policy_read_scalar(c, k, v);

        if (r < 0)
                return r;
        if (places && (streq(leaf, "header") || streq(leaf, "basic") || streq(leaf, "query") || streq(leaf, "body") || streq(leaf, "sigv4"))) {
                error_set(c->e, EINVAL, "a secret goes to one place: header, basic, query, body or sigv4");
                error_fix(c->e, "write a second secret with the same from: for another");
                return policy_read_place(c, v);
        }
        if (k->type == KEY_SECTION)
                return read_sigv4(c, s, k, v);
        if (k->type == KEY_SECRET_TEXT)
                r = set_text(s, leaf, v->text, c->e);
        else
                r = policy_parse_amount(k, v->text, streq(leaf, "ttl") ? &s->ttl : &s->uses, c->e);
        return r < 0 ? policy_read_place(c, v) : 0;
}

static int read_secret(struct policy_reader *c, const struct policy_key *section, const struct yaml_node *name) {
        struct network *n = &c->p->network;
        char brief[POLICY_BRIEF];
        int r;

        if (!secret_name_good(name->text)) {
                error_set(c->e, EINVAL, "%s: \"%s\" is not the name of a secret", section->name, policy_brief(brief, name->text));
                error_fix(c->e, "names have letters, digits, dashes and underscores, at most %u", SECRET_NAME_MAX);
                return policy_read_place(c, name);
        }
        if (name->value->kind != YAML_KIND_MAPPING)
                return policy_read_not_a_mapping(c, "a secret", name->value);
        struct secret *s = secret_add(&n->secrets, &n->n_secrets, name->text, c->e);
        if (!s)
                return policy_read_place(c, name);
        s->line = name->line;
        s->column = name->column;
        for (const struct yaml_node *key = name->value->first; key; key = key->next) {
                const struct policy_key *k = policy_key_find(section, key->text);
                r = k ? read_key(c, s, k, key->value) : policy_read_unknown(c, section, key);
                if (r < 0)
                        return r;
        }
        if (s->from && s->place == SECRET_SIGV4)
                return add_parts(c, name, s->mint != NULL);
        if (s->from) /* RFC 6750 section 2.1; a renewed token may be of any length there */
                return s->mint && s->mint->kind == MINT_OAUTH2 && s->place == SECRET_ANY_FIELD ? secret_set_header(s, "Authorization: Bearer {}", c->e) : 0;
        error_set(c->e, EINVAL, "a secret without the key from");
        error_fix(c->e, "write where it comes from, like from: env:NAME");
        return policy_read_place(c, name);
}

int policy_read_secrets(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *map) {
        if (map->kind != YAML_KIND_MAPPING)
                return policy_read_not_a_mapping(c, k->name, map);
        for (const struct yaml_node *name = map->first; name; name = name->next) {
                int r = read_secret(c, k, name);
                if (r < 0)
                        return r;
        }
        return 0;
}
