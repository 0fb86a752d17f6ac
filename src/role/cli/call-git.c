/* The calls `ssh` and `ssh-keygen`: git over ssh and git's signatures, by the host's own ssh with the caller's agent or one key. The
 * policy and what is asked for are model/git.h's; here the programs are started, anew from the checked parts, in a place of their own
 * (call-view.h).
 *
 * There is no network there: what ssh speaks over is a socket of the sandbox's network (call-dial.c). Whoever sits in between, the
 * sandbox's own processes included, can cut it and no more: ssh asks the server for its host key. Key, public key and known hosts lie in
 * a ramfs, which is in memory alone, never swapped, and ends with the process; a key that is a file's is read by that process and no other, one of the store's
 * comes to it in a pipe (call-keys.h). */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/call-view.h"
#include "role/cli/courier.h"
#include "svc/host.h"
#include "svc/secret-source.h"

#define KEY_FILE_MAX 65536u
#define KNOWN_HOSTS_MAX (8u << 20)
#define SIGNATURE_MAX 16384u

_noreturn_ static void fail(const char *what, int err) {
        dprintf(2, "belljar: %s%s%s\n", what, err ? ": " : "", err ? strerror(err < 0 ? -err : err) : "");
        _exit(255);
}

static void put(const char *path, const char *text, size_t n) {
        int r = call_view_put(path, text, n);

        if (r < 0)
                fail("a key cannot be put in place", r);
}

/* In the child: what it needs of the host is read, then it is on its own. Nothing of the caller's environment stays, which is anybody's:
 * variables are options, too. */
static void isolate(const struct call *c, const struct git_key *key, const char *known_hosts, const char *helper, bool protocol) {
        const char *agent = key->source == GIT_KEY_AGENT ? getenv("SSH_AUTH_SOCK") : NULL;
        _cleanup_vault_ struct vault_text private_key = {};
        _cleanup_free_ char *known = NULL;
        struct error e = {};
        size_t n_known = 0;
        int r;

        if (key->source == GIT_KEY_FILE && secret_file_read("the key", key->path, KEY_FILE_MAX, &private_key, &e) < 0)
                fail(e.msg, 0);
        if (known_hosts && (r = file_read(AT_FDCWD, known_hosts, KNOWN_HOSTS_MAX, &known, &n_known)) < 0 && r != -ENOENT)
                fail("the known hosts cannot be read", r);
        if (key->source == GIT_KEY_STORE && c->key < 0)
                fail("there is no room in this host's pipes to hand the key over", 0);
        if (key->source == GIT_KEY_STORE && vault_read(c->key, -1, SECRET_KEY_MAX, -1, &private_key, &e) < 0)
                fail(e.msg, 0);
        if (key->source == GIT_KEY_AGENT && (!agent || access(agent, R_OK | W_OK) < 0))
                fail("the ssh agent cannot be reached", agent ? errno : 0);
        if ((r = call_view_begin(helper, agent)) < 0)
                fail("a place of its own for ssh cannot be made", r);
        if (private_key.p)
                put("/key", private_key.p, private_key.n);
        if (key->public_key)
                put("/key.pub", key->public_key, strlen(key->public_key));
        put("/known_hosts", known ? known : "", n_known);
        if ((r = call_view_enter()) < 0)
                fail("ssh cannot be confined", r);
        if (clearenv() != 0 || setenv("PATH", "/usr/bin:/bin", 1) < 0 || setenv("SHELL", "/bin/sh", 1) < 0 || /* which ssh runs its ProxyCommand by */
            setenv("HOME", "/", 1) < 0 || (agent && setenv("SSH_AUTH_SOCK", CALL_VIEW_AGENT, 1) < 0) || (protocol && setenv("GIT_PROTOCOL", "version=2", 1) < 0))
                fail("the environment cannot be made", errno);
}

static bool has_file(const struct git_key *key) { return key->source != GIT_KEY_AGENT; }

