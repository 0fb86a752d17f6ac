/* Facts of the kernel and the host that need no namespace; see probe.h. */
#include <fcntl.h>
#include <linux/kvm.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "base/fd.h"
#include "base/mountinfo.h"
#include "sys/cgroup-find.h"
#include "sys/probe.h"

#define SMALL_FILE_MAX (1u << 20)
#define MODULES_LIST_MAX (8u << 20)

/* Copies what fits; a cut path or name is no use, so then it is "". */
static void copy(char *dst, size_t size, const char *s) { snprintf(dst, size, "%s", strlen(s) < size ? s : ""); }

static struct probe_result result(int err, enum probe_step step) {
        return (struct probe_result){.tried = true, .err = err, .step = err ? step : STEP_NONE};
}

static int64_t read_number(const char *path, int64_t absent) {
        _cleanup_free_ char *text = NULL;
        char *end;
        if (file_read(AT_FDCWD, path, 4096, &text, NULL) < 0)
                return absent;
        errno = 0;
        long long v = strtoll(text, &end, 10);
        return errno == 0 && end != text ? v : absent;
}

static bool file_has(const char *path, const char *needle) {
        _cleanup_free_ char *text = NULL;
        return file_read(AT_FDCWD, path, SMALL_FILE_MAX, &text, NULL) >= 0 && strstr(text, needle);
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

void probe_parse_release(const char *release, int *major, int *minor) {
        int a = 0, b = 0;
        if (sscanf(release, "%4d.%4d", &a, &b) != 2 || a < 0 || b < 0)
                a = b = 0;
        *major = a;
        *minor = b;
}

bool probe_would_load(const char *module, const char *release) {
        _cleanup_free_ char *loaded = NULL, *builtin = NULL;
        char path[256], word[64];

        /* No CONFIG_MODULES, or loading is switched off: nothing can be loaded by trying. */
        if (file_read(AT_FDCWD, "/proc/modules", SMALL_FILE_MAX, &loaded, NULL) < 0 ||
            read_number("/proc/sys/kernel/modules_disabled", 0) == 1)
                return false;
        snprintf(word, sizeof(word), "%s ", module);
        for (const char *s = loaded; (s = strstr(s, word)); s++)
                if (s == loaded || s[-1] == '\n')
                        return false;
        snprintf(path, sizeof(path), "/sys/module/%s", module);
        if (exists(path))
                return false; /* built in, with parameters */
        snprintf(path, sizeof(path), "/lib/modules/%s/modules.builtin", release);
        snprintf(word, sizeof(word), "/%s.ko", module);
        return file_read(AT_FDCWD, path, MODULES_LIST_MAX, &builtin, NULL) < 0 || !strstr(builtin, word);
}

bool probe_can_load(const char *module, const char *release) {
        _cleanup_free_ char *list = NULL;
        char path[256], word[64];

        snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", release);
        snprintf(word, sizeof(word), "/%s.ko", module);
        return file_read(AT_FDCWD, path, MODULES_LIST_MAX, &list, NULL) < 0 || strstr(list, word);
}

/* A filter that allows everything, in a child that ends: the surest answer, where an outer filter may refuse. */
static struct probe_result probe_seccomp(void) {
        struct sock_filter_shape {
                uint16_t code;
                uint8_t jt, jf;
                uint32_t k;
        } allow[] = {{0x06 /* BPF_RET | BPF_K */, 0, 0, SECCOMP_RET_ALLOW}};
        struct {
                unsigned short len;
                void *filter;
        } prog = {1, allow};
        int status;

        pid_t pid = fork();
        if (pid < 0)
                return result(errno, STEP_FORK);
        if (pid == 0) {
                if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
                        _exit(errno > 0 && errno < 255 ? errno : EINVAL);
                _exit(0);
        }
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return result(errno, STEP_FORK);
        return WIFEXITED(status) ? result(WEXITSTATUS(status), STEP_CALL) : result(ECHILD, STEP_KILLED);
}

static void probe_calls(struct host_facts *f) {
        uint32_t notify = SECCOMP_RET_USER_NOTIF;
        struct open_how how = {.flags = O_PATH | O_CLOEXEC};

        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        f->landlock_abi = abi > 0 ? (int)abi : 0;
        f->landlock_err = abi > 0 ? 0 : errno;
        f->seccomp = probe_seccomp();
        f->seccomp_notify =
                result(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &notify) < 0 ? errno : 0, STEP_CALL);
        f->no_new_privs = result(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) < 0 ? errno : 0, STEP_CALL);
        f->caller_no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
        f->seccomp_mode = MAX(prctl(PR_GET_SECCOMP, 0, 0, 0, 0), 0);

        _cleanup_fd_ int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
        f->pidfd = result(pidfd < 0 ? errno : 0, STEP_CALL);
        _cleanup_fd_ int dir = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));
        f->openat2 = result(dir < 0 ? errno : 0, STEP_CALL);
        /* A struct of no size is refused as EINVAL by a kernel that knows the call. */
        long r = syscall(SYS_clone3, NULL, (size_t)0);
        f->clone3 = result(r < 0 && errno != EINVAL ? errno : 0, STEP_CALL);
        r = syscall(SYS_close_range, ~0u, ~0u, 0u);
        f->close_range = result(r < 0 ? errno : 0, STEP_CALL);
}

