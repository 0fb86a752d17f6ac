/* Looks at what the kernel and the host can do, for doctor and for run's choice of controls. Changes nothing: no
 * write to /proc/sys, no module loaded (a feature whose module would have to be loaded first is reported as
 * STEP_MODULE), namespaces only in children that end before the call returns. One exception leaves no trace either:
 * the overlay on the state directory's file system needs four empty directories there, which are removed at once
 * (and, should the caller be killed in between, by the next probe). */
#pragma once

#include "base/host-facts.h"
#include "base/macros.h"

/* Everything. state_dir: absolute; need not exist, the nearest directory above it is looked at; NULL: none. Facts
 * that cannot be had are left unknown; a failure (-ENOMEM, -EMFILE) means that nothing was filled. */
int probe_host(const char *state_dir, struct host_facts *ret) _must_check_;

/* In microseconds, before a start: the fields that risk_obstacle judges; what it leaves out reads as not tried. overlay: look
 * for that, too. *f is zero. In probe-start.c. */
void probe_start(struct host_facts *f, bool overlay);

/* The parts of it; each fills its own fields and needs those before it. */
void probe_kernel(struct host_facts *f);       /* release, system calls, sysctls, security modules */
void probe_surroundings(struct host_facts *f); /* container, chroot, WSL, gVisor, user, exe */
int probe_cgroup(struct host_facts *f) _must_check_;
void probe_ids(struct host_facts *f); /* subuid, subgid, newuidmap */
void probe_vm(struct host_facts *f);  /* KVM, QEMU */
int probe_state_dir(struct host_facts *f, const char *state_dir) _must_check_;
int probe_namespaces(struct host_facts *f) _must_check_; /* in probe-ns.c; after probe_state_dir */

/* Pure, for tests. Sum of the ids that /etc/subuid (or subgid) grants by name or by number. */
uint64_t probe_subid_sum(const char *text, const char *user, uint32_t uid);
/* Major and minor of "6.12.43-cloud"; 0 and 0 for what is no release. */
void probe_parse_release(const char *release, int *major, int *minor);
/* True when using the feature would make the kernel load that module: it is neither loaded nor built in. */
bool probe_would_load(const char *module, const char *release);
/* False where the list of the kernel's modules can be read and has none of that name. */
bool probe_can_load(const char *module, const char *release);
