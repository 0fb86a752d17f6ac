/* From rules to the block of table.h. Time and size are bounded by the limits of network.h and table-layout.h: what is
 * over one is an error, never a look-up that takes long. */
#include <stdio.h>

#include "model/address.h"
#include "model/table-layout.h"

struct growing {
        char *data;
        size_t len, cap;
};

/* One segment of a pattern that waits for its list. */
struct entry {
        struct table_string text;
        uint32_t word;
        bool glob;
        uint64_t mask;
};

struct build {
        const struct network *n;
        struct error *e;
        struct growing section[SECTION_N];
        uint32_t *interned; /* a hash: where in SECTION_STRINGS a string begins, plus 1; 0: empty */
        uint32_t *lengths;
        size_t n_interned, cap_interned;
        size_t members;
        struct table_string file;
        const struct network_rule **order; /* by host */
        struct growing entries, classes;   /* struct entry; struct known of the group under way */
        struct growing scratch;            /* uint32_t: members of those */
};

static int out_of_memory(struct build *b) { return error_set(b->e, ENOMEM, "out of memory"); }

static int too_large(struct build *b) {
        error_set(b->e, E2BIG, "the network rules are too many or too entangled: their table would be too large");
        return error_fix(b->e, "write fewer rules, fewer ranges of ports that overlap, or fewer hosts");
}

