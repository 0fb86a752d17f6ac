/* Changing the store of images (image.h): places to work in, layers and records put in place, what is no longer used
 * removed. Callers: the import, `belljar image`. */
#pragma once

#include "svc/image-record.h"

/* The file of an image's record: the name, slashes written as "+", which no name has. */
void image_ref_file(const char *name, char dst[IMAGE_FILE_MAX + 1]);
/* A shared lock on a layer that is there: its directory. -ENOENT. */
int image_layer_lock(int state_root, const char *key, int *ret_fd) _must_check_;
/* What was counted when the layer was made. */
int image_layer_counts(int layer_dir, struct layer_counts *ret) _must_check_;

/* A directory of one's own beneath images/tmp, locked as long as it is open: what a kill leaves has no lock. */
struct image_work {
        int root;   /* images/, O_PATH */
        int dir;    /* the directory */
        char name[32];
        struct ids ids;
};
#define IMAGE_WORK_NONE (struct image_work){.root = -EBADF, .dir = -EBADF}
/* Makes the store where it is not there, and removes what a kill left. */
int image_work_begin(int state_root, const struct ids *ids, struct image_work *ret, struct error *e) _must_check_;
/* Removes it with all that it holds; what cannot be removed is left to the next one. */
void image_work_end(struct image_work *w);
#define _cleanup_image_work_ _cleanup_(image_work_end)

/* Puts a complete layer (a directory `name` of w, with tree and layer in it) in its place, or drops it where the same one
 * stands there already. *ret_lock: a shared lock on the one that stands there now. */
int image_layer_publish(struct image_work *w, int state_root, const char *name, const char *key, int *ret_lock,
                        struct error *e) _must_check_;
/* Writes the record, over one of the same name. The layers must be locked and on disk. */
int image_ref_write(struct image_work *w, const struct image *i, struct error *e) _must_check_;
/* -ENOENT: no such image. The layers stay until they are pruned. */
int image_ref_remove(int state_root, const char *name, struct error *e) _must_check_;

struct prune_stats {
        uint64_t layers, bytes, busy; /* removed; of their files; not in any image but in use by a sandbox or an import */
};
/* Removes layers that are in no image and not in use, and what kills left. */
int image_prune(int state_root, struct prune_stats *ret, struct error *e) _must_check_;

/* Removes a tree of stored files. */
int image_remove_tree(const struct ids *ids, int dirfd, const char *name, struct error *e) _must_check_;
