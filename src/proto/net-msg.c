/* What a message of gate, broker or supervisor must be like, see net-msg.h. A sender that is in order sends no other: who
 * gets one that is refused here ends its conversation with the sender. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "proto/net-msg.h"

static bool ends(const char *text, size_t size) { return memchr(text, 0, size) != NULL; }

int net_report_read(const void *data, size_t n, struct net_report *ret) {
        struct net_report r;

        if (n != sizeof(r))
                return -EBADMSG;
        memcpy(&r, data, sizeof(r));
        if (r.type < NET_DENIED || r.type > NET_ASKED || r.what > NET_HTTP || r.port > UINT16_MAX || r.quiet > 1 || r.carried > 1 || r.response > 999 || r.misplaced > 1)
                return -EBADMSG;
        if (r.type == NET_BROKER_WANTED && r.rule >= NET_BROKERS_MAX)
                return -EBADMSG;
        if (!ends(r.host, sizeof(r.host)) || !ends(r.text, sizeof(r.text)) || !ends(r.why, sizeof(r.why)) || !ends(r.fix, sizeof(r.fix)))
                return -EBADMSG;
        *ret = r;
        return 0;
}

int net_order_read(const void *data, size_t n, size_t n_fds, struct net_order *ret) {
        struct net_order o;
        bool good = false;

        if (n != sizeof(o))
                return -EBADMSG;
        memcpy(&o, data, sizeof(o));
        switch (o.type) {
        case NET_CONFIG:
                good = n_fds == 0 && o.pool_prefix <= 32 && o.n_published <= NET_PUBLISHED_MAX && o.sockets < 1u << NETNS_N;
                break;
        case NET_REVOKED:
                good = n_fds == 0 && o.n > 0 && o.n < NET_BROKERS_MAX;
                break;
        case NET_RENEWED:
                good = n_fds == 1;
                break;
        case NET_BROKER:
                good = n_fds == 1 && o.n < NET_BROKERS_MAX;
                break;
        case NET_LEASE:
        case NET_FLUSH:
                good = n_fds == 0;
                break;
        case NET_POLICY:
                good = n_fds == 1 || n_fds == 2;
                break;
        }
        if (!good)
                return -EBADMSG;
        *ret = o;
        return 0;
}

int broker_job_read(const void *data, size_t n, size_t n_fds, struct broker_job *ret) {
        size_t least = 1, most = 1;
        struct broker_job j;
        bool good = false;

        if (n != sizeof(j))
                return -EBADMSG;
        memcpy(&j, data, sizeof(j));
        if (j.port == 0 || j.port > UINT16_MAX || j.tls > 1 || !ends(j.host, sizeof(j.host)))
                return -EBADMSG;
        switch (j.type) {
        case BROKER_CONNECT:
                good = j.host[0] && !j.tls;
                break;
        case BROKER_EXCHANGE:
                good = j.host[0];
                break;
        case BROKER_JOIN:
                good = !j.host[0] && !j.tls;
                least = 2;
                most = 3;
                break;
        }
        if (!good || n_fds > most)
                return -EBADMSG;
        if (n_fds < least)
                return -EMFILE;
        *ret = j;
        return 0;
}
