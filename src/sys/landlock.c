/* Landlock, see landlock.h. The constants stand here because Debian 12's headers know ABI 2 only. */
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/landlock.h"

/* include/uapi/linux/landlock.h, with the ABI that brought each. */
#define FS_EXECUTE (1ull << 0)
#define FS_WRITE_FILE (1ull << 1)
#define FS_READ_FILE (1ull << 2)
#define FS_READ_DIR (1ull << 3)
#define FS_REMOVE_DIR (1ull << 4)
#define FS_REMOVE_FILE (1ull << 5)
#define FS_MAKE_CHAR (1ull << 6)
#define FS_MAKE_DIR (1ull << 7)
#define FS_MAKE_REG (1ull << 8)
#define FS_MAKE_SOCK (1ull << 9)
#define FS_MAKE_FIFO (1ull << 10)
#define FS_MAKE_BLOCK (1ull << 11)
#define FS_MAKE_SYM (1ull << 12)
#define FS_REFER (1ull << 13)    /* 2 */
#define FS_TRUNCATE (1ull << 14) /* 3 */
#define FS_IOCTL_DEV (1ull << 15)/* 5 */
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ull << 0) /* 6 */
#define SCOPE_SIGNAL (1ull << 1)               /* 6 */

struct ruleset_attr {
        uint64_t handled_access_fs, handled_access_net, scoped;
};

int landlock_abi(void) {
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        if (abi < 0)
                return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
        return (int)abi;
}

static uint64_t handled_fs(int abi) {
        uint64_t all = (1ull << 13) - 1;
        if (abi >= 2)
                all |= FS_REFER;
        if (abi >= 3)
                all |= FS_TRUNCATE;
        if (abi >= 5)
                all |= FS_IOCTL_DEV;
        return all;
}

int landlock_new(int abi, bool scoped) {
        struct ruleset_attr a = {
                .handled_access_fs = handled_fs(abi),
                .scoped = scoped && abi >= 6 ? SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL : 0,
        };
        /* The size tells the kernel which fields exist: 8 bytes at ABI 1, 16 at 4, 24 at 6. */
        size_t size = abi >= 6 ? sizeof(a) : 8;
        long fd = syscall(SYS_landlock_create_ruleset, &a, size, 0);
        return fd < 0 ? -errno : (int)fd;
}

int landlock_new_scopes(void) {
        struct ruleset_attr a = {.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL};
        long fd = syscall(SYS_landlock_create_ruleset, &a, sizeof(a), 0);
        return fd < 0 ? -errno : (int)fd;
}

int landlock_allow(int ruleset, int abi, int fd, unsigned use) {
        struct stat st;
        uint64_t rights = 0;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (use & USE_READ)
                rights |= FS_READ_FILE | FS_READ_DIR;
        if (use & USE_EXEC)
                rights |= FS_EXECUTE;
        if (use & USE_WRITE)
                rights |= FS_WRITE_FILE | FS_TRUNCATE;
        if (use & USE_CHANGE)
                rights |= FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK | FS_MAKE_FIFO |
                          FS_MAKE_SYM | FS_REFER;
        if (use & USE_DEVICE)
                rights |= FS_IOCTL_DEV;
        rights &= handled_fs(abi);
        if (!S_ISDIR(st.st_mode))
                rights &= FS_EXECUTE | FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
        if (rights == 0)
                return 0;
        struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
        if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
                return -errno;
        return 0;
}

int landlock_allow_path(int ruleset, int abi, const char *path, unsigned use) {
        _cleanup_fd_ int fd = open(path, O_PATH | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        return landlock_allow(ruleset, abi, fd, use);
}

int landlock_restrict(int ruleset) {
        return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}
