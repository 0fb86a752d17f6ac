/* Imports, see image-import.h. What the archives hold is read by helpers (image-stream.h); here, small JSON documents are,
 * after their digests were seen to be right, and files beneath a directory of hostile links are opened. */
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/image-name.h"
#include "svc/image-implied.h"
#include "svc/image-import.h"
#include "svc/image-oci.h"
#include "svc/image-stream.h"
#include "svc/image-through.h"
#include "sys/beneath.h"

#define ARCHIVE_ENTRIES 20000u /* of an archive that holds an image: a few a layer */

const char *const image_format_names[FORMAT_N] = {"auto", "dir", "tar", "oci", "oci-archive", "docker-archive"};

struct import {
        int root, empty;
        const struct image_aliases *aliases;
        const struct import_options *options;
        struct image_work work;
        struct ids ids;
        struct stream_limits limits; /* what is left of them */
        struct image image;
        struct layer_counts counts;
        int *locks;                 /* of the image's layers, until its record is written */
        size_t n_locks, n_made, n_new;
        struct strlist made;        /* directories in work, */
        struct strlist made_keys;   /* and the layers that they are */
        char *found_name;           /* what the image calls itself */
};

static void import_clear(struct import *im) {
        for (size_t i = 0; im->locks && i < im->n_locks; i++)
                fd_close(im->locks[i]);
        free(im->locks);
        fd_close(im->empty);
        image_clear(&im->image);
        strlist_clear(&im->made);
        strlist_clear(&im->made_keys);
        free(im->found_name);
        image_work_end(&im->work);
}

static int no_memory(struct error *e) { return error_set(e, ENOMEM, "out of memory"); }

static int needs_name(struct error *e) {
        error_set(e, EINVAL, "the image needs a name");
        return error_fix(e, "--name NAME");
}

/* A directory in which a helper is root. */
static int make_dir(struct import *im, int at, const char *name, mode_t mode, struct error *e) {
        _cleanup_fd_ int fd = -EBADF;

        if (mkdirat(at, name, 0700) == 0)
                fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || (im->ids.kind == IDS_RANGE && fchown(fd, IDS_STORE_BASE, IDS_STORE_BASE) < 0) || fchmod(fd, mode) < 0)
                return error_errno(e, errno, "a directory in the store of images cannot be made");
        return TAKE_FD(fd);
}

static void add_counts(struct layer_counts *sum, const struct layer_counts *c) {
        sum->entries += c->entries;
        sum->bytes += c->bytes;
        sum->devices += c->devices;
        sum->setid += c->setid;
        sum->attributes += c->attributes;
        sum->ids += c->ids;
        sum->whiteouts += c->whiteouts;
        sum->opaque += c->opaque;
}

static int take_from_limits(struct import *im, const struct layer_counts *c, struct error *e) {
        if (c->bytes > im->limits.bytes || c->entries > im->limits.entries) {
                error_set(e, EFBIG, "the image is larger than is allowed");
                return error_fix(e, "where it is meant to be: --max-size SIZE or --max-entries N");
        }
        im->limits.bytes -= c->bytes;
        im->limits.entries -= c->entries;
        add_counts(&im->counts, c);
        return 0;
}

/* A layer twice in one stack is its upper place alone: what it holds and hides is the same, and overlayfs refuses a
 * directory that is given twice. */
static int add_key(struct import *im, const char *key, struct error *e) {
        struct strlist *keys = &im->image.keys, kept = {};

        for (size_t i = 0; i < keys->n; i++)
                if (!streq(keys->items[i], key) && strlist_add(&kept, keys->items[i]) < 0) {
                        strlist_clear(&kept);
                        return no_memory(e);
                }
        strlist_clear(keys);
        *keys = kept;
        return strlist_add(keys, key) < 0 ? no_memory(e) : 0;
}

static int keep_lock(struct import *im, int fd, struct error *e) {
        int *p = reallocarray(im->locks, im->n_locks + 1, sizeof(*p));
        if (!p) {
                close(fd);
                return no_memory(e);
        }
        im->locks = p;
        im->locks[im->n_locks++] = fd;
        return 0;
}

/* The layer is there already, or was made by this import. 1: yes. */
static int have_layer(struct import *im, const char *hex, struct error *e) {
        _cleanup_free_ char *key = image_layer_key(&im->ids, image_alias_of(im->aliases, hex));
        struct layer_counts c = {};
        int fd, r;

        if (!key)
                return no_memory(e);
        if (!strlist_has(&im->made_keys, key)) {
                r = image_layer_lock(im->root, key, &fd);
                if (r == -ENOENT)
                        return 0;
                if (r < 0)
                        return error_errno(e, r, "a layer cannot be locked");
                r = image_layer_counts(fd, &c);
                if (r < 0) {
                        close(fd);
                        error_errno(e, r, "the record of the layer %.16s cannot be read", hex);
                        return error_fix(e, "belljar image prune, once no image uses it");
                }
                if ((r = keep_lock(im, fd, e)) < 0 || (r = take_from_limits(im, &c, e)) < 0)
                        return r;
        }
        r = add_key(im, key, e);
        return r < 0 ? r : 1;
}

