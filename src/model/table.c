/* The decision; see table.h, and table-layout.h for what is looked at. Nothing here allocates or recurses, and a block
 * that table_load has taken cannot lead it outside of itself. */
#include "model/address.h"
#include "model/table-look.h"
#include "model/table-walk.h"

static void add_hit(struct table_hits *h, uint32_t group, bool wildcard) {
        if (group != TABLE_NONE && h->n < TABLE_HITS_MAX)
                h->hit[h->n++] = (struct table_hit){group, wildcard};
}

static const struct table_host_slot *find_host(const struct table *t, uint32_t hash, const char *name, size_t n) {
        const struct table_host_slot *slot = table_at(t, SECTION_HOSTS);
        uint32_t mask = table_count(t, SECTION_HOSTS) - 1, i = table_slot(hash);

        if (mask == UINT32_MAX)
                return NULL;
        for (unsigned k = 0; k < TABLE_PROBE_MAX; k++, i++) {
                const struct table_host_slot *s = &slot[i & mask];
                if (s->name.at == TABLE_NONE)
                        return NULL;
                if (s->hash == hash && s->name.n == n && memcmp(table_text(t, s->name), name, n) == 0)
                        return s;
        }
        return NULL;
}

static void find_names(const struct table *t, struct request_text name, struct table_hits *ret) {
        uint32_t seed = t->header->seed, hash = TABLE_HASH_START ^ seed;
        const char *dot = memchr(name.p, '.', name.n);
        const struct table_host_slot *s;

        ret->n = 0;
        ret->relay = false;
        if ((s = find_host(t, hash, "", 0)))
                add_hit(ret, s->group[NETWORK_ANY], true);
        for (size_t i = name.n; i-- > 0;) {
                hash = table_hash_byte(hash, (uint8_t)name.p[i]);
                if (i > 0 && name.p[i - 1] != '.')
                        continue;
                if (!(s = find_host(t, hash, name.p + i, name.n - i)))
                        continue;
                ret->relay |= s->relay != 0;
                if (i == 0) {
                        add_hit(ret, s->group[NETWORK_EXACT], false);
                        continue;
                }
                add_hit(ret, s->group[NETWORK_ANY], true);
                if (name.p + i == dot + 1)
                        add_hit(ret, s->group[NETWORK_ONE], true);
        }
}

static void find_addresses(const struct table *t, const struct request_address *a, struct table_hits *ret) {
        const struct table_address_slot *slot = table_at(t, SECTION_ADDRESSES);
        const struct address_range *range = table_at(t, SECTION_RANGES);
        const uint32_t *prefix = table_at(t, SECTION_PREFIXES);
        uint32_t mask = table_count(t, SECTION_ADDRESSES) - 1;

        ret->n = 0;
        ret->relay = false;
        if (mask == UINT32_MAX)
                return;
        for (uint32_t p = 0; p < table_count(t, SECTION_PREFIXES); p++) {
                struct address_range want = {.bits = (uint8_t)prefix[p]};
                memcpy(want.byte, a->byte, prefix[p] / 8);
                if (prefix[p] % 8)
                        want.byte[prefix[p] / 8] = (uint8_t)(a->byte[prefix[p] / 8] & (0xff00u >> prefix[p] % 8));
                uint32_t hash = table_hash(t->header->seed, &want, sizeof(want)), i = table_slot(hash);
                for (unsigned k = 0; k < TABLE_PROBE_MAX; k++, i++) {
                        const struct table_address_slot *s = &slot[i & mask];
                        if (s->range == TABLE_NONE)
                                break;
                        if (s->hash == hash && memcmp(&range[s->range], &want, sizeof(want)) == 0 &&
                            address_range_has(&want, a)) {
                                add_hit(ret, s->group, false);
                                break;
                        }
                }
        }
}

void table_find_groups(const struct table *t, const struct request *r, struct table_hits *ret) {
        if (r->is_address)
                find_addresses(t, &r->address, ret);
        else
                find_names(t, r->host, ret);
}

static const struct table_group *group_of(const struct table *t, const struct table_hit *h) {
        return (const struct table_group *)table_at(t, SECTION_GROUPS) + h->group;
}

size_t table_find_classes(const struct table *t, const struct table_group *g, uint16_t port,
                          const struct table_class *ret[2]) {
        const struct table_interval *v = (const struct table_interval *)table_at(t, SECTION_INTERVALS) + g->intervals.first;
        const struct table_class *c = table_at(t, SECTION_CLASSES);
        size_t low = 0, high = g->intervals.n, n = 0;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (v[middle].last < port)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low < g->intervals.n && v[low].first <= port && port <= v[low].last)
                ret[n++] = &c[v[low].class];
        if (g->any != TABLE_NONE)
                ret[n++] = &c[g->any];
        return n;
}

