/* belljar: the command line. Closes what it inherited, then hands over to the command. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/commands.h"
#include "role/cli/options.h"

static int dispatch(enum command_id id, int argc, char **argv) {
        switch (id) {
        case COMMAND_RUN: return command_run(argc, argv);
        case COMMAND_DIFF: return command_diff(argc, argv);
        case COMMAND_DISCARD: return command_discard(argc, argv);
        case COMMAND_INSPECT: return command_inspect(argc, argv);
        case COMMAND_PS: return command_ps(argc, argv);
        case COMMAND_RM: return command_rm(argc, argv);
        case COMMAND_KILL: return command_kill(argc, argv);
        case COMMAND_DOCTOR: return command_doctor(argc, argv);
        case COMMAND_POLICY: return command_policy(argc, argv);
        default: return EXIT_BELLJAR;
        }
}

/* stdin, stdout and stderr are open in whatever happens: a file opened as fd 2 would get the error messages. */
static int sanitize_fds(void) {
        for (int fd = 0; fd < 3; fd++)
                if (fcntl(fd, F_GETFD) < 0) {
                        int n = open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
                        if (n != fd)
                                return -EBADF;
                }
        /* What the caller left open by accident is not the sandbox's, nor that of any of Belljar's processes. */
        return close_range(3, ~0u, 0) < 0 ? -errno : 0;
}

int main(int argc, char **argv) {
        if (sanitize_fds() < 0)
                return EXIT_BELLJAR;
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
