/* What the lenient YAML reader does beyond the strict one: anchors, aliases and merge keys, within caps. A part of
 * yaml.c, and called by nothing else. Pure. */
#pragma once

#include "proto/yaml.h"

struct yaml_anchor;
struct yaml_lenient {
        struct yaml_anchor *anchors; /* of this document, the last first: a name may be used again */
        size_t n_anchors;
        struct yaml_node *dropped; /* taken out of the tree, kept because an anchor may name them */
        size_t text;               /* bytes of scalars so far */
};

/* Remembers that the name stands for n, which must stay where it is until _forget. */
int yaml_lenient_anchor(struct yaml_lenient *l, const char *name, const struct yaml_node *n) _must_check_;
/* A copy of what the name stands for; *n_nodes grows by its nodes. -ENOENT, -E2BIG, -ENOMEM. */
int yaml_lenient_alias(struct yaml_lenient *l, size_t *n_nodes, const char *name, unsigned depth,
                       struct yaml_node **ret) _must_check_;
/* Resolves "<<" in a mapping and keeps the last of doubled keys. -EINVAL: "<<" of something that is no mapping. */
int yaml_lenient_merge(struct yaml_lenient *l, size_t *n_nodes, struct yaml_node *map) _must_check_;
/* At the end of a document: drops the anchors. */
void yaml_lenient_forget(struct yaml_lenient *l);
