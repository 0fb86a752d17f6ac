/* Texts that stand for all texts, as far as patterns can tell them apart: the patterns' automaton, made deterministic as far as it is
 * reached, breadth first. See contain-internal.h. */
#include "base/utf8.h"
#include "model/contain-internal.h"

#define PATTERNS_MAX 64u
#define UNITS_MAX 1024u /* of all patterns together, with an end each */
#define WORDS_MAX (UNITS_MAX / 64)
#define NODES_MAX 4096u
#define SYMBOLS_MAX 256u
#define EXAMPLE_MAX 512u /* bytes */
#define AGAIN_MAX 64u    /* other texts for a state whose first ones are not to be used */

struct unit {
        uint32_t symbol; /* a code point; STAR; END */
};
#define STAR UINT32_MAX
#define END (UINT32_MAX - 1)

struct node {
        uint64_t at[WORDS_MAX];
        char text[EXAMPLE_MAX];
        size_t n;
};

struct machine {
        struct unit unit[UNITS_MAX];
        size_t n_units, words, n_patterns;
        size_t end[PATTERNS_MAX];
        uint32_t symbol[SYMBOLS_MAX];
        size_t n_symbols;
        struct node *node;
        size_t n_nodes;
};

static bool add_symbol(struct machine *m, uint32_t symbol) {
        for (size_t i = 0; i < m->n_symbols; i++)
                if (m->symbol[i] == symbol)
                        return true;
        if (m->n_symbols == SYMBOLS_MAX)
                return false;
        m->symbol[m->n_symbols++] = symbol;
        return true;
}

static bool add_pattern(struct machine *m, const char *p, size_t n) {
        if (m->n_patterns == PATTERNS_MAX)
                return false;
        for (size_t i = 0, k; i < n; i += k) {
                uint32_t symbol = 0;
                if (m->n_units + 2 > UNITS_MAX || (k = utf8_decode(p + i, n - i, &symbol)) == 0)
                        return false;
                if (symbol == '*')
                        symbol = STAR;
                else if (symbol == '%' && i + 2 < n) {
                        symbol = p[i + 2] == 'A' ? '*' : '%';
                        k = 3;
                }
                if (symbol != STAR && !add_symbol(m, symbol))
                        return false;
                m->unit[m->n_units++].symbol = symbol;
        }
        if (m->n_units + 1 > UNITS_MAX)
                return false;
        m->end[m->n_patterns++] = m->n_units;
        m->unit[m->n_units++].symbol = END;
        return true;
}

/* One that none of the patterns names. */
static bool add_other(struct machine *m) {
        static const char likely[] = "xyz0123456789abcdefghijklmnopqrstuvwABCDEFGHIJKLMNOPQRSTUVWXYZ_";
        size_t n = m->n_symbols;

        for (size_t i = 0; likely[i]; i++) {
                add_symbol(m, (uint32_t)likely[i]);
                if (m->n_symbols > n)
                        break;
        }
        for (uint32_t c = 0x4e00; m->n_symbols == n && c < 0x4e00 + SYMBOLS_MAX; c++)
                if (!add_symbol(m, c))
                        return false;
        if (m->n_symbols == n)
                return false;
        /* It comes first: the shortest text is the plainest. */
        uint32_t other = m->symbol[n];
        memmove(m->symbol + 1, m->symbol, n * sizeof(*m->symbol));
        m->symbol[0] = other;
        return true;
}

static bool has(const uint64_t *set, size_t i) { return set[i / 64] >> i % 64 & 1; }

/* A star may stand for nothing. */
static void put(const struct machine *m, uint64_t *set, size_t i) {
        for (;; i++) {
                set[i / 64] |= 1ull << i % 64;
                if (m->unit[i].symbol != STAR)
                        return;
        }
}

static void step(const struct machine *m, const uint64_t *from, uint32_t symbol, uint64_t *to) {
        memset(to, 0, m->words * sizeof(*to));
        for (size_t i = 0; i < m->n_units; i++) {
                if (!has(from, i))
                        continue;
                if (m->unit[i].symbol == STAR)
                        put(m, to, i);
                else if (m->unit[i].symbol == symbol)
                        put(m, to, i + 1);
        }
}

