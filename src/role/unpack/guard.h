/* What libarchive cuts short without a word: names of a tar that hold a NUL. Sees the stream pass, block by block, and reads
 * of it what the formats have for names that do not fit in a header: pax "path" and "linkpath", GNU's long names. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

struct guard {
        unsigned char block[512];
        size_t have;          /* of the block */
        uint64_t body;        /* bytes of the current entry that are still to come, padding included */
        char kind;            /* of the current entry */
        char *text;           /* body of an extended header, */
        size_t text_len, text_size;
        uint64_t next_size;   /* of the next entry, by its extended header */
        bool has_next_size;
        bool lost;            /* no header where one should be: libarchive says what is wrong */
        bool nul;             /* a name with NUL was seen */
};
void guard_feed(struct guard *g, const void *data, size_t n);
void guard_clear(struct guard *g);