/* What the classes of all groups say about connections to the port. */
struct outlook {
        unsigned allows, denies; /* enum network_protocol */
        bool looks, port;        /* some rule looks at requests; some rule has the port */
        bool relay, closed;      /* an allow did not count: of a wildcard; for the address is not public */
};

static bool is_special(const struct request *r) { return r->is_address && !address_is_public(&r->address); }

/* True when the host of *r is an address that is not public (special) and that the group does not open. */
static bool is_closed(const struct table *t, const struct request *r, const struct table_group *g, bool special) {
        const struct address_range *range = table_at(t, SECTION_RANGES);

        if (!special)
                return false;
        return !address_allowed(&r->address, g->opens == TABLE_NONE ? NULL : &range[g->opens], g->opens != TABLE_NONE);
}

static void look_out(const struct table *t, const struct request *r, const struct table_hits *h, bool special, struct outlook *o) {
        *o = (struct outlook){};
        for (size_t i = 0; i < h->n; i++) {
                const struct table_group *g = group_of(t, &h->hit[i]);
                const struct table_class *c[2];
                size_t n = table_find_classes(t, g, r->port, c);
                bool relay = h->relay && h->hit[i].wildcard, closed = is_closed(t, r, g, special);
                for (size_t k = 0; k < n; k++) {
                        o->denies |= c[k]->denies;
                        o->looks |= c[k]->looks != 0;
                        o->port |= c[k]->allows != 0;
                        if (c[k]->allows && relay)
                                o->relay = true;
                        else if (c[k]->allows && closed)
                                o->closed = true;
                        else
                                o->allows |= c[k]->allows;
                }
        }
}

static enum table_access access_of(const struct outlook *o) {
        unsigned allows = o->allows & ~o->denies;

        if (!allows)
                return TABLE_REFUSE;
        if (allows & NETWORK_READ || o->looks)
                return TABLE_READ;
        return allows & NETWORK_TCP ? TABLE_PASS_TCP : TABLE_PASS_TLS;
}

enum table_access table_port_access(const struct table *t, const struct request *r) {
        struct table_hits h;
        struct outlook o;

        table_find_groups(t, r, &h);
        look_out(t, r, &h, is_special(r), &o);
        return access_of(&o);
}

bool table_name_reachable(const struct table *t, struct request_text name) {
        const struct table_class *c = table_at(t, SECTION_CLASSES);
        const struct table_interval *v = table_at(t, SECTION_INTERVALS);
        unsigned allows = 0, denies = 0;
        struct table_hits h;

        find_names(t, name, &h);
        for (size_t i = 0; i < h.n; i++) {
                const struct table_group *g = group_of(t, &h.hit[i]);
                if (g->any != TABLE_NONE)
                        denies |= c[g->any].denies;
        }
        for (size_t i = 0; i < h.n; i++) {
                const struct table_group *g = group_of(t, &h.hit[i]);
                if (h.relay && h.hit[i].wildcard)
                        continue;
                /* Allows have ports, so they are in intervals; most groups have one. */
                for (uint32_t k = 0; k < g->intervals.n && !(allows & ~denies); k++)
                        allows |= c[v[g->intervals.first + k].class].allows;
        }
        return allows & ~denies;
}

/* One decision under way. */
struct look {
        const struct table *t;
        const struct request *r;
        struct verdict *v;
        unsigned protocol;    /* enum network_protocol, a bit */
        uint64_t method;      /* a bit */
        bool bodiless;        /* the method has no body by its nature */
        bool keys_known, shapes_known, too_many;
        bool special;         /* the host is an address that is not public */
        bool relay, closed;   /* of the group that is looked at: its allows do not count */
        unsigned passes;      /* enum network_protocol of NETWORK_UNREAD that no rule denies as a whole */
        unsigned shapes;
        uint32_t denied;      /* the first deny that matches */
        uint32_t nearest;
        enum verdict_reason near;
        uint32_t near_detail;
        uint32_t keys[REQUEST_QUERY_MAX];
};

