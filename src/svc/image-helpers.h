/* The processes that read hostile bytes for an import: decompressing, unpacking, walking a directory. The import forks
 * them (image-import.c); role/unpack is what they do. Each reads a stream or writes one, confined to one directory and
 * without network, and ends with a report. What a report says is that of a process that may have been taken over: its
 * texts are shown escaped, its numbers are shown and no more. The names of layers and what is compared with a digest come
 * from the bytes that the import itself saw pass. */
#pragma once

#include "svc/image-record.h"

enum image_job {
        JOB_DECOMPRESS, /* bytes in, plain tar out; its directory is empty */
        JOB_LAYER,      /* tar in; its directory is the layer's tree */
        JOB_ARCHIVE,    /* tar in; an archive that holds an image: files and links, without owners and modes */
        JOB_LOOK,       /* tar in, as far as needed: says whether it is such an archive; its directory is empty */
        JOB_PACK,       /* tar out; its directory is a root file system */
        JOB_EXPORT,     /* tar out; its directory is the tree of a stored layer, whose whiteouts become a layer's again */
};
enum image_archive { ARCHIVE_UNKNOWN, ARCHIVE_ROOTFS, ARCHIVE_IMAGE };

struct image_helper {
        enum image_job job;
        int in, out, report;    /* -1: none */
        uint64_t max_bytes, max_entries;
        uint32_t n_ids;         /* owners that exist, as struct ids has them */
        bool keep_ids;          /* JOB_PACK by root: in the host's user namespace */
        const char *through;    /* JOB_LAYER: n_through bytes, see image-through.h; NULL: none */
        size_t n_through;
};
struct image_report {
        struct error error;     /* errnum 0: it went well */
        struct layer_counts counts;
        uint32_t archive;       /* JOB_LOOK: enum image_archive */
        uint32_t implied;       /* JOB_LAYER: bytes that follow: paths that end in NUL of directories that the tar has no entry
                                 * for, although it has entries beneath them; "" is the root */
};
#define IMAGE_IMPLIED_MAX (1u << 20)

/* In the new process, whose working directory is the one that it may see. Never returns; status 0 and a report where it
 * went well. */
_noreturn_ void image_helper_main(const struct image_helper *h);
