/* With --schema it prints the schema instead: how docs/belljar.schema.json is made. With --read FILE it reads a policy
 * and says whether it is accepted, for tests/integration/policy-schema. */
#include <errno.h>
#include <jansson.h>

#include "base/fd.h"
#include "base/str.h"
#include "model/policy-print.h"
#include "model/policy-table.h"
#include "tap.h"

static struct policy *accepted(const char *text) {
        struct policy *p = NULL;
        struct error e = {};
        if (policy_parse(text, strlen(text), "p.yaml", &p, &e) < 0)
                printf("# %s: %s (%s)\n", text, e.msg, e.fix);
        check(p);
        return p;
}

/* Expects a refusal whose message begins with the place and has the part, and whose fix has the other. */
static void refused(const char *text, int errnum, const char *msg, const char *fix) {
        struct policy *p = (void *)1;
        struct error e = {};
        int r = policy_parse(text, strlen(text), "p.yaml", &p, &e);
        bool ok = r == -errnum && e.errnum == errnum && p == (void *)1 && strncmp(e.msg, "p.yaml:", 7) == 0 &&
                  strstr(e.msg, msg) && strstr(e.fix, fix);
        if (!ok)
                printf("# %s: %d %s (%s)\n", text, r, e.msg, e.fix);
        check(ok);
        check(policy_parse(text, strlen(text), "p.yaml", &p, NULL) < 0);
}
#define REFUSED(text, msg, fix) refused("version: 1\n" text, EINVAL, msg, fix)
#define OUT_OF_RANGE(text, msg, fix) refused("version: 1\n" text, ERANGE, msg, fix)

TEST(defaults) {
        _cleanup_policy_ struct policy *p = accepted("version: 1\n");
        check_streq(p->source, "p.yaml");
        check(p->tier == TIER_AUTO && p->trust == TRUST_UNKNOWN);
        check(!p->workspace.path && p->workspace.mode == WORKSPACE_COW);
        check(p->read.n == 0 && p->hide.n == 0 && p->n_env == 0 && p->without.n == 0);
        check(p->limits.pids.value == 4096 && p->limits.pids.origin == LIMIT_DEFAULT);
        check(p->limits.memory.origin == LIMIT_NONE && p->limits.cpu.origin == LIMIT_NONE &&
              p->limits.disk.origin == LIMIT_NONE && p->limits.output.origin == LIMIT_NONE &&
              p->limits.time.origin == LIMIT_NONE && p->limits.idle.origin == LIMIT_NONE);
        policy_free(NULL);
}

TEST(everything) {
        _cleanup_policy_ struct policy *p = accepted(
                "version: 1\n"
                "tier: process\n"
                "trust: 'own'\n"
                "files:\n"
                "  workspace: {path: ~/src/my-app, mode: rw}\n"
                "  read: [~/.config/git, \"/opt/My Tools\"]\n"
                "  hide: [\"**/.env\", ~/.ssh, src/*.key]\n"
                "env: {LANG: C.UTF-8, DEBUG: 1, YES: yes, OCT: 010, HOME_LIKE: , TERM: ~, E: '', N: 'null'}\n"
                "limits: {memory: 2GiB, cpu: 0.5, pids: 256, disk: \"4 GiB\", output: 65536, time: 1h30m, idle: 90}\n"
                "without: [seccomp, mount-ns, seccomp]\n");
        check(p->tier == TIER_PROCESS && p->trust == TRUST_OWN && p->workspace.mode == WORKSPACE_RW);
        check_streq(p->workspace.path, "~/src/my-app");
        check(p->read.n == 2 && p->hide.n == 3);
        check_streq(p->read.items[1], "/opt/My Tools");
        check_streq(p->hide.items[0], "**/.env");
        check_streq(p->hide.items[2], "src/*.key");
        check(p->n_env == 8);
        static const char *const env[][2] = {
                {"LANG", "C.UTF-8"}, {"DEBUG", "1"}, {"YES", "yes"}, {"OCT", "010"}, {"HOME_LIKE", NULL}, {"TERM", NULL},
                {"E", ""}, {"N", "null"},
        };
        for (size_t i = 0; i < ELEMENTSOF(env); i++) {
                check_streq(p->env[i].name, env[i][0]);
                if (env[i][1])
                        check_streq(p->env[i].value, env[i][1]);
                else
                        check(p->env[i].value == NULL);
        }
        const struct limits *l = &p->limits;
        check(l->memory.value == 2ull << 30 && l->cpu.value == 500 && l->pids.value == 256 && l->disk.value == 4ull << 30 &&
              l->output.value == 65536 && l->time.value == 5400000 && l->idle.value == 90000);
        check(l->memory.origin == LIMIT_USER && l->cpu.origin == LIMIT_USER && l->pids.origin == LIMIT_USER &&
              l->disk.origin == LIMIT_USER && l->output.origin == LIMIT_USER && l->time.origin == LIMIT_USER &&
              l->idle.origin == LIMIT_USER);
        check(p->without.n == 2);
        check_streq(p->without.items[1], "mount-ns");
}

TEST(version) {
        refused("", EINVAL, ":1:1: the key version is missing", "version: 1");
        refused("# nothing\n", EINVAL, "the key version is missing", "version: 1");
        refused("tier: vm\n", EINVAL, "the key version is missing", "version: 1");
        refused("fresh: 1\nversion: 2\n", EINVAL, ":2:10: version is \"2\"", "version: 1");
        refused("version: '1'\n", EINVAL, ":1:10: version is a number", "without quotes");
        refused("version: 01\n", EINVAL, "\"01\"", "");
        refused("version:\n", EINVAL, "version has no value", "");
        refused("version: [1]\n", EINVAL, "single value, not a list", "");
        refused("- version\n", EINVAL, "a policy is a mapping of keys and values, not a list", "");
        refused("x\n", EINVAL, "a policy is a mapping", "");
        refused("~\n", EINVAL, "not nothing", "");
}

TEST(unknown_keys) {
        REFUSED("teir: vm\n", ":2:1: there is no key \"teir\"", "did you mean tier?");
        REFUSED("limits: {memroy: 2GiB}\n", ":2:10: there is no key \"memroy\" in limits", "did you mean memory?");
        REFUSED("memory: 2GiB\n", "there is no key \"memory\"", "did you mean memory, which stands in limits?");
        REFUSED("hide: []\n", "there is no key \"hide\"", "which stands in files?");
        REFUSED("mode: rw\n", "there is no key \"mode\"", "which stands in files.workspace?");
        REFUSED("files: {tier: vm}\n", "\"tier\" in files", "did you mean tier, which stands at the top?");
        REFUSED("Tier: vm\n", "\"Tier\"", "did you mean tier?");
        REFUSED("a: 1\n", "\"a\"", "");
        REFUSED("limits.memory: 2GiB\n", "\"limits.memory\"", "");
        REFUSED("\"files.workspace\": {}\n", "\"files.workspace\"", "");
        struct error e = {};
        struct policy *p = NULL;
        static const char far[] = "version: 1\nsomething_else: 1\n";
        check(policy_parse(far, strlen(far), "p.yaml", &p, &e) == -EINVAL);
        check_streq(e.fix, "");
}

