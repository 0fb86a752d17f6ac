/* Finding and reading sandboxes on disk; see state.h. Apart from state.c, which `belljar run` needs without a JSON
 * library. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/ids.h"
#include "svc/state-internal.h"
#include "svc/state-read.h"

int state_read(const struct state *s, const char *name, json_t **ret) {
        _cleanup_free_ char *text = NULL;
        json_error_t je;
        size_t n;
        int r = file_read(s->dir, name, STATE_FILE_MAX, &text, &n);

        if (r < 0)
                return r;
        json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &je);
        const char *id = json_string_value(json_object_get(j, "id"));
        if (!id || !streq(id, s->id)) {
                json_decref(j);
                return -ENOENT;
        }
        *ret = j;
        return 0;
}

json_t *state_status(const struct state *s) {
        json_t *status = NULL, *ended = NULL;

        if (state_read(s, "started.json", &status) < 0)
                status = json_object();
        if (state_read(s, "ended.json", &ended) == 0)
                json_object_update(status, ended);
        json_decref(ended);
        return status;
}

static bool has_ended(const struct state *s) {
        json_t *j = NULL;
        if (state_read(s, "ended.json", &j) < 0)
                return false;
        json_decref(j);
        return true;
}

bool state_alive(const struct state *s) {
        return state_is_locked(s) && !has_ended(s);
}

/* A directory that is still being made counts as left by a kill when its maker is gone, or after so many seconds. */
#define NEW_MAX_AGE 60

static void remove_half_made(int root) {
        int fd = openat(root, state_places[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

        if (!d) {
                fd_close(fd);
                return;
        }
        for (struct dirent *e; (e = readdir(d));) {
                const char *rest = str_after(e->d_name, STATE_NEW_PREFIX);
                struct stat st;
                if (!rest || fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                pid_t maker = (pid_t)strtol(rest, NULL, 10);
                if ((maker > 0 && kill(maker, 0) < 0 && errno == ESRCH) || st.st_ctime + NEW_MAX_AGE < time(NULL))
                        (void)unlinkat(fd, e->d_name, AT_REMOVEDIR);
        }
        closedir(d);
}

int state_list(int root, struct strlist *ret) {
        _cleanup_(dated_clear) struct dated_list all = {};
        int r = 0;

        remove_half_made(root);

        for (size_t i = 0; i < ELEMENTSOF(state_places); i++)
                if ((r = state_list_place(root, state_places[i], &all)) < 0)
                        return r;
        for (size_t i = 0; r == 0 && i < all.n; i++)
                r = strlist_add(ret, all.items[i].id);
        return r;
}

static int open_any(int root, const char *id, struct state *ret) {
        int r = -ENOENT;
        for (size_t i = 0; r == -ENOENT && i < ELEMENTSOF(state_places); i++)
                r = state_open_in(root, state_places[i], id, ret);
        return r;
}

/* The string `key` of a sandbox's plan is `value`. */
static bool plan_says(int root, const char *id, const char *key, const char *value) {
        _cleanup_state_ struct state s = STATE_NONE;
        json_t *plan = NULL;

        if (open_any(root, id, &s) < 0 || state_read(&s, "plan.json", &plan) < 0)
                return false;
        const char *v = json_string_value(json_object_get(plan, key));
        bool same = v && streq(v, value);
        json_decref(plan);
        return same;
}

static int find_last(int root, const struct strlist *ids, const char *cwd, const char **ret) {
        for (size_t i = ids->n; i-- > 0;)
                if (!cwd || plan_says(root, ids->items[i], "started_in", cwd)) {
                        *ret = ids->items[i];
                        return 0;
                }
        return -ENOENT;
}

int state_find(int root, const char *which, const char *cwd, bool any_cwd, struct state *ret, struct error *e) {
        _cleanup_strlist_ struct strlist ids = {};
        const char *found = NULL;
        int r = state_list(root, &ids);

        if (r < 0)
                return error_errno(e, r, "the state directory cannot be read");
        if (!which) {
                if (find_last(root, &ids, any_cwd ? NULL : cwd, &found) < 0) {
                        error_set(e, ENOENT, any_cwd ? "there is no sandbox yet" : "no sandbox was started from this directory");
                        return error_fix(e, any_cwd ? "start one with: belljar run -- COMMAND"
                                                    : "name one (belljar ps -a lists them), or use --last");
                }
        } else {
                for (size_t i = 0; i < ids.n; i++)
                        if (streq(ids.items[i], which))
                                found = ids.items[i];
                /* The newest of that name: a name can be used again once its run has ended. */
                for (size_t i = ids.n; !found && i-- > 0;)
                        if (plan_says(root, ids.items[i], "name", which))
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
        }
        r = open_any(root, found, ret);
        return r < 0 ? error_errno(e, r, "the sandbox %s cannot be opened", found) : 0;
}

/* What a run on an image changed of the image's root, where its supervisor did not live to remove it. */
static void remove_root(const struct state *s) {
        int r = state_remove_root(s);

        if (r != -EACCES && r != -EPERM)
                return;
        (void)!ids_remove(s->dir, "root", NULL);
        (void)!ids_remove(s->dir, "root.work", NULL);
}

int state_reclaim(struct state *s) {
        _cleanup_free_ char *groups = NULL;

        if (flock(s->dir, LOCK_EX | LOCK_NB) < 0)
                return errno != EWOULDBLOCK ? -errno : has_ended(s) ? 0 : -EBUSY;
        if (file_read(s->dir, "cgroup", 64u << 10, &groups, NULL) == 0) {
                bool left = false;
                bool any = false;
                for (char *line = groups, *next; line && *line; line = next) {
                        next = strchr(line, '\n');
                        if (next)
                                *next++ = 0;
                        any = any || *line;
                        if (*line && rmdir(line) < 0 && errno != ENOENT)
                                left = true;
                }
                if (any && !left)
                        (void)!state_write_groups(s, "");
        }
        remove_root(s);
        /* One that never began and changed nothing is no record of anything. */
        json_t *plan = NULL;
        if (state_read(s, "plan.json", &plan) < 0 && !state_changed(s) && !state_has_groups(s)) {
                (void)!state_remove_dir(s, NULL);
                return 0;
        }
        json_decref(plan);
        if (!has_ended(s)) {
                struct json j;
                state_json_begin(s, &j);
                json_str(&j, "state", "ended");
                json_str(&j, "end", "crashed");
                json_end(&j, '}');
                (void)!state_write(s, "ended.json", &j);
        }
        (void)flock(s->dir, LOCK_UN);
        return 0;
}

int state_remove(struct state *s, struct error *e) {
        /* A supervisor whose run has ended holds the lock for a moment more. */
        for (int i = 0; flock(s->dir, LOCK_EX | LOCK_NB) < 0; i++) {
                if (!has_ended(s) || i > 2000)
                        return error_set(e, EBUSY, "the sandbox %s is running", s->id);
                usleep(1000);
        }
        return state_remove_dir(s, e);
}
