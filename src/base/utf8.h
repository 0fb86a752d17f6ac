/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. libc only. */
#pragma once

#include <stdint.h>

#include "base/macros.h"

/* Length in bytes of the character at s, which has n bytes left; 0 where no valid one begins there. */
size_t utf8_decode(const char *s, size_t n, uint32_t *ret_cp);
/* The largest length <= max at which s can be cut without splitting a character. */
size_t utf8_cut(const char *s, size_t len, size_t max);
