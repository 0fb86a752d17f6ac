/* See scope-judge.h. A rule is compared with a scope by the paths that either is for: what no rule meets is needed by none, and
 * where rules only read, what may write exceeds them. */
#include <stdio.h>
#include <strings.h>

#include "model/scope-judge.h"

#define PATHS_MAX 2048u /* bytes of the patterns of a scope */
#define NEEDS_MAX 1024u /* patterns of all rules that name the secret; those beyond it are not looked at, and that is said */
#define WORDS_MAX 512u

/* Which part of a provider a path is on. */
enum side { SIDE_API = 1, SIDE_GIT = 2, SIDE_PACKAGE = 4, SIDE_INFERENCE = 8 };

/* What one pattern of a rule needs. */
struct need {
        const struct network_rule *rule;
        const char *path; /* a pattern */
        unsigned sides;
        enum scope_access access;
};
struct judge {
        const struct scope_answer *a;
        enum scope_kind kind;
        struct need needs[NEEDS_MAX];
        size_t n_needs;
        enum scope_access most; /* of all needs; 0: there is none */
        struct scope_verdict *v;
};

void scope_verdict_clear(struct scope_verdict *v) {
        strlist_clear(&v->exceeds);
        strlist_clear(&v->cannot);
        strlist_clear(&v->wants);
        *v = (struct scope_verdict){};
}

/* --- patterns --- */

static size_t segment(const char *p, size_t n) {
        const char *slash = memchr(p, '/', n);
        return slash ? (size_t)(slash - p) : n;
}

static bool is_any(const char *p, size_t n) { return n == 2 && p[0] == '*' && p[1] == '*'; }

static bool segments_meet(const char *a, size_t n_a, const char *b, size_t n_b) {
        bool star_a = memchr(a, '*', n_a), star_b = memchr(b, '*', n_b);

        if (star_a && star_b)
                return true; /* of two with stars not even one byte is known: it is taken for possible */
        return star_a ? network_glob(a, n_a, b, n_b) : network_glob(b, n_b, a, n_a);
}

/* Both without a leading slash. Recursion is bounded: a "**" of either side is left behind or one segment of the other is, and
 * patterns have at most NETWORK_PATH_SEGMENTS; `tries` bounds what several of them multiply to. */
static bool meet(const char *a, size_t n_a, bool end_a, const char *b, size_t n_b, bool end_b, unsigned *tries) {
        if ((*tries)++ > 10000)
                return true; /* too hard: taken for possible */
        size_t s_a = end_a ? 0 : segment(a, n_a), s_b = end_b ? 0 : segment(b, n_b);
        const char *next_a = end_a || s_a == n_a ? a : a + s_a + 1, *next_b = end_b || s_b == n_b ? b : b + s_b + 1;
        size_t left_a = end_a || s_a == n_a ? 0 : n_a - s_a - 1, left_b = end_b || s_b == n_b ? 0 : n_b - s_b - 1;
        bool last_a = end_a || s_a == n_a, last_b = end_b || s_b == n_b;

        if (end_a && end_b)
                return true;
        if (!end_a && is_any(a, s_a) && !last_a && is_any(next_a, segment(next_a, left_a))) /* two are as one */
                return meet(next_a, left_a, last_a, b, n_b, end_b, tries);
        if (!end_b && is_any(b, s_b) && !last_b && is_any(next_b, segment(next_b, left_b)))
                return meet(a, n_a, end_a, next_b, left_b, last_b, tries);
        if (!end_a && is_any(a, s_a))
                return meet(next_a, left_a, last_a, b, n_b, end_b, tries) || (!end_b && meet(a, n_a, false, next_b, left_b, last_b, tries));
        if (!end_b && is_any(b, s_b))
                return meet(a, n_a, end_a, next_b, left_b, last_b, tries) || (!end_a && meet(next_a, left_a, last_a, b, n_b, false, tries));
        if (end_a || end_b || !segments_meet(a, s_a, b, s_b))
                return false;
        return meet(next_a, left_a, last_a, next_b, left_b, last_b, tries);
}

