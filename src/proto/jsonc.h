/* JSON, with the comments that editors' settings have (JSONC), made into YAML that the lenient reader takes, with every
 * line where it was. JSON is YAML but for that, for halves of UTF-16 pairs in escapes and for the escaped slash. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

/* True where the text begins as JSON does: a brace or a bracket, after blanks and comments. */
bool jsonc_likely(const char *text, size_t len);
/* Comments become blanks; in strings \/ becomes /, pairs become their character and lone halves U+FFFD. The rest stays as
 * it is, good JSON or not: the reader judges it. The result is never longer. -ENOMEM. */
int jsonc_to_yaml(const char *text, size_t len, char **ret, size_t *ret_len) _must_check_;
