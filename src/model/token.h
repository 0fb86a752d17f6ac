/* What is said to a provider that makes tokens, and what it answers: bodies of requests (RFC 6749 sections 4.4 and 6, RFC 7009,
 * GitHub's POST /app/installations/ID/access_tokens) and of responses. Pure. Answers are hostile: every text is bounded and
 * looked at before it goes anywhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"
#include "model/secret.h"

#define TOKEN_BODY_MAX (256u << 10) /* bytes of an answer */
#define TOKEN_CODE_MAX 100u         /* bytes of a provider's own word for what went wrong */
#define TOKEN_DEPTH_MAX 16u
#define TOKEN_SECONDS_MAX (10u * 365u * 24u * 3600u)

/* A form (application/x-www-form-urlencoded) is written pair by pair: begins with "" and grows in buf. -ENOBUFS. NULL or "" as the
 * value: the pair is left out. */
int token_form_add(char *buf, size_t size, size_t *n, const char *key, const char *value) _must_check_;
/* One text of a form, or of Basic (RFC 6749 section 2.3.1); returns its length. -ENOBUFS. */
ssize_t token_form_encode(char *buf, size_t size, const char *text) _must_check_;
/* GitHub's: repositories and permissions, separated by blanks ("contents=read issues=write"). The length; -ENOBUFS. */
ssize_t token_github_body(char *buf, size_t size, const char *repositories, const char *permissions) _must_check_;
/* Header and claims of the App's JWT, base64url, with a dot between; the length. now: seconds since the epoch. */
#define TOKEN_JWT_SECONDS 540 /* GitHub takes ten minutes at most; a minute of it is for clocks that are behind */
ssize_t token_jwt_head(char *buf, size_t size, const char *app_id, int64_t now) _must_check_;
/* base64url without padding (RFC 4648 section 5); the length; -ENOBUFS. */
ssize_t token_base64url(char *buf, size_t size, const void *data, size_t n) _must_check_;

struct token_answer {
        char *token;   /* the caller's to free, SECRET_VALUE_MIN to SECRET_VALUE_MAX bytes, printable */
        char *refresh; /* a new refresh token; NULL: the old one is still good */
        int64_t seconds; /* until it expires; 0: the provider does not say */
};
void token_answer_clear(struct token_answer *a);
#define _cleanup_token_ _cleanup_(token_answer_clear)

/* 200 of a token endpoint. scope: what was asked for (NULL: nothing in particular); an answer with more is an error (-EPERM), with
 * *ret filled all the same, so that the token can be revoked. -EBADMSG: it is no such answer. */
int token_oauth2_answer(const char *body, size_t n, const char *scope, struct token_answer *ret, struct error *e) _must_check_;
/* 201 of GitHub; likewise with repositories and permissions. `metadata: read` comes with every token. */
int token_github_answer(const char *body, size_t n, const char *repositories, const char *permissions, int64_t now, struct token_answer *ret,
                        struct error *e) _must_check_;
/* The provider's own words for a failure ("invalid_client"), printable, or "". */
void token_failure(const char *body, size_t n, char ret[TOKEN_CODE_MAX + 1]);
/* "2026-11-30T20:07:00Z": seconds since the epoch. -EINVAL. */
int token_time(const char *text, int64_t *ret) _must_check_;
