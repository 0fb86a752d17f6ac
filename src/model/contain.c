/* Hosts and ports of two policies, and what is said of them; see contain.h. */
#include <stdio.h>

#include "model/address.h"
#include "model/contain-internal.h"

/* The parts that others share */

bool contain_work(struct contain *c, uint64_t n) {
        c->work += n;
        return c->work <= CONTAIN_WORK_MAX || contain_hard(c);
}

bool contain_keep(struct contain *c, const char *s, size_t n, struct request_text *ret) {
        struct contain_text *t = malloc(sizeof(*t) + n + 1);

        if (!t)
                return contain_no_memory(c);
        memcpy(t->s, s, n);
        t->s[n] = 0;
        t->next = c->texts;
        c->texts = t;
        *ret = (struct request_text){t->s, n};
        return true;
}

bool contain_add(struct contain *c, struct contain_list *l, struct request_text t) {
        if (l->n == l->cap) {
                size_t cap = MAX(2 * l->cap, 8u);
                struct request_text *more = reallocarray(l->items, cap, sizeof(*more));
                if (!more)
                        return contain_no_memory(c);
                l->items = more;
                l->cap = cap;
        }
        l->items[l->n++] = t;
        return true;
}

/* The witness */

static void put_escaped(struct strbuf *b, struct request_text t, const char *plain) {
        for (size_t i = 0; i < t.n; i++) {
                unsigned char ch = (unsigned char)t.p[i];
                bool is = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || (ch && strchr(plain, ch));
                if (is)
                        strbuf_add(b, &t.p[i], 1);
                else
                        strbuf_printf(b, "%%%02X", ch);
        }
}

static void put_request(struct strbuf *b, const struct request *r) {
        const bool v6 = r->is_address && memchr(r->host.p, ':', r->host.n);
        const unsigned usual = r->tls ? 443 : 80;

        if (r->layer == REQUEST_L4) {
                strbuf_printf(b, v6 ? "a connection to [%.*s]:%u" : "a connection to %.*s:%u", (int)r->host.n, r->host.p, r->port);
                return;
        }
        strbuf_printf(b, "%.*s %s://", (int)r->method.n, r->method.p, r->websocket ? r->tls ? "wss" : "ws" : r->tls ? "https" : "http");
        strbuf_printf(b, v6 ? "[%.*s]" : "%.*s", (int)r->host.n, r->host.p);
        if (r->port != usual)
                strbuf_printf(b, ":%u", r->port);
        for (size_t i = 0; i < r->n_segments; i++) {
                strbuf_puts(b, "/");
                put_escaped(b, r->segment[i], "-._~!$&'()*+,;=:@");
        }
        for (size_t i = 0; i < r->n_query; i++) {
                strbuf_puts(b, i ? "&" : "?");
                put_escaped(b, r->query[i].key, "-._~");
                if (r->query[i].has_value) {
                        strbuf_puts(b, "=");
                        put_escaped(b, r->query[i].value, "-._~");
                }
        }
        if (r->has_body && r->body_bytes == UINT64_MAX)
                strbuf_puts(b, ", a body of unknown length");
        else if (r->has_body)
                strbuf_printf(b, ", %llu bytes of body", (unsigned long long)r->body_bytes);
}

/* Those of the witness are to outlive the tables. */
static bool keep_texts(struct contain *c, struct request *w) {
        struct request_text *all[3 + REQUEST_SEGMENTS_MAX + 2 * REQUEST_QUERY_MAX];
        size_t n = 0, size = 1;

        all[n++] = &w->host;
        all[n++] = &w->method;
        for (size_t i = 0; i < w->n_segments; i++)
                all[n++] = &w->segment[i];
        for (size_t i = 0; i < w->n_query; i++) {
                all[n++] = &w->query[i].key;
                all[n++] = &w->query[i].value;
        }
        for (size_t i = 0; i < n; i++)
                size += all[i]->n;
        char *s = c->ret->texts = malloc(size);
        if (!s)
                return contain_no_memory(c);
        for (size_t i = 0; i < n; i++) {
                if (all[i]->n)
                        memcpy(s, all[i]->p, all[i]->n);
                all[i]->p = s;
                s += all[i]->n;
        }
        return true;
}

