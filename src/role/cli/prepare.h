/* From the words of `belljar run` to a plan: options, policy file, facts of the host. */
#pragma once

#include "base/error.h"
#include "model/plan.h"
#include "model/policy.h"
#include "model/risk.h"
#include "role/cli/call-keys.h"
#include "role/cli/credentials.h"
#include "role/cli/grant.h"
#include "svc/host.h"
#include "svc/image-user.h"
#include "svc/image.h"
#include "svc/net-ca.h"
#include "sys/cgroup-find.h"

/* What a run has for its root where Belljar itself says what runs there (image build): no image, but files of its own and the
 * host's programs. */
struct run_root {
        const char *name;          /* shown in place of an image's */
        struct view_file *files;   /* taken over by the plan's facts */
        size_t n_files;
        const struct strlist *trees; /* in pairs: a directory of Belljar's own, shown read-only, and its place inside */
};

struct run_options {
        struct run_root *root;     /* NULL: none */
        struct policy *policy;
        struct plan_publish publish[PUBLISH_MAX]; /* -p */
        size_t n_publish;
        const char *policy_file;
        const char *events_file;   /* --events */
        int events;                /* its fd; 0: none */
        struct strlist late; /* "key\0value" pairs that override the policy file, in order */
        const char *name;
        const char *parent;        /* --parent */
        struct plan_delegate *delegates; /* --delegate */
        size_t n_delegates;
        struct grant *grant;       /* of a sub-run (grant.h); else NULL */
        bool no_workspace, rm, tty, no_tty, quiet, dry_run, json;
        char **argv;
        int argc;
};
void run_options_clear(struct run_options *o);

int run_options_parse(struct run_options *o, int argc, char **argv, struct error *e) _must_check_;

/* What prepare makes beside the plan. */
struct prepared {
        struct plan *plan;
        struct host host;
        struct cgroup_layout layout;
        int workspace_lock; /* of a named workspace; -1: none */
        int id_lock;      /* holds the range of ids; -1: none */
        mode_t workspace_mode; /* permissions of the workspace directory */
        struct image image;    /* with a lock on its layers; where the plan has an image */
        struct ids ids;        /* likewise: behind its users */
        struct image_user user;/* likewise: whom the command runs as */
        struct net_ca ca; /* the sandbox's; where it has a network */
        struct credentials credentials; /* of plan->network.secrets; none of a dry run */
        struct call_keys call_keys;     /* of plan->git, likewise */
        char *ca_bundle;  /* where there is one: the file inside that the CA is in with all others */
};
#define PREPARED_NONE (struct prepared){.id_lock = -EBADF, .workspace_lock = -EBADF, .ca = NET_CA_NONE}
void prepared_clear(struct prepared *p);
#define _cleanup_prepared_ _cleanup_(prepared_clear)

/* Runs what was prepared, and ends the process with the run's exit status; EXIT_BELLJAR where it did not come to that. Both
 * arguments are used up. */
int run_prepared(struct run_options *o, struct prepared *x);

/* The plan's id is a place for one: it is known when the sandbox's directory is made. */
int prepare(const struct run_options *o, struct prepared *ret, struct error *e) _must_check_;

/* Parts of prepare for a run on an image (prepare-image.c): opens it, and finds the ids and the user; then what the
 * command is, where it starts and its environment, once the workspace is known. */
int prepare_image_open(const struct run_options *o, struct prepared *x, struct error *e) _must_check_;
int prepare_image_command(const struct run_options *o, struct prepared *x, struct error *e) _must_check_;
int prepare_image_facts(struct prepared *x, struct error *e) _must_check_;
/* The network's rules, compiled (prepare-network.c); and what they reach and what their secrets can do, by which a tier is chosen. */
/* Memory of the URLs that the run is given (svc/net-given.h); a negative errno. */
int prepare_given(const struct policy *policy, char **argv, size_t argc) _must_check_;
int prepare_network(const struct policy *policy, const struct plan_publish *publish, size_t n_publish, struct plan *plan,
                    struct error *e) _must_check_;
enum risk_reach prepare_reach(const struct network *n);
enum risk_credentials prepare_credentials_risk(const struct network *n);
/* The same for a run_root (prepare-root.c). */
int prepare_root_open(const struct run_options *o, struct prepared *x, struct error *e) _must_check_;
int prepare_root_facts(const struct run_options *o, struct prepared *x, struct error *e) _must_check_;
/* What the run can call (prepare-calls.c): after the view's facts and volumes, before the view; then, behind the
 * view, whether that shows a key, and what git is told. */
/* The paths of its keys, as the policy's file has them: relative to base. */
int prepare_calls_paths(struct policy *p, const char *base, const char *home, struct error *e) _must_check_;
int prepare_calls(const struct run_options *o, struct prepared *x, struct error *e) _must_check_;
int prepare_calls_environment(const struct run_options *o, struct prepared *x, struct error *e) _must_check_;
/* --delegate (prepare-delegates.c); before prepare_calls. */
int prepare_delegates(const struct run_options *o, struct prepared *x, struct error *e) _must_check_;
/* A policy names commands that run outside. One that lies where a run of this plan writes may have been written by a run before. */
int prepare_check_sources(const char *policy_file, const struct secret *secrets, size_t n, const struct plan *p, struct error *e) _must_check_;
/* What -v shows (prepare-volumes.c). */
int prepare_volumes(const struct policy *policy, struct prepared *x, struct error *e) _must_check_;
/* The sandbox's CA, where a rule looks at requests within TLS, and what the view has so that programs trust it; then, once the
 * environment is made, the variables for those that look elsewhere (prepare-trust.c, model/trust.h). */
int prepare_trust_begin(const struct run_options *o, struct prepared *x, struct error *e) _must_check_; /* first of all */
int prepare_trust(const struct run_options *o, struct prepared *x, struct error *e) _must_check_;
int prepare_trust_environment(const struct run_options *o, struct prepared *x, struct error *e) _must_check_;
