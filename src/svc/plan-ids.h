/* Which ids a run has, inside and on the host: fills plan.ids. Nothing is changed on the host but, run by root, a lock on
 * one byte of a file in /run, which keeps the range of ids from other sandboxes; *ret_lock holds it, else -1. */
#pragma once

#include "base/error.h"
#include "model/plan.h"
#include "svc/ids.h"
#include "svc/image-user.h"

/* On the host's own root: one id. owner: of the workspace, which is shown as the command's. */
int plan_ids_of_host(struct plan *p, uid_t owner, gid_t owner_gid, int *ret_lock, struct error *e) _must_check_;
/* Run by root: the maps of an id-mapped mount in which what uid and gid own on the host is the command's. writes_through: of
 * a tree whose files on the host the command may write. Allocated. */
int plan_ids_owner_maps(const struct plan *p, uid_t uid, gid_t gid, bool writes_through, char **ret_uid_map,
                        char **ret_gid_map) _must_check_;
/* On an image's root: the ids that `have` offers; the command runs as `user` of the image. Groups of the user's that have no
 * id here are left out, with a note: fewer groups are fewer rights. */
int plan_ids_of_image(struct plan *p, const struct ids *have, const struct image_user *user, uid_t owner, gid_t owner_gid,
                      int *ret_lock, struct error *e) _must_check_;
