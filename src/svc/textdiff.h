/* Changes as unified text, in a form that `git apply` and GNU `patch -p1` take: text files with their modes as patches,
 * everything else (binary and large files, links, directories, special files) as lines that begin with "* ", which
 * both ignore. GNU patch removes files after all else, so that where a file and a directory change places it needs a
 * second run; git apply does not. The comparison itself is done by the host's diff(1), confined, on copies in memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/str.h"
#include "svc/changes.h"

struct textdiff_options {
        uint64_t max_file;    /* bytes of a file to be shown; 0: 8 MiB */
        unsigned timeout_ms;  /* of one comparison; 0: 10 s */
        bool escape;          /* for a terminal: control characters of file contents are shown as \xHH */
        const char *diff;     /* the program, absolute; NULL: /usr/bin/diff */
};

enum textdiff_result {
        TEXTDIFF_SHOWN,
        TEXTDIFF_SAME,
        TEXTDIFF_BINARY,
        TEXTDIFF_TOO_LARGE,
};

/* Appends the hunks ("@@ ..." and what follows) from the one open regular file to the other; -1 stands for a file
 * that is not there. A comparison that fails, takes too long or has no program to do it gives one hunk that replaces
 * the whole file: longer to read, and as exact. */
int textdiff_hunks(int old_fd, int new_fd, const struct textdiff_options *o, struct strbuf *out,
                   enum textdiff_result *ret, struct error *e) _must_check_;

/* Prints one change. `old_half` and `new_half` say which halves of a TYPE change are meant. */
int textdiff_change(const struct changes_source *s, const struct change *c, const struct textdiff_options *o,
                    bool old_half, bool new_half, FILE *out, struct error *e) _must_check_;
/* Prints the list, which was read with `expand`. Where a directory gave way to a file, the file comes at the end, after
 * the removal of what the directory held. */
int textdiff_list(const struct changes_source *s, const struct changes *c, const struct textdiff_options *o, FILE *out,
                  struct error *e) _must_check_;

/* Appends text with every control character but tab and newline, and what is not UTF-8, as \xHH. */
void textdiff_visible(struct strbuf *out, const char *text, size_t n);