bool scope_paths_meet(const char *a, size_t n_a, const char *b, size_t n_b) {
        unsigned tries = 0;

        if (n_a == 0 || n_b == 0 || a[0] != '/' || b[0] != '/')
                return false;
        return meet(a + 1, n_a - 1, false, b + 1, n_b - 1, false, &tries);
}

/* Every path of `in` is one of `out`, for the patterns of the tables: stars are whole segments there, "**" stands last. */
static bool covers(const char *out, size_t n_out, const char *in) {
        size_t n_in = strlen(in);

        for (;;) {
                size_t o = segment(out, n_out), i = segment(in, n_in);
                if (is_any(out, o))
                        return true;
                if (is_any(in, i) || (!(o == 1 && out[0] == '*') && (o != i || memcmp(out, in, o) != 0 || memchr(in, '*', i))))
                        return false;
                if (o == n_out || i == n_in) /* two stars at the end are none at all, too */
                        return i == n_in && (o == n_out || (n_out - o == 3 && is_any(out + o + 1, 2)));
                out += o + 1;
                n_out -= o + 1;
                in += i + 1;
                n_in -= i + 1;
        }
}

/* The next of a list "git:/a /b": its side and pattern; NULL: the end. */
static const char *next_path(const char **p, size_t *ret_n, unsigned *ret_side) {
        static const struct { const char *name; unsigned side; } sides[] = {{"git:", SIDE_GIT}, {"package:", SIDE_PACKAGE}, {"inference:", SIDE_INFERENCE}};

        while (**p == ' ')
                (*p)++;
        if (!**p)
                return NULL;
        const char *path = *p;
        size_t n = strcspn(path, " ");
        *p += n;
        *ret_side = SIDE_API;
        for (size_t i = 0; i < ELEMENTSOF(sides); i++)
                if (strncmp(path, sides[i].name, strlen(sides[i].name)) == 0) {
                        *ret_side = sides[i].side;
                        path += strlen(sides[i].name);
                        n -= strlen(sides[i].name);
                }
        *ret_n = n;
        return path;
}

static bool needed_at(const char *paths, const struct need *need) {
        unsigned side;
        size_t n;

        for (const char *p = paths, *path; (path = next_path(&p, &n, &side));)
                if (side & need->sides && scope_paths_meet(path, n, need->path, strlen(need->path)))
                        return true;
        return false;
}

static bool serves(const struct scope_row *row, const struct need *need) {
        unsigned side;
        size_t n;

        if (row->access < need->access)
                return false;
        for (const char *p = row->paths, *path; (path = next_path(&p, &n, &side));)
                if (need->sides == side && covers(path, n, need->path))
                        return true;
        return false;
}

/* --- what the rules need --- */

static bool only_reads(const struct network_rule *r) {
        static const char *const safe[] = {"GET", "HEAD", "OPTIONS"};

        for (size_t i = 0; i < r->methods.n; i++) {
                bool is = false;
                for (size_t k = 0; k < ELEMENTSOF(safe); k++)
                        is |= streq(r->methods.items[i], safe[k]);
                if (!is)
                        return false;
        }
        return r->methods.n > 0;
}

static bool ends_with(const char *s, const char *end) {
        size_t n = strlen(s), m = strlen(end);
        return n >= m && streq(s + n - m, end);
}

/* A POST that only asks. */
static bool asks_only(enum scope_kind k, const char *path) {
        if (ends_with(path, "/git-upload-pack"))
                return true;
        return k == SCOPE_NPM && str_after(path, "/-/npm/v1/security/");
}

/* GitHub's API, its git and its packages are on hosts of their own; an Enterprise Server has the first two on one, a GitLab all of
 * them. */
