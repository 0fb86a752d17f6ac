/* Users of an image, see image-user.h. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/image-user.h"
#include "sys/beneath.h"

#define FILE_MAX (1u << 20)
#define LINKS_MAX 40 /* as many as the kernel follows (path_resolution(7)) */

/* The trees of an image's layers, topmost first. */
struct layers {
        int fds[IMAGE_LAYERS_MAX];
        size_t n;
};

static void layers_close(struct layers *l) {
        for (size_t i = 0; i < l->n; i++)
                fd_close(l->fds[i]);
}

static int layers_open(int state_root, const struct image *image, struct layers *l) {
        for (size_t i = 0; i < image->layers.n && l->n < ELEMENTSOF(l->fds); i++) {
                int fd = openat(state_root, image->layers.items[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (fd < 0)
                        return -errno;
                l->fds[l->n++] = fd;
        }
        return 0;
}

/* What the name `path` stands for where the first *visible layers are stacked, as overlayfs has it: the topmost that has
 * it counts, a directory goes on below until a layer hides what lies there. Returns its type, 0 where nothing is there;
 * *ret_layer is where it was found, *visible how many layers show what lies in it. */
static mode_t stacked(const struct layers *l, const char *path, size_t *visible, size_t *ret_layer) {
        mode_t found = 0;

        for (size_t i = 0, n = *visible; i < n; i++) {
                struct stat st;
                _cleanup_fd_ int fd = beneath_open(l->fds[i], path, O_PATH);
                if (fd < 0 || fstat(fd, &st) < 0)
                        continue;
                if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0)) /* a whiteout */
                        return found;
                if (!found) {
                        found = st.st_mode & S_IFMT;
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

/* Resolves `path` in the image as a process in it would, a part at a time, without ever leaving it: some images have
 * links in /etc. -ENOENT; else a regular file, open. */
static int open_in_image(const struct layers *l, const char *path) {
        char todo[PATH_MAX], at[PATH_MAX] = "", link[PATH_MAX], rest[PATH_MAX];
        size_t visible = l->n, layer = 0;
        unsigned links = 0;

        snprintf(todo, sizeof(todo), "%s", path);
        for (char *name = todo;;) {
                name += strspn(name, "/");
                size_t n = strcspn(name, "/"), len = strlen(at);
                if (n == 0)
                        return -ENOENT; /* a directory */
                if (n == 1 && name[0] == '.') {
                        name++;
                        continue;
                }
                if (n == 2 && name[0] == '.' && name[1] == '.') {
                        /* From the root again, without the last part: the layers that show it are to be found anew. */
                        char *slash = strrchr(at, '/');
                        snprintf(rest, sizeof(rest), "%.*s%s", slash ? (int)(slash - at) : 0, at, name + n);
                } else {
                        if (len + 1 + n >= sizeof(at))
                                return -ENAMETOOLONG;
                        snprintf(at + len, sizeof(at) - len, "%s%.*s", len ? "/" : "", (int)n, name);
                        name += n;
                        mode_t type = stacked(l, at, &visible, &layer);
                        if (S_ISDIR(type))
                                continue;
                        if (S_ISREG(type) && !name[0])
                                return beneath_open_regular(l->fds[layer], at, NULL);
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
                visible = l->n;
                name = todo;
        }
}

/* A file of the image's /etc. Allocated; "" where there is none. */
static int read_etc(const struct layers *l, const char *path, char **ret, struct error *e) {
        _cleanup_fd_ int fd = open_in_image(l, path);
        int r = fd;

        if (fd >= 0)
                r = fd_read_all(fd, FILE_MAX, ret, NULL);
        else if (fd == -ENOENT || fd == -ENOTDIR) {
                *ret = strdup("");
                r = *ret ? 0 : -ENOMEM;
        }
        return r < 0 ? error_errno(e, r, "the image's /%s cannot be read", path) : 0;
}

/* Cuts the next line of a file like group(5) into n fields, the last one up to a further colon. False at the end. */
static bool next_line(char **text, char *fields[], unsigned n, bool *whole) {
        char *p = *text;
        unsigned k = 0;

        if (!p || !*p)
                return false;
        *text = strchr(p, '\n');
        if (*text)
                *(*text)++ = 0;
        for (; p && k < n; k++) {
                fields[k] = p;
                p = strchr(p, ':');
                if (p)
                        *p++ = 0;
        }
        *whole = k == n;
        return true;
}

/* The line whose field `key` (0: the name, 2: the number) is value. The text is spoilt. */
static bool find_line(char *text, unsigned key, const char *value, char *fields[], unsigned n) {
        for (bool whole; next_line(&text, fields, n, &whole);)
                if (whole && streq(fields[key], value))
                        return true;
        return false;
}

static bool parse_id(const char *s, uint32_t *ret) {
        uint64_t v;
        if (parse_u64(s, &v) < 0 || v >= UINT32_MAX)
                return false;
        *ret = (uint32_t)v;
        return true;
}

static bool in_list(const char *list, const char *name) {
        for (size_t n; *list; list += n + (list[n] == ',')) {
                n = strcspn(list, ",");
                if (strlen(name) == n && strncmp(list, name, n) == 0)
                        return true;
        }
        return false;
}

/* The groups that name the user as a member; text is that of group(5), and spoilt. */
static void find_groups(char *text, struct image_user *u) {
        char *f[4];

        for (bool whole; next_line(&text, f, ELEMENTSOF(f), &whole);) {
                gid_t gid;
                bool known = false;
                if (!whole || !in_list(f[3], u->name) || !parse_id(f[2], &gid))
                        continue;
                for (size_t i = 0; i < u->n_groups; i++)
                        known = known || u->groups[i] == gid;
                if (!known && u->n_groups < ELEMENTSOF(u->groups))
                        u->groups[u->n_groups++] = gid;
                else if (!known)
                        u->groups_left_out = true;
        }
}

static int find_user(const struct layers *l, const char *image, const char *who, struct image_user *u, struct error *e) {
        _cleanup_free_ char *text = NULL;
        bool numeric = parse_id(who, &u->uid);
        char *f[7];
        int r = read_etc(l, "etc/passwd", &text, e);

        if (r < 0)
                return r;
        if (find_line(text, numeric ? 2 : 0, who, f, ELEMENTSOF(f))) {
                if (!parse_id(f[2], &u->uid) || !parse_id(f[3], &u->gid))
                        return error_set(e, EINVAL, "the image's /etc/passwd has no numbers for %s", who);
                if (strlen(f[0]) < sizeof(u->name))
                        snprintf(u->name, sizeof(u->name), "%s", f[0]);
                if (f[5][0] == '/' && strlen(f[5]) < sizeof(u->home) && !path_has_dotdot(f[5]))
                        snprintf(u->home, sizeof(u->home), "%s", f[5]);
        } else if (!numeric) {
                error_set(e, ENOENT, "the image %s has no user %s", image, who);
                return error_fix(e, "name one that it has, or a number, with --user");
        } else if (u->uid == 0)
                snprintf(u->home, sizeof(u->home), "/root");
        return 0;
}

int image_user_find(int state_root, const struct image *image, const char *spec, struct image_user *ret, struct error *e) {
        _cleanup_(layers_close) struct layers layers = {};
        _cleanup_free_ char *groups = NULL, *user = strndup(spec, strcspn(spec, ":"));
        const char *group = strchr(spec, ':');
        struct image_user u = {.home = "/"};
        char *f[3];
        int r;

        if (!user)
                return error_set(e, ENOMEM, "out of memory");
        if ((r = layers_open(state_root, image, &layers)) < 0)
                return error_errno(e, r, "the image's layers cannot be opened");
        if ((r = find_user(&layers, image->name, user[0] ? user : "0", &u, e)) < 0)
                return r;
        /* A group that is named is the only one. */
        if (group && group[1]) {
                if (!parse_id(group + 1, &u.gid)) {
                        if ((r = read_etc(&layers, "etc/group", &groups, e)) < 0)
                                return r;
                        if (!find_line(groups, 0, group + 1, f, ELEMENTSOF(f)) || !parse_id(f[2], &u.gid)) {
                                error_set(e, ENOENT, "the image %s has no group %s", image->name, group + 1);
                                return error_fix(e, "name one that it has, or a number, with --user USER:GROUP");
                        }
                }
        } else if (u.name[0]) {
                if ((r = read_etc(&layers, "etc/group", &groups, e)) < 0)
                        return r;
                find_groups(groups, &u);
        }
        *ret = u;
        return 0;
}
