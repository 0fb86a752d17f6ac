/* Sections that grow, and strings that are kept once, while a table is compiled; see table-build.h. */
#include "model/table-build.h"

int build_out_of_memory(struct build *b) { return error_set(b->e, ENOMEM, "out of memory"); }

int build_too_large(struct build *b) {
        error_set(b->e, E2BIG, "the network rules are too many or too entangled: their table would be too large");
        return error_fix(b->e, "write fewer rules, fewer ranges of ports that overlap, or fewer hosts");
}

void *build_append(struct build *b, struct growing *g, const void *data, size_t n) {
        if (n == 0)
                return g;
        if (g->len + n > TABLE_SIZE_MAX)
                return NULL;
        if (!g->data || g->len + n > g->cap) {
                size_t cap = MAX(g->cap * 2, MAX(g->len + n, (size_t)256));
                char *p = realloc(g->data, cap);
                if (!p)
                        return NULL;
                g->data = p;
                g->cap = cap;
        }
        void *at = g->data + g->len;
        if (data)
                memcpy(at, data, n);
        else
                memset(at, 0, n);
        g->len += n;
        return at;
}

void *build_add(struct build *b, enum table_section s, const void *data, size_t n) {
        void *at = build_append(b, &b->section[s], data, n * table_record_size[s]);

        if (!at && b->section[s].len + n * table_record_size[s] > TABLE_SIZE_MAX)
                build_too_large(b);
        else if (!at)
                build_out_of_memory(b);
        return at;
}

uint32_t build_count(const struct build *b, enum table_section s) {
        return (uint32_t)(b->section[s].len / table_record_size[s]);
}

static int intern_grow(struct build *b) {
        size_t cap = b->cap_interned ? b->cap_interned * 2 : 1024;
        uint32_t *at = calloc(cap, sizeof(*at)), *lengths = calloc(cap, sizeof(*lengths));

        if (!at || !lengths) {
                free(at);
                free(lengths);
                return build_out_of_memory(b);
        }
        for (size_t i = 0; i < b->cap_interned; i++) {
                if (!b->interned[i])
                        continue;
                size_t k = table_slot(table_hash(0, b->section[SECTION_STRINGS].data + b->interned[i] - 1, b->lengths[i])) & (cap - 1);
                while (at[k])
                        k = (k + 1) & (cap - 1);
                at[k] = b->interned[i];
                lengths[k] = b->lengths[i];
        }
        free(b->interned);
        free(b->lengths);
        b->interned = at;
        b->lengths = lengths;
        b->cap_interned = cap;
        return 0;
}

int build_intern(struct build *b, const char *s, size_t n, struct table_string *ret) {
        if ((b->n_interned * 2 >= b->cap_interned && intern_grow(b) < 0) || !b->interned || !b->lengths)
                return -ENOMEM;
        const char *all = b->section[SECTION_STRINGS].data;
        size_t k = table_slot(table_hash(0, s, n)) & (b->cap_interned - 1);
        for (; all && b->interned[k]; k = (k + 1) & (b->cap_interned - 1))
                if (b->lengths[k] == n && memcmp(all + b->interned[k] - 1, s, n) == 0)
                        goto found;
        uint32_t at = build_count(b, SECTION_STRINGS);
        if (!build_add(b, SECTION_STRINGS, s, n) || !build_add(b, SECTION_STRINGS, "", 1))
                return -E2BIG;
        b->interned[k] = at + 1;
        b->lengths[k] = (uint32_t)n;
        b->n_interned++;
found:
        *ret = (struct table_string){b->interned[k] - 1, (uint32_t)n};
        return 0;
}

const char *build_text(const struct build *b, struct table_string s) { return b->section[SECTION_STRINGS].data + s.at; }

size_t build_spread(const uint32_t *hash, size_t n, uint32_t *place) {
        size_t cap = 4;

        while (cap < n * 2)
                cap *= 2;
        for (; cap <= MAX(n * 64, (size_t)4096); cap *= 2) {
                _cleanup_free_ uint8_t *used = calloc(cap, 1);
                size_t i;
                if (!used)
                        return 0;
                for (i = 0; i < n; i++) {
                        size_t k = table_slot(hash[i]) & (cap - 1), probes = 1;
                        for (; used[k] && probes < TABLE_PROBE_MAX; probes++)
                                k = (k + 1) & (cap - 1);
                        if (used[k])
                                break;
                        used[k] = 1;
                        place[i] = (uint32_t)k;
                }
                if (i == n)
                        return cap;
        }
        return 0;
}
