/* How each provider is asked what a credential may do, and what its answer means; see scope.h. Runs in the process that has the
 * credential and nothing else; the answers are hostile: jansson bounds their depth, the caller their length, and everything
 * that is kept has its room in struct scope_answer. */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "model/scope.h"

static void json_drop(json_t **j) { json_decref(*j); }
#define _cleanup_json_ _cleanup_(json_drop)

/* --- the requests --- */

#define BEARER {"Authorization", "Bearer {}"}
#define VERSION_FIELD {"anthropic-version", "2023-06-01"}
#define FORM {"Content-Type", "application/x-www-form-urlencoded"}
#define GITHUB {BEARER, {"Accept", "application/vnd.github+json"}, {"X-GitHub-Api-Version", "2022-11-28"}}, 3

static const struct scope_question questions[SCOPE_KIND_N][SCOPE_QUESTIONS_MAX] = {
        [SCOPE_GITHUB] = {{"GET", "/user", GITHUB, NULL, NULL}},
        [SCOPE_GITHUB_APP] = {{"GET", "/installation/repositories?per_page=100", GITHUB, NULL, NULL}},
        [SCOPE_GITLAB] = {{"GET", "/api/v4/personal_access_tokens/self", {{"Private-Token", "{}"}}, 1, NULL, NULL}},
        [SCOPE_NPM] = {{"GET", "/-/whoami", {BEARER}, 1, NULL, NULL}, {"GET", "/-/npm/v1/tokens?perPage=100", {BEARER}, 1, NULL, NULL}},
        /* Nothing has to be allowed for it, and nothing forbids it (STS, "GetCallerIdentity"). */
        [SCOPE_AWS] = {{"POST", "/", {FORM, {"Accept", "application/json"}}, 2, "Action=GetCallerIdentity&Version=2011-06-15", "sts"}},
        [SCOPE_OPENAI] = {{"GET", "/v1/models", {BEARER}, 1, NULL, NULL}},
        [SCOPE_OPENAI_ADMIN] = {{"GET", "/v1/organization/projects?limit=1", {BEARER}, 1, NULL, NULL}},
        [SCOPE_ANTHROPIC] = {{"GET", "/v1/models?limit=1", {{"x-api-key", "{}"}, VERSION_FIELD}, 2, NULL, NULL}},
        [SCOPE_ANTHROPIC_ADMIN] = {{"GET", "/v1/organizations/me", {{"x-api-key", "{}"}, VERSION_FIELD}, 2, NULL, NULL}},
        [SCOPE_ANTHROPIC_OAUTH] = {{"GET", "/v1/models?limit=1", {BEARER, VERSION_FIELD, {"anthropic-beta", "oauth-2025-04-20"}}, 3, NULL, NULL}},
        [SCOPE_GOOGLE_KEY] = {{"GET", "/v1beta/models?pageSize=1", {{"x-goog-api-key", "{}"}}, 1, NULL, NULL}},
        [SCOPE_SLACK] = {{"POST", "/api/auth.test", {BEARER, FORM}, 2, "", NULL}},
        [SCOPE_HUGGING_FACE] = {{"GET", "/api/whoami-v2", {BEARER}, 1, NULL, NULL}},
        [SCOPE_DIGITALOCEAN] = {{"GET", "/v2/account", {BEARER}, 1, NULL, NULL}},
};

bool scope_ask(enum scope_kind k, const char *host, size_t i, struct scope_question *ret) {
        if (k >= SCOPE_KIND_N || i >= SCOPE_QUESTIONS_MAX || !questions[k][i].method)
                return false;
        *ret = questions[k][i];
        /* An Enterprise Server has its API beneath its own name; those of GitHub's own begin with "api." (docs.github.com,
         * "Getting started with the REST API"). */
        if (!str_after(host, "api.") && k == SCOPE_GITHUB)
                ret->target = "/api/v3/user";
        if (!str_after(host, "api.") && k == SCOPE_GITHUB_APP)
                ret->target = "/api/v3/installation/repositories?per_page=100";
        return true;
}

