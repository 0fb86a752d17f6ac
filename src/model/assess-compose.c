/* Compose files, of the Compose Specification and of versions 1 to 3 of the format before it, to units; see
 * assess-internal.h. Variables are not looked up: a default stands for its value and is shown as one. */
#include <stdio.h>

#include "model/assess-internal.h"

#define EXTENDS_MAX 8u /* a service that extends one that extends one ... */

/* --- What the short forms say, shared with docker inspect and devcontainer.json (docker run's own forms). */

void read_security_opt(struct assessment *a, struct unit *u, const char *opt, unsigned line) {
        char s[128];

        /* Both name=value and name:value. */
        snprintf(s, sizeof(s), "%s", opt);
        if (s[strcspn(s, ":=")])
                s[strcspn(s, ":=")] = '=';
        if (streq(s, "no-new-privileges") || streq(s, "no-new-privileges=true"))
                u->no_new_privs = (struct flag){YES, line};
        else if (streq(s, "no-new-privileges=false"))
                u->no_new_privs = (struct flag){NO, line};
        else if (streq(s, "seccomp=unconfined"))
                u->seccomp_off = (struct flag){YES, line};
        else if (streq(s, "apparmor=unconfined") || streq(s, "label=disable") || streq(s, "label=disable=true"))
                u->lsm_off = (struct flag){YES, line};
        else if (streq(s, "systempaths=unconfined") || streq(s, "unmask=ALL") || streq(s, "unmask=all"))
                u->proc_unmasked = (struct flag){YES, line};
}

static void add_mount(struct assessment *a, struct unit *u, struct mount m) {
        /* One that names the same place inside, as an override does, takes the other's place. */
        for (size_t i = 0; m.target && i < u->mounts.n && i < 200; i++)
                if (u->mounts.items[i].target && streq(u->mounts.items[i].target, m.target)) {
                        u->mounts.items[i] = m;
                        return;
                }
        LIST_ADD(a, u->mounts, m);
}

/* A variable that is named like a place; what is in it the file does not say. */
static bool is_path_variable(const char *s) {
        static const char *const words[] = {"SOCK", "PATH", "DIR", "HOME", "PWD"};
        char name[64];

        if (s[0] != '$')
                return false;
        snprintf(name, sizeof(name), "%s", s);
        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (strstr(name, words[i]))
                        return true;
        return strchr(s, '/') != NULL;
}

/* The colon after the letter of a drive, as in C:\x or C:/x:/y: of v:/x it is what parts a volume from its target. */
static bool is_drive(const char *spec, const char *colon) {
        bool letter = (spec[0] >= 'a' && spec[0] <= 'z') || (spec[0] >= 'A' && spec[0] <= 'Z');
        return letter && colon == spec + 1 && *colon == ':' &&
               (colon[1] == '\\' || (colon[1] == '/' && strstr(colon + 2, ":/")));
}

static bool is_host_path(const char *s) {
        return s[0] == '/' || s[0] == '.' || s[0] == '~' || str_after(s, "\\\\.\\pipe") ||
               str_after(s, "${localEnv:") || str_after(s, "${localWorkspaceFolder}") ||
               (s[0] && s[1] == ':' && (s[2] == '\\' || s[2] == '/')) || is_path_variable(s);
}

void read_bind(struct assessment *a, struct unit *u, const char *spec, unsigned line, bool by_default) {
        const char *parts[3] = {spec};
        size_t lens[3] = {}, n = 0;

        /* A colon within ${...} or after a drive's letter parts nothing. */
        for (const char *p = spec;; p++) {
                if (*p == '$' && p[1] == '{') {
                        const char *end = strchr(p, '}');
                        if (end) {
                                p = end;
                                continue;
                        }
                }
                if (*p == ':' && n == 0 && is_drive(spec, p))
                        continue;
                if (*p && (*p != ':' || n == 2))
                        continue;
                lens[n] = (size_t)(p - parts[n]);
                n++;
                if (!*p || n == 3)
                        break;
                parts[n] = p + 1;
        }
        if (n < 2)
                return; /* an anonymous volume */
        const char *source = keep_n(a, parts[0], lens[0]), *target = keep_n(a, parts[1], lens[1]);
        if (!is_host_path(source))
                source = NULL;
        struct mount m = {.source = source, .target = target, .line = line, .by_default = by_default};
        if (n == 3)
                for (const char *o = parts[2]; *o; o += strcspn(o, ","), o += *o == ',')
                        m.read_only |= (strcspn(o, ",") == 2 && strncmp(o, "ro", 2) == 0) ||
                                       (strcspn(o, ",") == 8 && strncmp(o, "readonly", 8) == 0);
        if (source)
                add_mount(a, u, m);
}

