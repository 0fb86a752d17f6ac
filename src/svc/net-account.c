/* See net-account.h. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/net-account.h"

int account_make(size_t n) {
        _cleanup_fd_ int fd = memfd_create("belljar-budgets", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0 || ftruncate(fd, (off_t)(n * sizeof(struct account))) < 0 ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
                return -errno;
        return TAKE_FD(fd);
}

int account_carry(int from, int to) {
        struct account a; /* the run's is the first */
        ssize_t n = pread(from, &a, sizeof(a), 0);

        if (n == (ssize_t)sizeof(a))
                n = pwrite(to, &a, sizeof(a), 0);
        return n == (ssize_t)sizeof(a) ? 0 : n < 0 ? -errno : -EBADMSG;
}

int account_map(int fd, struct account **ret, size_t *ret_n) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        size_t n = (size_t)st.st_size / sizeof(struct account);
        if (n == 0)
                return -EBADMSG;
        void *p = mmap(NULL, n * sizeof(struct account), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
                return -errno;
        *ret = (struct account *)p;
        *ret_n = n;
        return 0;
}

void account_unmap(struct account *a, size_t n) { munmap(a, n * sizeof(*a)); }

static uint64_t add_text(uint64_t h, const char *s) { /* FNV-1a, with the end of each text */
        for (; s && *s; s++)
                h = (h ^ (uint8_t)*s) * 1099511628211u;
        return (h ^ (s ? 0 : 1)) * 1099511628211u;
}

uint64_t account_route_key(const struct table_route *r) {
        uint64_t h = add_text(add_text(add_text(14695981039346656037u, r->host), r->to), r->secret);
        return h + (h == 0);
}

const struct account_route *account_route_find(const struct account *a, uint64_t key) {
        for (size_t i = 0; i < ACCOUNT_ROUTES_MAX; i++)
                if (__atomic_load_n(&a->routes[i].key, __ATOMIC_RELAXED) == key)
                        return &a->routes[i];
        return NULL;
}

struct account_route *account_route_get(struct account *a, uint64_t key) {
        for (size_t i = 0; i < ACCOUNT_ROUTES_MAX; i++) {
                uint64_t have = 0;
                if (__atomic_compare_exchange_n(&a->routes[i].key, &have, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) || have == key)
                        return &a->routes[i];
        }
        return NULL;
}

const char *account_name(enum account_of of) {
        static const char *const names[ACCOUNT_N] = {"up", "down", "requests", "url", "hosts", "subdomains", "novel"};
        return of < ACCOUNT_N ? names[of] : "?";
}

static uint64_t *counter(struct account *a, enum account_of of) {
        uint64_t *const all[ACCOUNT_N] = {&a->up, &a->down, &a->requests, &a->url, &a->hosts, &a->subdomains, &a->novel};
        return all[of];
}

static uint64_t limit(const struct network_budget *b, enum account_of of) {
        const uint64_t all[ACCOUNT_N] = {b->up, b->down, b->requests, b->url, b->hosts, b->subdomains, b->novel};
        return all[of];
}

bool account_charge(struct account *a, const struct network_budget *b, enum account_of of, uint64_t n) {
        uint64_t most = limit(b, of), *c = counter(a, of);

        if (n > most)
                return false;
        uint64_t had = __atomic_fetch_add(c, n, __ATOMIC_RELAXED);
        if (had <= most - n)
                return true;
        __atomic_fetch_sub(c, n, __ATOMIC_RELAXED);
        return false;
}

void account_return(struct account *a, enum account_of of, uint64_t n) { __atomic_fetch_sub(counter(a, of), n, __ATOMIC_RELAXED); }

bool account_charge_name(struct account *a, const struct network_budget *b, enum account_of of, uint64_t hash) {
        uint64_t *names = a->names[of == ACCOUNT_SUBDOMAINS], size = 2 * ACCOUNT_NAMES_MAX;

        if (limit(b, of) == UINT64_MAX)
                return true;
        hash += hash == 0;
        for (uint64_t i = 0, at = hash % size; i < size; i++, at = (at + 1) % size) {
                uint64_t have = __atomic_load_n(&names[at], __ATOMIC_RELAXED);
                if (have == hash)
                        return true;
                if (have != 0)
                        continue;
                if (__atomic_load_n(counter(a, of), __ATOMIC_RELAXED) >= ACCOUNT_NAMES_MAX || !account_charge(a, b, of, 1))
                        return false;
                if (__atomic_compare_exchange_n(&names[at], &have, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                        return true;
                account_return(a, of, 1); /* another broker was there first */
                if (have == hash)
                        return true;
        }
        return false;
}
