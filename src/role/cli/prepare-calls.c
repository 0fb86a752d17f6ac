/* What a run can call (call.h), before it starts: the names, the program that stands for them inside, what git is told by its
 * environment; and whether the host has what will be asked of it, so that it is said now and not in the middle of a run. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/environment.h"
#include "proto/call-msg.h"
#include "role/cli/prepare.h"
#include "svc/host.h"
#include "svc/secret-source.h"

#define CALL_PROGRAM_MAX (1u << 20) /* bytes */
#define KEY_FILE_MAX 65536u

static int find_program(const char *name, char **ret, struct error *e) {
        static const char *const folders[] = {"/usr/bin", "/bin", "/usr/local/bin"};

        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *path = str_printf("%s/%s", folders[i], name);
                if (path && access(path, X_OK) == 0) {
                        *ret = TAKE_PTR(path);
                        return 0;
                }
        }
        error_set(e, ENOENT, "git_ssh and sign need the program %s on this host, and there is none", name);
        return error_fix(e, "install openssh-client");
}

static int resolve_path(char **path, const char *base, const char *home, struct error *e) {
        char *real = NULL;
        int r = *path ? host_resolve(*path, base, home, &real, e) : 0;

        if (r < 0 || !*path)
                return r;
        free(*path);
        *path = real;
        return 0;
}

int prepare_calls_paths(struct policy *p, const char *base, const char *home, struct error *e) {
        int r = resolve_path(&p->git.sign.key.path, base, home, e);

        for (size_t i = 0; r == 0 && i < p->git.n_hosts; i++) {
                struct git_host *h = &p->git.hosts[i];
                h->known_hosts_own = !h->known_hosts;
                if (h->known_hosts_own && !(h->known_hosts = strdup("~/.ssh/known_hosts")))
                        return error_set(e, ENOMEM, "out of memory");
                if ((r = resolve_path(&h->known_hosts, base, home, e)) == 0)
                        r = resolve_path(&h->key.path, base, home, e);
        }
        return r;
}

/* The run could read it: in a tree that the view shows, covered or not. Run by root, of the system's trees the sandbox has what
 * everybody has, and a key that others can read is refused anyway. */
static bool in_view(const struct plan *p, const char *path) {
        bool seen = p->workspace && path_beneath(path, p->workspace);

        for (size_t i = 0; i < p->n_ops && !seen; i++) {
                const struct plan_op *op = &p->ops[i];
                bool shown = (op->kind == OP_BIND || op->kind == OP_OVERLAY) && op->source && !(op->flags & PLAN_DEVICE);
                seen = shown && (!p->ids.root || op->flags & (PLAN_IDMAP | PLAN_VOLUME)) && path_beneath(path, op->source);
        }
        return seen;
}

static int check_hidden(const struct plan *p, const struct git_key *k, const char *what, struct error *e) {
        if (k->source != GIT_KEY_FILE || !in_view(p, k->path))
                return 0;
        error_set(e, EPERM, "%s: the key %s lies in what the run sees", what, k->path);
        return error_fix(e, "keep it elsewhere, as in ~/.ssh");
}

static int check_key(const struct git_key *k, const char *what, struct error *e) {
        const char *agent = getenv("SSH_AUTH_SOCK");

        if (k->source == GIT_KEY_STORE)
                return 0; /* read when all else is well (call-keys.h): it may have to be asked for */
        if (k->source == GIT_KEY_AGENT) {
                struct stat st;
                if (agent && stat(agent, &st) == 0 && S_ISSOCK(st.st_mode))
                        return 0;
                error_set(e, ENOENT, "%s: there is no ssh agent (SSH_AUTH_SOCK)", what);
                return error_fix(e, "start one (eval \"$(ssh-agent)\"; ssh-add), or write key: file:PATH");
        }
        /* Read once, so that what is wrong with it is said now; nothing of it is kept. */
        _cleanup_vault_ struct vault_text text = {};
        _cleanup_free_ char *label = str_printf("%s: the key %s", what, k->path);
        return secret_file_read(label ? label : what, k->path, KEY_FILE_MAX, &text, e);
}

/* Of a key's file, where the policy has no public key. */
static int find_public_key(struct git_key *k, struct error *e) {
        _cleanup_free_ char *path = k->public_key || k->source != GIT_KEY_FILE ? NULL : str_printf("%s.pub", k->path), *text = NULL;

        if (k->public_key)
                return 0;
        if (path && file_read(AT_FDCWD, path, KEY_FILE_MAX, &text, NULL) == 0) {
                text[strcspn(text, "\r\n")] = 0;
                if (git_set_public_key(k, text, e) == 0)
                        return 0;
        }
        error_set(e, EINVAL, "sign needs the public part of its key");
        return error_fix(e, "write public_key: \"ssh-ed25519 AAAA...\", as the .pub file of the key has it (ssh-add -L)");
}

