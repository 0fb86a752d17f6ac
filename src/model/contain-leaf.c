/* One path of one host and port: what is left of a request, each kind of it once. See contain-internal.h. */
#include <stdio.h>

#include "model/contain-internal.h"

#define METHODS_MAX (2 * (TABLE_METHODS_MAX + 1) + 6)
#define LIMITS_MAX 64u
#define PAIRS_MAX 512u
#define QUERIES_MAX 512u
#define SETS_MAX 4u /* words of a set of rules */

struct pair {
        struct request_text key, value;
        uint64_t fits[SETS_MAX]; /* rules that name it */
};

struct query { /* pairs that have been added, each to another query */
        size_t before, pair; /* SIZE_MAX: none */
        uint64_t passes[SETS_MAX], hits[SETS_MAX];
};

struct leaf {
        struct contain *c;
        const struct contain_rule *rules;
        size_t n;
        bool unread; /* the child lets pass what it does not read */
        unsigned shapes;
        struct contain_list methods;
        struct pair *pairs;
        struct query *queries;
        size_t n_pairs, n_queries;
        uint64_t headers[LIMITS_MAX + 1], bytes[LIMITS_MAX + 1];
        size_t n_headers, n_bytes;
};

static bool is_deny(const struct contain_rule *x) { return x->u->flags & RULE_DENY; }
static bool is_unread(const struct contain_rule *x) { return x->u->protocols & NETWORK_UNREAD; }
static const char *text_at(const struct contain *c, const struct contain_rule *x, uint32_t at) {
        return table_text(c->t[x->side], (struct table_string){at, 0});
}

/* What the rules say of a method, a bit each. */
static uint64_t method_bit(const struct table *t, struct request_text method) {
        const struct table_string *m = table_at(t, SECTION_METHODS);

        for (uint32_t i = 0; i < table_count(t, SECTION_METHODS); i++)
                if (m[i].n == method.n && memcmp(table_text(t, m[i]), method.p, method.n) == 0)
                        return 1ull << i;
        return 1ull << TABLE_METHODS_MAX;
}

static bool told_apart(const struct leaf *l, struct request_text a, struct request_text b) {
        for (size_t i = 0; i < l->n; i++) {
                const struct table *t = l->c->t[l->rules[i].side];
                if (!(l->rules[i].u->methods & method_bit(t, a)) != !(l->rules[i].u->methods & method_bit(t, b)))
                        return true;
        }
        return false;
}

static bool add_method(struct leaf *l, const char *s, size_t n, bool bodiless, size_t first) {
        struct request_text t = {s, n};

        /* Those with no body by their nature are a kind of their own. */
        for (size_t i = bodiless ? 0 : first; i < (bodiless ? first : l->methods.n); i++)
                if (!told_apart(l, l->methods.items[i], t))
                        return true;
        return contain_add(l->c, &l->methods, t);
}

static bool is_named(const struct leaf *l, struct request_text m) {
        const uint64_t none = 1ull << TABLE_METHODS_MAX;
        return method_bit(l->c->t[PARENT], m) != none || method_bit(l->c->t[CHILD], m) != none;
}

static bool gather_methods(struct leaf *l) {
        static const char *const bodiless[] = {"GET", "HEAD", "OPTIONS", "TRACE", "DELETE"};
        static const char *const other[] = {"POST", "PUT", "PATCH"};
        struct request_text unnamed = {};
        size_t first = 0;

        for (size_t i = 0; i < ELEMENTSOF(bodiless); i++, first = l->methods.n)
                if (!add_method(l, bodiless[i], strlen(bodiless[i]), true, l->methods.n))
                        return false;
        for (size_t i = 0; i < ELEMENTSOF(other); i++)
                if (!add_method(l, other[i], strlen(other[i]), false, first))
                        return false;
        for (int side = PARENT; side <= CHILD; side++) {
                const struct table_string *m = table_at(l->c->t[side], SECTION_METHODS);
                for (uint32_t i = 0; i < table_count(l->c->t[side], SECTION_METHODS); i++) {
                        const char *s = table_text(l->c->t[side], m[i]);
                        bool has_none = false;
                        for (size_t k = 0; k < ELEMENTSOF(bodiless); k++)
                                has_none |= streq(bodiless[k], s);
                        if (!has_none && !add_method(l, s, m[i].n, false, first))
                                return false;
                }
        }
        for (unsigned i = 0; unnamed.n == 0 || is_named(l, unnamed); i++) {
                char text[16];
                if (!contain_keep(l->c, text, (size_t)snprintf(text, sizeof(text), "X%u", i), &unnamed))
                        return false;
        }
        return add_method(l, unnamed.p, unnamed.n, false, first);
}

