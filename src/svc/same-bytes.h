/* Whether two open files hold the same bytes, without reading holes and within a budget. Callers: the reader of
 * changes. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum { SAME_CHUNK = 128 * 1024, SAME_BUFFER = 2 * SAME_CHUNK };

enum same { SAME_YES, SAME_NO, SAME_UNREAD, SAME_CAPPED };

/* Two regular files of one size, open for reading. buf: SAME_BUFFER bytes. *budget counts down by the bytes compared;
 * SAME_CAPPED where it does not reach. */
enum same same_bytes(int a, int b, off_t size, char *buf, uint64_t *budget);
