/* A policy as it was understood, for `belljar policy check`. Pure. */
#pragma once

#include "model/policy.h"
#include "proto/json.h"

/* A line for what differs from a policy that says nothing, and for what is always in force. Values of variables are
 * left out: they may be secrets. Text that came from the policy is made safe for a terminal. NULL: no memory. */
char *policy_text(const struct policy *p);
/* The same as a JSON object with every key of the table, null where nothing was written; sizes in bytes, times in ms,
 * processors in thousandths; of a variable, whether it is set or the caller's. */
void policy_json(struct json *j, const char *key, const struct policy *p);
