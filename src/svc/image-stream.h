/* The helpers of an import at work: started, fed, watched, heard (image-helpers.h). The digests are those of the bytes that
 * passed through here. Caller: image-import.c. */
#pragma once

#include "svc/image-helpers.h"
#include "svc/image-store.h"

struct stream_limits {
        uint64_t bytes, entries; /* of what is unpacked */
        uint64_t ratio;          /* plain bytes a compressed byte, beyond the first STREAM_FREE; 0: any */
        uint64_t space_floor;    /* bytes that must stay free on the store's file system */
};
#define STREAM_FREE (256ull << 20)
#define STREAM_RATIO 200u

struct stream_result {
        char raw_hex[65], plain_hex[65];
        uint64_t raw_bytes, plain_bytes;
        struct image_report report; /* of the helper that ends the chain */
        char *implied;              /* of JOB_LAYER, report.implied bytes, to be freed; NULL where there are none */
        struct layer_counts source; /* of JOB_PACK: what it left out itself */
};

/* What can be read only once. A look at its beginning keeps what it reads for the reading that follows. */
struct stream_source {
        int fd;
        int kept;  /* a file of one's own */
        bool look; /* this time */
        const char *through; /* of a layer: see struct image_helper */
        size_t n_through;
};
/* As stream_file below. */
int stream_once(const struct image_work *w, const struct stream_source *s, enum image_job job, int dir, int empty,
                const struct stream_limits *l, struct stream_result *ret, struct error *e) _must_check_;
/* From a file (fd) through decompression into `job`, which works in the directory dir. empty: a directory with nothing in
 * it, for the helpers that need none. */
int stream_file(const struct image_work *w, int fd, enum image_job job, int dir, int empty, const struct stream_limits *l,
                struct stream_result *ret, struct error *e) _must_check_;
/* From a directory of the host into the tree of a layer. */
int stream_directory(const struct image_work *w, int from, int dir, const struct stream_limits *l, struct stream_result *ret,
                     struct error *e) _must_check_;
/* The tree of a stored layer as a layer's tar, into the file `to`. layer: its directory. Of *ret: plain_hex, plain_bytes. */
int stream_export(const struct image_work *w, int layer, int to, const struct stream_limits *l, struct stream_result *ret,
                  struct error *e) _must_check_;
/* SHA-256 of bytes in memory. */
void stream_digest(const void *data, size_t n, char hex[65]);
int stream_digest_of(int fd, char hex[65]) _must_check_;
