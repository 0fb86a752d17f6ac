/* What a plan needs to know of this host: gathered once, before anything is done. */
#pragma once

#include "base/error.h"
#include "model/plan.h"
#include "model/policy.h"

struct host {
        uid_t uid;
        gid_t gid;
        char *home;           /* the caller's, absolute and real; "/" when there is none */
        struct view_facts view;
};
void host_clear(struct host *h);
#define _cleanup_host_ _cleanup_(host_clear)

/* Everything for view_plan; needs p->workspace, mode, home and ids. Refuses what cannot be held, by name: mounts beneath
 * the workspace, hides in a mode other than cow. */
/* mountinfo: text of /proc/self/mountinfo. */
int host_gather(struct plan *p, const struct policy *policy, const char *mountinfo, struct host *ret,
                struct error *e) _must_check_;
/* A path of a policy: "~" and "~/x" by home, relative ones by base, cleaned, links resolved as far as it exists.
 * Allocated. */
int host_resolve(const char *path, const char *base, const char *home, char **ret, struct error *e) _must_check_;
/* Where the file stands that was read by this name. *ret NULL: it is none (a pipe, a process substitution, what another belljar keeps
 * in memory). -ESTALE where it is a file, but nothing says where, as when it was removed meanwhile. Allocated. */
int host_place(const char *path, char **ret, struct error *e) _must_check_;
/* The caller's home: $HOME where it is absolute and a directory, else that of /etc/passwd. Allocated. */
char *host_home(void);
/* Where a program of Belljar's own stands: beside the one that runs (build tree, libexec), or in ../libexec/belljar.
 * Allocated. */
int host_own_program(const char *name, char **ret, struct error *e) _must_check_;
/* Bytes of memory of this host; 0: unknown. */
uint64_t host_memory(void);
