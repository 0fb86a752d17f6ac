/* `belljar kill|cut|hold|release|pause|resume`: requests to supervisors (proto/control-msg.h). docs/stop.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/control-msg.h"
#include "svc/state.h"

/* The request of that verb, CONTROL_KILL and what follows it; 0: none of them. */
uint32_t stop_verb(const char *word);
/* A hold's id begins with its sandbox's, up to the full stop. */
bool stop_sandbox_of(const char *hold, char *ret, size_t size);
/* Asks all of them first and waits for their answers then. Prints the id of each for which it was done, of a hold its own; what was refused
 * is an error on stderr. hold: of CONTROL_RELEASE. skip: those that do not run are no error (--all). -1: at least one failed. */
int stop_ask(uint32_t verb, const struct state *const *of, size_t n, const char *hold, bool skip);
