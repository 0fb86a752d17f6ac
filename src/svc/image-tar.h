/* Writing the headers of a tar (POSIX.1-2001 pax over ustar). Pure. Callers: the helper that packs a directory, and the import
 * for a layer of its own. */
#pragma once

#include <sys/stat.h>

#include "base/str.h"

/* One record of an extended header. */
void tar_record(struct strbuf *b, const char *key, const void *value, size_t n);
/* The header of an entry, with an extended one before it where the fields of the plain one do not hold the values, or where
 * `extra` has records. type as ustar has it: '0' file, '1' hard link, '2' link, '3' '4' devices, '5' directory, '6' FIFO.
 * Of st: mode, size (of a file), time, device. link: of '1' and '2', else NULL. */
void tar_header(struct strbuf *b, const char *path, char type, const struct stat *st, uint32_t uid, uint32_t gid, const char *link,
                const struct strbuf *extra);
