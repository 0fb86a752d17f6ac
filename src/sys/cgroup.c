/* Control groups of sandboxes, see cgroup.h and cgroups(7). */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/cgroup.h"

void cgroup_clear(struct cgroup *c) {
        free(c->v2_path);
        fd_close(c->v2);
        for (size_t i = 0; i < CGROUP_N; i++)
                free(c->v1_path[i]);
        *c = (struct cgroup){.v2 = -EBADF};
}

static int poke(const char *dir, const char *file, const char *value) {
        _cleanup_free_ char *path = str_printf("%s/%s", dir, file);
        return path ? file_poke(AT_FDCWD, path, value) : -ENOMEM;
}

static int poke_u64(const char *dir, const char *file, uint64_t v) {
        char text[24];
        snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
        return poke(dir, file, text);
}

static int read_u64(const char *dir, const char *file, uint64_t *ret) {
        _cleanup_free_ char *path = str_printf("%s/%s", dir, file), *text = NULL;
        int r = path ? file_read(AT_FDCWD, path, 4096, &text, NULL) : -ENOMEM;
        if (r < 0)
                return r;
        text[strcspn(text, "\n")] = 0;
        return parse_u64(text, ret);
}

/* "key value" in a flat keyed file. */
static uint64_t read_keyed(const char *dir, const char *file, const char *key) {
        _cleanup_free_ char *path = str_printf("%s/%s", dir, file), *text = NULL;
        if (!path || file_read(AT_FDCWD, path, 1u << 16, &text, NULL) < 0)
                return 0;
        for (char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
                const char *v = str_after(line, key);
                if (v && *v == ' ')
                        return strtoull(v + 1, NULL, 10);
        }
        return 0;
}

/* The kernel's rule is that a group with processes gives its children no controllers: the caller, who is alone in
 * its group, steps into a child first. */
static int evacuate(const char *base) {
        _cleanup_free_ char *leaf = str_printf("%s/belljar-self", base), *procs = str_printf("%s/cgroup.procs", base),
                            *text = NULL;
        int r;

        if (!leaf || !procs)
                return -ENOMEM;
        if (mkdir(leaf, 0755) < 0 && errno != EEXIST)
                return -errno;
        if ((r = file_read(AT_FDCWD, procs, 1u << 20, &text, NULL)) < 0)
                return r;
        for (char *p = text, *next; p && *p; p = next) {
                next = strchr(p, '\n');
                if (next)
                        *next++ = 0;
                r = poke(leaf, "cgroup.procs", p);
                if (r < 0 && r != -ESRCH)
                        return r;
        }
        return 0;
}

