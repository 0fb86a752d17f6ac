/* Judgement on facts made by hand: hosts that this machine is not. */
#include <jansson.h>

#include "base/host-facts.h"
#include "base/str.h"
#include "model/control.h"
#include "model/doctor.h"
#include "tap.h"

#define OK {.tried = true}
#define FAILED(e, s) ((struct probe_result){.tried = true, .err = (e), .step = (s)})
static const struct probe_result untried = {};

/* A stock distribution of today, logged in at a desktop: everything works. */
static struct host_facts good(void) {
        return (struct host_facts){
                .release = "6.12.43+deb13-amd64",
                .major = 6,
                .minor = 12,
                .os_id = "debian",
                .os_version = "13",
                .user = "ann",
                .uid = 1000,
                .exe = "/usr/bin/belljar",
                .sysctl_userns_clone = 1,
                .sysctl_max_userns = 60000,
                .sysctl_apparmor_userns = -1,
                .memfd_noexec = 0,
                .yama = -1,
                .userns = OK,
                .inner_userns = OK,
                .mount_ns = OK,
                .pid_ns = OK,
                .ipc_ns = OK,
                .uts_ns = OK,
                .net_ns = OK,
                .cgroup_ns = OK,
                .proc_mount = OK,
                .sysfs_mount = OK,
                .nft = OK,
                .overlay = OK,
                .overlay_state = OK,
                .state_dir = "/home/ann/.local/state",
                .state_fs = "ext4",
                .landlock_abi = 6,
                .seccomp = OK,
                .seccomp_notify = OK,
                .no_new_privs = OK,
                .pidfd = OK,
                .clone3 = OK,
                .close_range = OK,
                .openat2 = OK,
                .cgroup = HOST_CGROUP_V2,
                .memory = CONTROLLER_V2,
                .pids = CONTROLLER_V2,
                .cpu = CONTROLLER_V2,
                .cgroup_kill = true,
                .cgroup_freeze = true,
                .systemd = true,
                .systemd_user = true,
                .cgroup_own = "/user.slice/user-1000.slice/user@1000.service/app.slice/t.scope",
                .cgroup_base = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice",
                .subuid = 65536,
                .subgid = 65536,
                .newuidmap = true,
                .newgidmap = true,
                .kvm = OK,
                .kvm_node = true,
                .qemu = "/usr/bin/qemu-system-x86_64",
        };
}

static void userns_fails(struct host_facts *f, int err, enum probe_step step) {
        f->userns = FAILED(err, step);
        f->inner_userns = f->mount_ns = f->pid_ns = f->ipc_ns = f->uts_ns = f->net_ns = f->cgroup_ns = untried;
        f->proc_mount = f->sysfs_mount = f->nft = f->overlay = f->overlay_state = untried;
}

static void no_cgroups(struct host_facts *f) {
        f->memory = f->pids = f->cpu = CONTROLLER_NONE;
        f->cgroup_kill = f->cgroup_freeze = false;
        f->cgroup_base[0] = 0;
}

static struct doctor_report rep;

static enum doctor_state state(enum control_id id) { return rep.findings[id].state; }
static const char *fix_of(enum control_id id) {
        return rep.findings[id].fix < 0 ? "-" : rep.fixes[rep.findings[id].fix].id;
}
static const char *fix_text(const char *id) {
        for (size_t i = 0; i < rep.n_fixes; i++)
                if (streq(rep.fixes[i].id, id))
                        return rep.fixes[i].text;
        return "";
}
static bool has_fix(const char *id) { return fix_text(id)[0] != 0; }

static size_t columns(const char *s, size_t n) {
        size_t c = 0;
        for (size_t i = 0; i < n; i++)
                c += ((unsigned char)s[i] & 0xc0) != 0x80;
        return c;
}