TEST(later_keys_are_refused) {
        static const char *const t[] = {"checks"};
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                char text[64], msg[64];
                snprintf(text, sizeof(text), "version: 1\n%s: []\n", t[i]);
                snprintf(msg, sizeof(msg), ":2:1: this version of Belljar does not enforce %s", t[i]);
                refused(text, ENOTSUP, msg, "take");
        }
        REFUSED("netwrok: []\n", "\"netwrok\"", "");
}

TEST(doubled_keys) {
        REFUSED("tier: vm\ntier: vm\n", ":3:1: the key \"tier\" a second time (first on line 2)", "");
        REFUSED("env: {A: 1, A: 2}\n", "\"A\" a second time", "");
}

TEST(choices) {
        REFUSED("tier: docker\n", ":2:7: tier cannot be \"docker\"", "auto, process, container, microvm or vm");
        REFUSED("tier: VM\n", "tier cannot be \"VM\"", "");
        REFUSED("trust: yes\n", "trust cannot be \"yes\"", "unknown, reviewed or own");
        REFUSED("tier:\n", "tier has no value", "");
        REFUSED("tier: {}\n", "single value, not a mapping", "");
        REFUSED("tier: |\n  vm\n", "block of lines", "");
        REFUSED("files: {workspace: {mode: wr}}\n", "files.workspace.mode cannot be \"wr\"", "cow, rw or ro");
        _cleanup_policy_ struct policy *p = accepted("version: 1\ntier: \"vm\"\nfiles: {workspace: {mode: ro}}\n");
        check(p->tier == TIER_VM && p->workspace.mode == WORKSPACE_RO);
}

TEST(names) {
        enum tier t = TIER_VM;
        enum trust u = TRUST_OWN;
        enum workspace_mode m = WORKSPACE_RO;
        check(tier_parse("container", &t) == 0 && t == TIER_CONTAINER);
        check(tier_parse("Container", &t) == -EINVAL && tier_parse("", &t) == -EINVAL && t == TIER_CONTAINER);
        check(trust_parse("reviewed", &u) == 0 && u == TRUST_REVIEWED);
        check(trust_parse("x", &u) == -EINVAL && u == TRUST_REVIEWED);
        check(workspace_mode_parse("rw", &m) == 0 && m == WORKSPACE_RW);
        check(workspace_mode_parse("r", &m) == -EINVAL && m == WORKSPACE_RW);
        check_streq(tier_name(TIER_AUTO), "auto");
        check_streq(tier_name(TIER_MICROVM), "microvm");
        check_streq(trust_name(TRUST_OWN), "own");
        check_streq(workspace_mode_name(WORKSPACE_COW), "cow");
        check_streq(tier_name((enum tier)77), "?");
}

TEST(files) {
        REFUSED("files: {hide: '**/.env'}\n", ":2:15: files.hide is a list, not a single value", "hide: [...]");
        REFUSED("files: {hide: }\n", "files.hide is a list, not nothing", "take the key out");
        REFUSED("files: {read: {a: b}}\n", "files.read is a list, not a mapping", "");
        REFUSED("files: {hide: [**/.env]}\n", ":2:16: a value that begins with *", "");
        REFUSED("files: {hide: ['']}\n", "empty path", "");
        REFUSED("files: {hide: [a, ,b]}\n", "", "");
        REFUSED("files:\n  hide:\n  - a\n  -\n", ":5:4: files.hide has no value", "");
        REFUSED("files: {read: [[a]]}\n", "single value, not a list", "");
        REFUSED("files: {hide: [~/.ssh ~/.aws]}\n", "has a blank", "comma");
        REFUSED("files:\n  hide:\n  - ~/.ssh\n    ~/.aws\n", "goes on in the next line", "");
        REFUSED("files: {hide: ['a**']}\n", ":2:16: files.hide: \"a**\" is not a pattern", "whole segment");
        REFUSED("files: {hide: ['*.{key,pem}']}\n", "is not a pattern", "one pattern for each");
        REFUSED("files: {hide: ['!keep']}\n", "is not a pattern", "no exception");
        REFUSED("files: {hide: [~root/.ssh]}\n", "only ~ and ~/", "in full");
        REFUSED("files: {read: [~a]}\n", "only ~ and ~/", "./~");
        REFUSED("files: {workspace: {path: ~~}}\n", "only ~ and ~/", "");
        REFUSED("files: {hide: ['~*/x']}\n", "only ~ and ~/", "");
        REFUSED("files: {workspace: .}\n", "files.workspace is a mapping", "");
        REFUSED("files: {workspace: {path: ''}}\n", "empty path in files.workspace.path", "");
        REFUSED("files:\n", "files is a mapping of keys and values, not nothing", "take it out");
        _cleanup_policy_ struct policy *p = accepted("version: 1\nfiles: {read: [~, a**, '[x'], hide: ['a b', \"t\\nu\", ./~x, ~/*]}\n");
        check_streq(p->read.items[0], "~");
        check_streq(p->read.items[1], "a**"); /* a path to read is no pattern */
        check_streq(p->hide.items[0], "a b");
        check_streq(p->hide.items[1], "t\nu");
}

