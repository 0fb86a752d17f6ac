/* The providers that are known: by what a credential of theirs is known, where it is asked about, and which scopes they have.
 * Names and meanings are those of their public documentation; widths are this file's own order of how much a scope opens. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "model/network-preset.h"
#include "model/placeholder.h"
#include "model/scope.h"

#define REPOSITORY "/repos/*/*/** /repositories/** /user/repos /orgs/*/repos git:/*/*/**"
#define PACKAGES "/user/packages/** /orgs/*/packages/** /users/*/packages/** package:/**"

/* docs.github.com, "Scopes for OAuth apps". */
static const struct scope_row github[] = {
        {"repo", SCOPE_ADMIN, "every repository that the account reaches, private ones too: code, issues, settings, hooks", REPOSITORY, 9},
        {"public_repo", SCOPE_WRITE, "every public repository that the account may write to", REPOSITORY, 9},
        {"repo:status", SCOPE_WRITE, "commit statuses", "/repos/*/*/statuses/** /repos/*/*/commits/*/status /repos/*/*/commits/*/statuses", 1},
        {"repo_deployment", SCOPE_WRITE, "deployments", "/repos/*/*/deployments/**", 1},
        {"repo:invite", SCOPE_WRITE, "invitations to repositories", "/repos/*/*/invitations/** /user/repository_invitations/**", 1},
        {"security_events", SCOPE_WRITE, "code and secret scanning alerts", "/repos/*/*/code-scanning/** /repos/*/*/secret-scanning/**", 2},
        {"delete_repo", SCOPE_ADMIN, "deletes repositories", "/repos/*/*", SCOPE_BESIDE},
        {"workflow", SCOPE_WRITE, "changes workflow files, which run with the repository's secrets",
         "/repos/*/*/contents/.github/workflows/** git:/*/*/git-receive-pack", SCOPE_BESIDE},
        {"admin:repo_hook", SCOPE_ADMIN, "hooks of repositories, which send events elsewhere", "/repos/*/*/hooks/**", 3},
        {"write:repo_hook", SCOPE_WRITE, "hooks of repositories, which send events elsewhere", "/repos/*/*/hooks/**", 2},
        {"read:repo_hook", SCOPE_READ, "hooks of repositories", "/repos/*/*/hooks/**", 1},
        {"admin:org", SCOPE_ADMIN, "organizations: members, teams, their settings", "/orgs/** /teams/** /user/memberships/** /user/orgs /user/teams", 9},
        {"write:org", SCOPE_WRITE, "memberships and projects of organizations", "/orgs/** /teams/** /user/memberships/** /user/orgs /user/teams", 4},
        {"read:org", SCOPE_READ, "memberships, teams and projects of organizations", "/orgs/** /teams/** /user/memberships/** /user/orgs /user/teams", 2},
        {"admin:org_hook", SCOPE_ADMIN, "hooks of organizations", "/orgs/*/hooks/**", 4},
        {"admin:public_key", SCOPE_ADMIN, "the account's ssh keys: whoever adds one can log in with it", "/user/keys/**", 5},
        {"write:public_key", SCOPE_WRITE, "adds ssh keys to the account", "/user/keys/**", 4},
        {"read:public_key", SCOPE_READ, "the account's ssh keys", "/user/keys/**", 1},
        {"admin:gpg_key", SCOPE_ADMIN, "the account's GPG keys", "/user/gpg_keys/**", 4},
        {"write:gpg_key", SCOPE_WRITE, "adds GPG keys to the account", "/user/gpg_keys/**", 3},
        {"read:gpg_key", SCOPE_READ, "the account's GPG keys", "/user/gpg_keys/**", 1},
        {"admin:ssh_signing_key", SCOPE_ADMIN, "the account's signing keys", "/user/ssh_signing_keys/**", 4},
        {"write:ssh_signing_key", SCOPE_WRITE, "adds signing keys to the account", "/user/ssh_signing_keys/**", 3},
        {"read:ssh_signing_key", SCOPE_READ, "the account's signing keys", "/user/ssh_signing_keys/**", 1},
        {"gist", SCOPE_WRITE, "gists: whatever is written there can be read by whoever knows the address", "/gists/**", 2},
        {"notifications", SCOPE_WRITE, "the account's notifications and watched repositories", "/notifications/** /repos/*/*/notifications /repos/*/*/subscription", 2},
        {"user", SCOPE_WRITE, "the account's profile, addresses and followers", "/user /user/emails/** /user/following/** /user/followers/** /user/blocks/**", 4},
        {"read:user", SCOPE_READ, "the account's profile", "/user", 1},
        {"user:email", SCOPE_READ, "the account's addresses", "/user/emails /user/public_emails", 1},
        {"user:follow", SCOPE_WRITE, "whom the account follows", "/user/following/**", 1},
        {"project", SCOPE_WRITE, "projects of the account and its organizations", "/projects/** /orgs/*/projects/** /users/*/projects/** /user/projects", 3},
        {"read:project", SCOPE_READ, "projects of the account and its organizations", "/projects/** /orgs/*/projects/** /users/*/projects/** /user/projects", 1},
        {"write:discussion", SCOPE_WRITE, "discussions of teams", "/orgs/*/teams/*/discussions/**", 2},
        {"read:discussion", SCOPE_READ, "discussions of teams", "/orgs/*/teams/*/discussions/**", 1},
        {"delete:packages", SCOPE_ADMIN, "deletes packages", PACKAGES, 4},
        {"write:packages", SCOPE_WRITE, "publishes packages", PACKAGES, 3},
        {"read:packages", SCOPE_READ, "packages", PACKAGES, 1},
        {"codespace", SCOPE_WRITE, "codespaces, which run commands with a token of their own", "/user/codespaces/** /repos/*/*/codespaces/**", 5},
        {"copilot", SCOPE_WRITE, "seats of Copilot", "/orgs/*/copilot/**", 3},
        {"manage_billing:copilot", SCOPE_WRITE, "seats of Copilot", "/orgs/*/copilot/**", 3},
        {"audit_log", SCOPE_READ, "audit logs", "/orgs/*/audit-log /enterprises/*/audit-log", 2},
        {"read:audit_log", SCOPE_READ, "audit logs", "/orgs/*/audit-log /enterprises/*/audit-log", 2},
        {"admin:enterprise", SCOPE_ADMIN, "enterprises: all of their settings", "/enterprises/**", 9},
        {"manage_runners:enterprise", SCOPE_ADMIN, "runners of enterprises", "/enterprises/*/actions/**", 6},
        {"manage_billing:enterprise", SCOPE_WRITE, "billing of enterprises", "/enterprises/*/settings/billing/**", 5},
        {"read:enterprise", SCOPE_READ, "enterprises", "/enterprises/**", 3},
        {"site_admin", SCOPE_ADMIN, "the administration of the whole installation", "/admin/** /setup/**", 9},
};

