#include "base/str.h"
#include "base/utf8.h"
#include "tap.h"

TEST(decode) {
        static const struct { const char *s; size_t n, len; uint32_t cp; } t[] = {
                {"a", 1, 1, 'a'}, {"\xc3\xa9", 2, 2, 0xe9}, {"\xe2\x82\xac", 3, 3, 0x20ac},
                {"\xf0\x9f\x98\x80", 4, 4, 0x1f600}, {"\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff}, {"\0", 1, 1, 0},
                {"", 0, 0, 0}, {"\x80", 1, 0, 0}, {"\xc3", 1, 0, 0}, {"\xc0\x80", 2, 0, 0}, {"\xc1\xbf", 2, 0, 0},
                {"\xe0\x80\x80", 3, 0, 0}, {"\xe0\x9f\xbf", 3, 0, 0}, {"\xed\xa0\x80", 3, 0, 0},
                {"\xf0\x8f\xbf\xbf", 4, 0, 0}, {"\xf4\x90\x80\x80", 4, 0, 0}, {"\xf5\x80\x80\x80", 4, 0, 0},
                {"\xff", 1, 0, 0}, {"\xe2\x82\xac", 2, 0, 0}, {"\xc3(", 2, 0, 0},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                uint32_t cp = 0;
                check(utf8_decode(t[i].s, t[i].n, &cp) == t[i].len);
                check(cp == t[i].cp);
        }
}

TEST(cut) {
        check(utf8_cut("abc", 3, 5) == 3);
        check(utf8_cut("abc", 3, 2) == 2);
        check(utf8_cut("a\xe2\x82\xac", 4, 3) == 1);
        check(utf8_cut("a\xe2\x82\xac", 4, 4) == 4);
        check(utf8_cut("\x80\x80", 2, 1) == 0);
}

TAP_MAIN
