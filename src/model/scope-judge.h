/* What a credential may do against what the rules of a policy need of it; see scope.h. Pure. */
#pragma once

#include "base/str.h"
#include "model/scope.h"

struct scope_verdict {
        struct strlist exceeds; /* "NAME: why", a line each, in the answer's words: not made visible */
        struct strlist cannot;  /* "rule: why" */
        struct strlist wants;   /* what to ask the provider for */
        size_t n_rules;         /* of the policy that let the secret go somewhere */
        bool expired;
};
void scope_verdict_clear(struct scope_verdict *v);
#define _cleanup_scope_verdict_ _cleanup_(scope_verdict_clear)

/* now: s since 1970. -ENOMEM. */
int scope_judge(const struct scope_answer *a, const struct network *net, const char *secret, int64_t now, struct scope_verdict *ret,
                struct error *e) _must_check_;

/* True where some path is of both patterns (network.h's: "*" within a segment, "**" any number of segments). */
bool scope_paths_meet(const char *a, size_t n_a, const char *b, size_t n_b);
