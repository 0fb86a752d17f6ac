/* The process that asks the provider of one credential, and nobody else (role/provider, the program belljar-provider): how it is
 * started, what it is told, and what it says. It gets one job, with the credential, in a pipe at its start, and then orders over a
 * socket, one at a time; it does what its order says and answers each. In the host's network namespace, confined like a broker. It
 * ends when the other end of the socket is closed or its parent ends.
 *
 * Another kind of job: a value of enum provider_kind; in role/provider a file with a function of type provider_do, and a line in
 * the table of main.c. What it needs of the policy goes in as texts (enum provider_text), what comes of it back as the status, the
 * texts and the value of struct provider_reply; whoever reads that takes it for what a stranger says. libc only. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/plan.h"
#include "model/scope.h"
#include "svc/vault.h"

#define PROVIDER_JOB_BYTES 65536u  /* what a pipe holds */
#define PROVIDER_VALUE_MAX 4096u   /* bytes that come back as one value; see model/secret.h */
#define PROVIDER_MINT_MS 35000     /* an order may take; the provider gives up before (PROVIDER_ASK_MS) */
#define PROVIDER_ASK_MS 30000
#define PROVIDER_REVOKE_MS 5000

enum provider_kind {
        PROVIDER_OAUTH2,     /* URL, REVOKE_URL, CLIENT_ID, SCOPE, AUDIENCE, CREDENTIAL, CLIENT_SECRET, REFRESH, IN_BODY */
        PROVIDER_GITHUB_APP, /* URL, APP_ID, INSTALLATION, REPOSITORIES, PERMISSIONS, CREDENTIAL */
        PROVIDER_SCOPES,     /* what the credential may do (model/scope.h): URL is the host, SCOPE the enum scope_kind; what is signed with
                                has CLIENT_ID as its access key id, CLIENT_SECRET as its session token. Nothing is minted */
        PROVIDER_KINDS,
};

/* Texts of a job; those that it has no use for are empty. */
enum provider_text {
        PROVIDER_URL, PROVIDER_REVOKE_URL, PROVIDER_CLIENT_ID, PROVIDER_SCOPE, PROVIDER_AUDIENCE, PROVIDER_APP_ID, PROVIDER_INSTALLATION,
        PROVIDER_REPOSITORIES, /* separated by blanks, as all lists are */
        PROVIDER_PERMISSIONS,
        PROVIDER_ADDRESSES,    /* ranges that the provider may be in beside public ones */
        PROVIDER_REFRESH,      /* "1": the credential is a refresh token */
        PROVIDER_IN_BODY,      /* "1": the client secret goes in the body */
        PROVIDER_CREDENTIAL,   /* the long-term one */
        PROVIDER_CLIENT_SECRET,
        PROVIDER_TEXTS,
};

struct provider_job {
        enum provider_kind kind;
        const char *text[PROVIDER_TEXTS]; /* NULL: empty */
};

enum provider_order {
        PROVIDER_DO,     /* mint a token, or whatever the job is */
        PROVIDER_REVOKE, /* every token that was minted and not revoked yet */
};

struct provider_reply {
        uint32_t order;  /* that this answers */
        int32_t errnum;  /* positive; 0: it is done */
        int32_t status;  /* of HTTP; 0: it did not come to that */
        int64_t seconds; /* a token is good for; 0: not known */
        char host[256];  /* that was asked */
        char why[300];   /* errnum: one line */
        char value[PROVIDER_VALUE_MAX + 1];
        char next[PROVIDER_VALUE_MAX + 1]; /* a refresh token that takes the place of the credential; "" none */
        struct scope_answer scopes; /* PROVIDER_SCOPES; for scope_answer_good before anything else */
};

/* File descriptors of the program. */
enum {
        PROVIDER_FD_CONTROL = 3,
        PROVIDER_FD_JOB,
        PROVIDER_FD_N,
        PROVIDER_FD_TRUST = PROVIDER_FD_N, /* see BROKER_FD_TRUST (proto/net-msg.h) */
};

struct provider {
        pid_t pid; /* 0: none */
        int pidfd, fd;
        enum provider_order order; /* the last one */
        struct vault_text reply; /* the last one, a struct provider_reply */
};
#define PROVIDER_NONE (struct provider){.pidfd = -1, .fd = -1}

/* plan: whose ids it gets where it is root that starts it; NULL: nobody's. */
int provider_start(const struct provider_job *job, const struct plan *plan, struct provider *ret, struct error *e) _must_check_;
int provider_send(struct provider *p, enum provider_order order) _must_check_;
/* The answer to the last order, which is in p until the next; see provider_reply_check. Waits so long (ms; 0: what is there).
 * -EAGAIN: nothing yet; -ETIMEDOUT; -ECONNRESET: it has ended; -EBADMSG: it says what it never says. */
int provider_receive(struct provider *p, int timeout_ms, const struct provider_reply **ret) _must_check_;
/* Both; *e is filled where it failed, also by the provider's own words. */
int provider_ask(struct provider *p, enum provider_order order, int timeout_ms, const struct provider_reply **ret, struct error *e) _must_check_;
/* Ends it, at once. */
void provider_end(struct provider *p);
/* Only what a fork has of it. */
void provider_forget(struct provider *p);

/* The line for what provider_receive failed with. */
const char *provider_why(int r);

/* A message of n bytes, as it came: its texts are made to end, and to have nothing that a terminal obeys. -EBADMSG: it is no answer to
 * that order, or has a value that no secret has. */
int provider_reply_check(struct provider_reply *a, size_t n, enum provider_order order) _must_check_;

/* Memory for a reply, and where it lies in it. */
int provider_reply_alloc(struct vault_text *memory, struct error *e) _must_check_;
struct provider_reply *provider_reply_in(const struct vault_text *memory);

/* The other end: the job from the pipe. Texts are in *memory. */
int provider_job_read(int fd, struct vault_text *memory, struct provider_job *ret, struct error *e) _must_check_;
