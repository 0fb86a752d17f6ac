/* Hide patterns: the input is patterns and, in the last line, a path. glob_match, the walk with a set and a slow
 * matcher written from glob.h must agree, for each pattern and for all of them together. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "model/glob.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)
#define SEGMENTS 40
#define CHARS 160
#define PATTERNS 8

struct text {
        size_t n;
        struct { uint32_t c; bool escaped; } at[CHARS];
};

static bool text_of(struct text *t, const char *s, size_t len, bool pattern) {
        t->n = 0;
        for (size_t i = 0, k; i < len; i += k) {
                uint32_t c = 0;
                bool escaped = pattern && s[i] == '\\';
                i += escaped;
                k = utf8_decode(s + i, len - i, &c);
                if (k == 0) {
                        k = 1;
                        c = 0x110000u + (unsigned char)s[i];
                }
                if (t->n == CHARS)
                        return false;
                t->at[t->n].c = c;
                t->at[t->n++].escaped = escaped;
        }
        return true;
}

/* The class at t[i]: where it ends, 0 where it does not, and whether it has c. */
static size_t class_of(const struct text *t, size_t i, uint32_t c, bool *ret) {
        bool no = false, hit = false;
        size_t from;
        i++;
        if (i < t->n && !t->at[i].escaped && (t->at[i].c == '!' || t->at[i].c == '^')) {
                no = true;
                i++;
        }
        for (from = i; i < t->n && (i == from || t->at[i].c != ']' || t->at[i].escaped); i++) {
                uint32_t low = t->at[i].c, high = low;
                if (i + 2 < t->n && t->at[i + 1].c == '-' && !t->at[i + 1].escaped &&
                    (t->at[i + 2].c != ']' || t->at[i + 2].escaped)) {
                        high = t->at[i + 2].c;
                        i += 2;
                }
                hit = hit || (low <= c && c <= high);
        }
        *ret = hit != no;
        return i < t->n ? i + 1 : 0;
}

/* A table over both texts, from their ends. */
static bool slow_segment(const struct text *p, const struct text *s) {
        static bool m[CHARS + 1][CHARS + 1];
        for (size_t i = p->n + 1; i-- > 0;)
                for (size_t j = s->n + 1; j-- > 0;) {
                        if (i == p->n)
                                m[i][j] = j == s->n;
                        else if (!p->at[i].escaped && p->at[i].c == '*')
                                m[i][j] = m[i + 1][j] || (j < s->n && m[i][j + 1]);
                        else if (j == s->n)
                                m[i][j] = false;
                        else if (!p->at[i].escaped && p->at[i].c == '?')
                                m[i][j] = m[i + 1][j + 1];
                        else if (!p->at[i].escaped && p->at[i].c == '[') {
                                /* Within a class that begins earlier, what looks like one may have no end. */
                                bool hit = false;
                                size_t end = class_of(p, i, s->at[j].c, &hit);
                                m[i][j] = end > 0 && hit && m[end][j + 1];
                        } else
                                m[i][j] = p->at[i].c == s->at[j].c && m[i + 1][j + 1];
                }
        return m[0][0];
}

static size_t split(const char *s, const char **seg, size_t *len) {
        size_t n = 0;
        while (*s) {
                size_t k = strcspn(s, "/");
                if (k > 0 && !(k == 1 && *s == '.')) {
                        if (n == SEGMENTS)
                                return SIZE_MAX;
                        seg[n] = s;
                        len[n++] = k;
                }
                s += k;
                s += *s == '/';
        }
        return n;
}

