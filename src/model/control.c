/* The table of controls; see control.h. Kernel versions: namespaces(7), cgroups(7), landlock(7), seccomp(2),
 * Documentation/filesystems/overlayfs.rst ("userxattr"), mount_setattr(2). Debian and others carry some earlier. */
#include <stdio.h>
#include <string.h>

#include "model/control.h"

#define ALL (CONTROL_IN_PROCESS | CONTROL_IN_CONTAINER)

static const struct control controls[CONTROL_N] = {
        [CONTROL_USER_NAMESPACE] = {
                .id = CONTROL_USER_NAMESPACE, .name = "user-namespace", .required = ALL, .kernel = "3.8",
                .meaning = "an outer user namespace owns all other namespaces and holds PID 1",
                .loss = "the sandbox: nothing else can be made without it",
        },
        [CONTROL_INNER_USER_NAMESPACE] = {
                .id = CONTROL_INNER_USER_NAMESPACE, .name = "inner-user-namespace", .required = ALL, .kernel = "3.8",
                .meaning = "the payload runs in a second user namespace, without rights over the first",
                .loss = "the wall between the payload and PID 1 of its sandbox",
        },
        [CONTROL_MOUNT_NAMESPACE] = {
                .id = CONTROL_MOUNT_NAMESPACE, .name = "mount-namespace", .required = ALL, .kernel = "3.8",
                .meaning = "an own view of files: what is not in it cannot be named",
                .loss = "the view: every file of the user is in reach",
        },
        [CONTROL_PID_NAMESPACE] = {
                .id = CONTROL_PID_NAMESPACE, .name = "pid-namespace", .required = ALL, .kernel = "3.8",
                .meaning = "other processes have no number inside; the end of PID 1 ends all",
                .loss = "hidden processes, and an end that takes all with it",
        },
        [CONTROL_IPC_NAMESPACE] = {
                .id = CONTROL_IPC_NAMESPACE, .name = "ipc-namespace", .required = ALL, .kernel = "3.8",
                .meaning = "own System V objects and message queues",
                .loss = "shared memory and message queues of its own",
        },
        [CONTROL_UTS_NAMESPACE] = {
                .id = CONTROL_UTS_NAMESPACE, .name = "uts-namespace", .required = ALL, .kernel = "3.8",
                .meaning = "an own host name",
                .loss = "a host name of its own",
        },
        [CONTROL_NET_NAMESPACE] = {
                .id = CONTROL_NET_NAMESPACE, .name = "net-namespace", .required = ALL, .kernel = "3.8",
                .meaning = "no interface leads out",
                .loss = "the closed network",
        },
        [CONTROL_CGROUP_NAMESPACE] = {
                .id = CONTROL_CGROUP_NAMESPACE, .name = "cgroup-namespace", .kernel = "4.6",
                .meaning = "the sandbox sees its own control group as the root",
                .loss = "hidden names of the host's control groups",
        },
        [CONTROL_LANDLOCK] = {
                .id = CONTROL_LANDLOCK, .name = "landlock", .kernel = "5.13",
                .meaning = "a second lock on files, ports and signals, by the kernel's own rules",
                .loss = "a second lock on files, ports and signals",
                .substitute = "the mount view itself bounds which files exist",
        },
        [CONTROL_SECCOMP] = {
                .id = CONTROL_SECCOMP, .name = "seccomp", .required = ALL, .kernel = "3.17",
                .meaning = "an allow-list of system calls",
                .loss = "the allow-list: every system call is open to attack",
        },
        [CONTROL_NO_NEW_PRIVS] = {
                .id = CONTROL_NO_NEW_PRIVS, .name = "no-new-privs", .required = ALL, .kernel = "3.5",
                .meaning = "set-uid programs and file capabilities give nothing",
                .loss = "the lock on set-uid programs",
        },
        [CONTROL_CAPABILITIES] = {
                .id = CONTROL_CAPABILITIES, .name = "capabilities", .required = ALL, .kernel = "2.6.25",
                .meaning = "no capability in any set; for an image's root a few over the image's own ids, none over the rest",
                .loss = "the empty capability sets",
        },
        [CONTROL_CGROUP_MEMORY] = {
                .id = CONTROL_CGROUP_MEMORY, .name = "cgroup-memory", .kernel = "4.5",
                .meaning = "memory of all processes together is bounded by the kernel",
                .loss = "an exact bound on memory",
                .substitute = "sampled memory, RLIMIT_DATA, a guard on free memory",
        },
        [CONTROL_CGROUP_PIDS] = {
                .id = CONTROL_CGROUP_PIDS, .name = "cgroup-pids", .kernel = "4.5",
                .meaning = "the number of processes and threads is bounded by the kernel",
                .loss = "the kernel's count of processes and threads",
                .substitute = "RLIMIT_NPROC in the sandbox's own user namespace",
        },
        [CONTROL_CGROUP_CPU] = {
                .id = CONTROL_CGROUP_CPU, .name = "cgroup-cpu", .kernel = "4.15",
                .meaning = "CPU time of all processes together is bounded by the kernel",
                .loss = "the cpu limit: a policy that sets one is refused",
        },
        [CONTROL_CGROUP_KILL] = {
                .id = CONTROL_CGROUP_KILL, .name = "cgroup-kill", .kernel = "5.14",
                .meaning = "one write ends every process at once",
                .loss = "the shortest stop (200 busy processes: 5 ms, not 200)",
                .substitute = "PID 1 is killed, and the kernel ends the rest",
        },
        [CONTROL_CGROUP_FREEZE] = {
                .id = CONTROL_CGROUP_FREEZE, .name = "cgroup-freeze", .kernel = "5.2",
                .meaning = "pause and hold stop every process between two instructions",
                .loss = "pause and hold: an alarm can only end the run",
        },
        [CONTROL_DISK_QUOTA] = {
                .id = CONTROL_DISK_QUOTA, .name = "disk-quota", .later = true, .kernel = "4.5",
                .meaning = "bytes that a run adds are bounded by the file system (project quota)",
                .loss = "an exact bound on disk use",
                .substitute = "sampled size of what was written, RLIMIT_FSIZE a file",
        },
        [CONTROL_PROC_MOUNT] = {
                .id = CONTROL_PROC_MOUNT, .name = "proc-mount", .required = ALL, .kernel = "3.8",
                .meaning = "a /proc that shows the sandbox's own processes only",
                .loss = "a /proc of its own",
        },
        [CONTROL_OVERLAY] = {
                .id = CONTROL_OVERLAY, .name = "overlay", .required = CONTROL_IN_CONTAINER, .kernel = "5.11",
                .meaning = "the workspace mode cow: changes are kept apart and reviewed",
                .loss = "the workspace mode cow (diff, discard, hide)",
        },
        [CONTROL_IDMAPPED_MOUNTS] = {
                .id = CONTROL_IDMAPPED_MOUNTS, .name = "idmapped-mounts", .kernel = "5.12",
                .meaning = "run by root: a workspace that root owns belongs to the sandbox's user inside",
                .loss = "runs by root on a workspace that root owns",
        },
        [CONTROL_NETWORK_REDIRECT] = {
                .id = CONTROL_NETWORK_REDIRECT, .name = "network-redirect", .with_network = true, .kernel = "4.19",
                .meaning = "nftables hands every connection to the gate or refuses it (tproxy, reject, NFLOG)",
                .loss = "the network policy: runs that have one are refused",
        },
};

