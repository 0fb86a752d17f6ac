/* The YAML tree, strict and lenient; see yaml.h. The text is looked over once before libyaml sees it, so that what the
 * parser reads and what an editor shows have the same characters and the same lines. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/utf8.h"
#include "proto/jsonc.h"
#include "proto/yaml-lenient.h"
#include "proto/yaml.h"

struct reader {
        yaml_parser_t parser;
        const char *text;
        size_t len;
        size_t at_byte, at_index; /* the same place, in bytes and in libyaml's characters */
        size_t n_nodes;
        struct yaml_error *e;
        struct yaml_lenient *lenient; /* NULL: strict */
};

static int fail(struct yaml_error *e, int errnum, size_t line, size_t column, const char *fmt, ...) _printf_(5, 6);
static int fail(struct yaml_error *e, int errnum, size_t line, size_t column, const char *fmt, ...) {
        if (e) {
                va_list ap;
                va_start(ap, fmt);
                vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
                va_end(ap);
                e->line = (unsigned)line;
                e->column = (unsigned)column;
        }
        return -errnum;
}

#define fail_at(r, mark, ...) fail((r)->e, EINVAL, (mark).line + 1, (mark).column + 1, __VA_ARGS__)

/* C0, DEL and C1: with an effect on a terminal, and none that a policy needs. */
static bool is_control(uint32_t cp) { return cp < 0x20 || (cp >= 0x7f && cp < 0xa0); }

/* Turns the reading direction round: what a person sees is not what is parsed (CVE-2021-42574). */
static bool is_bidi(uint32_t cp) { return (cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069); }

static int check_text(const char *text, size_t len, bool lenient, struct yaml_error *e) {
        size_t line = 1, column = 1;

        for (size_t i = 0, n; i < len; i += n, column++) {
                uint32_t cp = 0;

                n = utf8_decode(text + i, len - i, &cp);
                if (n == 0)
                        return fail(e, EINVAL, line, column, "the byte 0x%02x is not UTF-8", (unsigned char)text[i]);
                if (cp == '\n') {
                        line++;
                        column = 0;
                } else if (cp == '\r') {
                        if (i + 1 == len || text[i + 1] != '\n')
                                return fail(e, EINVAL, line, column, "a carriage return that ends no line");
                } else if (cp == 0x85 || cp == 0x2028 || cp == 0x2029)
                        return fail(e, EINVAL, line, column, "the line break U+%04X, which editors do not show as one", cp);
                else if (cp != '\t' && is_control(cp))
                        return fail(e, EINVAL, line, column, "the control character U+%04X", cp);
                else if (!lenient && (is_bidi(cp) || cp == 0xfeff))
                        return fail(e, EINVAL, line, column, "the invisible character U+%04X (if it is meant, write it as an escape)",
                                    cp);
                else if (cp == 0xfffe || cp == 0xffff)
                        return fail(e, EINVAL, line, column, "U+%04X is not a character", cp);
        }
        return 0;
}

/* The byte at a mark; libyaml counts characters. Marks mostly go forward, so that this is linear over a file. */
static char byte_at(struct reader *r, yaml_mark_t mark) {
        if (mark.index < r->at_index)
                r->at_byte = r->at_index = 0;
        while (r->at_index < mark.index && r->at_byte < r->len) {
                uint32_t cp;
                size_t n = utf8_decode(r->text + r->at_byte, r->len - r->at_byte, &cp);
                r->at_byte += MAX(n, 1u);
                r->at_index++;
        }
        return r->at_byte < r->len ? r->text[r->at_byte] : 0;
}

#define ALIAS_MSG "a value that begins with * is an alias in YAML, which is not accepted: a pattern needs quotes"
#define ANCHOR_MSG "a value that begins with & is an anchor in YAML, which is not accepted: as text it needs quotes"
#define DIRECTIVE_MSG "a line that begins with %% is a directive in YAML, which is not accepted"
#define TAG_MSG "a value that begins with ! is a tag in YAML, which is not accepted: as text it needs quotes"

