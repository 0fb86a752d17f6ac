/* Finding and reading the sandboxes on disk (state.h says what stands there), and what is left to do for them. */
#pragma once

#include <jansson.h>

#include "svc/state.h"

/* -ENOENT also where the file is of a former use or broken. */
int state_read(const struct state *s, const char *name, json_t **ret) _must_check_;
/* started.json with ended.json over it; empty where there is neither. NULL: no memory. */
json_t *state_status(const struct state *s);

/* Finds one by id, unique prefix or name; NULL means the last one that was started from the directory `cwd`, or,
 * with any_cwd, the last one at all. */
int state_find(int root, const char *which, const char *cwd, bool any_cwd, struct state *ret, struct error *e) _must_check_;
/* True while its supervisor lives and it has not ended. */
bool state_alive(const struct state *s);
/* All ids, oldest first. */
int state_list(int root, struct strlist *ret) _must_check_;
/* What is left to do for a run whose processes died before they could: removes its control groups and marks it
 * ended. -EBUSY while it lives. */
int state_reclaim(struct state *s) _must_check_;
/* Removes one that has ended, with its changes. -EBUSY while it lives. */
int state_remove(struct state *s, struct error *e) _must_check_;
