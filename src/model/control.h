/* The controls that tiers are made of: one table for run (--without=), inspect, doctor and the manual. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/policy.h"

enum control_id {
        CONTROL_USER_NAMESPACE,
        CONTROL_INNER_USER_NAMESPACE,
        CONTROL_MOUNT_NAMESPACE,
        CONTROL_PID_NAMESPACE,
        CONTROL_IPC_NAMESPACE,
        CONTROL_UTS_NAMESPACE,
        CONTROL_NET_NAMESPACE,
        CONTROL_CGROUP_NAMESPACE,
        CONTROL_LANDLOCK,
        CONTROL_SECCOMP,
        CONTROL_NO_NEW_PRIVS,
        CONTROL_CAPABILITIES,
        CONTROL_CGROUP_MEMORY,
        CONTROL_CGROUP_PIDS,
        CONTROL_CGROUP_CPU,
        CONTROL_CGROUP_KILL,
        CONTROL_CGROUP_FREEZE,
        CONTROL_DISK_QUOTA,
        CONTROL_PROC_MOUNT,
        CONTROL_OVERLAY,
        CONTROL_IDMAPPED_MOUNTS,
        CONTROL_NETWORK_REDIRECT,
        CONTROL_N
};

/* Bits of control.required, one a tier. */
#define CONTROL_IN_PROCESS 1u
#define CONTROL_IN_CONTAINER 2u
#define CONTROL_IN_MICROVM 4u
#define CONTROL_IN_VM 8u

struct control {
        enum control_id id;
        const char *name;       /* as --without= takes it */
        const char *meaning;    /* one line: what it does */
        const char *loss;       /* one line: what is lost without it (and without its substitute) */
        unsigned required;      /* CONTROL_IN_ bits of the tiers that do not start without it */
        const char *kernel;     /* earliest kernel that has it in the form used, "5.13" */
        bool with_network;      /* runs that have a network policy do not start without it, in any tier */
        bool later;             /* no version up to this one sets it: the substitute stands in on every host */
        const char *substitute; /* what bounds the same thing where it is missing (docs/threat-model.md); NULL: none */
};

const struct control *control_get(enum control_id id);
/* By name; NULL when there is none. */
const struct control *control_find(const char *name);
/* Required in that tier (TIER_AUTO: in the process tier, which every choice falls back on). */
bool control_required(const struct control *c, enum tier tier);
/* The tiers that this version can run. */
bool control_tier_built(enum tier tier);

/* The names of capabilities (bits) as capabilities(7) has them, in lower case and without "cap_", separated by commas;
 * "none". Returns dst. */
enum { CAPABILITIES_TEXT = 640 };
#define ALL_CAPABILITIES ((1ull << 41) - 1) /* CAP_CHECKPOINT_RESTORE is the last, since 5.9 */
const char *capabilities_format(char dst[CAPABILITIES_TEXT], uint64_t bits);
/* The bits of such a text; what it does not know is left out. */
uint64_t capabilities_parse(const char *text);
