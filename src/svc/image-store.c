/* Changing the store of images, see image-store.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/image-name.h"
#include "svc/image-store.h"
#include "svc/remove-tree.h"

#define LAYER_RECORD_MAX 4096u

/* Files of a range belong to ids that an ordinary user has only inside; root, and a user whose files they all are, need
 * no process for it. */
int image_remove_tree(const struct ids *ids, int dirfd, const char *name, struct error *e) {
        struct error said = {};
        int pidfd, out[2], status = 0;

        if (ids->kind != IDS_SUBIDS)
                return remove_tree(dirfd, name, NULL, e);
        if (pipe2(out, O_CLOEXEC) < 0)
                return error_errno(e, errno, "%s cannot be removed", name);
        pid_t pid = ids_fork(ids, 0, &pidfd, e);
        if (pid == 0) {
                int r = remove_tree(dirfd, name, NULL, &said);
                if (r < 0)
                        (void)!fd_write_all(out[1], &said, sizeof(said));
                _exit(r < 0 ? 1 : 0);
        }
        close(out[1]);
        if (pid < 0) {
                close(out[0]);
                return pid;
        }
        bool told = read(out[0], &said, sizeof(said)) == sizeof(said);
        close(out[0]);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        close(pidfd);
        if (status == 0)
                return 0;
        return told ? error_set(e, said.errnum, "%s", said.msg) : error_set(e, EIO, "%s cannot be removed", name);
}