static uint32_t find_key(const struct table *t, struct request_text key) {
        const struct table_key_slot *slot = table_at(t, SECTION_KEYS);
        uint32_t mask = table_count(t, SECTION_KEYS) - 1, hash = table_hash(t->header->seed, key.p, key.n),
                 i = table_slot(hash);

        if (mask == UINT32_MAX)
                return TABLE_NONE;
        for (unsigned k = 0; k < TABLE_PROBE_MAX; k++, i++) {
                const struct table_key_slot *s = &slot[i & mask];
                if (s->text.at == TABLE_NONE)
                        return TABLE_NONE;
                if (s->hash == hash && s->text.n == key.n && memcmp(table_text(t, s->text), key.p, key.n) == 0)
                        return s->key;
        }
        return TABLE_NONE;
}

static const struct table_query_item *find_item(const struct table *t, struct table_span span, uint32_t key) {
        const struct table_query_item *q = (const struct table_query_item *)table_at(t, SECTION_QUERIES) + span.first;
        size_t low = 0, high = span.n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (q[middle].key < key)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < span.n && q[low].key == key ? &q[low] : NULL;
}

/* How the request's index-th key stands to the rule: VERDICT_ALLOWED where the rule has key and value. */
static enum verdict_reason key_fits(struct look *l, const struct table_rule_record *u, size_t index) {
        const struct request *r = l->r;
        const struct table_query_item *q;

        if (!l->keys_known) {
                for (size_t i = 0; i < r->n_query; i++)
                        l->keys[i] = find_key(l->t, r->query[i].key);
                l->keys_known = true;
        }
        if (l->keys[index] == TABLE_NONE || !(q = find_item(l->t, u->query, l->keys[index])))
                return VERDICT_QUERY_KEY;
        if (q->value.at == TABLE_NONE)
                return VERDICT_ALLOWED;
        struct request_text value = r->query[index].has_value ? r->query[index].value : (struct request_text){"", 0};
        return network_glob(table_text(l->t, q->value), q->value.n, value.p, value.n) ? VERDICT_ALLOWED
                                                                                     : VERDICT_QUERY_VALUE;
}

static unsigned shapes_of(struct look *l) {
        if (!l->shapes_known)
                l->shapes = network_shapes(l->r);
        l->shapes_known = true;
        return l->shapes;
}

static uint64_t body_limit(const struct look *l, const struct table_rule_record *u) {
        if (u->protocols & NETWORK_UNREAD)
                return UINT64_MAX;
        return u->flags & RULE_BODY_WRITTEN ? u->body : l->bodiless ? 0 : UINT64_MAX;
}

static bool model_fits(const struct look *l, const struct table_rule_record *u) {
        const struct table_string *m = (const struct table_string *)table_at(l->t, SECTION_MODELS) + u->models.first;
        struct request_text model = l->r->model;

        for (uint32_t i = 0; i < u->models.n && model.n > 0; i++)
                if (network_glob(table_text(l->t, m[i]), m[i].n, model.p, model.n))
                        return true;
        return false;
}

/* Whether an allow whose path fits lets the request pass; else the first of the reasons, in the order of their enum. */
static enum verdict_reason allow_fits(struct look *l, const struct table_rule_record *u, uint32_t *ret_detail) {
        const struct request *r = l->r;
        unsigned unread = (NETWORK_TCP | (r->tls ? NETWORK_TLS : 0)) & l->passes;

        *ret_detail = 0;
        if (u->protocols & unread)
                return VERDICT_ALLOWED;
        if (!(u->protocols & l->protocol))
                return VERDICT_PROTOCOL;
        if (!(u->methods & l->method))
                return VERDICT_METHOD;
        if (r->websocket && !(u->flags & RULE_WEBSOCKET))
                return VERDICT_WEBSOCKET;
        for (size_t i = 0; i < r->n_query && !(u->flags & RULE_ANY_QUERY); i++) {
                enum verdict_reason x = key_fits(l, u, i);
                if (x != VERDICT_ALLOWED) {
                        *ret_detail = (uint32_t)i;
                        return x;
                }
        }
        if (r->n_headers > u->headers || r->header_bytes > u->header_bytes)
                return VERDICT_HEADERS;
        uint64_t limit = body_limit(l, u);
        if (r->has_body && (r->body_bytes == UINT64_MAX ? limit == 0 : r->body_bytes > limit))
                return VERDICT_BODY;
        if (u->shapes && (*ret_detail = u->shapes & shapes_of(l))) {
                *ret_detail &= -*ret_detail;
                return VERDICT_SHAPE;
        }
        return u->models.n == 0 || !r->model_read || model_fits(l, u) ? VERDICT_ALLOWED : VERDICT_MODEL;
}

