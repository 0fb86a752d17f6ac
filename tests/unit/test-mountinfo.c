#include "base/mountinfo.h"
#include "base/str.h"
#include "tap.h"

static const char sample[] =
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
        "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
        "36 35 98:0 /mnt1/a\\040b /mnt2/tab\\011nl\\012bs\\134x rw,noatime shared:9 master:1 - ext3 "
        "/dev/root\\040x rw,errors=continue\n"
        "40 27 0:50 / /home ro,nosuid - tmpfs  rw,size=4k\n"
        "41 27 0:51 /- /srv/- rw - fuse.sshfs a:b rw\n";

TEST(fields) {
        struct mountinfo *m = NULL;
        size_t n = 0;
        check(mountinfo_parse(sample, &m, &n) == 0);
        check(n == 5);
        check(m[0].id == 22 && m[0].parent == 27 && m[0].major == 0 && m[0].minor == 21);
        check_streq(m[0].fields, "");
        check_streq(m[1].fields, "shared:1");
        check_streq(m[1].super, "rw,discard");
        check_streq(m[2].root, "/mnt1/a b");
        check_streq(m[2].target, "/mnt2/tab\tnl\nbs\\x");
        check_streq(m[2].fields, "shared:9 master:1");
        check_streq(m[2].source, "/dev/root x");
        check_streq(m[3].source, ""); /* mount("", ...) */
        check_streq(m[3].fstype, "tmpfs");
        check_streq(m[3].options, "ro,nosuid");
        check_streq(m[4].target, "/srv/-");
        check_streq(m[4].fstype, "fuse.sshfs");
        free(m);
}

TEST(no_last_newline_and_empty) {
        struct mountinfo *m = NULL;
        size_t n = 7;
        check(mountinfo_parse("1 1 0:1 / / rw - proc proc rw", &m, &n) == 0);
        check(n == 1);
        check_streq(m[0].super, "rw");
        free(m);
        check(mountinfo_parse("", &m, &n) == 0);
        check(n == 0);
        free(m);
}

TEST(refused) {
        static const char *const bad[] = {
                "\n",
                "x\n",
                "1 1 0:1 / / rw - proc proc\n",
                "1 1 0:1 / / rw proc proc rw\n",
                "1 1 0-1 / / rw - a b c\n",
                "1 1 0:1 / rel rw - a b c\n",
                "1 1 0:1 / / rw - \n",
                "1  0:1 / / rw - a b c\n",
                "-1 1 0:1 / / rw - a b c\n",
                "99999999999999999999 1 0:1 / / rw - a b c\n",
                "1 1 0:4294967296 / / rw - a b c\n",
                "1 1 0:1 / /a\\000b rw - a b c\n",
                "1 1 0:1 / /a\\777b rw - a b c\n",
                "1 1 0:1 / /  - a b c\n",
        };
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                struct mountinfo *m = (void *)-1;
                size_t n = 3;
                int r = mountinfo_parse(bad[i], &m, &n);
                if (r != -EBADMSG)
                        printf("# case %zu: %d\n", i, r);
                check(r == -EBADMSG);
                check(m == (void *)-1 && n == 3); /* untouched on failure */
        }
}

TEST(too_many) {
        struct strbuf b = {};
        struct mountinfo *m;
        size_t n;
        for (unsigned i = 0; i <= MOUNTINFO_MAX; i++)
                strbuf_puts(&b, "1 1 0:1 / / rw - a b c\n");
        check(!b.failed);
        check(mountinfo_parse(b.data, &m, &n) == -E2BIG);
        b.data[b.len - 23] = 0; /* one line less */
        check(mountinfo_parse(b.data, &m, &n) == 0 && n == MOUNTINFO_MAX);
        free(m);
        strbuf_clear(&b);
}

TEST(options) {
        check(mountinfo_has_option("rw,memory", "memory"));
        check(mountinfo_has_option("rw,cpu,cpuacct", "cpu"));
        check(!mountinfo_has_option("rw,cpuacct", "cpu"));
        check(!mountinfo_has_option("rw,xcpu", "cpu"));
        check(mountinfo_has_option("name=systemd", "name=systemd"));
        check(!mountinfo_has_option("", "rw") && !mountinfo_has_option("rw", "") && !mountinfo_has_option(",", ""));
}

TEST(of_path) {
        struct mountinfo *m = NULL;
        size_t n;
        check(mountinfo_parse(
                      "1 0 0:1 / / rw - a b c\n2 1 0:2 / /x rw - a b c\n"
                              "3 1 0:3 / /x rw - a b c\n4 1 0:4 / /x/y rw - a b c\n",
                      &m, &n) == 0);
        check(mountinfo_of_path(m, n, "/")->id == 1);
        check(mountinfo_of_path(m, n, "/xy")->id == 1);
        check(mountinfo_of_path(m, n, "/x")->id == 3); /* the later one covers */
        check(mountinfo_of_path(m, n, "/x/y/z")->id == 4);
        check(mountinfo_of_path(m + 1, n - 1, "/q") == NULL);
        free(m);
}

TAP_MAIN
