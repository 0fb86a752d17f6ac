/* A policy with its defaults, and setting one value of it from text: shared by the file's reader and the command line's
 * options. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "model/glob.h"
#include "model/policy-table.h"

struct policy *policy_new(void) {
        struct policy *p = calloc(1, sizeof(*p));
        if (p) {
                p->min_tier = TIER_PROCESS;
                p->network.run = NETWORK_NO_BUDGET;
                p->network.has_run = true;
                memcpy(p->wires, trip_defaults, trip_n_defaults * sizeof(*p->wires));
                p->n_wires = trip_n_defaults;
                p->limits.pids = (struct limit){.value = POLICY_PIDS_DEFAULT, .origin = LIMIT_DEFAULT};
        }
        return p;
}

void policy_free(struct policy *p) {
        if (!p)
                return;
        free(p->source);
        free(p->image);
        free(p->user);
        strlist_clear(&p->entrypoint);
        free(p->workdir);
        free(p->workspace.path);
        free(p->workspace.name);
        free(p->workspace.inside);
        for (size_t i = 0; i < p->n_volumes; i++) {
                free(p->volumes[i].host);
                free(p->volumes[i].inside);
        }
        free(p->volumes);
        strlist_clear(&p->read);
        strlist_clear(&p->hide);
        strlist_clear(&p->guarded);
        strlist_clear(&p->use);
        strlist_clear(&p->read_there);
        for (size_t i = 0; i < p->n_files; i++) {
                free(p->files[i].path);
                free(p->files[i].text);
                free(p->files[i].recipe);
        }
        free(p->files);
        strlist_clear(&p->without);
        network_clear(&p->network);
        git_clear(&p->git);
        for (size_t i = 0; i < p->n_env; i++) {
                free(p->env[i].name);
                free(p->env[i].value);
        }
        free(p->env);
        free(p);
}

const char *policy_brief(char dst[POLICY_BRIEF], const char *s) {
        size_t len = strlen(s), n = utf8_cut(s, len, POLICY_BRIEF - 4);

        memcpy(dst, s, n);
        memcpy(dst + n, n < len ? "..." : "", n < len ? 4 : 1);
        return dst;
}

static void *field_of(struct policy *p, const struct policy_key *k) { return (char *)p + k->field; }

/* The words of a choice: "a, b or c". */
static const char *words(char *dst, size_t size, const char *const *choices) {
        size_t o = 0;
        for (size_t i = 0; choices[i] && o < size; i++)
                o += (size_t)snprintf(dst + o, size - o, "%s%s", i == 0 ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
        return dst;
}

static int choice_parse(const char *const *choices, const char *s) {
        for (int i = 0; choices[i]; i++)
                if (streq(choices[i], s))
                        return i;
        return -EINVAL;
}

static int set_choice(struct policy *p, const struct policy_key *k, const char *text, struct error *e) {
        char brief[POLICY_BRIEF], list[128];
        int i = choice_parse(k->choices, text);

        if (i < 0) {
                error_set(e, EINVAL, "%s cannot be \"%s\"", k->name, policy_brief(brief, text));
                return error_fix(e, "write %s", words(list, sizeof(list), k->choices));
        }
        if (k->field == offsetof(struct policy, tier))
                p->tier = (enum tier)i;
        else if (k->field == offsetof(struct policy, min_tier))
                p->min_tier = (enum tier)(i + 1); /* there is no minimum called auto */
        else if (k->field == offsetof(struct policy, trust))
                p->trust = (enum trust)i;
        else if (k->field == offsetof(struct policy, nesting))
                p->nesting = (enum nesting)i;
        else if (k->field == offsetof(struct policy, trace))
                p->trace = (enum trace)i;
        else {
                p->workspace.mode = (enum workspace_mode)i;
                p->workspace.mode_written = true;
        }
        return 0;
}

int policy_check_path(const struct policy_key *k, const char *text, struct error *e) {
        if (text[0] == 0) {
                error_set(e, EINVAL, "an empty path in %s", k->name);
                return error_fix(e, "write a path, or leave the entry out");
        }
        if (strlen(text) > POLICY_PATH_MAX)
                return error_set(e, ENAMETOOLONG, "a path in %s has %zu bytes: more than %u", k->name, strlen(text),
                                 POLICY_PATH_MAX);
        if (text[0] == '~' && text[1] != 0 && text[1] != '/') {
                char brief[POLICY_BRIEF];
                error_set(e, EINVAL, "%s: \"%s\": of the forms with ~ only ~ and ~/... are known", k->name,
                          policy_brief(brief, text));
                return error_fix(e, "write another user's home in full, and a name that begins with ~ as ./~...");
        }
        return 0;
}

int policy_keep(char **field, const char *text, struct error *e) {
        char *copy = strdup(text);

        if (!copy)
                return error_set(e, ENOMEM, "out of memory");
        free(*field);
        *field = copy;
        return 0;
}

/* The types that are kept as the text they are. */
static int set_text(struct policy *p, const struct policy_key *k, const char *text, struct error *e) {
        int r;

        if (k->type == KEY_PATH && p->workspace.name) {
                error_set(e, EINVAL, "%s beside a name of the workspace: it has one or the other", k->name);
                return error_fix(e, "take path or name out");
        }
        r = k->type == KEY_PATH ? policy_check_path(k, text, e) : policy_check_text(p, k, text, e);
        if (r < 0 || (r = policy_keep(field_of(p, k), text, e)) < 0)
                return r;
        if (k->type == KEY_NAME)
                policy_default_mode(p);
        return 0;
}

/* Thousandths from at most three decimals. */
static int parse_cpu(const char *s, uint64_t *ret) {
        uint64_t v = 0, unit = 1000;

        if (*s < '0' || *s > '9')
                return -EINVAL;
        for (; *s >= '0' && *s <= '9'; s++)
                if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (unsigned)(*s - '0'), &v))
                        return -ERANGE;
        if (__builtin_mul_overflow(v, 1000u, &v))
                return -ERANGE;
        if (*s == '.') {
                s++;
                if (*s < '0' || *s > '9')
                        return -EINVAL;
                for (; *s >= '0' && *s <= '9'; s++) {
                        unit /= 10;
                        if (unit == 0 || __builtin_add_overflow(v, unit * (unsigned)(*s - '0'), &v))
                                return -EINVAL;
                }
        }
        if (*s)
                return -EINVAL;
        *ret = v;
        return 0;
}

