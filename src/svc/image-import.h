/* Making an image of what a user names: a directory, a tar, an OCI layout or archive, an archive of `docker save`, what
 * a registry has. Caller: `belljar image import` and `pull`. */
#pragma once

#include "svc/image-export.h"
#include "svc/image-pull.h"

enum image_format {
        FORMAT_AUTO, FORMAT_DIRECTORY, FORMAT_TAR, FORMAT_OCI, FORMAT_OCI_ARCHIVE, FORMAT_DOCKER_ARCHIVE, FORMAT_N,
};
/* "auto", "dir", "tar", "oci", "oci-archive", "docker-archive". */
extern const char *const image_format_names[FORMAT_N];

#define IMPORT_SIZE (64ull << 30)
#define IMPORT_ENTRIES 2000000ull

struct import_options {
        const char *origin;     /* what the record says of where it came from; NULL: source */
        const struct image_aliases *aliases; /* layers that are stored ones, whatever their digests; NULL: none */
        const char *name;       /* NULL: what the image calls itself, or its file */
        enum image_format format;
        const char *platform;   /* of an index: see struct oci_wish; NULL: this machine's */
        const struct pull_options *pull; /* the source is the name of an image at a registry; NULL: it is not */
        uint64_t max_size;      /* bytes of all layers; 0: IMPORT_SIZE, and a bound of the ratio of compression */
        uint64_t max_entries;   /* of all layers; 0: IMPORT_ENTRIES */
};
struct import_result {
        struct image image;         /* without locks */
        struct layer_counts counts; /* of all its layers */
        size_t layers_new;
};
/* source: a path, of OCI and docker archives also PATH:NAME, where there are several images; "-": standard input. */
int image_import(int state_root, const char *source, const struct import_options *o, struct import_result *ret,
                 struct error *e) _must_check_;
