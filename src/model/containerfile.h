/* What images a Containerfile (Dockerfile) builds on, so that they can be laid ready before anything of it is run. Pure; the
 * text is hostile. It reads what names an image and nothing more: FROM, the ARGs before the first one, and --from of COPY, ADD
 * and RUN --mount. Where it and the builder should ever differ, the builder, which has no network, finds no such image.
 * Caller: role/cli/image-build.c. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

enum {
        CONTAINERFILE_MAX = 1 << 20,       /* bytes */
        CONTAINERFILE_IMAGES_MAX = 64,
        CONTAINERFILE_STAGES_MAX = 256,
        CONTAINERFILE_NAME_MAX = 1024,     /* bytes of an image's name, once its variables are put in */
        CONTAINERFILE_ARGS_MAX = 1024,
};

/* args: "NAME=VALUE" of --build-arg. target: the last stage that matters, by name or number; NULL: the last there is.
 * *ret: names as written, variables put in, in the order of their first mention, each once; neither stages nor "scratch". */
int containerfile_images(const char *text, size_t len, const struct strlist *args, const char *target, struct strlist *ret,
                         struct error *e) _must_check_;
