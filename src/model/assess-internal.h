/* Shared by the parts of assess (assess.h) and included by nothing else. The readers (assess-compose.c,
 * assess-inspect.c, assess-pod.c, assess-devcontainer.c) put what a file says about each container into a `struct
 * unit`; assess-judge.c makes findings of that, by the rules of assess-rules.c. Settings of other sandboxes
 * (assess-settings.c) make their findings themselves. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "model/assess.h"
#include "proto/yaml.h"

/* More than any real file has; beyond them the file is refused, with a reason. */
#define ASSESS_UNITS_MAX 2000u
#define ASSESS_FACTS_MAX 50000u        /* mounts, ports, variables and so on, of all units together */
#define ASSESS_PLACES_MAX 20000u       /* lines of findings */
/* Bytes of text that are looked at; what several services extend is counted each time. */
#define ASSESS_WORK_MAX (256u << 20)

enum format { FORMAT_COMPOSE, FORMAT_INSPECT, FORMAT_POD, FORMAT_DEVCONTAINER, FORMAT_CLAUDE, FORMAT_SRT };

/* --- Rules. One entry a rule in assess-rules.c, in the order of the report within a severity. */
enum rule_id {
        /* out to the host */
        RULE_PRIVILEGED, RULE_SOCKET, RULE_API_SOCKET, RULE_HOST_SOCKET, RULE_HOST_ROOT, RULE_HOST_WRITABLE,
        RULE_HOST_PID_PTRACE, RULE_CAP_HOST, RULE_HOST_NET_ADMIN, RULE_DEVICE_HOST, RULE_PROC_UNMASKED, RULE_API_PORT,
        RULE_CLUSTER_ADMIN, RULE_BYPASS, RULE_BASH_ALL, RULE_EXCLUDED_POWER, RULE_SETTINGS_SOCKET, RULE_WRITE_HOST,
        /* data, credentials, neighbours, walls */
        RULE_SOCKET_USER, RULE_HOST_SECRET, RULE_HOST_READ, RULE_AGENT_SOCKET, RULE_HOST_NETWORK, RULE_HOST_PID,
        RULE_HOST_IPC,
        RULE_HOST_USERNS, RULE_HOST_CGROUP, RULE_CAP_WALL, RULE_SECCOMP_OFF, RULE_LSM_OFF, RULE_DEVICE,
        RULE_SECRET_LITERAL,
        RULE_SECRET_KNOWN, RULE_SECRET_ARG, RULE_SECRET_LABEL, RULE_SECRET_BUILD, RULE_TOKEN_ROLE, RULE_PORT_STORE,
        RULE_BRIDGE, RULE_EGRESS, RULE_SYSCTL, RULE_PROJECT_WRITABLE, RULE_INITIALIZE, RULE_SANDBOX_OFF,
        RULE_UNSANDBOXED, RULE_EXCLUDED, RULE_NESTED, RULE_WEAK_NETWORK, RULE_DOMAIN_ALL, RULE_DOMAIN_RELAY,
        RULE_UNIX_SOCKETS, RULE_BASH_RISKY, RULE_BASH_SENDS, RULE_READ_SECRETS, RULE_MCP_ALL,
        /* bounds */
        RULE_USERNS, RULE_SECRET_ENV, RULE_SECRET_FILE, RULE_ENV_FILE, RULE_TOKEN, RULE_PORT_ALL, RULE_SHARED_NETWORK,
        RULE_DATA_WRITABLE,
        RULE_CAP_RETURN, RULE_CAP_DROP, RULE_NO_NEW_PRIVS, RULE_ROOT, RULE_NON_ROOT, RULE_SECCOMP_UNSET,
        RULE_READ_ONLY,
        RULE_LIMITS, RULE_RESTART, RULE_IMAGE, RULE_DOMAIN_WILD, RULE_LOCAL_BINDING, RULE_FAIL_OPEN,
        RULE_N
};
struct rule {
        const char *id;
        enum assess_severity severity;
        const char *title;
        const char *follows;     /* one sentence; {} stands for the units ("a or b"), {&} too ("a and b") */
        const char *mend;        /* in a compose file, or wherever the rule belongs to one format only */
        const char *mend_docker; /* as a flag of docker run (inspect, devcontainer); NULL: as mend */
        const char *mend_pod;    /* NULL: as mend */
        const char *belljar;     /* what Belljar does instead; NULL: nothing to say */
};
extern const struct rule assess_rules[RULE_N];

