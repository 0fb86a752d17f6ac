/* belljar is two programs. `belljar` starts sandboxes, revokes their secrets, and nothing else: linked without a library, and where that is
 * possible against musl, because an exec of glibc's start-up code costs as much as half a sandbox on a virtual machine
 * (its dozens of cpuid instructions trap). `belljar-tool` is the whole: belljar becomes it (execve) for every other
 * command, and for a run whose policy is a file. */
#pragma once

#include "base/error.h"
#include "model/policy.h"

/* A variable that names a descriptor which is not closed at the start. */
#define KEEP_FD "BELLJAR_KEEP_FD"

/* Reads a policy file. In belljar: becomes belljar-tool, and returns only if that fails. */
int tool_policy(const char *path, struct policy **ret, struct error *e) _must_check_;
/* policy_add_use, which reads YAML. In belljar: as above. */
int tool_use(struct policy *p, const char *name, struct error *e) _must_check_;
/* policy_add_secret, likewise where it names a preset. */
int tool_secret(struct policy *p, const char *text, struct error *e) _must_check_;
/* --parent: asks the parent, and narrows the policy to what a sub-run inherits; fills o->grant. In belljar: as above. */
struct run_options;
int tool_grant(struct run_options *o, struct error *e) _must_check_;
/* --delegate NAME=FILE: reads it; and, once the run's own plan stands, holds all of them against it. In belljar: as above. */
struct prepared;
int tool_delegate(struct run_options *o, const char *text, struct error *e) _must_check_;
int tool_delegates(const struct run_options *o, const struct prepared *x, struct error *e) _must_check_;
/* tool_grant for a parent that has not started yet, as it was prepared. */
int tool_grant_at_start(struct run_options *o, const struct prepared *x, struct error *e) _must_check_;
/* Runs a command other than run; the exit status. In belljar: becomes belljar-tool. */
int tool_command(int argc, char **argv);
/* argv of this process, for the exec. Set by main. */
extern char **tool_argv;
