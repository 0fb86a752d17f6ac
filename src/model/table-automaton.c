/* The classes of rules, while a table is compiled: the automaton over paths (table-layout.h says how it works), and the rules
 * without paths. */
#include <stdio.h>

#include "model/table-build.h"

/* One segment of a pattern that waits for its list. */
struct entry {
        struct table_string text;
        uint32_t word;
        bool glob;
        uint64_t mask;
};

size_t build_literal(const char *s, size_t n, char *dst) {
        size_t o = 0;

        for (size_t i = 0; i < n; i++) {
                dst[o++] = s[i];
                if (s[i] == '%' && i + 2 < n) {
                        dst[o - 1] = s[i + 2] == 'A' ? '*' : '%';
                        i += 2;
                }
        }
        return o;
}

static int add_segment(struct build *b, struct growing *words, const char *s, size_t n, uint32_t word, uint64_t mask) {
        char literal[NETWORK_PATH_BYTES];
        struct entry x = {.word = word, .mask = mask, .glob = memchr(s, '*', n)};
        uint64_t *w = (uint64_t *)words->data + (size_t)word * 4;
        int r;

        if (n == 1 && s[0] == '*')
                w[1] |= mask;
        else if (n == 2 && s[0] == '*' && s[1] == '*')
                w[2] |= mask;
        else {
                if (!x.glob)
                        n = build_literal(s, n, literal);
                if ((r = build_intern(b, x.glob ? s : literal, n, &x.text)) < 0)
                        return r;
                if (!build_append(b, &b->entries, &x, sizeof(x)))
                        return build_out_of_memory(b);
        }
        return 0;
}

/* Lays a pattern's states into the words (four uint64_t each: start, star, stars, accept). */
static int add_pattern(struct build *b, struct growing *words, unsigned *bit, const char *path) {
        size_t segments = 1;
        int r;

        for (const char *s = path + 1; *s; s++)
                segments += *s == '/';
        if (words->len == 0 || *bit + segments + 1 > 64) {
                if (words->len / 32 >= TABLE_WORDS_MAX) {
                        error_set(b->e, E2BIG, "too many paths on one host and port");
                        return error_fix(b->e, "write fewer paths, with wildcards");
                }
                if (!build_append(b, words, NULL, 32))
                        return build_out_of_memory(b);
                *bit = 0;
        }
        uint32_t word = (uint32_t)(words->len / 32 - 1);
        uint64_t *w = (uint64_t *)words->data + (size_t)word * 4, state = 1ull << *bit;
        const char *s = path + 1;
        w[0] |= state;
        if (strncmp(s, "**", 2) == 0 && (s[2] == '/' || s[2] == 0))
                w[0] |= state << 1;
        for (;; s++, state <<= 1) {
                size_t n = strcspn(s, "/");
                if ((r = add_segment(b, words, s, n, word, state)) < 0)
                        return r;
                s += n;
                if (!*s)
                        break;
        }
        w[3] |= state << 1;
        *bit += (unsigned)segments + 1;
        return 0;
}

static int compare_entries(const void *a, const void *b) {
        const struct entry *x = a, *y = b;

        if (x->glob != y->glob)
                return x->glob ? 1 : -1;
        if (x->text.at != y->text.at)
                return x->text.at < y->text.at ? -1 : 1;
        return (x->word > y->word) - (x->word < y->word);
}

/* The lists of what stands at one text: entries [from, to). */
static int add_pairs(struct build *b, const struct entry *x, size_t n, struct table_span *ret) {
        *ret = (struct table_span){build_count(b, SECTION_PAIRS), 0};
        for (size_t i = 0; i < n; i++) {
                struct table_pair p = {.word = x[i].word, .mask = x[i].mask};
                if (ret->n && x[i].word == x[i - 1].word) {
                        struct table_pair *all = (struct table_pair *)b->section[SECTION_PAIRS].data;
                        all[ret->first + ret->n - 1].mask |= p.mask;
                        continue;
                }
                if (!build_add(b, SECTION_PAIRS, &p, 1))
                        return -E2BIG;
                ret->n++;
        }
        return 0;
}

static int add_lists(struct build *b, struct table_class *c) {
        struct entry *x = (struct entry *)b->entries.data;
        size_t n = b->entries.len / sizeof(*x), distinct = 0, cap;
        _cleanup_free_ struct table_literal_slot *list = calloc(n + 1, sizeof(*list));
        _cleanup_free_ uint32_t *hash = calloc(n + 1, sizeof(*hash)), *place = calloc(n + 1, sizeof(*place));
        int r;

        if (!list || !hash || !place)
                return build_out_of_memory(b);
        if (n)
                qsort(x, n, sizeof(*x), compare_entries);
        c->globs.first = build_count(b, SECTION_GLOBS);
        for (size_t i = 0, k; i < n; i = k) {
                struct table_span pairs;
                for (k = i + 1; k < n && x[k].text.at == x[i].text.at && x[k].glob == x[i].glob; k++)
                        ;
                if ((r = add_pairs(b, x + i, k - i, &pairs)) < 0)
                        return r;
                if (!x[i].glob) {
                        hash[distinct] = table_hash(0, build_text(b, x[i].text), x[i].text.n);
                        list[distinct] = (struct table_literal_slot){hash[distinct], x[i].text, pairs};
                        distinct++;
                        continue;
                }
                if (++c->globs.n > TABLE_GLOBS_MAX) {
                        error_set(b->e, E2BIG, "more than %u patterns within segments of paths on one host", TABLE_GLOBS_MAX);
                        return error_fix(b->e, "write whole segments, or * for any");
                }
                if (!build_add(b, SECTION_GLOBS, &(struct table_glob){x[i].text, pairs}, 1))
                        return -E2BIG;
        }
        c->literals = (struct table_span){build_count(b, SECTION_LITERALS), 0};
        if (distinct == 0)
                return 0;
        if ((cap = build_spread(hash, distinct, place)) == 0)
                return build_too_large(b);
        if (!build_add(b, SECTION_LITERALS, NULL, cap))
                return -E2BIG;
        struct table_literal_slot *slot = (struct table_literal_slot *)b->section[SECTION_LITERALS].data + c->literals.first;
        for (size_t i = 0; i < cap; i++)
                slot[i].text.at = TABLE_NONE;
        for (size_t i = 0; i < distinct; i++)
                slot[place[i]] = list[i];
        c->literals.n = (uint32_t)cap;
        return 0;
}