/* --- what is kept --- */

static void _printf_(3, 0) set(char *dst, size_t size, const char *fmt, va_list args) {
        (void)vsnprintf(dst, size, fmt, args);
}

void scope_note(struct scope_answer *a, const char *fmt, ...) {
        va_list args;

        if (a->n_notes == SCOPE_NOTES_MAX)
                return;
        va_start(args, fmt);
        set(a->notes[a->n_notes++], SCOPE_TEXT, fmt, args);
        va_end(args);
}

void scope_who(struct scope_answer *a, const char *fmt, ...) {
        va_list args;

        va_start(args, fmt);
        set(a->who, sizeof(a->who), fmt, args);
        va_end(args);
}

static void _printf_(3, 4) judge(struct scope_answer *a, enum scope_state state, const char *fmt, ...) {
        va_list args;

        a->state = state;
        va_start(args, fmt);
        set(a->why, sizeof(a->why), fmt, args);
        va_end(args);
}

static bool has_word(const char *name, const char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strcasestr(name, words[i]))
                        return true;
        return false;
}

enum scope_access scope_guess(const char *name) {
        static const char *const admin[] = {"admin", "owner", "root", "sudo", "full_control"};
        static const char *const writes[] = {"write", "create", "delete", "manage", "edit", "push", "update", "publish", "post", "send", "modify", "all", "*"};
        static const char *const reads[] = {"read", "view", "get", "list", "history", "pull", "openid", "profile", "email"};

        if (has_word(name, admin, ELEMENTSOF(admin)))
                return SCOPE_ADMIN;
        return has_word(name, writes, ELEMENTSOF(writes)) || !has_word(name, reads, ELEMENTSOF(reads)) ? SCOPE_WRITE : SCOPE_READ;
}

void scope_add(struct scope_answer *a, const char *name, size_t n, unsigned access) {
        if (n == 0)
                return;
        if (a->n_grants == SCOPE_GRANTS_MAX) {
                a->more++;
                return;
        }
        struct scope_grant *g = &a->grants[a->n_grants++];
        n = MIN(n, sizeof(g->name) - 1);
        memcpy(g->name, name, n);
        g->name[n] = 0;
        const struct scope_row *row = scope_row_of((enum scope_kind)a->kind, g->name);
        g->guessed = !row && !access;
        g->access = access ? access : row ? row->access : scope_guess(g->name);
}

/* "repo, read:org" */
static void add_list(struct scope_answer *a, const char *p, size_t n, const char *between) {
        for (size_t at = 0; at < n;) {
                size_t m = 0;
                while (at + m < n && !strchr(between, p[at + m]))
                        m++;
                scope_add(a, p + at, m, 0);
                at += m + 1;
        }
}

static void add_strings(struct scope_answer *a, const json_t *list) {
        if (json_is_string(list))
                add_list(a, json_string_value(list), json_string_length(list), " ,");
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *j = json_array_get(list, i);
                if (json_is_string(j))
                        scope_add(a, json_string_value(j), json_string_length(j), 0);
        }
}

