/* The parsers on texts as hosts write them, and the search for a base on trees of ordinary files that look like
 * control groups: the search asks only access(2) and reads. */
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"
#include "sys/cgroup-find.h"
#include "tap.h"

TEST(own_path) {
        static const char text[] =
                "12:pids:/user.slice\n4:memory:/a b:c\n3:cpu,cpuacct:/x\n1:name=systemd:/i\n0::/user.slice/s:1.scope\n";
        static const struct {
                const char *controller, *path;
        } t[] = {{"pids", "/user.slice"}, {"memory", "/a b:c"},          {"cpu", "/x"},
                 {"cpuacct", "/x"},       {"", "/user.slice/s:1.scope"}, {"name=systemd", "/i"}};
        char *s = NULL;
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                check(cgroup_own_path(text, t[i].controller, &s) == 0);
                check_streq(s, t[i].path);
                free(s);
        }
        check(cgroup_own_path(text, "cpuset", &s) == -ENOENT);
        check(cgroup_own_path(text, "cp", &s) == -ENOENT);
        check(cgroup_own_path("4:memory:/a\n", "", &s) == -ENOENT);
        check(cgroup_own_path("", "", &s) == -ENOENT);
        check(cgroup_own_path("0::/", "", &s) == 0);
        check_streq(s, "/");
        free(s);
        static const char *const bad[] = {"0:/\n", "0::x\n", "0::\n", "x::/\n", "::/\n", "\n", "0::/\nrubbish\n"};
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                check(cgroup_own_path(bad[i], "", &s) == -EBADMSG);
}

static void check_dir(const char *mount, const char *root, const char *own, const char *want) {
        char *s = NULL;
        int r = cgroup_dir_of(mount, root, own, &s);
        if (!want) {
                check(r == -ENOENT);
                return;
        }
        check(r == 0);
        check_streq(s, want);
        free(s);
}

TEST(dir_of) {
        check_dir("/sys/fs/cgroup", "/", "/", "/sys/fs/cgroup");
        check_dir("/sys/fs/cgroup", "/", "/a/b", "/sys/fs/cgroup/a/b");
        check_dir("/sys/fs/cgroup/memory", "/docker/1f", "/docker/1f",
                  "/sys/fs/cgroup/memory"); /* a bind of the own group */
        check_dir("/m", "/docker/1f", "/docker/1f/x", "/m/x");
        check_dir("/m", "/docker/1f", "/docker/1f0", NULL);
        check_dir("/m", "/docker/1f", "/docker", NULL);
        check_dir("/m", "/", "/../other", NULL); /* beside the cgroup namespace's root */
        check_dir("/m", "/..", "/", NULL);       /* mounted from outside of it */
        check_dir("/m", "/", "/..x", "/m/..x");
        check_dir("/", "/", "/a", "/a");
}

#define CG2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"

TEST(layout_v2) {
        struct cgroup_layout l = {};
        check(cgroup_layout_parse("0::/user.slice/user-1000.slice/session-2.scope\n", CG2, &l) == 0);
        check(l.mode == CGROUP_MODE_V2 && l.nsdelegate && !l.v2.read_only);
        check_streq(l.v2.dir, "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope");
        check(!l.v1[CGROUP_MEMORY].mount);
        cgroup_layout_clear(&l);
}

TEST(layout_docker_v2_read_only) {
        struct cgroup_layout l = {};
        check(cgroup_layout_parse("0::/\n", "30 23 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n", &l) == 0);
        check(l.v2.read_only && !l.nsdelegate);
        check_streq(l.v2.dir, "/sys/fs/cgroup");
        cgroup_layout_clear(&l);
}

TEST(layout_hybrid) {
        struct cgroup_layout l = {};
        check(cgroup_layout_parse("8:pids:/\n4:memory:/p/7\n3:cpu,cpuacct:/\n0::/\n",
                                  "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
                                  "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                                  "35 31 0:32 / /sys/fs/cgroup/mem\\040x rw - cgroup cgroup rw,memory\n"
                                  "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", &l) == 0);
        check(l.mode == CGROUP_MODE_HYBRID);
        check_streq(l.v1[CGROUP_MEMORY].dir, "/sys/fs/cgroup/mem x/p/7");
        check_streq(l.v1[CGROUP_CPU].dir, "/sys/fs/cgroup/cpu,cpuacct");
        check(!l.v1[CGROUP_PIDS].mount && !l.v1[CGROUP_FREEZER].mount);
        check_streq(l.v2.dir, "/sys/fs/cgroup/unified");
        cgroup_layout_clear(&l);
}

