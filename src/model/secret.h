/* The secrets of a run as its policy describes them: where each comes from, where it is put in on its way out, and for how
 * long. Never their values. Pure: no I/O. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macros.h"

#define SECRETS_MAX 15u          /* of one run: each has a broker of its own (NET_BROKERS_MAX, which has one without any) */
#define SECRET_NAME_MAX 64u      /* bytes: [A-Za-z0-9_-] */
#define SECRET_VALUE_MIN 8u      /* bytes of a value: anything shorter would be found everywhere */
#define SECRET_VALUE_MAX 4096u

enum secret_source {
        SECRET_ENV,     /* env:NAME, of the caller's environment */
        SECRET_FILE,    /* file:PATH, without the newline at its end */
        SECRET_COMMAND, /* command:WORDS, what it prints, likewise */
        SECRET_KEYRING, /* keyring:DESCRIPTION, a "user" key of the kernel's session or user keyring */
        SECRET_STORE,   /* store:NAME, of belljar secret */
};

enum secret_place {
        SECRET_ANY_FIELD, /* wherever the value of a header field has the placeholder, also within Basic */
        SECRET_HEADER,    /* a header field, whether the request has it or not */
        SECRET_BASIC,     /* Authorization: Basic, likewise */
        SECRET_QUERY,     /* a key of the query, likewise */
};

struct secret {
        char *name;
        enum secret_source source;
        char *from;      /* what stands behind the colon */
        enum secret_place place;
        char *header;    /* SECRET_HEADER: the field's name, lower case */
        char *before, *after; /* and what stands around the secret in its value */
        char *user;      /* SECRET_BASIC */
        char *query;     /* SECRET_QUERY: the key */
        char *variable;  /* that has the placeholder inside; NULL: none */
        uint64_t ttl;    /* ms, from the start of the run; 0: as long as it runs */
        uint64_t uses;   /* requests that may carry it; 0: any number */
        unsigned line, column; /* of the policy; 0: of the command line */
};

void secret_clear(struct secret *s);

/* "env:NAME" and its like: source and from. */
int secret_parse_source(const char *text, struct secret *s, struct error *e) _must_check_;
/* "env", "file", ... */
const char *secret_source_name(enum secret_source s);
