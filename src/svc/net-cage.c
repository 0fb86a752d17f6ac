/* The cage of gate and broker, see net-cage.h. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/net-cage.h"
#include "sys/landlock.h"
#include "sys/mount.h"
#include "sys/process.h"
#include "sys/seccomp.h"

#define ROOT "/tmp" /* covered by the empty root */
/* Two for each of 4,096 connections, and some. As many as the caller's hard limit lets it have. */
#define DESCRIPTORS 10240u

/* AddressSanitizer's own maps are terabytes that it never touches. */
#if defined(__SANITIZE_ADDRESS__)
#define BOUND_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BOUND_MEMORY 0
#endif
#endif
#ifndef BOUND_MEMORY
#define BOUND_MEMORY 1
#endif

static int empty_root(void) {
        const struct mount_option options[] = {{"mode", "0555"}, {"size", "4k"}, {"nr_inodes", "1"}};
        _cleanup_fd_ int fd = mount_new("tmpfs", options, ELEMENTSOF(options),
                                        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, NULL);
        int r;

        if (fd < 0)
                return fd;
        if ((r = mount_attach(fd, AT_FDCWD, ROOT)) < 0)
                return r;
        return mount_pivot(ROOT);
}

/* Gate and broker are outside the sandbox's own limit of memory, and what the sandbox sends makes them grow: what cannot be had is
 * a connection that ends. RLIMIT_DATA counts what is private and can be written (getrlimit(2)), RLIMIT_AS the rest, too: what one
 * that was taken over could map as shared or as a stack, and the pages of tables for it. */
static int bound_memory(void) {
        const struct rlimit data = {NET_MEMORY_MAX, NET_MEMORY_MAX}, all = {2 * NET_MEMORY_MAX, 2 * NET_MEMORY_MAX};
        return BOUND_MEMORY && (setrlimit(RLIMIT_DATA, &data) < 0 || setrlimit(RLIMIT_AS, &all) < 0) ? -errno : 0;
}

static int limits(void) {
        struct rlimit none = {0, 0}, files;

        if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_NPROC, &none) < 0 || setrlimit(RLIMIT_FSIZE, &none) < 0 ||
            getrlimit(RLIMIT_NOFILE, &files) < 0)
                return -errno;
        files.rlim_cur = files.rlim_max = MIN(files.rlim_max, DESCRIPTORS);
        return setrlimit(RLIMIT_NOFILE, &files) < 0 ? -errno : bound_memory();
}

static int no_files(void) {
        int abi = landlock_abi();
        if (abi <= 0)
                return abi;
        _cleanup_fd_ int ruleset = landlock_new(abi, true);
        return ruleset < 0 ? ruleset : landlock_restrict(ruleset);
}

int net_cage(const struct sock_filter *filter, size_t n, struct error *e) {
        int r;

        (void)signal(SIGPIPE, SIG_IGN);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return error_errno(e, errno, "it cannot confine itself");
        if ((r = empty_root()) < 0)
                return error_errno(e, r, "an empty root cannot be made");
        if ((r = limits()) < 0 || (r = process_drop_caps(0)) < 0 || (r = no_files()) < 0 || (r = seccomp_load(filter, n)) < 0)
                return error_errno(e, r, "it cannot confine itself");
        return 0;
}