static int64_t days_of(int64_t y, int64_t m, int64_t d) { /* since 1970, of the Gregorian calendar */
        y -= m <= 2;
        int64_t era = y / 400, yoe = y - era * 400, doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
        return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* Two digits, or four. */
static bool take(const char **p, unsigned n, int64_t max, int64_t *ret) {
        int64_t v = 0;

        for (unsigned i = 0; i < n; i++, (*p)++) {
                if (**p < '0' || **p > '9')
                        return false;
                v = v * 10 + (**p - '0');
        }
        *ret = v;
        return v <= max;
}

int64_t scope_time(const char *text) {
        int64_t y, m, d, h = 0, min = 0, s = 0, off_h = 0, off_m = 0;
        const char *p = text;

        if (!take(&p, 4, 9999, &y) || *p++ != '-' || !take(&p, 2, 12, &m) || *p++ != '-' || !take(&p, 2, 31, &d) || y < 1970 || m < 1 || d < 1)
                return 0;
        if (*p == ' ' || *p == 'T') {
                p++;
                if (!take(&p, 2, 23, &h) || *p++ != ':' || !take(&p, 2, 59, &min) || *p++ != ':' || !take(&p, 2, 60, &s))
                        return 0;
                if (*p == '.')
                        for (p++; *p >= '0' && *p <= '9'; p++)
                                ;
                while (*p == ' ')
                        p++;
                int64_t sign = *p == '+' ? 1 : *p == '-' ? -1 : 0;
                if (sign != 0) {
                        p++;
                        if (!take(&p, 2, 23, &off_h) || (*p == ':' && !p++) || !take(&p, 2, 59, &off_m))
                                return 0;
                        off_h *= sign;
                        off_m *= sign;
                } else if (*p && !streq(p, "Z") && !streq(p, "UTC") && !streq(p, "GMT"))
                        return 0;
        } else if (*p)
                return 0;
        int64_t t = days_of(y, m, d) * 86400 + (h - off_h) * 3600 + (min - off_m) * 60 + s;
        return t > 0 ? t : 0;
}

/* --- reading answers --- */

static bool is_field(const struct scope_reply_field *f, const char *name) {
        return f->name.n == strlen(name) && strncasecmp(f->name.p, name, f->name.n) == 0;
}

/* Into a text of its own; false: there is none. */
static bool field_text(const struct scope_reply *r, const char *name, char *dst, size_t size) {
        for (size_t i = 0; i < r->n_fields; i++)
                if (is_field(&r->fields[i], name)) {
                        size_t n = MIN(r->fields[i].value.n, size - 1);
                        memcpy(dst, r->fields[i].value.p, n);
                        dst[n] = 0;
                        return true;
                }
        return false;
}

/* Of all fields of that name; false: there is none. */
static bool add_field(struct scope_answer *a, const struct scope_reply *r, const char *name) {
        bool there = false;

        for (size_t i = 0; i < r->n_fields; i++)
                if (is_field(&r->fields[i], name)) {
                        there = true;
                        add_list(a, r->fields[i].value.p, r->fields[i].value.n, ", ");
                }
        return there;
}

static const char *text_of(const json_t *j, const char *key) {
        return json_string_value(json_object_get(j, key));
}

/* What an answer says went wrong: GitHub's message, OpenAI's and Anthropic's error.message, GitLab's error_description, ... */
static const char *message_of(const json_t *j) {
        static const char *const keys[] = {"message", "error_description", "error", "Message"};
        const json_t *e = json_object_get(j, "error");

        if (json_is_object(e) && text_of(e, "message"))
                return text_of(e, "message");
        if (json_is_object(json_object_get(j, "Error")) && text_of(json_object_get(j, "Error"), "Code"))
                return text_of(json_object_get(j, "Error"), "Code");
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (text_of(j, keys[i]))
                        return text_of(j, keys[i]);
        return NULL;
}

/* What stands between two words of a text, as XML has it. */
static bool between(const struct scope_reply *r, const char *from, const char *to, char *dst, size_t size) {
        const char *begin = r->body ? memmem(r->body, r->n_body, from, strlen(from)) : NULL;

        if (!begin)
                return false;
        begin += strlen(from);
        const char *end = memmem(begin, (size_t)(r->body + r->n_body - begin), to, strlen(to));
        if (!end || (size_t)(end - begin) >= size)
                return false;
        memcpy(dst, begin, (size_t)(end - begin));
        dst[end - begin] = 0;
        return true;
}

static void read_github(const struct scope_reply *r, const json_t *j, struct scope_answer *a) {
        char when[64];

        if (text_of(j, "login"))
                scope_who(a, "the user %s", text_of(j, "login"));
        a->complete = add_field(a, r, "x-oauth-scopes");
        if (field_text(r, "github-authentication-token-expiration", when, sizeof(when)))
                a->expires = scope_time(when);
        else if (a->complete)
                a->expires = -1; /* classic tokens that expire have the field */
        if (!a->complete)
                scope_note(a, "GitHub tells nobody the repositories and permissions of such a token: they stand where it was made, in the settings");
}

static void read_github_app(const json_t *j, struct scope_answer *a) {
        const json_t *list = json_object_get(j, "repositories");
        const char *selection = text_of(j, "repository_selection");

        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *one = json_array_get(list, i), *p = json_object_get(one, "permissions");
                const char *name = text_of(one, "full_name");
                if (name)
                        scope_add(a, name, strlen(name), json_is_true(json_object_get(p, "admin"))  ? SCOPE_ADMIN
                                                         : json_is_true(json_object_get(p, "push")) ? SCOPE_WRITE
                                                                                                    : SCOPE_READ);
        }
        json_int_t all = json_integer_value(json_object_get(j, "total_count"));
        if (all > (json_int_t)json_array_size(list) && all < UINT32_MAX)
                a->more += (uint32_t)(all - (json_int_t)json_array_size(list));
        scope_who(a, "an installation of a GitHub App%s", selection && streq(selection, "all") ? ", on all repositories of the account" : "");
        if (selection && streq(selection, "all"))
                scope_note(a, "it is for all repositories of the account, and for those that will be made");
        scope_note(a, "GitHub tells its repositories, and not its permissions; such a token ends an hour after it was made");
}

