#include <errno.h>

#include "base/str.h"
#include "model/glob.h"
#include "tap.h"

/* The answer of a set that holds this pattern only, by walking down the path; -1 where the walk may not end there,
 * because the set said that nothing can match below a directory on the way. */
static int walk(const char *pattern, const char *path) {
        _cleanup_globset_ struct globset *g = NULL;
        uint64_t a[GLOB_MAX / 64], b[GLOB_MAX / 64];
        _cleanup_free_ char *copy = strdup(path);
        char *save = NULL;
        unsigned flags;

        check(globset_new(&g) == 0);
        check(globset_add(g, pattern) == 0);
        check(globset_words(g) <= ELEMENTSOF(a));
        flags = globset_start(g, a);
        for (char *name = strtok_r(copy, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
                size_t which = 7;
                if (streq(name, "."))
                        continue;
                if (!(flags & GLOBSET_BELOW))
                        return -1;
                flags = globset_step(g, a, name, b, &which);
                check(which == (flags & GLOBSET_MATCH ? 0 : 7));
                memcpy(a, b, globset_words(g) * sizeof(*a));
        }
        return !!(flags & GLOBSET_MATCH);
}

TEST(match) {
        static const struct { const char *pattern, *path; bool match; } t[] = {
                {"a", "a", true}, {"a", "b", false}, {"a", "A", false}, {"a", "a/b", false}, {"a/b", "a", false},
                {"*", "a", true}, {"*", ".env", true}, {"*", "a/b", false}, {"*.key", "x.key", true}, {"*.key", ".key", true},
                {"*.key", "x.keys", false}, {"*.key", "d/x.key", false}, {"src/*.key", "src/x.key", true},
                {"src/*.key", "src/d/x.key", false}, {"a*b*c", "aXbYc", true}, {"a*b*c", "abbcc", true}, {"a*b*c", "acb", false},
                {"?", "a", true}, {"?", "ab", false}, {"?", "\xc3\xa9", true}, {"??", "\xc3\xa9", false}, {"?", "\xff", true},
                {"a?c", "a\xe2\x82\xac" "c", true}, {"*?", "\xc3\xa9", true}, {"*??", "\xc3\xa9", false},
                {"[abc]", "b", true}, {"[abc]", "d", false}, {"[a-c]x", "bx", true}, {"[!a-c]", "b", false}, {"[!a-c]", "d", true},
                {"[^a]", "b", true}, {"[]]", "]", true}, {"[]a]", "a", true}, {"[!]]", "]", false}, {"[a-]", "-", true},
                {"[-a]", "-", true}, {"[\\]]", "]", true}, {"[\\a-\\c]", "b", true}, {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true},
                {"[\xc3\xa0-\xc3\xbf]", "e", false}, {"[!a]", "\xff", true}, {"[*?]", "*", true}, {"[*?]", "a", false},
                {"\\*", "*", true}, {"\\*", "a", false}, {"\\a", "a", true}, {"a\\\\b", "a\\b", true}, {"\\[a]", "[a]", true},
                {"**", "a", true}, {"**", "a/b/c", true}, {"**/.env", ".env", true}, {"**/.env", "a/.env", true},
                {"**/.env", "a/b/.env", true}, {"**/.env", "a/.env/b", false}, {"**/.env", "a/x.env", false},
                {"a/**", "a", true}, {"a/**", "a/b/c", true}, {"a/**", "ab", false}, {"a/**/b", "a/b", true},
                {"a/**/b", "a/x/y/b", true}, {"a/**/b", "a/x/y/c", false}, {"**/a/**/b/**", "x/a/y/b/z", true},
                {"**/a/**/b", "a/b/a/c", false}, {"**/**", "a", true}, {"**/x/**/x", "x/x/x", true}, {"**/x/**/x", "x", false},
                {"./a//b/", "a/b", true}, {"a/./b", "a/b", true}, {"a", "./a/", true}, {"a/*", "a/.b", true},
                {"*.*", "a.b", true}, {"*.*", "ab", false}, {"\xff", "\xff", true}, {"\xff", "\xfe", false},
                {"*.pem", "a.pem.pem", true}, {"ab*ba", "aba", false},
                {"ab*ba", "abba", true}, {"a\\**", "a*x", true}, {"a\\**", "ax", false}, {"*\\*", "x*", true}, {"*\\*", "x", false},
                {"*\xa9", "\xc3\xa9", false}, {"\xc3*", "\xc3\xa9", false}, {"\xc3*", "\xc3x", true}, {"*\xc3\xa9", "\xe2\xc3\xa9", true},
                {"*", "\xff", true}, {"*a*", "bab", true}, {"x*[a]", "xya", true}, {"x*?", "x", false}, {"*a", "aaa", true}, {"*ab", "aab", true}, {"*aab", "aaaab", true},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                bool m = glob_match(t[i].pattern, t[i].path);
                int w = walk(t[i].pattern, t[i].path);
                if (m != t[i].match || (w > 0) != t[i].match)
                        printf("# %s against %s: %d, walk %d\n", t[i].pattern, t[i].path, m, w);
                check(glob_check(t[i].pattern, NULL) == 0);
                check(m == t[i].match);
                check((w > 0) == t[i].match);
        }
}

TEST(absolute) {
        check(glob_match("/a/*", "/a/b"));
        check(!glob_match("/a/*", "a/b"));
        check(!glob_match("a/*", "/a/b"));
        check(!glob_match("**", "/a"));
        check(glob_match("/**", "/a"));
        check(glob_match("/", "/"));
        check(glob_is_absolute("/a") && glob_is_absolute("~/a") && !glob_is_absolute("a/~") && !glob_is_absolute("./~"));
}

TEST(refused) {
        static const char *const t[] = {
                "", "a**", "**a", "x/a**b", "***", "[a", "[", "[]", "[!]", "[a/b]", "[z-a]", "a\\", "a\\/b", "[a\\", "{a,b}",
                "*.{key,pem}", "!a", "[[:alpha:]]", "[a[:digit:]]", "[[.a.]]", "[[=a=]]", "**/../a", "*/..", "*/\\.\\.", "../*.key",
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                const char *why = NULL;
                int r = glob_check(t[i], &why);
                if (r != -EINVAL)
                        printf("# %s: %d\n", t[i], r);
                check(r == -EINVAL && why && *why);
                _cleanup_globset_ struct globset *g = NULL;
                check(globset_new(&g) == 0);
                check(globset_add(g, t[i]) == (t[i][0] == '!' ? 0 : -EINVAL));
        }
        static const char *const good[] = {"../a", "a/../b", "\\{a,b}", "\\!a", "a!", "[[]", "[a[]", "..a/*", "a}", "*/...", "\\*\\*a"};
        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                if (glob_check(good[i], NULL) != 0)
                        printf("# %s is refused\n", good[i]);
                check(glob_check(good[i], NULL) == 0);
        }
        char *l = malloc(GLOB_MAX + 2);
        memset(l, 'a', GLOB_MAX + 1);
        l[GLOB_MAX + 1] = 0;
        check(glob_check(l, NULL) == -E2BIG);
        l[GLOB_MAX] = 0;
        check(glob_check(l, NULL) == 0);
        free(l);
}

