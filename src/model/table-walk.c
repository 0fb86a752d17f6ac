/* See table-walk.h. A segment has two effects: states that wait for its text move on, of which there are few, and those that wait
 * for a wildcard, of which there may be many, by shifts over whole blocks. Most of these are the two stars in front of something:
 * they stay where they are, and a block that has come out as it went in is not looked at again until a text moves one in it. */
#include "model/table-walk.h"

static inline bool has_block(const uint64_t *bits, size_t block) { return bits[block / 64] >> block % 64 & 1; }
static inline void set_block(uint64_t *bits, size_t block) { bits[block / 64] |= 1ull << block % 64; }
static inline void put_block(uint64_t *bits, size_t block, bool on) {
        bits[block / 64] = (bits[block / 64] & ~(1ull << block % 64)) | (uint64_t)on << block % 64;
}

/* Two words at a time, as every processor of the 64-bit kind can. */
typedef uint64_t lanes __attribute__((vector_size(16), aligned(8), may_alias));

static void begin(const struct table *t, const struct table_class *c, struct table_walk *w) {
        const uint64_t *first = (const uint64_t *)table_at(t, SECTION_WORDS) + c->at, *starts = first + 4 * (size_t)c->words;

        w->words = c->words;
        w->summary = table_summary_words(w->words);
        w->star = first + w->words;
        w->stars = first + 2 * w->words;
        w->accept = first + 3 * w->words;
        w->rank = (const uint32_t *)(starts + 2 * w->summary);
        for (size_t i = 0; i < w->summary; i++) {
                w->active[i] = starts[i];
                w->wild[i] = starts[w->summary + i];
                w->settled[i] = w->touched[i] = 0;
                for (uint64_t left = w->active[i]; left; left &= left - 1) {
                        size_t at = (i * 64 + (size_t)__builtin_ctzll(left)) * TABLE_BLOCK;
                        memcpy(&w->word[at], &first[at], TABLE_BLOCK * sizeof(uint64_t));
                }
        }
}

static void step_wild(struct table_walk *w, size_t block) {
        size_t at = block * TABLE_BLOCK;
        lanes any = {}, waits = {}, changed = {};

        for (size_t i = at; i < at + TABLE_BLOCK; i += 2) {
                lanes star = *(const lanes *)&w->star[i], stars = *(const lanes *)&w->stars[i];
                lanes now = *(const lanes *)&w->word[i], next = (now & star) << 1 | (now & stars);
                next |= (next & stars) << 1;
                *(lanes *)&w->word[i] = next;
                any |= next;
                waits |= next & (star | stars);
                changed |= next ^ now;
        }
        put_block(w->active, block, any[0] | any[1]);
        put_block(w->wild, block, waits[0] | waits[1]);
        put_block(w->settled, block, !(changed[0] | changed[1]));
}

/* Moves those that wait for the text into `added`. */
static void step_pairs(const struct table *t, struct table_span span, struct table_walk *w) {
        const struct table_pair *p = (const struct table_pair *)table_at(t, SECTION_PAIRS) + span.first;

        for (size_t i = 0; i < span.n; i++) {
                size_t at = p[i].word, block = at / TABLE_BLOCK;
                uint64_t next;
                if (!has_block(w->active, block) || !(next = (w->word[at] & p[i].mask) << 1))
                        continue;
                if (!has_block(w->touched, block)) {
                        set_block(w->touched, block);
                        memset(&w->added[block * TABLE_BLOCK], 0, TABLE_BLOCK * sizeof(uint64_t));
                }
                w->added[at] |= next | (next & w->stars[at]) << 1;
        }
}

static bool any_pair(const struct table *t, struct table_span span, const struct table_walk *w) {
        const struct table_pair *p = (const struct table_pair *)table_at(t, SECTION_PAIRS) + span.first;

        for (size_t i = 0; i < span.n; i++)
                if (has_block(w->active, p[i].word / TABLE_BLOCK) && w->word[p[i].word] & p[i].mask)
                        return true;
        return false;
}

static const struct table_literal_slot *find_literal(const struct table *t, struct table_span span,
                                                     struct request_text s) {
        const struct table_literal_slot *slot = (const struct table_literal_slot *)table_at(t, SECTION_LITERALS) + span.first;
        uint32_t hash, i;

        if (span.n == 0)
                return NULL;
        i = table_slot(hash = table_hash(t->header->seed, s.p, s.n));
        for (unsigned k = 0; k < TABLE_PROBE_MAX; k++, i++) {
                const struct table_literal_slot *l = &slot[i & (span.n - 1)];
                if (l->text.at == TABLE_NONE)
                        return NULL;
                if (l->hash == hash && l->text.n == s.n && memcmp(table_text(t, l->text), s.p, s.n) == 0)
                        return l;
        }
        return NULL;
}

static void merge(struct table_walk *w, size_t block) {
        size_t at = block * TABLE_BLOCK;
        uint64_t waits = 0;

        if (!has_block(w->active, block)) {
                set_block(w->active, block);
                memset(&w->word[at], 0, TABLE_BLOCK * sizeof(uint64_t));
        }
        for (size_t i = at; i < at + TABLE_BLOCK; i++) {
                w->word[i] |= w->added[i];
                waits |= w->word[i] & (w->star[i] | w->stars[i]);
        }
        put_block(w->wild, block, waits);
        put_block(w->settled, block, false);
}

static void step(const struct table *t, const struct table_class *c, struct request_text segment, struct table_walk *w) {
        const struct table_glob *g = (const struct table_glob *)table_at(t, SECTION_GLOBS) + c->globs.first;
        const struct table_literal_slot *l = find_literal(t, c->literals, segment);

        if (l)
                step_pairs(t, l->pairs, w);
        for (size_t i = 0; i < c->globs.n; i++)
                if (any_pair(t, g[i].pairs, w) && network_glob(table_text(t, g[i].pattern), g[i].pattern.n, segment.p, segment.n))
                        step_pairs(t, g[i].pairs, w);
        for (size_t s = 0; s < w->summary; s++) {
                w->active[s] &= w->wild[s]; /* what waited for a text has been asked */
                for (uint64_t left = w->wild[s] & ~w->settled[s]; left; left &= left - 1)
                        step_wild(w, s * 64 + (size_t)__builtin_ctzll(left));
                for (uint64_t left = w->touched[s]; left; left &= left - 1)
                        merge(w, s * 64 + (size_t)__builtin_ctzll(left));
                w->touched[s] = 0;
        }
}

static bool none(const struct table_walk *w) {
        for (size_t i = 0; i < w->summary; i++)
                if (w->active[i])
                        return false;
        return true;
}

void table_walk(const struct table *t, const struct table_class *c, const struct request *r, struct table_walk *w) {
        begin(t, c, w);
        for (size_t i = 0; i < r->n_segments && !none(w); i++)
                step(t, c, r->segment[i], w);
}
