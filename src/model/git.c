/* The policy of git over ssh and of signatures; see git.h. */
#include <stdlib.h>
#include <string.h>

#include "model/git-internal.h"
#include "model/secret.h"

/* What a repository's path may have: nothing that a shell or ssh gives a meaning. */
#define PATH_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+@"

static void key_clear(struct git_key *k) {
        free(k->path);
        free(k->name);
        free(k->public_key);
        *k = (struct git_key){};
}

void git_host_clear(struct git_host *h) {
        free(h->host);
        free(h->user);
        free(h->known_hosts);
        strlist_clear(&h->repositories);
        key_clear(&h->key);
        *h = (struct git_host){};
}

void git_clear(struct git_policy *g) {
        for (size_t i = 0; i < g->n_hosts; i++)
                git_host_clear(&g->hosts[i]);
        free(g->hosts);
        key_clear(&g->sign.key);
        free(g->sign.as);
        *g = (struct git_policy){};
}

int git_set_text(char **field, const char *text, struct error *e) {
        size_t n = strlen(text);

        for (size_t i = 0; i < n; i++)
                if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
                        return error_set(e, EINVAL, "control characters have no place here");
        if (n == 0 || n > GIT_TEXT_MAX)
                return error_set(e, EINVAL, "a text of 1 to %u bytes stands here", GIT_TEXT_MAX);
        char *copy = strdup(text);
        if (!copy)
                return error_set(e, ENOMEM, "out of memory");
        free(*field);
        *field = copy;
        return 0;
}

int git_set_key(struct git_key *k, const char *text, struct error *e) {
        const char *path = str_after(text, "file:"), *name = str_after(text, "store:");

        if (streq(text, "agent")) {
                k->source = GIT_KEY_AGENT;
                return 0;
        }
        if (name && secret_name_good(name)) {
                k->source = GIT_KEY_STORE;
                return git_set_text(&k->name, name, e);
        }
        if (!path || !*path) {
                error_set(e, EINVAL, "a key is agent, file:PATH or store:NAME");
                return error_fix(e, "write key: agent for those that the ssh agent holds, key: file:PATH for one file, or key: store:NAME for one of belljar secret set NAME --key-file");
        }
        k->source = GIT_KEY_FILE;
        return git_set_text(&k->path, path, e);
}

