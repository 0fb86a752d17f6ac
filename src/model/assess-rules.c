/* What assess may find, and what it says of it: the table of assess-internal.h. Within a severity the report keeps this
 * order: the shortest way out first. Sources: docker run(1) and the compose specification; capabilities(7); the
 * Kubernetes API reference (PodSpec, SecurityContext); the settings references of Claude Code and sandbox-runtime. */
#include "model/assess-internal.h"

#define BELLJAR_FILES                                                                                                  \
        "it sees the host's programs read-only and the workspace under an overlay; changes wait for a look"
#define BELLJAR_NET "a run has no network interface that leads out"
#define BELLJAR_ENV "no variable that may hold a credential is passed on unless it is named"
#define BELLJAR_CAPS "the command has no capability at all, in a user namespace of its own"

const struct rule assess_rules[RULE_N] = {
        /* --- out to the host */
        [RULE_PRIVILEGED] = {"privileged", ASSESS_HIGH, "privileged",
                "a process in {} has every capability and every device: it mounts the host's disk and is root of the "
                "host",
                "take privileged out; add the one device or capability that is needed", "run without --privileged",
                "privileged: false", BELLJAR_CAPS},
        [RULE_SOCKET] = {"engine-socket", ASSESS_HIGH, "the container engine's socket is within reach",
                "a process in {} can start a container with the host's disk mounted: root of the host (a read-only "
                "mount does not "
                "hinder that: it is connected to, not written)",
                "take the mount out; what only lists containers can use a socket proxy that lets GET through", NULL,
                "take the volume out; ask the API server with a narrow role instead",
                "sockets of the host are not in view"},
        [RULE_API_SOCKET] = {"api-socket", ASSESS_HIGH, "use_api_socket",
                "a process in {} gets the engine's socket and the caller's registry credentials: root of the host",
                "take use_api_socket out", NULL, NULL, "sockets of the host are not in view"},
        [RULE_HOST_SOCKET] = {"host-socket", ASSESS_HIGH, "the host's service sockets are within reach",
                "root in {} can ask the host's own services (the engine, systemd, D-Bus, libvirt) to run something as "
                "root of the host",
                "mount the one file that is needed instead", NULL, NULL,
                "sockets of the host are not in view; /run is fresh"},
        [RULE_HOST_ROOT] = {"host-root", ASSESS_HIGH, "the host's whole disk is mounted",
                "a process in {} reads the host's keys and password hashes, and as root connects to the sockets in its "
                "/run; where the mount "
                "is writable it is root of the host",
                "mount the one directory that is needed, read-only", NULL, NULL, BELLJAR_FILES},
        [RULE_HOST_WRITABLE] = {"host-system-writable", ASSESS_HIGH,
                "a path that the host lives by is mounted writable",
                "a process in {} changes what the host runs or trusts (programs, units, keys, kernel settings): the "
                "next one to run it "
                "is the host",
                "mount it read-only (:ro), or a copy of it", NULL, "readOnly: true in volumeMounts, or no hostPath",
                BELLJAR_FILES},
        [RULE_HOST_PID_PTRACE] = {"host-pid-ptrace", ASSESS_HIGH, "the host's processes with SYS_PTRACE",
                "a process in {} reads and writes the memory of the host's processes",
                "take pid: host or SYS_PTRACE out", NULL, "hostPID: false",
                "a pid namespace of its own; ptrace reaches only its own"},
        [RULE_CAP_HOST] = {"capability-host", ASSESS_HIGH, "a capability that amounts to root of the host",
                "a process in {} can use it to leave the container: mount (SYS_ADMIN), load kernel code (SYS_MODULE), "
                "open any file "
                "by its handle (DAC_READ_SEARCH), use I/O ports and raw memory (SYS_RAWIO); ALL is all of them",
                "take it out of cap_add", "run without that --cap-add", "take it out of capabilities.add",
                BELLJAR_CAPS},
        [RULE_HOST_NET_ADMIN] = {"host-net-admin", ASSESS_HIGH, "NET_ADMIN on the host's network",
                "a process in {} changes the host's addresses, routes and firewall",
                "take network_mode: host or NET_ADMIN out", NULL, "hostNetwork: false", BELLJAR_NET},
        [RULE_DEVICE_HOST] = {"device-host", ASSESS_HIGH, "a device that holds the host's disk or memory",
                "a process in {} reads and writes the host's disk or memory below its file systems",
                "take the device out", NULL, NULL, "a /dev of its own, without the host's devices"},
        [RULE_PROC_UNMASKED] = {"proc-unmasked", ASSESS_HIGH, "the kernel's files in /proc are unmasked",
                "root in {} writes /proc/sys and /proc/sysrq-trigger, and by kernel.core_pattern runs a program as "
                "root of the host",
                "take systempaths=unconfined out", NULL, "procMount: Default",
                "a /proc of its own, in a user namespace that owns nothing of the kernel's"},
        [RULE_API_PORT] = {"engine-port", ASSESS_HIGH, "the container engine's API is published",
                "whoever reaches the port of {} without a client certificate starts containers as root of the host",
                "publish it on 127.0.0.1 only, with TLS and client certificates, or not at all", NULL, NULL, NULL},
        [RULE_CLUSTER_ADMIN] = {"cluster-admin", ASSESS_HIGH, "the service account may do everything in the cluster",
                "a process in {} can use its token to start a privileged pod on any node and to read every secret",
                "bind a Role with the verbs and resources that are needed", NULL, NULL,
                "no credential is in the sandbox"},
        [RULE_BYPASS] = {"bypass-permissions", ASSESS_HIGH, "every tool runs without a question (bypassPermissions)",
                "whatever the model decides runs as the user, on the user's files and network",
                "defaultMode: \"default\"; keep bypassPermissions for a disposable machine", NULL, NULL,
                "the command is held whoever asked for it"},
        [RULE_BASH_ALL] = {"bash-any", ASSESS_HIGH, "any shell command is allowed without a question",
                "with no sandbox that must hold, any command that the model writes runs as the user, on the host",
                "name the commands, as Bash(npm run test), and switch sandbox.enabled on with allowUnsandboxedCommands "
                "false",
                NULL, NULL, "the command is held whoever asked for it"},
        [RULE_EXCLUDED_POWER] = {"excluded-powerful", ASSESS_HIGH,
                "a command that can run any other is outside of the sandbox",
                "a command line of that program runs whatever is given to it as the user, on the host (docker: as "
                "root)",
                "take it out of excludedCommands", NULL, NULL, "no command is left outside"},
        [RULE_SETTINGS_SOCKET] = {"sandbox-engine-socket", ASSESS_HIGH,
                "the sandbox may use the container engine's socket",
                "a sandboxed command can start a container with the host's disk mounted: root of the host",
                "take the socket out of allowUnixSockets", NULL, NULL, "sockets of the host are not in view"},
        [RULE_WRITE_HOST] = {"sandbox-writes-host", ASSESS_HIGH, "the sandbox may write what the host runs",
                "a sandboxed command leaves code there that runs outside of the sandbox: at the next login, shell or "
                "program start",
                "take the path out of allowWrite", NULL, NULL, BELLJAR_FILES},

        /* --- data, credentials, neighbours, walls */
        [RULE_SOCKET_USER] = {"engine-socket-user", ASSESS_MEDIUM,
                "the socket of a user's container engine is within reach",
                "a process in {} can start a container with that user's files mounted: it is that user",
                "take the mount out", NULL, NULL, "sockets of the host are not in view"},
        [RULE_HOST_SECRET] = {"host-credentials", ASSESS_MEDIUM, "credentials of the host are mounted",
                "a process in {} reads them and can send them on",
                "take the mount out; give the one credential that is needed, with the least rights", NULL, NULL,
                "homes and credentials are not in view"},
        [RULE_HOST_READ] = {"host-files", ASSESS_MEDIUM, "parts of the host that tell about others are mounted",
                "a process in {} sees what is not its own: files of the host that are open to everybody, its processes "
                "with their "
                "arguments, its terminals or its groups",
                "take the mount out, or mount the one file that is needed, read-only", NULL, NULL, BELLJAR_FILES},
        [RULE_AGENT_SOCKET] = {"agent-socket", ASSESS_MEDIUM, "the user's key agent or display is mounted",
                "a process in {} signs with the user's keys (ssh-agent, gpg-agent), or reads the screen and types "
                "(X11)",
                "take the mount out; use a deploy key for the one repository", NULL, NULL,
                "sockets of the host are not in view"},
        [RULE_HOST_NETWORK] = {"host-network", ASSESS_MEDIUM, "the host's network",
                "a process in {} reaches what listens on the host's 127.0.0.1 and on its abstract sockets, and may "
                "listen as the host",
                "take network_mode: host out; publish the ports", "run without --network host", "hostNetwork: false",
                BELLJAR_NET},
        [RULE_HOST_PID] = {"host-pid", ASSESS_MEDIUM, "the host's processes",
                "a process in {} sees all processes of the host with their arguments, and may signal those of its own "
                "uid",
                "take pid: host out", "run without --pid host", "hostPID: false", "a pid namespace of its own"},
        [RULE_HOST_IPC] = {"host-ipc", ASSESS_MEDIUM, "the host's shared memory",
                "a process in {} reads and writes shared memory and queues of the host's processes, as their modes "
                "allow",
                "ipc: private", "--ipc private", "hostIPC: false", "an ipc namespace of its own"},
        [RULE_HOST_USERNS] = {"host-userns", ASSESS_MEDIUM, "the user namespace is switched off",
                "root in {} is root of the host to the kernel, also where the engine maps ids",
                "take userns_mode: host out", "run without --userns host", "hostUsers: false",
                "two user namespaces, also for root"},
        [RULE_HOST_CGROUP] = {"host-cgroup", ASSESS_MEDIUM, "the host's cgroups",
                "a process in {} sees the whole tree of the host's groups; with a writable /sys/fs/cgroup it freezes "
                "or moves others",
                "cgroup: private", "--cgroupns private", NULL, "a cgroup namespace of its own"},
        [RULE_CAP_WALL] = {"capability", ASSESS_MEDIUM, "a capability that reaches beyond the container",
                "a process in {} may do with it what concerns the host or the neighbours: trace (SYS_PTRACE), "
                "reconfigure or "
                "listen to its networks (NET_ADMIN), read the kernel's log (SYSLOG), set the clock (SYS_TIME), load "
                "BPF",
                "take it out of cap_add if it is not needed", "run without that --cap-add",
                "take it out of capabilities.add", BELLJAR_CAPS},
        [RULE_SECCOMP_OFF] = {"seccomp-off", ASSESS_MEDIUM, "no filter of system calls",
                "a process in {} can use every system call: one kernel bug in a rarely used one is enough to get out",
                "take seccomp=unconfined out, or name a profile that adds the one call", NULL,
                "seccompProfile: {type: RuntimeDefault}", "an allow-list of system calls"},
        [RULE_LSM_OFF] = {"lsm-off", ASSESS_MEDIUM, "AppArmor or SELinux is switched off",
                "a process in {} is no longer kept from the host's files and from /proc and /sys by the second wall",
                "take apparmor=unconfined or label=disable out", NULL, "appArmorProfile: {type: RuntimeDefault}",
                "Landlock on top of the namespaces"},
        [RULE_DEVICE] = {"device", ASSESS_MEDIUM, "a device of the host",
                "a process in {} talks to that driver in the host's kernel", "take the device out if it is not needed",
                NULL, NULL, "a /dev of its own, without the host's devices"},
        [RULE_SECRET_KNOWN] = {"secret-in-file", ASSESS_MEDIUM, "a credential stands in the file",
                "whoever has the file has the credential, and every process in {} that sees it can send it on; its "
                "form says what it is",
                "revoke it; pass a new one from outside of the file", NULL, NULL, BELLJAR_ENV},
        [RULE_SECRET_LITERAL] = {"secret-literal", ASSESS_MEDIUM,
                "a variable that holds a credential has its value in the file",
                "whoever has the file has the credential of {}, and so has every process there and whoever may inspect "
                "the container",
                "secrets: with a file, and NAME_FILE where the program knows it", "--env-file, or a mounted file",
                "valueFrom: secretKeyRef, or a mounted secret", BELLJAR_ENV},
        [RULE_SECRET_ARG] = {"secret-argument", ASSESS_MEDIUM, "a credential among the arguments",
                "every process in {} and every user of the host that lists processes reads it", "pass it in a file",
                NULL, NULL, NULL},
        [RULE_SECRET_LABEL] = {"secret-label", ASSESS_MEDIUM, "a credential in a label",
                "whoever may list containers (monitoring, proxies) reads it from {}", "pass it in a file", NULL, NULL,
                NULL},
        [RULE_SECRET_BUILD] = {"secret-build-arg", ASSESS_MEDIUM, "a credential as a build argument",
                "it stays in the history of the image of {}, for whoever can pull it",
                "build: secrets, and RUN --mount=type=secret", NULL, NULL, NULL},
        [RULE_TOKEN_ROLE] = {"token-role", ASSESS_MEDIUM, "a service account's token with rights of its own",
                "a process in {} can use what the account was given with the API server; its roles say how much that "
                "is",
                "automountServiceAccountToken: false where the API is not used", NULL, NULL,
                "no credential is in the sandbox"},
        [RULE_PORT_STORE] = {"port-store", ASSESS_MEDIUM, "a data store or its console is published on all addresses",
                "whoever reaches the host reaches {}: Docker's rules for published ports come before those of ufw and "
                "the like",
                "\"127.0.0.1:PORT:PORT\", or no ports: at all, as services reach each other without",
                "-p 127.0.0.1:PORT:PORT", "no hostPort; a Service of type ClusterIP", BELLJAR_NET},
        [RULE_BRIDGE] = {"default-bridge", ASSESS_MEDIUM, "the engine's default bridge",
                "{} shares it with every other container that was started without a network of its own: they reach "
                "each other on every port",
                "take network_mode: bridge out, or name a network of its own", "--network with a network of its own",
                NULL, BELLJAR_NET},
        [RULE_EGRESS] = {"no-egress-rule", ASSESS_MEDIUM, "nothing in the file bounds what leaves",
                "a process in {} can send whatever it reads to any address, and fetch what it likes",
                "networks: with internal: true, and one proxy with an allow-list that has a second network",
                "--network none, or an internal network with a proxy",
                "a NetworkPolicy with policyTypes: [Egress] that selects the pod", BELLJAR_NET},
        [RULE_SYSCTL] = {"sysctl", ASSESS_MEDIUM, "kernel settings that Kubernetes counts as unsafe",
                "{} changes settings that are not kept apart from other pods of the node, or are not known to be",
                "take it out of sysctls", NULL, NULL, NULL},
        [RULE_PROJECT_WRITABLE] = {"project-writable", ASSESS_MEDIUM, "the whole project is mounted writable",
                "a process in {} changes what the host runs later: .git/hooks, build files, editor settings, the "
                "compose file itself",
                "mount the part that must be written, and the rest read-only", NULL, NULL, BELLJAR_FILES},
        [RULE_INITIALIZE] = {"initialize-command", ASSESS_MEDIUM, "a command that runs on the host",
                "opening the folder runs it as the user, outside of the container",
                "do it in onCreateCommand or postCreateCommand, which run inside", NULL, NULL, NULL},
        [RULE_SANDBOX_OFF] = {"sandbox-off", ASSESS_MEDIUM, "the sandbox of shell commands is off",
                "a command that is allowed or confirmed runs as the user, on the user's files and network",
                "sandbox: {\"enabled\": true, \"allowUnsandboxedCommands\": false}", NULL, NULL,
                "the command is held whoever asked for it"},
        [RULE_UNSANDBOXED] = {"unsandboxed-retry", ASSESS_MEDIUM, "commands may be run again outside of the sandbox",
                "a command that the sandbox refused can be asked for again without it (dangerouslyDisableSandbox); "
                "then only the "
                "permission rules stand before the host",
                "allowUnsandboxedCommands: false", NULL, NULL, "a refusal stays one; only a person gives --without"},
        [RULE_EXCLUDED] = {"excluded-commands", ASSESS_MEDIUM, "commands that run outside of the sandbox",
                "they run as the user, on the user's files and network, with whatever arguments they are given",
                "take out of excludedCommands what can live without", NULL, NULL, "no command is left outside"},
        [RULE_NESTED] = {"weaker-nested", ASSESS_MEDIUM,
                "the weaker sandbox for containers (enableWeakerNestedSandbox)",
                "the sandbox gets no /proc of its own: sandboxed commands see the processes around it, and only the "
                "container around "
                "the whole still holds",
                "take it out where the sandbox can have its own /proc", NULL, NULL,
                "a required control that is missing stops the run"},
        [RULE_WEAK_NETWORK] = {"weaker-network", ASSESS_MEDIUM,
                "the weaker network isolation (enableWeakerNetworkIsolation)",
                "sandboxed commands reach macOS's trust service, which can carry data out", "take it out", NULL, NULL,
                NULL},
        [RULE_DOMAIN_ALL] = {"domain-any", ASSESS_MEDIUM, "every domain, or a whole suffix, is allowed",
                "a sandboxed command sends whatever it reads to a host that anybody can register under it",
                "name the hosts", NULL, NULL, BELLJAR_NET},
        [RULE_DOMAIN_RELAY] = {"domain-relay", ASSESS_MEDIUM, "an allowed domain on which anybody has a place",
                "a sandboxed command can put data into somebody else's repository, bucket, paste, hook or function "
                "there: a rule by "
                "host name does not see whose it is",
                "leave it out, or allow the paths and methods that are needed in a proxy that reads requests", NULL,
                NULL, BELLJAR_NET},
        [RULE_UNIX_SOCKETS] = {"unix-sockets", ASSESS_MEDIUM, "all Unix sockets are within reach of the sandbox",
                "a sandboxed command can ask the user's services (key agent, D-Bus, container engine) to act outside",
                "allowAllUnixSockets: false", NULL, NULL, "sockets of the host are not in view"},
        [RULE_BASH_RISKY] = {"bash-runs-anything", ASSESS_MEDIUM, "an allowed command that can run any other",
                "its arguments are a program: whatever the model writes there runs without a question",
                "name the whole command, as Bash(npm run test)", NULL, NULL,
                "the command is held whoever asked for it"},
        [RULE_BASH_SENDS] = {"bash-sends-anywhere", ASSESS_MEDIUM, "an allowed command that sends anything anywhere",
                "what the model reads it can send to any address without a question",
                "switch sandbox.enabled on, or name the address in the rule", NULL, NULL, BELLJAR_NET},
        [RULE_READ_SECRETS] = {"secrets-readable", ASSESS_MEDIUM, "the sandbox reads the user's credentials",
                "everything of the user's may be read unless it is denied: keys in ~/.ssh and ~/.aws too, and what is "
                "read can leave "
                "by any allowed domain",
                "denyRead: [\"~/.ssh\", \"~/.aws\", ...], or deny the home and allow what is needed", NULL, NULL,
                "homes and credentials are not in view"},
        [RULE_MCP_ALL] = {"mcp-any", ASSESS_MEDIUM, "every MCP server of a project is trusted",
                "a repository that somebody else wrote starts its own programs on the host, outside of the sandbox",
                "enabledMcpjsonServers with the names", NULL, NULL, NULL},

        /* --- bounds */
        [RULE_USERNS] = {"no-user-namespace", ASSESS_LOW, "no user namespace",
                "root in {} is root of the host to the kernel unless the engine runs rootless or maps ids: what gets "
                "out is root there",
                "run the engine rootless or with userns-remap (the file cannot say it)",
                "dockerd --userns-remap, or rootless", "hostUsers: false", "two user namespaces, also for root"},
        [RULE_SECRET_ENV] = {"secret-in-environment", ASSESS_LOW, "a credential in the environment",
                "every process in {} inherits it, and what it can do anybody can who gets a process there",
                "secrets: with a file, and NAME_FILE where the program knows it", "a mounted file", "a mounted secret",
                BELLJAR_ENV},
        [RULE_SECRET_FILE] = {"secret-file", ASSESS_LOW, "a credential in a file",
                "a process in {} that may read the file can send it on: give it the least rights",
                "a credential for this one use, with an end", NULL, NULL, "no credential is in the sandbox"},
        [RULE_ENV_FILE] = {"env-file", ASSESS_LOW, "a file of variables, which was not read",
                "whatever is in it becomes the environment of every process in {}",
                "name the variables that are needed", NULL, NULL, BELLJAR_ENV},
        [RULE_TOKEN] = {"token", ASSESS_LOW, "a token of the default service account, which nothing asked for",
                "a process in {} can name itself to the API server; what anybody gave the default account it can do",
                "automountServiceAccountToken: false", NULL, NULL, "no credential is in the sandbox"},
        [RULE_PORT_ALL] = {"port-all", ASSESS_LOW, "published on all addresses",
                "whoever reaches the host reaches {}: Docker's rules for published ports come before those of ufw and "
                "the like",
                "\"127.0.0.1:PORT:PORT\" unless it is meant for everybody", "-p 127.0.0.1:PORT:PORT", "no hostPort",
                BELLJAR_NET},
        [RULE_SHARED_NETWORK] = {"shared-network", ASSESS_LOW, "one network for several services",
                "{&} reach each other on every port: who gets a process in one talks to all",
                "a network for each pair that must talk", NULL, NULL, BELLJAR_NET},
        [RULE_DATA_WRITABLE] = {"host-writable", ASSESS_LOW, "directories of the host are mounted writable",
                "a process in {} changes and fills them; what the host later reads there is not to be trusted",
                "a named volume, or :ro", NULL, NULL, BELLJAR_FILES},
        [RULE_CAP_RETURN] = {"capability-net-raw", ASSESS_LOW, "raw sockets",
                "a process in {} forges addresses on its networks", "take NET_RAW out", NULL, NULL, BELLJAR_CAPS},
        [RULE_CAP_DROP] = {"capabilities-kept", ASSESS_LOW, "the engine's default capabilities are kept",
                "root in {} keeps CHOWN, DAC_OVERRIDE, SETUID, NET_RAW, MKNOD and more, of which most programs need "
                "none",
                "cap_drop: [ALL], and back what is needed", "--cap-drop ALL", "capabilities: {drop: [ALL]}",
                BELLJAR_CAPS},
        [RULE_NO_NEW_PRIVS] = {"new-privileges", ASSESS_LOW, "a setuid program gives new privileges",
                "a process of an ordinary user in {} becomes root there by any setuid program of the image",
                "security_opt: [\"no-new-privileges:true\"]", "--security-opt no-new-privileges",
                "allowPrivilegeEscalation: false", "no_new_privs always"},
        [RULE_ROOT] = {"root", ASSESS_LOW, "runs as root", "every bug in {} is a bug of a root process",
                "user: with an ordinary id", "--user with an ordinary id",
                "runAsUser with an ordinary id, runAsNonRoot: true", "the caller's own id, mapped"},
        [RULE_NON_ROOT] = {"may-be-root", ASSESS_LOW, "nothing keeps it from being root",
                "{} runs as whatever the image says, which may be root", "user: with an ordinary id", NULL,
                "runAsNonRoot: true", NULL},
        [RULE_SECCOMP_UNSET] = {"seccomp-unset", ASSESS_LOW, "no filter of system calls is asked for",
                "{} has none unless the node's kubelet sets the default one (seccompDefault)",
                "seccompProfile: {type: RuntimeDefault}", NULL, NULL, "an allow-list of system calls"},
        [RULE_READ_ONLY] = {"writable-root", ASSESS_LOW, "the image's files can be changed",
                "a process in {} changes the programs that run there next",
                "read_only: true, with a tmpfs where it writes", "--read-only", "readOnlyRootFilesystem: true",
                "an overlay that ends with the run"},
        [RULE_LIMITS] = {"limits", ASSESS_LOW, "no limit on memory, processes or CPU",
                "a process in {} takes what the host has: its neighbours stand still or are killed",
                "mem_limit, pids_limit, cpus (or deploy.resources.limits)", "--memory, --pids-limit, --cpus",
                "resources.limits (processes: the kubelet's podPidsLimit)",
                "limits from cgroups, set before the command starts"},
        [RULE_RESTART] = {"restart", ASSESS_LOW, "comes back after it was killed",
                "{} is started again by the engine when it ends, however it ended: stopping a run takes `stop`, not a "
                "kill",
                "restart: \"no\" for what an agent runs in", "--restart no", NULL,
                "a run that was stopped stays stopped"},
        [RULE_IMAGE] = {"image-unpinned", ASSESS_LOW, "an image that changes under its name",
                "{} runs whatever that name stands for on the day", "a version, best with @sha256:", NULL, NULL, NULL},
        [RULE_DOMAIN_WILD] = {"domain-wildcard", ASSESS_LOW, "a wildcard domain",
                "each label under it is a name that a command chooses, and so carries data to whoever runs its name "
                "server",
                "name the hosts", NULL, NULL, BELLJAR_NET},
        [RULE_LOCAL_BINDING] = {"local-binding", ASSESS_LOW, "sandboxed commands may listen on, and reach, localhost",
                "on macOS they reach the host's own services on 127.0.0.1", "allowLocalBinding: false", NULL, NULL,
                NULL},
        [RULE_FAIL_OPEN] = {"fails-open", ASSESS_LOW, "the sandbox may be missing without a stop",
                "where bubblewrap, socat or user namespaces are missing, commands run without it after a warning",
                "failIfUnavailable: true", NULL, NULL, "a required control that is missing stops the run"},
};

static const char *const names[] = {"low", "medium", "high"};

const char *assess_severity_name(enum assess_severity s) { return s <= ASSESS_HIGH ? names[s] : "unknown"; }

int assess_severity_parse(const char *s, enum assess_severity *ret) {
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(s, names[i])) {
                        *ret = (enum assess_severity)i;
                        return 0;
                }
        return -EINVAL;
}
