/* The settings of Claude Code (settings.json: permissions and sandbox) and of its sandbox runtime (srt), which have
 * most of their keys in common; see assess-internal.h. What each means is taken from the settings reference of
 * Claude Code and the README of @anthropic-ai/sandbox-runtime. On Linux both hold shell commands by bubblewrap and a
 * proxy. */
#include "model/assess-internal.h"

struct settings {
        bool claude, enabled, strict; /* strict: no command can ask to run without the sandbox */
        const struct yaml_node *network, *files, *credentials;
};

/* --- Domains. */

/* Hosts on which anybody can leave data, and suffixes under which anybody can have a name. */
static const char *const relay_hosts[] = {"github.com", "api.github.com", "gist.github.com", "uploads.github.com",
        "gitlab.com", "bitbucket.org", "codeberg.org", "huggingface.co", "pastebin.com", "hastebin.com", "dpaste.com",
        "paste.rs", "ix.io", "0x0.st", "transfer.sh", "file.io", "webhook.site", "requestbin.com", "hooks.slack.com",
        "slack.com", "discord.com", "discordapp.com", "api.telegram.org", "s3.amazonaws.com", "storage.googleapis.com",
        "drive.google.com", "docs.google.com", "dropbox.com", "api.dropboxapi.com", "content.dropboxapi.com",
        "api.notion.com", "hub.docker.com", "registry-1.docker.io", "ghcr.io"};
static const char *const relay_suffixes[] = {"amazonaws.com", "googleapis.com", "windows.net", "azurewebsites.net",
        "cloudfront.net", "vercel.app", "netlify.app", "pages.dev", "workers.dev", "herokuapp.com", "web.app",
        "firebaseapp.com", "firebaseio.com", "ngrok.io", "ngrok.app", "ngrok-free.app", "trycloudflare.com",
        "github.io", "gitlab.io", "githubusercontent.com", "fly.dev", "onrender.com", "railway.app", "supabase.co",
        "run.app", "cloudfunctions.net", "r2.dev", "r2.cloudflarestorage.com", "digitaloceanspaces.com",
        "backblazeb2.com", "oast.fun", "oast.pro", "interact.sh", "requestbin.net", "pipedream.net"};

/* The host of "host", "*.host", "https://host/path", "host:port". */
static const char *host_of(struct assessment *a, const char *s) {
        const char *p = strstr(s, "://");
        p = p ? p + 3 : s;
        return keep_n(a, p, strcspn(p, "/:"));
}

static bool relay_under(const char *base) {
        size_t n = strlen(base);
        for (size_t i = 0; i < ELEMENTSOF(relay_hosts); i++) {
                size_t m = strlen(relay_hosts[i]);
                if (streq(relay_hosts[i], base) ||
                        (m > n && relay_hosts[i][m - n - 1] == '.' && streq(relay_hosts[i] + m - n, base)))
                        return true;
        }
        return one_of(base, relay_suffixes, ELEMENTSOF(relay_suffixes));
}

static void judge_domain(struct assessment *a, const char *s, unsigned line) {
        const char *host = host_of(a, s), *shown = keep_shown(a, s);
        const char *base = str_after(host, "*.");

        if (streq(host, "*") || (base && !strchr(base, '.')))
                find(a, RULE_DOMAIN_ALL, NULL, line, shown);
        else if (base ? relay_under(base) : one_of(host, relay_hosts, ELEMENTSOF(relay_hosts)))
                find(a, RULE_DOMAIN_RELAY, NULL, line, shown);
        else if (strchr(host, '*'))
                find(a, RULE_DOMAIN_WILD, NULL, line, shown);
}

/* --- Commands. */

/* The first word of a command or of a rule: "docker" of "docker:*", "docker *", "/usr/bin/docker ps". */
static const char *program(struct assessment *a, const char *s) {
        size_t n = strcspn(s, " :*");
        const char *p = keep_n(a, s, n), *slash = strrchr(p, '/');
        return slash ? slash + 1 : p;
}

