/* Placeholders of any value, and any header field: the first byte chooses a prefix (so that no file of the corpus looks like a
 * token), the second how many random bytes there are; what follows is the value, and behind a NUL a field's name. A placeholder
 * is of its value's length, classes and kind; never the value; and is the same from the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "model/placeholder.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static unsigned class_of(char c) {
        if (c >= '0' && c <= '9')
                return 1;
        if (c >= 'a' && c <= 'z')
                return 2;
        return c >= 'A' && c <= 'Z' ? 3 : 4 + (unsigned char)c;
}

static void make(const char *value, size_t n, size_t n_random) {
        uint8_t random[PLACEHOLDER_RANDOM(SECRET_VALUE_MAX)];
        char ret[SECRET_VALUE_MAX + 1] = {1}, again[SECRET_VALUE_MAX + 1];
        struct error e = {};

        for (size_t i = 0; i < n_random; i++)
                random[i] = (uint8_t)((i * 2654435761u) >> 7);
        int r = placeholder_make(value, n, random, n_random, ret, &e);
        if (r < 0) {
                must((r == -EINVAL || r == -ENOBUFS) && e.msg[0] && ret[0] == 1);
                return;
        }
        const struct secret_kind *k = secret_kind_of(value, n);
        must(n >= SECRET_VALUE_MIN && n <= SECRET_VALUE_MAX && ret[n] == 0 && memcmp(ret, value, n) != 0);
        for (size_t i = 0; i < n; i++)
                must(class_of(ret[i]) == class_of(value[i]));
        must(!k || (secret_kind_of(ret, n) == k && strncmp(ret, k->prefix, strlen(k->prefix)) == 0));
        must(!k || secret_foreign("x", value, n));
        must(placeholder_make(value, n, random, n_random, again, NULL) == 0 && memcmp(ret, again, n + 1) == 0);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        static const char *const prefixes[] = {"", "ghp_", "npm_", "sk-ant-api03-", "sk-", "glpat-", "AKIA", "eyJ", "xoxb-", "SG.", "github_pat_", "hf_", "Basic ", "Bearer "};
        char value[2 * SECRET_VALUE_MAX], name[64] = "";

        if (size < 2 || size > SECRET_VALUE_MAX + 64)
                return 0;
        const char *prefix = prefixes[data[0] % (sizeof(prefixes) / sizeof(*prefixes))];
        size_t n = strlen(prefix), rest = size - 2;
        const unsigned char *nul = memchr(data + 2, 0, rest);
        memcpy(value, prefix, n);
        if (nul && rest - (size_t)(nul - data - 2) - 1 < sizeof(name)) {
                memcpy(name, nul + 1, rest - (size_t)(nul - data - 2) - 1);
                rest = (size_t)(nul - data - 2);
        }
        memcpy(value + n, data + 2, rest);
        n += rest;
        /* Where what is read beyond its end is seen. */
        char *exact = memcpy(malloc(n + 1), value, n);
        size_t enough = PLACEHOLDER_RANDOM(n < SECRET_VALUE_MAX ? n : SECRET_VALUE_MAX);
        make(exact, n, data[1] > 250 ? (size_t)data[1] - 251 : enough);
        bool foreign = secret_foreign(name, exact, n);
        must(!foreign || n > 0);
        must(secret_foreign("Authorization", exact, n) || !secret_kind_of(exact, n));
        free(exact);
        return 0;
}
