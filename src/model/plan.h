/* The plan of one sandbox: everything that will be mounted, limited and executed, made before anything is done
 * ("describe, then execute"). Pure: made from a policy and facts about the host, printed by --dry-run, tested without a
 * kernel. The launcher executes `ops` in their order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/net.h"
#include "base/str.h"
#include "model/policy.h"
#include "proto/json.h"

enum plan_op_kind {
        OP_DIR,      /* make a directory `target` with `mode` */
        OP_SYMLINK,  /* make a link `target` to `source` */
        OP_BIND,     /* attach the host's `source` at `target` */
        OP_SCRATCH,  /* attach a fresh directory of the writable scratch file system at `target` */
        OP_OVERLAY,  /* attach `source` beneath layer `layer` (read-only), or with the run's upper layer (PLAN_UPPER) */
        OP_IMAGE_LAYER, /* open `source`, one of the image's trees; the topmost comes first */
        OP_IMAGE,    /* attach the opened trees at "/", above layer `layer`, with the run's layer "root" for changes */
        OP_PROC,
        OP_SYSFS,
        OP_DEVPTS,
        OP_MQUEUE,
        OP_MASK,     /* cover what `target` shows with an empty file or directory; nothing there is no error */
        OP_READONLY, /* attach `target` once more onto itself, read-only */
        OP_FILE,     /* attach a file with the content `source` at `target`, read-only */
        OP_SOCKET,   /* a listening socket at `target`, whose other side is the guard's (proto/call-msg.h) */
        /* In layer `layer`, beneath its root: */
        OP_LAYER_DIR,     /* a directory with the mode and owner that the tree below has there; else `mode`, the sandbox's */
        OP_LAYER_WHITEOUT,/* hides what the layers below have at `target` */
        OP_LAYER_FILE,    /* a file with the content `source` */
};

enum {
        PLAN_READONLY = 1,  /* attach read-only */
        PLAN_RECURSIVE = 2, /* with the mounts beneath */
        PLAN_DEVICE = 4,    /* a device node: not nodev */
        PLAN_UPPER = 8,     /* OP_OVERLAY: changes go to the run's upper layer */
        PLAN_OPTIONAL = 16, /* a source that is gone is no error; of OP_FILE: a target */
        PLAN_IDMAP = 32,    /* run by root: show the owner's files as the sandbox user's */
        PLAN_VOLUME = 128,  /* the user's -v */
        PLAN_BYTES = 256,   /* content that is not to be read by people */
        PLAN_EXEC = 512,    /* of OP_FILE: a program */
        PLAN_STORE = 64,    /* run by root: a tree of an image, whose ids are the store's */
};

struct plan_op {
        enum plan_op_kind kind;
        unsigned flags;
        mode_t mode;
        int layer;
        char *target; /* absolute, as seen inside; in a layer: relative to its root */
        char *source; /* host path, link text or content; may be NULL */
        size_t size;  /* of content: bytes */
};

/* What the payload may use a tree for: becomes a Landlock rule. */
struct plan_rule {
        char *path;   /* as seen inside */
        unsigned use; /* enum tree_use */
};

#define PLAN_GROUPS_MAX 33u
struct plan_ids {
        bool root;          /* run by host uid 0: a range of ids of its own, init under another one than the payload */
        bool subids;        /* an image, run by a user with a range in subuid(5): the maps are written by newuidmap(1) */
        uid_t uid_base;     /* root: host id of the sandbox's id 0; else unused */
        uid_t outer_uid, outer_gid; /* of the payload, in the outer namespace */
        uid_t inner_uid, inner_gid; /* as it sees itself */
        gid_t outer_groups[PLAN_GROUPS_MAX]; /* an image: its supplementary groups, in the outer namespace; its own is the first */
        size_t n_groups;
        uid_t init_uid;     /* of init, in the outer namespace */
        uid_t view_uid;     /* who owns what the launcher makes in the view, in the outer namespace: an image's root */
        uid_t host_uid, host_gid; /* of the payload, on the host */
        char *outer_uid_map, *outer_gid_map; /* text for /proc/PID/{uid,gid}_map */
        char *inner_uid_map, *inner_gid_map;
        char *store_map; /* root: of the mounts of an image's trees, users and groups alike; NULL: no image */
        uid_t owner_uid;  /* of the workspace on the host */
        gid_t owner_gid;
        bool single; /* one id only: the maps are written by their own process, setgroups denied */
};