void probe_kernel(struct host_facts *f) {
        struct utsname u;
        _cleanup_free_ char *text = NULL;

        if (uname(&u) == 0) {
                copy(f->release, sizeof(f->release), u.release);
                probe_parse_release(u.release, &f->major, &f->minor);
                f->wsl2 =
                        strstr(u.release, "microsoft") || strstr(u.release, "WSL2"); /* "...-microsoft-standard-WSL2" */
                f->wsl1 = !f->wsl2 && strstr(u.release, "-Microsoft");                 /* "4.4.0-19041-Microsoft" */
                /* The sentry names itself in newer releases; older ones answer with this fixed build date. */
                f->gvisor = strcasestr(u.release, "gvisor") ||
                            (streq(u.release, "4.4.0") && strstr(u.version, "Jan 10 15:06:54 PST 2016"));
        }
        f->sysctl_userns_clone = (int)read_number("/proc/sys/kernel/unprivileged_userns_clone", -1);
        f->sysctl_max_userns = read_number("/proc/sys/user/max_user_namespaces", -1);
        f->sysctl_apparmor_userns = (int)read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", -1);
        f->memfd_noexec = (int)read_number("/proc/sys/vm/memfd_noexec", -1);
        f->yama = (int)read_number("/proc/sys/kernel/yama/ptrace_scope", -1);
        if (file_read(AT_FDCWD, "/proc/sys/kernel/core_pattern", 4096, &text, NULL) >= 0)
                f->core_pipe = text[0] == '|';
        f->apparmor = file_has("/sys/module/apparmor/parameters/enabled", "Y");
        f->selinux = exists("/sys/fs/selinux/enforce");
        f->selinux_enforcing = read_number("/sys/fs/selinux/enforce", 0) == 1;
        if (f->apparmor) {
                _cleanup_free_ char *profile = NULL;
                if (file_read(AT_FDCWD, "/proc/self/attr/current", 4096, &profile, NULL) >= 0) {
                        profile[strcspn(profile, "\n")] = 0;
                        copy(f->apparmor_profile, sizeof(f->apparmor_profile), profile);
                }
        }
        probe_calls(f);
}

/* KEY=value or KEY="value" of os-release(5). */
static void os_release_value(const char *text, const char *key, char *dst, size_t size) {
        size_t n = strlen(key);
        for (const char *s = text; *s; s = strchrnul(s, '\n'), s += *s == '\n') {
                if (strncmp(s, key, n) != 0 || s[n] != '=')
                        continue;
                s += n + 1;
                s += *s == '"' || *s == '\'';
                size_t k = strcspn(s, "\"'\n");
                snprintf(dst, size, "%.*s", (int)MIN(k, size - 1), s);
                return;
        }
}

