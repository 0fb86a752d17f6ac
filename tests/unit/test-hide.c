#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "model/mint.h"
#include "svc/hide.h"
#include "svc/host.h"
#include "svc/shadow.h"
#include "tap.h"

/* A tree beneath a directory of the test's own, which becomes the working directory. */
static char dir[] = "/tmp/test-hide-XXXXXX", real[PATH_MAX];
static void tree(void) {
        check(mkdtemp(dir) && realpath(dir, real) && chdir(real) == 0);
        static const char *const dirs[] = {"a", "a/b", "a/b/c", "node", "node/x"};
        static const char *const files[] = {".env", "a/.env", "a/b/c/.env", "a/b/key.pem", "node/x/.env", "plain"};
        for (size_t i = 0; i < ELEMENTSOF(dirs); i++)
                check(mkdir(dirs[i], 0750) == 0);
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                int fd = open(files[i], O_WRONLY | O_CREAT, 0640);
                check(fd >= 0);
                close(fd);
        }
}

static int gather(const char *const *patterns, size_t n, enum workspace_mode mode, struct view_facts *v, struct plan **ret_plan,
                  struct error *e) {
        struct policy *policy = policy_new();
        struct plan *p = plan_new();
        for (size_t i = 0; i < n; i++)
                check(policy_add_hide(policy, patterns[i], e) == 0);
        p->workspace = strdup(real);
        p->home = strdup("/nonexistent");
        p->mode = mode;
        int r = hide_gather(p, policy, p->home, v, e);
        policy_free(policy);
        if (ret_plan)
                *ret_plan = p;
        else
                plan_free(p);
        return r;
}

static const struct view_hidden *hidden(const struct view_facts *v, const char *path) {
        for (size_t i = 0; i < v->n_hidden; i++)
                if (streq(v->hidden[i].path, path))
                        return &v->hidden[i];
        return NULL;
}

TEST(glob) {
        struct view_facts v = {};
        struct error e = {};
        tree();
        check(gather((const char *[]){"**/.env"}, 1, WORKSPACE_COW, &v, NULL, &e) == 0);
        check(v.n_hidden == 4 && hidden(&v, ".env") && hidden(&v, "a/b/c/.env") && hidden(&v, "node/x/.env"));
        check((hidden(&v, "a/b/c/.env")->modes[2] & 07777) == 0750);
        view_facts_clear(&v);
}

TEST(literal_existing_and_not) {
        struct view_facts v = {};
        struct error e = {};
        tree();
        check(gather((const char *[]){"a/b/key.pem", "a/new/deep/x", "nowhere/y", "plain/below"}, 4, WORKSPACE_COW, &v, NULL, &e) == 0);
        check(v.n_hidden == 4 && hidden(&v, "a/b/key.pem"));
        check(hidden(&v, "a/new")); /* the first part that does not exist */
        check(hidden(&v, "nowhere") && hidden(&v, "plain")); /* a file where a directory would have to be */
        view_facts_clear(&v);
}

TEST(links) {
        struct view_facts v = {};
        struct error e = {};
        tree();
        check(symlink("a/b/key.pem", "k") == 0 && symlink("a", "la") == 0);
        check(gather((const char *[]){"k", "la/.env"}, 2, WORKSPACE_COW, &v, NULL, &e) == 0);
        check(hidden(&v, "k") && hidden(&v, "a/b/key.pem")); /* the link and what it leads to */
        check(hidden(&v, "a/.env") && !hidden(&v, "la/.env")); /* by the real name */
        view_facts_clear(&v);
}

TEST(hard_link_is_noted) {
        struct view_facts v = {};
        struct error e = {};
        struct plan *p;
        tree();
        check(link("plain", "second") == 0);
        check(gather((const char *[]){"plain"}, 1, WORKSPACE_COW, &v, &p, &e) == 0);
        check(p->notes.n == 1 && strstr(p->notes.items[0], "2 names"));
        plan_free(p);
        view_facts_clear(&v);
}

TEST(other_modes_refuse) {
        struct error e = {};
        tree();
        for (int mode = WORKSPACE_RW; mode <= WORKSPACE_RO; mode++) {
                struct view_facts v = {};
                check(gather((const char *[]){".env"}, 1, (enum workspace_mode)mode, &v, NULL, &e) == -ENOTSUP && strstr(e.fix, "cow"));
                view_facts_clear(&v);
        }
}

TEST(elsewhere) {
        struct view_facts v = {};
        struct error e = {};
        tree();
        check(gather((const char *[]){"/opt/secret"}, 1, WORKSPACE_RW, &v, NULL, &e) == 0);
        check(v.n_hidden == 0 && strlist_has(&v.hidden_elsewhere, "/opt/secret"));
        view_facts_clear(&v);
        check(gather((const char *[]){"/tmp"}, 1, WORKSPACE_COW, &v, NULL, &e) < 0); /* the workspace lies in it */
}

