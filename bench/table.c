/* Time, size and memory of the compiled policy by number of rules; built and run by bench/table. Each row is one kind of
 * rules and a number of them; requests are drawn from those that the rules allow and from those that they do not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model/table.h"

static double now(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define must(cond) do { if (!(cond)) { fprintf(stderr, "failed: %s\n", #cond); exit(1); } } while (0)

enum kind { HOSTS, ONE_HOST, HOSTILE, PORTS, ADDRESSES, KINDS };
static const char *const kinds[] = {"many hosts", "one host", "/**/x/**/y", "one host, L4", "ranges"};

static void add(struct network *n, enum kind kind, unsigned i) {
        struct network_rule r = {};
        struct error e = {};
        char text[200];
        unsigned written = 0;

        switch (kind) {
        case HOSTS:
                snprintf(text, sizeof(text), "h%u.example.com", i);
                must(network_set_host(&r, text, &e) == 0 && network_add_path(&r, "/repos/acme/**", &e) == 0);
                written = WROTE_PATHS;
                break;
        case ONE_HOST:
                snprintf(text, sizeof(text), "/repos/org%u/tool%u/**", i % 97, i);
                must(network_set_host(&r, "api.example.com", &e) == 0 && network_add_path(&r, text, &e) == 0 &&
                     network_add_query(&r, "page", NULL, &e) == 0);
                written = WROTE_PATHS | WROTE_QUERY;
                break;
        case HOSTILE:
                snprintf(text, sizeof(text), "/**/x%u/**/y%u", i % 31, i);
                must(network_set_host(&r, "api.example.com", &e) == 0 && network_add_path(&r, text, &e) == 0);
                written = WROTE_PATHS;
                break;
        case PORTS:
                snprintf(text, sizeof(text), "%u", 1 + i);
                r.protocols = NETWORK_TCP;
                must(network_set_host(&r, "api.example.com", &e) == 0 && network_add_port(&r, text, &e) == 0);
                written = WROTE_PORT | WROTE_PROTOCOL;
                break;
        default:
                snprintf(text, sizeof(text), "%u.%u.0.0/16", 20 + i / 256, i % 256);
                must(network_set_host(&r, text, &e) == 0);
        }
        must(network_add_rule(n, &r, written, &e) == 0);
}

static struct request_text text_of(const char *s) { return (struct request_text){s, strlen(s)}; }

/* A request that rule i allows; other: one that none does. */
static void ask(struct request *r, enum kind kind, unsigned i, bool other, char buf[4][64]) {
        static const char *const segments[] = {"a", "x3", "b", "x7", "c", "x11"};

        *r = (struct request){.layer = kind >= PORTS ? REQUEST_L4 : REQUEST_L7, .tls = true, .port = 443, .method = {"GET", 3},
                              .n_headers = 8, .header_bytes = 400};
        snprintf(buf[0], 64, kind == HOSTS ? "h%u.example.com" : "api.example.com", other ? 999999 : i);
        r->host = text_of(buf[0]);
        switch (kind) {
        case HOSTS:
                r->segment[0] = text_of("repos");
                r->segment[1] = text_of(other ? "evil" : "acme");
                r->segment[2] = text_of("issues");
                r->n_segments = 3;
                break;
        case ONE_HOST:
                snprintf(buf[1], 64, "org%u", i % 97);
                snprintf(buf[2], 64, "tool%u", i + other);
                r->segment[0] = text_of("repos");
                r->segment[1] = text_of(buf[1]);
                r->segment[2] = text_of(buf[2]);
                r->segment[3] = text_of("issues");
                r->n_segments = 4;
                r->query[0] = (struct request_query){{"page", 4}, {"2", 1}, true};
                r->n_query = 1;
                break;
        case HOSTILE:
                for (size_t k = 0; k < ELEMENTSOF(segments); k++)
                        r->segment[k] = text_of(segments[k]);
                snprintf(buf[1], 64, "x%u", i % 31);
                snprintf(buf[2], 64, other ? "z%u" : "y%u", i);
                r->segment[6] = text_of(buf[1]);
                r->segment[7] = text_of(buf[2]);
                r->n_segments = 8;
                break;
        case PORTS:
                r->port = (uint16_t)(other ? 60000 : 1 + i);
                break;
        default:
                r->is_address = true;
                memcpy(r->address.byte, (uint8_t[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 12);
                r->address.byte[12] = (uint8_t)(other ? 210 : 20 + i / 256);
                r->address.byte[13] = (uint8_t)(i % 256);
                r->address.byte[15] = 1;
        }
}

static double decisions(const struct table *t, enum kind kind, unsigned rules, bool other, unsigned rounds) {
        enum { N = 64 };
        static struct request r[N];
        static char buf[N][4][64];
        struct verdict v;
        double begin, best = 1e18;

        for (unsigned i = 0; i < N; i++) {
                ask(&r[i], kind, (i * 7919) % rules, other, buf[i]);
                table_decide(t, &r[i], &v);
                must(v.allowed == !other);
        }
        for (unsigned pass = 0; pass < 5; pass++) {
                begin = now();
                for (unsigned i = 0; i < rounds; i++)
                        table_decide(t, &r[i % N], &v);
                best = best < (now() - begin) / rounds ? best : (now() - begin) / rounds;
        }
        return best;
}

/* One row; alone: the decisions and nothing else, for callgrind. */
static void row(enum kind kind, unsigned rules, unsigned rounds, bool alone) {
        struct network n = {};
        struct error e = {};
        struct rusage use;
        struct table t;
        void *block;
        size_t size;

        for (unsigned i = 0; i < rules; i++)
                add(&n, kind, i);
        getrusage(RUSAGE_SELF, &use);
        long before = use.ru_maxrss;
        double begin = now();
        if (table_compile(&n, &block, &size, &e) < 0) {
                printf("%-14s %6u %s\n", kinds[kind], rules, e.msg);
                return;
        }
        double compiled = now();
        getrusage(RUSAGE_SELF, &use);
        must(table_load(block, size, &t) == 0);
        double loaded = now();
        double yes = decisions(&t, kind, rules, false, rounds), no = alone ? 0 : decisions(&t, kind, rules, true, rounds);
        if (!alone)
                printf("%-14s %6u %11.2f %10.3f %10zu %12ld %11.0f %11.0f\n", kinds[kind], rules, (compiled - begin) / 1e6,
                       (loaded - compiled) / 1e6, size / 1024, use.ru_maxrss - before, yes, no);
        free(block);
        network_clear(&n);
}

/* KIND RULES ROUNDS: one row, alone. */
int main(int argc, char **argv) {
        static const unsigned counts[] = {10, 100, 1000, 10000};

        if (argc == 4) {
                row((enum kind)atoi(argv[1]), (unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]), true);
                return 0;
        }
        printf("%-14s %6s %11s %10s %10s %12s %11s %11s\n", "rules", "number", "compile ms", "load ms", "block KiB", "compile KiB",
               "allowed ns", "denied ns");
        for (unsigned k = 0; k < KINDS; k++)
                for (size_t c = 0; c < ELEMENTSOF(counts); c++) {
                        int status = 0;
                        fflush(stdout);
                        pid_t pid = fork(); /* so that what one row used is not the next one's */
                        if (pid == 0) {
                                row(k, counts[c], 20000, false);
                                fflush(stdout);
                                _exit(0);
                        }
                        must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
                }
        return 0;
}
