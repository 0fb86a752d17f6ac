/* What options of the command line set in a policy, through the setters of the file's keys; and the check of a whole
 * policy, once both have been read. */
#include <stdio.h>
#include <string.h>

#include "model/policy-table.h"

static const struct policy_key *key(const char *parent, const char *leaf) {
        const struct policy_key *section = parent ? policy_key_find(NULL, parent) : NULL;

        if (parent && streq(parent, "workspace"))
                section = policy_key_find(policy_key_find(NULL, "files"), parent);
        return policy_key_find(section, leaf);
}

static int add_item(struct policy *p, const char *parent, const char *leaf, const char *text, struct error *e) {
        return policy_add_item(p, key(parent, leaf), text, e);
}

int policy_add_read(struct policy *p, const char *path, struct error *e) {
        return add_item(p, "files", "read", path, e);
}
int policy_add_hide(struct policy *p, const char *pattern, struct error *e) {
        return add_item(p, "files", "hide", pattern, e);
}
int policy_add_without(struct policy *p, const char *control, struct error *e) {
        return add_item(p, NULL, "without", control, e);
}

int policy_add_allow(struct policy *p, const char *place, struct error *e) {
        return network_add_allow(&p->network, place, e);
}
int policy_add_deny(struct policy *p, const char *place, struct error *e) {
        return network_add_deny(&p->network, place, false, e);
}
int policy_add_quiet(struct policy *p, const char *place, struct error *e) {
        return network_add_deny(&p->network, place, true, e);
}

