/* The lenient reader of proto/yaml.h, and JSON through it. */
#include <errno.h>
#include <time.h>

#include "base/str.h"
#include "proto/jsonc.h"
#include "proto/yaml.h"
#include "tap.h"

static struct yaml_node *accepted(const char *text) {
        struct yaml_node *n = NULL;
        struct yaml_error e = {};
        int r = yaml_read_lenient(text, strlen(text), &n, &e);
        if (r < 0)
                printf("# \"%s\": %d at %u:%u: %s\n", text, r, e.line, e.column, e.msg);
        check(r == 0 && n && n->kind == YAML_KIND_SEQUENCE);
        return n;
}

static void refused(const char *text, int errnum, unsigned line, const char *part) {
        struct yaml_node *n = (void *)1;
        struct yaml_error e = {};
        int r = yaml_read_lenient(text, strlen(text), &n, &e);
        if (r != -errnum || e.line != line || !strstr(e.msg, part))
                printf("# \"%.200s\": %d at %u:%u: %s\n", text, r, e.line, e.column, e.msg);
        check(r == -errnum && n == (void *)1 && e.line == line && strstr(e.msg, part));
}

/* A path of keys, and of indexes from 0: "a/0/b". */
static const struct yaml_node *at(const struct yaml_node *n, const char *path) {
        while (*path) {
                size_t len = strcspn(path, "/");
                const struct yaml_node *c = n->first;
                if (n->kind == YAML_KIND_SEQUENCE)
                        for (int i = atoi(path); c && i > 0; i--)
                                c = c->next;
                else {
                        while (c && !(c->len == len && memcmp(c->text, path, len) == 0))
                                c = c->next;
                        c = c ? c->value : NULL;
                }
                if (!c)
                        return NULL;
                n = c;
                path += len + (path[len] == '/');
        }
        return n;
}

TEST(documents) {
        _cleanup_yaml_ struct yaml_node *n = accepted("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n...\n");
        check(n->n == 2);
        check_streq(at(n, "0/a")->text, "1");
        check_streq(at(n, "1/b")->text, "2");
        check(at(n, "1/b")->line == 7);
        _cleanup_yaml_ struct yaml_node *none = accepted("");
        check(none->n == 0 && !none->first);
}

TEST(aliases_keep_their_lines) {
        _cleanup_yaml_ struct yaml_node *n = accepted("a: &x\n  k: v\nb: *x\nc: [*x, &y z, *y]\n");
        check_streq(at(n, "0/b/k")->text, "v");
        check(at(n, "0/b/k")->line == 2);
        check_streq(at(n, "0/c/0/k")->text, "v");
        check_streq(at(n, "0/c/2")->text, "z");
        check(at(n, "0/b") != at(n, "0/a"));
        refused("a: *x\nx: &x 1\n", EINVAL, 1, "alias");
        refused("a: &x [*x]\n", EINVAL, 1, "alias");
        refused("a: &x 1\n---\nb: *x\n", EINVAL, 3, "alias"); /* anchors end with their document */
}

TEST(merge_keys) {
        _cleanup_yaml_ struct yaml_node *n = accepted("base: &b {a: 1, b: 2}\nmore: &m {b: 3, c: 4}\none:\n  b: own\n  "
                                                      "<<: *b\nall:\n  <<: [*b, *m]\n  c: own\n");
        check_streq(at(n, "0/one/a")->text, "1");
        check_streq(at(n, "0/one/b")->text, "own");
        check(at(n, "0/one")->n == 2);
        check_streq(at(n, "0/all/b")->text, "2"); /* the first of a list wins */
        check_streq(at(n, "0/all/c")->text, "own");
        check(at(n, "0/one/a")->line == 1 && !at(n, "0/one/<<"));
        refused("a:\n  <<: 1\n", EINVAL, 2, "merges");
        _cleanup_yaml_ struct yaml_node *again = accepted("a:\n  <<: &x {k: 1}\nb: *x\nc:\n  <<: *x\n");
        check_streq(at(again, "0/a/k")->text, "1");
        check_streq(at(again, "0/b/k")->text, "1");
        check_streq(at(again, "0/c/k")->text, "1");
        _cleanup_yaml_ struct yaml_node *quoted = accepted("'<<': {a: 1}\nb: 2\n");
        check_streq(at(quoted, "0/<</a")->text, "1");
        _cleanup_yaml_ struct yaml_node *null = accepted("a:\n  <<:\n  k: 1\n");
        check(at(null, "0/a")->n == 1);
}

TEST(the_last_of_doubled_keys) {
        _cleanup_yaml_ struct yaml_node *n = accepted("a: 1\nb: &x 2\na: 3\nb: 4\nc: *x\n");
        check(at(n, "0")->n == 3);
        check_streq(at(n, "0/a")->text, "3");
        check_streq(at(n, "0/b")->text, "4");
        check_streq(at(n, "0/c")->text, "2"); /* what an anchor names lives on */
}

