/* Secrets that requests are signed with (AWS Signature Version 4, sigv4.h): the secret key is the secret of that name, its access
 * key id and its session token are two more of the run's secrets ("NAME.key", "NAME.session"), which no rule can name: each has
 * a source and a placeholder of its own, and goes with the secret key to its broker. What a policy says of them, and what the
 * broker decides on it. Pure: no I/O. */
#pragma once

#include "base/str.h"
#include "model/secret.h"
#include "model/sigv4.h"

#define SIGV4_LIST_MAX 32u /* services, or regions, that a policy names */

enum secret_part {
        PART_SECRET,  /* the secret key itself */
        PART_KEY,     /* the access key id */
        PART_SESSION, /* the session token of temporary ones */
        PART_N,
};

struct secret_sigv4 {
        enum secret_part part;
        char *whole;              /* of a part: the name of the secret that it is of */
        char *services, *regions; /* with commas between; NULL: what the host says */
        bool temporary;           /* there is a session token */
        bool mint;                /* requests that are answered with new credentials */
        bool copy;                /* requests that name another object to copy from */
};
void secret_sigv4_free(struct secret_sigv4 *s);

/* Makes it one that is signed with; its parts are added by secret_sigv4_add_part. */
int secret_set_sigv4(struct secret *s, struct error *e) _must_check_;
int secret_sigv4_add_service(struct secret *s, const char *name, struct error *e) _must_check_;
int secret_sigv4_add_region(struct secret *s, const char *name, struct error *e) _must_check_;
/* "mint", "copy". */
int secret_sigv4_add_allow(struct secret *s, const char *word, struct error *e) _must_check_;
/* Adds a part from a source, or, of a key id, as the id itself; ttl and place are the secret's of that name. */
int secret_sigv4_add_part(struct secret **secrets, size_t *n, const char *name, enum secret_part part, const char *from, struct error *e) _must_check_;

/* The index of that part of the secret; SIZE_MAX: it has none. */
size_t secret_sigv4_part(const struct secret *secrets, size_t n, const char *name, enum secret_part part);
/* True: s is a part of the secret of that name. */
bool secret_is_part_of(const struct secret *s, const char *name);
const char *secret_sigv4_variable(const struct secret *s);
void secret_sigv4_text(struct strbuf *b, const struct secret *s);
void secret_sigv4_json(struct json *j, const struct secret *s);

/* Whether a request to this host may be signed for that service and region, by the lists ("" each: there is none), or by the
 * host's name where it is one of amazonaws.com; others are whatever the request says. */
bool sigv4_scope_fits(struct request_text host, struct request_text service, struct request_text region, const char *services,
                      const char *regions, const char **ret_reason) _must_check_;
/* Whether a request is answered with new credentials, as far as can be seen; *ret_reason says so. target: what x-amz-target has;
 * body: where it was read (else n 0), and whether its type says that it is a form. Of the services where this is what requests
 * are for, also one of which it cannot be said. */
bool sigv4_mints(const struct request *r, struct request_text service, struct request_text target, struct request_text body, bool is_form,
                 const char **ret_reason);