TEST(layout_second_mount_shows_the_group) {
        struct cgroup_layout l = {};
        check(cgroup_layout_parse("0::/a/b\n",
                                  "1 1 0:1 /x /bind rw - cgroup2 c rw\n2 1 0:1 / /real rw - cgroup2 c rw\n"
                                  "3 1 0:1 / /third rw - cgroup2 c rw\n", &l) == 0);
        check_streq(l.v2.mount, "/real");
        check_streq(l.v2.dir, "/real/a/b");
        cgroup_layout_clear(&l);
}

TEST(layout_none_and_bad) {
        struct cgroup_layout l = {};
        check(cgroup_layout_parse("0::/\n", "1 1 0:1 / / rw - ext4 x rw\n", &l) == 0);
        check(l.mode == CGROUP_MODE_NONE && !l.v2.mount);
        cgroup_layout_clear(&l);
        l.mode = CGROUP_MODE_V1;
        check(cgroup_layout_parse("junk\n", CG2, &l) == -EBADMSG);
        check(cgroup_layout_parse("0::/\n", "junk\n", &l) == -EBADMSG);
        check(l.mode == CGROUP_MODE_V1);
}

/* A made-up tree: top/slice/scope, of which uid 65534 owns what a test gives it. */
static char top[64];

static void put(const char *path, const char *text, bool writable) {
        char p[256];
        snprintf(p, sizeof(p), "%s/%s", top, path);
        (void)unlink(p);
        int fd = open(p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, writable ? 0644 : 0444);
        check(fd >= 0);
        check(fd_write_all(fd, text, strlen(text)) == 0);
        check(fchown(fd, writable ? 65534 : 0, 0) == 0 || geteuid() != 0);
        close(fd);
}

static void group(const char *dir, bool writable, const char *procs, const char *controllers, const char *enabled) {
        char p[256], parent[256];
        struct stat st;
        snprintf(p, sizeof(p), "%s/%s", top, dir);
        snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(p, '/') - p), p);
        check(stat(parent, &st) == 0 && chmod(parent, 0755) == 0); /* the parent may be another's already */
        check(mkdir(p, 0755) == 0);
        snprintf(p, sizeof(p), "%s/cgroup.procs", dir);
        put(p, procs, writable);
        snprintf(p, sizeof(p), "%s/cgroup.subtree_control", dir);
        put(p, enabled, writable);
        snprintf(p, sizeof(p), "%s/cgroup.controllers", dir);
        put(p, controllers, false);
        snprintf(p, sizeof(p), "%s/cgroup.type", dir);
        put(p, "domain\n", false);
        snprintf(p, sizeof(p), "%s/%s", top, dir);
        check(chmod(p, writable ? 0755 : 0555) == 0);
        check(chown(p, writable ? 65534 : 0, 0) == 0 || geteuid() != 0);
        check(chmod(parent, st.st_mode & 07777) == 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        (void)chmod(path, 0700);
        return remove(path);
}

static void tree_begin(void) {
        strcpy(top, "/tmp/test-cgroup-find-XXXXXX");
        check(mkdtemp(top) && chmod(top, 0755) == 0);
}

static void tree_end(void) {
        if (geteuid() != 0) { /* directories without write permission */
                char p[128];
                static const char *const dirs[] = {"slice", "slice/scope"};
                for (size_t i = 0; i < ELEMENTSOF(dirs); i++) {
                        snprintf(p, sizeof(p), "%s/%s", top, dirs[i]);
                        (void)chmod(p, 0755);
                }
        }
        check(nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

/* Looks as an ordinary user (as it is, or in a child that becomes 65534) and prints "BASE HAVE ENABLE EVACUATE". */
static char *look(const char *dir) {
        static char out[256];
        int fds[2], status;
        check(pipe(fds) == 0);
        fflush(stdout);
        pid_t pid = fork();
        check(pid >= 0);
        if (pid == 0) {
                struct cgroup_place p = {.mount = strdup(top), .dir = str_printf("%s/%s", top, dir)};
                if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 ||
                                       setresuid(65534, 65534, 65534) < 0))
                        _exit(9);
                if (cgroup_place_find_v2(&p) < 0)
                        _exit(8);
                char line[256];
                snprintf(line, sizeof(line), "%s %u %u %u", p.base ? p.base + strlen(top) : strerrorname_np(p.why),
                         p.have, p.enable, p.evacuate);
                _exit(write(fds[1], line, strlen(line) + 1) > 0 ? 0 : 7);
        }
        close(fds[1]);
        memset(out, 0, sizeof(out));
        check(read(fds[0], out, sizeof(out) - 1) > 0);
        close(fds[0]);
        check(waitpid(pid, &status, 0) == pid && status == 0);
        return out;
}

