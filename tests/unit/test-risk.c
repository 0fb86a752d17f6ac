/* With --doc it prints docs/tiers.md instead: how the file is made where no belljar-tool is at hand. */
#include <ctype.h>
#include <fcntl.h>

#include "base/fd.h"
#include "model/risk.h"
#include "tap.h"

/* Growing risk; enum trust goes the other way. */
static const enum trust trusts[] = {TRUST_OWN, TRUST_REVIEWED, TRUST_UNKNOWN};
#define ALL 15u

/* Every combination of facts, of tiers that are available and of minimums. */
#define EACH(f)                                                                                                        \
        for (size_t t_ = 0; t_ < 3; t_++)                                                                              \
                for (int r_ = 0; r_ < REACH_N; r_++)                                                                   \
                        for (int c_ = 0; c_ < CREDENTIALS_N; c_++)                                                     \
                                for (int i_ = 0; i_ < 2; i_++)                                                         \
                                        for (unsigned a_ = 0; a_ <= ALL; a_++)                                         \
                                                for (int m_ = TIER_AUTO; m_ <= TIER_VM; m_++)                          \
                                                        for (bool once_ = true; once_;)                                \
                                                                for (struct risk_facts f = {trusts[t_],                \
                                                                             (enum risk_reach)r_,                      \
                                                                             (enum risk_credentials)c_, i_ == 1, a_,   \
                                                                             (enum tier)m_};                           \
                                                                        once_; once_ = false)

TEST(bits_are_those_of_controls) {
        check(risk_tier_bit(TIER_PROCESS) == CONTROL_IN_PROCESS &&
                risk_tier_bit(TIER_CONTAINER) == CONTROL_IN_CONTAINER &&
                risk_tier_bit(TIER_MICROVM) == CONTROL_IN_MICROVM && risk_tier_bit(TIER_VM) == CONTROL_IN_VM &&
                risk_tier_bit(TIER_AUTO) == 0);
}

TEST(what_the_table_says) {
        check(risk_asked(TRUST_OWN, REACH_NONE, CREDENTIALS_NONE, false) == TIER_PROCESS);
        check(risk_asked(TRUST_OWN, REACH_NONE, CREDENTIALS_NONE, true) == TIER_CONTAINER);
        check(risk_asked(TRUST_REVIEWED, REACH_NONE, CREDENTIALS_NONE, true) == TIER_CONTAINER);
        check(risk_asked(TRUST_UNKNOWN, REACH_LISTED, CREDENTIALS_NARROW, true) == TIER_MICROVM);
        check(risk_asked(TRUST_OWN, REACH_ANYWHERE, CREDENTIALS_WRITE, true) == TIER_MICROVM);
        /* Facts that nobody knows are no smaller risk. */
        check(risk_asked((enum trust)9, REACH_NONE, CREDENTIALS_NONE, true) == TIER_MICROVM);
        check(risk_asked(TRUST_OWN, (enum risk_reach)9, CREDENTIALS_NONE, true) == TIER_MICROVM);
        check(risk_asked(TRUST_OWN, REACH_NONE, (enum risk_credentials)-1, true) == TIER_MICROVM);
}

TEST(every_combination_is_in_the_table) {
        for (size_t t = 0; t < 3; t++)
                for (int r = 0; r < REACH_N; r++)
                        for (int c = 0; c < CREDENTIALS_N; c++)
                                for (int i = 0; i < 2; i++) {
                                        enum tier asked = risk_asked(
                                                trusts[t], (enum risk_reach)r, (enum risk_credentials)c, i == 1);
                                        check(asked >= (i ? TIER_CONTAINER : TIER_PROCESS) && asked <= TIER_MICROVM);
                                }
}

/* More of one risk never asks for, nor is given, a weaker tier; nor is a run that was refused let through. */
TEST(more_risk_never_gives_a_weaker_tier) {
        unsigned pairs = 0;
        EACH(f) {
                for (int step = 0; step < 3; step++) {
                        struct risk_facts g = f;
                        struct risk_choice a = {}, b = {};
                        if (step == 0 && t_ < 2)
                                g.trust = trusts[t_ + 1];
                        else if (step == 1 && f.reach + 1 < REACH_N)
                                g.reach++;
                        else if (step == 2 && f.credentials + 1 < CREDENTIALS_N)
                                g.credentials++;
                        else
                                continue;
                        check(risk_asked(g.trust, g.reach, g.credentials, g.has_image) >=
                              risk_asked(f.trust, f.reach, f.credentials, f.has_image));
                        int ra = risk_choose(&f, &a, NULL), rb = risk_choose(&g, &b, NULL);
                        check(ra == rb && b.taken >= a.taken);
                        pairs++;
                }
        }
        /* trust: 2*4*3, reach: 3*3*3, credentials: 3*4*2 pairs, each with 2 * 16 * 5 of the rest */
        check(pairs == (24 + 27 + 24) * 160);
}

