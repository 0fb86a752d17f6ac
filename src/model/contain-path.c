/* The paths of one host and port: the product of the automatons of both tables, walked lazily. Each set of rules that some path
 * leads to is looked at once, by the shortest path. See contain-internal.h. */
#include "model/contain-internal.h"

#define LANES_MAX 64u
#define WORDS_MAX 512u    /* of all lanes together */
#define RULES_MAX 4096u   /* of this host and port */
#define SETS_MAX 4096u    /* of rules that paths lead to */
#define GLOBS_MAX 64u     /* that a state waits for */

struct lane { /* a class that has paths */
        int side;
        const struct table_class *class;
        const uint64_t *words; /* start, star, stars, accept */
        size_t first;          /* of its words in a state */
        size_t accepts;        /* of its members in rules[] */
};

struct state {
        size_t before; /* the state that it was reached from; SIZE_MAX: the beginning */
        struct request_text segment;
        uint64_t *word;
};

struct paths {
        struct contain *c;
        struct lane lane[LANES_MAX];
        size_t n_lanes, words, n_rules, set_words, n_sets, n_states;
        struct contain_rule rules[RULES_MAX]; /* one may stand there twice: for each of its paths */
        uint64_t *plain;                      /* those without paths */
        uint64_t *sets;
        struct state *states;
        uint64_t *scratch;
        uint32_t *slot;                       /* a hash of the states: index plus 1 */
};
#define SLOTS (4 * 16384u)
_Static_assert(SLOTS > 2 * CONTAIN_STATES_MAX, "the hash must not fill up");

static bool add_rule(struct paths *p, int side, uint32_t rule) {
        const struct table *t = p->c->t[side];
        if (p->n_rules == RULES_MAX)
                return contain_hard(p->c);
        p->rules[p->n_rules++] = (struct contain_rule){(const struct table_rule_record *)table_at(t, SECTION_RULES) + rule, side};
        return true;
}

static bool add_class(struct paths *p, int side, const struct table_class *class, size_t *n_plain, size_t plain[]) {
        const struct table *t = p->c->t[side];
        const uint32_t *members = table_at(t, SECTION_MEMBERS);

        for (size_t i = 0; i < class->plain.n; i++) {
                plain[(*n_plain)++ % RULES_MAX] = p->n_rules;
                if (!add_rule(p, side, members[class->plain.first + i]))
                        return false;
        }
        if (class->words == 0)
                return true;
        if (p->n_lanes == LANES_MAX || p->words + class->words > WORDS_MAX)
                return contain_hard(p->c);
        p->lane[p->n_lanes++] = (struct lane){.side = side, .class = class, .first = p->words, .accepts = p->n_rules,
                                              .words = (const uint64_t *)table_at(t, SECTION_WORDS) + class->at};
        p->words += class->words;
        for (size_t i = 0; i < class->accepts.n; i++)
                if (!add_rule(p, side, members[class->accepts.first + i]))
                        return false;
        return true;
}

static bool add_side(struct paths *p, int side, size_t *n_plain, size_t plain[]) {
        const struct table *t = p->c->t[side];
        struct table_hits h;

        table_find_groups(t, &p->c->r, &h);
        for (size_t i = 0; i < h.n; i++) {
                const struct table_class *class[2];
                const struct table_group *g = (const struct table_group *)table_at(t, SECTION_GROUPS) + h.hit[i].group;
                size_t n = table_find_classes(t, g, p->c->r.port, class);
                for (size_t k = 0; k < n; k++)
                        if (!add_class(p, side, class[k], n_plain, plain))
                                return false;
        }
        return true;
}

/* Moves what waits for this text. */
static void step_pairs(const struct lane *l, const struct table *t, struct table_span span, const uint64_t *from, uint64_t *to) {
        const struct table_pair *x = (const struct table_pair *)table_at(t, SECTION_PAIRS) + span.first;
        for (size_t i = 0; i < span.n; i++)
                to[l->first + x[i].word] |= (from[l->first + x[i].word] & x[i].mask) << 1;
}

static bool waits(const struct lane *l, const struct table *t, struct table_span span, const uint64_t *from) {
        const struct table_pair *x = (const struct table_pair *)table_at(t, SECTION_PAIRS) + span.first;
        for (size_t i = 0; i < span.n; i++)
                if (from[l->first + x[i].word] & x[i].mask)
                        return true;
        return false;
}

static bool same(struct request_text a, const char *s, size_t n) { return a.n == n && memcmp(a.p, s, n) == 0; }

