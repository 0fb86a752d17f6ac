/* See model-routes.h. */
#include <stdio.h>

#include "base/str.h"
#include "role/cli/model-routes.h"
#include "svc/net-account.h"

/* What went to the i-th destination of the table. false: there is no such. */
static bool used_of(const struct net_log *l, uint32_t i, struct table_route *ret_route, struct account_route *ret) {
        const struct account_route *a;

        if (!l->table.header || !table_route(&l->table, i, ret_route))
                return false;
        *ret = (struct account_route){};
        if (l->account && (a = account_route_find(l->account, account_route_key(ret_route))))
                *ret = *a;
        return true;
}

/* What went to destinations that the policy in force does not have. */
static struct account_route used_before(const struct net_log *l) {
        struct account_route sum = {}, a;
        struct table_route route;

        for (size_t k = 0; l->account && k < ACCOUNT_ROUTES_MAX; k++) {
                const struct account_route *x = &l->account->routes[k];
                bool known = x->key == 0;
                for (uint32_t i = 0; !known && used_of(l, i, &route, &a); i++)
                        known = a.key == x->key;
                if (known)
                        continue;
                sum.requests += x->requests;
                sum.up += x->up;
                sum.down += x->down;
        }
        return sum;
}

static void put_use(struct strbuf *b, const struct account_route *a) {
        char up[40], down[40];

        strbuf_printf(b, " %llu request%s, %s up, %s down", (unsigned long long)a->requests, a->requests == 1 ? "" : "s", format_size(up, sizeof(up), a->up),
                      format_size(down, sizeof(down), a->down));
}

void model_routes_report(const struct net_log *l) {
        _cleanup_strbuf_ struct strbuf b = {};
        struct account_route a, before = used_before(l);
        struct table_route route;

        for (uint32_t i = 0; !l->silent && used_of(l, i, &route, &a); i++) {
                if (a.requests == 0)
                        continue;
                strbuf_printf(&b, "%s%s%s%s%s", b.len ? "; " : "", route.local ? "local " : "", route.host, route.to ? " -> " : "", route.to ? route.to : "");
                put_use(&b, &a);
                if (route.secret)
                        strbuf_printf(&b, " (secret %s)", route.secret);
        }
        if (before.requests > 0 && !l->silent) {
                strbuf_printf(&b, "%sby an earlier policy", b.len ? "; " : "");
                put_use(&b, &before);
        }
        _cleanup_free_ char *text = b.len ? str_visible_dup(b.data) : NULL;
        if (text)
                fprintf(stderr, "belljar: models: %s\n", text);
}

void model_routes_json(struct json *j, const struct net_log *l) {
        struct account_route a, before = used_before(l);
        struct table_route route;

        json_begin(j, "models", '[');
        for (uint32_t i = 0; used_of(l, i, &route, &a); i++) {
                json_begin(j, NULL, '{');
                json_str(j, "host", route.host);
                json_str(j, "to", route.to);
                json_bool(j, "local", route.local);
                json_str(j, "secret", route.secret);
                json_num(j, "requests", (long long)a.requests);
                json_num(j, "up", (long long)a.up);
                json_num(j, "down", (long long)a.down);
                json_end(j, '}');
        }
        if (before.requests > 0) { /* told apart no more */
                json_begin(j, NULL, '{');
                json_str(j, "host", NULL);
                json_num(j, "requests", (long long)before.requests);
                json_num(j, "up", (long long)before.up);
                json_num(j, "down", (long long)before.down);
                json_end(j, '}');
        }
        json_end(j, ']');
}
