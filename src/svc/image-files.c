/* See image-files.h. Part of a start: no library. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/image-files.h"
#include "sys/beneath.h"

#define LINKS_MAX 40 /* as many as the kernel follows (path_resolution(7)) */

void image_files_close(struct image_files *l) {
        for (size_t i = 0; i < l->n; i++)
                fd_close(l->fds[i]);
}

int image_files_open(int state_root, const struct image *image, struct image_files *l) {
        for (size_t i = 0; i < image->layers.n && l->n < ELEMENTSOF(l->fds); i++) {
                int fd = openat(state_root, image->layers.items[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (fd < 0)
                        return -errno;
                l->fds[l->n++] = fd;
        }
        return 0;
}

/* What the name `path` stands for where the first *visible layers are stacked, as overlayfs has it: the topmost that
 * has it counts, a directory goes on below until a layer hides what lies there. Returns its type and mode, 0 where
 * nothing is there; *ret_layer is where it was found, *visible how many layers show what lies in it. */
static mode_t stacked(const struct image_files *l, const char *path, size_t *visible, size_t *ret_layer) {
        mode_t found = 0;

        for (size_t i = 0, n = *visible; i < n; i++) {
                struct stat st;
                _cleanup_fd_ int fd = beneath_open(l->fds[i], path, O_PATH);
                if (fd < 0 || fstat(fd, &st) < 0)
                        continue;
                if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0)) /* a whiteout */
                        return found;
                if (!found) {
                        found = st.st_mode;
                        *ret_layer = i;
                }
                if (!S_ISDIR(st.st_mode))
                        return found;
                *visible = i + 1;
                _cleanup_fd_ int dir = beneath_open(l->fds[i], path, O_RDONLY | O_DIRECTORY);
                if (dir >= 0 && fgetxattr(dir, "user.overlay.opaque", NULL, 0) >= 0)
                        return found;
        }
        return found;
}

static int read_link(int tree, const char *path, char dst[PATH_MAX]) {
        _cleanup_fd_ int fd = beneath_open(tree, path, O_PATH);
        ssize_t n = fd < 0 ? fd : readlinkat(fd, "", dst, PATH_MAX - 1);

        if (n < 0)
                return fd < 0 ? fd : -errno;
        dst[n] = 0;
        return 0;
}

int image_files_find(
        const struct image_files *l, const char *path, char at[PATH_MAX], mode_t *ret_mode, size_t *ret_layer) {
        char todo[PATH_MAX], link[PATH_MAX], rest[PATH_MAX];
        size_t visible = l->n, layer = 0;
        unsigned links = 0;

        at[0] = 0;
        *ret_mode = S_IFDIR | 0755;
        snprintf(todo, sizeof(todo), "%s", path);
        for (char *name = todo;;) {
                name += strspn(name, "/");
                size_t n = strcspn(name, "/"), len = strlen(at);
                if (n == 0) {
                        *ret_layer = layer;
                        return 0; /* a directory */
                }
                if (n == 1 && name[0] == '.') {
                        name++;
                        continue;
                }
                if (n == 2 && name[0] == '.' && name[1] == '.') {
                        /* From the root again, without the last part: the layers that show it are to be found anew. */
                        char *slash = strrchr(at, '/');
                        snprintf(rest, sizeof(rest), "%.*s%s", slash ? (int)(slash - at) : 0, at, name + n);
                } else {
                        if (len + 1 + n >= PATH_MAX)
                                return -ENAMETOOLONG;
                        snprintf(at + len, PATH_MAX - len, "%s%.*s", len ? "/" : "", (int)n, name);
                        name += n;
                        mode_t type = *ret_mode = stacked(l, at, &visible, &layer);
                        if (S_ISDIR(type))
                                continue;
                        if (S_ISREG(type) && !name[0]) {
                                *ret_layer = layer;
                                return 0;
                        }
                        if (!S_ISLNK(type))
                                return type ? -ENOTDIR : -ENOENT;
                        int r = read_link(l->fds[layer], at, link);
                        if (r < 0)
                                return r;
                        at[link[0] == '/' ? 0 : len] = 0;
                        r = snprintf(rest, sizeof(rest), "%s/%s%s", at, link, name);
                        if (r < 0 || (size_t)r >= sizeof(rest))
                                return -ENAMETOOLONG;
                }
                if (++links > LINKS_MAX)
                        return -ELOOP;
                memcpy(todo, rest, sizeof(todo));
                at[0] = 0;
                *ret_mode = S_IFDIR | 0755;
                visible = l->n;
                name = todo;
        }
}

int image_files_read(const struct image_files *l, const char *path, size_t max, char **ret, size_t *ret_len) {
        char at[PATH_MAX];
        mode_t mode;
        size_t layer;
        int r = image_files_find(l, path, at, &mode, &layer);

        if (r < 0)
                return r;
        if (!S_ISREG(mode))
                return -ENOENT;
        _cleanup_fd_ int fd = beneath_open_regular(l->fds[layer], at, NULL);
        return fd < 0 ? fd : fd_read_all(fd, max, ret, ret_len);
}
