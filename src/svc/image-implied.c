/* The layer of directories that others leave out, see image-implied.h. */
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/image-implied.h"
#include "svc/image-tar.h"
#include "sys/process.h"

#define PATHS_MAX 100000u

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool is_clean(const char *path) {
        if (!*path)
                return true;
        for (const char *p = path;; p++) {
                size_t n = strcspn(p, "/");
                if (n == 0 || n > 255 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
                        return false;
                p += n;
                if (!*p)
                        return true;
        }
}

int implied_read(const char *data, size_t n, struct strlist *ret) {
        for (size_t at = 0; at < n; at += strlen(data + at) + 1) {
                if (!memchr(data + at, 0, n - at) || !is_clean(data + at) || ret->n >= PATHS_MAX)
                        return -EBADMSG;
                if (strlist_add(ret, data + at) < 0)
                        return -ENOMEM;
        }
        if (ret->n > 1)
                qsort(ret->items, ret->n, sizeof(*ret->items), by_name);
        return 0;
}

bool implied_has(const struct strlist *sorted, const char *path) {
        return sorted->n > 0 && bsearch(&path, sorted->items, sorted->n, sizeof(*sorted->items), by_name);
}

/* Every directory in question, and those above it, which the new layer must have as well. */
static int all_paths(const struct implied_layer *layers, size_t n, struct strlist *ret) {
        _cleanup_strlist_ struct strlist l = {};

        for (size_t k = 0; k < n; k++)
                for (size_t i = 0; i < layers[k].implied.n; i++) {
                        _cleanup_free_ char *path = strdup(layers[k].implied.items[i]);
                        if (!path || l.n > PATHS_MAX)
                                return path ? -E2BIG : -ENOMEM;
                        for (char *slash = path; slash;) {
                                if (strlist_add(&l, path) < 0)
                                        return -ENOMEM;
                                slash = strrchr(path, '/');
                                if (slash)
                                        *slash = 0;
                        }
                }
        if (l.n == 0)
                return 0;
        if (strlist_add(&l, "") < 0)
                return -ENOMEM;
        qsort(l.items, l.n, sizeof(*l.items), by_name);
        for (size_t i = 0; i < l.n; i++)
                if ((i == 0 || !streq(l.items[i], l.items[i - 1])) && strlist_add(ret, l.items[i]) < 0)
                        return -ENOMEM;
        return 0;
}

enum look implied_look(int tree, const char *path, struct stat *ret_st, bool *ret_opaque, char *link) {
        _cleanup_fd_ int at = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char part[256], value;

        *ret_opaque = false;
        for (const char *p = path;; p++) {
                if (at < 0 || fstat(at, ret_st) < 0)
                        return LOOK_HIDDEN;
                *ret_opaque |= fgetxattr(at, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
                size_t n = strcspn(p, "/");
                if (n == 0)
                        return LOOK_DIR;
                memcpy(part, p, n);
                part[n] = 0;
                if (fstatat(at, part, ret_st, AT_SYMLINK_NOFOLLOW) < 0)
                        return errno == ENOENT ? LOOK_ABSENT : LOOK_HIDDEN;
                if (!S_ISDIR(ret_st->st_mode)) {
                        ssize_t k = p[n] ? -1 : link && S_ISLNK(ret_st->st_mode) ? readlinkat(at, part, link, PATH_MAX - 1) : 0;
                        if (k > 0)
                                link[k] = 0;
                        return k < 0 ? LOOK_HIDDEN : k > 0 ? LOOK_LINK : LOOK_OTHER;
                }
                int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                close(at);
                at = next;
                p += n;
                if (!*p)
                        p--; /* the loop's step leads to the end */
        }
}

/* What a directory should be like in the whole image. false: it is not seen there. *ret_differs: as the trees stand, it is
 * not so. */
static bool effective(const struct implied_layer *layers, size_t n, const char *path, struct stat *ret, bool *ret_differs) {
        struct stat top = {}, st;
        bool seen = false, opaque = false;

        for (size_t k = n; k-- > 0 && !opaque;) {
                enum look what = implied_look(layers[k].tree, path, &st, &opaque, NULL);
                if (what == LOOK_OTHER || what == LOOK_HIDDEN)
                        break;
                if (what == LOOK_ABSENT)
                        continue;
                if (!seen)
                        top = st;
                seen = true;
                if (implied_has(&layers[k].implied, path))
                        continue;
                *ret = st;
                /* The root's time is that of nothing that anybody looks at. */
                *ret_differs = st.st_mode != top.st_mode || st.st_uid != top.st_uid || st.st_gid != top.st_gid ||
                               (path[0] && (st.st_mtim.tv_sec != top.st_mtim.tv_sec || st.st_mtim.tv_nsec != top.st_mtim.tv_nsec));
                return true;
        }
        *ret = top;
        *ret_differs = false;
        return seen;
}

struct stack {
        const struct implied_layer *layers;
        size_t n;
};

static int write_tar(void *arg, int out) {
        const struct implied_layer *layers = ((struct stack *)arg)->layers;
        size_t n = ((struct stack *)arg)->n;
        _cleanup_strlist_ struct strlist paths = {};
        _cleanup_strbuf_ struct strbuf b = {};
        static const char end[1024];
        bool needed = false;
        int r = all_paths(layers, n, &paths);

        if (r < 0)
                return r;
        for (size_t i = 0; i < paths.n; i++) {
                const char *path = paths.items[i];
                struct stat st;
                bool differs;
                if (!effective(layers, n, path, &st, &differs))
                        continue;
                needed |= differs;
                _cleanup_free_ char *name = str_printf("%s/", path[0] ? path : ".");
                if (!name)
                        return -ENOMEM;
                tar_header(&b, name, '5', &st, st.st_uid, st.st_gid, NULL, NULL);
        }
        strbuf_add(&b, end, sizeof(end));
        if (b.failed)
                return -ENOMEM;
        return needed ? fd_write_all(out, b.data, b.len) : 0;
}

int implied_ask(const struct ids *ids, int (*fn)(void *arg, int out), void *arg, int *ret_fd, struct error *e) {
        int pidfd, status = 0;

        _cleanup_fd_ int out = memfd_create("belljar-dirs", MFD_CLOEXEC);
        if (out < 0)
                return error_errno(e, errno, "the layers cannot be looked at");
        /* In the trees' own user namespace: owners are seen as they are inside, and no mode keeps anything shut. */
        pid_t pid = ids_fork(ids, 0, &pidfd, e);
        if (pid == 0) {
                if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || process_drop_caps(1ull << CAP_DAC_READ_SEARCH) < 0)
                        _exit(1);
                _exit(fn(arg, out) < 0 ? 1 : 0);
        }
        if (pid < 0)
                return pid;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        close(pidfd);
        if (status != 0)
                return error_set(e, EIO, "the directories that layers leave out cannot be looked at");
        if (lseek(out, 0, SEEK_SET) < 0)
                return error_errno(e, errno, "the layers cannot be looked at");
        *ret_fd = TAKE_FD(out);
        return 0;
}

int implied_make(const struct ids *ids, const struct implied_layer *layers, size_t n, int *ret_fd, struct error *e) {
        struct stack s = {layers, n};
        struct stat st;
        bool any = false;

        *ret_fd = -EBADF;
        for (size_t k = 0; k < n; k++)
                any |= layers[k].implied.n > 0;
        if (!any || n < 2)
                return 0;
        _cleanup_fd_ int out = -EBADF;
        int r = implied_ask(ids, write_tar, &s, &out, e);
        if (r < 0)
                return r;
        if (fstat(out, &st) < 0)
                return error_errno(e, errno, "a layer cannot be made");
        if (st.st_size > 0)
                *ret_fd = TAKE_FD(out);
        return 0;
}