static int next_event(struct reader *r, yaml_event_t *ret) {
        const yaml_parser_t *p = &r->parser;

        if (yaml_parser_parse(&r->parser, ret))
                return 0;
        memset(ret, 0, sizeof(*ret));
        if (p->error == YAML_MEMORY_ERROR)
                return fail(r->e, ENOMEM, 1, 1, "out of memory");

        /* Some of libyaml's words say what its scanner missed, not what a person wrote. */
        const char *problem = p->problem ?: "not YAML", *context = p->context;
        switch (byte_at(r, p->problem_mark)) {
        case '\t':
                if (strstr(problem, "cannot start any token") || strstr(problem, "tab"))
                        return fail_at(r, p->problem_mark, "a tab cannot indent a line of YAML: use spaces");
                break;
        case '@':
        case '`':
        case '%':
                if (strstr(problem, "cannot start any token"))
                        return fail_at(r, p->problem_mark, "a value that begins with this character needs quotes");
                break;
        }
        if (context && strstr(context, "alias"))
                return fail_at(r, p->context_mark, ALIAS_MSG);
        if (context && strstr(context, "anchor"))
                return fail_at(r, p->context_mark, ANCHOR_MSG);
        if (context && strstr(context, "directive"))
                return fail_at(r, p->context_mark, DIRECTIVE_MSG);
        if (context && strstr(context, "tag"))
                return fail_at(r, p->context_mark, TAG_MSG);
        if (strstr(problem, "expected <document start>"))
                return fail_at(r, p->problem_mark, "text after the document's end, or a second document");
        if (strstr(problem, "unknown escape"))
                return fail_at(r, p->problem_mark,
                               "not an escape that YAML knows: in double quotes a backslash is doubled, in single ones it is not");
        if (context && p->context_mark.line != p->problem_mark.line)
                return fail_at(r, p->problem_mark, "%s (%s that begins on line %zu)", problem, context,
                               p->context_mark.line + 1);
        if (context)
                return fail_at(r, p->problem_mark, "%s (%s)", problem, context);
        return fail_at(r, p->problem_mark, "%s", problem);
}

static int node_new(struct reader *r, yaml_mark_t mark, struct yaml_node **ret) {
        size_t max = r->lenient ? YAML_LENIENT_NODES_MAX : YAML_NODES_MAX;
        if (++r->n_nodes > max)
                return fail(r->e, E2BIG, mark.line + 1, mark.column + 1, "more than %zu keys and values", max);
        struct yaml_node *n = calloc(1, sizeof(*n));
        if (!n)
                return fail(r->e, ENOMEM, mark.line + 1, mark.column + 1, "out of memory");
        n->line = (unsigned)mark.line + 1;
        n->column = (unsigned)mark.column + 1;
        *ret = n;
        return 0;
}

void yaml_node_free(struct yaml_node *n) {
        /* Depth is capped, length is not: recursion goes down, the loop goes along. */
        while (n) {
                struct yaml_node *next = n->next;
                yaml_node_free(n->first);
                yaml_node_free(n->value);
                free(n->text);
                free(n);
                n = next;
        }
}

static int read_scalar(struct reader *r, const yaml_event_t *ev, struct yaml_node *n) {
        const char *s = (const char *)ev->data.scalar.value;
        size_t len = ev->data.scalar.length;

        n->kind = YAML_KIND_SCALAR; /* NOLINT(clang-analyzer-core.NullDereference): set where no error was returned */
        switch (ev->data.scalar.style) {
        case YAML_SINGLE_QUOTED_SCALAR_STYLE:
        case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
                n->style = YAML_STYLE_QUOTED;
                break;
        case YAML_LITERAL_SCALAR_STYLE:
        case YAML_FOLDED_SCALAR_STYLE:
                n->style = YAML_STYLE_BLOCK;
                break;
        default:
                n->style = YAML_STYLE_PLAIN;
                if (!r->lenient && ev->start_mark.line != ev->end_mark.line)
                        return fail_at(r, ev->start_mark,
                                       "a value without quotes goes on in the next line: is a dash, a comma or a colon missing?");
        }
        for (size_t i = 0, k; i < len; i += k) {
                uint32_t cp = 0;
                k = utf8_decode(s + i, len - i, &cp);
                if (k == 0)
                        return fail_at(r, ev->start_mark, "an escape gives text that is not UTF-8");
                if (cp != '\n' && cp != '\t' && is_control(cp) && (!r->lenient || cp == 0))
                        return fail_at(r, ev->start_mark, "an escape gives the control character U+%04X", cp);
        }
        if (r->lenient && (r->lenient->text += len) > YAML_LENIENT_TEXT_MAX)
                return fail(r->e, E2BIG, n->line, n->column, "more than %u bytes of text", YAML_LENIENT_TEXT_MAX);
        n->text = malloc(len + 1);
        if (!n->text)
                return fail(r->e, ENOMEM, n->line, n->column, "out of memory");
        memcpy(n->text, s, len);
        n->text[len] = 0;
        n->len = len;
        return 0;
}