const struct control *control_get(enum control_id id) {
        return (unsigned)id < CONTROL_N ? &controls[id] : NULL;
}

const struct control *control_find(const char *name) {
        for (size_t i = 0; i < CONTROL_N; i++)
                if (streq(controls[i].name, name))
                        return &controls[i];
        return NULL;
}

bool control_required(const struct control *c, enum tier tier) {
        static const unsigned bits[] = {
                [TIER_AUTO] = CONTROL_IN_PROCESS, [TIER_PROCESS] = CONTROL_IN_PROCESS,
                [TIER_CONTAINER] = CONTROL_IN_CONTAINER, [TIER_MICROVM] = CONTROL_IN_MICROVM, [TIER_VM] = CONTROL_IN_VM,
        };
        return (unsigned)tier < ELEMENTSOF(bits) && (c->required & bits[tier]);
}

bool control_tier_built(enum tier tier) { return tier <= TIER_CONTAINER; }

/* By their numbers, linux/capability.h. */
static const char *const capability_names[] = {
        "chown", "dac_override", "dac_read_search", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap",
        "linux_immutable", "net_bind_service", "net_broadcast", "net_admin", "net_raw", "ipc_lock", "ipc_owner",
        "sys_module", "sys_rawio", "sys_chroot", "sys_ptrace", "sys_pacct", "sys_admin", "sys_boot", "sys_nice",
        "sys_resource", "sys_time", "sys_tty_config", "mknod", "lease", "audit_write", "audit_control", "setfcap",
        "mac_override", "mac_admin", "syslog", "wake_alarm", "block_suspend", "audit_read", "perfmon", "bpf",
        "checkpoint_restore",
};

const char *capabilities_format(char dst[CAPABILITIES_TEXT], uint64_t bits) {
        size_t n = 0;

        if ((bits & ALL_CAPABILITIES) == ALL_CAPABILITIES) {
                snprintf(dst, CAPABILITIES_TEXT, "all");
                return dst;
        }
        dst[0] = 0;
        for (unsigned i = 0; i < 64 && n < CAPABILITIES_TEXT; i++) {
                if (!(bits >> i & 1))
                        continue;
                const char *comma = n ? "," : "";
                n += (size_t)(i < ELEMENTSOF(capability_names)
                                      ? snprintf(dst + n, CAPABILITIES_TEXT - n, "%s%s", comma, capability_names[i])
                                      : snprintf(dst + n, CAPABILITIES_TEXT - n, "%s%u", comma, i));
        }
        if (n == 0)
                snprintf(dst, CAPABILITIES_TEXT, "none");
        return dst;
}

uint64_t capabilities_parse(const char *text) {
        uint64_t bits = streq(text, "all") ? ALL_CAPABILITIES : 0;

        for (const char *p = text; *p; p += strcspn(p, ","), p += *p == ',')
                for (unsigned i = 0; i < ELEMENTSOF(capability_names); i++)
                        if (strlen(capability_names[i]) == strcspn(p, ",") && strncmp(p, capability_names[i], strcspn(p, ",")) == 0)
                                bits |= 1ull << i;
        return bits;
}