static int check_hosts(const struct git_policy *g, struct error *e) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < g->n_hosts; i++) {
                const struct git_host *h = &g->hosts[i];
                if ((r = check_key(&h->key, "git_ssh", e)) < 0)
                        return r;
                if (!h->known_hosts_own && access(h->known_hosts, R_OK) < 0)
                        return error_errno(e, errno, "git_ssh: the known hosts of %s, %s, cannot be read", h->host, h->known_hosts);
        }
        return r;
}

static int add_call(struct plan *p, const char *name, struct error *e) {
        int r = strlist_add(&p->calls, name);
        return r < 0 ? error_errno(e, r, "the calls of the run cannot be planned") : 0;
}

static int load_program(struct view_facts *v, struct error *e) {
        _cleanup_free_ char *path = NULL;
        int r = host_own_program("belljar-call", &path, e);

        if (r < 0)
                return r;
        r = file_read(AT_FDCWD, path, CALL_PROGRAM_MAX, &v->call_program, &v->call_size);
        return r < 0 ? error_errno(e, r, "%s cannot be read", path) : 0;
}

int prepare_calls(const struct run_options *o, struct prepared *x, struct error *e) {
        struct git_policy *g = &o->policy->git;
        struct plan *p = x->plan;
        int r = 0;

        p->git = g;
        if (g->n_hosts > 0 && ((r = find_program("ssh", &p->ssh, e)) < 0 || (r = check_hosts(g, e)) < 0 || (r = add_call(p, "ssh", e)) < 0))
                return r;
        if (g->sign.on && ((r = find_program("ssh-keygen", &p->ssh_keygen, e)) < 0 || (r = check_key(&g->sign.key, "sign", e)) < 0 ||
                           (r = find_public_key(&g->sign.key, e)) < 0 || (r = add_call(p, "ssh-keygen", e)) < 0))
                return r;
        return p->calls.n > 0 ? load_program(&x->host.view, e) : 0;
}

/* Settings of git's by its environment, behind those that are there (git-config(1)). */
static int add_settings(const struct run_options *o, struct plan *p, const char *const settings[][2], size_t n) {
        const char *there = environment_get(&p->env, "GIT_CONFIG_COUNT");
        char name[40], text[24];
        uint64_t at = 0;
        int r = 0;

        if (there && (parse_u64(there, &at) < 0 || at > 1000))
                at = 0;
        for (size_t i = 0; r == 0 && i < n; i++, at++) {
                snprintf(name, sizeof(name), "GIT_CONFIG_KEY_%llu", (unsigned long long)at);
                r = environment_set(&p->env, o->policy, name, settings[i][0]);
                snprintf(name, sizeof(name), "GIT_CONFIG_VALUE_%llu", (unsigned long long)at);
                if (r == 0)
                        r = environment_set(&p->env, o->policy, name, settings[i][1]);
        }
        snprintf(text, sizeof(text), "%llu", (unsigned long long)at);
        /* Past the policy's word on it, which is counted in. */
        for (size_t i = 0; r == 0 && there && i < p->env.n; i++)
                if (str_after(p->env.items[i], "GIT_CONFIG_COUNT=")) {
                        free(p->env.items[i]);
                        p->env.items[i] = str_printf("GIT_CONFIG_COUNT=%s", text);
                        return p->env.items[i] ? 0 : -ENOMEM;
                }
        return r < 0 ? r : environment_set(&p->env, o->policy, "GIT_CONFIG_COUNT", text);
}

int prepare_calls_environment(const struct run_options *o, struct prepared *x, struct error *e) {
        const struct git_policy *g = &o->policy->git;
        struct plan *p = x->plan;
        int r = g->sign.on ? check_hidden(p, &g->sign.key, "sign", e) : 0;

        for (size_t i = 0; r == 0 && i < g->n_hosts; i++)
                r = check_hidden(p, &g->hosts[i].key, "git_ssh", e);
        if (r < 0)
                return r;
        if (g->n_hosts > 0 && (r = environment_set(&p->env, o->policy, "GIT_SSH_COMMAND", CALL_FOLDER "/ssh")) == 0)
                r = environment_set(&p->env, o->policy, "GIT_SSH_VARIANT", "ssh");
        if (r == 0 && g->sign.on) {
                _cleanup_free_ char *key = str_printf("key::%s", g->sign.key.public_key);
                const char *const settings[][2] = {
                        {"gpg.format", "ssh"}, {"gpg.ssh.program", CALL_FOLDER "/ssh-keygen"}, {"user.signingkey", key},
                        {"commit.gpgsign", g->sign.commits ? "true" : "false"}, {"tag.gpgsign", g->sign.tags ? "true" : "false"},
                };
                r = key ? add_settings(o, p, settings, ELEMENTSOF(settings)) : -ENOMEM;
        }
        return r < 0 ? error_errno(e, r, "the environment cannot be made") : 0;
}
