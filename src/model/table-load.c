/* Looking at a block before it is used, and what it says about its rules; see table.h. */
#include "model/address.h"
#include "model/table-layout.h"

const uint32_t table_record_size[SECTION_N] = {
        [SECTION_STRINGS] = 1,
        [SECTION_HOSTS] = sizeof(struct table_host_slot),
        [SECTION_ADDRESSES] = sizeof(struct table_address_slot),
        [SECTION_PREFIXES] = sizeof(uint32_t),
        [SECTION_GROUPS] = sizeof(struct table_group),
        [SECTION_INTERVALS] = sizeof(struct table_interval),
        [SECTION_CLASSES] = sizeof(struct table_class),
        [SECTION_MEMBERS] = sizeof(uint32_t),
        [SECTION_WORDS] = sizeof(uint64_t),
        [SECTION_LITERALS] = sizeof(struct table_literal_slot),
        [SECTION_GLOBS] = sizeof(struct table_glob),
        [SECTION_PAIRS] = sizeof(struct table_pair),
        [SECTION_RULES] = sizeof(struct table_rule_record),
        [SECTION_METHODS] = sizeof(struct table_string),
        [SECTION_KEYS] = sizeof(struct table_key_slot),
        [SECTION_QUERIES] = sizeof(struct table_query_item),
        [SECTION_RANGES] = sizeof(struct address_range),
        [SECTION_PORTS] = sizeof(struct network_ports),
        [SECTION_BUDGETS] = sizeof(struct network_budget),
        [SECTION_SECRETS] = sizeof(struct table_string),
        [SECTION_GIVEN] = sizeof(struct table_string),
        [SECTION_MODELS] = sizeof(struct table_string),
        [SECTION_ROUTES] = sizeof(struct table_route_record),
};

static bool in_section(const struct table *t, enum table_section s, struct table_span span) {
        return span.first <= table_count(t, s) && span.n <= table_count(t, s) - span.first;
}

/* An index that may be TABLE_NONE. */
static bool index_or_none(const struct table *t, enum table_section s, uint32_t i) {
        return i == TABLE_NONE || i < table_count(t, s);
}

static bool string_good(const struct table *t, struct table_string s) {
        uint32_t n = table_count(t, SECTION_STRINGS);
        return s.at < n && s.n < n - s.at && table_text(t, s)[s.n] == 0;
}
static bool string_or_none(const struct table *t, struct table_string s) { return s.at == TABLE_NONE || string_good(t, s); }

static bool power_of_two(uint32_t n) { return (n & (n - 1)) == 0; }

static bool hashes_good(const struct table *t) {
        const struct table_host_slot *h = table_at(t, SECTION_HOSTS);
        const struct table_address_slot *a = table_at(t, SECTION_ADDRESSES);
        const struct table_key_slot *k = table_at(t, SECTION_KEYS);
        const uint32_t *prefix = table_at(t, SECTION_PREFIXES);

        if (!power_of_two(table_count(t, SECTION_HOSTS)) || !power_of_two(table_count(t, SECTION_ADDRESSES)) ||
            !power_of_two(table_count(t, SECTION_KEYS)) || table_count(t, SECTION_PREFIXES) > TABLE_PREFIXES_MAX)
                return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_HOSTS); i++)
                if (!string_or_none(t, h[i].name) || !index_or_none(t, SECTION_GROUPS, h[i].group[0]) ||
                    !index_or_none(t, SECTION_GROUPS, h[i].group[1]) || !index_or_none(t, SECTION_GROUPS, h[i].group[2]))
                        return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_ADDRESSES); i++)
                if (a[i].range != TABLE_NONE &&
                    (a[i].range >= table_count(t, SECTION_RANGES) || a[i].group >= table_count(t, SECTION_GROUPS)))
                        return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_KEYS); i++)
                if (!string_or_none(t, k[i].text))
                        return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_PREFIXES); i++)
                if (prefix[i] > 128)
                        return false;
        return true;
}

static bool members_good(const struct table *t, struct table_span span, uint64_t *work) {
        const uint32_t *m = table_at(t, SECTION_MEMBERS);

        if (!in_section(t, SECTION_MEMBERS, span))
                return false;
        *work += span.n;
        for (uint32_t i = 0; i < span.n; i++)
                if (m[span.first + i] >= table_count(t, SECTION_RULES))
                        return false;
        return true;
}

