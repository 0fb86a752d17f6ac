/* Memory for secrets: pages of their own between two that cannot be touched, never swapped, in no core file, and empty in
 * every child of a fork (the supervisor and the launcher are forks of the command line and must not have them). Only this
 * process reads them, until vault_free, which overwrites them. For secrets alone: each text costs a page and three mappings,
 * and RLIMIT_MEMLOCK counts the page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/macros.h"

#define VAULT_MAX (1u << 20) /* bytes of one text */

/* Copied, it stays one text: whoever frees it, frees it for all. */
struct vault_text {
        char *p;       /* NUL behind the n bytes; NULL: nothing */
        size_t n;
        size_t cap;    /* bytes that p has room for, the NUL not counted: n may be made smaller */
        bool unlocked; /* RLIMIT_MEMLOCK is used up: the page may be swapped; whoever holds secrets says so */
};

/* n bytes of zeros, with a NUL behind them. -ENOMEM; -E2BIG beyond VAULT_MAX; what else the kernel refuses. What cannot be kept
 * out of core files and forks is an error; what cannot be locked is `unlocked`. */
int vault_alloc(size_t n, struct vault_text *ret, struct error *e) _must_check_;
/* Reads to the end of the file or pipe, straight into a vault. -EFBIG where it has more than max bytes, at most VAULT_MAX / 2.
 * Where `ended` (a pidfd, or -1) is readable, what is there by then is all: somebody else may hold the pipe open. -ETIMEDOUT
 * after timeout_ms (-1: never). */
int vault_read(int fd, int ended, size_t max, int timeout_ms, struct vault_text *ret, struct error *e) _must_check_;
/* Overwrites and gives back; an empty one is left alone. */
void vault_free(struct vault_text *t);
#define _cleanup_vault_ _cleanup_(vault_free)
