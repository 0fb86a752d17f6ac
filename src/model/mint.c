/* See mint.h. */
#include <string.h>

#include "model/canonical.h"
#include "model/mint.h"
#include "model/network.h"

void mint_free(struct mint *m) {
        if (!m)
                return;
        char *texts[] = {m->url, m->host, m->revoke_url, m->client_id, m->scope, m->audience, m->client_source, m->app_id, m->installation_id};
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                free(texts[i]);
        strlist_clear(&m->repositories);
        strlist_clear(&m->permissions);
        free(m);
}

const char *mint_kind_name(enum mint_kind k) { return k == MINT_OAUTH2 ? "oauth2" : "github_app"; }

static int keep(char **field, const char *text, struct error *e) {
        char *copy = strdup(text);

        if (!copy)
                return error_set(e, ENOMEM, "out of memory");
        free(*field);
        *field = copy;
        return 0;
}

static int set_url(char **field, char **host, const char *leaf, const char *text, struct error *e) {
        static struct request q; /* large */
        char buf[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX];
        const char *why = "it is longer than an address may be";

        q = (struct request){};
        if (strlen(text) > MINT_URL_MAX || canonical_url(text, strlen(text), buf, sizeof(buf), &q, &why) < 0)
                return error_set(e, EINVAL, "%s is no address: %s", leaf, why);
        if (!q.tls || q.websocket) {
                error_set(e, EINVAL, "%s begins with https://: what a token is asked with goes over no other", leaf);
                return error_fix(e, "write the provider's https:// address");
        }
        _cleanup_free_ char *name = strndup(q.host.p, q.host.n);
        if (!name)
                return error_set(e, ENOMEM, "out of memory");
        int r = keep(field, text, e);
        return r < 0 || !host ? r : keep(host, name, e);
}

/* RFC 6749, appendix A: VSCHAR. No text of the policy needs more. */
static bool is_plain(const char *s) {
        size_t n = strlen(s);

        for (size_t i = 0; i < n; i++)
                if (s[i] < ' ' || s[i] > '~')
                        return false;
        return n > 0 && n <= MINT_URL_MAX;
}

static int set_choice(bool *ret, const char *leaf, const char *text, const char *no, const char *yes, struct error *e) {
        if (!streq(text, no) && !streq(text, yes))
                return error_set(e, EINVAL, "%s is %s or %s", leaf, no, yes);
        *ret = streq(text, yes);
        return 0;
}

static int set_number(char **field, const char *leaf, const char *text, struct error *e) {
        uint64_t v;

        if (parse_u64(text, &v) < 0 || v == 0)
                return error_set(e, EINVAL, "%s is a number", leaf);
        return keep(field, text, e);
}

int mint_set(struct mint *m, const char *leaf, const char *text, struct error *e) {
        const struct {
                const char *leaf;
                char **field;
        } texts[] = {{"client_id", &m->client_id}, {"scope", &m->scope}, {"audience", &m->audience}};

        if (streq(leaf, "token_url") || streq(leaf, "api"))
                return set_url(&m->url, &m->host, leaf, text, e);
        if (streq(leaf, "revoke_url"))
                return set_url(&m->revoke_url, NULL, leaf, text, e);
        if (streq(leaf, "grant"))
                return set_choice(&m->refresh, leaf, text, "client_credentials", "refresh_token", e);
        if (streq(leaf, "auth"))
                return set_choice(&m->in_body, leaf, text, "basic", "body", e);
        if (streq(leaf, "app_id") || streq(leaf, "installation_id"))
                return set_number(streq(leaf, "app_id") ? &m->app_id : &m->installation_id, leaf, text, e);
        if (streq(leaf, "client_secret")) {
                struct secret s = {};
                int r = secret_parse_source(text, &s, e);
                secret_clear(&s);
                return r < 0 ? r : keep(&m->client_source, text, e);
        }
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                if (streq(leaf, texts[i].leaf))
                        return is_plain(text) ? keep(texts[i].field, text, e) : error_set(e, EINVAL, "%s is printable ASCII", leaf);
        return error_set(e, EINVAL, "%s is no key of a minted token", leaf);
}

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