/* Rules that hold for every report: nothing missing goes unsaid, widths, blocks and the exit status agree. */
static void judge(const struct host_facts *f) {
        doctor_judge(f, &rep);
        bool blocked = false;
        for (size_t i = 0; i < CONTROL_N; i++) {
                const struct doctor_finding *x = &rep.findings[i];
                check(x->control == control_get((enum control_id)i));
                if (x->state == DOCTOR_SUBSTITUTE)
                        check(x->control->substitute && !control_required(x->control, TIER_PROCESS));
                if (x->state == DOCTOR_NO || x->state == DOCTOR_SUBSTITUTE)
                        check(x->detail[0] && (x->severity != DOCTOR_FINE || x->control->later));
                if (x->severity == DOCTOR_BLOCKS)
                        check(x->fix >= 0);
                check(x->fix < (int)rep.n_fixes);
                blocked |= x->severity == DOCTOR_BLOCKS;
        }
        check(rep.ok == !blocked);
        check((rep.tiers[0].state == DOCTOR_TIER_NO) == blocked);
        for (size_t i = 0; i < rep.n_fixes; i++) {
                check(rep.fixes[i].text[0] && rep.fixes[i].title[0]);
                check(strlen(rep.fixes[i].text) < sizeof(rep.fixes[i].text) - 1);
        }
        char *text = doctor_text(f, &rep, false);
        check(text);
        check(!strchr(text, '\x1b') && !strstr(text, " \n"));
        size_t lines = 0;
        for (const char *s = text; *s; lines++) {
                size_t n = strcspn(s, "\n");
                if (columns(s, n) > 100)
                        printf("# %zu columns: %.*s\n", columns(s, n), (int)n, s);
                check(columns(s, n) <= 100);
                s += n + (s[n] == '\n');
        }
        check(lines < 120);
        free(text);
        char *json = doctor_json(f, &rep);
        json_error_t e;
        json_t *j = json_loads(json ?: "", JSON_REJECT_DUPLICATES, &e);
        check(j && json_is_boolean(json_object_get(j, "ok")));
        check(json_is_true(json_object_get(j, "ok")) == rep.ok);
        check(json_array_size(json_object_get(j, "controls")) == CONTROL_N);
        check(json_array_size(json_object_get(j, "tiers")) == DOCTOR_TIERS);
        check(json_array_size(json_object_get(j, "fixes")) == rep.n_fixes);
        json_decref(j);
        free(json);
}

TEST(control_table) {
        static const char *const names[] = {
                "user-namespace",  "inner-user-namespace", "mount-namespace",  "pid-namespace", "ipc-namespace",
                "uts-namespace",   "net-namespace",        "cgroup-namespace", "landlock",      "seccomp",
                "no-new-privs",    "capabilities",         "cgroup-memory",    "cgroup-pids",   "cgroup-cpu",
                "cgroup-kill",     "cgroup-freeze",        "disk-quota",       "proc-mount",    "overlay",
                "idmapped-mounts", "network-redirect",
        };
        check(ELEMENTSOF(names) == CONTROL_N);
        for (size_t i = 0; i < CONTROL_N; i++) {
                const struct control *c = control_get((enum control_id)i);
                int major, minor;
                check(c->id == (enum control_id)i && c->meaning && c->loss &&
                      sscanf(c->kernel, "%d.%d", &major, &minor) == 2);
                check_streq(c->name, names[i]);
                check(control_find(names[i]) == c);
                check(strlen(c->loss) <= 53); /* the column of doctor's table */
                check(!c->substitute || strlen(c->substitute) <= 57);
                check(!c->substitute || !control_required(c, TIER_PROCESS)); /* required means: nothing stands in */
        }
        check(!control_find("") && !control_find("userns") && !control_get(CONTROL_N));
        check(!control_required(control_find("overlay"), TIER_PROCESS) &&
              control_required(control_find("overlay"), TIER_CONTAINER));
        check(control_required(control_find("seccomp"), TIER_AUTO) &&
              !control_required(control_find("landlock"), TIER_PROCESS));
        check(control_tier_built(TIER_PROCESS) && !control_tier_built(TIER_VM));
}

TEST(everything_works) {
        struct host_facts f = good();
        judge(&f);
        check(rep.ok && rep.tiers[0].state == DOCTOR_TIER_READY);
        for (size_t i = 0; i < CONTROL_N; i++)
                check(state((enum control_id)i) == (i == CONTROL_DISK_QUOTA        ? DOCTOR_SUBSTITUTE
                                                    : i == CONTROL_IDMAPPED_MOUNTS ? DOCTOR_UNUSED
                                                                                   : DOCTOR_YES));
        check(rep.n_fixes == 0);
        f.uid = 0;
        strcpy(f.user, "root");
        f.idmap = (struct probe_result)OK;
        judge(&f);
        check(rep.ok && rep.tiers[0].state == DOCTOR_TIER_READY && rep.n_fixes == 0);
}

