/* docs/tiers.md, made from the table of risk.c. */
#include "model/risk.h"

static const enum trust trusts[] = {TRUST_OWN, TRUST_REVIEWED, TRUST_UNKNOWN}; /* growing risk */

static const char intro[] =
        "# Tiers, and how one is chosen\n"
        "\n"
        "This text is what `belljar policy tiers` prints, and its tables are the ones that Belljar works by.\n"
        "\n"
        "| tier | what holds the run | root | for |\n"
        "|---|---|---|---|\n"
        "| `process` | namespaces, Landlock, a seccomp list, no capabilities, a cgroup; the host's kernel | a view "
        "of the host's own "
        "| tools and agents of the host |\n"
        "| `container` | the same; the few capabilities that a package manager needs, in its own user namespace only "
        "| an image's "
        "| installs, builds, tests |\n"
        "| `microvm` | a kernel of its own on a small virtual machine | an image's | code that nobody has read |\n"
        "| `vm` | a full virtual machine, or another host | a disk image's | what needs a whole machine |\n";

static const char choice[] =
        "`tier: NAME` in a [policy](policy.md) and `--tier NAME` ask for one, and that one is given or the run does "
        "not start. "
        "`tier: auto`, the default, chooses by risk:\n"
        "\n"
        "- **who wrote the code** (`trust`): `own`, `reviewed` (somebody's, and it was read), `unknown`;\n"
        "- **what it can reach**: nothing (\"no network\"); private addresses that rules name (\"local network\"); "
        "hosts of the "
        "internet that rules name one by one (\"listed hosts\"); or, by a wildcard or an unread connection to any "
        "address, "
        "\"any host\";\n"
        "- **what its credentials can do**: there are none; they can read only or be used with one host only "
        "(\"narrow\"); "
        "or more, or nobody knows (\"write\");\n"
        "- **whether there is an image**.\n";

static const char without[] =
        "\n"
        "## What the table asks for without an image\n"
        "\n"
        "Only the process tier can run the host's own programs, so without an image that is what is taken. Where the "
        "table asks for "
        "more, the line at the start says so, and that it would need an image.\n"
        "\n";

static const char rules[] =
        "\n"
        "## What is taken\n"
        "\n"
        "1. The tier that the table asks for, or the policy's `min_tier` where that is stronger.\n"
        "2. Where this host or this version cannot give it, the next stronger one that it can.\n"
        "3. Where there is none, the strongest that is left: the line at the start says that it is weaker than "
        "asked, and what is "
        "missing.\n"
        "4. Never one below `min_tier`: the run does not start then, and the message says what would help.\n"
        "\n"
        "What the host can give, `auto` reads before the start from what costs nothing to read: the kernel's switches for user "
        "namespaces, a seccomp filter or an AppArmor restriction around the caller (then it tries), and with an image overlayfs. "
        "What it finds is named in the message. `belljar doctor` looks at everything, and says how to mend it.\n"
        "\n"
        "Who would rather not run than run weaker writes `min_tier`. It is a floor for `auto` and for `--tier` "
        "alike. More risk never "
        "gives a weaker tier: a test goes over every combination.\n"
        "\n"
        "## Lines at the start\n"
        "\n"
        "```\n";

