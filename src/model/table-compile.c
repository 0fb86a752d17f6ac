/* From rules to the block of table.h. Time and size are bounded by the limits of network.h and table-layout.h: what is
 * over one is an error, never a look-up that takes long. */
#include <stdio.h>

#include "model/address.h"
#include "model/network-route.h"
#include "model/provenance.h"
#include "model/table-build.h"

#define GIVEN_BY_RULES_MAX 4096u /* URLs that rules name by themselves: of those that come then, none is given */

struct known { /* a class of the group under way */
        uint32_t hash, class;
        struct table_span members; /* in scratch */
};

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
        if ((r = build_class(b, members, n, ret)) < 0)
                return r;
        struct known fresh = {hash, *ret, {(uint32_t)(b->scratch.len / sizeof(uint32_t)), (uint32_t)n}};
        if (!build_append(b, &b->scratch, members, n * sizeof(*members)) || !build_append(b, &b->classes, &fresh, sizeof(fresh)))
                return build_out_of_memory(b);
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
        return build_add(b, SECTION_INTERVALS, &v, 1) ? 0 : -E2BIG;
}

/* Walks over the ports and keeps which rules are in: depth[i] times, as ranges of a rule may overlap. */
static int add_intervals(struct build *b, struct table_group *g, const uint32_t *rules, size_t n, const struct event *events,
                         size_t n_events) {
        _cleanup_free_ uint32_t *in = calloc(n + 1, sizeof(*in)), *depth = calloc(n + 1, sizeof(*depth));
        int r;

        if (!in || !depth)
                return build_out_of_memory(b);
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
                return build_out_of_memory(b);
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
        g.intervals.first = build_count(b, SECTION_INTERVALS);
        if (head->kind == NETWORK_ADDRESS && range_opens(&head->range))
                g.opens = ((const struct table_rule_record *)b->section[SECTION_RULES].data)[rules[0]].range;
        if ((r = add_intervals(b, &g, rules, n, events, n_events)) < 0 ||
            (n_any && (r = build_class(b, any, n_any, &g.any)) < 0))
                return r;
        *ret = build_count(b, SECTION_GROUPS);
        return build_add(b, SECTION_GROUPS, &g, 1) ? 0 : -E2BIG;
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
                return build_out_of_memory(b);
        for (size_t i = 0; i < n; i++)
                hash[i] = list[i].hash = table_hash_back(0, build_text(b, list[i].name), list[i].name.n);
        if ((cap = build_spread(hash, n, place)) == 0)
                return build_too_large(b);
        struct table_host_slot *slot = build_add(b, SECTION_HOSTS, NULL, cap);
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
                return build_out_of_memory(b);
        for (size_t i = 0; i < n; i++) {
                hash[i] = table_hash(0, &range[list[i].range], sizeof(*range));
                prefix[range[list[i].range].bits] = true;
        }
        for (uint32_t i = 0; i <= 128; i++)
                if (prefix[i] && !build_add(b, SECTION_PREFIXES, &i, 1))
                        return -E2BIG;
        if ((cap = build_spread(hash, n, place)) == 0)
                return build_too_large(b);
        struct table_address_slot *slot = build_add(b, SECTION_ADDRESSES, NULL, cap);
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
                return build_out_of_memory(b);
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
                if ((r = build_intern(b, u->host, strlen(u->host), &s->name)) < 0)
                        return r;
        }
        for (size_t i = 0; i < relays; i++) {
                struct table_host_slot *s = &name[names++];
                s->group[0] = s->group[1] = s->group[2] = TABLE_NONE;
                s->relay = 1;
                if ((r = build_intern(b, table_relays[i], strlen(table_relays[i]), &s->name)) < 0)
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
                if ((r = build_intern(b, u->methods.items[i], strlen(u->methods.items[i]), &s)) < 0)
                        return r;
                const struct table_string *m = (const struct table_string *)b->section[SECTION_METHODS].data;
                for (k = 0; k < build_count(b, SECTION_METHODS) && m[k].at != s.at; k++)
                        ;
                if (k == TABLE_METHODS_MAX)
                        return error_set(b->e, E2BIG, "more than %u different methods", TABLE_METHODS_MAX);
                if (k == build_count(b, SECTION_METHODS) && !build_add(b, SECTION_METHODS, &s, 1))
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

        *ret = (struct table_span){build_count(b, SECTION_QUERIES), 0};
        for (size_t i = 0; i < u->n_query; i++) {
                struct table_query_item x = {.value.at = TABLE_NONE};
                struct table_string key;
                size_t n = build_literal(u->query[i].key, strlen(u->query[i].key), literal);
                if ((r = build_intern(b, literal, n, &key)) < 0 ||
                    (u->query[i].value && (r = build_intern(b, u->query[i].value, strlen(u->query[i].value), &x.value)) < 0))
                        return r;
                x.key = key.at;
                if (!build_append(b, &b->scratch, &key, sizeof(key)))
                        return build_out_of_memory(b);
                if (!build_add(b, SECTION_QUERIES, &x, 1))
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
                return build_out_of_memory(b);
        for (size_t i = 0; i < distinct; i++)
                hash[i] = table_hash(0, build_text(b, keys[i]), keys[i].n);
        if ((cap = build_spread(hash, distinct, place)) == 0)
                return build_too_large(b);
        struct table_key_slot *slot = build_add(b, SECTION_KEYS, NULL, cap);
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
        if ((r = build_intern(b, name, strlen(name), &s)) < 0)
                return r;
        const struct table_string *m = (const struct table_string *)b->section[SECTION_SECRETS].data;
        for (*ret = 0; *ret < build_count(b, SECTION_SECRETS) && m[*ret].at != s.at; ++*ret)
                ;
        if (*ret == build_count(b, SECTION_SECRETS) && !build_add(b, SECTION_SECRETS, &s, 1))
                return -E2BIG;
        return 0;
}

/* It leads to a model, or to a host that another rule has for models: what goes there by either is told together. */
static bool leads_to_model(const struct network *n, const struct network_rule *u) {
        if (u->model || u->to || !(u->protocols & NETWORK_READ) || u->kind != NETWORK_EXACT)
                return u->model;
        for (size_t i = 0; i < n->n_rules; i++)
                if (n->rules[i].model && !n->rules[i].to && n->rules[i].kind == NETWORK_EXACT && streq(n->rules[i].host, u->host))
                        return true;
        return false;
}

/* The destination of a rule that is a model's. */
static int add_route(struct build *b, const struct network_rule *u, struct table_rule_record *x) {
        struct table_route_record r = {.host = x->host, .to.at = TABLE_NONE, .secret = x->secret, .range = TABLE_NONE};
        struct request origin = {};
        char host[REQUEST_HOST_MAX + 1];
        const char *why;
        int k;

        x->route = TABLE_NONE;
        if (u->deny || !leads_to_model(b->n, u))
                return 0;
        if (u->to && ((k = build_intern(b, u->to, strlen(u->to), &r.to)) < 0 || (k = network_origin_read(u->to, &origin, host, &why)) < 0))
                return k;
        const struct table_route_record *had = (const struct table_route_record *)b->section[SECTION_ROUTES].data;
        for (uint32_t i = 0; i < build_count(b, SECTION_ROUTES); i++)
                if (had[i].host.at == r.host.at && had[i].to.at == r.to.at && had[i].secret == r.secret) {
                        x->route = i;
                        return 0;
                }
        if (build_count(b, SECTION_ROUTES) == TABLE_ROUTES_MAX) {
                error_set(b->e, E2BIG, "rules for models lead to more than %u places", TABLE_ROUTES_MAX);
                return error_fix(b->e, "write fewer of them");
        }
        if (origin.is_address) {
                struct address_range one = {.bits = 128};
                memcpy(one.byte, origin.address.byte, sizeof(one.byte));
                r.range = build_count(b, SECTION_RANGES);
                if (!build_add(b, SECTION_RANGES, &one, 1))
                        return -E2BIG;
        }
        x->route = build_count(b, SECTION_ROUTES);
        return build_add(b, SECTION_ROUTES, &r, 1) ? 0 : -E2BIG;
}

static int add_models(struct build *b, const struct network_rule *u, struct table_span *ret) {
        *ret = (struct table_span){build_count(b, SECTION_MODELS), (uint32_t)u->models.n};
        for (size_t i = 0; i < u->models.n; i++) {
                struct table_string s;
                int r = build_intern(b, u->models.items[i], strlen(u->models.items[i]), &s);
                if (r < 0)
                        return r;
                if (!build_add(b, SECTION_MODELS, &s, 1))
                        return -E2BIG;
        }
        return 0;
}

static uint32_t flags_of(const struct network_rule *u) {
        return (u->deny ? RULE_DENY : 0) | (u->quiet ? RULE_QUIET : 0) | (u->any_query ? RULE_ANY_QUERY : 0) |
               (u->body_written ? RULE_BODY_WRITTEN : 0) | (u->websocket ? RULE_WEBSOCKET : 0) |
               (u->provenance ? RULE_PROVENANCE : 0) | (build_looks_at(u) ? RULE_CONDITION : 0) |
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
                return build_out_of_memory(b);
        if ((r = add_methods(b, u, &x.methods)) < 0 || (r = add_query(b, u, &x.query)) < 0 ||
            (r = add_secret(b, u->secret, &x.secret)) < 0 || (r = build_intern(b, host, strlen(host), &x.host)) < 0 ||
            (source && (r = build_intern(b, source, strlen(source), &x.source)) < 0))
                return r;
        if ((r = add_models(b, u, &x.models)) < 0 || (r = add_route(b, u, &x)) < 0)
                return r;
        x.addresses = (struct table_span){build_count(b, SECTION_RANGES), (uint32_t)u->n_addresses};
        if (u->n_addresses && !build_add(b, SECTION_RANGES, u->addresses, u->n_addresses))
                return -E2BIG;
        if (u->kind == NETWORK_ADDRESS) {
                x.range = build_count(b, SECTION_RANGES);
                if (!build_add(b, SECTION_RANGES, &u->range, 1))
                        return -E2BIG;
        }
        x.ports = (struct table_span){build_count(b, SECTION_PORTS), (uint32_t)u->n_ports};
        if (u->n_ports && !build_add(b, SECTION_PORTS, u->ports, u->n_ports))
                return -E2BIG;
        return build_add(b, SECTION_RULES, &x, 1) ? 0 : -E2BIG;
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
                h.section[s].n = build_count(b, s);
                size += (b->section[s].len + 7) / 8 * 8;
                if (size > TABLE_SIZE_MAX)
                        return build_too_large(b);
        }
        h.size = (uint32_t)size;
        char *block = calloc(1, size);
        if (!block)
                return build_out_of_memory(b);
        memcpy(block, &h, sizeof(h));
        for (size_t s = 0; s < SECTION_N; s++)
                if (b->section[s].len)
                        memcpy(block + h.section[s].at, b->section[s].data, b->section[s].len);
        *ret = block;
        *ret_size = size;
        return 0;
}

