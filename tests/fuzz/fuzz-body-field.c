/* The field of a body: the same in pieces as in one, the length is kept, nothing but one value changes; and what is taken for JSON
 * is JSON to another reader, to whom the value stands in the field. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "proto/body-field.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static const char find[] = "Qx7-/Zt9", replace[] = "Ab1-/Cd2";
#define N (sizeof(find) - 1)

static struct body_field *begin(enum body_kind kind) {
        struct body_field *b = malloc(body_field_size(N));
        must(b && body_field_begin(b, body_field_size(N), kind, "a.b", find, replace, N) == 0);
        return b;
}

/* Two readers differ in what numbers and halves of characters they have room for. */
static bool excused(const char *text) { return strstr(text, "too big") || strstr(text, "overflow") || strstr(text, "Unicode"); }

static void compare(const struct body_field *b, const char *p, size_t n) {
        json_error_t e;
        json_t *all = json_loadb(p, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);

        must(all || excused(e.text));
        if (all) {
                const char *value = json_string_value(json_object_get(json_object_get(all, "a"), "b"));
                const size_t length = json_string_length(json_object_get(json_object_get(all, "a"), "b"));
                must(b->put == (value && length == N && memcmp(value, find, N) == 0));
        }
        json_decref(all);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        if (size < 2)
                return 0;
        const enum body_kind kind = data[0] % 8 == 0 ? BODY_FORM : BODY_JSON;
        const size_t step = 1 + data[1] % 7, n = size - 2;
        const char *p = (const char *)data + 2;
        struct body_field *b = begin(kind), *c = begin(kind);
        char *one = malloc(n + BODY_FIELD_HELD_MAX), *other = malloc(n + BODY_FIELD_HELD_MAX);
        size_t k = 0, first = 0, end = n;

        must(one && other);
        must(body_field_feed(b, p, n, true, one) == n);
        for (size_t i = 0; i < n; i += step)
                k += body_field_feed(c, p + i, n - i < step ? n - i : step, false, other + k);
        k += body_field_feed(c, p + n, 0, true, other + k);
        must(k == n && memcmp(one, other, n) == 0 && b->put == c->put && b->spoiled == c->spoiled);
        while (first < n && one[first] == p[first])
                first++;
        while (end > first && one[end - 1] == p[end - 1])
                end--;
        must(b->put == (end > first) && end - first <= 6 * N);
        if (kind == BODY_JSON && !b->spoiled)
                compare(b, p, n);
        free(one);
        free(other);
        free(b);
        free(c);
        return 0;
}
