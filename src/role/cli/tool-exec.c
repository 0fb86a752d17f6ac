/* tool.h in `belljar`: everything but a run is belljar-tool's. */
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "role/cli/commands.h"
#include "role/cli/tool.h"

char **tool_argv;

static int become_tool(struct error *e) {
        char exe[PATH_MAX], path[PATH_MAX + 64];
        ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

        if (n < 0)
                return error_errno(e, errno, "Belljar's own program cannot be found");
        exe[n] = 0;
        const char *dir = dirname(exe);
        snprintf(path, sizeof(path), "%s/belljar-tool", dir);
        execv(path, tool_argv);
        snprintf(path, sizeof(path), "%s/../libexec/belljar/belljar-tool", dir);
        execv(path, tool_argv);
        error_errno(e, errno, "belljar-tool cannot be executed from %s", dir);
        return error_fix(e, "install Belljar with make install, which puts it in libexec/belljar");
}

int tool_policy(const char *path, struct policy **ret, struct error *e) { return become_tool(e); }

int tool_command(int argc, char **argv) {
        struct error e = {};
        (void)become_tool(&e);
        error_print(&e);
        return EXIT_BELLJAR;
}
