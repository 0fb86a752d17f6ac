/* Which ids of the host stand behind the ids of an image: those that its files are stored under, and those that its
 * processes get. Inside, ids run from 0 to n - 1.
 *
 *   IDS_RANGE   run by root: files of all images are stored under one range that no sandbox ever runs with; each sandbox
 *               has a range of its own, and sees the files through an id-mapped mount
 *   IDS_SUBIDS  an ordinary user with a range in subuid(5) and subgid(5), and newuidmap(1): 0 is the user, the rest is
 *               that range
 *   IDS_ONE     an ordinary user without: everything belongs to the user, who is 0 inside */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define IDS_STORE_BASE 0x6fff0000u /* host id behind id 0 of stored files, run by root: below the sandboxes' ranges */
#define IDS_MAX 65536u

enum ids_kind { IDS_ONE, IDS_SUBIDS, IDS_RANGE };
struct ids {
        enum ids_kind kind;
        uint32_t n;               /* ids that exist inside */
        uid_t uid, subuid;        /* IDS_ONE, IDS_SUBIDS: the caller's; first of the range, n - 1 long */
        gid_t gid, subgid;
        char why[160];            /* IDS_ONE: what is missing for more, as a sentence without full stop; else "" */
};

/* What this caller can have. */
int ids_find(struct ids *ret, struct error *e) _must_check_;

/* The two maps under which stored files have their image's owners, as lines for uid_map(5) ("inside outside count"). */
void ids_store_maps(const struct ids *ids, char uid_map[128], char gid_map[128]);

/* Writes maps for another process, which is in a user namespace that it just made: directly, or with newuidmap(1) and
 * newgidmap(1), which must not be under no_new_privs. Lines as above, several allowed. */
int ids_map_process(const struct ids *ids, pid_t pid, const char *uid_map, const char *gid_map, struct error *e) _must_check_;

/* fork(2) into a user namespace (and those of `flags`) with the store's maps: the child is 0 inside, with all
 * capabilities there, and sees stored files under their image's owners. Returns the pid, 0 in the child; *ret_pidfd is
 * set in the parent. */
pid_t ids_fork(const struct ids *ids, uint64_t flags, int *ret_pidfd, struct error *e) _must_check_;

/* Where files of the range may lie in the way of a caller with one: goes on as a child of ids_fork, and ends the caller with
 * the child's exit status. Does nothing otherwise. */
int ids_continue(struct error *e) _must_check_;

/* Removes `name` beneath dirfd with all that it holds, files of the caller's range included: what is left to do where
 * remove_tree was refused (-EACCES, -EPERM). Fails as that did where there is no range. */
int ids_remove(int dirfd, const char *name, struct error *e) _must_check_;