/* Where secrets are read from, by whatever name, and what stands beside a token that is minted. */
TEST(sources_of_secrets) {
        tree();
        check(symlink("a/b/key.pem", "k") == 0);
        for (int mode = WORKSPACE_COW; mode <= WORKSPACE_RO; mode++) {
                struct view_facts v = {};
                struct error e = {};
                struct policy *policy = policy_new();
                struct plan *p = plan_new();
                struct network *net = &policy->network;
                static const char *const from[] = {"file:k", "file:~/.env", "env:X", "file:/nowhere/x"};
                for (size_t i = 0; i < ELEMENTSOF(from); i++) {
                        char name[8];
                        snprintf(name, sizeof(name), "s%zu", i);
                        struct secret *s = secret_add(&net->secrets, &net->n_secrets, name, &e);
                        check(s && secret_parse_source(from[i], s, &e) == 0);
                }
                struct mint *m = net->secrets[2].mint = calloc(1, sizeof(*m));
                check(m && (m->client_source = strdup("file:plain")));
                p->network.secrets = net->secrets;
                p->network.n_secrets = net->n_secrets;
                p->workspace = strdup(real);
                p->mode = (enum workspace_mode)mode;
                int r = hide_gather(p, policy, real, &v, &e);
                if (mode == WORKSPACE_COW) {
                        check(r == 0 && hidden(&v, "a/b/key.pem") && hidden(&v, ".env") && hidden(&v, "plain") && v.n_hidden == 3);
                        check(strlist_has(&v.hidden_elsewhere, "/nowhere/x") && p->hide.n == 3);
                        check(strlist_has(&p->hide, p->hide.items[0]) && strstr(p->hide.items[0], "/a/b/key.pem"));
                } else
                        check(r == -ENOTSUP && strstr(e.msg, "the secret s0") && strstr(e.fix, "cow"));
                policy_free(policy);
                plan_free(p);
                view_facts_clear(&v);
        }
}

TEST(special_files_of_rw) {
        struct view_facts v = {};
        struct error e = {};
        tree();
        check(mkfifo("a/b/pipe", 0600) == 0);
        check(gather(NULL, 0, WORKSPACE_RW, &v, NULL, &e) == 0 && v.sockets.n == 1);
        check(strstr(v.sockets.items[0], "/a/b/pipe"));
        view_facts_clear(&v);
        check(gather(NULL, 0, WORKSPACE_COW, &v, NULL, &e) == 0 && v.sockets.n == 0);
}

TEST(resolve) {
        struct error e = {};
        char *s = NULL;
        tree();
        check(symlink("a/b", "l") == 0);
        check(host_resolve("l/key.pem", real, "/h", &s, &e) == 0);
        check(strstr(s, "/a/b/key.pem"));
        free(s);
        check(host_resolve("l/new/x", real, "/h", &s, &e) == 0 && strstr(s, "/a/b/new/x"));
        free(s);
        check(host_resolve("~/x", real, "/nonexistent", &s, &e) == 0);
        check_streq(s, "/nonexistent/x");
        free(s);
        check(host_resolve("new/../../x", real, "/h", &s, &e) < 0); /* ".." beneath what does not exist */
        check(host_resolve("~other/x", real, "/h", &s, &e) < 0);
}

/* Files of another group, as an ordinary user with that group. */
TEST(shadow) {
        if (geteuid() != 0)
                skip("needs root to give files to another group");
        tree();
        gid_t groups[] = {65534, 4242};
        check(chown(real, 65534, 65534) == 0 && chown("a", 65534, 4242) == 0 && chmod("a", 02770) == 0);
        check(chown("a/b", 65534, 65534) == 0 && chown("a/b/key.pem", 65534, 4242) == 0 && chown("plain", 65534, 65534) == 0);
        check(chown("node", 0, 4242) == 0 && chmod("node", 0750) == 0); /* not writable for the group */
        check(chown("a/.env", 65534, 4242) == 0);
        check(setgroups(2, groups) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
        struct error e = {};
        struct strlist hide = {};
        check(strlist_add(&hide, "a/.env") == 0);
        check(mkdir("state", 0700) == 0);
        int state = open("state", O_RDONLY | O_DIRECTORY);
        check(shadow_make(state, real, &hide, &e) == 2);
        struct stat st;
        check(fstatat(state, "shadow/a", &st, 0) == 0 && st.st_gid == 65534 && (st.st_mode & 07777) == 02770);
        check(fstatat(state, "shadow/a/b/key.pem", &st, 0) == 0 && st.st_gid == 65534 && (st.st_mode & 0777) == 0640);
        check(fstatat(state, "shadow/a/.env", &st, 0) < 0);  /* hidden */
        check(fstatat(state, "shadow/node", &st, 0) < 0);    /* not the caller's to write */
        check(fstatat(state, "shadow/plain", &st, 0) < 0);   /* has an id of its own */
        strlist_clear(&hide);
        close(state);
}

TAP_MAIN
