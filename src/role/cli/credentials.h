/* The secrets of one run as its guard has them: their values in locked memory, from before the start until the run or the secret
 * ends, and the placeholders that stand for them inside. Nobody else has a value but the broker of that secret. */
#pragma once

#include "base/error.h"
#include "model/plan.h"
#include "role/cli/minted.h"
#include "role/cli/net-log.h"
#include "svc/vault.h"

struct credentials {
        size_t n;
        struct vault_text values[SECRETS_MAX]; /* of plan->network.secrets, in their order; empty once a secret is over */
        char *placeholders[SECRETS_MAX];
        uint32_t ended[SECRETS_MAX]; /* enum secret_end */
        const struct secret *secrets;  /* the plan's */
        struct minted minted[SECRETS_MAX];
        char *covers[SECRETS_MAX]; /* what stands for a renewed value in answers; NULL: its placeholder */
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
/* The user's own words would carry it inside: -EPERM. */
int credentials_check_words(const struct plan *p, const struct secret *s, const struct vault_text *value, struct error *e) _must_check_;

/* Minted tokens while the run goes on: where to wait for their providers (at most SECRETS_MAX; returns how many), what comes there, and
 * until when (ms, monotonic; UINT64_MAX: for ever). A bit of what is returned: the secret of that identity has a new value. */
size_t credentials_poll(const struct credentials *c, struct pollfd *p);
uint64_t credentials_due(const struct credentials *c);
uint32_t credentials_work(struct credentials *c);
/* Has what was minted revoked, within a few seconds. */
void credentials_finish(struct credentials *c);
/* In a fork, which has nothing to do with them. */
void credentials_forget(struct credentials *c);
/* At the end of the run: a line for each secret, what it could do and what it did. */
void credentials_report(const struct plan *p, const struct credentials *c, const struct net_log *l);
