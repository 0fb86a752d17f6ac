/* From facts to findings; see doctor.h. Fixes are numbered in the order in which they are first needed. */
#include <stdio.h>

#include "model/doctor.h"

const char *doctor_state_name(enum doctor_state s) {
        static const char *const names[] = {"yes", "substitute", "no", "unused"};
        return names[s];
}

const char *doctor_severity_name(enum doctor_severity s) {
        static const char *const names[] = {"fine", "weaker", "lacks", "blocks"};
        return names[s];
}

const char *doctor_tier_state_name(enum doctor_tier_state s) {
        static const char *const names[] = {"ready", "substitutes", "no", "unbuilt"};
        return names[s];
}

bool doctor_older(const struct host_facts *f, const char *version) {
        int major, minor;
        if (f->major == 0 || sscanf(version, "%d.%d", &major, &minor) != 2)
                return false;
        return f->major < major || (f->major == major && f->minor < minor);
}

static struct doctor_finding *finding(struct doctor_report *rep, enum control_id id) { return &rep->findings[id]; }

static void _printf_(3, 4) set(struct doctor_finding *x, enum doctor_state state, const char *fmt, ...) {
        va_list ap;
        x->state = state;
        va_start(ap, fmt);
        vsnprintf(x->detail, sizeof(x->detail), fmt, ap);
        va_end(ap);
}

/* "uid_map: Operation not permitted" */
static void set_failed(struct doctor_finding *x, struct probe_result r) {
        x->state = DOCTOR_NO;
        if (!r.tried)
                snprintf(x->detail, sizeof(x->detail), "not tried");
        else if (r.step == STEP_KILLED)
                snprintf(x->detail, sizeof(x->detail), "the process that tried it was killed");
        else
                snprintf(x->detail, sizeof(x->detail), "%s: %s", probe_step_name(r.step), strerror(r.err));
}

static int kernel_or(const struct host_facts *f, struct doctor_report *rep, enum control_id id,
                     int (*other)(const struct host_facts *, struct doctor_report *)) {
        if (doctor_older(f, control_get(id)->kernel))
                return doctor_fix_kernel(f, rep);
        return other ? other(f, rep) : -1;
}

static void judge_namespaces(const struct host_facts *f, struct doctor_report *rep) {
        static const enum control_id ids[] = {
                CONTROL_INNER_USER_NAMESPACE, CONTROL_MOUNT_NAMESPACE, CONTROL_PID_NAMESPACE, CONTROL_IPC_NAMESPACE,
                CONTROL_UTS_NAMESPACE, CONTROL_NET_NAMESPACE, CONTROL_CGROUP_NAMESPACE,
        };
        static const char *const kinds[] = {"user", "mnt", "pid", "ipc", "uts", "net", "cgroup"};
        const struct probe_result results[] = {
                f->inner_userns, f->mount_ns, f->pid_ns, f->ipc_ns, f->uts_ns, f->net_ns, f->cgroup_ns,
        };
        struct doctor_finding *user = finding(rep, CONTROL_USER_NAMESPACE);

        if (probe_ok(f->userns))
                set(user, DOCTOR_YES, "%s", "");
        else {
                set_failed(user, f->userns);
                user->fix = doctor_fix_userns(f, f->userns, "user", rep);
        }
        for (size_t i = 0; i < ELEMENTSOF(ids); i++) {
                struct doctor_finding *x = finding(rep, ids[i]);
                if (probe_ok(results[i]))
                        set(x, DOCTOR_YES, "%s", "");
                else if (user->state != DOCTOR_YES) {
                        set(x, DOCTOR_NO, "needs user-namespace");
                        x->fix = user->fix;
                } else {
                        set_failed(x, results[i]);
                        x->fix = doctor_older(f, x->control->kernel) ? doctor_fix_kernel(f, rep)
                                                                      : doctor_fix_userns(f, results[i], kinds[i], rep);
                }
        }
}

