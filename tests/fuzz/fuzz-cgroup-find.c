/* The texts of /proc/self/cgroup and, behind a line "--", of mountinfo: what the layout names must lie where it
 * says. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sys/cgroup-find.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static void check_place(const struct cgroup_place *p, const char *cgroup, const char *controller) {
        if (!p->mount) {
                must(!p->root && !p->own && !p->dir);
                return;
        }
        must(p->root && p->mount[0] == '/' && !p->base);
        if (!p->own) {
                must(!p->dir);
                return;
        }
        _cleanup_free_ char *own = NULL;
        must(cgroup_own_path(cgroup, controller, &own) == 0 && streq(own, p->own));
        must(own[0] == '/' && !strchr(own, '\n') && strstr(cgroup, own));
        if (p->dir) {
                must(strncmp(p->dir, p->mount, strlen(p->mount)) == 0);
                must(!path_has_dotdot(p->own) && path_beneath(p->own, p->root));
                must(strlen(p->dir) <= strlen(p->mount) + strlen(p->own));
        }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        _cleanup_free_ char *cgroup = strndup((const char *)data, size);
        _cleanup_cgroup_layout_ struct cgroup_layout l = {};

        must(cgroup);
        char *sep = strstr(cgroup, "--\n");
        const char *mountinfo = "";
        if (sep) {
                *sep = 0;
                mountinfo = sep + 3;
        }
        if (cgroup_layout_parse(cgroup, mountinfo, &l) < 0) {
                must(!l.v2.mount && l.mode == CGROUP_MODE_NONE);
                return 0;
        }
        must((l.mode == CGROUP_MODE_V2 || l.mode == CGROUP_MODE_HYBRID) == (l.v2.mount != NULL));
        check_place(&l.v2, cgroup, "");
        for (enum cgroup_controller c = 0; c < CGROUP_N; c++) {
                check_place(&l.v1[c], cgroup, cgroup_controller_name(c));
                must(!l.v1[c].mount || l.mode == CGROUP_MODE_V1 || l.mode == CGROUP_MODE_HYBRID);
        }
        return 0;
}