static const char *format_value(char *dst, size_t size, const struct policy_key *k, uint64_t v) {
        switch (k->type) {
        case KEY_SIZE:
        case KEY_BYTES:
                return format_size(dst, size, v);
        case KEY_DURATION:
                if (v >= 86400000 && v % 86400000 == 0)
                        snprintf(dst, size, "%llud", (unsigned long long)(v / 86400000));
                else
                        format_duration(dst, size, v);
                return dst;
        case KEY_CPU:
                if (v % 1000 == 0)
                        snprintf(dst, size, "%llu", (unsigned long long)(v / 1000));
                else
                        snprintf(dst, size, "%g", (double)v / 1000);
                return dst;
        default:
                snprintf(dst, size, "%llu", (unsigned long long)v);
                return dst;
        }
}

int policy_parse_amount(const struct policy_key *k, const char *text, uint64_t *ret, struct error *e) {
        static const struct { const char *what, *how; } words_of[] = {
                [KEY_SIZE] = {"a size", "write it like 2GiB, 512MiB or 4096 (bytes)"},
                [KEY_CPU] = {"a number of processors", "write it like 2 or 0.5, with at most three decimals"},
                [KEY_COUNT] = {"a whole number", "write it like 256"},
                [KEY_BYTES] = {"a size", "write it like 64KiB, 2MiB or 4096 (bytes)"},
                [KEY_NUMBER] = {"a whole number", "write it like 256"},
                [KEY_DURATION] = {"a duration", "write it like 30m, 1h30m, 250ms or 90 (seconds)"},
        };
        char brief[POLICY_BRIEF], low[32], high[32];
        uint64_t v = 0;
        int r;

        policy_brief(brief, text);
        /* To YAML 1.1 the plain number 010 is eight. */
        if (text[0] == '0' && text[1] != 0 && strspn(text, "0123456789") == strlen(text)) {
                error_set(e, EINVAL, "%s: \"%s\" begins with a zero and could be read as octal", k->name, brief);
                return error_fix(e, "write it without the zero in front");
        }
        switch (k->type) {
        case KEY_SIZE:
        case KEY_BYTES:
                /* parse_size counts in millionths and so ends at 16 TiB of bare bytes. */
                r = parse_u64(text, &v);
                if (r == -EINVAL)
                        r = parse_size(text, &v);
                break;
        case KEY_CPU:
                r = parse_cpu(text, &v);
                break;
        case KEY_DURATION:
                r = parse_duration(text, &v);
                break;
        default:
                r = parse_u64(text, &v);
                break;
        }
        if (r < 0 && r != -ERANGE) {
                error_set(e, EINVAL, "%s: \"%s\" is not %s", k->name, brief, words_of[k->type].what);
                return error_fix(e, "%s", words_of[k->type].how);
        }
        if (r == 0 && v == 0 && k->min > 0) {
                error_set(e, ERANGE, "%s: 0 is not a limit", k->name);
                return k->unset ? error_fix(e, "leave the key out for the default of %s", k->unset)
                                : error_fix(e, "leave the key out for no limit of your own");
        }
        if (r < 0 || v < k->min || v > k->max) {
                error_set(e, ERANGE, "%s: \"%s\" is out of range", k->name, brief);
                return error_fix(e, "write a value from %s to %s", format_value(low, sizeof(low), k, k->min),
                                 format_value(high, sizeof(high), k, k->max));
        }
        *ret = v;
        return 0;
}

