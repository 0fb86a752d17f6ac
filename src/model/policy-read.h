/* What the parts of the policy reader share: policy.c, policy-network.c. Private to them. */
#pragma once

#include "model/policy-table.h"
#include "proto/yaml.h"

struct policy_reader {
        struct policy *p;
        const char *name; /* of the file */
        struct error *e;  /* never NULL */
};

/* Puts the place in front of an error that has been set; returns it. */
int policy_read_place(struct policy_reader *c, const struct yaml_node *n);
/* A scalar that stands for one value of a table's type. */
int policy_read_scalar(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n) _must_check_;
/* "[a b]" is one entry that names nothing: it must not pass for two. */
int policy_read_blank(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n) _must_check_;
/* A list of texts, none of them blank: add is called with each, and where it fails the place of that entry is said. */
int policy_read_items(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list,
                      int (*add)(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n)) _must_check_;
/* Errors. */
int policy_read_not_a_list(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *n);
int policy_read_not_a_mapping(struct policy_reader *c, const char *what, const struct yaml_node *n);
int policy_read_unknown(struct policy_reader *c, const struct policy_key *section, const struct yaml_node *key);
const char *policy_read_kind(const struct yaml_node *n);
const struct yaml_node *policy_read_find(const struct yaml_node *map, const char *name);

/* KEY_SECRETS (policy-secrets.c). */
int policy_read_secrets(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *map) _must_check_;
/* KEY_MINT of a secret, the last one so far (policy-mint.c). */
int policy_read_mint(struct policy_reader *c, struct secret *s, const struct policy_key *section, const struct yaml_node *map) _must_check_;
/* KEY_GIT_SSH and KEY_SIGN (policy-git.c). */
int policy_read_git_ssh(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list) _must_check_;
int policy_read_sign(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *map) _must_check_;
/* KEY_TRIPWIRES (policy-tripwires.c). */
int policy_read_tripwires(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list) _must_check_;
/* KEY_USE (policy-use.c). */
int policy_read_use(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list) _must_check_;
/* The rules of a preset, or of a recipe, which may use presets: known by `name` as theirs, at this place of the policy. */
int policy_read_rules_of(struct policy_reader *c, const struct yaml_node *list, const char *name,
                         struct policy_place at) _must_check_;
/* A recipe's hosts that are refused quietly. */
int policy_read_quiet_of(struct policy_reader *c, const struct yaml_node *list, const char *name,
                         struct policy_place at) _must_check_;

/* KEY_NETWORK and KEY_PLACES (policy-network.c). */
int policy_read_network(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list) _must_check_;
int policy_read_quiet(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list) _must_check_;
int policy_read_given(struct policy_reader *c, const struct policy_key *k, const struct yaml_node *list) _must_check_; /* KEY_URLS */
