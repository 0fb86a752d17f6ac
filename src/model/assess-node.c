/* Looking at the tree, keeping texts and growing lists, within the caps; see assess-internal.h. */
#include <stdio.h>

#include "base/utf8.h"
#include "model/assess-internal.h"
#include "proto/quote.h"

const struct yaml_node *node_key(const struct yaml_node *map, const char *key) {
        if (!map || map->kind != YAML_KIND_MAPPING)
                return NULL;
        for (const struct yaml_node *k = map->first; k; k = k->next)
                if (streq(k->text, key))
                        return k;
        return NULL;
}

const struct yaml_node *node_get(const struct yaml_node *map, const char *key) {
        const struct yaml_node *k = node_key(map, key);
        return k && !yaml_is_null(k->value) ? k->value : NULL;
}

const struct yaml_node *node_lookup(struct assessment *a, const struct yaml_node *map, const char *key) {
        return map && charge(a, map->n * 8) ? node_get(map, key) : NULL;
}

bool node_is_map(const struct yaml_node *n) { return n && n->kind == YAML_KIND_MAPPING; }
bool node_is_list(const struct yaml_node *n) { return n && n->kind == YAML_KIND_SEQUENCE; }
const char *node_text(const struct yaml_node *n) { return n && n->kind == YAML_KIND_SCALAR ? n->text : NULL; }

bool one_of(const char *s, const char *const *list, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (streq(s, list[i]))
                        return true;
        return false;
}

bool charge(struct assessment *a, size_t bytes) {
        a->work += bytes + 64;
        if (a->work > ASSESS_WORK_MAX && !a->failed)
                a->failed = -E2BIG;
        return !a->failed;
}

const char *keep_n(struct assessment *a, const char *s, size_t n) {
        char *copy = charge(a, n * 4) ? strndup(s, n) : NULL; /* kept, not only looked at */
        int r = copy ? strlist_add(&a->kept, copy) : a->failed ? a->failed : -ENOMEM;
        free(copy);
        if (r < 0) {
                if (!a->failed)
                        a->failed = r;
                return "";
        }
        return a->kept.items[a->kept.n - 1];
}

const char *keep(struct assessment *a, const char *s) { return keep_n(a, s, strlen(s)); }

const char *keepf(struct assessment *a, const char *fmt, ...) {
        _cleanup_strbuf_ struct strbuf b = {};
        char line[1024];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(line, sizeof(line), fmt, ap);
        va_end(ap);
        strbuf_add(&b, line, utf8_cut(line, strlen(line), sizeof(line) - 1));
        return keep(a, b.data ? b.data : "");
}

const char *keep_shown(struct assessment *a, const char *s) {
        _cleanup_strbuf_ struct strbuf b = {};
        char part[96];
        size_t len = strlen(s), n = utf8_cut(s, len, sizeof(part) - 1);

        memcpy(part, s, n);
        part[n] = 0;
        quote_name(&b, "", part);
        if (n < len)
                strbuf_puts(&b, "...");
        return keep(a, b.data ? b.data : "");
}

bool list_grow(struct assessment *a, void **items, size_t *n, size_t *cap, size_t size, bool fact) {
        if (a->failed)
                return false;
        if (fact && ++a->n_facts > ASSESS_FACTS_MAX) {
                a->failed = -E2BIG;
                return false;
        }
        if (*n < *cap)
                return true;
        size_t more = *cap ? *cap * 2 : 4;
        void *p = reallocarray(*items, more, size);
        if (!p) {
                a->failed = -ENOMEM;
                return false;
        }
        *items = p;
        *cap = more;
        return true;
}

/* --- Variables, as compose has them (compose-spec, "Interpolation"). */

static bool name_char(char c, bool first) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || (!first && c >= '0' && c <= '9');
}

/* The end of ${...} at s, which begins after "${": defaults may hold more of them. NULL: it has none, or not near, so
 * that a text full of them does not take a square of time. */
static const char *brace_end(const char *s) {
        unsigned depth = 1;

        for (size_t left = 1000; *s && left > 0; s++, left--)
                if (s[0] == '$' && s[1] == '{')
                        depth++;
                else if (*s == '}' && --depth == 0)
                        return s;
        return NULL;
}

static void expand(struct strbuf *b, const char *s, const char *end, unsigned depth, bool *passed, bool *by_default) {
        while (s < end) {
                if (*s != '$' || s + 1 == end) {
                        size_t n = strcspn(s + 1, "$") + 1;
                        n = MIN(n, (size_t)(end - s));
                        strbuf_add(b, s, n);
                        s += n;
                        continue;
                }
                if (s[1] == '$') {
                        strbuf_puts(b, "$");
                        s += 2;
                        continue;
                }
                bool brace = s[1] == '{';
                const char *name = s + 1 + brace, *p = name;
                while (p < end && name_char(*p, p == name))
                        p++;
                const char *stop = brace && p > name ? brace_end(name) : p;
                if (p == name || !stop || stop >= end + !brace) {
                        strbuf_add(b, s++, 1);
                        continue;
                }
                const char *op = p;
                bool colon = brace && *op == ':';
                op += colon;
                *passed = true;
                if (brace && *op == '-' && depth < 8) {
                        *by_default = true;
                        expand(b, op + 1, stop, depth + 1, passed, by_default);
                } else {
                        strbuf_puts(b, "${");
                        strbuf_add(b, name, (size_t)(p - name));
                        strbuf_puts(b, "}");
                }
                s = stop + brace;
        }
}

const char *node_expand(struct assessment *a, const struct yaml_node *n, bool *passed, bool *by_default) {
        _cleanup_strbuf_ struct strbuf b = {.max = YAML_LENIENT_TEXT_MAX};
        bool p = false, d = false;
        const char *s = node_text(n);

        if (!s || !charge(a, n->len))
                return s ? "" : NULL;
        if (a->format == FORMAT_COMPOSE && strchr(s, '$')) {
                expand(&b, s, s + n->len, 0, &p, &d);
                s = keep(a, b.data ? b.data : "");
        }
        if (passed)
                *passed = p;
        if (by_default)
                *by_default = d;
        return s;
}

struct flag node_flag(struct assessment *a, const struct yaml_node *map, const char *key) {
        static const char *const yes[] = {"true", "True", "TRUE", "yes", "on", "1"};
        const struct yaml_node *k = node_key(map, key);
        const char *s = k && !yaml_is_null(k->value) ? node_expand(a, k->value, NULL, NULL) : NULL;

        if (!s || !*s)
                return (struct flag){};
        return (struct flag){one_of(s, yes, ELEMENTSOF(yes)) ? YES : NO, k->line};
}

struct fact node_fact(struct assessment *a, const struct yaml_node *map, const char *key) {
        const struct yaml_node *k = node_key(map, key);
        const char *s = k && !yaml_is_null(k->value) ? node_expand(a, k->value, NULL, NULL) : NULL;

        return s && *s ? (struct fact){s, k->line} : (struct fact){};
}

bool node_positive(struct assessment *a, const struct yaml_node *n) {
        const char *s = node_expand(a, n, NULL, NULL);
        /* A variable without a default may be any number. */
        return s && *s && *s != '-' && strspn(s, "0.") != strlen(s);
}
