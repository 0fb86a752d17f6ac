/* Readers of images' JSON, see image-oci.h. */
#include <jansson.h>
#include <stdio.h>

#include "svc/image-oci.h"

#define ITEMS_MAX 4096u        /* of an array or object that is read */
#define STRING_MAX (128u << 10) /* bytes: what execve(2) takes as one argument (MAX_ARG_STRLEN) */
#define SHORT_MAX 256u         /* bytes of a user, an architecture, a date, a port */

static void json_clear(json_t **j) { json_decref(*j); }
#define _cleanup_json_ _cleanup_(json_clear)

void oci_manifest_clear(struct oci_manifest *m) {
        free(m->layers);
        *m = (struct oci_manifest){};
}

/* Before the parser recurses. */
static bool too_deep(const char *text, size_t len) {
        unsigned depth = 0;
        bool in_string = false;

        for (size_t i = 0; i < len; i++) {
                if (in_string) {
                        if (text[i] == '\\')
                                i++;
                        else if (text[i] == '"')
                                in_string = false;
                } else if (text[i] == '"')
                        in_string = true;
                else if (text[i] == '{' || text[i] == '[') {
                        if (++depth > OCI_DEPTH_MAX)
                                return true;
                } else if ((text[i] == '}' || text[i] == ']') && depth > 0)
                        depth--;
        }
        return false;
}

static int load(const char *text, size_t len, const char *what, json_t **ret, struct error *e) {
        json_error_t why;

        if (len > OCI_JSON_MAX)
                return error_set(e, EFBIG, "the image's %s is larger than %d MiB", what, OCI_JSON_MAX >> 20);
        if (too_deep(text, len))
                return error_set(e, EBADMSG, "the image's %s nests deeper than %d levels", what, OCI_DEPTH_MAX);
        json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
        if (!j)
                return error_set(e, EBADMSG, "the image's %s is not readable: %s (line %d)", what, why.text, why.line);
        *ret = j;
        return 0;
}

static int bad(struct error *e, const char *what, const char *field) {
        return error_set(e, EBADMSG, "the image's %s is wrong in \"%s\"", what, field);
}

int oci_digest_parse(const char *s, char hex[65]) {
        const char *h = str_after(s, "sha256:");
        if (!h || strlen(h) != 64 || strspn(h, "0123456789abcdef") != 64)
                return -EINVAL;
        memcpy(hex, h, 65);
        return 0;
}

static int read_blob(const json_t *j, struct oci_blob *ret) {
        const char *digest = json_string_value(json_object_get(j, "digest"));
        const json_t *size = json_object_get(j, "size");

        if (!digest || !json_is_integer(size) || json_integer_value(size) < 0)
                return -EINVAL;
        ret->size = (uint64_t)json_integer_value(size);
        return oci_digest_parse(digest, ret->hex);
}

/* As Go, whose words images use, calls this machine. */
static const char *this_architecture(void) {
#if defined(__x86_64__)
        return "amd64";
#elif defined(__aarch64__)
        return "arm64";
#else
        return "unknown";
#endif
}

static const char *annotation(const json_t *j, const char *key) {
        return json_string_value(json_object_get(json_object_get(j, "annotations"), key));
}
#define REF_NAME "org.opencontainers.image.ref.name"
#define WHOLE_NAME "io.containerd.image.name"

bool oci_platform_valid(const char *s) {
        const char *rest = str_after(s, "linux/");
        unsigned parts = 0;

        for (s = rest ? rest : s; parts < 2; parts++) {
                size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-.");
                if (n == 0 || n > 32 || (s[n] && s[n] != '/'))
                        return false;
                if (!s[n])
                        return true;
                s += n + 1;
        }
        return false;
}

/* The architecture and its length; *ret_variant: what follows it, or NULL. */
static size_t split_platform(const char **platform, const char **ret_variant) {
        const char *p = *platform ? *platform : this_architecture(), *rest = str_after(p, "linux/");
        *platform = rest ? rest : p;
        size_t n = strcspn(*platform, "/");
        *ret_variant = (*platform)[n] ? *platform + n + 1 : NULL;
        return n;
}

