/* Locked pages; see vault.h. The bytes stand at the end of their pages, so that one too many meets the guard page. */
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "svc/vault.h"

static size_t page(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* Bytes of the pages that hold a text and its NUL. */
static size_t pages_of(size_t cap) { return (cap + page()) / page() * page(); }

int vault_alloc(size_t n, struct vault_text *ret, struct error *e) {
        if (n > VAULT_MAX)
                return error_set(e, E2BIG, "%zu bytes are too many for a secret", n);
        size_t size = pages_of(n);
        char *all = mmap(NULL, size + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED)
                return error_errno(e, errno, "there is no memory for a secret");
        char *inner = all + page();
        if (mprotect(inner, size, PROT_READ | PROT_WRITE) < 0 || madvise(inner, size, MADV_DONTDUMP) < 0 ||
            madvise(inner, size, MADV_WIPEONFORK) < 0) {
                int r = error_errno(e, errno, "memory for a secret cannot be kept out of core files and other processes");
                (void)munmap(all, size + 2 * page());
                return r;
        }
        /* The call itself: address sanitizers make the C library's function do nothing. */
        bool unlocked = syscall(SYS_mlock, inner, size) < 0;
        *ret = (struct vault_text){inner + size - n - 1, n, n, unlocked};
        return 0;
}

void vault_free(struct vault_text *t) {
        if (!t->p)
                return;
        size_t size = pages_of(t->cap);
        char *inner = t->p + t->cap + 1 - size;
        explicit_bzero(inner, size);
        (void)munmap(inner - page(), size + 2 * page()); /* gives the lock back as well */
        *t = (struct vault_text){};
}

static int64_t now_ms(void) {
        struct timespec ts;
        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int vault_read(int fd, int ended, size_t max, int timeout_ms, struct vault_text *ret, struct error *e) {
        _cleanup_vault_ struct vault_text t = {};
        int64_t end = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
        int r = vault_alloc(max + 1, &t, e); /* one more, to see that there is more */

        if (r < 0)
                return r;
        for (t.n = 0; t.n <= max;) {
                struct pollfd p[] = {{fd, POLLIN, 0}, {ended, POLLIN, 0}};
                int ready = poll(p, ELEMENTSOF(p), end < 0 ? -1 : (int)MAX(end - now_ms(), 0));
                if (ready == 0)
                        return error_set(e, ETIMEDOUT, "a secret did not come in time");
                if (ready > 0 && !p[0].revents)
                        break;
                ssize_t got = ready < 0 ? -1 : read(fd, t.p + t.n, t.cap - t.n);
                if (got < 0 && errno != EINTR && errno != EAGAIN)
                        return error_errno(e, errno, "a secret cannot be read");
                if (got == 0)
                        break;
                t.n += (size_t)MAX(got, 0);
        }
        if (t.n > max)
                return error_set(e, EFBIG, "more than %zu bytes are too many for a secret", max);
        *ret = t;
        t = (struct vault_text){};
        return 0;
}
