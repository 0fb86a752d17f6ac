/* Hunks of any diff on any text: no hunk gives the old text, and what is given is made of whole lines of both. Input: the text, a
 * NUL, the diff. */
#include <stdlib.h>
#include <string.h>

#include "model/hunks.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        const unsigned char *nul = size ? memchr(data, 0, size) : NULL;
        if (!nul)
                return 0;
        const char *old = (const char *)data, *diff = (const char *)nul + 1;
        size_t old_n = (size_t)(nul - data), n = size - old_n - 1, hunks_n = 0;
        struct hunk *hunks = NULL;
        if (hunks_parse(diff, n, &hunks, &hunks_n) < 0)
                return 0;
        bool *take = calloc(hunks_n + 1, sizeof(*take));
        for (int pass = 0; take && pass < 2; pass++) {
                struct strbuf out = {};
                for (size_t i = 0; i < hunks_n; i++)
                        take[i] = pass && i % 2 == 0;
                if (hunks_apply(old, old_n, diff, hunks, hunks_n, take, &out) == 0 && !pass && (out.len != old_n || (old_n && memcmp(out.data, old, old_n) != 0)))
                        abort();
                if (out.len > old_n + n)
                        abort();
                strbuf_clear(&out);
        }
        free(take);
        free(hunks);
        return 0;
}