/* The words of a class, from groups of four to arrays. */
static int add_words(struct build *b, struct table_class *c, const struct growing *words) {
        const uint64_t *from = (const uint64_t *)words->data;
        size_t n = words->len / 32, all = (n + TABLE_BLOCK - 1) / TABLE_BLOCK * TABLE_BLOCK, summary = table_summary_words(all);
        uint32_t sum = 0;

        c->words = (uint32_t)all;
        c->at = build_count(b, SECTION_WORDS);
        uint64_t *to = build_add(b, SECTION_WORDS, NULL, table_class_words(all));
        if (!to)
                return -E2BIG;
        uint64_t *starts = to + 4 * all, *wild = starts + summary;
        uint32_t *rank = (uint32_t *)(wild + summary);
        for (size_t i = 0; i < all; i++) {
                size_t block = i / TABLE_BLOCK;
                rank[i] = sum;
                if (i >= n)
                        continue;
                for (size_t k = 0; k < 4; k++)
                        to[k * all + i] = from[4 * i + k];
                if (from[4 * i])
                        starts[block / 64] |= 1ull << block % 64;
                if (from[4 * i] & (from[4 * i + 1] | from[4 * i + 2]))
                        wild[block / 64] |= 1ull << block % 64;
                sum += (uint32_t)__builtin_popcountll(from[4 * i + 3]);
        }
        return 0;
}

static int build_member(struct build *b, uint32_t rule, struct table_span *span) {
        if (++b->members > TABLE_MEMBERS_MAX)
                return build_too_large(b);
        if (!build_add(b, SECTION_MEMBERS, &rule, 1))
                return -E2BIG;
        span->n++;
        return 0;
}

struct placed {
        const char *path; /* its first */
        uint32_t rule;
};

static int compare_placed(const void *a, const void *b) {
        const struct placed *x = a, *y = b;
        int c = strcmp(x->path, y->path);
        return c ?: (x->rule > y->rule) - (x->rule < y->rule);
}

/* The members that have paths, those with the same beginning next to each other: a request is then in few blocks. */
static int add_paths(struct build *b, struct table_class *c, const uint32_t *members, size_t n, struct growing *words) {
        _cleanup_free_ struct placed *list = calloc(n + 1, sizeof(*list));
        size_t placed = 0;
        unsigned bit = 0;
        int r;

        if (!list)
                return build_out_of_memory(b);
        for (size_t i = 0; i < n; i++)
                if (b->n->rules[members[i]].paths.n)
                        list[placed++] = (struct placed){b->n->rules[members[i]].paths.items[0], members[i]};
        qsort(list, placed, sizeof(*list), compare_placed);
        for (size_t i = 0; i < placed; i++) {
                const struct strlist *paths = &b->n->rules[list[i].rule].paths;
                for (size_t k = 0; k < paths->n; k++)
                        if ((r = add_pattern(b, words, &bit, paths->items[k])) < 0 ||
                            (r = build_member(b, list[i].rule, &c->accepts)) < 0)
                                return r;
        }
        return 0;
}

bool build_looks_at(const struct network_rule *r) { return !(r->protocols & NETWORK_UNREAD); }

int build_class(struct build *b, const uint32_t *members, size_t n, uint32_t *ret) {
        struct table_class c = {};
        struct growing words = {};
        int r;

        b->entries.len = 0;
        c.plain.first = build_count(b, SECTION_MEMBERS);
        for (size_t i = 0; i < n; i++) {
                const struct network_rule *u = &b->n->rules[members[i]];
                if (!u->deny)
                        c.allows |= u->protocols;
                else if (!build_looks_at(u))
                        c.denies |= u->protocols;
                c.looks |= build_looks_at(u);
                if (u->paths.n == 0 && (r = build_member(b, members[i], &c.plain)) < 0)
                        return r;
        }
        c.accepts.first = build_count(b, SECTION_MEMBERS);
        r = add_paths(b, &c, members, n, &words);
        if (r >= 0)
                r = add_words(b, &c, &words);
        c.states = (uint32_t)(b->entries.len / sizeof(struct entry)) + c.accepts.n;
        free(words.data);
        if (r < 0 || (r = add_lists(b, &c)) < 0)
                return r;
        *ret = build_count(b, SECTION_CLASSES);
        return build_add(b, SECTION_CLASSES, &c, 1) ? 0 : -E2BIG;
}