TEST(limits) {
        REFUSED("limits: {memory: 2GB}\n", ":2:18: limits.memory: \"2GB\" is not a size", "2GiB");
        OUT_OF_RANGE("limits: {memory: 4095KiB}\n", "out of range", "from 4 MiB to 1 PiB");
        REFUSED("limits: {memory: 2EiB}\n", "not a size", "");
        OUT_OF_RANGE("limits: {memory: 99999999999999999999999}\n", "out of range", "");
        REFUSED("limits: {memory: -1}\n", "not a size", "");
        OUT_OF_RANGE("limits: {memory: 0}\n", "0 is not a limit", "leave the key out for no limit");
        REFUSED("limits: {memory: 0x400000}\n", "not a size", "");
        REFUSED("limits: {memory: 04194304}\n", "octal", "");
        REFUSED("limits: {memory: 1_000_000_000}\n", "not a size", "");
        REFUSED("limits: {memory: [1GiB]}\n", "single value, not a list", "");
        REFUSED("limits: {memory: }\n", "limits.memory has no value", "");
        REFUSED("limits: {memory: ''}\n", "not a size", "");
        REFUSED("limits: {memory: unlimited}\n", "not a size", "");
        OUT_OF_RANGE("limits: {memory: 1125899906842625}\n", "out of range", "");
        OUT_OF_RANGE("limits: {memory: 1025TiB}\n", "out of range", "");
        OUT_OF_RANGE("limits: {cpu: 0.009}\n", "out of range", "from 0.01 to 1024");
        OUT_OF_RANGE("limits: {cpu: 1025}\n", "out of range", "");
        OUT_OF_RANGE("limits: {cpu: 0.0}\n", "0 is not a limit", "");
        REFUSED("limits: {cpu: 0.0001}\n", "not a number of processors", "three decimals");
        REFUSED("limits: {cpu: 50%}\n", "not a number of processors", "");
        REFUSED("limits: {cpu: .5}\n", "not a number of processors", "");
        REFUSED("limits: {cpu: 1e2}\n", "not a number of processors", "");
        OUT_OF_RANGE("limits: {cpu: 99999999999999999999}\n", "out of range", "");
        OUT_OF_RANGE("limits: {pids: 0}\n", "0 is not a limit", "default of 4096");
        OUT_OF_RANGE("limits: {pids: 4194305}\n", "out of range", "from 1 to 4194304");
        REFUSED("limits: {pids: 1.5}\n", "not a whole number", "");
        REFUSED("limits: {pids: 0100}\n", "octal", "");
        OUT_OF_RANGE("limits: {disk: 65535}\n", "out of range", "from 64 KiB");
        REFUSED("limits: {time: 1:30}\n", "not a duration", "1h30m");
        OUT_OF_RANGE("limits: {time: 99ms}\n", "out of range", "from 100ms to 3650d");
        OUT_OF_RANGE("limits: {time: 3651d}\n", "out of range", "");
        REFUSED("limits: {idle: 10 m}\n", "not a duration", "");
        OUT_OF_RANGE("limits: {idle: 0s}\n", "0 is not a limit", "");
        REFUSED("limits: [memory]\n", "limits is a mapping", "");
        REFUSED("limits:\n", "limits is a mapping of keys and values, not nothing", "");
        _cleanup_policy_ struct policy *p = accepted(
                "version: 1\nlimits: {memory: 4194304, cpu: 0.01, pids: 4194304, disk: 64KiB, output: 1, time: 100ms, idle: 0.1}\n");
        check(p->limits.memory.value == 4194304 && p->limits.cpu.value == 10 && p->limits.pids.value == 4194304 &&
              p->limits.disk.value == 65536 && p->limits.output.value == 1 && p->limits.time.value == 100 &&
              p->limits.idle.value == 100);
        _cleanup_policy_ struct policy *q = accepted("version: 1\nlimits: {memory: '4194304', cpu: '1024', pids: '1'}\n");
        check(q->limits.memory.value == 4194304 && q->limits.cpu.value == 1024000 && q->limits.pids.value == 1);
        _cleanup_policy_ struct policy *big = accepted("version: 1\nlimits: {memory: 1125899906842624, disk: 1024TiB, time: 3650d}\n");
        check(big->limits.memory.value == 1ull << 50 && big->limits.disk.value == 1ull << 50);
        _cleanup_policy_ struct policy *s = accepted("version: 1\nlimits: {}\n");
        check(s->limits.pids.origin == LIMIT_DEFAULT);
}

TEST(set_limit) {
        _cleanup_policy_ struct policy *p = policy_new();
        struct error e = {};
        check(policy_set_limit(p, "memory", "64MiB", &e) == 0 && p->limits.memory.value == 64 << 20);
        check(policy_set_limit(p, "cpu", "1.25", &e) == 0 && p->limits.cpu.value == 1250);
        check(policy_set_limit(p, "pids", "0", &e) == -ERANGE && p->limits.pids.origin == LIMIT_DEFAULT);
        check_streq(e.msg, "limits.pids: 0 is not a limit");
        check(policy_set_limit(p, "memroy", "1GiB", &e) == -EINVAL);
        check_streq(e.msg, "there is no limit \"memroy\"");
        check_streq(e.fix, "did you mean memory?");
        check(policy_set_limit(p, "tier", "vm", &e) == -EINVAL && strstr(e.fix, "memory, cpu"));
        check(policy_set_limit(p, "", "1", &e) == -EINVAL);
        check(policy_set_limit(p, "memory", "1", NULL) < 0);
        check(p->limits.memory.value == 64 << 20);
}

TEST(env) {
        _cleanup_policy_ struct policy *p = policy_new();
        struct error e = {};
        check(policy_add_env(p, "A=1", &e) == 0 && policy_add_env(p, "B", &e) == 0 && policy_add_env(p, "C=", &e) == 0);
        check(policy_add_env(p, "D=x=y", &e) == 0);
        check(p->n_env == 4 && !p->env[1].value);
        check_streq(p->env[2].value, "");
        check_streq(p->env[3].value, "x=y");
        check(policy_add_env(p, "A", &e) == 0 && p->n_env == 4 && !p->env[0].value);
        check(policy_add_env(p, "B=2", &e) == 0 && p->n_env == 4);
        check_streq(p->env[1].value, "2");
        static const char *const bad[] = {"", "=", "=x", "1A=x", "A-B=x", "A B=x", "\xc3\x84=x", "A.B"};
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                check(policy_add_env(p, bad[i], &e) == -EINVAL);
        check(p->n_env == 4);
        char *big = malloc(POLICY_ENV_BYTES + 1);
        memset(big, 'x', POLICY_ENV_BYTES);
        memcpy(big, "A=", 2);
        big[POLICY_ENV_BYTES - 1] = 0; /* with its NUL exactly what execve takes */
        check(policy_add_env(p, big, &e) == 0);
        big[POLICY_ENV_BYTES - 1] = 'x';
        big[POLICY_ENV_BYTES] = 0;
        check(policy_add_env(p, big, &e) == -E2BIG);
        free(big);
        REFUSED("env: {A-B: 1}\n", ":2:7: \"A-B\" is not the name of a variable", "underscores");
        REFUSED("env: {A: [1]}\n", "env: A takes a single value, not a list", "");
        REFUSED("env: [A]\n", "env is a mapping", "");
        REFUSED("env: {A: {}}\n", "not a mapping", "");
        REFUSED("env:\n", "env is a mapping of keys and values, not nothing", "");
        _cleanup_policy_ struct policy *q = accepted("version: 1\nenv:\n  K: |\n    a\n    b\n");
        check_streq(q->env[0].value, "a\nb\n");
        _cleanup_policy_ struct policy *s = policy_new();
        for (unsigned i = 0; i < POLICY_ENV_MAX; i++) {
                char a[16];
                snprintf(a, sizeof(a), "V%u=1", i);
                check(policy_add_env(s, a, &e) == 0);
        }
        check(policy_add_env(s, "ONE_MORE=1", &e) == -E2BIG);
        check(policy_add_env(s, "V7=2", &e) == 0);
}

