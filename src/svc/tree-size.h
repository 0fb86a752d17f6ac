/* How much a tree of hostile shape takes on disk. Caller: the supervisor, while the sandbox goes on changing it. */
#pragma once

#include <stdint.h>

/* Adds the bytes of all that stands beneath `name` (one part) in dirfd, and 256 for each name, links to one file counted
 * once each; nothing that is mounted there, no link followed. What vanishes meanwhile is not counted. Any depth, with a
 * bounded number of fds. Negative errno when a part could not be looked at: *bytes then holds the rest. */
int tree_size(int dirfd, const char *name, uint64_t *bytes);