TEST(ubuntu_2404) {
        struct host_facts f = good();
        strcpy(f.os_id, "ubuntu");
        strcpy(f.os_version, "24.04");
        f.major = 6, f.minor = 8;
        f.apparmor = true;
        f.sysctl_apparmor_userns = 1;
        userns_fails(&f, EPERM, STEP_UID_MAP); /* unshare works, the capabilities are then taken away */
        judge(&f);
        check(!rep.ok);
        check_streq(fix_of(CONTROL_USER_NAMESPACE), "userns-apparmor");
        check_streq(fix_of(CONTROL_NET_NAMESPACE), "userns-apparmor");
        check_streq(fix_of(CONTROL_PROC_MOUNT), "userns-apparmor");
        check_streq(fix_of(CONTROL_OVERLAY), "userns-apparmor");
        const char *t = fix_text("userns-apparmor");
        check(strstr(t, "abi <abi/4.0>,\n") && strstr(t, "profile belljar /usr/bin/belljar flags=(unconfined) {\n"));
        check(strstr(t, "  userns,\n") && strstr(t, "apparmor_parser -r /etc/apparmor.d/belljar"));
        check(rep.n_fixes == 1);

        /* A program in a home directory must not be the profile's: its owner can replace it. */
        strcpy(f.exe, "/home/ann/build/belljar");
        judge(&f);
        check(!strstr(fix_text("userns-apparmor"), "/home/ann") &&
              strstr(fix_text("userns-apparmor"), "/usr/bin/belljar flags"));
        strcpy(f.exe, "/usr/{a,b}/x");
        judge(&f);
        check(!strstr(fix_text("userns-apparmor"), "{a,b}"));
        strcpy(f.exe, "/opt/belljar/bin/belljar");
        judge(&f);
        check(strstr(fix_text("userns-apparmor"), "profile belljar /opt/belljar/bin/belljar flags"));

        /* Root is not restricted by it: another cause must be found. */
        f.uid = 0;
        judge(&f);
        check_streq(fix_of(CONTROL_USER_NAMESPACE), "userns-unknown");
        /* But what it makes inside of its first namespace is. */
        f = good();
        f.uid = 0;
        f.sysctl_apparmor_userns = 1;
        f.inner_userns = FAILED(EPERM, STEP_UID_MAP);
        judge(&f);
        check_streq(fix_of(CONTROL_INNER_USER_NAMESPACE), "userns-apparmor");
        f.sysctl_userns_clone = 0;
        f.inner_userns = FAILED(EPERM, STEP_CLONE);
        judge(&f);
        check_streq(fix_of(CONTROL_INNER_USER_NAMESPACE), "userns-sysctl");
}

TEST(debian_11) {
        struct host_facts f = good();
        strcpy(f.release, "5.10.0-30-amd64");
        strcpy(f.os_version, "11");
        f.major = 5, f.minor = 10;
        f.landlock_abi = 0, f.landlock_err = ENOSYS;
        f.overlay = FAILED(EPERM, STEP_MOUNT);
        f.overlay_state = FAILED(EPERM, STEP_MOUNT);
        f.cgroup_kill = false;
        judge(&f);
        check(rep.ok && rep.tiers[0].state == DOCTOR_TIER_SUBSTITUTES);
        check(state(CONTROL_LANDLOCK) == DOCTOR_SUBSTITUTE && state(CONTROL_CGROUP_KILL) == DOCTOR_SUBSTITUTE);
        check(state(CONTROL_OVERLAY) == DOCTOR_NO && state(CONTROL_CGROUP_FREEZE) == DOCTOR_YES);
        check_streq(fix_of(CONTROL_LANDLOCK), "kernel");
        check_streq(fix_of(CONTROL_OVERLAY), "kernel");
        const char *t = fix_text("kernel");
        check(strstr(t, "landlock: from 5.13 on") && strstr(t, "overlay: from 5.11 on") &&
              strstr(t, "cgroup-kill: from 5.14 on"));
        check(!strstr(t, "cgroup-freeze") && strstr(t, "Debian 12"));
        check(strstr(rep.tiers[0].detail, "without overlay"));

        f.sysctl_userns_clone = 0;
        userns_fails(&f, EPERM, STEP_CLONE);
        judge(&f);
        check(!rep.ok);
        check_streq(fix_of(CONTROL_USER_NAMESPACE), "userns-sysctl");
        check(strstr(fix_text("userns-sysctl"), "kernel.unprivileged_userns_clone=1"));
}

