/* Making the plan of a run, see prepare.h. Nothing on the host is changed here, but for the lock on a range of ids. */
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/control.h"
#include "model/environment.h"
#include "model/risk.h"
#include "proto/init-msg.h"
#include "role/cli/options.h"
#include "role/cli/prepare.h"
#include "role/cli/tool.h"
#include "svc/plan-ids.h"
#include "svc/state.h"
#include "svc/workspace.h"
#include "sys/landlock.h"
#include "sys/probe.h"

#define MOUNTINFO_TEXT_MAX (64u << 20)
#define ARGV_MAX (1u << 20) /* bytes: under the kernel's limit together with the environment */

extern char **environ;

void prepared_clear(struct prepared *p) {
        plan_free(p->plan);
        host_clear(&p->host);
        cgroup_layout_clear(&p->layout);
        fd_close(p->id_lock);
        fd_close(p->workspace_lock);
        image_clear(&p->image);
        net_ca_clear(&p->ca);
        credentials_clear(&p->credentials);
        free(p->ca_bundle);
        *p = PREPARED_NONE;
}

static char *working_directory(struct error *e) {
        char *cwd = getcwd(NULL, 0);
        /* getcwd(3): "(unreachable)" where the directory was removed or lies outside the root. */
        if (!cwd || cwd[0] != '/') {
                free(cwd);
                error_set(e, ENOENT, "the current directory does not exist any more");
                error_fix(e, "cd to a directory that exists");
                return NULL;
        }
        return cwd;
}

/* The tier that the user names, or the one that the risk asks for. */
static int choose_tier(const struct policy *policy, struct plan *p, struct error *e) {
        struct risk_facts facts = {.trust = policy->trust, .reach = prepare_reach(&policy->network),
                                   .credentials = prepare_credentials_risk(&policy->network), .has_image = policy->image, .min_tier = policy->min_tier};
        struct host_facts host = {};
        struct risk_choice choice;
        int r;

        if (policy->tier == TIER_AUTO) {
                bool container = policy->image || risk_asked(facts.trust, facts.reach, facts.credentials, false) == TIER_CONTAINER;
                probe_start(&host, container);
                for (enum tier t = TIER_PROCESS; control_tier_built(t); t++) {
                        const char *why = risk_obstacle(&host, t);
                        facts.available |= why ? 0 : risk_tier_bit(t);
                        facts.obstacle = facts.obstacle ? facts.obstacle : why;
                }
                if ((r = risk_choose(&facts, &choice, e)) < 0)
                        return r;
                p->tier = choice.taken;
                p->why_tier = strdup(choice.line);
                return p->why_tier ? 0 : error_set(e, ENOMEM, "out of memory");
        }
        p->tier = policy->tier; /* policy_check has seen that it goes with the image, or with none */
        if (control_tier_built(p->tier))
                return 0;
        error_set(e, ENOTSUP, "the tier %s is not in this version", tier_name(p->tier));
        return error_fix(e, "use --tier auto; belljar doctor says what each tier would need");
}

static int check_without(const struct policy *p, enum tier tier, struct error *e) {
        for (size_t i = 0; i < p->without.n; i++) {
                const struct control *c = control_find(p->without.items[i]);
                if (!c) {
                        error_set(e, EINVAL, "there is no control %s", p->without.items[i]);
                        return error_fix(e, "belljar doctor lists them");
                }
                if (c->with_network) { /* without a network nothing is left out, and with one it is what holds it */
                        error_set(e, EINVAL, "a run cannot have a network policy without %s", c->name);
                        return error_fix(e, "leave the network's rules out instead, or let belljar doctor say how this host can give it");
                }
                if (control_required(c, tier)) {
                        error_set(e, EINVAL, "the %s tier cannot do without %s", tier_name(tier), c->name);
                        return error_fix(e, "what needs its absence needs another tier");
                }
        }
        return 0;
}