static int create_v2(const struct cgroup_place *p, const char *name, const struct cgroup_limits *limits, struct cgroup *c) {
        char value[64];
        int r;

        unsigned want = (limits->memory ? CGROUP_BIT(CGROUP_MEMORY) : 0) | (limits->pids ? CGROUP_BIT(CGROUP_PIDS) : 0) |
                        (limits->cpu_milli ? CGROUP_BIT(CGROUP_CPU) : 0);
        if (p->evacuate & want)
                if ((r = evacuate(p->base)) < 0)
                        return r;
        for (unsigned i = 0; i < CGROUP_N; i++)
                if (p->enable & want & CGROUP_BIT(i)) {
                        snprintf(value, sizeof(value), "+%s", cgroup_controller_name(i));
                        if ((r = poke(p->base, "cgroup.subtree_control", value)) < 0)
                                return r;
                }
        c->v2_path = str_printf("%s/%s", p->base, name);
        if (!c->v2_path)
                return -ENOMEM;
        if (mkdir(c->v2_path, 0755) < 0) {
                r = -errno;
                free(TAKE_PTR(c->v2_path)); /* not ours to remove */
                return r;
        }
        c->v2 = open(c->v2_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (c->v2 < 0)
                return -errno;
        c->can_kill = faccessat(c->v2, "cgroup.kill", W_OK, 0) == 0;
        c->can_freeze = faccessat(c->v2, "cgroup.freeze", W_OK, 0) == 0;
        if (limits->memory && (p->have & CGROUP_BIT(CGROUP_MEMORY))) {
                if ((r = poke_u64(c->v2_path, "memory.max", limits->memory)) < 0)
                        return r;
                (void)!poke(c->v2_path, "memory.swap.max", "0"); /* absent without swap accounting */
                (void)!poke(c->v2_path, "memory.oom.group", "0");
                c->v2_has |= CGROUP_BIT(CGROUP_MEMORY);
        }
        if (limits->pids && (p->have & CGROUP_BIT(CGROUP_PIDS))) {
                if ((r = poke_u64(c->v2_path, "pids.max", limits->pids)) < 0)
                        return r;
                c->v2_has |= CGROUP_BIT(CGROUP_PIDS);
        }
        if (limits->cpu_milli && (p->have & CGROUP_BIT(CGROUP_CPU))) {
                snprintf(value, sizeof(value), "%llu 100000", (unsigned long long)limits->cpu_milli * 100);
                if ((r = poke(c->v2_path, "cpu.max", value)) < 0)
                        return r;
                c->v2_has |= CGROUP_BIT(CGROUP_CPU);
        }
        return 0;
}

static int create_v1(const struct cgroup_place *p, enum cgroup_controller which, const char *name,
                     const struct cgroup_limits *limits, struct cgroup *c) {
        char *dir = str_printf("%s/%s", p->base, name);
        int r;

        if (!dir)
                return -ENOMEM;
        if (mkdir(dir, 0755) < 0) {
                r = -errno;
                free(dir);
                return r;
        }
        c->v1_path[which] = dir;
        switch (which) {
        case CGROUP_MEMORY:
                if ((r = poke_u64(dir, "memory.limit_in_bytes", limits->memory)) < 0)
                        return r;
                (void)!poke_u64(dir, "memory.memsw.limit_in_bytes", limits->memory);
                return 0;
        case CGROUP_PIDS:
                return poke_u64(dir, "pids.max", limits->pids);
        case CGROUP_CPU:
                if ((r = poke_u64(dir, "cpu.cfs_period_us", 100000)) < 0)
                        return r;
                return poke_u64(dir, "cpu.cfs_quota_us", limits->cpu_milli * 100);
        default:
                return 0;
        }
}

int cgroup_create(const struct cgroup_layout *l, const char *name, const struct cgroup_limits *limits, unsigned v1,
                  struct cgroup *ret) {
        struct cgroup c = {.v2 = -EBADF};
        int r = 0;

        if (l->v2.base)
                r = create_v2(&l->v2, name, limits, &c);
        for (unsigned i = 0; r == 0 && i < CGROUP_N; i++)
                if ((v1 & CGROUP_BIT(i)) && l->v1[i].base)
                        r = create_v1(&l->v1[i], i, name, limits, &c);
        if (r < 0) {
                (void)!cgroup_remove(&c, 0);
                cgroup_clear(&c);
                return r;
        }
        *ret = c;
        return 0;
}

int cgroup_enter_v1(const struct cgroup *c, pid_t pid) {
        for (unsigned i = 0; i < CGROUP_N; i++)
                if (c->v1_path[i]) {
                        int r = poke_u64(c->v1_path[i], "cgroup.procs", (uint64_t)pid);
                        if (r < 0)
                                return r;
                }
        return 0;
}

char *cgroup_paths(const struct cgroup_layout *l, const char *name, unsigned v1) {
        _cleanup_strbuf_ struct strbuf b = {};

        if (l->v2.base)
                strbuf_printf(&b, "%s/%s\n", l->v2.base, name);
        for (unsigned i = 0; i < CGROUP_N; i++)
                if ((v1 & CGROUP_BIT(i)) && l->v1[i].base)
                        strbuf_printf(&b, "%s/%s\n", l->v1[i].base, name);
        return strbuf_take(&b);
}

int cgroup_kill(const struct cgroup *c) {
        return c->can_kill ? file_poke(c->v2, "cgroup.kill", "1") : -ENOSYS;
}

static uint64_t now_ms(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int cgroup_freeze(const struct cgroup *c, bool on, unsigned timeout_ms) {
        uint64_t end = now_ms() + timeout_ms;
        int r;

        if (!c->can_freeze)
                return -ENOSYS;
        /* cgroup.events raises POLLPRI when "frozen" changes; opened before, so that no change is missed. */
        _cleanup_fd_ int events = openat(c->v2, "cgroup.events", O_RDONLY | O_CLOEXEC);
        if (events < 0)
                return -errno;
        if ((r = file_poke(c->v2, "cgroup.freeze", on ? "1" : "0")) < 0)
                return r;
        for (;;) {
                char text[256];
                ssize_t n = pread(events, text, sizeof(text) - 1, 0);
                if (n < 0)
                        return -errno;
                text[n] = 0;
                if (strstr(text, on ? "frozen 1" : "frozen 0"))
                        return 0;
                uint64_t now = now_ms();
                if (now >= end)
                        return -ETIMEDOUT;
                struct pollfd p = {.fd = events, .events = POLLPRI};
                (void)poll(&p, 1, (int)MIN(end - now, 50u));
        }
}

void cgroup_stats(const struct cgroup *c, struct cgroup_stats *ret) {
        struct cgroup_stats s = {};

        if (c->v2_path) {
                (void)!read_u64(c->v2_path, "memory.peak", &s.memory_peak);
                (void)!read_u64(c->v2_path, "memory.current", &s.memory_now);
                (void)!read_u64(c->v2_path, "pids.peak", &s.pids_peak);
                s.cpu_ms = read_keyed(c->v2_path, "cpu.stat", "usage_usec") / 1000;
                s.oom_kills = read_keyed(c->v2_path, "memory.events", "oom_kill");
        }
        const char *m = c->v1_path[CGROUP_MEMORY];
        if (m) {
                (void)!read_u64(m, "memory.max_usage_in_bytes", &s.memory_peak);
                (void)!read_u64(m, "memory.usage_in_bytes", &s.memory_now);
                s.oom_kills = read_keyed(m, "memory.oom_control", "oom_kill");
        }
        *ret = s;
}

int cgroup_remove(const struct cgroup *c, unsigned timeout_ms) {
        uint64_t end = now_ms() + timeout_ms;
        int first = 0;

        for (unsigned i = 0; i <= CGROUP_N; i++) {
                const char *path = i == CGROUP_N ? c->v2_path : c->v1_path[i];
                if (!path)
                        continue;
                while (rmdir(path) < 0 && errno != ENOENT) {
                        if (errno != EBUSY || now_ms() >= end) {
                                first = first ? first : -errno;
                                break;
                        }
                        (void)poll(NULL, 0, 1);
                }
        }
        return first;
}
