/* The network in `belljar inspect`: network.json of the sandbox (role/cli/net-record.h), and the rules of its plan. */
#pragma once

#include <jansson.h>

#include "svc/state-read.h"

/* What inspect --json shows under "network" (docs/inspect.md); never NULL but for want of memory. */
json_t *inspect_network(const struct state *s, const json_t *plan);
/* The same for people: what it can reach, then what was refused. */
void inspect_network_reach(const json_t *network);
void inspect_network_denials(const json_t *network);
/* What the run's secrets are for, and what they did. */
void inspect_credentials(const json_t *plan, const json_t *network);
