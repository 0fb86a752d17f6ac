/* tool.h in `belljar-tool`: all commands. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/commands.h"
#include "role/cli/options.h"
#include "role/cli/tool.h"

#define POLICY_MAX (1u << 20)

char **tool_argv;

int tool_policy(const char *path, struct policy **ret, struct error *e) {
        _cleanup_free_ char *text = NULL;
        size_t len;
        int r = file_read(AT_FDCWD, path, POLICY_MAX, &text, &len);

        if (r < 0)
                return error_errno(e, r, "the policy %s cannot be read", path);
        /* A policy that another belljar has kept in memory goes by the name that it had. */
        char name[256];
        ssize_t n = str_after(path, "/proc/self/fd/") ? readlink(path, name, sizeof(name) - 1) : -1;
        name[n > 0 ? n : 0] = 0;
        char *kept = n > 0 ? (char *)str_after(name, "/memfd:") : NULL;
        if (kept && strstr(kept, " (deleted)"))
                *strstr(kept, " (deleted)") = 0;
        return policy_parse(text, len, kept ? kept : path, ret, e);
}

int tool_secret(struct policy *p, const char *text, struct error *e) { return policy_add_secret(p, text, policy_add_preset_with, e); }

int tool_use(struct policy *p, const char *name, struct error *e) { return policy_add_use(p, name, e); }

static int dispatch(enum command_id id, int argc, char **argv) {
        switch (id) {
        case COMMAND_DIFF: return command_diff(argc, argv);
        case COMMAND_APPLY: return command_apply(argc, argv);
        case COMMAND_DISCARD: return command_discard(argc, argv);
        case COMMAND_INSPECT: return command_inspect(argc, argv);
        case COMMAND_PS: return command_ps(argc, argv);
        case COMMAND_RM: return command_rm(argc, argv);
        case COMMAND_KILL:
        case COMMAND_CUT:
        case COMMAND_HOLD:
        case COMMAND_RELEASE:
        case COMMAND_PAUSE:
        case COMMAND_RESUME: return command_stop(argc, argv);
        case COMMAND_DOCTOR: return command_doctor(argc, argv);
        case COMMAND_POLICY: return command_policy(argc, argv);
        case COMMAND_WHY: return command_why(argc, argv);
        case COMMAND_ASSESS: return command_assess(argc, argv);
        case COMMAND_IMAGE: return command_image(argc, argv);
        case COMMAND_BUILD: return command_build(argc, argv);
        case COMMAND_UPDATE: return command_update(argc, argv);
        case COMMAND_SECRET: return command_secret(argc, argv);
        case COMMAND_TRAIL: return command_trail(argc, argv);
        case COMMAND_WORKSPACE: return command_workspace(argc, argv);
        default: return EXIT_BELLJAR;
        }
}

int tool_command(int argc, char **argv) {
        if (argc < 2 || streq(argv[1], "--help") || streq(argv[1], "-h")) {
                options_help(NULL);
                return argc < 2 ? EXIT_BELLJAR : 0;
        }
        if (streq(argv[1], "--version")) {
                printf("belljar " VERSION "\n");
                return 0;
        }
        if (streq(argv[1], "--generate") && argc >= 3)
                return options_generate(argv[2], argc > 3 ? argv[3] : NULL) < 0 ? EXIT_BELLJAR : 0;
        const struct command_spec *c = command_find(argv[1]);
        if (!c) {
                struct error e = {};
                error_set(&e, EINVAL, "there is no command %s", argv[1]);
                error_fix(&e, "belljar help lists them; to run a program: belljar run -- %s", argv[1]);
                error_print(&e);
                return EXIT_BELLJAR;
        }
        if (c->id == COMMAND_HELP) {
                options_help(argc > 2 ? command_find(argv[2]) : NULL);
                return 0;
        }
        for (int i = 2; i < argc && argv[i][0] == '-' && !streq(argv[i], "--"); i++)
                if (streq(argv[i], "--help") || streq(argv[i], "-h")) {
                        options_help(c);
                        return 0;
                }
        return dispatch(c->id, argc - 1, argv + 1);
}
