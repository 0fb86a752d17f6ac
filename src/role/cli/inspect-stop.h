/* Tripwires, alarms, cuts and holds of a run, for `belljar inspect` (docs/stop.md). */
#pragma once

#include "svc/state-read.h"

/* What the supervisor wrote of it; null where nothing has happened. */
json_t *inspect_stop(const struct state *s, bool alive);
void inspect_stop_print(const json_t *plan, const json_t *stop);