static int lock_store(int images) {
        _cleanup_fd_ int fd = openat(images, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        while (flock(fd, LOCK_EX) < 0)
                if (errno != EINTR)
                        return -errno;
        return TAKE_FD(fd);
}

static int open_dir(int at, const char *name) {
        int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        return fd < 0 ? -errno : fd;
}

/* Names of a directory's entries, without those that begin with a dot. */
static int names_of(int at, const char *path, struct strlist *ret) {
        int fd = open_dir(at, path), r = 0;
        if (fd < 0)
                return fd == -ENOENT ? 0 : fd;
        DIR *d = fdopendir(fd);
        if (!d) {
                r = -errno;
                close(fd);
                return r;
        }
        for (struct dirent *x; r == 0 && (x = readdir(d));)
                if (x->d_name[0] != '.')
                        r = strlist_add(ret, x->d_name);
        closedir(d);
        return r;
}

/* Removes what has no lock. Looked for under the store's lock, removed without it: that can take long. */
static int sweep(int images, const struct ids *ids, int store_lock) {
        _cleanup_strlist_ struct strlist names = {};
        struct error e = {};
        int r = names_of(images, "tmp", &names), failed = 0;
        _cleanup_fd_ int tmp = open_dir(images, "tmp");
        _cleanup_free_ int *locks = calloc(names.n + 1, sizeof(int));

        if (r < 0 || tmp < 0 || !locks) {
                close(store_lock);
                return r < 0 ? r : tmp < 0 ? tmp : -ENOMEM;
        }
        for (size_t i = 0; i < names.n; i++) {
                locks[i] = open_dir(tmp, names.items[i]);
                if (locks[i] >= 0 && flock(locks[i], LOCK_EX | LOCK_NB) < 0) {
                        close(locks[i]);
                        locks[i] = -EWOULDBLOCK;
                }
        }
        close(store_lock);
        for (size_t i = 0; i < names.n; i++) {
                if (locks[i] == -EWOULDBLOCK)
                        continue;
                if (image_remove_tree(ids, tmp, names.items[i], &e) < 0)
                        failed = -EIO;
                fd_close(locks[i]);
        }
        return failed;
}

static int open_images(int state_root) {
        int fd = openat(state_root, "images", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        return fd < 0 ? -errno : fd;
}

static int make_store(int state_root) {
        static const char *const dirs[] = {"images", "images/layers", "images/refs", "images/tmp"};
        for (size_t i = 0; i < ELEMENTSOF(dirs); i++)
                if (mkdirat(state_root, dirs[i], 0700) < 0 && errno != EEXIST)
                        return -errno;
        return open_images(state_root);
}

int image_work_begin(int state_root, const struct ids *ids, struct image_work *ret, struct error *e) {
        uint64_t random;
        char path[64];
        struct image_work w = {.root = make_store(state_root), .dir = -EBADF, .ids = *ids};
        int lock = w.root < 0 ? w.root : lock_store(w.root);

        if (lock < 0 || getrandom(&random, sizeof(random), 0) != sizeof(random)) {
                fd_close(w.root);
                fd_close(lock);
                error_errno(e, lock < 0 ? lock : EIO, "the store of images cannot be made in the state directory");
                return error_fix(e, "set XDG_STATE_HOME to a directory that you can write");
        }
        snprintf(w.name, sizeof(w.name), "%016llx", (unsigned long long)random);
        snprintf(path, sizeof(path), "tmp/%s", w.name);
        int r = mkdirat(w.root, path, 0700) < 0 ? -errno : 0;
        if (r == 0)
                r = w.dir = open_dir(w.root, path);
        if (r >= 0 && flock(w.dir, LOCK_EX | LOCK_NB) < 0)
                r = -errno;
        if (r < 0) {
                fd_close(w.root);
                fd_close(w.dir);
                fd_close(lock);
                return error_errno(e, r, "a directory in the store of images cannot be made");
        }
        (void)!sweep(w.root, ids, lock); /* what cannot be removed does not stand in the way */
        *ret = w;
        return 0;
}

void image_work_end(struct image_work *w) {
        if (w->root < 0)
                return;
        _cleanup_fd_ int tmp = open_dir(w->root, "tmp");
        if (tmp >= 0)
                (void)!image_remove_tree(&w->ids, tmp, w->name, NULL);
        fd_close(w->dir);
        fd_close(w->root);
        *w = IMAGE_WORK_NONE;
}

int image_layer_counts(int layer_dir, struct layer_counts *ret) {
        _cleanup_free_ char *text = NULL;
        size_t len;
        int r = file_read(layer_dir, "layer", LAYER_RECORD_MAX, &text, &len);
        return r < 0 ? r : layer_record_parse(text, len, ret);
}

int image_layer_publish(struct image_work *w, int state_root, const char *name, const char *key, int *ret_lock,
                        struct error *e) {
        char to[192];
        int r;

        snprintf(to, sizeof(to), "layers/%s", key);
        for (int tries = 0; tries < 8; tries++) {
                _cleanup_fd_ int fd = open_dir(w->dir, name);
                if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
                        return error_errno(e, fd < 0 ? fd : errno, "a layer cannot be put in its place");
                if (syscall(SYS_renameat2, w->dir, name, w->root, to, 1 /* RENAME_NOREPLACE */) == 0) {
                        *ret_lock = TAKE_FD(fd);
                        return 0;
                }
                if (errno != EEXIST)
                        return error_errno(e, errno, "a layer cannot be put in its place");
                /* Somebody else was first. Gone again by now: once more. */
                r = image_layer_lock(state_root, key, ret_lock);
                if (r == 0)
                        return image_remove_tree(&w->ids, w->dir, name, e);
                if (r != -ENOENT)
                        return error_errno(e, r, "a layer cannot be locked");
        }
        return error_set(e, EAGAIN, "a layer cannot be put in its place");
}

int image_ref_write(struct image_work *w, const struct image *i, struct error *e) {
        struct strbuf b = {.max = IMAGE_RECORD_MAX};
        char file[IMAGE_FILE_MAX + 1], to[IMAGE_FILE_MAX + 16];
        int r;

        image_record_write(i, &b);
        size_t len = b.len;
        _cleanup_free_ char *text = strbuf_take(&b);
        if (!text)
                return error_set(e, E2BIG, "the configuration of the image %s is too large", i->name);
        _cleanup_fd_ int fd = openat(w->dir, "ref", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        r = fd < 0 ? -errno : fd_write_all(fd, text, len);
        image_ref_file(i->name, file);
        snprintf(to, sizeof(to), "refs/%s", file);
        if (r == 0 && (fsync(fd) < 0 || renameat(w->dir, "ref", w->root, to) < 0))
                r = -errno;
        _cleanup_fd_ int refs = open_dir(w->root, "refs");
        if (r == 0 && (refs < 0 || fsync(refs) < 0))
                r = refs < 0 ? refs : -errno;
        return r < 0 ? error_errno(e, r, "the record of the image %s cannot be written", i->name) : 0;
}

int image_ref_remove(int state_root, const char *given, struct error *e) {
        _cleanup_free_ char *name = NULL;
        _cleanup_strlist_ struct strlist tags = {};
        char file[IMAGE_FILE_MAX + 1], path[IMAGE_FILE_MAX + 16];
        int r = image_name(given, &name, e);

        if (r < 0)
                return r;
        image_ref_file(name, file);
        snprintf(path, sizeof(path), "images/refs/%s", file);
        if (unlinkat(state_root, path, 0) == 0)
                return 0;
        if (errno != ENOENT)
                return error_errno(e, errno, "the image %s cannot be removed", name);
        if (image_name_digest(name) && (r = image_names_of_digest(state_root, name, &tags, e)) < 0)
                return r;
        if (tags.n > 1) {
                error_set(e, EEXIST, "the digest stands for %zu images: %s, %s%s", tags.n, tags.items[0], tags.items[1],
                          tags.n > 2 ? ", ..." : "");
                return error_fix(e, "remove them by these names");
        }
        if (tags.n == 1)
                return image_ref_remove(state_root, tags.items[0], e);
        error_set(e, ENOENT, "there is no image %s", name);
        return error_fix(e, "belljar image ls lists them");
}

/* Layers that an image names. A record that cannot be read could name any of them: then nothing is removed. */
static int used_layers(int state_root, struct strlist *ret, struct error *e) {
        _cleanup_strlist_ struct strlist names = {};
        int r = image_list(state_root, &names, e);

        for (size_t i = 0; r == 0 && i < names.n; i++) {
                _cleanup_image_ struct image image = {};
                r = image_read(state_root, names.items[i], &image, e);
                if (r == -ENOENT)
                        r = 0; /* removed meanwhile */
                for (size_t k = 0; r == 0 && k < image.keys.n; k++)
                        if (!strlist_has(ret, image.keys.items[k]) && (r = strlist_add(ret, image.keys.items[k])) < 0)
                                return error_errno(e, r, "the layers cannot be listed");
        }
        return r;
}

/* Takes a layer out of its place, if nobody uses it and no record names it, both seen under the exclusive lock. */
static int prune_layer(struct image_work *w, int state_root, const char *key, struct prune_stats *s, struct error *e) {
        _cleanup_strlist_ struct strlist used = {};
        struct layer_counts c = {};
        char path[300];
        int r;

        snprintf(path, sizeof(path), "layers/%s", key);
        _cleanup_fd_ int fd = open_dir(w->root, path);
        if (fd == -ENOENT)
                return 0;
        if (fd < 0)
                return error_errno(e, fd, "the layer %.16s cannot be removed", key);
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                s->busy++;
                return 0;
        }
        if ((r = used_layers(state_root, &used, e)) < 0)
                return r;
        if (strlist_has(&used, key))
                return 0;
        (void)!image_layer_counts(fd, &c);
        if (renameat(w->root, path, w->dir, "layer") < 0)
                return errno == ENOENT ? 0 : error_errno(e, errno, "the layer %.16s cannot be removed", key);
        s->layers++;
        s->bytes += c.bytes;
        return image_remove_tree(&w->ids, w->dir, "layer", e);
}

int image_prune(int state_root, struct prune_stats *ret, struct error *e) {
        _cleanup_image_work_ struct image_work w = IMAGE_WORK_NONE;
        _cleanup_strlist_ struct strlist all = {}, used = {};
        struct prune_stats s = {};
        struct ids ids;
        int r;

        _cleanup_fd_ int images = open_images(state_root);
        if (images == -ENOENT) {
                *ret = s;
                return 0;
        }
        if ((r = ids_find(&ids, e)) < 0 || (r = image_work_begin(state_root, &ids, &w, e)) < 0 ||
            (r = used_layers(state_root, &used, e)) < 0)
                return r;
        if ((r = names_of(w.root, "layers", &all)) < 0)
                return error_errno(e, r, "the layers cannot be listed");
        for (size_t i = 0; r == 0 && i < all.n; i++)
                if (!strlist_has(&used, all.items[i]))
                        r = prune_layer(&w, state_root, all.items[i], &s, e);
        *ret = s;
        return r;
}
