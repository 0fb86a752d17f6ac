/* What providers of tokens are told and what they answer; which permissions an App's token needs. */
#include <stdlib.h>

#include "model/mint.h"
#include "model/network.h"
#include "model/token.h"
#include "tap.h"

#define T32 "abcdefghijklmnopABCDEFGHIJKLMNOP"

TEST(forms) {
        char buf[200];
        size_t n = 0;

        check(token_form_add(buf, sizeof(buf), &n, "a", "x y") == 0 && token_form_add(buf, sizeof(buf), &n, "b", NULL) == 0 &&
              token_form_add(buf, sizeof(buf), &n, "c", "") == 0 && token_form_add(buf, sizeof(buf), &n, "d", "&=%+~\xc3\xa9-._*") == 0);
        buf[n] = 0;
        check_streq(buf, "a=x+y&d=%26%3D%25%2B%7E%C3%A9-._*");
        for (size_t room = 0; room < 8; room++) {
                n = 0;
                check(token_form_add(buf, room, &n, "key", "&&") == -ENOBUFS && n == 0);
        }
}

TEST(github_bodies) {
        char buf[200];
        ssize_t n = token_github_body(buf, sizeof(buf), "a  b.c", "contents=read issues=write");

        check(n > 0);
        buf[n] = 0;
        check_streq(buf, "{\"repositories\":[\"a\",\"b.c\"],\"permissions\":{\"contents\":\"read\",\"issues\":\"write\"}}");
        check(token_github_body(buf, 20, "a", "contents=read") == -ENOBUFS);
        check(token_github_body(buf, sizeof(buf), "a", "contents") == -EINVAL);
        n = token_jwt_head(buf, sizeof(buf), "4711", 1000);
        check(n > 0);
        buf[n] = 0;
        check_streq(buf, "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpYXQiOjk0MCwiZXhwIjoxNTQwLCJpc3MiOiI0NzExIn0");
        check(token_jwt_head(buf, 40, "4711", 1000) == -ENOBUFS);
        check(token_base64url(buf, sizeof(buf), "\xfb\xff\xfe", 3) == 4 && strncmp(buf, "-__-", 4) == 0);
        check(token_base64url(buf, sizeof(buf), "a", 1) == 2 && token_base64url(buf, 3, "a", 1) == -ENOBUFS);
}

TEST(oauth2_answers) {
        static const struct {
                const char *text, *scope;
                int r;
                int64_t seconds;
        } t[] = {
                {"{\"access_token\":\"" T32 "\",\"token_type\":\"Bearer\",\"expires_in\":60}", NULL, 0, 60},
                {"{\"access_token\":\"" T32 "\",\"expires_in\":\"60\"}", NULL, 0, 60},
                {"{\"access_token\":\"" T32 "\",\"expires_in\":-5}", NULL, 0, 0},
                {"{\"access_token\":\"" T32 "\",\"expires_in\":1e300}", NULL, 0, TOKEN_SECONDS_MAX},
                {"{\"access_token\":\"" T32 "\",\"scope\":\"b a\"}", "a b c", 0, 0},
                {"{\"access_token\":\"" T32 "\",\"scope\":\"a bb\"}", "a b c", -EPERM, 0},
                {"{\"access_token\":\"" T32 "\",\"scope\":\"anything\"}", NULL, 0, 0},
                {"{\"access_token\":\"" T32 "\",\"token_type\":\"mac\"}", NULL, -EBADMSG, 0},
                {"{\"access_token\":\"short\"}", NULL, -EBADMSG, 0},
                {"{\"access_token\":\"" T32 "\\n\"}", NULL, -EBADMSG, 0},
                {"{\"access_token\":\"" T32 "\",\"access_token\":\"" T32 "\"}", NULL, -EBADMSG, 0},
                {"{\"access_token\":\"" T32 "\",\"refresh_token\":7}", NULL, -EBADMSG, 0},
                {"{\"access_token\":[\"" T32 "\"]}", NULL, -EBADMSG, 0},
                {"[\"" T32 "\"]", NULL, -EBADMSG, 0}, {"", NULL, -EBADMSG, 0}, {"{", NULL, -EBADMSG, 0}, {"null", NULL, -EBADMSG, 0},
                {"{\"x\":[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]],\"access_token\":\"" T32 "\"}", NULL, -EBADMSG, 0},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                _cleanup_token_ struct token_answer a = {};
                struct error e = {};
                int r = token_oauth2_answer(t[i].text, strlen(t[i].text), t[i].scope, &a, &e);
                if (r != t[i].r)
                        printf("# %s: %d %s\n", t[i].text, r, e.msg);
                check(r == t[i].r && a.seconds == t[i].seconds && !strstr(e.msg, T32));
                check((a.token != NULL) == (r == 0 || r == -EPERM)); /* what is too wide can be revoked */
        }
        _cleanup_token_ struct token_answer a = {};
        const char *both = "{\"access_token\":\"" T32 "\",\"refresh_token\":\"next-" T32 "\"}";
        check(token_oauth2_answer(both, strlen(both), NULL, &a, NULL) == 0);
        check_streq(a.token, T32);
        check_streq(a.refresh, "next-" T32);
}

