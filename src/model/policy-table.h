/* The one table of a policy's keys: the reader (policy.c), the setters (policy-set.c) and the JSON Schema
 * (policy-schema.c) are driven by it, and tests hold docs/policy.md against it. Private to these files and their
 * tests. */
#pragma once

#include "model/policy.h"

enum key_type {
        KEY_SECTION,  /* a mapping of the keys below it */
        KEY_VERSION,  /* the number 1 */
        KEY_CHOICE,   /* one of `choices`; the field is an enum with the same order */
        KEY_PATH,     /* char * */
        KEY_PATHS,    /* struct strlist */
        KEY_GLOBS,    /* struct strlist of patterns (glob.h) */
        KEY_NAMES,    /* struct strlist of control names */
        KEY_WORDS,    /* struct strlist of a program and its arguments: entrypoint */
        KEY_IMAGE,    /* char *, an image's name (image-name.h) */
        KEY_USER,     /* char *, "USER" or "USER:GROUP" */
        KEY_WORKDIR,  /* char *, a directory as seen inside */
        KEY_NAME,     /* char *, the name of a workspace */
        KEY_INSIDE,   /* char *, a place that something of the host is put at inside */
        KEY_VOLUMES,  /* volumes and n_volumes: a list of mappings of the keys below it, or of their short form */
        KEY_ENV,      /* env and n_env */
        KEY_SIZE,     /* struct limit in bytes */
        KEY_CPU,      /* struct limit in thousandths of a CPU */
        KEY_COUNT,    /* struct limit */
        KEY_DURATION, /* struct limit in ms */
        KEY_NETWORK,  /* network: a list of mappings of the keys below it, all of which policy-network.c reads */
        KEY_HOST,     /* of a rule */
        KEY_PORT,     /* of a rule: a number, a range, or a list of them */
        KEY_PROTOCOL, /* of a rule: one of network_protocol_names */
        KEY_TEXTS,    /* of a rule: a list */
        KEY_SHAPES,   /* of a rule: a list of network_shape_names */
        KEY_QUERY,    /* of a rule: a list of keys, or a mapping of keys to patterns */
        KEY_SECRET,   /* of a rule: the name of one */
        KEY_ORIGIN,   /* of a rule: scheme, host and port */
        KEY_USE,      /* struct strlist of the names of recipes and presets (policy-use.c) */
        KEY_PRESET,   /* of a rule: the name of a file in policies/ */
        KEY_PARAMETER, /* of a preset */
        KEY_BOOL,     /* of a rule */
        KEY_BYTES,    /* uint64_t, a size; of a rule, or within struct policy */
        KEY_NUMBER,   /* likewise, a whole number */
        KEY_PLACES,   /* quiet: a list of hosts, each with or without a port */
        KEY_URLS,     /* given: a list of URLs */
        KEY_SECRETS,  /* network.secrets: a mapping of names to mappings of the keys below it (policy-secrets.c) */
        KEY_SECRET_TEXT, /* of a secret */
        KEY_MINT,     /* of a secret: a mapping of the keys below it (policy-mint.c) */
        KEY_MINT_TEXT, /* of these: a text */
        KEY_MINT_MAP,  /* a mapping of names to levels */
        KEY_GIT_SSH,  /* git.hosts: a list of mappings of the keys below it (policy-git.c) */
        KEY_SIGN,     /* git.sign: a mapping of the keys below it (policy-git.c) */
        KEY_GIT_TEXT, /* of these */
        KEY_TRIPWIRES, /* wires: a list of mappings of the keys below it (policy-tripwires.c) */
        KEY_TRIP_WORD, /* of one: one of `choices` */
        KEY_LATER,    /* a key of the design that this version does not enforce: refused */
};

struct policy_key {
        const char *name;           /* from the top, with dots: "limits.memory" */
        enum key_type type;
        size_t field;               /* offset in struct policy; of a key below KEY_VOLUMES or KEY_NETWORK: unused */
        uint64_t min, max;          /* of a limit, KEY_BYTES and KEY_NUMBER */
        const char *const *choices; /* NULL-terminated; the first is the default */
        bool required;
        const char *unset;          /* what holds when the key is left out, for the schema and messages; or NULL */
        const char *doc;            /* one sentence, for the schema */
        size_t place;               /* offset of its struct policy_place; 0: none is kept */
};
extern const struct policy_key policy_keys[];
extern const size_t n_policy_keys;

