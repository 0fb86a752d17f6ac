/* Synthetic addresses, see gate.h: a table of the size of the pool, addressed by a hash of the name, so that a gate that was
 * started again gives the same names the same addresses. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "role/gate/gate.h"

/* Of the pool; more names than that are no use of a network but a channel. */
#define NAMES_MAX 65536u
#define RESERVED 16u /* the pool's first addresses: the network's, the sandbox's own */

int names_init(struct names *n, const uint8_t pool[4], unsigned prefix) {
        uint32_t base;

        memcpy(&base, pool, sizeof(base));
        *n = (struct names){};
        if (prefix == 0) /* a run without a network: no name has an address */
                return 0;
        if (prefix > 24)
                return -EINVAL;
        *n = (struct names){.base = ntohl(base) + RESERVED, .size = MIN((1u << (32 - prefix)) - 2 * RESERVED, NAMES_MAX)};
        n->name = (char **)calloc(n->size, sizeof(char *)); /* untouched pages cost nothing */
        return n->name ? 0 : -ENOMEM;
}

/* FNV-1a. Names are lower case. Who finds names that collide only slows down the own look-ups. */
static uint32_t hash(struct request_text s) {
        uint32_t h = 2166136261u;
        for (size_t i = 0; i < s.n; i++)
                h = (h ^ (uint8_t)s.p[i]) * 16777619u;
        return h;
}

int names_address(struct names *n, struct request_text name, uint8_t ret[4]) {
        uint32_t at = n->size > 0 ? hash(name) % n->size : 0, address;

        for (uint32_t i = 0; i < n->size; i++, at = (at + 1) % n->size) {
                char *have = n->name[at];
                if (!have) {
                        if (n->n >= n->size / 2)
                                return -ENOSPC;
                        have = n->name[at] = strndup(name.p, name.n);
                        if (!have)
                                return -ENOMEM;
                        n->n++;
                } else if (strlen(have) != name.n || memcmp(have, name.p, name.n) != 0)
                        continue;
                address = htonl(n->base + at);
                memcpy(ret, &address, sizeof(address));
                return 0;
        }
        return -ENOSPC;
}

const char *names_find(const struct names *n, const uint8_t address[4], bool *ret_pool) {
        uint32_t a;

        memcpy(&a, address, sizeof(a));
        a = ntohl(a);
        *ret_pool = a >= n->base - RESERVED && a - (n->base - RESERVED) < n->size + 2 * RESERVED;
        return a >= n->base && a - n->base < n->size ? n->name[a - n->base] : NULL;
}
