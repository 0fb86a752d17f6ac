/* Git over ssh and signatures, as a policy has them: what a run may ask the host's ssh and ssh-keygen for (docs/credentials.md). The
 * words of a call are the sandbox's: everything about them is decided here. Pure: no I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "proto/json.h"

#define GIT_HOSTS_MAX 16u
#define GIT_REPOSITORIES_MAX 64u  /* of one host */
#define GIT_REPOSITORY_MAX 512u   /* bytes of a repository's path */
#define GIT_TEXT_MAX 4096u        /* bytes of any other text */
#define GIT_OBJECT_MAX (1u << 20) /* bytes of a commit or tag that is signed */

enum git_key_source { GIT_KEY_AGENT, GIT_KEY_FILE, GIT_KEY_STORE };
struct git_key {
        enum git_key_source source;
        char *path;       /* GIT_KEY_FILE: as written, until the run is prepared */
        char *name;       /* GIT_KEY_STORE: of belljar secret */
        char *public_key; /* one line, as in authorized_keys; NULL: none was written */
};

struct git_host {
        char *host, *user; /* canonical name; NULL user: not written */
        uint16_t port;
        struct strlist repositories; /* patterns: segments in which * is any bytes; without ".git" */
        bool write;
        struct git_key key;
        char *known_hosts; /* a file; NULL: the user's own, until the run is prepared */
        bool known_hosts_own;
        unsigned line, column;
};

struct git_sign {
        bool on, commits, tags;
        struct git_key key;
        char *as; /* "NAME <MAIL>" or "<MAIL>" of committer or tagger; NULL: any */
        unsigned line, column;
};

struct git_policy {
        struct git_host *hosts;
        size_t n_hosts;
        struct git_sign sign;
};
void git_clear(struct git_policy *g);
void git_host_clear(struct git_host *h);

/* Parts of an entry, for the reader. Messages begin with the value and carry no position. */
int git_set_key(struct git_key *k, const char *text, struct error *e) _must_check_;
int git_set_public_key(struct git_key *k, const char *text, struct error *e) _must_check_;
int git_set_user(struct git_host *h, const char *text, struct error *e) _must_check_;
int git_add_repository(struct git_host *h, const char *pattern, struct error *e) _must_check_;
int git_set_as(struct git_sign *s, const char *text, struct error *e) _must_check_;
/* A path, or any text without control characters. */
int git_set_text(char **field, const char *text, struct error *e) _must_check_;

/* For people: a line each. NULL: no memory. */
char *git_host_text(const struct git_host *h);
char *git_sign_text(const struct git_sign *s);
void git_json(struct json *j, const struct git_policy *g);

/* What a run of ssh is asked for. */
enum git_service { GIT_UPLOAD_PACK, GIT_RECEIVE_PACK, GIT_UPLOAD_ARCHIVE };
struct git_ask {
        size_t host;                         /* index of the entry that allows it */
        enum git_service service;
        bool protocol;                       /* newer than the first: SendEnv=GIT_PROTOCOL */
        char repository[GIT_REPOSITORY_MAX]; /* normalised, for people */
        char command[GIT_REPOSITORY_MAX + 64]; /* made anew of the checked parts */
        char subject[GIT_REPOSITORY_MAX + 320];              /* host and repository, for reports; also of a refusal, as far as it was read */
};
const char *git_service_name(enum git_service s);
/* The words of ssh as git gives them. -EPERM with the reason, and as the fix what would allow it, where no entry allows it; ret->subject
 * is set in any case. */
int git_ssh_read(const struct git_policy *g, const char *const *argv, size_t argc, struct git_ask *ret, struct error *e) _must_check_;

/* The words of ssh-keygen as git gives them. */
enum git_keygen { GIT_KEYGEN_SIGN, GIT_KEYGEN_VERIFY /* any call that needs no key */ };
struct git_keygen_ask {
        enum git_keygen what;
        const char *buffer; /* GIT_KEYGEN_SIGN: the file that is to be signed */
};
int git_keygen_read(const char *const *argv, size_t argc, struct git_keygen_ask *ret, struct error *e) _must_check_;
/* Whether this is a commit (or a tag) such as git makes it, and the policy lets it be signed. *ret_tag: which it is. -EPERM with the
 * reason. */
int git_object_read(const struct git_sign *s, const char *text, size_t n, bool *ret_tag, struct error *e) _must_check_;
