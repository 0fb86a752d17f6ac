/* The scanner of responses: the same in pieces as in one; what it finds is bounded; and what a reference means is the text of a
 * URL that means itself. */
#include <stdlib.h>
#include <string.h>

#include "model/provenance.h"
#include "proto/url-scan.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static const char base[] = "https://a.test:8443/b/c?d=e";

struct sum {
        uint64_t hash;
        size_t n;
        bool resolves;
};

static void resolved(const char *text, size_t n) {
        static const struct provenance_key key = {{1, 2}};
        struct provenance_mark marks[PROVENANCE_MARKS_MAX];
        char url[PROVENANCE_TEXT_MAX], again[PROVENANCE_TEXT_MAX];

        ssize_t k = provenance_resolve(base, sizeof(base) - 1, text, n, url, sizeof(url));
        if (k < 0)
                return;
        must((size_t)k <= sizeof(url) && memchr(url, 0, (size_t)k) == NULL && memchr(url, ' ', (size_t)k) == NULL);
        ssize_t m = provenance_resolve(base, sizeof(base) - 1, url, (size_t)k, again, sizeof(again));
        must(m == k && memcmp(url, again, (size_t)k) == 0);
        size_t count = provenance_marks(&key, url, (size_t)k, marks);
        must(count >= 2 && count <= PROVENANCE_MARKS_MAX && marks[count - 1].whole && marks[count - 1].at == (size_t)k);
        for (size_t i = 1; i < count; i++)
                must(marks[i].at >= marks[i - 1].at && marks[i].at <= (size_t)k);
}

static void found(void *arg, const char *text, size_t n) {
        struct sum *s = arg;

        must(n > 0 && n <= URL_SCAN_MAX);
        for (size_t i = 0; i < n; i++) {
                must((unsigned char)text[i] > ' ' && text[i] != '"' && text[i] != '<' && text[i] != '>');
                s->hash = (s->hash ^ (unsigned char)text[i]) * 1099511628211u;
        }
        s->hash = (s->hash ^ 256) * 1099511628211u;
        s->n++;
        if (s->resolves)
                resolved(text, n);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        static struct url_scan s;
        struct sum whole = {.resolves = true}, pieces = {};
        size_t step = size > 0 ? 1 + data[0] % 7 : 1;

        url_scan_text(&s, (const char *)data, size, found, &whole);
        url_scan_begin(&s, found, &pieces);
        for (size_t i = 0; i < size; i += step)
                url_scan_read(&s, (const char *)data + i, size - i < step ? size - i : step);
        url_scan_end(&s);
        must(pieces.n == whole.n && pieces.hash == whole.hash);
        must(whole.n <= 2 * size);
        return 0;
}