static int check_key(struct reader *r, const struct yaml_node *key) {
        if (key->len == 0) /* NOLINT(clang-analyzer-core.NullDereference): set where no error was returned */
                return fail(r->e, EINVAL, key->line, key->column, "an empty key");
        if (key->style == YAML_STYLE_PLAIN && strcmp(key->text, "<<") == 0)
                return fail(r->e, EINVAL, key->line, key->column, "<< (a merge key) is not accepted");
        if (strpbrk(key->text, "\n\t"))
                return fail(r->e, EINVAL, key->line, key->column, "a key with a line break or a tab in it");
        return 0;
}

static int key_compare(const void *a, const void *b) {
        const struct yaml_node *x = *(struct yaml_node *const *)a, *y = *(struct yaml_node *const *)b;
        int c = strcmp(x->text, y->text);
        if (c != 0)
                return c;
        if (x->line != y->line)
                return x->line < y->line ? -1 : 1;
        return x->column < y->column ? -1 : x->column > y->column;
}

/* Sorted, so that a mapping with thousands of keys does not take a square of comparisons. */
static int check_duplicates(struct reader *r, struct yaml_node *map) {
        _cleanup_free_ struct yaml_node **keys = NULL;
        const struct yaml_node *bad = NULL, *before = NULL;
        size_t n = 0;

        if (map->n < 2)
                return 0;
        keys = calloc(map->n, sizeof(*keys));
        if (!keys)
                return fail(r->e, ENOMEM, map->line, map->column, "out of memory");
        for (struct yaml_node *k = map->first; k; k = k->next)
                keys[n++] = k;
        qsort(keys, n, sizeof(*keys), key_compare);
        for (size_t i = 1; i < n; i++) {
                if (strcmp(keys[i - 1]->text, keys[i]->text) != 0)
                        continue;
                if (bad && (bad->line < keys[i]->line || (bad->line == keys[i]->line && bad->column < keys[i]->column)))
                        continue;
                before = keys[i - 1];
                bad = keys[i];
        }
        if (!bad)
                return 0;
        return fail(r->e, EINVAL, bad->line, bad->column, "the key \"%.*s\" a second time (first on line %u)",
                    (int)utf8_cut(bad->text, bad->len, 60), bad->text, before->line);
}

static int read_value(struct reader *r, const yaml_event_t *ev, unsigned depth, struct yaml_node **ret);

/* The place and the words for what yaml-lenient.c refused. */
static int lenient(struct reader *r, int q, size_t line, size_t column) {
        switch (q) {
        case -EINVAL: return fail(r->e, EINVAL, line, column, "<< merges mappings, and this is none");
        case -ENOENT: return fail(r->e, EINVAL, line, column, "an alias of nothing that stands before it");
        case -E2BIG: return fail(r->e, E2BIG, line, column, "aliases that grow beyond what is read");
        case -ENOMEM: return fail(r->e, ENOMEM, line, column, "out of memory");
        default: return q;
        }
}

static int read_children(struct reader *r, struct yaml_node *n, yaml_event_type_t end, unsigned depth) {
        struct yaml_node **tail = &n->first;

        for (;;) {
                _cleanup_(yaml_event_delete) yaml_event_t ev = {};
                int q = next_event(r, &ev);
                if (q < 0)
                        return q;
                if (ev.type == end)
                        break;
                if (n->kind == YAML_KIND_MAPPING && (ev.type == YAML_MAPPING_START_EVENT || ev.type == YAML_SEQUENCE_START_EVENT))
                        return fail_at(r, ev.start_mark, "a key must be a word, not a list or a mapping");
                q = read_value(r, &ev, depth, tail);
                if (q < 0)
                        return q;
                n->n++;
                if (n->kind == YAML_KIND_MAPPING) {
                        _cleanup_(yaml_event_delete) yaml_event_t value = {};
                        if (r->lenient && (*tail)->kind != YAML_KIND_SCALAR) /* an alias */
                                return fail_at(r, ev.start_mark, "a key must be a word, not a list or a mapping");
                        q = r->lenient ? 0 : check_key(r, *tail);
                        if (q < 0)
                                return q;
                        q = next_event(r, &value);
                        if (q < 0)
                                return q;
                        q = read_value(r, &value, depth, &(*tail)->value);
                        if (q < 0)
                                return q;
                }
                tail = &(*tail)->next;
        }
        if (n->kind != YAML_KIND_MAPPING)
                return 0;
        if (!r->lenient)
                return check_duplicates(r, n);
        return lenient(r, yaml_lenient_merge(r->lenient, &r->n_nodes, n), n->line, n->column);
}