/* Queries */

static const struct table_query_item *find_item(const struct leaf *l, const struct contain_rule *x, struct request_text key) {
        const struct table_query_item *q = (const struct table_query_item *)table_at(l->c->t[x->side], SECTION_QUERIES) + x->u->query.first;

        for (size_t i = 0; i < x->u->query.n; i++) {
                const char *s = text_at(l->c, x, q[i].key);
                if (strlen(s) == key.n && memcmp(s, key.p, key.n) == 0)
                        return &q[i];
        }
        return NULL;
}

static bool names(const struct leaf *l, const struct contain_rule *x, const struct pair *p) {
        const struct table_query_item *q = find_item(l, x, p->key);

        return q && (q->value.at == TABLE_NONE ||
                     network_glob(table_text(l->c->t[x->side], q->value), q->value.n, p->value.p, p->value.n));
}

static bool add_pair(struct leaf *l, struct request_text key, struct request_text value) {
        struct pair p = {.key = key, .value = value};

        if (l->n_pairs == PAIRS_MAX)
                return contain_hard(l->c);
        for (size_t i = 0; i < l->n; i++)
                if (names(l, &l->rules[i], &p))
                        p.fits[i / 64] |= 1ull << i % 64;
        l->pairs[l->n_pairs++] = p;
        return contain_work(l->c, l->n);
}

/* A key with one value of each kind. */
static bool add_key(struct leaf *l, struct request_text key) {
        struct table_string pattern[64];
        int side[64];
        size_t n = 0;
        struct contain_list values = {};

        for (size_t i = 0; i < l->n_pairs; i++)
                if (l->pairs[i].key.n == key.n && memcmp(l->pairs[i].key.p, key.p, key.n) == 0)
                        return true;
        for (size_t i = 0; i < l->n; i++) {
                const struct table_query_item *q = find_item(l, &l->rules[i], key);
                if (!q || q->value.at == TABLE_NONE)
                        continue;
                if (n == ELEMENTSOF(pattern))
                        return contain_hard(l->c);
                pattern[n] = q->value;
                side[n++] = l->rules[i].side;
        }
        bool ok = contain_examples(l->c, pattern, side, n, NULL, false, &values);
        for (size_t i = 0; ok && i < values.n; i++)
                ok = add_pair(l, key, values.items[i]);
        free(values.items);
        return ok;
}

static bool gather_pairs(struct leaf *l) {
        static const char *const unnamed[] = {"q", "x", "q1", "x1", "q2", "x2", "belljar"};

        for (size_t i = 0; i < l->n; i++) {
                const struct contain_rule *x = &l->rules[i];
                const struct table_query_item *q = (const struct table_query_item *)table_at(l->c->t[x->side], SECTION_QUERIES) + x->u->query.first;
                for (size_t k = 0; k < x->u->query.n; k++) {
                        const char *s = text_at(l->c, x, q[k].key);
                        if (!add_key(l, (struct request_text){s, strlen(s)}))
                                return false;
                }
        }
        for (size_t k = 0; k < ELEMENTSOF(unnamed); k++) {
                struct request_text t = {unnamed[k], strlen(unnamed[k])};
                bool named = false;
                for (size_t i = 0; i < l->n && !named; i++)
                        named = find_item(l, &l->rules[i], t);
                if (!named)
                        return add_pair(l, t, (struct request_text){"", 0});
        }
        return contain_hard(l->c);
}

