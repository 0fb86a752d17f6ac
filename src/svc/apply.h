/* Taking over what a copy-on-write run changed (changes.h) into the workspace, change by change, and taking that back.
 *
 * What comes out is inert: regular files without special bits, as copies; directories; links that stay inside. Everything is looked
 * up beneath the workspace without following a link. A file of the host that is not what it was when the run started is a
 * conflict and stays: by the time of its last change of status, which no program can set, or, where that is an earlier taking
 * over's, by its content.
 *
 * Each change is atomic: the new file is written beside the old one and synced, the two change places in one step
 * (RENAME_EXCHANGE), and only when what came out of that place is still the very file that was looked at and put aside, it is
 * removed; otherwise they change back. What is done is first written down in the sandbox's directory, "applied/journal", beside
 * copies of what was there; whatever a crash at any moment has left is found there and ended the next time.
 *
 * Callers: `belljar apply`. One at a time for a sandbox (a lock). Single-threaded. */
#pragma once

#include "base/sha256.h"
#include "svc/changes.h"

struct apply_entry;
struct apply {
        int root;  /* the workspace; the caller's */
        int upper; /* the run's upper layer; the caller's; -1: there is none */
        bool xattrs;   /* user.* come along */
        mode_t mask;   /* of new files and bits */
        int64_t began; /* when the run started, ns, by the clock of file systems: see apply_began */
        int dir, journal; /* "applied" and the journal in it, or -EBADF */
        struct apply_entry *entries; /* by number */
        size_t n, cap;
};
#define APPLY_NONE (struct apply){.root = -1, .upper = -1, .dir = -EBADF, .journal = -EBADF}

/* The run's start, from the plan's "began" and "clock", as it can be held against files of that workspace: earlier where the
 * clock was set back since, or the file system has one of its own. */
int64_t apply_began(int root, int64_t began, int64_t clock);

/* Opens the journal, and ends what a crash has left; makes neither directory nor file unless `make` is set (-ENOENT). -EBUSY. */
int apply_open(struct apply *a, int state_fd, bool make, struct error *e) _must_check_;
void apply_close(struct apply *a);
#define _cleanup_apply_ _cleanup_(apply_close)

enum apply_outcome {
        APPLY_TAKEN,
        APPLY_NOTHING,  /* it is so already */
        APPLY_CONFLICT, /* the host's file is another one than the run started from; untouched */
        APPLY_REFUSED,  /* not inert, or not possible; untouched */
};
struct apply_result {
        enum apply_outcome outcome;
        char why[256];
};

/* What a yes is bound to: the change's path, kind, mode and content, as 64 digits. Of a regular file it reads the upper layer;
 * *ret_content (may be NULL) is its content's hash. */
#define APPLY_DIGEST (2 * SHA256_SIZE + 1)
int apply_digest(const struct apply *a, const struct change *c, char ret[APPLY_DIGEST], uint8_t ret_content[SHA256_SIZE],
                 struct error *e) _must_check_;

/* Conditions of a taking over, and a text in the place of the upper layer's file. */
struct apply_want {
        const uint8_t *content;  /* hash that the new content must have; NULL: any */
        const uint8_t *old;      /* hash that the host's content must have; NULL: any */
        const char *text;        /* NULL: the upper layer's file */
        size_t text_size;
};
enum apply_half { APPLY_OLD, APPLY_NEW, APPLY_BOTH };
/* Which halves a change is taken over in: both in one step, or, where a directory comes or goes, the old one first. */
bool apply_in_halves(const struct change *c);
/* Fails only where nothing more can be done (the journal cannot be written). */
int apply_take(struct apply *a, const struct change *c, enum apply_half half, const struct apply_want *want,
               struct apply_result *ret, struct error *e) _must_check_;
/* Modes of directories come last: taking over a directory's content needs it open. */
int apply_directory_mode(struct apply *a, const struct change *c, struct apply_result *ret, struct error *e) _must_check_;

/* Takes back everything that was taken over and not taken back yet, the last one first. fn is told of each. */
int apply_undo(struct apply *a, void (*fn)(const char *path, const struct apply_result *r, void *data), void *data,
               struct error *e) _must_check_;