/* depth: how many mappings and sequences are around this one. */
static int read_value(struct reader *r, const yaml_event_t *ev, unsigned depth, struct yaml_node **ret) {
        _cleanup_yaml_ struct yaml_node *n = NULL;
        const yaml_char_t *anchor = NULL, *tag = NULL;
        int q;

        switch (ev->type) {
        case YAML_ALIAS_EVENT:
                if (!r->lenient)
                        return fail_at(r, ev->start_mark, ALIAS_MSG);
                q = yaml_lenient_alias(r->lenient, &r->n_nodes, (const char *)ev->data.alias.anchor, depth, ret);
                return lenient(r, q, ev->start_mark.line + 1, ev->start_mark.column + 1);
        case YAML_SCALAR_EVENT:
                anchor = ev->data.scalar.anchor;
                tag = ev->data.scalar.tag;
                break;
        case YAML_SEQUENCE_START_EVENT:
                anchor = ev->data.sequence_start.anchor;
                tag = ev->data.sequence_start.tag;
                break;
        case YAML_MAPPING_START_EVENT:
                anchor = ev->data.mapping_start.anchor;
                tag = ev->data.mapping_start.tag;
                break;
        default:
                return fail_at(r, ev->start_mark, "not a value");
        }
        if (anchor && !r->lenient)
                return fail_at(r, ev->start_mark, ANCHOR_MSG);
        /* libyaml drops the tag "!" from its event: the text still has it. */
        if (!r->lenient && (tag || byte_at(r, ev->start_mark) == '!'))
                return fail_at(r, ev->start_mark, TAG_MSG);

        q = node_new(r, ev->start_mark, &n);
        if (q < 0)
                return q;
        if (ev->type == YAML_SCALAR_EVENT)
                q = read_scalar(r, ev, n);
        else if (depth >= (r->lenient ? YAML_LENIENT_DEPTH_MAX : YAML_DEPTH_MAX))
                q = fail(r->e, E2BIG, n->line, n->column, "more than %u levels deep",
                         r->lenient ? YAML_LENIENT_DEPTH_MAX : YAML_DEPTH_MAX);
        else if (ev->type == YAML_SEQUENCE_START_EVENT) {
                n->kind = YAML_KIND_SEQUENCE; /* NOLINT(clang-analyzer-core.NullDereference): set where no error was returned */
                q = read_children(r, n, YAML_SEQUENCE_END_EVENT, depth + 1);
        } else {
                n->kind = YAML_KIND_MAPPING; /* NOLINT(clang-analyzer-core.NullDereference): set where no error was returned */
                q = read_children(r, n, YAML_MAPPING_END_EVENT, depth + 1);
        }
        if (q < 0)
                return q;
        if (anchor && r->lenient) {
                q = lenient(r, yaml_lenient_anchor(r->lenient, (const char *)anchor, n), n->line, n->column);
                if (q < 0)
                        return q;
        }
        *ret = TAKE_PTR(n);
        return 0;
}

/* The document's events around its one value. */
static int read_document(struct reader *r, struct yaml_node **ret) {
        _cleanup_yaml_ struct yaml_node *root = NULL;
        bool seen = false;

        for (;;) {
                _cleanup_(yaml_event_delete) yaml_event_t ev = {};
                int q = next_event(r, &ev);
                if (q < 0)
                        return q;
                switch (ev.type) {
                case YAML_STREAM_START_EVENT:
                case YAML_DOCUMENT_END_EVENT:
                        continue;
                case YAML_DOCUMENT_START_EVENT:
                        if (seen)
                                return fail_at(r, ev.start_mark, "a second document: a policy is one document");
                        if (ev.data.document_start.version_directive ||
                            ev.data.document_start.tag_directives.start != ev.data.document_start.tag_directives.end)
                                return fail_at(r, ev.start_mark, DIRECTIVE_MSG);
                        seen = true;
                        continue;
                case YAML_STREAM_END_EVENT:
                        break;
                default:
                        q = read_value(r, &ev, 0, &root);
                        if (q < 0)
                                return q;
                        continue;
                }
                break;
        }
        if (!root) {
                int q = node_new(r, (yaml_mark_t){}, &root);
                if (q < 0)
                        return q;
                root->kind = YAML_KIND_MAPPING; /* NOLINT(clang-analyzer-core.NullDereference): set where no error was returned */
        } else if (root->kind == YAML_KIND_SCALAR && root->style == YAML_STYLE_PLAIN && root->len == 0) {
                free(TAKE_PTR(root->text));
                root->kind = YAML_KIND_MAPPING;
        }
        *ret = TAKE_PTR(root);
        return 0;
}

