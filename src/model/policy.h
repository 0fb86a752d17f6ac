/* What a user asked for, from belljar.yaml and the command line, before it meets a host. Pure: no I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum tier { TIER_AUTO, TIER_PROCESS, TIER_CONTAINER, TIER_MICROVM, TIER_VM };
enum trust { TRUST_UNKNOWN, TRUST_REVIEWED, TRUST_OWN };
enum workspace_mode { WORKSPACE_COW, WORKSPACE_RW, WORKSPACE_RO };

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

struct policy {
        char *source; /* the file it was read from; NULL: none */
        enum tier tier;
        enum trust trust;
        struct {
                char *path; /* as written; NULL: the working directory */
                enum workspace_mode mode;
        } workspace;
        struct strlist read; /* host paths to be seen read-only, as written (~ and relative allowed) */
        struct strlist hide; /* paths or globs, as written */
        struct env_rule *env;
        size_t n_env;
        struct limits limits;
        struct strlist without; /* controls that the user does without, by name (control.h) */
};

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

/* The JSON Schema (draft 2020-12) for belljar.yaml, made from the same table as the parser. NULL: no memory. */
char *policy_schema(void);

const char *tier_name(enum tier t);
int tier_parse(const char *s, enum tier *ret) _must_check_;
const char *trust_name(enum trust t);
int trust_parse(const char *s, enum trust *ret) _must_check_;
const char *workspace_mode_name(enum workspace_mode m);
int workspace_mode_parse(const char *s, enum workspace_mode *ret) _must_check_;
