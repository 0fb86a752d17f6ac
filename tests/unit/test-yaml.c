#include <errno.h>

#include "base/str.h"
#include "proto/yaml.h"
#include "tap.h"

/* Expects a refusal at a place, with a part of its message. */
static void refused(const char *text, size_t len, int errnum, unsigned line, unsigned column, const char *part) {
        struct yaml_node *n = (void *)1;
        struct yaml_error e = {};
        int r = yaml_read(text, len, &n, &e);

        if (r != -errnum || e.line != line || e.column != column || !strstr(e.msg, part))
                printf("# \"%s\": %d at %u:%u: %s\n", text, r, e.line, e.column, e.msg);
        check(r == -errnum);
        check(n == (void *)1);
        check(e.line == line && e.column == column);
        check(strstr(e.msg, part));
        check(yaml_read(text, len, &n, NULL) == -errnum);
}
#define REFUSED(text, line, column, part) refused("" text, sizeof(text) - 1, EINVAL, line, column, part)

static struct yaml_node *accepted(const char *text, size_t len) {
        struct yaml_node *n = NULL;
        struct yaml_error e = {};
        int r = yaml_read(text, len, &n, &e);
        if (r < 0)
                printf("# \"%s\": %d at %u:%u: %s\n", text, r, e.line, e.column, e.msg);
        check(r == 0 && n);
        return n;
}
#define ACCEPTED(text) accepted("" text, sizeof(text) - 1)

TEST(tree) {
        _cleanup_yaml_ struct yaml_node *n = ACCEPTED("a: 1\nb: [x, \"y\"]\nc: {d: [e]}\n");
        check(n->kind == YAML_KIND_MAPPING && n->n == 3 && n->line == 1 && n->column == 1);
        const struct yaml_node *k = n->first;
        check_streq(k->text, "a");
        check(k->value->kind == YAML_KIND_SCALAR && k->value->style == YAML_STYLE_PLAIN);
        check(k->value->line == 1 && k->value->column == 4);
        check_streq(k->value->text, "1");
        k = k->next;
        check(k->value->kind == YAML_KIND_SEQUENCE && k->value->n == 2);
        check_streq(k->value->first->text, "x");
        check(k->value->first->next->style == YAML_STYLE_QUOTED && k->value->first->next->column == 8);
        check(k->value->first->next->next == NULL);
}

TEST(columns_count_characters) {
        _cleanup_yaml_ struct yaml_node *n = ACCEPTED("\xc3\xa9\xe2\x82\xac: x");
        check(n->first->value->column == 5);
}

TEST(block_scalars) {
        _cleanup_yaml_ struct yaml_node *n = ACCEPTED("k: |\n  a\n  b\nf: >-\n  a\n  b\n");
        check_streq(n->first->value->text, "a\nb\n");
        check(n->first->value->style == YAML_STYLE_BLOCK);
        check_streq(n->first->next->value->text, "a b");
}

TEST(empty_is_a_mapping) {
        static const char *const t[] = {"", "\n", "# only this\n", "---\n", "---\n...\n", "\xef\xbb\xbf", "  "};
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                _cleanup_yaml_ struct yaml_node *n = accepted(t[i], strlen(t[i]));
                check(n->kind == YAML_KIND_MAPPING && n->n == 0 && !n->first);
        }
        _cleanup_yaml_ struct yaml_node *n = ACCEPTED("''");
        check(n->kind == YAML_KIND_SCALAR && n->len == 0);
}

TEST(scalars_stay_text) {
        _cleanup_yaml_ struct yaml_node *n = ACCEPTED("[yes, no, on, 010, 0x1F, 1_000, 1:30, 1e3, .inf, 2026-01-01, =]");
        static const char *const t[] = {"yes", "no", "on", "010", "0x1F", "1_000", "1:30", "1e3", ".inf", "2026-01-01", "="};
        const struct yaml_node *i = n->first;
        for (size_t k = 0; k < ELEMENTSOF(t); k++, i = i->next)
                check_streq(i->text, t[k]);
        check(!i);
}

TEST(null) {
        _cleanup_yaml_ struct yaml_node *n = ACCEPTED("[~, null, Null, NULL, '', 'null', nULL, x, [], {a: }]");
        static const bool t[] = {true, true, true, true, false, false, false, false, false, false};
        const struct yaml_node *i = n->first;
        for (size_t k = 0; k < ELEMENTSOF(t); k++, i = i->next)
                check(yaml_is_null(i) == t[k]);
}

