/* `tier: auto`: which tier the risk of a run asks for, and which of those that can be had is taken. One table from who
 * wrote the code, what it can reach, what its credentials can do and whether there is an image; docs/tiers.md is made
 * from it. Pure: the facts come from the caller. */
#pragma once

#include <stdbool.h>

#include "base/host-facts.h"
#include "model/control.h"
#include "model/policy.h"

/* Each in the order of growing risk. */
enum risk_reach {
        REACH_NONE,
        REACH_LOCAL,   /* private addresses that rules name, and nothing else */
        REACH_LISTED,  /* hosts of the internet, each named by a rule */
        REACH_ANYWHERE, /* a wildcard, or an unread connection (L4) to any address */
        REACH_N
};
enum risk_credentials {
        CREDENTIALS_NONE,
        CREDENTIALS_NARROW, /* they can read only, or be used with one host only */
        CREDENTIALS_WRITE,  /* anything more, and what is not known */
        CREDENTIALS_N
};

struct risk_facts {
        enum trust trust;
        enum risk_reach reach;
        enum risk_credentials credentials;
        bool has_image;
        unsigned available; /* risk_tier_bit of each tier that this host and this version can give */
        enum tier min_tier; /* of the policy; TIER_PROCESS or TIER_AUTO: none */
        const char *obstacle; /* why the host gives no process or container, in a few words (risk_obstacle); NULL: not known */
};

#define RISK_LINE_MAX 110 /* columns; all of ASCII */
struct risk_choice {
        enum tier asked; /* by the table, which knows nothing of the minimum */
        enum tier taken;
        bool weaker;     /* taken is below asked; the line says what is missing */
        char line[RISK_LINE_MAX + 1]; /* "tier process: no image, own code, ...": for the start of the run */
};

/* The CONTROL_IN_ bit of a tier; TIER_AUTO has none. */
static inline unsigned risk_tier_bit(enum tier t) { return t == TIER_AUTO ? 0 : 1u << (t - TIER_PROCESS); }

/* What the table says. */
enum tier risk_asked(enum trust trust, enum risk_reach reach, enum risk_credentials credentials, bool has_image);

/* Takes the weakest available tier that is no weaker than what the table and the minimum ask for; where there is none,
 * the strongest available that is no weaker than the minimum. Without an image that is the process tier or none. An
 * error (EINVAL: the policy contradicts itself; ENOTSUP: host or version lack it) where nothing is left. */
int risk_choose(const struct risk_facts *f, struct risk_choice *ret, struct error *e) _must_check_;

/* What on this host forbids the tier, of what the facts show (probe_start in sys/probe.h, or doctor's); NULL: nothing. Short
 * enough for a line. */
const char *risk_obstacle(const struct host_facts *f, enum tier t);

/* In words, as the lines have them: "no network", "narrow credentials". */
const char *risk_reach_name(enum risk_reach r);
const char *risk_credentials_name(enum risk_credentials c);

/* docs/tiers.md, as `belljar policy tiers` prints it. NULL: no memory. */
char *risk_doc(void);