int mint_add_repository(struct mint *m, const char *name, struct error *e) {
        size_t n = strspn(name, WORD ".-");

        if (n == 0 || n > 100 || name[n]) {
                error_set(e, EINVAL, "repositories are names without their owner");
                return error_fix(e, "write [website], not [acme/website]: the installation says whose it is");
        }
        if (m->repositories.n == MINT_REPOSITORIES_MAX)
                return error_set(e, E2BIG, "more than %u repositories", MINT_REPOSITORIES_MAX);
        if (strlist_has(&m->repositories, name))
                return 0;
        return strlist_add(&m->repositories, name) < 0 ? error_set(e, ENOMEM, "out of memory") : 0;
}

int mint_add_permission(struct mint *m, const char *name, const char *level, struct error *e) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz_");

        if (n == 0 || n > 64 || name[n] || (!streq(level, "read") && !streq(level, "write") && !streq(level, "admin")))
                return error_set(e, EINVAL, "permissions are names with read, write or admin, like {contents: read}");
        if (m->permissions.n == MINT_PERMISSIONS_MAX)
                return error_set(e, E2BIG, "more than %u permissions", MINT_PERMISSIONS_MAX);
        return strlist_addf(&m->permissions, "%s=%s", name, level) < 0 ? error_set(e, ENOMEM, "out of memory") : 0;
}

int mint_check(const struct mint *m, struct error *e) {
        const char *missing = m->kind == MINT_OAUTH2 ? (!m->url ? "token_url" : !m->client_id ? "client_id" : NULL)
                              : !m->app_id ? "app_id" : !m->installation_id ? "installation_id" : m->repositories.n == 0 ? "repositories" : NULL;

        if (missing) {
                error_set(e, EINVAL, "%s without the key %s", mint_kind_name(m->kind), missing);
                return streq(missing, "repositories") ? error_fix(e, "name the repositories that the token is for: without them it would be for all of the installation's")
                                                      : -EINVAL;
        }
        if (m->client_source && !m->refresh)
                return error_set(e, EINVAL, "client_secret is for grant: refresh_token; else the secret's from is the client's secret");
        return 0;
}

/* --- what an App's token needs --- */

/* Of GitHub's API, what stands behind /repos/OWNER/NAME/, and the permission that changing it takes. */
static const struct {
        const char *part, *permission;
} parts[] = {
        {"issues", "issues"}, {"labels", "issues"}, {"milestones", "issues"}, {"pulls", "pull_requests"}, {"actions", "actions"},
        {"check-runs", "checks"}, {"check-suites", "checks"}, {"statuses", "statuses"}, {"deployments", "deployments"}, {"pages", "pages"},
};

static bool writes(const struct network_rule *r) {
        for (size_t i = 0; i < r->methods.n; i++)
                if (!streq(r->methods.items[i], "GET") && !streq(r->methods.items[i], "HEAD") && !streq(r->methods.items[i], "OPTIONS"))
                        return true;
        return r->methods.n == 0;
}

/* The permission of a path that starts so; contents where it says nothing more exact. */
static const char *permission_of(const char *pattern) {
        const char *p = str_after(pattern, "/repos/");

        for (int i = 0; p && i < 2; i++) {
                p = strncmp(p, "**", 2) == 0 ? NULL : strchr(p, '/');
                p = p ? p + 1 : NULL;
        }
        for (size_t i = 0; p && i < ELEMENTSOF(parts); i++) {
                size_t n = strlen(parts[i].part);
                if (strncmp(p, parts[i].part, n) == 0 && (p[n] == 0 || p[n] == '/'))
                        return parts[i].permission;
        }
        return "contents";
}