/* --- What a file says of a container. Texts belong to the tree or to the assessment. */
struct fact {
        const char *text; /* NULL: not said */
        unsigned line;
};
struct flag {
        enum { UNSET, NO, YES } is;
        unsigned line;
};
struct mount {
        const char *source; /* of the host; NULL: not from there */
        const char *target;
        bool read_only, by_default; /* by_default: the path is the default of a variable */
        unsigned line;
};
struct port {
        const char *address; /* of the host; "" or NULL: all */
        const char *host, *inside;
        unsigned line;
};
enum var_kind { VAR_ENV, VAR_ARG, VAR_LABEL, VAR_BUILD };
struct var {
        enum var_kind kind;
        const char *name, *value; /* value NULL: taken over from elsewhere */
        bool passed;              /* the value comes from a variable of the caller */
        bool by_default;          /* the value is the default of one */
        unsigned line;
};
enum cred_kind { CRED_FILE, CRED_ENV, CRED_ENV_FILE };
struct cred {
        enum cred_kind kind;
        const char *name;
        unsigned line;
};
#define LIST(type) struct { type *items; size_t n, cap; }

enum reach { REACH_UNKNOWN, REACH_NONE, REACH_INTERNAL, REACH_OUT, REACH_BRIDGE, REACH_HOST, REACH_OTHER };

struct unit {
        const char *name;
        unsigned line;
        struct fact image, runtime, user, restart, network, account, pod;
        bool builds;
        bool partial; /* the rest of it stands in another file: nothing can be said to be missing */
        enum reach reach;      /* network */
        bool egress_ruled;     /* a rule of the file bounds what leaves */
        struct flag privileged, host_net, host_pid, host_ipc, host_uts, host_userns, host_cgroup, own_userns, rootless;
        struct flag no_new_privs, seccomp_off, lsm_off, seccomp_set, proc_unmasked, read_only, api_socket;
        struct flag memory, cpu, pids;
        struct flag run_as_non_root, token, default_account, admin, role;
        LIST(struct fact) cap_add, cap_drop, devices, sysctls, networks, initialize;
        LIST(struct mount) mounts;
        LIST(struct port) ports;
        LIST(struct var) vars;
        LIST(struct cred) creds;
};

struct place {
        const char *unit, *detail; /* detail: quoted already; NULL: none */
        unsigned line;
};
struct finding {
        enum rule_id rule;
        LIST(struct place) places;
};
/* One answer to one of the three questions, for the units that share it. */
struct answer {
        const char *text;
        LIST(const char *) units;
};

struct assessment {
        enum format format;
        struct yaml_node *tree;
        struct strlist kept; /* texts made while reading */
        LIST(struct unit) units;
        struct finding findings[RULE_N];
        LIST(struct answer) where, reach, creds;
        struct strlist notes; /* what was not read */
        size_t n_facts, n_places, work;
        int failed; /* -ENOMEM or -E2BIG; looked at once, at the end */
};

/* --- assess-node.c: looking at the tree. All take NULL nodes. */
/* The key's node (its value is ->value), or NULL. */
const struct yaml_node *node_key(const struct yaml_node *map, const char *key);
/* Its value; NULL where there is no key or it is null. */
const struct yaml_node *node_get(const struct yaml_node *map, const char *key);
/* The same for a key that the file chose, which is looked for again and again: charged. */
const struct yaml_node *node_lookup(struct assessment *a, const struct yaml_node *map, const char *key);
bool node_is_map(const struct yaml_node *n);
bool node_is_list(const struct yaml_node *n);
/* A scalar's text, else NULL. */
const char *node_text(const struct yaml_node *n);
/* The text with ${...} put in: in a compose file `${NAME}` and `$NAME` stay as they are for want of a value, and a
 * default takes their place. *passed and *by_default (may be NULL) say which happened. */
const char *node_expand(struct assessment *a, const struct yaml_node *n, bool *passed, bool *by_default);
struct flag node_flag(struct assessment *a, const struct yaml_node *map, const char *key); /* true, yes, on, 1 */
struct fact node_fact(struct assessment *a, const struct yaml_node *map, const char *key);
/* Whether the number is positive. */
bool node_positive(struct assessment *a, const struct yaml_node *n);
/* A copy that lives as long as the assessment; "" when memory is out (and a->failed set). */
const char *keep(struct assessment *a, const char *s);
const char *keep_n(struct assessment *a, const char *s, size_t n);
const char *keepf(struct assessment *a, const char *fmt, ...) _printf_(2, 3);
/* As keep, fit to be shown: cut, and quoted where it needs to be. */
const char *keep_shown(struct assessment *a, const char *s);
bool one_of(const char *s, const char *const *list, size_t n);
/* Charges work for text that is looked at; false beyond the cap. */
bool charge(struct assessment *a, size_t bytes);

