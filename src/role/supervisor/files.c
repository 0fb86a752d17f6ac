/* What the run changed, for the trail's end: the upper layer of its workspace, counted, and the first names of it. Names, numbers and
 * depth are the sandbox's: a child looks at them, with the sandbox's own rights over its files, and says in one message of fixed size
 * what there is. Nothing is compared with what lies below: belljar diff does that. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/supervisor/supervisor.h"
#include "svc/state.h"
#include "svc/tree-walk.h"

#define ENTRIES_MAX 100000u /* that are looked at: the answer to the caller waits for it */
#define NAMES_MAX 64u
#define PATH_BYTES 256u /* of each, its NUL included; a longer one is counted only */

enum { WRITTEN, DELETED, LINK, DIRECTORY, OTHER, WHAT_N };
static const char *const what_names[WHAT_N] = {"written", "deleted", "link", "directory", "other"};

struct found {
        uint64_t counts[WHAT_N], bytes;
        uint32_t at_least; /* 1: there is more */
        uint32_t n_names;
        struct {
                uint32_t what;
                char path[PATH_BYTES];
        } names[NAMES_MAX];
};

static unsigned what_of(const struct stat *st) {
        if (S_ISREG(st->st_mode))
                return WRITTEN;
        if (S_ISCHR(st->st_mode) && st->st_rdev == 0) /* overlayfs.rst: whiteouts */
                return DELETED;
        return S_ISLNK(st->st_mode) ? LINK : S_ISDIR(st->st_mode) ? DIRECTORY : OTHER;
}

/* name behind what stands in path; false: it does not fit. */
static bool join(char path[PATH_BYTES], const char *name) {
        const size_t n = strlen(path), len = strlen(name);

        if (n + (n > 0) + len + 1 > PATH_BYTES)
                return false;
        if (n > 0)
                path[n] = '/';
        memcpy(path + n + (n > 0), name, len + 1);
        return true;
}

static void note(struct found *f, const char *dir, const char *name, const struct stat *st) {
        const unsigned what = what_of(st);

        f->counts[what]++;
        if (what == WRITTEN)
                f->bytes += (uint64_t)st->st_blocks * 512;
        /* Directories are there for what is in them. */
        if (what == DIRECTORY || f->n_names == NAMES_MAX)
                return;
        f->names[f->n_names].what = what;
        memcpy(f->names[f->n_names].path, dir, strlen(dir) + 1);
        f->n_names += join(f->names[f->n_names].path, name);
}

/* The path of the innermost directory; too long a one is shown as such. */
struct place {
        char path[PATH_BYTES];
        size_t lengths[4096]; /* of the directories above */
};

/* Enters a directory of the innermost one. One that cannot be is not counted on. */
static int enter(struct tree_walk *w, struct place *at, const char *name, const struct stat *st, struct found *f) {
        _cleanup_fd_ int fd = w->n < ELEMENTSOF(at->lengths) ? openat(tree_walk_top(w)->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        const size_t n = strlen(at->path);

        if (fd < 0) {
                f->at_least = 1;
                return 0;
        }
        at->lengths[w->n] = n;
        if (!join(at->path, name)) {
                memset(at->path + n, '/', PATH_BYTES - 1 - n); /* no name fits behind it */
                at->path[PATH_BYTES - 1] = 0;
        }
        return tree_walk_push(w, &fd, st, NULL);
}

/* One step: entries of the innermost directory, until one leads further in. */
static int step(struct tree_walk *w, struct place *at, struct found *f, uint64_t *seen) {
        _Alignas(struct dirent64_raw) char buf[16384];
        ssize_t n = tree_walk_read(w, buf, sizeof(buf));

        if (n <= 0) {
                f->at_least |= n < 0;
                int r = tree_walk_pop(w);
                if (w->n > 0)
                        at->path[at->lengths[w->n]] = 0;
                return r;
        }
        for (ssize_t i = 0; i < n;) {
                const struct dirent64_raw *d = (const void *)(buf + i);
                struct stat st;
                i += d->d_reclen;
                tree_walk_top(w)->off = d->d_off;
                if (streq(d->d_name, ".") || streq(d->d_name, ".."))
                        continue;
                if (++*seen > ENTRIES_MAX || fstatat(tree_walk_top(w)->fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                        f->at_least = 1;
                        return *seen > ENTRIES_MAX ? -E2BIG : 0;
                }
                note(f, at->path, d->d_name, &st);
                if (S_ISDIR(st.st_mode))
                        return enter(w, at, d->d_name, &st, f);
        }
        return 0;
}

static void count(int upper, struct found *f) {
        struct tree_walk w = {};
        struct place at = {};
        uint64_t seen = 0;
        struct stat st;
        int r = fstat(upper, &st) < 0 ? -errno : tree_walk_push(&w, &upper, &st, NULL);

        while (r == 0 && w.n > 0)
                r = step(&w, &at, f, &seen);
        f->at_least |= r < 0;
        tree_walk_clear(&w);
}

static void child(struct supervisor *x, int out) {
        static struct found f;

        supervisor_own(x);
        int upper = openat(x->s->state->dir, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (upper < 0)
                f.at_least = 1;
        else
                count(upper, &f);
        _exit(fd_write_all(out, &f, sizeof(f)) < 0);
}

static bool look(struct supervisor *x, struct found *f) {
        size_t got = 0;
        int p[2];

        if (pipe2(p, O_CLOEXEC) < 0)
                return false;
        pid_t pid = fork();
        if (pid == 0)
                child(x, p[1]);
        close(p[1]);
        for (ssize_t n = 1; pid > 0 && got < sizeof(*f) && n != 0;) {
                n = read(p[0], (char *)f + got, sizeof(*f) - got);
                if (n < 0 && errno != EINTR)
                        break;
                got += (size_t)MAX(n, 0);
        }
        close(p[0]);
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        return got == sizeof(*f) && f->n_names <= NAMES_MAX;
}

void files_record(struct supervisor *x) {
        static struct found f;
        struct event ev = {.kind = EVENT_FILES, .rule = EVENT_NO_RULE};
        struct record *k = &x->record;
        bool known = look(x, &f);

        event_now(&ev);
        struct json *j = trail_begin(&k->trail, &ev, &k->text);
        for (size_t i = 0; known && i < WHAT_N; i++)
                json_num(j, what_names[i], (long long)f.counts[i]);
        if (known)
                json_num(j, "bytes", (long long)f.bytes);
        json_bool(j, "at_least", !known || f.at_least);
        json_begin(j, "paths", '[');
        for (size_t i = 0; known && i < f.n_names; i++) {
                f.names[i].path[PATH_BYTES - 1] = 0;
                json_begin(j, NULL, '{');
                json_str(j, "what", f.names[i].what < WHAT_N ? what_names[f.names[i].what] : "?");
                json_str(j, "path", f.names[i].path);
                json_hex_if_needed(j, "path_hex", f.names[i].path);
                json_end(j, '}');
        }
        json_end(j, ']');
        if (trail_finish(&k->trail, &ev, &k->text) < 0)
                trail_count_lost(&k->trail, 1);
}