TEST(v2_nothing_delegated) {
        tree_begin();
        group("slice", false, "", "cpu memory pids\n", "cpu memory pids\n");
        check(chmod(top, 0555) == 0);
        check_streq(look("slice"), "EACCES 0 0 0");
        check(chmod(top, 0755) == 0);
        tree_end();
}

/* A session's scope belongs to the system manager, the slice above it to the user: as app.slice of a user manager. */
TEST(v2_slice_above_scope) {
        tree_begin();
        group("slice", true, "", "cpu memory pids\n", "memory pids\n");
        group("slice/scope", false, "77\n", "memory pids\n", "");
        check_streq(look("slice/scope"), "/slice 7 4 0"); /* cpu (4) can be enabled: the slice has no processes */
        tree_end();
}

TEST(v2_slice_with_processes_keeps_what_is_on) {
        tree_begin();
        group("slice", true, "77\n", "cpu memory pids\n", "memory pids\n");
        group("slice/scope", false, "77\n", "memory pids\n", "");
        check_streq(look("slice/scope"), "/slice 3 0 0");
        tree_end();
}

TEST(v2_own_scope_with_others) {
        tree_begin();
        group("slice", false, "", "cpu memory pids\n", "cpu memory pids\n");
        group("slice/scope", true, "77\n78\n", "cpu memory pids\n", "");
        /* A child can be made (kill and freeze work), but no controller enabled. */
        check_streq(look("slice/scope"), "/slice/scope 0 0 0");
        tree_end();
}

TEST(v2_threaded_is_passed_over) {
        tree_begin();
        group("slice", true, "", "cpu memory pids\n", "cpu memory pids\n");
        group("slice/scope", true, "77\n", "cpu pids\n", "");
        put("slice/scope/cgroup.type", "threaded\n", false);
        check_streq(look("slice/scope"), "/slice 7 0 0");
        tree_end();
}

/* cgroup.procs of the common ancestor must be writable, not the directory alone. */
TEST(v2_procs_not_writable) {
        tree_begin();
        group("slice", true, "", "cpu memory pids\n", "cpu memory pids\n");
        char p[128];
        snprintf(p, sizeof(p), "%s/slice/cgroup.procs", top);
        check(chmod(p, 0444) == 0 && (chown(p, 0, 0) == 0 || geteuid() != 0));
        check(chmod(top, 0555) == 0);
        check_streq(look("slice"), "EACCES 0 0 0");
        check(chmod(top, 0755) == 0);
        tree_end();
}

TEST(v2_own_group_alone_can_be_evacuated) {
        tree_begin();
        char self[24];
        snprintf(self, sizeof(self), "%d\n", (int)getpid());
        group("slice", true, self, "cpu memory pids\n", "");
        struct cgroup_place p = {.mount = strdup(top), .dir = str_printf("%s/slice", top)};
        check(cgroup_place_find_v2(&p) == 0);
        check(p.base && streq(p.base, p.dir) && p.have == CGROUP_LIMITS && p.evacuate == CGROUP_LIMITS);
        free(p.mount);
        free(p.dir);
        free(p.base);
        tree_end();
}

TEST(v2_not_visible) {
        struct cgroup_place p = {};
        check(cgroup_place_find_v2(&p) == 0 && !p.base && p.why == ENOENT);
        check(cgroup_place_find_v1(&p) == 0 && !p.base && p.why == ENOENT);
}

/* This host: whatever it is, the call works, and what it names exists. */
TEST(live) {
        struct cgroup_layout l = {};
        check(cgroup_find(&l) == 0);
        if (l.v2.dir)
                check(access(l.v2.dir, F_OK) == 0);
        if (l.v2.base) {
                check(access(l.v2.base, W_OK) == 0);
                check(path_beneath(l.v2.dir, l.v2.base) && path_beneath(l.v2.base, l.v2.mount));
        }
        for (size_t i = 0; i < CGROUP_N; i++)
                if (l.v1[i].base)
                        check(access(l.v1[i].base, W_OK) == 0 && path_beneath(l.v1[i].dir, l.v1[i].base));
        cgroup_layout_clear(&l);
}

TAP_MAIN
