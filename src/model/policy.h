/* What a user asked for, from belljar.yaml and the command line, before it meets a host. Pure: no I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "model/git.h"
#include "model/network.h"
#include "model/tripwire.h"

enum tier { TIER_AUTO, TIER_PROCESS, TIER_CONTAINER, TIER_MICROVM, TIER_VM };
enum trust { TRUST_UNKNOWN, TRUST_REVIEWED, TRUST_OWN };
enum workspace_mode { WORKSPACE_COW, WORKSPACE_RW, WORKSPACE_RO };
enum trace { TRACE_OFF, TRACE_EXECS }; /* what of its processes is recorded */
enum nesting { NESTING_NONE, NESTING_USERNS }; /* what the run may build of its own */

/* A limit that the user wrote must be held or the run is refused; a default may be held by a weaker means. */
enum limit_origin { LIMIT_NONE, LIMIT_DEFAULT, LIMIT_USER };
struct limit {
        uint64_t value; /* bytes, thousandths of a CPU, processes, milliseconds: by the field's comment */
        enum limit_origin origin;
};

struct limits {
        struct limit memory; /* bytes, all processes together */
        struct limit cpu;    /* thousandths of one CPU */
        struct limit pids;   /* processes and threads */
        struct limit disk;   /* bytes that the run may add to its upper layer or workspace */
        struct limit output; /* bytes on stdout and stderr together */
        struct limit time;   /* ms of wall time */
        struct limit idle;   /* ms without CPU use and terminal traffic */
};

/* A variable for the sandbox: with a value, or (value NULL) taken over from the caller's environment. */
struct env_rule {
        char *name, *value;
};

/* Where a value stands in the file. Line 0: it is a default, or was set by the command line. */
struct policy_place {
        unsigned line, column; /* from 1 */
};

/* A file that a recipe puts into the sandbox's /etc, where there is none of that name. */
struct policy_file {
        char *path, *text;
        char *recipe; /* its name */
};

/* A file or directory of the host that stands at another place inside. */
struct volume {
        char *host;   /* as written (~ and relative allowed) */
        char *inside; /* absolute and clean; not /, nor within /proc, /sys or /dev; no other volume's */
        bool writable;
        struct policy_place place;
};

struct policy {
        char *source; /* the file it was read from; NULL: none */
        enum tier tier;
        enum tier min_tier; /* what TIER_AUTO does not go below and `tier` may not be below; TIER_PROCESS: no minimum */
        enum trust trust;
        enum nesting nesting;
        enum trace trace;
        char *image; /* as written, of the form that image-name.h says; NULL: none */
        char *user;  /* "USER" or "USER:GROUP", each a name or a number; NULL: the image's */
        struct strlist entrypoint; /* in place of the image's, where has_entrypoint; may be empty: none */
        bool has_entrypoint;
        char *workdir; /* as seen inside; a relative one begins at the workspace; NULL: where the run would start by
                          itself */
        struct {
                char *path;   /* as written; NULL: the working directory, where there is no name either */
                char *name;   /* of a workspace that Belljar keeps; never beside a path */
                char *inside; /* where it stands in an image's root, absolute and clean; NULL: POLICY_WORKSPACE_INSIDE
                               */
                enum workspace_mode mode; /* where nothing was written: cow, and rw for one that has a name */
                bool mode_written;
        } workspace;
        struct volume *volumes;
        size_t n_volumes;
        struct strlist read; /* host paths to be seen read-only, as written (~ and relative allowed) */
        struct strlist hide; /* paths or globs, as written */
        struct strlist guarded; /* globs of what belljar apply guards beyond its table */
        struct strlist use;  /* recipes and presets that are in here, by name (policy-use.c) */
        struct strlist read_there; /* host paths, with ~, that a recipe shows read-only on the host's root where they exist */
        struct policy_file *files;
        size_t n_files;
        struct env_rule *env;
        size_t n_env;
        struct limits limits;
        struct strlist without; /* controls that the user does without, by name (control.h) */
        struct network network; /* its source is the policy's */
        struct git_policy git;  /* git_ssh and sign */
        struct trip_wire wires[TRIP_WIRES_MAX]; /* tripwires */
        size_t n_wires;
        struct {
                struct policy_place tier, min_tier, image, user, entrypoint, workdir, mode, name, inside;
        } places;
};

#define POLICY_WORKSPACE_INSIDE "/workspace"

/* A policy with the defaults of docs/policy.md. NULL when memory is out. */
struct policy *policy_new(void);
void policy_free(struct policy *p);
static inline void policy_freep(struct policy **p) { policy_free(*p); }
#define _cleanup_policy_ _cleanup_(policy_freep)

/* Reads a policy over the defaults. `name` is what errors call the file ("belljar.yaml:3:7: ..."). Strict: unknown
 * and duplicate keys, anchors, aliases, tags, a second document, wrong types and values out of range are errors. */
