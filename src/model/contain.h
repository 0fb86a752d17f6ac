/* Whether one compiled network policy lies within another: whether every request that the child's table lets pass is let
 * pass by the parent's, with the same secret, and charged to no larger budget. Both decide by table_decide, and so does this: it makes
 * one request of each kind that the two tables can tell apart (hosts, ports, protocols, methods, paths, queries, fields,
 * bodies, shapes), walking the product of their automatons lazily, and asks both about it. So the answer is exact, with such a
 * request as the witness; or the tables are too large for the caps below, or differ in the shapes of payloads in a way that
 * no example shows: then it says so, and is to be taken for a no. Pure. */
#pragma once

#include "model/table.h"

#define CONTAIN_WORK_MAX 3000000u    /* requests that are asked about, and steps of automatons */
#define CONTAIN_STATES_MAX 20000u    /* of the product of the automatons of one host and port */
#define CONTAIN_CHARGES_MAX 1024u

enum contain_why {
        CONTAIN_YES,
        CONTAIN_REFUSED,    /* the parent refuses the witness */
        CONTAIN_SECRET,     /* it goes with another secret there, or with none */
        CONTAIN_DESTINATION,/* it goes to another place there (`to`) */
        CONTAIN_MODEL,      /* the parent lets other models be asked, or it cannot be told */
        CONTAIN_ADDRESS,    /* the child dials an address (witness_address) for it that the parent does not */
        CONTAIN_PROVENANCE, /* the parent lets only URLs pass that were given */
        CONTAIN_NOVEL,      /* and fewer, or none, that were not */
        CONTAIN_BODY,       /* a body without a declared length may be longer in the child */
        CONTAIN_ACCESS,     /* an L4 connection passes less looked at in the child */
        CONTAIN_BUDGET,     /* the child has a larger budget for it, or none */
        CONTAIN_SUM,        /* the child's budgets, taken together, are more than the one of the parent's that they come out of */
        CONTAIN_GIVEN,      /* the child is given URLs that the parent was not */
        CONTAIN_HARD,       /* it cannot be told */
};

/* What a child takes out of a budget of its parent's, at most. */
struct contain_charge {
        uint32_t parent; /* for table_budget; TABLE_NONE: the run's */
        unsigned of;     /* index into the fields of struct network_budget, in their order */
        uint64_t amount;
};

#define CONTAIN_ONE (TABLE_NONE - 1)

struct containment {
        enum contain_why why;
        char rule[160];            /* of the child, that lets the witness pass: "HOST (file:line)" */
        char parent_rule[160];     /* of the parent, that refuses it or comes nearest; "": none */
        enum verdict_reason reason;/* of CONTAIN_REFUSED */
        char request[700];         /* the witness for people: "POST https://api.example.com/x, 1 byte of body"; "": there is none */
        char difference[160];      /* of CONTAIN_SECRET, DESTINATION and MODEL, and the budgets */
        struct request witness;    /* where `request` is set; its texts lie in memory of this struct's */
        struct request_address witness_address;
        char *texts;
        struct contain_charge charges[CONTAIN_CHARGES_MAX]; /* of CONTAIN_YES: each pair of parent and of once */
        size_t n_charges;
        struct contain_part {
                struct contain_charge charge;
                uint32_t child; /* for table_budget of the child's; TABLE_NONE: the run's; CONTAIN_ONE: a name, whatever the budget */
        } parts[CONTAIN_CHARGES_MAX]; /* of the charges: which budget of the child's each comes from */
        size_t n_parts;
};
void containment_clear(struct containment *c);
#define _cleanup_containment_ _cleanup_(containment_clear)

/* The name of the field of struct network_budget, "requests". */
const char *contain_budget_name(unsigned of);

/* 0 with ret->why; -ENOMEM. */
int contain_network(const struct table *parent, const struct table *child, struct containment *ret) _must_check_;
/* The error of one that is not contained: rule, witness and why. Returns -EPERM, or -E2BIG where it could not be told. */
int contain_error(const struct containment *c, struct error *e);
