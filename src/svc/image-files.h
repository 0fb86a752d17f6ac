/* What a path is in an image whose layers are not mounted: as a process in it would find it, without ever leaving it.
 * The layers' content is hostile. */
#pragma once

#include <limits.h>
#include <sys/stat.h>

#include "svc/image.h"

/* The trees of its layers, topmost first. */
struct image_files {
        int fds[IMAGE_LAYERS_MAX];
        size_t n;
};
/* state_root: as from state_open_root; the image must be open. What was opened when it fails is for image_files_close.
 */
int image_files_open(int state_root, const struct image *image, struct image_files *l) _must_check_;
void image_files_close(struct image_files *l);

/* at: the path without links, relative to the root ("" is the root); *ret_mode: a regular file's or a directory's;
 * *ret_layer: the tree where it was found. -ENOENT; -ENOTDIR: something else, or a file on the way. */
int image_files_find(const struct image_files *l, const char *path, char at[PATH_MAX], mode_t *ret_mode,
        size_t *ret_layer) _must_check_;
/* A regular file's content, NUL-terminated. -EFBIG beyond max; ret_len may be NULL. */
int image_files_read(
        const struct image_files *l, const char *path, size_t max, char **ret, size_t *ret_len) _must_check_;
