/* Where the requests of an exchange go: to the host that they name, or to what their rule says in its place. */
#include <string.h>

#include "model/canonical.h"
#include "model/network-route.h"
#include "role/broker/broker.h"

int origin_of(struct origin *ret, const struct request *place, bool tls, const struct verdict *v) {
        struct table_route route = {};
        const char *why;
        int r;

        if (table_route(&broker.table, v->route, &route) && route.to) {
                ret->place = (struct request){};
                if ((r = network_origin_read(route.to, &ret->place, ret->host, &why)) < 0)
                        return r;
        } else {
                ret->place = (struct request){.is_address = place->is_address, .address = place->address, .port = place->port, .tls = tls};
                memcpy(ret->host, place->host.p, place->host.n);
                ret->place.host = (struct request_text){ret->host, place->host.n};
        }
        ret->host[ret->place.host.n] = 0;
        ssize_t n = canonical_write_authority(&ret->place, ret->authority, sizeof(ret->authority));
        return n < 0 ? (int)n : 0;
}

bool origin_same(const struct origin *a, const struct origin *b) {
        return a->place.tls == b->place.tls && canonical_same_place(&a->place, &b->place);
}