static void read_gitlab(const json_t *j, struct scope_answer *a) {
        const json_t *scopes = json_object_get(j, "scopes"), *expires = json_object_get(j, "expires_at");
        const char *name = text_of(j, "name");

        scope_who(a, "the user with the id %lld%s%.100s%s", (long long)json_integer_value(json_object_get(j, "user_id")), name ? ", token \"" : "", name ? name : "",
                  name ? "\"" : "");
        add_strings(a, scopes);
        a->complete = json_is_array(scopes);
        a->expires = json_is_string(expires) ? scope_time(json_string_value(expires)) : json_is_null(expires) ? -1 : 0;
        if (json_is_true(json_object_get(j, "revoked")) || json_is_false(json_object_get(j, "active")))
                judge(a, SCOPE_REFUSED, "GitLab says that it is not active");
}

/* "npm_ab...wxyz", "npm_ab": which of the account's tokens is this one. */
static bool is_token(const char *shown, const char *value, size_t n) {
        size_t before = strcspn(shown, ".*"), dots = before;

        if (strstr(shown, "\xe2\x80\xa6"))
                dots = before = MIN(before, (size_t)(strstr(shown, "\xe2\x80\xa6") - shown));
        while (shown[dots] == '.' || shown[dots] == '*' || (unsigned char)shown[dots] >= 0x80)
                dots++;
        size_t after = strlen(shown + dots);
        return before + after >= 6 && before + after <= n && memcmp(shown, value, before) == 0 && memcmp(shown + dots, value + n - after, after) == 0;
}

static void read_npm_granular(const json_t *permissions, const json_t *scopes, struct scope_answer *a) {
        for (size_t i = 0; i < json_array_size(permissions); i++) {
                const json_t *p = json_array_get(permissions, i);
                const char *what = text_of(p, "name"), *action = text_of(p, "action");
                bool said = false;
                char text[2 * SCOPE_NAME];
                if (!what || !action || streq(action, "none"))
                        continue;
                for (size_t k = 0; k < json_array_size(scopes); k++) {
                        const json_t *s = json_array_get(scopes, k);
                        if (!text_of(s, "name") || (text_of(s, "type") && strncmp(text_of(s, "type"), what, 3) != 0))
                                continue;
                        snprintf(text, sizeof(text), "%.20ss:%.20s %.80s", what, action, text_of(s, "name"));
                        scope_add(a, text, strlen(text), 0);
                        said = true;
                }
                if (!said) {
                        snprintf(text, sizeof(text), "%.20ss:%.20s", what, action);
                        scope_add(a, text, strlen(text), 0);
                }
        }
}

