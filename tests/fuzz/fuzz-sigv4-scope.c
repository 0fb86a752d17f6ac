/* What may be signed: lines are a host, a service, a region, a target, an x-amz-target; what follows is a body. Lists that name what
 * is asked for let it, and no others; an action of STS that hands credentials out is seen wherever it stands. */
#include <stdlib.h>
#include <string.h>

#include "model/canonical.h"
#include "model/secret-sigv4.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static struct request_text take_line(struct request_text *rest) {
        const char *end = rest->n > 0 ? memchr(rest->p, '\n', rest->n) : NULL;
        struct request_text line = {rest->p, end ? (size_t)(end - rest->p) : rest->n};

        rest->p += line.n + (end != NULL);
        rest->n -= line.n + (end != NULL);
        return line;
}

static void scope(struct request_text host, struct request_text service, struct request_text region) {
        char list[256];
        const char *why = NULL;

        (void)!sigv4_scope_fits(host, service, region, "", "", &why);
        must(why);
        if (service.n == 0 || service.n > 200 || memchr(service.p, ',', service.n) || memchr(service.p, 0, service.n))
                return;
        memcpy(list, service.p, service.n);
        list[service.n] = 0;
        must(sigv4_scope_fits(host, service, region, list, list, &why) == (region.n == service.n && memcmp(region.p, service.p, region.n) == 0));
        list[service.n - 1] ^= 1;
        if (list[service.n - 1] != ',' && list[service.n - 1] != 0)
                must(!sigv4_scope_fits(host, service, region, list, "", &why));
}

static void actions(const struct request *r, struct request_text service, struct request_text target, struct request_text body) {
        static char more[65536];
        static const char pair[] = "&Action=AssumeRole";
        const char *why = NULL;

        for (int form = 0; form < 2; form++) {
                bool mints = sigv4_mints(r, service, target, body, form, &why);
                must(mints == (why != NULL));
        }
        if (body.n + sizeof(pair) > sizeof(more))
                return;
        if (body.n > 0)
                memcpy(more, body.p, body.n);
        memcpy(more + body.n, pair, sizeof(pair) - 1);
        must(sigv4_mints(r, service, target, (struct request_text){more, body.n + sizeof(pair) - 1}, true, &why));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        static char buf[REQUEST_TARGET_MAX];
        static struct request r;
        char *exact = malloc(size + 1); /* so that reading beyond is seen */

        must(exact);
        if (size > 0)
                memcpy(exact, data, size);
        struct request_text rest = {exact, size}, host = take_line(&rest), service = take_line(&rest), region = take_line(&rest), path = take_line(&rest),
                            target = take_line(&rest);
        scope(host, service, region);
        if (canonical_target(path.p, path.n, buf, sizeof(buf), &r, NULL) == 0)
                actions(&r, service, target, rest);
        free(exact);
        return 0;
}