int policy_parse(const char *text, size_t len, const char *name, struct policy **ret, struct error *e) _must_check_;

/* Sets one limit from text, as "--memory 2GiB" does; name is a key of `limits:`. */
int policy_set_limit(struct policy *p, const char *name, const char *value, struct error *e) _must_check_;
/* "NAME=VALUE" or "NAME". Names are [A-Za-z_][A-Za-z0-9_]*; a later rule replaces an earlier one. */
int policy_add_env(struct policy *p, const char *assignment, struct error *e) _must_check_;

/* Add what "--read", "--hide" and "--without" name, with the checks that the file's lists have. */
int policy_add_read(struct policy *p, const char *path, struct error *e) _must_check_;
int policy_add_hide(struct policy *p, const char *pattern, struct error *e) _must_check_;
int policy_add_without(struct policy *p, const char *control, struct error *e) _must_check_;

/* Adds a recipe, or a preset that has no parameters, as `use` of the file and --use do: its rules, and of its variables and
 * files what the policy has not set itself. One that is there already is not added again. */
int policy_add_use(struct policy *p, const char *name, struct error *e) _must_check_;

/* "HOST[:PORT]": what --allow, --deny and --quiet add to the rules (network.h). */
int policy_add_allow(struct policy *p, const char *place, struct error *e) _must_check_;
int policy_add_deny(struct policy *p, const char *place, struct error *e) _must_check_;
int policy_add_quiet(struct policy *p, const char *place, struct error *e) _must_check_;
/* --secret: "NAME[=SOURCE][@HOST[:PORT]|PRESET[,...]]": a secret, from env:NAME where no source is named and the policy has none of that
 * name, and for each host a rule that lets any request pass with it. A preset's rules are added with the secret by `add`, which reads
 * YAML (policy_add_preset_with); NULL: what would be one is taken for a host. */
typedef int policy_add_preset(struct policy *p, const char *preset, const char *secret, struct error *e);
int policy_add_secret(struct policy *p, const char *text, policy_add_preset *add, struct error *e) _must_check_;
policy_add_preset policy_add_preset_with;
/* Whether text names a preset. */
bool policy_secret_has_preset(const char *text);
/* --tripwire EVENT=ACTION: the event's wires do that, or (off) there are none. */
int policy_set_tripwire(struct policy *p, const char *text, struct error *e) _must_check_;
/* --given */
int policy_add_given(struct policy *p, const char *url, struct error *e) _must_check_;

/* What options of the command line set, with the checks that the file's keys have; each takes the place of what the
 * file says. */
int policy_set_tier(struct policy *p, const char *tier, struct error *e) _must_check_;
/* Only ever raises: one below the file's is an error. */
int policy_set_min_tier(struct policy *p, const char *tier, struct error *e) _must_check_;
int policy_set_trust(struct policy *p, const char *trust, struct error *e) _must_check_;
int policy_set_nesting(struct policy *p, const char *nesting, struct error *e) _must_check_;
int policy_set_trace(struct policy *p, const char *trace, struct error *e) _must_check_;
int policy_set_image(struct policy *p, const char *name, struct error *e) _must_check_;
int policy_set_user(struct policy *p, const char *user, struct error *e) _must_check_;
int policy_set_workdir(struct policy *p, const char *dir, struct error *e) _must_check_;
/* One word, the program; "" for none, as docker has it. */
int policy_set_entrypoint(struct policy *p, const char *program, struct error *e) _must_check_;
/* A path takes the place of a name, and a name that of a path. */
int policy_set_workspace_path(struct policy *p, const char *path, struct error *e) _must_check_;
int policy_set_workspace_name(struct policy *p, const char *name, struct error *e) _must_check_;
int policy_set_workspace_mode(struct policy *p, const char *mode, struct error *e) _must_check_;
int policy_set_workspace_inside(struct policy *p, const char *dir, struct error *e) _must_check_;
/* "HOST:INSIDE[:ro|rw]", without a mode ro. It is the last of p->volumes then, HOST as written. */
int policy_add_volume(struct policy *p, const char *text, struct error *e) _must_check_;

/* What keys must be to each other, once file and command line are read: a tier that is not below the minimum and can
 * run what there is, no key for an image without one, no two things at one place. Messages name both keys with the
 * lines where they stand. To be called before a run is prepared. */
int policy_check(const struct policy *p, struct error *e) _must_check_;

/* The JSON Schema (draft 2020-12) for belljar.yaml, made from the same table as the parser. NULL: no memory. */
char *policy_schema(void);

const char *tier_name(enum tier t);
int tier_parse(const char *s, enum tier *ret) _must_check_;
const char *trust_name(enum trust t);
const char *nesting_name(enum nesting n);
const char *trace_name(enum trace t);
int trust_parse(const char *s, enum trust *ret) _must_check_;
const char *workspace_mode_name(enum workspace_mode m);
int workspace_mode_parse(const char *s, enum workspace_mode *ret) _must_check_;