static void read_npm_token(const json_t *t, struct scope_answer *a) {
        const json_t *permissions = json_object_get(t, "permissions"), *from = json_object_get(t, "cidr_whitelist");
        const char *expiry = text_of(t, "expiry") ? text_of(t, "expiry") : text_of(t, "expires");

        if (json_array_size(permissions) > 0)
                read_npm_granular(permissions, json_object_get(t, "scopes"), a);
        else {
                const char *name = json_is_true(json_object_get(t, "readonly")) ? "read-only" : json_is_true(json_object_get(t, "automation")) ? "automation" : "publish";
                scope_add(a, name, strlen(name), 0);
        }
        if (json_array_size(from) > 0 && json_is_string(json_array_get(from, 0)))
                scope_note(a, "it is taken from %.100s%s only", json_string_value(json_array_get(from, 0)), json_array_size(from) > 1 ? " and other ranges" : "");
        if (json_is_true(json_object_get(t, "bypass_2fa")))
                scope_note(a, "it needs no second factor");
        a->expires = expiry ? scope_time(expiry) : 0;
        a->complete = 1;
}

static bool read_npm(size_t i, const json_t *j, const char *value, size_t n, struct scope_answer *a) {
        const json_t *list = json_object_get(j, "objects"), *found = NULL;
        size_t alike = 0;

        if (i == 0) {
                if (text_of(j, "username"))
                        scope_who(a, "the user %s", text_of(j, "username"));
                return true;
        }
        for (size_t k = 0; k < json_array_size(list); k++) {
                const json_t *t = json_array_get(list, k);
                if (!text_of(t, "token") || !is_token(text_of(t, "token"), value, n))
                        continue;
                /* Of several that begin alike the widest counts. */
                if (!found || json_is_true(json_object_get(found, "readonly")))
                        found = t;
                alike++;
        }
        if (found)
                read_npm_token(found, a);
        if (alike > 1)
                scope_note(a, "%zu tokens of the account begin alike: what the widest of them may do is shown", alike);
        if (!found)
                scope_note(a, "the registry does not list this token among the account's: what it may do is not known");
        return false;
}

static void read_aws(const struct scope_reply *r, const json_t *j, struct scope_answer *a) {
        const json_t *result = json_object_get(json_object_get(j, "GetCallerIdentityResponse"), "GetCallerIdentityResult");
        char arn[SCOPE_NAME] = "", account[32] = "";

        if (text_of(result, "Arn"))
                snprintf(arn, sizeof(arn), "%s", text_of(result, "Arn"));
        else if (!between(r, "<Arn>", "</Arn>", arn, sizeof(arn)))
                return judge(a, SCOPE_UNCLEAR, "the answer has no Arn");
        if (text_of(result, "Account"))
                snprintf(account, sizeof(account), "%s", text_of(result, "Account"));
        else
                (void)!between(r, "<Account>", "</Account>", account, sizeof(account));
        scope_who(a, "%s of account %s", arn, account);
        size_t n = strlen(arn);
        if (n > 5 && streq(arn + n - 5, ":root"))
                scope_add(a, "root", 4, SCOPE_ADMIN);
        else
                scope_note(a, "which actions its policies allow is not told to it: IAM's access advisor and policy simulator say so");
        if (strstr(arn, ":assumed-role/") || strstr(arn, ":federated-user/"))
                scope_note(a, "it is temporary; when it ends is not told");
        else
                a->expires = -1;
}

