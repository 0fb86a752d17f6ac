/* A secret that is a token made for the run: whom it is asked of and what it may do, as the policy says it (`oauth2` and
 * `github_app` of a secret). What its `from` names is then the long-term credential that the token is asked with. Pure. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/str.h"
#include "proto/json.h"

#define MINT_URL_MAX 1024u         /* bytes */
#define MINT_REPOSITORIES_MAX 50u
#define MINT_PERMISSIONS_MAX 32u
#define MINT_GITHUB_API "https://api.github.com"

enum mint_kind { MINT_OAUTH2, MINT_GITHUB_APP };

struct mint {
        enum mint_kind kind;
        char *url;                 /* the token endpoint, or the API's root; https */
        char *host;                /* of it, canonical; for people */
        /* OAuth 2 */
        char *revoke_url;          /* NULL: its tokens cannot be revoked */
        char *client_id, *scope, *audience;
        char *client_source;       /* of the client secret beside a refresh token: "env:NAME"; NULL: none */
        bool refresh;              /* grant: refresh_token */
        bool in_body;              /* auth: body */
        /* A GitHub App */
        char *app_id, *installation_id;
        struct strlist repositories; /* names, without their owner */
        struct strlist permissions;  /* "contents=read" */
        bool derived;                /* they are what the rules need, and not the policy's words */
};
void mint_free(struct mint *m);

struct network;
/* What a rule with this secret lets pass decides which permissions an App's token needs, where the policy names none
 * (docs/credentials.md, "Minted tokens"). */
int mint_derive(struct mint *m, const struct network *n, const char *secret, struct error *e) _must_check_;
/* Of all secrets of the network. */
int mint_derive_all(const struct network *n, struct error *e) _must_check_;

/* One value of its keys; leaf: the key's name. Messages carry no position. */
int mint_set(struct mint *m, const char *leaf, const char *text, struct error *e) _must_check_;
int mint_add_repository(struct mint *m, const char *name, struct error *e) _must_check_;
int mint_add_permission(struct mint *m, const char *name, const char *level, struct error *e) _must_check_;
/* All that it needs is there. */
int mint_check(const struct mint *m, struct error *e) _must_check_;

const char *mint_kind_name(enum mint_kind k); /* "oauth2" */
void mint_text(struct strbuf *b, const struct mint *m);
/* The keys oauth2 and github_app; m may be NULL. */
void mint_json(struct json *j, const struct mint *m);
