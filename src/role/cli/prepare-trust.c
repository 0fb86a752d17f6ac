/* The sandbox's CA, where there is one. */
#include "role/cli/prepare.h"

static bool reads_tls(const struct network *n) {
        for (size_t i = 0; i < n->n_rules; i++)
                if (!n->rules[i].deny && (n->rules[i].protocols & NETWORK_HTTPS))
                        return true;
        return false;
}

int prepare_trust(const struct run_options *o, struct prepared *x, struct error *e) {
        if (!x->plan->network.on)
                return 0;
        return reads_tls(&o->policy->network) ? net_ca_new(&x->ca, e) : net_ca_empty(&x->ca, e);
}