TEST(a_higher_minimum_never_gives_a_weaker_tier) {
        EACH(f) {
                struct risk_facts g = f;
                struct risk_choice a = {}, b = {};
                if (f.min_tier == TIER_VM)
                        continue;
                g.min_tier++;
                int ra = risk_choose(&f, &a, NULL), rb = risk_choose(&g, &b, NULL);
                check(ra == 0 || rb < 0);
                check(rb < 0 || b.taken >= a.taken);
        }
}

/* Another tier at hand never refuses a run, nor weakens it as far as the table asks. */
TEST(one_more_tier_never_makes_it_worse) {
        EACH(f) {
                for (enum tier t = TIER_PROCESS; t <= TIER_VM; t++) {
                        struct risk_facts g = f;
                        struct risk_choice a = {}, b = {};
                        g.available |= risk_tier_bit(t);
                        int ra = risk_choose(&f, &a, NULL), rb = risk_choose(&g, &b, NULL);
                        check(ra < 0 || rb == 0);
                        check(ra < 0 || MIN(b.taken, b.asked) >= MIN(a.taken, a.asked));
                }
        }
}

TEST(what_is_taken) {
        unsigned taken = 0, weaker = 0, refused = 0;
        EACH(f) {
                struct risk_choice c = {.taken = TIER_VM, .line = "untouched"};
                struct error e = {};
                int r = risk_choose(&f, &c, &e);
                if (r < 0) {
                        check(c.taken == TIER_VM && streq(c.line, "untouched"));
                        check((r == -EINVAL || r == -ENOTSUP) && e.errnum == -r && e.msg[0] && e.fix[0]);
                        /* Nothing that could have been taken was there. */
                        for (enum tier t = MAX(f.min_tier, TIER_PROCESS); t <= TIER_VM; t++)
                                check(!(f.available & risk_tier_bit(t)) || (t == TIER_PROCESS) == f.has_image);
                        refused++;
                        continue;
                }
                taken++;
                weaker += c.weaker;
                check(c.taken >= TIER_PROCESS && c.taken <= TIER_VM);
                check(f.available & risk_tier_bit(c.taken));       /* it can be had */
                check((c.taken == TIER_PROCESS) == !f.has_image);  /* and can run what there is */
                check(f.min_tier == TIER_AUTO || c.taken >= f.min_tier);
                check(c.asked == risk_asked(f.trust, f.reach, f.credentials, f.has_image));
                check(c.weaker == (c.taken < c.asked));
                /* Weaker only where nothing that is strong enough was at hand. */
                for (enum tier t = c.asked; c.weaker && f.has_image && t <= TIER_VM; t++)
                        check(!(f.available & risk_tier_bit(t)));
        }
        check(taken > 0 && weaker > 0 && refused > 0 && taken + refused == 72 * 80);
}

TEST(the_line) {
        size_t longest = 0;
        EACH(f) {
                struct risk_choice c = {};
                char begin[32];
                if (risk_choose(&f, &c, NULL) < 0)
                        continue;
                size_t n = strlen(c.line);
                longest = MAX(longest, n);
                snprintf(begin, sizeof(begin), "tier %s: ", tier_name(c.taken));
                check(str_after(c.line, begin) && strstr(c.line, trust_name(f.trust)));
                check(strstr(c.line, risk_reach_name(f.reach)) && strstr(c.line, risk_credentials_name(f.credentials)));
                for (const char *s = c.line; *s; s++)
                        check(isprint((unsigned char)*s));
                if (c.weaker) /* which tier it is not, and why */
                        check(strstr(c.line + strlen(begin), tier_name(c.asked)) &&
                              strstr(c.line, f.has_image ? "weaker than asked: no " : " an image"));
                else
                        check(!strstr(c.line, "weaker"));
                check(f.has_image || strstr(c.line, " would need an image") || strstr(c.line, " needs an image and "));
                /* Not cut: it ends with one of its whole last words. */
                static const char *const ends[] = {
                        "an image", "version", "host", "credentials", "container", "microvm", "vm"};
                bool whole = false;
                for (size_t i = 0; i < ELEMENTSOF(ends); i++)
                        whole |= streq(c.line + n - strlen(ends[i]), ends[i]);
                check(whole);
        }
        check(longest <= RISK_LINE_MAX);
}