/* Programs whose arguments are a program. */
static bool runs_anything(const char *p) {
        static const char *const list[] = {"sh", "bash", "zsh", "dash", "fish", "env", "sudo", "doas", "su", "xargs",
                "find", "ssh", "eval", "exec", "python", "python3", "node", "deno", "bun", "bunx", "npx", "source",
                "uvx", "uv", "perl", "ruby", "php", "awk", "gawk", "lua", "osascript", "docker", "podman", "kubectl",
                "nerdctl", "tmux", "screen", "nohup", "timeout", "watch", "parallel", "pwsh", "powershell"};
        return one_of(p, list, ELEMENTSOF(list));
}

/* The same, of two words. */
static bool runs_anything_2(const char *s) {
        static const char *const list[] = {"uv run", "npm exec", "pnpm exec", "pnpm dlx", "yarn dlx", "yarn exec",
                "go run", "cargo run", "poetry run", "pipx run", "python -c", "python3 -c", "node -e", "bash -c",
                "sh -c", "docker run", "docker exec", "docker compose", "kubectl exec", "git -c", "git config",
                "uv tool", "dotnet run", "deno run", "bun run", "bun x", "pipenv run", "conda run"};
        return one_of(s, list, ELEMENTSOF(list));
}

static bool sends(const char *p) {
        static const char *const list[] = {"curl", "wget", "nc", "ncat", "netcat", "socat", "scp", "sftp", "rsync",
                "ftp", "telnet", "http", "https", "xh"};
        return one_of(p, list, ELEMENTSOF(list));
}

/* What stands in the parentheses of "Tool(...)", or NULL; "" for the bare tool. */
static const char *rule_of(struct assessment *a, const char *rule, const char *tool) {
        const char *rest = str_after(rule, tool);
        size_t n = rest ? strlen(rest) : 0;

        if (!rest || (n > 0 && (rest[0] != '(' || rest[n - 1] != ')')))
                return NULL;
        return n > 2 ? keep_n(a, rest + 1, n - 2) : "";
}

/* Every command: Bash, Bash(*), Bash(:*), Bash(**). */
static bool is_all(const char *inner) { return strspn(inner, "*: ") == strlen(inner); }

/* What stands before a wildcard at the end, so that more arguments are free: "uv run" of "uv run:*"; NULL: none. */
static const char *free_after(struct assessment *a, const char *inner) {
        size_t n = strlen(inner), end = n;
        while (end > 0 && strchr(" :*", inner[end - 1]))
                end--;
        return end < n && memchr(inner + end, '*', n - end) ? keep_n(a, inner, end) : NULL;
}

static const char *without_glob(struct assessment *a, const char *s) {
        size_t n = strlen(s);
        while (n > 1 && (s[n - 1] == '*' || s[n - 1] == '/'))
                n--;
        /* Permission rules write an absolute path with two slashes. */
        if (n > 1 && s[0] == '/' && s[1] == '/')
                s++, n--;
        return keep_n(a, s, n);
}

static void judge_write(struct assessment *a, const char *s, unsigned line) {
        switch (path_kind(without_glob(a, s))) {
        case PATH_ROOT:
        case PATH_SYSTEM:
        case PATH_SYSTEM_SECRET:
        case PATH_HOME:
        case PATH_SECRET:
        case PATH_PROC:
        case PATH_HOST_SOCKET:
                find(a, RULE_WRITE_HOST, NULL, line, keep_shown(a, s));
                break;
        default:
                break;
        }
}

