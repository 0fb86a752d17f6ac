/* Whether the supervisor still answers. One that is killed or stopped is seen by the kernel's word (guard.c); one that hangs, is
 * frozen or traced is seen by asking, and it is asked only when there is something to carry for it: output, keys, a call, a signal,
 * or when the run's time is up. A run that does nothing costs no timer. Pure but for the clock, which the caller reads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

/* It is asked when it has said nothing for so long. A call is served only if it has said something since. */
#define PULSE_ASK_MS 1000u
/* Twice unanswered for so long: it is lost. Twice, since all that runs here may have been suspended together. */
#define PULSE_ANSWER_MS 5000u
#define PULSE_TRIES 2u

struct pulse {
        bool watched; /* from the command's start to its end: before and after the supervisor may be busy for long */
        uint64_t heard;   /* ms: when it said something */
        uint64_t asked;   /* ms: when it was asked; 0: nothing is open */
        unsigned tries;   /* unanswered */
        uint64_t look_at; /* ms: when it is asked in any case; 0: never */
        uint64_t time;    /* ms: the run's time; 0: none */
};

void pulse_begin(struct pulse *p, uint64_t now, uint64_t time);
/* A message of the supervisor. */
void pulse_heard(struct pulse *p, uint64_t now);
/* It says that everything inside has ended. */
void pulse_end(struct pulse *p);
/* True while a call may be served. */
bool pulse_fresh(const struct pulse *p, uint64_t now);

enum pulse_do { PULSE_NOTHING, PULSE_ASK, PULSE_LOST };
/* Something is to be carried (busy), or time has passed, and the supervisor's socket holds nothing to be read. */
enum pulse_do pulse_turn(struct pulse *p, uint64_t now, bool busy) _must_check_;
/* ms until the next turn; -1: none is needed. busy: it is carried for the run all the time, without events that the guard sees. */
int pulse_due(const struct pulse *p, uint64_t now, bool busy);
