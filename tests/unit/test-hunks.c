/* Hunks taken one by one. */
#include <errno.h>

#include "model/hunks.h"
#include "tap.h"

static const char old[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
static const char diff[] = "@@ -1,4 +1,5 @@\n+0\n 1\n-2\n+two\n 3\n 4\n@@ -9,4 +10,3 @@\n 9\n 10\n-11\n-12\n+twelve\n\\ No newline at end of file\n";

static char *applied(const char *text, const char *d, bool a, bool b) {
        struct hunk *h = NULL;
        size_t n = 0;
        struct strbuf out = {};
        bool take[2] = {a, b};

        check(hunks_parse(d, strlen(d), &h, &n) == 0 && n <= 2);
        int r = hunks_apply(text, strlen(text), d, h, n, take, &out);
        free(h);
        if (r == 0)
                return strbuf_take(&out);
        strbuf_clear(&out);
        return NULL;
}

TEST(each) {
        char *s = applied(old, diff, false, false);
        check_streq(s, old);
        free(s);
        s = applied(old, diff, true, true);
        check_streq(s, "0\n1\ntwo\n3\n4\n5\n6\n7\n8\n9\n10\ntwelve");
        free(s);
        s = applied(old, diff, true, false);
        check_streq(s, "0\n1\ntwo\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
        free(s);
        s = applied(old, diff, false, true);
        check_streq(s, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\ntwelve");
        free(s);
}

TEST(ends) {
        char *s = applied("", "@@ -0,0 +1 @@\n+x\n", true, false);
        check_streq(s, "x\n");
        free(s);
        s = applied("x", "@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n", true, false);
        check_streq(s, "");
        free(s);
        s = applied("x", "@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n", true, false);
        check_streq(s, "x\n");
        free(s);
        s = applied("-- a\n@@ -1 +1 @@\n", "@@ -1,2 +1,2 @@\n--- a\n-@@ -1 +1 @@\n+++ b\n+\\ No\n", true, false);
        check_streq(s, "++ b\n\\ No\n");
        free(s);
}

TEST(what_does_not_fit) {
        check(!applied("1\n", diff, true, true));
        check(!applied("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\neleven\n12\n", diff, false, true));
        check(!applied("x", "@@ -1 +1 @@\n-x\n+y\n", true, false)); /* no newline there */
        check(!applied("a\na\n", "@@ -2 +2 @@\n-a\n+b\n@@ -1 +1 @@\n-a\n+c\n", true, true));
}

TEST(no_diff) {
        static const char *const t[] = {
                "x", "@@ -1 +1 @@\n", "@@ -1 +1 @@\n-a\n", "@@ -0,1 +1 @@\n-a\n+b\n", "@@ -1 +1\n-a\n+b\n", "@@ -1,99999999999999999999 +1 @@\n-a\n", "--- a\n",
                "@@ -1 +1 @@\n-a\n-b\n", "@@ -1 +1 @@\n?a\n", "@@ - + @@\n",
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                struct hunk *h = NULL;
                size_t n = 0;
                check(hunks_parse(t[i], strlen(t[i]), &h, &n) == -EINVAL && !h);
        }
}

TAP_MAIN