static bool ends_with(const char *s, const char *end) {
        size_t n = strlen(s), k = strlen(end);
        return n >= k && streq(s + n - k, end);
}

/* The levels that are needed so far: of contents and of `parts`. */
struct needs {
        struct need {
                const char *name;
                bool write;
        } items[ELEMENTSOF(parts) + 1];
        size_t n;
};

static void need(struct needs *w, const char *name, bool write) {
        size_t i = 0;

        while (i < w->n && !streq(w->items[i].name, name))
                i++;
        if (i == w->n)
                w->items[w->n++] = (struct need){name, false};
        w->items[i].write |= write;
}

static void need_of_rule(struct needs *w, const struct network_rule *r) {
        bool changes = writes(r);

        if (r->paths.n == 0)
                need(w, "contents", changes);
        for (size_t i = 0; i < r->paths.n; i++) {
                const char *pattern = r->paths.items[i];
                /* Git fetches by a POST that changes nothing. */
                need(w, permission_of(pattern), changes && !ends_with(pattern, "/git-upload-pack"));
        }
}

int mint_derive(struct mint *m, const struct network *n, const char *secret, struct error *e) {
        struct needs w = {};
        int r = 0;

        if (m->kind != MINT_GITHUB_APP || m->permissions.n > 0)
                return 0;
        for (size_t i = 0; i < n->n_rules; i++)
                if (!n->rules[i].deny && n->rules[i].secret && streq(n->rules[i].secret, secret))
                        need_of_rule(&w, &n->rules[i]);
        if (w.n == 0)
                need(&w, "contents", false);
        for (size_t i = 0; r == 0 && i < w.n; i++)
                r = mint_add_permission(m, w.items[i].name, w.items[i].write ? "write" : "read", e);
        m->derived = true;
        return r;
}

int mint_derive_all(const struct network *n, struct error *e) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < n->n_secrets; i++)
                if (n->secrets[i].mint)
                        r = mint_derive(n->secrets[i].mint, n, n->secrets[i].name, e);
        return r;
}

/* --- for people and programs --- */

static void put_list(struct strbuf *b, const char *before, const struct strlist *l) {
        for (size_t i = 0; i < l->n; i++)
                strbuf_printf(b, "%s%s", i ? " " : before, l->items[i]);
}

void mint_text(struct strbuf *b, const struct mint *m) {
        strbuf_printf(b, "minted at %s (%s", m->host ? m->host : "api.github.com", mint_kind_name(m->kind));
        if (m->scope)
                strbuf_printf(b, ", scope %s", m->scope);
        put_list(b, ", for ", &m->repositories);
        put_list(b, ", ", &m->permissions);
        strbuf_puts(b, ") with what is ");
}

void mint_json(struct json *j, const struct mint *m) {
        const bool app = m && m->kind == MINT_GITHUB_APP, oauth2 = m && !app;

        if (oauth2) {
                json_begin(j, "oauth2", '{');
                json_str(j, "token_url", m->url);
                json_str(j, "client_id", m->client_id);
                json_str(j, "grant", m->refresh ? "refresh_token" : "client_credentials");
                json_str(j, "client_secret", m->client_source);
                json_str(j, "auth", m->in_body ? "body" : "basic");
                json_str(j, "scope", m->scope);
                json_str(j, "audience", m->audience);
                json_str(j, "revoke_url", m->revoke_url);
                json_end(j, '}');
        } else
                json_str(j, "oauth2", NULL);
        if (app) {
                json_begin(j, "github_app", '{');
                json_str(j, "app_id", m->app_id);
                json_str(j, "installation_id", m->installation_id);
                json_list(j, "repositories", &m->repositories);
                json_list(j, "permissions", &m->permissions);
                json_str(j, "api", m->url ? m->url : MINT_GITHUB_API);
                json_end(j, '}');
        } else
                json_str(j, "github_app", NULL);
}
