/* Apply (apply.h) from within: apply-place.c puts one thing into the place of another, apply-journal.c remembers, apply.c decides. */
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include "svc/apply.h"

/* What stands at a path. */
struct thing {
        mode_t mode; /* type and permissions; 0: nothing */
        uid_t uid;
        gid_t gid;
        char *target;              /* of a link */
        uint8_t hash[SHA256_SIZE]; /* of a file's content, once it was read */
        bool hashed;
        /* Of a look at it; not in the journal. */
        int fd; /* of a regular file, for reading; else -EBADF */
        struct stat st;
};
#define THING_NONE (struct thing){.fd = -EBADF}
void thing_clear(struct thing *t);
#define _cleanup_thing_ _cleanup_(thing_clear)

enum apply_stage {
        STAGE_TEMP,   /* a file beside may exist */
        STAGE_BEGUN,  /* the change may have been made */
        STAGE_DONE,
        STAGE_NOT,    /* it was not made */
        STAGE_UNDONE, /* made, and taken back */
};
struct apply_entry {
        enum apply_stage stage;
        bool undo;     /* of a taking back */
        char *path;
        char *temp;    /* name beside it; NULL: none is used */
        struct thing old, new;
};

/* Journal: the entry's number, or -errno. */
int journal_open(struct apply *a, int state_fd, bool make, struct error *e) _must_check_;
ssize_t journal_add(struct apply *a, const char *path, const char *temp, bool undo, struct error *e) _must_check_;
/* Writes the stage down; with `sync`, so that it is there after a crash of the machine too. */
int journal_stage(struct apply *a, size_t i, enum apply_stage stage, bool sync, struct error *e) _must_check_;
/* The last change of that path that was made: what stands there because of it; NULL. */
const struct thing *journal_last(const struct apply *a, const char *path);
/* Name of the copy of entry i's old content, in a->dir. */
void journal_copy_name(size_t i, char dst[32]);

/* Looks at one name without following it; of a regular file it opens it. */
int thing_look(int dir, const char *name, struct thing *ret) _must_check_;
/* Reads a file's content, unless that was done, and writes it to `to` (-1: nowhere). -EBUSY: it changed meanwhile; -EFBIG: sparse
 * beyond reason. */
int thing_read(struct thing *t, int to) _must_check_;
/* Same type, permissions, and content or target; reads. */
int thing_equal(struct thing *a, const struct thing *b) _must_check_;
/* The same in the same state, by what stat(2) says but for the time of change of status. */
bool thing_same_state(const struct thing *a, const struct thing *b);

/* Parent directory, as an fd, and last part of a path beneath the root. */
int place_parent(const struct apply *a, const char *path, const char **ret_name) _must_check_;

struct placing {
        const char *path;
        struct thing *old;        /* looked at in `dir` */
        const struct thing *new;  /* type, permissions, target; hash where hashed is set is a condition */
        int dir;                  /* its parent */
        const char *name;
        int from;                 /* new content: a file open for reading, or -1 */
        const char *text;         /* or a text */
        size_t text_size;
        int xattrs_from;          /* take user.* from there too; -1 */
        bool undo;
};
/* Makes the change. */
int place(struct apply *a, const struct placing *p, struct apply_result *ret, struct error *e) _must_check_;
/* Ends an entry that a crash has left in STAGE_TEMP or STAGE_BEGUN. */
int place_recover(struct apply *a, size_t i, struct error *e) _must_check_;

_printf_(3, 4) int apply_say(struct apply_result *r, enum apply_outcome o, const char *fmt, ...);