static size_t encode(uint32_t c, char *dst) {
        if (c < 0x80) {
                dst[0] = (char)c;
                return 1;
        }
        if (c < 0x800) {
                dst[0] = (char)(0xc0 | c >> 6);
                dst[1] = (char)(0x80 | (c & 0x3f));
                return 2;
        }
        size_t n = c < 0x10000 ? 3 : 4;
        dst[0] = (char)((n == 3 ? 0xe0 : 0xf0) | c >> 6 * (n - 1));
        for (size_t i = 1; i < n; i++)
                dst[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
        return n;
}

static bool usable(const struct node *x, const struct contain_list *never, bool segment) {
        if (segment && (x->n == 0 || (x->n == 1 && x->text[0] == '.') || (x->n == 2 && x->text[0] == '.' && x->text[1] == '.')))
                return false;
        for (size_t i = 0; never && i < never->n; i++)
                if (never->items[i].n == x->n && memcmp(never->items[i].p, x->text, x->n) == 0)
                        return false;
        return true;
}

static uint64_t matched(const struct machine *m, const uint64_t *at) {
        uint64_t set = 0;

        for (size_t i = 0; i < m->n_patterns; i++)
                set |= (uint64_t)has(at, m->end[i]) << i;
        return set;
}

/* Whether the state is worth another text: it is new, or all its texts so far were of no use. */
static bool wanted(const struct machine *m, const uint64_t *at, const struct contain_list *never, bool segment) {
        unsigned seen = 0;

        for (size_t i = 0; i < m->n_nodes; i++)
                if (memcmp(m->node[i].at, at, m->words * sizeof(*at)) == 0) {
                        if (usable(&m->node[i], never, segment) || ++seen > AGAIN_MAX)
                                return false;
                }
        return true;
}

static bool explore(struct contain *c, struct machine *m, const struct contain_list *never, bool segment, struct contain_list *ret) {
        uint64_t *found = calloc(NODES_MAX, sizeof(*found));
        size_t n_found = 0;
        bool ok = found || contain_no_memory(c);

        for (size_t i = 0; ok && i < m->n_nodes; i++) {
                struct node *x = &m->node[i];
                uint64_t set = matched(m, x->at);
                bool known = !usable(x, never, segment);
                for (size_t k = 0; k < n_found && !known; k++)
                        known = found[k] == set;
                if (!known) {
                        struct request_text t;
                        found[n_found++] = set;
                        ok = contain_keep(c, x->text, x->n, &t) && contain_add(c, ret, t);
                }
                for (size_t s = 0; ok && s < m->n_symbols; s++) {
                        struct node *next = &m->node[m->n_nodes];
                        if (x->n + 4 > EXAMPLE_MAX)
                                ok = contain_hard(c);
                        if (!ok || !(ok = contain_work(c, 1 + m->n_nodes / 64)))
                                break;
                        step(m, x->at, m->symbol[s], next->at);
                        if (!wanted(m, next->at, never, segment))
                                continue;
                        if (m->n_nodes + 2 > NODES_MAX) {
                                ok = contain_hard(c);
                                break;
                        }
                        memcpy(next->text, x->text, x->n);
                        next->n = x->n + encode(m->symbol[s], next->text + x->n);
                        m->n_nodes++;
                }
        }
        free(found);
        return ok;
}

bool contain_examples(struct contain *c, const struct table_string *patterns, const int *side, size_t n, const struct contain_list *never,
                      bool segment, struct contain_list *ret) {
        struct machine *m = calloc(1, sizeof(*m));
        bool ok = m || contain_no_memory(c), fits = true;

        if (!ok)
                return false;
        for (size_t i = 0; i < n && fits; i++)
                fits = add_pattern(m, table_text(c->t[side[i]], patterns[i]), patterns[i].n);
        ok = (fits && add_other(m)) || contain_hard(c);
        m->words = (m->n_units + 63) / 64;
        if (ok && !(m->node = calloc(NODES_MAX, sizeof(*m->node))))
                ok = contain_no_memory(c);
        for (size_t i = 0; ok && i < m->n_patterns; i++)
                put(m, m->node[0].at, i == 0 ? 0 : m->end[i - 1] + 1);
        m->n_nodes = 1;
        ok = ok && explore(c, m, never, segment, ret);
        free(m->node);
        free(m);
        return ok;
}
