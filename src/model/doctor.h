/* The judgement of `belljar doctor`: from facts about a host to what each tier and control can be there, what is lost
 * without it and the exact fix. Pure: the facts may be made by hand (tests), and judging changes nothing. */
#pragma once

#include <stdbool.h>

#include "base/host-facts.h"
#include "base/str.h"
#include "model/control.h"

enum doctor_state {
        DOCTOR_YES,
        DOCTOR_SUBSTITUTE, /* bounded by what the control's table entry names */
        DOCTOR_NO,
        DOCTOR_UNUSED, /* of no use for this caller: id-mapped mounts serve runs by root */
};
enum doctor_severity {
        DOCTOR_FINE,
        DOCTOR_WEAKER, /* a substitute stands in */
        DOCTOR_LACKS,  /* an optional control is missing */
        DOCTOR_BLOCKS, /* the process tier does not start */
};

struct doctor_finding {
        const struct control *control;
        enum doctor_state state;
        enum doctor_severity severity;
        char detail[200]; /* how it is met, or what failed; may be "" */
        int fix;          /* index into fixes; -1: none */
};

struct doctor_fix {
        const char *id;  /* stable: "userns-apparmor" */
        char title[160]; /* the cause, one line */
        char text[1400]; /* what to type or change, lines of at most 94 bytes, without a last newline */
};
#define DOCTOR_FIXES_MAX 16

enum doctor_tier_state {
        DOCTOR_TIER_READY,
        DOCTOR_TIER_SUBSTITUTES, /* it runs; some controls by a substitute or not at all */
        DOCTOR_TIER_NO,
        DOCTOR_TIER_UNBUILT, /* not in this version; the detail says what the host would give */
};
struct doctor_tier {
        enum tier tier;
        enum doctor_tier_state state;
        char detail[240];
        int fixes[3]; /* what would help it beyond the controls' fixes; -1: none */
};
#define DOCTOR_TIERS 4

struct doctor_note {
        const char *name; /* stable: "nftables" */
        char text[160];
};
#define DOCTOR_NOTES_MAX 12

struct doctor_report {
        bool ok; /* the process tier can run with every required control */
        struct doctor_tier tiers[DOCTOR_TIERS];
        struct doctor_finding findings[CONTROL_N];
        struct doctor_fix fixes[DOCTOR_FIXES_MAX];
        size_t n_fixes;
        struct doctor_note notes[DOCTOR_NOTES_MAX]; /* facts that bound nothing by themselves */
        size_t n_notes;
};

/* About 30 KB: rather not on a small stack. */
void doctor_judge(const struct host_facts *f, struct doctor_report *ret);

const char *doctor_state_name(enum doctor_state s);           /* "yes", "substitute", "no", "unused" */
const char *doctor_severity_name(enum doctor_severity s);     /* "fine", "weaker", "lacks", "blocks" */
const char *doctor_tier_state_name(enum doctor_tier_state s); /* "ready", "substitutes", "no", "unbuilt" */

/* For people: lines of at most 100 columns; colour adds ANSI sequences. NULL: no memory. */
char *doctor_text(const struct host_facts *f, const struct doctor_report *r, bool colour);
/* One JSON object and a newline; its keys are stable, since programs read them. NULL: no memory. */
char *doctor_json(const struct host_facts *f, const struct doctor_report *r);

/* Within the part: doctor-fix.c. Each returns the index of its fix, adding it at most once; -1 when there is none or
 * no room. */
/* kind: of the namespace, as in the sysctl user.max_KIND_namespaces: "user", "mnt". */
int doctor_fix_userns(const struct host_facts *f, struct probe_result r, const char *kind, struct doctor_report *rep);
int doctor_fix_proc(const struct host_facts *f, struct doctor_report *rep);
int doctor_fix_seccomp(const struct host_facts *f, struct doctor_report *rep);
int doctor_fix_cgroup(const struct host_facts *f, struct doctor_report *rep);
int doctor_fix_landlock(const struct host_facts *f, struct doctor_report *rep);
int doctor_fix_overlay(const struct host_facts *f, struct doctor_report *rep);
int doctor_fix_network(const struct host_facts *f, struct doctor_report *rep);
int doctor_fix_idmap(const struct host_facts *f, struct doctor_report *rep);
int doctor_fix_subids(const struct host_facts *f, struct doctor_report *rep);
int doctor_fix_newuidmap(const struct host_facts *f, struct doctor_report *rep);
int doctor_fix_kvm(const struct host_facts *f, struct doctor_report *rep);
int doctor_fix_qemu(const struct host_facts *f, struct doctor_report *rep);
/* "A newer kernel": one fix for all controls that wait for one; doctor_fix_kernel_done writes its text. */
int doctor_fix_kernel(const struct host_facts *f, struct doctor_report *rep);
void doctor_fix_kernel_done(const struct host_facts *f, struct doctor_report *rep);
/* True when the kernel is older than "5.13". An unknown release counts as new: then what was tried decides. */
bool doctor_older(const struct host_facts *f, const char *version);
