/* Replaces texts by others of the same length wherever they stand in a stream, in whatever form: what a server sends back
 * reaches the sandbox with a placeholder where the secret was. The length never changes, in no form, so that a Content-Length
 * stays true. Pure, without allocation: the memory is the caller's, who has locked it, since it holds secrets.
 *
 * Found are, for each pair:
 *   - the text with each byte by itself as it is, or as %41, %2541, \x41, \u0041, \/ \" \' \\ \n \r \t \b \f (also with the
 *     backslash escaped once more), &#65; &#x41; &amp; &lt; &gt; &quot; &apos;, or + for a space;
 *   - its hex, of either case, and its base64 and base64url at each of the three offsets within whatever surrounds it, with line
 *     breaks; each of these characters again as it is or escaped as above.
 * It is replaced by the same form of the other text: of characters that base64 shares with neighbours only the secret's bits
 * change. Where the form has no room for the other byte (&#97; for &#107;), X or Y stands there.
 * Where several would do, what begins first is replaced, of these the longest; after it goes on where it ends.
 *
 * Not found: a form longer than REDACT_FORM_MAX (twelve bytes for each of the longest text's always fit); a part of the text; other
 * ciphers and encodings (base64 of base64, another case), compression, UTF-16; a character beyond ASCII that is escaped as one
 * (\u00e9 for its two bytes); of a text that has % \ or & in it, an occurrence that has the same one of these now escaped and now
 * not.
 * Of base64 that is broken (by CR, LF, \n, \r, %0d or %0a) after one, two or three characters of the text, those stay and the rest
 * is replaced: held back until the next line comes, they would delay every line that happens to end like that.
 *
 * The cost of a byte is bounded whoever sends it: what may begin there is followed once, up to the longest form's length, and
 * what is held back is not read again when more comes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

#define REDACT_PAIRS_MAX 32u
#define REDACT_VALUE_MIN 8u    /* bytes of a text: anything shorter would be found everywhere */
#define REDACT_VALUE_MAX 4096u
#define REDACT_MEMORY_MAX (384u << 10) /* bytes: no redactor needs more */
#define REDACT_FORM_MAX (48u << 10)    /* bytes of an occurrence in any form: one that is longer is not found */
#define REDACT_STREAM_MAX (72u << 10)  /* bytes: no stream needs more; for one token of 40 characters it is 2 KiB */

struct redact_pair {
        const char *find, *put;
        size_t n; /* bytes of each */
};

/* What is looked for; the same for any number of streams, and not changed by them. */
struct redactor;
/* One text that comes in pieces. */
struct redact_stream;

/* Bytes of memory for a redactor of these; 0 where there are too many or one is too short or too long. */
size_t redact_size(const struct redact_pair *pairs, size_t n_pairs);
/* The texts are copied into memory, which is aligned as malloc's is. -EINVAL: as above, or a pair whose texts differ elsewhere
 * than where both have an ASCII letter or digit, or not at all: other bytes are not the same length in every form. -ENOBUFS. */
int redact_init(void *memory, size_t size, const struct redact_pair *pairs, size_t n_pairs, struct redactor **ret) _must_check_;

/* Bytes of memory for a stream. */
size_t redact_stream_size(const struct redactor *r);
/* Bytes that a stream holds back at most. */
size_t redact_held_max(const struct redactor *r);
/* At the beginning of a text; the same memory serves again after its end. -ENOBUFS. */
int redact_begin(const struct redactor *r, void *memory, size_t size, struct redact_stream **ret) _must_check_;
/* The text of another stream goes on in this one, by a redactor that looks for all that the other's did and more; what is held back there
 * is from then on held back here. -ENOBUFS, also where this one has no room for that. */
int redact_follow(const struct redactor *r, const struct redact_stream *before, void *memory, size_t size, struct redact_stream **ret) _must_check_;
/* Bytes that are held back: they may yet turn out to be the beginning of something that is to be replaced. */
size_t redact_held(const struct redact_stream *s);
/* Takes n bytes and writes those that are decided, which is returned: at most n and those held back, for which there must be room
 * (else -ENOBUFS, and nothing is taken). last: there is nothing after these, and nothing is held back. out is not p. */
ssize_t redact_feed(const struct redactor *r, struct redact_stream *s, const char *p, size_t n, bool last, char *out, size_t out_size)
        _must_check_;
/* A whole text, in place. The stream is the memory that this needs: nothing may be held back in it. */
void redact_text(const struct redactor *r, struct redact_stream *s, char *p, size_t n);
/* How often the pair was found in the stream since redact_begin. */
uint64_t redact_found(const struct redact_stream *s, size_t pair);