static unsigned sides_of(enum scope_kind k, const struct network_rule *r, const char **path) {
        const bool one = r->kind == NETWORK_EXACT || r->to;
        const char *host = scope_rule_host(r) ?: r->host;

        if (k == SCOPE_HUGGING_FACE)
                return !one ? SIDE_API | SIDE_INFERENCE : streq(host, "huggingface.co") ? SIDE_API : SIDE_INFERENCE;
        if (k == SCOPE_GITLAB)
                return str_after(*path, "/*")                                    ? SIDE_API | SIDE_GIT | SIDE_PACKAGE
                       : str_after(*path, "/api/")                               ? SIDE_API
                       : str_after(*path, "/v2/") || str_after(*path, "/jwt/") ? SIDE_PACKAGE
                                                                                 : SIDE_GIT;
        if (k != SCOPE_GITHUB && k != SCOPE_GITHUB_APP)
                return SIDE_API;
        if (ends_with(host, "pkg.github.com") || streq(host, "ghcr.io"))
                return SIDE_PACKAGE;
        if (!one)
                return SIDE_API | SIDE_GIT | SIDE_PACKAGE;
        if (str_after(host, "api.") || str_after(host, "uploads."))
                return SIDE_API;
        if (streq(host, "github.com"))
                return SIDE_GIT;
        const char *api = str_after(*path, "/api/v3");
        if (api && *api == '/') {
                *path = api;
                return SIDE_API;
        }
        return str_after(*path, "/*") ? SIDE_API | SIDE_GIT : SIDE_GIT;
}

static void add_need(struct judge *j, const struct network_rule *r, const char *path) {
        enum scope_access access = only_reads(r) || asks_only(j->kind, path) ? SCOPE_READ : SCOPE_WRITE;
        unsigned sides = sides_of(j->kind, r, &path);

        if (j->n_needs == NEEDS_MAX)
                return;
        j->needs[j->n_needs++] = (struct need){r, path, sides, access};
        j->most = MAX(j->most, access);
}

static void find_needs(struct judge *j, const struct network *net, const char *secret) {
        for (size_t i = 0; i < net->n_rules; i++) {
                const struct network_rule *r = &net->rules[i];
                if (r->deny || !r->secret || !streq(r->secret, secret))
                        continue;
                j->v->n_rules++;
                for (size_t k = 0; k < r->paths.n; k++)
                        add_need(j, r, r->paths.items[k]);
                if (r->paths.n == 0)
                        add_need(j, r, "/**");
        }
}

/* By a query of GraphQL anything can be done that a token may. */
static bool is_opaque(const struct judge *j, const struct need *n) {
        static const char graphql[] = "/graphql";
        return j->kind == SCOPE_GITHUB && n->sides & SIDE_API && n->access > SCOPE_READ &&
               scope_paths_meet(graphql, strlen(graphql), n->path, strlen(n->path));
}

static enum scope_access needed(const struct judge *j, const char *paths) {
        enum scope_access most = 0;

        for (size_t i = 0; i < j->n_needs; i++)
                if (is_opaque(j, &j->needs[i]) || needed_at(paths, &j->needs[i]))
                        most = MAX(most, j->needs[i].access);
        return most;
}

/* --- what a grant is for --- */

/* Only what can be no other pattern than it says. */
static bool is_plain(const char *name, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (name[i] == '*' || name[i] == ' ' || (unsigned char)name[i] < 0x21)
                        return false;
        return n > 0;
}

static bool slack_paths(const char *name, char *dst) {
        size_t n = strcspn(name, ":");
        static const char *const rooms[] = {"channels", "groups", "im", "mpim"};

        if (name[n] != ':' || !is_plain(name, n))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(rooms); i++)
                if (strlen(rooms[i]) == n && strncmp(rooms[i], name, n) == 0) {
                        snprintf(dst, PATHS_MAX, "/api/conversations.* /api/%s.*", rooms[i]);
                        return true;
                }
        snprintf(dst, PATHS_MAX, "/api/%.*s.*", (int)n, name);
        return true;
}