TEST(lists_of_the_command_line) {
        _cleanup_policy_ struct policy *p = policy_new();
        struct error e = {};
        check(policy_add_read(p, "/opt/x", &e) == 0 && policy_add_hide(p, "**/*.key", &e) == 0);
        check(policy_add_without(p, "seccomp", &e) == 0 && policy_add_without(p, "seccomp", &e) == 0);
        check(p->read.n == 1 && p->hide.n == 1 && p->without.n == 1);
        check(policy_add_read(p, "", &e) == -EINVAL && policy_add_hide(p, "", &e) == -EINVAL);
        check(policy_add_hide(p, "[a", &e) == -EINVAL && strstr(e.fix, "]"));
        check(policy_add_without(p, "", &e) == -EINVAL && policy_add_without(p, "A", &e) == -EINVAL &&
              policy_add_without(p, "a_b", &e) == -EINVAL);
        char *l = malloc(POLICY_PATH_MAX + 2);
        memset(l, 'a', POLICY_PATH_MAX + 1);
        l[POLICY_PATH_MAX + 1] = 0;
        check(policy_add_read(p, l, &e) == -ENAMETOOLONG && policy_add_hide(p, l, &e) == -ENAMETOOLONG);
        l[POLICY_PATH_MAX] = 0;
        check(policy_add_read(p, l, &e) == 0 && policy_add_hide(p, l, &e) == 0);
        free(l);
        REFUSED("without: [a, B]\n", ":2:14: without: \"B\" is not the name of a control", "");
        REFUSED("without: seccomp\n", "without is a list", "");
        for (unsigned i = (unsigned)p->hide.n; i < POLICY_LIST_MAX; i++)
                check(policy_add_hide(p, "x", &e) == 0);
        check(policy_add_hide(p, "x", &e) == -E2BIG);
}

/* What follows is about images. */
TEST(min_tier) {
        _cleanup_policy_ struct policy *p = accepted("version: 1\nmin_tier: container\n"), *q = accepted("version: 1\n");
        struct error e = {};
        check(p->min_tier == TIER_CONTAINER && p->tier == TIER_AUTO && q->min_tier == TIER_PROCESS);
        check(p->places.min_tier.line == 2 && p->places.min_tier.column == 11 && q->places.min_tier.line == 0);
        REFUSED("min_tier: auto\n", ":2:11: min_tier cannot be \"auto\"", "write process, container, microvm or vm");
        REFUSED("min_tier: none\n", "cannot be \"none\"", "");
        REFUSED("min_teir: vm\n", "", "did you mean min_tier?");
        REFUSED("tier: {at_least: vm}\n", "tier takes a single value", "");
        /* The command line raises it only. */
        check(policy_set_min_tier(p, "process", &e) == -EINVAL && strstr(e.msg, "below the policy's container (line 2)"));
        check(p->min_tier == TIER_CONTAINER);
        check(policy_set_min_tier(p, "container", &e) == 0 && p->places.min_tier.line == 2);
        check(policy_set_min_tier(p, "vm", &e) == 0 && p->min_tier == TIER_VM && p->places.min_tier.line == 0);
        check(policy_set_min_tier(p, "auto", &e) == -EINVAL && policy_set_min_tier(p, "", &e) == -EINVAL && p->min_tier == TIER_VM);
}

static void check_fails(const char *text, const char *msg, const char *fix) {
        _cleanup_policy_ struct policy *p = accepted(text);
        struct error e = {};
        int r = policy_check(p, &e);
        bool ok = r == -EINVAL && e.errnum == EINVAL && strstr(e.msg, msg) && strstr(e.fix, fix);
        if (!ok)
                printf("# %s: %d %s (%s)\n", text, r, e.msg, e.fix);
        check(ok && policy_check(p, NULL) == -EINVAL);
}

static void check_holds(const char *text) {
        _cleanup_policy_ struct policy *p = accepted(text);
        struct error e = {};
        if (policy_check(p, &e) < 0)
                printf("# %s: %s\n", text, e.msg);
        check(policy_check(p, &e) == 0);
}

TEST(tier_and_minimum) {
        check_fails("version: 1\ntier: process\nmin_tier: container\n",
                    "p.yaml:2:7: tier is process, below the min_tier of container in p.yaml:3:11", "ask for container");
        check_fails("version: 1\nimage: x\nmin_tier: vm\ntier: microvm\n", "p.yaml:4:7: tier is microvm", "lower min_tier");
        check_fails("version: 1\nmin_tier: container\n", "p.yaml:2:11: min_tier is container, and without an image", "--image NAME");
        check_fails("version: 1\nimage: x\ntier: process\n", "p.yaml:3:7: tier is process, which runs the host's programs, and image is x in p.yaml:2:8",
                    "take the image out");
        check_fails("version: 1\ntier: container\n", "p.yaml:2:7: the tier container needs an image", "name one");
        check_fails("version: 1\ntier: microvm\n", "needs an image", "");
        check_holds("version: 1\ntier: process\nmin_tier: process\n");
        check_holds("version: 1\nimage: x\nmin_tier: microvm\n");
        check_holds("version: 1\nimage: x\nmin_tier: container\ntier: microvm\n");
        check_holds("version: 1\ntier: vm\nmin_tier: container\n");
        /* The command line's tier under the file's minimum, and the other way round: each is named for what it is. */
        _cleanup_policy_ struct policy *p = accepted("version: 1\ntier: container\nimage: x\nmin_tier: container\n");
        struct error e = {};
        check(policy_check(p, &e) == 0 && policy_set_tier(p, "process", &e) == 0);
        check(policy_check(p, &e) == -EINVAL);
        check_streq(e.msg, "the command line: tier is process, below the min_tier of container in p.yaml:4:11");
        check(policy_set_tier(p, "container", &e) == 0 && policy_set_min_tier(p, "microvm", &e) == 0);
        check(policy_check(p, &e) == -EINVAL && strstr(e.msg, "min_tier of microvm in the command line") && !strstr(e.fix, "policy"));
        check(policy_set_tier(p, "docker", &e) == -EINVAL && p->tier == TIER_CONTAINER);
}

TEST(image) {
        _cleanup_policy_ struct policy *p = accepted("version: 1\nimage: registry.example:5000/team/debian:12\n");
        struct error e = {};
        check_streq(p->image, "registry.example:5000/team/debian:12");
        check(p->places.image.line == 2 && p->places.image.column == 8);
        check(policy_set_image(p, "debian", &e) == 0 && p->places.image.line == 0);
        check(policy_set_image(p, "", &e) == -EINVAL && policy_set_image(p, "Debian", &e) == -EINVAL);
        check_streq(p->image, "debian");
        REFUSED("image: ''\n", ":2:8: image: \"\" is not the name of an image", "such as debian:12");
        REFUSED("image:\n", "image has no value", "");
        REFUSED("image: [debian]\n", "single value", "");
        REFUSED("image: Debian\n", "\"Debian\" is not the name", "small letters");
        REFUSED("image: docker://debian\n", "is not the name", "without a transport");
        REFUSED("image: debian:-x\n", "is not the name", "a tag has");
        REFUSED("image: debian@sha256:12\n", "is not the name", "64 hexadecimal digits");
}