/* How a limit is held. */
enum limit_means { MEANS_NONE, MEANS_CGROUP2, MEANS_CGROUP1, MEANS_RLIMIT, MEANS_SAMPLING, MEANS_TIMER, MEANS_RELAY };
const char *limit_means_name(enum limit_means m);

struct plan_limits {
        struct limits want;
        enum limit_means memory, cpu, pids, disk, output, time, idle;
        uint64_t scratch_bytes, scratch_inodes; /* of the writable tmpfs */
};

#define PUBLISH_MAX 16u
/* What the launcher makes of the network namespace, and gate and brokers decide by. */
struct plan_network {
        bool on;                   /* there is a gate; else lo and nothing more */
        uint8_t own[4];            /* the sandbox's own address */
        uint8_t pool[4];           /* of synthetic addresses, own among them */
        unsigned pool_prefix;
        struct net_ports *ports;   /* that names can be reached at */
        size_t n_ports;
        struct net_target *targets; /* that rules name by address */
        size_t n_targets;
        struct plan_publish {
                uint8_t address[16];       /* of the host, IPv4 mapped */
                uint16_t port, inside;     /* there, and on the sandbox's loopback */
        } published[PUBLISH_MAX];
        size_t n_published;
        void *table;               /* the compiled policy (table.h) */
        size_t table_size;
        struct strlist rules;      /* one line each, for people */
        const struct secret *secrets; /* the policy's: the first one's identity is 1 */
        size_t n_secrets;
};

/* A policy that the run may hand on: `delegate NAME` inside. */
struct plan_delegate {
        char *name, *file; /* file: for people */
        char *text;        /* of the policy, as it was at the start */
        size_t size;
};

struct plan {
        char *id;   /* sandbox id, lower-case hex */
        char *name; /* --name, or NULL */
        char *parent;   /* id of the run whose sub-run this is; NULL: none's */
        unsigned depth; /* 0: without a parent */
        enum tier tier;
        enum nesting nesting;
        enum trace trace;
        char *why_tier; /* one line: what tier: auto chose and why; NULL: the user named the tier */
        struct plan_ids ids;
        char *image;         /* its name; NULL: the host's own root is shown */
        bool programs;       /* an image's root with the host's system directories in it, read-only */
        uint64_t capabilities; /* bits that the payload keeps, in its own user namespace */
        char *workspace;     /* real path on the host; NULL: none */
        char *inside;        /* where the workspace is seen inside; NULL: where it is on the host */
        dev_t workspace_dev; /* what stood there when it was planned */
        ino_t workspace_ino;
        enum workspace_mode mode;
        char *cwd;  /* inside */
        char *home; /* inside */
        char *hostname;
        mode_t umask;
        struct plan_op *ops;
        size_t n_ops, cap_ops;
        unsigned n_layers;
        struct plan_rule *rules;
        size_t n_rules, cap_rules;
        struct plan_limits limits;
        struct plan_network network;
        int landlock_abi; /* 0: not available */
        struct strlist env;  /* NAME=VALUE */
        struct strlist argv;
        struct strlist hide;    /* what the policy hides, as written: it is hidden from sub-runs as well */
        struct strlist guarded; /* what the policy guards in belljar apply */
        struct strlist without; /* controls that are left out, by the user's word */
        struct strlist use;     /* recipes and presets that the policy names, shown */
        struct strlist notes;   /* one line each: what the user should know */
        const struct git_policy *git; /* the policy's; NULL: not prepared */
        char *ssh, *ssh_keygen; /* the host's programs for it; NULL: not needed */
        const struct trip_wire *wires; /* the policy's tripwires */
        size_t n_wires;
        const struct plan_delegate *delegates; /* the options' */
        size_t n_delegates;
        struct strlist calls;   /* what the run can call (proto/call-msg.h), by name; none: there is no endpoint */
        size_t hidden;          /* paths hidden in the workspace */
        char *cgroup;           /* v2 group with cgroup.kill; NULL: none */
        char *state;            /* real path of Belljar's state directory, which no sandbox sees */
        bool shadow;            /* the sandbox's directory holds a layer "shadow" (svc/shadow.h) */
};

/* The path of the workspace inside; NULL: there is none. */
static inline const char *plan_workspace_inside(const struct plan *p) { return p->inside ? p->inside : p->workspace; }

struct plan *plan_new(void);
void plan_free(struct plan *p);
static inline void plan_freep(struct plan **p) { plan_free(*p); }
#define _cleanup_plan_ _cleanup_(plan_freep)