/* Where the hosts of --secret begin; NULL: there are none. A source may have an @ of its own. */
static const char *hosts_of(const char *text) {
        const char *at = strrchr(text, '@');
        return at && at[1] && strspn(at + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_*:,[]") == strlen(at + 1) ? at : NULL;
}

/* A name without a dot is no host of the internet. */
static bool is_preset(const char *host, size_t n) { return !memchr(host, '.', n) && !memchr(host, ':', n) && !memchr(host, '*', n); }

bool policy_secret_has_preset(const char *text) {
        const char *hosts = hosts_of(text);

        for (hosts = hosts ? hosts + 1 : ""; *hosts; hosts += strcspn(hosts, ","), hosts += *hosts == ',')
                if (is_preset(hosts, strcspn(hosts, ",")))
                        return true;
        return false;
}

static int add_hosts(struct policy *p, const char *hosts, const char *name, policy_add_preset *add, struct error *e) {
        int r = 0;

        while (r >= 0 && *hosts) {
                size_t n = strcspn(hosts, ",");
                _cleanup_free_ char *host = strndup(hosts, n);
                if (!host)
                        return error_set(e, ENOMEM, "out of memory");
                r = add && is_preset(host, n) ? add(p, host, name, e) : network_add_allow_with(&p->network, host, name, e);
                hosts += n + (hosts[n] == ',');
        }
        return r;
}

int policy_add_secret(struct policy *p, const char *text, policy_add_preset *add, struct error *e) {
        const char *at = hosts_of(text);
        _cleanup_free_ char *head = at ? strndup(text, (size_t)(at - text)) : strdup(text), *implied = NULL;
        char *source = head ? strchr(head, '=') : NULL;

        if (!head)
                return error_set(e, ENOMEM, "out of memory");
        if (source)
                *source++ = 0;
        if (!secret_name_good(head)) {
                error_set(e, EINVAL, "--secret takes NAME[=SOURCE][@HOST|PRESET,...]: a name has letters, digits, dashes and underscores");
                return error_fix(e, "write it like --secret GITHUB_TOKEN@api.github.com or --secret gh=store:github@api.github.com");
        }
        bool had = secret_find(p->network.secrets, p->network.n_secrets, head) != SIZE_MAX;
        struct secret *s = secret_add(&p->network.secrets, &p->network.n_secrets, head, e);
        if (!s)
                return -e->errnum;
        if (!source && !had && !(source = implied = str_printf("env:%s", head)))
                return error_set(e, ENOMEM, "out of memory");
        int r = source ? secret_parse_source(source, s, e) : 0;
        if (r < 0)
                return r;
        if (source)
                s->line = s->column = 0;
        return at ? add_hosts(p, at + 1, head, add, e) : 0;
}

int policy_add_given(struct policy *p, const char *url, struct error *e) { return network_add_given(&p->network, url, e); }

/* The value is not the file's any more. */
static int set(struct policy *p, const char *parent, const char *leaf, const char *text, struct error *e) {
        const struct policy_key *k = key(parent, leaf);
        int r = policy_set_scalar(p, k, text, e);

        if (r >= 0 && k->place)
                *(struct policy_place *)((char *)p + k->place) = (struct policy_place){};
        return r;
}

int policy_set_tier(struct policy *p, const char *tier, struct error *e) { return set(p, NULL, "tier", tier, e); }
int policy_set_trust(struct policy *p, const char *trust, struct error *e) { return set(p, NULL, "trust", trust, e); }
int policy_set_nesting(struct policy *p, const char *nesting, struct error *e) {
        return set(p, NULL, "nesting", nesting, e);
}
int policy_set_trace(struct policy *p, const char *trace, struct error *e) { return set(p, NULL, "trace", trace, e); }
int policy_set_image(struct policy *p, const char *name, struct error *e) { return set(p, NULL, "image", name, e); }
int policy_set_user(struct policy *p, const char *user, struct error *e) { return set(p, NULL, "user", user, e); }
int policy_set_workdir(struct policy *p, const char *dir, struct error *e) { return set(p, NULL, "workdir", dir, e); }
int policy_set_workspace_mode(struct policy *p, const char *mode, struct error *e) {
        return set(p, "workspace", "mode", mode, e);
}
int policy_set_workspace_inside(struct policy *p, const char *dir, struct error *e) {
        return set(p, "workspace", "inside", dir, e);
}

int policy_set_min_tier(struct policy *p, const char *tier, struct error *e) {
        enum tier t = TIER_AUTO;

        if (tier_parse(tier, &t) == 0 && t != TIER_AUTO && t < p->min_tier) {
                error_set(e, EINVAL, "min_tier %s is below the policy's %s (line %u)", tier, tier_name(p->min_tier),
                          p->places.min_tier.line);
                return error_fix(e, "the command line can raise it only; change the policy to lower it");
        }
        if (tier_parse(tier, &t) == 0 && t == p->min_tier)
                return 0;
        return set(p, NULL, "min_tier", tier, e);
}

int policy_set_entrypoint(struct policy *p, const char *program, struct error *e) {
        struct strlist before = p->entrypoint;
        int r;

        p->entrypoint = (struct strlist){};
        r = program[0] ? add_item(p, NULL, "entrypoint", program, e) : 0;
        if (r < 0) {
                strlist_clear(&p->entrypoint);
                p->entrypoint = before;
                return r;
        }
        strlist_clear(&before);
        p->has_entrypoint = true;
        p->places.entrypoint = (struct policy_place){};
        return 0;
}

void policy_default_mode(struct policy *p) {
        if (!p->workspace.mode_written)
                p->workspace.mode = p->workspace.name ? WORKSPACE_RW : WORKSPACE_COW;
}

int policy_set_workspace_path(struct policy *p, const char *path, struct error *e) {
        char *name = TAKE_PTR(p->workspace.name);
        int r = set(p, "workspace", "path", path, e);

        if (r < 0) {
                p->workspace.name = name;
                return r;
        }
        free(name);
        p->places.name = (struct policy_place){};
        policy_default_mode(p);
        return 0;
}

int policy_set_workspace_name(struct policy *p, const char *name, struct error *e) {
        char *path = TAKE_PTR(p->workspace.path);
        int r = set(p, "workspace", "name", name, e);

        if (r < 0)
                p->workspace.path = path;
        else
                free(path);
        return r;
}

#define PLACE_TEXT 256

/* "belljar.yaml:3:7", or "the command line". */
static const char *where(char dst[PLACE_TEXT], const struct policy *p, struct policy_place at) {
        const char *name = p->source ?: "the policy";
        size_t len = strlen(name);

        if (at.line == 0)
                return "the command line";
        snprintf(dst, PLACE_TEXT, "%s%s:%u:%u", len > 200 ? "..." : "", len > 200 ? name + len - 200 : name, at.line,
                at.column);
        return dst;
}

static int check_tier(const struct policy *p, struct error *e) {
        const struct policy_place tier = p->places.tier, min = p->places.min_tier;
        char a[PLACE_TEXT], b[PLACE_TEXT];

        if (p->tier != TIER_AUTO && p->tier < p->min_tier) {
                error_set(e, EINVAL, "%s: tier is %s, below the min_tier of %s in %s", where(a, p, tier),
                        tier_name(p->tier), tier_name(p->min_tier), where(b, p, min));
                return error_fix(e, "ask for %s or a stronger tier%s", tier_name(p->min_tier),
                                 min.line ? ", or lower min_tier in the policy" : "");
        }
        if (p->image && p->tier == TIER_PROCESS) {
                error_set(e, EINVAL, "%s: tier is process, which runs the host's programs, and image is %s in %s",
                          where(a, p, tier), p->image, where(b, p, p->places.image));
                return error_fix(e, "take the image out, or ask for the tier container");
        }
        if (!p->image && (p->tier == TIER_CONTAINER || p->tier == TIER_MICROVM)) {
                error_set(e, EINVAL, "%s: the tier %s needs an image, and there is none", where(a, p, tier),
                        tier_name(p->tier));
                return error_fix(e, "name one (image: NAME, or --image NAME), or ask for the tier process");
        }
        if (!p->image && p->tier == TIER_AUTO && p->min_tier > TIER_PROCESS) {
                error_set(e, EINVAL, "%s: min_tier is %s, and without an image there is only the tier process",
                        where(a, p, min), tier_name(p->min_tier));
                return error_fix(e, "name an image (image: NAME, or --image NAME), or lower min_tier");
        }
        return 0;
}

/* What says something about an image says nothing without one. */
static int check_image_keys(const struct policy *p, struct error *e) {
        const struct {
                bool set;
                const char *key;
                struct policy_place at;
        } keys[] = {
                {p->user, "user", p->places.user},
                {p->has_entrypoint, "entrypoint", p->places.entrypoint},
                {p->workspace.inside, "files.workspace.inside", p->places.inside},
        };
        char a[PLACE_TEXT];

        for (size_t i = 0; !p->image && i < ELEMENTSOF(keys); i++)
                if (keys[i].set) {
                        error_set(e, EINVAL, "%s: %s is about an image, and there is none", where(a, p, keys[i].at),
                                keys[i].key);
                        return error_fix(
                                e, "name an image (image: NAME, or --image NAME), or take %s out", keys[i].key);
                }
        return 0;
}

static int check_places(const struct policy *p, struct error *e) {
        const char *workspace = p->workspace.inside ?: POLICY_WORKSPACE_INSIDE;
        char a[PLACE_TEXT], brief[POLICY_BRIEF];

        for (size_t i = 0; p->image && i < p->n_volumes; i++)
                if (streq(p->volumes[i].inside, workspace)) {
                        error_set(e, EINVAL, "%s: a volume at %s, where the workspace stands",
                                where(a, p, p->volumes[i].place), policy_brief(brief, workspace));
                        return error_fix(e, "give it another place, or the workspace (files.workspace.inside)");
                }
        return 0;
}

static int check_secrets(const struct policy *p, struct error *e) {
        for (size_t i = 0; i < p->network.n_rules; i++) {
                const struct network_rule *r = &p->network.rules[i];
                char a[PLACE_TEXT];
                if (!r->secret || secret_find(p->network.secrets, p->network.n_secrets, r->secret) != SIZE_MAX)
                        continue;
                error_set(e, EINVAL, "%s: a rule names the secret %s, which is not among secrets", where(a, p, (struct policy_place){r->line, r->column}), r->secret);
                return error_fix(e, "say where it comes from: secrets: {%s: {from: env:NAME}}, or --secret %s=env:NAME", r->secret, r->secret);
        }
        return 0;
}

int policy_check(const struct policy *p, struct error *e) {
        int r;

        if ((r = check_secrets(p, e)) < 0 || (r = check_tier(p, e)) < 0 || (r = check_image_keys(p, e)) < 0)
                return r;
        return check_places(p, e);
}

void policy_drop_wires(struct policy *p, enum trip_on on, bool defaults) {
        size_t n = 0;

        for (size_t i = 0; i < p->n_wires; i++)
                if (p->wires[i].on != on || (defaults && !p->wires[i].is_default))
                        p->wires[n++] = p->wires[i];
        p->n_wires = n;
}

int policy_trip_word(const char *const *choices, const char *text, unsigned *ret, struct error *e) {
        const bool on = choices == trip_on_names;
        char brief[POLICY_BRIEF];

        for (unsigned i = 0; choices[i]; i++) {
                if (!streq(choices[i], text))
                        continue;
                *ret = i;
                if (!on || i < TRIP_N)
                        return 0;
                /* A wire that nothing touches would be a promise. */
                error_set(e, ENOTSUP, i == TRIP_LOST    ? "a run whose supervisor is lost ends in any case: there is no tripwire for it"
                                      : i == TRIP_LIMIT ? "a limit that is reached ends the run in any case: there is no tripwire for it"
                                                        : "this version of Belljar does not see the event %s, and so refuses a policy that has it", text);
                return error_fix(e, "take the entry out");
        }
        error_set(e, EINVAL, "there is no %s \"%s\" for a tripwire", on ? "event" : "action", policy_brief(brief, text));
        return error_fix(e, on ? "there are denied, rerouted, placeholder, budget and payload" : "there are warn, cut, hold, kill and off");
}

int policy_set_tripwire(struct policy *p, const char *text, struct error *e) {
        const size_t n = strcspn(text, "=");
        _cleanup_free_ char *event = strndup(text, n);
        unsigned on = 0, act = 0;
        bool any = false;
        int r;

        if (!event)
                return error_set(e, ENOMEM, "out of memory");
        if (text[n] != '=') {
                error_set(e, EINVAL, "--tripwire takes EVENT=ACTION");
                return error_fix(e, "as --tripwire denied=warn");
        }
        if ((r = policy_trip_word(trip_on_names, event, &on, e)) < 0 || (r = policy_trip_word(trip_do_names, text + n + 1, &act, e)) < 0)
                return r;
        if (act == TRIP_OFF) {
                policy_drop_wires(p, (enum trip_on)on, false);
                return 0;
        }
        for (size_t i = 0; i < p->n_wires; i++)
                if (p->wires[i].on == on) {
                        p->wires[i].act = (enum trip_do)act;
                        p->wires[i].is_default = false;
                        any = true;
                }
        if (!any && p->n_wires < TRIP_WIRES_MAX)
                p->wires[p->n_wires++] = (struct trip_wire){.on = (enum trip_on)on, .count = 1, .within = 60000, .act = (enum trip_do)act};
        return any || p->wires[p->n_wires - 1].on == on ? 0 : error_set(e, E2BIG, "the policy has too many tripwires");
}