static int set_limit(struct policy *p, const struct policy_key *k, const char *text, struct error *e) {
        struct limit *field = field_of(p, k);
        uint64_t v = 0;
        int r = policy_parse_amount(k, text, &v, e);

        if (r == 0)
                *field = (struct limit){.value = v, .origin = LIMIT_USER};
        return r;
}

int policy_set_scalar(struct policy *p, const struct policy_key *k, const char *text, struct error *e) {
        char brief[POLICY_BRIEF];

        switch (k->type) {
        case KEY_VERSION:
                if (streq(text, "1"))
                        return 0;
                error_set(e, EINVAL, "version is \"%s\", and this Belljar reads 1 only", policy_brief(brief, text));
                return error_fix(e, "write version: 1, or use a Belljar that reads the other");
        case KEY_CHOICE:
                return set_choice(p, k, text, e);
        case KEY_PATH:
        case KEY_IMAGE:
        case KEY_USER:
        case KEY_WORKDIR:
        case KEY_NAME:
        case KEY_INSIDE:
                return set_text(p, k, text, e);
        case KEY_SIZE:
        case KEY_CPU:
        case KEY_COUNT:
        case KEY_DURATION:
                return set_limit(p, k, text, e);
        case KEY_BYTES:
        case KEY_NUMBER:
                return policy_parse_amount(k, text, field_of(p, k), e);
        default:
                return error_set(e, EINVAL, "%s does not take a single value", k->name);
        }
}

static int check_control(const struct policy_key *k, const char *text, struct error *e) {
        char brief[POLICY_BRIEF];
        size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

        if (n > 0 && text[n] == 0 && n <= POLICY_NAME_MAX)
                return 0;
        error_set(e, EINVAL, "%s: \"%s\" is not the name of a control", k->name, policy_brief(brief, text));
        return error_fix(e, "names have small letters, digits and dashes, as belljar doctor lists them");
}

int policy_add_item(struct policy *p, const struct policy_key *k, const char *text, struct error *e) {
        struct strlist *list = field_of(p, k);
        char brief[POLICY_BRIEF];
        const char *why = "";
        int r;

        if (list->n >= POLICY_LIST_MAX)
                return error_set(e, E2BIG, "%s has more than %u entries", k->name, POLICY_LIST_MAX);
        if (k->type == KEY_NAMES)
                r = check_control(k, text, e);
        else if (k->type == KEY_WORDS)
                r = policy_check_text(p, k, text, e);
        else
                r = policy_check_path(k, text, e);
        if (r < 0)
                return r;
        if (k->type == KEY_GLOBS && glob_check(text, &why) < 0) {
                error_set(e, EINVAL, "%s: \"%s\" is not a pattern", k->name, policy_brief(brief, text));
                return error_fix(e, "%s", why);
        }
        if (k->type == KEY_NAMES && strlist_has(list, text))
                return 0;
        if (strlist_add(list, text) < 0)
                return error_set(e, ENOMEM, "out of memory");
        return 0;
}

