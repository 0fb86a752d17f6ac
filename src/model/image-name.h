/* Names of images as people write them: [REGISTRY/]NAME[:TAG][@sha256:DIGEST]. Pure; for the policy reader and the
 * image store. */
#pragma once

#include "base/macros.h"

#define IMAGE_NAME_MAX 512u /* bytes: 255 for the name, 128 for the tag, 71 for the digest and the signs between */

/* -EINVAL: not such a name; *ret_why (which may be NULL) is then what to do about it. The registry is the first part
 * where it has a dot or a port or is "localhost", as docker has it. */
int image_name_check(const char *name, const char **ret_why) _must_check_;

/* Of a name that is well formed: */
/* the 64 digits of its digest; NULL where it has none. */
const char *image_name_digest(const char *name);
/* How long the part before the tag and the digest is. */
size_t image_name_repository(const char *name);
/* How long the registry is that begins it; 0 where it names none, which is docker.io. */
size_t image_name_registry(const char *name);