TEST(literal) {
        check(glob_is_literal("a/b") && glob_is_literal("~/.ssh") && glob_is_literal("a\\*b") && glob_is_literal("a]"));
        check(!glob_is_literal("*") && !glob_is_literal("a/?") && !glob_is_literal("[a]") && !glob_is_literal("\\\\*"));
        _cleanup_free_ char *s = glob_unescape("a\\*\\\\b");
        check_streq(s, "a*\\b");
        _cleanup_free_ char *escaped = glob_escape("/a*\\b/[x]?"), *back = escaped ? glob_unescape(escaped) : NULL;
        check(escaped && glob_check(escaped, NULL) == 0 && glob_is_literal(escaped));
        check_streq(back, "/a*\\b/[x]?");
        check(glob_match(escaped, "/a*\\b/[x]?") && !glob_match(escaped, "/axb/xy"));
}

TEST(split) {
        static const struct { const char *pattern, *base, *rest; } t[] = {
                {"a/b", "a/b", ""}, {"a/b/*.key", "a/b", "*.key"}, {"**/.env", ".", "**/.env"}, {"/*", "/", "*"},
                {"/a//b/./c*", "/a/b", "c*"}, {"~/.config/**/x", "~/.config", "**/x"}, {"a\\*/b?/c", "a*", "b?/c"}, {"/", "/", ""},
                {"./*", ".", "*"}, {"../a", "../a", ""},
                {"/a/!b*", "/a", "!b*"},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                _cleanup_free_ char *base = NULL;
                const char *rest = NULL;
                check(glob_split(t[i].pattern, &base, &rest) == 0);
                check_streq(base, t[i].base);
                check_streq(rest, t[i].rest);
                _cleanup_globset_ struct globset *g = NULL; /* a rest is a pattern again */
                check(globset_new(&g) == 0);
                check(!*rest || globset_add(g, rest) == 0);
        }
}

