/* Where the caller may make a child group; see cgroup-find.h.
 *
 * A v2 group A can hold our child when (cgroups(7), kernel's cgroup_procs_write_permission): we may make a directory
 * in A, and write A/cgroup.procs, because A is the common ancestor of our own group and the child. The nearest such
 * A is taken, so that the limits that already hold us hold the child as well as far as possible. A v1 hierarchy asks
 * for the directory only: moving one's own processes needs no right on the ancestor. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mountinfo.h"
#include "sys/cgroup-find.h"

/* /proc/self/cgroup has a line a hierarchy; a mount table may be long. */
#define CGROUP_TEXT_MAX (256u << 10)
#define MOUNTINFO_TEXT_MAX (64u << 20)

static const char *const controller_names[CGROUP_N] = {
        [CGROUP_MEMORY] = "memory", [CGROUP_PIDS] = "pids", [CGROUP_CPU] = "cpu", [CGROUP_FREEZER] = "freezer",
};

const char *cgroup_controller_name(enum cgroup_controller c) { return controller_names[c]; }

static void place_clear(struct cgroup_place *p) {
        free(p->mount);
        free(p->root);
        free(p->own);
        free(p->dir);
        free(p->base);
        *p = (struct cgroup_place){};
}

void cgroup_layout_clear(struct cgroup_layout *l) {
        place_clear(&l->v2);
        for (size_t i = 0; i < CGROUP_N; i++)
                place_clear(&l->v1[i]);
        *l = (struct cgroup_layout){};
}

/* True when the list "a,b,c" of n bytes has the word. An empty list has the empty word only: the v2 line. */
static bool list_has(const char *list, size_t n, const char *word) {
        size_t w = strlen(word);
        if (n == 0 || w == 0)
                return n == w;
        for (const char *s = list, *end = list + n; s < end;) {
                const char *comma = memchr(s, ',', (size_t)(end - s));
                size_t k = comma ? (size_t)(comma - s) : (size_t)(end - s);
                if (k == w && memcmp(s, word, w) == 0)
                        return true;
                s += k + 1;
        }
        return false;
}

int cgroup_own_path(const char *cgroup, const char *controller, char **ret) {
        /* "4:memory:/a b:c": the path may hold anything but a newline, colons too, and is not escaped. */
        const char *found = NULL;
        size_t found_len = 0;

        for (const char *line = cgroup; *line;) {
                const char *end = strchrnul(line, '\n');
                const char *list = memchr(line, ':', (size_t)(end - line));
                if (!list || list == line || strspn(line, "0123456789") != (size_t)(list - line))
                        return -EBADMSG;
                list++;
                const char *path = memchr(list, ':', (size_t)(end - list));
                if (!path || path + 1 == end || path[1] != '/')
                        return -EBADMSG;
                path++;
                if (!found && list_has(list, (size_t)(path - 1 - list), controller)) {
                        found = path;
                        found_len = (size_t)(end - path);
                }
                line = *end ? end + 1 : end;
        }
        if (!found)
                return -ENOENT;
        char *s = strndup(found, found_len);
        if (!s)
                return -ENOMEM;
        *ret = s;
        return 0;
}

int cgroup_dir_of(const char *mount, const char *root, const char *own, char **ret) {
        /* Above a cgroup namespace's root the kernel writes "/..": what lies there has no name from here. */
        if (path_has_dotdot(own) || path_has_dotdot(root) || !path_beneath(own, root))
                return -ENOENT;
        const char *rest = streq(root, "/") ? own : own + strlen(root);
        char *s = streq(rest, "/") || !*rest ? strdup(mount)
                                             : str_printf("%s%s", streq(mount, "/") ? "" : mount, rest);
        if (!s)
                return -ENOMEM;
        *ret = s;
        return 0;
}

static int place_fill(struct cgroup_place *p, const struct mountinfo *m, const char *cgroup, const char *controller) {
        int r = cgroup_own_path(cgroup, controller, &p->own);
        if (r < 0 && r != -ENOENT)
                return r;
        p->mount = strdup(m->target);
        p->root = strdup(m->root);
        if (!p->mount || !p->root)
                return -ENOMEM;
        p->read_only = mountinfo_has_option(m->options, "ro") || mountinfo_has_option(m->super, "ro");
        if (!p->own)
                return 0;
        r = cgroup_dir_of(p->mount, p->root, p->own, &p->dir);
        return r == -ENOENT ? 0 : r;
}

