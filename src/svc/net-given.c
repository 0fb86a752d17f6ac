/* See net-given.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/provenance.h"
#include "svc/net-given.h"

#define SLOTS (2u * GIVEN_MAX)
#define TOLD_MAX (UINT64_MAX >> 2) /* bits; there it stays */

/* A slot is taken by its hash, and speaks once it has a value: so one whose writer was killed in between gives nothing. Of a
 * mark: 1 + its price; of an origin: 1 + the bits that it was told. */
struct slot {
        uint64_t hash, value;
};
struct given {
        struct provenance_key key;
        uint64_t used;
        struct slot slot[SLOTS];
};

int given_make(void) {
        _cleanup_fd_ int fd = memfd_create("belljar-given", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        struct provenance_key key;

        if (fd < 0 || getrandom(&key, sizeof(key), 0) != sizeof(key) || ftruncate(fd, sizeof(struct given)) < 0 ||
            pwrite(fd, &key, sizeof(key), offsetof(struct given, key)) != sizeof(key) ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
                return errno ? -errno : -EIO;
        return TAKE_FD(fd);
}

int given_map(int fd, struct given **ret) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_size != sizeof(struct given))
                return -EBADMSG;
        void *p = mmap(NULL, sizeof(struct given), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
                return -errno;
        *ret = (struct given *)p;
        return 0;
}

void given_unmap(struct given *g) { munmap(g, sizeof(*g)); }

bool given_full(const struct given *g) { return __atomic_load_n(&g->used, __ATOMIC_RELAXED) >= GIVEN_MAX; }

static struct slot *find(const struct given *g, uint64_t hash) {
        for (size_t i = 0, at = hash % SLOTS; i < SLOTS; i++, at = (at + 1) % SLOTS) {
                uint64_t have = __atomic_load_n(&g->slot[at].hash, __ATOMIC_ACQUIRE);
                if (have == hash)
                        return (struct slot *)&g->slot[at];
                if (have == 0)
                        break;
        }
        return NULL;
}

/* Its slot, taken where there was none; NULL: it is full. */
static struct slot *take(struct given *g, uint64_t hash) {
        for (size_t i = 0, at = hash % SLOTS; i < SLOTS; i++, at = (at + 1) % SLOTS) {
                uint64_t have = __atomic_load_n(&g->slot[at].hash, __ATOMIC_ACQUIRE);
                if (have == 0) {
                        if (__atomic_fetch_add(&g->used, 1, __ATOMIC_RELAXED) >= GIVEN_MAX) {
                                __atomic_fetch_sub(&g->used, 1, __ATOMIC_RELAXED);
                                return NULL;
                        }
                        if (__atomic_compare_exchange_n(&g->slot[at].hash, &have, hash, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                                return &g->slot[at];
                        __atomic_fetch_sub(&g->used, 1, __ATOMIC_RELAXED); /* another broker was there first */
                }
                if (have == hash)
                        return &g->slot[at];
        }
        return NULL;
}

/* --- prices --- */

/* Bits that an origin was told. Where there was no room to note it, without bound. */
static uint64_t told(const struct given *g, uint64_t origin) {
        const struct slot *s = find(g, origin);
        uint64_t value = s ? __atomic_load_n(&s->value, __ATOMIC_RELAXED) : 0;
        return value ? value - 1 : given_full(g) ? UINT64_MAX : 0;
}

static void add(struct given *g, const char *url, size_t n, uint64_t price) {
        struct provenance_mark mark[PROVENANCE_MARKS_MAX];
        size_t count = provenance_marks(&g->key, url, n, mark);

        if (price >= provenance_bits(n, 0)) /* it says no more than the URL itself */
                return;
        /* From its end, so that of one for which there is no room the beginning is not left alone. */
        while (count-- > 0) {
                struct slot *s = take(g, mark[count].hash);
                if (!s)
                        return;
                uint64_t have = __atomic_load_n(&s->value, __ATOMIC_ACQUIRE);
                while ((have == 0 || price + 1 < have) &&
                       !__atomic_compare_exchange_n(&s->value, &have, price + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                        ;
        }
}

void given_add(struct given *g, const char *url, size_t n) { add(g, url, n, 0); }

void given_add_by(struct given *g, const char *url, size_t n, const char *by, size_t n_by) {
        uint64_t giver = provenance_origin_hash(&g->key, by, n_by);
        add(g, url, n, giver == provenance_origin_hash(&g->key, url, n) ? 0 : told(g, giver));
}

/* 0: it is not there; else 1 + its price. */
static uint64_t value_of(const struct given *g, const struct provenance_mark *m) {
        const struct slot *s = find(g, m->hash);
        return s ? __atomic_load_n(&s->value, __ATOMIC_ACQUIRE) : 0;
}

uint64_t given_price(const struct given *g, const char *url, size_t n) {
        struct provenance_mark mark[PROVENANCE_MARKS_MAX];
        size_t count = provenance_marks(&g->key, url, n, mark);
        uint64_t least = provenance_bits(n, 0);

        for (size_t i = 0; i < count; i++) {
                uint64_t value = value_of(g, &mark[i]);
                if (value > 0)
                        least = MIN(least, value - 1 + (mark[i].whole ? 0 : provenance_bits(n, mark[i].at)));
        }
        return least;
}

size_t given_reach(const struct given *g, const char *url, size_t n) {
        struct provenance_mark mark[PROVENANCE_MARKS_MAX];
        size_t count = provenance_marks(&g->key, url, n, mark);

        while (count > 0 && value_of(g, &mark[count - 1]) != 1)
                count--;
        return count > 0 ? mark[count - 1].at : 0;
}

void given_tell(struct given *g, const char *url, size_t n, uint64_t bits) {
        struct slot *s = bits > 0 ? take(g, provenance_origin_hash(&g->key, url, n)) : NULL;
        uint64_t have = s ? __atomic_load_n(&s->value, __ATOMIC_RELAXED) : 0;

        while (s && !__atomic_compare_exchange_n(&s->value, &have, MIN((have ? have : 1) + MIN(bits, TOLD_MAX), TOLD_MAX), false,
                                                 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                ;
}
