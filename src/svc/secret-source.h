/* The values of a run's secrets, from where its policy says that they are (model/secret.h), into locked memory (vault.h) and
 * nowhere else. Called by the command line before it starts anything of a run. libc only: part of the small start program. */
#pragma once

#include "base/error.h"
#include "model/secret.h"
#include "svc/vault.h"

#define SECRET_COMMAND_TIME 30000 /* ms that a command: may take */
#define SECRET_STORE_TIME 120000  /* ms for store:, where a person may have to type a passphrase */

#define SECRET_REFUSED_STATUS 3 /* of `belljar secret give`: what it printed is no value, but why there is none, and a line of what to do */

/* The values of n secrets: ret[i] that of s[i], each SECRET_VALUE_MIN to SECRET_VALUE_MAX bytes of printable ASCII, without a
 * blank at either end. All or none: the first that cannot be had is an error that names it and its source, never a value.
 *
 * Then no value stands in this process's environment any more: each variable that an env: names, and any other whose text has
 * one of the values, is overwritten where it stands (so that /proc/PID/environ, which anyone of this user may read, and every
 * later fork and program are without it) and unset. After the last read, not the first: two secrets may be of one variable, and
 * a command: may need it to log in. Relative paths of file: begin at base_dir (NULL: the current directory). */
int secret_sources_read(const struct secret *s, size_t n, const char *base_dir, struct vault_text *ret, struct error *e) _must_check_;
/* One of them, likewise. */
int secret_source_read(const struct secret *s, const char *base_dir, struct vault_text *ret, struct error *e) _must_check_;

/* The parts of it that `belljar secret` needs as well. what: begins the error's text. */
/* A value is such as is said above. */
int secret_value_check(const char *what, const struct vault_text *v, struct error *e) _must_check_;
/* It begins as PEM does. */
bool secret_is_pem(const struct vault_text *v);
/* The same of one that is a key (model/secret.h, is_key): a private key in PEM form, lines of printable ASCII. */
int secret_key_check(const char *what, const struct vault_text *v, struct error *e) _must_check_;
/* A file's text without a newline at its end: a regular file that only its owner can read, unless that is root. -EFBIG beyond
 * max bytes. */
int secret_file_read(const char *what, const char *path, size_t max, struct vault_text *ret, struct error *e) _must_check_;