/* Prefers, of several mounts of one hierarchy, the first through which the own group is visible. */
static int place_offer(struct cgroup_place *p, const struct mountinfo *m, const char *cgroup, const char *controller) {
        if (p->dir)
                return 0;
        struct cgroup_place q = {};
        int r = place_fill(&q, m, cgroup, controller);
        if (r < 0 || (p->mount && !q.dir)) {
                place_clear(&q);
                return r;
        }
        place_clear(p);
        *p = q;
        return 0;
}

int cgroup_layout_parse(const char *cgroup, const char *mountinfo, struct cgroup_layout *ret) {
        _cleanup_free_ struct mountinfo *m = NULL;
        _cleanup_cgroup_layout_ struct cgroup_layout l = {};
        _cleanup_free_ char *any = NULL;
        bool v1 = false;
        size_t n;

        int r = mountinfo_parse(mountinfo, &m, &n);
        if (r < 0)
                return r;
        r = cgroup_own_path(cgroup, "", &any); /* also: is the text sound? */
        if (r < 0 && r != -ENOENT)
                return r;
        for (size_t i = 0; i < n; i++) {
                if (streq(m[i].fstype, "cgroup2")) {
                        r = place_offer(&l.v2, &m[i], cgroup, "");
                        if (r < 0)
                                return r;
                        l.nsdelegate |= mountinfo_has_option(m[i].super, "nsdelegate");
                } else if (streq(m[i].fstype, "cgroup")) {
                        v1 = true;
                        for (enum cgroup_controller c = 0; c < CGROUP_N; c++) {
                                if (!mountinfo_has_option(m[i].super, controller_names[c]))
                                        continue;
                                r = place_offer(&l.v1[c], &m[i], cgroup, controller_names[c]);
                                if (r < 0)
                                        return r;
                        }
                }
        }
        l.mode = l.v2.mount ? (v1 ? CGROUP_MODE_HYBRID : CGROUP_MODE_V2) : (v1 ? CGROUP_MODE_V1 : CGROUP_MODE_NONE);
        *ret = l;
        l = (struct cgroup_layout){};
        return 0;
}

/* access(2) by the effective ids; a positive errno or 0. */
static int may(int dirfd, const char *name, int mode) {
        return faccessat(dirfd, name, mode, AT_EACCESS) < 0 ? errno : 0;
}

static unsigned words_mask(const char *text) {
        unsigned mask = 0;
        for (const char *s = text + strspn(text, " \n"); *s; s += strspn(s, " \n")) {
                size_t n = strcspn(s, " \n");
                for (enum cgroup_controller c = 0; c < CGROUP_N; c++)
                        if (strlen(controller_names[c]) == n && memcmp(controller_names[c], s, n) == 0)
                                mask |= CGROUP_BIT(c);
                s += n;
        }
        return mask;
}

static unsigned controllers_of(int dirfd, const char *file) {
        _cleanup_free_ char *text = NULL;
        if (file_read(dirfd, file, 4096, &text, NULL) < 0)
                return 0;
        return words_mask(text);
}

/* Does cgroup.procs name nobody, only ourselves, or others? A process of another pid namespace is written as 0. */
enum members { MEMBERS_NONE, MEMBERS_SELF, MEMBERS_OTHERS };
static enum members members_of(int dirfd) {
        _cleanup_free_ char *text = NULL;
        char self[16];
        if (file_read(dirfd, "cgroup.procs", 1u << 20, &text, NULL) < 0)
                return MEMBERS_OTHERS;
        if (!*text)
                return MEMBERS_NONE;
        snprintf(self, sizeof(self), "%d\n", (int)getpid());
        return streq(text, self) ? MEMBERS_SELF : MEMBERS_OTHERS;
}

/* What a child of this group could have. Root groups (no cgroup.type) may hold processes and still enable. */
static void v2_controllers(int dirfd, bool own, struct cgroup_place *p) {
        unsigned on = controllers_of(dirfd, "cgroup.subtree_control") & CGROUP_LIMITS;
        unsigned off = controllers_of(dirfd, "cgroup.controllers") & CGROUP_LIMITS & ~on;

        p->have = on;
        p->enable = p->evacuate = 0;
        if (!off || may(dirfd, "cgroup.subtree_control", W_OK) != 0)
                return;
        enum members members = may(dirfd, "cgroup.type", F_OK) == ENOENT ? MEMBERS_NONE : members_of(dirfd);
        if (members == MEMBERS_OTHERS || (members == MEMBERS_SELF && !own))
                return;
        p->have |= off;
        p->enable = off;
        p->evacuate = members == MEMBERS_SELF ? off : 0;
}

