/* See layers.h. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/layers.h"

void layers_clear(struct layers *l) {
        fd_close(l->upper);
        fd_close(l->lower);
        strlist_clear(&l->hidden);
}

static int open_optional_dir(int dirfd, const char *name, int *ret) {
        int fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno != ENOENT)
                return -errno;
        *ret = fd < 0 ? -1 : fd;
        return 0;
}

int layers_open(int state_fd, const char *workspace, struct layers *ret, struct error *e) {
        _cleanup_layers_ struct layers l = LAYERS_NONE;

        int r = open_optional_dir(state_fd, "upper", &l.upper);
        if (r < 0)
                return error_errno(e, -r, "cannot open the run's upper layer");
        r = changes_hidden_read(state_fd, &l.hidden);
        if (r < 0)
                return error_errno(e, -r, "cannot read what was hidden from the run");
        l.lower = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (l.lower < 0) {
                r = error_errno(e, errno, "cannot open the workspace %s", workspace);
                error_fix(e, "the changes are read against the directory that the run started from: put it back");
                return r;
        }
        *ret = l;
        l = LAYERS_NONE;
        return 0;
}

int layers_in_child(int (*fn)(void *data, struct error *e), void *data, struct error *e) {
        struct error child = {};
        int p[2], status, r = 0;

        if (pipe2(p, O_CLOEXEC) < 0)
                return error_errno(e, errno, "cannot make a pipe");
        _cleanup_fd_ int rd = p[0];
        pid_t parent = getpid(), pid = fork();
        if (pid == 0) {
                fd_close(p[0]);
                signal(SIGPIPE, SIG_DFL);
                /* Without user namespaces it is read as far as the modes allow; what is not is an error by name. */
                (void)!changes_unbind();
                /* After it: a change of credentials clears the signal. */
                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                        _exit(100);
                r = fn(data, &child);
                if (r < 0)
                        (void)!fd_write_all(p[1], &child, sizeof(child));
                _exit(r < 0 ? 100 : r);
        }
        if (pid < 0)
                r = error_errno(e, errno, "cannot start a process");
        close(p[1]);
        if (r < 0)
                return r;
        ssize_t n;
        do
                n = read(rd, &child, sizeof(child));
        while (n < 0 && errno == EINTR);
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return error_errno(e, errno, "cannot wait for the comparison");
        if (WIFEXITED(status) && WEXITSTATUS(status) < 100)
                return WEXITSTATUS(status);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
                return 0;
        if (n == (ssize_t)sizeof(child) && child.errnum > 0) {
                if (e)
                        *e = child;
                return -child.errnum;
        }
        return error_set(e, EIO, "the comparison ended before it was done (wait status %#x)", (unsigned)status);
}

/* A path that is not UTF-8 stands in the plan in hexadecimal, too. NULL: none, or none that is one. */
static char *from_hex(const char *hex) {
        size_t n = hex ? strlen(hex) : 0;
        char *s = n && n % 2 == 0 ? malloc(n / 2 + 1) : NULL;

        for (size_t i = 0; s && i < n; i += 2) {
                unsigned v;
                if (sscanf(hex + i, "%2x", &v) != 1 || v == 0) {
                        free(s);
                        return NULL;
                }
                s[i / 2] = (char)v;
                s[i / 2 + 1] = 0;
        }
        return s;
}

char *layers_workspace(const json_t *plan) {
        const char *text = json_string_value(json_object_get(plan, "workspace"));
        char *bytes = from_hex(json_string_value(json_object_get(plan, "workspace_hex")));

        return bytes || !text ? bytes : strdup(text);
}

struct change_ids layers_ids(const json_t *plan) {
        const json_t *user = json_object_get(plan, "user");

        if (!json_is_true(json_object_get(user, "root")))
                return (struct change_ids){};
        return (struct change_ids){.base = (uint32_t)json_integer_value(json_object_get(user, "host_uid")), .range = 1,
                                   .host = (uint32_t)json_integer_value(json_object_get(user, "owner_uid")),
                                   .host_gid = (uint32_t)json_integer_value(json_object_get(user, "owner_gid"))};
}