bool oci_platform_has(const char *platform, const char *architecture) {
        const char *variant;
        size_t n = split_platform(&platform, &variant);
        return strlen(architecture) == n && memcmp(platform, architecture, n) == 0;
}

/* How well it is what is wished for, as far as the index says: 0 not at all, 1 a variant that this machine may not run, 2. */
static unsigned fits(const json_t *j, const char *platform) {
        const json_t *p = json_object_get(j, "platform");
        const char *os = json_string_value(json_object_get(p, "os")), *arch = json_string_value(json_object_get(p, "architecture")),
                   *variant = json_string_value(json_object_get(p, "variant")), *wanted;

        if (annotation(j, "vnd.docker.reference.type")) /* an attestation beside the image */
                return 0;
        if (!p)
                return 2;
        if ((os && !streq(os, "linux")) || (arch && !oci_platform_has(platform, arch)))
                return 0;
        (void)split_platform(&platform, &wanted);
        if (wanted)
                return variant && streq(variant, wanted) ? 2 : 0;
        return !variant || !variant[0] || (arch && streq(arch, "arm64") && streq(variant, "v8")) ? 2 : 1;
}

static bool has_ref(const json_t *j, const char *ref) {
        const char *a = annotation(j, REF_NAME), *b = annotation(j, WHOLE_NAME);
        return !ref || (a && streq(a, ref)) || (b && streq(b, ref));
}

int oci_index_parse(const char *text, size_t len, const struct oci_wish *wish, struct oci_blob *ret, bool *ret_index,
                    char **ret_name, struct error *e) {
        _cleanup_json_ json_t *j = NULL;
        struct oci_blob found = {}, blob;
        const json_t *chosen = NULL, *item;
        const char *platform = wish->platform ? wish->platform : this_architecture();
        size_t i, elsewhere = 0;
        unsigned fit, best = 0;
        int r = load(text, len, "index", &j, e);

        if (r < 0)
                return r;
        const json_t *list = json_object_get(j, "manifests");
        if (!json_is_array(list) || json_array_size(list) > ITEMS_MAX)
                return bad(e, "index", "manifests");
        json_array_foreach(list, i, item) {
                if (!has_ref(item, wish->ref))
                        continue;
                if ((fit = fits(item, wish->platform)) == 0) {
                        elsewhere++;
                        continue;
                }
                if (wish->best && fit <= best)
                        continue;
                best = fit;
                if (read_blob(item, &blob) < 0)
                        return bad(e, "index", "manifests");
                if (!wish->best && chosen && !streq(found.hex, blob.hex)) {
                        const char *a = annotation(chosen, REF_NAME), *b = annotation(item, REF_NAME);
                        error_set(e, E2BIG, "there are several images, as %.100s and %.100s", a ? a : found.hex, b ? b : blob.hex);
                        return error_fix(e, "name one of them: SOURCE:NAME");
                }
                chosen = item;
                found = blob;
        }
        if (!chosen && elsewhere > 0)
                return error_set(e, ENOENT, "there is no image for linux on %s in the index", platform);
        if (!chosen)
                return error_set(e, ENOENT, wish->ref ? "there is no image called %s in the index" : "there is no image in the index",
                                 wish->ref);
        const char *media = json_string_value(json_object_get(chosen, "mediaType"));
        const char *whole = annotation(chosen, WHOLE_NAME), *name = whole ? whole : annotation(chosen, REF_NAME);
        char *copy = name ? strdup(name) : NULL;
        if (name && !copy)
                return error_set(e, ENOMEM, "out of memory");
        *ret = found;
        *ret_name = copy;
        *ret_index = media && (streq(media, "application/vnd.oci.image.index.v1+json") ||
                               streq(media, "application/vnd.docker.distribution.manifest.list.v2+json"));
        return 0;
}