/* The requests that it is for; NULL: that is not known. */
static const char *paths_of(const struct judge *j, const struct scope_grant *g, const struct scope_row *row, char dst[PATHS_MAX]) {
        const char *space = strchr(g->name, ' ');
        int n = space ? (int)(space - g->name) : 0;

        if (j->kind == SCOPE_SLACK)
                return slack_paths(g->name, dst) ? dst : NULL;
        if (j->kind == SCOPE_GITHUB_APP && is_plain(g->name, strlen(g->name))) {
                snprintf(dst, PATHS_MAX, "/repos/%s/** git:/%s/** git:/%s.git/**", g->name, g->name, g->name);
                return dst;
        }
        if (j->kind == SCOPE_HUGGING_FACE && row && streq(row->paths, "/**") && n > 1 && !str_after(g->name, "everywhere: ") && is_plain(g->name, (size_t)n - 1)) {
                n--; /* the colon */
                const char *rest = memchr(g->name, '/', (size_t)n) ? "/**" : "/*/**";
                snprintf(dst, PATHS_MAX, "/%.*s%s /datasets/%.*s%s /spaces/%.*s%s /api/*/%.*s%s", n, g->name, rest, n, g->name, rest, n, g->name, rest, n, g->name, rest);
                return dst;
        }
        return row ? row->paths : NULL;
}

/* --- repositories that the rules name --- */

static bool take_literal(const char **p, const char **ret, size_t *ret_n) {
        size_t n = segment(*p, strlen(*p));

        *ret = *p;
        *ret_n = n;
        *p += (*p)[n] == '/' ? n + 1 : n;
        return n > 0 && !memchr(*ret, '*', n);
}

/* "acme/app" of a need on it alone, "acme/" and a star of one on an owner's; false: of any. */
static bool repository_of(const struct need *need, char dst[SCOPE_NAME]) {
        const char *p = need->path + 1, *owner, *name, *first;
        size_t n_owner, n_name, n_first;

        if (need->sides == SIDE_API && (!take_literal(&p, &first, &n_first) || n_first != 5 || memcmp(first, "repos", 5) != 0))
                return false;
        if ((need->sides != SIDE_API && need->sides != SIDE_GIT) || !take_literal(&p, &owner, &n_owner))
                return false;
        bool named = take_literal(&p, &name, &n_name);
        if (named && need->sides == SIDE_GIT && n_name > 4 && memcmp(name + n_name - 4, ".git", 4) == 0)
                n_name -= 4;
        snprintf(dst, SCOPE_NAME, "%.*s/%.*s", (int)MIN(n_owner, 60u), owner, named ? (int)MIN(n_name, 60u) : 1, named ? name : "*");
        return true;
}

/* Those that the needs on repositories are for; false: any, or there is no such need. */
static int find_repositories(const struct judge *j, const char *paths, struct strlist *ret, bool *ret_named) {
        char name[SCOPE_NAME];
        int r;

        *ret_named = false;
        for (size_t i = 0; i < j->n_needs; i++) {
                if (!needed_at(paths, &j->needs[i]))
                        continue;
                if (!repository_of(&j->needs[i], name) || is_opaque(j, &j->needs[i])) {
                        *ret_named = false;
                        return 0;
                }
                *ret_named = true;
                if (!strlist_has(ret, name) && (r = strlist_add(ret, name)) < 0)
                        return r;
        }
        return 0;
}

static const char *join(const struct strlist *l, char dst[WORDS_MAX]) {
        size_t at = 0;

        dst[0] = 0;
        for (size_t i = 0; i < l->n && at < WORDS_MAX; i++) {
                if (i == 6) {
                        snprintf(dst + at, WORDS_MAX - at, " and %zu more", l->n - i);
                        break;
                }
                at += (size_t)snprintf(dst + at, WORDS_MAX - at, "%s%s", i ? ", " : "", l->items[i]);
        }
        return dst;
}

/* --- the verdict --- */

static const char *access_verb(unsigned access) { return access == SCOPE_ADMIN ? "manage" : access == SCOPE_WRITE ? "write" : "read"; }

