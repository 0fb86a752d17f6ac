/* Attributes and small helpers that every layer uses. libc only. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _must_check_ __attribute__((warn_unused_result))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _noreturn_ __attribute__((noreturn))

#define ELEMENTSOF(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Hands the value over to the caller and leaves the variable empty, so that its cleanup does nothing. */
#define TAKE_PTR(p) ({ __typeof__(p) *_pp = &(p); __typeof__(p) _v = *_pp; *_pp = NULL; _v; })
#define TAKE_FD(fd) ({ int *_pf = &(fd); int _f = *_pf; *_pf = -EBADF; _f; })

static inline void freep(void *p) { free(*(void **)p); }
#define _cleanup_free_ _cleanup_(freep)