static void step(const struct paths *p, const uint64_t *from, struct request_text s, uint64_t *to) {
        for (size_t i = 0; i < p->n_lanes; i++) {
                const struct lane *l = &p->lane[i];
                const struct table *t = p->c->t[l->side];
                const size_t n = l->class->words;
                const uint64_t *star = l->words + n, *stars = star + n;
                const struct table_literal_slot *slot = (const struct table_literal_slot *)table_at(t, SECTION_LITERALS) + l->class->literals.first;
                const struct table_glob *g = (const struct table_glob *)table_at(t, SECTION_GLOBS) + l->class->globs.first;
                for (size_t k = 0; k < n; k++)
                        to[l->first + k] = (from[l->first + k] & star[k]) << 1 | (from[l->first + k] & stars[k]);
                for (size_t k = 0; k < l->class->literals.n; k++)
                        if (slot[k].text.at != TABLE_NONE && same(s, table_text(t, slot[k].text), slot[k].text.n))
                                step_pairs(l, t, slot[k].pairs, from, to);
                for (size_t k = 0; k < l->class->globs.n; k++)
                        if (network_glob(table_text(t, g[k].pattern), g[k].pattern.n, s.p, s.n))
                                step_pairs(l, t, g[k].pairs, from, to);
                for (size_t k = 0; k < n; k++)
                        to[l->first + k] |= (to[l->first + k] & stars[k]) << 1;
        }
}

/* The rules of a state, into set. */
static void accepted(const struct paths *p, const uint64_t *word, uint64_t *set) {
        memcpy(set, p->plain, p->set_words * sizeof(*set));
        for (size_t i = 0; i < p->n_lanes; i++) {
                const struct lane *l = &p->lane[i];
                const uint64_t *accept = l->words + 3 * (size_t)l->class->words;
                size_t rule = l->accepts;
                for (size_t k = 0; k < l->class->words; k++)
                        for (uint64_t left = accept[k]; left; left &= left - 1, rule++)
                                if (word[l->first + k] & left & -left)
                                        set[rule / 64] |= 1ull << rule % 64;
        }
}

/* c->r has the path to the state from here on, and one more segment where last is not NULL. */
static bool lay_path(struct paths *p, size_t state, const struct request_text *last) {
        struct request *r = &p->c->r;
        size_t n = last != NULL;

        for (size_t i = state; p->states[i].before != SIZE_MAX; i = p->states[i].before)
                n++;
        if (n > REQUEST_SEGMENTS_MAX)
                return contain_hard(p->c);
        r->n_segments = n;
        if (last)
                r->segment[--n] = *last;
        for (size_t i = state; p->states[i].before != SIZE_MAX; i = p->states[i].before)
                r->segment[--n] = p->states[i].segment;
        return true;
}

static bool look(struct paths *p, const uint64_t *word, size_t state, const struct request_text *last) {
        struct contain_rule list[RULES_MAX];
        size_t n = 0;

        if (p->n_sets == SETS_MAX)
                return contain_hard(p->c);
        uint64_t *set = p->sets + p->n_sets * p->set_words;
        accepted(p, word, set);
        for (size_t i = 0; i < p->n_sets; i++)
                if (memcmp(p->sets + i * p->set_words, set, p->set_words * sizeof(*set)) == 0)
                        return true;
        p->n_sets++;
        for (size_t i = 0; i < p->n_rules; i++) {
                bool known = !(set[i / 64] >> i % 64 & 1);
                for (size_t k = 0; k < n && !known; k++)
                        known = list[k].u == p->rules[i].u;
                if (!known)
                        list[n++] = p->rules[i];
        }
        return lay_path(p, state, last) && contain_leaf(p->c, list, n);
}