/* For the program that is started next. */
static void leave_key(struct call *c, const struct git_key *key) {
        c->key = key->source == GIT_KEY_STORE ? call_keys_find(c->keys, c->key_fds, key->name) : -1;
}

/* Everything is said here, so that no file of the host's adds to it (-F none). */
_noreturn_ static void become_ssh(const struct call *c, const struct git_host *h, const struct git_ask *a, const char *helper) {
        static char known_hosts[] = "UserKnownHostsFile=/known_hosts", proxy[] = "ProxyCommand=" CALL_VIEW_HELPER;
        static char *const fixed[] = {
                "-F", "none", "-o", "IgnoreUnknown=EnableEscapeCommandline", "-T", "-a", "-x", "-k", "-e", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "UpdateHostKeys=no",
                "-o", "VerifyHostKeyDNS=no", "-o", "CheckHostIP=no", "-o", "HashKnownHosts=no", "-o", known_hosts,
                "-o", "ClearAllForwardings=yes", "-o", "ForwardAgent=no", "-o", "ControlMaster=no", "-o", "ControlPath=none", "-o", "PermitLocalCommand=no",
                "-o", "EnableEscapeCommandline=no", "-o", "PreferredAuthentications=publickey", "-o", "AddKeysToAgent=no", "-o", "CanonicalizeHostname=no",
                "-o", "ConnectTimeout=60", "-o", "ServerAliveInterval=30", "-o", "LogLevel=ERROR",
                "-o", "PKCS11Provider=none", "-o", "ProxyUseFdpass=yes", "-o", proxy,
        };
        char *argv[ELEMENTSOF(fixed) + 20], port[8], identity[64];
        size_t n = 0;

        argv[n++] = "ssh";
        memcpy(argv + n, fixed, sizeof(fixed));
        n += ELEMENTSOF(fixed);
        snprintf(port, sizeof(port), "%u", h->port);
        snprintf(identity, sizeof(identity), "IdentityFile=%s", has_file(&h->key) || h->key.public_key ? "/key" : "none");
        argv[n++] = "-o";
        argv[n++] = h->known_hosts_own ? "GlobalKnownHostsFile=/etc/ssh/ssh_known_hosts" : "GlobalKnownHostsFile=none";
        argv[n++] = "-o";
        argv[n++] = identity;
        argv[n++] = "-o";
        argv[n++] = has_file(&h->key) || h->key.public_key ? "IdentitiesOnly=yes" : "IdentitiesOnly=no";
        if (a->protocol) {
                argv[n++] = "-o";
                argv[n++] = "SendEnv=GIT_PROTOCOL";
        }
        argv[n++] = "-p";
        argv[n++] = port;
        argv[n++] = "-l";
        argv[n++] = h->user;
        argv[n++] = "--";
        argv[n++] = h->host;
        argv[n++] = (char *)a->command;
        argv[n] = NULL;
        isolate(c, &h->key, h->known_hosts, helper, a->protocol);
        execv(c->plan->ssh, argv);
        fail("ssh cannot be executed", errno);
}

/* -EKEYREVOKED: it is not to be used any more. */
static int begin(struct call *c, enum calls_revoked what) {
        __atomic_store_n(&c->shared->serving[c->slot], what, __ATOMIC_SEQ_CST);
        return __atomic_load_n(&c->shared->revoked, __ATOMIC_SEQ_CST) & what ? -EKEYREVOKED : 0;
}

static void used(struct call_account *account) { __atomic_add_fetch(&account->uses, 1, __ATOMIC_RELAXED); }

