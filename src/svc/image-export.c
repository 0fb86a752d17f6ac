/* Writing a stored image as an OCI layout, see image-export.h. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "proto/json.h"
#include "svc/image-export.h"
#include "svc/image-stream.h"

#define TYPE "application/vnd.oci.image."

struct export {
        const struct image_work *w;
        const struct image *image;
        int dir; /* the layout */
        int blobs;
        struct image_aliases *aliases;
        size_t first; /* of this image's layers in aliases */
        uint64_t *sizes;
};

void image_aliases_clear(struct image_aliases *a) {
        free(a->items);
        *a = (struct image_aliases){};
}

const char *image_alias_of(const struct image_aliases *a, const char *hex) {
        for (size_t i = 0; a && i < a->n; i++)
                if (streq(a->items[i].hex, hex))
                        return a->items[i].stored;
        return hex;
}

static int failed(int err, struct error *e) { return error_errno(e, err, "the image cannot be laid ready for the build"); }

static int make_dir(int at, const char *name) {
        if (mkdirat(at, name, 0755) < 0)
                return -errno;
        int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 && fchmod(fd, 0755) < 0) { /* whatever the umask: another id reads it */
                close(fd);
                fd = -1;
        }
        return fd < 0 ? -errno : fd;
}

static int write_file(int dir, const char *name, const char *text, size_t len) {
        _cleanup_fd_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0 || fchmod(fd, 0644) < 0)
                return -errno;
        return fd_write_all(fd, text, len);
}