static bool is_system(const char *dir) {
        static const char *const system[] = {"/", "/usr", "/etc", "/dev", "/proc", "/sys", "/boot", "/var", "/run", "/tmp", "/home", "/root"};
        for (size_t i = 0; i < ELEMENTSOF(system); i++)
                if (streq(dir, system[i]))
                        return true;
        return false;
}

static int plan_workspace(const struct run_options *o, struct prepared *x, struct stat *st, struct error *e) {
        struct plan *p = x->plan;
        const struct policy *policy = o->policy;
        const char *home = x->host.home;
        int r;

        p->mode = policy->workspace.mode;
        *st = (struct stat){.st_uid = geteuid(), .st_gid = getegid()};
        if (o->no_workspace)
                return 0;
        if (policy->workspace.name) {
                if ((r = workspace_open(p->state, policy->workspace.name, !o->dry_run, &p->workspace, &x->workspace_lock, e)) < 0)
                        return r;
        } else if (policy->workspace.path)
                p->workspace = realpath(policy->workspace.path, NULL);
        else {
                p->workspace = working_directory(e);
                if (p->image && (!p->workspace || is_system(p->workspace) || path_beneath(home, p->workspace))) {
                        /* An image has a place of its own to start in. */
                        free(TAKE_PTR(p->workspace));
                        *e = (struct error){};
                        r = strlist_add(&p->notes, "no workspace: the current directory is your home, or the system's");
                        return r < 0 ? error_errno(e, r, "a note cannot be kept") : 0;
                }
        }
        if (!p->workspace)
                return policy->workspace.path ? error_errno(e, errno, "the workspace %s cannot be opened", policy->workspace.path)
                                              : -e->errnum;
        if (p->image) {
                p->inside = strdup(policy->workspace.inside ? policy->workspace.inside : POLICY_WORKSPACE_INSIDE);
                if (!p->inside)
                        return error_set(e, ENOMEM, "out of memory");
        }
        if (stat(p->workspace, st) < 0)
                return error_errno(e, errno, "the workspace %s cannot be read", p->workspace);
        if (!S_ISDIR(st->st_mode)) {
                error_set(e, ENOTDIR, "the workspace %s is not a directory", p->workspace);
                return error_fix(e, "name the directory that it lies in");
        }
        if (access(p->workspace, R_OK | X_OK) < 0)
                return error_errno(e, errno, "the workspace %s cannot be read", p->workspace);
        if (strlen(p->workspace) >= 4000)
                return error_set(e, ENAMETOOLONG, "the path of the workspace is longer than 4,000 bytes");
        if (is_system(p->workspace) && !streq(p->workspace, home)) {
                error_set(e, EINVAL, "%s cannot be a workspace: it is the system's or everybody's", p->workspace);
                return error_fix(e, "cd to a project, name one with --workspace DIR, or use --no-workspace");
        }
        if (path_beneath(p->workspace, "/proc") || path_beneath(p->workspace, "/sys") || path_beneath(p->workspace, "/dev"))
                return error_set(e, EINVAL, "%s cannot be a workspace: it is the kernel's", p->workspace);
        if (path_beneath(home, p->workspace) && !policy->workspace.path) {
                error_set(e, EINVAL, "the current directory is your home, or above it: keys and settings would all be in view");
                return error_fix(e, "cd to a project, name one with --workspace DIR, or use --no-workspace");
        }
        p->workspace_dev = st->st_dev;
        p->workspace_ino = st->st_ino;
        x->workspace_mode = st->st_mode & 07777;
        return 0;
}

