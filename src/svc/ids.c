/* Ids of images, see ids.h. */
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/ids.h"
#include "svc/remove-tree.h"
#include "sys/process.h"

#define FILE_MAX (4u << 20) /* of subuid(5), on hosts with many users */

/* Where distributions put newuidmap(1); PATH is the caller's and names no program that is to be trusted with ids. */
static const char *const tool_places[] = {"/usr/bin", "/bin", "/usr/local/bin", "/run/wrappers/bin"};

/* What is not there, or not for this user to see, grants nothing; any other failure is no answer. */
static bool is_absent(int r) { return r == -ENOENT || r == -ENOTDIR || r == -EACCES; }

/* The login name of the caller; "" where it has none. Read directly: a static program has no name service. */
static int caller_name(char *dst, size_t size) {
        FILE *f = fopen("/etc/passwd", "re");

        dst[0] = 0;
        if (!f)
                return is_absent(-errno) ? 0 : -errno;
        for (struct passwd *pw; (pw = fgetpwent(f));)
                if (pw->pw_uid == geteuid()) {
                        snprintf(dst, size, "%s", pw->pw_name);
                        break;
                }
        int r = ferror(f) ? -EIO : 0;
        fclose(f);
        return r;
}

/* The longest range that a file of the form "name:first:count" gives to the caller, by name or by number; 0: none. */
static int longest_range(const char *path, const char *name, uint32_t *ret_first, uint32_t *ret_count) {
        _cleanup_free_ char *text = NULL;
        char number[16], *save = NULL;
        uint32_t best = 0;
        int r = file_read(AT_FDCWD, path, FILE_MAX, &text, NULL);

        *ret_count = 0;
        if (r < 0)
                return is_absent(r) ? 0 : r;
        snprintf(number, sizeof(number), "%u", (unsigned)geteuid());
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                uint64_t first, count;
                char *a = strchr(line, ':'), *b = a ? strchr(a + 1, ':') : NULL;
                if (!b)
                        continue;
                *a = *b = 0;
                if ((!streq(line, number) && (!name[0] || !streq(line, name))) || parse_u64(a + 1, &first) < 0 ||
                    parse_u64(b + 1, &count) < 0)
                        continue;
                /* No id may be (uid_t)-1, and none of the caller's own is handed out twice. */
                if (first == 0 || first >= UINT32_MAX || count > UINT32_MAX - first ||
                    (geteuid() >= first && geteuid() < first + count) || count <= best)
                        continue;
                best = (uint32_t)count;
                *ret_first = (uint32_t)first;
        }
        *ret_count = best;
        return 0;
}

