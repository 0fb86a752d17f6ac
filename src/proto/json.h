/* A writer of JSON text (RFC 8259). Pure. The start path writes its records with it, so that it needs no library;
 * whatever reads JSON uses jansson. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Text grows in `text`; errors (memory) are kept in text.failed. Indented by one space a level, up to 16; compact: all on one
 * line, without blanks. */
struct json {
        struct strbuf text;
        bool compact;
        unsigned depth;
        bool first; /* nothing stands in the innermost object or array yet */
};

/* key: NULL in an array and at the outermost level. */
void json_begin(struct json *j, const char *key, char bracket); /* '{' or '[' */
void json_end(struct json *j, char bracket);                    /* '}' or ']' */
/* Bytes that are not UTF-8 are written as \xHH in words: JSON has no way to hold them. NULL is null. Whatever steers a terminal or
 * deceives the eye is written as \u: the text can be looked at as it stands. */
void json_str(struct json *j, const char *key, const char *value);
/* The bytes in hexadecimal, where value is not UTF-8; nothing otherwise. */
void json_hex_if_needed(struct json *j, const char *key, const char *value);
void json_num(struct json *j, const char *key, long long value);
void json_bool(struct json *j, const char *key, bool value);
void json_list(struct json *j, const char *key, const struct strlist *l); /* an array of strings */
