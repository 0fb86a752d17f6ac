/* The cage of the helpers, see unpack.h. Forked into new namespaces (user, mount, pid, net, ipc, uts); here the root file
 * system becomes the one directory that the helper works in, and what is not needed is given up. A helper that is taken
 * over can put what it likes in its own tree, or report lies about it. */
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "generated/seccomp-unpack.h"
#include "role/unpack/unpack.h"
#include "sys/mount.h"
#include "sys/process.h"
#include "sys/seccomp.h"

#define MEMORY_MAX (768u << 20) /* bytes: xz -9 takes 65 MiB, zstd --long=31 2 GiB, which is refused */
#define DESCRIPTORS_MAX (UNPACK_DEPTH_MAX + 32u) /* JOB_PACK has one open a level */

/* The working directory, alone in a mount of its own, becomes the root. */
static int confine_root(bool read_only) {
        uint64_t attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | (read_only ? MOUNT_ATTR_RDONLY : 0);
        _cleanup_fd_ int fd = mount_clone(AT_FDCWD, ".", false);
        int r;

        if (fd < 0)
                return fd;
        if ((r = mount_attr(fd, false, attr, 0)) < 0 || (r = mount_attach(fd, AT_FDCWD, ".")) < 0)
                return r;
        if (fchdir(fd) < 0)
                return -errno;
        return mount_pivot(".");
}

static int limit(int what, uint64_t value) {
        struct rlimit l, want = {value, value};
        if (getrlimit((__rlimit_resource_t)what, &l) < 0)
                return -errno;
        want.rlim_cur = want.rlim_max = MIN(value, l.rlim_max);
        return setrlimit((__rlimit_resource_t)what, &want) < 0 ? -errno : 0;
}

static uint64_t caps_of(const struct image_helper *h) {
        switch (h->job) {
        case JOB_LAYER:
                return 1ull << CAP_CHOWN | 1ull << CAP_FOWNER | 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FSETID;
        case JOB_PACK:
        case JOB_EXPORT: return 1ull << CAP_DAC_READ_SEARCH;
        default: return 0;
        }
}

int unpack_confine(const struct image_helper *h, struct error *e) {
        int r = 0;

        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                r = -errno;
        if (r == 0 && h->keep_ids)
                r = mount_private();
        if (r == 0)
                r = confine_root(h->job != JOB_LAYER && h->job != JOB_ARCHIVE);
        if (r == -EINVAL && h->job == JOB_PACK)
                return error_set(e, EXDEV, "something is mounted beneath the directory; unmount it, or import a tar of it");
        if (r == 0 && ((r = limit(RLIMIT_CORE, 0)) < 0 || (r = limit(RLIMIT_NOFILE, DESCRIPTORS_MAX)) < 0 ||
                       (r = limit(RLIMIT_NPROC, 0)) < 0 || (r = limit(RLIMIT_FSIZE, h->max_bytes)) < 0))
                return error_errno(e, r, "the helper of an import cannot limit itself");
#if !defined(__SANITIZE_ADDRESS__) /* its shadow is terabytes of address space */
        if (r == 0)
                r = limit(RLIMIT_AS, MEMORY_MAX);
#endif
        if (r == 0)
                r = process_drop_caps(caps_of(h));
        if (r < 0)
                return error_errno(e, r, "the helper of an import cannot confine itself");
        (void)signal(SIGXFSZ, SIG_IGN); /* a file beyond its limit is an error like others */
        (void)signal(SIGPIPE, SIG_IGN);
        r = seccomp_load(seccomp_unpack, ELEMENTSOF(seccomp_unpack));
        if (r < 0)
                return error_errno(e, r, "the helper of an import cannot confine itself");
        return 0;
}