/* What needs the mount namespace: proc-mount and overlay. */
static bool lacks_mounts(struct doctor_report *rep, struct doctor_finding *x) {
        static const enum control_id needs[] = {CONTROL_USER_NAMESPACE, CONTROL_MOUNT_NAMESPACE, CONTROL_PID_NAMESPACE};
        for (size_t i = 0; i < ELEMENTSOF(needs); i++) {
                const struct doctor_finding *n = finding(rep, needs[i]);
                if (n->state == DOCTOR_NO &&
                    (needs[i] != CONTROL_PID_NAMESPACE || x->control->id == CONTROL_PROC_MOUNT)) {
                        set(x, DOCTOR_NO, "needs %s", n->control->name);
                        x->fix = n->fix;
                        return true;
                }
        }
        return false;
}

static void judge_files(const struct host_facts *f, struct doctor_report *rep) {
        struct doctor_finding *proc = finding(rep, CONTROL_PROC_MOUNT), *overlay = finding(rep, CONTROL_OVERLAY),
                              *idmap = finding(rep, CONTROL_IDMAPPED_MOUNTS), *quota = finding(rep, CONTROL_DISK_QUOTA);

        if (probe_ok(f->proc_mount))
                set(proc, DOCTOR_YES, "%s", "");
        else if (!lacks_mounts(rep, proc)) {
                set_failed(proc, f->proc_mount);
                proc->fix = doctor_fix_proc(f, rep);
        }

        if (probe_ok(f->overlay_state))
                set(overlay, DOCTOR_YES, "on %s at %.100s", f->state_fs, f->state_dir);
        else if (lacks_mounts(rep, overlay))
                ;
        else if (f->overlay.tried && f->overlay.step == STEP_MODULE)
                set(overlay, DOCTOR_YES, "its module is loaded at the first use; not tried");
        else if (!probe_ok(f->overlay)) {
                set_failed(overlay, f->overlay);
                overlay->fix = kernel_or(f, rep, CONTROL_OVERLAY, doctor_fix_overlay);
        } else if (!f->overlay_state.tried || (f->overlay_state.step == STEP_DIRS && f->overlay_state.err == EACCES))
                set(overlay, DOCTOR_YES, "not tried on %.100s%s",
                    f->state_dir[0] ? f->state_dir : "the state directory",
                    f->state_dir[0] ? ", which is not yours" : "");
        else {
                set(overlay, DOCTOR_NO, "on %s at %.100s: %s: %s", f->state_fs, f->state_dir,
                    probe_step_name(f->overlay_state.step), strerror(f->overlay_state.err));
                overlay->fix = doctor_fix_overlay(f, rep);
        }

        if (f->uid != 0)
                set(idmap, DOCTOR_UNUSED, "only runs by root use it");
        else if (probe_ok(f->idmap))
                set(idmap, DOCTOR_YES, "on %s", f->state_fs);
        else if (!f->idmap.tried) {
                set(idmap, DOCTOR_NO, "not tried");
                idmap->fix = finding(rep, CONTROL_USER_NAMESPACE)->fix;
        } else {
                set_failed(idmap, f->idmap);
                idmap->fix = kernel_or(f, rep, CONTROL_IDMAPPED_MOUNTS, doctor_fix_idmap);
        }

        set(quota, DOCTOR_SUBSTITUTE, "this version sets no project quotas");
}

static void judge_locks(const struct host_facts *f, struct doctor_report *rep) {
        struct doctor_finding *landlock = finding(rep, CONTROL_LANDLOCK), *seccomp = finding(rep, CONTROL_SECCOMP),
                              *nnp = finding(rep, CONTROL_NO_NEW_PRIVS), *caps = finding(rep, CONTROL_CAPABILITIES);

        if (f->landlock_abi > 0)
                set(landlock, DOCTOR_YES, "ABI %d: files%s%s%s", f->landlock_abi,
                    f->landlock_abi >= 4 ? ", TCP ports" : "", f->landlock_abi >= 5 ? ", device ioctls" : "",
                    f->landlock_abi >= 6 ? ", signals, abstract sockets" : "");
        else {
                set(landlock, DOCTOR_SUBSTITUTE, "%s", f->landlock_err ? strerror(f->landlock_err) : "absent");
                landlock->fix = kernel_or(f, rep, CONTROL_LANDLOCK, doctor_fix_landlock);
        }
        if (probe_ok(f->seccomp))
                set(seccomp, DOCTOR_YES, "%s", f->seccomp_mode ? "beneath a filter that is already in force" : "");
        else {
                set_failed(seccomp, f->seccomp);
                seccomp->fix = kernel_or(f, rep, CONTROL_SECCOMP, doctor_fix_seccomp);
        }
        if (probe_ok(f->no_new_privs))
                set(nnp, DOCTOR_YES, "%s", "");
        else {
                set_failed(nnp, f->no_new_privs);
                nnp->fix = kernel_or(f, rep, CONTROL_NO_NEW_PRIVS, doctor_fix_seccomp);
        }
        /* Dropping is always allowed. */
        set(caps, DOCTOR_YES, "%s", "");
}