TEST(user) {
        static const char *const good[] = {"root", "0", "65535", "1000:1000", "app:www-data", "app:33", "1000:users", "_x", "a.b-C_9"};
        static const char *const bad[] = {"", ":", "1000:", ":1000", "65536", "01", "00", "-1", "+1", "1000:65536", "1000:01", "a:b:c", "a b",
                                          "1x", "0x0", "-x", ".x", "a/b", "a$", "\xc3\xa4", "aaaaaaaaaabbbbbbbbbbccccccccccddd", "a\n",
                                          "4294967295", "99999999999999999999"};
        _cleanup_policy_ struct policy *p = policy_new();
        struct error e = {};
        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                check(policy_set_user(p, good[i], &e) == 0);
                check_streq(p->user, good[i]);
        }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                if (policy_set_user(p, bad[i], &e) == 0)
                        printf("# accepted: %s\n", bad[i]);
                check(policy_set_user(p, bad[i], &e) == -EINVAL && strstr(e.msg, "is not a user") && strstr(e.fix, "UID:GID"));
        }
        check_streq(p->user, "a.b-C_9");
        _cleanup_policy_ struct policy *q = accepted("version: 1\nimage: x\nuser: 1000:50\n");
        check_streq(q->user, "1000:50"); /* and not 60050, as YAML 1.1 has it */
        REFUSED("user: 010\n", ":2:7: user: \"010\" is not a user", "");
        check_fails("version: 1\nuser: app\n", "p.yaml:2:7: user is about an image, and there is none", "take user out");
        _cleanup_policy_ struct policy *o = policy_new();
        check(policy_set_user(o, "app", &e) == 0 && policy_check(o, &e) == -EINVAL && str_after(e.msg, "the command line: user is about"));
        check(policy_set_image(o, "x", &e) == 0 && policy_check(o, &e) == 0);
}

TEST(entrypoint) {
        _cleanup_policy_ struct policy *p = accepted("version: 1\nimage: x\nentrypoint: [/bin/sh, -c, 'echo hi', '']\n");
        _cleanup_policy_ struct policy *none = accepted("version: 1\nimage: x\nentrypoint: []\n"), *q = accepted("version: 1\n");
        struct error e = {};
        check(p->has_entrypoint && p->entrypoint.n == 4 && none->has_entrypoint && none->entrypoint.n == 0 && !q->has_entrypoint);
        check_streq(p->entrypoint.items[2], "echo hi");
        check(policy_set_entrypoint(p, "/bin/my tool", &e) == 0 && p->entrypoint.n == 1 && p->places.entrypoint.line == 0);
        check_streq(p->entrypoint.items[0], "/bin/my tool"); /* one word: nothing is split */
        char *big = malloc(POLICY_WORD_BYTES + 1);
        memset(big, 'x', POLICY_WORD_BYTES);
        big[POLICY_WORD_BYTES] = 0;
        check(policy_set_entrypoint(p, big, &e) == -E2BIG && p->entrypoint.n == 1);
        check_streq(p->entrypoint.items[0], "/bin/my tool");
        big[POLICY_WORD_BYTES - 1] = 0;
        check(policy_set_entrypoint(p, big, &e) == 0);
        free(big);
        check(policy_set_entrypoint(p, "", &e) == 0 && p->has_entrypoint && p->entrypoint.n == 0);
        REFUSED("entrypoint: sh -c\n", ":2:13: entrypoint is a list, not a single value", "not split into words");
        REFUSED("entrypoint: ['', a]\n", ":2:14: entrypoint: the program's name is empty", "[] for no entrypoint");
        REFUSED("entrypoint: [sh, echo hi]\n", "has a blank in it", "quotes");
        REFUSED("entrypoint:\n", "entrypoint is a list, not nothing", "take the key out");
        check_fails("version: 1\nentrypoint: []\n", "p.yaml:2:13: entrypoint is about an image", "");
}

TEST(workdir) {
        _cleanup_policy_ struct policy *p = accepted("version: 1\nworkdir: src/../x\n");
        struct error e = {};
        check_streq(p->workdir, "src/../x");
        check(policy_check(p, &e) == 0); /* also without an image */
        check(policy_set_workdir(p, "/srv", &e) == 0 && policy_set_workdir(p, "", &e) == -EINVAL);
        check(policy_set_workdir(p, "~/x", &e) == -EINVAL && strstr(e.msg, "the home on the host"));
        check_streq(p->workdir, "/srv");
        REFUSED("workdir: ~root\n", ":2:10: workdir: ~", "./~");
        REFUSED("workdir: [a]\n", "single value", "");
}

TEST(named_workspaces) {
        _cleanup_policy_ struct policy *p = accepted("version: 1\nfiles: {workspace: {name: my-project.2_x}}\n");
        struct error e = {};
        check_streq(p->workspace.name, "my-project.2_x");
        check(!p->workspace.path && p->workspace.mode == WORKSPACE_RW); /* what it is for */
        _cleanup_policy_ struct policy *q = accepted("version: 1\nfiles: {workspace: {mode: cow, name: 0}}\n");
        _cleanup_policy_ struct policy *s = accepted("version: 1\nfiles: {workspace: {name: x, mode: ro}}\n");
        check(q->workspace.mode == WORKSPACE_COW && s->workspace.mode == WORKSPACE_RO);
        /* The command line's takes the place of the file's. */
        check(policy_set_workspace_path(p, "/srv/x", &e) == 0 && !p->workspace.name && p->workspace.mode == WORKSPACE_COW);
        check(policy_set_workspace_path(p, "", &e) == -EINVAL && policy_set_workspace_name(p, "X", &e) == -EINVAL);
        check_streq(p->workspace.path, "/srv/x");
        check(policy_set_workspace_name(p, "a", &e) == 0 && !p->workspace.path && p->workspace.mode == WORKSPACE_RW);
        check(policy_set_workspace_path(p, "~x", &e) == -EINVAL);
        check_streq(p->workspace.name, "a");
        check(policy_set_workspace_mode(p, "cow", &e) == 0 && policy_set_workspace_name(p, "b", &e) == 0);
        check(p->workspace.mode == WORKSPACE_COW && policy_set_workspace_mode(p, "x", &e) == -EINVAL);
        REFUSED("files: {workspace: {path: ., name: x}}\n", ":2:36: files.workspace.name beside a path", "take path or name out");
        REFUSED("files: {workspace: {name: x, path: .}}\n", ":2:36: files.workspace.path beside a name", "take path or name out");
        REFUSED("files: {workspace: {name: ''}}\n", "\"\" is not a name for a workspace", "63 characters");
        REFUSED("files: {workspace: {name: My}}\n", "is not a name", "small letters");
        REFUSED("files: {workspace: {name: ../x}}\n", "is not a name", "a path");
        REFUSED("files: {workspace: {name: .x}}\n", "is not a name", "");
        REFUSED("files: {workspace: {name: -x}}\n", "is not a name", "");
        char name[65];
        memset(name, 'n', sizeof(name));
        name[63] = 0;
        check(policy_set_workspace_name(p, name, &e) == 0);
        name[63] = 'n';
        name[64] = 0;
        check(policy_set_workspace_name(p, name, &e) == -EINVAL);
}

