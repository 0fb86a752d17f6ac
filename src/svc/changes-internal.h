/* The reader of changes (changes.h) from within: changes-walk.c goes through the two trees, changes-entry.c judges an
 * entry of them, changes-below.c says what the run saw of the workspace, changes-summary.c counts.
 *
 * One walk, depth first, with its stack on the heap. A level is a directory of the upper layer with what lies below
 * it, or a directory of the workspace that went away. Every lookup is one part of a path at a directory's fd without
 * following links, so that it stays beneath the roots; only the innermost levels keep their fds and an outer one is
 * reopened from its root on the way back. Overlay's marks are those of the kernel's
 * Documentation/filesystems/overlayfs.rst. */
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "svc/changes.h"
#include "svc/tree-walk.h"

/* A directory to be entered, and the index of its own change in the list (-1: it has none). */
struct pending {
        char *name;
        ssize_t self;
};

struct level {
        size_t path_len; /* of walk.path, at this directory */
        int upper, lower, hide; /* -1: there is none, or it is closed */
        bool closed;
        bool has_upper, has_lower, has_hide;
        bool hides; /* a path of the list of hidden ones lies beneath */
        bool opaque; /* what lies below does not shine through */
        bool marks;  /* the directory says that it may hold whiteouts by xattr */
        ssize_t self;  /* this directory's own change, -1: none */
        ssize_t owner; /* beneath a directory that went away: the change that counts what it held, -1: none */
        dev_t dev;
        ino_t ino;
        struct pending *dirs;
        size_t n_dirs, cap_dirs, dirs_bytes, next;
};

struct walk {
        const struct changes_source *s;
        struct change_caps caps;
        struct changes *list;            /* NULL: counting only */
        struct changes_summary *summary; /* NULL: listing */
        struct level *levels;
        size_t n, cap;
        struct strbuf path;
        uint64_t entries, memory, compared, visits;
        bool unreadable; /* counting went past a directory that the modes close */
        dev_t upper_dev;
        char **hidden; /* sorted; the strings are the caller's */
        size_t n_hidden;
        char *buf; /* SAME_BUFFER bytes */
        struct error *e;
};

void change_clear(struct change *c);

static inline int open_dir_at(int dirfd, const char *name, int flags) {
        int fd = openat(dirfd, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* Goes through all of it, by the caps of the source and `def`. */
int walk_trees(struct walk *w, const struct change_caps *def) _must_check_;

/* Of an entry, changes-entry.c. */
int walk_over_cap(struct walk *w, const char *what, uint64_t cap);
int walk_use_memory(struct walk *w, uint64_t n) _must_check_;
int walk_visit(struct walk *w) _must_check_;
/* Says what could not be done to `name` of the current directory; returns r. */
int walk_failed(struct walk *w, int r, const char *what, const char *name);
/* One entry of an upper directory. */
int walk_upper_entry(struct walk *w, struct level *l, const char *name) _must_check_;
struct below;
/* A thing of the workspace that the run's view no longer has: reported by its own entry, or counted by the directory
 * that went away with it. Directories among them are remembered in l, to be entered later. */
int walk_entry_gone(struct walk *w, struct level *l, const char *name, const struct below *b) _must_check_;

/* What lies below, changes-below.c. */
enum mark { MARK_OPAQUE, MARK_WHITEOUT, MARK_WHITEOUTS, MARK_REDIRECT, MARK_METACOPY };
/* Reads one of overlay's xattrs from `name` in dirfd ("": of dirfd itself) without following a link: 0 absent, 1
 * present, *value its first byte. */
int mark_read(const struct changes_source *s, int dirfd, const char *name, enum mark m, char *value) _must_check_;
/* 1: a whiteout. An empty file counts where its xattr says so (6.7 and later). */
int mark_is_whiteout(const struct changes_source *s, int dirfd, const char *name, const struct stat *st,
                     bool marks) _must_check_;

/* What the workspace has at a name, as the run saw it. */
struct below {
        bool there;    /* and not hidden */
        bool hidden;   /* there on the host, hidden from the run */
        bool hide_dir; /* the whiteout layer has a directory of that name */
        bool hides;    /* the list has something beneath it */
        struct stat st;
};
int walk_look_below(struct walk *w, const struct level *l, const char *name, struct below *ret) _must_check_;
int walk_sort_hidden(struct walk *w) _must_check_;
