/* The strict YAML tree: whatever is accepted keeps the promises of yaml.h, whatever is not has a place and a reason. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "proto/yaml.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static void check_text(const struct yaml_node *n) {
        must(n->text && strlen(n->text) == n->len);
        for (size_t i = 0, k; i < n->len; i += k) {
                uint32_t cp = 0;
                k = utf8_decode(n->text + i, n->len - i, &cp);
                must(k > 0);
                must(cp >= 0x20 || cp == '\n' || cp == '\t');
                must(cp < 0x7f || cp >= 0xa0);
        }
}

static size_t check_node(const struct yaml_node *n, unsigned depth, unsigned *line, unsigned *column) {
        size_t count = 1, n_children = 0;

        /* In the order of the text. */
        must(n->line > *line || (n->line == *line && n->column >= *column));
        *line = n->line;
        *column = n->column;
        if (n->kind == YAML_KIND_SCALAR) {
                must(!n->first && n->n == 0);
                check_text(n);
                return 1;
        }
        must(!n->text && depth < YAML_DEPTH_MAX);
        for (const struct yaml_node *c = n->first; c; c = c->next, n_children++) {
                count += check_node(c, depth + 1, line, column);
                must((n->kind == YAML_KIND_MAPPING) == (c->value != NULL));
                if (!c->value)
                        continue;
                must(c->kind == YAML_KIND_SCALAR && c->len > 0 && !strpbrk(c->text, "\n\t"));
                count += check_node(c->value, depth + 1, line, column);
                if (n->n < 200)
                        for (const struct yaml_node *d = n->first; d != c; d = d->next)
                                must(strcmp(c->text, d->text) != 0);
        }
        must(n_children == n->n);
        return count;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        struct yaml_node *n = NULL;
        struct yaml_error e = {};
        int r = yaml_read((const char *)data, size, &n, &e);

        if (r < 0) {
                must(!n && e.line > 0 && e.column > 0 && e.msg[0]);
                must(r == -EINVAL || r == -E2BIG || r == -ENOMEM);
                return 0;
        }
        unsigned line = 0, column = 0;
        must(n && check_node(n, 0, &line, &column) <= YAML_NODES_MAX);
        yaml_node_free(n);
        return 0;
}
