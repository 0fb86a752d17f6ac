/* Reads `tripwires:` of a policy (tripwire.h). */
#include <string.h>

#include "model/policy-read.h"

static int read_key(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *v, struct trip_wire *w, bool *ret_on) {
        uint64_t amount;
        unsigned word = 0;
        int r = policy_read_scalar(c, k, v);

        if (r < 0)
                return r;
        if (k->type == KEY_BOOL) {
                w->distinct = streq(v->text, "true");
                if (w->distinct || streq(v->text, "false"))
                        return 0;
                error_set(c->e, EINVAL, "%s is true or false", k->name);
                return policy_read_place(c, v);
        }
        if (k->type == KEY_TRIP_WORD) {
                if (policy_trip_word(k->choices, v->text, &word, c->e) < 0)
                        return policy_read_place(c, v);
                if (k->choices == trip_on_names) {
                        w->on = (enum trip_on)word;
                        *ret_on = true;
                } else
                        w->act = (enum trip_do)word;
                return 0;
        }
        if (policy_parse_amount(k, v->text, &amount, c->e) < 0)
                return policy_read_place(c, v);
        if (k->type == KEY_DURATION)
                w->within = amount;
        else
                w->count = (uint32_t)amount;
        return 0;
}

int policy_read_tripwires(struct policy_reader *c, const struct policy_key *section, const struct yaml_node *list) {
        struct policy *p = c->p;

        if (list->kind != YAML_KIND_SEQUENCE)
                return policy_read_not_a_list(c, section, list);
        for (const struct yaml_node *n = list->first; n; n = n->next) {
                struct trip_wire w = {.count = 1, .within = 60000, .act = TRIP_KILL, .line = n->line, .column = n->column};
                bool has_on = false;
                if (n->kind != YAML_KIND_MAPPING)
                        return policy_read_not_a_mapping(c, "an entry of tripwires", n);
                for (const struct yaml_node *key = n->first; key; key = key->next) {
                        const struct policy_key *k = policy_key_find(section, key->text);
                        int r = k ? read_key(c, k, key->value, &w, &has_on) : policy_read_unknown(c, section, key);
                        if (r < 0)
                                return r;
                }
                if (!has_on) {
                        error_set(c->e, EINVAL, "an entry of tripwires without the key on");
                        error_fix(c->e, "write {on: denied, count: 5, within: 1m, do: hold}");
                        return policy_read_place(c, n);
                }
                policy_drop_wires(p, w.on, true);
                if (w.act == TRIP_OFF)
                        continue;
                if (p->n_wires >= TRIP_WIRES_MAX) {
                        error_set(c->e, E2BIG, "tripwires has more than %d entries, the defaults among them", TRIP_WIRES_MAX);
                        return policy_read_place(c, n);
                }
                p->wires[p->n_wires++] = w;
        }
        return 0;
}