static bool deny_fits(struct look *l, const struct table_rule_record *u) {
        const struct request *r = l->r;

        if (!(u->protocols & l->protocol))
                return false;
        if (!(u->flags & RULE_CONDITION))
                return true;
        if (!(u->methods & l->method) || (u->flags & RULE_WEBSOCKET && !r->websocket))
                return false;
        if (u->shapes && !(u->shapes & shapes_of(l)))
                return false;
        if (u->query.n == 0)
                return true;
        for (size_t i = 0; i < r->n_query; i++)
                if (key_fits(l, u, i) == VERDICT_ALLOWED)
                        return true;
        return false;
}

static bool add_budget(struct verdict *v, uint32_t budget) {
        for (size_t i = 0; i < v->n_budgets; i++)
                if (v->budgets[i] == budget)
                        return true;
        if (v->n_budgets >= TABLE_MATCHED_MAX)
                return false;
        v->budgets[v->n_budgets++] = budget;
        return true;
}

static void add_matched(const struct look *l, uint32_t rule, bool addresses) {
        const struct table_rule_record *u = table_at(l->t, SECTION_RULES);
        struct verdict *v = l->v;

        if (v->n_matched < TABLE_MATCHED_MAX) {
                v->matched[v->n_matched++] = rule;
                return;
        }
        for (size_t i = 0; addresses && i < v->n_matched; i++)
                if (u[v->matched[i]].addresses.n == 0) {
                        v->matched[i] = rule;
                        return;
                }
}

static void take_allow(struct look *l, uint32_t rule, const struct table_rule_record *u) {
        struct verdict *v = l->v;
        uint64_t limit = body_limit(l, u);

        v->provenance = (v->n_matched == 0 || v->provenance) && u->flags & RULE_PROVENANCE;
        v->rule = MIN(v->rule, rule);
        v->body_max = v->n_matched == 0 ? limit : MAX(v->body_max, limit);
        if (u->secret != TABLE_NONE)
                v->secret = u->secret;
        if (v->route == TABLE_NONE)
                v->route = u->route;
        v->models |= u->models.n > 0;
        if (u->budget != TABLE_NONE && !add_budget(v, u->budget))
                l->too_many = true;
        add_matched(l, rule, u->addresses.n > 0 || u->range != TABLE_NONE);
}

static void come_near(struct look *l, uint32_t rule, enum verdict_reason why, uint32_t detail) {
        if (why < l->near || (why == l->near && rule >= l->nearest))
                return;
        l->near = why;
        l->nearest = rule;
        l->near_detail = detail;
}

/* A rule whose host, port and path fit. */
static void consider(struct look *l, uint32_t rule) {
        const struct table_rule_record *u = (const struct table_rule_record *)table_at(l->t, SECTION_RULES) + rule;
        uint32_t detail;

        if (u->flags & RULE_DENY) {
                if (!deny_fits(l, u))
                        return;
                l->denied = MIN(l->denied, rule);
                l->v->quiet |= (u->flags & RULE_QUIET) != 0;
                return;
        }
        if (l->relay)
                return come_near(l, rule, VERDICT_RELAY, 0);
        if (l->closed)
                return come_near(l, rule, VERDICT_ADDRESS, 0);
        enum verdict_reason why = allow_fits(l, u, &detail);
        if (why == VERDICT_ALLOWED)
                take_allow(l, rule, u);
        else
                come_near(l, rule, why, detail);
}

static void accept_word(struct look *l, const struct table_walk *w, const uint32_t *rules, size_t i, uint64_t bits, uint32_t *last) {
        for (; bits; bits &= bits - 1) {
                uint64_t below = (bits & -bits) - 1;
                uint32_t rule = rules[w->rank[i] + (uint32_t)__builtin_popcountll(w->accept[i] & below)];
                if (rule != *last) /* the paths of a rule stand next to each other */
                        consider(l, rule);
                *last = rule;
        }
}

static void accept(struct look *l, const struct table_class *c, const struct table_walk *w) {
        const uint32_t *rules = (const uint32_t *)table_at(l->t, SECTION_MEMBERS) + c->accepts.first;
        uint32_t last = TABLE_NONE;

        for (size_t i = 0; i < w->summary; i++)
                for (uint64_t blocks = w->active[i]; blocks; blocks &= blocks - 1) {
                        size_t first = (i * 64 + (size_t)__builtin_ctzll(blocks)) * TABLE_BLOCK;
                        for (size_t k = first; k < first + TABLE_BLOCK; k++)
                                accept_word(l, w, rules, k, w->word[k] & w->accept[k], &last);
                }
}