/* What rules with provenance let pass from the start: what is written under `given`, and what the rules name by themselves. */
static int add_given(struct build *b) {
        _cleanup_strlist_ struct strlist own = {};
        const struct strlist *all[] = {&b->n->given, &own};
        bool asked = false;

        for (size_t i = 0; i < b->n->n_rules; i++)
                asked |= b->n->rules[i].provenance;
        for (size_t i = 0; i < b->n->n_rules && asked && own.n < GIVEN_BY_RULES_MAX; i++)
                if (provenance_of_rule(&b->n->rules[i], &own) < 0)
                        return build_out_of_memory(b);
        for (size_t k = 0; k < ELEMENTSOF(all); k++)
                for (size_t i = 0; i < all[k]->n; i++) {
                        struct table_string s;
                        int r = build_intern(b, all[k]->items[i], strlen(all[k]->items[i]), &s);
                        if (r < 0)
                                return r;
                        if (!build_add(b, SECTION_GIVEN, &s, 1))
                                return -E2BIG;
                }
        return 0;
}

static int compile(struct build *b) {
        const struct network_budget run = b->n->has_run ? b->n->run : NETWORK_NO_BUDGET;
        struct table_string empty;
        int r;

        /* No section that strings point into is empty. */
        if ((r = build_intern(b, "", 0, &empty)) < 0 || (r = check_relays(b)) < 0)
                return r;
        b->file.at = TABLE_NONE;
        if (b->n->source && (r = build_intern(b, b->n->source, strlen(b->n->source), &b->file)) < 0)
                return r;
        for (size_t i = 0; i < b->n->n_secrets; i++) { /* their order says which identity a secret is */
                uint32_t index;
                if ((r = add_secret(b, b->n->secrets[i].name, &index)) < 0)
                        return r;
        }
        for (size_t i = 0; i < b->n->n_rules; i++)
                if ((r = add_rule(b, &b->n->rules[i])) < 0)
                        return r;
        if ((r = add_keys(b)) < 0 || (r = add_hosts(b)) < 0 || (r = add_given(b)) < 0)
                return r;
        if (!build_add(b, SECTION_BUDGETS, &run, 1) ||
            (b->n->n_budgets && !build_add(b, SECTION_BUDGETS, b->n->budgets, b->n->n_budgets)))
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