int oci_is_index(const char *text, size_t len, bool *ret, struct error *e) {
        _cleanup_json_ json_t *j = NULL;
        int r = load(text, len, "manifest", &j, e);

        if (r < 0)
                return r;
        const json_t *version = json_object_get(j, "schemaVersion");
        bool index = json_object_get(j, "manifests"), manifest = json_object_get(j, "layers") || json_object_get(j, "config");
        if (json_is_integer(version) && json_integer_value(version) == 1)
                return error_set(e, EBADMSG, "the image's manifest is of docker's first form (schemaVersion 1), which is not read");
        if (index == manifest)
                return error_set(e, EBADMSG, index ? "the image's manifest is an index as well" :
                                                     "what the registry sent is neither a manifest nor an index");
        *ret = index;
        return 0;
}

static bool is_layer_type(const char *media) {
        static const char *const types[] = {
                "application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.layer.v1.tar+gzip",
                "application/vnd.oci.image.layer.v1.tar+zstd", "application/vnd.oci.image.layer.nondistributable.v1.tar",
                "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", "application/vnd.docker.image.rootfs.diff.tar",
                "application/vnd.docker.image.rootfs.diff.tar.gzip", "application/vnd.docker.image.rootfs.diff.tar.zstd",
                "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
        };
        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if (streq(types[i], media))
                        return true;
        return false;
}

int oci_manifest_parse(const char *text, size_t len, struct oci_manifest *ret, struct error *e) {
        _cleanup_json_ json_t *j = NULL;
        _cleanup_oci_manifest_ struct oci_manifest m = {};
        const json_t *item;
        size_t i;
        int r = load(text, len, "manifest", &j, e);

        if (r < 0)
                return r;
        const json_t *config = json_object_get(j, "config"), *layers = json_object_get(j, "layers");
        const char *media = json_string_value(json_object_get(config, "mediaType"));
        if (!media || read_blob(config, &m.config) < 0)
                return bad(e, "manifest", "config");
        if (!streq(media, "application/vnd.oci.image.config.v1+json") &&
            !streq(media, "application/vnd.docker.container.image.v1+json"))
                return error_set(e, EBADMSG, "this is no image but an artifact of another kind: %.100s", media);
        if (!json_is_array(layers) || json_array_size(layers) == 0)
                return bad(e, "manifest", "layers");
        if (json_array_size(layers) > OCI_LAYERS_MAX)
                return error_set(e, E2BIG, "the image has more than %d layers", OCI_LAYERS_MAX);
        m.layers = calloc(json_array_size(layers), sizeof(*m.layers));
        if (!m.layers)
                return error_set(e, ENOMEM, "out of memory");
        json_array_foreach(layers, i, item) {
                const char *type = json_string_value(json_object_get(item, "mediaType"));
                if (!type || !is_layer_type(type) || read_blob(item, &m.layers[m.n_layers++]) < 0)
                        return bad(e, "manifest", "layers");
        }
        *ret = m;
        m = (struct oci_manifest){};
        return 0;
}

static bool is_short(const char *s) {
        if (strlen(s) > SHORT_MAX)
                return false;
        for (; *s; s++)
                if (*s <= ' ' || *s > '~')
                        return false;
        return true;
}

