/* Facts about the host, see host.h. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mountinfo.h"
#include "svc/hide.h"
#include "svc/host.h"
#include "sys/process.h"

void host_clear(struct host *h) {
        free(h->home);
        view_facts_clear(&h->view);
        *h = (struct host){};
}

char *host_home(void) {
        const char *home = getenv("HOME");
        struct stat st;

        if (home && home[0] == '/' && stat(home, &st) == 0 && S_ISDIR(st.st_mode))
                return realpath(home, NULL);
        /* Read directly: a static program has no name service. */
        FILE *f = fopen("/etc/passwd", "re");
        char *found = NULL;
        if (f) {
                for (struct passwd *pw; !found && (pw = fgetpwent(f));)
                        if (pw->pw_uid == getuid() && pw->pw_dir[0] == '/' && stat(pw->pw_dir, &st) == 0)
                                found = realpath(pw->pw_dir, NULL);
                fclose(f);
        }
        return found ? found : strdup("/");
}

int host_own_program(const char *name, char **ret, struct error *e) {
        char exe[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

        if (n < 0)
                return error_errno(e, errno, "Belljar's own program cannot be found");
        exe[n] = 0;
        *strrchr(exe, '/') = 0; /* the kernel's paths are absolute */
        static const char *const places[] = {"", "/../libexec/belljar"};
        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                _cleanup_free_ char *path = str_printf("%s%s/%s", exe, places[i], name);
                if (!path)
                        return error_set(e, ENOMEM, "out of memory");
                if (access(path, X_OK) == 0) {
                        *ret = TAKE_PTR(path);
                        return 0;
                }
        }
        error_set(e, ENOENT, "%s is not where Belljar's programs are, beside %s", name, exe);
        return error_fix(e, "install Belljar with make install, which puts it in libexec/belljar");
}

uint64_t host_memory(void) {
        struct sysinfo si;
        return sysinfo(&si) < 0 ? 0 : (uint64_t)si.totalram * si.mem_unit;
}

int host_place(const char *path, char **ret, struct error *e) {
        char kept[16] = "";
        struct stat st;

        *ret = realpath(path, NULL);
        if (*ret)
                return 0;
        if (errno == ENOMEM)
                return error_set(e, ENOMEM, "out of memory");
        bool seen = stat(path, &st) == 0;
        if (seen && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode)))
                return 0;
        if (seen && str_after(path, "/proc/self/fd/") && readlink(path, kept, sizeof(kept) - 1) > 0 && str_after(kept, "/memfd:"))
                return 0;
        return error_set(e, ESTALE, "it cannot be told where %s stands: it was removed or moved", path);
}

int host_resolve(const char *path, const char *base, const char *home, char **ret, struct error *e) {
        _cleanup_free_ char *joined = NULL, *clean = NULL, *real = NULL;
        const char *rest;

        if (streq(path, "~"))
                joined = strdup(home);
        else if ((rest = str_after(path, "~/")))
                joined = str_printf("%s/%s", home, rest);
        else if (path[0] == '~')
                return error_set(e, EINVAL, "%s: another user's home cannot be named by ~; write the path", path);
        else if (path[0] == '/')
                joined = strdup(path);
        else
                joined = str_printf("%s/%s", base, path);
        if (!joined || !(clean = path_clean(joined)))
                return error_set(e, ENOMEM, "out of memory");
        /* Links are resolved as far as the path exists; what does not exist has none. */
        real = realpath(clean, NULL);
        if (!real && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) {
                _cleanup_free_ char *head = strdup(clean);
                if (!head)
                        return error_set(e, ENOMEM, "out of memory");
                for (char *cut; !real && (cut = strrchr(head, '/'));) {
                        *cut = 0;
                        _cleanup_free_ char *r = realpath(head[0] ? head : "/", NULL);
                        if (r)
                                real = str_printf("%s%s", streq(r, "/") ? "" : r, clean + (cut - head));
                }
                if (real && path_has_dotdot(real))
                        return error_set(e, EINVAL, "%s goes through \"..\" beneath a path that does not exist", path);
        }
        if (!real)
                return error_errno(e, errno ? errno : ENOMEM, "%s cannot be resolved", path);
        *ret = TAKE_PTR(real);
        return 0;
}

static bool is_empty(int dir, const char *name) {
        int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        bool empty = true;

        if (!d) {
                fd_close(fd);
                return false;
        }
        for (struct dirent *e; empty && (e = readdir(d));)
                empty = streq(e->d_name, ".") || streq(e->d_name, "..");
        closedir(d);
        return empty;
}

