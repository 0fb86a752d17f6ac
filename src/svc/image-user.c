/* Users of an image, see image-user.h. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/image-user.h"
#include "sys/beneath.h"

#define FILE_MAX (1u << 20)

/* A file of the image's /etc, as the topmost layer that has one says. Allocated; "" where there is none. */
static int read_etc(int state_root, const struct image *image, const char *name, char **ret) {
        char path[64];

        snprintf(path, sizeof(path), "etc/%s", name);
        for (size_t i = 0; i < image->layers.n; i++) {
                struct stat st;
                _cleanup_fd_ int tree = openat(state_root, image->layers.items[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (tree < 0)
                        return -errno;
                _cleanup_fd_ int fd = beneath_open_regular(tree, path, &st);
                if (fd >= 0)
                        return fd_read_all(fd, FILE_MAX, ret, NULL);
                /* A whiteout, an opaque directory: what lies beneath does not count. */
                _cleanup_fd_ int any = beneath_open(tree, path, O_PATH);
                if (any >= 0 && fstat(any, &st) == 0)
                        break;
                _cleanup_fd_ int etc = beneath_open(tree, "etc", O_RDONLY | O_DIRECTORY);
                if (etc >= 0 && fgetxattr(etc, "user.overlay.opaque", NULL, 0) >= 0)
                        break;
        }
        *ret = strdup("");
        return *ret ? 0 : -ENOMEM;
}

/* The line of a file like passwd(5) whose field `key` (0: the name, 2: the number) is value; cut into n fields. The text
 * is spoilt. */
static bool find_line(char *text, unsigned key, const char *value, char *fields[], unsigned n) {
        for (char *line = text, *next; line && *line; line = next) {
                next = strchr(line, '\n');
                if (next)
                        *next++ = 0;
                unsigned k = 0;
                for (char *p = line; p && k < n; k++) {
                        fields[k] = p;
                        p = strchr(p, ':');
                        if (p)
                                *p++ = 0;
                }
                if (k == n && streq(fields[key], value))
                        return true;
        }
        return false;
}

static bool parse_id(const char *s, uint32_t *ret) {
        uint64_t v;
        if (parse_u64(s, &v) < 0 || v >= UINT32_MAX)
                return false;
        *ret = (uint32_t)v;
        return true;
}

static int find_group(int state_root, const struct image *image, const char *group, gid_t *ret, struct error *e) {
        _cleanup_free_ char *text = NULL;
        char *f[3];
        int r;

        if (parse_id(group, ret))
                return 0;
        if ((r = read_etc(state_root, image, "group", &text)) < 0)
                return error_errno(e, r, "the image's /etc/group cannot be read");
        if (!find_line(text, 0, group, f, 3) || !parse_id(f[2], ret))
                return error_set(e, ENOENT, "the image %s has no group %s", image->name, group);
        return 0;
}

int image_user_find(int state_root, const struct image *image, const char *spec, struct image_user *ret, struct error *e) {
        _cleanup_free_ char *text = NULL, *user = strndup(spec, strcspn(spec, ":"));
        const char *group = strchr(spec, ':');
        struct image_user u = {.home = "/"};
        char *f[7];
        int r;

        if (!user)
                return error_set(e, ENOMEM, "out of memory");
        if ((r = read_etc(state_root, image, "passwd", &text)) < 0)
                return error_errno(e, r, "the image's /etc/passwd cannot be read");
        const char *who = user[0] ? user : "0";
        bool numeric = parse_id(who, &u.uid);
        if (find_line(text, numeric ? 2 : 0, who, f, 7)) {
                if (!parse_id(f[2], &u.uid) || !parse_id(f[3], &u.gid))
                        return error_set(e, EINVAL, "the image's /etc/passwd has no numbers for %s", who);
                if (strlen(f[0]) < sizeof(u.name))
                        snprintf(u.name, sizeof(u.name), "%s", f[0]);
                if (f[5][0] == '/' && strlen(f[5]) < sizeof(u.home) && !path_has_dotdot(f[5]))
                        snprintf(u.home, sizeof(u.home), "%s", f[5]);
        } else if (!numeric) {
                error_set(e, ENOENT, "the image %s has no user %s", image->name, who);
                return error_fix(e, "name one that it has, or a number, with --user");
        } else if (u.uid == 0)
                snprintf(u.home, sizeof(u.home), "/root");
        if (group && group[1] && (r = find_group(state_root, image, group + 1, &u.gid, e)) < 0)
                return r;
        *ret = u;
        return 0;
}
