/* What is said of a refusal by the network, to a person and to a program: the reason, and what would allow it. Pure. */
#pragma once

#include <stddef.h>

#include "model/table.h"

#define DENIAL_JSON_MAX 2048u
#define DENIAL_FIX_MAX 512u

/* "no rule names the host". Static. */
const char *denial_reason(enum verdict_reason reason);
/* Of a budget that is used up, by its name ("requests"). Static. */
const char *denial_spent(const char *budget);
/* The body of a refusal: {"denied_by":rule or null,"reason":...,"fix":...}. Returns its length; texts may be hostile. */
size_t denial_json(char *buf, size_t size, const char *rule, const char *reason, const char *fix);
/* What would allow it: a flag, or lines of the policy. "" where nothing would. */
void denial_fix(char *buf, size_t size, const struct request *r, const struct verdict *v);
/* "belljar.yaml:12", "npm-install (belljar.yaml:3)", "--deny"; "" for TABLE_NONE. */
void denial_rule(char *buf, size_t size, const struct table *t, uint32_t rule);
