#include "model/environment.h"
#include "tap.h"

static char *const caller[] = {
        (char *)"PATH=/bin", (char *)"TERM=xterm", (char *)"LC_ALL=C", (char *)"GITHUB_TOKEN=ghp_x", (char *)"SSH_AUTH_SOCK=/run/s",
        (char *)"HTTPS_PROXY=http://p", (char *)"HOME=/root", (char *)"PATHS=1", (char *)"LC_=2", (char *)"TERMINFO=/x", NULL,
};

static bool has(const struct strlist *l, const char *s) { return strlist_has(l, s); }
static bool has_name(const struct strlist *l, const char *name) {
        for (size_t i = 0; i < l->n; i++)
                if (strncmp(l->items[i], name, strlen(name)) == 0 && l->items[i][strlen(name)] == '=')
                        return true;
        return false;
}

TEST(allow_list) {
        struct policy *p = policy_new();
        struct strlist l = {};
        struct error e = {};
        check(environment_plan(&l, caller, p, "/home/u", "u", "/run/user/1", "jar", &e) == 0);
        check(has(&l, "PATH=/bin") && has(&l, "TERM=xterm") && has(&l, "LC_ALL=C"));
        check(has(&l, "HOME=/home/u") && has(&l, "USER=u") && has(&l, "XDG_RUNTIME_DIR=/run/user/1"));
        check(!has_name(&l, "GITHUB_TOKEN") && !has_name(&l, "SSH_AUTH_SOCK") && !has_name(&l, "HTTPS_PROXY"));
        check(!has_name(&l, "PATHS") && !has_name(&l, "TERMINFO") && !has_name(&l, "HOSTNAME"));
        strlist_clear(&l);
        policy_free(p);
}

TEST(rules) {
        struct policy *p = policy_new();
        struct strlist l = {};
        struct error e = {};
        check(policy_add_env(p, "GITHUB_TOKEN", &e) == 0 && policy_add_env(p, "HOME=/x", &e) == 0 && policy_add_env(p, "A=", &e) == 0);
        check(environment_plan(&l, caller, p, "/home/u", "u", "/r", "jar", &e) == 0);
        check(has(&l, "GITHUB_TOKEN=ghp_x") && has(&l, "HOME=/x") && !has(&l, "HOME=/home/u") && has(&l, "A="));
        strlist_clear(&l);
        check(policy_add_env(p, "MISSING", &e) == 0);
        check(environment_plan(&l, caller, p, "/home/u", "u", "/r", "jar", &e) < 0 && strstr(e.msg, "MISSING"));
        strlist_clear(&l);
        policy_free(p);
}

TEST(no_path) {
        char *const none[] = {NULL};
        struct policy *p = policy_new();
        struct strlist l = {};
        struct error e = {};
        check(environment_plan(&l, none, p, "/h", "u", "/r", "jar", &e) == 0 && has_name(&l, "PATH"));
        strlist_clear(&l);
        policy_free(p);
}

/* The host's name stays out; who expects the variable finds the sandbox's. */
TEST(host_name) {
        char *const has_it[] = {(char *)"HOSTNAME=secret-host", NULL};
        struct policy *p = policy_new();
        struct strlist l = {}, image = {};
        struct error e = {};
        check(environment_plan(&l, has_it, p, "/h", "u", "/r", "jar", &e) == 0 && has(&l, "HOSTNAME=jar") && !has(&l, has_it[0]));
        strlist_clear(&l);
        check(environment_plan_image(&l, caller, &image, p, "/root", "jar", false, &e) == 0 && has(&l, "HOSTNAME=jar"));
        strlist_clear(&l);
        check(strlist_add(&image, "HOSTNAME=of-the-image") == 0);
        check(environment_plan_image(&l, has_it, &image, p, "/root", "jar", false, &e) == 0 && has(&l, "HOSTNAME=of-the-image") &&
              !has(&l, "HOSTNAME=jar"));
        strlist_clear(&l);
        check(policy_add_env(p, "HOSTNAME=said", &e) == 0);
        check(environment_plan_image(&l, has_it, &image, p, "/root", "jar", false, &e) == 0 && has(&l, "HOSTNAME=said") && l.n > 0 &&
              !has(&l, "HOSTNAME=of-the-image"));
        strlist_clear(&l);
        check(environment_plan(&l, has_it, p, "/h", "u", "/r", "jar", &e) == 0 && has(&l, "HOSTNAME=said") && !has(&l, "HOSTNAME=jar"));
        strlist_clear(&l);
        strlist_clear(&image);
        policy_free(p);
}

TEST(of_an_image) {
        struct policy *p = policy_new();
        struct strlist l = {}, image = {};
        struct error e = {};
        check(strlist_add(&image, "PATH=/opt/bin:/bin") == 0 && strlist_add(&image, "HOME=/srv/x") == 0 &&
              strlist_add(&image, "A=1") == 0 && strlist_add(&image, "B=2") == 0 && strlist_add(&image, "TERM=dumb") == 0);
        check(policy_add_env(p, "B=3", &e) == 0 && policy_add_env(p, "GITHUB_TOKEN", &e) == 0);
        check(environment_plan_image(&l, caller, &image, p, "/root", "jar", false, &e) == 0);
        check(has(&l, "PATH=/opt/bin:/bin") && !has(&l, "PATH=/bin") && has(&l, "A=1"));
        check(has(&l, "HOME=/srv/x") && !has(&l, "HOME=/root"));
        check(has(&l, "B=3") && !has(&l, "B=2"));
        check(has(&l, "TERM=dumb") && !has(&l, "TERM=xterm")); /* the image's word stands */
        check(has(&l, "GITHUB_TOKEN=ghp_x") && !has_name(&l, "LC_ALL") && !has_name(&l, "SSH_AUTH_SOCK"));
        check(!has_name(&l, "FAKEROOTDONTTRYCHOWN"));
        strlist_clear(&l);
        strlist_clear(&image);
        check(environment_plan_image(&l, caller, &image, p, "/root", "jar", true, &e) == 0);
        check(has(&l, "HOME=/root") && has(&l, "TERM=xterm") && has_name(&l, "PATH") && has(&l, "FAKEROOTDONTTRYCHOWN=1"));
        strlist_clear(&l);
        policy_free(p);
}

TAP_MAIN