/* No path fitted: the first rule that would take protocol and method is near enough. */
static void near_path(struct look *l, const struct table_class *c) {
        const uint32_t *rules = (const uint32_t *)table_at(l->t, SECTION_MEMBERS) + c->accepts.first;
        const struct table_rule_record *u = table_at(l->t, SECTION_RULES);
        uint32_t best = TABLE_NONE;

        if (l->near >= VERDICT_PATH || l->relay || l->closed)
                return;
        for (size_t i = 0; i < MIN(c->accepts.n, 1024u); i++) {
                const struct table_rule_record *x = &u[rules[i]];
                if (x->flags & RULE_DENY)
                        continue;
                if (!(x->protocols & l->protocol))
                        come_near(l, rules[i], VERDICT_PROTOCOL, 0);
                else if (x->methods & l->method) {
                        best = rules[i];
                        break;
                } else
                        best = MIN(best, rules[i]);
        }
        if (best != TABLE_NONE)
                come_near(l, best, VERDICT_PATH, 0);
}

static void run_class(struct look *l, const struct table_class *c) {
        const uint32_t *rules = (const uint32_t *)table_at(l->t, SECTION_MEMBERS) + c->plain.first;
        struct table_walk w;

        for (size_t i = 0; i < c->plain.n; i++)
                consider(l, rules[i]);
        if (c->words == 0)
                return;
        table_walk(l->t, c, l->r, &w);
        accept(l, c, &w);
        if (l->v->rule == TABLE_NONE && l->denied == TABLE_NONE)
                near_path(l, c);
}

static uint64_t method_bit(const struct table *t, struct request_text method) {
        const struct table_string *m = table_at(t, SECTION_METHODS);

        for (uint32_t i = 0; i < table_count(t, SECTION_METHODS); i++)
                if (m[i].n == method.n && memcmp(table_text(t, m[i]), method.p, method.n) == 0)
                        return 1ull << i;
        return 1ull << TABLE_METHODS_MAX;
}

