/* The table of `tier: auto` and the choice by it, see risk.h. Why it is as it is stands in risk-doc.c. */
#include <stdio.h>

#include "model/risk.h"

#define P TIER_PROCESS
#define C TIER_CONTAINER
#define M TIER_MICROVM
/* What is asked for where an image is at hand or could be. Rows and columns go from small to great risk, and so does
 * what they hold: test-risk.c proves it. The vm is never asked for. */
static const enum tier table[][REACH_N][CREDENTIALS_N] = {
        /* credentials:       none narrow write */
        [TRUST_OWN] = {
                [REACH_NONE] =     {P, P, P},
                [REACH_LOCAL] =    {P, P, C},
                [REACH_LISTED] =   {P, C, C},
                [REACH_ANYWHERE] = {C, C, M},
        },
        [TRUST_REVIEWED] = {
                [REACH_NONE] =     {C, C, C},
                [REACH_LOCAL] =    {C, C, C},
                [REACH_LISTED] =   {C, C, M},
                [REACH_ANYWHERE] = {C, M, M},
        },
        [TRUST_UNKNOWN] = {
                [REACH_NONE] =     {M, M, M},
                [REACH_LOCAL] =    {M, M, M},
                [REACH_LISTED] =   {M, M, M},
                [REACH_ANYWHERE] = {M, M, M},
        },
};
#undef P
#undef C
#undef M

enum tier risk_asked(enum trust trust, enum risk_reach reach, enum risk_credentials credentials, bool has_image) {
        /* What is out of the table's range is no smaller risk than the greatest. */
        if ((size_t)trust >= ELEMENTSOF(table) || (size_t)reach >= REACH_N || (size_t)credentials >= CREDENTIALS_N)
                return TIER_MICROVM;
        /* The process tier runs the host's programs: an image's need a root of their own. */
        enum tier t = table[trust][reach][credentials];
        return has_image && t == TIER_PROCESS ? TIER_CONTAINER : t;
}

const char *risk_reach_name(enum risk_reach r) {
        static const char *const names[] = {"no network", "local network", "listed hosts", "any host"};
        return (size_t)r < ELEMENTSOF(names) ? names[r] : "?";
}

const char *risk_credentials_name(enum risk_credentials c) {
        static const char *const names[] = {"no credentials", "narrow credentials", "write credentials"};
        return (size_t)c < ELEMENTSOF(names) ? names[c] : "?";
}

const char *risk_obstacle(const struct host_facts *f, enum tier t) {
        if (t != TIER_PROCESS && t != TIER_CONTAINER)
                return NULL;
        if (f->sysctl_max_userns == 0 || f->sysctl_max_userns == 1) /* a sandbox has two */
                return f->sysctl_max_userns ? "user.max_user_namespaces is 1" : "user.max_user_namespaces is 0";
        bool root = f->uid == 0 && !f->uid_map_partial;
        if (!root && f->sysctl_userns_clone == 0)
                return "kernel.unprivileged_userns_clone is 0";
        if (f->userns.tried && f->userns.err)
                return f->chrooted                             ? "no user namespaces in a chroot"
                       : !root && f->sysctl_apparmor_userns > 0 ? "AppArmor refuses user namespaces"
                       : f->seccomp_mode                       ? "a seccomp filter refuses user namespaces"
                                                               : "user namespaces are refused";
        return t == TIER_CONTAINER && f->overlay.tried && f->overlay.err ? "no overlayfs" : NULL;
}

static const char *where_missing(enum tier t) { return control_tier_built(t) ? "on this host" : "in this version"; }

/* The weakest of the tiers at hand that is at least `least`; TIER_AUTO where there is none. */
static enum tier weakest(unsigned at_hand, enum tier least) {
        for (enum tier t = least; t <= TIER_VM; t++)
                if (at_hand & risk_tier_bit(t))
                        return t;
        return TIER_AUTO;
}

static enum tier strongest(unsigned at_hand) {
        for (enum tier t = TIER_VM; t >= TIER_PROCESS; t--)
                if (at_hand & risk_tier_bit(t))
                        return t;
        return TIER_AUTO;
}