static void line_is(struct risk_facts f, const char *want) {
        struct risk_choice c = {};
        check(risk_choose(&f, &c, NULL) == 0);
        check_streq(c.line, want);
}

TEST(lines_word_for_word) {
        line_is((struct risk_facts){TRUST_UNKNOWN, REACH_NONE, CREDENTIALS_NONE, false, ALL, TIER_AUTO},
                "tier process: no image, unknown code, no network, no credentials; microvm would need an image");
        line_is((struct risk_facts){TRUST_OWN, REACH_LOCAL, CREDENTIALS_NARROW, false, ALL, TIER_PROCESS},
                "tier process: no image, own code, local network, narrow credentials; a stronger tier would need an "
                "image");
        line_is((struct risk_facts){TRUST_REVIEWED, REACH_LISTED, CREDENTIALS_NONE, true, ALL, TIER_PROCESS},
                "tier container: reviewed code, listed hosts, no credentials");
        line_is((struct risk_facts){TRUST_OWN, REACH_NONE, CREDENTIALS_NONE, true, ALL, TIER_MICROVM},
                "tier microvm: own code, no network, no credentials; min_tier is microvm");
        line_is((struct risk_facts){TRUST_UNKNOWN, REACH_ANYWHERE, CREDENTIALS_WRITE, true, ALL, TIER_AUTO},
                "tier microvm: unknown code, any host, write credentials");
}

static void error_is(struct risk_facts f, int errnum, const char *msg, const char *fix) {
        struct risk_choice c = {};
        struct error e = {};
        check(risk_choose(&f, &c, &e) == -errnum && strstr(e.msg, msg) && strstr(e.fix, fix));
        check(risk_choose(&f, &c, NULL) < 0);
}

/* A tier that is missing is named with where it is missing: in this version, or on this host. */
TEST(lines_of_what_is_missing) {
        bool built = control_tier_built(TIER_MICROVM);
        unsigned few = CONTROL_IN_PROCESS | CONTROL_IN_CONTAINER;
        line_is((struct risk_facts){TRUST_UNKNOWN, REACH_NONE, CREDENTIALS_NONE, false, few, TIER_AUTO},
                built ? "tier process: no image, unknown code, no network, no credentials; microvm needs an image and "
                        "another host"
                      : "tier process: no image, unknown code, no network, no credentials; microvm needs an image and "
                        "a later version");
        line_is((struct risk_facts){TRUST_UNKNOWN, REACH_LISTED, CREDENTIALS_WRITE, true, few, TIER_AUTO},
                built ? "tier container: unknown code, listed hosts, write credentials; weaker than asked: no microvm "
                        "on this host"
                      : "tier container: unknown code, listed hosts, write credentials; weaker than asked: no microvm "
                        "in this version");
        line_is((struct risk_facts){TRUST_OWN, REACH_NONE, CREDENTIALS_NONE, true, CONTROL_IN_VM, TIER_MICROVM},
                built ? "tier vm: own code, no network, no credentials; min_tier is microvm; no microvm on this host"
                      : "tier vm: own code, no network, no credentials; min_tier is microvm; no microvm in this "
                        "version");
}

TEST(errors) {
        error_is((struct risk_facts){TRUST_OWN, 0, 0, false, ALL, TIER_CONTAINER}, EINVAL,
                "min_tier is container, and without an image", "name an image");
        error_is((struct risk_facts){TRUST_OWN, 0, 0, false, CONTROL_IN_CONTAINER, TIER_AUTO}, ENOTSUP,
                "the tier process is not", "belljar doctor");
        error_is((struct risk_facts){TRUST_OWN, 0, 0, true, CONTROL_IN_PROCESS | CONTROL_IN_CONTAINER, TIER_MICROVM},
                ENOTSUP, "min_tier is microvm, and there is no microvm", "lower min_tier to container");
        error_is((struct risk_facts){TRUST_OWN, 0, 0, true, CONTROL_IN_PROCESS, TIER_AUTO}, ENOTSUP, "an image needs",
                "belljar doctor");
        error_is((struct risk_facts){TRUST_OWN, 0, 0, true, 0, TIER_VM}, ENOTSUP, "min_tier is vm", "belljar doctor");
}

