/* Which parts of a table a request's host and port lead to: what the decision (table.c) and the comparison of two tables
 * (contain.c) share. */
#pragma once

#include "model/table-layout.h"

/* A host has a group for its own name, and one for each of the wildcards that its name is beneath. */
#define TABLE_HITS_MAX (REQUEST_HOST_MAX / 2 + 3 + TABLE_PREFIXES_MAX)

struct table_hit {
        uint32_t group;
        bool wildcard;
};
struct table_hits {
        struct table_hit hit[TABLE_HITS_MAX];
        size_t n;
        bool relay; /* no wildcard opens the name */
};

/* By the host of *r alone. */
void table_find_groups(const struct table *t, const struct request *r, struct table_hits *ret);
/* The classes of a group for a port: at most that of the port's rules and that of the rules for every port. */
size_t table_find_classes(const struct table *t, const struct table_group *g, uint16_t port, const struct table_class *ret[2]);
/* table_decide, as if these were the shapes (enum network_shape) that are found in the request. */
void table_decide_shaped(const struct table *t, const struct request *r, unsigned shapes, struct verdict *ret);
