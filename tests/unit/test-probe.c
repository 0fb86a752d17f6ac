/* The probes as root and as an ordinary user: plausible answers, and nothing left behind, whatever fails. The
 * machines that the suite runs on have user namespaces: their absence is a failure, not a skip. */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "base/str.h"
#include "sys/probe.h"
#include "tap.h"

TEST(release) {
        static const struct {
                const char *s;
                int major, minor;
        } t[] = {{"6.12.43+deb13-amd64", 6, 12},
                 {"5.10.0-30-amd64", 5, 10},
                 {"4.4.0", 4, 4},
                 {"6.6.87.2-microsoft-standard-WSL2", 6, 6},
                 {"", 0, 0},
                 {"x.y", 0, 0},
                 {"-6.1", 0, 0},
                 {"6", 0, 0}};
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                int a = -1, b = -1;
                probe_parse_release(t[i].s, &a, &b);
                check(a == t[i].major && b == t[i].minor);
        }
}

TEST(subid_sum) {
        static const char text[] =
                "root:1:2\nann:100000:65536\nanna:1:9\n1000:300000:1000\nbroken\nann:x:y\nann:200000:5";
        check(probe_subid_sum(text, "ann", 7) == 65541);
        check(probe_subid_sum(text, "ann", 1000) == 66541);
        check(probe_subid_sum(text, "", 1000) == 1000);
        check(probe_subid_sum(text, "bob", 5) == 0);
        check(probe_subid_sum("", "ann", 7) == 0);
}

static size_t entries(const char *path) {
        size_t n = 0;
        DIR *d = opendir(path);
        check(d != NULL);
        while (readdir(d))
                n++;
        closedir(d);
        return n;
}

/* Of this process: mounts, namespaces, groups, fds, children, and the whole of what a probe could have changed. */
struct host_state {
        char *text[8];
        ino_t ns[8];
        size_t fds;
};

static void take(struct host_state *s) {
        static const char *const files[] = {"/proc/self/mountinfo", "/proc/self/cgroup", "/proc/self/uid_map",
                                            "/proc/sys/kernel/hostname", "/proc/sys/user/max_user_namespaces",
                                            "/proc/filesystems"};
        static const char *const ns[] = {"user", "mnt", "pid", "ipc", "uts", "net", "cgroup", "pid_for_children"};
        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                if (file_read(AT_FDCWD, files[i], 1u << 24, &s->text[i], NULL) < 0)
                        s->text[i] = strdup("");
        for (size_t i = 0; i < ELEMENTSOF(ns); i++) {
                char p[64];
                struct stat st;
                snprintf(p, sizeof(p), "/proc/self/ns/%s", ns[i]);
                s->ns[i] = stat(p, &st) == 0 ? st.st_ino : 0;
        }
        s->fds = entries("/proc/self/fd");
}