/* The narrowest scope of at least that access that serves one need; NULL. */
static const struct scope_row *narrowest(const struct judge *j, const struct need *need, enum scope_access access) {
        size_t n;
        const struct scope_row *rows = scope_rows(j->kind, &n), *best = NULL;

        for (size_t i = 0; i < n; i++)
                if (rows[i].access >= access && serves(&rows[i], need) && (!best || rows[i].width < best->width || (rows[i].width == best->width && rows[i].access < best->access)))
                        best = &rows[i];
        return best;
}

/* Scopes that would serve all that the rules need of this one, each of them narrower; false: there are none. */
static int find_narrower(const struct judge *j, const struct scope_row *row, struct strlist *ret, bool *ret_found) {
        int r;

        *ret_found = false;
        for (size_t i = 0; i < j->n_needs && row->width < SCOPE_BESIDE; i++) {
                if (!needed_at(row->paths, &j->needs[i]))
                        continue;
                /* By its method a request that writes cannot be told from one that manages. */
                const struct scope_row *best = narrowest(j, &j->needs[i], j->needs[i].access > SCOPE_READ ? row->access : SCOPE_READ);
                *ret_found = best && best->width < row->width && !is_opaque(j, &j->needs[i]);
                if (!*ret_found)
                        return 0;
                if (!strlist_has(ret, best->name) && (r = strlist_add(ret, best->name)) < 0)
                        return r;
        }
        return 0;
}

/* GitHub's classic scopes are for all repositories at once. */
static int judge_breadth(struct judge *j, const struct scope_grant *g, const struct scope_row *row, bool *ret_said) {
        _cleanup_strlist_ struct strlist names = {};
        char words[WORDS_MAX];
        bool named = false;
        int r;

        if (j->kind != SCOPE_GITHUB || !(streq(row->name, "repo") || streq(row->name, "public_repo")))
                return 0;
        if ((r = find_repositories(j, row->paths, &names, &named)) < 0 || !named)
                return r;
        *ret_said = true;
        return strlist_addf(&j->v->exceeds, "%s: %s; the rules name %s", g->name, row->means, join(&names, words));
}

static int judge_narrower(struct judge *j, const struct scope_grant *g, const struct scope_row *row) {
        _cleanup_strlist_ struct strlist names = {};
        char words[WORDS_MAX];
        bool found = false;
        int r = find_narrower(j, row, &names, &found);

        return r < 0 || !found ? r : strlist_addf(&j->v->exceeds, "%s: it is wider than the rules, which %s would serve", g->name, join(&names, words));
}

static int judge_grant(struct judge *j, const struct scope_grant *g) {
        const struct scope_row *row = scope_row_of(j->kind, g->name);
        char buf[PATHS_MAX];
        const char *paths = paths_of(j, g, row, buf);
        enum scope_access need = paths ? needed(j, paths) : j->most;
        bool said = false;
        int r;

        if (j->kind == SCOPE_AWS)
                return strlist_addf(&j->v->exceeds, "%s: these are keys of the account's root user, whom no policy bounds", g->name);
        if (j->v->n_rules == 0)
                return 0;
        if (need == 0)
                return strlist_addf(&j->v->exceeds, "%s: no rule needs it%s%s%s", g->name, row ? " (" : "", row ? row->means : "", row ? ")" : "");
        if (g->access > SCOPE_READ && need == SCOPE_READ && j->kind != SCOPE_SLACK)
                return strlist_addf(&j->v->exceeds, "%s: it may %s, and the rules only read%s", g->name, access_verb(g->access), paths ? " there" : "");
        if (!row || j->kind == SCOPE_GITHUB_APP)
                return 0;
        return (r = judge_breadth(j, g, row, &said)) < 0 || said ? r : judge_narrower(j, g, row);
}

static int say_rule(struct strlist *l, const struct network *net, const struct need *n, const char *why) {
        _cleanup_free_ char *host = network_host_text(n->rule), *place = n->rule->line ? str_printf("%s:%u ", net->source ? net->source : "policy", n->rule->line) : strdup("");

        if (!host || !place)
                return -ENOMEM;
        return strlist_addf(l, "%s%s %s%s: %s", place, n->rule->methods.n > 0 && n->rule->methods.n <= 3 ? n->rule->methods.items[0] : "any method", host, n->path, why);
}

