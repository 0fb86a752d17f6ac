/* Sandboxes on disk: one directory each beneath $XDG_STATE_HOME/belljar (run by root without it: /var/lib/belljar).
 * The directories are the truth; there is no index.
 *
 *   sandboxes/ID/   runs, and ended ones with something to keep: changes, a crash
 *   unchanged/ID/   ended runs that changed nothing: kept as records, the oldest is taken over by the next run
 *
 *     plan.json     what was asked for and planned; written while the sandbox starts
 *     started.json  the processes and the controls as read back; only of runs longer than a moment
 *     ended.json    what came of it; written last of all
 *     network.json  what was refused and used of the network, while it runs and after it (role/cli/net-record.h)
 *     trail.jsonl   what happened in the run (model/trail.h); of another id: of the directory's former use
 *     upper, work   the copy-on-write layer
 *     root, root.work   what a run on an image changes of the image's root; goes with the end of the run
 *     shadow        copies of files with ids that the sandbox has not (svc/shadow.h)
 *     hidden        what was hidden in the workspace, for belljar diff
 *     cgroup        the control groups that are made for it, one path a line; blank when they are gone
 *     applied       what belljar apply took over, and what was there before (svc/apply.h); goes with a discard
 *     upper.discarded   what a discard that was interrupted has left to remove
 *
 * A lock (flock(2)) on the directory is held by the supervisor as long as it lives: it tells a living run from a crashed
 * one. Taking over instead of making and removing: on a file system that discards freed blocks at once, removing three
 * directories took longer than all the rest of a run. Each JSON file names its sandbox in "id": one that names another, or
 * cannot be read, was left by the directory's former use or a crash, and counts as not there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"
#include "proto/json.h"

struct state {
        char *id;
        int root; /* O_PATH of .../belljar */
        int dir;  /* O_DIRECTORY fd of ID/; locked when this process made or took it */
};
void state_close(struct state *s);
#define _cleanup_state_ _cleanup_(state_close)
#define STATE_NONE (struct state){.root = -EBADF, .dir = -EBADF}

/* Its path, whether it exists or not. Allocated. */
int state_path(char **ret, struct error *e) _must_check_;
/* The state directory, O_PATH; made when create is set. -ENOENT where there is none and create is not set. */
int state_open_root(bool create, int *ret, struct error *e) _must_check_;
/* A directory for a new sandbox with a random id, locked, with an empty upper/ and work/ of those owners and that
 * mode (of the workspace). */
int state_create(int root, mode_t mode, uid_t uid, gid_t gid, struct state *ret, struct error *e) _must_check_;
/* The layer for changes of an image's root, owned by the image's root. */
int state_make_root(const struct state *s, uid_t uid, gid_t gid, struct error *e) _must_check_;
/* Removes it; a file of another id than the caller's needs the right to. */
int state_remove_root(const struct state *s) _must_check_;
/* Begins an object that names its sandbox, and writes it as a file that did not exist or is of a former use; the text
 * is used up. */
void state_json_begin(const struct state *s, struct json *j);
int state_write(const struct state *s, const char *name, struct json *j) _must_check_;
/* The same of a file that is there; -ENOENT where it is not. */
int state_rewrite(const struct state *s, const char *name, struct json *j) _must_check_;

/* Records the control groups, before they are made; "" when they are gone. */
int state_write_groups(const struct state *s, const char *paths) _must_check_;
/* True when some are on record. */
bool state_has_groups(const struct state *s);

/* True when something stands in its upper layer. */
bool state_changed(const struct state *s);

/* One that is called or named exactly so and has something to lose: for a command that cannot wait for a JSON library, and has
 * another way where this finds none. Of several of that name none. */
int state_find_at_once(int root, const char *which, struct state *ret) _must_check_;

/* Ids of all that have something to lose: running ones among them. */
int state_list_at_once(int root, struct strlist *ret) _must_check_;
/* A process of the run (its supervisor, or its command line, which is the last to end) has its directory. */
bool state_is_locked(const struct state *s);

/* Makes an ended run that changed nothing, or failed before it began (forget: then it is no record either), available
 * to the next one. With `remove`, or where there are enough, removes it instead. */
void state_release(struct state *s, bool forget, bool remove);
