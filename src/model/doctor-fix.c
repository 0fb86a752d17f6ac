/* The causes that doctor knows and the exact fix for each; see doctor.h. Commands are complete: they can be pasted.
 * Lines stay within 94 bytes (checked by test-doctor). */
#include <stdio.h>

#include "model/doctor.h"

static int find(const struct doctor_report *rep, const char *id) {
        for (size_t i = 0; i < rep->n_fixes; i++)
                if (streq(rep->fixes[i].id, id))
                        return (int)i;
        return -1;
}

static int _printf_(4, 5) add(struct doctor_report *rep, const char *id, const char *title, const char *fmt, ...) {
        va_list ap;
        int i = find(rep, id);
        if (i >= 0)
                return i;
        if (rep->n_fixes == DOCTOR_FIXES_MAX)
                return -1;
        struct doctor_fix *x = &rep->fixes[rep->n_fixes];
        x->id = id;
        snprintf(x->title, sizeof(x->title), "%s", title);
        va_start(ap, fmt);
        vsnprintf(x->text, sizeof(x->text), fmt, ap);
        va_end(ap);
        return (int)rep->n_fixes++;
}

/* The caller for a command line: a name where it is plain, else the number. */
static const char *user(const struct host_facts *f, char dst[static 72]) {
        size_t n = strlen(f->user);
        if (n > 0 && n < 64 && f->user[0] != '-' &&
            strspn(f->user, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n)
                snprintf(dst, 72, "%s", f->user);
        else
                snprintf(dst, 72, "%u", f->uid);
        return dst;
}

static int fix_container(const struct host_facts *f, struct doctor_report *rep) {
        switch (f->container) {
        case CONTAINER_KUBERNETES:
                return add(rep, "container", "the pod's seccomp, AppArmor or masked /proc forbids nested sandboxes",
                           "in the pod's manifest (hostUsers: false keeps the pod off the node's own ids):\n"
                           "  spec:\n"
                           "    hostUsers: false\n"
                           "    containers:\n"
                           "    - securityContext:\n"
                           "        procMount: Unmasked\n"
                           "        seccompProfile: {type: Unconfined}\n"
                           "        appArmorProfile: {type: Unconfined}");
        case CONTAINER_PODMAN:
                return add(rep, "container", "the container's seccomp, labels or masked /proc forbid nested sandboxes",
                           "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL \\\n"
                           "  --security-opt label=disable ...");
        case CONTAINER_LXC:
                return add(rep, "container", "the container is not set up for nesting",
                           "lxc config set NAME security.nesting=true && lxc restart NAME\n"
                           "(plain LXC, in its config file: lxc.include = /usr/share/lxc/config/nesting.conf)");
        case CONTAINER_NONE:
                return -1;
        default:
                return add(rep, "container",
                           "the container's seccomp, AppArmor or masked /proc forbids nested sandboxes",
                           "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined \\\n"
                           "  --security-opt systempaths=unconfined ...\n"
                           "With a seccomp profile of your own instead, allow clone, unshare, setns, mount, umount2,\n"
                           "pivot_root, sethostname and the calls of mount_setattr(2) without a capability.");
        }
}

static int fix_apparmor(const struct host_facts *f, struct doctor_report *rep) {
        /* A profile for a program that users can replace would free all of them: system paths only. */
        bool installed = (str_after(f->exe, "/usr/") || str_after(f->exe, "/opt/")) && strlen(f->exe) < 60 &&
                         f->exe[strcspn(f->exe, " \t\n\"'\\*?[]{}^,@#$`!&;|<>()")] == 0;
        return add(
                rep, "userns-apparmor",
                "AppArmor allows user namespaces only to programs that it knows (Ubuntu 23.10 on)",
                "%s"
                "sudo tee /etc/apparmor.d/belljar >/dev/null <<'END'\n"
                "abi <abi/4.0>,\n"
                "include <tunables/global>\n"
                "\n"
                "profile belljar %s flags=(unconfined) {\n"
                "  userns,\n"
                "  include if exists <local/belljar>\n"
                "}\n"
                "END\n"
                "sudo apparmor_parser -r /etc/apparmor.d/belljar",
                installed ? ""
                          : "# install belljar as /usr/bin/belljar first: no path that users can write may get this\n",
                installed ? f->exe : "/usr/bin/belljar");
}

int doctor_fix_userns(const struct host_facts *f, struct probe_result r, const char *kind, struct doctor_report *rep) {
        bool denied = r.err == EPERM || r.err == EACCES;
        /* Root may make the outer namespace whatever is set; what is made inside of it is no longer root's. */
        bool restricted = f->uid != 0 || probe_ok(f->userns);

        if (f->wsl1)
                return add(rep, "wsl1", "WSL 1 has no namespaces",
                           "in PowerShell: wsl --list --verbose; wsl --set-version DISTRIBUTION 2");
        if (r.err == ENOSPC || r.err == EUSERS || f->sysctl_max_userns == 0) {
                const char *which = f->sysctl_max_userns == 0 ? "user" : kind;
                char title[160];
                snprintf(title, sizeof(title),
                         f->sysctl_max_userns == 0 ? "user.max_%s_namespaces=0 forbids user namespaces"
                                                   : "the limit user.max_%s_namespaces is reached",
                         which);
                return add(rep, "userns-max", title,
                           "echo user.max_%s_namespaces=%d | sudo tee /etc/sysctl.d/60-belljar.conf\n"
                           "sudo sysctl --system", which, f->sysctl_max_userns > 15000 ? 200000 : 15000);
        }
        if (f->chrooted && denied)
                return add(
                        rep, "userns-chroot", "the caller is in a chroot, where the kernel refuses user namespaces",
                        "run belljar outside the chroot, or make the directory the root of a mount namespace:\n"
                        "sudo unshare -m sh -c 'mount --rbind DIR DIR && cd DIR && pivot_root . mnt && exec sh'");
        if (restricted && f->sysctl_userns_clone == 0 && denied)
                return add(rep, "userns-sysctl", "kernel.unprivileged_userns_clone=0 keeps user namespaces for root",
                           "echo kernel.unprivileged_userns_clone=1 | sudo tee /etc/sysctl.d/60-belljar.conf\n"
                           "sudo sysctl --system");
        if (restricted && f->sysctl_apparmor_userns > 0 && denied)
                return fix_apparmor(f, rep);
        if (f->container != CONTAINER_NONE)
                return fix_container(f, rep);
        if (denied && f->apparmor_profile[0] && !str_after(f->apparmor_profile, "unconfined"))
                return add(
                        rep, "userns-profile", "the AppArmor profile in which the caller runs refuses it",
                        "start belljar outside of that profile (cat /proc/self/attr/current names it), or add to it:\n"
                        "  userns,\n"
                        "  capability,\n"
                        "  mount,\n"
                        "  umount,\n"
                        "  pivot_root,");
        if (r.err == EINVAL || r.err == ENOSYS)
                return add(rep, "userns-kernel", "the kernel was built without a namespace that is needed",
                           "boot a kernel with CONFIG_NAMESPACES, CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS,\n"
                           "CONFIG_IPC_NS and CONFIG_UTS_NS; every distribution's stock kernel has them");
        if (f->selinux_enforcing && denied)
                return add(rep, "userns-selinux", "SELinux refuses it",
                           "sudo ausearch -m avc,user_avc -ts recent | audit2allow -M belljar\n"
                           "read belljar.te, then: sudo semodule -i belljar.pp");
        if (f->seccomp_mode || r.step == STEP_KILLED)
                return add(rep, "userns-seccomp", "a seccomp filter of the surroundings refuses it",
                           "start belljar outside the program that set the filter (grep Seccomp /proc/self/status);\n"
                           "in a systemd unit: RestrictNamespaces=no and no SystemCallFilter= that leaves out @mount");
        return add(rep, "userns-unknown", "the kernel refuses it, and none of the known causes is present",
                   "look for the refusal: sudo dmesg | tail; sudo journalctl -k -g 'denied|userns' -n 20\n"
                   "a security module of this system (ls /sys/kernel/security) must allow belljar namespaces");
}

int doctor_fix_proc(const struct host_facts *f, struct doctor_report *rep) {
        int i = fix_container(f, rep);
        if (i >= 0)
                return i;
        return add(rep, "proc-covered",
                   "something is mounted over parts of /proc, so that the kernel allows no new one",
                   "findmnt -R /proc\n"
                   "sudo umount each of these but /proc itself and /proc/sys/fs/binfmt_misc");
}

int doctor_fix_seccomp(const struct host_facts *f, struct doctor_report *rep) {
        int i = fix_container(f, rep);
        if (i >= 0)
                return i;
        return add(rep, "seccomp", "system call filters cannot be set",
                   "boot a kernel with CONFIG_SECCOMP_FILTER; every distribution's stock kernel has it");
}

int doctor_fix_landlock(const struct host_facts *f, struct doctor_report *rep) {
        if (f->wsl2)
                return add(rep, "landlock", "this WSL kernel has no Landlock", "in PowerShell: wsl --update");
        if (f->landlock_err == EOPNOTSUPP)
                return add(rep, "landlock", "Landlock is built in but not switched on",
                           "put landlock first in the boot option lsm= and reboot; on Debian and Ubuntu:\n"
                           "echo \"GRUB_CMDLINE_LINUX=\\\"\\$GRUB_CMDLINE_LINUX \\\n"
                           "lsm=landlock,$(cat /sys/kernel/security/lsm)\\\"\" | sudo tee /etc/default/grub.d/lsm.cfg\n"
                           "sudo update-grub");
        if (f->landlock_err == EPERM && fix_container(f, rep) >= 0)
                return fix_container(f, rep);
        return add(rep, "landlock", "the kernel was built without Landlock",
                   "boot a kernel with CONFIG_SECURITY_LANDLOCK");
}

/* No systemd: root gives the user a group and puts the shell into it. */
static int fix_cgroup_by_hand(const struct host_facts *f, struct doctor_report *rep) {
        static const char title[] = "no control group is delegated to this user";
        char name[72];
        user(f, name);

        if (f->cgroup == HOST_CGROUP_NONE)
                return add(rep, "cgroup", "no control groups are mounted",
                           "sudo mount -t cgroup2 none /sys/fs/cgroup");
        if (f->cgroup == HOST_CGROUP_V2)
                return add(rep, "cgroup", title,
                           "once a boot, then in each shell that starts belljar the last line:\n"
                           "D=/sys/fs/cgroup/belljar-%s; sudo mkdir -p $D/shell\n"
                           "for d in $D/.. $D; do echo +memory +pids +cpu | sudo tee $d/cgroup.subtree_control; done\n"
                           "sudo chown %s $D $D/cgroup.procs $D/cgroup.subtree_control $D/shell $D/shell/cgroup.procs\n"
                           "echo $$ | sudo tee $D/shell/cgroup.procs", name, name);
        return add(rep, "cgroup", title,
                   "for c in memory pids cpu%s; do\n"
                   "  D=/sys/fs/cgroup/$c/belljar-%s; sudo mkdir -p $D\n"
                   "  sudo chown %s $D $D/cgroup.procs; echo $$ | sudo tee $D/cgroup.procs\n"
                   "done\n"
                   "(this shell and what it starts; cgroup v2 alone is better: boot with cgroup_no_v1=all)",
                   f->cgroup == HOST_CGROUP_HYBRID ? " unified" : "", name, name);
}

int doctor_fix_cgroup(const struct host_facts *f, struct doctor_report *rep) {
        if (f->wsl2 && f->cgroup != HOST_CGROUP_V2)
                return add(rep, "cgroup", "WSL mounts version 1 control groups, which only root may use",
                           "in /etc/wsl.conf:            [boot]\n"
                           "                             systemd=true\n"
                           "in %%UserProfile%%\\.wslconfig:  [wsl2]\n"
                           "                             kernelCommandLine = cgroup_no_v1=all\n"
                           "then in PowerShell: wsl --shutdown; and start with\n"
                           "systemd-run --user --scope -q -p Delegate=yes belljar run ...");
        if ((f->container == CONTAINER_PODMAN || f->container == CONTAINER_DOCKER) && f->cgroup != HOST_CGROUP_V2)
                return add(rep, "cgroup", "version 1 control groups cannot be given to a container safely",
                           "boot the container's host with cgroup v2: systemd.unified_cgroup_hierarchy=1");
        if (f->container == CONTAINER_PODMAN || f->container == CONTAINER_DOCKER)
                return add(
                        rep, "cgroup",
                        f->cgroup_read_only
                                ? "the container's control groups are read-only"
                                : "the container's root group holds processes, so that it passes nothing on",
                        "%sin the container, once, as its root:\n"
                        "  cd /sys/fs/cgroup && mkdir -p init\n"
                        "  for p in $(cat cgroup.procs); do echo $p > init/cgroup.procs; done\n"
                        "  echo +memory +pids +cpu > cgroup.subtree_control",
                        !f->cgroup_read_only ? ""
                        : f->container == CONTAINER_PODMAN
                                ? "podman run --cgroupns=private --security-opt unmask=/sys/fs/cgroup ...\n"
                                : "docker run --cgroupns=private --security-opt writable-cgroups=true ...\n"
                                  "(Docker 28 on, not rootless); ");
        if (f->container == CONTAINER_KUBERNETES)
                return add(rep, "cgroup", "the container's control groups are read-only",
                           "limit the pod itself (resources.limits); or, where the node's containerd (2.1 on) has\n"
                           "cgroup_writable = true in the runtime's section, use that runtime class");
        if (f->container == CONTAINER_LXC || f->container == CONTAINER_OTHER)
                return add(rep, "cgroup", "the container's control groups cannot be written",
                           "let the container's manager delegate them (systemd-nspawn does; LXC on a v2 host does)");
        if (f->systemd && f->cgroup != HOST_CGROUP_V2 && f->uid != 0)
                return add(rep, "cgroup", "version 1 control groups cannot be delegated to a user",
                           "boot with systemd.unified_cgroup_hierarchy=1 (add it to GRUB_CMDLINE_LINUX in\n"
                           "/etc/default/grub, then sudo update-grub and reboot)");
        if (f->systemd && f->systemd_user && f->cgroup_base[0])
                return add(rep, "cgroup", "the user manager does not pass every controller on",
                           "sudo mkdir -p /etc/systemd/system/user@.service.d\n"
                           "printf '[Service]\\nDelegate=cpu cpuset io memory pids\\n' |\n"
                           "  sudo tee /etc/systemd/system/user@.service.d/delegate.conf\n"
                           "sudo systemctl daemon-reload        (then log in again), and start belljar with\n"
                           "systemd-run --user --scope -q -p Delegate=yes belljar run ...");
        if (f->systemd && f->uid == 0)
                return add(rep, "cgroup", "no group with the controllers is free here",
                           "systemd-run --scope -q -p Delegate=yes belljar run ...");
        if (f->systemd && f->systemd_user)
                return add(rep, "cgroup", "no control group is delegated to this session",
                           "systemd-run --user --scope -q -p Delegate=yes belljar run ...\n"
                           "for a service, in its unit: Delegate=yes");
        if (f->systemd) {
                char name[72];
                return add(rep, "cgroup", "no user manager runs for this user, so that no control group is delegated",
                           "sudo loginctl enable-linger %s\n"
                           "systemd-run --user --scope -q -p Delegate=yes belljar run ...", user(f, name));
        }
        return fix_cgroup_by_hand(f, rep);
}

int doctor_fix_overlay(const struct host_facts *f, struct doctor_report *rep) {
        if (probe_ok(f->overlay))
                return add(rep, "overlay-fs",
                           "the state directory's file system cannot be the upper layer of an overlay",
                           "keep the state on ext4, xfs, btrfs or tmpfs (not NFS, FUSE or another overlay):\n"
                           "export XDG_STATE_HOME=/a/directory/on/such/a/file/system\n"
                           "in a container: mount a volume there (-v belljar-state:/root/.local/state)");
        if (f->overlay.err == ENODEV)
                return add(rep, "overlay", "the kernel has no overlay file system",
                           "sudo modprobe overlay && echo overlay | sudo tee /etc/modules-load.d/belljar.conf\n"
                           "where there is no such module: a kernel with CONFIG_OVERLAY_FS");
        int i = fix_container(f, rep);
        return i >= 0 ? i
                      : add(rep, "overlay", "the kernel refuses overlay in a user namespace",
                            "look for the refusal: sudo dmesg | grep -i -e overlay -e denied | tail");
}

int doctor_fix_idmap(const struct host_facts *f, struct doctor_report *rep) {
        return add(rep, "idmap", "this file system takes no id-mapped mounts",
                   "keep workspaces on ext4, xfs, btrfs or tmpfs; or run belljar as the workspace's owner");
}

int doctor_fix_subids(const struct host_facts *f, struct doctor_report *rep) {
        char name[72];
        return add(rep, "subids", "no range of 65,536 ids is granted to this user (/etc/subuid, /etc/subgid)",
                   "sudo usermod --add-subuids 524288-589823 --add-subgids 524288-589823 %s\n"
                   "(choose another range when grep 524288 /etc/subuid finds it taken)", user(f, name));
}

static bool is_os(const struct host_facts *f, const char *a, const char *b, const char *c) {
        return streq(f->os_id, a) || streq(f->os_id, b) || streq(f->os_id, c);
}

/* No command of belljar's loads modules, and in a container or with modules locked nobody's does. */
int doctor_fix_network(const struct host_facts *f, struct doctor_report *rep) {
        if ((f->nft.err == EPERM || f->nft.err == EACCES) && f->container != CONTAINER_NONE)
                return fix_container(f, rep);
        if (f->gvisor)
                return add(rep, "network-redirect", "gVisor's own network has no tproxy", "run belljar outside of gVisor");
        return add(rep, "network-redirect", "the kernel has no nftables with tproxy, reject and NFLOG, or has not loaded them",
                   "%s"
                   "printf '%%s\\n' nft_tproxy nft_reject_ipv4 nft_reject_ipv6 nft_limit nft_log nfnetlink_log |\n"
                   "  sudo tee /etc/modules-load.d/belljar.conf\n"
                   "sudo modprobe -a nft_tproxy nft_reject_ipv4 nft_reject_ipv6 nft_limit nft_log nfnetlink_log\n"
                   "%s"
                   "A kernel of your own needs CONFIG_NF_TABLES, CONFIG_NFT_TPROXY, CONFIG_NFT_REJECT,\n"
                   "CONFIG_NFT_LIMIT, CONFIG_NFT_LOG, CONFIG_NETFILTER_NETLINK_LOG, and IPv4 and IPv6 in each.",
                   f->container != CONTAINER_NONE ? "# on the host of the container, whose kernel it is:\n" : "",
                   is_os(f, "fedora", "rhel", "centos") ? "# modprobe finds none: sudo dnf install kernel-modules-$(uname -r)\n"
                   : is_os(f, "ubuntu", "ubuntu", "ubuntu")
                           ? "# modprobe finds none: sudo apt-get install linux-modules-extra-$(uname -r)\n"
                   : is_os(f, "debian", "debian", "debian") ? "# modprobe finds none: sudo apt-get install linux-image-amd64, and boot it\n"
                   : is_os(f, "arch", "alpine", "gentoo")   ? "# modprobe finds none: the kernel was upgraded and not booted yet\n"
                                                            : "");
}

int doctor_fix_newuidmap(const struct host_facts *f, struct doctor_report *rep) {
        return add(rep, "newuidmap", "newuidmap and newgidmap are missing, or have no right to map ids", "%s",
                   is_os(f, "fedora", "rhel", "centos")
                           ? "sudo dnf reinstall shadow-utils || sudo dnf install shadow-utils"
                   : is_os(f, "arch", "alpine", "gentoo")
                           ? "install shadow (Alpine: shadow-uidmap) by the package manager"
                           : "sudo apt-get install --reinstall uidmap");
}

int doctor_fix_kvm(const struct host_facts *f, struct doctor_report *rep) {
        char name[72];
        if (f->kvm_node && (f->kvm.err == EACCES || f->kvm.err == EPERM))
                return add(rep, "kvm", "/dev/kvm is there but not for this user",
                           "sudo usermod -aG kvm %s        (then log in again)", user(f, name));
        if (f->container != CONTAINER_NONE)
                return add(rep, "kvm", "the container has no /dev/kvm", "run it with --device /dev/kvm");
        if (f->kvm.step == STEP_MODULE)
                return add(rep, "kvm", "KVM is not loaded", "sudo modprobe kvm_intel || sudo modprobe kvm_amd");
        if (f->wsl2)
                return add(rep, "kvm", "there is no KVM",
                           "in %%UserProfile%%\\.wslconfig, section [wsl2]: nestedVirtualization=true;\n"
                           "then in PowerShell: wsl --shutdown");
        return add(rep, "kvm", "there is no KVM",
                   "switch virtualisation on in the firmware; in a virtual machine, nested virtualisation on its\n"
                   "host; then sudo modprobe kvm_intel || sudo modprobe kvm_amd");
}

int doctor_fix_qemu(const struct host_facts *f, struct doctor_report *rep) {
        return add(rep, "qemu", "QEMU is not installed", "%s",
                   is_os(f, "fedora", "rhel", "centos") ? "sudo dnf install qemu-kvm"
                   : is_os(f, "arch", "arch", "arch")   ? "sudo pacman -S qemu-base"
                   : is_os(f, "alpine", "alpine", "alpine")
                           ? "sudo apk add qemu-system-x86_64"
                           : "sudo apt-get install qemu-system-x86 (arm64: qemu-system-arm)");
}

int doctor_fix_kernel(const struct host_facts *f, struct doctor_report *rep) {
        char title[160];
        snprintf(title, sizeof(title), "the kernel is %d.%d, and newer ones have more", f->major, f->minor);
        return add(rep, "kernel", title, "%s", "");
}

void doctor_fix_kernel_done(const struct host_facts *f, struct doctor_report *rep) {
        int fix = find(rep, "kernel");
        if (fix < 0)
                return;
        struct doctor_fix *x = &rep->fixes[fix];
        size_t len = 0;
        for (size_t i = 0; i < CONTROL_N && len < sizeof(x->text); i++) {
                const struct control *c = rep->findings[i].control;
                if (rep->findings[i].fix == fix)
                        len += (size_t)snprintf(x->text + len, sizeof(x->text) - len, "%s%s: from %s on",
                                                len ? "\n" : "", c->name, c->kernel);
        }
        if (len < sizeof(x->text))
                snprintf(x->text + len, sizeof(x->text) - len, "%s%s", len ? "\n" : "",
                         is_os(f, "debian", "debian", "debian")
                                 ? "Debian 12 has 6.1, its backports and Debian 13 have 6.12"
                         : is_os(f, "ubuntu", "ubuntu", "ubuntu")
                                 ? "sudo apt-get install linux-generic-hwe-$(. /etc/os-release; echo $VERSION_ID)"
                                 : "any distribution of 2023 or later has 6.1 or later");
}