/* docs.gitlab.com, "Personal access token scopes". */
static const struct scope_row gitlab[] = {
        {"api", SCOPE_WRITE, "everything that the account may do by the API, the registry and packages too", "/api/** package:/**", 9},
        {"read_api", SCOPE_READ, "everything that the account may read by the API", "/api/** package:/**", 5},
        {"read_user", SCOPE_READ, "the account's profile, and other users", "/api/v4/user /api/v4/users/** /api/v4/user/**", 1},
        {"read_repository", SCOPE_READ, "code, by git and by the API of files", "git:/*/*/** /api/v4/projects/*/repository/**", 2},
        {"write_repository", SCOPE_WRITE, "code, by git", "git:/*/*/**", 3},
        {"read_registry", SCOPE_READ, "images of the registry", "package:/**", 2},
        {"write_registry", SCOPE_WRITE, "pushes images to the registry", "package:/**", 3},
        {"read_virtual_registry", SCOPE_READ, "images by the dependency proxy", "package:/**", 2},
        {"write_virtual_registry", SCOPE_WRITE, "images of the dependency proxy", "package:/**", 3},
        {"create_runner", SCOPE_ADMIN, "makes runners, which get the jobs of projects with their variables", "/api/v4/user/runners/**", 5},
        {"manage_runner", SCOPE_ADMIN, "runners", "/api/v4/runners/**", 5},
        {"ai_features", SCOPE_WRITE, "GitLab Duo", "/api/v4/code_suggestions/** /api/v4/chat/**", 2},
        {"k8s_proxy", SCOPE_WRITE, "clusters, by their agents", "git:/-/k8s-proxy/**", 5},
        {"self_rotate", SCOPE_WRITE, "replaces this token by another", "/api/v4/personal_access_tokens/self/rotate", 1},
        {"read_service_ping", SCOPE_READ, "the usage data of an administrator", "/api/v4/usage_data/**", 2},
        {"sudo", SCOPE_ADMIN, "acts as any user of the installation", "", SCOPE_BESIDE},
        {"admin_mode", SCOPE_ADMIN, "administers the installation", "/api/v4/admin/** /api/v4/application/**", SCOPE_BESIDE},
};

