/* What ssh and ssh-keygen see of the host while they run outside for a call. ssh reads what a server says, and is the user's own program
 * with the user's id: without this, one that was taken over would have the user's files, and by the sockets beneath /run and /tmp whatever
 * listens there (a session's bus, a container engine). Landlock does not know of connections to sockets, and not every kernel has it.
 *
 * So it has namespaces of its own (no network, no signals and no shared memory of others), a root in a ramfs with the system's programs and
 * libraries read-only and the one socket of the agent, no capability, and a list of system calls. */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/use.h"
#include "generated/seccomp-call.h"
#include "role/cli/call-view.h"
#include "role/cli/courier.h"
#include "sys/landlock.h"
#include "sys/mount.h"
#include "sys/process.h"
#include "sys/seccomp.h"

/* Where the root is put together: a directory that every host has, and that neither program has a use for. */
#define ROOT "/sys"
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID)

/* What of the host is there under its own name, where the host has it. Of /etc what a program's start and its libraries read, and none of what is
 * private there; who the user is stands in a file of its own, so that nobody is asked for it over a socket. */
static const char *const shown[] = {
        "/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/gnu", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom",
        "/etc/ld.so.cache", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path", "/etc/localtime", "/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf",
        "/etc/pki/tls/openssl.d", "/etc/crypto-policies", "/etc/ssh/ssh_known_hosts", "/proc/sys/crypto/fips_enabled",
};

/* An empty directory or file to mount on. */
static int make_place(const char *path, bool dir) {
        _cleanup_free_ char *parent = strdup(path);

        if (!parent)
                return -ENOMEM;
        *strrchr(parent, '/') = 0;
        int r = mkdir_parents(dir ? path : parent, 0755);
        if (r < 0 || dir)
                return r;
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        fd_close(fd);
        return fd < 0 ? -errno : 0;
}

static int show(const char *path, const char *name, uint64_t attributes) {
        _cleanup_free_ char *real = realpath(path, NULL), *target = str_printf(ROOT "%s", name);
        struct stat st;
        int r;

        if (!target)
                return -ENOMEM;
        if (!real || stat(real, &st) < 0)
                return -errno;
        _cleanup_fd_ int fd = mount_clone(AT_FDCWD, real, S_ISDIR(st.st_mode));
        if (fd < 0)
                return fd;
        return (r = mount_attr(fd, S_ISDIR(st.st_mode), attributes, 0)) < 0 || (r = make_place(target, S_ISDIR(st.st_mode))) < 0 ? r : mount_attach(fd, AT_FDCWD, target);
}

int call_view_put(const char *path, const char *text, size_t n) {
        _cleanup_free_ char *target = str_printf(ROOT "%s", path);
        _cleanup_fd_ int fd = target ? open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
        int r = !target ? -ENOMEM : fd < 0 ? -errno : fd_write_all(fd, text, n);

        return r == 0 && n > 0 && text[n - 1] != '\n' ? fd_write_all(fd, "\n", 1) : r;
}

static int put_user(void) {
        char line[96];
        int n = snprintf(line, sizeof(line), "user:x:%u:%u::/:/bin/sh\n", (unsigned)getuid(), (unsigned)getgid());

        int r = mkdir(ROOT "/etc", 0755) < 0 && errno != EEXIST ? -errno : call_view_put("/etc/passwd", line, (size_t)n);
        return r < 0 ? r : call_view_put("/etc/nsswitch.conf", "passwd: files\n", strlen("passwd: files\n"));
}

int call_view_begin(const char *helper, const char *agent) {
        const struct mount_option options[] = {{"mode", "0700"}};
        int r = courier_isolate(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC);

        if (r < 0)
                return r;
        _cleanup_fd_ int root = mount_new("ramfs", options, ELEMENTSOF(options), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, NULL);
        if (root < 0)
                return root;
        if ((r = mount_private()) < 0 || (r = mount_attach(root, AT_FDCWD, ROOT)) < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(shown); i++)
                if ((r = show(shown[i], shown[i], READ_ONLY)) < 0 && r != -ENOENT && r != -EACCES)
                        return r;
        if (helper && (r = show(helper, CALL_VIEW_HELPER, READ_ONLY)) < 0)
                return r;
        return agent && (r = show(agent, CALL_VIEW_AGENT, MOUNT_ATTR_NOSUID)) < 0 ? r : put_user();
}

/* Where the kernel has it, once more: what is there is read and executed, and signals stay within. */
static int confine_files(void) {
        int abi = landlock_abi(), r;

        if (abi <= 0)
                return 0;
        _cleanup_fd_ int ruleset = landlock_new(abi, true);
        if (ruleset < 0)
                return ruleset;
        return (r = landlock_allow_path(ruleset, abi, "/", USE_READ | USE_EXEC)) < 0 || (r = landlock_allow_path(ruleset, abi, "/dev", USE_READ | USE_WRITE | USE_DEVICE)) < 0
                       ? r
                       : landlock_restrict(ruleset);
}

int call_view_enter(void) {
        /* No core, not even down a pipe, which a limit of 0 does not hold back: core(5) does not say so, but 1 stands for nothing at all
         * (do_coredump in the kernel's fs/coredump.c). */
        const struct rlimit core = {1, 1};
        int r;

        if ((r = mount_pivot(ROOT)) < 0)
                return r;
        _cleanup_fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0 || setrlimit(RLIMIT_CORE, &core) < 0)
                return -errno;
        if ((r = mount_attr(root, false, MOUNT_ATTR_RDONLY, 0)) < 0 || (r = confine_files()) < 0 || (r = process_drop_caps(0)) < 0)
                return r;
        return seccomp_load(seccomp_call, ELEMENTSOF(seccomp_call));
}