/* What is to be looked at as a state's next segment: each text that it waits for, and one of each kind of any other. */
static bool choices(struct paths *p, const uint64_t *word, struct contain_list *ret) {
        struct table_string pattern[GLOBS_MAX];
        int side[GLOBS_MAX];
        size_t n = 0;

        for (size_t i = 0; i < p->n_lanes; i++) {
                const struct lane *l = &p->lane[i];
                const struct table *t = p->c->t[l->side];
                const struct table_literal_slot *slot = (const struct table_literal_slot *)table_at(t, SECTION_LITERALS) + l->class->literals.first;
                const struct table_glob *g = (const struct table_glob *)table_at(t, SECTION_GLOBS) + l->class->globs.first;
                for (size_t k = 0; k < l->class->literals.n; k++) {
                        bool known = slot[k].text.at == TABLE_NONE || slot[k].text.n == 0 || !waits(l, t, slot[k].pairs, word);
                        for (size_t m = 0; m < ret->n && !known; m++)
                                known = same(ret->items[m], table_text(t, slot[k].text), slot[k].text.n);
                        if (!known && !contain_add(p->c, ret, (struct request_text){table_text(t, slot[k].text), slot[k].text.n}))
                                return false;
                }
                for (size_t k = 0; k < l->class->globs.n; k++) {
                        if (!waits(l, t, g[k].pairs, word))
                                continue;
                        if (n == GLOBS_MAX)
                                return contain_hard(p->c);
                        pattern[n] = g[k].pattern;
                        side[n++] = l->side;
                }
        }
        struct contain_list other = {};
        bool ok = contain_examples(p->c, pattern, side, n, ret, true, &other);
        for (size_t i = 0; ok && i < other.n; i++)
                ok = contain_add(p->c, ret, other.items[i]);
        free(other.items);
        return ok;
}

static bool add_state(struct paths *p, size_t before, struct request_text segment, const uint64_t *word) {
        uint32_t hash = table_hash(0, word, p->words * sizeof(*word)), i = table_slot(hash) % SLOTS;

        for (; p->slot[i]; i = (i + 1) % SLOTS)
                if (memcmp(p->states[p->slot[i] - 1].word, word, p->words * sizeof(*word)) == 0)
                        return true;
        if (p->n_states == CONTAIN_STATES_MAX)
                return contain_hard(p->c);
        uint64_t *copy = malloc(p->words * sizeof(*word) + 1);
        if (!copy)
                return contain_no_memory(p->c);
        memcpy(copy, word, p->words * sizeof(*word));
        p->states[p->n_states++] = (struct state){before, segment, copy};
        p->slot[i] = (uint32_t)p->n_states;
        return look(p, word, p->n_states - 1, NULL);
}

static bool walk(struct paths *p) {
        static const struct request_text empty = {"", 0};
        uint64_t *start = p->scratch, *next = start + p->words;
        bool ok = true;

        for (size_t i = 0; i < p->n_lanes; i++)
                memcpy(start + p->lane[i].first, p->lane[i].words, p->lane[i].class->words * sizeof(*start));
        p->states[p->n_states++] = (struct state){.before = SIZE_MAX, .word = malloc(p->words * sizeof(*start) + 1)};
        if (!p->states[0].word)
                return contain_no_memory(p->c);
        memcpy(p->states[0].word, start, p->words * sizeof(*start));
        for (size_t i = 0; ok && i < p->n_states; i++) {
                struct contain_list list = {};
                step(p, p->states[i].word, empty, next);
                ok = look(p, next, i, &empty) && choices(p, p->states[i].word, &list);
                for (size_t k = 0; ok && k < list.n; k++) {
                        ok = contain_work(p->c, 1 + p->words);
                        if (ok) {
                                step(p, p->states[i].word, list.items[k], next);
                                ok = add_state(p, i, list.items[k], next);
                        }
                }
                free(list.items);
        }
        return ok;
}

bool contain_place(struct contain *c) {
        struct paths *p = calloc(1, sizeof(*p));
        size_t *plain = calloc(RULES_MAX, sizeof(*plain)), n_plain = 0;
        bool ok = (p && plain) || contain_no_memory(c);

        if (ok)
                p->c = c;
        ok = ok && add_side(p, PARENT, &n_plain, plain) && add_side(p, CHILD, &n_plain, plain);
        if (ok) {
                p->set_words = (p->n_rules + 63) / 64;
                p->plain = calloc(p->set_words + 1, sizeof(*p->plain));
                p->sets = calloc(SETS_MAX * p->set_words + 1, sizeof(*p->sets));
                p->states = calloc(CONTAIN_STATES_MAX, sizeof(*p->states));
                p->scratch = calloc(2 * p->words + 1, sizeof(*p->scratch));
                p->slot = calloc(SLOTS, sizeof(*p->slot));
                ok = (p->plain && p->sets && p->states && p->scratch && p->slot) || contain_no_memory(c);
        }
        for (size_t i = 0; ok && i < n_plain; i++)
                p->plain[plain[i] / 64] |= 1ull << plain[i] % 64;
        ok = ok && walk(p);
        if (p) {
                for (size_t i = 0; i < p->n_states; i++)
                        free(p->states[i].word);
                free(p->plain);
                free(p->sets);
                free(p->states);
                free(p->scratch);
                free(p->slot);
        }
        free(p);
        free(plain);
        return ok;
}