/* npm's documentation, "About access tokens". */
static const struct scope_row npm[] = {
        {"read-only", SCOPE_READ, "reads packages, private ones too", "/**", 1},
        {"packages:read", SCOPE_READ, "reads packages", "/**", 1},
        {"packages:write", SCOPE_WRITE, "publishes packages", "/**", 3},
        {"orgs:read", SCOPE_READ, "reads organizations", "/-/org/** /-/team/**", 2},
        {"orgs:write", SCOPE_ADMIN, "changes organizations and teams", "/-/org/** /-/team/**", 4},
        {"automation", SCOPE_WRITE, "publishes any package of the account, without a second factor", "/**", 6},
        {"publish", SCOPE_WRITE, "publishes any package of the account, and changes its settings", "/**", 5},
};

static const struct scope_row pypi[] = {
        {"upload", SCOPE_WRITE, "uploads releases of every project of the account", "/legacy/** /legacy", 5},
        {"project", SCOPE_WRITE, "uploads releases of this project", "/legacy/** /legacy", 1},
        {"project-id", SCOPE_WRITE, "uploads releases of the project with this id", "/legacy/** /legacy", 1},
};

static const struct scope_row hugging_face[] = {
        {"repo.content.read", SCOPE_READ, "reads repositories", "/**", 1},
        {"repo.access.read", SCOPE_READ, "sees who has access to gated repositories", "/api/*/*/*/user-access-request/**", 2},
        {"repo.write", SCOPE_WRITE, "writes to repositories", "/**", 4},
        {"discussion.write", SCOPE_WRITE, "discussions and pull requests", "/api/*/*/*/discussions/** /api/discussions/**", 2},
        {"inference.serverless.write", SCOPE_WRITE, "calls models of inference providers, at the account's cost", "inference:/**", 1},
        {"inference.endpoints.infer.write", SCOPE_WRITE, "calls the account's inference endpoints", "inference:/**", 1},
        {"inference.endpoints.write", SCOPE_WRITE, "makes and changes inference endpoints, which cost", "/api/endpoints/**", 4},
        {"user.billing.read", SCOPE_READ, "the account's bills", "/api/settings/billing/**", 2},
        {"user.webhooks.read", SCOPE_READ, "the account's webhooks", "/api/settings/webhooks/**", 1},
        {"user.webhooks.write", SCOPE_WRITE, "the account's webhooks, which send events elsewhere", "/api/settings/webhooks/**", 3},
        {"job.write", SCOPE_WRITE, "runs jobs, at the account's cost", "/api/jobs/**", 4},
        {"org.read", SCOPE_READ, "settings of organizations", "/api/organizations/**", 2},
        {"org.write", SCOPE_ADMIN, "settings and members of organizations", "/api/organizations/**", 6},
        {"read", SCOPE_READ, "reads every repository that the account reaches, private ones too", "/**", 1},
        {"write", SCOPE_WRITE, "writes to every repository that the account may write to, makes and deletes them", "/**", 4},
};

static const struct scope_row openai[] = {
        {"admin", SCOPE_ADMIN, "manages the organization: users, projects, keys, limits", "/v1/organization/**", 9},
};
static const struct scope_row anthropic[] = {
        {"admin", SCOPE_ADMIN, "manages the organization: members, workspaces, keys", "/v1/organizations/**", 9},
};