TEST(docker_default) {
        struct host_facts f = good();
        f.uid = 0;
        strcpy(f.user, "root");
        f.container = CONTAINER_DOCKER;
        f.seccomp_mode = 2;
        f.systemd = f.systemd_user = false;
        f.cgroup_read_only = true;
        f.kvm = FAILED(ENOENT, STEP_OPEN), f.kvm_node = false;
        strcpy(f.state_fs, "overlay");
        no_cgroups(&f);
        userns_fails(&f, EPERM, STEP_CLONE);
        judge(&f);
        check(!rep.ok);
        check_streq(fix_of(CONTROL_USER_NAMESPACE), "container");
        const char *t = fix_text("container");
        check(strstr(t, "seccomp=unconfined") && strstr(t, "systempaths=unconfined") && strstr(t, "docker run"));
        check_streq(fix_of(CONTROL_CGROUP_PIDS), "cgroup");
        check(strstr(fix_text("cgroup"), "writable-cgroups=true") &&
              strstr(fix_text("cgroup"), "cgroup.subtree_control"));
        f.cgroup_read_only = false;
        judge(&f);
        check(!strstr(fix_text("cgroup"), "docker run") && strstr(fix_text("cgroup"), "cgroup.subtree_control"));
        check(state(CONTROL_CGROUP_PIDS) == DOCTOR_SUBSTITUTE && state(CONTROL_CGROUP_CPU) == DOCTOR_NO);
        check(strstr(fix_text("kvm"), "--device /dev/kvm"));

        /* With seccomp off but /proc still masked. */
        f = good();
        f.container = CONTAINER_DOCKER;
        f.proc_mount = FAILED(EPERM, STEP_MOUNT);
        f.overlay_state = FAILED(EINVAL, STEP_MOUNT);
        strcpy(f.state_fs, "overlay");
        judge(&f);
        check(!rep.ok && state(CONTROL_USER_NAMESPACE) == DOCTOR_YES);
        check_streq(fix_of(CONTROL_PROC_MOUNT), "container");
        check_streq(fix_of(CONTROL_OVERLAY), "overlay-fs");
        f.container = CONTAINER_PODMAN;
        judge(&f);
        check(strstr(fix_text("container"), "podman run") && strstr(fix_text("container"), "unmask=ALL"));
        f.container = CONTAINER_KUBERNETES;
        judge(&f);
        check(strstr(fix_text("container"), "procMount: Unmasked") &&
              strstr(fix_text("container"), "hostUsers: false"));
        f.container = CONTAINER_LXC;
        judge(&f);
        check(strstr(fix_text("container"), "security.nesting=true"));
}

TEST(rootless_without_delegation) {
        struct host_facts f = good();
        no_cgroups(&f);
        judge(&f);
        check(rep.ok && rep.tiers[0].state == DOCTOR_TIER_SUBSTITUTES);
        check(strstr(rep.tiers[0].detail, "without cgroup-cpu, cgroup-freeze"));
        check(strstr(fix_text("cgroup"), "systemd-run --user --scope -q -p Delegate=yes belljar"));
        check(rep.n_fixes == 1);
        f.systemd_user = false; /* by ssh, or su, without a user manager */
        judge(&f);
        check(strstr(fix_text("cgroup"), "loginctl enable-linger ann"));
        strcpy(f.user, "ann; rm -rf /"); /* a name is never pasted into a command as it stands */
        judge(&f);
        check(strstr(fix_text("cgroup"), "enable-linger 1000") && !strstr(fix_text("cgroup"), "rm -rf"));
        f.systemd = false;
        strcpy(f.user, "ann");
        judge(&f);
        check(strstr(fix_text("cgroup"), "belljar-ann"));
        f.cgroup = HOST_CGROUP_HYBRID;
        judge(&f);
        check(strstr(fix_text("cgroup"), "in memory pids cpu unified;"));
        f.cgroup = HOST_CGROUP_NONE;
        judge(&f);
        check(strstr(fix_text("cgroup"), "mount -t cgroup2"));
}

