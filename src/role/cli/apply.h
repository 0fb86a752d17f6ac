/* `belljar apply` from within: apply.c selects and does, apply-ask.c shows and asks. */
#pragma once

#include "base/str.h"
#include "role/cli/layers.h"
#include "svc/apply.h"

struct apply_options {
        bool last, all, ask, undo, xattrs;
        struct strlist yes;   /* "PATH=HASH" */
        struct strlist paths; /* relative to the workspace; "": all of it */
};

/* What becomes of a change. */
struct decision {
        bool take;
        bool text_set;  /* in the place of the run's file: text */
        bool keep_mode; /* the host's */
        bool content_set, old_set;
        uint8_t content[SHA256_SIZE], old[SHA256_SIZE]; /* conditions, see struct apply_want */
        char *text;
        size_t text_size;
};

struct applying {
        struct apply a;
        struct changes_source source;
        struct changes changes;
        struct decision *decisions; /* one a change */
        const struct apply_options *o;
        const struct strlist *guarded; /* the policy's */
        uint64_t taken, left;          /* of what was asked for */
};

/* Prints a guarded change with what would run it, and the words that say yes to it. */
int apply_show_guarded(struct applying *x, const struct change *c, const char *runs, struct error *e) _must_check_;
/* Asks for every selected change. `selected` says which. */
int apply_ask(struct applying *x, const bool *selected, struct error *e) _must_check_;
