/* Base64 (RFC 4648 section 4), with padding. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

#define BASE64_LENGTH(n) (((n) + 2) / 3 * 4)
/* Writes BASE64_LENGTH(n) characters and no NUL; returns how many. */
size_t base64_encode(const void *data, size_t n, char *ret);
/* Of a digit of either alphabet; -1: it is none. */
int base64_value(char c);
/* As a lax server decodes it: either alphabet (section 5), with or without padding. Returns the bytes. -EINVAL, -ENOBUFS. */
ssize_t base64_decode(const char *s, size_t n, char *ret, size_t size) _must_check_;
/* As PEM has it (RFC 7468): the first alphabet, over lines, to the padding, behind which nothing counts. Likewise. */
ssize_t base64_decode_lines(const char *s, size_t n, char *ret, size_t size) _must_check_;
