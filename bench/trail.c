/* How fast records are made and verified: the code of model/trail.c and model/trail-read.c, with real signatures, in memory. The best of
 * some rounds. Built and run by bench/trail. */
#include <sodium/crypto_sign_ed25519.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/trail.h"

enum { RECORDS = 50000, ROUNDS = 5 };

static uint8_t public[32], secret[64];

static double now(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void sign(const void *key, const uint8_t *data, size_t n, uint8_t ret[TRAIL_SIG_SIZE]) { (void)crypto_sign_ed25519_detached(ret, NULL, data, n, key); }

static bool is_signed(const void *key, const uint8_t *data, size_t n, const uint8_t sig[TRAIL_SIG_SIZE]) {
        return crypto_sign_ed25519_verify_detached(sig, data, n, key) == 0;
}

static void fill(struct event *ev, int exec) {
        *ev = (struct event){.kind = exec ? EVENT_EXEC : EVENT_REQUEST, .source = exec ? EVENT_BY_TRACER : EVENT_BY_BROKER, .rule = EVENT_NO_RULE};
        if (exec) {
                ev->pid = 4711;
                ev->parent = 4700;
                ev->n_argv = 6;
                ev->forgeable = EVENT_F_ARGV | EVENT_F_CWD;
                memcpy(ev->argv, "cc\0-O2\0-c\0src/some/file.c\0-o\0src/some/file.o", 45);
                event_set(ev, EVENT_F_PATH, path, "/usr/bin/cc");
                event_set(ev, EVENT_F_EXE, exe, "/usr/bin/x86_64-linux-gnu-gcc-12");
                event_set(ev, EVENT_F_CWD, cwd, "/home/somebody/work/project");
        } else {
                ev->port = 443;
                ev->response = 200;
                ev->up = 812;
                ev->down = 49152;
                event_set(ev, EVENT_F_HOST, host, "registry.example.com");
                event_set(ev, EVENT_F_TEXT, text, "GET /package/-/package-1.2.3.tgz?page=1");
        }
}

/* As the supervisor does it: some records a turn, then one write. */
static double make(struct strbuf *all, int fd, int exec, unsigned turn) {
        struct trail t = {.sign = sign, .key = secret};
        struct strbuf text = {};
        struct event ev;
        uint64_t ns = 1;

        fill(&ev, exec);
        all->len = 0;
        double begin = now();
        for (unsigned i = 0; i < RECORDS; i++) {
                struct event first = {.kind = EVENT_START, .mono = ns, .wall = ns, .rule = EVENT_NO_RULE};
                ev.mono = ev.wall = ns += 1000000; /* as slowly as they have room */
                if (trail_add(&t, i ? &ev : &first, &text) < 0)
                        abort();
                if (i % turn == turn - 1) {
                        if (fd >= 0 && fd_write_all(fd, text.data, text.len) < 0)
                                abort();
                        if (fd < 0)
                                strbuf_add(all, text.data, text.len);
                        strbuf_reset(&text);
                }
        }
        double took = now() - begin;
        const struct event end = {.kind = EVENT_END, .mono = ns, .wall = ns, .rule = EVENT_NO_RULE};
        if (trail_add(&t, &end, &text) < 0)
                abort();
        strbuf_add(all, text.data, text.len);
        strbuf_clear(&text);
        trail_clear(&t);
        return took;
}

static double verify(const struct strbuf *b) {
        struct trail_check c = {.is_signed = is_signed, .key = public};
        double begin = now();

        for (const char *p = b->data, *end = p + b->len, *nl; p < end; p = nl + 1) {
                nl = memchr(p, '\n', (size_t)(end - p));
                if (!nl || !trail_check_line(&c, p, (size_t)(nl - p)))
                        abort();
        }
        double took = now() - begin;
        if (!c.ended)
                abort();
        return took;
}

int main(int argc, char **argv) {
        static const char *const names[] = {"request", "exec"};
        static const unsigned turns[] = {1, 16};
        int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
        struct strbuf all = {.max = 1u << 30};

        if (crypto_sign_ed25519_keypair(public, secret) != 0)
                return 1;
        printf("%-10s %-28s %12s %14s\n", "record", "", "a second", "bytes each");
        for (int exec = 0; exec < 2; exec++) {
                double made = 0, checked = 0;
                for (unsigned i = 0; i < ROUNDS; i++) {
                        double t = make(&all, -1, exec, 16), v = verify(&all);
                        made = i == 0 || t < made ? t : made;
                        checked = i == 0 || v < checked ? v : checked;
                }
                printf("%-10s %-28s %12.0f %14.0f\n", names[exec], "made, chained and signed", RECORDS / made, (double)all.len / RECORDS);
                printf("%-10s %-28s %12.0f %11.0f MB/s\n", names[exec], "verified", RECORDS / checked, (double)all.len / checked / 1e6);
                for (size_t k = 0; fd >= 0 && k < ELEMENTSOF(turns); k++) {
                        double best = 0;
                        char name[40];
                        for (unsigned i = 0; i < ROUNDS; i++) {
                                if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
                                        return 1;
                                double t = make(&all, fd, exec, turns[k]);
                                best = i == 0 || t < best ? t : best;
                        }
                        snprintf(name, sizeof(name), "and written, %u a turn", turns[k]);
                        printf("%-10s %-28s %12.0f\n", names[exec], name, RECORDS / best);
                }
        }
        return 0;
}