int call_ssh(struct call *c) {
        const struct git_policy *g = c->plan->git;
        struct courier_child child;
        struct git_ask a;
        struct error e = {};
        _cleanup_free_ char *helper = NULL;

        if (git_ssh_read(g, c->words.argv, c->words.argc, &a, &e) < 0)
                return courier_refuse(c, &c->accounts[CALL_ACCOUNT_REFUSED], e.fix, a.subject, "%s", e.msg);
        if (begin(c, CALLS_GIT_SSH) < 0)
                return courier_refuse(c, &c->accounts[CALL_ACCOUNT_REFUSED], "", a.subject, "git_ssh was revoked: this run goes on without it");
        const struct git_host *h = &g->hosts[a.host];
        if (host_own_program("belljar-call", &helper, &e) < 0) {
                courier_say(c, "%s", e.msg);
                return 255;
        }
        _cleanup_fd_ int fd = courier_dial(c, h->host, h->port);
        if (fd < 0) {
                courier_say(c, "%s:%u cannot be reached from this sandbox: %s", h->host, h->port, strerror(-fd));
                return 255;
        }
        leave_key(c, &h->key);
        int r = courier_start(c, &child);
        if (r == 0)
                become_ssh(c, h, &a, helper);
        if (r > 0)
                r = courier_leave_fd(&child, fd);
        if (r < 0) {
                courier_say(c, "ssh cannot be started: %s", strerror(-r));
                return 255;
        }
        fd_close(TAKE_FD(fd));
        struct call_account *account = &c->accounts[2 * a.host + (a.service == GIT_RECEIVE_PACK)];
        used(account);
        return courier_relay(c, &child, true, account);
}

_noreturn_ static void become_keygen(const struct call *c, const struct git_key *key) {
        char *argv[] = {"ssh-keygen", "-Y", "sign", "-n", "git", "-f", has_file(key) ? "/key" : "/key.pub", NULL};

        isolate(c, key, NULL, NULL, false);
        execv(c->plan->ssh_keygen, argv);
        fail("ssh-keygen cannot be executed", errno);
}

static int sign(struct call *c, const char *object, size_t n, char **ret, size_t *ret_n) {
        struct courier_child child;

        leave_key(c, &c->plan->git->sign.key);
        int r = courier_start(c, &child);
        if (r == 0)
                become_keygen(c, &c->plan->git->sign.key);
        return r < 0 ? r : courier_collect(&child, object, n, SIGNATURE_MAX, ret, ret_n);
}

int call_keygen(struct call *c) {
        const struct git_sign *s = &c->plan->git->sign;
        struct git_keygen_ask a;
        struct error e = {};
        _cleanup_free_ char *object = NULL, *signature = NULL;
        size_t n, n_signature;
        bool tag;
        int r;

        if (git_keygen_read(c->words.argv, c->words.argc, &a, &e) < 0)
                return courier_refuse(c, &c->accounts[CALL_ACCOUNT_REFUSED], "", "sign", "%s", e.msg);
        if (a.what == GIT_KEYGEN_VERIFY) {
                courier_send(c, CALL_EXEC, "/usr/bin/ssh-keygen", sizeof("/usr/bin/ssh-keygen"));
                _exit(0);
        }
        if (begin(c, CALLS_SIGN) < 0)
                return courier_refuse(c, &c->accounts[CALL_ACCOUNT_REFUSED], "", "sign", "sign was revoked: this run goes on without it");
        if ((r = courier_read_file(c, a.buffer, GIT_OBJECT_MAX, &object, &n)) < 0) {
                courier_say(c, "what is to be signed cannot be read: %s", strerror(-r));
                return 255;
        }
        if (git_object_read(s, object, n, &tag, &e) < 0)
                return courier_refuse(c, &c->accounts[CALL_ACCOUNT_REFUSED], e.fix, "sign", "%s", e.msg);
        r = sign(c, object, n, &signature, &n_signature);
        if (r != 0 || n_signature == 0) {
                courier_say(c, "it could not be signed%s%s", r < 0 ? ": " : ": does the agent have the key that the policy's public_key names?", r < 0 ? strerror(-r) : "");
                return 255;
        }
        _cleanup_free_ char *path = str_printf("%s.sig", a.buffer);
        r = path ? courier_write_file(c, path, signature, n_signature) : -ENOMEM;
        if (r < 0) {
                courier_say(c, "the signature cannot be written: %s", strerror(-r));
                return 255;
        }
        used(&c->accounts[tag ? CALL_ACCOUNT_TAGS : CALL_ACCOUNT_COMMITS]);
        return 0;
}