void read_mount_words(struct assessment *a, struct unit *u, const char *spec, unsigned line) {
        struct mount m = {.line = line};
        bool bind = false;

        for (const char *w = spec; *w; w += strcspn(w, ","), w += *w == ',') {
                size_t n = strcspn(w, ","), key = strcspn(w, "=");
                const char *value = key < n ? keep_n(a, w + key + 1, n - key - 1) : "";
                key = MIN(key, n);
#define WORD(s) (key == strlen(s) && strncmp(w, s, key) == 0)
                if (WORD("type"))
                        bind = streq(value, "bind");
                else if (WORD("source") || WORD("src"))
                        m.source = value;
                else if (WORD("target") || WORD("destination") || WORD("dst"))
                        m.target = value;
                else if (WORD("readonly") || WORD("ro"))
                        m.read_only = !*value || streq(value, "true") || streq(value, "1");
#undef WORD
        }
        if (bind && m.source)
                add_mount(a, u, m);
}

void read_port(struct assessment *a, struct unit *u, const char *spec, unsigned line) {
        char s[128];
        const char *address = "", *host = "", *inside;
        char *p;

        if (strlen(spec) >= sizeof(s))
                return;
        snprintf(s, sizeof(s), "%s", spec);
        s[strcspn(s, "/")] = 0; /* the protocol */
        p = strrchr(s, ':');
        if (p && strchr(p, '}') && !strchr(p, '{'))
                p = NULL;
        inside = p ? p + 1 : s;
        if (p) {
                *p = 0;
                host = s;
                p = strrchr(s, ':');
                if (p) { /* [::1]:80:80 */
                        *p = 0;
                        host = p + 1;
                        address = s;
                } else if (strchr(s, '.') ||
                           s[0] == '[') { /* 127.0.0.1::80 was handled above; 127.0.0.1:80 is an address too */
                        address = s;
                        host = "";
                }
        }
        struct port port = {keep(a, address), keep(a, host), keep(a, inside), line};
        LIST_ADD(a, u->ports, port);
}

/* NAME=VALUE, or NAME alone. */
void read_assignment(struct assessment *a, struct unit *u, enum var_kind kind, const struct yaml_node *n) {
        bool passed = false, by_default = false;
        const char *s = node_expand(a, n, &passed, &by_default), *eq = s ? strchr(s, '=') : NULL;

        if (!s)
                return;
        struct var v = {kind, eq ? keep_n(a, s, (size_t)(eq - s)) : s, eq ? eq + 1 : NULL, passed, by_default, n->line};
        LIST_ADD(a, u->vars, v);
}

/* --- A service. */

void read_vars(struct assessment *a, struct unit *u, enum var_kind kind, const struct yaml_node *n) {
        if (!n)
                return;
        for (const struct yaml_node *k = n->first; k; k = k->next) {
                if (!k->value) {
                        read_assignment(a, u, kind, k);
                        continue;
                }
                struct var v = {.kind = kind, .name = k->text, .line = k->line};
                if (!yaml_is_null(k->value))
                        v.value = node_expand(a, k->value, &v.passed, &v.by_default);
                LIST_ADD(a, u->vars, v);
        }
}

void read_args(struct assessment *a, struct unit *u, const struct yaml_node *n) {
        const struct yaml_node *first = node_is_list(n) ? n->first : n;

        for (const struct yaml_node *i = first; i; i = node_is_list(n) ? i->next : NULL) {
                struct var v = {.kind = VAR_ARG, .line = i->line};
                v.value = node_expand(a, i, &v.passed, &v.by_default);
                if (v.value)
                        LIST_ADD(a, u->vars, v);
        }
}

void read_facts(struct assessment *a, const struct yaml_node *n, struct fact **items, size_t *n_items, size_t *cap) {
        for (const struct yaml_node *i = node_is_list(n) ? n->first : NULL; i; i = i->next) {
                const char *s = node_expand(a, i, NULL, NULL);
                if (s && list_grow(a, (void **)items, n_items, cap, sizeof(**items), true))
                        (*items)[(*n_items)++] = (struct fact){s, i->line};
        }
}

