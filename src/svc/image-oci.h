/* Readers of the JSON that images come with: OCI image-spec v1.1 (index, manifest, config) and `docker save`. Pure: text
 * in, checked values out. All of it is hostile: sizes, depth and numbers are capped, duplicate keys are errors, and what
 * is not used is not kept. */
#pragma once

#include "svc/image.h"

enum {
        OCI_JSON_MAX = 4 << 20,  /* bytes of one document; registries refuse manifests above 4 MiB */
        OCI_LAYERS_MAX = 127,    /* as docker has it */
        OCI_DEPTH_MAX = 32,      /* levels of a document */
};

struct oci_blob {
        char hex[65]; /* SHA-256 */
        uint64_t size;
};
struct oci_manifest {
        struct oci_blob config;
        struct oci_blob *layers; /* bottom first */
        size_t n_layers;
};
void oci_manifest_clear(struct oci_manifest *m);
#define _cleanup_oci_manifest_ _cleanup_(oci_manifest_clear)

/* "sha256:HEX". -EINVAL for any other algorithm or form. */
int oci_digest_parse(const char *s, char hex[65]) _must_check_;
struct oci_wish {
        const char *ref;      /* of several, by name; NULL: none was given */
        const char *platform; /* "arm64", "arm/v7", "linux/arm64/v8"; NULL: this machine's */
        bool best;            /* several that fit are variants of one image: the plainest, not an error */
};
/* "[linux/]ARCHITECTURE[/VARIANT]". */
bool oci_platform_valid(const char *s);
/* Whether an image with this architecture in its configuration is one of the platform. */
bool oci_platform_has(const char *platform, const char *architecture);
/* The one image of an index that is wished for. *ret_index: it is an index itself. *ret_name: what the index calls it, or
 * NULL; allocated. */
int oci_index_parse(const char *text, size_t len, const struct oci_wish *wish, struct oci_blob *ret, bool *ret_index,
                    char **ret_name, struct error *e) _must_check_;
/* What came under a name of a registry: an index, or a manifest. -EBADMSG where it could be taken for both
 * (CVE-2021-41190), or is of a form that is no longer read. */
int oci_is_index(const char *text, size_t len, bool *ret, struct error *e) _must_check_;
int oci_manifest_parse(const char *text, size_t len, struct oci_manifest *ret, struct error *e) _must_check_;
/* Fills what a configuration says, and the digests of the uncompressed layers ("HEX", bottom first). */
int oci_config_parse(const char *text, size_t len, struct image *ret, struct strlist *ret_diff_ids, struct error *e)
        _must_check_;
/* manifest.json of `docker save`: paths within the archive, still to be resolved beneath it. tag chooses, as ref above. */
int docker_manifest_parse(const char *text, size_t len, const char *tag, char **ret_config, struct strlist *ret_layers,
                          char **ret_name, struct error *e) _must_check_;
