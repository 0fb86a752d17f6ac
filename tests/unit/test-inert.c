/* What may come out of a sandbox. */
#include "base/str.h"
#include "model/inert.h"
#include "tap.h"

TEST(links) {
        static const struct { const char *path, *target, *to; } t[] = {
                {"l", "a", "a"}, {"l", "a/b", "a/b"}, {"d/l", "../a", "a"}, {"d/e/l", "../../a", "a"}, {"d/e/l", "../f", "d/f"}, {"d/l", "x", "d/x"},
                {"d/l", ".././/x", "x"}, {"d/l", "..", "."}, {"l", ".", "."}, {"l", "./a", "a"}, {"d/l", "./../a", "a"}, {"l", "...", "..."}, {"l", ".a", ".a"},
                {"l", "/etc/passwd", NULL}, {"l", "..", NULL}, {"l", "../x", NULL}, {"d/l", "../../x", NULL}, {"l", "a/../b", NULL}, {"l", "a/..", NULL},
                {"l", "./a/../../x", NULL}, {"l", "", NULL}, {"d/l", "./.././../x", NULL}, {"l", "//x", NULL}, {"l", "/", NULL},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                char *to = inert_link_path(t[i].path, t[i].target);
                check(inert_link(t[i].path, t[i].target) == (t[i].to != NULL));
                if (t[i].to)
                        check_streq(to, t[i].to);
                else
                        check(!to);
                free(to);
        }
}

TEST(modes) {
        check(inert_mode(0, 0106777, 022) == 0755);
        check(inert_mode(0, 0104755, 077) == 0700);
        check(inert_mode(0664, 0100664, 022) == 0664); /* what it had it keeps */
        check(inert_mode(0644, 0100666, 022) == 0644);
        check(inert_mode(0644, 0100755, 022) == 0755);
        check(inert_mode(0644, 0101600, 022) == 0600);
}

TEST(xattrs) {
        check(inert_xattr("user.x") && !inert_xattr("user.overlay.opaque") && !inert_xattr("security.capability") && !inert_xattr("trusted.x") &&
              !inert_xattr("system.posix_acl_access") && !inert_xattr("user"));
}

TEST(refs) {
        static const char *const good[] = {"main", "a/b", "feature/x-1", "v1.0", "\xc3\xa9t\xc3\xa9", "a.b/c_d", "x@y", "lock"};
        static const char *const bad[] = {"", "-x", "a//b", "/a", "a/", "a..b", ".a", "a/.b", "a.lock", "a.lock/b", "a b", "a\nb", "a~1", "a^", "a:b", "a?", "a*", "a[",
                                          "a\\b", "@", "@{x", "a.", "\x1b[2J", "\xff", "\xe2\x80\xae", "a$b", "a;b", "a`b", "../x", "a/../b", "a/./b", "\x7f"};
        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                check(inert_ref(good[i]));
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                if (inert_ref(bad[i]))
                        printf("# case %zu\n", i);
                check(!inert_ref(bad[i]));
        }
        char name[600];
        memset(name, 'a', sizeof(name));
        name[255] = 0;
        check(!inert_ref(name));
        name[200] = 0;
        check(inert_ref(name));
}

TAP_MAIN