TEST(cpu_not_passed_on) {
        struct host_facts f = good();
        f.cpu = CONTROLLER_NONE;
        judge(&f);
        check(rep.ok && state(CONTROL_CGROUP_CPU) == DOCTOR_NO && state(CONTROL_CGROUP_MEMORY) == DOCTOR_YES);
        check(strstr(fix_text("cgroup"), "Delegate=cpu cpuset io memory pids"));
}

TEST(wsl2) {
        struct host_facts f = good();
        strcpy(f.release, "5.15.167.4-microsoft-standard-WSL2");
        f.major = 5, f.minor = 15;
        f.wsl2 = true;
        f.landlock_abi = 0, f.landlock_err = ENOSYS;
        f.cgroup = HOST_CGROUP_HYBRID;
        f.systemd = f.systemd_user = false;
        no_cgroups(&f);
        judge(&f);
        check(rep.ok);
        check(strstr(fix_text("cgroup"), "cgroup_no_v1=all") && strstr(fix_text("cgroup"), "systemd=true"));
        check(strstr(fix_text("landlock"), "wsl --update"));

        f = good();
        strcpy(f.release, "4.4.0-19041-Microsoft");
        f.major = f.minor = 4;
        f.wsl1 = true;
        userns_fails(&f, EINVAL, STEP_CLONE);
        judge(&f);
        check(!rep.ok);
        check_streq(fix_of(CONTROL_USER_NAMESPACE), "wsl1");
}

TEST(hardened) {
        struct host_facts f = good();
        f.sysctl_max_userns = 0;
        userns_fails(&f, ENOSPC, STEP_CLONE);
        judge(&f);
        check(!rep.ok);
        check_streq(fix_of(CONTROL_USER_NAMESPACE), "userns-max");
        check(strstr(fix_text("userns-max"), "echo user.max_user_namespaces=15000 | sudo tee"));
        f.container = CONTAINER_DOCKER; /* the flag of the container would not help */
        judge(&f);
        check_streq(fix_of(CONTROL_USER_NAMESPACE), "userns-max");
        /* Only the second level is refused. */
        f = good();
        f.inner_userns = FAILED(ENOSPC, STEP_CLONE);
        judge(&f);
        check(!rep.ok && state(CONTROL_MOUNT_NAMESPACE) == DOCTOR_YES);
        check_streq(fix_of(CONTROL_INNER_USER_NAMESPACE), "userns-max");
        check(strstr(fix_text("userns-max"), "=200000")); /* more than the 60,000 that were not enough */
}

/* A security module that refuses mounts, of which nothing is known here. */
TEST(chromeos_like) {
        struct host_facts f = good();
        f.os_id[0] = f.os_version[0] = 0;
        f.sysctl_userns_clone = -1;
        f.mount_ns = FAILED(EPERM, STEP_MOUNT);
        f.proc_mount = f.sysfs_mount = f.overlay = f.overlay_state = untried;
        f.kvm = FAILED(EACCES, STEP_OPEN);
        judge(&f);
        check(!rep.ok);
        check_streq(fix_of(CONTROL_MOUNT_NAMESPACE), "userns-unknown");
        check_streq(fix_of(CONTROL_PROC_MOUNT), "userns-unknown");
        check(strstr(fix_text("userns-unknown"), "dmesg"));
        check(strstr(fix_text("kvm"), "usermod -aG kvm ann"));
}

