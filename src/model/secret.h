/* The secrets of a run as its policy describes them: where each comes from, where it is put in on its way out, and for how
 * long. Never their values. Pure: no I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macros.h"
#include "proto/json.h"

#define SECRETS_MAX 15u          /* of one run: each has a broker of its own (NET_BROKERS_MAX, which has one without any) */
#define SECRET_NAME_MAX 64u      /* bytes: [A-Za-z0-9_-] */
#define SECRET_TEXT_MAX 1024u    /* bytes of what a source is called, or stands around a secret */
#define SECRET_VALUE_MIN 8u      /* bytes of a value: anything shorter would be found everywhere */
#define SECRET_VALUE_MAX 4096u
#define SECRET_KEY_MAX 16384u    /* of a private key, in PEM form, which never leaves this host */

enum secret_source {
        SECRET_ENV,     /* env:NAME, of the caller's environment */
        SECRET_FILE,    /* file:PATH, without the newline at its end */
        SECRET_COMMAND, /* command:WORDS, what it prints, likewise */
        SECRET_KEYRING, /* keyring:DESCRIPTION, a "user" key of the kernel's session or user keyring */
        SECRET_STORE,   /* store:NAME, of belljar secret */
        SECRET_LITERAL, /* what the policy has, of what is no secret by itself: an access key id */
};

enum secret_place {
        SECRET_ANY_FIELD, /* wherever the value of a header field has the placeholder, also within Basic */
        SECRET_HEADER,    /* a header field, whether the request has it or not */
        SECRET_BASIC,     /* Authorization: Basic, likewise */
        SECRET_QUERY,     /* a key of the query, likewise */
        SECRET_BODY,      /* a field of the body, where its whole value is the placeholder */
        SECRET_SIGV4,     /* nowhere: requests that a client has signed with its placeholder are signed with it (secret-sigv4.h) */
        SECRET_PART,      /* nowhere by itself: of a SECRET_SIGV4 */
};

struct mint;

struct secret {
        char *name;
        enum secret_source source;
        char *from;      /* what stands behind the colon */
        enum secret_place place;
        char *header;    /* SECRET_HEADER: the field's name, lower case */
        char *before, *after; /* and what stands around the secret in its value */
        char *user;      /* SECRET_BASIC */
        char *query;     /* SECRET_QUERY: the key */
        char *body;      /* SECRET_BODY: a key of a form, or keys of JSON with a dot between each two */
        struct secret_sigv4 *sigv4; /* SECRET_SIGV4, SECRET_PART */
        char *variable;  /* that has the placeholder inside; NULL: the one that it comes from, unless it is minted */
        uint64_t ttl;    /* ms, from the start of the run; 0: as long as it runs */
        uint64_t uses;   /* requests that may carry it; 0: any number */
        bool is_key;     /* what `from` names is a private key, and no value that is sent */
        struct mint *mint; /* a token that is asked for with what `from` names; NULL: that is the secret itself */
        struct strlist addresses; /* that are not public and that its provider may have nevertheless */
        unsigned line, column; /* of the policy; 0: of the command line */
};

void secret_clear(struct secret *s);

bool secret_name_good(const char *name);
bool secret_variable_good(const char *name);
/* "env:NAME" and its like: source and from. */
int secret_parse_source(const char *text, struct secret *s, struct error *e) _must_check_;
/* The places: "NAME: before {} after"; a user; a key; keys. */
int secret_set_header(struct secret *s, const char *text, struct error *e) _must_check_;
int secret_set_basic(struct secret *s, const char *user, struct error *e) _must_check_;
int secret_set_query(struct secret *s, const char *query, struct error *e) _must_check_;
int secret_set_body(struct secret *s, const char *path, struct error *e) _must_check_;
/* The variable that has its placeholder inside; NULL: none. */
const char *secret_variable(const struct secret *s);
/* For people: where it comes from, where it goes, how long; a line. NULL: no memory. */
char *secret_text(const struct secret *s);
void secret_json(struct json *j, const struct secret *s);
/* Its index; SIZE_MAX: there is none of that name. */
size_t secret_find(const struct secret *secrets, size_t n, const char *name);
/* The one of that name, which is new where there was none; NULL: an error. */
struct secret *secret_add(struct secret **secrets, size_t *n, const char *name, struct error *e) _must_check_;
/* "env", "file", ... */
const char *secret_source_name(enum secret_source s);