static int put_layer(struct export *x, size_t k, struct error *e) {
        const struct stream_limits no_bound = {.bytes = 1ull << 50, .entries = 1ull << 30};
        const char *key = x->image->keys.items[k];
        struct stream_result s = {};
        int r;

        _cleanup_free_ char *path = str_printf("layers/%s", key);
        if (!path)
                return error_set(e, ENOMEM, "out of memory");
        _cleanup_fd_ int layer = openat(x->w->root, path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        _cleanup_fd_ int to = openat(x->blobs, "new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (layer < 0 || to < 0 || fchmod(to, 0644) < 0)
                return failed(errno, e);
        if ((r = stream_export(x->w, layer, to, &no_bound, &s, e)) < 0)
                return r;
        if (renameat(x->blobs, "new", x->blobs, s.plain_hex) < 0)
                return failed(errno, e);
        struct image_alias *items = reallocarray(x->aliases->items, x->aliases->n + 1, sizeof(*items));
        if (!items)
                return error_set(e, ENOMEM, "out of memory");
        x->aliases->items = items;
        struct image_alias *a = &items[x->aliases->n++];
        memcpy(a->hex, s.plain_hex, sizeof(a->hex));
        snprintf(a->stored, sizeof(a->stored), "%.64s", key);
        x->sizes[k] = s.plain_bytes;
        return 0;
}

static const char *hex_of_layer(const struct export *x, size_t k) { return x->aliases->items[x->first + k].hex; }

static void json_digest(struct json *j, const char *key, const char *hex) {
        char text[80];
        snprintf(text, sizeof(text), "sha256:%s", hex);
        json_str(j, key, text);
}

static void json_blob(struct json *j, const char *key, const char *type, const char *hex, uint64_t size) {
        json_begin(j, key, '{');
        json_str(j, "mediaType", type);
        json_digest(j, "digest", hex);
        json_num(j, "size", (long long)size);
        json_end(j, '}');
}

/* "key=value" as a member; without "=": with an empty object, as ExposedPorts has them. */
static void json_members(struct json *j, const char *key, const struct strlist *l, bool objects) {
        json_begin(j, key, '{');
        for (size_t i = 0; i < l->n; i++) {
                size_t n = strcspn(l->items[i], "=");
                _cleanup_free_ char *name = objects ? strdup(l->items[i]) : strndup(l->items[i], n);
                if (!name)
                        j->text.failed = true;
                else if (objects) {
                        json_begin(j, name, '{');
                        json_end(j, '}');
                } else
                        json_str(j, name, l->items[i][n] ? l->items[i] + n + 1 : "");
        }
        json_end(j, '}');
}

static void write_config(const struct export *x, struct json *j) {
        const struct image *i = x->image;

        json_begin(j, NULL, '{');
        if (i->created[0])
                json_str(j, "created", i->created);
        json_str(j, "architecture", i->architecture);
        json_str(j, "os", i->os);
        json_begin(j, "config", '{');
        json_list(j, "Env", &i->env);
        if (i->entrypoint.n > 0)
                json_list(j, "Entrypoint", &i->entrypoint);
        if (i->cmd.n > 0)
                json_list(j, "Cmd", &i->cmd);
        json_str(j, "WorkingDir", i->workdir);
        json_str(j, "User", i->user);
        json_members(j, "ExposedPorts", &i->ports, true);
        json_members(j, "Labels", &i->labels, false);
        json_end(j, '}');
        json_begin(j, "rootfs", '{');
        json_str(j, "type", "layers");
        json_begin(j, "diff_ids", '[');
        for (size_t k = 0; k < i->keys.n; k++)
                json_digest(j, NULL, hex_of_layer(x, k));
        json_end(j, ']');
        json_end(j, '}');
        /* One a layer: builders count them. */
        json_begin(j, "history", '[');
        for (size_t k = 0; k < i->keys.n; k++) {
                json_begin(j, NULL, '{');
                json_str(j, "comment", "stored by belljar");
                json_end(j, '}');
        }
        json_end(j, ']');
        json_end(j, '}');
}

static void write_manifest(const struct export *x, struct json *j, const char *config_hex, uint64_t config_size) {
        json_begin(j, NULL, '{');
        json_num(j, "schemaVersion", 2);
        json_str(j, "mediaType", TYPE "manifest.v1+json");
        json_blob(j, "config", TYPE "config.v1+json", config_hex, config_size);
        json_begin(j, "layers", '[');
        for (size_t k = 0; k < x->image->keys.n; k++)
                json_blob(j, NULL, TYPE "layer.v1.tar", hex_of_layer(x, k), x->sizes[k]);
        json_end(j, ']');
        json_end(j, '}');
}

/* A document, under its digest where name is NULL. */
static int put_json(int dir, const char *name, struct json *j, char hex[65], uint64_t *ret_size, struct error *e) {
        _cleanup_free_ char *text = strbuf_take(&j->text);
        if (!text)
                return error_set(e, ENOMEM, "out of memory");
        size_t len = strlen(text);
        stream_digest(text, len, hex);
        *ret_size = len;
        int r = write_file(dir, name ? name : hex, text, len);
        return r < 0 ? failed(r, e) : 0;
}

static int put_documents(const struct export *x, struct error *e) {
        static const char layout[] = "{\"imageLayoutVersion\": \"1.0.0\"}\n";
        struct json config = {}, manifest = {}, index = {};
        char hex[65] = "", ignored[65];
        uint64_t size = 0;
        int r;

        write_config(x, &config);
        if ((r = put_json(x->blobs, NULL, &config, hex, &size, e)) < 0)
                return r;
        write_manifest(x, &manifest, hex, size);
        if ((r = put_json(x->blobs, NULL, &manifest, hex, &size, e)) < 0)
                return r;
        json_begin(&index, NULL, '{');
        json_num(&index, "schemaVersion", 2);
        json_begin(&index, "manifests", '[');
        json_blob(&index, NULL, TYPE "manifest.v1+json", hex, size);
        json_end(&index, ']');
        json_end(&index, '}');
        if ((r = put_json(x->dir, "index.json", &index, ignored, &size, e)) < 0)
                return r;
        r = write_file(x->dir, "oci-layout", layout, sizeof(layout) - 1);
        return r < 0 ? failed(r, e) : 0;
}

int image_export(const struct image_work *w, const struct image *i, const char *name, struct image_aliases *aliases,
                 struct error *e) {
        _cleanup_free_ uint64_t *sizes = calloc(i->keys.n + 1, sizeof(*sizes));
        _cleanup_fd_ int dir = make_dir(w->dir, name), blobs = -EBADF;
        struct export x = {.w = w, .image = i, .aliases = aliases, .first = aliases->n, .sizes = sizes};
        int r;

        if (!sizes)
                return error_set(e, ENOMEM, "out of memory");
        if (dir < 0)
                return failed(dir, e);
        _cleanup_fd_ int above = make_dir(dir, "blobs");
        blobs = above < 0 ? above : make_dir(above, "sha256");
        if (blobs < 0)
                return failed(blobs, e);
        x.dir = dir;
        x.blobs = blobs;
        for (size_t k = 0; k < i->keys.n; k++)
                if ((r = put_layer(&x, k, e)) < 0)
                        return r;
        return put_documents(&x, e);
}
