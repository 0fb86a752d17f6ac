/* The commands' entry points. Each takes the arguments after "belljar" and returns the exit status. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "svc/state.h"

/* Exit status of Belljar's own; the rest is the command's. */
enum {
        EXIT_TRIPWIRE = 123, /* stopped by a tripwire, or because of a limit other than time */
        EXIT_DEADLINE = 124, /* time or idle limit */
        EXIT_BELLJAR = 125,  /* Belljar's own failure, or wrong use */
        EXIT_NOT_EXECUTABLE = 126,
        EXIT_NOT_FOUND = 127,
};

int command_run(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_apply(int argc, char **argv);
int command_discard(int argc, char **argv);
int command_inspect(int argc, char **argv);
int command_ps(int argc, char **argv);
int command_rm(int argc, char **argv);
int command_stop(int argc, char **argv); /* kill, cut, hold, release, pause, resume: argv[0] says which */
int command_doctor(int argc, char **argv);
int command_policy(int argc, char **argv);
int command_why(int argc, char **argv);
int command_assess(int argc, char **argv);
int command_image(int argc, char **argv);
int command_build(int argc, char **argv); /* also image build */
int command_workspace(int argc, char **argv);
int command_update(int argc, char **argv);
int command_secret(int argc, char **argv);
int command_trail(int argc, char **argv);

/* `belljar policy compile`: prints what became of the rules; the block goes to `to`, unless that is NULL. */
int policy_compile_file(const char *file, const char *to, bool json);

/* Finds the sandbox that a command is about: by name, --last, or the last of this directory, which is said on stderr. */
int find_sandbox(const char *which, bool last, struct state *ret, struct error *e) _must_check_;
/* belljar secret revoke of that sandbox; name NULL: all. */
int secret_revoke_of(const struct state *s, const char *name, struct error *e) _must_check_;
/* Does what the words of the whole command line ask for, if that is to revoke, and it is plain of which sandbox. */
bool secret_revoke_at_once(int argc, char **argv);
/* The same of kill, cut, hold, release, pause and resume; *ret: the exit status. */
bool stop_at_once(int argc, char **argv, int *ret);
