/* Where the requests of a rule go in place of its host (`to:`), and which models they may name (`models:`); docs/policy.md,
 * "Model routes". Pure. */
#pragma once

#include "base/error.h"
#include "model/network.h"
#include "model/request.h"

#define NETWORK_MODELS_MAX 64u   /* patterns of a rule */
#define NETWORK_MODEL_BYTES 200u /* of a pattern */
#define NETWORK_ORIGIN_BYTES 300u /* of `to` */

/* An origin, "http://127.0.0.1:11434" or "https://NAME[:PORT]", without a path. Fills host, is_address, address, port and tls;
 * host points into buf. On failure *ret_why is a static text. */
int network_origin_read(const char *text, struct request *ret, char buf[REQUEST_HOST_MAX + 1], const char **ret_why) _must_check_;

int network_set_to(struct network_rule *r, const char *text, struct error *e) _must_check_;
int network_add_model(struct network_rule *r, const char *pattern, struct error *e) _must_check_;
/* What `to` and `models` have to be to the rule's other parts, of an allow that reads. */
int network_check_route(const struct network_rule *r, unsigned written, struct error *e) _must_check_;

/* Whether the two send what both let pass to different places. */
static inline bool network_routes_differ(const struct network_rule *a, const struct network_rule *b) {
        return a->to && b->to ? !streq(a->to, b->to) : a->to || b->to;
}
