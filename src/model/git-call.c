/* The words that git gives to ssh and ssh-keygen, read and held against the policy; see git.h. Nothing of them crosses as it came:
 * what is done is said anew from what was understood. */
#include <stdio.h>
#include <string.h>

#include "model/git-internal.h"
#include "model/network.h"

static const char *const services[] = {
        [GIT_UPLOAD_PACK] = "git-upload-pack", [GIT_RECEIVE_PACK] = "git-receive-pack", [GIT_UPLOAD_ARCHIVE] = "git-upload-archive",
};

const char *git_service_name(enum git_service s) { return services[s]; }

/* What was read of a command line of ssh. */
struct words {
        const char *user, *host; /* user NULL: not said */
        size_t n_user;
        uint64_t port;
        bool protocol;
};

static int refuse(struct error *e, const char *why) {
        error_set(e, EPERM, "%s", why);
        return error_fix(e, "ssh stands here for git alone: clone, fetch and push of the repositories that the policy's git_ssh names");
}

/* The options that git gives, and no other. Returns the index of the destination. */
static int read_options(const char *const *argv, size_t argc, struct words *w, struct error *e) {
        size_t i = 0;

        for (; i < argc && argv[i][0] == '-'; i++) {
                const char *value = i + 1 < argc ? argv[i + 1] : "";
                if (streq(argv[i], "-4") || streq(argv[i], "-6"))
                        continue; /* the connection is the gate's matter */
                if (streq(argv[i], "-o") && streq(value, "SendEnv=GIT_PROTOCOL"))
                        w->protocol = true;
                else if (!streq(argv[i], "-p") || parse_u64(value, &w->port) < 0 || w->port == 0 || w->port > UINT16_MAX)
                        return refuse(e, "an option of ssh that git does not need");
                i++;
        }
        if (argc != i + 2)
                return refuse(e, argc < i + 2 ? "ssh without a command of git's" : "more words than git gives to ssh");
        return (int)i;
}