static bool pairs_good(const struct table *t, struct table_span span, uint32_t words, uint64_t *work) {
        const struct table_pair *p = table_at(t, SECTION_PAIRS);

        if (!in_section(t, SECTION_PAIRS, span))
                return false;
        *work += span.n;
        for (uint32_t i = 0; i < span.n; i++)
                if (p[span.first + i].word >= words)
                        return false;
        return true;
}

/* Classes of a sound block do not share what is theirs, so that looking at them takes a time in proportion to the size.
 * With a hostile one they may: `work` bounds it. */
#define WORK_MAX (4ull * TABLE_SIZE_MAX)

static bool automaton_good(const struct table *t, const struct table_class *c, uint64_t *work) {
        const struct table_literal_slot *l = table_at(t, SECTION_LITERALS);
        const struct table_glob *g = table_at(t, SECTION_GLOBS);
        uint32_t sum = 0;

        if (c->words > TABLE_WORDS_MAX || c->words % TABLE_BLOCK != 0 ||
            !in_section(t, SECTION_WORDS, (struct table_span){c->at, (uint32_t)table_class_words(c->words)}))
                return false;
        const uint64_t *accept = (const uint64_t *)table_at(t, SECTION_WORDS) + c->at + 3 * c->words;
        const uint64_t *summary = accept + c->words;
        const uint32_t *rank = (const uint32_t *)(summary + 2 * table_summary_words(c->words));
        *work += c->words;
        for (uint32_t w = 0; w < c->words; w++) {
                if (rank[w] != sum)
                        return false;
                sum += (uint32_t)__builtin_popcountll(accept[w]);
        }
        /* No bit of a summary is beyond the blocks. */
        uint32_t blocks = c->words / TABLE_BLOCK;
        for (uint32_t k = 0; k < 2; k++)
                if (blocks % 64 && summary[(k + 1) * table_summary_words(c->words) - 1] >> blocks % 64)
                        return false;
        if (c->accepts.n != sum || !power_of_two(c->literals.n) || c->globs.n > TABLE_GLOBS_MAX ||
            !in_section(t, SECTION_LITERALS, c->literals) || !in_section(t, SECTION_GLOBS, c->globs))
                return false;
        *work += c->literals.n + c->globs.n;
        for (uint32_t i = 0; i < c->literals.n && *work < WORK_MAX; i++)
                if (l[c->literals.first + i].text.at != TABLE_NONE &&
                    (!string_good(t, l[c->literals.first + i].text) ||
                     !pairs_good(t, l[c->literals.first + i].pairs, c->words, work)))
                        return false;
        for (uint32_t i = 0; i < c->globs.n && *work < WORK_MAX; i++)
                if (!string_good(t, g[c->globs.first + i].pattern) ||
                    !pairs_good(t, g[c->globs.first + i].pairs, c->words, work))
                        return false;
        return true;
}

static bool groups_good(const struct table *t) {
        const struct table_group *g = table_at(t, SECTION_GROUPS);
        const struct table_interval *v = table_at(t, SECTION_INTERVALS);
        const struct table_class *c = table_at(t, SECTION_CLASSES);
        uint64_t work = 0;

        for (uint32_t i = 0; i < table_count(t, SECTION_GROUPS); i++)
                if (!in_section(t, SECTION_INTERVALS, g[i].intervals) || !index_or_none(t, SECTION_CLASSES, g[i].any) ||
                    !index_or_none(t, SECTION_RULES, g[i].first_rule) || !index_or_none(t, SECTION_RANGES, g[i].opens))
                        return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_INTERVALS); i++)
                if (v[i].class >= table_count(t, SECTION_CLASSES))
                        return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_CLASSES); i++)
                if (!members_good(t, c[i].plain, &work) || !members_good(t, c[i].accepts, &work) ||
                    !automaton_good(t, &c[i], &work) || work >= WORK_MAX)
                        return false;
        return true;
}

