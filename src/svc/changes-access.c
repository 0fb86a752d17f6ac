/* What the reader of changes needs from its surroundings: the list of what was hidden from the run, and the reach
 * into directories of mode 000; see changes.h. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "base/fd.h"
#include "svc/changes.h"

static bool is_hidden_path(const char *p) { return *p && *p != '/' && !path_has_dotdot(p); }

int changes_hidden_write(int state_fd, const struct strlist *hidden) {
        _cleanup_strbuf_ struct strbuf b = {};

        for (size_t i = 0; i < hidden->n; i++) {
                if (!is_hidden_path(hidden->items[i]))
                        return -EINVAL;
                strbuf_add(&b, hidden->items[i], strlen(hidden->items[i]) + 1);
        }
        if (b.failed)
                return -ENOMEM;
        return file_replace(state_fd, "hidden", b.data ?: "", b.len, 0600);
}

int changes_hidden_read(int state_fd, struct strlist *ret) {
        _cleanup_strlist_ struct strlist l = {};
        _cleanup_free_ char *text = NULL;
        size_t n = 0;

        int r = file_read(state_fd, "hidden", 64u << 20, &text, &n);
        if (r < 0 && r != -ENOENT)
                return r;
        for (size_t i = 0; i < n; i += strlen(text + i) + 1) { /* text ends in one NUL more */
                if (!is_hidden_path(text + i) || i + strlen(text + i) >= n)
                        return -EINVAL;
                r = strlist_add(&l, text + i);
                if (r < 0)
                        return r;
        }
        *ret = l;
        l = (struct strlist){};
        return 0;
}

int changes_unbind(void) {
        char map[64];
        uid_t uid = geteuid();
        gid_t gid = getegid();

        if (uid == 0)
                return 0;
        if (unshare(CLONE_NEWUSER) < 0)
                return -errno;
        /* The files of /proc/self belong to root while the process is not dumpable. */
        int dumpable = prctl(PR_GET_DUMPABLE);
        if (dumpable != 1)
                (void)prctl(PR_SET_DUMPABLE, 1);
        int r = file_poke(AT_FDCWD, "/proc/self/setgroups", "deny");
        if (r == -ENOENT)
                r = 0;
        snprintf(map, sizeof(map), "%u %u 1", uid, uid);
        if (r >= 0)
                r = file_poke(AT_FDCWD, "/proc/self/uid_map", map);
        snprintf(map, sizeof(map), "%u %u 1", gid, gid);
        if (r >= 0)
                r = file_poke(AT_FDCWD, "/proc/self/gid_map", map);
        if (dumpable != 1)
                (void)prctl(PR_SET_DUMPABLE, 0);
        return r;
}