static bool env_name_valid(const char *s) {
        if (!(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z') && *s != '_')
                return false;
        for (; *s; s++)
                if (!(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z') && *s != '_' && !(*s >= '0' && *s <= '9'))
                        return false;
        return true;
}

int policy_set_env(struct policy *p, const char *name, const char *value, struct error *e) {
        char brief[POLICY_BRIEF];
        struct env_rule *rule = NULL;

        policy_brief(brief, name);
        if (!env_name_valid(name)) {
                error_set(e, EINVAL, "\"%s\" is not the name of a variable", brief);
                return error_fix(e, "names have letters, digits and underscores, and begin with no digit");
        }
        if (strlen(name) + (value ? strlen(value) : 0) + 2 > POLICY_ENV_BYTES)
                return error_set(e, E2BIG, "the variable %s has more than the %u bytes that Linux hands to a program", brief,
                                 POLICY_ENV_BYTES);
        for (size_t i = 0; i < p->n_env; i++)
                if (streq(p->env[i].name, name))
                        rule = &p->env[i];
        if (!rule && p->n_env >= POLICY_ENV_MAX)
                return error_set(e, E2BIG, "more than %u variables", POLICY_ENV_MAX);

        _cleanup_free_ char *new_value = value ? strdup(value) : NULL;
        if (value && !new_value)
                return error_set(e, ENOMEM, "out of memory");
        if (!rule) {
                _cleanup_free_ char *new_name = strdup(name);
                struct env_rule *env = new_name ? reallocarray(p->env, p->n_env + 1, sizeof(*env)) : NULL;
                if (!env)
                        return error_set(e, ENOMEM, "out of memory");
                p->env = env;
                rule = &env[p->n_env++];
                *rule = (struct env_rule){.name = TAKE_PTR(new_name)};
        }
        free(rule->value);
        rule->value = TAKE_PTR(new_value);
        return 0;
}

int policy_add_env(struct policy *p, const char *assignment, struct error *e) {
        size_t n = strcspn(assignment, "=");
        _cleanup_free_ char *name = strndup(assignment, n);

        if (!name)
                return error_set(e, ENOMEM, "out of memory");
        return policy_set_env(p, name, assignment[n] == '=' ? assignment + n + 1 : NULL, e);
}

int policy_set_limit(struct policy *p, const char *name, const char *value, struct error *e) {
        const struct policy_key *limits = policy_key_find(NULL, "limits"), *k = policy_key_find(limits, name);
        char brief[POLICY_BRIEF];

        if (k)
                return policy_set_scalar(p, k, value, e);
        const struct policy_key *near = policy_key_nearest(limits, name);
        error_set(e, EINVAL, "there is no limit \"%s\"", policy_brief(brief, name));
        if (near && policy_key_within(near, limits))
                return error_fix(e, "did you mean %s?", policy_key_leaf(near));
        return error_fix(e, "there are memory, cpu, pids, disk, output, time and idle");
}

static const char *choice_name(const char *const *choices, size_t n, unsigned v) { return v < n ? choices[v] : "?"; }

const char *tier_name(enum tier t) { return choice_name(tier_choices, TIER_VM + 1, t); }
const char *nesting_name(enum nesting n) { return choice_name(nesting_choices, NESTING_USERNS + 1, n); }
const char *trace_name(enum trace t) { return choice_name(trace_choices, TRACE_EXECS + 1, t); }
const char *trust_name(enum trust t) { return choice_name(trust_choices, TRUST_OWN + 1, t); }
const char *workspace_mode_name(enum workspace_mode m) {
        return choice_name(workspace_mode_choices, WORKSPACE_RO + 1, m);
}

int tier_parse(const char *s, enum tier *ret) {
        int i = choice_parse(tier_choices, s);
        if (i >= 0)
                *ret = (enum tier)i;
        return MIN(i, 0);
}

int trust_parse(const char *s, enum trust *ret) {
        int i = choice_parse(trust_choices, s);
        if (i >= 0)
                *ret = (enum trust)i;
        return MIN(i, 0);
}

int workspace_mode_parse(const char *s, enum workspace_mode *ret) {
        int i = choice_parse(workspace_mode_choices, s);
        if (i >= 0)
                *ret = (enum workspace_mode)i;
        return MIN(i, 0);
}
