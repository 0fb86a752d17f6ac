/* One field of a request's body whose value is to be another text of the same length: the value of a key of a form, or of JSON's
 * objects within objects, where the whole value is the text that is looked for. The body comes in pieces and leaves with its length
 * unchanged; what is held back is the beginning of a value that may turn out to be it. Pure, without allocation.
 *
 * It reads strictly, since the server behind may read otherwise: a body that is not what it is said to be is `spoiled` from the byte
 * on that shows it, and nothing is put into it any more. Whoever had something put into it before (`put`) must not send the rest:
 * a message that is cut off is none. Spoiled is
 *   - JSON that RFC 8259 does not have: anything behind the first value, bad UTF-8, a mark of byte order, more than
 *     BODY_FIELD_DEPTH_MAX objects and arrays in each other;
 *   - a key on the way to the field that is there twice in its object: servers differ in which one they take;
 *   - a form with bytes that are not to be in one, or with the key twice.
 * The field's objects are all objects, from the outermost on: nothing within an array is the field. Keys are compared with their
 * escapes undone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

#define BODY_FIELD_PATH_MAX 256u  /* bytes of a path */
#define BODY_FIELD_KEYS_MAX 8u    /* of a path */
#define BODY_FIELD_DEPTH_MAX 64u
#define BODY_FIELD_HELD_MAX 8192u /* bytes of a value as it is written, with its escapes: a longer one is not found */

enum body_kind { BODY_OTHER, BODY_JSON, BODY_FORM };

/* By the value of Content-Type: application/json, anything with +json, application/x-www-form-urlencoded; in UTF-8. */
enum body_kind body_kind_of(const char *type, size_t n);

struct body_field {
        enum body_kind kind;
        bool spoiled, put;
        const char *path, *find, *replace; /* the caller's, as long as it reads */
        size_t n_find;
        struct { const char *p; size_t n; } keys[BODY_FIELD_KEYS_MAX];
        size_t n_keys;
        /* Where it is. */
        uint8_t state, then;       /* then: behind a string, a key's or a value's */
        uint8_t depth, on_path;    /* objects and arrays around; how many of them, from the outermost on, are the path's */
        uint64_t objects;          /* bit i: that of depth i + 1 is an object */
        bool seen[BODY_FIELD_KEYS_MAX]; /* the path's key was there, in the object that it is read in */
        bool wanted;               /* the value that comes is the path's next, or the field's own */
        const char *literal;       /* what is still to come of true, false or null */
        /* A string, or a form's key or value. */
        bool same;                 /* so far it is the key, or the text */
        size_t at;                 /* and this many bytes of it */
        uint8_t digits, more, low, high; /* of an escape, to come; of a UTF-8 character, to come, the next between low and high */
        uint16_t code;             /* of an escape */
        bool holds;
        size_t n_held, held_max;
        char held[];
};

/* Bytes of one for a text of n bytes. */
size_t body_field_size(size_t n);
/* In `size` bytes. path has keys with a dot between each two; a form has no objects: there it is one key. find and replace have n bytes, and differ only where both have an ASCII letter or digit. -EINVAL: they do not, or
 * the path is none; -ENOBUFS. */
int body_field_begin(struct body_field *b, size_t size, enum body_kind kind, const char *path, const char *find, const char *replace, size_t n)
        _must_check_;
/* Takes n bytes; out has room for n + BODY_FIELD_HELD_MAX, and is not p. Returns how many bytes are in it. last: there are none
 * behind these; nothing is held back then. */
size_t body_field_feed(struct body_field *b, const char *p, size_t n, bool last, char *out);
