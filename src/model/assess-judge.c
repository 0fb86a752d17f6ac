/* From what a file says of each container to findings; see assess-internal.h. Whether something is weak is decided
 * here, how it is said stands in assess-rules.c. */
#include <ctype.h>
#include <strings.h>

#include "model/assess-internal.h"

/* CAP_SYS_ADMIN and sys_admin are one. */
static const char *cap_name(const char *s) { return strncasecmp(s, "CAP_", 4) == 0 ? s + 4 : s; }

static bool cap_in(const char *cap, const char *const *list, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strcasecmp(cap_name(cap), list[i]) == 0)
                        return true;
        return false;
}

static const struct fact *has_cap(const struct unit *u, const char *cap) {
        for (size_t i = 0; i < u->cap_add.n; i++)
                if (cap_in(u->cap_add.items[i].text, &cap, 1))
                        return &u->cap_add.items[i];
        return NULL;
}

static bool drops_all(const struct unit *u) {
        for (size_t i = 0; i < u->cap_drop.n; i++)
                if (strcasecmp(cap_name(u->cap_drop.items[i].text), "ALL") == 0)
                        return true;
        return false;
}

static void judge_caps(struct assessment *a, const struct unit *u) {
        static const char *const host[] = {"ALL", "SYS_ADMIN", "SYS_MODULE", "DAC_READ_SEARCH", "SYS_RAWIO"};
        static const char *const wall[] = {"SYS_PTRACE", "NET_ADMIN", "SYSLOG", "SYS_TIME", "BPF", "PERFMON",
                "SYS_BOOT", "MAC_ADMIN", "MAC_OVERRIDE", "AUDIT_CONTROL", "LINUX_IMMUTABLE", "CHECKPOINT_RESTORE"};

        if (u->privileged.is == YES)
                return; /* it has them all */
        for (size_t i = 0; i < u->cap_add.n; i++) {
                const struct fact *c = &u->cap_add.items[i];
                const char *shown = keep_shown(a, c->text);
                if (cap_in(c->text, host, ELEMENTSOF(host)))
                        find(a, RULE_CAP_HOST, u, c->line, shown);
                else if (cap_in(c->text, (const char *const[]){"SYS_PTRACE"}, 1) && u->host_pid.is == YES)
                        find(a, RULE_HOST_PID_PTRACE, u, c->line, NULL);
                else if (cap_in(c->text, (const char *const[]){"NET_ADMIN"}, 1) && u->host_net.is == YES)
                        find(a, RULE_HOST_NET_ADMIN, u, c->line, NULL);
                else if (cap_in(c->text, wall, ELEMENTSOF(wall)))
                        find(a, RULE_CAP_WALL, u, c->line, shown);
                else if (drops_all(u) && cap_in(c->text, (const char *const[]){"NET_RAW"}, 1))
                        find(a, RULE_CAP_RETURN, u, c->line, NULL);
        }
        if (!drops_all(u) && !has_cap(u, "ALL") && !u->partial)
                find(a, RULE_CAP_DROP, u, u->line, NULL);
}

static bool ordinary_user(const struct unit *u) {
        const char *s = u->user.text;
        return s && s[0] != '$' && !streq(s, "root") && strncmp(s, "root:", 5) != 0 && !streq(s, "0") &&
               strncmp(s, "0:", 2) != 0;
}

static void judge_mount(struct assessment *a, const struct unit *u, const struct mount *m) {
        const char *shown = keepf(a, "%s%s%s", keep_shown(a, m->source), m->read_only ? ", read-only" : ", writable",
                                  m->by_default ? " (by default)" : "");
        enum rule_id rule = RULE_N;

        switch (path_kind(m->source)) {
        case PATH_SOCKET: rule = RULE_SOCKET; break;
        case PATH_SOCKET_USER: rule = RULE_SOCKET_USER; break;
        case PATH_HOST_SOCKET: rule = ordinary_user(u) ? RULE_HOST_READ : RULE_HOST_SOCKET; break;
        case PATH_AGENT_SOCKET: rule = RULE_AGENT_SOCKET; break;
        case PATH_ROOT: rule = ordinary_user(u) && m->read_only ? RULE_HOST_READ : RULE_HOST_ROOT; break;
        case PATH_SYSTEM:
                if (!m->read_only)
                        rule = RULE_HOST_WRITABLE;
                break;
        case PATH_SYSTEM_SECRET:
        case PATH_HOME: rule = m->read_only ? RULE_HOST_SECRET : RULE_HOST_WRITABLE; break;
        case PATH_SECRET:
                rule = RULE_HOST_SECRET;
                if (!m->read_only && path_runs(m->source))
                        find(a, RULE_HOST_WRITABLE, u, m->line, shown);
                break;
        case PATH_PROC: rule = m->read_only ? RULE_HOST_READ : RULE_HOST_WRITABLE; break;
        case PATH_DEV: rule = RULE_HOST_READ; break;
        case PATH_CGROUP:
                if (!m->read_only)
                        rule = RULE_HOST_READ;
                break;
        case PATH_PROJECT:
                if (!m->read_only)
                        rule = RULE_PROJECT_WRITABLE;
                break;
        case PATH_DATA:
        case PATH_PLAIN:
                if (!m->read_only) {
                        rule = RULE_DATA_WRITABLE;
                        shown = keepf(a, "%s%s", keep_shown(a, m->source), m->by_default ? " (by default)" : "");
                }
                break;
        }
        if (rule != RULE_N)
                find(a, rule, u, m->line, shown);
}

