/* What a credential may do, as its provider tells it, against what a policy's rules need of it: `belljar secret test`. Which
 * request a provider is asked by, how its answer becomes a list of scopes, and which of them no rule needs. The facts are those
 * of the providers' public documentation. Pure: the request is made, and the answer read, by the confined process that has the
 * credential (svc/scope-job.h); the command line only ever sees struct scope_answer, which is of fixed size.
 *
 * An answer is a server's word. A text of it is as long as its field at most, and as it came: whoever prints it makes it
 * visible (str_visible). */
#pragma once

#include "model/network.h"
#include "model/request.h"

enum scope_kind {
        SCOPE_UNKNOWN,
        SCOPE_GITHUB,
        SCOPE_GITHUB_APP, /* a token of an installation */
        SCOPE_GITLAB,
        SCOPE_NPM,
        SCOPE_PYPI,       /* read from the token itself */
        SCOPE_AWS,        /* signed with, never sent */
        SCOPE_OPENAI,
        SCOPE_OPENAI_ADMIN,
        SCOPE_ANTHROPIC,
        SCOPE_ANTHROPIC_ADMIN,
        SCOPE_ANTHROPIC_OAUTH,
        SCOPE_GOOGLE_KEY,
        SCOPE_SLACK,
        SCOPE_HUGGING_FACE,
        SCOPE_DIGITALOCEAN,
        SCOPE_JWT,        /* read from the token itself */
        SCOPE_KIND_N,
};

enum scope_access {
        SCOPE_READ = 1,
        SCOPE_WRITE,
        SCOPE_ADMIN, /* of what others may do: keys, members, settings */
};

#define SCOPE_NAME 128u
#define SCOPE_TEXT 256u
#define SCOPE_GRANTS_MAX 96u
#define SCOPE_NOTES_MAX 8u
#define SCOPE_QUESTIONS_MAX 2u
#define SCOPE_FIELDS_MAX 4u

enum scope_state {
        SCOPE_GOOD = 1,    /* it is taken */
        SCOPE_REFUSED,     /* it is not: expired, revoked, or never issued */
        SCOPE_UNCLEAR,     /* the answer is none that is documented; why says what it was */
};

struct scope_grant {
        char name[SCOPE_NAME]; /* in the provider's words */
        uint32_t access;       /* enum scope_access */
        uint32_t guessed;      /* a name that is in no table here: its access is taken from its words */
};

/* Of fixed size, without pointers: it crosses from the process that read the answer. Texts end with NUL. */
struct scope_answer {
        uint32_t kind, state, status;
        uint32_t complete;     /* the grants are all that it may do; 0: the provider does not tell */
        int64_t expires;       /* s since 1970; 0: not told; -1: told that it never does */
        char who[SCOPE_TEXT];  /* "the user octocat"; "" */
        char why[SCOPE_TEXT];  /* of SCOPE_REFUSED and SCOPE_UNCLEAR */
        uint32_t n_grants, n_notes, more; /* more: grants that found no room */
        struct scope_grant grants[SCOPE_GRANTS_MAX];
        char notes[SCOPE_NOTES_MAX][SCOPE_TEXT];
};
/* What came from another process: ends and numbers are within bounds. */
bool scope_answer_good(const struct scope_answer *a);

/* By the value's form; where that says nothing, by the hosts that the rules let it go to. */
enum scope_kind scope_kind_of(const char *value, size_t n, const struct network *net, const char *secret);
/* "GitHub", "npm"; for people. */
const char *scope_provider(enum scope_kind k);
/* The host that is asked where no other is meant, valid until the next call; NULL: nobody is asked (scope_read_local). */
const char *scope_host(enum scope_kind k);
/* The host of the policy's rules for this secret, where none of them is one of the provider's own and they name one: a GitHub
 * Enterprise, a GitLab, a registry of one's own. NULL. */
const char *scope_own_host(enum scope_kind k, const struct network *net, const char *secret);
/* Where what a rule lets pass goes: its host, or in its place that of `to` (with its port); NULL: that is spoken to without TLS. */
const char *scope_rule_host(const struct network_rule *r);
/* The `to` of a rule that lets the secret go where nobody can be asked in TLS; NULL: there is none. */
const char *scope_clear_route(const struct network *net, const char *secret);

struct scope_field {
        const char *name, *value; /* static; "{}" in it is where the credential goes */
};
/* A request that a provider is asked by. Static texts. */
struct scope_question {
        const char *method, *target;
        struct scope_field field[SCOPE_FIELDS_MAX];
        size_t n_fields;
        const char *body;                /* NULL: none */
        const char *service;             /* signed with the credential (sigv4.h), in place of a field with it; NULL: not */
};
/* The i-th of them; false: there is none. The host decides where a provider's own installations have other paths. */
bool scope_ask(enum scope_kind k, const char *host, size_t i, struct scope_question *ret);

struct scope_reply_field {
        struct request_text name, value;
};
struct scope_reply {
        unsigned status;
        const struct scope_reply_field *fields;
        size_t n_fields;
        const char *body;
        size_t n_body;
};
/* Adds what the answer to the i-th question says. value: of the credential itself, where the provider lists several. True: the
 * next question is worth asking. */
bool scope_read(enum scope_kind k, size_t i, const struct scope_reply *r, const char *value, size_t n_value, struct scope_answer *a);
/* What a token says of itself (SCOPE_JWT, SCOPE_PYPI); nothing of it is verified. */
void scope_read_local(enum scope_kind k, const char *value, size_t n, struct scope_answer *a);

/* --- for the files of this part --- */

/* A scope that is known. */
struct scope_row {
        const char *name;
        enum scope_access access;
        const char *means;
        /* Requests that need it, a pattern of a path each, separated by blanks; those that begin with "git:" are for the host
         * without "api." in front. "" : no request that a rule can tell by its path. */
        const char *paths;
        unsigned width; /* how much more than its paths it opens: of two that serve a rule, the one with less is wanted */
#define SCOPE_BESIDE 10u /* the width of one that is of use beside another only */
};
const struct scope_row *scope_rows(enum scope_kind k, size_t *ret_n);
/* NULL: it is in no table. */
const struct scope_row *scope_row_of(enum scope_kind k, const char *name);
/* By the words of a name: "repo.write", "files:read". */
enum scope_access scope_guess(const char *name);

/* access: 0 takes the table's, or a guess. */
void scope_add(struct scope_answer *a, const char *name, size_t n, unsigned access);
void scope_note(struct scope_answer *a, const char *fmt, ...) _printf_(2, 3);
void scope_who(struct scope_answer *a, const char *fmt, ...) _printf_(2, 3);
/* "2026-11-30 20:07:00 UTC", "2026-11-30T20:07:00Z", "2026-11-30", with or without an offset; 0: neither. */
int64_t scope_time(const char *text);
