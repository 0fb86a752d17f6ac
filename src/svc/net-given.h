/* The URLs that a run was given (model/provenance.h), and what each origin was told: memory that all its brokers share, made by
 * the command line and handed on, so that it outlives each of them and every change of the policy. The gate does not have it.
 *
 * Kept are keyed hashes of marks. Each has a price: the bits of the sandbox's own choosing that its giver had been told when it
 * gave it, any of which the URL may carry on. What the user and the policy give is free; what an origin gives costs nothing
 * where it goes back to that origin, which knows it already. So what is sent anywhere else than it was given to is charged
 * wherever it comes through: by an echo, by what is stored and read again, or by a chain of both.
 *
 * When it is full, nothing is forgotten, and nothing more is taken: what is not known is refused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define GIVEN_MAX 65536u /* marks and origins; about a third as many URLs */

struct given;

/* A memfd with a key of its own. */
int given_make(void) _must_check_;
int given_map(int fd, struct given **ret) _must_check_;
void given_unmap(struct given *g);
bool given_full(const struct given *g);

/* The user or the policy gives a URL or the beginning of one (its text). */
void given_add(struct given *g, const char *url, size_t n);
/* `by` (its text) gives it: a response of it, or a request to it that was paid for. */
void given_add_by(struct given *g, const char *url, size_t n, const char *by, size_t n_by);
/* What asking for it would tell its origin, in bits; 0: it was given. */
uint64_t given_price(const struct given *g, const char *url, size_t n);
/* How much of its beginning was given for nothing. */
size_t given_reach(const struct given *g, const char *url, size_t n);
/* The origin of the URL is told so many bits. */
void given_tell(struct given *g, const char *url, size_t n, uint64_t bits);
