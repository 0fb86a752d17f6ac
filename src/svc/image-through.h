/* Layers that name files through a link of a lower layer: `bin/x`, where a layer below has `bin -> usr/bin`. Alone, such a
 * layer makes a directory `bin`, and that would hide the link. In this image its entries belong where the link leads, found
 * with the image as the root over all layers below. As another image may have no link there, the layer as it is in this one
 * is stored under a name of its own, made of its digest and of where its directories lead. Caller: image-import.c. */
#pragma once

#include "svc/image-implied.h"

/* layers: bottom first, the one in question last; its `implied` are the directories that its tar has entries beneath but no
 * entry for, which alone can be links below: an entry for the directory would have replaced the link. *ret: pairs of paths
 * that end in NUL, a directory and where it leads; the longest counts. *ret_len 0: nothing leads elsewhere. */
int through_find(const struct ids *ids, const struct implied_layer *layers, size_t n, char **ret, size_t *ret_len,
                 struct error *e) _must_check_;
/* Pure: the path of an entry, in place, by such pairs. path: `size` bytes. -ENAMETOOLONG. */
int through_apply(const char *pairs, size_t n, char *path, size_t size) _must_check_;
