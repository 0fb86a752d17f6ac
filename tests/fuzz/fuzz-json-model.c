/* A body's model, in pieces of any size, against a reader that knows the whole: jansson, which refuses a key that stands twice. What is
 * taken here is taken there, and says the same. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "proto/json-model.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static int read_in(struct json_model *m, const char *p, size_t n, size_t piece) {
        json_model_begin(m);
        for (size_t i = 0; i < n; i += piece)
                if (json_model_read(m, p + i, MIN(piece, n - i)) < 0)
                        break;
        return json_model_end(m);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        static struct json_model whole, parts;
        const char *text = (const char *)data + 1;

        if (size < 1)
                return 0;
        int r = read_in(&whole, text, size - 1, size), k = read_in(&parts, text, size - 1, 1 + data[0] % 31u);
        must(r == k && whole.why == parts.why && whole.n_name == parts.n_name && memcmp(whole.name, parts.name, whole.n_name) == 0);
        if (r < 0) {
                must(whole.why);
                return 0;
        }
        /* Texts that jansson does not take for reasons of its own (an escaped NUL, half of a surrogate pair, a number beyond its range) say
         * nothing here. */
        json_t *j = json_loadb(text, size - 1, JSON_ALLOW_NUL, NULL);
        if (j) {
                const char *model = json_string_value(json_object_get(j, "model"));
                must(json_is_object(j) && !model == !whole.found);
                must(!model || (strlen(model) == whole.n_name && memcmp(model, whole.name, whole.n_name) == 0));
                json_decref(j);
        }
        return 0;
}
