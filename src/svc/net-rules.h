/* The rules of a sandbox's network namespace (sys/nft.h), changed while it runs: written down by who has compiled a policy, put
 * in force by the sandbox's guard. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "model/plan.h"

/* A sealed memfd with the ports and targets of a plan. */
int net_rules_seal(const struct plan_network *p) _must_check_;
/* Puts those of fd in the place of the rules of this namespace: all of them or none. Pool and own address are the plan's. */
int net_rules_install(const struct plan_network *p, int fd, int userns, int netns, struct error *e) _must_check_;
/* Whether two of them, as net_rules_seal makes them, say the same; not, where one cannot be read. */
bool net_rules_same(int a, int b);
/* How the rules of a plan are put: also for the launcher. */
struct nft_config;
void net_rules_config(const struct plan_network *p, struct nft_config *ret);
