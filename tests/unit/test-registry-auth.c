/* Choosing logins; hosts of a registries.conf. */
#include "base/str.h"
#include "svc/registry-auth.h"
#include "tap.h"

static struct registry_auth auth;

static int add(const char *text, const char *registry, const char *also) {
        _cleanup_strlist_ struct strlist hosts = {};
        check(strlist_add(&hosts, registry) == 0 && (!also || strlist_add(&hosts, also) == 0));
        return registry_auth_add(&auth, text, strlen(text), &hosts, registry);
}

static void is(const char *want) {
        char *text;
        check(registry_auth_text(&auth, &text) == 0);
        if (want)
                check_streq(text, want);
        else
                check(!text);
        free(text);
        registry_auth_clear(&auth);
}

TEST(hosts) {
        static const char *const keys[][2] = {
                {"docker.io", "docker.io"}, {"https://index.docker.io/v1/", "docker.io"}, {"registry-1.docker.io", "docker.io"},
                {"quay.io/team/x", "quay.io"}, {"http://r.example:5000", "r.example:5000"}, {"docker.io.evil.example", "docker.io.evil.example"}, {"", ""},
        };
        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                _cleanup_free_ char *host = registry_host(keys[i][0]);
                check_streq(host, keys[i][1]);
        }
}

/* The other registries' logins stay outside. */
TEST(one_of_several) {
        const char *text = "{\"auths\":{\"r.example\":{\"auth\":\"YTpi\"},\"r.example:5000\":{\"auth\":\"YzpE\"},"
                           "\"https://index.docker.io/v1/\":{\"auth\":\"ZTpm\"},\"quay.io/a\":{\"auth\":\"ZzpI\"}},\"other\":1}";
        check(add(text, "r.example:5000", NULL) == 0);
        is("{\"auths\":{\"r.example:5000\":{\"auth\":\"YzpE\"}}}");
        check(add(text, "docker.io", NULL) == 0);
        is("{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"ZTpm\"}}}");
        check(add(text, "quay.io", "r.example") == 0);
        is("{\"auths\":{\"r.example\":{\"auth\":\"YTpi\"},\"quay.io/a\":{\"auth\":\"ZzpI\"}}}");
        check(add(text, "none.example", NULL) == 0);
        is(NULL);
}

TEST(the_first_file_counts) {
        check(add("{\"auths\":{\"r.e\":{\"auth\":\"YTpi\"}}}", "r.e", NULL) == 0 && add("{\"auths\":{\"r.e\":{\"auth\":\"bm8=\"}}}", "r.e", NULL) == 0);
        is("{\"auths\":{\"r.e\":{\"auth\":\"YTpi\"}}}");
        check(add("{\"auths\":{\"r.e\":{}}}", "r.e", NULL) == 0 && add("{\"auths\":{\"r.e\":{\"identitytoken\":\"t\"}}}", "r.e", NULL) == 0);
        is("{\"auths\":{\"r.e\":{\"identitytoken\":\"t\"}}}");
}

TEST(helpers) {
        check(add("{\"credHelpers\":{\"r.e\":\"pass\",\"o.e\":\"other\"}}", "r.e", NULL) == 0);
        check_streq(auth.helper, "pass");
        is(NULL);
        check(add("{\"credsStore\":\"desktop\",\"auths\":{\"r.e\":{}}}", "r.e", NULL) == 0);
        check_streq(auth.helper, "desktop");
        is(NULL);
        check(add("{\"credsStore\":\"desktop\",\"auths\":{\"o.e\":{}}}", "r.e", NULL) == 0 && !auth.helper[0]);
        is(NULL);
        check(add("{\"credsStore\":\"desktop\",\"auths\":{\"r.e\":{\"auth\":\"YTpi\"}}}", "r.e", NULL) == 0 && !auth.helper[0]);
        is("{\"auths\":{\"r.e\":{\"auth\":\"YTpi\"}}}");
}

TEST(no_such_file) {
        static const char *const bad[] = {"", "[]", "null", "{", "{\"auths\":", "1", "\"\""};
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                check(add(bad[i], "r.e", NULL) == -EBADMSG);
        static const char *const empty[] = {"{}", "{\"auths\":[]}", "{\"auths\":{\"r.e\":1}}", "{\"credHelpers\":{\"r.e\":1}}", "{\"credsStore\":[]}"};
        for (size_t i = 0; i < ELEMENTSOF(empty); i++) {
                check(add(empty[i], "r.e", NULL) == 0 && !auth.helper[0]);
                is(NULL);
        }
}

TEST(locations) {
        _cleanup_strlist_ struct strlist hosts = {};
        check(registry_locations("[[registry]]\nprefix = \"docker.io\"\nlocation = \"mirror.example:5000/docker\"\n"
                                 "# location = \"no.example\"\n  location='single.example'\nmirror = [{location = \"in.example\"}, {location=\"two.example/x\"}]\n"
                                 "[aliases]\n\"x\" = \"alias.example/x\"\nlocation\nlocation = \nlocation = \"mirror.example:5000\"\nlocation = \"end.example", &hosts) == 0);
        static const char *const want[] = {"mirror.example:5000", "single.example", "in.example", "two.example", "end.example"};
        check(hosts.n == ELEMENTSOF(want));
        for (size_t i = 0; i < hosts.n; i++)
                check_streq(hosts.items[i], want[i]);
}

TAP_MAIN
