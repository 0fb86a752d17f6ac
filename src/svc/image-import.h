/* Making an image of what a user names: a directory, a tar, an OCI layout or archive, an archive of `docker save`, what
 * skopeo can fetch. Caller: `belljar image import` and `pull`. */
#pragma once

#include "svc/image-store.h"

enum image_format {
        FORMAT_AUTO, FORMAT_DIRECTORY, FORMAT_TAR, FORMAT_OCI, FORMAT_OCI_ARCHIVE, FORMAT_DOCKER_ARCHIVE, FORMAT_N,
};
/* "auto", "dir", "tar", "oci", "oci-archive", "docker-archive". */
extern const char *const image_format_names[FORMAT_N];

#define IMPORT_SIZE (64ull << 30)
#define IMPORT_ENTRIES 2000000ull

struct import_options {
        const char *name;       /* NULL: what the image calls itself, or its file */
        enum image_format format;
        bool pull;              /* the source is a name for skopeo(1) */
        uint64_t max_size;      /* bytes of all layers; 0: IMPORT_SIZE, and a bound of the ratio of compression */
        uint64_t max_entries;   /* of all layers; 0: IMPORT_ENTRIES */
};
struct import_result {
        struct image image;         /* without locks */
        struct layer_counts counts; /* of all its layers */
        size_t layers_new;
};
/* source: a path, of OCI and docker archives also PATH:NAME, where there are several images. */
int image_import(int state_root, const char *source, const struct import_options *o, struct import_result *ret,
                 struct error *e) _must_check_;