static bool is_bodiless(struct request_text m) {
        static const char *const names[] = {"GET", "HEAD", "OPTIONS", "TRACE", "DELETE"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (strlen(names[i]) == m.n && memcmp(names[i], m.p, m.n) == 0)
                        return true;
        return false;
}

/* Rules have the port, but not this address. */
static void near_class(struct look *l, const struct table_group *g, const struct table_class *c, bool closed) {
        if (closed && c->allows && g->first_rule != TABLE_NONE)
                come_near(l, g->first_rule, VERDICT_ADDRESS, 0);
}

/* Of an L4 request the rules without a condition count; they have no paths. */
static void decide_unread(struct look *l, const struct table_hits *h, const struct outlook *o) {
        const struct table_rule_record *u = table_at(l->t, SECTION_RULES);
        const uint32_t *members = table_at(l->t, SECTION_MEMBERS);
        enum table_access access = access_of(o);
        unsigned passes = o->allows & ~o->denies & NETWORK_UNREAD, asked = o->allows & NETWORK_UNREAD ?: NETWORK_UNREAD;
        bool allowed = access == TABLE_PASS_TCP || access == TABLE_PASS_TLS;

        for (size_t i = 0; i < h->n; i++) {
                const struct table_group *g = group_of(l->t, &h->hit[i]);
                const struct table_class *c[2];
                size_t n = table_find_classes(l->t, g, l->r->port, c);
                bool closed = is_closed(l->t, l->r, g, l->special);
                for (size_t k = 0; k < n; k++) {
                        near_class(l, g, c[k], closed);
                        for (size_t m = 0; m < c[k]->plain.n; m++) {
                                uint32_t rule = members[c[k]->plain.first + m];
                                bool counts = !(h->relay && h->hit[i].wildcard) && !closed;
                                if (u[rule].flags & RULE_DENY && u[rule].protocols & asked) {
                                        l->denied = MIN(l->denied, rule);
                                        l->v->quiet |= (u[rule].flags & RULE_QUIET) != 0;
                                } else if (allowed && counts && !(u[rule].flags & RULE_DENY) && u[rule].protocols & passes)
                                        take_allow(l, rule, &u[rule]);
                        }
                }
        }
        if (allowed) {
                l->denied = TABLE_NONE; /* what is denied is the other protocol */
                l->v->access = access;
        } else if (access == TABLE_READ || o->allows & ~o->denies) {
                l->near = VERDICT_UNREAD;
                l->denied = TABLE_NONE;
        }
}

static void decide_read(struct look *l, const struct table_hits *h) {
        l->protocol = l->r->tls ? NETWORK_HTTPS : NETWORK_HTTP;
        l->method = method_bit(l->t, l->r->method);
        l->bodiless = is_bodiless(l->r->method);
        l->v->access = TABLE_READ;
        for (size_t i = 0; i < h->n; i++) {
                const struct table_group *g = group_of(l->t, &h->hit[i]);
                const struct table_class *c[2];
                size_t n = table_find_classes(l->t, g, l->r->port, c);
                l->relay = h->relay && h->hit[i].wildcard;
                l->closed = is_closed(l->t, l->r, g, l->special);
                for (size_t k = 0; k < n; k++) {
                        near_class(l, g, c[k], l->closed);
                        run_class(l, c[k]);
                }
        }
}

static void decide(const struct table *t, const struct request *r, const unsigned *shapes, struct verdict *v) {
        struct look l = {.t = t, .r = r, .v = v, .denied = TABLE_NONE, .nearest = TABLE_NONE, .near = VERDICT_HOST,
                         .shapes_known = shapes, .shapes = shapes ? *shapes : 0};
        struct table_hits h;
        struct outlook o;

        memset(v, 0, offsetof(struct verdict, matched));
        v->n_budgets = 0;
        v->provenance = v->models = false;
        v->body_max = 0;
        v->rule = v->secret = v->route = TABLE_NONE;
        table_find_groups(t, r, &h);
        l.special = is_special(r);
        look_out(t, r, &h, l.special, &o);
        for (size_t i = 0; i < h.n; i++) {
                uint32_t rule = group_of(t, &h.hit[i])->first_rule;
                if (rule != TABLE_NONE)
                        come_near(&l, rule, h.relay && h.hit[i].wildcard ? VERDICT_RELAY : VERDICT_PORT, 0);
        }
        l.passes = NETWORK_UNREAD & ~o.denies;
        if (r->layer == REQUEST_L4)
                decide_unread(&l, &h, &o);
        else
                decide_read(&l, &h);

        if (l.denied != TABLE_NONE) {
                v->reason = VERDICT_DENIED;
                v->rule = l.denied;
        } else if (v->rule == TABLE_NONE) {
                v->reason = l.near;
                v->rule = l.nearest;
                v->detail = l.near_detail;
        } else if (l.too_many)
                v->reason = VERDICT_BUDGETS;
        v->allowed = v->reason == VERDICT_ALLOWED;
        if (v->allowed)
                v->quiet = false;
        else {
                v->access = TABLE_REFUSE;
                v->n_matched = v->n_budgets = 0;
                v->secret = v->route = TABLE_NONE;
                v->models = false;
        }
}

void table_decide(const struct table *t, const struct request *r, struct verdict *v) { decide(t, r, NULL, v); }

void table_decide_shaped(const struct table *t, const struct request *r, unsigned shapes, struct verdict *v) { decide(t, r, &shapes, v); }

bool table_address_allowed(const struct table *t, const struct verdict *v, const struct request_address *a,
                           uint16_t port) {
        const struct table_rule_record *u = table_at(t, SECTION_RULES);
        const struct address_range *range = table_at(t, SECTION_RANGES);
        struct table_hits h;

        if (!v->allowed)
                return false;
        find_addresses(t, a, &h);
        for (size_t i = 0; i < h.n; i++) {
                const struct table_class *c[2];
                size_t n = table_find_classes(t, group_of(t, &h.hit[i]), port, c);
                for (size_t k = 0; k < n; k++)
                        if (c[k]->denies)
                                return false;
        }
        const struct table_route_record *route = v->route == TABLE_NONE ? NULL : (const struct table_route_record *)table_at(t, SECTION_ROUTES) + v->route;
        bool elsewhere = route && route->to.at != TABLE_NONE;
        if (elsewhere && route->range != TABLE_NONE) /* this one, which the rule names */
                return address_range_has(&range[route->range], a);
        if (address_is_public(a))
                return true;
        for (size_t i = 0; i < v->n_matched; i++) {
                const struct table_rule_record *x = &u[v->matched[i]];
                if (address_allowed(a, &range[x->addresses.first], x->addresses.n) ||
                    (!elsewhere && x->flags & RULE_OPENS && x->range != TABLE_NONE && address_allowed(a, &range[x->range], 1)))
                        return true;
        }
        return false;
}
