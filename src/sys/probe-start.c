/* What a host cannot do, as far as a few reads say; see probe.h. Before each start that chooses a tier: doctor has time to
 * try everything, a start has not, so that what is tried here is only what the reads leave open. */
#include <fcntl.h>
#include <linux/stat.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/probe.h"
#include "sys/process.h"

static int64_t read_number(const char *path, int64_t absent) {
        char text[32] = "";
        uint64_t v;
        _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

        if (n <= 0)
                return absent;
        text[strcspn(text, "\n")] = 0;
        return parse_u64(text, &v) == 0 && v <= INT64_MAX ? (int64_t)v : absent;
}

/* "/" is no mount: the kernel lets nobody in a chroot make user namespaces. */
static bool is_chrooted(void) {
        struct statx sx;

        return syscall(SYS_statx, AT_FDCWD, "/", AT_NO_AUTOMOUNT, STATX_TYPE, &sx) == 0 &&
               (sx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) && !(sx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* AppArmor lets the namespace be made, and refuses what would be done in it. */
static struct probe_result try_userns(void) {
        struct probe_result r = {.tried = true, .step = STEP_CLONE};
        int pidfd = -EBADF, status = 0;
        pid_t pid = process_clone(CLONE_NEWUSER | CLONE_NEWUTS | CLONE_VFORK, -1, &pidfd);

        if (pid == 0)
                _exit(syscall(SYS_sethostname, "x", (size_t)1) < 0 ? 1 : 0);
        if (pid < 0) {
                r.err = -pid;
                return r;
        }
        fd_close(pidfd);
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        break;
        r.err = status == 0 ? 0 : EPERM;
        return r;
}

static bool has_overlay(void) {
        _cleanup_free_ char *text = NULL;

        /* Where modules can be loaded, the mount loads it. */
        return file_read(AT_FDCWD, "/proc/filesystems", 65536, &text, NULL) < 0 || strstr(text, "\toverlay\n") ||
               (access("/proc/modules", F_OK) == 0 && read_number("/proc/sys/kernel/modules_disabled", 0) == 0);
}

void probe_start(struct host_facts *f, bool overlay) {
        f->uid = geteuid();
        f->sysctl_max_userns = read_number("/proc/sys/user/max_user_namespaces", -1);
        f->sysctl_userns_clone = f->sysctl_apparmor_userns = -1;
        f->uid_map_partial = f->uid == 0 && !process_is_root();
        if (f->uid != 0 || f->uid_map_partial) {
                f->sysctl_userns_clone = (int)read_number("/proc/sys/kernel/unprivileged_userns_clone", -1);
                f->sysctl_apparmor_userns = (int)read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", -1);
        }
        f->chrooted = is_chrooted();
        f->seccomp_mode = MAX(prctl(PR_GET_SECCOMP, 0, 0, 0, 0), 0);
        /* Profiles and filters of the surroundings allow it or not. */
        if (f->sysctl_max_userns != 0 && (f->sysctl_apparmor_userns > 0 || f->seccomp_mode || f->chrooted))
                f->userns = try_userns();
        if (overlay)
                f->overlay = (struct probe_result){.tried = true, .err = has_overlay() ? 0 : ENODEV, .step = STEP_MODULE};
}
