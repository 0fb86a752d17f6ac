/* tool.h in `belljar`: everything but a run is belljar-tool's. */
#include <unistd.h>

#include "role/cli/commands.h"
#include "role/cli/tool.h"
#include "svc/host.h"

char **tool_argv;

static int become_tool(struct error *e) {
        _cleanup_free_ char *path = NULL;
        int r = host_own_program("belljar-tool", &path, e);

        if (r < 0)
                return r;
        execv(path, tool_argv);
        return error_errno(e, errno, "%s cannot be executed", path);
}

int tool_policy(const char *path, struct policy **ret, struct error *e) { return become_tool(e); }

int tool_use(struct policy *p, const char *name, struct error *e) { return become_tool(e); }

int tool_secret(struct policy *p, const char *text, struct error *e) {
        return policy_secret_has_preset(text) ? become_tool(e) : policy_add_secret(p, text, NULL, e);
}

int tool_grant(struct run_options *o, struct error *e) { return become_tool(e); }

int tool_delegate(struct run_options *o, const char *text, struct error *e) { return become_tool(e); }

int tool_delegates(const struct run_options *o, const struct prepared *x, struct error *e) { return become_tool(e); }

int tool_command(int argc, char **argv) {
        struct error e = {};
        (void)become_tool(&e);
        error_print(&e);
        return EXIT_BELLJAR;
}