/* Looks the text over and gives it to libyaml and then to `fn`. */
static int read_text(struct reader *r, const char *text, size_t len, int (*fn)(struct reader *, struct yaml_node **),
                     struct yaml_node **ret) {
        /* The byte order mark that some editors put in front; it is no character of the text. */
        if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
                text += 3, len -= 3;
        int q = check_text(text, len, r->lenient != NULL, r->e);
        if (q < 0)
                return q;
        r->text = text;
        r->len = len;
        if (!yaml_parser_initialize(&r->parser))
                return fail(r->e, ENOMEM, 1, 1, "out of memory");
        yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, len);
        q = fn(r, ret);
        yaml_parser_delete(&r->parser);
        return q;
}

int yaml_read(const char *text, size_t len, struct yaml_node **ret, struct yaml_error *e) {
        struct reader r = {.e = e};

        if (len > YAML_INPUT_MAX)
                return fail(e, E2BIG, 1, 1, "%zu bytes: more than the %u that are read", len, YAML_INPUT_MAX);
        return read_text(&r, text, len, read_document, ret);
}

static int read_documents(struct reader *r, struct yaml_node **ret) {
        _cleanup_yaml_ struct yaml_node *all = NULL;
        struct yaml_node **tail;

        int q = node_new(r, (yaml_mark_t){}, &all);
        if (q < 0)
                return q;
        all->kind = YAML_KIND_SEQUENCE; /* NOLINT(clang-analyzer-core.NullDereference): set where no error was returned */
        tail = &all->first;
        for (;;) {
                _cleanup_(yaml_event_delete) yaml_event_t ev = {};
                q = next_event(r, &ev);
                if (q < 0)
                        return q;
                if (ev.type == YAML_STREAM_END_EVENT)
                        break;
                if (ev.type == YAML_DOCUMENT_START_EVENT)
                        yaml_lenient_forget(r->lenient); /* anchors hold within their document */
                if (ev.type == YAML_STREAM_START_EVENT || ev.type == YAML_DOCUMENT_START_EVENT ||
                    ev.type == YAML_DOCUMENT_END_EVENT)
                        continue;
                q = read_value(r, &ev, 0, tail);
                if (q < 0)
                        return q;
                if (!*tail || yaml_is_null(*tail)) {
                        yaml_node_free(TAKE_PTR(*tail));
                        continue;
                }
                tail = &(*tail)->next;
                all->n++;
        }
        *ret = TAKE_PTR(all);
        return 0;
}

int yaml_read_lenient(const char *text, size_t len, struct yaml_node **ret, struct yaml_error *e) {
        _cleanup_(yaml_lenient_forget) struct yaml_lenient lenient_state = {};
        struct reader r = {.e = e, .lenient = &lenient_state};
        _cleanup_free_ char *plain = NULL;
        size_t plain_len = 0;

        if (len > YAML_LENIENT_INPUT_MAX)
                return fail(e, E2BIG, 1, 1, "%zu bytes: more than the %u that are read", len, YAML_LENIENT_INPUT_MAX);
        if (jsonc_likely(text, len)) {
                int q = jsonc_to_yaml(text, len, &plain, &plain_len);
                if (q < 0)
                        return fail(e, ENOMEM, 1, 1, "out of memory");
                text = plain;
                len = plain_len;
        }
        return read_text(&r, text, len, read_documents, ret);
}

bool yaml_is_null(const struct yaml_node *n) {
        static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};

        if (n->kind != YAML_KIND_SCALAR || n->style != YAML_STYLE_PLAIN)
                return false;
        for (size_t i = 0; i < ELEMENTSOF(nulls); i++)
                if (strcmp(n->text, nulls[i]) == 0)
                        return true;
        return false;
}
