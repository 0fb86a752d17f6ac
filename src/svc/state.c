/* Sandboxes on disk, see state.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/remove-tree.h"
#include "svc/state.h"

#define STATE_FILE_MAX (4u << 20)

void state_close(struct state *s) {
        free(s->id);
        fd_close(s->dir);
        fd_close(s->lock);
        *s = (struct state){.dir = -EBADF, .lock = -EBADF};
}

int state_root(bool create, char **ret, struct error *e) {
        const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        _cleanup_free_ char *path = NULL;

        if (xdg && xdg[0] == '/')
                path = str_printf("%s/belljar/sandboxes", xdg);
        else if (geteuid() == 0)
                path = strdup("/var/lib/belljar/sandboxes");
        else if (home && home[0] == '/')
                path = str_printf("%s/.local/state/belljar/sandboxes", home);
        else {
                error_set(e, ENOENT, "there is no place for Belljar's state: neither XDG_STATE_HOME nor HOME is an absolute path");
                return error_fix(e, "set XDG_STATE_HOME to a directory of yours");
        }
        if (!path)
                return error_set(e, ENOMEM, "out of memory");
        if (create) {
                struct stat st;
                if (stat(path, &st) < 0) {
                        int r = mkdir_parents(path, 0700);
                        if (r < 0) {
                                error_errno(e, r, "the state directory %s cannot be made", path);
                                return error_fix(e, "set XDG_STATE_HOME to a directory that you can write");
                        }
                }
        }
        *ret = TAKE_PTR(path);
        return 0;
}

static int random_id(char id[13]) {
        unsigned char b[6];
        if (getrandom(b, sizeof(b), 0) != sizeof(b))
                return -EIO;
        for (size_t i = 0; i < sizeof(b); i++)
                snprintf(id + 2 * i, 3, "%02x", b[i]);
        return 0;
}

int state_create(const char *root, bool public_x, struct state *ret, struct error *e) {
        _cleanup_state_ struct state s = {.dir = -EBADF, .lock = -EBADF};
        _cleanup_fd_ int rootfd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        char id[13];
        int r;

        if (rootfd < 0)
                return error_errno(e, errno, "the state directory %s cannot be opened", root);
        for (int tries = 0;; tries++) {
                if ((r = random_id(id)) < 0)
                        return error_errno(e, r, "no random id can be made");
                if (mkdirat(rootfd, id, public_x ? 0711 : 0700) == 0)
                        break;
                if (errno != EEXIST || tries > 8) {
                        error_errno(e, errno, "the sandbox's directory cannot be made in %s", root);
                        return error_fix(e, "make room there, or set XDG_STATE_HOME to a directory that you can write");
                }
        }
        s.id = strdup(id);
        s.dir = openat(rootfd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (s.dir >= 0)
                s.lock = openat(s.dir, "lock", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (!s.id || s.lock < 0 || flock(s.lock, LOCK_EX | LOCK_NB) < 0)
                return error_errno(e, errno, "the sandbox's directory cannot be made in %s", root);
        if (public_x && fchmod(s.dir, 0711) < 0) /* whatever the umask says */
                return error_errno(e, errno, "the sandbox's directory cannot be opened to its user");
        *ret = s;
        s = (struct state){.dir = -EBADF, .lock = -EBADF};
        return 0;
}

int state_make_upper(const struct state *s, mode_t mode, uid_t uid, gid_t gid, struct error *e) {
        static const char *const names[] = {"upper", "work"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                mode_t m = i == 0 ? mode & 01777 : 0700;
                if (mkdirat(s->dir, names[i], 0700) < 0 || fchmodat(s->dir, names[i], m | 0700, 0) < 0 ||
                    (geteuid() == 0 && fchownat(s->dir, names[i], uid, gid, AT_SYMLINK_NOFOLLOW) < 0))
                        return error_errno(e, errno, "the layer for changes cannot be made");
        }
        return 0;
}

