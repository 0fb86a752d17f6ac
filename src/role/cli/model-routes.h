/* What went to which models: of each destination of a rule for models (a provider's preset, or `to`) requests and bytes, as the brokers
 * counted them. */
#pragma once

#include "proto/json.h"
#include "role/cli/net-log.h"

/* One line on stderr at the end of a run, where anything went. */
void model_routes_report(const struct net_log *l);
/* "models": a list. */
void model_routes_json(struct json *j, const struct net_log *l);
