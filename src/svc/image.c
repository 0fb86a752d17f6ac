/* Reading the store of images, see image.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/image-name.h"
#include "svc/image-record.h"
#include "svc/image-store.h"

int image_name(const char *given, char **ret, struct error *e) {
        const char *slash = strrchr(given, '/'), *why = NULL;
        const char *tag = strchr(slash ? slash : given, ':'), *digest;

        if (image_name_check(given, &why) < 0) {
                error_set(e, EINVAL, "this cannot be the name of an image: %s", given);
                error_fix(e, "%s", why);
                return -EINVAL;
        }
        digest = image_name_digest(given);
        char *name = digest ? str_printf("%.*s@sha256:%s", (int)image_name_repository(given), given, digest) :
                     tag    ? strdup(given) :
                              str_printf("%s:latest", given);
        if (!name) {
                error_set(e, ENOMEM, "out of memory");
                return -ENOMEM;
        }
        if (strlen(name) > IMAGE_FILE_MAX) {
                free(name);
                error_set(e, ENAMETOOLONG, "the name of the image, with its tag or digest, is longer than %d bytes", IMAGE_FILE_MAX);
                return -ENAMETOOLONG;
        }
        *ret = name;
        return 0;
}

void image_ref_file(const char *name, char dst[IMAGE_FILE_MAX + 1]) {
        snprintf(dst, IMAGE_FILE_MAX + 1, "%s", name);
        for (char *p = dst; (p = strchr(p, '/'));)
                *p = '+';
}

char *image_ids_text(const struct ids *ids) {
        switch (ids->kind) {
        case IDS_RANGE: return strdup("range");
        case IDS_SUBIDS:
                return str_printf("subids %u %u %u %u %u", (unsigned)ids->uid, (unsigned)ids->subuid, (unsigned)ids->gid,
                                  (unsigned)ids->subgid, (unsigned)ids->n);
        case IDS_ONE: return str_printf("one %u %u", (unsigned)ids->uid, (unsigned)ids->gid);
        }
        return NULL;
}

char *image_layer_key(const struct ids *ids, const char *hex) {
        _cleanup_free_ char *text = image_ids_text(ids);
        if (!text)
                return NULL;
        for (char *p = text; (p = strchr(p, ' '));)
                *p = '-';
        return str_printf("%s-%s", hex, text);
}

/* As image_layer_key makes them: nothing that leaves the directory of layers. */
static bool is_key(const char *s) {
        return strspn(s, "0123456789abcdef") == 64 && s[64] == '-' &&
               strspn(s + 65, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(s + 65) && strlen(s) < 160;
}

static bool has_digest(const struct image *i, const char *hex) {
        const char *manifest = i->manifest ? str_after(i->manifest, "sha256:") : NULL, *index = i->index ? str_after(i->index, "sha256:") : NULL;
        return (manifest && streq(manifest, hex)) || (index && streq(index, hex));
}

/* name: as from image_name. */
static int read_record(int state_root, const char *name, struct image *ret) {
        _cleanup_free_ char *text = NULL;
        _cleanup_image_ struct image i = {};
        char file[IMAGE_FILE_MAX + 1], path[IMAGE_FILE_MAX + 16];
        const char *digest = image_name_digest(name);
        size_t len;

        image_ref_file(name, file);
        snprintf(path, sizeof(path), "images/refs/%s", file);
        int r = file_read(state_root, path, IMAGE_RECORD_MAX, &text, &len);
        if (r == 0)
                r = image_record_parse(text, len, &i);
        for (size_t k = 0; r == 0 && k < i.keys.n; k++)
                if (!is_key(i.keys.items[k]))
                        r = -EBADMSG;
        if (r == 0 && digest && !has_digest(&i, digest))
                r = -EBADMSG;
        if (r < 0)
                return r;
        *ret = i;
        i = (struct image){};
        return 0;
}

int image_names_of_digest(int state_root, const char *name, struct strlist *ret, struct error *e) {
        _cleanup_strlist_ struct strlist all = {}, found = {};
        const char *digest = image_name_digest(name);
        size_t repository = image_name_repository(name);
        int r = image_list(state_root, &all, e);

        for (size_t k = 0; r == 0 && digest && k < all.n; k++) {
                _cleanup_image_ struct image i = {};
                const char *other = all.items[k];
                /* One that cannot be read has no digest; whoever uses it is told. */
                if (image_name_repository(other) == repository && strncmp(other, name, repository) == 0 &&
                    read_record(state_root, other, &i) == 0 && has_digest(&i, digest) && strlist_add(&found, other) < 0)
                        r = error_set(e, ENOMEM, "out of memory");
        }
        if (r < 0)
                return r;
        *ret = found;
        found = (struct strlist){};
        return 0;
}

int image_read(int state_root, const char *given, struct image *ret, struct error *e) {
        _cleanup_free_ char *name = NULL;
        _cleanup_strlist_ struct strlist others = {};
        _cleanup_image_ struct image i = {};
        int r = image_name(given, &name, e);

        if (r < 0)
                return r;
        r = read_record(state_root, name, &i);
        if (r == -ENOENT && image_name_digest(name)) {
                if ((r = image_names_of_digest(state_root, name, &others, e)) < 0)
                        return r;
                r = others.n > 0 ? read_record(state_root, others.items[0], &i) : -ENOENT;
        }
        if (r == -ENOENT) {
                error_set(e, ENOENT, "there is no image %s", name);
                return image_name_digest(name) ?
                        error_fix(e, "belljar image pull %s fetches it; belljar image ls lists those that are there", name) :
                        error_fix(e, "belljar image ls lists them; belljar image import SOURCE --name %s makes it", name);
        }
        if (r < 0) {
                error_errno(e, r, "the record of the image %s cannot be read", name);
                return error_fix(e, "belljar image rm %s, then import it again", name);
        }
        *ret = i;
        i = (struct image){};
        return 0;
}

int image_layer_lock(int state_root, const char *key, int *ret_fd) {
        char path[192];
        struct stat a, b;

        snprintf(path, sizeof(path), "images/layers/%s", key);
        for (int tries = 0; tries < 8; tries++) {
                _cleanup_fd_ int fd = openat(state_root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
                if (fd < 0)
                        return -errno;
                while (flock(fd, LOCK_SH) < 0)
                        if (errno != EINTR)
                                return -errno;
                /* Between opening and locking it may have been removed, and made again. */
                if (fstat(fd, &a) < 0)
                        return -errno;
                if (fstatat(state_root, path, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
                        *ret_fd = TAKE_FD(fd);
                        return 0;
                }
        }
        return -ENOENT;
}

int image_open(int state_root, const char *name, struct image *ret, struct error *e) {
        _cleanup_image_ struct image i = {};
        struct ids ids;
        int r;

        if ((r = image_read(state_root, name, &i, e)) < 0 || (r = ids_find(&ids, e)) < 0)
                return r;
        _cleanup_free_ char *now = image_ids_text(&ids);
        i.locks = calloc(i.keys.n + 1, sizeof(*i.locks));
        if (!now || !i.locks)
                return error_set(e, ENOMEM, "out of memory");
        if (!i.ids || !streq(now, i.ids)) {
                error_set(e, ESTALE, "the image %s is stored under other ids (%s) than the caller has now (%s)", i.name, i.ids, now);
                return error_fix(e, "import it again");
        }
        for (size_t k = i.keys.n; k-- > 0;) {
                const char *key = i.keys.items[k];
                r = image_layer_lock(state_root, key, &i.locks[i.n_locks]);
                if (r < 0) {
                        error_errno(e, r, "a layer of the image %s is not there: %.16s", i.name, key);
                        return error_fix(e, "import it again");
                }
                i.n_locks++;
                if ((r = strlist_addf(&i.layers, "images/layers/%s/tree", key)) < 0)
                        return error_errno(e, r, "the image %s cannot be opened", i.name);
        }
        *ret = i;
        i = (struct image){};
        return 0;
}

int image_list(int state_root, struct strlist *ret, struct error *e) {
        _cleanup_strlist_ struct strlist l = {};
        int fd = openat(state_root, "images/refs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), r = 0;
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

        if (!d) {
                r = -errno;
                fd_close(fd);
                return r == -ENOENT ? 0 : error_errno(e, r, "the images cannot be listed");
        }
        for (struct dirent *x; r == 0 && (x = readdir(d));) {
                char name[256];
                snprintf(name, sizeof(name), "%s", x->d_name);
                for (char *p = name; (p = strchr(p, '+'));)
                        *p = '/';
                _cleanup_free_ char *whole = NULL;
                /* Files that are being written begin with a dot, as no name does. */
                if (name[0] != '.' && image_name(name, &whole, NULL) == 0 && whole && streq(whole, name))
                        r = strlist_add(&l, name);
        }
        closedir(d);
        if (r < 0)
                return error_errno(e, r, "the images cannot be listed");
        strlist_sort(&l);
        *ret = l;
        l = (struct strlist){};
        return 0;
}