static void name_rule(const struct table *t, uint32_t rule, char *dst, size_t size) {
        struct table_rule_info info;

        if (rule == TABLE_NONE || !table_rule(t, rule, &info))
                return;
        if (info.line && info.file)
                snprintf(dst, size, "%.90s (%.40s:%u)", info.host, info.file, info.line);
        else
                snprintf(dst, size, "%.90s (the command line)", info.host);
}

bool contain_no(struct contain *c, enum contain_why why, const struct verdict *parent, const struct verdict *child) {
        struct containment *ret = c->ret;

        if (c->supposed)
                return contain_hard(c);
        c->done = true;
        ret->why = why;
        if (child)
                name_rule(c->t[CHILD], child->rule, ret->rule, sizeof(ret->rule));
        if (parent) {
                name_rule(c->t[PARENT], parent->rule, ret->parent_rule, sizeof(ret->parent_rule));
                ret->reason = parent->reason;
                _cleanup_strbuf_ struct strbuf b = {};
                put_request(&b, &c->r);
                if (b.failed || !b.data)
                        return contain_no_memory(c);
                snprintf(ret->request, sizeof(ret->request), b.len < sizeof(ret->request) ? "%s" : "%.600s...", b.data);
                ret->witness = c->r;
                (void)keep_texts(c, &ret->witness);
        }
        return false;
}

/* Two verdicts */

static const char *secret_of(const struct table *t, const struct verdict *v) { return v->secret == TABLE_NONE ? NULL : table_secret_name(t, v->secret); }

static bool any_of(const struct table *t, const struct verdict *v) { /* opens addresses that are not public */
        const struct table_rule_record *u = table_at(t, SECTION_RULES);

        for (size_t i = 0; i < v->n_matched; i++)
                if (u[v->matched[i]].addresses.n > 0 || u[v->matched[i]].flags & RULE_OPENS)
                        return true;
        return false;
}

static bool denies_addresses(const struct table *t) {
        const struct table_rule_record *u = table_at(t, SECTION_RULES);

        for (uint32_t i = 0; i < table_count(t, SECTION_RULES); i++)
                if (u[i].flags & RULE_DENY && u[i].range != TABLE_NONE)
                        return true;
        return false;
}

static bool compare_address(struct contain *c, const struct verdict *vp, const struct verdict *vc, const struct request_address *a) {
        char text[ADDRESS_TEXT_MAX];

        if (!table_address_allowed(c->t[CHILD], vc, a, c->r.port) || table_address_allowed(c->t[PARENT], vp, a, c->r.port))
                return true;
        c->ret->witness_address = *a;
        snprintf(c->ret->difference, sizeof(c->ret->difference), "at the address %s", address_format(a, text));
        return contain_no(c, CONTAIN_ADDRESS, vp, vc);
}

/* Whether the key is in the list already; it is from here on. */
static bool once(struct contain *c, struct contain_list *l, const struct strbuf *b, bool *ret_seen) {
        struct request_text key;

        if (b->failed || !b->data)
                return contain_no_memory(c);
        *ret_seen = false;
        for (size_t i = l->n; i-- > 0 && !*ret_seen;)
                *ret_seen = l->items[i].n == b->len && memcmp(l->items[i].p, b->data, b->len) == 0;
        return *ret_seen || (contain_keep(c, b->data, b->len, &key) && contain_add(c, l, key));
}

static bool compare_addresses(struct contain *c, const struct verdict *vp, const struct verdict *vc) {
        if (c->r.is_address)
                return compare_address(c, vp, vc, &c->r.address);
        if (!c->parent_denies && !any_of(c->t[CHILD], vc))
                return true;
        _cleanup_strbuf_ struct strbuf key = {};
        bool seen = false;
        strbuf_printf(&key, "%u ", c->r.port);
        strbuf_add(&key, vp->matched, vp->n_matched * sizeof(*vp->matched));
        strbuf_puts(&key, "/");
        strbuf_add(&key, vc->matched, vc->n_matched * sizeof(*vc->matched));
        if (!once(c, &c->dialled, &key, &seen) || seen)
                return seen;
        if (!contain_work(c, c->n_addresses))
                return false;
        for (size_t i = 0; i < c->n_addresses; i++)
                if (!compare_address(c, vp, vc, &c->addresses[i]))
                        return false;
        return true;
}

