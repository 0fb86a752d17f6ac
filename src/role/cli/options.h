/* Commands and options: one table for the parser, --help, the man pages and the shell completions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

enum command_id {
        COMMAND_RUN, COMMAND_DIFF, COMMAND_APPLY, COMMAND_DISCARD, COMMAND_INSPECT, COMMAND_PS, COMMAND_RM, COMMAND_KILL, COMMAND_CUT, COMMAND_HOLD, COMMAND_RELEASE, COMMAND_PAUSE, COMMAND_RESUME,
        COMMAND_DOCTOR, COMMAND_POLICY, COMMAND_WHY, COMMAND_ASSESS, COMMAND_IMAGE, COMMAND_BUILD, COMMAND_WORKSPACE, COMMAND_UPDATE, COMMAND_SECRET, COMMAND_TRAIL, COMMAND_HELP, COMMAND_N,
};
#define IN(c) (1u << COMMAND_##c)

enum option_id {
        OPT_POLICY = 256, OPT_WORKSPACE, OPT_NO_WORKSPACE, OPT_MODE, OPT_READ, OPT_HIDE, OPT_USE, OPT_ALLOW, OPT_DENY, OPT_GIVEN, OPT_TRIPWIRE, OPT_SECRET, OPT_PUBLISH, OPT_PARENT, OPT_DELEGATE, OPT_ENV, OPT_ENV_FILE,
        OPT_WORKDIR, OPT_MEMORY, OPT_CPU, OPT_PIDS, OPT_DISK, OPT_OUTPUT, OPT_TIME, OPT_IDLE, OPT_NAME, OPT_RM,
        OPT_TTY, OPT_NO_TTY, OPT_INTERACTIVE, OPT_QUIET, OPT_TIER, OPT_MIN_TIER, OPT_TRUST, OPT_NESTING, OPT_TRACE, OPT_IMAGE, OPT_USER, OPT_ENTRYPOINT, OPT_VOLUME, OPT_WITHOUT, OPT_DRY_RUN, OPT_JSON, OPT_LAST,
        OPT_NAME_ONLY, OPT_STAT, OPT_TAKE_ALL, OPT_ASK, OPT_UNDO, OPT_YES_TO, OPT_XATTRS, OPT_ALL, OPT_HOLD, OPT_FORCE, OPT_FORMAT, OPT_ARCH, OPT_TLS_VERIFY, OPT_MAX_SIZE, OPT_MAX_ENTRIES, OPT_FAIL_ON, OPT_METHOD, OPT_PROBE, OPT_EVENTS, OPT_TO, OPT_TAG, OPT_FILE, OPT_BUILD_ARG, OPT_TARGET, OPT_FROM, OPT_HOST, OPT_PASSPHRASE_FILE, OPT_KEY, OPT_HELP, OPT_VERSION,
};

struct option_spec {
        int id;
        const char *name; /* long, without dashes */
        char letter;      /* 0: none */
        const char *arg;  /* what it takes, in capitals; NULL: nothing */
        unsigned commands;/* IN() bits */
        const char *help; /* one line */
};
extern const struct option_spec option_table[];
extern const size_t option_count;

struct command_spec {
        enum command_id id;
        const char *name;
        const char *aliases; /* "ls list", or NULL */
        const char *args;    /* "[--] COMMAND [ARG...]" */
        const char *summary;
        const char *description; /* paragraphs for the manual, separated by empty lines */
};
extern const struct command_spec command_table[COMMAND_N];

/* By name or alias; NULL. */
const struct command_spec *command_find(const char *name);

/* Parses the options of a command, as getopt_long(3) does; those of `run` end at the first argument that is none.
 * fn is called for each with its argument (NULL where it takes none). *ret_first: index of the first operand. */
int options_parse(const struct command_spec *c, int argc, char **argv,
                  int (*fn)(int id, const char *arg, void *data, struct error *e), void *data, int *ret_first,
                  struct error *e) _must_check_;

void options_help(const struct command_spec *c); /* NULL: of all */
/* For the build: "man", "bash", "zsh", "fish", "tiers". -EINVAL otherwise. */
int options_generate(const char *what, const char *command);
