/* What the parent's budgets come to in the child: for each request, each budget that the parent would charge with it must be
 * covered by one of the child's that is no larger, and all that cover the same one are taken out of it together. See
 * contain-internal.h. */
#include <stdio.h>

#include "model/contain-internal.h"

#define FIELDS 7u
enum { OF_UP, OF_DOWN, OF_REQUESTS, OF_URL, OF_HOSTS, OF_SUBDOMAINS, OF_NOVEL };

const char *contain_budget_name(unsigned of) {
        static const char *const names[FIELDS] = {"up", "down", "requests", "url", "hosts", "subdomains", "novel"};
        return of < FIELDS ? names[of] : "?";
}

static uint64_t field(const struct table *t, uint32_t index, unsigned of) {
        struct network_budget b;

        if (!table_budget(t, index, &b))
                return UINT64_MAX;
        const uint64_t all[FIELDS] = {b.up, b.down, b.requests, b.url, b.hosts, b.subdomains, b.novel};
        return all[of];
}

/* The i-th budget of a verdict, the run's last. */
static uint32_t budget_at(const struct verdict *v, size_t i) { return i < v->n_budgets ? v->budgets[i] : TABLE_NONE; }

static bool only_wildcards(const struct table *t, const struct verdict *v) {
        struct table_rule_info info;

        for (size_t i = 0; i < v->n_matched; i++)
                if (table_rule(t, v->matched[i], &info) && info.host[0] != '*')
                        return false;
        return true;
}

/* The child has URLs pass that nobody gave, for a price. */
static bool sells(const struct table *t, const struct verdict *v) {
        for (size_t i = 0; i < v->n_budgets; i++)
                if (field(t, v->budgets[i], OF_NOVEL) != UINT64_MAX)
                        return true;
        return false;
}

static bool say(struct contain *c, enum contain_why why, unsigned of, uint64_t parent, uint64_t child, const struct verdict *vp, const struct verdict *vc) {
        char own[64] = "none";

        if (child != UINT64_MAX)
                snprintf(own, sizeof(own), "%llu", (unsigned long long)child);
        snprintf(c->ret->difference, sizeof(c->ret->difference), "budget %s: the parent has %llu, the child %s", contain_budget_name(of),
                 (unsigned long long)parent, own);
        return contain_no(c, why, vp, vc);
}

static bool keep(struct contain *c, uint32_t parent, uint32_t child, unsigned of, uint32_t rule) {
        for (size_t i = 0; i < c->n_cover; i++)
                if (c->cover[i].parent == parent && c->cover[i].child == child && c->cover[i].of == of && c->cover[i].rule == rule)
                        return true;
        if (c->n_cover == CONTAIN_CHARGES_MAX)
                return contain_hard(c);
        c->cover[c->n_cover++] = (struct contain_cover){parent, child, of, rule};
        return true;
}

static bool kept(const struct contain *c, uint32_t parent, uint32_t child, unsigned of) {
        for (size_t i = 0; i < c->n_cover; i++)
                if (c->cover[i].parent == parent && c->cover[i].child == child && c->cover[i].of == of)
                        return true;
        return false;
}

/* Rules of one name, which as one host cost one host, whatever the budget. */
static bool one_name(const struct table *t, const struct verdict *v, uint32_t *ret_rule) {
        const struct table_rule_record *u = table_at(t, SECTION_RULES);

        for (size_t i = 0; i < v->n_matched; i++) {
                struct table_rule_info info;
                if (table_rule(t, v->matched[i], &info) && info.host[0] != '*' &&
                    (u[v->matched[i]].range == TABLE_NONE || !strchr(info.host, '/'))) {
                        *ret_rule = u[v->matched[i]].host.at; /* equal names have one place */
                        return true;
                }
        }
        return false;
}

static bool cover(struct contain *c, uint32_t x, unsigned of, uint64_t most, const struct verdict *vp, const struct verdict *vc) {
        uint32_t best = TABLE_NONE, rule = 0;
        uint64_t least = UINT64_MAX;

        for (size_t i = 0; i <= vc->n_budgets; i++) {
                uint32_t y = budget_at(vc, i);
                uint64_t has = field(c->t[CHILD], y, of);
                if (has == UINT64_MAX)
                        continue;
                if (kept(c, x, y, of))
                        return true;
                if (has < least) {
                        least = has;
                        best = y;
                }
        }
        if (least == UINT64_MAX && (of == OF_HOSTS || of == OF_SUBDOMAINS) && one_name(c->t[CHILD], vc, &rule))
                return keep(c, x, CONTAIN_ONE, of, rule);
        if (least > most)
                return say(c, CONTAIN_BUDGET, of, most, least, vp, vc);
        return keep(c, x, best, of, 0);
}

bool contain_budgets(struct contain *c, const struct verdict *vp, const struct verdict *vc) {
        bool l4 = c->r.layer == REQUEST_L4, novel = vp->provenance && sells(c->t[CHILD], vc);

        if (novel && !sells(c->t[PARENT], vp))
                return contain_no(c, CONTAIN_NOVEL, vp, vc);
        for (size_t i = 0; i <= vp->n_budgets; i++)
                for (unsigned of = 0; of < FIELDS; of++) {
                        uint32_t x = budget_at(vp, i);
                        uint64_t most = field(c->t[PARENT], x, of);
                        if (most == UINT64_MAX || (of == OF_URL && l4) || (of == OF_NOVEL && !novel) ||
                            (of == OF_SUBDOMAINS && (c->r.is_address || !only_wildcards(c->t[PARENT], vp))))
                                continue;
                        if (!cover(c, x, of, most, vp, vc))
                                return false;
                }
        return true;
}

static bool same_charge(const struct contain_charge *a, const struct contain_cover *b) { return a->parent == b->parent && a->of == b->of; }

bool contain_budget_sums(struct contain *c) {
        struct containment *ret = c->ret;

        for (size_t i = 0; i < c->n_cover; i++) {
                const struct contain_cover *x = &c->cover[i];
                uint64_t amount = x->child == CONTAIN_ONE ? 1 : field(c->t[CHILD], x->child, x->of);
                struct contain_charge *to = NULL;
                for (size_t k = 0; k < ret->n_charges && !to; k++)
                        if (same_charge(&ret->charges[k], x))
                                to = &ret->charges[k];
                if (!to) {
                        to = &ret->charges[ret->n_charges++];
                        *to = (struct contain_charge){.parent = x->parent, .of = x->of};
                }
                ret->parts[ret->n_parts++] = (struct contain_part){{x->parent, x->of, amount}, x->child};
                to->amount = to->amount > UINT64_MAX - amount ? UINT64_MAX : to->amount + amount;
        }
        for (size_t i = 0; i < ret->n_charges; i++) {
                const struct contain_charge *x = &ret->charges[i];
                uint64_t most = field(c->t[PARENT], x->parent, x->of);
                if (x->amount > most)
                        return say(c, CONTAIN_SUM, x->of, most, x->amount, NULL, NULL);
        }
        return true;
}