/* Whether the child may still let it pass. */
static bool alive(const struct leaf *l, const struct query *q) {
        for (size_t i = 0; i < l->n; i++)
                if (l->rules[i].side == CHILD && !is_deny(&l->rules[i]) && q->passes[i / 64] >> i % 64 & 1)
                        return true;
        return false;
}

static bool gather_queries(struct leaf *l) {
        struct query *q = l->queries;
        uint64_t any[SETS_MAX] = {}, denies[SETS_MAX] = {};

        if (!gather_pairs(l))
                return false;
        q[0] = (struct query){.before = SIZE_MAX, .pair = SIZE_MAX};
        memset(q[0].passes, 0xff, sizeof(q[0].passes));
        l->n_queries = 1;
        for (size_t i = 0; i < l->n; i++) {
                if (l->rules[i].u->flags & RULE_ANY_QUERY || is_unread(&l->rules[i]) || is_deny(&l->rules[i]))
                        any[i / 64] |= 1ull << i % 64;
                if (is_deny(&l->rules[i]))
                        denies[i / 64] |= 1ull << i % 64;
        }
        for (size_t i = 0; i < l->n_queries; i++)
                for (size_t k = 0; k < l->n_pairs; k++) {
                        struct query next = {.before = i, .pair = k};
                        bool known = false;
                        for (size_t w = 0; w < SETS_MAX; w++) {
                                next.passes[w] = q[i].passes[w] & (l->pairs[k].fits[w] | any[w]);
                                next.hits[w] = q[i].hits[w] | (l->pairs[k].fits[w] & denies[w]);
                        }
                        known = !alive(l, &next);
                        for (size_t m = 1; m < l->n_queries && !known; m++) /* none at all is a kind of its own */
                                known = memcmp(q[m].passes, next.passes, sizeof(next.passes)) == 0 &&
                                        memcmp(q[m].hits, next.hits, sizeof(next.hits)) == 0;
                        if (known)
                                continue;
                        if (l->n_queries == QUERIES_MAX || !contain_work(l->c, l->n_queries))
                                return contain_hard(l->c);
                        q[l->n_queries++] = next;
                }
        return true;
}

static bool lay_query(struct leaf *l, size_t i) {
        struct request *r = &l->c->r;

        for (r->n_query = 0; l->queries[i].pair != SIZE_MAX; i = l->queries[i].before) {
                const struct pair *p = &l->pairs[l->queries[i].pair];
                if (r->n_query == REQUEST_QUERY_MAX)
                        return contain_hard(l->c);
                r->query[r->n_query].key = p->key;
                r->query[r->n_query].value = p->value;
                r->query[r->n_query++].has_value = p->value.n > 0;
        }
        return true;
}

/* Fields and body */

static bool add_limit(struct contain *c, uint64_t *list, size_t *n, uint64_t value) {
        for (size_t i = 0; i < *n; i++)
                if (list[i] == value)
                        return true;
        if (*n == LIMITS_MAX)
                return contain_hard(c);
        list[(*n)++] = value;
        return true;
}

static bool gather_fields(struct leaf *l) {
        uint64_t most[2] = {};

        for (size_t i = 0; i < l->n; i++) {
                const struct table_rule_record *u = l->rules[i].u;
                if (is_deny(&l->rules[i]) || is_unread(&l->rules[i]))
                        continue;
                most[0] = MAX(most[0], u->headers);
                most[1] = MAX(most[1], u->header_bytes);
                if (!add_limit(l->c, l->headers, &l->n_headers, u->headers) || !add_limit(l->c, l->bytes, &l->n_bytes, u->header_bytes))
                        return false;
        }
        if (l->n_headers == 0 || l->unread) { /* there is room behind the limits of both lists */
                l->headers[l->n_headers++] = most[0] + 1;
                l->bytes[l->n_bytes++] = most[1] + 1;
        }
        return true;
}