static bool routes_good(const struct table *t) {
        const struct table_route_record *r = table_at(t, SECTION_ROUTES);
        const struct table_string *m = table_at(t, SECTION_MODELS);

        if (table_count(t, SECTION_ROUTES) > TABLE_ROUTES_MAX)
                return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_ROUTES); i++)
                if (!string_good(t, r[i].host) || !string_or_none(t, r[i].to) || !index_or_none(t, SECTION_SECRETS, r[i].secret) ||
                    !index_or_none(t, SECTION_RANGES, r[i].range))
                        return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_MODELS); i++)
                if (!string_good(t, m[i]))
                        return false;
        return true;
}

static bool rules_good(const struct table *t) {
        const struct table_rule_record *r = table_at(t, SECTION_RULES);
        const struct table_query_item *q = table_at(t, SECTION_QUERIES);
        const struct address_range *range = table_at(t, SECTION_RANGES);
        const struct table_string *m = table_at(t, SECTION_METHODS), *s = table_at(t, SECTION_SECRETS), *g = table_at(t, SECTION_GIVEN);

        if (table_count(t, SECTION_METHODS) > TABLE_METHODS_MAX || table_count(t, SECTION_BUDGETS) == 0)
                return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_RULES); i++)
                if (!in_section(t, SECTION_QUERIES, r[i].query) || !in_section(t, SECTION_RANGES, r[i].addresses) ||
                    !in_section(t, SECTION_PORTS, r[i].ports) || (r[i].budget != TABLE_NONE && r[i].budget >= table_budgets(t)) ||
                    !index_or_none(t, SECTION_SECRETS, r[i].secret) || !index_or_none(t, SECTION_RANGES, r[i].range) ||
                    !string_good(t, r[i].host) || !string_or_none(t, r[i].source) || !in_section(t, SECTION_MODELS, r[i].models) ||
                    !index_or_none(t, SECTION_ROUTES, r[i].route))
                        return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_QUERIES); i++)
                if (!string_or_none(t, q[i].value))
                        return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_RANGES); i++)
                if (range[i].bits > 128)
                        return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_METHODS); i++)
                if (!string_good(t, m[i]))
                        return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_SECRETS); i++)
                if (!string_good(t, s[i]))
                        return false;
        for (uint32_t i = 0; i < table_count(t, SECTION_GIVEN); i++)
                if (!string_good(t, g[i]))
                        return false;
        return true;
}

int table_load(const void *data, size_t size, struct table *ret) {
        const struct table_header *h = data;
        const struct table t = {h, size};

        if (size < sizeof(*h) || size > TABLE_SIZE_MAX || (uintptr_t)data % 8 != 0)
                return -EBADMSG;
        if (memcmp(h->magic, TABLE_MAGIC, sizeof(h->magic)) != 0 || h->version != TABLE_VERSION ||
            h->order != TABLE_ORDER || h->size != size)
                return -EBADMSG;
        for (size_t s = 0; s < SECTION_N; s++) {
                uint64_t bytes = (uint64_t)h->section[s].n * table_record_size[s];
                if (h->section[s].at % 8 != 0 || h->section[s].at < sizeof(*h) || h->section[s].at > size ||
                    bytes > size - h->section[s].at)
                        return -EBADMSG;
        }
        if (!string_or_none(&t, h->file) || !hashes_good(&t) || !groups_good(&t) || !rules_good(&t) || !routes_good(&t))
                return -EBADMSG;
        *ret = t;
        return 0;
}

/* What the block says about its rules. */

size_t table_rules(const struct table *t) { return table_count(t, SECTION_RULES); }

bool table_rule(const struct table *t, uint32_t rule, struct table_rule_info *ret) {
        const struct table_rule_record *r = table_at(t, SECTION_RULES);

        if (rule >= table_count(t, SECTION_RULES))
                return false;
        r += rule;
        *ret = (struct table_rule_info){
                .deny = r->flags & RULE_DENY,
                .quiet = r->flags & RULE_QUIET,
                .read = r->flags & RULE_CONDITION,
                .provenance = r->flags & RULE_PROVENANCE,
                .host = table_text(t, r->host),
                .source = r->source.at == TABLE_NONE ? NULL : table_text(t, r->source),
                .is_preset = r->flags & RULE_PRESET,
                .file = r->line && t->header->file.at != TABLE_NONE ? table_text(t, t->header->file) : NULL,
                .line = r->line,
                .budget = r->budget,
                .secret = r->secret,
                .route = r->route,
        };
        return true;
}

size_t table_budgets(const struct table *t) { return table_count(t, SECTION_BUDGETS) - 1; }