static const char reasons[] =
        "```\n"
        "\n"
        "## Why the table is as it is\n"
        "\n"
        "A tier bounds what a run can do to the host and to other runs. What it reaches and what its credentials can "
        "do is bounded by "
        "the policy's rules, in every tier alike. They weigh here nevertheless, for two reasons. What comes in over "
        "a network can take "
        "over a program that was honest when it started, and can steer it: reach makes an attack on the sandbox "
        "likelier. And the "
        "credentials lie outside the sandbox, on the host: who breaks out finds them, so what they can do is what an "
        "escape is worth.\n"
        "\n"
        "- **Own code** makes mistakes, and the process tier is made for mistakes: it takes the files, processes and "
        "network out of reach. It is another matter once strangers' input and something worth stealing meet: with "
        "credentials that write and any network at all, with named hosts and any credentials, or with any host, it "
        "gets a root of its own, and with any host and credentials that write a kernel of its own.\n"
        "- **Reviewed code** is not expected to attack the kernel, but its installers, build scripts and tests "
        "expect to be root and to "
        "change system files. That asks for a root of its own. Reading does not cover what it fetches later: with "
        "hosts and "
        "credentials that write, or any host and any credentials, it gets its own kernel.\n"
        "- **Unknown code** may try the kernel's system calls themselves, with or without a network, and no filter "
        "that lets ordinary "
        "programs work takes that away. Only a kernel of its own does.\n"
        "- **Credentials without a network** cannot be spent, and change nothing.\n"
        "- **The vm** is never asked for. A full machine emulates more devices than a small one, and is not by "
        "itself the better "
        "wall; who wants a whole machine, or another host, says so.\n"
        "- **An image's programs** never run in the process tier, which shows the host's files.\n";

/* Nobody shall read of a tier here and find that it cannot be had. */
static void built(struct strbuf *b) {
        unsigned n = 0;

        strbuf_puts(b, "\nThis version has");
        for (enum tier t = TIER_PROCESS; t <= TIER_VM; t++)
                if (control_tier_built(t))
                        strbuf_printf(b, "%s `%s`", n++ ? "," : "", tier_name(t));
        strbuf_puts(b, n < TIER_VM ? "; the others are yet to come.\n\n" : ".\n\n");
}

static void rows(struct strbuf *b, bool has_image) {
        strbuf_puts(b, "| code | reach | no credentials | narrow credentials | write credentials |\n"
                       "|---|---|---|---|---|\n");
        for (size_t t = 0; t < ELEMENTSOF(trusts); t++)
                for (enum risk_reach r = 0; r < REACH_N; r++) {
                        strbuf_printf(b, "| %s | %s |", trust_name(trusts[t]), risk_reach_name(r));
                        for (enum risk_credentials c = 0; c < CREDENTIALS_N; c++)
                                strbuf_printf(b, " %s |", tier_name(risk_asked(trusts[t], r, c, has_image)));
                        strbuf_puts(b, "\n");
                }
}

static void examples(struct strbuf *b) {
        static const struct risk_facts facts[] = {
                {TRUST_UNKNOWN, REACH_NONE, CREDENTIALS_NONE, false, 15, TIER_PROCESS},
                {TRUST_OWN, REACH_NONE, CREDENTIALS_NONE, false, 15, TIER_PROCESS},
                {TRUST_REVIEWED, REACH_LISTED, CREDENTIALS_NARROW, true, 15, TIER_PROCESS},
                {TRUST_UNKNOWN, REACH_LISTED, CREDENTIALS_WRITE, true, 15, TIER_PROCESS},
                {TRUST_OWN, REACH_NONE, CREDENTIALS_NONE, true, 15, TIER_MICROVM},
                {TRUST_UNKNOWN, REACH_LISTED, CREDENTIALS_NONE, true, CONTROL_IN_CONTAINER, TIER_PROCESS},
        };
        struct risk_choice c = {};

        for (size_t i = 0; i < ELEMENTSOF(facts); i++)
                if (risk_choose(&facts[i], &c, NULL) == 0)
                        strbuf_printf(b, "%s\n", c.line);
}

char *risk_doc(void) {
        struct strbuf b = {};

        strbuf_puts(&b, intro);
        built(&b);
        strbuf_puts(&b, choice);
        strbuf_puts(&b, "\n## What the table asks for with an image\n\n");
        rows(&b, true);
        strbuf_puts(&b, without);
        rows(&b, false);
        strbuf_puts(&b, rules);
        examples(&b);
        strbuf_puts(&b, reasons);
        return strbuf_take(&b);
}
