/* What a refusal by the network says to the program inside; reasons and fixes are why.h's. Pure. */
#pragma once

#include <stddef.h>

#define DENIAL_JSON_MAX 2048u

/* Of a budget that is used up, by its name ("requests"). Static. */
const char *denial_spent(const char *budget);
/* The body of a refusal: {"denied_by":rule or null,"reason":...,"fix":...}. Returns its length; texts may be hostile. */
size_t denial_json(char *buf, size_t size, const char *rule, const char *reason, const char *fix);
