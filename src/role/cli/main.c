/* belljar: the command line. Closes what it inherited, then runs, or hands over to the command (tool.h). */
#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/commands.h"
#include "role/cli/tool.h"

/* What the caller left open by accident is not the sandbox's, nor that of any of Belljar's processes. But for a sub-run's policy, from
 * the run that it is a part of (call-delegate.c): for this process alone. */
static int close_others(void) {
        const char *kept = getenv(KEEP_FD);
        uint64_t keep = 0;

        if (!kept || parse_u64(kept, &keep) < 0 || keep < 3 || keep >= INT_MAX || fcntl((int)keep, F_SETFD, FD_CLOEXEC) < 0)
                return syscall(SYS_close_range, 3, ~0u, 0) < 0 ? -errno : 0;
        (void)unsetenv(KEEP_FD);
        if ((keep > 3 && syscall(SYS_close_range, 3, (unsigned)keep - 1, 0) < 0) || syscall(SYS_close_range, (unsigned)keep + 1, ~0u, 0) < 0)
                return -errno;
        return 0;
}

/* stdin, stdout and stderr are open in whatever happens: a file opened as fd 2 would get the error messages. */
static int sanitize_fds(void) {
        for (int fd = 0; fd < 3; fd++)
                if (fcntl(fd, F_GETFD) < 0) {
                        int n = open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
                        if (n != fd)
                                return -EBADF;
                }
        return close_others();
}

static bool asks_for_help(int argc, char **argv) {
        for (int i = 2; i < argc && argv[i][0] == '-' && !streq(argv[i], "--"); i++)
                if (streq(argv[i], "--help") || streq(argv[i], "-h"))
                        return true;
        return false;
}

int main(int argc, char **argv) {
        int r = sanitize_fds();
        if (r < 0) {
                struct error e = {};
                error_errno(&e, r, "the file descriptors of this process cannot be put in order");
                error_print(&e);
                return EXIT_BELLJAR;
        }
        tool_argv = argv;
        if (argc > 1 && streq(argv[1], "run") && !asks_for_help(argc, argv))
                return command_run(argc - 1, argv + 1);
        if (secret_revoke_at_once(argc, argv))
                return 0;
        if (stop_at_once(argc, argv, &r))
                return r;
        return tool_command(argc, argv);
}
