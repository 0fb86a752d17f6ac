/* `belljar secret test`: what a credential may do at its provider, against what the rules of a policy need of it. */
#pragma once

#include "role/cli/policy-words.h"

struct secret_test {
        struct policy_words words; /* -f, --use, --secret and their like */
        const char *host;          /* HOST[:PORT] that is asked in place of the provider's own */
        bool json;
};
void secret_test_clear(struct secret_test *t);
/* 0: it fits, 1: it does not, or is none any more; a negative errno. name: NULL where --secret says it. */
int secret_test(const struct secret_test *t, const char *name, struct error *e) _must_check_;