int state_write(int dir, const char *name, json_t *value) {
        if (!value)
                return -ENOMEM;
        _cleanup_free_ char *s = json_dumps(value, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
        json_decref(value);
        if (!s)
                return -ENOMEM;
        return file_replace(dir, name, s, strlen(s), 0600);
}

int state_read(int dir, const char *name, json_t **ret) {
        _cleanup_free_ char *s = NULL;
        size_t n;
        int r = file_read(dir, name, STATE_FILE_MAX, &s, &n);
        if (r < 0)
                return r;
        json_error_t je;
        json_t *j = json_loadb(s, n, JSON_REJECT_DUPLICATES, &je);
        if (!j || !json_is_object(j)) {
                json_decref(j);
                return -EBADMSG;
        }
        *ret = j;
        return 0;
}

json_t *state_status(int dir) {
        json_t *started = NULL, *ended = NULL;

        if (state_read(dir, "started.json", &started) < 0)
                started = json_object();
        if (state_read(dir, "ended.json", &ended) == 0)
                json_object_update(started, ended);
        json_decref(ended);
        return started;
}

static int open_one(int rootfd, const char *id, struct state *ret) {
        struct state s = {.dir = -EBADF, .lock = -EBADF};
        s.dir = openat(rootfd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (s.dir < 0)
                return -errno;
        s.lock = openat(s.dir, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        s.id = strdup(id);
        if (!s.id) {
                state_close(&s);
                return -ENOMEM;
        }
        *ret = s;
        return 0;
}

bool state_alive(const struct state *s) {
        /* A read lock that can be had means that nobody holds the supervisor's exclusive one. */
        if (s->lock < 0)
                return false;
        if (flock(s->lock, LOCK_SH | LOCK_NB) < 0)
                return errno == EWOULDBLOCK;
        (void)flock(s->lock, LOCK_UN);
        return false;
}

bool state_has_upper(const struct state *s) {
        return faccessat(s->dir, "upper", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_id(const char *s) {
        return strlen(s) == 12 && strspn(s, "0123456789abcdef") == 12;
}

struct dated {
        char id[13];
        struct timespec at;
};
static int by_date(const void *a, const void *b) {
        const struct dated *x = a, *y = b;
        if (x->at.tv_sec != y->at.tv_sec)
                return x->at.tv_sec < y->at.tv_sec ? -1 : 1;
        if (x->at.tv_nsec != y->at.tv_nsec)
                return x->at.tv_nsec < y->at.tv_nsec ? -1 : 1;
        return 0;
}

int state_list(const char *root, struct strlist *ret) {
        struct dated *all = NULL;
        size_t n = 0, cap = 0;
        int r = 0;
        DIR *d = opendir(root);

        if (!d)
                return errno == ENOENT ? 0 : -errno;
        for (struct dirent *e; r == 0 && (e = readdir(d));) {
                struct stat st;
                char name[32];
                if (!is_id(e->d_name))
                        continue;
                /* The plan is written once, at the start: its time is the sandbox's. */
                snprintf(name, sizeof(name), "%.12s/plan.json", e->d_name);
                if (fstatat(dirfd(d), name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
                    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                if (n == cap) {
                        cap = MAX(cap * 2, 64u);
                        struct dated *p = reallocarray(all, cap, sizeof(*p));
                        if (!p) {
                                r = -ENOMEM;
                                break;
                        }
                        all = p;
                }
                memcpy(all[n].id, e->d_name, 13);
                all[n++].at = st.st_mtim;
        }
        closedir(d);
        if (n > 1)
                qsort(all, n, sizeof(*all), by_date);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = strlist_add(ret, all[i].id);
        free(all);
        return r;
}

static int find_last(int rootfd, const struct strlist *ids, const char *cwd, struct state *ret) {
        for (size_t i = ids->n; i-- > 0;) {
                _cleanup_state_ struct state s = {.dir = -EBADF, .lock = -EBADF};
                json_t *plan = NULL;
                if (open_one(rootfd, ids->items[i], &s) < 0)
                        continue;
                bool match = !cwd;
                if (cwd && state_read(s.dir, "plan.json", &plan) == 0) {
                        const char *from = json_string_value(json_object_get(plan, "started_in"));
                        match = from && streq(from, cwd);
                        json_decref(plan);
                }
                if (!match)
                        continue;
                *ret = s;
                s = (struct state){.dir = -EBADF, .lock = -EBADF};
                return 0;
        }
        return -ENOENT;
}

static bool has_name(int rootfd, const char *id, const char *name) {
        _cleanup_state_ struct state s = {.dir = -EBADF, .lock = -EBADF};
        json_t *plan = NULL;
        if (open_one(rootfd, id, &s) < 0 || state_read(s.dir, "plan.json", &plan) < 0)
                return false;
        const char *n = json_string_value(json_object_get(plan, "name"));
        bool match = n && streq(n, name);
        json_decref(plan);
        return match;
}

int state_find(const char *root, const char *which, const char *cwd, bool any_cwd, struct state *ret, struct error *e) {
        _cleanup_strlist_ struct strlist ids = {};
        _cleanup_fd_ int rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *found = NULL;
        int r;

        if (rootfd < 0 && errno != ENOENT)
                return error_errno(e, errno, "the state directory %s cannot be opened", root);
        r = state_list(root, &ids);
        if (r < 0)
                return error_errno(e, r, "the state directory %s cannot be read", root);
        if (!which) {
                r = rootfd < 0 ? -ENOENT : find_last(rootfd, &ids, any_cwd ? NULL : cwd, ret);
                if (r == -ENOENT) {
                        error_set(e, ENOENT, any_cwd ? "there is no sandbox yet" : "no sandbox was started from this directory");
                        return error_fix(e, any_cwd ? "start one with: belljar run -- COMMAND"
                                                    : "name one (belljar ps -a lists them), or use --last");
                }
                return r < 0 ? error_errno(e, r, "the sandbox cannot be opened") : 0;
        }
        for (size_t i = 0; i < ids.n; i++)
                if (streq(ids.items[i], which))
                        found = ids.items[i];
        /* The newest of that name: a name can be used again once its run has ended. */
        for (size_t i = ids.n; !found && i-- > 0;)
                if (has_name(rootfd, ids.items[i], which))
                        found = ids.items[i];
        for (size_t i = 0, n = 0; !found && which[0] && i < ids.n; i++)
                if (str_after(ids.items[i], which)) {
                        for (size_t k = n = 0; k < ids.n; k++)
                                n += str_after(ids.items[k], which) != NULL;
                        if (n > 1)
                                return error_set(e, ENOTUNIQ, "%zu sandboxes have ids that begin with %s", n, which);
                        found = ids.items[i];
                }
        if (!found) {
                error_set(e, ENOENT, "there is no sandbox %s", which);
                return error_fix(e, "belljar ps -a lists them");
        }
        r = open_one(rootfd, found, ret);
        return r < 0 ? error_errno(e, r, "the sandbox %s cannot be opened", found) : 0;
}

int state_reclaim(struct state *s) {
        _cleanup_free_ char *groups = NULL;

        if (s->lock < 0)
                return 0;
        if (flock(s->lock, LOCK_EX | LOCK_NB) < 0)
                return errno == EWOULDBLOCK ? -EBUSY : -errno;
        if (file_read(s->dir, "cgroup", 64u << 10, &groups, NULL) == 0) {
                bool left = false;
                for (char *line = groups, *next; line && *line; line = next) {
                        next = strchr(line, '\n');
                        if (next)
                                *next++ = 0;
                        if (rmdir(line) < 0 && errno != ENOENT)
                                left = true;
                }
                if (!left)
                        (void)unlinkat(s->dir, "cgroup", 0);
        }
        if (faccessat(s->dir, "ended.json", F_OK, 0) < 0)
                (void)!state_write(s->dir, "ended.json", json_pack("{s:s, s:s}", "state", "ended", "end", "crashed"));
        (void)flock(s->lock, LOCK_UN);
        return 0;
}

void state_prune(const char *root, unsigned keep, bool all) {
        _cleanup_strlist_ struct strlist ids = {};
        _cleanup_fd_ int rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        unsigned seen = 0;

        if (!all) {
                unsigned char dice;
                if (getrandom(&dice, 1, 0) == 1 && dice % 16)
                        return;
        }
        if (rootfd < 0 || state_list(root, &ids) < 0 || (!all && ids.n <= 2 * keep))
                return;
        for (size_t i = ids.n; i-- > 0;) {
                _cleanup_state_ struct state s = {.dir = -EBADF, .lock = -EBADF};
                if (open_one(rootfd, ids.items[i], &s) < 0 || state_alive(&s))
                        continue;
                if (faccessat(s.dir, "cgroup", F_OK, 0) == 0 || faccessat(s.dir, "ended.json", F_OK, 0) < 0)
                        if (state_reclaim(&s) < 0)
                                continue;
                if (!state_has_upper(&s) && ++seen > keep)
                        (void)!state_remove(root, &s, NULL);
        }
}

int state_remove(const char *root, struct state *s, struct error *e) {
        _cleanup_fd_ int rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (rootfd < 0)
                return error_errno(e, errno, "the state directory %s cannot be opened", root);
        if (s->lock >= 0 && flock(s->lock, LOCK_EX | LOCK_NB) < 0)
                return error_set(e, EBUSY, "the sandbox %s is running", s->id);
        r = remove_tree(rootfd, s->id, NULL, e);
        return r == -ENOENT ? 0 : r;
}
