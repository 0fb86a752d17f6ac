/* A policy as commands take it that run nothing: -f FILE, --use, --allow, --deny, --given, --secret. */
#pragma once

#include "model/policy.h"

struct policy_words {
        const char *file;
        struct strlist use, allow, deny, given, secret;
};
void policy_words_clear(struct policy_words *w);
/* Takes the option; false where it is none of these. *ret_r: 0 or a negative errno, with *e. */
bool policy_words_take(struct policy_words *w, int id, const char *arg, int *ret_r, struct error *e);
int policy_words_read(const struct policy_words *w, struct policy **ret, struct error *e) _must_check_;