TEST(other_causes) {
        struct host_facts f = good();
        f.chrooted = true;
        userns_fails(&f, EPERM, STEP_CLONE);
        judge(&f);
        check_streq(fix_of(CONTROL_USER_NAMESPACE), "userns-chroot");
        f = good();
        f.apparmor = true;
        strcpy(f.apparmor_profile, "snap.code.code (enforce)");
        userns_fails(&f, EACCES, STEP_UID_MAP);
        judge(&f);
        check_streq(fix_of(CONTROL_USER_NAMESPACE), "userns-profile");
        strcpy(f.apparmor_profile, "unconfined");
        judge(&f);
        check_streq(fix_of(CONTROL_USER_NAMESPACE), "userns-unknown");
        f = good();
        f.net_ns = FAILED(ENOSPC, STEP_CLONE);
        judge(&f);
        check(!rep.ok && strstr(fix_text("userns-max"), "user.max_net_namespaces=200000"));
        f = good();
        f.selinux = f.selinux_enforcing = true;
        userns_fails(&f, EACCES, STEP_CLONE);
        judge(&f);
        check_streq(fix_of(CONTROL_USER_NAMESPACE), "userns-selinux");
        f = good();
        userns_fails(&f, EINVAL, STEP_CLONE);
        judge(&f);
        check_streq(fix_of(CONTROL_USER_NAMESPACE), "userns-kernel");
        f = good();
        userns_fails(&f, ECHILD, STEP_KILLED);
        judge(&f);
        check_streq(fix_of(CONTROL_USER_NAMESPACE), "userns-seccomp");
        f = good();
        f.seccomp = FAILED(EINVAL, STEP_CALL);
        judge(&f);
        check(!rep.ok);
        check_streq(fix_of(CONTROL_SECCOMP), "seccomp");
        f = good();
        f.landlock_abi = 0, f.landlock_err = EOPNOTSUPP;
        judge(&f);
        check(strstr(fix_text("landlock"), "lsm=landlock,$(cat /sys/kernel/security/lsm)"));
        f = good();
        f.proc_mount = FAILED(EPERM, STEP_MOUNT);
        judge(&f);
        check_streq(fix_of(CONTROL_PROC_MOUNT), "proc-covered");
}

TEST(state_directory) {
        struct host_facts f = good();
        strcpy(f.state_fs, "nfs4");
        f.overlay_state = FAILED(EINVAL, STEP_MOUNT);
        judge(&f);
        check(rep.ok && state(CONTROL_OVERLAY) == DOCTOR_NO);
        check_streq(fix_of(CONTROL_OVERLAY), "overlay-fs");
        check(strstr(rep.findings[CONTROL_OVERLAY].detail, "nfs4"));
        f.overlay_state = FAILED(EACCES, STEP_DIRS); /* not the caller's: nothing was tried */
        judge(&f);
        check(state(CONTROL_OVERLAY) == DOCTOR_YES);
        f.overlay = FAILED(ENODEV, STEP_MODULE);
        f.overlay_state = untried;
        judge(&f);
        check(state(CONTROL_OVERLAY) == DOCTOR_YES && strstr(rep.findings[CONTROL_OVERLAY].detail, "not tried"));
        f.overlay = FAILED(ENODEV, STEP_MOUNT);
        judge(&f);
        check(strstr(fix_text("overlay"), "modprobe overlay"));
}

TEST(container_tier_ids) {
        struct host_facts f = good();
        f.subuid = f.subgid = 0;
        f.newuidmap = false;
        judge(&f);
        check(rep.ok && rep.tiers[1].state == DOCTOR_TIER_SUBSTITUTES);
        check_streq(rep.tiers[1].detail, "the host has namespaces, overlay; lacks a range of ids for you");
        check_streq(rep.tiers[2].detail, "the host has QEMU, KVM");
        check(has_fix("subids") && has_fix("newuidmap"));
        check(strstr(fix_text("subids"), "usermod --add-subuids 524288-589823 --add-subgids 524288-589823 ann"));
        check(strstr(fix_text("newuidmap"), "apt-get install"));
        strcpy(f.os_id, "fedora");
        f.qemu[0] = 0;
        judge(&f);
        check(strstr(fix_text("newuidmap"), "dnf") && strstr(fix_text("qemu"), "dnf install qemu-kvm"));
}

TEST(notes_and_all_wrong) {
        struct host_facts f = {.sysctl_userns_clone = -1, .sysctl_max_userns = -1, .sysctl_apparmor_userns = -1};
        judge(&f); /* nothing known at all */
        check(!rep.ok);
        f = good();
        f.memfd_noexec = 2;
        f.yama = 2;
        f.core_pipe = f.gvisor = f.uid_map_partial = f.apparmor = f.selinux = true;
        f.seccomp_mode = 2;
        f.pidfd = f.clone3 = f.openat2 = f.close_range = FAILED(ENOSYS, STEP_CALL);
        f.nft = FAILED(EPROTONOSUPPORT, STEP_OPEN);
        f.seccomp_notify = FAILED(EOPNOTSUPP, STEP_CALL);
        judge(&f);
        check(rep.ok && rep.n_notes >= 9);
}

