/* The network of a run: the rules compiled, and what the sandbox's network namespace needs to know of them. */
#include <string.h>

#include "model/address.h"
#include "model/mint.h"
#include "model/table.h"
#include "role/cli/prepare.h"

/* A rule for this much of the address space overlaps every pool, and needs none of it. */
#define WIDE_BITS (96u + 8u)

/* Benchmark addresses first (RFC 2544, RFC 6890): nobody's network has them; then what is reserved. */
static const uint8_t pools[][4] = {{198, 18}, {198, 19}, {240, 1}, {240, 2}};
#define POOL_PREFIX 16u

static bool overlaps(const struct network *n, const uint8_t pool[4]) {
        struct address_range range = {.byte = {[10] = 0xff, [11] = 0xff, pool[0], pool[1]}, .bits = 96 + POOL_PREFIX};

        for (size_t i = 0; i < n->n_rules; i++) {
                const struct network_rule *r = &n->rules[i];
                if (r->kind == NETWORK_ADDRESS && r->range.bits > WIDE_BITS &&
                    (network_range_within(&r->range, &range) || network_range_within(&range, &r->range)))
                        return true;
        }
        return false;
}

static int add_ports(struct plan_network *p, uint16_t from, uint16_t to) {
        for (size_t i = 0; i < p->n_ports; i++)
                if (p->ports[i].from <= from && to <= p->ports[i].to)
                        return 0;
        struct net_ports *more = realloc(p->ports, (p->n_ports + 1) * sizeof(*more));
        if (!more)
                return -ENOMEM;
        p->ports = more;
        p->ports[p->n_ports++] = (struct net_ports){from, to};
        return 0;
}

static int add_targets(struct plan_network *p, const struct network_rule *r) {
        struct net_target *more = realloc(p->targets, (p->n_targets + r->n_ports) * sizeof(*more));
        if (!more)
                return -ENOMEM;
        p->targets = more;
        for (size_t i = 0; i < r->n_ports; i++) {
                struct net_target t = {.prefix = r->range.bits, .ports = {r->ports[i].first, r->ports[i].last}};
                memcpy(t.address, r->range.byte, sizeof(t.address));
                p->targets[p->n_targets++] = t;
        }
        return 0;
}

/* "allow *.example.com:443 (TLS, unread)" */
static int add_text(struct plan_network *p, const struct network_rule *r) {
        static const struct {
                unsigned protocol;
                const char *name;
        } names[] = {{NETWORK_TCP, "TCP, unread"}, {NETWORK_TLS, "TLS, unread"}, {NETWORK_HTTP, "http"}, {NETWORK_HTTPS, "https"}};
        _cleanup_free_ char *host = network_host_text(r);
        _cleanup_strbuf_ struct strbuf b = {};

        if (!host)
                return -ENOMEM;
        strbuf_printf(&b, "%s %s", r->deny ? "deny" : "allow", host);
        for (size_t i = 0; i < r->n_ports; i++) {
                strbuf_printf(&b, "%s%u", i ? "," : ":", r->ports[i].first);
                if (r->ports[i].last != r->ports[i].first)
                        strbuf_printf(&b, "-%u", r->ports[i].last);
        }
        if (!r->deny || !(r->protocols & NETWORK_UNREAD)) {
                const char *sep = " (";
                for (size_t i = 0; i < ELEMENTSOF(names); i++)
                        if (r->protocols & names[i].protocol) {
                                strbuf_printf(&b, "%s%s", sep, names[i].name);
                                sep = "; ";
                        }
                for (size_t i = 0; i < r->methods.n; i++)
                        strbuf_printf(&b, " %s", r->methods.items[i]);
                for (size_t i = 0; i < r->paths.n; i++)
                        strbuf_printf(&b, " %s", r->paths.items[i]);
                if (r->secret)
                        strbuf_printf(&b, ", secret %s", r->secret);
                for (size_t i = 0; i < r->models.n; i++)
                        strbuf_printf(&b, "%s%s", i ? " " : ", models ", r->models.items[i]);
                if (r->to)
                        strbuf_printf(&b, ", to %s", r->to);
                strbuf_puts(&b, ")");
        }
        _cleanup_free_ char *text = strbuf_take(&b), *visible = text ? str_visible_dup(text) : NULL;
        return visible ? strlist_add(&p->rules, visible) : -ENOMEM;
}

