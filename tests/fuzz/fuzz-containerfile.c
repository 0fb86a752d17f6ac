/* The images of a Containerfile: whatever the text, the names are within their bounds, none twice, none a stage's, and the same
 * text gives the same names. */
#include <stdlib.h>
#include <string.h>

#include "model/containerfile.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        static char *given[] = {(char *)"V=12", (char *)"LONG=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL};
        const struct strlist args = {.items = given, .n = 2};
        struct strlist a = {}, b = {};
        struct error e = {};
        const char *target = size > 0 && data[0] & 1 ? "one" : NULL;
        int r = containerfile_images((const char *)data, size, &args, target, &a, &e);

        must(r == 0 || (r < 0 && e.errnum == -r && e.msg[0] && a.n == 0));
        must(a.n <= CONTAINERFILE_IMAGES_MAX);
        for (size_t i = 0; i < a.n; i++) {
                must(a.items[i][0] && strlen(a.items[i]) <= CONTAINERFILE_NAME_MAX);
                for (size_t k = 0; k < i; k++)
                        must(strcmp(a.items[i], a.items[k]) != 0);
        }
        must(containerfile_images((const char *)data, size, &args, target, &b, &e) == r && a.n == b.n);
        strlist_clear(&a);
        strlist_clear(&b);
        return 0;
}