static void read_slack(const struct scope_reply *r, const json_t *j, struct scope_answer *a) {
        if (!json_is_true(json_object_get(j, "ok")))
                return judge(a, SCOPE_REFUSED, "Slack says: %s", text_of(j, "error") ? text_of(j, "error") : "not ok");
        scope_who(a, "the user %s in %s", text_of(j, "user") ? text_of(j, "user") : "?", text_of(j, "team") ? text_of(j, "team") : "?");
        a->complete = add_field(a, r, "x-oauth-scopes");
}

static void add_permissions(struct scope_answer *a, const char *who, const json_t *permissions) {
        for (size_t i = 0; i < json_array_size(permissions); i++) {
                const char *p = json_string_value(json_array_get(permissions, i));
                char text[2 * SCOPE_NAME];
                if (!p)
                        continue;
                snprintf(text, sizeof(text), "%.70s: %.50s", who, p);
                scope_add(a, text, strlen(text), 0);
        }
}

static void read_hugging_face(const json_t *j, struct scope_answer *a) {
        const json_t *token = json_object_get(json_object_get(j, "auth"), "accessToken"), *fine = json_object_get(token, "fineGrained"), *list = json_object_get(fine, "scoped");
        const char *role = text_of(token, "role");

        if (text_of(j, "name"))
                scope_who(a, "the %s %s", text_of(j, "type") && streq(text_of(j, "type"), "org") ? "organization" : "user", text_of(j, "name"));
        if (!role)
                return scope_note(a, "Hugging Face does not tell this credential's role");
        a->complete = 1;
        if (!streq(role, "fineGrained"))
                return scope_add(a, role, strlen(role), 0);
        add_permissions(a, "everywhere", json_object_get(fine, "global"));
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *one = json_array_get(list, i);
                const char *name = text_of(json_object_get(one, "entity"), "name");
                add_permissions(a, name ? name : "?", json_object_get(one, "permissions"));
        }
        if (json_is_true(json_object_get(fine, "canReadGatedRepos")))
                scope_note(a, "it reads the gated repositories that the account has been let into");
        a->complete = json_is_object(fine);
}

static void read_models(enum scope_kind k, const struct scope_reply *r, struct scope_answer *a) {
        char organization[128];

        if (field_text(r, k == SCOPE_OPENAI ? "openai-organization" : "anthropic-organization-id", organization, sizeof(organization)))
                scope_who(a, "the organization %s", organization);
        scope_note(a, "%s tells a key neither its limits nor its permissions: they stand in the settings of its %s", scope_provider(k),
                   k == SCOPE_OPENAI ? "project" : "workspace");
}

static void read_admin(enum scope_kind k, const json_t *j, struct scope_answer *a) {
        if (k == SCOPE_ANTHROPIC_ADMIN && text_of(j, "name"))
                scope_who(a, "the organization %s", text_of(j, "name"));
        scope_add(a, "admin", 5, 0);
        a->complete = 1;
}

static void read_account(const json_t *j, struct scope_answer *a) {
        const json_t *account = json_object_get(j, "account");

        if (text_of(account, "email"))
                scope_who(a, "the account %s", text_of(account, "email"));
        scope_note(a, "DigitalOcean does not tell a token its scopes: they stand where it was made, in the control panel");
}

/* A status that is no success: what it says of the credential. */
static void read_failure(enum scope_kind k, size_t i, const struct scope_reply *r, const json_t *j, struct scope_answer *a) {
        char code[SCOPE_NAME] = "";
        const char *said = message_of(j);

        if (!said && between(r, "<Code>", "</Code>", code, sizeof(code)))
                said = code;
        if (!said)
                said = "";
        const char *colon = *said ? ": " : "";
        if (i > 0) {
                scope_note(a, "%s does not tell what it may do (%u%s%.120s)", scope_provider(k), r->status, colon, said);
        } else if (r->status == 401 || (r->status == 403 && k == SCOPE_AWS) || (r->status == 400 && k == SCOPE_GOOGLE_KEY)) {
                judge(a, SCOPE_REFUSED, "%u%s%s", r->status, colon, said);
        } else if (r->status == 403) {
                a->state = SCOPE_GOOD;
                scope_note(a, "%s takes it, and does not tell it what it may do (403%s%.120s)", scope_provider(k), colon, said);
        } else if (r->status >= 300 && r->status < 400) {
                judge(a, SCOPE_UNCLEAR, "%u, a redirect, which is not followed", r->status);
        } else
                judge(a, SCOPE_UNCLEAR, "%u%s%s", r->status, colon, said);
}