static int read_destination(const char *text, struct words *w, struct error *e) {
        const char *at = strchr(text, '@');

        w->user = at ? text : NULL;
        w->n_user = at ? (size_t)(at - text) : 0;
        w->host = at ? at + 1 : text;
        if ((at && w->n_user == 0) || !*w->host || strlen(w->host) > 253 || strchr(w->host, '@') ||
            strspn(w->host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-") != strlen(w->host) || w->host[0] == '-')
                return refuse(e, "a destination that is no USER@HOST");
        return 0;
}

/* "git-upload-pack 'PATH'", as git quotes what needs no quotes. */
static int read_command(const char *text, struct git_ask *a, const char **ret_path, size_t *ret_n, struct error *e) {
        for (size_t i = 0; i < ELEMENTSOF(services); i++) {
                const char *rest = str_after(text, services[i]);
                if (!rest || rest[0] != ' ' || rest[1] != '\'')
                        continue;
                size_t n = strcspn(rest + 2, "'");
                if (rest[2 + n] != '\'' || rest[3 + n] != 0 || git_path_length(rest + 2, n, false) == 0)
                        return refuse(e, "a repository's path with something in it that is not taken");
                a->service = (enum git_service)i;
                *ret_path = rest + 2;
                *ret_n = n;
                return 0;
        }
        return refuse(e, "a command that is none of git's");
}

/* Segment by segment, so that a star stays within one. A pattern that begins with a slash is for paths that do, too. */
static bool matches(const char *pattern, const char *path, size_t n) {
        if (pattern[0] == '/' && path[0] != '/')
                return false;
        pattern += pattern[0] == '/';
        n -= path[0] == '/';
        path += path[0] == '/';
        for (;;) {
                size_t p = strcspn(pattern, "/"), s = 0;
                while (s < n && path[s] != '/')
                        s++;
                if (!network_glob(pattern, p, path, s))
                        return false;
                if (s == n || pattern[p] == 0)
                        return s == n && pattern[p] == 0;
                pattern += p + 1;
                path += s + 1;
                n -= s + 1;
        }
}

static bool same_host(const char *a, const char *b) {
        for (; *a && *b; a++, b++)
                if ((*a >= 'A' && *a <= 'Z' ? *a + 'a' - 'A' : *a) != *b)
                        return false;
        return *a == *b;
}

static bool same_user(const struct git_host *h, const struct words *w) {
        return !w->user || (strlen(h->user) == w->n_user && memcmp(h->user, w->user, w->n_user) == 0);
}

/* The entry that allows it; else why none does. */
static int find(const struct git_policy *g, const struct words *w, const char *path, size_t n, struct git_ask *a, struct error *e) {
        unsigned near = 0; /* how far the best entry went: host and port, user, repository */

        for (size_t i = 0; i < g->n_hosts; i++) {
                const struct git_host *h = &g->hosts[i];
                if (!same_host(w->host, h->host) || w->port != h->port)
                        continue;
                near = MAX(near, 1u);
                if (!same_user(h, w))
                        continue;
                near = MAX(near, 2u);
                bool found = false;
                for (size_t k = 0; k < h->repositories.n && !found; k++)
                        found = matches(h->repositories.items[k], path, n);
                if (!found)
                        continue;
                if (a->service == GIT_RECEIVE_PACK && !h->write) {
                        near = 3;
                        continue;
                }
                a->host = i;
                return 0;
        }
        static const char *const whys[] = {"no entry of git_ssh is for this host and port", "no entry of git_ssh is for this user",
                                           "no entry of git_ssh is for this repository", "git_ssh lets this repository be read only"};
        error_set(e, EPERM, "%s", whys[near]);
        return error_fix(e, near == 3 ? "access: write in its entry of git_ssh" : "an entry of git_ssh with this host, user and repository");
}

int git_ssh_read(const struct git_policy *g, const char *const *argv, size_t argc, struct git_ask *ret, struct error *e) {
        struct words w = {.port = 22};
        const char *path = "";
        size_t n = 0;

        *ret = (struct git_ask){};
        snprintf(ret->subject, sizeof(ret->subject), "git_ssh");
        int i = read_options(argv, argc, &w, e), r;
        if (i < 0 || (r = read_destination(argv[i], &w, e)) < 0)
                return -EPERM;
        snprintf(ret->subject, sizeof(ret->subject), "git_ssh %s", w.host);
        if ((r = read_command(argv[i + 1], ret, &path, &n, e)) < 0)
                return r;
        size_t name = git_path_length(path, n, false);
        snprintf(ret->repository, sizeof(ret->repository), "%.*s", (int)(name - (path[0] == '/')), path + (path[0] == '/'));
        snprintf(ret->subject, sizeof(ret->subject), "git_ssh %s %s %s", w.host, ret->repository, ret->service == GIT_RECEIVE_PACK ? "write" : "read");
        if ((r = find(g, &w, path, name, ret, e)) < 0)
                return r;
        ret->protocol = w.protocol;
        while (n > name && path[n - 1] == '/')
                n--;
        snprintf(ret->command, sizeof(ret->command), "%s '%.*s'", services[ret->service], (int)n, path);
        return 0;
}

int git_keygen_read(const char *const *argv, size_t argc, struct git_keygen_ask *ret, struct error *e) {
        static const char *const keyless[] = {"verify", "find-principals", "match-principals", "check-novalidate"};
        struct git_keygen_ask a = {};
        bool space = false, key = false;

        if (argc < 2 || !streq(argv[0], "-Y"))
                return error_set(e, EPERM, "ssh-keygen stands here for git's signatures alone");
        for (size_t i = 0; i < ELEMENTSOF(keyless); i++)
                if (streq(argv[1], keyless[i])) {
                        *ret = (struct git_keygen_ask){.what = GIT_KEYGEN_VERIFY};
                        return 0;
                }
        if (!streq(argv[1], "sign"))
                return error_set(e, EPERM, "ssh-keygen stands here for git's signatures alone");
        for (size_t i = 2; i < argc; i++) {
                if (streq(argv[i], "-n") && i + 1 < argc) {
                        if (!streq(argv[++i], "git"))
                                return error_set(e, EPERM, "a signature of another namespace than git's");
                        space = true;
                } else if (streq(argv[i], "-f") && i + 1 < argc) {
                        i++; /* whatever key it names: the policy's signs */
                        key = true;
                } else if (streq(argv[i], "-U"))
                        ; /* the key is the agent's: likewise */
                else if (argv[i][0] == '-' || a.buffer)
                        return error_set(e, EPERM, "a word of ssh-keygen that git does not give");
                else
                        a.buffer = argv[i];
        }
        if (!space || !key || !a.buffer || !*a.buffer)
                return error_set(e, EPERM, "a signature that is not asked for as git does");
        *ret = a;
        return 0;
}
