/* Reads `oauth2:` and `github_app:` of a secret (mint.h). */
#include "model/mint.h"
#include "model/policy-read.h"

static struct mint *mint_of(struct policy_reader *c) { return c->p->network.secrets[c->p->network.n_secrets - 1].mint; }

static int add_repository(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n) {
        (void)k;
        return mint_add_repository(mint_of(c), n->text, c->e);
}

static int read_permissions(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *map) {
        if (map->kind != YAML_KIND_MAPPING)
                return policy_read_not_a_mapping(c, k->name, map);
        for (const struct yaml_node *name = map->first; name; name = name->next) {
                int r = policy_read_scalar(c, k, name->value);
                if (r < 0)
                        return r;
                if (mint_add_permission(mint_of(c), name->text, name->value->text, c->e) < 0)
                        return policy_read_place(c, name);
        }
        return 0;
}

int policy_read_mint(struct policy_reader *c, struct secret *s, const struct policy_key *section, const struct yaml_node *map) {
        if (s->mint) {
                error_set(c->e, EINVAL, "a secret is minted in one way: oauth2 or github_app");
                return policy_read_place(c, map);
        }
        if (map->kind != YAML_KIND_MAPPING)
                return policy_read_not_a_mapping(c, section->name, map);
        struct mint *m = s->mint = (struct mint *)calloc(1, sizeof(*m));
        if (!m)
                return error_set(c->e, ENOMEM, "out of memory");
        m->kind = streq(policy_key_leaf(section), "oauth2") ? MINT_OAUTH2 : MINT_GITHUB_APP;
        s->is_key = m->kind == MINT_GITHUB_APP;
        for (const struct yaml_node *key = map->first; key; key = key->next) {
                const struct policy_key *k = policy_key_find(section, key->text);
                int r = 0;
                if (!k)
                        r = policy_read_unknown(c, section, key);
                else if (streq(policy_key_leaf(k), "repositories"))
                        r = policy_read_items(c, k, key->value, add_repository);
                else if (streq(policy_key_leaf(k), "permissions"))
                        r = read_permissions(c, k, key->value);
                else if ((r = policy_read_scalar(c, k, key->value)) == 0 && mint_set(m, policy_key_leaf(k), key->value->text, c->e) < 0)
                        r = policy_read_place(c, key->value);
                if (r < 0)
                        return r;
        }
        return mint_check(m, c->e) < 0 ? policy_read_place(c, map) : 0;
}
