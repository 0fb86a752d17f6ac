/* The text of an image's record and of a layer's: a line a value, "key value", between "belljar-image 1" (or
 * "belljar-layer 1") and "end". Not JSON, so that a start reads it without a library. In values a newline is written \n, a
 * backslash \\. Pure. */
#pragma once

#include "svc/image.h"

/* What was left out or changed while a layer was unpacked, and what it holds. */
struct layer_counts {
        uint64_t entries, bytes;    /* in the tree; bytes of regular files, holes included */
        uint64_t devices;           /* devices beneath /dev, and FIFOs anywhere: left out */
        uint64_t setid;             /* set-uid and set-gid bits of files: taken away */
        uint64_t attributes;        /* extended attributes other than user.*: left out */
        uint64_t ids;               /* owners that do not exist inside: became nobody, or root */
        uint64_t whiteouts, opaque; /* files and directories of lower layers that are not to be seen */
};

void image_record_write(const struct image *i, struct strbuf *b);
/* Fills everything but layers, locks. -EBADMSG where it is no whole record. */
int image_record_parse(const char *text, size_t len, struct image *ret) _must_check_;
void layer_record_write(const struct layer_counts *c, struct strbuf *b);
int layer_record_parse(const char *text, size_t len, struct layer_counts *ret) _must_check_;
