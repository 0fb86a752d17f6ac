/* What a run is given from the start of URLs that rules with provenance let pass: those of the policy and of --given, and those
 * that stand in the command's own words. They stay given whatever policy comes later. */
#include <string.h>

#include "base/fd.h"
#include "model/provenance.h"
#include "proto/url-scan.h"
#include "role/cli/prepare.h"
#include "svc/net-given.h"

static void found(void *arg, const char *text, size_t n) {
        struct given *g = (struct given *)arg;
        char url[PROVENANCE_TEXT_MAX];
        ssize_t k = provenance_resolve(NULL, 0, text, n, url, sizeof(url)); /* whole ones only */

        if (k > 0)
                given_add(g, url, (size_t)k);
}

int prepare_given(const struct policy *policy, char **argv, size_t argc) {
        _cleanup_free_ struct url_scan *scan = (struct url_scan *)malloc(sizeof(*scan));
        _cleanup_fd_ int fd = given_make();
        struct given *g;
        int r = !scan ? -ENOMEM : fd < 0 ? fd : given_map(fd, &g);

        if (r < 0)
                return r;
        for (size_t i = 0; i < policy->network.given.n; i++)
                given_add(g, policy->network.given.items[i], strlen(policy->network.given.items[i]));
        for (size_t i = 0; i < argc; i++)
                url_scan_text(scan, argv[i], strlen(argv[i]), found, g);
        given_unmap(g);
        return TAKE_FD(fd);
}