static void judge_allow(struct assessment *a, const struct settings *s, const struct yaml_node *list) {
        for (const struct yaml_node *i = node_is_list(list) ? list->first : NULL; i; i = i->next) {
                const char *rule = node_text(i), *inner, *before;
                if (!rule || !charge(a, i->len))
                        continue;
                const char *shown = keep_shown(a, rule);
                if ((inner = rule_of(a, rule, "Bash"))) {
                        const char *form = secret_form(inner);
                        if (form)
                                find(a, RULE_SECRET_KNOWN, NULL, i->line, form);
                        if (s->enabled && s->strict)
                                continue; /* the sandbox holds whatever it is */
                        if (is_all(inner))
                                find(a, RULE_BASH_ALL, NULL, i->line, shown);
                        else if ((before = free_after(a, inner))) {
                                if (runs_anything_2(before) ||
                                        (!strchr(before, ' ') && runs_anything(program(a, before))))
                                        find(a, RULE_BASH_RISKY, NULL, i->line, shown);
                                else if (!s->enabled && !strchr(before, ' ') && sends(program(a, before)))
                                        find(a, RULE_BASH_SENDS, NULL, i->line, shown);
                        }
                } else if ((inner = rule_of(a, rule, "WebFetch"))) {
                        const char *domain = str_after(inner, "domain:");
                        /* With a domain it is one that sandboxed commands reach too; alone it only fetches. */
                        if (!domain || s->enabled)
                                judge_domain(a, domain ? domain : "*", i->line);
                } else if ((inner = rule_of(a, rule, "Edit")) || (inner = rule_of(a, rule, "Write")))
                        judge_write(a, inner, i->line);
        }
}

/* --- What the two have in common: network and filesystem. */

static void judge_network(struct assessment *a, const struct settings *s) {
        const struct yaml_node *n = node_get(s->network, "allowedDomains");
        for (const struct yaml_node *i = node_is_list(n) ? n->first : NULL; i; i = i->next)
                if (node_text(i))
                        judge_domain(a, node_text(i), i->line);
        n = node_get(s->network, "allowUnixSockets");
        for (const struct yaml_node *i = node_is_list(n) ? n->first : NULL; i; i = i->next) {
                if (!node_text(i))
                        continue;
                enum path_kind k = path_kind(without_glob(a, node_text(i)));
                if (k == PATH_SOCKET || k == PATH_SOCKET_USER || k == PATH_HOST_SOCKET || k == PATH_ROOT)
                        find(a, RULE_SETTINGS_SOCKET, NULL, i->line, keep_shown(a, node_text(i)));
                else if (k == PATH_AGENT_SOCKET)
                        find(a, RULE_AGENT_SOCKET, NULL, i->line, keep_shown(a, node_text(i)));
        }
        struct flag f = node_flag(a, s->network, "allowAllUnixSockets");
        if (f.is == YES)
                find(a, RULE_UNIX_SOCKETS, NULL, f.line, NULL);
        f = node_flag(a, s->network, "allowLocalBinding");
        if (f.is == YES)
                find(a, RULE_LOCAL_BINDING, NULL, f.line, NULL);
}

/* Whether reading ~/.ssh, which stands for all of them, is denied. */
static bool keys_denied(struct assessment *a, const struct yaml_node *list, const char *tool) {
        for (const struct yaml_node *i = list && node_is_list(list) ? list->first : NULL; i; i = i->next) {
                const char *s = node_text(i) ?: node_text(node_get(i, "path"));
                if (s && tool)
                        s = rule_of(a, s, tool);
                if (!s || !*s)
                        continue;
                const char *p = without_glob(a, s);
                if (streq(p, "~") || streq(p, "/") || streq(p, "/home") || streq(p, "/Users") || streq(p, "~/.ssh") ||
                        streq(p, "${HOME}") || streq(p, "$HOME") || streq(p, "**/.ssh") ||
                        (str_after(p, "/home/") && (strstr(p, "/.ssh") || !strchr(p + 6, '/'))) ||
                        (str_after(p, "/Users/") && (strstr(p, "/.ssh") || !strchr(p + 7, '/'))))
                        return true;
        }
        return false;
}

