/* Workspaces that Belljar keeps, by name: directories `workspaces/NAME` beneath the state directory, which outlive the runs
 * that use them. A run holds a shared flock(2) on the directory as long as its sandbox lives. */
#pragma once

#include "base/error.h"
#include "base/str.h"

/* The directory's real path, made where it is missing and `create` is set, and an fd that holds the lock (close-on-exec;
 * -1 where it is not there). state: path of the state directory. Allocated. */
int workspace_open(const char *state, const char *name, bool create, char **ret_path, int *ret_lock, struct error *e) _must_check_;

/* Names, sorted. root: as from state_open_root. */
int workspace_list(int root, struct strlist *ret, struct error *e) _must_check_;
/* With all that it holds. -EBUSY while a sandbox uses it. */
int workspace_remove(int root, const char *name, struct error *e) _must_check_;