bool contain_compare(struct contain *c, const struct verdict *vp, const struct verdict *vc) {
        const char *own = secret_of(c->t[CHILD], vc), *theirs = secret_of(c->t[PARENT], vp);

        if (c->r.layer == REQUEST_L4 && vc->access == TABLE_PASS_TCP && vp->access != TABLE_PASS_TCP)
                return contain_no(c, CONTAIN_ACCESS, vp, vc);
        if (!own != !theirs || (own && !streq(own, theirs))) {
                snprintf(c->ret->difference, sizeof(c->ret->difference), "with %s%.60s in the child, with %s%.60s in the parent", own ? "the secret " : "no secret",
                         own ?: "", theirs ? "the secret " : "no secret", theirs ?: "");
                return contain_no(c, CONTAIN_SECRET, vp, vc);
        }
        if (!contain_routes(c, vp, vc))
                return false;
        if (vp->provenance && !vc->provenance)
                return contain_no(c, CONTAIN_PROVENANCE, vp, vc);
        if (c->r.layer == REQUEST_L7 && c->r.has_body && c->r.body_bytes == UINT64_MAX && vc->body_max > vp->body_max)
                return contain_no(c, CONTAIN_BODY, vp, vc);
        return compare_addresses(c, vp, vc) && contain_budgets(c, vp, vc);
}

/* Hosts and ports */

static const struct table_class *class_at(const struct table *t, uint32_t i) { return (const struct table_class *)table_at(t, SECTION_CLASSES) + i; }

static bool add_cuts(struct contain *c, int side, uint32_t **cuts, size_t *n, bool *ret_allows) {
        const struct table *t = c->t[side];
        struct table_hits h;

        table_find_groups(t, &c->r, &h);
        for (size_t i = 0; i < h.n; i++) {
                const struct table_group *g = (const struct table_group *)table_at(t, SECTION_GROUPS) + h.hit[i].group;
                const struct table_interval *v = (const struct table_interval *)table_at(t, SECTION_INTERVALS) + g->intervals.first;
                uint32_t *more = reallocarray(*cuts, *n + 2 * (size_t)g->intervals.n + 1, sizeof(*more));
                if (!more)
                        return contain_no_memory(c);
                *cuts = more;
                for (size_t k = 0; k < g->intervals.n; k++) {
                        more[(*n)++] = v[k].first;
                        more[(*n)++] = v[k].last + 1u;
                        *ret_allows |= class_at(t, v[k].class)->allows != 0;
                }
        }
        return true;
}

/* The ports at which addresses are denied, whatever name leads to them. */
static bool add_denied_cuts(struct contain *c, int side, uint32_t **cuts, size_t *n) {
        const struct table_rule_record *u = table_at(c->t[side], SECTION_RULES);
        const struct network_ports *port = table_at(c->t[side], SECTION_PORTS);

        for (uint32_t i = 0; c->denies && i < table_count(c->t[side], SECTION_RULES); i++) {
                if (!(u[i].flags & RULE_DENY) || u[i].range == TABLE_NONE)
                        continue;
                uint32_t *more = reallocarray(*cuts, *n + 2 * (size_t)u[i].ports.n + 1, sizeof(*more));
                if (!more)
                        return contain_no_memory(c);
                *cuts = more;
                for (uint32_t k = 0; k < u[i].ports.n; k++) {
                        more[(*n)++] = port[u[i].ports.first + k].first;
                        more[(*n)++] = port[u[i].ports.first + k].last + 1u;
                }
        }
        return true;
}