TEST(workspace_inside) {
        _cleanup_policy_ struct policy *p = accepted("version: 1\nimage: x\nfiles: {workspace: {inside: /home/dev/x}}\n");
        struct error e = {};
        check_streq(p->workspace.inside, "/home/dev/x");
        check(policy_check(p, &e) == 0);
        check(policy_set_workspace_inside(p, "/w", &e) == 0 && policy_set_workspace_inside(p, "w", &e) == -EINVAL);
        check_streq(p->workspace.inside, "/w");
        REFUSED("files: {workspace: {inside: /proc}}\n", ":2:29: files.workspace.inside: \"/proc\" is in /proc", "another place");
        check_fails("version: 1\nfiles: {workspace: {inside: /w}}\n", "p.yaml:2:29: files.workspace.inside is about an image", "");
}

TEST(volumes) {
        _cleanup_policy_ struct policy *p = accepted("version: 1\nvolumes:\n- ~/data:/data\n- a:/b/c:rw\n- {host: 'x:y', inside: '/z:z', mode: ro}\n"
                                                     "- inside: /w\n  host: .\n  mode: rw\n- /r:/r:ro\n");
        static const struct { const char *host, *inside; bool writable; unsigned line, column; } want[] = {
                {"~/data", "/data", false, 3, 3}, {"a", "/b/c", true, 4, 3}, {"x:y", "/z:z", false, 5, 3}, {".", "/w", true, 6, 3},
                {"/r", "/r", false, 9, 3},
        };
        struct error e = {};
        check(p->n_volumes == ELEMENTSOF(want));
        for (size_t i = 0; i < ELEMENTSOF(want); i++) {
                check_streq(p->volumes[i].host, want[i].host);
                check_streq(p->volumes[i].inside, want[i].inside);
                check(p->volumes[i].writable == want[i].writable);
                check(p->volumes[i].place.line == want[i].line && p->volumes[i].place.column == want[i].column);
        }
        check(policy_add_volume(p, "b:/data", &e) == -EEXIST && strstr(e.msg, "two volumes at /data") && strstr(e.fix, "line 3"));
        check(policy_add_volume(p, "b:/data/x", &e) == 0 && p->volumes[5].place.line == 0 && !p->volumes[5].writable);
        check(policy_add_volume(p, "c:/data/x", &e) == -EEXIST && strstr(e.fix, "one of them"));
        static const struct { const char *text, *msg, *fix; } bad[] = {
                {"", "does not say where", "HOST:INSIDE"}, {"/a", "does not say where", "HOST:INSIDE"}, {":/a", "empty path in volumes.host", ""},
                {"a:", "empty path in volumes.inside", ""}, {"a::ro", "empty path in volumes.inside", ""}, {"a:b", "is not absolute", "from / on"},
                {"a:~/b", "is not absolute", ""}, {"a:/", "cannot be /", "beneath"}, {"a://", "cannot be /", ""}, {"a:/.", "cannot be /", ""},
                {"a:/b/", "says nothing", "write it as /b"}, {"a:/b//c", "says nothing", "write it as /b/c"}, {"a:/./b", "says nothing", ""},
                {"a:/b/..", "has a .. in it", ""}, {"a:/../b", "has a .. in it", ""}, {"a:/proc", "is in /proc", "another place"},
                {"a:/proc/sys", "is in /proc", ""}, {"a:/sys/x", "is in /sys", ""}, {"a:/dev/shm", "is in /dev", ""},
                {"a:/b:", "has \"\" for its mode", ""}, {"a:/b:z", "has \"z\" for its mode", "no other modes"}, {"a:/b:RO", "for its mode", ""},
                {"a:/b:ro,z", "for its mode", ""}, {"a:/b:ro:x", "for its mode", "{host:"}, {"a:b:/c", "has \"/c\" for its mode", "{host:"},
                {"~x:/b", "only ~ and ~/", "in full"},
        };
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                int r = policy_add_volume(p, bad[i].text, &e);
                if (r != -EINVAL || !strstr(e.msg, bad[i].msg) || !strstr(e.fix, bad[i].fix))
                        printf("# %s: %d %s (%s)\n", bad[i].text, r, e.msg, e.fix);
                check(r == -EINVAL && strstr(e.msg, bad[i].msg) && strstr(e.fix, bad[i].fix));
                check(policy_add_volume(p, bad[i].text, NULL) < 0);
        }
        check(p->n_volumes == 6);
        check(policy_add_volume(p, "a:/process", &e) == 0 && policy_add_volume(p, "a:/device/x", &e) == 0 &&
              policy_add_volume(p, "a:/b/..c", &e) == 0);
        while (p->n_volumes < POLICY_VOLUMES_MAX) {
                char text[32];
                snprintf(text, sizeof(text), "a:/many/%zu", p->n_volumes);
                check(policy_add_volume(p, text, &e) == 0);
        }
        check(policy_add_volume(p, "a:/many/more", &e) == -E2BIG);
}

TEST(volumes_of_a_file) {
        REFUSED("volumes: a:/b\n", ":2:10: volumes is a list", "a dash");
        REFUSED("volumes:\n", "volumes is a list, not nothing", "");
        REFUSED("volumes: [a:/b c:/d]\n", "has a blank in it", "a comma between two");
        REFUSED("volumes: [[a]]\n", "single value, not a list", "");
        REFUSED("volumes:\n- a:/b\n-\n", "volumes has no value", "");
        REFUSED("volumes:\n- a:/b:x\n", ":3:3: the volume \"a:/b:x\" has \"x\" for its mode", "");
        REFUSED("volumes:\n- {host: a, inside: b}\n", ":3:21: volumes.inside: \"b\" is not absolute", "");
        REFUSED("volumes:\n- {host: '', inside: /b}\n", ":3:10: an empty path in volumes.host", "");
        REFUSED("volumes:\n- {host: a, inside: /b, mode: cow}\n", ":3:31: volumes.mode cannot be \"cow\"", "write ro or rw");
        REFUSED("volumes:\n- {host: a}\n", ":3:3: a volume without the key inside", "HOST:INSIDE");
        REFUSED("volumes:\n- {inside: /b}\n", "without the key host", "");
        REFUSED("volumes: [{}]\n", "without the key host", "");
        REFUSED("volumes:\n- {hots: a, inside: /b}\n", ":3:4: there is no key \"hots\" in volumes", "did you mean host?");
        REFUSED("volumes:\n- {host: {a: b}, inside: /b}\n", "single value, not a mapping", "");
        REFUSED("volumes:\n- {host: a, inside: /b, inside: /c}\n", "a second time", "");
        refused("version: 1\nvolumes: [a:/b, {host: c, inside: /b}]\n", EEXIST, ":2:35: two volumes at /b", "line 2");
        refused("version: 1\nvolumes: [a:/b,\n c:/b:rw]\n", EEXIST, ":3:2: two volumes at /b", "line 2");
        check_fails("version: 1\nimage: x\nvolumes: [a:/workspace]\n", "p.yaml:3:11: a volume at /workspace, where the workspace stands", "another place");
        check_fails("version: 1\nimage: x\nfiles: {workspace: {inside: /w}}\nvolumes: [a:/w]\n", "where the workspace stands", "");
        check_holds("version: 1\nimage: x\nfiles: {workspace: {inside: /w}}\nvolumes: [a:/workspace, b:/w/x]\n");
}

