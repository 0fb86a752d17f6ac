/* The jobs of a provider, one file each, and the table in main.c. */
#pragma once

#include "svc/provider.h"

/* What a job is to do: an order of the guard's, or PROVIDER_DO taken back where it came to nothing. */
enum provider_step { STEP_DO, STEP_REVOKE, STEP_REVOKE_NEW };

/* Does what the step says, and fills *reply: order and errnum are the caller's. An error's text is one line, which begins with
 * what the host did ("api.example.com answered 401"), and quotes nothing of the credential. */
typedef int provider_do(const struct provider_job *job, enum provider_step step, struct provider_reply *reply, struct error *e);
provider_do oauth2_do, github_do, scopes_do;

/* Tokens that were minted and may have to be revoked (tokens.c). */
#define TOKENS_MAX 8u /* renewals leave the one before; what has expired is forgotten */
int tokens_keep(const char *token, int64_t seconds) _must_check_;
/* A refresh token that took the place of the job's credential, or "": TOKENS_REFRESH bytes, whoever asks with it writes it there. */
#define TOKENS_REFRESH (PROVIDER_VALUE_MAX + 1)
char *tokens_refresh(void);
/* From here on what is kept is new. */
void tokens_mark(void);
/* The oldest one (only_new: that is new); NULL: none is left. It stays until tokens_drop, which overwrites it. */
const char *tokens_next(bool only_new);
void tokens_drop(void);
/* -EPERM: the provider gave what it was asked with, which nobody else is to see. */
int token_refused(const struct provider_job *job, const char *token, struct error *e) _must_check_;

/* What a provider answered that is none that was hoped for: "HOST answered 401 (invalid_client)". The provider's own word is left out
 * where it has a piece of something that this process keeps. */
struct client_answer;
int answered_badly(const struct provider_job *job, const char *host, const struct client_answer *a, struct error *e);
/* Likewise an answer that is refused, whose names are the provider's. */
int answer_refused(const struct provider_job *job, const char *host, const struct error *why, struct error *e);