static int compare_numbers(const void *a, const void *b) {
        const uint32_t *x = a, *y = b;
        return (*x > *y) - (*x < *y);
}

/* One that people know, where the range has it. */
static uint16_t example_port(uint32_t first, uint32_t end) {
        static const uint16_t usual[] = {443, 80, 22, 8080};

        for (size_t i = 0; i < ELEMENTSOF(usual); i++)
                if (first <= usual[i] && usual[i] < end)
                        return usual[i];
        return (uint16_t)first;
}

/* What the tables say of c->r's host and port: the same for two of them means the same for all that follows. */
static bool seen_before(struct contain *c, bool *ret_seen) {
        _cleanup_strbuf_ struct strbuf b = {};

        for (int side = PARENT; side <= CHILD; side++) {
                const struct table *t = c->t[side];
                struct table_hits h;
                table_find_groups(t, &c->r, &h);
                strbuf_printf(&b, "%d.%d.%d/", side, h.relay, c->r.is_address && !address_is_public(&c->r.address));
                for (size_t i = 0; i < h.n; i++) {
                        const struct table_group *g = (const struct table_group *)table_at(t, SECTION_GROUPS) + h.hit[i].group;
                        const struct table_class *class[2];
                        size_t n = table_find_classes(t, g, c->r.port, class);
                        for (size_t k = 0; k < n; k++)
                                strbuf_printf(&b, "%u.%zu.%d ", h.hit[i].group, (size_t)(class[k] - class_at(t, 0)), h.hit[i].wildcard);
                }
        }
        if (c->denies) /* by address, and port */
                strbuf_printf(&b, ":%u", c->r.port);
        if (c->r.is_address && !address_is_public(&c->r.address)) /* what it carries may decide */
                strbuf_printf(&b, "@%.*s", (int)c->r.host.n, c->r.host.p);
        return once(c, &c->seen, &b, ret_seen);
}

static bool ask_unread(struct contain *c) {
        struct verdict parent, child;

        c->r.layer = REQUEST_L4;
        c->r.tls = false;
        c->r.n_segments = c->r.n_query = 0;
        c->r.has_body = false;
        table_decide(c->t[CHILD], &c->r, &child);
        if (child.allowed) {
                table_decide(c->t[PARENT], &c->r, &parent);
                if (!(parent.allowed ? contain_compare(c, &parent, &child) : contain_no(c, CONTAIN_REFUSED, &parent, &child)))
                        return false;
        }
        c->r.layer = REQUEST_L7;
        return true;
}

static bool ask_host(struct contain *c) {
        uint32_t *cuts = NULL;
        size_t n = 0;
        bool allows = false, of_parent = false, ok = contain_work(c, 1) && add_cuts(c, CHILD, &cuts, &n, &allows);

        if (ok && allows && (ok = add_cuts(c, PARENT, &cuts, &n, &of_parent) && add_denied_cuts(c, PARENT, &cuts, &n) &&
                                  add_denied_cuts(c, CHILD, &cuts, &n)))
                qsort(cuts, n, sizeof(*cuts), compare_numbers);
        for (size_t i = 0; ok && allows && i + 1 < n; i++) {
                bool seen = false;
                if (cuts[i] == cuts[i + 1] || cuts[i] == 0)
                        continue;
                c->r.port = example_port(cuts[i], cuts[i + 1]);
                if (table_port_access(c->t[CHILD], &c->r) == TABLE_REFUSE || !(ok = seen_before(c, &seen)) || seen)
                        continue;
                ok = ask_unread(c) && contain_place(c);
        }
        free(cuts);
        return ok;
}

static bool is_listed(const struct contain_list *l, const char *s, size_t n) {
        for (size_t i = 0; i < l->n; i++)
                if (l->items[i].n == n && memcmp(l->items[i].p, s, n) == 0)
                        return true;
        return false;
}

