/* The redactor: whatever the pieces, it does what an oracle does with the text at once; the length stays; it holds back nothing that
 * begins nothing; and it does nothing to what has nothing.
 *
 * Input: the length of the text that is looked for, how it is cut, the text; then what is fed. Of that, a byte of 0xf8 and more
 * stands for a form of the text, which the four bytes after it choose. */
#include <stdlib.h>

#include "redact-oracle.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

enum { TEXT_MAX = 1024, FORM_BYTES = 4 };

struct input {
        const unsigned char *p;
        size_t n;
};

static unsigned take(struct input *in) {
        if (in->n == 0)
                return 0;
        in->n--;
        return *in->p++;
}

/* Another letter or digit of the same class. */
static char other(char c, unsigned by) {
        if (c >= '0' && c <= '9')
                return (char)('0' + ((unsigned)(c - '0') + by % 9 + 1) % 10);
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
                char a = c >= 'a' ? 'a' : 'A';
                return (char)(a + (char)(((unsigned)(c - a) + by % 25 + 1) % 26));
        }
        return c;
}

static void emit_form(const struct redact_pair *p, struct input *in, char *t, size_t *n) {
        unsigned kind = take(in), seed = take(in), part = take(in), breaks = take(in), line = 0;
        struct oracle_form f = {.kind = kind % 3 < 2 ? (int)(kind % 3) : ORACLE_BASE64, .offset = kind / 3 % 3};

        f.from = f.kind == ORACLE_BASE64 ? f.offset : 0;
        f.end = f.kind == ORACLE_PLAIN ? p->n : f.kind == ORACLE_HEX ? 2 * p->n : (8 * (f.offset + p->n) + 5) / 6;
        if (part & 1)
                f.end -= part / 2 % (f.end - f.from);
        for (size_t k = f.from; k < f.end && *n + 2 * UNIT_MAX < TEXT_MAX; k++) {
                char e[UNIT_MAX + 3];
                unsigned level, v = seed & 255;
                size_t digits, length = 0;
                for (unsigned i = 0; i < 256 && !oracle_allows(&f, p, k, v); i++)
                        v = (v + 1) & 255;
                for (unsigned i = 0; i < 3 && length == 0; i++)
                        length = oracle_encode(kind & 64 ? (int)((seed >> 8) + i) % SLOTS : SLOT_RAW, v, e, &level, &digits);
                if (length == 0)
                        length = oracle_encode(SLOT_RAW, v, e, &level, &digits);
                memcpy(t + *n, e, length);
                *n += length;
                if (f.kind == ORACLE_BASE64 && breaks && ++line % (breaks % 16 + 1) == 0)
                        t[(*n)++] = breaks & 64 ? '\r' : '\n';
                seed = seed * 1103515245u + 12345u;
        }
}

/* In pieces; each time something is held back, something may begin there. */
static void in_pieces(const struct oracle *o, size_t n_pairs, const struct redactor *r, struct redact_stream *s, const char *text, size_t n,
                      unsigned cut, char *out) {
        char *seen = malloc(n + 1);
        size_t done = 0;

        must(seen);
        for (size_t i = 0; i < n;) {
                size_t piece = MIN(n - i, 1 + (cut >> i % 5) % 29);
                bool last = i + piece == n && (cut & 1);
                ssize_t k = redact_feed(r, s, text + i, piece, last, out + done, n - done);
                must(k >= 0);
                done += (size_t)k;
                i += piece;
                must(done + redact_held(s) == i && (!last || done == n));
                uint64_t found = 0;
                for (size_t p = 0; p < n_pairs; p++)
                        found += redact_found(s, p);
                if (done < i && found == 0) {
                        memcpy(seen, text, i);
                        must(oracle_at(o, seen, done, i, false).more);
                }
        }
        ssize_t k = redact_feed(r, s, NULL, 0, true, out + done, n - done);
        must(k >= 0 && done + (size_t)k == n && redact_held(s) == 0);
        free(seen);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        static struct oracle o;
        struct input in = {data, size};
        size_t n_find = REDACT_VALUE_MIN + take(&in) % 24, n = 0;
        unsigned cut = take(&in), mode = take(&in);
        char find[32], put[32];
        char *text = malloc(TEXT_MAX), *whole = malloc(TEXT_MAX), *expect = malloc(TEXT_MAX), *out = malloc(TEXT_MAX);
        struct redactor *r;
        struct redact_stream *s;
        uint64_t found[2] = {};

        for (size_t i = 0; i < n_find; i++) {
                find[i] = (char)take(&in);
                put[i] = other(find[i], mode + (unsigned)i);
        }
        struct redact_pair pairs[2] = {{find, put, n_find}, {find + mode / 2 % 3, put + mode / 2 % 3, REDACT_VALUE_MIN}};
        size_t n_pairs = mode & 1 && n_find >= REDACT_VALUE_MIN + 2 ? 2 : 1;
        while (in.n > 0 && n < TEXT_MAX) {
                unsigned c = take(&in);
                if (c >= 0xf8)
                        emit_form(&pairs[c % n_pairs], &in, text, &n);
                else
                        text[n++] = (char)c;
        }
        size_t size_r = redact_size(pairs, n_pairs);
        void *memory = malloc(size_r), *stream = NULL;
        must(text && whole && expect && out && memory && size_r > 0 && size_r <= REDACT_MEMORY_MAX);
        if (redact_init(memory, size_r, pairs, n_pairs, &r) < 0)
                goto out;
        size_t size_s = redact_stream_size(r);
        stream = malloc(size_s);
        must(stream && size_s <= REDACT_STREAM_MAX && redact_begin(r, stream, size_s, &s) == 0);

        memcpy(whole, text, n);
        memcpy(expect, text, n);
        redact_text(r, s, whole, n);
        oracle_init(&o, pairs, n_pairs);
        oracle_text(&o, expect, n, found);
        must(memcmp(whole, expect, n) == 0);
        for (size_t i = 0; i < n_pairs; i++)
                must(redact_found(s, i) == found[i]);
        must(found[0] + found[1] > 0 || memcmp(whole, text, n) == 0);
        must(redact_begin(r, stream, size_s, &s) == 0);
        in_pieces(&o, n_pairs, r, s, text, n, cut, out);
        must(memcmp(out, whole, n) == 0);
        for (size_t i = 0; i < n_pairs; i++)
                must(redact_found(s, i) == found[i]);
out:
        free(text);
        free(whole);
        free(expect);
        free(out);
        free(memory);
        free(stream);
        return 0;
}