/* A named volume may be a bind of a host's directory in disguise: driver_opts {o: bind, device: /path}. */
static const char *volume_device(struct assessment *a, const struct yaml_node *volumes, const char *name, size_t len) {
        if (len == 0 || len > 200)
                return NULL;
        const struct yaml_node *opts = node_get(node_lookup(a, volumes, keep_n(a, name, len)), "driver_opts");
        const char *o = node_expand(a, node_get(opts, "o"), NULL, NULL),
                   *device = node_expand(a, node_get(opts, "device"), NULL, NULL);
        return o && device && strstr(o, "bind") ? device : NULL;
}

static void read_volumes(
        struct assessment *a, struct unit *u, const struct yaml_node *n, const struct yaml_node *volumes) {
        for (const struct yaml_node *i = node_is_list(n) ? n->first : NULL; i; i = i->next) {
                if (node_is_map(i)) {
                        const struct yaml_node *source = node_get(i, "source") ?: node_get(i, "src");
                        struct mount m = {.line = source ? source->line : i->line};
                        const char *type = node_expand(a, node_get(i, "type"), NULL, NULL);
                        m.source = node_expand(a, source, NULL, &m.by_default);
                        const struct yaml_node *target = node_get(i, "target") ?: node_get(i, "destination");
                        m.target = node_expand(a, target ?: node_get(i, "dst"), NULL, NULL);
                        m.read_only = node_flag(a, i, "read_only").is == YES || node_flag(a, i, "readonly").is == YES;
                        if (m.source && type && streq(type, "volume"))
                                m.source = volume_device(a, volumes, m.source, strlen(m.source));
                        if (m.source && (!type || streq(type, "bind") || streq(type, "npipe") || streq(type, "volume")))
                                add_mount(a, u, m);
                        continue;
                }
                bool by_default = false;
                const char *s = node_expand(a, i, NULL, &by_default);
                if (!s)
                        continue;
                bool path = (s[0] && is_drive(s, s + 1)) || is_host_path(keep_n(a, s, strcspn(s, ":")));
                const char *device = path ? NULL : volume_device(a, volumes, s, strcspn(s, ":"));
                read_bind(a, u, device ? keepf(a, "%s%s", device, s + strcspn(s, ":")) : s, i->line, by_default);
        }
}

static void read_ports(struct assessment *a, struct unit *u, const struct yaml_node *n) {
        for (const struct yaml_node *i = node_is_list(n) ? n->first : NULL; i; i = i->next) {
                if (!node_is_map(i)) {
                        const char *s = node_expand(a, i, NULL, NULL);
                        if (s)
                                read_port(a, u, s, i->line);
                        continue;
                }
                const struct yaml_node *published = node_get(i, "published");
                struct port p = {node_expand(a, node_get(i, "host_ip"), NULL, NULL) ?: "",
                        node_expand(a, published, NULL, NULL) ?: "",
                        node_expand(a, node_get(i, "target"), NULL, NULL) ?: "", published ? published->line : i->line};
                LIST_ADD(a, u->ports, p);
        }
}

static void read_networks(struct assessment *a, struct unit *u, const struct yaml_node *n) {
        if (!n || (!node_is_map(n) && !node_is_list(n)))
                return;
        u->networks.n = 0;
        for (const struct yaml_node *k = n->first; k; k = k->next) {
                const char *s = node_expand(a, k, NULL, NULL);
                if (s)
                        LIST_ADD(a, u->networks, (struct fact){s, k->line});
        }
}

static void read_secrets(struct assessment *a, struct unit *u, const struct yaml_node *n) {
        for (const struct yaml_node *i = node_is_list(n) ? n->first : NULL; i; i = i->next) {
                const char *s = node_text(i) ?: node_text(node_get(i, "source"));
                if (s)
                        LIST_ADD(a, u->creds, (struct cred){CRED_FILE, s, i->line});
        }
}

static void read_env_files(struct assessment *a, struct unit *u, const struct yaml_node *n) {
        const struct yaml_node *first = node_is_list(n) ? n->first : n;
        for (const struct yaml_node *i = first; i; i = node_is_list(n) ? i->next : NULL) {
                const char *s = node_expand(a, node_is_map(i) ? node_get(i, "path") : i, NULL, NULL);
                if (s)
                        LIST_ADD(a, u->creds, (struct cred){CRED_ENV_FILE, s, i->line});
        }
}

