/* The rules of a network namespace, as the kernel takes them: whatever ranges and ports rules name, in whatever order. What they
 * let through is tests/containment/network's. */
#include <sched.h>
#include <stdlib.h>

#include "sys/nft.h"
#include "tap.h"

enum { ROUNDS = 60, TARGETS_MAX = 400 };

/* As few different ones that many overlap, touch, or are the first or the last there is. */
static struct net_target some_target(void) {
        struct net_target t = {};
        uint16_t from = (uint16_t)(rand() % 3 ? 80 + rand() % 4 : 65530 + rand() % 6);

        t.ports.from = from;
        t.ports.to = (uint16_t)(rand() % 3 ? from : from + rand() % (65536 - from));
        if (rand() % 2) {
                const uint8_t a[] = {rand() % 3 ? 93 : 255, rand() % 3 ? 184 : 255, rand() % 3 ? 0 : 255, (uint8_t)(rand() % 8 + (rand() % 2 ? 248 : 0))};
                t.address[10] = t.address[11] = 0xff;
                memcpy(t.address + 12, a, sizeof(a));
                t.prefix = 96 + (unsigned)(rand() % 4 ? 32 : rand() % 33);
        } else {
                memset(t.address, rand() % 3 ? 0x20 : 0xff, sizeof(t.address));
                t.address[15] = (uint8_t)rand();
                t.prefix = (unsigned)(rand() % 4 ? 128 : rand() % 96);
        }
        return t;
}

static int put(const struct net_target *targets, size_t n, bool replace, size_t less) {
        const struct net_ports ports = {443, 443};
        const struct nft_config c = {.own = {198, 18, 0, 1}, .pool = {198, 18, 0, 0}, .pool_prefix = 16, .targets = targets, .n_targets = n,
                                     .ports = &ports, .n_ports = 1, .gate_port = 1, .log_group = 1, .replace = replace};
        const char *what;
        void *buf = malloc(nft_size(&c));

        check(buf);
        int r = nft_install(&c, buf, nft_size(&c) - less, &what);
        free(buf);
        return r;
}

/* A network namespace of this process's own. */
static void enter(void) {
        struct net_target t = some_target();

        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
                skip("no user namespaces");
        int r = put(&t, 1, false, 0);
        if (r == -ENOENT || r == -EOPNOTSUPP || r == -EPROTONOSUPPORT)
                skip("this kernel has no nftables with tproxy");
        check(r == 0);
}

TEST(any_ranges_in_any_order) {
        static struct net_target targets[TARGETS_MAX];

        srand(7);
        enter();
        for (int round = 0; round < ROUNDS; round++) {
                size_t n = (size_t)(rand() % TARGETS_MAX);
                for (size_t i = 0; i < n; i++)
                        targets[i] = some_target();
                check(put(targets, n, true, 0) == 0);
        }
}

/* Many of each kind, within what a socket of an ordinary user can send on any Linux. */
TEST(thousands) {
        static struct net_target targets[5000];

        enter();
        for (size_t i = 0; i < ELEMENTSOF(targets); i++) {
                const uint8_t a[] = {93, 185, (uint8_t)(i / 120), (uint8_t)(i % 120 * 2)};
                targets[i] = (struct net_target){.prefix = 128, .ports = {80, 80}};
                targets[i].address[10] = targets[i].address[11] = 0xff;
                memcpy(targets[i].address + 12, a, sizeof(a));
        }
        check(put(targets, ELEMENTSOF(targets), true, 0) == 0);
        for (size_t i = 0; i < ELEMENTSOF(targets); i++)
                targets[i].ports.from = targets[i].ports.to = (uint16_t)(1000 + 2 * i), targets[i].address[14] = 0, targets[i].address[15] = (uint8_t)(i / 60);
        check(put(targets, ELEMENTSOF(targets), true, 0) == 0);
}

TEST(no_room) {
        struct net_target t = some_target();

        enter();
        check(put(&t, 1, true, 1) == -ENOSPC);
        check(put(&t, 1, true, 0) == 0);
}

TAP_MAIN
