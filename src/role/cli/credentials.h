/* The secrets of one run as its guard has them: their values in locked memory, from before the start until the run or the secret
 * ends, and the placeholders that stand for them inside. Nobody else has a value but the broker of that secret. */
#pragma once

#include "base/error.h"
#include "model/plan.h"
#include "role/cli/net-log.h"
#include "svc/vault.h"

struct credentials {
        size_t n;
        struct vault_text values[SECRETS_MAX]; /* of plan->network.secrets, in their order; empty once a secret is over */
        char *placeholders[SECRETS_MAX];
        uint32_t ended[SECRETS_MAX]; /* enum secret_end */
};
void credentials_clear(struct credentials *c);
#define _cleanup_credentials_ _cleanup_(credentials_clear)

/* Reads the sources, makes placeholders, and puts these into the plan's environment. Where a value would come to stand in the
 * command's own words or variables, the run is refused. base_dir: relative paths of sources begin there. */
int credentials_read(struct plan *p, const char *base_dir, struct credentials *ret, struct error *e) _must_check_;
/* What the broker of this identity is started with (svc/net-secret.h): the reading end of a pipe. */
int credentials_pipe(const struct plan *p, const struct credentials *c, uint32_t identity) _must_check_;
/* A secret is over. */
void credentials_end(struct credentials *c, uint32_t identity, uint32_t why);
/* At the end of the run: a line for each secret, what it could do and what it did. */
void credentials_report(const struct plan *p, const struct credentials *c, const struct net_log *l);