static void judge_files(struct assessment *a, const struct settings *s, const struct yaml_node *deny, unsigned line) {
        const struct yaml_node *n = node_get(s->files, "allowWrite"), *k = node_key(s->files, "denyRead");

        for (const struct yaml_node *i = node_is_list(n) ? n->first : NULL; i; i = i->next)
                if (node_text(i))
                        judge_write(a, node_text(i), i->line);
        struct flag git = node_flag(a, s->files, "allowGitConfig");
        if (git.is == YES)
                find(a, RULE_WRITE_HOST, NULL, git.line, ".git/config (allowGitConfig)");
        if (!keys_denied(a, k ? k->value : NULL, NULL) && !keys_denied(a, node_get(s->credentials, "files"), NULL) &&
                !keys_denied(a, deny, "Read"))
                find(a, RULE_READ_SECRETS, NULL, k ? k->line : line, "~/.ssh is not denied");
}

/* --- Answers. */

static void list_words(struct assessment *a, struct strbuf *b, const struct yaml_node *n, const char *before) {
        size_t shown = 0;
        for (const struct yaml_node *i = node_is_list(n) ? n->first : NULL; i; i = i->next) {
                if (!node_text(i))
                        continue;
                if (shown == 8) {
                        strbuf_printf(b, " and %zu more", n->n - shown);
                        break;
                }
                strbuf_printf(b, "%s%s", shown++ ? ", " : before, keep_shown(a, node_text(i)));
        }
}

static void answer_settings(struct assessment *a, const struct settings *s, const struct yaml_node *env) {
        _cleanup_strbuf_ struct strbuf reach = {}, creds = {};
        const char *who = "shell commands";
        const struct yaml_node *domains = node_get(s->network, "allowedDomains");

        if (s->enabled) {
                answer_add(a, 0, who,
                        s->strict ? "on the host's own kernel, held by bubblewrap (Linux) or Seatbelt (macOS)"
                                  : "on the host's own kernel, held by bubblewrap (Linux) or Seatbelt (macOS), or by "
                                    "nothing when asked for again without");
                strbuf_puts(&reach, node_is_list(domains) && domains->n > 0 ? "by a proxy:"
                                    : s->claude                             ? "domains that a person confirms"
                                                                            : "no domain");
                list_words(a, &reach, domains, " ");
                strbuf_puts(&reach, "; reads every file of the user");
                list_words(a, &reach, node_get(s->files, "denyRead"), " but ");
                strbuf_puts(&reach, s->claude ? "; writes the project" : "; writes");
                list_words(a, &reach, node_get(s->files, "allowWrite"), s->claude ? " and " : " ");
        } else {
                answer_add(a, 0, who,
                        "on the host, as the user: permission rules say what is asked about, nothing holds what runs");
                strbuf_puts(&reach, "any address, and every file of the user");
        }
        if (s->claude)
                answer_add(a, 0, "other tools, hooks, MCP servers",
                        "on the host, as the user: permission rules say what is asked about");
        answer_add(a, 1, who, keep(a, reach.data ? reach.data : ""));
        strbuf_puts(&creds, "what the user's keys open that can be read");
        for (const struct yaml_node *k = env && node_is_map(env) ? env->first : NULL; k; k = k->next)
                if (secret_name(k->text) && creds.len < 2000)
                        strbuf_printf(&creds, ", and %s", keep_shown(a, k->text));
        answer_add(a, 2, who, keep(a, creds.data ? creds.data : ""));
}

static void judge_weak_modes(struct assessment *a, const struct yaml_node *n) {
        struct flag f = node_flag(a, n, "enableWeakerNestedSandbox");
        if (f.is == YES)
                find(a, RULE_NESTED, NULL, f.line, NULL);
        f = node_flag(a, n, "enableWeakerNetworkIsolation");
        if (f.is == YES)
                find(a, RULE_WEAK_NETWORK, NULL, f.line, NULL);
}

