/* Tripwires: what is an alarm, how many of them within which time ring, and what is done then. Pure, in memory of fixed size: the
 * supervisor weighs every event of a run here (supervisor/stop.c). docs/stop.md is the reference. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "proto/json.h"

enum trip_on {
        TRIP_DENIED,      /* something that the policy does not allow was tried */
        TRIP_REROUTED,    /* refused, then tried by another way */
        TRIP_PLACEHOLDER, /* a secret's placeholder stood where it does not belong */
        TRIP_BUDGET,      /* a budget is spent */
        TRIP_PAYLOAD,     /* a request had a form of payload that the rule refuses */
        TRIP_N,
        /* Of the design, and seen by nothing in this version: a policy that has one is refused. */
        TRIP_EXEC = TRIP_N, TRIP_GUARDED, TRIP_CANARY, TRIP_LIMIT, TRIP_LOST,
        TRIP_NAMES,
};

/* In the order of their weight. */
enum trip_do {
        TRIP_WARN, /* says so */
        TRIP_CUT,  /* no network and no credentials any more */
        TRIP_HOLD, /* cut, and frozen until a person decides */
        TRIP_KILL, /* cut, and ended */
        TRIP_DO_N,
        TRIP_OFF = TRIP_DO_N, /* of an entry of a policy only: the event has no wire, also no default */
};
extern const char *const trip_on_names[TRIP_NAMES + 1], *const trip_do_names[TRIP_DO_N + 2]; /* with off; NULL-terminated */

enum {
        TRIP_WIRES_MAX = 32,  /* of a policy, defaults among them */
        TRIP_COUNT_MAX = 256, /* of one */
        TRIP_GOALS_MAX = 32,  /* refused goals that are remembered; the oldest makes room */
        TRIP_GOAL_MAX = 254,  /* bytes, with NUL */
};

struct trip_wire {
        enum trip_on on;
        uint32_t count;    /* rings at the so many-th; from 1 */
        uint64_t within;   /* ms */
        enum trip_do act;
        bool distinct;     /* the same goal counts once */
        bool is_default;
        unsigned line, column; /* of the policy; 0: none */
};
/* What every run has that its policy does not replace, event by event. */
extern const struct trip_wire trip_defaults[];
extern const size_t trip_n_defaults;

struct trip_mark {
        uint64_t at; /* ms; 0: free */
        uint64_t key;
};

/* Of one run. Zeroed memory is a set without wires. */
struct tripwires {
        const struct trip_wire *wires;
        size_t n;
        struct trip_mark last[TRIP_N]; /* of each event */
        struct trip_mark marks[TRIP_WIRES_MAX][TRIP_COUNT_MAX];
        struct trip_goal {
                uint64_t at;
                bool address;
                char text[TRIP_GOAL_MAX]; /* lower case; an address as inet_ntop writes it */
        } goals[TRIP_GOALS_MAX];
};

/* "denied, 20 different within 1m: kill (default)"; and the member "tripwires" of an object. */
#define TRIP_TEXT_MAX 96
char *trip_wire_text(const struct trip_wire *w, char text[TRIP_TEXT_MAX]);
void trip_json(struct json *j, const struct trip_wire *wires, size_t n);

/* wires stay the caller's. */
void tripwires_init(struct tripwires *t, const struct trip_wire *wires, size_t n);

/* An event, at `now` (ms, monotonic, not 0) and about `goal` (may be empty). The wire that rings and does most; NULL: none rings. A wire
 * that rings begins to count anew. One try asks for IPv4 and IPv6, and tools try again at once: the same about the same goal within
 * TRIP_SAME_MS is one. */
#define TRIP_SAME_MS 200u
const struct trip_wire *tripwires_note(struct tripwires *t, enum trip_on on, const char *goal, uint64_t now);
/* Whether any wire looks at it. */
bool tripwires_look_at(const struct tripwires *t, enum trip_on on);

/* A goal that was refused: remembered for as long as the wires of TRIP_REROUTED say. Lower case; a name, or an address as
 * inet_ntop(3) writes it, IPv4 without "::ffff:". */
void tripwires_refused(struct tripwires *t, const char *goal, bool address, uint64_t now);
/* Another try, by host (a name, or an address in that form, where `address`) and target (method and URL, or ""): the goal that it leads to by
 * another way, or NULL. fetches: the host is one that does (trip_fetches). A try at the goal itself is none. allowed: what the policy lets pass
 * counts by its URL alone. */
const char *tripwires_way(const struct tripwires *t, const char *host, bool address, const char *target, bool fetches, bool allowed, uint64_t now);

/* Hosts that fetch whatever they are asked for (of policies/relays.list), NULL-terminated; made by the build. Whether host is one of them, or
 * beneath one. */
extern const char *const trip_fetchers[];
bool trip_fetches(const char *host);

/* How much a text has to say of the goal as a place to be reached. */
enum trip_proof {
        TRIP_AS_URL, /* after "//": of requests that the policy allows, which may speak of a goal without being a way to it */
        TRIP_AS_PLACE, /* also at the beginning of a query's value or of the whole, and after "@" */
        TRIP_AS_WORD, /* also as a segment of its own, to hosts that fetch */
};
/* The text names the goal, with an end after it; percent-encoding is looked through (twice). Case does not count. */
bool trip_leads_to(const char *text, size_t n, const char *goal, enum trip_proof proof);