static void judge_cgroups(const struct host_facts *f, struct doctor_report *rep) {
        static const struct {
                enum control_id id;
                bool substitute;
        } limits[] = {{CONTROL_CGROUP_MEMORY, true}, {CONTROL_CGROUP_PIDS, true}, {CONTROL_CGROUP_CPU, false}};
        const enum host_controller have[] = {f->memory, f->pids, f->cpu};
        struct doctor_finding *kill = finding(rep, CONTROL_CGROUP_KILL), *freeze = finding(rep, CONTROL_CGROUP_FREEZE);

        for (size_t i = 0; i < ELEMENTSOF(limits); i++) {
                struct doctor_finding *x = finding(rep, limits[i].id);
                if (have[i] != CONTROLLER_NONE)
                        set(x, DOCTOR_YES, "%s%s", have[i] == CONTROLLER_V2 ? "v2" : "v1",
                            have[i] == CONTROLLER_V2 && f->cgroup_evacuate
                                    ? ", once belljar has moved into a group of its own"
                                    : "");
                else {
                        set(x, limits[i].substitute ? DOCTOR_SUBSTITUTE : DOCTOR_NO, "%s",
                            f->cgroup == HOST_CGROUP_NONE ? "no control groups are mounted"
                            : f->cgroup_read_only         ? "control groups are mounted read-only"
                            : f->cgroup_base[0]           ? "the controller is not passed on to this group"
                                                          : "no group here may be written by this user");
                        x->fix = doctor_fix_cgroup(f, rep);
                }
        }
        if (f->cgroup_kill)
                set(kill, DOCTOR_YES, "%s", "");
        else {
                set(kill, DOCTOR_SUBSTITUTE, "%s", "no v2 group with it may be made");
                kill->fix = kernel_or(f, rep, CONTROL_CGROUP_KILL, doctor_fix_cgroup);
        }
        if (f->cgroup_freeze)
                set(freeze, DOCTOR_YES, "%s", "");
        else {
                set(freeze, DOCTOR_NO, "%s", "no group with it may be made");
                freeze->fix = kernel_or(f, rep, CONTROL_CGROUP_FREEZE, doctor_fix_cgroup);
        }
}

static void judge_network(const struct host_facts *f, struct doctor_report *rep) {
        struct doctor_finding *net = finding(rep, CONTROL_NETWORK_REDIRECT), *ns = finding(rep, CONTROL_NET_NAMESPACE);

        if (probe_ok(f->nft))
                set(net, DOCTOR_YES, "tproxy, reject and NFLOG work in a network namespace");
        else if (ns->state == DOCTOR_NO) {
                set(net, DOCTOR_NO, "needs %s", ns->control->name);
                net->fix = ns->fix;
        } else if (f->nft.step == STEP_MODULE && f->nft.err == ENODEV)
                set(net, DOCTOR_YES, "its modules are loaded at the first use; not tried");
        else {
                if (f->nft.step == STEP_MODULE)
                        set(net, DOCTOR_NO, "a module of it is not installed");
                else
                        set_failed(net, f->nft);
                net->fix = kernel_or(f, rep, CONTROL_NETWORK_REDIRECT, doctor_fix_network);
        }
}

