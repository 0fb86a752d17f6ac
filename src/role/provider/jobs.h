/* The jobs of a provider, one file each, and the table in main.c. */
#pragma once

#include "svc/provider.h"

/* Does what the order says, and fills *reply: order and errnum are the caller's. An error's text is one line, which begins with
 * what the host did ("api.example.com answered 401"), and quotes nothing of the credential. */
typedef int provider_do(const struct provider_job *job, enum provider_order order, struct provider_reply *reply, struct error *e);
provider_do oauth2_do, github_do, scopes_do;

/* Tokens that were minted and may have to be revoked (tokens.c). */
#define TOKENS_MAX 8u /* renewals leave the one before; what has expired is forgotten */
int tokens_keep(const char *token, int64_t seconds) _must_check_;
/* The next one; NULL: none is left. It stays until tokens_drop, which overwrites it. */
const char *tokens_first(void);
void tokens_drop(void);

/* What a provider answered that is none that was hoped for: "HOST answered 401 (invalid_client)". The provider's own word is left out
 * where it has a piece of something that this process keeps. */
struct client_answer;
int answered_badly(const struct provider_job *job, const char *host, const struct client_answer *a, struct error *e);