static int gather_var(struct view_facts *v) {
        DIR *d = opendir("/var");
        int r = 0;

        if (!d)
                return errno == ENOENT ? 0 : -errno;
        for (struct dirent *e; r == 0 && (e = readdir(d));)
                if (!streq(e->d_name, ".") && !streq(e->d_name, ".."))
                        r = strlist_add(&v->var, e->d_name);
        closedir(d);
        return r;
}

static int gather_root(struct view_facts *v) {
        DIR *d = opendir("/");
        size_t cap = 0;
        int r = 0;

        if (!d)
                return -errno;
        for (struct dirent *e; r == 0 && (e = readdir(d));) {
                char link[4096];
                if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_LNK))
                        continue;
                if (v->n_root == cap) {
                        cap = MAX(cap * 2, 32u);
                        struct view_root_entry *p = reallocarray(v->root, cap, sizeof(*p));
                        if (!p) {
                                r = -ENOMEM;
                                break;
                        }
                        v->root = p;
                }
                struct view_root_entry *x = &v->root[v->n_root];
                *x = (struct view_root_entry){.name = strdup(e->d_name)};
                if (!x->name) {
                        r = -ENOMEM;
                        break;
                }
                v->n_root++;
                if (e->d_type == DT_DIR && streq(e->d_name, "opt"))
                        x->empty = is_empty(dirfd(d), e->d_name);
                if (e->d_type == DT_LNK) {
                        ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
                        if (n < 0)
                                continue;
                        link[n] = 0;
                        x->link = strdup(link);
                        if (!x->link)
                                r = -ENOMEM;
                }
        }
        closedir(d);
        return r;
}

static int gather_devices(struct view_facts *v) {
        static const char *const names[] = {"null", "zero", "full", "random", "urandom", "tty"};
        _cleanup_fd_ int dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (dev < 0)
                return -errno;
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                struct stat st;
                if (fstatat(dev, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0) {
                        if (errno != ENOENT)
                                return -errno;
                } else if (S_ISCHR(st.st_mode) && (r = strlist_add(&v->devices, names[i])) < 0)
                        return r;
        }
        return 0;
}

static int gather_mounts(struct view_facts *v, const char *text) {
        struct mountinfo *m = NULL;
        size_t n;
        int r = mountinfo_parse(text, &m, &n);
        if (r < 0)
                return r;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = strlist_add(&v->mounts, m[i].target);
        free(m);
        return r;
}

/* Sockets that are bound to a path, from /proc/net/unix (proc_net(5)): a datagram socket needs no listen(2) to be
 * reached. Sockets of other network namespaces are not listed. */
static int gather_sockets(struct view_facts *v) {
        _cleanup_free_ char *text = NULL;
        int r = file_read(AT_FDCWD, "/proc/net/unix", 16u << 20, &text, NULL);

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        for (char *line = text, *next; line && *line; line = next) {
                int at = 0;
                next = strchr(line, '\n');
                if (next)
                        *next++ = 0;
                (void)sscanf(line, "%*[^:]: %*x %*x %*x %*x %*x %*u %n", &at);
                if (at == 0 || line[at] != '/' || strlist_has(&v->sockets, line + at))
                        continue;
                if ((r = strlist_add(&v->sockets, line + at)) < 0)
                        return r;
        }
        return 0;
}

/* The directories of the home above a path that is shown in it: the run's own, where it writes beside that. */
static int own_parents(struct view_facts *v, const char *path, const char *home) {
        size_t n = strlen(home);

        for (const char *s = path + n + 1; path_beneath(path, home) && (s = strchr(s, '/')); s++) {
                _cleanup_free_ char *dir = strndup(path, (size_t)(s - path));
                if (!dir || (!strlist_has(&v->own_dirs, dir) && strlist_add(&v->own_dirs, dir) < 0))
                        return -ENOMEM;
        }
        return 0;
}

/* One path that a recipe shows where it exists. A link is shown as the link that it is, and with it what it leads to, in the
 * home only: whoever may write there says where it leads. */
static int gather_there(struct plan *p, const char *written, struct host *h, struct error *e) {
        const char *rest = str_after(written, "~/");
        struct view_facts *v = &h->view;
        _cleanup_free_ char *real = NULL, *path = rest ? str_printf("%s/%s", h->home, rest) : strdup(written);
        struct stat st;
        int r;

        if (!path)
                return -ENOMEM;
        if (host_resolve(path, "/", h->home, &real, e) < 0 || !real || stat(real, &st) < 0 || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) ||
            access(real, R_OK) < 0) {
                *e = (struct error){};
                return 0;
        }
        if (p->workspace && (path_beneath(path, p->workspace) || path_beneath(real, p->workspace)))
                return 0;
        if (!streq(real, path)) {
                _cleanup_free_ char *home = realpath(h->home, NULL);
                if (!home || !path_beneath(real, home))
                        return 0;
                if ((r = own_parents(v, path, h->home)) < 0 || (r = strlist_add(&v->links, path)) < 0 || (r = strlist_add(&v->links, real)) < 0)
                        return r;
        }
        if (strlist_has(&v->read, real))
                return 0;
        if ((r = own_parents(v, real, h->home)) < 0 || (r = strlist_add(&v->read, real)) < 0)
                return r;
        return S_ISDIR(st.st_mode) ? 0 : strlist_add(&v->read_files, real);
}