/* The name with a label in front of it that no rule names. */
static bool below(struct contain *c, const struct contain_list *all, struct request_text name, char dst[REQUEST_HOST_MAX + 1], size_t *ret_n) {
        for (unsigned i = 0; i < 1000; i++) {
                char label[16] = "x";
                if (i > 0)
                        snprintf(label, sizeof(label), "x%u", i);
                size_t n = strlen(label) + (name.n > 0) + name.n;
                if (n > REQUEST_HOST_MAX)
                        break;
                snprintf(dst, REQUEST_HOST_MAX + 1, name.n ? "%s.%.*s" : "%s%.*s", label, (int)name.n, name.p);
                *ret_n = n;
                if (!is_listed(all, dst, n))
                        return contain_work(c, 1 + all->n / 64);
        }
        *ret_n = 0;
        return true;
}

/* Of each name that a rule has: itself, and what is one label and what is two labels beneath it. */
static bool ask_names(struct contain *c, const struct contain_list *all) {
        for (size_t i = 0; i < all->n; i++) {
                char one[REQUEST_HOST_MAX + 1], two[REQUEST_HOST_MAX + 1];
                size_t n = 0;
                c->r.host = all->items[i];
                if (all->items[i].n > 0 && !ask_host(c))
                        return false;
                if (!below(c, all, all->items[i], one, &n))
                        return false;
                if (n == 0)
                        continue;
                c->r.host = (struct request_text){one, n};
                if (!ask_host(c) || !below(c, all, (struct request_text){one, n}, two, &n))
                        return false;
                c->r.host = (struct request_text){two, n};
                if (n > 0 && !ask_host(c))
                        return false;
        }
        return true;
}

static bool gather_names(struct contain *c, struct contain_list *ret) {
        for (int side = PARENT; side <= CHILD; side++) {
                const struct table_host_slot *slot = table_at(c->t[side], SECTION_HOSTS);
                for (uint32_t i = 0; i < table_count(c->t[side], SECTION_HOSTS); i++) {
                        if (slot[i].name.at == TABLE_NONE || (slot[i].name.n && is_listed(ret, table_text(c->t[side], slot[i].name), slot[i].name.n)))
                                continue;
                        if (!contain_work(c, 1 + ret->n / 64) ||
                            !contain_add(c, ret, (struct request_text){table_text(c->t[side], slot[i].name), slot[i].name.n}))
                                return false;
                }
        }
        return true;
}

/* Addresses: the first, the last and one in the middle of each stretch that no range divides. */

static void add_one(uint8_t byte[16]) {
        for (size_t i = 16; i-- > 0;)
                if (++byte[i] != 0)
                        return;
}

static bool add_address(struct contain *c, const uint8_t byte[16]) {
        if (c->n_addresses == c->cap_addresses) {
                size_t cap = MAX(2 * c->cap_addresses, 512u);
                struct request_address *more = reallocarray(c->addresses, cap, sizeof(*more));
                if (!more)
                        return contain_no_memory(c);
                c->addresses = more;
                c->cap_addresses = cap;
        }
        memcpy(c->addresses[c->n_addresses++].byte, byte, 16);
        return true;
}

static bool cut_at(struct contain *c, const struct address_range *range) {
        uint8_t end[16];

        memcpy(end, range->byte, 16);
        for (unsigned i = range->bits; i < 128; i++)
                end[i / 8] |= (uint8_t)(0x80u >> i % 8);
        add_one(end);
        return add_address(c, range->byte) && add_address(c, end);
}

static int compare_bytes(const void *a, const void *b) { return memcmp(a, b, 16); }

static bool stretch(struct contain *c, const uint8_t first[16], const uint8_t *end) {
        uint8_t last[16], middle[16];
        unsigned carry = 0;

        memset(last, 0xff, sizeof(last));
        if (end) {
                memcpy(last, end, sizeof(last));
                for (size_t i = 16; i-- > 0;)
                        if (last[i]-- != 0)
                                break;
        }
        unsigned sum[16];
        for (size_t i = 16; i-- > 0; carry = sum[i] >> 8)
                sum[i] = first[i] + (unsigned)last[i] + carry;
        for (size_t i = 0; i < 16; i++)
                middle[i] = (uint8_t)((sum[i] & 0xff) >> 1 | (i == 0 ? carry : sum[i - 1] & 1) << 7);
        return add_address(c, first) && add_address(c, last) && add_address(c, middle);
}

