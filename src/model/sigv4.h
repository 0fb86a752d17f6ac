/* AWS Signature Version 4 (AWS4-HMAC-SHA256, in the Authorization field): what a client has signed with a placeholder is read,
 * and the request that goes out is signed with the real key. Pure, allocates nothing; called by the broker, which holds the
 * keys: all that they can be told from stands in struct sigv4_work, whose place is the caller's.
 *
 * The facts are those of "Create a signed AWS API request" (AWS IAM user guide) and "Authenticating Requests" (S3's API
 * reference); where they leave something open it is as botocore has it, with which tests/integration/sigv4-botocore compares.
 *
 * The reasons are as those of canonical.h: static texts, one line, never with a part of a key. */
#pragma once

#include <sys/types.h>

#include "base/hmac.h"
#include "base/macros.h"
#include "model/request.h"

#define SIGV4_TIME 16u        /* bytes of "20150830T123600Z" */
#define SIGV4_NAME_MAX 64u    /* of a region, of a service */
#define SIGV4_ACCESS_MAX 128u /* of an access key id */
#define SIGV4_SECRET_MAX 256u /* of a secret key (they have 40) */
#define SIGV4_TOKEN_MAX 4096u /* of a session token */
#define SIGV4_FIELDS_MAX 64u  /* fields that are signed, and names in a SignedHeaders */
#define SIGV4_FIELD_NAME_MAX 128u
/* An Authorization is never longer. */
#define SIGV4_AUTHORIZATION_MAX (256 + SIGV4_ACCESS_MAX + 2 * SIGV4_NAME_MAX + (SIGV4_FIELDS_MAX + 1) * (SIGV4_FIELD_NAME_MAX + 1))

/* The value of an Authorization field. */
struct sigv4_authorization {
        struct request_text access, date, region, service; /* date: "20150830" */
        struct request_text name[SIGV4_FIELDS_MAX];        /* of the signed fields: lower case, ascending, "host" among them */
        size_t n_names;
        struct request_text signature; /* 64 digits */
};
/* Reads one strictly: the parts in their usual order, a comma and at most one blank between them. What *ret points to lies in s.
 * -EINVAL; -E2BIG: beyond a limit. */
int sigv4_read(const char *s, size_t n, struct sigv4_authorization *ret, const char **ret_reason) _must_check_;

/* True where a request has its credential in the query (a presigned URL, of this version or the one before). */
bool sigv4_in_query(const struct request *r);

/* Services whose paths are encoded once in what is signed: S3 and its like. All others have them encoded twice. */
bool sigv4_encodes_once(struct request_text service);

/* The target as a signed request must be sent: path and query with everything encoded but letters, digits and "-._~". Servers
 * encode the path as it came, so that canonical_write_target's spelling of "$" and others would not have the signature that
 * clients give it. Returns the length; -ENOBUFS, never with 3 * REQUEST_TARGET_MAX. */
ssize_t sigv4_write_target(const struct request *r, char *buf, size_t size) _must_check_;

struct sigv4_field {
        struct request_text name, value; /* the name in lower case */
};
struct sigv4_request {
        const struct request *request;   /* method, path, query */
        /* Those to be signed, as they are sent, in any order; of one name in the order in which they are sent. "host" and
         * "x-amz-date" have to be among them; "authorization" and "x-amz-security-token" must not. */
        const struct sigv4_field *field;
        size_t n_fields;
        struct request_text payload;     /* the body's SHA-256, 64 lower-case digits, or UNSIGNED-PAYLOAD or STREAMING-UNSIGNED-PAYLOAD-TRAILER */
        struct request_text time;        /* what x-amz-date has */
        struct request_text region, service;
        bool once;                       /* sigv4_encodes_once */
};
struct sigv4_credentials {
        struct request_text access, secret;
        struct request_text token; /* of temporary ones: sent as x-amz-security-token, which is signed too. n 0: none */
};
struct sigv4_work {
        struct hmac_sha256 mac;
        struct sha256_state hash;
        char secret[4 + SIGV4_SECRET_MAX];
        uint8_t key[SHA256_SIZE];
};
/* Writes the value of the Authorization field, and a NUL. Wipes *work, in every case. Returns the length.
 *   -EINVAL   a part is not as it has to be
 *   -E2BIG    one is beyond its limit
 *   -ENOBUFS  never with SIGV4_AUTHORIZATION_MAX */
ssize_t sigv4_sign(const struct sigv4_request *q, const struct sigv4_credentials *c, struct sigv4_work *work, char *buf, size_t size,
                   const char **ret_reason) _must_check_;