TEST(line_ends_and_bom) {
        _cleanup_yaml_ struct yaml_node *n = ACCEPTED("\xef\xbb\xbf""a: 1\r\nb: 2\r\n");
        check(n->n == 2);
        check_streq(n->first->value->text, "1");
        check(n->first->next->line == 2 && n->first->next->column == 1);
        REFUSED("a: 1\rb: 2", 1, 5, "carriage return");
        REFUSED("# note\rtier: vm\n", 1, 7, "carriage return");
        REFUSED("a: 1\r", 1, 5, "carriage return");
        REFUSED("# x\xc2\x85trust: own", 1, 4, "U+0085");
        REFUSED("# x\xe2\x80\xa8trust: own", 1, 4, "U+2028");
        REFUSED("# x\xe2\x80\xa9trust: own", 1, 4, "U+2029");
        REFUSED("a: b\xef\xbb\xbf", 1, 5, "U+FEFF");
}

TEST(characters) {
        REFUSED("a: \0b", 1, 4, "U+0000");
        REFUSED("a: b\x1b[2J", 1, 5, "U+001B");
        REFUSED("# \x7f", 1, 3, "U+007F");
        REFUSED("\nb: \xc2\x9b", 2, 4, "U+009B");
        REFUSED("a: \xff", 1, 4, "0xff");
        REFUSED("a: \xc0\x80", 1, 4, "0xc0");
        REFUSED("a: \xed\xa0\x80", 1, 4, "0xed");
        REFUSED("\xff\xfe" "a\0", 1, 1, "0xff"); /* UTF-16 */
        REFUSED("a: \xe2\x80\xae" "b", 1, 4, "U+202E");
        REFUSED("# \xe2\x81\xa6", 1, 3, "U+2066");
        REFUSED("a: \xef\xbf\xbf", 1, 4, "U+FFFF");
        /* by an escape */
        REFUSED("a: \"x\\0y\"", 1, 4, "U+0000");
        REFUSED("a: \"\\e\"", 1, 4, "U+001B");
        REFUSED("a: \"\\r\"", 1, 4, "U+000D");
        REFUSED("a: \"\\x7f\"", 1, 4, "U+007F");
        REFUSED("a: \"\\N\"", 1, 4, "U+0085");
        REFUSED("a: \"\\ud800\"", 1, 7, "Unicode");
        REFUSED("a: \"\\q\"", 1, 5, "backslash is doubled");
        _cleanup_yaml_ struct yaml_node *n = ACCEPTED("a: \"x\\ty\\nz\\u202e\"");
        check_streq(n->first->value->text, "x\ty\nz\xe2\x80\xae");
}

TEST(anchors_aliases_tags) {
        REFUSED("a: &x 1", 1, 4, "anchor");
        REFUSED("a: &x [1]", 1, 4, "anchor");
        REFUSED("a: &x {b: 1}", 1, 4, "anchor");
        REFUSED("&x a: 1", 1, 1, "anchor");
        REFUSED("a: *x", 1, 4, "needs quotes");
        REFUSED("a: [*x]", 1, 5, "needs quotes");
        REFUSED("a: **/.env", 1, 4, "needs quotes");
        REFUSED("a: [*.key]", 1, 5, "needs quotes");
        REFUSED("*x : 1", 1, 1, "needs quotes");
        REFUSED("a: !!str 1", 1, 4, "tag");
        REFUSED("a: !x 1", 1, 4, "tag");
        REFUSED("a: !<tag:x> 1", 1, 4, "tag");
        REFUSED("a: ! 1", 1, 4, "tag");
        REFUSED("a: ! \"1\"", 1, 4, "tag");
        REFUSED("a: ! [1]", 1, 4, "tag");
        REFUSED("\xc3\xa9: ! 1", 1, 4, "tag");
        REFUSED("!!map {a: 1}", 1, 1, "tag");
        REFUSED("! a: 1", 1, 1, "tag");
        _cleanup_yaml_ struct yaml_node *n = ACCEPTED("a: '*x'\nb: \"&x\"\nc: '!x'\nd: x*&!");
        check(n->n == 4);
}

TEST(documents_and_directives) {
        REFUSED("a: 1\n---\nb: 1\n", 2, 1, "second document");
        REFUSED("---\n---\n", 2, 1, "second document");
        REFUSED("a: 1\n...\nb: 1\n", 3, 1, "second document");
        REFUSED("%YAML 1.1\n---\na: 1\n", 1, 1, "directive");
        REFUSED("%YAML 1.2\n---\na: 1\n", 1, 1, "directive");
        REFUSED("%YAML 3.0\n---\na: 1\n", 1, 1, "");
        REFUSED("%TAG ! tag:x,2000:\n---\na: 1\n", 1, 1, "directive");
        REFUSED("%FOO\n---\na: 1\n", 1, 1, "directive");
}