TEST(taken_as_they_are) {
        _cleanup_yaml_ struct yaml_node *n =
                accepted("a: !reset null\nb: !!str 1\nc: one\n  two\nd: \"\\e[0m\"\ne: \xe2\x80\xaex\n? f\n: g\n");
        check(yaml_is_null(at(n, "0/a")));
        check_streq(at(n, "0/c")->text, "one two");
        check_streq(at(n, "0/d")->text, "\x1b[0m");
        check_streq(at(n, "0/f")->text, "g");
        refused("a: \"\\0\"\n", EINVAL, 1, "U+0000");
        refused("a: \x1b\n", EINVAL, 1, "U+001B");
        refused("{[a]: b}\n", EINVAL, 1, "key");
        refused("k: &k [a]\n*k : b\n", EINVAL, 2, "key");
        refused("a: b\n c\n: d\n", EINVAL, 3, "");
}

TEST(bombs) {
        _cleanup_strbuf_ struct strbuf b = {};
        struct timespec begin, end;

        strbuf_puts(&b, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for (int i = 1; i < 20; i++)
                strbuf_printf(&b, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i - 1, i - 1,
                        i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        refused(b.data, E2BIG, 6, "grow");
        clock_gettime(CLOCK_MONOTONIC, &end);
        check(end.tv_sec - begin.tv_sec < 5);

        /* One long text, many times. */
        _cleanup_strbuf_ struct strbuf t = {};
        strbuf_puts(&t, "a: &a ");
        for (int i = 0; i < 1000; i++)
                strbuf_puts(&t, "01234567890123456789012345678901234567890123456789012345678901234567890123456789012345"
                                "67890123456789");
        strbuf_puts(&t, "\nb: [*a");
        for (int i = 0; i < 300; i++)
                strbuf_puts(&t, ",*a");
        strbuf_puts(&t, "]\n");
        refused(t.data, E2BIG, 2, "grow");

        /* Merges of merges, and depth. */
        _cleanup_strbuf_ struct strbuf d = {};
        for (int i = 0; i < 100; i++)
                strbuf_puts(&d, "[");
        refused(d.data, E2BIG, 1, "levels");
        _cleanup_strbuf_ struct strbuf n = {};
        for (unsigned i = 0; i <= YAML_LENIENT_ANCHORS_MAX; i++)
                strbuf_printf(&n, "- &a%u x\n", i);
        refused(n.data, E2BIG, YAML_LENIENT_ANCHORS_MAX + 1, "grow");
}

TEST(json) {
        _cleanup_yaml_ struct yaml_node *n =
                accepted("// a comment\n{\n\t\"a\": \"x\\/y\", /* more\n\tof it */ \"b\": [1, true, null,],\n"
                         "  \"u\": \"http://x/*y*/\", // end\n  "
                         "\"s\":\"\\ud83d\\ude00\\ud800\\u00e9\\\\\",\"c\":\"\\u001b\"\n}\n");
        check_streq(at(n, "0/a")->text, "x/y");
        check(at(n, "0/b")->n == 3 && yaml_is_null(at(n, "0/b/2")) && at(n, "0/b")->line == 4);
        check_streq(at(n, "0/u")->text, "http://x/*y*/");
        check_streq(at(n, "0/s")->text, "\xf0\x9f\x98\x80\xef\xbf\xbd\xc3\xa9\\");
        check(at(n, "0/s")->line == 6);
        check_streq(at(n, "0/c")->text, "\x1b");
        refused("{\"a\": \"\\u0000\"}", EINVAL, 1, "U+0000");
        refused("{\"a\": 1", EINVAL, 2, "");
        refused("{\"a\": \"x\n", EINVAL, 2, "");
}

TEST(json_is_known_by_its_beginning) {
        check(jsonc_likely("{", 1) && jsonc_likely(" \n[", 3) && jsonc_likely("/* x */ // y\n{", 14) &&
                jsonc_likely("\xef\xbb\xbf{", 4));
        check(!jsonc_likely("", 0) && !jsonc_likely("a: {", 4) && !jsonc_likely("/* x", 4) &&
                !jsonc_likely("---\n{", 5) && !jsonc_likely("// x", 4));
        /* In flow YAML the slashes of an address are text. */
        _cleanup_yaml_ struct yaml_node *n = accepted("{a: http://x, b: [https://y/z]}");
        check_streq(at(n, "0/a")->text, "http://x");
        check_streq(at(n, "0/b/0")->text, "https://y/z");
}

TEST(json_escapes_at_the_end) {
        static const char *const t[] = {"{\"\\", "{\"\\u", "{\"\\ud83d", "{\"\\ud83d\\u", "{\"\\ud83d\\ude0", "{/",
                "{/*", "{//", "[\"", "{\"\\uD8"};
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                _cleanup_free_ char *out = NULL;
                size_t len = 0;
                check(jsonc_to_yaml(t[i], strlen(t[i]), &out, &len) == 0 && len <= strlen(t[i]) && out[len] == 0);
        }
}

TEST(strict_stays_strict) {
        static const char *const t[] = {"a: &x 1\n", "a: *x\n", "a:\n  <<: {b: 1}\n", "a: 1\na: 2\n",
                "a: 1\n---\nb: 2\n", "a: !!str x\n", "a: b\n c\n", "a: \"\\e\"\n"};
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                _cleanup_yaml_ struct yaml_node *n = NULL;
                check(yaml_read(t[i], strlen(t[i]), &n, NULL) == -EINVAL);
        }
}

TAP_MAIN