static bool read_good(enum scope_kind k, size_t i, const struct scope_reply *r, const json_t *j, const char *value, size_t n, struct scope_answer *a) {
        switch (k) {
        case SCOPE_GITHUB: read_github(r, j, a); break;
        case SCOPE_GITHUB_APP: read_github_app(j, a); break;
        case SCOPE_GITLAB: read_gitlab(j, a); break;
        case SCOPE_NPM: return read_npm(i, j, value, n, a);
        case SCOPE_AWS: read_aws(r, j, a); break;
        case SCOPE_SLACK: read_slack(r, j, a); break;
        case SCOPE_HUGGING_FACE: read_hugging_face(j, a); break;
        case SCOPE_OPENAI:
        case SCOPE_ANTHROPIC:
        case SCOPE_ANTHROPIC_OAUTH: read_models(k, r, a); break;
        case SCOPE_OPENAI_ADMIN:
        case SCOPE_ANTHROPIC_ADMIN: read_admin(k, j, a); break;
        case SCOPE_DIGITALOCEAN: read_account(j, a); break;
        case SCOPE_GOOGLE_KEY:
                scope_note(a, "Google does not tell a key which APIs and addresses it is restricted to: that stands in the console, under credentials");
                break;
        default: judge(a, SCOPE_UNCLEAR, "nothing is known of such an answer");
        }
        return false;
}

bool scope_read(enum scope_kind k, size_t i, const struct scope_reply *r, const char *value, size_t n_value, struct scope_answer *a) {
        json_error_t je;
        _cleanup_json_ json_t *j = json_loadb(r->body ? r->body : "", r->n_body, JSON_REJECT_DUPLICATES, &je);

        a->kind = k;
        if (i == 0) {
                a->status = r->status;
                a->state = SCOPE_GOOD;
        }
        if (r->status < 200 || r->status > 299) {
                read_failure(k, i, r, j, a);
                return false;
        }
        /* STS answers in XML where it does not know better. */
        if (!json_is_object(j) && k != SCOPE_AWS) {
                if (i == 0)
                        judge(a, SCOPE_UNCLEAR, "%u, with an answer that is no JSON object as it is documented", r->status);
                else
                        scope_note(a, "%s's list cannot be read: what it may do is not known", scope_provider(k));
                return false;
        }
        return read_good(k, i, r, j, value, n_value, a);
}

static bool ends(const char *s, size_t size) { return memchr(s, 0, size) != NULL; }

bool scope_answer_good(const struct scope_answer *a) {
        bool good = a->kind < SCOPE_KIND_N && a->state >= SCOPE_GOOD && a->state <= SCOPE_UNCLEAR && a->n_grants <= SCOPE_GRANTS_MAX &&
                    a->n_notes <= SCOPE_NOTES_MAX && a->expires >= -1 && ends(a->who, sizeof(a->who)) && ends(a->why, sizeof(a->why));

        for (uint32_t i = 0; good && i < a->n_grants; i++)
                good = ends(a->grants[i].name, sizeof(a->grants[i].name)) && a->grants[i].access >= SCOPE_READ && a->grants[i].access <= SCOPE_ADMIN;
        for (uint32_t i = 0; good && i < a->n_notes; i++)
                good = ends(a->notes[i], sizeof(a->notes[i]));
        return good;
}