/* Appends an operation; strings are copied. -ENOMEM. */
int plan_add(struct plan *p, enum plan_op_kind kind, const char *target, const char *source, unsigned flags,
             mode_t mode, int layer) _must_check_;
/* The same of a file, OP_FILE or OP_LAYER_FILE, whose content may hold any byte. */
int plan_add_content(struct plan *p, enum plan_op_kind kind, const char *target, const void *data, size_t n, mode_t mode, int layer) _must_check_;
int plan_allow(struct plan *p, const char *path, unsigned use) _must_check_;

/* What view.c needs to know of the host; gathered by svc/host.c. */
struct view_facts {
        /* Entries of the host's /: name, and link text for links (NULL for directories). */
        struct view_root_entry {
                char *name, *link;
                bool empty; /* a directory without entries */
        } *root;
        size_t n_root;
        struct strlist var;     /* names in /var */
        struct strlist devices; /* nodes of /dev that exist, by name */
        struct strlist mounts;  /* mount points of the host, sorted or not */
        struct strlist sockets; /* sockets and FIFOs of the host, by path */
        struct strlist read;    /* real paths that the policy shows read-only (files or directories) */
        struct strlist read_files; /* those of `read` that are not directories */
        struct strlist links;   /* in pairs: a path, and where the link that it is on the host leads to in the end */
        struct strlist own_dirs; /* of the home, made for the run's user; one before what lies in it */
        /* Hidden paths beneath the workspace or a `read` directory, with the modes of the directories above them. */
        struct view_hidden {
                char *root; /* the workspace, or one of `read` */
                char *path; /* relative to root: the path, or its first part that does not exist */
                mode_t *modes; /* of each directory between root and path, outermost first */
        } *hidden;
        size_t n_hidden;
        struct strlist hidden_elsewhere; /* absolute, beneath neither: covered, where they exist */
        char machine_id[33]; /* random, for /etc/machine-id: the host's own would tell hosts apart */
        char *passwd; /* content for /etc/passwd where the sandbox's user is not in the host's; NULL: the host's */
        char *group;
        bool sysfs, proc; /* a new instance can be mounted */
        /* Made in an image's root before the run, below its changes; a directory before what lies in it. */
        struct view_file {
                char *path, *text; /* relative to the root; text NULL: a directory */
                size_t size;       /* of text, which may hold any byte; 0: it ends with NUL */
                mode_t mode;
        } *files;
        size_t n_files;
        /* The same on the host's root, by absolute path: what makes programs trust the sandbox's CA (model/trust.h). One that is
         * there stands for itself wherever it lies; another is made beneath /etc and /run only. */
        struct view_trust {
                char *path, *data;
                size_t size;
                bool there;
        } *trust;
        size_t n_trust;
        char *call_program;     /* belljar-call, where the plan has calls; NULL: it has none */
        size_t call_size;
        struct strlist layers; /* of an image, topmost first; as the supervisor finds them from the sandbox's directory */
        struct view_volume {
                char *host, *inside; /* real path on the host; as seen inside */
                bool writable, file;
        } *volumes; /* a place before what lies beneath it */
        size_t n_volumes;
        /* Where in the workspace nothing stands yet that the run is to find there (volumes, the working directory), relative
         * to it, without links: not the run's change, so made in a layer below its changes. */
        struct strlist places, place_files; /* directories; files */
};
/* Whatever the server's address, the question ends at the gate, or nowhere where there is none. */
#define VIEW_RESOLV_CONF "# Names are answered by the sandbox's gate, where its policy has one.\nnameserver 127.0.0.1\n"
void view_facts_clear(struct view_facts *f);
/* /etc is shown with a layer of the sandbox's own on it, where files can be added; otherwise it is the host's. */
bool view_has_own_etc(const struct view_facts *f);
/* The view of the process tier, or of an image: adds the operations and rules to the plan. view.c, view-image.c. */
int view_plan(struct plan *p, const struct policy *policy, const struct view_facts *facts,
              struct error *e) _must_check_;

/* Something that the payload writes lands on the host: a workspace in rw, a writable volume. */
bool plan_writes_through(const struct plan *p);
/* The path lies in a volume that the payload may write to. */
bool plan_writes_volume(const struct plan *p, const char *path);

/* The plan as people read it (--dry-run). NULL: no memory. */
char *plan_format(const struct plan *p);
/* Adds the plan's members to an object that is being written. full: every operation and rule (--dry-run); else, for the
 * record of a run, the trees that it shows. */
void plan_json(const struct plan *p, bool full, struct json *j);