static int nothing_left(const struct risk_facts *f, enum tier min, enum tier best, struct error *e) {
        if (!f->has_image && min > TIER_PROCESS) {
                error_set(e, EINVAL, "min_tier is %s, and without an image there is only the tier process",
                        tier_name(min));
                return error_fix(e, "name an image (image: NAME, or --image NAME), or lower min_tier");
        }
        if (!f->has_image) {
                if (f->obstacle)
                        error_set(e, ENOTSUP, "the tier process is not to be had on this host: %s", f->obstacle);
                else
                        error_set(e, ENOTSUP, "the tier process is not to be had on this host, and another would need an image");
                return error_fix(e, "belljar doctor says what is missing and how to mend it");
        }
        if (min > TIER_CONTAINER) {
                error_set(e, ENOTSUP, "min_tier is %s, and there is no %s %s", tier_name(min), tier_name(min),
                          where_missing(min));
                if (best != TIER_AUTO && control_tier_built(min))
                        return error_fix(
                                e, "use a host that has it (belljar doctor), or lower min_tier to %s", tier_name(best));
                if (best != TIER_AUTO) /* no other host would help */
                        return error_fix(e, "lower min_tier to %s, the strongest there is", tier_name(best));
                return error_fix(e, "belljar doctor says what each tier needs");
        }
        error_set(e, ENOTSUP, "an image needs the tier container or a stronger one, and there is no container %s%s%s",
                  where_missing(TIER_CONTAINER), f->obstacle ? ": " : "", f->obstacle ? f->obstacle : "");
        return error_fix(e,
                "belljar doctor says what each tier needs; without the image, the tier process can run the host's "
                "programs");
}

/* What follows the facts: why it is this tier, or what another would need. */
static void reason(char *dst, size_t size, const struct risk_facts *f, enum tier min, const struct risk_choice *c) {
        const char *asked = tier_name(c->asked);
        enum tier want = MAX(c->asked, min);

        if (!f->has_image && c->asked == TIER_PROCESS)
                snprintf(dst, size, "; a stronger tier would need an image");
        else if (!f->has_image && (f->available & risk_tier_bit(c->asked)))
                snprintf(dst, size, "; %s would need an image", asked);
        else if (!f->has_image)
                snprintf(dst, size, "; %s needs an image and %s", asked,
                         !control_tier_built(c->asked)                  ? "a later version"
                         : f->obstacle && str_after(f->obstacle, "no ") ? f->obstacle + 3
                                                                        : "another host");
        else if (c->weaker)
                snprintf(dst, size, "; weaker than asked: no %s %s", asked, where_missing(c->asked));
        else {
                int n = min > c->asked ? snprintf(dst, size, "; min_tier is %s", tier_name(min)) : 0;
                if (c->taken > want)
                        snprintf(dst + n, size - (size_t)n, "; no %s %s", tier_name(want), where_missing(want));
        }
}

static void describe(const struct risk_facts *f, enum tier min, struct risk_choice *c) {
        char why[64] = "";

        reason(why, sizeof(why), f, min, c);
        for (int no_image = !f->has_image; no_image >= 0; no_image--) {
                int n = snprintf(c->line, sizeof(c->line), "tier %s: %s%s code, %s, %s%s", tier_name(c->taken),
                                 no_image ? "no image, " : "", trust_name(f->trust), risk_reach_name(f->reach),
                                 risk_credentials_name(f->credentials), why);
                if (n <= RISK_LINE_MAX) /* else without "no image", which the reason says as well */
                        return;
        }
}

int risk_choose(const struct risk_facts *f, struct risk_choice *ret, struct error *e) {
        struct risk_choice c = {.asked = risk_asked(f->trust, f->reach, f->credentials, f->has_image)};
        enum tier min = MAX(f->min_tier, TIER_PROCESS);
        unsigned process = risk_tier_bit(TIER_PROCESS), at_hand = f->available & (f->has_image ? ~process : process);

        c.taken = weakest(at_hand, MAX(c.asked, min));
        if (c.taken == TIER_AUTO)
                c.taken = strongest(at_hand);
        if (c.taken == TIER_AUTO || c.taken < min)
                return nothing_left(f, min, c.taken, e);
        c.weaker = c.taken < c.asked;
        describe(f, min, &c);
        *ret = c;
        return 0;
}
