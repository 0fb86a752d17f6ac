/* `belljar inspect`: three answers, then each control, as they are in force: of a living sandbox read from the kernel at
 * this moment, of one that has ended from what was read back when its command started. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/control.h"
#include "role/cli/commands.h"
#include "role/cli/inspect-network.h"
#include "role/cli/inspect-stop.h"
#include "role/cli/options.h"
#include "svc/state-read.h"

struct facts {
        json_t *plan, *status, *network, *stop;
        bool alive;
        pid_t init, payload; /* of a living one; 0: not known */
        /* read back */
        int no_new_privs, seccomp, landlock; /* -1: not known */
        char capabilities[CAPABILITIES_TEXT];  /* as capabilities_format */
        json_t *namespaces;                  /* name: "user:[...]" of init */
        json_t *inner_user;                  /* of the payload; may be NULL */
        char cgroup[256];                    /* of the payload, v2; "" */
};

struct inspect_options {
        bool json, last;
};

static int on_option(int id, const char *arg, void *data, struct error *e) {
        struct inspect_options *o = data;
        (void)arg;
        switch (id) {
        case OPT_JSON: o->json = true; return 0;
        case OPT_LAST: o->last = true; return 0;
        default: return error_set(e, EINVAL, "unexpected option");
        }
}

static const char *text(json_t *j, const char *key) {
        const char *s = json_string_value(json_object_get(j, key));
        return s ? s : "";
}

static pid_t first_child(pid_t pid) {
        char path[64];
        _cleanup_free_ char *s = NULL;
        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
        if (file_read(AT_FDCWD, path, 65536, &s, NULL) < 0)
                return 0;
        return (pid_t)strtol(s, NULL, 10);
}

static int field(const char *status, const char *name, char *dst, size_t size) {
        const char *p = strstr(status, name);
        if (!p)
                return -ENOENT;
        p += strlen(name);
        p += strspn(p, ": \t");
        snprintf(dst, size, "%.*s", (int)strcspn(p, "\n"), p);
        return 0;
}

static void read_live(struct facts *f) {
        char path[64], v[64], link[64];
        _cleanup_free_ char *st = NULL, *cg = NULL;
        ssize_t n;

        f->init = (pid_t)json_integer_value(json_object_get(f->status, "init"));
        f->payload = f->init > 0 ? first_child(f->init) : 0;
        if (f->payload <= 0)
                return;
        snprintf(path, sizeof(path), "/proc/%d/status", (int)f->payload);
        if (file_read(AT_FDCWD, path, 65536, &st, NULL) < 0)
                return;
        if (field(st, "\nNoNewPrivs", v, sizeof(v)) == 0)
                f->no_new_privs = atoi(v);
        if (field(st, "\nSeccomp", v, sizeof(v)) == 0)
                f->seccomp = atoi(v);
        uint64_t caps = 0;
        static const char *const sets[] = {"\nCapInh", "\nCapPrm", "\nCapEff", "\nCapBnd", "\nCapAmb"};
        for (size_t i = 0; i < ELEMENTSOF(sets); i++)
                if (field(st, sets[i], v, sizeof(v)) == 0)
                        caps |= strtoull(v, NULL, 16);
        capabilities_format(f->capabilities, caps);
        snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)f->payload);
        n = readlink(path, link, sizeof(link) - 1);
        if (n > 0) {
                link[n] = 0;
                f->inner_user = json_string(link);
        }
        snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)f->payload);
        if (file_read(AT_FDCWD, path, 65536, &cg, NULL) == 0) {
                char *p = strstr(cg, "0::");
                if (p)
                        snprintf(f->cgroup, sizeof(f->cgroup), "%.*s", (int)strcspn(p + 3, "\n"), p + 3);
        }
}

static void gather(struct facts *f, struct state *s) {
        json_t *rb;

        f->no_new_privs = f->seccomp = f->landlock = -1;
        snprintf(f->capabilities, sizeof(f->capabilities), "not known");
        f->alive = state_alive(s);
        if (!f->alive)
                (void)!state_reclaim(s);
        if (state_read(s, "plan.json", &f->plan) < 0)
                f->plan = json_object();
        f->status = state_status(s);
        f->network = inspect_network(s, f->plan);
        f->stop = inspect_stop(s, f->alive);
        f->namespaces = json_object_get(f->status, "namespaces");
        rb = json_object_get(f->status, "readback");
        if (rb) {
                f->no_new_privs = json_is_true(json_object_get(rb, "no_new_privs"));
                f->seccomp = (int)json_integer_value(json_object_get(rb, "seccomp"));
                f->landlock = json_is_true(json_object_get(rb, "landlock"));
                snprintf(f->capabilities, sizeof(f->capabilities), "%s", text(rb, "capabilities"));
        }
        if (f->alive)
                read_live(f);
}

/* A namespace counts as in force when it is another one than this process has. */
static bool separate(const struct facts *f, const char *name) {
        char path[64], own[64];
        const char *its = text(f->namespaces, name);
        snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
        ssize_t n = readlink(path, own, sizeof(own) - 1);
        if (n <= 0 || !its[0])
                return false;
        own[n] = 0;
        return !streq(own, its);
}

