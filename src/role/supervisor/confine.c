/* The supervisor's own cage, see confine.h. A supervisor that is taken over (its inputs are messages of fixed size and the
 * names in /proc) can end its own sandbox and lie about it, and write in the state directory; no more. */
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/fd.h"
#include "base/use.h"
#include "generated/seccomp-supervisor.h"
#include "role/supervisor/confine.h"
#include "svc/state.h"
#include "sys/cgroup.h"
#include "sys/landlock.h"
#include "sys/process.h"
#include "sys/seccomp.h"

/* The group is written to by its own files and removed from its parent. */
static int allow_cgroup(int ruleset, int abi, const char *path) {
        _cleanup_free_ char *parent = strdup(path);
        char *slash = parent ? strrchr(parent, '/') : NULL;

        if (!slash)
                return -ENOMEM;
        *slash = 0;
        return landlock_allow_path(ruleset, abi, parent, USE_READ | USE_WRITE | USE_CHANGE);
}

static int confine_files(const struct supervise *s) {
        int abi = landlock_abi(), r;

        if (abi <= 0)
                return abi;
        /* Without the scopes: it has to signal init, which is in no domain of its. */
        _cleanup_fd_ int ruleset = landlock_new(abi, false);
        if (ruleset < 0)
                return ruleset;
        if ((r = landlock_allow(ruleset, abi, s->state->root, USE_READ | USE_WRITE | USE_CHANGE)) < 0 ||
            (r = landlock_allow_path(ruleset, abi, "/proc", USE_READ)) < 0)
                return r;
        if (s->cgroup && s->cgroup->v2_path && (r = allow_cgroup(ruleset, abi, s->cgroup->v2_path)) < 0)
                return r;
        for (unsigned i = 0; s->cgroup && i < CGROUP_N; i++)
                if (s->cgroup->v1_path[i] && (r = allow_cgroup(ruleset, abi, s->cgroup->v1_path[i])) < 0)
                        return r;
        return landlock_restrict(ruleset);
}

int supervisor_confine(const struct supervise *s, struct error *e) {
        int r = 0;

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return error_errno(e, errno, "the supervisor cannot confine itself");
        /* Run by root: init and the layers belong to other ids. */
        if (s->plan->ids.root)
                r = process_drop_caps(1ull << CAP_KILL | 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER);
        if (r == 0)
                r = confine_files(s);
        if (r < 0)
                return error_errno(e, r, "the supervisor cannot confine itself");
        r = seccomp_load(seccomp_supervisor, ELEMENTSOF(seccomp_supervisor));
        if (r < 0)
                return error_errno(e, r, "the supervisor cannot confine itself");
        return 0;
}