/* The login name by /etc/passwd alone: the resolver's library cannot be linked statically. */
static void user_name(struct host_facts *f) {
        _cleanup_free_ char *text = NULL;
        if (file_read(AT_FDCWD, "/etc/passwd", MODULES_LIST_MAX, &text, NULL) < 0)
                return;
        for (char *line = text, *next; *line; line = next) {
                next = strchrnul(line, '\n');
                if (*next)
                        *next++ = 0;
                char *colon = strchr(line, ':'), *uid = colon ? strchr(colon + 1, ':') : NULL;
                uint64_t v;
                if (!uid)
                        continue;
                *colon = 0;
                uid++;
                uid[strcspn(uid, ":")] = 0;
                if (parse_u64(uid, &v) == 0 && v == f->uid) {
                        copy(f->user, sizeof(f->user), line);
                        return;
                }
        }
}

/* Is the root a container's? An image unpacked onto a disk keeps its /.dockerenv. */
static bool root_is_container(const struct mountinfo *m, size_t n) {
        const struct mountinfo *root = mountinfo_of_path(m, n, "/");
        if (root && (streq(root->fstype, "overlay") || str_after(root->fstype, "fuse") || !streq(root->root, "/")))
                return true;
        for (size_t i = 0; i < n; i++)
                if (strstr(m[i].root, "/containers/"))
                        return true;
        return false;
}

static enum host_container find_container(bool root_own) {
        _cleanup_free_ char *text = NULL;
        const char *word = getenv("container");
        char from_file[64] = "";

        if (!word && file_read(AT_FDCWD, "/run/systemd/container", sizeof(from_file), &text, NULL) >= 0) {
                text[strcspn(text, "\n")] = 0;
                copy(from_file, sizeof(from_file), text);
                word = from_file;
        }
        if (getenv("KUBERNETES_SERVICE_HOST") || exists("/run/secrets/kubernetes.io") ||
            exists("/var/run/secrets/kubernetes.io") || file_has("/proc/self/cgroup", "kubepods"))
                return CONTAINER_KUBERNETES;
        if ((root_own && exists("/run/.containerenv")) || (word && streq(word, "podman")) ||
            file_has("/proc/self/cgroup", "/libpod"))
                return CONTAINER_PODMAN;
        if ((root_own && exists("/.dockerenv")) || (word && streq(word, "docker")) ||
            file_has("/proc/self/cgroup", "/docker/"))
                return CONTAINER_DOCKER;
        if ((word && str_after(word, "lxc")) || file_has("/proc/self/cgroup", "/lxc"))
                return CONTAINER_LXC;
        return word && *word ? CONTAINER_OTHER : CONTAINER_NONE;
}

void probe_surroundings(struct host_facts *f) {
        _cleanup_free_ char *map = NULL, *os = NULL, *mounts = NULL;
        _cleanup_free_ struct mountinfo *m = NULL;
        unsigned long long in, out, count, total = 0;
        char exe[256];
        size_t n = 0;

        f->uid = geteuid();
        user_name(f);
        ssize_t k = readlink("/proc/self/exe", exe, sizeof(exe));
        if (k > 0 && (size_t)k < sizeof(exe)) {
                exe[k] = 0;
                copy(f->exe, sizeof(f->exe), exe);
        }
        if (file_read(AT_FDCWD, "/etc/os-release", SMALL_FILE_MAX, &os, NULL) >= 0 ||
            file_read(AT_FDCWD, "/usr/lib/os-release", SMALL_FILE_MAX, &os, NULL) >= 0) {
                os_release_value(os, "ID", f->os_id, sizeof(f->os_id));
                os_release_value(os, "VERSION_ID", f->os_version, sizeof(f->os_version));
        }
        if (file_read(AT_FDCWD, "/proc/self/uid_map", SMALL_FILE_MAX, &map, NULL) >= 0) {
                for (const char *s = map; sscanf(s, "%llu %llu %llu", &in, &out, &count) == 3;) {
                        total += count;
                        s = strchrnul(s, '\n');
                        s += *s == '\n';
                }
                f->uid_map_partial = total < UINT32_MAX;
        }
        if (file_read(AT_FDCWD, "/proc/self/mountinfo", 64u << 20, &mounts, NULL) >= 0 &&
            mountinfo_parse(mounts, &m, &n) >= 0)
                f->chrooted = n > 0 && !mountinfo_of_path(m, n, "/");
        f->container = find_container(root_is_container(m, n));
        f->systemd = exists("/run/systemd/system");
        char path[64];
        snprintf(path, sizeof(path), "/run/user/%u/systemd", f->uid);
        f->systemd_user = exists(path);
}

