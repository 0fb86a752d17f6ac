/* Counting hostile trees: what stands there is counted, however deep it lies, and what cannot be looked at is said. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"
#include "svc/remove-tree.h"
#include "svc/tree-size.h"
#include "tap.h"

static char scratch[64];
static int dir_fd;

static void begin(void) {
        snprintf(scratch, sizeof(scratch), "/tmp/test-size-XXXXXX");
        check(mkdtemp(scratch));
        dir_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check(dir_fd >= 0 && mkdirat(dir_fd, "t", 0755) == 0);
}

static void end(void) {
        check(remove_tree(dir_fd, "t", NULL, NULL) == 0);
        close(dir_fd);
        rmdir(scratch);
}

static void put(int at, const char *name, size_t bytes) {
        _cleanup_fd_ int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        char block[4096];

        memset(block, 'x', sizeof(block));
        check(fd >= 0);
        for (size_t i = 0; i < bytes; i += sizeof(block))
                check(fd_write_all(fd, block, sizeof(block)) == 0);
        check(fsync(fd) == 0); /* blocks are counted once they are given */
}

TEST(counts_all) {
        uint64_t none = 0, some = 7;
        begin();
        check(tree_size(dir_fd, "t", &none) == 0 && none < 4096);
        put(dir_fd, "t/a", 1 << 20);
        check(mkdirat(dir_fd, "t/d", 0755) == 0);
        put(dir_fd, "t/d/b", 1 << 20);
        check(symlinkat("/", dir_fd, "t/link") == 0 && symlinkat("d", dir_fd, "t/d2") == 0);
        check(tree_size(dir_fd, "t", &some) == 0 && some >= (2u << 20) + 7 && some < (2u << 20) + 65536);
        some = 0;
        check(tree_size(dir_fd, "no", &some) == 0 && some == 0);
        end();
}

/* Beyond what a path can say, and beyond the fds that a process has. */
TEST(deep) {
        struct rlimit l = {64, 64};
        char part[201];
        uint64_t bytes = 0;

        begin();
        check(setrlimit(RLIMIT_NOFILE, &l) == 0);
        memset(part, 'd', 200);
        part[200] = 0;
        int at = openat(dir_fd, "t", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (int i = 0; i < 300; i++) {
                check(mkdirat(at, part, 0755) == 0 && mkdirat(at, "z", 0755) == 0);
                int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                close(at);
                at = next;
        }
        put(at, "big", 1 << 20);
        close(at);
        put(dir_fd, "t/a", 1 << 20);
        put(dir_fd, "t/zz", 1 << 20);
        check(tree_size(dir_fd, "t", &bytes) == 0 && bytes >= 3u << 20);
        end();
}

TEST(wide) {
        uint64_t bytes = 0;
        begin();
        for (int i = 0; i < 3000; i++) {
                char name[32];
                snprintf(name, sizeof(name), "t/%d", i);
                if (i % 3)
                        check(mknodat(dir_fd, name, S_IFREG | 0644, 0) == 0);
                else
                        check(mkdirat(dir_fd, name, 0755) == 0);
        }
        check(tree_size(dir_fd, "t", &bytes) == 0 && bytes >= 3000 * 256);
        end();
}

TEST(says_what_is_closed) {
        uint64_t bytes = 0;
        begin();
        check(mkdirat(dir_fd, "t/d", 0755) == 0);
        put(dir_fd, "t/d/b", 1 << 20);
        put(dir_fd, "t/a", 1 << 20);
        check(fchmodat(dir_fd, "t/d", 0, 0) == 0);
        /* As a user, who is not root: root looks at everything. */
        if (geteuid() == 0)
                check(fchmod(dir_fd, 0755) == 0 && setresuid(0, 65534, 0) == 0);
        int r = tree_size(dir_fd, "t", &bytes);
        if (getuid() == 0)
                check(setresuid(0, 0, 0) == 0);
        check(r == -EACCES && bytes >= 1u << 20 && bytes < 2u << 20);
        end();
}

TAP_MAIN