/* 1: ids first..first+count-1 exist in the caller's own user namespace; 0: not all of them. */
static int exists_here(const char *map_path, uint32_t first, uint32_t count) {
        _cleanup_free_ char *map = NULL;
        char *save = NULL;
        int r = file_read(AT_FDCWD, map_path, 65536, &map, NULL);

        if (r < 0)
                return is_absent(r) ? 0 : r;
        for (char *line = strtok_r(map, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                unsigned long inside, outside, n;
                if (sscanf(line, "%lu %lu %lu", &inside, &outside, &n) == 3 && first >= inside &&
                    (uint64_t)first + count <= (uint64_t)inside + n)
                        return 1;
        }
        return 0;
}

/* A privileged program: setuid, or with file capabilities (Fedora's). 1: its path is written; 0: there is none. */
static int find_tool(const char *name, char *path, size_t size) {
        for (size_t i = 0; i < ELEMENTSOF(tool_places); i++) {
                struct stat st;
                snprintf(path, size, "%s/%s", tool_places[i], name);
                if (stat(path, &st) < 0) {
                        if (!is_absent(-errno))
                                return -errno;
                } else if (S_ISREG(st.st_mode) && st.st_uid == 0 && access(path, X_OK) == 0 &&
                           ((st.st_mode & S_ISUID) || getxattr(path, "security.capability", NULL, 0) > 0))
                        return 1;
        }
        return 0;
}

/* 1: the caller's range can be had; 0: *ret says why not. */
static int find_range(struct ids *ret) {
        char name[64], path[64];
        uint32_t nu, ng;
        int r, here = 1;

        if ((r = caller_name(name, sizeof(name))) < 0 || (r = longest_range("/etc/subuid", name, &ret->subuid, &nu)) < 0 ||
            (r = longest_range("/etc/subgid", name, &ret->subgid, &ng)) < 0)
                return r;
        nu = MIN(nu, IDS_MAX - 1);
        ng = MIN(ng, IDS_MAX - 1);
        if (nu == 0 || ng == 0) {
                snprintf(ret->why, sizeof(ret->why), "%s gives no range of ids to %s", nu == 0 ? "/etc/subuid" : "/etc/subgid",
                         name[0] ? name : "this user");
                return 0;
        }
        if ((r = find_tool("newuidmap", path, sizeof(path))) > 0)
                r = find_tool("newgidmap", path, sizeof(path));
        if (r == 0)
                snprintf(ret->why, sizeof(ret->why), "newuidmap and newgidmap are not installed, or not set-uid root (package uidmap)");
        else if (r > 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) {
                snprintf(ret->why, sizeof(ret->why), "the caller runs under no_new_privs, in which newuidmap has no rights");
                r = 0;
        } else if (r > 0 && ((here = exists_here("/proc/self/uid_map", ret->subuid, nu)) <= 0 ||
                             (here = exists_here("/proc/self/gid_map", ret->subgid, ng)) <= 0)) {
                if (here == 0)
                        snprintf(ret->why, sizeof(ret->why), "the range of /etc/subuid does not exist in the caller's own user namespace");
                r = here;
        }
        if (r > 0)
                ret->n = 1 + MIN(nu, ng);
        return r;
}

int ids_find(struct ids *ret, struct error *e) {
        struct ids ids = {.kind = IDS_ONE, .n = 1, .uid = geteuid(), .gid = getegid()};

        if (process_is_root()) {
                *ret = (struct ids){.kind = IDS_RANGE, .n = IDS_MAX};
                return 0;
        }
        int r = find_range(&ids);
        if (r < 0) {
                error_errno(e, r, "which ids are yours cannot be told");
                return r;
        }
        if (r > 0)
                ids.kind = IDS_SUBIDS;
        if (ids.kind == IDS_ONE)
                ids.subuid = ids.subgid = 0;
        *ret = ids;
        return 0;
}

static void store_map(const struct ids *ids, uint32_t own, uint32_t first, char map[128]) {
        switch (ids->kind) {
        case IDS_RANGE: snprintf(map, 128, "0 %u %u\n", IDS_STORE_BASE, ids->n); break;
        case IDS_SUBIDS: snprintf(map, 128, "0 %u 1\n1 %u %u\n", own, first, ids->n - 1); break;
        case IDS_ONE: snprintf(map, 128, "0 %u 1\n", own); break;
        }
}

void ids_store_maps(const struct ids *ids, char uid_map[128], char gid_map[128]) {
        store_map(ids, ids->uid, ids->subuid, uid_map);
        store_map(ids, ids->gid, ids->subgid, gid_map);
}

/* newuidmap(1) or newgidmap(1) at work. */
struct tool {
        const char *name;
        pid_t pid;
        int out; /* what it has to say */
};

/* newuidmap PID INSIDE OUTSIDE COUNT... */
static int tool_start(struct tool *t, const char *name, pid_t pid, const char *map, struct error *e) {
        enum { WORDS_MAX = 3 * 16 };
        char path[64], number[16];
        char *argv[2 + WORDS_MAX + 1], *save = NULL;
        int out[2];
        size_t n = 0;

        if (find_tool(name, path, sizeof(path)) <= 0)
                return error_set(e, ENOENT, "%s is not installed, or not set-uid root", name);
        _cleanup_free_ char *words = strdup(map);
        if (!words)
                return error_set(e, ENOMEM, "out of memory");
        snprintf(number, sizeof(number), "%d", (int)pid);
        argv[n++] = path;
        argv[n++] = number;
        for (char *w = strtok_r(words, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) {
                if (n == 2 + WORDS_MAX)
                        return error_set(e, EINVAL, "a map of ids has too many lines");
                argv[n++] = w;
        }
        argv[n] = NULL;
        if (pipe2(out, O_CLOEXEC) < 0)
                return error_errno(e, errno, "%s cannot be started", name);
        pid_t child = fork();
        if (child == 0) {
                char *none[] = {NULL};
                sigset_t all;
                sigemptyset(&all);
                sigprocmask(SIG_SETMASK, &all, NULL);
                if (dup2(out[1], 1) < 0 || dup2(out[1], 2) < 0)
                        _exit(127);
                execve(path, argv, none);
                _exit(127);
        }
        close(out[1]);
        if (child < 0) {
                close(out[0]);
                return error_errno(e, errno, "%s cannot be started", name);
        }
        *t = (struct tool){.name = name, .pid = child, .out = out[0]};
        return 0;
}

/* What it has said is the error's reason. */
static int tool_finish(struct tool *t, struct error *e) {
        char said[256] = "";
        size_t have = 0;
        int status = 0;

        for (ssize_t r; have < sizeof(said) - 1 && (r = read(t->out, said + have, sizeof(said) - 1 - have)) != 0;) {
                if (r > 0)
                        have += (size_t)r;
                else if (errno != EINTR)
                        break;
        }
        close(t->out);
        said[have] = 0;
        said[strcspn(said, "\n")] = 0;
        while (waitpid(t->pid, &status, 0) < 0)
                if (errno != EINTR)
                        return error_errno(e, errno, "%s cannot be waited for", t->name);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                error_set(e, EPERM, "%s refused to map the caller's ids: %s", t->name, said[0] ? said : "no reason given");
                return error_fix(e, "compare /etc/subuid and /etc/subgid with usermod --add-subuids and --add-subgids");
        }
        return 0;
}

int ids_map_process(const struct ids *ids, pid_t pid, const char *uid_map, const char *gid_map, struct error *e) {
        int r;

        if (ids->kind != IDS_SUBIDS) {
                r = process_map_ids(pid, uid_map, gid_map, ids->kind == IDS_ONE);
                return r < 0 ? error_errno(e, r, "the ids of a user namespace cannot be mapped") : 0;
        }
        /* Both at once: each is an execution of a set-uid program, of a millisecond or so. */
        struct tool of_users, of_groups;
        struct error other = {};
        if ((r = tool_start(&of_users, "newuidmap", pid, uid_map, e)) < 0)
                return r;
        int started = tool_start(&of_groups, "newgidmap", pid, gid_map, e);
        r = tool_finish(&of_users, started < 0 ? &other : e);
        if (started < 0)
                return started;
        started = tool_finish(&of_groups, r < 0 ? &other : e);
        return r < 0 ? r : started;
}

pid_t ids_fork(const struct ids *ids, uint64_t flags, int *ret_pidfd, struct error *e) {
        char uid_map[128], gid_map[128], byte = 0;
        int go[2] = {-EBADF, -EBADF}, pidfd = -EBADF, r;

        ids_store_maps(ids, uid_map, gid_map);
        if (pipe2(go, O_CLOEXEC) < 0)
                return error_errno(e, errno, "a process for images cannot be started");
        pid_t pid = process_clone(CLONE_NEWUSER | flags, -1, &pidfd);
        if (pid == 0) {
                close(go[1]);
                ssize_t n;
                while ((n = read(go[0], &byte, 1)) < 0 && errno == EINTR)
                        ;
                close(go[0]);
                /* Without supplementary groups: they are the caller's of the host. Where they may not be dropped
                 * (IDS_ONE: "deny"), they stay, as they are not mapped and give nothing that the caller has not. */
                if (n != 1 || (setgroups(0, NULL) < 0 && ids->kind != IDS_ONE) || setresgid(0, 0, 0) < 0 ||
                    setresuid(0, 0, 0) < 0)
                        _exit(125);
                return 0;
        }
        if (pid < 0) {
                close(go[0]);
                close(go[1]);
                return error_errno(e, (int)pid, "a process for images cannot be started");
        }
        r = ids_map_process(ids, pid, uid_map, gid_map, e);
        if (r == 0 && write(go[1], "g", 1) != 1)
                r = error_errno(e, errno, "a process for images cannot be started");
        close(go[0]); /* not before: a child that was killed must not make the write a SIGPIPE */
        close(go[1]); /* without a byte the child ends */
        if (r < 0) {
                while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                        ;
                fd_close(pidfd);
                return r;
        }
        *ret_pidfd = pidfd;
        return pid;
}

int ids_continue(struct error *e) {
        struct ids ids;
        int pidfd, status, r = ids_find(&ids, e);

        if (r < 0 || ids.kind != IDS_SUBIDS)
                return r;
        pid_t pid = ids_fork(&ids, 0, &pidfd, e);
        if (pid <= 0)
                return pid;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int ids_remove(int dirfd, const char *name, struct error *e) {
        struct error found = {};
        struct ids ids;
        int pidfd = -EBADF, status = 0;

        if (ids_find(&ids, &found) < 0 || ids.kind != IDS_SUBIDS)
                return e && e->errnum ? -e->errnum : -EACCES;
        pid_t pid = ids_fork(&ids, 0, &pidfd, e);
        if (pid < 0)
                return pid;
        if (pid == 0)
                _exit(remove_tree(dirfd, name, NULL, NULL) < 0);
        close(pidfd);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (status != 0)
                return error_set(e, EACCES, "%s cannot be removed", name);
        if (e)
                *e = (struct error){};
        return 0;
}