/* "ssh-ed25519 AAAA... comment": what a public key looks like, and a private one never. */
int git_set_public_key(struct git_key *k, const char *text, struct error *e) {
        size_t type = strcspn(text, " "), n = text[type] ? strspn(text + type + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") : 0;

        if (type < 7 || n < 16 || (text[type + 1 + n] != 0 && text[type + 1 + n] != ' ') ||
            strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-@.") != type) {
                error_set(e, EINVAL, "that is no public key");
                return error_fix(e, "copy the line of the key's .pub file, like \"ssh-ed25519 AAAA...\" (ssh-add -L prints those of the agent)");
        }
        return git_set_text(&k->public_key, text, e);
}

int git_set_user(struct git_host *h, const char *text, struct error *e) {
        size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

        if (n == 0 || n > 64 || text[n] || text[0] == '-')
                return error_set(e, EINVAL, "a user's name has letters, digits, dots, dashes and underscores, at most 64");
        return git_set_text(&h->user, text, e);
}

/* Cuts what says nothing: slashes at the end, and ".git". Returns the length; 0: not a path that is taken. A star is allowed in a
 * pattern. */
size_t git_path_length(const char *text, size_t n, bool pattern) {
        size_t start = n > 0 && text[0] == '/';

        while (n > start && text[n - 1] == '/')
                n--;
        if (n - start > 4 && memcmp(text + n - 4, ".git", 4) == 0 && text[n - 5] != '/')
                n -= 4;
        if (n <= start || n >= GIT_REPOSITORY_MAX)
                return 0;
        for (size_t i = start, segment; i < n; i = segment + 1) {
                for (segment = i; segment < n && text[segment] != '/'; segment++)
                        if (!strchr(PATH_BYTES, text[segment]) && !(pattern && text[segment] == '*'))
                                return 0;
                /* Neither empty, nor what leads elsewhere, nor what a program takes for an option. */
                if (segment == i || text[i] == '-' || (text[i] == '.' && (segment == i + 1 || (segment == i + 2 && text[i + 1] == '.'))))
                        return 0;
        }
        return n;
}

int git_add_repository(struct git_host *h, const char *pattern, struct error *e) {
        size_t n = strchr(pattern, 0) == pattern ? 0 : git_path_length(pattern, strlen(pattern), true);

        if (n == 0) {
                error_set(e, EINVAL, "that is no repository's path");
                return error_fix(e, "write it as it stands in the address, like acme/tool or \"acme/*\"; of signs only . _ - + @ are taken");
        }
        if (h->repositories.n == GIT_REPOSITORIES_MAX)
                return error_set(e, E2BIG, "more than %u repositories of one host", GIT_REPOSITORIES_MAX);
        _cleanup_free_ char *copy = strndup(pattern, n);
        if (!copy || strlist_add(&h->repositories, copy) < 0)
                return error_set(e, ENOMEM, "out of memory");
        return 0;
}

int git_set_as(struct git_sign *s, const char *text, struct error *e) {
        const char *open = strchr(text, '<'), *close = strchr(text, '>');

        if (!open || !close || close < open + 2 || close[1] || strchr(open + 1, '<')) {
                error_set(e, EINVAL, "that names nobody as git does");
                return error_fix(e, "write \"NAME <MAIL>\", or \"<MAIL>\" for whatever name");
        }
        return git_set_text(&s->as, text, e);
}

static const char *key_text(const struct git_key *k) {
        static const char *const texts[] = {[GIT_KEY_AGENT] = "a key of the ssh agent", [GIT_KEY_FILE] = "the key of a file", [GIT_KEY_STORE] = "a key of the store"};
        return texts[k->source];
}

char *git_host_text(const struct git_host *h) {
        _cleanup_strbuf_ struct strbuf b = {};

        strbuf_printf(&b, "%s %s@%s:%u", h->write ? "read and write" : "read", h->user, h->host, h->port);
        for (size_t i = 0; i < h->repositories.n; i++)
                strbuf_printf(&b, "%s %s", i ? "," : "", h->repositories.items[i]);
        strbuf_printf(&b, ", by %s", key_text(&h->key));
        return strbuf_take(&b);
}

char *git_sign_text(const struct git_sign *s) {
        return str_printf("%s%s%s%s, by %s", s->commits ? "commits" : "", s->commits && s->tags ? " and " : "", s->tags ? "tags" : "",
                          s->as ? " of one person" : "", key_text(&s->key));
}

static void json_key(struct json *j, const struct git_key *k) {
        static const char *const texts[] = {[GIT_KEY_AGENT] = "agent", [GIT_KEY_FILE] = "file", [GIT_KEY_STORE] = "store"};

        json_str(j, "key", texts[k->source]);
        json_str(j, "public_key", k->public_key);
}

void git_json(struct json *j, const struct git_policy *g) {
        json_begin(j, "git_ssh", '[');
        for (size_t i = 0; i < g->n_hosts; i++) {
                const struct git_host *h = &g->hosts[i];
                json_begin(j, NULL, '{');
                json_str(j, "host", h->host);
                json_str(j, "user", h->user);
                json_num(j, "port", h->port);
                json_begin(j, "repositories", '[');
                for (size_t k = 0; k < h->repositories.n; k++)
                        json_str(j, NULL, h->repositories.items[k]);
                json_end(j, ']');
                json_str(j, "access", h->write ? "write" : "read");
                json_key(j, &h->key);
                json_str(j, "known_hosts", h->known_hosts);
                json_end(j, '}');
        }
        json_end(j, ']');
        if (!g->sign.on) {
                json_str(j, "sign", NULL);
                return;
        }
        json_begin(j, "sign", '{');
        json_bool(j, "commits", g->sign.commits);
        json_bool(j, "tags", g->sign.tags);
        json_key(j, &g->sign.key);
        json_str(j, "as", g->sign.as);
        json_end(j, '}');
}