static void result_clear(struct stream_result *s) { free(s->implied); }

struct layer {
        char name[32];
        int dir, tree;
};
static void layer_close(struct layer *l) {
        fd_close(l->dir);
        fd_close(l->tree);
}

static int begin_layer(struct import *im, struct layer *ret, struct error *e) {
        struct layer l = {.tree = -EBADF};
        snprintf(l.name, sizeof(l.name), "layer-%zu", im->n_made++);
        if (mkdirat(im->work.dir, l.name, 0700) < 0 ||
            (l.dir = openat(im->work.dir, l.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)) < 0)
                return error_errno(e, errno, "a directory in the store of images cannot be made");
        l.tree = make_dir(im, l.dir, "tree", 0755, e);
        if (l.tree < 0) {
                close(l.dir);
                return l.tree;
        }
        *ret = l;
        return 0;
}

/* The name of a layer whose directories lead elsewhere in this image. */
static int through_hex(const char *plain_hex, const char *pairs, size_t n, char hex[65]) {
        _cleanup_strbuf_ struct strbuf b = {};

        strbuf_printf(&b, "%s\n", plain_hex);
        strbuf_add(&b, pairs, n);
        if (b.failed)
                return -ENOMEM;
        stream_digest(b.data, b.len, hex);
        return 0;
}

static int end_layer(struct import *im, const struct layer *l, const struct stream_source *from, const struct stream_result *s, struct error *e) {
        _cleanup_strbuf_ struct strbuf text = {};
        char hex[65];
        bool through = from && from->n_through > 0;
        if (through && through_hex(s->plain_hex, from->through, from->n_through, hex) < 0)
                return no_memory(e);
        _cleanup_free_ char *key = image_layer_key(&im->ids, through ? hex : s->plain_hex);
        struct layer_counts c = s->report.counts;
        int r;

        c.devices += s->source.devices;
        c.attributes += s->source.attributes;
        c.ids += s->source.ids;
        layer_record_write(&c, &text);
        if (!key || text.failed)
                return no_memory(e);
        if (s->implied && (r = file_replace(l->dir, "implied", s->implied, s->report.implied, 0600)) < 0)
                return error_errno(e, r, "the record of a layer cannot be written");
        if (through && (r = file_replace(l->dir, "through", from->through, from->n_through, 0600)) < 0)
                return error_errno(e, r, "the record of a layer cannot be written");
        if ((r = file_replace(l->dir, "layer", text.data, text.len, 0600)) < 0)
                return error_errno(e, r, "the record of a layer cannot be written");
        if ((r = take_from_limits(im, &c, e)) < 0)
                return r;
        if (strlist_add(&im->made, l->name) < 0 || strlist_add(&im->made_keys, key) < 0)
                return no_memory(e);
        return add_key(im, key, e);
}

/* The digests may be NULL, where nothing names them. */
static int import_layer(struct import *im, const struct stream_source *from, const char *raw_hex, const char *plain_hex, struct error *e) {
        _cleanup_(layer_close) struct layer l = {.dir = -EBADF, .tree = -EBADF};
        _cleanup_(result_clear) struct stream_result s = {};
        int r;

        if ((r = begin_layer(im, &l, e)) < 0 ||
            (r = stream_once(&im->work, from, JOB_LAYER, l.tree, im->empty, &im->limits, &s, e)) < 0)
                return r;
        if (raw_hex && !streq(raw_hex, s.raw_hex))
                return error_set(e, EBADMSG, "a layer is not what the manifest says: its digest is %.16s..., not %.16s...", s.raw_hex, raw_hex);
        if (plain_hex && !streq(plain_hex, s.plain_hex))
                return error_set(e, EBADMSG, "a layer is not what the configuration says: its digest is %.16s..., not %.16s...",
                                 s.plain_hex, plain_hex);
        return end_layer(im, &l, from, &s, e);
}

static int import_layer_file(struct import *im, int fd, const char *raw_hex, const char *plain_hex, struct error *e) {
        return import_layer(im, &(struct stream_source){.fd = fd, .kept = -EBADF}, raw_hex, plain_hex, e);
}

static int check_digest(int fd, const char *hex, struct error *e) {
        char found[65];
        int r = stream_digest_of(fd, found);

        if (r < 0)
                return error_errno(e, r, "the image cannot be read");
        return streq(found, hex) ? 0 : error_set(e, EBADMSG, "a layer is not what the manifest says: its digest is %.16s..., not %.16s...", found, hex);
}