static int gather_read(struct plan *p, const struct policy *policy, struct host *h, struct error *e) {
        struct view_facts *v = &h->view;
        int r;

        for (size_t i = 0; i < policy->read.n; i++) {
                struct stat st;
                const char *path = policy->read.items[i];
                if (stat(path, &st) < 0) {
                        error_errno(e, errno, "%s is to be read but cannot be found", path);
                        return error_fix(e, "correct or remove it under files: read, or --read");
                }
                if (streq(path, "/") || path_beneath("/proc", path) || path_beneath(path, "/proc") ||
                    path_beneath(path, "/sys") || path_beneath(path, "/dev")) {
                        error_set(e, EINVAL, "%s cannot be opened to the sandbox", path);
                        return error_fix(e, "name the directories that are needed");
                }
                if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
                        return error_set(e, EINVAL, "%s is neither a directory nor a regular file", path);
                if (p->workspace && path_beneath(path, p->workspace))
                        continue; /* seen anyway */
                if (strlist_has(&v->read, path))
                        continue;
                if ((r = strlist_add(&v->read, path)) < 0 ||
                    (!S_ISDIR(st.st_mode) && (r = strlist_add(&v->read_files, path)) < 0))
                        return error_errno(e, r, "the paths to be read cannot be listed");
        }
        /* An image has a home of its own, and what is in it. */
        for (size_t i = 0; !p->image && i < policy->read_there.n; i++)
                if ((r = gather_there(p, policy->read_there.items[i], h, e)) < 0)
                        return error_errno(e, r, "the paths to be read cannot be listed");
        strlist_sort(&v->read); /* a directory before what lies beneath it */
        return 0;
}

static int refuse_mounts(const struct plan *p, const struct view_facts *v, struct error *e) {
        for (size_t i = 0; i < v->mounts.n; i++)
                if (path_beneath(v->mounts.items[i], p->workspace) && !streq(v->mounts.items[i], p->workspace)) {
                        error_set(e, EXDEV, "another file system is mounted beneath the workspace, at %s", v->mounts.items[i]);
                        return error_fix(e, "unmount it, or choose a workspace that does not hold it (--workspace DIR)");
                }
        return 0;
}

/* Run by root: the agent's user is in no file of the host. */
static int add_agent_user(const struct plan *p, struct view_facts *v) {
        _cleanup_free_ char *passwd = NULL, *group = NULL;
        (void)!file_read(AT_FDCWD, "/etc/passwd", 1u << 20, &passwd, NULL);
        (void)!file_read(AT_FDCWD, "/etc/group", 1u << 20, &group, NULL);
        v->passwd = str_printf("%sagent:x:%u:%u:agent:%s:/bin/sh\n", passwd ? passwd : "", (unsigned)p->ids.inner_uid,
                               (unsigned)p->ids.inner_gid, p->home);
        v->group = str_printf("%sagent:x:%u:\n", group ? group : "", (unsigned)p->ids.inner_gid);
        return v->passwd && v->group ? 0 : -ENOMEM;
}

int host_gather(struct plan *p, const struct policy *policy, const char *mountinfo, struct host *h, struct error *e) {
        struct view_facts *v = &h->view;
        int r;

        unsigned char random[16];
        if (getrandom(random, sizeof(random), 0) != sizeof(random))
                return error_set(e, EIO, "no random number can be had");
        for (size_t i = 0; i < sizeof(random); i++)
                snprintf(v->machine_id + 2 * i, 3, "%02x", random[i]);
        v->sysfs = v->proc = true;
        bool image = p->image; /* then nothing of the host's root is shown */
        if (((!image || p->programs) && (r = gather_root(v)) < 0) || (!image && (r = gather_var(v)) < 0) || (r = gather_devices(v)) < 0 ||
            (r = gather_mounts(v, mountinfo)) < 0 || (r = gather_sockets(v)) < 0 ||
            (!image && p->ids.inner_uid != geteuid() && (r = add_agent_user(p, v)) < 0))
                return error_errno(e, r, "the host cannot be looked at");
        if (p->workspace && (r = refuse_mounts(p, v, e)) < 0)
                return r;
        if ((r = gather_read(p, policy, h, e)) < 0)
                return r;
        return hide_gather(p, policy, h->home, v, e);
}
