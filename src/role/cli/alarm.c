/* See alarm.h. */
#include <stdio.h>

#include "role/cli/alarm.h"

void alarm_say(const char *sandbox, enum trip_do done, const char *hold, const char *why, bool raw) {
        static const char *const what[TRIP_DO_N] = {
                [TRIP_WARN] = "the run goes on", [TRIP_CUT] = "network and credentials are cut",
                [TRIP_HOLD] = "network and credentials are cut, everything is frozen", [TRIP_KILL] = "the run is ended",
        };
        const char *end = raw ? "\r\n" : "\n", *begin = raw ? "\r\n" : "";

        fprintf(stderr, "%sbelljar: alarm: %s: %s%s", begin, why, (unsigned)done < TRIP_DO_N ? what[done] : "?", end);
        if (done == TRIP_HOLD && hold[0])
                fprintf(stderr, "  belljar release --hold %s, or belljar kill %s%s", hold, sandbox, end);
        else if (done == TRIP_HOLD)
                fprintf(stderr, "  it is held already; belljar kill %s ends it%s", sandbox, end);
}