TEST(trust) {
        _cleanup_policy_ struct policy *p = accepted("version: 1\ntrust: reviewed\n");
        struct error e = {};
        check(p->trust == TRUST_REVIEWED && policy_set_trust(p, "own", &e) == 0 && p->trust == TRUST_OWN);
        check(policy_set_trust(p, "mine", &e) == -EINVAL && strstr(e.fix, "unknown, reviewed or own") && p->trust == TRUST_OWN);
}

TEST(printed) {
        _cleanup_policy_ struct policy *p = accepted(
                "version: 1\nmin_tier: container\ntrust: own\nimage: debian:12\nuser: 1000:50\nentrypoint: [sh, -c, 'a b']\nworkdir: sub\n"
                "files: {workspace: {name: my-project}, read: [~/x], hide: [\"a\\nb\"]}\nvolumes: [~/data:/data, b:/b:rw]\n"
                "env: {TOKEN: hunter2, TERM: }\nlimits: {memory: 2GiB, cpu: 0.5, time: 90}\nwithout: [seccomp]\n"
                "network: [{host: api.example, methods: [GET], query: {a: , b: x*}, budget: {up: 1MiB}}, {use: git-fetch, repo: a/b}]\n"
                "quiet: [x.example]\nbudget: {requests: 9}\n"
                "secrets: {aws: {from: env:S, sigv4: {key: AKIDAKIDAKIDAKID, session: env:T, services: [s3, sts], regions: [r-1], allow: [copy]}, ttl: 1m}, "
                "gh: {from: env:GH, header: 'Authorization: token {}', ttl: 1h, uses: 5}, b: {from: 'file:/k', basic: me, env: B}, q: {from: store:q, query: key},\n"
                "  o: {from: env:O, oauth2: {token_url: 'https://i.example/t', client_id: me, scope: a b}},\n"
                "  a: {from: 'file:/a', github_app: {app_id: 1, installation_id: 2, repositories: [x, y], permissions: {contents: read, issues: write}}}}\n"
                "tripwires: [{on: denied, count: 5, within: 2m, distinct: true, do: hold}]\ngit_ssh: [{host: git.example, repositories: [a/b, c/*], access: write, known_hosts: /k, key: 'file:/x'}]\nsign: {tags: true, as: 'A <a@b>'}\n");
        _cleanup_free_ char *text = policy_text(p);
        check_streq(text,
                    "tier       auto, at least container\ntrust      own\nimage      debian:12\nuser       1000:50\n"
                    "entrypoint sh, -c, \"a b\"\nworkdir    sub\nworkspace  my-project, kept by Belljar (rw) at /workspace\nread       ~/x\n"
                    "hide       \"a\\x0ab\"\nvolume     ~/data at /data (ro)\nvolume     b at /b (rw)\nenv        TOKEN\n"
                    "env        TERM, the caller's\nmemory     2 GiB\ncpu        0.5\npids       4096 (default)\ntime       1m 30s\n"
                    "without    seccomp\n"
                    "allow      api.example:443 https, GET, query a b=x*, up 1 MiB\n"
                    "allow      github.com:443 https, GET, /a/b/info/refs /a/b.git/info/refs, query service=git-upload-pack (git-fetch)\n"
                    "allow      github.com:443 https, POST, /a/b/git-upload-pack /a/b.git/git-upload-pack, body 2 MiB (git-fetch)\n"
                    "quiet      x.example\n"
                    "allow      git.example:22 tcp (unread) (git_ssh)\nbudget     requests 9\n"
                    "secret     aws from env:S, signs requests to s3,sts in r-1, also copies, inside as AWS_SECRET_ACCESS_KEY, for 1m\n"
                    "secret     aws.key from literal:AKIDAKIDAKIDAKID, with aws, inside as AWS_ACCESS_KEY_ID, for 1m\n"
                    "secret     aws.session from env:T, with aws, inside as AWS_SESSION_TOKEN, for 1m\n"
                    "secret     gh from env:GH, in the field authorization, inside as GH, for 1h, 5 uses\n"
                    "secret     b from file:/k, in authorization, as me, inside as B\n"
                    "secret     q from store:q, in the query, as key\n"
                    "secret     o minted at i.example (oauth2, scope a b) with what is from env:O, in the field authorization\n"
                    "secret     a minted at api.github.com (github_app, for x y, contents=read issues=write) with what is from file:/a, in whichever field has its placeholder\n"
                    "tripwire   denied, 5 different within 2m: hold\n"
                    "git_ssh    read and write git@git.example:22 a/b, c/*, by the key of a file\n"
                    "sign       commits and tags of one person, by a key of the ssh agent\n");
        struct json j = {};
        policy_json(&j, NULL, p);
        _cleanup_free_ char *made = strbuf_take(&j.text);
        check(made && !strstr(made, "hunter2"));
        json_t *o = json_loads(made, JSON_REJECT_DUPLICATES, NULL);
        check(o);
        check_streq(json_string_value(json_object_get(o, "min_tier")), "container");
        check_streq(json_string_value(json_object_get(o, "user")), "1000:50");
        check_streq(json_string_value(json_array_get(json_object_get(o, "entrypoint"), 2)), "a b");
        check_streq(json_string_value(json_object_get(json_array_get(json_object_get(o, "volumes"), 1), "mode")), "rw");
        json_t *w = json_object_get(json_object_get(o, "files"), "workspace");
        check_streq(json_string_value(json_object_get(w, "name")), "my-project");
        check_streq(json_string_value(json_object_get(w, "inside")), "/workspace");
        check(json_is_null(json_object_get(w, "path")));
        check(json_integer_value(json_object_get(json_object_get(o, "limits"), "time")) == 90000);
        /* Every key that is not refused is in it. */
        for (size_t i = 0; i < n_policy_keys; i++) {
                char path[64];
                json_t *at = o;
                if (policy_keys[i].type == KEY_LATER || policy_keys[i].type == KEY_PARAMETER || streq(policy_keys[i].name, "git_ssh.addresses") /* of its rule */)
                        continue;
                snprintf(path, sizeof(path), "%s", policy_keys[i].name);
                size_t item = str_after(path, "secrets.oauth2.") ? 6 : str_after(path, "secrets.github_app.") ? 7 : 0;
                for (char *save = NULL, *part = strtok_r(path, ".", &save); part; part = strtok_r(NULL, ".", &save))
                        at = json_object_get(json_is_array(at) ? json_array_get(at, item) : at, part);
                if (!at)
                        printf("# %s is not in the JSON\n", policy_keys[i].name);
                check(at);
        }
        json_decref(o);
        _cleanup_policy_ struct policy *q = accepted("version: 1\n"), *none = accepted("version: 1\nentrypoint: []\n");
        _cleanup_free_ char *short_text = policy_text(q), *none_text = policy_text(none);
        check_streq(short_text, "tier       auto\ntrust      unknown\nworkspace  the working directory (cow)\npids       4096 (default)\n");
        check(strstr(none_text, "entrypoint none\n"));
}

