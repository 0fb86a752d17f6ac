#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "model/git.h"
#include "tap.h"

static struct git_policy *policy(void) {
        static struct git_policy g;
        static struct git_host hosts[2];
        struct error e = {};

        if (g.n_hosts > 0)
                return &g;
        hosts[0] = (struct git_host){.host = strdup("git.test"), .user = strdup("git"), .port = 22, .write = true};
        hosts[1] = (struct git_host){.host = strdup("git.test"), .user = strdup("code"), .port = 2222};
        check(git_add_repository(&hosts[0], "acme/tool.git", &e) == 0 && git_add_repository(&hosts[0], "libs/a*", &e) == 0);
        check(git_add_repository(&hosts[1], "/srv/x/", &e) == 0);
        g.hosts = hosts;
        g.n_hosts = 2;
        return &g;
}

/* The words of one call, NULL behind the last; the reason of a refusal, or NULL. */
static const char *ask(struct git_ask *a, const char *const *argv) {
        static struct error e;
        size_t n = 0;

        while (argv[n])
                n++;
        e = (struct error){};
        return git_ssh_read(policy(), argv, n, a, &e) < 0 ? e.msg : NULL;
}

#define ASK(a, ...) ask(a, (const char *const[]){__VA_ARGS__, NULL})

TEST(what_git_asks_for) {
        struct git_ask a;

        check(!ASK(&a, "-o", "SendEnv=GIT_PROTOCOL", "git@git.test", "git-upload-pack 'acme/tool.git'"));
        check(a.host == 0 && a.service == GIT_UPLOAD_PACK && a.protocol && strcmp(a.command, "git-upload-pack 'acme/tool.git'") == 0);
        check(strcmp(a.repository, "acme/tool") == 0 && strcmp(a.subject, "git_ssh git.test acme/tool read") == 0);
        check(!ASK(&a, "-4", "git@GIT.test", "git-receive-pack '/acme/tool'") && a.service == GIT_RECEIVE_PACK && !a.protocol);
        check(strcmp(a.command, "git-receive-pack '/acme/tool'") == 0);
        check(!ASK(&a, "git.test", "git-upload-archive 'libs/abc'") && a.service == GIT_UPLOAD_ARCHIVE);
        check(!ASK(&a, "-p", "2222", "code@git.test", "git-upload-pack '/srv/x.git'") && a.host == 1);
}

TEST(what_no_entry_allows) {
        struct git_ask a;

        check(strstr(ASK(&a, "git@other.test", "git-upload-pack 'acme/tool'"), "this host and port"));
        check(strstr(ASK(&a, "-p", "23", "git@git.test", "git-upload-pack 'acme/tool'"), "this host and port"));
        check(strstr(ASK(&a, "root@git.test", "git-upload-pack 'acme/tool'"), "this user"));
        check(strstr(ASK(&a, "git@git.test", "git-upload-pack 'acme/other'"), "this repository"));
        check(strstr(ASK(&a, "git@git.test", "git-upload-pack 'libs/b'"), "this repository"));
        check(strstr(ASK(&a, "git@git.test", "git-upload-pack 'libs/a/b'"), "this repository"));
        check(strstr(ASK(&a, "git@git.test", "git-upload-pack 'acme'"), "this repository"));
        check(strstr(ASK(&a, "-p", "2222", "code@git.test", "git-receive-pack '/srv/x'"), "read only"));
        check(strstr(ASK(&a, "-p", "2222", "code@git.test", "git-upload-pack 'srv/x'"), "this repository"));
}

