/* Named workspaces, see workspace.h. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/ids.h"
#include "svc/remove-tree.h"
#include "svc/workspace.h"

#define PLACE "workspaces"

int workspace_open(const char *state, const char *name, bool create, char **ret_path, int *ret_lock, struct error *e) {
        _cleanup_free_ char *path = str_printf("%s/" PLACE "/%s", state, name);
        int r;

        if (!path)
                return error_set(e, ENOMEM, "out of memory");
        if (create && (r = mkdir_parents(path, 0700)) < 0)
                return error_errno(e, r, "the workspace %s cannot be made", path);
        _cleanup_fd_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && (create || errno != ENOENT))
                return error_errno(e, errno, "the workspace %s cannot be opened", path);
        if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0)
                return error_set(e, EBUSY, "the workspace %s is being removed", name);
        *ret_path = TAKE_PTR(path);
        *ret_lock = TAKE_FD(fd);
        return 0;
}

int workspace_list(int root, struct strlist *ret, struct error *e) {
        int fd = openat(root, PLACE, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

        if (!d) {
                r = errno == ENOENT ? 0 : -errno;
                fd_close(fd);
                return r < 0 ? error_errno(e, r, "the workspaces cannot be listed") : 0;
        }
        for (struct dirent *x; r == 0 && (x = readdir(d));)
                if (x->d_name[0] != '.')
                        r = strlist_add(ret, x->d_name);
        closedir(d);
        if (r < 0)
                return error_errno(e, r, "the workspaces cannot be listed");
        strlist_sort(ret);
        return 0;
}

int workspace_remove(int root, const char *name, struct error *e) {
        _cleanup_fd_ int place = openat(root, PLACE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_fd_ int fd = place < 0 || strchr(name, '/') || name[0] == '.' || !name[0]
                                      ? -ENOENT
                                      : openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int r;

        if (fd < 0) {
                error_set(e, ENOENT, "there is no workspace %s", name);
                return error_fix(e, "belljar workspace ls lists them");
        }
        /* A supervisor whose run has ended holds it for a moment more. */
        for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
                if (i > 100)
                        return error_set(e, EBUSY, "the workspace %s is in use by a sandbox", name);
                usleep(10000);
        }
        r = remove_tree(place, name, NULL, e);
        if (r == -EACCES || r == -EPERM)
                r = ids_remove(place, name, e);
        return r;
}