bool table_budget(const struct table *t, uint32_t index, struct network_budget *ret) {
        const struct network_budget *b = table_at(t, SECTION_BUDGETS);

        if (index == TABLE_NONE)
                *ret = b[0];
        else if (index < table_budgets(t))
                *ret = b[index + 1];
        else
                return false;
        return true;
}

const char *table_secret_name(const struct table *t, uint32_t index) {
        const struct table_string *s = table_at(t, SECTION_SECRETS);
        return index < table_count(t, SECTION_SECRETS) ? table_text(t, s[index]) : NULL;
}

size_t table_routes(const struct table *t) { return table_count(t, SECTION_ROUTES); }

bool table_route(const struct table *t, uint32_t index, struct table_route *ret) {
        const struct table_route_record *r = table_at(t, SECTION_ROUTES);
        struct request_address a = {};

        if (index >= table_count(t, SECTION_ROUTES))
                return false;
        r += index;
        if (r->range != TABLE_NONE)
                memcpy(a.byte, ((const struct address_range *)table_at(t, SECTION_RANGES))[r->range].byte, sizeof(a.byte));
        *ret = (struct table_route){
                .host = table_text(t, r->host),
                .to = r->to.at == TABLE_NONE ? NULL : table_text(t, r->to),
                .secret = table_secret_name(t, r->secret),
                .local = r->range != TABLE_NONE && !address_is_public(&a),
        };
        return true;
}

const char *table_model(const struct table *t, uint32_t rule, size_t index) {
        const struct table_rule_record *r = table_at(t, SECTION_RULES);
        const struct table_string *m = table_at(t, SECTION_MODELS);

        return rule < table_count(t, SECTION_RULES) && index < r[rule].models.n ? table_text(t, m[r[rule].models.first + index]) : NULL;
}

bool table_asks_provenance(const struct table *t) {
        const struct table_rule_record *r = table_at(t, SECTION_RULES);

        for (uint32_t i = 0; i < table_count(t, SECTION_RULES); i++)
                if (r[i].flags & RULE_PROVENANCE)
                        return true;
        return false;
}

const char *table_given(const struct table *t, size_t index) {
        const struct table_string *s = table_at(t, SECTION_GIVEN);
        return index < table_count(t, SECTION_GIVEN) ? table_text(t, s[index]) : NULL;
}

bool table_address_rule(const struct table *t, size_t index, struct table_range *ret) {
        const struct table_rule_record *r = table_at(t, SECTION_RULES);
        const struct address_range *range = table_at(t, SECTION_RANGES);
        const struct network_ports *p = table_at(t, SECTION_PORTS);

        for (uint32_t i = 0; i < table_count(t, SECTION_RULES); i++) {
                if (r[i].flags & RULE_DENY || r[i].range == TABLE_NONE)
                        continue;
                if (index >= r[i].ports.n) {
                        index -= r[i].ports.n;
                        continue;
                }
                p += r[i].ports.first + index;
                *ret = (struct table_range){range[r[i].range], p->first, p->last};
                return true;
        }
        return false;
}

void table_statistics(const struct table *t, struct table_statistics *ret) {
        const struct table_host_slot *h = table_at(t, SECTION_HOSTS);
        const struct table_class *c = table_at(t, SECTION_CLASSES);

        *ret = (struct table_statistics){
                .size = t->size,
                .rules = table_count(t, SECTION_RULES),
                .groups = table_count(t, SECTION_GROUPS),
        };
        for (uint32_t i = 0; i < table_count(t, SECTION_HOSTS); i++)
                if (h[i].name.at != TABLE_NONE) {
                        ret->relays += h[i].relay != 0;
                        ret->hosts += h[i].group[0] != TABLE_NONE || h[i].group[1] != TABLE_NONE || h[i].group[2] != TABLE_NONE;
                }
        for (uint32_t i = 0; i < table_count(t, SECTION_CLASSES); i++) {
                ret->words = MAX(ret->words, (size_t)c[i].words);
                ret->states = MAX(ret->states, (size_t)c[i].states);
        }
        for (uint32_t i = 0; i < table_count(t, SECTION_LITERALS); i++)
                ret->literals += ((const struct table_literal_slot *)table_at(t, SECTION_LITERALS))[i].text.at != TABLE_NONE;
}
