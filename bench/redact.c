/* Throughput of the redactor with one token of 40 characters, in pieces of 16 KiB: the best of some rounds. Built and run by
 * bench/redact. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/redact.h"

enum { SIZE = 1 << 20, PIECE = 16384 };

static const char find[] = "abc_Ab9zQxk7Lm0pXw3RtYuV5sNe8Jc1Ha2Gd4Fi", put[] = "abc_Zq1aBcd2Ef3gHi4JkLm5nOp6qRs7Tu8Vw9Xy";

static double now(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

struct text {
        const char *name;
        const char *of;       /* repeated, or characters to choose from */
        size_t n;             /* how much of that */
        int random;
        size_t piece;
};

static void fill(char *p, const struct text *t) {
        size_t n = t->n ? t->n : strlen(t->of);

        for (size_t i = 0; i < SIZE; i++)
                p[i] = t->of[t->random ? (size_t)rand() % n : i % n];
}

static double measure(const struct redactor *r, void *memory, const char *text, size_t piece, unsigned rounds, unsigned long *found) {
        static char out[PIECE + REDACT_STREAM_MAX];
        double best = 0;

        for (unsigned round = 0; round < rounds; round++) {
                struct redact_stream *s;
                if (redact_begin(r, memory, REDACT_STREAM_MAX, &s) < 0)
                        abort();
                double t = now();
                for (size_t i = 0; i < SIZE; i += piece) {
                        size_t n = SIZE - i < piece ? SIZE - i : piece;
                        if (redact_feed(r, s, text + i, n, i + n == SIZE, out, sizeof(out)) < 0)
                                abort();
                }
                t = now() - t;
                if (round == 0 || t < best)
                        best = t;
                *found = redact_found(s, 0);
        }
        return best;
}

int main(int argc, char **argv) {
        static const struct text texts[] = {
                {"prose", "It gets its secret once, keeps it in locked memory, and puts it into requests that its rules allow.\n"},
                {"JSON", "{\"id\": 12345, \"name\": \"a \\\"thing\\\"\\n\", \"url\": \"https://api.test/a/b?c=d&e=f\", \"ok\": true, \"n\": null},\n"},
                {"JSON within JSON", "{\"arguments\": \"{\\\"path\\\": \\\"src/a.c\\\", \\\"text\\\": \\\"one\\\\ntwo \\\\\\\"three\\\\\\\"\\\\n\\\"}\"},\n"},
                {"events", "data: {\"delta\": {\"text\": \" some words\"}, \"index\": 0}\n\n"},
                {"hexadecimal", "0123456789abcdef", .random = 1},
                {"base64", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", .random = 1},
                {"zeros", "", 1},
                {"the token, again and again", find},
                {"all of it but a byte", find, sizeof(find) - 2},
                {"that in pieces of a byte", find, sizeof(find) - 2, .piece = 1},
                {"backslashes", "\\"},
                {"the beginning of escapes", "\\\\u00"},
                {"of references", "&#"},
                {"lines of one character", "Y\n"},
        };
        unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
        const struct redact_pair pair = {find, put, sizeof(find) - 1};
        size_t size = redact_size(&pair, 1);
        char *text = malloc(SIZE);
        void *memory = malloc(size), *stream = malloc(REDACT_STREAM_MAX);
        struct redactor *r;

        if (!text || !memory || !stream)
                return 1;
        double t = now();
        if (redact_init(memory, size, &pair, 1, &r) < 0)
                return 1;
        printf("made in %.0f us: %zu bytes, and %zu a stream\n", now() - t, size, redact_stream_size(r));
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
                unsigned long found = 0;
                fill(text, &texts[i]);
                double us = measure(r, stream, text, texts[i].piece ? texts[i].piece : PIECE, rounds, &found);
                printf("%-28s %6.0f MB/s, %5.1f ns a byte, found %lu times\n", texts[i].name, SIZE / us, us * 1e3 / SIZE, found);
        }
        free(text);
        free(memory);
        free(stream);
        return 0;
}
