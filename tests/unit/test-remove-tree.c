/* Removing hostile trees. Each test plants what must survive next to what must go. */
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/str.h"
#include "svc/remove-tree.h"
#include "tap.h"

static char scratch[64];
static int dir_fd;

static void sh(const char *cmd) { check(system(cmd) == 0); }
static void enter_in(const char *where, bool as_root) {
        umask(022);
        snprintf(scratch, sizeof(scratch), "%s/test-remove-XXXXXX", where);
        check(mkdtemp(scratch));
        if (geteuid() == 0 && !as_root) {
                check(chown(scratch, 65534, 65534) == 0);
                check(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
                check(prctl(PR_SET_DUMPABLE, 1) == 0);
        }
        check(chdir(scratch) == 0);
        dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check(dir_fd >= 0);
}
static void enter(bool as_root) { enter_in("/tmp", as_root); }
static void leave(void) { /* what is left must be empty */
        check(chdir("/tmp") == 0);
        close(dir_fd);
        if (rmdir(scratch) < 0)
                check(errno == EACCES || errno == EPERM); /* an ordinary user and a sticky /tmp of root's */
}
static void gone(const char *name) {
        struct stat st;
        check(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT);
}
static void remove_ok(const char *name, uint64_t entries) {
        struct error e = {};
        struct remove_tree_stats s;
        int r = remove_tree(dir_fd, name, &s, &e);
        if (r < 0)
                printf("# %s\n", e.msg);
        check(r == 0);
        if (s.removed != entries)
                printf("# %llu removed, not %llu\n", (unsigned long long)s.removed, (unsigned long long)entries);
        check(s.failed == 0 && s.removed == entries);
        gone(name);
}

TEST(plain) {
        struct error e = {};
        enter(false);
        sh("mkdir -p t/a/b && echo 1 >t/1 && echo 2 >t/a/2 && mkfifo t/a/f && ln -s / t/root && ln -s ../keep t/k && mkdir keep && "
           "echo keep >keep/k && ln keep/k t/hard");
        remove_ok("t", 9);
        check(access("keep/k", F_OK) == 0);
        check(remove_tree(dir_fd, "absent", NULL, &e) == 0 && e.errnum == 0);
        check(remove_tree(dir_fd, "..", NULL, &e) == -EINVAL);
        check(remove_tree(dir_fd, "keep/k", NULL, &e) == -EINVAL);
        check(remove_tree(dir_fd, "", NULL, &e) == -EINVAL);
        sh("ln -s keep l && echo f >f");
        remove_ok("l", 1); /* the link, not what it points at */
        remove_ok("f", 1);
        check(access("keep/k", F_OK) == 0);
        remove_ok("keep", 2);
        leave();
}

TEST(odd_names) {
        enter(false);
        sh("mkdir t && cd t && printf x >\"$(printf 'a\\nb')\" && printf x >./-rf && mkdir ./--help \"$(printf '\\377\\033[2J')\" && "
           "printf x >./--help/' ' && printf x >\"$(printf '%0255d' 0)\" && mkdir ... && printf x >.../..a");
        remove_ok("t", 9);
        leave();
}

TEST(modes) {
        enter(false);
        sh("mkdir -p t/work/incompat/volatile t/r t/x/y && echo 1 >t/r/1 && echo 2 >t/x/y/2 && chmod 000 t/work/incompat/volatile && "
           "chmod 000 t/work/incompat && chmod 000 t/work && chmod 500 t/r && chmod 000 t/x/y && chmod 100 t/x && chmod 000 t");
        remove_ok("t", 9);
        leave();
}

TEST(work_of_overlay) {
        enter(false);
        sh("mkdir lower upper work merged && echo 1 >lower/a && mkdir lower/d");
        pid_t pid = fork();
        if (pid == 0) {
                int r = system("unshare -Urm sh -c 'mount -t overlay o -o lowerdir=lower,upperdir=upper,workdir=work,userxattr,volatile "
                               "merged && rm merged/a && rmdir merged/d && echo b >merged/b' 2>/dev/null");
                _exit(r == 0 ? 0 : 77);
        }
        int status;
        check(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
                skip("no overlay in a user namespace here");
        struct stat st;
        check(stat("work/work", &st) == 0 && (st.st_mode & 0777) == 0); /* what the kernel leaves */
        struct error e = {};
        static const char *const names[] = {"work", "upper", "lower", "merged"};
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                int r = remove_tree(dir_fd, names[i], NULL, &e);
                if (r < 0)
                        printf("# %s\n", e.msg);
                check(r == 0);
                gone(names[i]);
        }
        leave();
}

static void deep(int fd, int depth) {
        for (int i = 0; i < depth; i++) {
                check(mkdirat(fd, "d", i % 7 == 3 ? 0300 : 0755) == 0);
                int next = openat(fd, "d", O_PATH | O_DIRECTORY);
                check(next >= 0);
                if (i % 100 == 0) {
                        int f = openat(next, "file", O_WRONLY | O_CREAT, 0);
                        check(f >= 0);
                        close(f);
                }
                close(fd);
                fd = next;
        }
        close(fd);
}

TEST(deep_100000) {
        struct rlimit files = {64, 64}, stack = {256 << 10, 256 << 10};
        enter_in(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", false); /* a disk takes long to write it */
        check(mkdir("t", 0755) == 0);
        deep(open("t", O_PATH | O_DIRECTORY), 100000);
        check(setrlimit(RLIMIT_NOFILE, &files) == 0 && setrlimit(RLIMIT_STACK, &stack) == 0);
        remove_ok("t", 101001);
        leave();
}

TEST(wide) {
        enter(false);
        sh("mkdir t && cd t && seq -f d%g 1 3000 | xargs mkdir && seq -f d%g/f 1 3000 | xargs touch && seq -f f%g 1 5000 | xargs touch");
        remove_ok("t", 11001);
        leave();
}

/* Both side by side at every level: the fds of the outer ones are closed and come back. */
TEST(bushy_and_deep) {
        enter(false);
        sh("mkdir t; cd t; for i in $(seq 60); do mkdir a b c d; touch a/1 c/1; cd b; done");
        remove_ok("t", 1 + 60 * 6);
        leave();
}

TEST(goes_on_after_an_error) {
        struct error e = {};
        struct remove_tree_stats s;
        if (geteuid() != 0)
                skip("not root: needs a directory of somebody else");
        enter(true);
        sh("mkdir -p t/mine t/other/x t/z && echo 1 >t/mine/1 && echo 2 >t/other/2 && echo 3 >t/z/3 && chown -R 65534:65534 . && "
           "chown 0:0 t/other t/other/x t/other/2");
        pid_t pid = fork();
        if (pid == 0) {
                check(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
                int r = remove_tree(dir_fd, "t", &s, &e);
                check(r == -EACCES || r == -EPERM);
                check(e.errnum > 0 && s.failed >= 1 && s.removed == 4);
                exit(0);
        }
        int status;
        check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
        check(access("t/other/2", F_OK) == 0 && access("t/z", F_OK) < 0 && access("t/mine", F_OK) < 0);
        remove_ok("t", 4);
        leave();
}

/* What is mounted in the tree stays: a file system of its own, and a bind from the same one. */
TEST(mounts) {
        enter(true);
        sh("mkdir -p t/a/m t/b t/bind keep && echo keep >keep/k && echo 1 >t/a/1");
        pid_t pid = fork();
        if (pid == 0) {
                struct error e = {};
                uid_t uid = geteuid();
                gid_t gid = getegid();
                if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0)
                        skip("no namespaces for an ordinary user here");
                if (uid != 0) {
                        char map[64];
                        check(file_poke(AT_FDCWD, "/proc/self/setgroups", "deny") == 0);
                        snprintf(map, sizeof(map), "%u %u 1", uid, uid);
                        check(file_poke(AT_FDCWD, "/proc/self/uid_map", map) == 0);
                        snprintf(map, sizeof(map), "%u %u 1", gid, gid);
                        check(file_poke(AT_FDCWD, "/proc/self/gid_map", map) == 0);
                }
                check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
                dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* the old one leads to the old namespace */
                check(mount("tmpfs", "t/a/m", "tmpfs", 0, "size=64k") == 0);
                sh("echo inside >t/a/m/inside");
                check(mount("keep", "t/bind", NULL, MS_BIND, NULL) == 0);
                check(remove_tree(dir_fd, "t", NULL, &e) == -EBUSY && strstr(e.msg, "mount"));
                check(access("t/a/m/inside", F_OK) == 0 && access("keep/k", F_OK) == 0);
                check(access("t/b", F_OK) < 0 && access("t/a/1", F_OK) < 0); /* the rest went */
                exit(0);
        }
        int status;
        check(pid > 0 && waitpid(pid, &status, 0) == pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                _exit(77);
        check(status == 0);
        check(access("keep/k", F_OK) == 0);
        remove_ok("t", 4);
        remove_ok("keep", 2);
        leave();
}

TAP_MAIN
