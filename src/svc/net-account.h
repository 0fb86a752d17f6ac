/* What a sandbox has used of its budgets: memory that all its brokers share, made by the command line and handed on, so that it
 * outlives each of them. Charged by atomic operations: "at most" holds under concurrency too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "model/network.h"
#include "model/table.h"

/* Distinct names that one budget can tell apart; beyond, it counts as used up. */
#define ACCOUNT_NAMES_MAX 1024u

/* What the requests with one secret came to, of the run. */
struct account_secret {
        uint64_t uses, up, down; /* requests that carried it, and their bytes */
        uint64_t refused;        /* placeholders of its that were found where they do not belong */
};

/* Destinations of models that a run can have had, under all of its policies; of those that come then, nothing is told. */
#define ACCOUNT_ROUTES_MAX 128u
struct account_route {
        uint64_t key; /* 0: free */
        uint64_t requests, up, down;
};

struct account {
        uint64_t up, down, requests, url, hosts, subdomains, novel; /* as struct network_budget has them */
        uint64_t names[2][2 * ACCOUNT_NAMES_MAX];            /* hashes: hosts, subdomains; 0: free */
        struct account_secret secrets[SECRETS_MAX];          /* of the run's own alone, the first */
        struct account_route routes[ACCOUNT_ROUTES_MAX];     /* likewise */
};

/* A memfd for n budgets. */
int account_make(size_t n) _must_check_;
/* Maps it; *ret_n is for how many it is. */
int account_map(int fd, struct account **ret, size_t *ret_n) _must_check_;
void account_unmap(struct account *a, size_t n);
/* The run's own use goes on in another memfd, whose policy is to be in force: also while no broker lives that would see to it. */
int account_carry(int from, int to) _must_check_;

/* A destination keeps its key when another policy is in force, whatever its number there. */
uint64_t account_route_key(const struct table_route *r);
/* NULL: nothing went there so far. */
const struct account_route *account_route_find(const struct account *a, uint64_t key);
/* Makes it, where there is room. */
struct account_route *account_route_get(struct account *a, uint64_t key);

/* What a charge is of. */
enum account_of { ACCOUNT_UP, ACCOUNT_DOWN, ACCOUNT_REQUESTS, ACCOUNT_URL, ACCOUNT_HOSTS, ACCOUNT_SUBDOMAINS, ACCOUNT_NOVEL, ACCOUNT_N };
const char *account_name(enum account_of of);
/* Adds n; false, and nothing was added, where that is more than the budget has. */
bool account_charge(struct account *a, const struct network_budget *b, enum account_of of, uint64_t n) _must_check_;
void account_return(struct account *a, enum account_of of, uint64_t n);
/* A name, by its hash, of ACCOUNT_HOSTS or ACCOUNT_SUBDOMAINS: charged when it comes for the first time. */
bool account_charge_name(struct account *a, const struct network_budget *b, enum account_of of, uint64_t hash) _must_check_;