static bool gather_addresses(struct contain *c) {
        static const struct address_range v4 = {.byte = {[10] = 0xff, [11] = 0xff}, .bits = 96};
        struct address_range range;

        if (!cut_at(c, &v4) || !add_address(c, (const uint8_t[16]){0}))
                return false;
        for (size_t i = 0; address_special_range(i, &range); i++) {
                if (!cut_at(c, &range))
                        return false;
                if (range.bits < 96 || memcmp(range.byte, v4.byte, 12) != 0)
                        continue;
                memcpy(range.byte, (const uint8_t[12]){0x00, 0x64, 0xff, 0x9b}, 12); /* what NAT64 carries decides */
                if (!cut_at(c, &range))
                        return false;
        }
        for (int side = PARENT; side <= CHILD; side++) {
                const struct address_range *all = table_at(c->t[side], SECTION_RANGES);
                for (uint32_t i = 0; i < table_count(c->t[side], SECTION_RANGES); i++)
                        if (!cut_at(c, &all[i]))
                                return false;
        }
        qsort(c->addresses, c->n_addresses, sizeof(*c->addresses), compare_bytes);
        size_t n = c->n_addresses;
        for (size_t i = 0; i < n; i++) {
                uint8_t first[16], next[16];
                memcpy(first, c->addresses[i].byte, 16);
                memcpy(next, c->addresses[i + 1 < n ? i + 1 : i].byte, 16);
                if (i + 1 < n && memcmp(first, next, 16) == 0)
                        continue;
                if (!stretch(c, first, i + 1 < n ? next : NULL))
                        return false;
        }
        c->n_addresses -= n;
        memmove(c->addresses, c->addresses + n, c->n_addresses * sizeof(*c->addresses));
        return contain_work(c, n);
}

static bool ask_addresses(struct contain *c) {
        char text[ADDRESS_TEXT_MAX];

        if (table_count(c->t[CHILD], SECTION_ADDRESSES) == 0)
                return true;
        c->r.is_address = true;
        for (size_t i = 0; i < c->n_addresses; i++) {
                c->r.address = c->addresses[i];
                address_format(&c->r.address, text);
                c->r.host = (struct request_text){text, strlen(text)};
                if (!ask_host(c))
                        return false;
        }
        c->r.is_address = false;
        return true;
}

static bool ask_given(struct contain *c) {
        if (!table_asks_provenance(c->t[PARENT]) || !table_asks_provenance(c->t[CHILD]))
                return true; /* to one that does not ask, nothing needs to be given */
        const char *own, *theirs;
        for (size_t i = 0; (own = table_given(c->t[CHILD], i)); i++) {
                bool found = false;
                for (size_t k = 0; !found && (theirs = table_given(c->t[PARENT], k)); k++)
                        found = streq(own, theirs);
                if (!contain_work(c, 1))
                        return false;
                if (!found) {
                        snprintf(c->ret->difference, sizeof(c->ret->difference), "%.150s", own);
                        return contain_no(c, CONTAIN_GIVEN, NULL, NULL);
                }
        }
        return true;
}

int contain_network(const struct table *parent, const struct table *child, struct containment *ret) {
        struct contain *c = calloc(1, sizeof(*c));
        struct contain_list names = {};

        *ret = (struct containment){};
        if (!c)
                return -ENOMEM;
        *c = (struct contain){.t = {parent, child}, .ret = ret, .r = {.layer = REQUEST_L7}};
        c->parent_denies = denies_addresses(parent);
        c->denies = c->parent_denies || denies_addresses(child);
        (void)(gather_addresses(c) && gather_names(c, &names) && ask_names(c, &names) && ask_addresses(c) && ask_given(c) &&
               contain_budget_sums(c));
        int r = c->err;
        for (struct contain_text *t = c->texts, *next; t; t = next) {
                next = t->next;
                free(t);
        }
        free(names.items);
        free(c->seen.items);
        free(c->dialled.items);
        free(c->addresses);
        free(c);
        if (ret->why != CONTAIN_YES)
                ret->n_charges = ret->n_parts = 0;
        return r;
}