void read_srt(struct assessment *a, const struct yaml_node *doc) {
        struct settings s = {.enabled = true,
                .strict = true,
                .network = node_get(doc, "network"),
                .files = node_get(doc, "filesystem"),
                .credentials = node_get(doc, "credentials")};
        judge_network(a, &s);
        judge_files(a, &s, NULL, doc->line);
        judge_weak_modes(a, doc);
        answer_settings(a, &s, NULL);
}

static void judge_env(struct assessment *a, const struct yaml_node *env) {
        for (const struct yaml_node *k = node_is_map(env) ? env->first : NULL; k; k = k->next) {
                const char *v = node_text(k->value);
                if (!v || !charge(a, k->value->len * 4))
                        continue;
                const char *form = secret_form(v);
                if (form)
                        find(a, RULE_SECRET_KNOWN, NULL, k->line, keepf(a, "%s: %s", keep_shown(a, k->text), form));
                else if (secret_name(k->text) && !secret_placeholder(v) && v[0] != '$')
                        find(a, RULE_SECRET_LITERAL, NULL, k->line, keep_shown(a, k->text));
        }
}

static void judge_excluded(struct assessment *a, const struct yaml_node *list) {
        for (const struct yaml_node *i = node_is_list(list) ? list->first : NULL; i; i = i->next)
                if (node_text(i))
                        find(a,
                                is_all(node_text(i)) || runs_anything(program(a, node_text(i))) ? RULE_EXCLUDED_POWER
                                                                                                : RULE_EXCLUDED,
                                NULL, i->line, keep_shown(a, node_text(i)));
}

void read_claude(struct assessment *a, const struct yaml_node *doc) {
        const struct yaml_node *permissions = node_get(doc, "permissions"), *sandbox_key = node_key(doc, "sandbox");
        const struct yaml_node *sandbox = node_get(doc, "sandbox");
        struct flag enabled = node_flag(a, sandbox, "enabled"),
                    retry = node_flag(a, sandbox, "allowUnsandboxedCommands");
        struct settings s = {.claude = true,
                .enabled = enabled.is == YES,
                .strict = retry.is == NO,
                .network = node_get(sandbox, "network"),
                .files = node_get(sandbox, "filesystem"),
                .credentials = node_get(sandbox, "credentials")};
        unsigned line = enabled.line ? enabled.line : sandbox_key ? sandbox_key->line : doc->line;

        struct fact mode = node_fact(a, permissions, "defaultMode");
        if (mode.text && streq(mode.text, "bypassPermissions"))
                find(a, RULE_BYPASS, NULL, mode.line, NULL);
        judge_allow(a, &s, node_get(permissions, "allow"));
        const struct yaml_node *more = node_get(permissions, "additionalDirectories");
        for (const struct yaml_node *i = node_is_list(more) ? more->first : NULL; i; i = i->next)
                if (node_text(i))
                        judge_write(a, node_text(i), i->line);
        if (!s.enabled)
                find(a, RULE_SANDBOX_OFF, NULL, line, enabled.is == NO ? NULL : "this file does not switch it on");
        else {
                if (!s.strict)
                        find(a, RULE_UNSANDBOXED, NULL, retry.line ? retry.line : line, NULL);
                struct flag stop = node_flag(a, sandbox, "failIfUnavailable");
                if (stop.is != YES)
                        find(a, RULE_FAIL_OPEN, NULL, stop.line ? stop.line : line, NULL);
                judge_excluded(a, node_get(sandbox, "excludedCommands"));
                judge_network(a, &s);
                judge_files(a, &s, node_get(permissions, "deny"), line);
                judge_weak_modes(a, sandbox);
        }
        struct flag mcp = node_flag(a, doc, "enableAllProjectMcpServers");
        if (mcp.is == YES)
                find(a, RULE_MCP_ALL, NULL, mcp.line, NULL);
        judge_env(a, node_get(doc, "env"));
        answer_settings(a, &s, node_get(doc, "env"));
}