TEST(walk_is_pruned) {
        _cleanup_globset_ struct globset *g = NULL;
        uint64_t root[1], src[1], other[1];

        check(globset_new(&g) == 0);
        check(globset_words(g) == 1);
        check(globset_start(g, root) == 0); /* an empty set looks nowhere */
        check(globset_step(g, root, "a", src, NULL) == 0);
        check(globset_add(g, "src/*.key") == 0);
        check(globset_add(g, "src/gen/**/x") == 0);
        check(globset_add(g, "/abs") == -EINVAL);
        check(globset_add(g, "*.{a,b}") == -EINVAL); /* leaves the set as it was */
        check(globset_words(g) == 1);

        size_t which = 99;
        check(globset_start(g, root) == GLOBSET_BELOW);
        check(globset_step(g, root, "node_modules", other, &which) == 0);
        check(globset_step(g, root, "src", src, &which) == GLOBSET_BELOW && which == 99);
        check(globset_step(g, src, "sub", other, &which) == 0);
        check(globset_step(g, src, "a.key", other, &which) == GLOBSET_MATCH && which == 0);
        check(globset_step(g, src, "gen", other, &which) == GLOBSET_BELOW);
        check(globset_step(g, other, "x", root, &which) == (GLOBSET_MATCH | GLOBSET_BELOW) && which == 1);
}

TEST(many_patterns) {
        _cleanup_globset_ struct globset *g = NULL;
        struct strbuf b = {};
        uint64_t *a, *c;
        size_t which = 0;

        check(globset_new(&g) == 0);
        for (unsigned i = 0; i < 1000; i++) {
                char p[32];
                snprintf(p, sizeof(p), "**/d%u/*.k%u", i, i);
                check(globset_add(g, p) == 0);
        }
        a = calloc(globset_words(g), sizeof(*a));
        c = calloc(globset_words(g), sizeof(*c));
        check(a && c);
        check(globset_start(g, a) == GLOBSET_BELOW);
        check(globset_step(g, a, "d777", c, &which) == GLOBSET_BELOW);
        check(globset_step(g, c, "x.k776", a, &which) == GLOBSET_BELOW);
        check(globset_step(g, c, "x.k777", a, &which) == (GLOBSET_BELOW | GLOBSET_MATCH) && which == 777);
        free(a);
        free(c);
        strbuf_clear(&b);
}

TEST(set_has_a_cap) {
        _cleanup_globset_ struct globset *g = NULL;
        char p[GLOB_MAX + 1] = "";
        int r = 0;

        for (size_t i = 0; i < GLOB_MAX; i += 2)
                memcpy(p + i, i + 2 < GLOB_MAX ? "a/" : "a", 2);
        check(globset_new(&g) == 0);
        for (unsigned i = 0; i < 40 && r == 0; i++)
                r = globset_add(g, p);
        check(r == -E2BIG);
        check(globset_words(g) <= GLOBSET_SEGMENTS_MAX / 64);
        check(globset_add(g, "a") == 0); /* a pattern that did not fit leaves no trace */
}

/* A matcher that goes back to every * takes longer than the universe here. */
TEST(no_blow_up) {
        char pattern[512] = "", path[2048] = "";
        for (int i = 0; i < 100; i++)
                strcat(pattern, "*a");
        strcat(pattern, "b");
        memset(path, 'a', 255);
        alarm(10);
        check(!glob_match(pattern, path));
        check(walk(pattern, path) == 0);

        pattern[0] = path[0] = 0;
        for (int i = 0; i < 50; i++)
                strcat(pattern, "**/a/");
        strcat(pattern, "b");
        for (int i = 0; i < 1000; i++)
                strcat(path, "a/");
        check(!glob_match(pattern, path));
        check(walk(pattern, path) == 0);
}

TAP_MAIN