extern const char *const tier_choices[], *const trust_choices[], *const workspace_mode_choices[], *const nesting_choices[], *const trace_choices[],
        *const volume_mode_choices[], *const git_access_choices[];

#define POLICY_PATH_MAX 4096u    /* bytes */
#define POLICY_LIST_MAX 4096u    /* entries of a list */
#define POLICY_ENV_MAX 1024u     /* variables */
#define POLICY_ENV_BYTES 131072u /* "NAME=VALUE" with its NUL: MAX_ARG_STRLEN, what execve takes */
#define POLICY_NAME_MAX 64u      /* bytes of a control's name */
#define POLICY_WORKSPACE_NAME_MAX 63u /* bytes */
#define POLICY_ID_MAX 65535u          /* ids inside run from 0 to this at most (svc/ids.h) */
#define POLICY_WORD_BYTES 131072u     /* of one argument with its NUL: MAX_ARG_STRLEN */
#define POLICY_VOLUMES_MAX 256u
#define POLICY_PIDS_DEFAULT 4096u
#define POLICY_PARAMETER_MAX 200u     /* bytes of a preset's parameter */

/* The part after the last dot. */
const char *policy_key_leaf(const struct policy_key *k);
/* True when k lies directly within parent (NULL: the top). */
bool policy_key_within(const struct policy_key *k, const struct policy_key *parent);
/* The key `leaf` directly within parent; NULL when there is none. */
const struct policy_key *policy_key_find(const struct policy_key *parent, const char *leaf);
/* The limit that the key stands for; NULL for a key of another kind. */
const struct limit *policy_limit_of(const struct policy *p, const struct policy_key *k);
/* The key that was most likely meant; NULL when nothing is near. */
const struct policy_key *policy_key_nearest(const struct policy_key *parent, const char *leaf);

/* The setters, for text that stands for a value of the key's type; error messages begin with the value or the key
 * and carry no position. */
int policy_set_scalar(struct policy *p, const struct policy_key *k, const char *text, struct error *e) _must_check_;
/* The number that text stands for: of a limit, KEY_BYTES or KEY_NUMBER, within the key's range. */
int policy_parse_amount(const struct policy_key *k, const char *text, uint64_t *ret, struct error *e) _must_check_;
/* One entry of a KEY_PATHS, KEY_GLOBS, KEY_NAMES or KEY_WORDS list. */
int policy_add_item(struct policy *p, const struct policy_key *k, const char *text, struct error *e) _must_check_;
/* value NULL: the caller's. */
int policy_set_env(struct policy *p, const char *name, const char *value, struct error *e) _must_check_;

/* The checks of types that are about the inside (policy-inside.c): KEY_IMAGE, KEY_USER, KEY_WORKDIR, KEY_NAME,
 * KEY_INSIDE and KEY_WORDS. */
int policy_check_text(
        const struct policy *p, const struct policy_key *k, const char *text, struct error *e) _must_check_;
int policy_check_path(const struct policy_key *k, const char *text, struct error *e) _must_check_;
/* Puts a copy into *field. */
int policy_keep(char **field, const char *text, struct error *e) _must_check_;
/* With nothing written, the mode follows from whether the workspace has a name. */
void policy_default_mode(struct policy *p);
/* One value of a volume's mapping; k is a key below KEY_VOLUMES. */
int policy_check_volume(const struct policy_key *k, const char *text, struct error *e) _must_check_;
/* Adds one whose parts have been checked. */
int policy_keep_volume(struct policy *p, const char *host, const char *inside, bool writable, struct policy_place place,
                       struct error *e) _must_check_;

/* Text cut for a message, at a whole character, with "..." where something was left out. Returns dst. */
#define POLICY_BRIEF 72
const char *policy_brief(char dst[POLICY_BRIEF], const char *s);

/* The wires of an event go, or only those that are defaults; and a word of a wire (policy-options.c). */
void policy_drop_wires(struct policy *p, enum trip_on on, bool defaults);
int policy_trip_word(const char *const *choices, const char *text, unsigned *ret, struct error *e) _must_check_;