static void _printf_(3, 4) note(struct doctor_report *rep, const char *name, const char *fmt, ...) {
        va_list ap;
        if (rep->n_notes == DOCTOR_NOTES_MAX)
                return;
        struct doctor_note *n = &rep->notes[rep->n_notes++];
        n->name = name;
        va_start(ap, fmt);
        vsnprintf(n->text, sizeof(n->text), fmt, ap);
        va_end(ap);
}

static void judge_notes(const struct host_facts *f, struct doctor_report *rep) {
        static const struct {
                const char *name, *kernel;
        } calls[] = {{"pidfd_open", "5.3"}, {"clone3", "5.3"}, {"openat2", "5.6"}, {"close_range", "5.9"}};
        const struct probe_result results[] = {f->pidfd, f->clone3, f->openat2, f->close_range};

        if (f->gvisor)
                note(rep, "gvisor", "this is gVisor: what is said of the kernel here holds for gVisor's own");
        if (f->uid_map_partial)
                note(rep, "user-namespace", "the caller is in a user namespace already, with a part of the host's ids");
        if (f->seccomp_mode)
                note(rep, "seccomp", "a seccomp filter of the surroundings holds as well");
        for (size_t i = 0; i < ELEMENTSOF(calls); i++)
                if (results[i].tried && results[i].err)
                        note(rep, calls[i].name, "absent (Linux %s has it): %s", calls[i].kernel,
                             strerror(results[i].err));
        if (probe_ok(f->seccomp) && f->seccomp_notify.tried && f->seccomp_notify.err)
                note(rep, "seccomp-notify", "absent (Linux 5.0 has it): no trace of what is executed");
        if (f->memfd_noexec == 2)
                note(rep, "memfd-noexec", "vm.memfd_noexec=2: programs that execute a memfd fail, inside as outside");
        if (f->core_pipe)
                note(rep, "core-pattern", "core dumps go to a program of the host; belljar switches dumps off inside");
        if (f->yama > 0)
                note(rep, "yama", "kernel.yama.ptrace_scope=%d", f->yama);
        if (f->apparmor || f->selinux)
                note(rep, "security-module", "%s%s%s%s", f->apparmor ? "AppArmor" : "",
                     f->apparmor && f->selinux ? ", " : "", f->selinux ? "SELinux" : "",
                     f->selinux_enforcing ? " (enforcing)" : "");
}

/* "A, B and 3 more": the controls of one severity; returns how many there are. */
static size_t list_controls(const struct doctor_report *rep, enum doctor_severity severity, char dst[static 80]) {
        size_t n = 0, len = 0, k = 0;
        dst[0] = 0;
        for (size_t i = 0; i < CONTROL_N; i++)
                n += rep->findings[i].severity == severity;
        for (size_t i = 0; i < CONTROL_N; i++) {
                if (rep->findings[i].severity != severity)
                        continue;
                if (k == 2 && n > 2) {
                        snprintf(dst + len, 80 - len, " and %zu more", n - k);
                        break;
                }
                len += (size_t)snprintf(dst + len, 80 - len, "%s%.24s", k ? ", " : "", rep->findings[i].control->name);
                k++;
        }
        return n;
}

static void judge_process(struct doctor_report *rep, struct doctor_tier *t) {
        char list[80];
        bool any = false;

        rep->ok = true;
        for (size_t i = 0; i < CONTROL_N; i++) {
                struct doctor_finding *x = &rep->findings[i];
                bool required = control_required(x->control, TIER_PROCESS);
                x->severity = x->state == DOCTOR_NO           ? (required ? DOCTOR_BLOCKS : DOCTOR_LACKS)
                              : x->state == DOCTOR_SUBSTITUTE && !x->control->later ? DOCTOR_WEAKER
                                                              : DOCTOR_FINE;
                rep->ok &= x->severity != DOCTOR_BLOCKS;
                any |= x->severity != DOCTOR_FINE;
        }
        if (!rep->ok) {
                t->state = DOCTOR_TIER_NO;
                (void)list_controls(rep, DOCTOR_BLOCKS, list);
                snprintf(t->detail, sizeof(t->detail), "lacks %s", list);
        } else if (any) {
                size_t weaker = list_controls(rep, DOCTOR_WEAKER, list), lacks = list_controls(rep, DOCTOR_LACKS, list);
                t->state = DOCTOR_TIER_SUBSTITUTES;
                if (weaker)
                        snprintf(t->detail, sizeof(t->detail), "%zu by a substitute%s%s", weaker,
                                 lacks ? "; without " : "", list);
                else
                        snprintf(t->detail, sizeof(t->detail), "without %s", list);
        } else
                t->state = DOCTOR_TIER_READY;
}