struct provider {
        const char *name, *host, *own_hosts; /* own_hosts: blanks between; "*." begins one for all beneath */
        const char *preset;                  /* in whose rules host and own_hosts stand, where they are NULL */
        const struct scope_row *rows;
        size_t n_rows;
};
#define ROWS(t) t, ELEMENTSOF(t)
#define GITHUB_HOSTS "github.com *.github.com ghcr.io"
static const struct provider providers[SCOPE_KIND_N] = {
        [SCOPE_UNKNOWN] = {"an unknown provider", NULL, NULL, NULL, NULL, 0},
        [SCOPE_GITHUB] = {"GitHub", "api.github.com", GITHUB_HOSTS, NULL, ROWS(github)},
        [SCOPE_GITHUB_APP] = {"GitHub", "api.github.com", GITHUB_HOSTS, NULL, NULL, 0},
        [SCOPE_GITLAB] = {"GitLab", "gitlab.com", "gitlab.com *.gitlab.com", NULL, ROWS(gitlab)},
        [SCOPE_NPM] = {"npm", NULL, NULL, "npm-install", ROWS(npm)},
        [SCOPE_PYPI] = {"PyPI", NULL, NULL, NULL, ROWS(pypi)},
        [SCOPE_AWS] = {"AWS", "sts.amazonaws.com", "*.amazonaws.com", NULL, NULL, 0},
        [SCOPE_OPENAI] = {"OpenAI", "api.openai.com", "api.openai.com", NULL, NULL, 0},
        [SCOPE_OPENAI_ADMIN] = {"OpenAI", "api.openai.com", "api.openai.com", NULL, ROWS(openai)},
        [SCOPE_ANTHROPIC] = {"Anthropic", "api.anthropic.com", "api.anthropic.com", NULL, NULL, 0},
        [SCOPE_ANTHROPIC_ADMIN] = {"Anthropic", "api.anthropic.com", "api.anthropic.com", NULL, ROWS(anthropic)},
        [SCOPE_ANTHROPIC_OAUTH] = {"Anthropic", "api.anthropic.com", "api.anthropic.com", NULL, NULL, 0},
        [SCOPE_GOOGLE_KEY] = {"Google", "generativelanguage.googleapis.com", "*.googleapis.com", NULL, NULL, 0},
        [SCOPE_SLACK] = {"Slack", "slack.com", "slack.com *.slack.com", NULL, NULL, 0},
        [SCOPE_HUGGING_FACE] = {"Hugging Face", "huggingface.co", "huggingface.co *.huggingface.co", NULL, ROWS(hugging_face)},
        [SCOPE_DIGITALOCEAN] = {"DigitalOcean", "api.digitalocean.com", "api.digitalocean.com", NULL, NULL, 0},
        [SCOPE_JWT] = {"its issuer", NULL, NULL, NULL, NULL, 0},
};

const char *scope_provider(enum scope_kind k) { return k < SCOPE_KIND_N ? providers[k].name : "?"; }

/* The first host of a preset; NULL. Valid until the next call. */
static const char *host_of_preset(const char *name) {
        static char host[REQUEST_HOST_MAX + 1];
        static const char key[] = "host: ";

        for (const struct network_preset *p = network_presets; name && p->name; p++) {
                const char *at = streq(p->name, name) ? strstr(p->text, key) : NULL;
                if (!at)
                        continue;
                at += strlen(key);
                snprintf(host, sizeof(host), "%.*s", (int)MIN(strcspn(at, " \n"), REQUEST_HOST_MAX), at);
                return host;
        }
        return NULL;
}

const char *scope_host(enum scope_kind k) { return k >= SCOPE_KIND_N ? NULL : providers[k].host ? providers[k].host : host_of_preset(providers[k].preset); }

static const char *own_hosts(enum scope_kind k) { return providers[k].own_hosts ? providers[k].own_hosts : host_of_preset(providers[k].preset); }

const struct scope_row *scope_rows(enum scope_kind k, size_t *ret_n) {
        *ret_n = k < SCOPE_KIND_N ? providers[k].n_rows : 0;
        return *ret_n > 0 ? providers[k].rows : NULL;
}

const struct scope_row *scope_row_of(enum scope_kind k, const char *name) {
        size_t n;
        const struct scope_row *rows = scope_rows(k, &n);
        /* "alice/model: repo.write", "packages:write @acme/app", "project sample": what it is for stands around the scope's own name. */
        const char *colon = k == SCOPE_HUGGING_FACE ? strrchr(name, ' ') : NULL;
        size_t len = strlen(colon ? ++colon : name);

        name = colon ? colon : name;
        if (k == SCOPE_NPM || k == SCOPE_PYPI)
                len = strcspn(name, " ");
        for (size_t i = 0; i < n; i++)
                if (strlen(rows[i].name) == len && strncmp(rows[i].name, name, len) == 0)
                        return &rows[i];
        return NULL;
}