static void put_uses(struct strbuf *b, const struct call_account *a, const char *what) {
        char up[40], down[40];

        strbuf_printf(b, "; %s %llu times, %s up, %s down", what, (unsigned long long)a->uses, format_size(up, sizeof(up), a->up), format_size(down, sizeof(down), a->down));
}

static void json_account(struct json *j, const struct call_account *a, const char *kind, const char *host, const char *access) {
        json_begin(j, NULL, '{');
        json_str(j, "call", kind);
        json_str(j, "host", host);
        json_str(j, "what", access);
        json_num(j, "uses", (long long)__atomic_load_n(&a->uses, __ATOMIC_RELAXED));
        json_num(j, "up", (long long)__atomic_load_n(&a->up, __ATOMIC_RELAXED));
        json_num(j, "down", (long long)__atomic_load_n(&a->down, __ATOMIC_RELAXED));
        json_end(j, '}');
}

void call_git_json(struct json *j, const struct plan *p, const struct calls_shared *s) {
        const struct call_account *a = s ? s->account : NULL;

        json_begin(j, "calls", '[');
        for (size_t i = 0; a && i < p->git->n_hosts; i++) {
                json_account(j, &a[2 * i], "git_ssh", p->git->hosts[i].host, "read");
                if (p->git->hosts[i].write)
                        json_account(j, &a[2 * i + 1], "git_ssh", p->git->hosts[i].host, "write");
        }
        if (a && p->git->sign.on) {
                json_account(j, &a[CALL_ACCOUNT_COMMITS], "sign", NULL, "commits");
                json_account(j, &a[CALL_ACCOUNT_TAGS], "sign", NULL, "tags");
        }
        json_end(j, ']');
        json_begin(j, "calls_revoked", '[');
        for (uint32_t i = 0; s && i < 2; i++)
                if (__atomic_load_n(&s->revoked, __ATOMIC_RELAXED) >> i & 1)
                        json_str(j, NULL, i == 0 ? "git_ssh" : "sign");
        json_end(j, ']');
        json_num(j, "calls_refused", a ? (long long)__atomic_load_n(&a[CALL_ACCOUNT_REFUSED].refused, __ATOMIC_RELAXED) : 0);
}

void call_git_report(const struct plan *p, const struct calls_shared *s) {
        const struct git_policy *g = p->git;
        const struct call_account *a = s->account;

        for (size_t i = 0; i < g->n_hosts; i++) {
                _cleanup_strbuf_ struct strbuf b = {};
                _cleanup_free_ char *text = git_host_text(&g->hosts[i]), *visible = text ? str_visible_dup(text) : NULL;
                put_uses(&b, &a[2 * i], "read");
                if (g->hosts[i].write)
                        put_uses(&b, &a[2 * i + 1], "written to");
                fprintf(stderr, "belljar: git_ssh: could %s%s%s\n", visible ? visible : "?", b.data ? b.data : "", s->revoked & CALLS_GIT_SSH ? "; revoked" : "");
        }
        if (g->sign.on)
                fprintf(stderr, "belljar: sign: %llu commits and %llu tags were signed%s\n", (unsigned long long)a[CALL_ACCOUNT_COMMITS].uses,
                        (unsigned long long)a[CALL_ACCOUNT_TAGS].uses, s->revoked & CALLS_SIGN ? "; revoked" : "");
        if (a[CALL_ACCOUNT_REFUSED].refused)
                fprintf(stderr, "belljar: git_ssh and sign: %llu calls were refused\n", (unsigned long long)a[CALL_ACCOUNT_REFUSED].refused);
}
