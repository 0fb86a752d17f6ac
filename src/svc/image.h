/* The store of images, beneath the state directory: reading and locking. Needs no library, as it is part of a start.
 *
 *   images/layers/KEY/tree       one layer's files, read-only for everybody; whiteouts as overlayfs has them (userxattr)
 *   images/layers/KEY/layer      what was counted while it was unpacked (image-record.h)
 *   images/refs/NAME             an image: its configuration and its layers (image-record.h)
 *   images/tmp/NAME/             an import or a removal at work; what nobody has locked was left by a kill
 *   images/lock                  held while something appears in tmp or is looked for there
 *
 * KEY is the SHA-256 of the layer's uncompressed tar, as Belljar counted it, and the ids that its files are stored under
 * (image_layer_key): the same layer under other ids is another tree. A layer is made in tmp and renamed when it is
 * complete. Who uses one holds a shared flock(2) on its directory: an import until its record is written, a supervisor as
 * long as the sandbox lives. Who removes one locks it exclusively first, and reads the records after that. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "svc/ids.h"

enum {
        IMAGE_LAYERS_MAX = 128,   /* overlayfs takes 500; tools make 127, and one is Belljar's own */
        IMAGE_FILE_MAX = 240,     /* bytes of a name with its tag or digest, encoded as a file's name */
        IMAGE_RECORD_MAX = 4 << 20, /* bytes of a record */
};

/* All strings are set; "" where the image says nothing. What they hold came with the image: checked for form, not for
 * sense. Words of entrypoint, cmd, values of env and labels may hold any character but NUL. */
struct image {
        char *name;                 /* with its tag: "debian:12"; or its digest: "debian@sha256:HEX" */
        char *digest;               /* "sha256:HEX": of the configuration; of the one layer where there is none */
        char *manifest;             /* "sha256:HEX" of the manifest that says so; "" where it came without one */
        char *index;                /* likewise of the index of several platforms that the manifest was chosen from; "" */
        struct strlist entrypoint, cmd;
        struct strlist env;         /* "NAME=value"; a name stands once */
        char *workdir;              /* absolute and clean; "/" where the image says nothing */
        char *user;                 /* "", "name", "name:group", "0:0" */
        struct strlist ports;       /* "80/tcp" */
        struct strlist labels;      /* "key=value" */
        char *architecture, *os, *created, *source;
        uint64_t size;              /* bytes of the layers' files */
        struct strlist keys;        /* of the layers, bottom first */
        struct strlist layers;      /* paths of the trees beneath the state directory, topmost first (image_open) */
        char *dirs;                 /* key of a layer that Belljar made itself (image-implied.h), the topmost; "" where there is none */
        char *ids;                  /* image_ids_text of the ids it is stored under */
        int *locks;                 /* one a layer: close-on-exec fds with a shared lock; -1 given away (image_open) */
        size_t n_locks;
};
void image_clear(struct image *i);
#define _cleanup_image_ _cleanup_(image_clear)

/* "debian" becomes "debian:latest", and of a tag and a digest the digest alone is kept, as docker has it:
 * "debian@sha256:HEX". -EINVAL for what cannot be a name (model/image-name.h). Allocated. */
int image_name(const char *given, char **ret, struct error *e) _must_check_;
/* Names of the images of that repository that a digest (of a manifest, or an index) stands for; `name` as from image_name. */
int image_names_of_digest(int state_root, const char *name, struct strlist *ret, struct error *e) _must_check_;

/* The image and a lock on each of its layers, which image_clear lets go of; a process that is to keep them inherits the
 * fds. state_root: as from state_open_root. -ENOENT: no such image. Refused (-ESTALE) where the caller's ids are not those
 * that it is stored under. */
int image_open(int state_root, const char *name, struct image *ret, struct error *e) _must_check_;

/* Names of all images, sorted. No error where there is no store. */
int image_list(int state_root, struct strlist *ret, struct error *e) _must_check_;
/* The record alone: no locks, no check of ids. A name with a digest is also found under a tag, where the image that was
 * fetched by that has the digest. */
int image_read(int state_root, const char *name, struct image *ret, struct error *e) _must_check_;

/* How the ids that files are stored under are written down: "one UID GID", "range", "subids UID SUBUID GID SUBGID N". */
char *image_ids_text(const struct ids *ids);
/* The name of a layer's directory. hex: 64 digits. */
char *image_layer_key(const struct ids *ids, const char *hex);