struct finding {
        const char *name;
        bool in_force;
        char how[160];
};

static size_t judge(const struct facts *f, struct finding out[CONTROL_N]) {
        static const struct { enum control_id id; const char *ns; } ns[] = {
                {CONTROL_USER_NAMESPACE, "user"}, {CONTROL_MOUNT_NAMESPACE, "mnt"}, {CONTROL_PID_NAMESPACE, "pid"},
                {CONTROL_IPC_NAMESPACE, "ipc"}, {CONTROL_UTS_NAMESPACE, "uts"}, {CONTROL_NET_NAMESPACE, "net"},
                {CONTROL_CGROUP_NAMESPACE, "cgroup"},
        };
        size_t n = 0;
        json_t *limits = json_object_get(f->plan, "limits");
        int abi = (int)json_integer_value(json_object_get(f->plan, "landlock_abi"));
#define ADD(ctl, ok, ...)                                                              \
        do {                                                                           \
                struct finding *_f = &out[n++];                                        \
                _f->name = control_get(ctl)->name;                                     \
                _f->in_force = (ok);                                                   \
                snprintf(_f->how, sizeof(_f->how), __VA_ARGS__);                       \
        } while (0)

        for (size_t i = 0; i < ELEMENTSOF(ns); i++)
                ADD(ns[i].id, separate(f, ns[i].ns), "%s", text(f->namespaces, ns[i].ns));
        ADD(CONTROL_INNER_USER_NAMESPACE,
            f->inner_user ? !streq(json_string_value(f->inner_user), text(f->namespaces, "user")) : f->no_new_privs == 1, "%s",
            f->inner_user ? json_string_value(f->inner_user) : "made by init before the command started");
        bool nested = streq(text(f->plan, "nesting"), "userns");
        ADD(CONTROL_LANDLOCK, f->landlock == 1 && !nested, nested && abi ? "ABI %d: signals and abstract sockets only, for nesting"
            : nested ? "left out, for nesting" : abi >= 6 ? "ABI %d: files, signals, abstract sockets"
            : abi ? "ABI %d: files" : "not in this kernel, or left out", abi);
        ADD(CONTROL_SECCOMP, f->seccomp == 2, "mode %d", f->seccomp);
        ADD(CONTROL_NO_NEW_PRIVS, f->no_new_privs == 1, "%d", f->no_new_privs);
        /* What the plan allows an image's root, and nothing else. */
        uint64_t allowed = (uint64_t)json_integer_value(json_object_get(f->plan, "capabilities"));
        bool known = !streq(f->capabilities, "not known");
        ADD(CONTROL_CAPABILITIES, known && (capabilities_parse(f->capabilities) & ~allowed) == 0, "%.110s%s", f->capabilities,
            allowed ? ", in the inner user namespace" : "");
        static const struct { enum control_id id; const char *limit; } held[] = {
                {CONTROL_CGROUP_MEMORY, "memory"}, {CONTROL_CGROUP_PIDS, "pids"}, {CONTROL_CGROUP_CPU, "cpu"},
                {CONTROL_DISK_QUOTA, "disk"},
        };
        for (size_t i = 0; i < ELEMENTSOF(held); i++) {
                json_t *l = json_object_get(limits, held[i].limit);
                const char *means = l ? text(l, "means") : "no limit";
                ADD(held[i].id, l && !streq(means, "none"), "%s", means);
        }
        const char *cg = text(f->plan, "cgroup");
        ADD(CONTROL_CGROUP_KILL, cg[0], "%s", cg[0] ? cg : "by the end of PID 1");
        /* Made before the command: without it the run would not have begun. A run without a policy has nothing to hand over. */
        if (json_array_size(json_object_get(f->plan, "network")) > 0)
                ADD(CONTROL_NETWORK_REDIRECT, f->no_new_privs == 1, "%s", f->no_new_privs == 1 ? "made before the command started" : "not known");
#undef ADD
        return n;
}

static void print_view(const struct facts *f) {
        size_t i;
        json_t *tree, *volumes = json_object_get(f->plan, "volumes");

        json_array_foreach(volumes, i, tree) {
                _cleanup_free_ char *host = str_visible_dup(text(tree, "host")), *inside = str_visible_dup(text(tree, "inside"));
                printf("     volume: %s at %s, %s\n", host ? host : "?", inside ? inside : "?",
                       json_is_true(json_object_get(tree, "writable")) ? "WRITTEN THROUGH to the host" : "read-only");
        }
        if (text(f->plan, "image")[0])
                return;
        json_array_foreach(json_object_get(f->plan, "shown"), i, tree) {
                _cleanup_free_ char *v = str_visible_dup(json_string_value(tree) ? json_string_value(tree) : "?");
                printf("%s%s", i ? ", " : "     files read-only: ", v ? v : "?");
        }
        printf("\n");
}

