/* The key that trails are signed with: one a user, made with the first run. Who can read the user's files can sign as well; it
 * binds a trail to this user and host, and tells a reader elsewhere that nobody between has changed it.
 *
 *   STATE/trail.key    Ed25519, libsodium's form: seed and public key, 64 bytes, 0600
 *   STATE/trail.pub    the public key in hexadecimal, for others
 *
 * or $CREDENTIALS_DIRECTORY/belljar.trail (systemd), the same 64 bytes. */
#pragma once

#include "base/error.h"
#include "model/trail.h"
#include "svc/vault.h"

enum { TRAIL_KEY_SIZE = 64 };

/* root: the state directory. Makes the key where there is none and `create` is set; -ENOENT. Returns a descriptor. */
int trail_key_open(int root, bool create, int *ret, struct error *e) _must_check_;
/* Its content, from a descriptor of trail_key_open. */
int trail_key_read(int fd, struct vault_text *ret, struct error *e) _must_check_;
/* Its public half. */
const uint8_t *trail_key_public(const struct vault_text *key);

/* For struct trail, and struct trail_check: key is the secret key's 64 bytes, or the public one's 32. */
trail_sign trail_key_sign;
trail_signed trail_key_signed;
