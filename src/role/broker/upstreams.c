/* Connections to upstreams that have answered and may be asked again, by any of the sandbox's: a stream of HTTP/2 does not
 * wait for a handshake of its own. All are of this broker's one identity. Each is looked at once more when it is taken: that it
 * is still there, and that the rules of the new request allow the address that it leads to. */
#include <string.h>
#include <sys/socket.h>

#include "role/broker/broker.h"

#define KEPT_MAX 32u
#define KEPT_MS 10000u /* most servers wait longer */

struct kept {
        struct stream s;
        struct request_address address; /* where the place is one */
        bool is_address;
        uint16_t port;
        bool tls;
        char host[REQUEST_HOST_MAX + 1];
        uint64_t since; /* ms */
};

static struct kept kept[KEPT_MAX];

static bool is_there(const struct kept *k) { return k->since != 0 && k->s.w.fd >= 0; }

static void drop(struct kept *k) {
        stream_close_gently(&k->s, &broker.loop);
        k->since = 0;
}

/* It says something that nobody asked for, or has ended; a ticket of TLS is neither. */
static bool is_quiet(struct kept *k) {
        char byte;
        return stream_read(&k->s, &byte, 1) == -EAGAIN;
}

static void spoke(struct watch *w, uint32_t events) {
        struct kept *k = loop_container(w, struct kept, s.w);

        (void)events;
        if (!is_quiet(k))
                drop(k);
}

void upstream_keep(struct stream *s, const struct request *place, bool tls) {
        struct kept *k = &kept[0];

        for (size_t i = 0; i < KEPT_MAX && is_there(k); i++)
                if (!is_there(&kept[i]) || kept[i].since < k->since)
                        k = &kept[i];
        if (is_there(k))
                drop(k);
        if (place->host.n >= sizeof(k->host) || stream_move(&k->s, s, &broker.loop, spoke) < 0)
                return;
        memcpy(k->host, place->host.p, place->host.n);
        k->host[place->host.n] = 0;
        k->is_address = place->is_address;
        k->address = place->address;
        k->port = place->port;
        k->tls = tls;
        k->since = broker.loop.now;
        stream_want(&k->s, &broker.loop, true, false);
}

bool upstream_leads(const struct stream *s, const struct verdict *v, uint16_t port) {
        struct sockaddr_in6 a = {};
        struct request_address address;
        socklen_t n = sizeof(a);

        if (getpeername(s->w.fd, (struct sockaddr *)&a, &n) < 0)
                return false;
        dial_address_of(&a, &address);
        return table_address_allowed(&broker.table, v, &address, port);
}

static bool is_of(const struct kept *k, const struct request *place, bool tls) {
        return is_there(k) && k->port == place->port && k->tls == tls && k->is_address == place->is_address &&
               (!k->is_address || memcmp(&k->address, &place->address, sizeof(k->address)) == 0) &&
               strlen(k->host) == place->host.n && memcmp(k->host, place->host.p, place->host.n) == 0;
}

bool upstream_take(struct stream *ret, const struct request *place, bool tls, const struct verdict *v,
                   void (*fn)(struct watch *, uint32_t)) {
        for (size_t i = 0; i < KEPT_MAX; i++) {
                struct kept *k = &kept[i];
                if (!is_of(k, place, tls))
                        continue;
                if (!is_quiet(k)) {
                        drop(k);
                        continue;
                }
                if (!upstream_leads(&k->s, v, place->port))
                        continue;
                k->since = 0;
                return stream_move(ret, &k->s, &broker.loop, fn) == 0;
        }
        return false;
}

int upstreams_tick(void) {
        int next = -1;

        for (size_t i = 0; i < KEPT_MAX; i++) {
                if (!is_there(&kept[i]))
                        continue;
                if (broker.loop.now >= kept[i].since + KEPT_MS)
                        drop(&kept[i]);
                else
                        next = (int)(KEPT_MS / 4);
        }
        return next;
}