/* A data store's port, or one of its consoles: nothing that a stranger should talk to. */
static bool store_port(const char *inside) {
        static const char *const ports[] = {"1433", "1521", "2379", "3306", "5432", "5672", "5984", "6379", "6380",
                "7474", "7687", "8086", "9042", "9200", "9300", "11211", "15672", "26379", "27017", "27018", "33060",
                "50000", "10250", "6443", "2181", "9092", "4369", "25672"};
        return one_of(inside, ports, ELEMENTSOF(ports));
}

static void judge_port(struct assessment *a, const struct unit *u, const struct port *p) {
        const char *addr = p->address;
        if (addr && addr[0] && !streq(addr, "0.0.0.0") && !streq(addr, "::") && !streq(addr, "[::]") &&
                !streq(addr, "*"))
                return; /* one address, or a variable's */
        const char *shown = p->host && p->host[0]
                                    ? keepf(a, "%s to %s", keep_shown(a, p->host), keep_shown(a, p->inside))
                                    : keep_shown(a, p->inside);
        if (streq(p->inside, "2375") || streq(p->inside, "2376"))
                find(a, RULE_API_PORT, u, p->line, shown);
        else
                find(a, store_port(p->inside) ? RULE_PORT_STORE : RULE_PORT_ALL, u, p->line, shown);
}

/* The word of an argument list that names a secret option, as --password=x or "--token". */
static const char *secret_option(struct assessment *a, const char *s) {
        for (const char *p = s; (p = strstr(p, "--")); p += 2) {
                if (p > s && p[-1] != ' ' && p[-1] != '\t' && p[-1] != '\n')
                        continue;
                size_t n = strcspn(p, "= \t\n\"'");
                const char *value = p + n + (p[n] == '=');
                if (n < 3 || n > 60 || p[n] != '=' || *value == '$' || *value == 0 || *value == '"' || *value == ' ' ||
                        *value == '{')
                        continue;
                const char *name = keep_n(a, p + 2, n - 2);
                if (secret_name(name) && !secret_placeholder(value))
                        return name;
        }
        return NULL;
}

static void judge_var(struct assessment *a, const struct unit *u, const struct var *v) {
        static const enum rule_id literal[] = {[VAR_ENV] = RULE_SECRET_LITERAL, [VAR_ARG] = RULE_SECRET_ARG,
                                               [VAR_LABEL] = RULE_SECRET_LABEL, [VAR_BUILD] = RULE_SECRET_BUILD};
        size_t len = v->value ? strlen(v->value) : 0;

        if (!charge(a, len * 4))
                return;
        const char *form = v->value && (!v->passed || v->by_default) ? secret_form(v->value) : NULL;
        const char *name = v->name ? keep_shown(a, v->name) : NULL;
        if (form) {
                find(a, RULE_SECRET_KNOWN, u, v->line, name ? keepf(a, "%s: %s", name, form) : form);
                return;
        }
        if (v->kind == VAR_ARG) {
                const char *option = v->value && !v->passed ? secret_option(a, v->value) : NULL;
                if (option)
                        find(a, RULE_SECRET_ARG, u, v->line, keep_shown(a, option));
                return;
        }
        if (!name || !secret_name(v->name))
                return;
        if (v->value && (!v->passed || v->by_default) && !secret_placeholder(v->value))
                find(a, literal[v->kind], u, v->line, v->by_default ? keepf(a, "%s (by default)", name) : name);
        else if (v->kind == VAR_ENV && (!v->value || v->passed))
                find(a, RULE_SECRET_ENV, u, v->line, name);
        else if (v->kind == VAR_BUILD && (!v->value || v->passed))
                find(a, RULE_SECRET_BUILD, u, v->line, name);
}

