/* Reads URLs for tests/integration/canonical-differential: one a line of standard input; for each a line "ok HOST PORT
 * TARGET", separated by tabs, or "refused" and the reason. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/canonical.h"

int main(void) {
        static char buf[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX], target[REQUEST_TARGET_MAX];
        static struct request r;
        char *line = NULL;
        size_t size = 0;

        for (ssize_t n; (n = getline(&line, &size, stdin)) > 0;) {
                const char *why = NULL;
                n -= line[n - 1] == '\n';
                if (canonical_url(line, (size_t)n, buf, sizeof(buf), &r, &why) < 0) {
                        printf("refused\t%s\n", why);
                        continue;
                }
                ssize_t length = canonical_write_target(&r, target, sizeof(target));
                if (length < 0)
                        return 1;
                printf("ok\t%.*s\t%" PRIu16 "\t%.*s\n", (int)r.host.n, r.host.p, r.port, (int)length, target);
        }
        free(line);
        return ferror(stdin) || fflush(stdout) != 0;
}
