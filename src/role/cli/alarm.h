/* What an alarm says to the run's caller: at once, whatever the terminal shows, and also with -q. */
#pragma once

#include <stdbool.h>

#include "model/tripwire.h"

/* hold: the id of the hold, or "". why: one line without anything that a terminal obeys. raw: the terminal does not go to the line's beginning
 * by itself. */
void alarm_say(const char *sandbox, enum trip_do done, const char *hold, const char *why, bool raw);