static void print_human(const struct facts *f, const char *id) {
        struct finding found[CONTROL_N];
        size_t n = judge(f, found), i;
        json_t *limits = json_object_get(f->plan, "limits"), *l, *env, *x;
        const char *ws = text(f->plan, "workspace"), *mode = text(f->plan, "mode"), *key;
        _cleanup_free_ char *wsv = str_visible_dup(ws);

        printf("sandbox %s%s%s, %s\n\n", id, text(f->plan, "name")[0] ? " " : "", text(f->plan, "name"),
               f->alive ? "running" : text(f->status, "end")[0] ? text(f->status, "end") : "not started");
        if (text(f->plan, "parent")[0])
                printf("a sub-run of %s: within what that may do, and ended with it\n\n", text(f->plan, "parent"));
        printf("1. Where does it run?\n     tier %s: on this host's kernel, as uid %d inside and %d outside, behind %d of %zu controls\n",
               text(f->plan, "tier"), (int)json_integer_value(json_object_get(json_object_get(f->plan, "user"), "uid")),
               (int)json_integer_value(json_object_get(json_object_get(f->plan, "user"), "host_uid")),
               ({ int k = 0; for (i = 0; i < n; i++) k += found[i].in_force; k; }), n);
        if (text(f->plan, "image")[0])
                printf("     on the root of the image %s\n", text(f->plan, "image"));
        if (text(f->plan, "why_tier")[0])
                printf("     %s\n", text(f->plan, "why_tier"));
        if (streq(text(f->plan, "nesting"), "userns"))
                printf("     NESTING: it may make user namespaces and mounts of its own, within what it sees\n");
        printf("\n2. What can it reach?\n");
        json_array_foreach(json_object_get(f->plan, "use"), i, x) printf("     by the words of %s\n", json_string_value(x));
        inspect_network_reach(f->network);
        if (ws[0])
                printf("     workspace: %s%s%s, %s%s\n", wsv ? wsv : "?", text(f->plan, "workspace_inside")[0] ? " at " : "",
                       text(f->plan, "workspace_inside"),
                       streq(mode, "cow") ? "changes kept apart" : streq(mode, "rw") ? "WRITTEN THROUGH to the host" : "read-only",
                       json_integer_value(json_object_get(f->plan, "hidden")) ? ", with paths hidden" : "");
        print_view(f);
        printf("\n3. What can its credentials do?\n");
        inspect_credentials(f->plan, f->network);
        printf("     variables:");
        env = json_object_get(f->plan, "environment");
        json_array_foreach(env, i, x) printf(" %s", json_string_value(x));
        printf("\n\nlimits\n");
        json_object_foreach(limits, key, l) {
                printf("     %-8s %lld by %s%s\n", key, (long long)json_integer_value(json_object_get(l, "value")), text(l, "means"),
                       json_is_true(json_object_get(l, "default")) ? " (default)" : "");
        }
        inspect_stop_print(f->plan, f->stop);
        printf("\ncontrols, read back %s\n", f->alive ? "from the kernel now" : "when the command started");
        for (i = 0; i < n; i++)
                printf("     %-22s %-4s %s\n", found[i].name, found[i].in_force ? "yes" : "NO", found[i].how);
        inspect_network_denials(f->network);
}

static void print_json(const struct facts *f, const char *id) {
        struct finding found[CONTROL_N];
        size_t n = judge(f, found);
        json_t *controls = json_object();

        for (size_t i = 0; i < n; i++)
                json_object_set_new(controls, found[i].name,
                                    json_pack("{s:b, s:s}", "in_force", found[i].in_force, "how", found[i].how));
        json_t *out = json_pack("{s:s, s:b, s:{s:s}, s:{s:O?, s:O?, s:s}, s:{s:O?, s:O?}, s:O?, s:o, s:O, s:O, s:O}", "id", id, "running",
                                f->alive, "runs", "tier", text(f->plan, "tier"), "reaches", "network",
                                json_object_get(f->network, "allowed"), "workspace",
                                json_object_get(f->plan, "workspace"), "mode", text(f->plan, "mode"), "credentials", "secrets", json_object_get(f->plan, "secrets"),
                                "environment", json_object_get(f->plan, "environment"), "network", f->network, "controls", controls,
                                "plan", f->plan, "status", f->status, "stop", f->stop);
        if (out) {
                json_dumpf(out, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
                printf("\n");
        }
        json_decref(out);
}

int command_inspect(int argc, char **argv) {
        _cleanup_state_ struct state s = STATE_NONE;
        struct inspect_options o = {};
        struct facts f = {};
        struct error e = {};
        int first;

        if (options_parse(command_find("inspect"), argc, argv, on_option, &o, &first, &e) < 0 ||
            find_sandbox(first < argc ? argv[first] : NULL, o.last, &s, &e) < 0) {
                error_print(&e);
                return EXIT_BELLJAR;
        }
        gather(&f, &s);
        if (o.json)
                print_json(&f, s.id);
        else
                print_human(&f, s.id);
        json_decref(f.plan);
        json_decref(f.status);
        json_decref(f.inner_user);
        json_decref(f.network);
        json_decref(f.stop);
        return 0;
}