static void check_same(const struct host_state *a, const struct host_state *b) {
        for (size_t i = 0; i < ELEMENTSOF(a->text) && a->text[i]; i++)
                check_streq(b->text[i], a->text[i]);
        check(memcmp(a->ns, b->ns, sizeof(a->ns)) == 0);
        check(a->fds == b->fds);
        check(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void clear(struct host_state *s) {
        for (size_t i = 0; i < ELEMENTSOF(s->text); i++)
                free(s->text[i]);
}

static void check_working_host(const struct host_facts *f, const char *dir) {
        check(f->major >= 5);
        check(probe_ok(f->userns) && probe_ok(f->inner_userns) && probe_ok(f->mount_ns) && probe_ok(f->pid_ns));
        check(probe_ok(f->ipc_ns) && probe_ok(f->uts_ns) && probe_ok(f->net_ns) && probe_ok(f->cgroup_ns));
        check(probe_ok(f->proc_mount) && probe_ok(f->sysfs_mount));
        check(probe_ok(f->seccomp) && probe_ok(f->no_new_privs) && probe_ok(f->pidfd) && probe_ok(f->openat2));
        check(f->overlay.tried);
        check_streq(f->state_dir, dir);
        check(f->state_fs[0]);
        if (probe_ok(f->overlay) &&
            (streq(f->state_fs, "ext4") || streq(f->state_fs, "xfs") || streq(f->state_fs, "btrfs")))
                check(probe_ok(f->overlay_state));
        if (f->overlay_state.step == STEP_MODULE)
                check(f->overlay.step == STEP_MODULE);
        check(f->uid == geteuid());
        check(f->uid == 0 || !f->idmap.tried);
}

static void run_here(const char *dir) {
        struct host_state before = {}, after = {};
        struct host_facts f = {};
        char missing[128];

        take(&before);
        snprintf(missing, sizeof(missing), "%s/not/there", dir);
        check(probe_host(missing, &f) == 0);
        take(&after);
        check_same(&before, &after);
        check_working_host(&f, dir);
        check(entries(dir) == 2); /* "." and ".." */
        clear(&before);
        clear(&after);
}

static void make_dir(char path[static 64], uid_t owner) {
        strcpy(path, "/tmp/test-probe-XXXXXX");
        check(mkdtemp(path));
        if (geteuid() == 0)
                check(chown(path, owner, owner) == 0);
}

static void become_user(void) {
        if (geteuid() != 0)
                return;
        check(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
}

/* Runs fn in a child that is an ordinary user, and removes the directory. */
static void as_user(void (*fn)(const char *)) {
        char dir[64];
        int status;

        make_dir(dir, 65534);
        fflush(stdout);
        pid_t pid = fork();
        check(pid >= 0);
        if (pid == 0) {
                become_user();
                fn(dir);
                exit(0);
        }
        check(waitpid(pid, &status, 0) == pid && status == 0);
        check(rmdir(dir) == 0);
}

TEST(as_ordinary_user) { as_user(run_here); }

TEST(as_root) {
        char dir[64];
        if (geteuid() != 0)
                skip("not run by root");
        make_dir(dir, 0);
        run_here(dir);
        check(rmdir(dir) == 0);
}

/* A role that has locked itself in is not dumpable, and yet may ask. */
static void not_dumpable(const char *dir) {
        struct host_facts f = {};
        check(prctl(PR_SET_DUMPABLE, 0) == 0);
        check(probe_host(dir, &f) == 0);
        check(probe_ok(f.userns) && probe_ok(f.inner_userns));
}
TEST(caller_not_dumpable) { as_user(not_dumpable); }

/* Where nothing can be forked the answers say so, and nothing hangs or is left. */
static void no_processes(const char *dir) {
        struct rlimit old, none;
        struct host_facts f = {};
        check(getrlimit(RLIMIT_NPROC, &old) == 0);
        none = (struct rlimit){0, old.rlim_max};
        check(setrlimit(RLIMIT_NPROC, &none) == 0);
        check(probe_host(dir, &f) == -EAGAIN);
        check(f.release[0] == 0); /* untouched */
        check(entries(dir) == 2);
        check(setrlimit(RLIMIT_NPROC, &old) == 0); /* the leak checker forks */
}
TEST(cannot_fork) { as_user(no_processes); }

/* What a probe that was killed left is removed by the next; what only looks like it is not. */
static void stale(const char *dir) {
        struct host_facts f = {};
        char p[128], other[128];
        int status;
        pid_t gone = fork();
        check(gone >= 0);
        if (gone == 0)
                _exit(0);
        check(waitpid(gone, &status, 0) == gone);
        snprintf(p, sizeof(p), "%s/.belljar-probe-%d", dir, (int)gone);
        check(mkdir(p, 0700) == 0);
        size_t n = strlen(p);
        static const char *const sub[] = {"/l", "/u", "/w", "/w/work", "/m"};
        for (size_t i = 0; i < ELEMENTSOF(sub); i++) {
                snprintf(p + n, sizeof(p) - n, "%s", sub[i]);
                check(mkdir(p, streq(sub[i], "/w/work") ? 0 : 0700) == 0);
        }
        snprintf(p + n, sizeof(p) - n, "/l/f");
        close(open(p, O_CREAT | O_WRONLY, 0600));
        snprintf(other, sizeof(other), "%s/.belljar-probe-mine", dir);
        check(mkdir(other, 0700) == 0);
        check(probe_host(dir, &f) == 0);
        p[n] = 0;
        check(access(p, F_OK) < 0 && errno == ENOENT);
        check(rmdir(other) == 0);
        check(entries(dir) == 2);
}
TEST(stale_directories) { as_user(stale); }

/* A state directory of somebody else's is left alone. */
static void foreign(const char *dir) {
        struct host_facts f = {};
        check(probe_host("/", &f) == 0);
        if (f.overlay.step == STEP_MODULE)
                check(!f.overlay_state.tried);
        else
                check(f.overlay_state.err == EACCES && f.overlay_state.step == STEP_DIRS);
        check(probe_ok(f.userns));
}
TEST(foreign_state_directory) { as_user(foreign); }

/* user.max_user_namespaces of a namespace of our own is lowered, the host's is not touched: clone gives ENOSPC. */
static void limited(const char *dir) {
        struct host_facts f = {};
        char map[32];
        uid_t uid = geteuid();
        gid_t gid = getegid();
        check(prctl(PR_SET_DUMPABLE, 1) == 0);
        if (unshare(CLONE_NEWUSER) < 0)
                skip("no user namespaces");
        check(file_poke(AT_FDCWD, "/proc/self/setgroups", "deny") == 0);
        snprintf(map, sizeof(map), "0 %u 1", uid);
        check(file_poke(AT_FDCWD, "/proc/self/uid_map", map) == 0);
        snprintf(map, sizeof(map), "0 %u 1", gid);
        check(file_poke(AT_FDCWD, "/proc/self/gid_map", map) == 0);
        check(file_poke(AT_FDCWD, "/proc/sys/user/max_user_namespaces", "0") == 0); /* this namespace's own counter */
        check(probe_host(NULL, &f) == 0);
        check(f.userns.tried && f.userns.err == ENOSPC && f.userns.step == STEP_CLONE);
        check(!f.inner_userns.tried && !f.mount_ns.tried);
        check(f.sysctl_max_userns == 0 && f.uid_map_partial);
}
TEST(max_user_namespaces_0) {
        _cleanup_free_ char *before = NULL, *after = NULL;
        check(file_read(AT_FDCWD, "/proc/sys/user/max_user_namespaces", 64, &before, NULL) == 0);
        as_user(limited);
        check(file_read(AT_FDCWD, "/proc/sys/user/max_user_namespaces", 64, &after, NULL) == 0);
        check_streq(after, before);
}

/* Bounded by the caller's own chroot: EPERM, and said to be one. */
TEST(chroot) {
        char dir[64], p[96];
        int status;
        if (geteuid() != 0)
                skip("not run by root");
        make_dir(dir, 0);
        check(chmod(dir, 0755) == 0);
        snprintf(p, sizeof(p), "%s/proc", dir);
        check(mkdir(p, 0755) == 0);
        fflush(stdout);
        pid_t pid = fork();
        check(pid >= 0);
        if (pid == 0) {
                struct host_facts f = {};
                check(unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
                check(mount("/proc", p, NULL, MS_BIND | MS_REC, NULL) == 0);
                check(chroot(dir) == 0 && chdir("/") == 0);
                become_user();
                check(probe_host("/", &f) == 0);
                check(f.chrooted);
                check(f.userns.tried && f.userns.err == EPERM && f.userns.step == STEP_CLONE);
                _exit(0);
        }
        check(waitpid(pid, &status, 0) == pid && status == 0);
        check(rmdir(p) == 0 && rmdir(dir) == 0);
}

/* /proc with a part covered, as containers have it: no procfs of one's own. */
TEST(masked_proc) {
        int status;
        if (geteuid() != 0)
                skip("not run by root");
        fflush(stdout);
        pid_t pid = fork();
        check(pid >= 0);
        if (pid == 0) {
                struct host_facts f = {};
                check(unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
                check(mount("none", "/proc/irq", "tmpfs", MS_RDONLY, NULL) == 0 ||
                      mount("none", "/proc/fs", "tmpfs", MS_RDONLY, NULL) == 0);
                become_user();
                check(probe_host(NULL, &f) == 0);
                check(probe_ok(f.userns) && probe_ok(f.pid_ns));
                check(f.proc_mount.tried && f.proc_mount.err == EPERM && f.proc_mount.step == STEP_MOUNT);
                _exit(0);
        }
        check(waitpid(pid, &status, 0) == pid && status == 0);
}

/* A state directory on an overlay: the kernel takes no overlay as upper layer, and the probe says at which step. */
TEST(state_on_overlay) {
        char dir[64], options[256];
        int status;
        if (geteuid() != 0)
                skip("not run by root");
        make_dir(dir, 0);
        fflush(stdout);
        pid_t pid = fork();
        check(pid >= 0);
        if (pid == 0) {
                static const char *const dirs[] = {"l", "u", "w", "m"};
                struct host_facts f = {};
                check(probe_host(NULL, &f) == 0);
                if (f.overlay.step == STEP_MODULE)
                        _exit(77);
                check(unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
                check(mount("none", dir, "tmpfs", 0, NULL) == 0 && chdir(dir) == 0);
                for (size_t i = 0; i < ELEMENTSOF(dirs); i++)
                        check(mkdir(dirs[i], 0755) == 0);
                snprintf(options, sizeof(options), "lowerdir=%s/l,upperdir=%s/u,workdir=%s/w", dir, dir, dir);
                check(mount("none", "m", "overlay", 0, options) == 0);
                strcat(dir, "/m");
                check(probe_host(dir, &f) == 0);
                check_streq(f.state_fs, "overlay");
                check(probe_ok(f.overlay));
                check(f.overlay_state.tried && f.overlay_state.err != 0 && f.overlay_state.step >= STEP_MOUNT);
                check(entries(dir) == 2);
                _exit(0);
        }
        check(waitpid(pid, &status, 0) == pid);
        check(rmdir(dir) == 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                skip("the overlay module is not loaded, and loading it is not the test's");
        check(status == 0);
}

/* A filter that kills the caller of unshare(2): the probe survives, and says that its child did not. */
static void killed(const char *dir) {
        struct host_facts f = {};
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* seccomp_data.nr */
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog prog = {ELEMENTSOF(code), code};
        check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
        check(probe_host(dir, &f) == 0);
        check(f.userns.tried && f.userns.step == STEP_KILLED);
        check(f.seccomp_mode == 2 && f.caller_no_new_privs);
        check(probe_ok(f.seccomp));
        check(entries(dir) == 2);
}
TEST(filter_that_kills) { as_user(killed); }

TAP_MAIN