/* latest, nothing, or a word that is moved on with each change. */
static bool unpinned(const char *image) {
        static const char *const moving[] = {"latest", "main", "master", "edge", "nightly", "dev", "develop", "testing",
                "unstable", "rolling", "snapshot"};
        const char *slash = strrchr(image, '/'), *tag = strchr(slash ? slash : image, ':');

        /* A variable, a digest, or a reference that is built at deployment (ko://). */
        if (strstr(image, "://") || strchr(image, '@') || strchr(image, '$') || streq(image, "scratch"))
                return false;
        return !tag || one_of(tag + 1, moving, ELEMENTSOF(moving));
}

static bool sysctl_safe(const char *s) {
        /* "Safe sysctls" of the Kubernetes documentation. */
        static const char *const safe[] = {"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range",
                "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
                "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
                "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem",
                "net.ipv4.tcp_wmem"};
        return one_of(s, safe, ELEMENTSOF(safe));
}

static void judge_device(struct assessment *a, const struct unit *u, const struct fact *d) {
        static const char *const host[] = {"/dev/mem", "/dev/kmem", "/dev/port", "/dev/sd", "/dev/nvme", "/dev/vd",
                "/dev/xvd", "/dev/dm-", "/dev/mapper", "/dev/disk", "/dev/loop", "/dev/md", "/dev/hd"};
        static const char *const fine[] = {
                "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"};

        if (one_of(d->text, fine, ELEMENTSOF(fine)))
                return;
        for (size_t i = 0; i < ELEMENTSOF(host); i++)
                if (str_after(d->text, host[i]) || streq(d->text, "/dev")) {
                        find(a, RULE_DEVICE_HOST, u, d->line, keep_shown(a, d->text));
                        return;
                }
        find(a, RULE_DEVICE, u, d->line, keep_shown(a, d->text));
}

static void yes(struct assessment *a, const struct unit *u, struct flag f, enum rule_id rule) {
        if (f.is == YES)
                find(a, rule, u, f.line, NULL);
}

static void judge_limits(struct assessment *a, const struct unit *u) {
        bool pod = a->format == FORMAT_POD; /* no pod can bound its processes: the kubelet does */
        _cleanup_strbuf_ struct strbuf b = {};

        if (u->memory.is != YES)
                strbuf_puts(&b, "memory");
        if (u->cpu.is != YES)
                strbuf_puts(&b, b.len ? ", CPU" : "CPU");
        if (u->pids.is != YES && !pod)
                strbuf_puts(&b, b.len ? ", processes" : "processes");
        /* A limit on CPU alone is often left out on purpose; a missing one on memory or processes stops the host. */
        if (u->memory.is == YES && (pod || u->pids.is == YES))
                return;
        find(a, RULE_LIMITS, u, u->line, keepf(a, "no limit: %s", b.data ? b.data : ""));
}

static void judge_walls(struct assessment *a, const struct unit *u) {
        bool pod = a->format == FORMAT_POD;
        bool other_kernel =
                unit_other_kernel(u) || (u->runtime.text && strcasestr(u->runtime.text, "sysbox")); /* which maps ids */

        yes(a, u, u->privileged, RULE_PRIVILEGED);
        yes(a, u, u->api_socket, RULE_API_SOCKET);
        yes(a, u, u->host_net, RULE_HOST_NETWORK);
        yes(a, u, u->host_pid, RULE_HOST_PID);
        yes(a, u, u->host_ipc, RULE_HOST_IPC);
        yes(a, u, u->host_userns, RULE_HOST_USERNS);
        yes(a, u, u->host_cgroup, RULE_HOST_CGROUP);
        if (u->privileged.is != YES) { /* which switches them off by itself */
                yes(a, u, u->seccomp_off, RULE_SECCOMP_OFF);
                yes(a, u, u->lsm_off, RULE_LSM_OFF);
        }
        yes(a, u, u->proc_unmasked, RULE_PROC_UNMASKED);
        if (u->no_new_privs.is != YES && u->privileged.is != YES && !(u->partial && u->no_new_privs.is == UNSET))
                find(a, RULE_NO_NEW_PRIVS, u, u->no_new_privs.line ? u->no_new_privs.line : u->line, NULL);
        if (u->user.text && !ordinary_user(u) && u->user.text[0] != '$')
                find(a, RULE_ROOT, u, u->user.line, NULL);
        else if (pod && u->run_as_non_root.is != YES && !u->user.text)
                find(a, RULE_NON_ROOT, u, u->run_as_non_root.line ? u->run_as_non_root.line : u->line, NULL);
        if (pod && u->seccomp_set.is != YES && u->seccomp_off.is != YES && u->privileged.is != YES && !other_kernel)
                find(a, RULE_SECCOMP_UNSET, u, u->line, NULL);
        if (pod && u->read_only.is != YES)
                find(a, RULE_READ_ONLY, u, u->read_only.line ? u->read_only.line : u->line, NULL);
        if (u->own_userns.is != YES && u->rootless.is != YES && u->host_userns.is != YES && u->privileged.is != YES &&
                !u->partial && !other_kernel)
                find(a, RULE_USERNS, u, u->line, NULL);
}

