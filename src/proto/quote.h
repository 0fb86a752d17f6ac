/* File names as git and GNU patch write them in patches: as they are, or in double quotes with C escapes where the
 * name holds a control character, a quote, a backslash, a byte that is not UTF-8 or a character that deceives the
 * eye, or ends in a space. Pure. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* True where the name cannot stand as it is. */
bool quote_needed(const char *name);
/* Appends prefix and name, both inside the quotes where there are any ("a/" + name). A failed buffer stays failed. */
void quote_name(struct strbuf *b, const char *prefix, const char *name);
/* Reads one name back, quoted or not, up to the end of the string. -EINVAL: unknown escape, a NUL, a stray quote or
 * no end quote. The result is the caller's. */
int quote_parse(const char *s, char **ret) _must_check_;