/* Of a provider whose scopes are known, and told. */
static int judge_need(struct judge *j, const struct network *net, const struct need *n) {
        size_t n_rows;
        const struct scope_row *rows = scope_rows(j->kind, &n_rows);
        char buf[PATHS_MAX];
        bool some = false;

        if (!j->a->complete || is_opaque(j, n) || (j->kind == SCOPE_GITHUB && n->access == SCOPE_READ)) /* what is public can be read by any */
                return 0;
        for (size_t i = 0; i < n_rows && !some; i++)
                some = rows[i].access >= n->access && needed_at(rows[i].paths, n);
        for (uint32_t i = 0; i < j->a->n_grants && some; i++) {
                const struct scope_grant *g = &j->a->grants[i];
                const char *paths = paths_of(j, g, scope_row_of(j->kind, g->name), buf);
                if (g->access >= n->access && (!paths || needed_at(paths, n)))
                        return 0;
        }
        return some ? say_rule(&j->v->cannot, net, n, n->access == SCOPE_READ ? "it may not read there" : "it may not write there") : 0;
}

/* --- what to ask for --- */

static const struct { const char *name, *paths; } permissions[] = {
        {"Contents", "/repos/*/*/contents/** /repos/*/*/git/** /repos/*/*/commits/** /repos/*/*/branches/** /repos/*/*/compare/** /repos/*/*/releases/** /repos/*/*/tags "
                     "/repos/*/*/tarball/** /repos/*/*/zipball/** /repos/*/*/merges git:/*/*/**"},
        {"Issues", "/repos/*/*/issues/** /repos/*/*/labels/** /repos/*/*/milestones/** /repos/*/*/assignees/**"},
        {"Pull requests", "/repos/*/*/pulls/**"},
        {"Actions", "/repos/*/*/actions/**"},
        {"Checks", "/repos/*/*/check-runs/** /repos/*/*/check-suites/**"},
        {"Commit statuses", "/repos/*/*/statuses/** /repos/*/*/commits/*/status /repos/*/*/commits/*/statuses"},
        {"Deployments", "/repos/*/*/deployments/**"},
        {"Environments", "/repos/*/*/environments/**"},
        {"Pages", "/repos/*/*/pages/**"},
        {"Webhooks", "/repos/*/*/hooks/**"},
        {"Workflows", "/repos/*/*/contents/.github/workflows/**"},
        {"Code scanning alerts", "/repos/*/*/code-scanning/**"},
        {"Secret scanning alerts", "/repos/*/*/secret-scanning/**"},
        {"Dependabot alerts", "/repos/*/*/dependabot/alerts/**"},
        {"Administration", "/repos/*/*/keys/** /repos/*/*/collaborators/** /repos/*/*/branches/*/protection/**"},
};

/* "Contents: write, Issues: read". Where the rules let all of a repository through they name none, and what the run uses is the
 * user's to choose. */