struct have {
        bool has;
        const char *what;
};

/* "the host has A, B; lacks C" */
static void list_have(struct doctor_tier *t, const struct have *h, size_t n) {
        size_t len = 0;
        for (int want = 1; want >= 0; want--)
                for (size_t i = 0, k = 0; i < n && len < sizeof(t->detail); i++)
                        if (h[i].has == want)
                                len += (size_t)snprintf(t->detail + len, sizeof(t->detail) - len, "%s%s",
                                                        k++        ? ", "
                                                        : want     ? "the host has "
                                                        : len == 0 ? "the host lacks "
                                                                   : "; lacks ", h[i].what);
}

/* What the controls come to for a tier that has them all in common with the process tier. */
static enum doctor_tier_state rep_state(const struct doctor_report *rep) { return rep->tiers[0].state; }

static void judge_container(const struct host_facts *f, struct doctor_report *rep, struct doctor_tier *t) {
        bool ids = f->uid == 0 || (f->subuid >= 65536 && f->subgid >= 65536),
             helpers = f->uid == 0 || (f->newuidmap && f->newgidmap);
        bool overlay = rep->findings[CONTROL_OVERLAY].state == DOCTOR_YES;

        list_have(t,
                  (const struct have[]){
                          {rep->ok, "namespaces"}, {overlay, "overlay"}, {ids && helpers, "a range of ids for you"}},
                  3);
        /* With one id an image runs, too, but nothing inside can change to another. */
        t->state = !rep->ok || !overlay ? DOCTOR_TIER_NO : !ids || !helpers ? DOCTOR_TIER_SUBSTITUTES : rep_state(rep);
        if (!helpers)
                t->fixes[0] = doctor_fix_newuidmap(f, rep);
        if (!ids)
                t->fixes[1] = doctor_fix_subids(f, rep);
}

static void judge_vm(const struct host_facts *f, struct doctor_report *rep, struct doctor_tier *t) {
        list_have(t,
                  (const struct have[]){{f->qemu[0], "QEMU"},
                                        {probe_ok(f->kvm), probe_ok(f->kvm) ? "KVM" : "KVM (TCG works, slower)"}},
                  2);
        if (!f->qemu[0])
                t->fixes[0] = doctor_fix_qemu(f, rep);
        if (!probe_ok(f->kvm))
                t->fixes[1] = doctor_fix_kvm(f, rep);
}

void doctor_judge(const struct host_facts *f, struct doctor_report *ret) {
        static const enum tier tiers[DOCTOR_TIERS] = {TIER_PROCESS, TIER_CONTAINER, TIER_MICROVM, TIER_VM};

        memset(ret, 0, sizeof(*ret));
        for (size_t i = 0; i < CONTROL_N; i++)
                ret->findings[i] = (struct doctor_finding){.control = control_get((enum control_id)i), .fix = -1};
        for (size_t i = 0; i < DOCTOR_TIERS; i++)
                ret->tiers[i] = (struct doctor_tier){
                        .tier = tiers[i], .state = DOCTOR_TIER_UNBUILT, .fixes = {-1, -1, -1}};

        judge_namespaces(f, ret);
        judge_locks(f, ret);
        judge_files(f, ret);
        judge_cgroups(f, ret);
        judge_network(f, ret);
        judge_process(ret, &ret->tiers[0]);
        judge_container(f, ret, &ret->tiers[1]);
        judge_vm(f, ret, &ret->tiers[2]);
        judge_vm(f, ret, &ret->tiers[3]);
        judge_notes(f, ret);
        doctor_fix_kernel_done(f, ret);
}