static void judge_unit(struct assessment *a, const struct unit *u) {
        judge_walls(a, u);
        judge_caps(a, u);
        for (size_t i = 0; i < u->mounts.n; i++)
                judge_mount(a, u, &u->mounts.items[i]);
        for (size_t i = 0; i < u->devices.n; i++)
                judge_device(a, u, &u->devices.items[i]);
        for (size_t i = 0; i < u->ports.n && u->reach != REACH_HOST && u->reach != REACH_NONE; i++)
                judge_port(a, u, &u->ports.items[i]);
        for (size_t i = 0; i < u->vars.n; i++)
                judge_var(a, u, &u->vars.items[i]);
        for (size_t i = 0; i < u->creds.n; i++) {
                static const enum rule_id rules[] = {
                        [CRED_FILE] = RULE_SECRET_FILE, [CRED_ENV] = RULE_SECRET_ENV, [CRED_ENV_FILE] = RULE_ENV_FILE};
                const struct cred *c = &u->creds.items[i];
                find(a, rules[c->kind], u, c->line, keep_shown(a, c->name));
        }
        for (size_t i = 0; i < u->sysctls.n; i++)
                if (!sysctl_safe(u->sysctls.items[i].text))
                        find(a, RULE_SYSCTL, u, u->sysctls.items[i].line, keep_shown(a, u->sysctls.items[i].text));
        for (size_t i = 0; i < u->initialize.n; i++)
                find(a, RULE_INITIALIZE, u, u->initialize.items[i].line, NULL);
        if (u->reach == REACH_BRIDGE)
                find(a, RULE_BRIDGE, u, u->network.line ? u->network.line : u->line, NULL);
        if ((u->reach == REACH_OUT || u->reach == REACH_BRIDGE || u->reach == REACH_HOST) && !u->egress_ruled)
                find(a, RULE_EGRESS, u, u->line, NULL);
        if (u->token.is != NO && a->format == FORMAT_POD) {
                if (u->admin.is == YES)
                        find(a, RULE_CLUSTER_ADMIN, u, u->account.line ? u->account.line : u->admin.line,
                                keep_shown(a, u->account.text ? u->account.text : "default"));
                else if (u->default_account.is != YES || u->role.is == YES)
                        find(a, RULE_TOKEN_ROLE, u, u->account.line,
                                keep_shown(a, u->account.text ? u->account.text : "default"));
                else
                        find(a, RULE_TOKEN, u, u->line, NULL);
        }
        if (!u->partial)
                judge_limits(a, u);
        if (u->restart.text && (streq(u->restart.text, "always") || streq(u->restart.text, "unless-stopped")))
                find(a, RULE_RESTART, u, u->restart.line, NULL);
        /* What is built here is named here: its tag says nothing of a registry. */
        if (u->image.text && !u->builds && unpinned(u->image.text))
                find(a, RULE_IMAGE, u, u->image.line, keep_shown(a, u->image.text));
}

/* Services that one network joins, by its name: three or more, as two that share one have it to talk to each other. */
static void judge_shared(struct assessment *a) {
        size_t n_default = 0;

        if (a->format != FORMAT_COMPOSE)
                return;
        for (size_t i = 0; i < a->units.n; i++)
                n_default += a->units.items[i].networks.n == 0 && a->units.items[i].reach == REACH_OUT;
        if (n_default >= 3)
                for (size_t i = 0; i < a->units.n; i++)
                        if (a->units.items[i].networks.n == 0 && a->units.items[i].reach == REACH_OUT)
                                find(a, RULE_SHARED_NETWORK, &a->units.items[i], a->units.items[i].line,
                                        "the project's default network");
        for (size_t i = 0; i < a->units.n; i++)
                for (size_t k = 0; k < a->units.items[i].networks.n; k++) {
                        const struct fact *net = &a->units.items[i].networks.items[k];
                        size_t members = 0;
                        for (size_t j = 0; j < a->units.n && members < 3; j++)
                                for (size_t m = 0; m < a->units.items[j].networks.n && charge(a, 0); m++)
                                        members += streq(a->units.items[j].networks.items[m].text, net->text);
                        if (members >= 3)
                                find(a, RULE_SHARED_NETWORK, &a->units.items[i], net->line, keep_shown(a, net->text));
                }
}

void judge(struct assessment *a) {
        for (size_t i = 0; i < a->units.n && !a->failed; i++)
                judge_unit(a, &a->units.items[i]);
        judge_shared(a);
}
