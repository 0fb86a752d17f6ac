/* The private keys of the store that a run's calls use (git_ssh and sign of model/git.h). They are read before the run starts, when
 * somebody may be asked for the store's passphrase, and stay in the command line's locked memory. A courier is a fork, which has
 * nothing of that memory: each gets them in pipes, and leaves the one that it needs to the process that becomes ssh. */
#pragma once

#include "model/plan.h"
#include "svc/vault.h"

#define CALL_KEYS_MAX (GIT_HOSTS_MAX + 1)

struct call_keys {
        struct {
                const char *name; /* the policy's */
                uint32_t of;      /* a set of enum calls_revoked: what uses it and goes on */
                struct vault_text text;
        } key[CALL_KEYS_MAX];
        size_t n;
};
void call_keys_clear(struct call_keys *k);

/* Each of them once. The plan's environment and command must not have one. */
int call_keys_read(struct plan *p, struct call_keys *ret, struct error *e) _must_check_;
/* What is revoked needs none any more. */
void call_keys_revoke(struct call_keys *k, uint32_t which);

/* For a courier that is forked next: the read ends of pipes that have them; -1: it is not there any more, or the host gives no
 * pipe. The caller closes them in both processes. */
void call_keys_open(const struct call_keys *k, int ret[CALL_KEYS_MAX]);
void call_keys_close(int fds[CALL_KEYS_MAX]);
/* That of a name among these; -1: none. */
int call_keys_find(const struct call_keys *k, const int fds[CALL_KEYS_MAX], const char *name);
