/* What a copy-on-write run changed: the upper layer of its overlay read against the workspace below it.
 *
 * The upper layer is hostile data. Nothing in it is followed or run, only directories and regular files are opened,
 * and time, memory and depth are bounded by caps whose names stand in the error. The workspace is only read.
 * Callers: `belljar diff`, the summary at the end of a run, apply. Single-threaded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

enum change_kind {
        CHANGE_ADDED,
        CHANGE_DELETED,
        CHANGE_MODIFIED, /* a regular file's bytes, perhaps its mode too */
        CHANGE_LINK,     /* a symbolic link's target */
        CHANGE_TYPE,     /* another type of file stands there */
        CHANGE_MODE,     /* permission bits only */
        CHANGE_OWNER,    /* owner or group, perhaps the mode too (only where ids are compared) */
        _CHANGE_KIND_MAX,
};

enum {
        CHANGE_OVER_HIDDEN = 1 << 0,  /* the workspace has something there that was hidden from the run */
        CHANGE_HOLDS_HIDDEN = 1 << 1, /* a directory that went away held something that was hidden from the run */
        CHANGE_UNREAD = 1 << 2,       /* a file could not be read: taken as changed */
        CHANGE_UNCOMPARED = 1 << 3,   /* same size, but past the comparison's cap: taken as changed */
        CHANGE_BENEATH_CUT = 1 << 4,  /* `beneath` is a lower bound */
};

#define CHANGE_ID_UNMAPPED UINT32_MAX

struct change_side {
        mode_t mode;    /* type and permissions as in st_mode; 0: nothing there */
        uint64_t size;  /* bytes; 0 unless a regular file */
        uint32_t uid, gid; /* mapped by change_ids, CHANGE_ID_UNMAPPED outside its range */
        uint32_t nlink;
        char *link;     /* target of a symbolic link, NULL otherwise */
};

struct change {
        char *path; /* relative to the workspace, bytes as they are */
        enum change_kind kind;
        unsigned flags;
        struct change_side before, after;
        uint64_t beneath; /* a directory that went away: entries that it held (when they are not listed) */
        ssize_t peer;     /* rename: index of the other half, -1: none (changes_find_renames) */
};

/* Who owns the files of the upper layer. A run started by root gets a range of its own: the upper layer's id base+N
 * stands for the workspace's user host+N and group host_gid+N. Where the workspace was shown by an id-mapped mount,
 * host and host_gid are its owner and group. range 0: ids are the user's own and are not compared. */
struct change_ids {
        uint32_t base, range, host, host_gid;
};

/* Caps; 0 takes the default. */
struct change_caps {
        uint64_t entries; /* changes in the list; 1,000,000 */
        uint64_t depth;   /* directories; 4,096 */
        uint64_t memory;  /* bytes of paths, links and names; 512 MiB */
        uint64_t compare; /* bytes read to compare files of one size; 64 GiB (summary: 256 MiB) */
        uint64_t visits;  /* entries looked at in both trees; 20,000,000 (summary: 1,000,000) */
};

struct changes_source {
        int upper_fd; /* directory fds; upper_fd -1: no upper layer, hence no changes */
        int lower_fd; /* may be O_PATH */
        int hide_fd;  /* the whiteout layer between them, where it still exists; -1: none */
        const struct strlist *hidden; /* what such a layer hid, relative to the workspace, in any order; may be NULL */
        bool trusted; /* mounted by real root without userxattr: trusted.overlay.* counts and user.overlay.* does not */
        bool expand;  /* list what a directory that went away held, entry by entry */
        struct change_ids ids;
        struct change_caps caps;
};

struct changes {
        struct change *items; /* sorted by path bytes; of a TYPE change from a directory the old children follow */
        size_t n, cap;
};
void changes_clear(struct changes *c);
#define _cleanup_changes_ _cleanup_(changes_clear)

/* -E2BIG beyond a cap, -EOPNOTSUPP for redirects and metacopies (Belljar mounts without them), -EACCES where a
 * directory cannot be read (see changes_unbind). */
int changes_read(const struct changes_source *s, struct changes *ret, struct error *e) _must_check_;

/* Pairs deleted with added regular files of equal content (up to 1 MiB each, a bounded number). For display only:
 * both halves stay in the list. */
void changes_find_renames(const struct changes_source *s, struct changes *c);

struct changes_summary {
        uint64_t added, changed, deleted; /* a directory that went away counts once */
        uint64_t bytes; /* allocated by the upper layer's files */
        bool at_least;  /* a cap or an unreadable directory ended the count early */
};
/* For the line at the end of a run. An upper layer without entries costs one getdents. Beyond a cap it stops and
 * says so instead of failing. Where an ordinary user's own modes close a directory, it counts again in a child
 * (changes_unbind). */
int changes_summary(const struct changes_source *s, struct changes_summary *ret, struct error *e) _must_check_;
/* "3 added, 1 changed, 2 deleted (12.5 KiB)", "no changes" where there is none. */
void changes_summary_line(const struct changes_summary *s, char *dst, size_t size);

/* The hidden paths of a run in its state directory ("hidden": each path followed by a NUL), for the time when the layer
 * is gone. Write it before the run starts; reading one that is not there gives an empty list. -EINVAL: a path that is
 * absolute, empty or has a ".." part. */
int changes_hidden_write(int state_fd, const struct strlist *hidden) _must_check_;
int changes_hidden_read(int state_fd, struct strlist *ret) _must_check_;

/* A run may leave files and directories of mode 000, which bind their owner too. For an ordinary user: enters a user
 * namespace of one's own, in which one's modes do not bind; nothing is changed and nothing is gained that chmod would
 * not give. Does nothing for root. Call it in a child that only reads and ends. */
int changes_unbind(void) _must_check_;

const char *change_kind_name(enum change_kind k); /* "added", ... */
char change_kind_letter(enum change_kind k);      /* A D M L T P O */
const char *file_type_name(mode_t mode);          /* "file", "directory", "link", "fifo", ... */