static void read_resources(struct assessment *a, struct unit *u, const struct yaml_node *s) {
        static const struct { const char *key; size_t at;
        } flat[] = {
                {"mem_limit", offsetof(struct unit, memory)},
                {"cpus", offsetof(struct unit, cpu)},
                {"cpu_quota", offsetof(struct unit, cpu)},
                {"cpuset", offsetof(struct unit, cpu)},
                {"pids_limit", offsetof(struct unit, pids)},
        };
        static const struct { const char *key; size_t at;
        } deploy[] = {
                {"memory", offsetof(struct unit, memory)},
                {"cpus", offsetof(struct unit, cpu)},
                {"pids", offsetof(struct unit, pids)},
        };
        const struct yaml_node *resources = node_get(node_get(s, "deploy"), "resources"),
                               *limits = node_get(resources, "limits");

        for (size_t i = 0; i < ELEMENTSOF(flat); i++) {
                const struct yaml_node *n = node_get(s, flat[i].key);
                if (n && node_positive(a, n))
                        *(struct flag *)((char *)u + flat[i].at) = (struct flag){YES, n->line};
        }
        for (size_t i = 0; i < ELEMENTSOF(deploy); i++) {
                const struct yaml_node *n = node_get(limits, deploy[i].key);
                if (n && node_positive(a, n))
                        *(struct flag *)((char *)u + deploy[i].at) = (struct flag){YES, n->line};
        }
        const struct yaml_node *devices = node_get(node_get(resources, "reservations"), "devices");
        for (const struct yaml_node *i = node_is_list(devices) ? devices->first : NULL; i; i = i->next) {
                const struct yaml_node *driver = node_get(i, "driver") ?: node_get(i, "capabilities");
                LIST_ADD(a, u->devices,
                        (struct fact){node_text(driver) ? keepf(a, "%.60s", node_text(driver)) : "gpu",
                                driver ? driver->line : i->line});
        }
}

static void override_flag(struct assessment *a, const struct yaml_node *s, const char *key, struct flag *f) {
        struct flag own = node_flag(a, s, key);
        if (own.is != UNSET)
                *f = own;
}

static void override_fact(struct assessment *a, const struct yaml_node *s, const char *key, struct fact *f) {
        struct fact own = node_fact(a, s, key);
        if (own.text)
                *f = own;
}

/* pid: host and the like. */
static void override_host(struct assessment *a, const struct yaml_node *s, const char *key, struct flag *f) {
        struct fact own = node_fact(a, s, key);
        if (own.text)
                *f = (struct flag){streq(own.text, "host") ? YES : NO, own.line};
}

static void read_devices(struct assessment *a, struct unit *u, const struct yaml_node *n) {
        for (const struct yaml_node *i = node_is_list(n) ? n->first : NULL; i; i = i->next) {
                const char *s = node_expand(a, node_is_map(i) ? node_get(i, "source") : i, NULL, NULL);
                if (s)
                        LIST_ADD(a, u->devices, (struct fact){keep_n(a, s, strcspn(s, ":")), i->line});
        }
}

