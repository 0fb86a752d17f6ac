#include <sys/mman.h>

#include "svc/net-account.h"
#include "tap.h"

static struct account *map(size_t n) {
        struct account *a;
        size_t have;
        int fd = account_make(n);

        check(fd >= 0 && account_map(fd, &a, &have) == 0 && have == n);
        close(fd);
        return a;
}

TEST(a_charge_is_whole_or_none) {
        const struct network_budget b = {.up = 10, .down = UINT64_MAX, .requests = 0, .url = 5, .hosts = 1, .subdomains = 1};
        struct account *a = map(1);

        check(account_charge(a, &b, ACCOUNT_UP, 10) && a->up == 10);
        check(!account_charge(a, &b, ACCOUNT_UP, 1) && a->up == 10);
        account_return(a, ACCOUNT_UP, 4);
        check(account_charge(a, &b, ACCOUNT_UP, 4) && a->up == 10);
        check(!account_charge(a, &b, ACCOUNT_UP, UINT64_MAX) && a->up == 10); /* no wrap */
        check(account_charge(a, &b, ACCOUNT_DOWN, 1ull << 40) && account_charge(a, &b, ACCOUNT_DOWN, 1ull << 40));
        check(!account_charge(a, &b, ACCOUNT_REQUESTS, 1) && account_charge(a, &b, ACCOUNT_REQUESTS, 0));
        check(!account_charge(a, &b, ACCOUNT_URL, 6) && account_charge(a, &b, ACCOUNT_URL, 5));
}

TEST(the_runs_use_is_carried) {
        const struct network_budget b = {.up = 10};
        int from = account_make(3), to = account_make(1), none = account_make(0);
        struct account *a, *c;
        size_t n;

        check(from >= 0 && to >= 0 && none >= 0 && account_map(from, &a, &n) == 0 && account_map(to, &c, &n) == 0);
        check(account_charge(&a[0], &b, ACCOUNT_UP, 7) && account_charge(&a[1], &b, ACCOUNT_UP, 3));
        check(account_carry(from, to) == 0 && c->up == 7 && !account_charge(c, &b, ACCOUNT_UP, 4));
        check(account_carry(none, to) == -EBADMSG && account_carry(from, none) < 0 && c->up == 7);
}

TEST(a_name_is_charged_once) {
        const struct network_budget b = {.hosts = 2, .subdomains = UINT64_MAX};
        struct account *a = map(1);

        check(account_charge_name(a, &b, ACCOUNT_HOSTS, 7) && account_charge_name(a, &b, ACCOUNT_HOSTS, 7) && a->hosts == 1);
        check(account_charge_name(a, &b, ACCOUNT_HOSTS, 0) && account_charge_name(a, &b, ACCOUNT_HOSTS, 0) && a->hosts == 2);
        check(!account_charge_name(a, &b, ACCOUNT_HOSTS, 9) && account_charge_name(a, &b, ACCOUNT_HOSTS, 7) && a->hosts == 2);
        for (uint64_t i = 1; i < 100000; i++)
                check(account_charge_name(a, &b, ACCOUNT_SUBDOMAINS, i)); /* no bound, and no table of it */
        check(a->subdomains == 0);
}

TEST(more_names_than_can_be_told_apart_are_too_many) {
        const struct network_budget b = {.hosts = 1u << 20};
        struct account *a = map(1);
        uint64_t n = 0;

        while (account_charge_name(a, &b, ACCOUNT_HOSTS, n * 0x9e3779b97f4a7c15u + 1))
                check(++n <= ACCOUNT_NAMES_MAX);
        check(n == ACCOUNT_NAMES_MAX && a->hosts == n);
}

TEST(processes_charge_together) {
        enum { PROCESSES = 4, TRIES = 20000, MOST = 30000 };
        const struct network_budget b = {.requests = MOST, .hosts = 100};
        struct account *a = map(2); /* shared with the children */
        uint64_t *taken = (uint64_t *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        check(taken != MAP_FAILED);
        for (int p = 0; p < PROCESSES; p++)
                if (fork() == 0) {
                        for (uint64_t i = 0; i < TRIES; i++) {
                                taken[p] += account_charge(&a[1], &b, ACCOUNT_REQUESTS, 1);
                                (void)!account_charge_name(&a[1], &b, ACCOUNT_HOSTS, i % 150 + 1);
                        }
                        _exit(0);
                }
        for (int p = 0; p < PROCESSES; p++)
                check(wait(NULL) > 0);
        check(taken[0] + taken[1] + taken[2] + taken[3] == MOST && a[1].requests == MOST);
        check(a[1].hosts <= 100 && a[0].requests == 0);
}

TAP_MAIN