static int import_directory(struct import *im, int fd, struct error *e) {
        _cleanup_(layer_close) struct layer l = {.dir = -EBADF, .tree = -EBADF};
        _cleanup_(result_clear) struct stream_result s = {};
        int r;

        if ((r = begin_layer(im, &l, e)) < 0 || (r = stream_directory(&im->work, fd, l.tree, &im->limits, &s, e)) < 0)
                return r;
        return end_layer(im, &l, NULL, &s, e);
}

struct opened {
        struct implied_layer *layers;
        size_t n;
};
static void opened_clear(struct opened *o) {
        for (size_t k = 0; o->layers && k < o->n; k++) {
                fd_close(o->layers[k].tree);
                strlist_clear(&o->layers[k].implied);
        }
        free(o->layers);
}

/* A layer of the image, made just now or before. */
static int open_layer(struct import *im, const char *key, struct implied_layer *ret, struct error *e) {
        _cleanup_free_ char *path = NULL, *text = NULL;
        size_t len = 0;
        int r;

        for (size_t k = 0; k < im->made.n && !path; k++)
                if (streq(im->made_keys.items[k], key))
                        path = str_printf("tmp/%s/%s", im->work.name, im->made.items[k]);
        if (!path && !(path = str_printf("layers/%s", key)))
                return no_memory(e);
        _cleanup_fd_ int dir = openat(im->work.root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        /* Its root may have any mode and owner: only implied_make's child looks into it. */
        ret->tree = dir < 0 ? -EBADF : openat(dir, "tree", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (ret->tree < 0)
                return error_errno(e, errno, "a layer cannot be opened");
        r = file_read(dir, "implied", IMAGE_IMPLIED_MAX, &text, &len);
        if (r == 0)
                r = implied_read(text, len, &ret->implied);
        return r < 0 && r != -ENOENT ? error_errno(e, r, "the record of a layer cannot be read") : 0;
}

/* All that the image has so far, bottom first. */
static int open_layers(struct import *im, struct opened *o, struct error *e) {
        o->layers = calloc(im->image.keys.n, sizeof(*o->layers));
        if (!o->layers)
                return no_memory(e);
        for (size_t k = 0; k < im->image.keys.n; k++) {
                o->layers[o->n++].tree = -EBADF;
                int r = open_layer(im, im->image.keys.items[k], &o->layers[k], e);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* What an import has of an image, to go back to. */
struct mark {
        struct stream_limits limits;
        struct layer_counts counts;
        struct strlist keys;
        size_t made;
};
static void mark_clear(struct mark *m) { strlist_clear(&m->keys); }

static int mark_set(struct import *im, struct mark *ret, struct error *e) {
        *ret = (struct mark){.limits = im->limits, .counts = im->counts, .made = im->made.n};
        for (size_t i = 0; i < im->image.keys.n; i++)
                if (strlist_add(&ret->keys, im->image.keys.items[i]) < 0)
                        return no_memory(e);
        return 0;
}

static void mark_return(struct import *im, struct mark *m) {
        im->limits = m->limits;
        im->counts = m->counts;
        strlist_clear(&im->image.keys);
        im->image.keys = m->keys;
        m->keys = (struct strlist){};
        for (; im->made.n > m->made; im->made.n--, im->made_keys.n--) {
                free(TAKE_PTR(im->made.items[im->made.n - 1]));
                free(TAKE_PTR(im->made_keys.items[im->made_keys.n - 1]));
        }
}

/* The next layer of the image, from a file; raw_hex may be NULL. One that is there is not unpacked again; the image must be
 * whole all the same. Where its directories lead elsewhere by links of the layers below, it is another layer in this image. */
static int place_layer(struct import *im, int fd, const char *raw_hex, const char *plain_hex, struct error *e) {
        _cleanup_(mark_clear) struct mark before = {};
        _cleanup_(opened_clear) struct opened o = {};
        struct stream_source again = {.fd = fd, .kept = -EBADF};
        _cleanup_free_ char *pairs = NULL;
        char hex[65];
        int r = mark_set(im, &before, e);

        if (r < 0)
                return r;
        if ((r = have_layer(im, plain_hex, e)) == 0)
                r = import_layer_file(im, fd, raw_hex, plain_hex, e);
        else if (r > 0)
                r = raw_hex ? check_digest(fd, raw_hex, e) : 0;
        if (r < 0 || im->image.keys.n < 2)
                return r;
        if ((r = open_layers(im, &o, e)) < 0 || (r = through_find(&im->ids, o.layers, o.n, &pairs, &again.n_through, e)) < 0 ||
            again.n_through == 0)
                return r;
        mark_return(im, &before);
        if (through_hex(plain_hex, pairs, again.n_through, hex) < 0)
                return no_memory(e);
        r = have_layer(im, hex, e);
        if (r != 0)
                return MIN(r, 0);
        if (lseek(fd, 0, SEEK_SET) < 0)
                return error_errno(e, errno, "a layer cannot be read twice");
        again.through = pairs;
        return import_layer(im, &again, raw_hex, plain_hex, e);
}

/* A bare root file system says nothing of what runs in it. */
static int plain_config(struct import *im, struct error *e) {
        struct image *i = &im->image;
#if defined(__x86_64__)
        i->architecture = strdup("amd64");
#else
        i->architecture = strdup("arm64");
#endif
        i->os = strdup("linux");
        i->created = strdup("");
        i->workdir = strdup("/");
        i->user = strdup("");
        i->digest = str_printf("sha256:%.64s", i->keys.items[0]);
        return i->architecture && i->os && i->created && i->workdir && i->user && i->digest ? 0 : no_memory(e);
}

/* A regular file beneath dir. docker save has links between the layers' folders: they are followed, never to above dir. */
static int open_member(int dir, const char *path, struct stat *ret_st, struct error *e) {
        struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
        char proc[40];
        int r;

        if (path[0] == '/' || path_has_dotdot(path))
                return error_set(e, EXDEV, "the image names a file outside of it: %s", path);
        _cleanup_fd_ int at = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
        if (at < 0 && (errno == ENOSYS || errno == EPERM))
                r = beneath_open_regular(dir, path, ret_st);
        else if (at < 0 || fstat(at, ret_st) < 0)
                r = -errno;
        else if (!S_ISREG(ret_st->st_mode))
                r = -EBADFD;
        else { /* this very file, and not what stands there by now */
                snprintf(proc, sizeof(proc), "/proc/self/fd/%d", at);
                r = open(proc, O_RDONLY | O_CLOEXEC);
                if (r < 0)
                        r = -errno;
        }
        if (r == -EXDEV || r == -ELOOP)
                return error_set(e, EXDEV, "the image names a file outside of it: %s", path);
        if (r == -EBADFD)
                return error_set(e, EBADMSG, "the image names what is no regular file: %s", path);
        return r < 0 ? error_errno(e, r, "a file of the image is missing: %s", path) : r;
}

static int read_member(int dir, const char *path, char **ret, size_t *ret_len, struct error *e) {
        struct stat st;
        _cleanup_fd_ int fd = open_member(dir, path, &st, e);
        if (fd < 0)
                return fd;
        int r = fd_read_all(fd, OCI_JSON_MAX, ret, ret_len);
        return r < 0 ? error_errno(e, r, "a file of the image cannot be read: %s", path) : 0;
}

#define LAYOUT_BLOBS "blobs/sha256/" /* an OCI layout has them there; skopeo's "dir:" at its top */

/* A document by its digest. */
static int read_blob(int dir, const char *blobs, const struct oci_blob *b, char **ret, size_t *ret_len, struct error *e) {
        char path[96], hex[65];
        _cleanup_free_ char *text = NULL;
        size_t len;

        snprintf(path, sizeof(path), "%s%s", blobs, b->hex);
        int r = read_member(dir, path, &text, &len, e);
        if (r < 0)
                return r;
        stream_digest(text, len, hex);
        if (len != b->size || !streq(hex, b->hex))
                return error_set(e, EBADMSG, "a document of the image is not what its digest and size say: %.16s...", b->hex);
        *ret = TAKE_PTR(text);
        *ret_len = len;
        return 0;
}

static int set_digest(struct import *im, const char *hex, struct error *e) {
        im->image.digest = str_printf("sha256:%s", hex);
        return im->image.digest ? 0 : no_memory(e);
}

/* ret_index: the first index within the layout's own, hex "" where there is none. */
static int find_manifest(struct import *im, int dir, const char *ref, struct oci_blob *ret, struct oci_blob *ret_index, struct error *e) {
        struct oci_wish wish = {.ref = ref, .platform = im->options->platform};
        _cleanup_free_ char *text = NULL;
        size_t len;
        bool again;
        int r = read_member(dir, "index.json", &text, &len, e);

        if (r == 0)
                r = oci_index_parse(text, len, &wish, ret, &again, &im->found_name, e);
        *ret_index = r == 0 && again ? *ret : (struct oci_blob){};
        wish = (struct oci_wish){.platform = wish.platform, .best = true};
        for (int depth = 0; r == 0 && again; depth++) {
                _cleanup_free_ char *inner = NULL, *name = NULL;
                struct oci_blob next = *ret;
                if (depth == 4)
                        return error_set(e, EBADMSG, "the image's index nests too deep");
                if ((r = read_blob(dir, LAYOUT_BLOBS, ret, &inner, &len, e)) == 0 &&
                    (r = oci_index_parse(inner, len, &wish, &next, &again, &name, e)) == 0)
                        *ret = next;
        }
        return r;
}

/* What was asked for by name is not replaced by something else without a word. */
static int check_platform(struct import *im, struct error *e) {
        const char *p = im->options->platform;
        if (!p || oci_platform_has(p, im->image.architecture))
                return 0;
        return error_set(e, ENOENT, "the image is for %s, not for %s", im->image.architecture[0] ? im->image.architecture : "no platform that it names", p);
}

/* text: the manifest, whose digest was seen to be hex. */
static int import_manifest(struct import *im, int dir, const char *blobs, const char *text, size_t len, const char *hex, const char *index,
                           struct error *e) {
        _cleanup_oci_manifest_ struct oci_manifest m = {};
        _cleanup_strlist_ struct strlist diff_ids = {};
        _cleanup_free_ char *config = NULL;
        int r;

        if ((r = oci_manifest_parse(text, len, &m, e)) < 0 || (r = read_blob(dir, blobs, &m.config, &config, &len, e)) < 0 ||
            (r = oci_config_parse(config, len, &im->image, &diff_ids, e)) < 0 || (r = check_platform(im, e)) < 0 ||
            (r = set_digest(im, m.config.hex, e)) < 0)
                return r;
        im->image.manifest = str_printf("sha256:%s", hex);
        im->image.index = index[0] ? str_printf("sha256:%s", index) : strdup("");
        if (!im->image.manifest || !im->image.index)
                return no_memory(e);
        if (diff_ids.n != m.n_layers)
                return error_set(e, EBADMSG, "the image's manifest has %zu layers, its configuration %zu", m.n_layers, diff_ids.n);
        for (size_t i = 0; r == 0 && i < m.n_layers; i++) {
                char path[96];
                struct stat st = {};
                snprintf(path, sizeof(path), "%s%s", blobs, m.layers[i].hex);
                _cleanup_fd_ int fd = open_member(dir, path, &st, e);
                if (fd < 0)
                        return fd;
                if ((uint64_t)st.st_size != m.layers[i].size)
                        return error_set(e, EBADMSG, "a layer has %llu bytes, not %llu as the manifest says",
                                         (unsigned long long)st.st_size, (unsigned long long)m.layers[i].size);
                r = place_layer(im, fd, m.layers[i].hex, diff_ids.items[i], e);
        }
        return r;
}

static int import_oci(struct import *im, int dir, const char *ref, struct error *e) {
        _cleanup_free_ char *text = NULL;
        struct oci_blob b = {}, index;
        size_t len = 0;
        int r;

        if ((r = find_manifest(im, dir, ref, &b, &index, e)) < 0 || (r = read_blob(dir, LAYOUT_BLOBS, &b, &text, &len, e)) < 0)
                return r;
        return import_manifest(im, dir, LAYOUT_BLOBS, text, len, b.hex, index.hex, e);
}

/* From a registry. The process that fetched it has ended; what it left is compared with what the manifest's digest, taken
 * before, stands for. */
static int import_pulled(struct import *im, const char *name, struct error *e) {
        struct pulled p = {.dir = -EBADF};
        struct pull_options o = *im->options->pull;
        _cleanup_free_ char *text = NULL;
        char hex[65];
        size_t len = 0;
        int r;

        o.platform = im->options->platform;
        if ((r = image_pull(&im->work, im->empty, name, &o, &im->limits, &p, e)) < 0)
                return r;
        _cleanup_fd_ int dir = p.dir;
        if ((r = read_member(dir, "manifest.json", &text, &len, e)) < 0)
                return r;
        stream_digest(text, len, hex);
        if (!streq(hex, p.manifest.hex))
                return error_set(e, EBADMSG, "the manifest is not the one that the registry named: its digest is %.16s..., not %.16s...",
                                 hex, p.manifest.hex);
        return import_manifest(im, dir, "", text, len, hex, p.index.hex, e);
}

static int import_docker(struct import *im, int dir, const char *tag, struct error *e) {
        _cleanup_strlist_ struct strlist diff_ids = {}, layers = {};
        _cleanup_free_ char *text = NULL, *config = NULL, *path = NULL;
        char hex[65];
        size_t len;
        int r;

        if ((r = read_member(dir, "manifest.json", &text, &len, e)) < 0 ||
            (r = docker_manifest_parse(text, len, tag, &path, &layers, &im->found_name, e)) < 0 ||
            (r = read_member(dir, path, &config, &len, e)) < 0)
                return r;
        stream_digest(config, len, hex);
        /* It is called after its digest, as HEX.json or blobs/sha256/HEX. */
        const char *last = strrchr(path, '/');
        last = last ? last + 1 : path;
        if (strspn(last, "0123456789abcdef") == 64 && strncmp(last, hex, 64) != 0)
                return error_set(e, EBADMSG, "the image's configuration is not what its name says: %.16s...", last);
        if ((r = oci_config_parse(config, len, &im->image, &diff_ids, e)) < 0 || (r = check_platform(im, e)) < 0 ||
            (r = set_digest(im, hex, e)) < 0)
                return r;
        if (diff_ids.n != layers.n)
                return error_set(e, EBADMSG, "the image's manifest has %zu layers, its configuration %zu", layers.n, diff_ids.n);
        for (size_t i = 0; r == 0 && i < layers.n; i++) {
                struct stat st;
                _cleanup_fd_ int fd = open_member(dir, layers.items[i], &st, e);
                if (fd < 0)
                        return fd;
                r = place_layer(im, fd, NULL, diff_ids.items[i], e);
        }
        return r;
}

static bool has(int dir, const char *name) {
        struct stat st;
        return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static int import_from_dir(struct import *im, int dir, enum image_format format, const char *ref, struct error *e) {
        int r;

        if (format == FORMAT_AUTO || format == FORMAT_OCI_ARCHIVE || format == FORMAT_DOCKER_ARCHIVE) {
                bool archive = format != FORMAT_AUTO;
                if (format != FORMAT_DOCKER_ARCHIVE && has(dir, "oci-layout") && has(dir, "index.json"))
                        format = FORMAT_OCI;
                else if (format != FORMAT_OCI_ARCHIVE && has(dir, "manifest.json") && (archive || has(dir, "repositories")))
                        format = FORMAT_DOCKER_ARCHIVE;
                else if (archive)
                        return error_set(e, EBADMSG, "the archive holds no image: it has neither index.json and oci-layout nor manifest.json");
                else
                        format = FORMAT_DIRECTORY;
        }
        switch (format) {
        case FORMAT_OCI: return import_oci(im, dir, ref, e);
        case FORMAT_DOCKER_ARCHIVE: return import_docker(im, dir, ref, e);
        default:
                r = import_directory(im, dir, e);
                return r < 0 ? r : plain_config(im, e);
        }
}

/* An archive that holds an image is unpacked first, links and all, and then read as a directory. */
static int import_archive(struct import *im, const struct stream_source *s, enum image_format format, const char *ref, struct error *e) {
        struct stream_limits l = im->limits;
        struct stream_result result;
        int r;

        l.entries = ARCHIVE_ENTRIES;
        _cleanup_fd_ int dir = make_dir(im, im->work.dir, "archive", 0700, e);
        if (dir < 0)
                return dir;
        if ((r = stream_once(&im->work, s, JOB_ARCHIVE, dir, im->empty, &l, &result, e)) < 0)
                return r;
        if (format != FORMAT_AUTO)
                return import_from_dir(im, dir, format, ref, e);
        return import_from_dir(im, dir, has(dir, "oci-layout") && has(dir, "index.json") ? FORMAT_OCI_ARCHIVE : FORMAT_DOCKER_ARCHIVE,
                               ref, e);
}

/* A file, or what can be read only once: then its beginning is kept while it is looked at. */
static int import_file(struct import *im, int fd, enum image_format format, const char *ref, struct error *e) {
        struct stream_source s = {.fd = fd, .kept = -EBADF};
        struct stream_result result;
        off_t begin = lseek(fd, 0, SEEK_CUR);
        int r;

        _cleanup_fd_ int kept = begin >= 0 || format != FORMAT_AUTO ? -EBADF :
                openat(im->work.dir, "kept", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (begin < 0 && format == FORMAT_AUTO && kept < 0)
                return error_errno(e, errno, "the beginning of the image cannot be kept");
        s.kept = kept;
        if (format == FORMAT_AUTO) {
                s.look = kept >= 0;
                if ((r = stream_once(&im->work, &s, JOB_LOOK, im->empty, im->empty, &im->limits, &result, e)) < 0)
                        return r;
                s.look = false;
                if (result.report.archive == ARCHIVE_UNKNOWN)
                        return error_set(e, EBADMSG, "the archive is empty");
                if (begin >= 0 && lseek(fd, begin, SEEK_SET) < 0)
                        return error_errno(e, errno, "the image cannot be read twice");
                format = result.report.archive == ARCHIVE_IMAGE ? FORMAT_AUTO : FORMAT_TAR;
        }
        if (format != FORMAT_TAR)
                return import_archive(im, &s, format, ref, e);
        if (begin < 0 && !im->options->name) /* before it has all been read */
                return needs_name(e);
        r = import_layer(im, &s, NULL, NULL, e);
        return r < 0 ? r : plain_config(im, e);
}

static int open_input(bool *ret_dir, struct error *e) {
        struct stat st;

        if (isatty(0)) {
                error_set(e, EINVAL, "standard input is a terminal, not an archive");
                return error_fix(e, "as in: docker save NAME | belljar image import -");
        }
        _cleanup_fd_ int fd = fcntl(0, F_DUPFD_CLOEXEC, 3);
        if (fd < 0 || fstat(fd, &st) < 0)
                return error_errno(e, errno, "standard input cannot be read");
        if (S_ISDIR(st.st_mode))
                return error_set(e, EINVAL, "standard input is a directory");
        *ret_dir = false;
        return TAKE_FD(fd);
}

/* PATH, or PATH:NAME where there is no file PATH:NAME; "-". The path's type decides between the formats for files and those
 * for directories. */
static int open_source(const char *source, bool *ret_dir, char **ret_ref, struct error *e) {
        struct stat st;
        _cleanup_free_ char *path = strdup(source), *ref = NULL;

        if (!path)
                return no_memory(e);
        if (streq(source, "-"))
                return open_input(ret_dir, e);
        /* Opened without waiting: what is named might be a FIFO. */
        _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        for (char *colon = strchr(path, ':'); fd < 0 && errno == ENOENT && colon; colon = strchr(colon + 1, ':')) {
                *colon = 0;
                fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
                if (fd >= 0 && !(ref = strdup(colon + 1)))
                        return no_memory(e);
                if (fd < 0)
                        *colon = ':';
        }
        if (fd < 0)
                return error_errno(e, errno, "%s cannot be opened", source);
        if (fstat(fd, &st) < 0)
                return error_errno(e, errno, "%s cannot be looked at", source);
        if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
                return error_set(e, EINVAL, "%s is neither a directory nor a regular file", source);
        *ret_dir = S_ISDIR(st.st_mode);
        *ret_ref = TAKE_PTR(ref);
        return TAKE_FD(fd);
}

/* A directory that holds the store would be copied into itself. */
static int refuse_own(struct import *im, int fd, struct error *e) {
        struct stat dir = {}, at = {};
        _cleanup_fd_ int up = openat(im->work.dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (up < 0 || fstat(fd, &dir) < 0)
                return error_errno(e, errno, "the directory cannot be looked at");
        for (int i = 0; i < 4096; i++) {
                struct stat before;
                if (fstat(up, &at) < 0)
                        break;
                if (at.st_dev == dir.st_dev && at.st_ino == dir.st_ino) {
                        error_set(e, EINVAL, "the directory holds the store of images itself");
                        return error_fix(e, "import another directory, or set XDG_STATE_HOME to one outside of it");
                }
                before = at;
                int next = openat(up, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (next < 0 || fstat(next, &at) < 0 || (at.st_ino == before.st_ino && at.st_dev == before.st_dev)) {
                        fd_close(next);
                        break;
                }
                close(up);
                up = next;
        }
        return 0;
}

static int find_limits(struct import *im, const struct import_options *o, struct error *e) {
        struct statvfs vfs;

        if (fstatvfs(im->work.dir, &vfs) < 0)
                return error_errno(e, errno, "the store's file system cannot be looked at");
        uint64_t room = (uint64_t)vfs.f_bavail * vfs.f_frsize, floor = (uint64_t)vfs.f_blocks / 20 * vfs.f_frsize;
        if (room <= floor) {
                error_set(e, ENOSPC, "less than 5 %% of the store's file system are free");
                return error_fix(e, "make room (belljar image prune), or set XDG_STATE_HOME to another file system");
        }
        im->limits = (struct stream_limits){
                .bytes = MIN(o->max_size ? o->max_size : IMPORT_SIZE, room - floor),
                .entries = o->max_entries ? o->max_entries : IMPORT_ENTRIES,
                .ratio = o->max_size ? 0 : STREAM_RATIO,
                .space_floor = floor,
        };
        /* Inodes likewise; some file systems count none. */
        if (vfs.f_files > 0 && vfs.f_favail > vfs.f_files / 20)
                im->limits.entries = MIN(im->limits.entries, (uint64_t)vfs.f_favail - vfs.f_files / 20);
        return 0;
}

/* The given name, else the image's own, else the file's. */
static int choose_name(struct import *im, const char *source, const struct import_options *o, struct error *e) {
        _cleanup_free_ char *text = NULL;
        struct error why = {};
        int r;

        if (o->name)
                return image_name(o->name, &im->image.name, e);
        if (o->pull)
                return image_pull_name(source, &im->image.name, e);
        /* A bare tag is no name; with a path's, the image's own is whole. A digest is nothing that an image says of itself. */
        if (im->found_name && strpbrk(im->found_name, ":/") && !strchr(im->found_name, '@') &&
            image_name(im->found_name, &im->image.name, &why) == 0)
                return 0;
        text = path_clean(source);
        if (!text)
                return no_memory(e);
        char *base = strrchr(text, '/');
        base = base ? base + 1 : text;
        base[strcspn(base, ":")] = 0;
        char *dot = strstr(base, ".tar");
        if (dot && dot > base)
                *dot = 0;
        r = image_name(base, &im->image.name, &why);
        return r < 0 ? needs_name(e) : 0;
}

/* One more layer, where the others leave out what their directories are like. */
static int add_implied(struct import *im, struct error *e) {
        _cleanup_(opened_clear) struct opened o = {};
        int r = open_layers(im, &o, e);

        if (r < 0)
                return r;
        _cleanup_fd_ int fd = -EBADF;
        if ((r = implied_make(&im->ids, o.layers, o.n, &fd, e)) < 0)
                return r;
        if (fd >= 0) {
                char hex[65];
                if ((r = stream_digest_of(fd, hex)) < 0 || lseek(fd, 0, SEEK_SET) < 0)
                        return error_errno(e, r < 0 ? r : errno, "a layer cannot be made");
                if ((r = have_layer(im, hex, e)) == 0)
                        r = import_layer_file(im, fd, NULL, hex, e);
                if (r < 0)
                        return r;
        }
        im->image.dirs = strdup(fd >= 0 ? im->image.keys.items[im->image.keys.n - 1] : "");
        return im->image.dirs ? 0 : no_memory(e);
}

static int put_in_place(struct import *im, struct error *e) {
        struct image *i = &im->image;
        int r;

        /* The layers are on disk before a name makes them look complete. */
        if (im->made.n > 0 && syncfs(im->work.dir) < 0)
                return error_errno(e, errno, "the image cannot be written to disk");
        for (size_t k = 0; k < im->made.n; k++) {
                int lock;
                if ((r = image_layer_publish(&im->work, im->root, im->made.items[k], im->made_keys.items[k], &lock, e)) < 0 ||
                    (r = keep_lock(im, lock, e)) < 0)
                        return r;
        }
        i->size = im->counts.bytes;
        i->ids = image_ids_text(&im->ids);
        if (!i->manifest) /* a root file system, or docker save's: it came without */
                i->manifest = strdup("");
        if (!i->index)
                i->index = strdup("");
        if (!i->ids || !i->manifest || !i->index)
                return no_memory(e);
        return image_ref_write(&im->work, i, e);
}

static int import_source(struct import *im, const char *source, const struct import_options *o, struct error *e) {
        _cleanup_free_ char *ref = NULL, *name = NULL;
        bool dir = true;
        int r;

        if (o->pull) {
                r = image_pull_name(source, &name, e);
                return r < 0 ? r : import_pulled(im, name, e);
        }
        _cleanup_fd_ int fd = open_source(source, &dir, &ref, e);
        if (fd < 0)
                return fd;
        if (o->format != FORMAT_AUTO && dir != (o->format == FORMAT_DIRECTORY || o->format == FORMAT_OCI))
                return error_set(e, EINVAL, "%s is %s, which the format %s is not for", source, dir ? "a directory" : "a file",
                                 image_format_names[o->format]);
        if (dir && (r = refuse_own(im, fd, e)) < 0)
                return r;
        return dir ? import_from_dir(im, fd, o->format, ref, e) : import_file(im, fd, o->format, ref, e);
}

int image_import(int state_root, const char *source, const struct import_options *o, struct import_result *ret,
                 struct error *e) {
        _cleanup_(import_clear) struct import im = {.root = state_root, .aliases = o->aliases, .empty = -EBADF, .options = o, .work = IMAGE_WORK_NONE};
        int r;

        if (o->name) { /* before the work is done */
                _cleanup_free_ char *name = NULL;
                if ((r = image_name(o->name, &name, e)) < 0)
                        return r;
                if (image_name_digest(name)) {
                        error_set(e, EINVAL, "a digest says what an image is and cannot be given to one: %s", o->name);
                        return error_fix(e, "--name with a tag, or without");
                }
        } else if (o->pull) {
                _cleanup_free_ char *name = NULL;
                if ((r = image_pull_name(source, &name, e)) < 0)
                        return r;
        }
        (void)signal(SIGPIPE, SIG_IGN); /* helpers may end before their stream does */
        if ((r = ids_find(&im.ids, e)) < 0 || (r = image_work_begin(state_root, &im.ids, &im.work, e)) < 0 ||
            (r = find_limits(&im, o, e)) < 0 || (r = im.empty = make_dir(&im, im.work.dir, "empty", 0700, e)) < 0 ||
            (r = import_source(&im, source, o, e)) < 0 || (r = add_implied(&im, e)) < 0 || (r = choose_name(&im, source, o, e)) < 0)
                return r;
        im.image.source = str_visible_dup(o->origin ? o->origin : source);
        if (!im.image.source)
                return no_memory(e);
        if ((r = put_in_place(&im, e)) < 0)
                return r;
        *ret = (struct import_result){.image = im.image, .counts = im.counts, .layers_new = im.made.n};
        im.image = (struct image){};
        return 0;
}