static void read_service(struct assessment *a, struct unit *u, const struct yaml_node *doc,
        const struct yaml_node *services, const struct yaml_node *s, unsigned depth) {
        const struct yaml_node *extends = node_get(s, "extends");
        if (extends) {
                const char *file = node_expand(a, node_get(extends, "file"), NULL, NULL);
                const char *name = node_text(extends) ?: node_text(node_get(extends, "service"));
                const struct yaml_node *base = name && !file ? node_lookup(a, services, name) : NULL;
                if (base && depth < EXTENDS_MAX)
                        read_service(a, u, doc, services, base, depth + 1);
                else if (file)
                        note(a, "%s extends a service of %s, which was not read", keep_shown(a, u->name),
                                keep_shown(a, file));
        }
        override_fact(a, s, "image", &u->image);
        u->builds |= node_get(s, "build") != NULL;
        override_fact(a, s, "runtime", &u->runtime);
        override_fact(a, s, "user", &u->user);
        override_fact(a, s, "restart", &u->restart);
        override_fact(a, s, "network_mode", &u->network);
        override_fact(a, s, "net", &u->network); /* version 1 */
        override_flag(a, s, "privileged", &u->privileged);
        override_flag(a, s, "read_only", &u->read_only);
        override_flag(a, s, "use_api_socket", &u->api_socket);
        override_host(a, s, "pid", &u->host_pid);
        override_host(a, s, "ipc", &u->host_ipc);
        override_host(a, s, "uts", &u->host_uts);
        override_host(a, s, "cgroup", &u->host_cgroup);
        override_host(a, s, "userns_mode", &u->host_userns);
        struct fact ns = node_fact(a, s, "userns_mode");
        if (ns.text && !streq(ns.text, "host")) /* podman: auto, keep-id, nomap */
                u->own_userns = (struct flag){YES, ns.line};
        READ_FACTS(a, u->cap_add, node_get(s, "cap_add"));
        READ_FACTS(a, u->cap_drop, node_get(s, "cap_drop"));
        const struct yaml_node *opts = node_get(s, "security_opt");
        for (const struct yaml_node *i = node_is_list(opts) ? opts->first : NULL; i; i = i->next)
                if (node_text(i))
                        read_security_opt(a, u, node_expand(a, i, NULL, NULL), i->line);
        read_devices(a, u, node_get(s, "devices"));
        const struct yaml_node *gpus = node_get(s, "gpus");
        if (gpus)
                LIST_ADD(a, u->devices, (struct fact){"gpu", gpus->line});
        read_volumes(a, u, node_get(s, "volumes"), node_get(doc, "volumes"));
        read_ports(a, u, node_get(s, "ports"));
        read_networks(a, u, node_get(s, "networks"));
        read_vars(a, u, VAR_ENV, node_get(s, "environment"));
        read_vars(a, u, VAR_LABEL, node_get(s, "labels"));
        read_vars(a, u, VAR_BUILD, node_get(node_get(s, "build"), "args"));
        read_args(a, u, node_get(s, "command"));
        read_args(a, u, node_get(s, "entrypoint"));
        read_args(a, u, node_get(node_get(s, "healthcheck"), "test"));
        read_secrets(a, u, node_get(s, "secrets"));
        read_env_files(a, u, node_get(s, "env_file"));
        read_resources(a, u, s);
}

/* What the networks of a service let out. */
static enum reach network_reach(struct assessment *a, const struct yaml_node *networks, struct unit *u) {
        const char *mode = u->network.text;

        if (mode) {
                if (streq(mode, "none"))
                        return REACH_NONE;
                if (streq(mode, "host"))
                        return REACH_HOST;
                if (streq(mode, "bridge") || streq(mode, "default"))
                        return REACH_BRIDGE;
                return REACH_OTHER; /* service:x, container:x */
        }
        if (u->networks.n == 0)
                return node_flag(a, node_get(networks, "default"), "internal").is == YES ? REACH_INTERNAL : REACH_OUT;
        for (size_t i = 0; i < u->networks.n; i++) {
                const struct yaml_node *net = node_lookup(a, networks, u->networks.items[i].text);
                const char *driver = node_expand(a, node_get(net, "driver"), NULL, NULL),
                           *real = node_text(node_get(net, "name"));
                if ((driver && streq(driver, "host")) || (real && streq(real, "host")))
                        return REACH_HOST;
        }
        for (size_t i = 0; i < u->networks.n; i++)
                if (node_flag(a, node_lookup(a, networks, u->networks.items[i].text), "internal").is != YES)
                        return REACH_OUT;
        return REACH_INTERNAL;
}

/* service:x shares the network of x: what x reaches, it reaches. */
static void share_networks(struct assessment *a) {
        for (unsigned round = 0; round < 2; round++)
                for (size_t i = 0; i < a->units.n; i++) {
                        struct unit *u = &a->units.items[i];
                        const char *other = u->network.text ? str_after(u->network.text, "service:") : NULL;
                        for (size_t k = 0; other && u->reach == REACH_OTHER && k < a->units.n && charge(a, 0); k++)
                                if (streq(a->units.items[k].name, other))
                                        u->reach = a->units.items[k].reach;
                }
}

void read_compose(struct assessment *a, const struct yaml_node *doc) {
        const struct yaml_node *services = node_get(doc, "services") ?: doc;
        bool v1 = services == doc;

        if (node_get(doc, "include"))
                note(a, "the files of include: were not read");
        for (const struct yaml_node *k = services->first; k; k = k->next) {
                if (!k->value || !node_is_map(k->value) || str_after(k->text, "x-"))
                        continue;
                struct unit *u = unit_new(a, k->text, k->line);
                if (!u)
                        return;
                read_service(a, u, doc, services, k->value, 0);
                u->reach = v1 && !u->network.text ? REACH_BRIDGE : network_reach(a, node_get(doc, "networks"), u);
                if (u->reach == REACH_HOST)
                        u->host_net = (struct flag){YES, u->network.line ? u->network.line : u->networks.items[0].line};
        }
        share_networks(a);
}
