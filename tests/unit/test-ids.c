/* Which ids an image gets: what is found, how it is written for uid_map(5), and that a forked process has them. */
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "svc/ids.h"
#include "tap.h"

static int made_dir(char name[32]) {
        strcpy(name, "/tmp/test-ids-XXXXXX");
        check(mkdtemp(name));
        int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check(fd >= 0);
        return fd;
}

/* A forked process makes a file owned by `inside`; returns its owner as the host has it. */
static uid_t owner_of(const struct ids *ids, uid_t inside, gid_t *ret_gid) {
        struct error e = {};
        struct stat st;
        char name[32];
        int pidfd, status;
        int dir = made_dir(name);

        if (ids->kind == IDS_RANGE)
                check(fchown(dir, IDS_STORE_BASE, IDS_STORE_BASE) == 0);
        pid_t pid = ids_fork(ids, CLONE_NEWNS, &pidfd, &e);
        if (pid < 0)
                printf("# %s\n", e.msg);
        check(pid >= 0);
        if (pid == 0) {
                if (geteuid() != 0 || getegid() != 0)
                        _exit(3);
                if (mkdirat(dir, "d", 0700) < 0)
                        _exit(4);
                if (fchownat(dir, "d", inside, inside, 0) < 0)
                        _exit(5);
                _exit(0);
        }
        check(waitpid(pid, &status, 0) == pid);
        close(pidfd);
        if (status != 0)
                printf("# status %#x\n", (unsigned)status);
        bool there = fstatat(dir, "d", &st, 0) == 0;
        /* The caller may not own it: removed by a process that does. */
        pid = ids_fork(ids, 0, &pidfd, &e);
        if (pid == 0)
                _exit(unlinkat(dir, "d", AT_REMOVEDIR) < 0);
        check(pid > 0 && waitpid(pid, NULL, 0) == pid);
        close(pidfd);
        close(dir);
        check(rmdir(name) == 0);
        check(status == 0 && there);
        *ret_gid = st.st_gid;
        return st.st_uid;
}

static void check_owners(const struct ids *ids) {
        gid_t g;
        switch (ids->kind) {
        case IDS_RANGE:
                check(owner_of(ids, 0, &g) == IDS_STORE_BASE && g == IDS_STORE_BASE);
                check(owner_of(ids, 65535, &g) == IDS_STORE_BASE + 65535 && g == IDS_STORE_BASE + 65535);
                break;
        case IDS_SUBIDS:
                check(owner_of(ids, 0, &g) == geteuid() && g == getegid());
                check(owner_of(ids, 1, &g) == ids->subuid && g == ids->subgid);
                check(owner_of(ids, ids->n - 1, &g) == ids->subuid + ids->n - 2 && g == ids->subgid + ids->n - 2);
                break;
        case IDS_ONE:
                check(owner_of(ids, 0, &g) == geteuid() && g == getegid());
                break;
        }
}

static void become_nobody(void) {
        check(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
        check(prctl(PR_SET_DUMPABLE, 1) == 0);
}

TEST(caller) {
        struct ids ids;
        struct error e = {};
        check(ids_find(&ids, &e) == 0);
        check(ids.n >= 1 && ids.n <= IDS_MAX);
        check((ids.kind == IDS_ONE) == (ids.why[0] != 0));
        check(ids.kind != IDS_ONE || ids.n == 1);
        check_owners(&ids);
}

TEST(one_id) {
        struct ids ids;
        if (geteuid() == 0)
                become_nobody();
        ids = (struct ids){.kind = IDS_ONE, .n = 1, .uid = geteuid(), .gid = getegid()};
        check_owners(&ids);
}

TEST(no_new_privs) {
        struct ids ids;
        struct error e = {};
        if (geteuid() == 0)
                become_nobody();
        check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        check(ids_find(&ids, &e) == 0);
        check(ids.kind == IDS_ONE && ids.why[0] && ids.uid == geteuid());
}

TEST(maps_as_lines) {
        char u[128], g[128];
        struct ids ids = {.kind = IDS_RANGE, .n = IDS_MAX};
        ids_store_maps(&ids, u, g);
        check_streq(u, "0 1878982656 65536\n"); /* 0x6fff0000 */
        check_streq(g, u);
        ids = (struct ids){.kind = IDS_SUBIDS, .n = 65537 - 1, .uid = 1000, .gid = 1001, .subuid = 100000, .subgid = 200000};
        ids_store_maps(&ids, u, g);
        check_streq(u, "0 1000 1\n1 100000 65535\n");
        check_streq(g, "0 1001 1\n1 200000 65535\n");
        ids = (struct ids){.kind = IDS_ONE, .n = 1, .uid = 1000, .gid = 1001};
        ids_store_maps(&ids, u, g);
        check_streq(u, "0 1000 1\n");
        check_streq(g, "0 1001 1\n");
}

/* A range that nobody gave: newuidmap refuses, or, for one who may write any map, nothing is refused; then no child. */
TEST(refused_range) {
        struct error e = {};
        int pidfd, status;
        if (geteuid() == 0)
                become_nobody();
        struct ids ids = {.kind = IDS_SUBIDS, .n = 100, .uid = geteuid(), .gid = getegid(), .subuid = 3000000000u, .subgid = 3000000000u};
        pid_t pid = ids_fork(&ids, 0, &pidfd, &e);
        if (pid == 0)
                _exit(0);
        check(pid < 0 && e.errnum == -pid && e.msg[0]);
        check(waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD);
}

TAP_MAIN