/* One host, or a few that somebody wrote down, are "listed"; whatever else may be anybody's is "any host". */
static enum risk_reach reach_of(const struct network_rule *r) {
        struct request_address first = {}, last;

        if (r->kind != NETWORK_ADDRESS)
                return r->kind == NETWORK_EXACT ? REACH_LISTED : REACH_ANYWHERE;
        memcpy(first.byte, r->range.byte, sizeof(first.byte));
        last = first;
        for (unsigned bit = r->range.bits; bit < 128; bit++)
                last.byte[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
        if (!address_is_public(&first) && !address_is_public(&last) && r->range.bits > WIDE_BITS - 1)
                return REACH_LOCAL;
        return r->range.bits == 128 ? REACH_LISTED : REACH_ANYWHERE;
}

enum risk_reach prepare_reach(const struct network *n) {
        enum risk_reach most = REACH_NONE;

        for (size_t i = 0; i < n->n_rules; i++)
                if (!n->rules[i].deny)
                        most = MAX(most, reach_of(&n->rules[i]));
        return most;
}

static bool reads_only(const struct network_rule *r) {
        for (size_t i = 0; i < r->methods.n; i++)
                if (!streq(r->methods.items[i], "GET") && !streq(r->methods.items[i], "HEAD") && !streq(r->methods.items[i], "OPTIONS"))
                        return false;
        return r->methods.n > 0;
}

enum risk_credentials prepare_credentials_risk(const struct network *n) {
        enum risk_credentials most = CREDENTIALS_NONE;

        for (size_t i = 0; i < n->n_rules; i++) {
                const struct network_rule *r = &n->rules[i];
                bool elsewhere = r->kind != NETWORK_EXACT;
                if (!r->secret || r->deny)
                        continue;
                for (size_t k = 0; k < n->n_rules && !elsewhere; k++) {
                        const struct network_rule *o = &n->rules[k];
                        elsewhere = o->secret && streq(o->secret, r->secret) && (o->kind != r->kind || !streq(o->host, r->host));
                }
                most = MAX(most, !elsewhere || reads_only(r) ? CREDENTIALS_NARROW : CREDENTIALS_WRITE);
        }
        return most;
}

int prepare_network(const struct policy *policy, const struct plan_publish *publish, size_t n_publish, struct plan *plan,
                    struct error *e) {
        const struct network *n = &policy->network;
        struct plan_network *p = &plan->network;
        size_t pool = 0;
        int r = 0;

        if ((r = mint_derive_all(n, e)) < 0)
                return r;
        p->secrets = n->secrets;
        p->n_secrets = n->n_secrets;
        if (n->n_rules == 0 && n_publish == 0)
                return 0;
        if (n_publish > 0)
                memcpy(p->published, publish, n_publish * sizeof(*publish));
        p->n_published = n_publish;
        /* What is refused inside names the rule, and not where on the host the file lies. */
        struct network shown = *n;
        const char *slash = n->source ? strrchr(n->source, '/') : NULL;
        if (slash)
                shown.source += slash + 1 - n->source;
        if ((r = table_compile(&shown, &p->table, &p->table_size, e)) < 0)
                return r;
        while (pool < ELEMENTSOF(pools) && overlaps(n, pools[pool]))
                pool++;
        if (pool == ELEMENTSOF(pools)) {
                error_set(e, EADDRINUSE, "the rules' addresses leave no room for those that stand for names");
                return error_fix(e, "leave one of 198.18.0.0/16, 198.19.0.0/16, 240.1.0.0/16, 240.2.0.0/16 out of the rules");
        }
        p->on = true;
        p->pool_prefix = POOL_PREFIX;
        memcpy(p->pool, pools[pool], sizeof(p->pool));
        memcpy(p->own, pools[pool], sizeof(p->own));
        p->own[3] = 1;
        for (size_t i = 0; r == 0 && i < n->n_rules; i++) {
                const struct network_rule *rule = &n->rules[i];
                if ((r = add_text(p, rule)) < 0 || rule->deny)
                        continue;
                if (rule->kind == NETWORK_ADDRESS)
                        r = add_targets(p, rule);
                for (size_t k = 0; r == 0 && rule->kind != NETWORK_ADDRESS && k < rule->n_ports; k++)
                        r = add_ports(p, rule->ports[k].first, rule->ports[k].last);
        }
        return r < 0 ? error_errno(e, r, "the network cannot be planned") : 0;
}
