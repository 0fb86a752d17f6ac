/* Belljar's own store of secrets: one file, $XDG_DATA_HOME/belljar/secrets, in which each secret is sealed by itself. Used by
 * `belljar secret` alone, which is belljar-tool's: it links libsodium.
 *
 * The file is text, a record a line, the numbers in hexadecimal where nothing else is said:
 *   belljar-secrets 1
 *   key given                            made with a key that was there; or
 *   key argon2id13 OPS KIB SALT          made of a passphrase (OPS and KIB in decimal)
 *   check NONCE BOX                      nothing, sealed: whether a key is this store's; the line above is bound to it
 *   secret NAME TIME NONCE BOX KIND      TIME in decimal, seconds since 1970; KIND is the rest of the line, "-" where unknown
 * A BOX is XChaCha20-Poly1305 with a random nonce; the first line, NAME, TIME and KIND are bound to a secret's, so that none can
 * be put in another's place. What an older copy of the file held can be put back by whoever can write it. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "svc/vault.h"

#define STORE_SECRETS_MAX 256u
#define STORE_PASSPHRASE_MIN 8u
#define STORE_PASSPHRASE_MAX 1024u
#define STORE_KEY_KEPT 3600u /* s that the key of a passphrase stays in the user's keyring, from when it was typed */
#define STORE_KEY_SIZE 32u
#define STORE_NONCE_SIZE 24u
#define STORE_TAG_SIZE 16u
#define STORE_SALT_SIZE 16u
#define STORE_KIND_KEY "private key" /* the kind of one of several lines (secret_key_check), and of no other */

struct store_secret {
        char *name;
        char *kind;    /* NULL: unknown */
        uint64_t time; /* when it was set, s since 1970 */
        uint8_t nonce[STORE_NONCE_SIZE];
        uint8_t *box;
        size_t n_box;
};

struct secret_store {
        int dir;         /* -1: there is none yet */
        char *path;      /* of the file, for messages and for `inspect` */
        bool exists;
        bool passphrase; /* the key is made of one: */
        unsigned long long ops, kib;
        uint8_t salt[STORE_SALT_SIZE];
        uint8_t check_nonce[STORE_NONCE_SIZE], check_box[STORE_TAG_SIZE];
        struct store_secret *secrets; /* by name */
        size_t n;
        struct vault_text key; /* once it is unlocked */
};
void secret_store_close(struct secret_store *s);
#define _cleanup_secret_store_ _cleanup_(secret_store_close)

/* Reads the file, which need not exist. -EBADMSG for one that is damaged, -EACCES for one that others can read or write. */
int secret_store_open(struct secret_store *ret, struct error *e) _must_check_;

/* Where a passphrase comes from. again: a new one, to be typed twice; attempt: 0, 1, 2. A negative errno ends it. */
typedef int (*store_ask_fn)(bool again, unsigned attempt, void *data, struct vault_text *ret, struct error *e);
/* Finds the key: $CREDENTIALS_DIRECTORY/belljar.key (systemd.exec(5), LoadCredential=), else "belljar:store" of the user's
 * keyring, else what the keyring has kept of this store's passphrase, else the passphrase, which is asked for. A store that does
 * not exist gets its key this way. attempts: how many times `ask` may be asked. */
int secret_store_unlock(struct secret_store *s, store_ask_fn ask, unsigned attempts, void *data, struct error *e) _must_check_;

/* The keyring no longer keeps the key of the passphrase. What opened it already is not ended. */
int secret_store_forget(const struct secret_store *s, struct error *e) _must_check_;

bool secret_store_has(const struct secret_store *s, const char *name);
/* The one of this name is a private key. What is said here of one that was changed holds no longer than until it is opened. */
bool secret_store_has_key(const struct secret_store *s, const char *name);
/* Both: of an unlocked one, else -ENOKEY. */
int secret_store_get(const struct secret_store *s, const char *name, struct vault_text *ret, struct error *e) _must_check_;
/* Adds or replaces. Takes the lock, reads again what others have changed meanwhile, writes whole, durably. */
int secret_store_set(struct secret_store *s, const char *name, const char *kind, const struct vault_text *value, struct error *e) _must_check_;
/* All of them or none; -ENOENT names the first that is not there. */
int secret_store_remove(struct secret_store *s, char *const *names, size_t n, struct error *e) _must_check_;