/* -1: too long for this one. */
static int slow_match(const char *pattern, const char *path) {
        const char *ps[SEGMENTS], *ss[SEGMENTS];
        size_t pl[SEGMENTS], sl[SEGMENTS], pn = split(pattern, ps, pl), sn = split(path, ss, sl);
        static bool m[SEGMENTS + 1][SEGMENTS + 1];
        static struct text a, b;

        if (pn == SIZE_MAX || sn == SIZE_MAX)
                return -1;
        if ((*pattern == '/') != (*path == '/'))
                return 0;
        for (size_t i = pn + 1; i-- > 0;)
                for (size_t j = sn + 1; j-- > 0;) {
                        if (i == pn)
                                m[i][j] = j == sn;
                        else if (pl[i] == 2 && memcmp(ps[i], "**", 2) == 0)
                                m[i][j] = m[i + 1][j] || (j < sn && m[i][j + 1]);
                        else if (j == sn)
                                m[i][j] = false;
                        else {
                                if (!text_of(&a, ps[i], pl[i], true) || !text_of(&b, ss[j], sl[j], false))
                                        return -1;
                                m[i][j] = m[i + 1][j + 1] && slow_segment(&a, &b);
                        }
                }
        return m[0][0];
}

/* Walks down the path as a walk of the tree would: stops where the set says that nothing is below. */
static bool walk(const struct globset *g, const char *path, size_t *ret_which) {
        uint64_t *a = calloc(globset_words(g), sizeof(*a)), *b = calloc(globset_words(g), sizeof(*b)), *t;
        unsigned flags = globset_start(g, a);
        char *copy = strdup(path), *save = NULL;
        bool any = false;

        for (char *name = strtok_r(copy, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
                if (streq(name, "."))
                        continue;
                any = true;
                if (!(flags & GLOBSET_BELOW)) {
                        flags = 0;
                        break;
                }
                flags = globset_step(g, a, name, b, ret_which);
                t = a;
                a = b;
                b = t;
        }
        free(a);
        free(b);
        free(copy);
        return any && (flags & GLOBSET_MATCH);
}

static bool names_something(const char *path) {
        const char *s[SEGMENTS];
        size_t l[SEGMENTS];
        return split(path, s, l) > 0;
}

static void check_split(const char *pattern) {
        char *base = NULL, *plain = glob_unescape(pattern);
        const char *rest = NULL;

        must(plain && strlen(plain) <= strlen(pattern));
        must(glob_split(pattern, &base, &rest) == 0);
        must(rest >= pattern && rest <= pattern + strlen(pattern));
        must(glob_is_literal(pattern) == (*rest == 0));
        if (*rest) {
                struct globset *g = NULL;
                must(globset_new(&g) == 0 && globset_add(g, rest) == 0);
                globset_free(g);
        }
        must(base[0] && (base[0] == '/') == (pattern[0] == '/'));
        free(base);
        free(plain);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        char *text = strndup((const char *)data, size), *lines[PATTERNS + 1], *save = NULL;
        struct globset *all = NULL;
        size_t n = 0, first = SIZE_MAX, n_all = 0;

        if (!text)
                return 0;
        for (char *l = strtok_r(text, "\n", &save); l && n < ELEMENTSOF(lines); l = strtok_r(NULL, "\n", &save))
                lines[n++] = l;
        if (n < 2 || globset_new(&all) < 0) {
                free(text);
                return 0;
        }
        const char *path = lines[n - 1];
        bool something = names_something(path);
        for (size_t i = 0; i + 1 < n; i++) {
                const char *why = NULL;
                bool m = glob_match(lines[i], path);
                if (glob_check(lines[i], &why) < 0) {
                        must(why && *why);
                        must(lines[i][0] == '!' || globset_add(all, lines[i]) < 0);
                        continue;
                }
                int slow = slow_match(lines[i], path);
                must(slow < 0 || m == (slow == 1));
                check_split(lines[i]);
                if (lines[i][0] == '/' || path[0] == '/')
                        continue;
                struct globset *one = NULL;
                must(globset_new(&one) == 0 && globset_add(one, lines[i]) == 0 && globset_add(all, lines[i]) == 0);
                must(!something || walk(one, path, NULL) == m);
                if (m && first == SIZE_MAX)
                        first = n_all;
                n_all++;
                globset_free(one);
        }
        if (something && path[0] != '/') {
                size_t which = SIZE_MAX;
                must(walk(all, path, &which) == (first != SIZE_MAX));
                must(first == SIZE_MAX || which == first);
        }
        globset_free(all);
        free(text);
        return 0;
}
