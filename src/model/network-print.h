/* Rules of the network, printed: a line a rule, or as the arrays "network" and "quiet" and the object "budget" of the
 * object that is open in j. */
#pragma once

#include "model/network.h"
#include "proto/json.h"

void network_text(struct strbuf *b, const struct network *n);
void network_json(struct json *j, const struct network *n);
