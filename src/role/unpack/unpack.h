/* Inside the helpers of an import (svc/image-helpers.h): what the files of this role share. */
#pragma once

#include "svc/image-helpers.h"

struct archive;

/* Puts the process in its cage: the working directory becomes its root. */
int unpack_confine(const struct image_helper *h, struct error *e) _must_check_;

/* A reader of fd as libarchive has it: a tar, or with raw the bytes behind every compression. */
int unpack_reader(int fd, bool raw, struct archive **ret, struct error *e) _must_check_;
int unpack_decompress(const struct image_helper *h, struct image_report *report) _must_check_;
int unpack_look(const struct image_helper *h, struct image_report *report) _must_check_;
/* JOB_LAYER and JOB_ARCHIVE. */
extern struct strbuf unpack_implied; /* see struct image_report */
int unpack_tree(const struct image_helper *h, struct image_report *report) _must_check_;
int unpack_pack(const struct image_helper *h, struct image_report *report) _must_check_;

/* A name of an archive as a path beneath the root: leading slashes, "." and doubled slashes taken away. Refused: "..",
 * an empty name is "" (the root). Pure. */
enum { UNPACK_NAME_MAX = 4000, UNPACK_DEPTH_MAX = 256 };
int unpack_name(const char *given, char path[UNPACK_NAME_MAX + 1], struct error *e) _must_check_;
/* From the outermost part of a name: what only an archive that holds an image begins with. Pure. */
bool unpack_is_image_name(const char *path);