TEST(keys) {
        REFUSED("a: 1\nb: 2\na: 3\n", 3, 1, "\"a\" a second time (first on line 1)");
        REFUSED("{a: 1, \"a\": 2}", 1, 8, "a second time");
        REFUSED("a: 1\n\"\\x61\": 2\n", 2, 1, "a second time");
        REFUSED("z: 1\nb: 1\nz: 2\nb: 2\n", 3, 1, "\"z\" a second time");
        REFUSED("x:\n  b: 1\n  b: 2\n", 3, 3, "a second time");
        REFUSED("? [a]\n: 1\n", 1, 3, "a key must be a word");
        REFUSED("{{a: 1}: 2}", 1, 2, "a key must be a word");
        REFUSED("<<: {a: 1}", 1, 1, "merge key");
        REFUSED("{: 1}", 1, 2, "expected node content");
        REFUSED("? \n: 1", 1, 2, "empty key");
        REFUSED(": 1", 1, 1, "expected key");
        REFUSED("'': 1", 1, 1, "empty key");
        REFUSED("\"a\\nb\": 1", 1, 1, "line break");
        REFUSED("? |\n  a\n: 1\n", 1, 3, "line break");
        _cleanup_yaml_ struct yaml_node *n = ACCEPTED("? a\n: 1\n'<<': 2\nb: {a: 1}\n");
        check(n->n == 3);
}

TEST(missing_dash_or_comma) {
        REFUSED("a:\n  - x\n    y\n", 2, 5, "goes on in the next line");
        REFUSED("a: [x\n  y]\n", 1, 5, "goes on in the next line");
        REFUSED("a: x\n  b: y\n", 1, 4, "goes on in the next line");
}

TEST(syntax) {
        REFUSED("a: {", 2, 1, "flow node"); /* libyaml's end of text is a line of its own */
        REFUSED("a: [1, 2", 2, 1, "expected ',' or ']'");
        REFUSED("a: \"x", 1, 6, "quoted scalar");
        REFUSED("a:\n\tb: 1\n", 2, 1, "a tab cannot indent");
        REFUSED("a: @x", 1, 4, "needs quotes");
        REFUSED("a: 1\n b: 2\n", 1, 4, "goes on");
        REFUSED("a: b: c", 1, 5, "mapping values");
}

TEST(depth) {
        static const char open[] = "[[[[[[[[[[[[[[[[[", shut[] = "]]]]]]]]]]]]]]]]]";
        char b[64];
        snprintf(b, sizeof(b), "%.16s%.16s", open, shut);
        _cleanup_yaml_ struct yaml_node *n = accepted(b, strlen(b));
        check(n->kind == YAML_KIND_SEQUENCE);
        snprintf(b, sizeof(b), "%.17s%.17s", open, shut);
        refused(b, strlen(b), E2BIG, 1, 17, "16 levels");
}

TEST(node_count) {
        struct strbuf b = {};
        strbuf_puts(&b, "- x"); /* the sequence and one */
        for (unsigned i = 2; i < YAML_NODES_MAX; i++)
                strbuf_puts(&b, "\n- x");
        struct yaml_node *n = accepted(b.data, b.len);
        check(n->n == YAML_NODES_MAX - 1);
        yaml_node_free(n);
        strbuf_puts(&b, "\n- x");
        refused(b.data, b.len, E2BIG, YAML_NODES_MAX, 3, "20000");
        strbuf_clear(&b);
}

TEST(many_keys) {
        struct strbuf b = {};
        for (unsigned i = 0; i < 9999; i++)
                strbuf_printf(&b, "k%u: \n", i);
        struct yaml_node *n = accepted(b.data, b.len);
        check(n->n == 9999);
        yaml_node_free(n);
        strbuf_clear(&b);
}

TEST(input_size) {
        char *big = malloc(YAML_INPUT_MAX + 1);
        check(big);
        memset(big, ' ', YAML_INPUT_MAX + 1);
        big[0] = '#';
        struct yaml_node *n = accepted(big, YAML_INPUT_MAX);
        yaml_node_free(n);
        refused(big, YAML_INPUT_MAX + 1, E2BIG, 1, 1, "1048576");
        free(big);
}

TAP_MAIN
