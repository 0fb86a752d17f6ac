/* Sandboxes on disk: one directory each beneath $XDG_STATE_HOME/belljar/sandboxes (run by root without it:
 * /var/lib/belljar/sandboxes). The directories are the truth; there is no index.
 *
 *   ID/plan.json    what was asked for and planned; written before anything is done
 *   ID/started.json the processes, and what was read back of the controls; written when the command starts
 *   ID/ended.json   what came of it; written at the end, last of all
 *   ID/lock         held by flock(2) by the supervisor as long as it lives: tells a living run from a crashed one
 *   ID/upper, work  the copy-on-write layer; gone when the run changed nothing or its changes were discarded
 *   ID/cgroup       the control groups made for it, one path a line; gone when they are
 *
 * All files are written whole or not at all, and none twice, so that a crash at any moment leaves a readable
 * directory (and no write waits for the disk, as replacing a file by rename does on ext4). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/error.h"
#include "base/str.h"

struct state {
        char *id;
        int dir;  /* O_DIRECTORY fd of ID/ */
        int lock; /* fd of ID/lock; locked when this process made the directory */
};
void state_close(struct state *s);
#define _cleanup_state_ _cleanup_(state_close)

/* The directory of all sandboxes, allocated; made when create is set. */
int state_root(bool create, char **ret, struct error *e) _must_check_;
/* Makes a new one with a random id, locked. public_x: others may pass through it (run by root: the sandbox's user
 * reaches upper/ by its working directory). */
int state_create(const char *root, bool public_x, struct state *ret, struct error *e) _must_check_;
/* upper/ and work/ for the overlay. mode is the workspace's own. */
int state_make_upper(const struct state *s, mode_t mode, uid_t uid, gid_t gid, struct error *e) _must_check_;
/* What is known of its course: started.json with ended.json over it; an empty object where there is neither. NULL:
 * no memory. */
json_t *state_status(int dir);
/* Writes a JSON file; takes the reference. */
int state_write(int dir, const char *name, json_t *value) _must_check_;
int state_read(int dir, const char *name, json_t **ret) _must_check_;

/* Finds one by id, unique prefix or name; NULL means the last one that was started from the directory `cwd`, or,
 * with any_cwd, the last one at all. */
int state_find(const char *root, const char *which, const char *cwd, bool any_cwd, struct state *ret,
               struct error *e) _must_check_;
/* True while its supervisor lives. */
bool state_alive(const struct state *s);
/* All ids, oldest first. */
int state_list(const char *root, struct strlist *ret) _must_check_;

/* What is left to do for a run whose processes died before they could: removes its control groups and marks it
 * ended. Called with the lock held by the caller (state_reclaim takes it; -EBUSY while it lives). */
int state_reclaim(struct state *s) _must_check_;
/* Ended runs that changed nothing are kept as records: once there are more than twice `keep`, all but the newest
 * `keep` go. Also reclaims crashed ones. Looks at all directories only every 16th time by chance, or with `all`. */
void state_prune(const char *root, unsigned keep, bool all);
/* Removes one that has ended, with its changes. -EBUSY while it lives. */
int state_remove(const char *root, struct state *s, struct error *e) _must_check_;
/* True when it still has an upper layer. */
bool state_has_upper(const struct state *s);