/* What the facts forbid, and how it is said. */
TEST(obstacles) {
        const struct host_facts fine = {.uid = 1000, .sysctl_max_userns = -1, .sysctl_userns_clone = -1, .sysctl_apparmor_userns = -1};
        struct host_facts f = fine;
        const char *full;
        check(!risk_obstacle(&f, TIER_PROCESS) && !risk_obstacle(&f, TIER_CONTAINER));
        f.sysctl_max_userns = 0;
        check_streq(risk_obstacle(&f, TIER_PROCESS), "user.max_user_namespaces is 0");
        check_streq(risk_obstacle(&f, TIER_CONTAINER), "user.max_user_namespaces is 0");
        check(!risk_obstacle(&f, TIER_MICROVM));
        f.sysctl_max_userns = 1;
        check(risk_obstacle(&f, TIER_PROCESS));
        f.sysctl_max_userns = 2;
        check(!risk_obstacle(&f, TIER_PROCESS));
        f = fine;
        f.sysctl_userns_clone = 0;
        check_streq(risk_obstacle(&f, TIER_PROCESS), "kernel.unprivileged_userns_clone is 0");
        f.uid = 0; /* root may */
        check(!risk_obstacle(&f, TIER_PROCESS));
        f.uid_map_partial = true; /* root of a container is no root */
        check(risk_obstacle(&f, TIER_PROCESS));
        f = fine;
        f.sysctl_apparmor_userns = 1; /* a profile may allow it: only the trial says */
        check(!risk_obstacle(&f, TIER_PROCESS));
        f.userns = (struct probe_result){.tried = true, .err = EPERM};
        check(strstr(risk_obstacle(&f, TIER_PROCESS), "AppArmor"));
        f.sysctl_apparmor_userns = 0;
        f.seccomp_mode = 2;
        check(strstr(risk_obstacle(&f, TIER_PROCESS), "seccomp"));
        f.chrooted = true;
        check(strstr(risk_obstacle(&f, TIER_PROCESS), "chroot"));
        f.userns.err = 0;
        check(!risk_obstacle(&f, TIER_PROCESS));
        f.overlay = (struct probe_result){.tried = true, .err = ENODEV};
        full = risk_obstacle(&f, TIER_CONTAINER);
        check(!risk_obstacle(&f, TIER_PROCESS) && full);
        line_is((struct risk_facts){TRUST_REVIEWED, REACH_LISTED, CREDENTIALS_NARROW, false, CONTROL_IN_PROCESS, TIER_AUTO, full},
                "tier process: reviewed code, listed hosts, narrow credentials; container needs an image and overlayfs");
        error_is((struct risk_facts){TRUST_OWN, 0, 0, true, CONTROL_IN_PROCESS, TIER_AUTO, full}, ENOTSUP,
                 "no container on this host: no overlayfs", "belljar doctor");
        error_is((struct risk_facts){TRUST_OWN, 0, 0, false, 0, TIER_AUTO, "user.max_user_namespaces is 0"}, ENOTSUP,
                 "the tier process is not to be had on this host: user.max_user_namespaces is 0", "belljar doctor");
}

TEST(document_is_the_published_one) {
        _cleanup_free_ char *made = risk_doc(), *file = NULL;
        size_t n = 0;
        check(made);
        check(file_read(AT_FDCWD, SOURCE_ROOT "/docs/tiers.md", 1u << 20, &file, &n) == 0);
        if (!streq(made, file))
                printf("# run: belljar-tool --generate tiers > docs/tiers.md\n");
        check(streq(made, file));
}

/* Each of its 72 cells is there, in a row of its own: read back from the text and held against the table. */
TEST(document_has_every_combination) {
        _cleanup_free_ char *made = risk_doc();
        unsigned cells = 0;
        for (int i = 0; i < 2; i++) {
                const char *part = strstr(made, i ? "asks for with an image" : "asks for without an image");
                check(part);
                for (size_t t = 0; t < 3; t++)
                        for (int r = 0; r < REACH_N; r++) {
                                char row[160], cell[3][16] = {};
                                snprintf(row, sizeof(row), "\n| %s | %s |", trust_name(trusts[t]),
                                        risk_reach_name((enum risk_reach)r));
                                const char *at = strstr(part, row);
                                check(at && sscanf(at + strlen(row), " %15s | %15s | %15s |", cell[0], cell[1],
                                                    cell[2]) == 3);
                                for (int c = 0; c < 3; c++, cells++)
                                        check_streq(cell[c], tier_name(risk_asked(trusts[t], (enum risk_reach)r,
                                                                     (enum risk_credentials)c, i == 1)));
                        }
        }
        check(cells == 72);
}

int main(int argc, char **argv) {
        if (argc == 2 && streq(argv[1], "--doc")) {
                _cleanup_free_ char *s = risk_doc();
                return s && fputs(s, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 1;
        }
        return tap_run();
}
