/* Tokens that are minted for a run (model/mint.h), as its guard has them: each with a process that asks its provider
 * (svc/provider.h). What the policy's source names, the long-term credential, goes to that process and is kept nowhere else; the
 * token is from then on the secret's value. */
#pragma once

#include <poll.h>

#include "base/error.h"
#include "model/plan.h"
#include "svc/provider.h"

enum minted_state {
        MINTED_NONE,    /* the secret is borrowed: what its source names is what is sent */
        MINTED_LIVES,
        MINTED_ENDING,  /* its provider was told to revoke it */
        MINTED_REVOKED,
        MINTED_LEFT,    /* it could not be revoked: why */
};

struct minted {
        enum minted_state state;
        struct provider provider;
        bool asked;             /* an order is under way */
        bool then_revoke;       /* and after it the token is to be revoked */
        uint64_t renew_at;      /* ms, monotonic: when another is asked for; 0: never */
        uint64_t again;         /* ms: how long it waited after the last time that it could not be renewed */
        uint64_t give_up_at;    /* ms: when an answer is not waited for any longer */
        int64_t expires;        /* s since the epoch; 0: the provider did not say */
        unsigned renewed;       /* how often */
        bool failing;           /* the last renewal did, and it was said */
        char host[256];
        char why[300];
};

/* *value is the long-term credential, and becomes the token; client_secret is used up, where there is one. */
int minted_get(const struct secret *s, const struct plan *p, struct vault_text *value, struct vault_text *client_secret, struct minted *ret, struct error *e)
        _must_check_;
/* Has its provider revoke it; the answer comes later. */
void minted_revoke(struct minted *m);
/* The fd to wait at, or -1: for answers, and for its end; what came there. true: *value is a new token. */
int minted_fd(const struct minted *m);
bool minted_ready(struct minted *m, const struct secret *s, struct vault_text *value);
/* ms, monotonic: when minted_tick is to be called; UINT64_MAX: not. */
uint64_t minted_due(const struct minted *m);
void minted_tick(struct minted *m, const struct secret *s);
/* At the end: all n are revoked, within a few seconds, and their processes are ended. */
void minted_finish(struct minted *m, size_t n, const struct secret *s);
/* "minted, revoked at api.example.com" */
void minted_text(const struct minted *m, char *dst, size_t size);