/* Makes room for one more item; false (and a->failed) beyond the caps. */
bool list_grow(struct assessment *a, void **items, size_t *n, size_t *cap, size_t size, bool fact);
#define LIST_ADD(a, list, ...)                                                                                         \
        do {                                                                                                           \
                if (list_grow((a), (void **)&(list).items, &(list).n, &(list).cap, sizeof(*(list).items), true))       \
                        (list).items[(list).n++] = __VA_ARGS__;                                                        \
        } while (0)

struct unit *unit_new(struct assessment *a, const char *name, unsigned line); /* NULL: beyond the caps */
void note(struct assessment *a, const char *fmt, ...) _printf_(2, 3);
void find(struct assessment *a, enum rule_id rule, const struct unit *u, unsigned line, const char *detail);

/* --- The readers: from the documents to units. */
void read_compose(struct assessment *a, const struct yaml_node *doc);
void read_inspect(struct assessment *a, const struct yaml_node *doc);
void read_pods(struct assessment *a, const struct yaml_node *docs);
void read_devcontainer(struct assessment *a, const struct yaml_node *doc);
void read_claude(struct assessment *a, const struct yaml_node *doc); /* assess-settings.c */
void read_srt(struct assessment *a, const struct yaml_node *doc);
/* Shared by compose, inspect and devcontainer: one element of security_opt; one volume or port in short form. */
void read_security_opt(struct assessment *a, struct unit *u, const char *opt, unsigned line);
void read_bind(struct assessment *a, struct unit *u, const char *spec, unsigned line, bool by_default);
void read_port(struct assessment *a, struct unit *u, const char *spec, unsigned line);
void read_assignment(struct assessment *a, struct unit *u, enum var_kind kind, const struct yaml_node *n);
/* A list of them, or a mapping. */
void read_vars(struct assessment *a, struct unit *u, enum var_kind kind, const struct yaml_node *n);
void read_args(struct assessment *a, struct unit *u, const struct yaml_node *n);
/* A list of words. */
void read_facts(struct assessment *a, const struct yaml_node *n, struct fact **items, size_t *n_items, size_t *cap);
#define READ_FACTS(a, list, node) read_facts((a), (node), &(list).items, &(list).n, &(list).cap)
/* --mount's form: type=bind,source=/x,target=/y,readonly */
void read_mount_words(struct assessment *a, struct unit *u, const char *spec, unsigned line);

/* --- assess-judge.c, assess-answer.c */
void judge(struct assessment *a);
void answer(struct assessment *a);
/* What answers its system calls, where that is not the host's kernel (gVisor, a virtual machine); NULL: it is. */
const char *unit_other_kernel(const struct unit *u);
void answer_add(struct assessment *a, int question, const char *unit, const char *text); /* 0 where, 1 reach, 2 creds */

/* --- assess-path.c: what a path of the host means to those who may use it. */
enum path_kind {
        PATH_PLAIN, PATH_PROJECT, /* "." or above */
        PATH_DATA,                /* relative, beneath the project */
        PATH_SOCKET,              /* of a container engine */
        PATH_SOCKET_USER,         /* of one that runs as a user */
        PATH_HOST_SOCKET,         /* of systemd, D-Bus, libvirt, LXD, or the directory that holds sockets */
        PATH_AGENT_SOCKET,        /* ssh-agent, gpg-agent, X11 */
        PATH_ROOT,                /* everything */
        PATH_SYSTEM,              /* written: root of the host; read: harmless */
        PATH_SYSTEM_SECRET,       /* written: root of the host; read: credentials */
        PATH_HOME,                /* written: what the user runs; read: credentials */
        PATH_SECRET,              /* credentials */
        PATH_PROC, PATH_DEV, PATH_CGROUP,
};
enum path_kind path_kind(const char *path);
/* True for credentials (PATH_SECRET) beside which stand settings that name programs to run. */
bool path_runs(const char *path);

/* --- assess-secret.c */
/* True where a variable of that name holds a credential, as names go. */
bool secret_name(const char *name);
/* What a value is by its form ("a GitHub token"), or NULL. Looks for it anywhere in the text. */
const char *secret_form(const char *value);
/* True for what stands in for a secret: nothing, <...>, your-..., xxx, true, a path. */
bool secret_placeholder(const char *value);