static bool gather_bodies(struct leaf *l, uint64_t list[2 * LIMITS_MAX + 2], size_t *ret_n) {
        uint64_t limits[LIMITS_MAX] = {};
        size_t n = 0;

        *ret_n = 0;
        if (!add_limit(l->c, limits, &n, 0))
                return false;
        for (size_t i = 0; i < l->n; i++)
                if (!is_deny(&l->rules[i]) && l->rules[i].u->flags & RULE_BODY_WRITTEN && !add_limit(l->c, limits, &n, l->rules[i].u->body))
                        return false;
        for (size_t i = 0; i < n; i++) {
                if (limits[i] > 0)
                        list[(*ret_n)++] = MIN(limits[i], UINT64_MAX - 1);
                list[(*ret_n)++] = MIN(limits[i], UINT64_MAX - 2) + 1;
        }
        list[(*ret_n)++] = UINT64_MAX;
        return true;
}

/* Shapes of payloads: no path or query of the walk has one but by chance, so each is supposed, and where that makes a difference an
 * example is looked for. */

static const char *const payloads[] = {
        "' or '1'='1", "1 or 1=1", "x'--", "../x", "%2e%2e%2fx", "..%5cx", "file:x", "$(id)", "`id`", "<script>", "javascript:x",
};

/* True where the request as it stands is one that the child lets pass and the parent does not. */
static bool shows(struct leaf *l) {
        struct verdict parent, child;

        table_decide(l->c->t[CHILD], &l->c->r, &child);
        if (!child.allowed)
                return false;
        table_decide(l->c->t[PARENT], &l->c->r, &parent);
        return !parent.allowed && !contain_no(l->c, CONTAIN_REFUSED, &parent, &child);
}

static bool show_in_path(struct leaf *l, struct request_text payload) {
        struct request *r = &l->c->r;

        if (memchr(payload.p, '/', payload.n))
                return false;
        for (size_t i = 0; i < r->n_segments; i++) {
                struct request_text was = r->segment[i];
                r->segment[i] = payload;
                bool found = shows(l);
                r->segment[i] = was;
                if (found)
                        return true;
        }
        return false;
}

static bool show_in_query(struct leaf *l, struct request_text payload) {
        struct request *r = &l->c->r;

        for (size_t i = 0; i < l->n_pairs && r->n_query < REQUEST_QUERY_MAX; i++) {
                char both[128];
                size_t n = l->pairs[i].value.n;
                struct request_text kept = payload;
                if (n + payload.n < sizeof(both)) { /* a value's pattern may ask for its beginning */
                        memcpy(both, l->pairs[i].value.p, n);
                        memcpy(both + n, payload.p, payload.n);
                        if (!contain_keep(l->c, both, n + payload.n, &kept))
                                return false;
                }
                const struct request_text values[] = {payload, kept};
                for (size_t k = 0; k < ELEMENTSOF(values); k++) {
                        r->query[r->n_query++] = (struct request_query){l->pairs[i].key, values[k], true};
                        bool found = shows(l);
                        r->n_query--;
                        if (found)
                                return true;
                }
        }
        return false;
}

static bool show_shape(struct leaf *l) {
        for (size_t i = 0; i < ELEMENTSOF(payloads); i++) {
                struct request_text t = {payloads[i], strlen(payloads[i])};
                if (show_in_path(l, t) || show_in_query(l, t))
                        return false;
        }
        return l->c->done ? false : contain_hard(l->c);
}

static bool ask_shaped(struct leaf *l, unsigned shapes, bool real) {
        struct contain *c = l->c;
        struct verdict parent, child;

        if (!contain_work(c, 1))
                return false;
        table_decide_shaped(c->t[CHILD], &c->r, shapes, &child);
        if (!child.allowed)
                return true;
        c->supposed = !real;
        table_decide_shaped(c->t[PARENT], &c->r, shapes, &parent);
        if (parent.allowed)
                return contain_compare(c, &parent, &child);
        c->supposed = false;
        return real ? contain_no(c, CONTAIN_REFUSED, &parent, &child) : show_shape(l);
}

