/* Anchors, aliases and merge keys of the lenient YAML reader; see yaml-lenient.h. An alias is copied, so that the tree
 * stays a tree; each copy counts towards the reader's caps, which bounds aliases of aliases. */
#include <string.h>

#include "proto/yaml-lenient.h"

struct yaml_anchor {
        char *name;
        const struct yaml_node *node;
        struct yaml_anchor *next;
};

void yaml_lenient_forget(struct yaml_lenient *l) {
        while (l->anchors) {
                struct yaml_anchor *a = l->anchors;
                l->anchors = a->next;
                free(a->name);
                free(a);
        }
        l->n_anchors = 0;
        yaml_node_free(TAKE_PTR(l->dropped));
}

int yaml_lenient_anchor(struct yaml_lenient *l, const char *name, const struct yaml_node *n) {
        if (l->n_anchors >= YAML_LENIENT_ANCHORS_MAX)
                return -E2BIG;
        struct yaml_anchor *a = calloc(1, sizeof(*a));
        if (!a)
                return -ENOMEM;
        a->name = strdup(name);
        if (!a->name) {
                free(a);
                return -ENOMEM;
        }
        a->node = n;
        a->next = l->anchors;
        l->anchors = a;
        l->n_anchors++;
        return 0;
}

/* n and what is in it, without what stands beside it. */
static int copy_node(struct yaml_lenient *l, size_t *n_nodes, const struct yaml_node *n, unsigned depth,
                     struct yaml_node **ret) {
        _cleanup_yaml_ struct yaml_node *c = NULL;

        if (++*n_nodes > YAML_LENIENT_NODES_MAX || depth > YAML_LENIENT_DEPTH_MAX)
                return -E2BIG;
        c = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;
        *c = *n;
        c->text = NULL;
        c->first = c->next = c->value = NULL;
        if (n->text) {
                if ((l->text += n->len) > YAML_LENIENT_TEXT_MAX)
                        return -E2BIG;
                c->text = malloc(n->len + 1);
                if (!c->text)
                        return -ENOMEM;
                memcpy(c->text, n->text, n->len + 1);
        }
        struct yaml_node **tail = &c->first;
        for (const struct yaml_node *k = n->first; k; k = k->next) {
                int r = copy_node(l, n_nodes, k, depth + 1, tail);
                if (r < 0)
                        return r;
                if (k->value && (r = copy_node(l, n_nodes, k->value, depth + 1, &(*tail)->value)) < 0)
                        return r;
                tail = &(*tail)->next;
        }
        *ret = TAKE_PTR(c);
        return 0;
}

int yaml_lenient_alias(
        struct yaml_lenient *l, size_t *n_nodes, const char *name, unsigned depth, struct yaml_node **ret) {
        for (const struct yaml_anchor *a = l->anchors; a; a = a->next)
                if (strcmp(a->name, name) == 0)
                        return copy_node(l, n_nodes, a->node, depth, ret);
        return -ENOENT;
}

struct place {
        struct yaml_node *key;
        size_t at; /* in the order of precedence: own keys from last to first, then what is merged */
};

static int by_name(const void *a, const void *b) {
        const struct place *x = a, *y = b;
        int c = strcmp(x->key->text, y->key->text);
        return c ? c : x->at < y->at ? -1 : x->at > y->at;
}

static bool is_merge(const struct yaml_node *k) {
        return k->style == YAML_STYLE_PLAIN && strcmp(k->text, "<<") == 0;
}

/* Moves the keys of a mapping behind *tail; copies them where an anchor names the mapping, which is then used again. */
static int take_keys(
        struct yaml_lenient *l, size_t *n_nodes, struct yaml_node *from, struct yaml_node ***tail, size_t *n) {
        _cleanup_yaml_ struct yaml_node *copy = NULL;

        if (yaml_is_null(from))
                return 0;
        if (from->kind != YAML_KIND_MAPPING)
                return -EINVAL;
        for (const struct yaml_anchor *a = l->anchors; a && !copy; a = a->next)
                if (a->node == from) {
                        int r = copy_node(l, n_nodes, from, 0, &copy);
                        if (r < 0)
                                return r;
                        from = copy;
                }
        **tail = from->first; /* NOLINT(clang-analyzer-core.NullDereference): set where no error was returned */
        from->first = NULL;
        while (**tail) {
                *tail = &(**tail)->next;
                ++*n;
        }
        from->n = 0;
        return 0;
}

/* The own keys in *own, those that "<<" brings (their values are copies already, or written there) in *merged. */
static int split(struct yaml_lenient *l, size_t *n_nodes, struct yaml_node *map, struct yaml_node **own,
        struct yaml_node **merged, size_t *n_own, size_t *n_merged) {
        struct yaml_node **own_tail = own, **tail = merged;
        int r = 0;

        for (struct yaml_node *k = TAKE_PTR(map->first), *next; k; k = next) {
                next = TAKE_PTR(k->next);
                if (!is_merge(k)) {
                        *own_tail = k;
                        own_tail = &k->next;
                        ++*n_own;
                        continue;
                }
                if (r == 0 && k->value->kind == YAML_KIND_SEQUENCE) {
                        for (struct yaml_node *i = k->value->first; i && r == 0; i = i->next)
                                r = take_keys(l, n_nodes, i, &tail, n_merged);
                } else if (r == 0)
                        r = take_keys(l, n_nodes, k->value, &tail, n_merged);
                k->next = l->dropped;
                l->dropped = k;
        }
        return r;
}

int yaml_lenient_merge(struct yaml_lenient *l, size_t *n_nodes, struct yaml_node *map) {
        _cleanup_yaml_ struct yaml_node *own = NULL, *merged = NULL;
        _cleanup_free_ struct place *all = NULL;
        size_t n_own = 0, n_merged = 0, n = 0;

        if (map->n < 2 && !(map->first && is_merge(map->first)))
                return 0;
        int r = split(l, n_nodes, map, &own, &merged, &n_own, &n_merged);
        if (r < 0)
                return r;
        all = calloc(n_own + n_merged + 1, sizeof(*all));
        if (!all)
                return -ENOMEM;
        for (struct yaml_node *k = own; k; k = k->next, n++)
                all[n] = (struct place){k, n_own - n};
        for (struct yaml_node *k = merged; k; k = k->next, n++)
                all[n] = (struct place){k, n + 1};
        qsort(all, n, sizeof(*all), by_name);
        for (size_t i = 1; i < n; i++)
                if (strcmp(all[i].key->text, all[i - 1].key->text) == 0)
                        all[i].key->n = 1; /* a scalar has no items: marks what is hidden by another */

        struct yaml_node **tail = &map->first, *lists[] = {TAKE_PTR(own), TAKE_PTR(merged)};
        map->n = 0;
        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                for (struct yaml_node *k = lists[i], *next; k; k = next) {
                        next = TAKE_PTR(k->next);
                        if (k->n) {
                                k->n = 0;
                                k->next = l->dropped;
                                l->dropped = k;
                                continue;
                        }
                        *tail = k;
                        tail = &k->next;
                        map->n++;
                }
        return 0;
}