TEST(github_answers) {
        static const struct {
                const char *rest;
                int r;
        } t[] = {
                {"\"permissions\":{\"contents\":\"read\",\"metadata\":\"read\"},\"repository_selection\":\"selected\",\"repositories\":[{\"name\":\"a\"}]", 0},
                {"\"permissions\":{\"issues\":\"read\"},\"repositories\":[{\"name\":\"a\"},{\"name\":\"b\"}]", 0},
                {"\"permissions\":{},\"repositories\":[]", 0},
                {"\"permissions\":{\"contents\":\"write\"},\"repositories\":[{\"name\":\"a\"}]", -EPERM},
                {"\"permissions\":{\"contents\":\"\"},\"repositories\":[{\"name\":\"a\"}]", -EPERM},
                {"\"permissions\":{\"contents\":7},\"repositories\":[{\"name\":\"a\"}]", -EPERM},
                {"\"permissions\":{\"metadata\":\"write\"},\"repositories\":[{\"name\":\"a\"}]", -EPERM},
                {"\"permissions\":{\"content\":\"read\"},\"repositories\":[{\"name\":\"a\"}]", -EPERM},
                {"\"permissions\":{\"contents\":\"read\"},\"repositories\":[{\"name\":\"a\"},{\"name\":\"c\"}]", -EPERM},
                {"\"permissions\":{\"contents\":\"read\"},\"repositories\":[{\"id\":1}]", -EPERM},
                {"\"permissions\":{\"contents\":\"read\"},\"repository_selection\":\"all\",\"repositories\":[{\"name\":\"a\"}]", -EPERM},
                {"\"permissions\":{\"contents\":\"read\"}", -EPERM},
                {"\"repositories\":[{\"name\":\"a\"}]", -EPERM},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                _cleanup_token_ struct token_answer a = {};
                _cleanup_free_ char *text = str_printf("{\"token\":\"" T32 "\",\"expires_at\":\"1970-01-01T01:00:00Z\",%s}", t[i].rest);
                struct error e = {};
                int r = token_github_answer(text, strlen(text), "a b", "contents=read issues=write", 600, &a, &e);
                if (r != t[i].r)
                        printf("# %s: %d %s\n", text, r, e.msg);
                check(r == t[i].r && a.token && a.seconds == 3000);
        }
}

TEST(failures_and_times) {
        char word[TOKEN_CODE_MAX + 1];
        char text[400] = "{\"error\":\"";
        int64_t at;

        token_failure("{\"error\":\"invalid_client\",\"message\":\"m\"}", 40, word);
        check_streq(word, "invalid_client");
        token_failure("{\"message\":\"Bad\\u001b[1m\\n\"}", 28, word);
        check_streq(word, "Bad?[1m?");
        token_failure("<html>", 6, word);
        check_streq(word, "");
        memset(text + strlen(text), 'x', 300);
        strcat(text, "\"}");
        token_failure(text, strlen(text), word);
        check(strlen(word) == TOKEN_CODE_MAX);
        check(token_time("2026-11-30T20:07:00Z", &at) == 0 && at == 1796069220);
        check(token_time("2026-11-30T20:07:00.123Z", &at) == 0 && at == 1796069220);
        check(token_time("2026-11-30T20:07:00", &at) < 0 && token_time("2026-11-30T20:07:00+01:00", &at) < 0 && token_time("soon", &at) < 0);
}

/* --- what an App's token needs --- */