static bool at_least(const struct host_facts *f, int major, int minor) {
        return f->major > major || (f->major == major && f->minor >= minor);
}

int probe_cgroup(struct host_facts *f) {
        _cleanup_cgroup_layout_ struct cgroup_layout l = {};
        enum host_controller *const fields[] = {
                [CGROUP_MEMORY] = &f->memory, [CGROUP_PIDS] = &f->pids, [CGROUP_CPU] = &f->cpu,
        };

        int r = cgroup_find(&l);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return 0; /* no /proc: the user namespace probe says so */
        f->cgroup = l.mode == CGROUP_MODE_V2       ? HOST_CGROUP_V2
                    : l.mode == CGROUP_MODE_HYBRID ? HOST_CGROUP_HYBRID
                    : l.mode == CGROUP_MODE_V1     ? HOST_CGROUP_V1
                                                   : HOST_CGROUP_NONE;
        for (size_t i = 0; i < ELEMENTSOF(fields); i++)
                *fields[i] = l.v2.base && (l.v2.have & CGROUP_BIT(i)) ? CONTROLLER_V2
                             : l.v1[i].base                           ? CONTROLLER_V1
                                                                      : CONTROLLER_NONE;
        /* The root group has neither file; its children have them by the kernel's version. */
        f->cgroup_kill = l.v2.base && (l.file_kill || (l.v2_root && at_least(f, 5, 14)));
        f->cgroup_freeze = l.v2.base && (l.file_freeze || (l.v2_root && at_least(f, 5, 2)));
        f->cgroup_evacuate = l.v2.evacuate != 0;
        const struct cgroup_place *p = l.mode == CGROUP_MODE_V2 || !l.v1[CGROUP_MEMORY].mount ? &l.v2
                                                                                            : &l.v1[CGROUP_MEMORY];
        f->cgroup_read_only = p->read_only;
        copy(f->cgroup_own, sizeof(f->cgroup_own), p->own ?: "");
        copy(f->cgroup_base, sizeof(f->cgroup_base), p->base ?: "");
        return 0;
}

uint64_t probe_subid_sum(const char *text, const char *user, uint32_t uid) {
        char number[16];
        uint64_t sum = 0;

        snprintf(number, sizeof(number), "%u", uid);
        for (const char *s = text; *s; s = strchrnul(s, '\n'), s += *s == '\n') {
                char name[65];
                unsigned long long start, count;
                if (sscanf(s, "%64[^:\n]:%10llu:%10llu", name, &start, &count) == 3 &&
                    ((*user && streq(name, user)) || streq(name, number)))
                        sum += count;
        }
        return sum;
}

/* Present, and set-uid root or with a file capability. */
static bool is_privileged_helper(const char *name) {
        static const char *const dirs[] = {"/usr/bin", "/bin", "/usr/local/bin"};
        for (size_t i = 0; i < ELEMENTSOF(dirs); i++) {
                char path[128];
                struct stat st;
                snprintf(path, sizeof(path), "%s/%s", dirs[i], name);
                if (stat(path, &st) == 0)
                        return ((st.st_mode & S_ISUID) && st.st_uid == 0) ||
                               getxattr(path, "security.capability", NULL, 0) > 0;
        }
        return false;
}

