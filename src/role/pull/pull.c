/* The cage of skopeo(1), see svc/image-pull.h, and the start of it. Forked into new namespaces (user, mount, pid, IPC, UTS;
 * the network is the host's), where it becomes what all others end with (pid 1). Its root is a new one: the programs and
 * libraries of the host and its certificates, read-only; copies of the settings that it needs; one directory to write in.
 * Who takes it over can speak to the networks that the host reaches, with the login for that one registry, and fill the
 * directory up to its bound. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/use.h"
#include "generated/seccomp-pull.h"
#include "svc/image-pull.h"
#include "sys/landlock.h"
#include "sys/mount.h"
#include "sys/process.h"
#include "sys/seccomp.h"

#define MEMORY_MAX (4ull << 30)  /* bytes of address space; Go reserves 0.7 GiB and uses 40 MiB of it */
#define THREADS_MAX 256u
#define DESCRIPTORS_MAX 256u
#define NAME_LEN_MAX 4096u

/* What of the host is seen. Directories of old, where they are links into /usr, are made as such links. */
static const char *const trees[] = {"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ssl/certs", "/etc/pki/tls/certs",
                                    "/etc/pki/ca-trust/extracted"};
static const char *const files[] = {"/etc/ld.so.cache", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem"};
/* What the kernel starts before a program that is linked dynamically. */
static const char *const linkers[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1",
                                      "/lib/ld-musl-aarch64.so.1"};

#define PROGRAM "/skopeo"
#define RESULT "/out"

struct tree {
        const char *at;
        int fd;         /* a detached clone; or */
        char link[256]; /* a link */
};

static _noreturn_ void fail(int r, const char *what) {
        dprintf(2, "skopeo cannot be locked in: %s: %s\n", what, strerror(-r));
        _exit(PULL_CAGE_FAILED);
}

/* A clone of what stands at the path, links followed, and never with more rights than reading. -ENOENT. */
static int clone_tree(const char *path, bool exec) {
        uint64_t attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (exec ? 0 : MOUNT_ATTR_NOEXEC);
        _cleanup_free_ char *real = realpath(path, NULL);

        if (!real)
                return -errno;
        /* With all that is mounted beneath: an ordinary user cannot leave it out. */
        _cleanup_fd_ int fd = mount_clone(AT_FDCWD, real, true);
        if (fd < 0)
                return fd;
        int r = mount_attr(fd, true, attr, 0);
        return r < 0 ? r : TAKE_FD(fd);
}

static int find_tree(const char *path, bool exec, struct tree *ret) {
        struct stat st;

        *ret = (struct tree){.at = path, .fd = -EBADF};
        if (lstat(path, &st) < 0)
                return -errno;
        if (S_ISLNK(st.st_mode) && exec) {
                ssize_t n = readlink(path, ret->link, sizeof(ret->link) - 1);
                return n < 0 || n == sizeof(ret->link) - 1 ? -EINVAL : 0;
        }
        return ret->fd = clone_tree(path, exec);
}

/* Directories above a path, which is absolute. */
static int make_parents(int root, const char *path) {
        char part[NAME_LEN_MAX];

        for (const char *p = path + 1; (p = strchr(p, '/')); p++) {
                size_t n = (size_t)(p - path - 1);
                if (n >= sizeof(part))
                        return -ENAMETOOLONG;
                memcpy(part, path + 1, n);
                part[n] = 0;
                if (mkdirat(root, part, 0755) < 0 && errno != EEXIST)
                        return -errno;
        }
        return 0;
}

static int make_file(int root, const char *path, const char *data, size_t len) {
        int r = make_parents(root, path);
        if (r < 0)
                return r;
        _cleanup_fd_ int fd = openat(root, path + 1, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        return fd < 0 ? -errno : fd_write_all(fd, data, len);
}

static int put_tree(int root, const struct tree *t) {
        struct stat st;
        int r = make_parents(root, t->at);

        if (r < 0)
                return r;
        if (t->link[0])
                return symlinkat(t->link, root, t->at + 1) < 0 ? -errno : 0;
        if (fstat(t->fd, &st) < 0)
                return -errno;
        r = S_ISDIR(st.st_mode) ? (mkdirat(root, t->at + 1, 0755) < 0 ? -errno : 0) : make_file(root, t->at, "", 0);
        return r < 0 ? r : mount_attach(t->fd, root, t->at + 1);
}

/* The new root, while the old one is still there. */
static int make_root(const struct pull_child *c) {
        static const struct mount_option options[] = {{"mode", "755"}, {"size", "32m"}, {"nr_inodes", "4096"}};
        struct tree found[ELEMENTSOF(trees) + ELEMENTSOF(files) + 2];
        size_t n = 0;
        int r;

        /* What is to be seen is taken by its path, or as the working directory, before anything covers it. */
        for (size_t i = 0; i < ELEMENTSOF(trees) + ELEMENTSOF(files); i++) {
                bool tree = i < ELEMENTSOF(trees);
                const char *path = tree ? trees[i] : files[i - ELEMENTSOF(trees)];
                r = find_tree(path, tree && strncmp(path, "/etc", 4) != 0, &found[n]);
                if (r >= 0)
                        n++;
                else if (r != -ENOENT)
                        fail(r, path);
        }
        found[n] = (struct tree){.at = PROGRAM, .fd = clone_tree(c->program, true)};
        if (found[n++].fd < 0)
                fail(found[n - 1].fd, c->program);
        if (c->result) {
                found[n] = (struct tree){.at = RESULT, .fd = mount_clone(AT_FDCWD, "", false)};
                if (found[n].fd < 0 || (r = mount_attr(found[n].fd, false, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, 0)) < 0)
                        fail(found[n].fd < 0 ? found[n].fd : r, "its directory");
                n++;
        }
        int root = mount_new("tmpfs", options, ELEMENTSOF(options), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, NULL);
        if (root < 0 || (r = mount_attach(root, AT_FDCWD, "")) < 0)
                fail(root < 0 ? root : r, "a new root");
        for (size_t i = 0; i < n; i++)
                if ((r = put_tree(root, &found[i])) < 0)
                        fail(r, found[i].at);
        for (size_t i = 0; i < c->files->n; i++)
                if ((r = make_file(root, c->files->items[i].path, c->files->items[i].data, c->files->items[i].len)) < 0)
                        fail(r, c->files->items[i].path);
        return root;
}

static void enter_root(const struct pull_child *c) {
        int root = make_root(c), r;

        if (fchdir(root) < 0)
                fail(-errno, "a new root");
        if ((r = mount_pivot(".")) < 0 || (r = mount_attr(root, false, MOUNT_ATTR_RDONLY, 0)) < 0)
                fail(r, "a new root");
        if (syscall(SYS_close_range, 3, ~0u, 0) < 0)
                fail(-errno, "descriptors");
}

static void limit(int what, uint64_t value) {
        struct rlimit l, want;
        if (getrlimit((__rlimit_resource_t)what, &l) < 0)
                fail(-errno, "limits");
        want.rlim_cur = want.rlim_max = MIN(value, l.rlim_max);
        if (setrlimit((__rlimit_resource_t)what, &want) < 0)
                fail(-errno, "limits");
}

/* Reading and writing as the mounts have it; of programs the one alone. */
static void restrict_files(void) {
        int abi = landlock_abi(), r;

        if (abi == 0)
                return; /* not on this host */
        _cleanup_fd_ int ruleset = abi < 0 ? abi : landlock_new(abi, true);
        if (ruleset < 0)
                fail(ruleset, "Landlock");
        if ((r = landlock_allow_path(ruleset, abi, "/", USE_READ)) < 0 || (r = landlock_allow_path(ruleset, abi, PROGRAM, USE_EXEC)) < 0 ||
            (r = landlock_allow_path(ruleset, abi, RESULT, USE_WRITE | USE_CHANGE)) < 0)
                fail(r, "Landlock");
        for (size_t i = 0; i < ELEMENTSOF(linkers); i++)
                if ((r = landlock_allow_path(ruleset, abi, linkers[i], USE_EXEC)) < 0)
                        fail(r, "Landlock");
        if ((r = landlock_restrict(ruleset)) < 0)
                fail(r, "Landlock");
}

void image_pull_child(const struct pull_child *c) {
        int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), r;
        struct pollfd heard = {.fd = 2};

        if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(c->out, 1) < 0 || dup2(c->err, 2) < 0)
                _exit(PULL_CAGE_FAILED);
        umask(077);
        enter_root(c);
        limit(RLIMIT_CORE, 0);
        limit(RLIMIT_NOFILE, DESCRIPTORS_MAX);
        limit(RLIMIT_NPROC, THREADS_MAX);
        limit(RLIMIT_FSIZE, c->max_file);
        limit(RLIMIT_MEMLOCK, 0);
#if !defined(__SANITIZE_ADDRESS__)
        limit(RLIMIT_AS, MEMORY_MAX);
#endif
        if ((r = process_drop_caps(0)) < 0)
                fail(r, "capabilities");
        /* Not before: a change of credentials takes it back. Who asked may have died by then; nobody hears us then. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                fail(-errno, "privileges");
        if (poll(&heard, 1, 0) != 0)
                _exit(PULL_CAGE_FAILED);
        restrict_files();
        (void)signal(SIGPIPE, SIG_DFL);
        if ((r = seccomp_load(seccomp_pull, ELEMENTSOF(seccomp_pull))) < 0)
                fail(r, "system calls");
        execve(PROGRAM, c->argv, c->envp);
        fail(-errno, c->program);
}
