/* Which model a request asks: the string "model" of the JSON object that its body is. Read strictly, and to the body's end, so that no
 * server can read another one out of it: a text that is not JSON as RFC 8259 has it and in UTF-8, a key that stands twice or that some
 * servers take for the same one (another case, an escape, a NUL), and the key "models", by which some take a list, are refused. Pure,
 * allocates nothing; the text comes in pieces. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define JSON_MODEL_MAX 200u   /* bytes of a model's name */
#define JSON_MODEL_DEPTH 256u /* objects and arrays within each other */

struct json_model {
        const char *why;         /* why it is refused: a static text, one line */
        bool found;
        char name[JSON_MODEL_MAX];
        size_t n_name;
        /* Private */
        uint8_t state, number, literal, hex, utf8_more, utf8_low, utf8_high;
        uint16_t depth, unit;
        bool in_key, wanted, escaped, take; /* take: the string is the model's name */
        char key[8];
        uint8_t n_key;           /* of the key at the top, saturated */
        uint8_t is_object[JSON_MODEL_DEPTH / 8];
};

void json_model_begin(struct json_model *m);
/* n bytes more. -EBADMSG: it is refused, m->why; and so it stays. */
int json_model_read(struct json_model *m, const char *p, size_t n) _must_check_;
/* There are no more. 0: it is a JSON object as a whole; m->found says whether it names a model. -EBADMSG as before. */
int json_model_end(struct json_model *m) _must_check_;
