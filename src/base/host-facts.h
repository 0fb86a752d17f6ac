/* What a host can do, as plain data: sys/probe.c fills it, model/doctor.c judges it, tests make it by hand. It stands
 * in base because the pure layers do not see sys. Nothing here is owned; everything fits on a stack. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The part of a probe that failed first. */
enum probe_step {
        STEP_NONE,
        STEP_FORK,      /* the probe's own child */
        STEP_KILLED,    /* the child was killed: a seccomp filter that kills, or memory ran out */
        STEP_CLONE,     /* making the namespace */
        STEP_SETGROUPS, /* writing "deny" */
        STEP_UID_MAP,
        STEP_GID_MAP,
        STEP_SETID, /* becoming the mapped id */
        STEP_DIRS,  /* directories for the probe */
        STEP_MOUNT,
        STEP_WRITE,    /* copy-up */
        STEP_WHITEOUT, /* mknod c 0 0, or the whiteout of a removed file */
        STEP_XATTR,
        STEP_OPEN,
        STEP_CALL,   /* the system call itself */
        STEP_MODULE, /* the kernel module is not loaded and trying would load it; ENOENT: there is none to load */
        STEP_RULES,  /* of nftables */
        STEP_NFLOG,
        STEP_N
};
/* "uid_map" and the like, for people and JSON. */
static inline const char *probe_step_name(enum probe_step s) {
        static const char *const names[STEP_N] = {
                "none", "fork", "killed", "clone", "setgroups", "uid_map", "gid_map", "setid", "directories",
                "mount", "copy-up", "whiteout", "xattr", "open", "call", "module", "rules", "nflog",
        };
        return s < STEP_N ? names[s] : "unknown";
}

struct probe_result {
        bool tried;           /* false: not looked at, or something before it failed */
        int err;              /* positive errno; 0: it works (when tried) */
        enum probe_step step; /* where err came from */
};
static inline bool probe_ok(struct probe_result r) { return r.tried && r.err == 0; }

enum host_container {
        CONTAINER_NONE,
        CONTAINER_DOCKER,
        CONTAINER_PODMAN,
        CONTAINER_KUBERNETES,
        CONTAINER_LXC,
        CONTAINER_OTHER
};
static inline const char *host_container_name(enum host_container c) {
        static const char *const names[] = {"none", "docker", "podman", "kubernetes", "lxc", "other"};
        return c <= CONTAINER_OTHER ? names[c] : "other";
}

/* As enum cgroup_mode of sys/cgroup-find.h. */
enum host_cgroup { HOST_CGROUP_NONE, HOST_CGROUP_V1, HOST_CGROUP_HYBRID, HOST_CGROUP_V2 };
static inline const char *host_cgroup_name(enum host_cgroup c) {
        static const char *const names[] = {"none", "v1", "hybrid", "v2"};
        return c <= HOST_CGROUP_V2 ? names[c] : "none";
}

/* How a limit of one controller can be set. */
enum host_controller { CONTROLLER_NONE, CONTROLLER_V1, CONTROLLER_V2 };

struct host_facts {
        char release[96];    /* uname -r */
        int major, minor;    /* of it */
        char os_id[32];      /* ID of os-release: "ubuntu"; "" unknown */
        char os_version[32]; /* VERSION_ID */
        char user[64];       /* login name; "" unknown */
        uint32_t uid;        /* effective */
        char exe[256];       /* path of the running belljar, for an AppArmor profile; "" unknown */

        /* Surroundings. */
        enum host_container container;
        bool uid_map_partial; /* the caller itself lives in a user namespace that maps not all ids */
        bool chrooted;        /* "/" is no mount: user namespaces are refused then (clone(2), EPERM) */
        bool wsl1, wsl2, gvisor;
        int seccomp_mode;     /* of the caller: 0 none, 2 filter */
        bool caller_no_new_privs;
        int sysctl_userns_clone;    /* kernel.unprivileged_userns_clone; -1: absent */
        int64_t sysctl_max_userns;  /* user.max_user_namespaces; -1: absent */
        int sysctl_apparmor_userns; /* kernel.apparmor_restrict_unprivileged_userns; -1: absent */
        int memfd_noexec;           /* vm.memfd_noexec; -1: absent */
        int yama;                   /* kernel.yama.ptrace_scope; -1: absent */
        bool core_pipe;             /* core_pattern pipes to a program */
        bool apparmor, selinux, selinux_enforcing;
        char apparmor_profile[96]; /* of the caller; "" or "unconfined" */

        /* Namespaces: each made inside the first user namespace. */
        struct probe_result userns, inner_userns, mount_ns, pid_ns, ipc_ns, uts_ns, net_ns, cgroup_ns;
        struct probe_result proc_mount;  /* procfs in a new pid namespace */
        struct probe_result sysfs_mount; /* sysfs in a new network namespace */
        struct probe_result nft;         /* a sandbox's routes, rules and sockets in a new network namespace */

        /* Overlay in a user namespace, with userxattr, copy-up and whiteout. */
        struct probe_result overlay;       /* on a tmpfs: what the kernel can do */
        struct probe_result overlay_state; /* on the state directory's file system */
        char state_dir[256];               /* the nearest directory of it that exists */
        char state_fs[32];                 /* its file system: "ext4" */
        bool state_quota;                  /* mounted with project quotas */
        struct probe_result idmap;         /* an id-mapped clone of the state directory; root only */

        /* System calls. */
        int landlock_abi; /* 0: none */
        int landlock_err; /* positive errno where it is 0: ENOSYS not built in, EOPNOTSUPP not switched on */
        struct probe_result seccomp, seccomp_notify, no_new_privs, pidfd, clone3, close_range, openat2;

        /* Control groups. */
        enum host_cgroup cgroup;
        enum host_controller memory, pids, cpu;
        bool cgroup_kill;      /* a v2 group can be made, and the kernel has cgroup.kill */
        bool cgroup_freeze;    /* likewise; a v1 freezer does not count: its frozen tasks ignore SIGKILL */
        bool cgroup_evacuate;  /* the limits want belljar's own group emptied first; it does that */
        bool cgroup_read_only; /* the v2 tree, else v1's memory tree, is mounted read-only */
        bool systemd;          /* systemd runs this host */
        bool systemd_user;     /* the caller has a user manager that can be asked */
        char cgroup_own[256];  /* own v2 (else v1 memory) path */
        char cgroup_base[256]; /* directory that child groups go to; "" none */

        /* Ids for the container tier. */
        uint64_t subuid, subgid; /* ids granted to the caller in /etc/subuid and /etc/subgid */
        bool newuidmap, newgidmap; /* present and privileged */

        /* Virtual machines. */
        struct probe_result kvm;
        bool kvm_node;  /* /dev/kvm exists */
        char qemu[128]; /* path of qemu-system-ARCH; "" none */
};