static int read_list(const json_t *j, struct strlist *ret) {
        const json_t *item;
        size_t i;

        if (!j || json_is_null(j))
                return 0;
        if (!json_is_array(j) || json_array_size(j) > ITEMS_MAX)
                return -EINVAL;
        json_array_foreach(j, i, item) {
                if (!json_is_string(item) || json_string_length(item) > STRING_MAX)
                        return -EINVAL;
                int r = strlist_add(ret, json_string_value(item));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Of two variables of one name the later one counts. */
static int read_env(const json_t *j, struct strlist *ret) {
        _cleanup_strlist_ struct strlist all = {};
        int r = read_list(j, &all);

        for (size_t i = 0; r == 0 && i < all.n; i++) {
                const char *v = all.items[i];
                size_t n = strcspn(v, "=");
                if (n == 0 || !v[n])
                        return -EINVAL;
                for (size_t k = 0; k < n; k++)
                        if (v[k] <= ' ' || v[k] > '~')
                                return -EINVAL;
                bool again = false;
                for (size_t k = i + 1; k < all.n && !again; k++)
                        again = strncmp(all.items[k], v, n + 1) == 0;
                if (!again)
                        r = strlist_add(ret, v);
        }
        return r;
}

static bool is_port(const char *s) {
        unsigned first, last;
        int n = 0;
        if (!is_short(s))
                return false;
        if (sscanf(s, "%5u-%5u%n", &first, &last, &n) != 2) {
                n = 0;
                if (sscanf(s, "%5u%n", &first, &n) != 1)
                        return false;
                last = first;
        }
        s += n;
        return first > 0 && first <= last && last <= 65535 && (!*s || streq(s, "/tcp") || streq(s, "/udp") || streq(s, "/sctp"));
}

static int read_ports(json_t *j, struct strlist *ret) {
        const char *key;
        json_t *value;

        if (!j || json_is_null(j))
                return 0;
        if (!json_is_object(j) || json_object_size(j) > ITEMS_MAX)
                return -EINVAL;
        json_object_foreach(j, key, value) {
                if (!is_port(key))
                        return -EINVAL;
                int r = strlist_addf(ret, "%s%s", key, strchr(key, '/') ? "" : "/tcp");
                if (r < 0)
                        return r;
        }
        return 0;
}

static int read_labels(json_t *j, struct strlist *ret) {
        const char *key;
        json_t *value;

        if (!j || json_is_null(j))
                return 0;
        if (!json_is_object(j) || json_object_size(j) > ITEMS_MAX)
                return -EINVAL;
        json_object_foreach(j, key, value) {
                if (!key[0] || strchr(key, '=') || !json_is_string(value) || json_string_length(value) > STRING_MAX)
                        return -EINVAL;
                int r = strlist_addf(ret, "%s=%s", key, json_string_value(value));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A string that may be missing. */
static int read_short(const json_t *j, char **ret) {
        if (j && !json_is_null(j) && !json_is_string(j))
                return -EINVAL;
        const char *s = json_is_string(j) ? json_string_value(j) : "";
        if (!is_short(s))
                return -EINVAL;
        *ret = strdup(s);
        return *ret ? 0 : -ENOMEM;
}

static int read_workdir(const json_t *j, char **ret) {
        if (j && !json_is_null(j) && !json_is_string(j))
                return -EINVAL;
        const char *s = json_is_string(j) && *json_string_value(j) ? json_string_value(j) : "/";
        if (s[0] != '/' || strlen(s) > 4000 || path_has_dotdot(s))
                return -EINVAL;
        for (const char *p = s; *p; p++)
                if ((unsigned char)*p < ' ' || *p == 0x7f)
                        return -EINVAL;
        *ret = path_clean(s);
        return *ret ? 0 : -ENOMEM;
}

static int read_diff_ids(const json_t *j, struct strlist *ret) {
        _cleanup_strlist_ struct strlist all = {};
        char hex[65];
        int r = read_list(j, &all);

        if (r == 0 && (all.n == 0 || all.n > OCI_LAYERS_MAX))
                return -EINVAL;
        for (size_t i = 0; r == 0 && i < all.n; i++) {
                r = oci_digest_parse(all.items[i], hex);
                if (r == 0)
                        r = strlist_add(ret, hex);
        }
        return r;
}

int oci_config_parse(const char *text, size_t len, struct image *ret, struct strlist *ret_diff_ids, struct error *e) {
        _cleanup_json_ json_t *j = NULL;
        _cleanup_image_ struct image i = {};
        _cleanup_strlist_ struct strlist ids = {};
        int r = load(text, len, "configuration", &j, e);

        if (r < 0)
                return r;
        if (!json_is_object(j))
                return bad(e, "configuration", "{");
        const json_t *c = json_object_get(j, "config"), *rootfs = json_object_get(j, "rootfs");
        const struct {
                const char *field;
                int r;
        } steps[] = {
                {"config", c && !json_is_null(c) && !json_is_object(c) ? -EINVAL : 0},
                {"architecture", read_short(json_object_get(j, "architecture"), &i.architecture)},
                {"os", read_short(json_object_get(j, "os"), &i.os)},
                {"created", read_short(json_object_get(j, "created"), &i.created)},
                {"Entrypoint", read_list(json_object_get(c, "Entrypoint"), &i.entrypoint)},
                {"Cmd", read_list(json_object_get(c, "Cmd"), &i.cmd)},
                {"Env", read_env(json_object_get(c, "Env"), &i.env)},
                {"WorkingDir", read_workdir(json_object_get(c, "WorkingDir"), &i.workdir)},
                {"User", read_short(json_object_get(c, "User"), &i.user)},
                {"ExposedPorts", read_ports(json_object_get(c, "ExposedPorts"), &i.ports)},
                {"Labels", read_labels(json_object_get(c, "Labels"), &i.labels)},
                {"rootfs", read_diff_ids(json_object_get(rootfs, "diff_ids"), &ids)},
        };
        for (size_t k = 0; k < ELEMENTSOF(steps); k++)
                if (steps[k].r < 0)
                        return steps[k].r == -ENOMEM ? error_set(e, ENOMEM, "out of memory") :
                                                       bad(e, "configuration", steps[k].field);
        if (i.os[0] && !streq(i.os, "linux"))
                return error_set(e, EBADMSG, "the image is for %s, not for linux", i.os);
        *ret = i;
        *ret_diff_ids = ids;
        i = (struct image){};
        ids = (struct strlist){};
        return 0;
}

static bool has_tag(const json_t *tags, const char *tag) {
        const json_t *t;
        size_t i;
        json_array_foreach(tags, i, t)
                if (json_is_string(t) && streq(json_string_value(t), tag))
                        return true;
        return false;
}

int docker_manifest_parse(const char *text, size_t len, const char *tag, char **ret_config, struct strlist *ret_layers,
                          char **ret_name, struct error *e) {
        _cleanup_json_ json_t *j = NULL;
        _cleanup_strlist_ struct strlist layers = {};
        const json_t *chosen = NULL, *item;
        size_t i;
        int r = load(text, len, "manifest.json", &j, e);

        if (r < 0)
                return r;
        if (!json_is_array(j) || json_array_size(j) > ITEMS_MAX)
                return bad(e, "manifest.json", "[");
        json_array_foreach(j, i, item) {
                if (tag && !has_tag(json_object_get(item, "RepoTags"), tag))
                        continue;
                if (chosen) {
                        error_set(e, E2BIG, "there are several images in the archive");
                        return error_fix(e, "name one of them: SOURCE:NAME:TAG");
                }
                chosen = item;
        }
        if (!chosen)
                return error_set(e, ENOENT, tag ? "there is no image called %s in the archive" : "there is no image in the archive", tag);
        const char *config = json_string_value(json_object_get(chosen, "Config"));
        if (!config || !config[0] || strlen(config) > 4000)
                return bad(e, "manifest.json", "Config");
        r = read_list(json_object_get(chosen, "Layers"), &layers);
        if (r == 0 && layers.n > OCI_LAYERS_MAX)
                return error_set(e, E2BIG, "the image has more than %d layers", OCI_LAYERS_MAX);
        if (r < 0 || layers.n == 0)
                return bad(e, "manifest.json", "Layers");
        const char *name = tag ? tag : json_string_value(json_array_get(json_object_get(chosen, "RepoTags"), 0));
        _cleanup_free_ char *config_copy = strdup(config), *name_copy = name ? strdup(name) : NULL;
        if (!config_copy || (name && !name_copy))
                return error_set(e, ENOMEM, "out of memory");
        *ret_config = TAKE_PTR(config_copy);
        *ret_name = TAKE_PTR(name_copy);
        *ret_layers = layers;
        layers = (struct strlist){};
        return 0;
}
