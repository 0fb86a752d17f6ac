/* Quoted names of patches. */
#include <errno.h>

#include "proto/quote.h"
#include "tap.h"

static char *quoted(const char *prefix, const char *name) {
        struct strbuf b = {};
        quote_name(&b, prefix, name);
        return strbuf_take(&b);
}

TEST(quote) {
        static const char *const t[][2] = {
                {"plain", "a/plain"}, {"with space", "a/with space"}, {"-dash", "a/-dash"}, {"\xc3\xa9t\xc3\xa9", "a/\xc3\xa9t\xc3\xa9"},
                {"new\nline", "\"a/new\\nline\""}, {"\a\b\t\n\v\f\r", "\"a/\\a\\b\\t\\n\\v\\f\\r\""},
                {"\x1b[31m", "\"a/\\033[31m\""}, {"q\"uote", "\"a/q\\\"uote\""}, {"back\\slash", "\"a/back\\\\slash\""},
                {"\xff", "\"a/\\377\""}, {"\x7f", "\"a/\\177\""}, {"\xe2\x80\xaegpj", "\"a/\\342\\200\\256gpj\""},
                {"\xc2\x9bx", "\"a/\\302\\233x\""}, {"", "\"a/\""}, {"end ", "\"a/end \""},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                char *s = quoted("a/", t[i][0]), *back = NULL, *q = quoted("", t[i][0]);
                check_streq(s, t[i][1]);
                check(quote_parse(q, &back) == 0);
                check_streq(back, t[i][0]);
                free(s);
                free(q);
                free(back);
        }
}

TEST(long_names) {
        /* characters of two bytes across the pieces in which a name is looked at */
        char name[2001];
        for (size_t shift = 0; shift < 2; shift++) {
                memset(name, 'x', shift);
                for (size_t i = shift; i + 1 < 1999; i += 2)
                        memcpy(name + i, "\xc3\xa9", 2);
                name[1998 + shift] = 0;
                check(!quote_needed(name));
                name[1500] = '\n';
                check(quote_needed(name));
        }
}

TEST(parse_refuses) {
        static const char *const bad[] = {
                "\"", "\"a", "\"a\\", "\"a\\\"", "\"\\x41\"", "\"\\400\"", "\"\\1\"", "\"\\12\"", "\"\\000\"", "\"\\189\"", "\"a\"b", "\"a\" ",
                "\"a\nb\"", "a\"b", "a\\b", "a\nb", "\xff", "",
        };
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                char *s = (char *)"untouched";
                check(quote_parse(bad[i], &s) == -EINVAL);
                check_streq(s, "untouched");
        }
        char *s = NULL;
        check(quote_parse("\"\\141\\\\\"", &s) == 0); /* the twin that works */
        check_streq(s, "a\\");
        free(s);
}

TAP_MAIN