/* A host whose kernel cannot do what the network's rules need: everything else runs, and the fix is the distribution's own. */
TEST(network) {
        static const struct {
                struct probe_result nft;
                const char *os, *detail, *text;
        } lacking[] = {
                {{true, ENOENT, STEP_RULES}, "debian", "rules: No such file or directory", "linux-image-amd64"},
                {{true, EPROTONOSUPPORT, STEP_NFLOG}, "fedora", "nflog: Protocol not supported", "kernel-modules-$(uname -r)"},
                {{true, ENOENT, STEP_MODULE}, "ubuntu", "a module of it is not installed", "linux-modules-extra-$(uname -r)"},
                {{true, ECHILD, STEP_KILLED}, "nixos", "the process that tried it was killed", "CONFIG_NFT_TPROXY"},
                {{false, 0, STEP_NONE}, "arch", "not tried", "modprobe -a nft_tproxy"},
        };
        struct host_facts f = good();

        judge(&f);
        check(state(CONTROL_NETWORK_REDIRECT) == DOCTOR_YES && !has_fix("network-redirect"));
        for (size_t i = 0; i < ELEMENTSOF(lacking); i++) {
                f = good();
                f.nft = lacking[i].nft;
                strcpy(f.os_id, lacking[i].os);
                judge(&f);
                check(rep.ok && rep.tiers[0].state == DOCTOR_TIER_SUBSTITUTES);
                check(state(CONTROL_NETWORK_REDIRECT) == DOCTOR_NO && rep.findings[CONTROL_NETWORK_REDIRECT].severity == DOCTOR_LACKS);
                check_streq(rep.findings[CONTROL_NETWORK_REDIRECT].detail, lacking[i].detail);
                check_streq(fix_of(CONTROL_NETWORK_REDIRECT), "network-redirect");
                check(strstr(fix_text("network-redirect"), lacking[i].text) && strstr(fix_text("network-redirect"), "/etc/modules-load.d/belljar.conf"));
        }
        f = good();
        f.nft = FAILED(ENODEV, STEP_MODULE); /* there to be loaded: trying would do that */
        judge(&f);
        check(state(CONTROL_NETWORK_REDIRECT) == DOCTOR_YES && strstr(rep.findings[CONTROL_NETWORK_REDIRECT].detail, "not tried"));
        f.nft = FAILED(EPERM, STEP_CALL);
        f.container = CONTAINER_DOCKER;
        judge(&f);
        check_streq(fix_of(CONTROL_NETWORK_REDIRECT), "container");
        f = good();
        f.major = 4, f.minor = 14;
        f.nft = FAILED(ENOENT, STEP_RULES);
        judge(&f);
        check_streq(fix_of(CONTROL_NETWORK_REDIRECT), "kernel");
        f = good();
        f.net_ns = FAILED(EPERM, STEP_CLONE);
        f.nft = untried;
        judge(&f);
        check(!rep.ok && strstr(rep.findings[CONTROL_NETWORK_REDIRECT].detail, "needs net-namespace"));
        /* Nobody may leave it out: no tier needs it, and a network does. */
        check(control_get(CONTROL_NETWORK_REDIRECT)->with_network && !control_required(control_get(CONTROL_NETWORK_REDIRECT), TIER_PROCESS));
}

/* Names of the host must not steer a terminal, and long ones must not widen the table. */
TEST(hostile_names) {
        struct host_facts f = good();
        memset(f.state_dir, 'x', sizeof(f.state_dir) - 1);
        memcpy(f.state_dir, "/\x1b]0;t\a\xff", 9);
        memset(f.release, 'r', sizeof(f.release) - 1);
        memset(f.os_id, 'o', sizeof(f.os_id) - 1);
        memset(f.os_version, 'v', sizeof(f.os_version) - 1);
        judge(&f);
        f.overlay_state = FAILED(EINVAL, STEP_MOUNT);
        judge(&f);
}

TEST(colour) {
        struct host_facts f = good();
        doctor_judge(&f, &rep);
        char *a = doctor_text(&f, &rep, true), *b = doctor_text(&f, &rep, false);
        check(strstr(a, "\x1b[32myes\x1b[0m"));
        struct strbuf stripped = {};
        for (const char *s = a; *s; s++) {
                if (*s == '\x1b')
                        s = strchr(s, 'm');
                else
                        strbuf_add(&stripped, s, 1);
        }
        check_streq(stripped.data, b); /* colours change nothing else */
        strbuf_clear(&stripped);
        free(a);
        free(b);
}

TAP_MAIN