/* "*.github.com" is all beneath; host may be a rule's, with a wildcard of its own. */
static bool host_in(const char *list, const char *host) {
        for (const char *p = list; p && *p; p += strcspn(p, " "), p += *p == ' ') {
                size_t n = strcspn(p, " "), m = strlen(host);
                if (p[0] == '*' ? m >= n - 1 && strncasecmp(host + m - (n - 1), p + 1, n - 1) == 0 : m == n && strncasecmp(host, p, n) == 0)
                        return true;
                if (p[0] == '*' && m == n - 2 && strncasecmp(host, p + 2, m) == 0)
                        return true; /* a rule's "*.github.com" has host "github.com" */
        }
        return false;
}

const char *scope_rule_host(const struct network_rule *r) { return r->to ? str_after(r->to, "https://") : r->host; }

static bool names(const struct network_rule *r, const char *secret) { return !r->deny && r->secret && streq(r->secret, secret); }

static bool of_secret(const struct network_rule *r, const char *secret) { return names(r, secret) && scope_rule_host(r); }

const char *scope_clear_route(const struct network *net, const char *secret) {
        for (size_t i = 0; i < net->n_rules; i++)
                if (names(&net->rules[i], secret) && net->rules[i].to && !scope_rule_host(&net->rules[i]))
                        return net->rules[i].to;
        return NULL;
}

static const struct { const char *prefix; enum scope_kind kind; } forms[] = {
        {"ghs_", SCOPE_GITHUB_APP}, {"gh", SCOPE_GITHUB}, {"github_pat_", SCOPE_GITHUB}, {"glpat-", SCOPE_GITLAB}, {"npm_", SCOPE_NPM},
        {"pypi-", SCOPE_PYPI}, {"sk-ant-admin01-", SCOPE_ANTHROPIC_ADMIN}, {"sk-ant-oat01-", SCOPE_ANTHROPIC_OAUTH}, {"sk-ant-", SCOPE_ANTHROPIC},
        {"sk-admin-", SCOPE_OPENAI_ADMIN}, {"sk-or-v1-", SCOPE_UNKNOWN}, {"sk-proj-", SCOPE_OPENAI}, {"sk-svcacct-", SCOPE_OPENAI}, {"AIza", SCOPE_GOOGLE_KEY},
        {"xoxb-", SCOPE_SLACK}, {"xoxp-", SCOPE_SLACK}, {"xapp-", SCOPE_SLACK}, {"hf_", SCOPE_HUGGING_FACE}, {"dop_v1_", SCOPE_DIGITALOCEAN}, {"eyJ", SCOPE_JWT},
};

enum scope_kind scope_kind_of(const char *value, size_t n, const struct network *net, const char *secret) {
        const struct secret_kind *form = secret_kind_of(value, n);

        for (size_t i = 0; form && i < ELEMENTSOF(forms); i++)
                if (str_after(form->prefix, forms[i].prefix))
                        return forms[i].kind;
        /* A value of no form that is known, or of one that several providers have: whom the rules let it go to. A key of AWS
         * has no form either, but cannot be asked about by itself. */
        for (size_t i = 0; net && i < net->n_rules; i++)
                for (unsigned k = SCOPE_UNKNOWN + 1; of_secret(&net->rules[i], secret) && k < SCOPE_KIND_N; k++)
                        if (k != SCOPE_AWS && k != SCOPE_PYPI && host_in(own_hosts((enum scope_kind)k), scope_rule_host(&net->rules[i])))
                                return (enum scope_kind)k;
        return SCOPE_UNKNOWN;
}

const char *scope_own_host(enum scope_kind k, const struct network *net, const char *secret) {
        const char *own = NULL;

        for (size_t i = 0; scope_host(k) && i < net->n_rules; i++) {
                const struct network_rule *r = &net->rules[i];
                if (!of_secret(r, secret))
                        continue;
                const char *host = scope_rule_host(r);
                if (host_in(own_hosts(k), host))
                        return NULL;
                /* One host, by its name. The API's is meant where there are two: api.github.example beside github.example. */
                if ((r->kind != NETWORK_EXACT && !r->to) || (own && !streq(own, host) && !str_after(own, "api.") && !str_after(host, "api.")))
                        return NULL;
                if (!own || str_after(host, "api."))
                        own = host;
        }
        return own;
}
