/* Reads `git_ssh:` and `sign:` of a policy (git.h). An entry of git_ssh is a rule for unread connections to its server as well: what ssh
 * says to it goes through the gate like everything else. */
#include <stdio.h>
#include <string.h>

#include "model/policy-read.h"

/* The server as the network's rules have it. */
static int add_rule(struct policy_reader *c, struct git_host *h, struct network_rule *rule, const struct yaml_node *map) {
        char port[8];

        if (rule->kind != NETWORK_EXACT && !(rule->kind == NETWORK_ADDRESS && strspn(rule->host, "0123456789abcdef:.") == strlen(rule->host))) {
                error_set(c->e, EINVAL, "host: ssh logs in to one server, not to whatever a pattern or a range says");
                return policy_read_place(c, map);
        }
        snprintf(port, sizeof(port), "%u", h->port);
        if (policy_keep(&h->host, rule->host, c->e) < 0 || policy_keep(&rule->preset, "git_ssh", c->e) < 0 || network_add_port(rule, port, c->e) < 0 ||
            network_add_rule(&c->p->network, rule, WROTE_PORT | WROTE_PROTOCOL | (rule->n_addresses ? WROTE_ADDRESSES : 0), c->e) < 0)
                return policy_read_place(c, map);
        return 0;
}

static int read_text(const char *leaf, const char *text, struct git_host *h, struct git_key *key, struct network_rule *rule, struct git_sign *sign,
                     struct error *e) {
        if (streq(leaf, "host"))
                return network_set_host(rule, text, e);
        if (streq(leaf, "user"))
                return git_set_user(h, text, e);
        if (streq(leaf, "key"))
                return git_set_key(key, text, e);
        if (streq(leaf, "public_key"))
                return git_set_public_key(key, text, e);
        return streq(leaf, "known_hosts") ? git_set_text(&h->known_hosts, text, e) : git_set_as(sign, text, e);
}

static int read_list(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list, struct git_host *h, struct network_rule *rule) {
        if (list->kind != YAML_KIND_SEQUENCE)
                return policy_read_not_a_list(c, k, list);
        for (const struct yaml_node *n = list->first; n; n = n->next) {
                int r = policy_read_scalar(c, k, n);
                if (r < 0 || (r = policy_read_blank(c, k, n)) < 0)
                        return r;
                r = streq(policy_key_leaf(k), "addresses") ? network_add_address(rule, n->text, c->e) : git_add_repository(h, n->text, c->e);
                if (r < 0)
                        return policy_read_place(c, n);
        }
        return 0;
}

static int read_key(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *v, struct git_host *h, struct network_rule *rule) {
        const char *leaf = policy_key_leaf(k);
        uint64_t port;
        int r;

        if (k->type == KEY_TEXTS)
                return read_list(c, k, v, h, rule);
        if ((r = policy_read_scalar(c, k, v)) < 0)
                return r;
        if (k->type == KEY_CHOICE) {
                h->write = streq(v->text, "write");
                if (h->write || streq(v->text, "read"))
                        return 0;
                error_set(c->e, EINVAL, "access is read or write");
                return policy_read_place(c, v);
        }
        if (k->type == KEY_NUMBER) {
                if (policy_parse_amount(k, v->text, &port, c->e) < 0)
                        return policy_read_place(c, v);
                h->port = (uint16_t)port;
                return 0;
        }
        return read_text(leaf, v->text, h, &h->key, rule, NULL, c->e) < 0 ? policy_read_place(c, v) : 0;
}

static int read_host(struct policy_reader *c, const struct policy_key *section, const struct yaml_node *map, struct git_host *h,
                     struct network_rule *rule) {
        if (map->kind != YAML_KIND_MAPPING)
                return policy_read_not_a_mapping(c, "an entry of git_ssh", map);
        for (const struct yaml_node *key = map->first; key; key = key->next) {
                const struct policy_key *k = policy_key_find(section, key->text);
                int r = k ? read_key(c, k, key->value, h, rule) : policy_read_unknown(c, section, key);
                if (r < 0)
                        return r;
        }
        if (!rule->host || h->repositories.n == 0) {
                error_set(c->e, EINVAL, "an entry of git_ssh without %s", rule->host ? "repositories" : "the key host");
                error_fix(c->e, "write {host: NAME, repositories: [OWNER/NAME]}");
                return policy_read_place(c, map);
        }
        if (!h->user && policy_keep(&h->user, "git", c->e) < 0)
                return policy_read_place(c, map);
        return add_rule(c, h, rule, map);
}

int policy_read_git_ssh(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list) {
        struct git_policy *g = &c->p->git;

        if (list->kind != YAML_KIND_SEQUENCE)
                return policy_read_not_a_list(c, k, list);
        for (const struct yaml_node *n = list->first; n; n = n->next) {
                struct git_host h = {.port = 22, .line = n->line, .column = n->column};
                struct network_rule rule = {.protocols = NETWORK_TCP, .budget = SIZE_MAX, .line = n->line, .column = n->column};
                struct git_host *more = g->n_hosts < GIT_HOSTS_MAX ? reallocarray(g->hosts, g->n_hosts + 1, sizeof(*more)) : NULL;
                if (!more) {
                        error_set(c->e, E2BIG, "git_ssh has more than %u entries", GIT_HOSTS_MAX);
                        return policy_read_place(c, n);
                }
                g->hosts = more;
                int r = read_host(c, k, n, &h, &rule);
                network_rule_clear(&rule);
                if (r < 0) {
                        git_host_clear(&h);
                        return r;
                }
                more[g->n_hosts++] = h;
        }
        return 0;
}

int policy_read_sign(struct policy_reader *c, const struct policy_key *section, const struct yaml_node *map) {
        struct git_sign *s = &c->p->git.sign;
        int r;

        if (map->kind != YAML_KIND_MAPPING)
                return policy_read_not_a_mapping(c, section->name, map);
        *s = (struct git_sign){.on = true, .commits = true, .line = map->line, .column = map->column};
        for (const struct yaml_node *key = map->first; key; key = key->next) {
                const struct policy_key *k = policy_key_find(section, key->text);
                const struct yaml_node *v = key->value;
                if (!k)
                        return policy_read_unknown(c, section, key);
                if ((r = policy_read_scalar(c, k, v)) < 0)
                        return r;
                if (k->type == KEY_BOOL) {
                        bool *field = streq(policy_key_leaf(k), "tags") ? &s->tags : &s->commits;
                        *field = streq(v->text, "true");
                        if (*field || streq(v->text, "false"))
                                continue;
                        error_set(c->e, EINVAL, "%s is true or false", k->name);
                        return policy_read_place(c, v);
                }
                if (read_text(policy_key_leaf(k), v->text, NULL, &s->key, NULL, s, c->e) < 0)
                        return policy_read_place(c, v);
        }
        if (!s->commits && !s->tags) {
                error_set(c->e, EINVAL, "sign lets neither commits nor tags be signed");
                error_fix(c->e, "take it out");
                return policy_read_place(c, map);
        }
        return 0;
}
