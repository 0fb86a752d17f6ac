/* A stored image as an OCI layout (image-spec v1.1) in a directory, for a builder that is to read it. The layers' tars are made
 * anew from the stored trees by a helper of the import (JOB_EXPORT), so their digests are not those that they came with: the
 * list of both is what lets an import find them again. Caller: role/cli/image-build.c. */
#pragma once

#include "svc/image-store.h"

/* A layer's tar as it was written, and the stored layer that it was made of. */
struct image_alias {
        char hex[65], stored[65];
};
struct image_aliases {
        struct image_alias *items;
        size_t n;
};
void image_aliases_clear(struct image_aliases *a);
#define _cleanup_image_aliases_ _cleanup_(image_aliases_clear)
/* The stored layer's digest, or hex itself. a may be NULL. */
const char *image_alias_of(const struct image_aliases *a, const char *hex);

/* Makes the directory `name` of w with the layout. i: as from image_open, whose locks hold the layers meanwhile. */
int image_export(const struct image_work *w, const struct image *i, const char *name, struct image_aliases *aliases,
                 struct error *e) _must_check_;