TEST(what_git_never_says) {
        static const char *const commands[] = {
                "", "ls", "git-upload-pack", "git-upload-pack acme/tool", "git-upload-pack  'acme/tool'", "git-upload-pack 'acme/tool", "git-upload-pack 'acme/tool' x",
                "git-upload-pack 'acme/tool';id", "git-upload-pack 'acme/tool''x'", "git-upload-pack 'acme/../tool'", "git-upload-pack 'acme/./tool'",
                "git-upload-pack '../acme/tool'", "git-upload-pack 'acme//tool'", "git-upload-pack '//acme/tool'", "git-upload-pack '-x/tool'", "git-upload-pack '~git/acme/tool'",
                "git-upload-pack 'acme/to\\ol'", "git-upload-pack 'acme/to\nol'", "git-upload-pack 'acme/to ol'", "git-upload-pack '$(id)'", "git-upload-pack ''", "git-upload-pack '/'",
                "git-upload-pack '.git'", "git-shell 'acme/tool'", "git upload-pack 'acme/tool'", "git-upload-pack 'acme/t*'", "git-upload-pack \"acme/tool\"", "git-upload-pack 'acme/tool/-x'",
        };
        struct git_ask a;

        for (size_t i = 0; i < ELEMENTSOF(commands); i++)
                check(ASK(&a, "git@git.test", commands[i]));
        check(ASK(&a, "git@git.test") && ASK(&a, "git@git.test", "git-upload-pack 'acme/tool'", "x") && ASK(&a, "-o", "ProxyCommand=x", "git@git.test", "git-upload-pack 'acme/tool'"));
        check(ASK(&a, "-oProxyCommand=x", "git-upload-pack 'acme/tool'") && ASK(&a, "--", "git@git.test", "git-upload-pack 'acme/tool'") && ASK(&a, "-p"));
        check(ASK(&a, "-p", "0", "git@git.test", "git-upload-pack 'acme/tool'") && ASK(&a, "-p", "65558", "git@git.test", "git-upload-pack 'acme/tool'"));
        check(ASK(&a, "@git.test", "git-upload-pack 'acme/tool'") && ASK(&a, "git@x@git.test", "git-upload-pack 'acme/tool'") && ASK(&a, "git@-x", "git-upload-pack 'acme/tool'"));
        check(git_ssh_read(policy(), NULL, 0, &a, NULL) == -EPERM);
}

TEST(parts_of_an_entry) {
        struct git_host h = {};
        struct git_sign s = {};
        struct error e = {};

        check(git_add_repository(&h, "", &e) < 0 && git_add_repository(&h, "a/../b", &e) < 0 && git_add_repository(&h, "a b", &e) < 0 && git_add_repository(&h, "-a", &e) < 0);
        check(git_set_user(&h, "-l", &e) < 0 && git_set_user(&h, "a b", &e) < 0 && git_set_user(&h, "a.b-c", &e) == 0);
        check(git_set_key(&h.key, "agent", &e) == 0 && git_set_key(&h.key, "x", &e) < 0 && git_set_key(&h.key, "file:", &e) < 0 && git_set_key(&h.key, "file:/k", &e) == 0);
        check(git_set_key(&h.key, "store:", &e) < 0 && git_set_key(&h.key, "store:a b", &e) < 0 && git_set_key(&h.key, "store:../x", &e) < 0 && h.key.source == GIT_KEY_FILE);
        check(git_set_key(&h.key, "store:deploy", &e) == 0 && h.key.source == GIT_KEY_STORE && streq(h.key.name, "deploy"));
        check(git_set_public_key(&h.key, "ssh-ed25519", &e) < 0 && git_set_public_key(&h.key, "-----BEGIN OPENSSH PRIVATE KEY-----", &e) < 0);
        check(git_set_public_key(&h.key, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 a b", &e) == 0 && git_set_public_key(&h.key, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\nx", &e) < 0);
        check(git_set_as(&s, "A", &e) < 0 && git_set_as(&s, "A <>", &e) < 0 && git_set_as(&s, "A <a@b> x", &e) < 0 && git_set_as(&s, "<a@b>", &e) == 0);
        git_host_clear(&h);
        free(s.as);
}

#define ID "0123456789abcdef0123456789abcdef01234567"
#define WHO(what) what " A B <a@b.test> 1700000000 +0100\n"
#define COMMIT "tree " ID "\nparent " ID "\n" WHO("author") WHO("committer") "\nmessage\n"
#define TAG "object " ID "\ntype commit\ntag v1\n" WHO("tagger") "\nmessage\n"

static int object(const char *text, size_t n, const char *as, bool tags) {
        struct git_sign s = {.commits = true, .tags = tags, .as = (char *)as};
        struct error e = {};
        bool tag;

        return git_object_read(&s, text, n, &tag, &e);
}
#define OBJECT(text) object(text, sizeof(text) - 1, NULL, true)