/* A threaded group takes no ordinary child with our controllers. */
static bool is_threaded(int dirfd) {
        _cleanup_free_ char *text = NULL;
        return file_read(dirfd, "cgroup.type", 64, &text, NULL) >= 0 && !streq(text, "domain\n");
}

/* Cuts the last part off, but never above the mount; false when that is reached. */
static bool go_up(char *dir, const char *mount) {
        if (streq(dir, mount))
                return false;
        char *slash = strrchr(dir, '/');
        if (!slash || (size_t)(slash - dir) < strlen(mount))
                return false;
        *slash = 0;
        return true;
}

/* Keeps `dir` as the base when it gives a controller more than what was found nearer. */
static int take_if_better(struct cgroup_place *p, const struct cgroup_place *here, const char *dir) {
        if (p->base && __builtin_popcount(here->have) <= __builtin_popcount(p->have))
                return 0;
        char *s = strdup(dir);
        if (!s)
                return -ENOMEM;
        free(p->base);
        p->base = s;
        p->have = here->have;
        p->enable = here->enable;
        p->evacuate = here->evacuate;
        p->why = 0;
        return 0;
}

int cgroup_place_find_v2(struct cgroup_place *p) {
        if (!p->mount || !p->dir) {
                p->why = ENOENT;
                return 0;
        }
        _cleanup_free_ char *dir = strdup(p->dir);
        if (!dir)
                return -ENOMEM;
        p->why = ENOENT;
        do {
                struct cgroup_place here = {};
                _cleanup_fd_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (fd < 0) {
                        if (!p->base)
                                p->why = errno;
                        continue;
                }
                int e = may(fd, ".", W_OK | X_OK);
                if (e == 0)
                        e = may(fd, "cgroup.procs", W_OK);
                if (e == 0 && is_threaded(fd))
                        e = EOPNOTSUPP;
                if (e != 0) {
                        if (!p->base)
                                p->why = e;
                        continue; /* a slice above may be ours although this scope is not */
                }
                v2_controllers(fd, streq(dir, p->dir), &here);
                int r = take_if_better(p, &here, dir);
                if (r < 0)
                        return r;
                if (p->have == CGROUP_LIMITS)
                        break;
        } while (go_up(dir, p->mount));
        return 0;
}

int cgroup_place_find_v1(struct cgroup_place *p) {
        if (!p->mount || !p->dir) {
                p->why = ENOENT;
                return 0;
        }
        _cleanup_free_ char *dir = strdup(p->dir);
        if (!dir)
                return -ENOMEM;
        do {
                int e = may(AT_FDCWD, dir, W_OK | X_OK);
                if (e == 0) {
                        p->base = TAKE_PTR(dir);
                        p->why = 0;
                        return 0;
                }
                p->why = e;
        } while (go_up(dir, p->mount));
        return 0;
}

static void v2_files(struct cgroup_layout *l) {
        _cleanup_fd_ int fd = open(l->v2.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return;
        l->v2_root = may(fd, "cgroup.type", F_OK) == ENOENT;
        l->file_kill = may(fd, "cgroup.kill", F_OK) == 0;
        l->file_freeze = may(fd, "cgroup.freeze", F_OK) == 0;
}

int cgroup_find(struct cgroup_layout *ret) {
        _cleanup_free_ char *mountinfo = NULL;
        int r = file_read(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_TEXT_MAX, &mountinfo, NULL);
        return r < 0 ? r : cgroup_find_in(mountinfo, ret);
}

int cgroup_find_in(const char *mountinfo, struct cgroup_layout *ret) {
        _cleanup_free_ char *cgroup = NULL;
        _cleanup_cgroup_layout_ struct cgroup_layout l = {};

        int r = file_read(AT_FDCWD, "/proc/self/cgroup", CGROUP_TEXT_MAX, &cgroup, NULL);
        if (r == -ENOENT) { /* a kernel without CONFIG_CGROUPS */
                *ret = (struct cgroup_layout){};
                return 0;
        }
        if (r < 0)
                return r;
        r = cgroup_layout_parse(cgroup, mountinfo, &l);
        if (r < 0)
                return r;
        if (l.v2.mount) {
                r = cgroup_place_find_v2(&l.v2);
                if (r < 0)
                        return r;
                if (l.v2.dir)
                        v2_files(&l);
        }
        for (size_t i = 0; i < CGROUP_N; i++)
                if (l.v1[i].mount && (r = cgroup_place_find_v1(&l.v1[i])) < 0)
                        return r;
        *ret = l;
        l = (struct cgroup_layout){};
        return 0;
}
