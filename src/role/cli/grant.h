/* A sub-run's authority: what its parent may do as long as it runs, and what of it is the child's. The parent's supervisor is asked
 * first of all (`belljar run --parent`), and hands over the policy that is in force and its budgets; before anything is started the
 * child's plan is held against the parent's (grant.c), and its budgets are taken out of the parent's. `belljar` knows only this
 * header: the work is belljar-tool's, behind the functions. */
#pragma once

#include "base/error.h"

struct plan;
struct run_options;

struct grant {
        int link, process; /* the connection to the parent's supervisor, and a pidfd of it: a supervisor's, to watch */
        int own;           /* the memory of the child's budgets; -1: not yet, or it has no network */
        int (*check)(struct grant *g, const struct run_options *o, struct plan *p, struct error *e);
        /* Takes the child's budgets out of the parent's, whole or not at all. */
        int (*take)(struct grant *g, const struct plan *p, struct error *e);
        /* Returns what was not used; nothing of the child runs any more. */
        void (*give_back)(struct grant *g);
        void (*end)(struct grant *g);
};
