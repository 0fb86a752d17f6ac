/* `belljar diff` and `belljar discard`: what a copy-on-write run changed, and dropping it. The command table calls
 * these; options come parsed. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "svc/changes.h"

enum diff_form {
        DIFF_UNIFIED,
        DIFF_NAME_ONLY,
        DIFF_NAME_STATUS, /* a letter, a tab, the name; renames with both names */
        DIFF_STAT,        /* sizes, lines and a total */
        DIFF_JSON,
};

struct diff_options {
        enum diff_form form;
        bool tty;     /* out is a terminal: contents are escaped too (names always are) */
        bool trusted; /* the overlay was mounted by real root (trusted.overlay.*) */
        struct change_ids ids;
        struct change_caps caps;
};

/* state_fd: the sandbox's state directory, with "upper" and "hidden" (changes_hidden_write) in it, each optional;
 * workspace: the host's directory. Nothing is changed on disk. Runs in a child that ends with it, in which an ordinary user's own
 * modes do not bind (changes_unbind). A reader that closes the pipe early is no error. */
int diff_print(int state_fd, const char *workspace, const struct diff_options *o, FILE *out, struct error *e)
        _must_check_;
/* One JSON object: {"changes": [...], "counts": {...}}. As diff_print with DIFF_JSON. */
int diff_json(int state_fd, const char *workspace, const struct diff_options *o, FILE *out, struct error *e)
        _must_check_;
/* Drops the changes for good: "upper" and "work" are removed. A crash leaves either all of the changes or none of
 * them in view, and the rest is removed the next time. *ret_removed (may be NULL): entries. */
int diff_discard(int state_fd, uint64_t *ret_removed, struct error *e) _must_check_;
