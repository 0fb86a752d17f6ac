/* The table of commands and options, and its parser; see options.h. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "role/cli/options.h"

const struct option_spec option_table[] = {
        {OPT_POLICY, "policy", 'f', "FILE", IN(RUN) | IN(WHY) | IN(UPDATE) | IN(SECRET), "read the policy from FILE (belljar.yaml is never taken by itself)"},
        {OPT_WORKSPACE, "workspace", 0, "DIR|NAME", IN(RUN), "the directory that the command works in (default: the current one), or the name of one that Belljar keeps"},
        {OPT_NO_WORKSPACE, "no-workspace", 0, NULL, IN(RUN), "show no directory of the caller"},
        {OPT_MODE, "mode", 0, "MODE", IN(RUN), "workspace: cow keeps changes apart (default), rw writes through, ro refuses writes"},
        {OPT_READ, "read", 0, "PATH", IN(RUN), "show PATH of the host read-only; may be repeated"},
        {OPT_HIDE, "hide", 0, "PATTERN", IN(RUN), "hide a path or glob, existing or not; may be repeated"},
        {OPT_USE, "use", 0, "NAME", IN(RUN) | IN(WHY) | IN(UPDATE) | IN(SECRET), "add a recipe (harness/claude-code, harness/codex, harness/gemini-cli) or a preset (npm-install, ...); may be repeated"},
        {OPT_ALLOW, "allow", 0, "HOST[:PORT]", IN(RUN) | IN(WHY) | IN(UPDATE), "let connections to a host through, unread; on port 443, the default, TLS only; may be repeated"},
        {OPT_PUBLISH, "publish", 'p', "[IP:]PORT:INSIDE", IN(RUN), "reach a port of the sandbox from this host, at 127.0.0.1 or at IP; may be repeated"},
        {OPT_DENY, "deny", 0, "HOST[:PORT]", IN(RUN) | IN(WHY) | IN(UPDATE), "refuse a host that other rules allow; may be repeated"},
        {OPT_GIVEN, "given", 0, "URL", IN(RUN) | IN(WHY) | IN(UPDATE), "a URL that rules with provenance let pass; may be repeated"},
        {OPT_TRIPWIRE, "tripwire", 0, "EVENT=ACTION", IN(RUN), "what an alarm does: denied, rerouted, placeholder, budget or payload; warn, cut, hold, kill or off; may be repeated"},
        {OPT_SECRET, "secret", 0, "NAME[=SOURCE][@HOST|PRESET,...]", IN(RUN) | IN(WHY) | IN(UPDATE) | IN(SECRET), "a credential that requests to HOST, or those of PRESET, get on their way out, and that the sandbox never has; may be repeated"},
        {OPT_DELEGATE, "delegate", 0, "NAME=POLICY", IN(RUN), "the command may start sub-runs with this policy: /run/belljar/bin/delegate NAME -- COMMAND; may be repeated"},
        {OPT_PARENT, "parent", 0, "SANDBOX", IN(RUN), "a sub-run: within what SANDBOX may do, taken out of its budgets, and ended with it"},
        {OPT_ENV, "env", 'e', "NAME[=VALUE]", IN(RUN), "set a variable, or take it over from here"},
        {OPT_ENV_FILE, "env-file", 0, "FILE", IN(RUN), "set the variables of FILE, a NAME=VALUE a line"},
        {OPT_WORKDIR, "workdir", 'w', "DIR", IN(RUN), "start in DIR, as seen inside"},
        {OPT_MEMORY, "memory", 'm', "SIZE", IN(RUN) | IN(BUILD), "limit of memory, as 2GiB"},
        {OPT_CPU, "cpu", 0, "N", IN(RUN) | IN(BUILD), "limit of CPUs, as 1.5"},
        {OPT_PIDS, "pids", 0, "N", IN(RUN) | IN(BUILD), "limit of processes and threads (default: 4096)"},
        {OPT_DISK, "disk", 0, "SIZE", IN(RUN) | IN(BUILD), "limit of what the run may add on disk"},
        {OPT_OUTPUT, "output", 0, "SIZE", IN(RUN), "limit of stdout and stderr together"},
        {OPT_TIME, "time", 0, "TIME", IN(RUN) | IN(BUILD) | IN(IMAGE), "limit of wall time, as 30m (image: of a pull)"},
        {OPT_IDLE, "idle", 0, "TIME", IN(RUN) | IN(BUILD) | IN(IMAGE), "limit of time without CPU use (image: of a pull, without data; default: 2m)"},
        {OPT_NAME, "name", 0, "NAME", IN(RUN) | IN(IMAGE), "a name for the sandbox, or the image"},
        {OPT_RM, "rm", 0, NULL, IN(RUN), "keep nothing of the sandbox when it has ended, its changes included"},
        {OPT_TTY, "tty", 't', NULL, IN(RUN), "give the command a terminal, also where there is none here"},
        {OPT_NO_TTY, "no-tty", 'T', NULL, IN(RUN), "give it none; its output goes through a pipe"},
        {OPT_INTERACTIVE, "interactive", 'i', NULL, IN(RUN), "accepted; standard input is always passed on"},
        {OPT_QUIET, "quiet", 'q', NULL, IN(RUN) | IN(IMAGE) | IN(BUILD), "no lines of Belljar's own unless something failed"},
        {OPT_IMAGE, "image", 0, "NAME", IN(RUN), "run on the root of an image, not on this host's (belljar image ls)"},
        {OPT_VOLUME, "volume", 'v', "HOST:DIR[:rw]", IN(RUN), "show a directory or file of the host at DIR inside; read-only unless :rw"},
        {OPT_USER, "user", 'u', "USER[:GROUP]", IN(RUN), "the image's user to run as (default: what the image says, or root of it)"},
        {OPT_ENTRYPOINT, "entrypoint", 0, "PROGRAM", IN(RUN), "in place of the image's; \"\" for none"},
        {OPT_TIER, "tier", 0, "TIER", IN(RUN), "auto (default), process, container, microvm, vm"},
        {OPT_MIN_TIER, "min-tier", 0, "TIER", IN(RUN), "run in no weaker tier than this"},
        {OPT_TRUST, "trust", 0, "TRUST", IN(RUN), "who wrote what runs: own, reviewed or unknown (default)"},
        {OPT_NESTING, "nesting", 0, "WHAT", IN(RUN), "userns: let the run make sandboxes of its own; weaker (default: none)"},
        {OPT_TRACE, "trace", 0, "WHAT", IN(RUN), "exec: record every program that is executed (default: off)"},
        {OPT_WITHOUT, "without", 0, "CONTROL", IN(RUN), "go on knowingly without a control that this host cannot give"},
        {OPT_DRY_RUN, "dry-run", 0, NULL, IN(RUN) | IN(BUILD), "print the plan and do nothing"},
        {OPT_NAME_ONLY, "name-only", 0, NULL, IN(DIFF), "names only"},
        {OPT_STAT, "stat", 0, NULL, IN(DIFF), "names with sizes and lines"},
        {OPT_TAKE_ALL, "all", 0, NULL, IN(APPLY), "all changes but those of guarded files"},
        {OPT_ASK, "interactive", 'i', NULL, IN(APPLY), "show each change and ask, hunk by hunk; of a guarded file it takes the word yes"},
        {OPT_YES_TO, "yes-to", 0, "PATH=HASH", IN(APPLY), "a guarded file, with the very content that was shown with this hash; may be repeated"},
        {OPT_XATTRS, "xattrs", 0, NULL, IN(APPLY), "also attributes of the user (user.*) that the run gave to files"},
        {OPT_UNDO, "undo", 0, NULL, IN(APPLY), "take back what was taken over"},
        {OPT_ALL, "all", 'a', NULL, IN(PS) | IN(KILL) | IN(CUT) | IN(HOLD) | IN(PAUSE) | IN(RESUME), "every sandbox that runs (ps: also those that have ended)"},
        {OPT_HOLD, "hold", 0, "ID", IN(RELEASE), "the hold that is to end, as the alarm, belljar hold and belljar ps say it"},
        {OPT_FORCE, "force", 0, NULL, IN(RM), "end it first when it is running"},
        {OPT_LAST, "last", 0, NULL, IN(DIFF) | IN(APPLY) | IN(DISCARD) | IN(INSPECT) | IN(RM) | IN(KILL) | IN(CUT) | IN(HOLD) | IN(PAUSE) | IN(RESUME) | IN(UPDATE) | IN(TRAIL), "the sandbox that was started last"},
        {OPT_JSON, "json", 0, NULL, IN(RUN) | IN(DIFF) | IN(INSPECT) | IN(PS) | IN(DOCTOR) | IN(WORKSPACE) | IN(POLICY) | IN(WHY) | IN(ASSESS) | IN(IMAGE) | IN(SECRET) | IN(TRAIL), "print facts as JSON (run: with --dry-run)"},
        {OPT_FORMAT, "format", 0, "FORMAT", IN(IMAGE) | IN(TRAIL), "image import: dir, tar, oci, oci-archive, docker-archive (default: what it looks like); trail export: jsonl, ocsf, otel"},
        {OPT_KEY, "key", 0, "KEY", IN(TRAIL), "verify with this public key, or the one in this file (default: your own)"},
        {OPT_ARCH, "arch", 0, "ARCH", IN(IMAGE), "import, pull: of an image for several, that one: amd64, arm64, arm/v7 (default: this machine's)"},
        {OPT_TLS_VERIFY, "tls-verify", 0, "BOOL", IN(IMAGE), "pull: false takes any certificate, and HTTP (default: as registries.conf has it, else true)"},
        {OPT_MAX_SIZE, "max-size", 0, "SIZE", IN(IMAGE), "import: limit of the image's files (default: 64GiB, and 200 times their compressed size)"},
        {OPT_MAX_ENTRIES, "max-entries", 0, "N", IN(IMAGE), "import: limit of the number of files and directories (default: 2000000)"},
        {OPT_TAG, "tag", 't', "NAME", IN(BUILD), "the name of the image (default: that of the directory)"},
        {OPT_FILE, "file", 'f', "FILE", IN(BUILD), "the Containerfile (default: Containerfile or Dockerfile in the directory)"},
        {OPT_BUILD_ARG, "build-arg", 0, "NAME[=VALUE]", IN(BUILD), "a value for an ARG, or take it over from here; may be repeated"},
        {OPT_TARGET, "target", 0, "STAGE", IN(BUILD), "the stage to build (default: the last)"},
        {OPT_FAIL_ON, "fail-on", 0, "SEVERITY", IN(ASSESS), "exit with 1 where a finding is high, or medium or worse, or low or worse"},
        {OPT_METHOD, "method", 0, "METHOD", IN(WHY), "of the request (default: GET)"},
        {OPT_PROBE, "probe", 0, NULL, IN(WHY), "prove the answer by a real attempt in a sandbox with that policy: what is allowed reaches the upstream"},
        {OPT_EVENTS, "events", 0, "FILE", IN(RUN), "append what happened to FILE, a JSON object a line: each distinct refusal of the network, and the end"},
        {OPT_TO, "to", 0, "FILE", IN(POLICY), "compile: write what the rules become to FILE"},
        {OPT_FROM, "from", 0, "SOURCE", IN(SECRET), "set: take the value from env:NAME, file:PATH, command:WORDS or keyring:DESCRIPTION"},
        {OPT_HOST, "host", 0, "HOST[:PORT]", IN(SECRET), "test: ask HOST in place of the provider's own: a GitHub Enterprise, a GitLab, a registry of yours; also at a private address"},
        {OPT_PASSPHRASE_FILE, "passphrase-file", 0, "FILE", IN(SECRET), "set: the store's passphrase is FILE's text (default: what BELLJAR_PASSPHRASE_FILE names, else it is asked for)"},
        {OPT_HELP, "help", 'h', NULL, ~0u, "say what a command takes"},
        {OPT_VERSION, "version", 0, NULL, IN(HELP), "print the version"},
};
const size_t option_count = ELEMENTSOF(option_table);

const struct command_spec command_table[COMMAND_N] = {
        [COMMAND_RUN] = {COMMAND_RUN, "run", NULL, "[OPTION...] [--] COMMAND [ARG...]", "run a command in a sandbox",
                "Runs COMMAND so that it sees this host's programs read-only, the current directory as its workspace, and nothing "
                "else of yours: no home, no other processes, no network but what --allow or the policy names, no variables that may hold credentials. Standard input, "
                "output, error, signals and the exit status pass through.\n\n"
                "In the default mode, cow, changes to the workspace are kept apart: see belljar diff and belljar discard."},
        [COMMAND_DIFF] = {COMMAND_DIFF, "diff", NULL, "[OPTION...] [SANDBOX]", "show what a run changed in its workspace",
                "Prints the changes of a run in cow mode as a patch, as names or as JSON. Nothing in the sandbox's tree is run, followed "
                "or interpreted. Without SANDBOX: the last run that was started from this directory."},
        [COMMAND_APPLY] = {COMMAND_APPLY, "apply", NULL, "[OPTION...] [SANDBOX] [PATH...]", "take over what a run changed, wholly or in part",
                "Takes changes of a run in cow mode over into its workspace: those of the files and directories that are named, with --all those "
                "of all, with --interactive those that are said yes to. A first word that is no sandbox is a PATH of the last run that was started from this directory.\n\n"
                "Each file is the old or the new one at any moment. A file that changed on the host since the run started is reported and "
                "left alone. Only files, directories and links that stay inside come out, without setuid bits. Files that the host's tools run by themselves "
                "(build files, hooks, settings of editors and agents) are shown with what would run them, and want a yes of their own, to that very content. "
                "Of .git nothing comes out. What was taken over is kept with what stood there before until belljar discard or rm: --undo.\n\n"
                "Exit status: 0 where all that was asked for was taken over, 1 where something was not."},
        [COMMAND_DISCARD] = {COMMAND_DISCARD, "discard", NULL, "[OPTION...] [SANDBOX]", "drop what a run changed",
                "Removes the changes of a run for good. The workspace is as it was."},
        [COMMAND_INSPECT] = {COMMAND_INSPECT, "inspect", NULL, "[OPTION...] [SANDBOX]", "say where a sandbox runs, what it reaches, what it holds",
                "Answers three questions, from what is in force and not from what was asked for: which tier holds it, what it can "
                "reach, what its credentials can do. Then lists each control, and what the network refused, with what would allow it. --json has all "
                "of it (docs/inspect.md)."},
        [COMMAND_PS] = {COMMAND_PS, "ps", "ls list", "[OPTION...]", "list sandboxes", "Lists the sandboxes that run, or with --all also those that have ended."},
        [COMMAND_RM] = {COMMAND_RM, "rm", "remove", "[OPTION...] [SANDBOX...]", "remove sandboxes with their changes",
                "Removes the directories of sandboxes that have ended."},
        [COMMAND_KILL] = {COMMAND_KILL, "kill", NULL, "[OPTION...] [SANDBOX...]", "end running sandboxes at once",
                "Ends everything in the sandbox, also in one that is held, and returns when all of it is dead. Its changes are kept."},
        [COMMAND_CUT] = {COMMAND_CUT, "cut", NULL, "[OPTION...] [SANDBOX...]", "end network and credentials of running sandboxes",
                "Cuts every connection and revokes every secret of the sandbox, for good, and those of its sub-runs. Its processes run on."},
        [COMMAND_HOLD] = {COMMAND_HOLD, "hold", NULL, "[OPTION...] [SANDBOX...]", "cut running sandboxes and freeze them",
                "Cuts network and credentials as belljar cut does and freezes everything, until belljar release --hold ID ends the hold. Prints its ID."},
        [COMMAND_RELEASE] = {COMMAND_RELEASE, "release", NULL, "--hold ID", "end a hold",
                "Ends one hold, of a tripwire or of belljar hold. With the last of its holds a sandbox runs on, without network and credentials."},
        [COMMAND_PAUSE] = {COMMAND_PAUSE, "pause", NULL, "[OPTION...] [SANDBOX...]", "freeze running sandboxes",
                "Freezes everything in the sandbox. Limits of time stand still."},
        [COMMAND_RESUME] = {COMMAND_RESUME, "resume", "unpause", "[OPTION...] [SANDBOX...]", "let paused sandboxes run on",
                "Undoes belljar pause. It ends no hold."},
        [COMMAND_DOCTOR] = {COMMAND_DOCTOR, "doctor", NULL, "[OPTION...]", "say what this host can give, and how to mend what it cannot",
                "Lists tiers and controls, what is lost without each, and the exact fix."},
        [COMMAND_POLICY] = {COMMAND_POLICY, "policy", NULL, "check [--json] FILE | compile [--json] [--to FILE] FILE | presets [--json] [NAME] | relays | schema | tiers",
                "check a policy, show the presets, the JSON Schema or the table of tiers",
                "check reads FILE as belljar run -f does, and prints what it understood, or what is wrong with it. compile turns its network rules into the table that is decided "
                "with, and prints its size and digest. presets lists what use: can name, in a rule or (recipes) at the top of a policy, or prints one of them; relays the hosts that no wildcard opens, because they hand on to others. schema prints the "
                "JSON Schema for editors. tiers prints which tier is chosen for which risk."},
        [COMMAND_WHY] = {COMMAND_WHY, "why", NULL, "[OPTION...] URL | HOST:PORT", "say what becomes of a request under a policy, and why",
                "Decides on a request (a URL) or a connection (HOST:PORT) by the same table that a run is held to, and prints the "
                "decision, the rule and its line, and, where it is denied, the flag or the policy's line that would let it pass. "
                "Nothing is connected to. Without -f and --allow nothing is allowed.\n\n"
                "With --probe the answer is proved: a sandbox with the same policy is started, in which a program of Belljar's makes the very request "
                "or connection, through the same gate and broker as any run's, and both are shown side by side. What is allowed reaches the upstream: "
                "a POST posts, with an empty body.\n\n"
                "Exit status: 0 allowed, 1 denied, 2 (--probe) the attempt went another way than the policy says, 125 where the question has no answer."},
        [COMMAND_ASSESS] = {COMMAND_ASSESS, "assess", NULL, "[OPTION...] FILE", "say what a setup that exists holds, and what is weak in it",
                "Reads a compose file, the output of docker inspect (- is standard input), a Kubernetes pod or what has a pod "
                "template, a devcontainer.json, Claude Code's settings.json or sandbox-runtime's settings, and answers the three "
                "questions for it: where does it run, what can it reach, what can its credentials do. Then lists what is weak, each "
                "with its line, what follows from it and what mends it. Nothing else is read and nothing is asked; values that may "
                "be secret are not shown."},
        [COMMAND_IMAGE] = {COMMAND_IMAGE, "image", NULL, "import SOURCE | pull NAME | build DIRECTORY | ls | inspect NAME | rm NAME... | prune",
                "import, list and remove images",
                "import makes an image of a directory with a root file system, a tar of one, an OCI layout (DIR or DIR:NAME), an OCI "
                "archive or an archive of docker save; - is standard input. Archives are read by processes that can do nothing but unpack "
                "them. pull fetches NAME, or NAME@sha256:DIGEST, from its registry with skopeo, where that is installed, locked in with "
                "nothing of yours but the login for that registry. ls lists, inspect shows what an image says and what was left out of it, rm "
                "takes names away, prune removes layers that no image and no sandbox uses.\n\n"
                "belljar run --image NAME runs on it."},
        [COMMAND_BUILD] = {COMMAND_BUILD, "build", NULL, "[OPTION...] DIRECTORY", "build an image from a Containerfile",
                "Builds an image of what the Containerfile (Dockerfile) in DIRECTORY says, with buildah, where that is installed. The whole "
                "build runs in a sandbox of its own: no network, DIRECTORY read-only, nothing else of this host but its programs. Images "
                "that FROM names are those of belljar image ls. Also called belljar image build."},
        [COMMAND_WORKSPACE] = {COMMAND_WORKSPACE, "workspace", NULL, "ls | rm NAME...", "list and remove workspaces that Belljar keeps",
                "A workspace with a name outlives the runs that use it; it is made by its first use, belljar run --workspace NAME. "
                "rm removes it with all that it holds, unless a sandbox uses it."},
        [COMMAND_UPDATE] = {COMMAND_UPDATE, "update", NULL, "[OPTION...] [SANDBOX]", "put another network policy in force in a running sandbox",
                "The rules of FILE, --allow and --deny take the place of those that the run has, at once and for connections that "
                "are open as well: those that the new rules refuse are reset. A policy with a mistake changes nothing. Of FILE only "
                "the network counts. A run that was started without a network cannot be given one."},
        [COMMAND_SECRET] = {COMMAND_SECRET, "secret", NULL, "set [--from SOURCE] NAME | ls | rm NAME... | lock | test [-f POLICY] [--json] NAME | revoke SANDBOX [NAME]",
                "keep secrets for runs, sealed; say what they may do; take them from a run",
                "set keeps a secret in Belljar's own store, where a policy's store:NAME finds it. The value is typed without being shown, "
                "or read from standard input, or from --from; never from an argument. ls lists names, kinds and when each was set, never a value. "
                "rm removes. revoke takes one secret, or all of them, from a run: at once, also on connections that are open.\n\n"
                "test asks a secret's provider what the credential may do, prints its scopes and when it expires, and says where they exceed the rules of the policy "
                "that name it (-f, else belljar.yaml; also --secret), what narrower one the rules want, and which of them it cannot serve. NAME is a secret of the policy, else of the store. The credential goes to that "
                "provider alone, or to --host. Exit status: 0 it fits, 1 it exceeds the rules, cannot serve them, or is none any more, 125 where it is not known.\n\n"
                "The store is $XDG_DATA_HOME/belljar/secrets (~/.local/share). Each secret in it is sealed with a key: that of systemd's credential "
                "belljar.key, where there is one, else \"belljar:store\" of the kernel's user keyring, else one made of a passphrase, which the first "
                "set asks for. The keyring keeps that key for an hour, or until lock (docs/credentials.md)."},
        [COMMAND_TRAIL] = {COMMAND_TRAIL, "trail", NULL, "ls | show | tail | verify | export --format FORMAT [SANDBOX|FILE] | key", "what happened in a run, as it was recorded from outside",
                "ls lists the trails that there are, show prints one, tail goes on printing while the run lasts. verify finds a record that was changed, dropped, "
                "moved or cut off, and says which, given no more than the trail and the public key (--key, or your own); key prints yours. export hands the records "
                "on in a form that others read: OCSF events or OpenTelemetry logs, each with the record's own line in it. docs/trail.md says what a record is worth.\n\n"
                "Exit status of verify: 0 whole and sealed, 1 not as it was written, 2 not sealed (the run goes on, or was cut off), 125 no answer."},
        [COMMAND_HELP] = {COMMAND_HELP, "help", NULL, "[COMMAND]", "say what a command takes", ""},
};

const struct command_spec *command_find(const char *name) {
        for (size_t i = 0; i < COMMAND_N; i++) {
                const struct command_spec *c = &command_table[i];
                if (streq(c->name, name))
                        return c;
                for (const char *a = c->aliases; a && *a; a += strcspn(a, " "), a += *a == ' ') {
                        size_t n = strcspn(a, " ");
                        if (strlen(name) == n && strncmp(a, name, n) == 0)
                                return c;
                }
        }
        return NULL;
}

int options_parse(const struct command_spec *c, int argc, char **argv,
                  int (*fn)(int, const char *, void *, struct error *), void *data, int *ret_first, struct error *e) {
        struct option longs[ELEMENTSOF(option_table) + 1] = {};
        char shorts[3 + 2 * ELEMENTSOF(option_table)] = "";
        size_t n = 0, s = 0;
        int r, opt;

        shorts[s++] = c->id == COMMAND_RUN ? '+' : '-';
        if (c->id != COMMAND_RUN)
                s--; /* permuted, the default */
        shorts[s++] = ':';
        for (size_t i = 0; i < option_count; i++) {
                const struct option_spec *o = &option_table[i];
                if (!(o->commands & 1u << c->id))
                        continue;
                longs[n++] = (struct option){o->name, o->arg ? required_argument : no_argument, NULL, o->id};
                if (o->letter) {
                        shorts[s++] = o->letter;
                        if (o->arg)
                                shorts[s++] = ':';
                }
        }
        shorts[s] = 0;
        optind = 1;
        opterr = 0;
        while ((opt = getopt_long(argc, argv, shorts, longs, NULL)) >= 0) {
                if (opt == '?' || opt == ':') {
                        const char *word = argv[optind - 1];
                        if (opt == ':')
                                error_set(e, EINVAL, "%s needs a value", word);
                        else if (optopt && optopt < 256)
                                error_set(e, EINVAL, "there is no option -%c", optopt);
                        else
                                error_set(e, EINVAL, "there is no option %s, or it takes no value", word);
                        return error_fix(e, "belljar %s --help lists them", c->name);
                }
                for (size_t i = 0; opt < 256 && i < option_count; i++)
                        if (option_table[i].letter == opt && (option_table[i].commands & 1u << c->id))
                                opt = option_table[i].id;
                if ((r = fn(opt, optarg, data, e)) < 0)
                        return r;
        }
        *ret_first = optind;
        return 0;
}

static void print_option(const struct option_spec *o) {
        char left[64];
        if (o->letter)
                snprintf(left, sizeof(left), "-%c, --%s%s%s", o->letter, o->name, o->arg ? " " : "", o->arg ? o->arg : "");
        else
                snprintf(left, sizeof(left), "    --%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
        printf("  %-28s %s\n", left, o->help);
}

void options_help(const struct command_spec *c) {
        if (!c) {
                printf("Belljar runs what an AI agent decides to run, and bounds what it can reach.\n\nusage: belljar COMMAND ...\n\n");
                for (size_t i = 0; i < COMMAND_N; i++)
                        printf("  %-10s %s\n", command_table[i].name, command_table[i].summary);
                printf("\nbelljar COMMAND --help says what each takes.\n");
                return;
        }
        printf("usage: belljar %s %s\n\n%s\n\n", c->name, c->args, c->description);
        for (size_t i = 0; i < option_count; i++)
                if (option_table[i].commands & 1u << c->id)
                        print_option(&option_table[i]);
}
