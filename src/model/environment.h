/* The variables that a sandbox starts with. Pure. */
#pragma once

#include "model/policy.h"

/* From the caller's environment only what describes the terminal, the language and the search path goes in; what may
 * hold credentials or lead to the host's services (tokens, proxies, agents' sockets) does not, unless a rule of the
 * policy names it. home and user are set. Where the caller's has HOSTNAME, it is there with the sandbox's own name; a host's
 * program expects no more. A rule without a value whose variable is not set is an error. */
int environment_plan(struct strlist *ret, char *const *caller, const struct policy *policy, const char *home,
                     const char *user, const char *runtime_dir, const char *hostname, struct error *e) _must_check_;
/* Of an image: its own variables, HOME and HOSTNAME as docker has them; from the caller's only what describes the terminal.
 * single: there is one id. */
int environment_plan_image(struct strlist *ret, char *const *caller, const struct strlist *image, const struct policy *policy,
                           const char *home, const char *hostname, bool single, struct error *e) _must_check_;
/* The value of a variable in such a list; NULL: it is not there. */
const char *environment_get(const struct strlist *env, const char *name);
/* A variable of Belljar's own on top of an environment that was planned; what the policy sets stays. -ENOMEM. */
int environment_set(struct strlist *env, const struct policy *policy, const char *name, const char *value) _must_check_;