void probe_ids(struct host_facts *f) {
        _cleanup_free_ char *uids = NULL, *gids = NULL;
        if (file_read(AT_FDCWD, "/etc/subuid", SMALL_FILE_MAX, &uids, NULL) >= 0)
                f->subuid = probe_subid_sum(uids, f->user, f->uid);
        if (file_read(AT_FDCWD, "/etc/subgid", SMALL_FILE_MAX, &gids, NULL) >= 0)
                f->subgid = probe_subid_sum(gids, f->user, f->uid);
        f->newuidmap = is_privileged_helper("newuidmap");
        f->newgidmap = is_privileged_helper("newgidmap");
}

void probe_vm(struct host_facts *f) {
        static const char *const dirs[] = {"/usr/bin", "/usr/local/bin", "/usr/libexec"};
#if defined(__x86_64__)
        static const char arch[] = "x86_64";
#elif defined(__aarch64__)
        static const char arch[] = "aarch64";
#else
        static const char arch[] = "unknown";
#endif
        for (size_t i = 0; i < ELEMENTSOF(dirs) && !f->qemu[0]; i++) {
                char path[96];
                snprintf(path, sizeof(path), "%s/qemu-system-%s", dirs[i], arch);
                if (access(path, X_OK) == 0)
                        copy(f->qemu, sizeof(f->qemu), path);
        }
        f->kvm_node = exists("/dev/kvm");
        if (!f->kvm_node) {
                f->kvm = result(ENOENT, STEP_OPEN);
                return;
        }
        /* A device node that nobody has registered would load the module when it is opened. */
        if (!file_has("/proc/misc", " kvm\n")) {
                f->kvm = result(ENODEV, STEP_MODULE);
                return;
        }
        _cleanup_fd_ int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
        if (kvm < 0) {
                f->kvm = result(errno, STEP_OPEN);
                return;
        }
        int version = ioctl(kvm, KVM_GET_API_VERSION, 0UL);
        if (version != KVM_API_VERSION) {
                f->kvm = result(version < 0 ? errno : EPROTO, STEP_CALL);
                return;
        }
        _cleanup_fd_ int vm = ioctl(kvm, KVM_CREATE_VM, 0UL);
        f->kvm = result(vm < 0 ? errno : 0, STEP_CLONE);
}

int probe_state_dir(struct host_facts *f, const char *state_dir) {
        _cleanup_free_ char *dir = NULL, *real = NULL, *text = NULL;
        _cleanup_free_ struct mountinfo *m = NULL;
        struct stat st;
        size_t n;

        if (!state_dir || state_dir[0] != '/')
                return 0;
        dir = path_clean(state_dir);
        if (!dir)
                return -ENOMEM;
        while (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode)) {
                char *slash = strrchr(dir, '/');
                if (streq(dir, "/"))
                        return 0;
                slash[slash == dir ? 1 : 0] = 0;
        }
        real = realpath(dir, NULL);
        if (!real)
                return errno == ENOMEM ? -ENOMEM : 0;
        copy(f->state_dir, sizeof(f->state_dir), real);
        if (file_read(AT_FDCWD, "/proc/self/mountinfo", 64u << 20, &text, NULL) < 0 ||
            mountinfo_parse(text, &m, &n) < 0)
                return 0;
        const struct mountinfo *mount = mountinfo_of_path(m, n, real);
        if (mount) {
                copy(f->state_fs, sizeof(f->state_fs), mount->fstype);
                f->state_quota = mountinfo_has_option(mount->super, "prjquota") ||
                                 mountinfo_has_option(mount->super, "pquota");
        }
        return 0;
}

int probe_host(const char *state_dir, struct host_facts *ret) {
        struct host_facts f = {};
        int r;

        probe_kernel(&f);
        probe_surroundings(&f);
        probe_ids(&f);
        probe_vm(&f);
        if ((r = probe_cgroup(&f)) < 0 || (r = probe_state_dir(&f, state_dir)) < 0 || (r = probe_namespaces(&f)) < 0)
                return r;
        *ret = f;
        return 0;
}
