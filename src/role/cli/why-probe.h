/* `belljar why --probe`: the answer of the table against a real attempt, made in a sandbox that has the same policy, by the very
 * gate and broker that a run has. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "model/table.h"
#include "proto/json.h"

#define PROBE_STEPS_MAX 12u

enum probe_outcome {
        PROBE_REFUSED,     /* by gate or broker, which said so */
        PROBE_PASSED,      /* an answer came, or the connection stood */
        PROBE_UNREACHABLE, /* let pass, but the upstream could not be reached */
        PROBE_UNCLEAR,     /* neither */
};

struct probe_said {
        char word[16];
        char *text;
};

struct why_probe {
        struct probe_said steps[PROBE_STEPS_MAX]; /* what the prober saw (role/gate/try.c) */
        size_t n_steps;
        enum probe_outcome outcome;
        bool agrees; /* with the table */
        /* What gate or broker reported, if anything. */
        char *reason, *why, *rule, *fix;
        long long requests; /* that brokers took */
};
void why_probe_clear(struct why_probe *p);

/* words: options of belljar run that make the policy. what: as the user wrote it. *v is the table's answer. */
int why_probe(const struct strlist *words, const char *what, const struct table *t, const struct request *r, const struct verdict *v,
              struct why_probe *ret, struct error *e) _must_check_;
void why_probe_print(const struct why_probe *p, const struct verdict *v);
void why_probe_json(struct json *j, const char *key, const struct why_probe *p);
