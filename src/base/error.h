/* The error that model, svc and roles fill: fixed size, allocated by the caller, so that it works without memory
 * and after a fork. One line says what is wrong, a second what the user can do about it. base, sys and proto
 * return a negative errno only. */
#pragma once

#include "base/macros.h"

struct error {
        int errnum;     /* positive errno; 0: no error */
        char msg[512];  /* what is wrong, without a newline */
        char fix[512];  /* what to do; may be empty */
};

/* Fills *e (which may be NULL) and returns -errnum. An errnum of 0 counts as EINVAL. */
int error_set(struct error *e, int errnum, const char *fmt, ...) _printf_(3, 4);
/* As error_set, and appends ": " and the errno's text. */
int error_errno(struct error *e, int errnum, const char *fmt, ...) _printf_(3, 4);
/* Adds the fix to an error that is already set; returns -e->errnum (-EINVAL when e is NULL). */
int error_fix(struct error *e, const char *fmt, ...) _printf_(2, 3);
/* Prints "belljar: MSG" and, where there is one, "  fix: FIX" to stderr, control characters shown as \xHH. */
void error_print(const struct error *e);
