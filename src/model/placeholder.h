/* What stands in a sandbox for a secret: a text of the secret's own form that is of no use elsewhere. Which kinds of secret
 * are known, and which header fields look as if they carried one. Pure; called by the guard, which makes the placeholders,
 * by the broker, which refuses what a sandbox brings itself, and by whoever names kinds to people.
 *
 * What a placeholder tells of its secret: the kind, the length, where it has upper case, lower case, digits and everything
 * else, and whatever is neither letter nor digit itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macros.h"
#include "model/secret.h"

/* Random bytes that placeholder_make finds enough for a value of n bytes, but once in 2^60: each takes one of them, and less
 * than a tenth are passed over. */
#define PLACEHOLDER_RANDOM(n) (2 * (size_t)(n) + 128)
#define PLACEHOLDER_BITS_MIN 40u /* of randomness in a placeholder: what cannot be guessed within a run's requests */

/* Writes the placeholder of a value, of the same n bytes and a NUL; ret has room for n + 1. The prefix of a known kind, a
 * JWT's header part, a UUID's version and every byte that is no ASCII letter or digit are as the value has them; an upper-case
 * letter, a lower-case letter and a digit become another of their class (of a to f, where the value is hexadecimal). It is
 * never the value. A value is of SECRET_VALUE_MIN to SECRET_VALUE_MAX bytes of printable ASCII, without a blank at its ends.
 *   -EINVAL   it is not, or has too few letters and digits
 *   -ENOBUFS  too few random bytes
 * No error quotes the value. */
int placeholder_make(const char *value, size_t n, const uint8_t *random, size_t n_random, char *ret, struct error *e) _must_check_;

/* A kind of secret, known by its form. */
struct secret_kind {
        const char *name;   /* for people: "GitHub personal access token" */
        const char *prefix;
        const char *found;  /* for people, where one lies about: "a GitHub token". NULL: that is no finding, as with keys for tests */
        const char *hosts;  /* it is for, separated by blanks; "*." begins one for all beneath. NULL: of many, or its own */
        const char *preset; /* of policies/, whose hosts it is for, where hosts is NULL; NULL: none */
        /* How it is usually sent. form: "Authorization: Bearer {}" of SECRET_HEADER, the user of SECRET_BASIC, the key of
         * SECRET_QUERY. NULL, of SECRET_ANY_FIELD: there is no usual way. */
        enum secret_place place;
        const char *form;
};
/* That of a whole value; NULL: none that is known. */
const struct secret_kind *secret_kind_of(const char *value, size_t n);

/* That of what a text begins with, and how many bytes it has. */
const struct secret_kind *secret_kind_at(const char *s, size_t n, size_t *ret_n);

/* True where a header field's value looks like a credential: of an authorization or key field anything that can be one, of
 * any other field a word of a known kind. The name may be of any case; blanks around the value do not count. What the broker
 * puts in itself, and placeholders, are the caller's to take away before. A net, not a wall: a server can take a credential
 * from any place. */
bool secret_foreign(const char *field_name, const char *value, size_t n);
