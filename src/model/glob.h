/* Patterns that name paths to hide. Pure; called by the policy reader (checks) and by the walk that hides.
 *
 * A pattern is a path whose segments may hold * (any run of characters), ? (one character), [a-z] and [!a-z]; the
 * segment ** stands for zero or more segments, so that a/ ** (without the blank) names a and everything below it. A
 * backslash takes the meaning from the character after it. Matching is case-sensitive, and a leading dot is a
 * character like any other. "." segments and doubled or trailing slashes do not count. A character is a UTF-8 sequence
 * or, where a name is not UTF-8, a byte.
 *
 * What other tools give a meaning that is missing here is an error and not a pattern that never matches: {a,b}, a
 * leading !, [:alpha:], ** within a segment, ".." in a pattern with wildcards. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

#define GLOB_MAX 4096u              /* bytes of a pattern */
#define GLOBSET_SEGMENTS_MAX 65536u /* of all patterns of a set together */

/* 0, or -EINVAL, -E2BIG with a sentence in *ret_why (static text), which may be NULL. */
int glob_check(const char *pattern, const char **ret_why) _must_check_;
/* True when a checked pattern has no wildcard: it names one path (glob_unescape gives it). */
bool glob_is_literal(const char *pattern);
/* True when it starts with / or ~, and so is not meant beneath the workspace. */
bool glob_is_absolute(const char *pattern);
/* The pattern without the backslashes that escape. NULL when memory is out. */
char *glob_unescape(const char *pattern);
/* The pattern that names this path alone. NULL when memory is out. */
char *glob_escape(const char *path);
/* Splits a checked pattern into the directory that its leading literal segments name (unescaped; "." or "/" when there
 * are none) and the rest, a pattern beneath that directory that points into `pattern`; "" for a literal one. -ENOMEM. */
int glob_split(const char *pattern, char **ret_base, const char **ret_rest) _must_check_;

/* True when a checked pattern names the path. Both are absolute or both are relative, or it is false. Takes time in
 * proportion to the product of both lengths at worst. */
bool glob_match(const char *pattern, const char *path);

/* Many patterns, matched name by name while a walk descends. A state says how far each pattern has come in a
 * directory; it is globset_words() words that the caller allocates, one a level. */
struct globset;
int globset_new(struct globset **ret) _must_check_;
void globset_free(struct globset *g);
static inline void globset_freep(struct globset **g) { globset_free(*g); }
#define _cleanup_globset_ _cleanup_(globset_freep)

/* Adds a pattern that is relative to the walk's root; numbers are given from 0 in order. What glob_check refuses
 * is refused here too, and so is a leading /; a leading ! is not, since the rest that glob_split gives may have one.
 * Not after globset_start. -EINVAL, -E2BIG, -ENOMEM. */
int globset_add(struct globset *g, const char *pattern) _must_check_;
size_t globset_words(const struct globset *g);

enum {
        GLOBSET_MATCH = 1, /* a pattern names this path */
        GLOBSET_BELOW = 2, /* a pattern can still name something beneath it */
};
/* The state in the walk's root; returns GLOBSET_BELOW or 0. */
unsigned globset_start(const struct globset *g, uint64_t *ret_state);
/* From a directory's state to that of the entry `name` in it. ret_pattern, which may be NULL, gets the number of the
 * first pattern that names it, and is left as it is without GLOBSET_MATCH. The states must not overlap. */
unsigned globset_step(const struct globset *g, const uint64_t *state, const char *name, uint64_t *ret_state,
                      size_t *ret_pattern);
