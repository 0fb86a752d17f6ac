/* assess: whatever it is given is refused with a reason, or judged with lines that the text has and words that cannot
 * steer a terminal. */
#include <stdlib.h>
#include <string.h>

#include "model/assess-internal.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        _cleanup_assessment_ struct assessment *a = NULL;
        struct error e = {};
        unsigned lines = 1;
        int r = assess_read((const char *)data, size, "file", &a, &e);

        if (r < 0) {
                must(!a && e.msg[0]);
                must(r == -EINVAL || r == -E2BIG || r == -ENOMEM);
                return 0;
        }
        for (size_t i = 0; i < size; i++)
                lines += data[i] == '\n';
        for (size_t i = 0; i < RULE_N; i++)
                for (size_t k = 0; k < a->findings[i].places.n; k++)
                        must(a->findings[i].places.items[k].line >= 1 && a->findings[i].places.items[k].line <= lines);
        _cleanup_free_ char *text = assess_text(a, "file", false), *json = assess_json(a, "file");
        must(text && json);
        for (const char *p = text; *p; p++)
                must(((unsigned char)*p >= 0x20 && *p != 0x7f) || *p == '\n');
        return 0;
}