TEST(objects) {
        check(OBJECT(COMMIT) == 0 && OBJECT(TAG) == 0);
        check(OBJECT("tree " ID "\n" WHO("author") WHO("committer") "encoding ISO-8859-1\n\n") == 0);
        check(OBJECT("tree " ID "\n" WHO("author") WHO("committer") "mergetag object " ID "\n type commit\n tag v\n\nm") == 0);
        check(object(TAG, sizeof(TAG) - 1, NULL, false) == -EPERM && object(COMMIT, sizeof(COMMIT) - 1, NULL, false) == 0);
        check(object(COMMIT, sizeof(COMMIT) - 1, "A B <a@b.test>", true) == 0 && object(COMMIT, sizeof(COMMIT) - 1, "<a@b.test>", true) == 0);
        check(object(COMMIT, sizeof(COMMIT) - 1, "A <a@b.test>", true) == -EPERM && object(TAG, sizeof(TAG) - 1, "<x@b.test>", true) == -EPERM);
        for (size_t n = 0; n < sizeof(COMMIT) - 1 - strlen("message\n"); n++)
                check(object(COMMIT, n, NULL, true) == -EPERM);
}

TEST(what_is_no_object) {
        check(OBJECT("") && OBJECT("hello\n") && OBJECT("tree x\n" WHO("author") WHO("committer") "\n"));
        check(OBJECT("tree " ID "\n" WHO("committer") WHO("author") "\n") && OBJECT("tree " ID "\n" WHO("author") "\n"));
        check(OBJECT("tree " ID "\n" WHO("author") WHO("committer") "gpgsig x\n\nm") && OBJECT("tree " ID "\n" WHO("author") WHO("committer") "x y\n\nm"));
        check(OBJECT("tree " ID "\n" WHO("author") "committer A <a@b> 1 +0\n\n") && OBJECT("tree " ID "\n" WHO("author") "committer A <a@b <c> 1 +0000\n\n"));
        check(OBJECT("tree " ID "\n" WHO("author") "committer A a@b 1 +0000\n\n") && OBJECT("tree " ID "\n" WHO("author") WHO("committer") "\nm\0x"));
        check(OBJECT("object " ID "\ntype thing\ntag v1\n" WHO("tagger") "\n") && OBJECT("object " ID "\ntype commit\ntag v1\n\n"));
}

static int keygen(const char *const *argv, struct git_keygen_ask *a) {
        struct error e = {};
        size_t n = 0;

        while (argv[n])
                n++;
        return git_keygen_read(argv, n, a, &e);
}
#define KEYGEN(...) keygen((const char *const[]){__VA_ARGS__, NULL}, &a)

TEST(keygen_as_git_calls_it) {
        struct git_keygen_ask a;

        check(KEYGEN("-Y", "sign", "-n", "git", "-f", "/tmp/k", "/tmp/b") == 0 && a.what == GIT_KEYGEN_SIGN && strcmp(a.buffer, "/tmp/b") == 0);
        check(KEYGEN("-Y", "sign", "-n", "git", "-f", "/tmp/k", "-U", "/tmp/b") == 0 && strcmp(a.buffer, "/tmp/b") == 0);
        check(KEYGEN("-Y", "verify", "-n", "git", "-f", "a") == 0 && a.what == GIT_KEYGEN_VERIFY);
        check(KEYGEN("-Y", "find-principals", "x") == 0 && KEYGEN("-Y", "check-novalidate", "x") == 0);
        check(KEYGEN("-Y", "sign", "-n", "file", "-f", "k", "b") == -EPERM && KEYGEN("-Y", "sign", "-f", "k", "b") == -EPERM && KEYGEN("-Y", "sign", "-n", "git", "b") == -EPERM);
        check(KEYGEN("-Y", "sign", "-n", "git", "-f", "k") == -EPERM && KEYGEN("-Y", "sign", "-n", "git", "-f", "k", "b", "c") == -EPERM);
        check(KEYGEN("-Y", "sign", "-n", "git", "-f", "k", "-O", "x", "b") == -EPERM && KEYGEN("-t", "ed25519") == -EPERM && KEYGEN("-Y") == -EPERM);
}

TAP_MAIN
