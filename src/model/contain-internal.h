/* What the files that compare two tables share. Private to contain*.c. */
#pragma once

#include "model/contain.h"
#include "model/table-look.h"

enum { PARENT, CHILD };

/* Bytes that live as long as the comparison; each kept text ends with NUL. */
struct contain_text {
        struct contain_text *next;
        char s[];
};

/* A list of texts, that grows. */
struct contain_list {
        struct request_text *items;
        size_t n, cap;
};

struct contain {
        const struct table *t[2];
        struct containment *ret;
        struct contain_text *texts;
        uint64_t work;
        int err; /* -ENOMEM */
        bool done;
        bool supposed; /* of c->r: that it has shapes of payloads which it has not */
        /* What the child takes out of the parent's budgets: contain-budget.c. */
        struct contain_cover {
                uint32_t parent, child, of; /* child: TABLE_NONE the run's; CONTAIN_ONE: one name, of the rule */
                uint32_t rule;
        } cover[CONTAIN_CHARGES_MAX];
        size_t n_cover;
        struct request_address *addresses; /* one of each kind */
        size_t n_addresses, cap_addresses;
        struct contain_list seen; /* hosts and ports, by what the tables say of them */
        struct contain_list dialled; /* pairs of sets of rules whose addresses have been compared */
        bool parent_denies, denies; /* some address; the parent or the child */
        struct request r;         /* the one that is asked about */
};

/* Each returns false where the comparison is over: for want of memory, of work, or because there is an answer. */
bool contain_work(struct contain *c, uint64_t n);
static inline bool contain_hard(struct contain *c) {
        c->ret->why = CONTAIN_HARD;
        c->done = true;
        return false;
}
static inline bool contain_no_memory(struct contain *c) {
        c->err = -ENOMEM;
        c->done = true;
        return false;
}
/* c->r is the witness. */
bool contain_no(struct contain *c, enum contain_why why, const struct verdict *parent, const struct verdict *child);
/* Copies it. */
bool contain_keep(struct contain *c, const char *s, size_t n, struct request_text *ret);
bool contain_add(struct contain *c, struct contain_list *l, struct request_text t);

/* One text for each set of patterns (as network_glob reads them) that texts can match: all there are, the shortest of each. None
 * is one of `never`, nor, where segment is set, what no segment of a path is: empty, "." or "..". */
bool contain_examples(struct contain *c, const struct table_string *patterns, const int *side, size_t n, const struct contain_list *never,
                      bool segment, struct contain_list *ret);

/* The two verdicts on c->r, which the child lets pass: whether the parent's is as wide. */
bool contain_compare(struct contain *c, const struct verdict *parent, const struct verdict *child);
bool contain_budgets(struct contain *c, const struct verdict *parent, const struct verdict *child);
bool contain_budget_sums(struct contain *c);
bool contain_routes(struct contain *c, const struct verdict *parent, const struct verdict *child);
/* A host and a port of c->r, where the child has rules: every path. */
bool contain_place(struct contain *c);
/* A path: every method, query, number of fields, body and shape. rules: those of both sides whose path fits. */
struct contain_rule {
        const struct table_rule_record *u;
        int side;
};
bool contain_leaf(struct contain *c, const struct contain_rule *rules, size_t n);