/* Belljar's own programs must not be writable from inside. */
static int check_own_programs(const struct plan *p, struct error *e) {
        char exe[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

        if (n < 0 || !p->workspace || p->mode != WORKSPACE_RW)
                return 0;
        exe[n] = 0;
        if (!path_beneath(exe, p->workspace))
                return 0;
        error_set(e, EPERM, "the workspace holds Belljar's own program, %s, and rw would let the sandbox replace it", exe);
        return error_fix(e, "use --mode cow, or install Belljar elsewhere");
}

static int plan_cwd(const struct run_options *o, struct prepared *x, struct error *e) {
        struct plan *p = x->plan;

        const char *said = o->policy->workdir;
        if (said) {
                if (said[0] == '/')
                        p->cwd = path_clean(said);
                else if (p->workspace) {
                        _cleanup_free_ char *joined = str_printf("%s/%s", p->workspace, said);
                        p->cwd = joined ? path_clean(joined) : NULL;
                } else
                        return error_set(e, EINVAL, "--workdir is relative and there is no workspace");
        } else if (p->workspace) {
                /* Where the caller stands, when that is in the workspace. */
                _cleanup_free_ char *cwd = getcwd(NULL, 0);
                p->cwd = strdup(cwd && path_beneath(cwd, p->workspace) ? cwd : p->workspace);
        } else
                p->cwd = strdup("/tmp");
        if (!p->cwd)
                return error_set(e, ENOMEM, "out of memory");
        if (strlen(p->cwd) >= INIT_MAX_PATH)
                return error_set(e, ENAMETOOLONG, "the working directory's path is too long");
        return 0;
}

static bool has_without(const struct policy *p, const char *name) {
        return strlist_has(&p->without, name);
}

/* The user's own limits must be held by something that bounds the same thing, or the run is refused. */
static int refuse_limit(const char *control, const char *why, struct error *e) {
        error_set(e, ENOTSUP, "%s", why);
        return error_fix(e, "belljar doctor says how this host can give it; --without=%s goes on without the limit", control);
}

/* A login outside the user's systemd manager (ssh, a console) stands in a control group that is not its own to divide.
 * Where a limit was asked for that only a group can hold, the command line starts once more in a scope of that manager,
 * which is. Returns only when that is not possible. */
static void enter_scope(const struct plan_limits *l, unsigned v2) {
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        bool cpu = l->want.cpu.origin == LIMIT_USER && !(v2 & CGROUP_BIT(CGROUP_CPU));
        bool memory = l->want.memory.origin == LIMIT_USER && !(v2 & CGROUP_BIT(CGROUP_MEMORY));

        if (geteuid() == 0 || !(cpu || memory) || !runtime || getenv("BELLJAR_IN_SCOPE"))
                return;
        _cleanup_free_ char *manager = str_printf("%s/systemd/private", runtime);
        if (!manager || access(manager, W_OK) < 0)
                return;
        static const char *const head[] = {"systemd-run", "--user", "--scope", "--quiet", "--collect", "-p", "Delegate=yes", "--"};
        size_t n = 0;
        while (tool_argv[n])
                n++;
        char **argv = calloc(ELEMENTSOF(head) + n + 1, sizeof(char *)), exe[PATH_MAX];
        ssize_t k = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
        if (!argv || k < 0)
                return;
        exe[k] = 0;
        for (size_t i = 0; i < ELEMENTSOF(head); i++)
                argv[i] = (char *)head[i];
        for (size_t i = 0; i < n; i++)
                argv[ELEMENTSOF(head) + i] = i == 0 ? exe : tool_argv[i];
        setenv("BELLJAR_IN_SCOPE", "1", 1); /* once only */
        execv("/usr/bin/systemd-run", argv);
        free(argv);
}

static int plan_limits(const struct policy *policy, const char *mountinfo, struct prepared *x, struct error *e) {
        struct plan *p = x->plan;
        struct plan_limits *l = &p->limits;
        uint64_t ram = host_memory();
        int r;

        if (ram == 0)
                return error_set(e, EIO, "the size of this host's memory cannot be read");
        l->want = policy->limits;
        if ((r = cgroup_find_in(mountinfo, &x->layout)) < 0)
                return error_errno(e, r, "the control groups of this host cannot be read");
        unsigned v2 = x->layout.v2.base ? x->layout.v2.have : 0, v1 = 0;
        for (unsigned i = 0; i < CGROUP_N; i++)
                if (x->layout.v1[i].base)
                        v1 |= CGROUP_BIT(i);
        enter_scope(l, v2);
        if (l->want.memory.origin == LIMIT_NONE)
                l->want.memory = (struct limit){ram / 4 * 3, LIMIT_DEFAULT};
        if (v2 & CGROUP_BIT(CGROUP_MEMORY))
                l->memory = MEANS_CGROUP2;
        else if ((v1 & CGROUP_BIT(CGROUP_MEMORY)) && l->want.memory.origin == LIMIT_USER)
                l->memory = MEANS_CGROUP1; /* entering costs 10 ms: only where it was asked for */
        else if (l->want.memory.origin != LIMIT_NONE)
                l->memory = MEANS_SAMPLING;
        if (l->want.pids.origin != LIMIT_NONE)
                l->pids = v2 & CGROUP_BIT(CGROUP_PIDS) ? MEANS_CGROUP2 : MEANS_RLIMIT;
        if (l->want.cpu.origin != LIMIT_NONE) {
                if (v2 & CGROUP_BIT(CGROUP_CPU))
                        l->cpu = MEANS_CGROUP2;
                else if (v1 & CGROUP_BIT(CGROUP_CPU))
                        l->cpu = MEANS_CGROUP1;
                else if (!has_without(policy, "cgroup-cpu"))
                        return refuse_limit("cgroup-cpu", "the limit of CPUs needs a control group that you may use, and there is none", e);
        }
        if (l->want.disk.origin != LIMIT_NONE) {
                if (p->mode == WORKSPACE_RW && p->workspace && !has_without(policy, "disk-quota"))
                        return refuse_limit("disk-quota", "the limit of disk space can be held in cow and ro mode only", e);
                l->disk = p->mode == WORKSPACE_COW ? MEANS_SAMPLING : MEANS_RLIMIT;
        }
        l->output = l->want.output.origin != LIMIT_NONE ? MEANS_RELAY : MEANS_NONE;
        l->time = l->want.time.origin != LIMIT_NONE ? MEANS_TIMER : MEANS_NONE;
        l->idle = l->want.idle.origin != LIMIT_NONE ? MEANS_TIMER : MEANS_NONE;
        l->scratch_bytes = l->want.memory.value ? l->want.memory.value / 2 : 1ull << 30;
        if (l->want.disk.origin != LIMIT_NONE)
                l->scratch_bytes = MIN(l->scratch_bytes, l->want.disk.value);
        l->scratch_inodes = MAX(l->scratch_bytes / 16384, 1024u);
        return 0;
}

/* The command as the sandbox will find it. Said before the start, with the fix, where the reason is the view. */
static int check_command(const struct run_options *o, const struct prepared *x, struct error *e) {
        const char *name = o->argv[0], *path = getenv("PATH");
        struct stat st;

        if (strchr(name, '/') || !path)
                return 0;
        while (*path) {
                size_t n = strcspn(path, ":");
                _cleanup_free_ char *file = str_printf("%.*s/%s", (int)n, path, name);
                if (n > 0 && file && stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0) {
                        _cleanup_free_ char *dir = strndup(path, n), *real = dir ? realpath(dir, NULL) : NULL;
                        for (size_t i = 0; real && i < x->plan->n_ops; i++) {
                                const struct plan_op *op = &x->plan->ops[i];
                                if ((op->kind == OP_BIND || op->kind == OP_OVERLAY) && path_beneath(real, op->target))
                                        return 0;
                                if ((op->kind == OP_SYMLINK || op->kind == OP_BIND) && streq(file, op->target))
                                        return 0;
                        }
                        error_set(e, ENOENT, "%s is %s on this host, which the sandbox does not see", name, file);
                        return error_fix(e, "show it read-only: --read %s (or a directory above it)", real ? real : dir);
                }
                path += n + (path[n] == ':');
        }
        return 0; /* the sandbox says so, with 127 */
}

static const char *user_name(const struct plan *p, char *buf, size_t size) {
        if (p->ids.inner_uid != geteuid())
                return "agent";
        FILE *f = fopen("/etc/passwd", "re");
        buf[0] = 0;
        if (f) {
                for (struct passwd *pw; !buf[0] && (pw = fgetpwent(f));)
                        if (pw->pw_uid == p->ids.inner_uid)
                                snprintf(buf, size, "%s", pw->pw_name);
                fclose(f);
        }
        if (!buf[0])
                snprintf(buf, size, "%u", (unsigned)p->ids.inner_uid);
        return buf;
}

/* The command and its environment, on the host's own root. */
static int plan_command(const struct run_options *o, struct prepared *x, struct error *e) {
        struct plan *p = x->plan;
        char user[256];
        size_t bytes = 0;
        int r = check_command(o, x, e);

        if (r < 0)
                return r;
        _cleanup_free_ char *runtime = str_printf("/run/user/%u", (unsigned)p->ids.inner_uid);
        if (!runtime)
                return error_set(e, ENOMEM, "out of memory");
        if ((r = environment_plan(&p->env, environ, o->policy, p->home, user_name(p, user, sizeof(user)), runtime, p->hostname, e)) < 0)
                return r;
        for (int i = 0; i < o->argc; i++) {
                bytes += strlen(o->argv[i]) + 1;
                if ((r = strlist_add(&p->argv, o->argv[i])) < 0)
                        return error_errno(e, r, "the command cannot be kept");
        }
        return bytes > ARGV_MAX ? error_set(e, E2BIG, "the command is longer than %u bytes", ARGV_MAX) : 0;
}

/* An explicit word of the user's, said at the start. Landlock forbids mounts to whomever it holds to files. */
static int plan_nesting(const struct policy *policy, struct plan *p, struct error *e) {
        p->nesting = policy->nesting;
        if (p->landlock_abi < 6)
                p->landlock_abi = 0;
        /* What root of a namespace of its own has anyhow: over it, and nothing else. To map its root it must have it here. */
        if (p->image && p->ids.inner_uid == 0)
                p->capabilities = ALL_CAPABILITIES;
        int r = strlist_addf(&p->notes, "nesting: the run may make user namespaces and mounts of its own; Landlock holds %s, and more "
                                        "of the kernel is in its reach", p->landlock_abi ? "its signals only" : "nothing of it");
        return r < 0 ? error_errno(e, r, "a note cannot be kept") : 0;
}

/* A policy names commands that run outside. One that lies in the workspace may have been written by a run before. */
static int check_sources(const struct run_options *o, const struct plan *p, struct error *e) {
        _cleanup_free_ char *file = o->policy_file ? realpath(o->policy_file, NULL) : NULL;
        const bool inside = file && ((p->workspace && path_beneath(file, p->workspace)) || plan_writes_volume(p, file));

        for (size_t i = 0; inside && i < p->network.n_secrets; i++) {
                const struct secret *s = &p->network.secrets[i];
                if (s->source != SECRET_COMMAND || s->line == 0)
                        continue;
                error_set(e, EPERM, "%s lies in the workspace or a volume, where a run may have written it, and names a command for the secret %s", file, s->name);
                return error_fix(e, "keep the policy elsewhere, or name the command yourself: --secret '%s=command:...'", s->name);
        }
        return 0;
}

int prepare(const struct run_options *o, struct prepared *ret, struct error *e) {
        _cleanup_prepared_ struct prepared x = PREPARED_NONE;
        _cleanup_free_ char *mountinfo = NULL;
        struct stat st = {};
        int r;

        x.plan = plan_new();
        x.host.home = host_home();
        if (!x.plan || !x.host.home)
                return error_set(e, ENOMEM, "out of memory");
        struct plan *p = x.plan;
        p->id = strdup("000000000000");
        p->name = o->name ? strdup(o->name) : NULL;
        p->home = strdup(x.host.home);
        p->hostname = strdup("belljar");
        mode_t mask = umask(0);
        umask(mask);
        p->umask = mask;
        p->wires = o->policy->wires;
        p->n_wires = o->policy->n_wires;
        if (!p->id || !p->home || !p->hostname || (o->name && !p->name))
                return error_set(e, ENOMEM, "out of memory");
        if ((r = file_read(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_TEXT_MAX, &mountinfo, NULL)) < 0)
                return error_errno(e, r, "/proc/self/mountinfo cannot be read");
        _cleanup_free_ char *state = NULL;
        if ((r = prepare_trust_begin(o, &x, e)) < 0 || (r = state_path(&state, e)) < 0 || (r = host_resolve(state, "/", x.host.home, &p->state, e)) < 0 ||
            (r = choose_tier(o->policy, p, e)) < 0 || (r = check_without(o->policy, p->tier, e)) < 0 ||
            (o->root && (r = prepare_root_open(o, &x, e)) < 0) ||
            (!o->root && o->policy->image && (r = prepare_image_open(o, &x, e)) < 0) || (r = plan_workspace(o, &x, &st, e)) < 0 ||
            (r = check_own_programs(p, e)) < 0)
                return r;
        if (p->image)
                r = plan_ids_of_image(p, &x.ids, &x.user, st.st_uid, st.st_gid, &x.id_lock, e);
        else
                r = plan_ids_of_host(p, st.st_uid, st.st_gid, &x.id_lock, e);
        if (r < 0 || (r = p->image ? prepare_image_command(o, &x, e) : plan_cwd(o, &x, e)) < 0 ||
            (r = plan_limits(o->policy, mountinfo, &x, e)) < 0)
                return r;
        for (size_t i = 0; i < o->policy->use.n; i++)
                if ((r = strlist_add(&p->use, o->policy->use.items[i])) < 0)
                        return error_errno(e, r, "the plan cannot be kept");
        for (size_t i = 0; i < o->policy->hide.n; i++)
                if ((r = strlist_add(&p->hide, o->policy->hide.items[i])) < 0)
                        return error_errno(e, r, "the plan cannot be kept");
        for (size_t i = 0; i < o->policy->guarded.n; i++)
                if ((r = strlist_add(&p->guarded, o->policy->guarded.items[i])) < 0)
                        return error_errno(e, r, "the plan cannot be kept");
        for (size_t i = 0; i < o->policy->without.n; i++)
                if ((r = strlist_add(&p->without, o->policy->without.items[i])) < 0)
                        return error_errno(e, r, "the plan cannot be kept");
        p->landlock_abi = has_without(o->policy, "landlock") ? 0 : landlock_abi();
        if (p->landlock_abi < 0) {
                error_errno(e, p->landlock_abi, "landlock: its version cannot be read from the kernel");
                return error_fix(e, "--without=landlock goes on without it");
        }
        p->trace = o->policy->trace;
        if (o->policy->nesting && (r = plan_nesting(o->policy, p, e)) < 0)
                return r;
        if ((p->image && (r = prepare_image_facts(&x, e)) < 0) || (r = prepare_volumes(o->policy, &x, e)) < 0 ||
            (o->root && (r = prepare_root_facts(o, &x, e)) < 0) ||
            (r = prepare_network(o->policy, o->publish, o->n_publish, p, e)) < 0 ||
            (r = host_gather(p, o->policy, mountinfo, &x.host, e)) < 0 ||
            (r = prepare_trust(o, &x, e)) < 0 || (r = prepare_delegates(o, &x, e)) < 0 || (r = prepare_calls(o, &x, e)) < 0 ||
            (r = view_plan(p, o->policy, &x.host.view, e)) < 0 ||
            (!p->image && (r = plan_command(o, &x, e)) < 0) || (r = prepare_trust_environment(o, &x, e)) < 0 || (r = prepare_calls_environment(o, &x, e)) < 0 ||
            (r = check_sources(o, p, e)) < 0 || (o->n_delegates && (r = tool_delegates(o, &x, e)) < 0) || (o->grant && (r = o->grant->check(o->grant, o, p, e)) < 0) || (!o->dry_run && (r = credentials_read(p, NULL, &x.credentials, e)) < 0))
                return r;
        *ret = x;
        x = PREPARED_NONE;
        return 0;
}
