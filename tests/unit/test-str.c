#include <errno.h>

#include "base/str.h"
#include "tap.h"

TEST(visible) {
        char b[64];
        str_visible(b, sizeof(b), "a\nb\x1b[2J\\ \xc3\xa9 \xff \xe2\x80\xae \xc2\x9b");
        check_streq(b, "a\\x0ab\\x1b[2J\\\\ \xc3\xa9 \\xff \\xe2\\x80\\xae \\xc2\\x9b");
        char s[4];
        str_visible(s, sizeof(s), "ab\xc3\xa9");
        check_streq(s, "ab");
        str_visible(s, sizeof(s), "\x01z");
        check_streq(s, "");
}

TEST(strbuf_cap) {
        struct strbuf b = {.max = 4};
        strbuf_puts(&b, "abcd");
        check(!b.failed);
        strbuf_puts(&b, "e");
        check(b.failed);
        check(strbuf_take(&b) == NULL);
        struct strbuf c = {};
        char *s = strbuf_take(&c);
        check_streq(s, "");
        free(s);
}

TEST(path_clean) {
        static const char *const t[][2] = {
                {"/", "/"}, {"//a//b/", "/a/b"}, {"./a/./b", "a/b"}, {"", "."}, {".", "."}, {"a/../b", "a/../b"}, {"/.", "/"},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                char *s = path_clean(t[i][0]);
                check_streq(s, t[i][1]);
                free(s);
        }
}

TEST(path_beneath) {
        check(path_beneath("/a/b", "/a"));
        check(path_beneath("/a", "/a"));
        check(!path_beneath("/ab", "/a"));
        check(path_beneath("/ab", "/"));
        check(path_has_dotdot("a/../b") && path_has_dotdot("..") && !path_has_dotdot("a/..b/c.."));
}

TEST(parse_size) {
        uint64_t v;
        check(parse_size("4096", &v) == 0 && v == 4096);
        check(parse_size("64KiB", &v) == 0 && v == 65536);
        check(parse_size("1.5GiB", &v) == 0 && v == 1610612736);
        check(parse_size("2g", &v) == 0 && v == 2ull << 30);
        check(parse_size("2 GiB", &v) == 0 && v == 2ull << 30);
        check(parse_size("20000000000000B", &v) == 0 && v == 20000000000000ull);
        check(parse_size("2GB", &v) == -EINVAL);
        check(parse_size("", &v) == -EINVAL);
        check(parse_size("-1", &v) == -EINVAL);
        check(parse_size("99999999999999999999", &v) == -ERANGE);
        check(parse_size("9999999999TiB", &v) == -ERANGE);
}

TEST(parse_duration) {
        uint64_t v;
        check(parse_duration("90", &v) == 0 && v == 90000);
        check(parse_duration("1h30m", &v) == 0 && v == 5400000);
        check(parse_duration("250ms", &v) == 0 && v == 250);
        check(parse_duration("0.5s", &v) == 0 && v == 500);
        check(parse_duration("1h30", &v) == -EINVAL);
        check(parse_duration("0h5", &v) == -EINVAL);
        check(parse_duration("h", &v) == -EINVAL);
        check(parse_duration("", &v) == -EINVAL);
        check(parse_duration("99999999999999d", &v) == -ERANGE);
}

TEST(format) {
        char b[32];
        check_streq(format_size(b, sizeof(b), 312), "312 B");
        check_streq(format_size(b, sizeof(b), 2ull << 30), "2 GiB");
        check_streq(format_size(b, sizeof(b), 3ull << 29), "1.5 GiB");
        check_streq(format_duration(b, sizeof(b), 5400000), "1h 30m");
        check_streq(format_duration(b, sizeof(b), 250), "250ms");
        check_streq(format_duration(b, sizeof(b), 90000), "1m 30s");
}

TAP_MAIN