static bool ask(struct leaf *l) {
        unsigned real = l->shapes ? network_shapes(&l->c->r) : 0;

        if (!ask_shaped(l, real, true))
                return false;
        for (unsigned s = l->shapes; s > 0; s = (s - 1) & l->shapes)
                if (s != (real & l->shapes) && !ask_shaped(l, s, false))
                        return false;
        return (real & l->shapes) == 0 || ask_shaped(l, 0, false);
}

static bool ask_bodies(struct leaf *l) {
        struct request *r = &l->c->r;
        uint64_t bodies[2 * LIMITS_MAX + 2];
        size_t n = 0;

        r->has_body = false;
        r->body_bytes = 0;
        if (!ask(l) || !gather_bodies(l, bodies, &n))
                return false;
        r->has_body = true;
        bool ok = true;
        for (size_t i = 0; i < n && ok; i++) {
                r->body_bytes = bodies[i];
                ok = ask(l);
        }
        return ok;
}

static bool ask_method(struct leaf *l, struct request_text method) {
        struct request *r = &l->c->r;

        r->method = method;
        for (unsigned socket = 0; socket < 2; socket++) {
                r->websocket = socket;
                if (socket && (method.n != 3 || memcmp(method.p, "GET", 3) != 0))
                        break;
                for (size_t q = 0; q < l->n_queries; q++) {
                        if (!lay_query(l, q))
                                return false;
                        for (size_t h = 0; h < l->n_headers; h++)
                                for (size_t b = 0; b < l->n_bytes; b++) {
                                        r->n_headers = (size_t)l->headers[h];
                                        r->header_bytes = (size_t)l->bytes[b];
                                        if (!ask_bodies(l))
                                                return false;
                                }
                }
        }
        return true;
}

static bool ask_all(struct leaf *l) {
        unsigned protocols = 0;

        for (size_t i = 0; i < l->n; i++)
                if (l->rules[i].side == CHILD && !is_deny(&l->rules[i]))
                        protocols |= l->rules[i].u->protocols;
        for (unsigned clear = 0; clear < 2; clear++) {
                l->c->r.tls = !clear;
                if (!(protocols & (clear ? NETWORK_HTTP | NETWORK_TCP : NETWORK_HTTPS | NETWORK_UNREAD)))
                        continue;
                for (size_t i = 0; i < l->methods.n; i++)
                        if (!ask_method(l, l->methods.items[i]))
                                return false;
        }
        return true;
}

bool contain_leaf(struct contain *c, const struct contain_rule *rules, size_t n) {
        bool any = false, ok = true;

        for (size_t i = 0; i < n; i++)
                any |= rules[i].side == CHILD && !is_deny(&rules[i]);
        if (!any)
                return true;
        if (n > 64 * SETS_MAX)
                return contain_hard(c);
        struct leaf *l = calloc(1, sizeof(*l));
        if (!l)
                return contain_no_memory(c);
        *l = (struct leaf){.c = c, .rules = rules, .n = n, .pairs = calloc(PAIRS_MAX, sizeof(*l->pairs)),
                           .queries = calloc(QUERIES_MAX, sizeof(*l->queries))};
        if (!l->pairs || !l->queries)
                ok = contain_no_memory(c);
        for (size_t i = 0; i < n; i++) {
                l->unread |= rules[i].side == CHILD && !is_deny(&rules[i]) && is_unread(&rules[i]);
                l->shapes |= rules[i].u->shapes;
        }
        ok = ok && gather_methods(l) && gather_queries(l) && gather_fields(l) && ask_all(l);
        free(l->methods.items);
        free(l->pairs);
        free(l->queries);
        free(l);
        return ok;
}