void containment_clear(struct containment *c) {
        free(c->texts);
        *c = (struct containment){};
}

static const char *reason_text(enum verdict_reason r) {
        static const char *const texts[VERDICT_N] = {
                [VERDICT_HOST] = "no rule of it names the host", [VERDICT_RELAY] = "no wildcard opens what hands on to others",
                [VERDICT_PORT] = "not with this port", [VERDICT_DENIED] = "a rule of it denies that",
                [VERDICT_UNREAD] = "it reads what goes there", [VERDICT_PROTOCOL] = "not by this protocol",
                [VERDICT_PATH] = "no rule of it has the path", [VERDICT_METHOD] = "not with this method",
                [VERDICT_WEBSOCKET] = "no WebSocket", [VERDICT_QUERY_KEY] = "not with this key of the query",
                [VERDICT_QUERY_VALUE] = "not with this value in the query", [VERDICT_HEADERS] = "not with so many header fields, or such long ones",
                [VERDICT_BODY] = "not with such a body", [VERDICT_SHAPE] = "it refuses such payloads",
                [VERDICT_ADDRESS] = "the address is not public", [VERDICT_BUDGETS] = "too many budgets",
        };
        return r < VERDICT_N && texts[r] ? texts[r] : "it refuses that";
}

int contain_error(const struct containment *c, struct error *e) {
        static const char *const fix = "a child's policy has to lie within its parent's: make the rule as narrow, or narrower";

        switch (c->why) {
        case CONTAIN_REFUSED:
                error_set(e, EPERM, "the child's rule %s lets pass %.200s, and the parent does not: %s%s%s", c->rule, c->request, reason_text(c->reason),
                          c->parent_rule[0] ? ", nearest " : "", c->parent_rule);
                break;
        case CONTAIN_SECRET:
        case CONTAIN_DESTINATION:
        case CONTAIN_MODEL:
        case CONTAIN_ADDRESS:
                error_set(e, EPERM, "the child's rule %s lets pass %.180s %s", c->rule, c->request, c->difference);
                break;
        case CONTAIN_PROVENANCE:
                error_set(e, EPERM, "the child's rule %s lets pass %.200s for every URL, the parent only where it was given (%s)", c->rule, c->request, c->parent_rule);
                return error_fix(e, "add provenance: true to the child's rule");
        case CONTAIN_NOVEL:
                error_set(e, EPERM, "the child's rule %s has a budget of novel for %.200s, and the parent none (%s)", c->rule, c->request, c->parent_rule);
                break;
        case CONTAIN_BODY:
                error_set(e, EPERM, "the child's rule %s lets pass longer bodies: %.200s (parent: %s)", c->rule, c->request, c->parent_rule);
                break;
        case CONTAIN_ACCESS:
                error_set(e, EPERM, "the child's rule %s lets pass %.200s without a look for TLS, the parent with one (%s)", c->rule, c->request, c->parent_rule);
                break;
        case CONTAIN_BUDGET:
                error_set(e, EPERM, "%s, for %.180s by the child's rule %s", c->difference, c->request, c->rule);
                return error_fix(e, "write a budget for it in the child's policy; what it takes is the parent's no more");
        case CONTAIN_SUM:
                error_set(e, EPERM, "%s in all its rules together", c->difference);
                return error_fix(e, "let the child's rules share one budget, or make their budgets smaller");
        case CONTAIN_GIVEN:
                error_set(e, EPERM, "the child is given the URL %s, and the parent is not", c->difference);
                break;
        case CONTAIN_YES:
                return 0;
        case CONTAIN_HARD:
                error_set(e, E2BIG, "whether the child's network policy lies within its parent's cannot be told: too much to look at");
                return error_fix(e, "write fewer rules, fewer patterns with stars, or the same shapes as the parent's rules");
        }
        return error_fix(e, "%s", fix);
}
