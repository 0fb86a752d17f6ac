/* Finding what a policy hides: literal paths, which need not exist, and globs, by one bounded walk. */
#pragma once

#include "base/error.h"
#include "model/plan.h"
#include "model/policy.h"

/* A walk that sees more entries than that is refused, by name: the rule is too wide to be held. */
#define HIDE_WALK_MAX 10000000u

/* Fills hidden and hidden_elsewhere of the facts, and adds to its sockets the FIFOs and sockets of a workspace in rw and of
 * writable volumes; needs p->workspace, mode, and the facts' read list and volumes. Entries of policy->hide are relative to
 * the workspace, or absolute, or begin with ~, the caller's home. The files that the plan's secrets are read from are hidden as well, and
 * where they are in view added to the plan's hide. Refuses a hide inside the workspace, or a volume, where
 * its mode cannot hold it. */
int hide_gather(struct plan *p, const struct policy *policy, const char *home, struct view_facts *v, struct error *e) _must_check_;
