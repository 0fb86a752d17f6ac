/* Users of an image, see image-user.h. */
#include <stdio.h>
#include <string.h>

#include "svc/image-files.h"
#include "svc/image-user.h"

#define FILE_MAX (1u << 20)

/* A file of the image's /etc. Allocated; "" where there is none. */
static int read_etc(const struct image_files *l, const char *path, char **ret, struct error *e) {
        int r = image_files_read(l, path, FILE_MAX, ret, NULL);

        if (r == -ENOENT || r == -ENOTDIR) {
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

static int find_user(const struct image_files *l, const char *image, const char *who, struct image_user *u, struct error *e) {
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
        _cleanup_(image_files_close) struct image_files layers = {};
        _cleanup_free_ char *groups = NULL, *user = strndup(spec, strcspn(spec, ":"));
        const char *group = strchr(spec, ':');
        struct image_user u = {.home = "/"};
        char *f[3];
        int r;

        if (!user)
                return error_set(e, ENOMEM, "out of memory");
        if ((r = image_files_open(state_root, image, &layers)) < 0)
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
