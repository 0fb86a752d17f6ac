/* A real overlay for the tests of what runs change: directories lower, hide, upper, work and merged in a scratch
 * directory, mounted in namespaces of a child that makes the changes and copies the merged view to "copy". Trees are
 * then compared by plain reading (the oracle), which knows nothing of overlay's marks. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/str.h"
#include "svc/remove-tree.h"
#include "tap.h"

struct fixture {
        char dir[64];
        int fd, lower, upper; /* of dir and the two beneath it */
        bool trusted;         /* by real root, trusted.overlay.* */
};

static inline void sh(const char *cmd) {
        int r = system(cmd);
        if (r != 0)
                printf("# failed (%#x): %s\n", (unsigned)r, cmd);
        check(r == 0);
}

/* Enters a scratch directory; as_root false: becomes an ordinary user when root runs the tests. */
static inline void fixture_enter(struct fixture *f, bool as_root) {
        umask(022);
        snprintf(f->dir, sizeof(f->dir), "/tmp/test-changes-XXXXXX");
        check(mkdtemp(f->dir));
        if (geteuid() == 0 && !as_root) {
                check(chown(f->dir, 65534, 65534) == 0);
                check(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
                check(prctl(PR_SET_DUMPABLE, 1) == 0); /* or /proc/self stays root's */
        }
        f->trusted = as_root;
        check(chdir(f->dir) == 0);
        sh("mkdir lower hide upper work merged copy");
        f->fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        f->lower = open("lower", O_PATH | O_DIRECTORY | O_CLOEXEC);
        f->upper = open("upper", O_PATH | O_DIRECTORY | O_CLOEXEC);
        check(f->fd >= 0 && f->lower >= 0 && f->upper >= 0);
}

static inline void fixture_leave(struct fixture *f) {
        struct error e = {};
        static const char *const parts[] = {"lower", "hide", "upper", "work", "merged", "copy", "applied", "patch"};
        for (size_t i = 0; i < ELEMENTSOF(parts); i++)
                if (remove_tree(f->fd, parts[i], NULL, &e) < 0)
                        printf("# %s\n", e.msg);
        check(e.errnum == 0);
        close(f->fd);
        close(f->lower);
        close(f->upper);
        check(chdir("/tmp") == 0);
        (void)!rmdir(f->dir);
}

static inline void poke(const char *path, const char *value) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        check(fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value));
        close(fd);
}

/* Mounts the overlay and calls edit() with merged as working directory, then copies the view. prepare() fills the
 * whiteout layer before (may be NULL: no such layer). */
static inline void fixture_session(struct fixture *f, void (*prepare)(void), void (*edit)(void)) {
        pid_t pid = fork();
        if (pid == 0) {
                uid_t uid = geteuid();
                gid_t gid = getegid();
                char map[64], options[256];
                if (f->trusted) {
                        check(unshare(CLONE_NEWNS) == 0);
                } else {
                        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                                skip("no user namespaces for an ordinary user here");
                        poke("/proc/self/setgroups", "deny");
                        snprintf(map, sizeof(map), "0 %u 1", uid); /* 0: cp below keeps its capabilities */
                        poke("/proc/self/uid_map", map);
                        snprintf(map, sizeof(map), "0 %u 1", gid);
                        poke("/proc/self/gid_map", map);
                }
                check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
                if (prepare) {
                        check(chdir("hide") == 0);
                        prepare();
                        check(chdir("..") == 0);
                }
                snprintf(options, sizeof(options), "lowerdir=%slower,upperdir=upper,workdir=work,volatile%s",
                         prepare ? "hide:" : "", f->trusted ? ",redirect_dir=off,metacopy=off" : ",userxattr");
                if (mount("overlay", "merged", "overlay", 0, options) < 0)
                        skip("no overlay in a user namespace here");
                check(chdir("merged") == 0);
                edit();
                check(chdir(f->dir) == 0);
                /* with the capabilities of the namespace: modes do not bind */
                sh("cp -a merged/. copy/");
                fflush(stdout);
                _exit(0);
        }
        int status;
        check(pid > 0 && waitpid(pid, &status, 0) == pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                _exit(77);
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- the oracle ---- */

struct item {
        char *path, *content; /* content: bytes of a file, target of a link */
        size_t len;
        mode_t mode;
};
struct items {
        struct item *i;
        size_t n, cap;
};

static inline int item_cmp(const void *a, const void *b) {
        return strcmp(((const struct item *)a)->path, ((const struct item *)b)->path);
}

static inline void items_walk(struct items *l, int dirfd, const char *prefix) {
        DIR *d = fdopendir(dirfd);
        check(d);
        for (struct dirent *e; (e = readdir(d));) {
                struct item it = {};
                struct stat st;
                if (streq(e->d_name, ".") || streq(e->d_name, ".."))
                        continue;
                check(fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0);
                it.path = str_printf("%s%s%s", prefix, *prefix ? "/" : "", e->d_name);
                it.mode = st.st_mode;
                it.content = NULL;
                if (S_ISREG(st.st_mode))
                        check(file_read(dirfd, e->d_name, 64u << 20, &it.content, &it.len) == 0);
                else if (S_ISLNK(st.st_mode)) {
                        it.content = calloc(1, PATH_MAX);
                        check(readlinkat(dirfd, e->d_name, it.content, PATH_MAX - 1) >= 0);
                        it.len = strlen(it.content);
                }
                if (l->n == l->cap) {
                        l->cap = MAX(l->cap * 2, 64u);
                        l->i = reallocarray(l->i, l->cap, sizeof(*l->i));
                        check(l->i);
                }
                l->i[l->n++] = it;
                if (S_ISDIR(st.st_mode))
                        items_walk(l, openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), it.path);
        }
        closedir(d);
}

/* All below a directory, sorted. Needs to be able to read it: see changes_unbind. */
static inline struct items items_read(const char *dir) {
        struct items l = {};
        items_walk(&l, open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), "");
        if (l.n > 0)
                qsort(l.i, l.n, sizeof(*l.i), item_cmp);
        return l;
}

static inline void items_clear(struct items *l) {
        for (size_t i = 0; i < l->n; i++) {
                free(l->i[i].path);
                free(l->i[i].content);
        }
        free(l->i);
        *l = (struct items){};
}

/* "A path", "D path", "M", "L", "T", "P" as changes.h names them, one a line, sorted by path. */
static inline char *items_compare(const struct items *a, const struct items *b) {
        struct strbuf out = {};
        for (size_t i = 0, j = 0; i < a->n || j < b->n;) {
                const struct item *x = i < a->n ? &a->i[i] : NULL, *y = j < b->n ? &b->i[j] : NULL;
                int c = !x ? 1 : !y ? -1 : strcmp(x->path, y->path);
                char k = 0;
                if (c < 0)
                        k = 'D', i++;
                else if (c > 0)
                        k = 'A', j++;
                else {
                        if ((x->mode & S_IFMT) != (y->mode & S_IFMT))
                                k = 'T';
                        else if (x->len != y->len || (x->len && memcmp(x->content, y->content, x->len) != 0))
                                k = S_ISLNK(x->mode) ? 'L' : 'M';
                        else if (!S_ISLNK(x->mode) && x->mode != y->mode)
                                k = 'P';
                        i++, j++;
                }
                if (k)
                        strbuf_printf(&out, "%c %s\n", k, (c < 0 ? x : y)->path);
        }
        return strbuf_take(&out);
}
