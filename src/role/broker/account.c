/* Charging the budgets of what a broker carries: all of those that a verdict names and the run's own, or none. */
#include <string.h>

#include "role/broker/broker.h"
#include "svc/net-account.h"

static struct account *accounts; /* the run's first, then one for each budget of the policy */
static size_t n_accounts;

/* With another policy the run's own use goes on; a rule's begins anew, since it may be another rule. */
int account_init(int fd, const struct table *t) {
        struct account *old = accounts;
        size_t n_old = n_accounts;
        int r = account_map(fd, &accounts, &n_accounts);

        if (r < 0 || n_accounts < table_budgets(t) + 1)
                return r < 0 ? r : -EBADMSG;
        if (old) {
                accounts[0] = old[0];
                account_unmap(old, n_old);
        }
        return 0;
}

/* The i-th that is to be charged; false: there are no more. */
static bool budget_of(const struct verdict *v, size_t i, struct account **ret, struct network_budget *ret_budget) {
        uint32_t index = i == 0 ? TABLE_NONE : i <= v->n_budgets ? v->budgets[i - 1] : 0;

        if (i > v->n_budgets || !table_budget(&broker.table, index, ret_budget) || (index != TABLE_NONE && index + 1 >= n_accounts))
                return false;
        *ret = &accounts[index == TABLE_NONE ? 0 : index + 1];
        return true;
}

static bool charge_all(const struct verdict *v, enum account_of of, uint64_t n) {
        struct network_budget b;
        struct account *a;
        size_t i;

        for (i = 0; i <= v->n_budgets; i++) {
                if (!budget_of(v, i, &a, &b) || !account_charge(a, &b, of, n))
                        break;
        }
        if (i > v->n_budgets)
                return true;
        while (i-- > 0)
                if (budget_of(v, i, &a, &b))
                        account_return(a, of, n);
        return false;
}

static bool charge_name(const struct verdict *v, enum account_of of, struct request_text name) {
        uint64_t h = 14695981039346656037u; /* FNV-1a */
        struct network_budget b;
        struct account *a;

        for (size_t i = 0; i < name.n; i++)
                h = (h ^ (uint8_t)name.p[i]) * 1099511628211u;
        for (size_t i = 0; i <= v->n_budgets; i++)
                if (!budget_of(v, i, &a, &b) || !account_charge_name(a, &b, of, h))
                        return false;
        return true;
}

static bool by_wildcard(const struct verdict *v) {
        struct table_rule_info info;

        for (size_t i = 0; i < v->n_matched; i++)
                if (table_rule(&broker.table, v->matched[i], &info) && info.host[0] != '*')
                        return false;
        return true;
}

bool account_begin(const struct verdict *v, const struct request *r, const char **ret_what) {
        enum account_of of;

        if (!charge_all(v, of = ACCOUNT_REQUESTS, 1) ||
            (r->layer == REQUEST_L7 && !charge_all(v, of = ACCOUNT_URL, r->target_bytes)) ||
            !charge_name(v, of = ACCOUNT_HOSTS, r->host) ||
            (!r->is_address && by_wildcard(v) && !charge_name(v, of = ACCOUNT_SUBDOMAINS, r->host))) {
                *ret_what = account_name(of);
                return false;
        }
        return true;
}

bool account_novel(const struct verdict *v, uint64_t bits, bool *ret_budgeted) {
        struct network_budget b;
        struct account *a;

        *ret_budgeted = false;
        for (size_t i = 1; i <= v->n_budgets; i++)
                *ret_budgeted |= budget_of(v, i, &a, &b) && b.novel != UINT64_MAX;
        return *ret_budgeted && charge_all(v, ACCOUNT_NOVEL, bits);
}

bool account_bytes(const struct verdict *v, bool up, uint64_t n, const char **ret_what) {
        enum account_of of = up ? ACCOUNT_UP : ACCOUNT_DOWN;

        if (charge_all(v, of, n))
                return true;
        *ret_what = account_name(of);
        return false;
}

static struct account_secret *secret_of(uint32_t identity) {
        return n_accounts > 0 && identity > 0 && identity <= SECRETS_MAX ? &accounts[0].secrets[identity - 1] : NULL;
}

bool account_secret_use(uint32_t identity, uint64_t most) {
        struct account_secret *s = secret_of(identity);

        if (!s)
                return false;
        if (__atomic_fetch_add(&s->uses, 1, __ATOMIC_RELAXED) < most || most == 0)
                return true;
        __atomic_fetch_sub(&s->uses, 1, __ATOMIC_RELAXED);
        return false;
}

void account_secret_bytes(uint32_t identity, uint64_t up, uint64_t down) {
        struct account_secret *s = secret_of(identity);

        if (!s)
                return;
        __atomic_fetch_add(&s->up, up, __ATOMIC_RELAXED);
        __atomic_fetch_add(&s->down, down, __ATOMIC_RELAXED);
}

void account_secret_refused(uint32_t identity) {
        struct account_secret *s = secret_of(identity);

        if (s)
                __atomic_fetch_add(&s->refused, 1, __ATOMIC_RELAXED);
}

uint64_t account_model(const struct verdict *v) {
        struct account_route *a;
        struct table_route route;

        if (n_accounts == 0 || !table_route(&broker.table, v->route, &route) || !(a = account_route_get(&accounts[0], account_route_key(&route))))
                return 0;
        __atomic_fetch_add(&a->requests, 1, __ATOMIC_RELAXED);
        return a->key;
}

void account_model_bytes(uint64_t key, uint64_t up, uint64_t down) {
        struct account_route *a = key && n_accounts > 0 ? account_route_get(&accounts[0], key) : NULL;

        if (!a)
                return;
        __atomic_fetch_add(&a->up, up, __ATOMIC_RELAXED);
        __atomic_fetch_add(&a->down, down, __ATOMIC_RELAXED);
}
