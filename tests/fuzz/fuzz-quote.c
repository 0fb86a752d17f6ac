/* Quoted names: any name comes back whole, its quoted form is one honest line, and whatever the reader accepts is a
 * name that comes back too. */
#include <stdlib.h>
#include <string.h>

#include "proto/quote.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static void round_trip(const char *name) {
        struct strbuf b = {};
        char *back = NULL;

        quote_name(&b, "", name);
        char *q = strbuf_take(&b);
        if (!q)
                return;
        for (const char *p = q; *p; p++)
                must((unsigned char)*p >= 0x20 && *p != 0x7f);
        must(quote_parse(q, &back) == 0);
        must(streq(back, name));
        /* in a terminal it shows as it is: only quotes and backslashes are its own */
        if (!quote_needed(name))
                must(streq(q, name));
        free(back);
        free(q);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        char *name = strndup((const char *)data, size), *parsed = NULL;

        if (!name)
                return 0;
        round_trip(name);
        if (quote_parse(name, &parsed) == 0) {
                round_trip(parsed);
                free(parsed);
        }
        free(name);
        return 0;
}