TEST(long_names_and_values_are_cut) {
        char name[400], text[400] = "version: 1\ntier: ";
        struct policy *p = NULL;
        struct error e = {};
        memset(name, 'n', sizeof(name) - 1);
        name[sizeof(name) - 1] = 0;
        for (int i = 0; i < 60; i++)
                strcat(text, "\xe2\x82\xac");
        check(policy_parse(text, strlen(text), name, &p, &e) == -EINVAL);
        check(strncmp(e.msg, "...nnn", 6) == 0 && strstr(e.msg, "n:2:7: tier cannot be"));
        check(strstr(e.msg, "\xe2\x82\xac...\"")); /* at a whole character */
}

TEST(every_key_has_what_its_type_needs) {
        for (size_t i = 0; i < n_policy_keys; i++) {
                const struct policy_key *k = &policy_keys[i];
                check(k->type == KEY_LATER || (k->doc && *k->doc));
                check((k->type == KEY_CHOICE || k->type == KEY_TRIP_WORD) == (k->choices != NULL));
                bool limit = k->type == KEY_BYTES || k->type == KEY_NUMBER || k->type == KEY_SIZE || k->type == KEY_CPU || k->type == KEY_COUNT || k->type == KEY_DURATION;
                check(limit == (k->max > 0) && k->min <= k->max);
                const char *dot = strrchr(k->name, '.');
                const struct policy_key *parent = NULL;
                if (dot)
                        for (size_t j = 0; j < i; j++)
                                if (strlen(policy_keys[j].name) == (size_t)(dot - k->name) &&
                                    strncmp(policy_keys[j].name, k->name, (size_t)(dot - k->name)) == 0)
                                        parent = &policy_keys[j];
                check(!dot || (parent && (parent->type == KEY_SECTION || parent->type == KEY_VOLUMES || parent->type == KEY_NETWORK || parent->type == KEY_SECRETS || parent->type == KEY_MINT || parent->type == KEY_GIT_SSH || parent->type == KEY_TRIPWIRES || parent->type == KEY_SIGN)));
                check(policy_key_find(parent, policy_key_leaf(k)) == k);
                check(policy_key_nearest(parent, policy_key_leaf(k)) == (k->type == KEY_LATER ? NULL : k) || k->type == KEY_LATER);
        }
}

TEST(schema_is_the_published_one) {
        _cleanup_free_ char *made = policy_schema(), *file = NULL;
        size_t n = 0;
        check(made);
        check(file_read(AT_FDCWD, SOURCE_ROOT "/docs/belljar.schema.json", 1u << 20, &file, &n) == 0);
        if (!streq(made, file))
                printf("# run: test-policy --schema > docs/belljar.schema.json\n");
        check(streq(made, file));
}

TEST(schema_has_every_key) {
        _cleanup_free_ char *made = policy_schema();
        json_t *s = json_loads(made, JSON_REJECT_DUPLICATES, NULL);
        check(s);
        for (size_t i = 0; i < n_policy_keys; i++) {
                char path[64];
                json_t *at = s;
                snprintf(path, sizeof(path), "%s", policy_keys[i].name);
                for (char *save = NULL, *part = strtok_r(path, ".", &save); part; part = strtok_r(NULL, ".", &save)) {
                        if (json_object_get(at, "items")) /* of a list of mappings or texts */
                                at = json_array_get(json_object_get(json_object_get(at, "items"), "anyOf"), 0);
                        if (json_is_object(json_object_get(at, "additionalProperties"))) /* of a mapping of names */
                                at = json_object_get(at, "additionalProperties");
                        at = json_object_get(json_object_get(at, "properties"), part);
                }
                check(json_is_object(at) && json_object_get(at, "description"));
                check((policy_keys[i].type == KEY_LATER) == (json_object_size(json_object_get(at, "not")) == 0 && json_object_get(at, "not")));
                check((policy_keys[i].type == KEY_SECTION || policy_keys[i].type == KEY_MINT || policy_keys[i].type == KEY_SIGN) == json_is_false(json_object_get(at, "additionalProperties")));
        }
        json_decref(s);
}

/* The reference has every key, and every choice of one. */
TEST(reference_has_every_key) {
        _cleanup_free_ char *doc = NULL;
        size_t n = 0;
        check(file_read(AT_FDCWD, SOURCE_ROOT "/docs/policy.md", 1u << 20, &doc, &n) == 0);
        for (size_t i = 0; i < n_policy_keys; i++) {
                char want[80];
                snprintf(want, sizeof(want), "`%s`", policy_keys[i].name);
                if (!strstr(doc, want))
                        printf("# %s is not in docs/policy.md\n", want);
                check(strstr(doc, want));
                for (size_t c = 0; policy_keys[i].choices && policy_keys[i].choices[c]; c++) {
                        snprintf(want, sizeof(want), "`%s`", policy_keys[i].choices[c]);
                        check(strstr(doc, want));
                }
        }
}

/* Each example of the reference that is marked as YAML is a policy that is accepted, or names its error. */
TEST(reference_examples) {
        _cleanup_free_ char *doc = NULL;
        size_t n = 0, seen = 0;
        check(file_read(AT_FDCWD, SOURCE_ROOT "/docs/policy.md", 1u << 20, &doc, &n) == 0);
        for (char *p = doc; (p = strstr(p, "```yaml\n"));) {
                char *begin = p + strlen("```yaml\n"), *end = strstr(begin, "```");
                check(end);
                _cleanup_free_ char *text = strndup(begin, (size_t)(end - begin));
                policy_free(accepted(text));
                seen++;
                p = end + 3;
        }
        check(seen >= 2);
}

int main(int argc, char **argv) {
        if (argc == 2 && streq(argv[1], "--schema")) {
                _cleanup_free_ char *s = policy_schema();
                return s && fputs(s, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 1;
        }
        if (argc == 3 && streq(argv[1], "--read")) {
                _cleanup_free_ char *text = NULL;
                _cleanup_policy_ struct policy *p = NULL;
                struct error e = {};
                size_t n = 0;
                if (file_read(AT_FDCWD, argv[2], 2u << 20, &text, &n) < 0)
                        return 2;
                if (policy_parse(text, n, argv[2], &p, &e) == 0)
                        return 0;
                error_print(&e);
                return 1;
        }
        return tap_run();
}