static char *derived(const char *methods, const char *paths, bool deny) {
        struct mint m = {.kind = MINT_GITHUB_APP};
        struct network_rule rule = {.deny = deny, .secret = (char *)"it"};
        struct network n = {.rules = &rule, .n_rules = 1};
        struct strbuf b = {};
        char *copy, *save = NULL;

        copy = strdup(methods);
        for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
                check(strlist_add(&rule.methods, w) == 0);
        free(copy);
        copy = strdup(paths);
        for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
                check(strlist_add(&rule.paths, w) == 0);
        free(copy);
        check(mint_derive(&m, &n, "it", NULL) == 0 && m.derived);
        for (size_t i = 0; i < m.permissions.n; i++)
                strbuf_printf(&b, "%s%s", i ? " " : "", m.permissions.items[i]);
        strlist_clear(&m.permissions);
        strlist_clear(&rule.methods);
        strlist_clear(&rule.paths);
        return strbuf_take(&b);
}

TEST(derived_permissions) {
        static const struct {
                const char *methods, *paths, *want;
        } t[] = {
                {"GET", "/a/b.git/info/refs", "contents=read"},
                {"POST", "/a/b.git/git-upload-pack", "contents=read"},
                {"POST", "/a/b.git/git-upload-pack /a/b.git/git-receive-pack", "contents=write"},
                {"POST", "/a/*/git-*", "contents=write"},
                {"GET HEAD", "/repos/a/b/**", "contents=read"},
                {"", "/repos/a/b/**", "contents=write"}, /* any method */
                {"", "", "contents=write"},
                {"GET", "", "contents=read"},
                {"GET", "/repos/a/b/issues/**", "issues=read"},
                {"POST", "/repos/a/b/issues", "issues=write"},
                {"POST", "/repos/a/b/issuesx", "contents=write"},
                {"GET POST", "/repos/a/*/pulls/** /repos/a/b/labels", "pull_requests=write issues=write"},
                {"POST", "/repos/**/issues", "contents=write"},
                {"PUT", "/repos/a", "contents=write"},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                _cleanup_free_ char *got = derived(t[i].methods, t[i].paths, false);
                check_streq(got, t[i].want);
        }
        _cleanup_free_ char *denied = derived("", "/repos/a/b/issues", true); /* what is not let through needs nothing */
        check_streq(denied, "contents=read");
}

TEST(words_of_a_policy) {
        struct mint *m = (struct mint *)calloc(1, sizeof(*m));
        static const char *const bad[][2] = {
                {"token_url", "http://a.example/"}, {"token_url", "wss://a.example/"}, {"token_url", "https://u:p@a.example/"}, {"token_url", "x"}, {"revoke_url", "ftp://a/"},
                {"grant", "password"}, {"auth", "none"}, {"app_id", "x"}, {"app_id", "0"}, {"installation_id", "-1"}, {"client_id", ""}, {"scope", "a\nb"}, {"client_secret", "hunter2"},
                {"other", "x"},
        };
        struct error e = {};

        check(m);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                check(mint_set(m, bad[i][0], bad[i][1], &e) == -EINVAL);
                check(!strstr(e.msg, "hunter2") && !strstr(e.fix, "hunter2"));
        }
        check(mint_check(m, &e) == -EINVAL && strstr(e.msg, "token_url"));
        check(mint_set(m, "token_url", "https://A.example:8443/t?x=1", NULL) == 0 && mint_set(m, "client_id", "me", NULL) == 0 && mint_check(m, NULL) == 0);
        check_streq(m->host, "a.example");
        check(mint_set(m, "client_secret", "env:X", NULL) == 0 && mint_check(m, NULL) == -EINVAL);
        check(mint_set(m, "grant", "refresh_token", NULL) == 0 && mint_check(m, NULL) == 0);
        check(mint_add_repository(m, "acme/a", NULL) == -EINVAL && mint_add_repository(m, "a\"b", NULL) == -EINVAL && mint_add_repository(m, "a.b-c_d", NULL) == 0);
        check(mint_add_permission(m, "contents", "all", NULL) == -EINVAL && mint_add_permission(m, "Contents", "read", NULL) == -EINVAL && mint_add_permission(m, "contents", "read", NULL) == 0);
        m->kind = MINT_GITHUB_APP;
        check(mint_check(m, NULL) == -EINVAL);
        mint_free(m);
        mint_free(NULL);
}

TAP_MAIN