static int want_permissions(struct judge *j, struct strlist *ret) {
        for (size_t i = 0; i < ELEMENTSOF(permissions); i++) {
                enum scope_access most = 0;
                for (size_t k = 0; k < j->n_needs; k++)
                        if (needed_at(permissions[i].paths, &j->needs[k]))
                                most = MAX(most, j->needs[k].access);
                int r = most ? strlist_addf(ret, "%s: %s", permissions[i].name, most > SCOPE_READ ? "write" : "read") : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

static int want_fine_grained(struct judge *j, bool *ret_said) {
        static const char repository[] = "/repos/*/*/** git:/*/*/**";
        _cleanup_strlist_ struct strlist names = {}, wants = {};
        char a[WORDS_MAX], b[WORDS_MAX];
        bool named;
        int r = find_repositories(j, repository, &names, &named);

        if (r < 0 || !named || (r = want_permissions(j, &wants)) < 0)
                return r;
        *ret_said = true;
        bool all = wants.n + 1 >= ELEMENTSOF(permissions);
        if (all || wants.n == 0)
                return strlist_addf(&j->v->wants, "a fine-grained token for %s alone, with those of its permissions that the run uses, %s",
                                    join(&names, a), j->most > SCOPE_READ ? "read or write as it needs them" : "read each");
        return strlist_addf(&j->v->wants, "a fine-grained token for %s alone, with %s", join(&names, a), join(&wants, b));
}

static const char *token_of(enum scope_kind k) {
        return k == SCOPE_NPM            ? "a granular token with"
               : k == SCOPE_HUGGING_FACE ? "a fine-grained token with"
                                         : "a token with";
}

static int want_scopes(struct judge *j, bool without_repositories) {
        _cleanup_strlist_ struct strlist names = {};
        char words[WORDS_MAX], repository[SCOPE_NAME];
        int r;

        for (size_t i = 0; i < j->n_needs; i++) {
                const struct scope_row *best = without_repositories && repository_of(&j->needs[i], repository) ? NULL : narrowest(j, &j->needs[i], SCOPE_READ);
                if (best && !strlist_has(&names, best->name) && (r = strlist_add(&names, best->name)) < 0)
                        return r;
        }
        return names.n == 0 ? 0 : strlist_addf(&j->v->wants, "%s %s", token_of(j->kind), join(&names, words));
}

static int want_hosts(struct judge *j) {
        _cleanup_strlist_ struct strlist hosts = {};
        char words[WORDS_MAX];
        int r;

        for (size_t i = 0; i < j->n_needs; i++) {
                _cleanup_free_ char *host = network_host_text(j->needs[i].rule);
                if (!host || (!strlist_has(&hosts, host) && (r = strlist_add(&hosts, host)) < 0))
                        return -ENOMEM;
        }
        return strlist_addf(&j->v->wants, "a role of IAM whose policy has the actions alone that the run needs%s%s", hosts.n > 0 ? " of " : "", join(&hosts, words));
}

static int find_wants(struct judge *j) {
        bool fine = false;
        int r;

        if (j->kind == SCOPE_AWS)
                return want_hosts(j);
        if (j->kind == SCOPE_OPENAI_ADMIN || j->kind == SCOPE_ANTHROPIC_ADMIN)
                return strlist_add(&j->v->wants, j->kind == SCOPE_OPENAI_ADMIN ? "a key of a project, restricted to the endpoints that the run uses"
                                                                               : "a key of a workspace, which cannot manage anything");
        if (j->kind == SCOPE_GITHUB && (r = want_fine_grained(j, &fine)) < 0)
                return r;
        if (j->kind == SCOPE_GITHUB_APP)
                return strlist_add(&j->v->wants, "a token made with the repositories and permissions of the rules (\"repositories\" and \"permissions\" of the request for it)");
        return want_scopes(j, fine);
}

int scope_judge(const struct scope_answer *a, const struct network *net, const char *secret, int64_t now, struct scope_verdict *ret, struct error *e) {
        _cleanup_scope_verdict_ struct scope_verdict v = {.expired = a->expires > 0 && a->expires <= now};
        _cleanup_free_ struct judge *j = (struct judge *)calloc(1, sizeof(*j));
        int r = 0;

        if (!j)
                return error_set(e, ENOMEM, "out of memory");
        *j = (struct judge){.a = a, .kind = (enum scope_kind)a->kind, .v = &v};
        find_needs(j, net, secret);
        for (uint32_t i = 0; i < a->n_grants && r >= 0; i++)
                r = judge_grant(j, &a->grants[i]);
        for (size_t i = 0; i < j->n_needs && r >= 0 && a->state == SCOPE_GOOD; i++)
                r = judge_need(j, net, &j->needs[i]);
        if (r >= 0 && v.exceeds.n + v.cannot.n > 0)
                r = find_wants(j);
        if (r < 0)
                return error_errno(e, r, "what the rules need cannot be kept");
        *ret = v;
        v = (struct scope_verdict){};
        return 0;
}