static void *append(struct build *b, struct growing *g, const void *data, size_t n) {
        if (n == 0)
                return g;
        if (g->len + n > TABLE_SIZE_MAX)
                return NULL;
        if (g->len + n > g->cap) {
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

/* As append, to a section; the error is set. */
static void *add(struct build *b, enum table_section s, const void *data, size_t n) {
        void *at = append(b, &b->section[s], data, n * table_record_size[s]);

        if (!at && b->section[s].len + n * table_record_size[s] > TABLE_SIZE_MAX)
                too_large(b);
        else if (!at)
                out_of_memory(b);
        return at;
}

static uint32_t count(const struct build *b, enum table_section s) {
        return (uint32_t)(b->section[s].len / table_record_size[s]);
}

/* Strings, each once. */

static int intern_grow(struct build *b) {
        size_t cap = b->cap_interned ? b->cap_interned * 2 : 1024;
        uint32_t *at = calloc(cap, sizeof(*at)), *lengths = calloc(cap, sizeof(*lengths));

        if (!at || !lengths) {
                free(at);
                free(lengths);
                return out_of_memory(b);
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

static int intern(struct build *b, const char *s, size_t n, struct table_string *ret) {
        if ((b->n_interned * 2 >= b->cap_interned && intern_grow(b) < 0) || !b->interned || !b->lengths)
                return -ENOMEM;
        const char *all = b->section[SECTION_STRINGS].data;
        size_t k = table_slot(table_hash(0, s, n)) & (b->cap_interned - 1);
        for (; all && b->interned[k]; k = (k + 1) & (b->cap_interned - 1))
                if (b->lengths[k] == n && memcmp(all + b->interned[k] - 1, s, n) == 0)
                        goto found;
        uint32_t at = count(b, SECTION_STRINGS);
        if (!add(b, SECTION_STRINGS, s, n) || !add(b, SECTION_STRINGS, "", 1))
                return -E2BIG;
        b->interned[k] = at + 1;
        b->lengths[k] = (uint32_t)n;
        b->n_interned++;
found:
        *ret = (struct table_string){b->interned[k] - 1, (uint32_t)n};
        return 0;
}

static const char *text(const struct build *b, struct table_string s) { return b->section[SECTION_STRINGS].data + s.at; }

/* A hash whose slots are `size` bytes and begin with their uint32_t hash. place[i] becomes the slot of the i-th; no two
 * are equal. Returns the number of slots; 0: no memory, or hashes that meet too often. */
static size_t spread(const uint32_t *hash, size_t n, uint32_t *place) {
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

/* Automata */

struct known { /* a class of the group under way */
        uint32_t hash, class;
        struct table_span members; /* in scratch */
};

/* A literal segment of a pattern as it stands in a request: without its escapes. */
static size_t literal_text(const char *s, size_t n, char *dst) {
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
                        n = literal_text(s, n, literal);
                if ((r = intern(b, x.glob ? s : literal, n, &x.text)) < 0)
                        return r;
                if (!append(b, &b->entries, &x, sizeof(x)))
                        return out_of_memory(b);
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
                if (!append(b, words, NULL, 32))
                        return out_of_memory(b);
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
        *ret = (struct table_span){count(b, SECTION_PAIRS), 0};
        for (size_t i = 0; i < n; i++) {
                struct table_pair p = {.word = x[i].word, .mask = x[i].mask};
                if (ret->n && x[i].word == x[i - 1].word) {
                        struct table_pair *all = (struct table_pair *)b->section[SECTION_PAIRS].data;
                        all[ret->first + ret->n - 1].mask |= p.mask;
                        continue;
                }
                if (!add(b, SECTION_PAIRS, &p, 1))
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
                return out_of_memory(b);
        if (n)
                qsort(x, n, sizeof(*x), compare_entries);
        c->globs.first = count(b, SECTION_GLOBS);
        for (size_t i = 0, k; i < n; i = k) {
                struct table_span pairs;
                for (k = i + 1; k < n && x[k].text.at == x[i].text.at && x[k].glob == x[i].glob; k++)
                        ;
                if ((r = add_pairs(b, x + i, k - i, &pairs)) < 0)
                        return r;
                if (!x[i].glob) {
                        hash[distinct] = table_hash(0, text(b, x[i].text), x[i].text.n);
                        list[distinct] = (struct table_literal_slot){hash[distinct], x[i].text, pairs};
                        distinct++;
                        continue;
                }
                if (++c->globs.n > TABLE_GLOBS_MAX) {
                        error_set(b->e, E2BIG, "more than %u patterns within segments of paths on one host", TABLE_GLOBS_MAX);
                        return error_fix(b->e, "write whole segments, or * for any");
                }
                if (!add(b, SECTION_GLOBS, &(struct table_glob){x[i].text, pairs}, 1))
                        return -E2BIG;
        }
        c->literals = (struct table_span){count(b, SECTION_LITERALS), 0};
        if (distinct == 0)
                return 0;
        if ((cap = spread(hash, distinct, place)) == 0)
                return too_large(b);
        if (!add(b, SECTION_LITERALS, NULL, cap))
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
        c->at = count(b, SECTION_WORDS);
        uint64_t *to = add(b, SECTION_WORDS, NULL, table_class_words(all));
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

static int add_member(struct build *b, uint32_t rule, struct table_span *span) {
        if (++b->members > TABLE_MEMBERS_MAX)
                return too_large(b);
        if (!add(b, SECTION_MEMBERS, &rule, 1))
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
                return out_of_memory(b);
        for (size_t i = 0; i < n; i++)
                if (b->n->rules[members[i]].paths.n)
                        list[placed++] = (struct placed){b->n->rules[members[i]].paths.items[0], members[i]};
        qsort(list, placed, sizeof(*list), compare_placed);
        for (size_t i = 0; i < placed; i++) {
                const struct strlist *paths = &b->n->rules[list[i].rule].paths;
                for (size_t k = 0; k < paths->n; k++)
                        if ((r = add_pattern(b, words, &bit, paths->items[k])) < 0 ||
                            (r = add_member(b, list[i].rule, &c->accepts)) < 0)
                                return r;
        }
        return 0;
}

static bool looks_at(const struct network_rule *r) { return !(r->protocols & NETWORK_UNREAD); }

static int add_class(struct build *b, const uint32_t *members, size_t n, uint32_t *ret) {
        struct table_class c = {};
        struct growing words = {};
        int r;

        b->entries.len = 0;
        c.plain.first = count(b, SECTION_MEMBERS);
        for (size_t i = 0; i < n; i++) {
                const struct network_rule *u = &b->n->rules[members[i]];
                if (!u->deny)
                        c.allows |= u->protocols;
                else if (!looks_at(u))
                        c.denies |= u->protocols;
                c.looks |= looks_at(u);
                if (u->paths.n == 0 && (r = add_member(b, members[i], &c.plain)) < 0)
                        return r;
        }
        c.accepts.first = count(b, SECTION_MEMBERS);
        r = add_paths(b, &c, members, n, &words);
        if (r >= 0)
                r = add_words(b, &c, &words);
        c.states = (uint32_t)(b->entries.len / sizeof(struct entry)) + c.accepts.n;
        free(words.data);
        if (r < 0 || (r = add_lists(b, &c)) < 0)
                return r;
        *ret = count(b, SECTION_CLASSES);
        return add(b, SECTION_CLASSES, &c, 1) ? 0 : -E2BIG;
}

/* Groups */

struct event {
        uint32_t at; /* the first port at which the rule is in, or is not any more */
        uint32_t rule;
        int step;
};

static int compare_events(const void *a, const void *b) {
        const struct event *x = a, *y = b;
        return (x->at > y->at) - (x->at < y->at);
}

/* The class of these members, which may be there already. */
static int find_class(struct build *b, const uint32_t *members, size_t n, uint32_t *ret) {
        const struct known *k = (const struct known *)b->classes.data;
        uint32_t hash = table_hash(0, members, n * sizeof(*members));
        int r;

        for (size_t i = 0; i < b->classes.len / sizeof(*k); i++)
                if (k[i].hash == hash && k[i].members.n == n &&
                    memcmp((const uint32_t *)b->scratch.data + k[i].members.first, members, n * sizeof(*members)) == 0) {
                        *ret = k[i].class;
                        return 0;
                }
        if ((r = add_class(b, members, n, ret)) < 0)
                return r;
        struct known fresh = {hash, *ret, {(uint32_t)(b->scratch.len / sizeof(uint32_t)), (uint32_t)n}};
        if (!append(b, &b->scratch, members, n * sizeof(*members)) || !append(b, &b->classes, &fresh, sizeof(fresh)))
                return out_of_memory(b);
        return 0;
}

static int add_interval(struct build *b, struct table_group *g, uint32_t first, uint32_t last, uint32_t class) {
        struct table_interval v = {(uint16_t)first, (uint16_t)last, class};

        if (g->intervals.n) { /* goes on */
                struct table_interval *before = (struct table_interval *)(b->section[SECTION_INTERVALS].data + b->section[SECTION_INTERVALS].len) - 1;
                if (before->class == class && before->last + 1u == first) {
                        before->last = (uint16_t)last;
                        return 0;
                }
        }
        g->intervals.n++;
        return add(b, SECTION_INTERVALS, &v, 1) ? 0 : -E2BIG;
}

/* Walks over the ports and keeps which rules are in: depth[i] times, as ranges of a rule may overlap. */
static int add_intervals(struct build *b, struct table_group *g, const uint32_t *rules, size_t n, const struct event *events,
                         size_t n_events) {
        _cleanup_free_ uint32_t *in = calloc(n + 1, sizeof(*in)), *depth = calloc(n + 1, sizeof(*depth));
        int r;

        if (!in || !depth)
                return out_of_memory(b);
        for (size_t i = 0; i < n_events;) {
                uint32_t at = events[i].at, class = TABLE_NONE;
                for (; i < n_events && events[i].at == at; i++)
                        depth[events[i].rule] += (uint32_t)events[i].step;
                if (i == n_events)
                        break;
                size_t k = 0;
                for (size_t m = 0; m < n; m++)
                        if (depth[m])
                                in[k++] = rules[m];
                if (k == 0)
                        continue;
                if ((r = find_class(b, in, k, &class)) < 0 || (r = add_interval(b, g, at, events[i].at - 1, class)) < 0)
                        return r;
        }
        return 0;
}

static bool range_opens(const struct address_range *range) {
        struct request_address first = {}, last;

        memcpy(first.byte, range->byte, 16);
        last = first;
        for (unsigned i = range->bits; i < 128; i++)
                last.byte[i / 8] |= (uint8_t)(0x80u >> i % 8);
        /* A wide range that begins and ends with special addresses may have others between. */
        if (range->bits < (address_is_ipv4(&first) ? 96 + 8 : 7))
                return false;
        return !address_is_public(&first) && !address_is_public(&last);
}

/* Rules with the same host: rules[i] are indices, in rising order. */
static int add_group(struct build *b, const uint32_t *rules, size_t n, uint32_t *ret) {
        struct table_group g = {.any = TABLE_NONE, .first_rule = TABLE_NONE, .opens = TABLE_NONE};
        const struct network_rule *head = &b->n->rules[rules[0]];
        size_t n_events = 0, n_any = 0, k = 0;
        int r = 0;

        for (size_t i = 0; i < n; i++)
                n_events += 2 * b->n->rules[rules[i]].n_ports;
        _cleanup_free_ struct event *events = calloc(n_events + 1, sizeof(*events));
        _cleanup_free_ uint32_t *any = calloc(n, sizeof(*any));
        if (!events || !any)
                return out_of_memory(b);
        for (uint32_t i = 0; i < n; i++) {
                const struct network_rule *u = &b->n->rules[rules[i]];
                if (!u->deny)
                        g.first_rule = MIN(g.first_rule, rules[i]);
                if (u->n_ports == 0)
                        any[n_any++] = rules[i];
                for (size_t p = 0; p < u->n_ports; p++) {
                        events[k++] = (struct event){u->ports[p].first, i, 1};
                        events[k++] = (struct event){u->ports[p].last + 1u, i, -1};
                }
        }
        qsort(events, n_events, sizeof(*events), compare_events);
        b->classes.len = b->scratch.len = 0;
        g.intervals.first = count(b, SECTION_INTERVALS);
        if (head->kind == NETWORK_ADDRESS && range_opens(&head->range))
                g.opens = ((const struct table_rule_record *)b->section[SECTION_RULES].data)[rules[0]].range;
        if ((r = add_intervals(b, &g, rules, n, events, n_events)) < 0 ||
            (n_any && (r = add_class(b, any, n_any, &g.any)) < 0))
                return r;
        *ret = count(b, SECTION_GROUPS);
        return add(b, SECTION_GROUPS, &g, 1) ? 0 : -E2BIG;
}

/* Names and addresses */

static int compare_hosts(const void *a, const void *b) {
        const struct network_rule *x = *(const struct network_rule *const *)a, *y = *(const struct network_rule *const *)b;
        int c;

        if (x->kind != y->kind)
                return (x->kind > y->kind) - (x->kind < y->kind);
        if ((c = strcmp(x->host, y->host)))
                return c;
        return (x > y) - (x < y);
}

static bool same_host(const struct network_rule *x, const struct network_rule *y) {
        return x->kind == y->kind && streq(x->host, y->host);
}

static bool is_relay(const char *name) {
        for (; name; name = strchr(name, '.') ? strchr(name, '.') + 1 : NULL)
                for (size_t i = 0; table_relays[i]; i++)
                        if (streq(table_relays[i], name))
                                return true;
        return false;
}

static int compare_slots(const void *a, const void *b) {
        const struct table_host_slot *x = a, *y = b;
        return (x->name.at > y->name.at) - (x->name.at < y->name.at);
}

/* `list` may have a name several times: for its wildcards, and as a relay. */
static int add_names(struct build *b, struct table_host_slot *list, size_t n) {
        size_t o = 0, cap;

        if (n == 0)
                return 0;
        qsort(list, n, sizeof(*list), compare_slots);
        for (size_t i = 1; i < n; i++) {
                if (list[i].name.at != list[o].name.at) {
                        list[++o] = list[i];
                        continue;
                }
                list[o].relay |= list[i].relay;
                for (size_t k = 0; k < 3; k++)
                        list[o].group[k] = MIN(list[o].group[k], list[i].group[k]);
        }
        n = o + 1;
        _cleanup_free_ uint32_t *hash = calloc(n, sizeof(*hash)), *place = calloc(n, sizeof(*place));
        if (!hash || !place)
                return out_of_memory(b);
        for (size_t i = 0; i < n; i++)
                hash[i] = list[i].hash = table_hash_back(0, text(b, list[i].name), list[i].name.n);
        if ((cap = spread(hash, n, place)) == 0)
                return too_large(b);
        struct table_host_slot *slot = add(b, SECTION_HOSTS, NULL, cap);
        if (!slot)
                return -E2BIG;
        for (size_t i = 0; i < cap; i++)
                slot[i].name.at = slot[i].group[0] = slot[i].group[1] = slot[i].group[2] = TABLE_NONE;
        for (size_t i = 0; i < n; i++)
                slot[place[i]] = list[i];
        return 0;
}

static int add_addresses(struct build *b, const struct table_address_slot *list, size_t n) {
        const struct address_range *range = (const struct address_range *)b->section[SECTION_RANGES].data;
        bool prefix[129] = {};
        size_t cap;

        if (n == 0)
                return 0;
        _cleanup_free_ uint32_t *hash = calloc(n, sizeof(*hash)), *place = calloc(n, sizeof(*place));
        if (!hash || !place)
                return out_of_memory(b);
        for (size_t i = 0; i < n; i++) {
                hash[i] = table_hash(0, &range[list[i].range], sizeof(*range));
                prefix[range[list[i].range].bits] = true;
        }
        for (uint32_t i = 0; i <= 128; i++)
                if (prefix[i] && !add(b, SECTION_PREFIXES, &i, 1))
                        return -E2BIG;
        if ((cap = spread(hash, n, place)) == 0)
                return too_large(b);
        struct table_address_slot *slot = add(b, SECTION_ADDRESSES, NULL, cap);
        if (!slot)
                return -E2BIG;
        for (size_t i = 0; i < cap; i++)
                slot[i].range = TABLE_NONE;
        for (size_t i = 0; i < n; i++) {
                slot[place[i]] = list[i];
                slot[place[i]].hash = hash[i];
        }
        return 0;
}

static int add_hosts(struct build *b) {
        const struct network *n = b->n;
        size_t relays = 0, names = 0, addresses = 0;
        int r;

        while (table_relays[relays])
                relays++;
        _cleanup_free_ struct table_host_slot *name = calloc(n->n_rules + relays + 1, sizeof(*name));
        _cleanup_free_ struct table_address_slot *address = calloc(n->n_rules + 1, sizeof(*address));
        _cleanup_free_ uint32_t *rules = calloc(n->n_rules + 1, sizeof(*rules));
        const struct network_rule **order = b->order = calloc(n->n_rules + 1, sizeof(*order));
        if (!name || !address || !rules || !order)
                return out_of_memory(b);
        for (size_t i = 0; i < n->n_rules; i++)
                order[i] = &n->rules[i];
        qsort(order, n->n_rules, sizeof(*order), compare_hosts);
        for (size_t i = 0, k; i < n->n_rules; i = k) {
                const struct network_rule *u = order[i];
                uint32_t group = TABLE_NONE;
                for (k = i; k < n->n_rules && same_host(u, order[k]); k++)
                        rules[k - i] = (uint32_t)(order[k] - n->rules);
                if ((r = add_group(b, rules, k - i, &group)) < 0)
                        return r;
                if (u->kind == NETWORK_ADDRESS) {
                        const struct table_rule_record *x = (const struct table_rule_record *)b->section[SECTION_RULES].data;
                        address[addresses++] = (struct table_address_slot){.range = x[rules[0]].range, .group = group};
                        continue;
                }
                struct table_host_slot *s = &name[names++];
                s->group[0] = s->group[1] = s->group[2] = TABLE_NONE;
                s->group[u->kind] = group;
                if ((r = intern(b, u->host, strlen(u->host), &s->name)) < 0)
                        return r;
        }
        for (size_t i = 0; i < relays; i++) {
                struct table_host_slot *s = &name[names++];
                s->group[0] = s->group[1] = s->group[2] = TABLE_NONE;
                s->relay = 1;
                if ((r = intern(b, table_relays[i], strlen(table_relays[i]), &s->name)) < 0)
                        return r;
        }
        if ((r = add_names(b, name, names)) < 0)
                return r;
        return add_addresses(b, address, addresses);
}

/* Rules */

static int add_methods(struct build *b, const struct network_rule *u, uint64_t *ret) {
        *ret = u->methods.n || u->protocols & NETWORK_UNREAD ? 0 : UINT64_MAX;
        for (size_t i = 0; i < u->methods.n; i++) {
                struct table_string s;
                uint32_t k;
                int r;
                if (streq(u->methods.items[i], "*")) {
                        *ret = UINT64_MAX;
                        continue;
                }
                if ((r = intern(b, u->methods.items[i], strlen(u->methods.items[i]), &s)) < 0)
                        return r;
                const struct table_string *m = (const struct table_string *)b->section[SECTION_METHODS].data;
                for (k = 0; k < count(b, SECTION_METHODS) && m[k].at != s.at; k++)
                        ;
                if (k == TABLE_METHODS_MAX)
                        return error_set(b->e, E2BIG, "more than %u different methods", TABLE_METHODS_MAX);
                if (k == count(b, SECTION_METHODS) && !add(b, SECTION_METHODS, &s, 1))
                        return -E2BIG;
                *ret |= 1ull << k;
        }
        return 0;
}

static int compare_items(const void *a, const void *b) {
        const struct table_query_item *x = a, *y = b;
        return (x->key > y->key) - (x->key < y->key);
}

/* The number of a key is where its text stands: unique, and no second table is needed. */
static int add_query(struct build *b, const struct network_rule *u, struct table_span *ret) {
        char literal[NETWORK_QUERY_BYTES + 1];
        int r;

        *ret = (struct table_span){count(b, SECTION_QUERIES), 0};
        for (size_t i = 0; i < u->n_query; i++) {
                struct table_query_item x = {.value.at = TABLE_NONE};
                struct table_string key;
                size_t n = literal_text(u->query[i].key, strlen(u->query[i].key), literal);
                if ((r = intern(b, literal, n, &key)) < 0 ||
                    (u->query[i].value && (r = intern(b, u->query[i].value, strlen(u->query[i].value), &x.value)) < 0))
                        return r;
                x.key = key.at;
                if (!append(b, &b->scratch, &key, sizeof(key)))
                        return out_of_memory(b);
                if (!add(b, SECTION_QUERIES, &x, 1))
                        return -E2BIG;
                ret->n++;
        }
        if (ret->n)
                qsort((struct table_query_item *)b->section[SECTION_QUERIES].data + ret->first, ret->n,
                      sizeof(struct table_query_item), compare_items);
        return 0;
}

static int compare_strings(const void *a, const void *b) {
        const struct table_string *x = a, *y = b;
        return (x->at > y->at) - (x->at < y->at);
}

/* The hash of all keys, which add_query left in scratch. */
static int add_keys(struct build *b) {
        struct table_string *keys = (struct table_string *)b->scratch.data;
        size_t n = b->scratch.len / sizeof(*keys), distinct = 0, cap;

        if (n == 0)
                return 0;
        qsort(keys, n, sizeof(*keys), compare_strings);
        for (size_t i = 0; i < n; i++)
                if (i == 0 || keys[i].at != keys[distinct - 1].at)
                        keys[distinct++] = keys[i];
        _cleanup_free_ uint32_t *hash = calloc(distinct, sizeof(*hash)), *place = calloc(distinct, sizeof(*place));
        if (!hash || !place)
                return out_of_memory(b);
        for (size_t i = 0; i < distinct; i++)
                hash[i] = table_hash(0, text(b, keys[i]), keys[i].n);
        if ((cap = spread(hash, distinct, place)) == 0)
                return too_large(b);
        struct table_key_slot *slot = add(b, SECTION_KEYS, NULL, cap);
        if (!slot)
                return -E2BIG;
        for (size_t i = 0; i < cap; i++)
                slot[i].text.at = TABLE_NONE;
        for (size_t i = 0; i < distinct; i++)
                slot[place[i]] = (struct table_key_slot){hash[i], keys[i], keys[i].at};
        return 0;
}

static int add_secret(struct build *b, const char *name, uint32_t *ret) {
        struct table_string s;
        int r;

        *ret = TABLE_NONE;
        if (!name)
                return 0;
        if ((r = intern(b, name, strlen(name), &s)) < 0)
                return r;
        const struct table_string *m = (const struct table_string *)b->section[SECTION_SECRETS].data;
        for (*ret = 0; *ret < count(b, SECTION_SECRETS) && m[*ret].at != s.at; ++*ret)
                ;
        if (*ret == count(b, SECTION_SECRETS) && !add(b, SECTION_SECRETS, &s, 1))
                return -E2BIG;
        return 0;
}

static uint32_t flags_of(const struct network_rule *u) {
        return (u->deny ? RULE_DENY : 0) | (u->quiet ? RULE_QUIET : 0) | (u->any_query ? RULE_ANY_QUERY : 0) |
               (u->body_written ? RULE_BODY_WRITTEN : 0) | (u->websocket ? RULE_WEBSOCKET : 0) |
               (u->provenance ? RULE_PROVENANCE : 0) | (looks_at(u) ? RULE_CONDITION : 0) |
               (u->preset ? RULE_PRESET : 0) | (u->paths.n ? RULE_PATHS : 0) |
               (u->kind == NETWORK_ADDRESS && range_opens(&u->range) ? RULE_OPENS : 0);
}

static int add_rule(struct build *b, const struct network_rule *u) {
        struct table_rule_record x = {
                .body = u->body, .header_bytes = u->header_bytes, .flags = flags_of(u), .protocols = u->protocols,
                .headers = u->headers, .shapes = u->shapes, .line = u->line,
                .budget = u->budget == SIZE_MAX ? TABLE_NONE : (uint32_t)u->budget,
                .range = TABLE_NONE, .source.at = TABLE_NONE,
        };
        _cleanup_free_ char *host = network_host_text(u);
        const char *source = u->preset ?: u->line ? b->n->source : NULL;
        int r;

        if (!host)
                return out_of_memory(b);
        if ((r = add_methods(b, u, &x.methods)) < 0 || (r = add_query(b, u, &x.query)) < 0 ||
            (r = add_secret(b, u->secret, &x.secret)) < 0 || (r = intern(b, host, strlen(host), &x.host)) < 0 ||
            (source && (r = intern(b, source, strlen(source), &x.source)) < 0))
                return r;
        x.addresses = (struct table_span){count(b, SECTION_RANGES), (uint32_t)u->n_addresses};
        if (u->n_addresses && !add(b, SECTION_RANGES, u->addresses, u->n_addresses))
                return -E2BIG;
        if (u->kind == NETWORK_ADDRESS) {
                x.range = count(b, SECTION_RANGES);
                if (!add(b, SECTION_RANGES, &u->range, 1))
                        return -E2BIG;
        }
        x.ports = (struct table_span){count(b, SECTION_PORTS), (uint32_t)u->n_ports};
        if (u->n_ports && !add(b, SECTION_PORTS, u->ports, u->n_ports))
                return -E2BIG;
        return add(b, SECTION_RULES, &x, 1) ? 0 : -E2BIG;
}

static int check_relays(struct build *b) {
        for (size_t i = 0; i < b->n->n_rules; i++) {
                const struct network_rule *u = &b->n->rules[i];
                if (u->deny || (u->kind != NETWORK_ONE && u->kind != NETWORK_ANY) || !is_relay(u->host))
                        continue;
                _cleanup_free_ char *host = network_host_text(u);
                error_set(b->e, EINVAL, "the host %s: what is there hands on to others what it is sent, and no wildcard opens it",
                          host ?: u->host);
                return error_fix(b->e, "name the one host that is meant");
        }
        return 0;
}

static int assemble(struct build *b, void **ret, size_t *ret_size) {
        struct table_header h = {.magic = TABLE_MAGIC, .version = TABLE_VERSION, .order = TABLE_ORDER, .file = b->file};
        size_t size = sizeof(h);

        for (size_t s = 0; s < SECTION_N; s++) {
                h.section[s].at = (uint32_t)size;
                h.section[s].n = count(b, s);
                size += (b->section[s].len + 7) / 8 * 8;
                if (size > TABLE_SIZE_MAX)
                        return too_large(b);
        }
        h.size = (uint32_t)size;
        char *block = calloc(1, size);
        if (!block)
                return out_of_memory(b);
        memcpy(block, &h, sizeof(h));
        for (size_t s = 0; s < SECTION_N; s++)
                if (b->section[s].len)
                        memcpy(block + h.section[s].at, b->section[s].data, b->section[s].len);
        *ret = block;
        *ret_size = size;
        return 0;
}

static int compile(struct build *b) {
        const struct network_budget run = b->n->has_run ? b->n->run : NETWORK_NO_BUDGET;
        struct table_string empty;
        int r;

        /* No section that strings point into is empty. */
        if ((r = intern(b, "", 0, &empty)) < 0 || (r = check_relays(b)) < 0)
                return r;
        b->file.at = TABLE_NONE;
        if (b->n->source && (r = intern(b, b->n->source, strlen(b->n->source), &b->file)) < 0)
                return r;
        for (size_t i = 0; i < b->n->n_rules; i++)
                if ((r = add_rule(b, &b->n->rules[i])) < 0)
                        return r;
        if ((r = add_keys(b)) < 0 || (r = add_hosts(b)) < 0)
                return r;
        if (!add(b, SECTION_BUDGETS, &run, 1) ||
            (b->n->n_budgets && !add(b, SECTION_BUDGETS, b->n->budgets, b->n->n_budgets)))
                return -E2BIG;
        return 0;
}

int table_compile(const struct network *n, void **ret, size_t *ret_size, struct error *e) {
        struct error scratch = {};
        struct build b = {.n = n, .e = e ?: &scratch};
        int r = table_check_secrets(n, b.e);

        if (r >= 0)
                r = compile(&b);
        if (r >= 0)
                r = assemble(&b, ret, ret_size);
        for (size_t s = 0; s < SECTION_N; s++)
                free(b.section[s].data);
        free(b.interned);
        free(b.lengths);
        free(b.order);
        free(b.entries.data);
        free(b.classes.data);
        free(b.scratch.data);
        return r < 0 ? -b.e->errnum : 0;
}
