/* What `docker inspect` and `podman inspect` print of containers, to units; see assess-internal.h. Fields are those of
 * the Docker Engine API, ContainerInspect. The image's own settings are merged in there: no user means root. */
#include "model/assess-internal.h"

static void read_mounts(struct assessment *a, struct unit *u, const struct yaml_node *c, const struct yaml_node *host) {
        const struct yaml_node *mounts = node_get(c, "Mounts"), *binds = node_get(host, "Binds");

        for (const struct yaml_node *i = node_is_list(mounts) ? mounts->first : NULL; i; i = i->next) {
                const struct yaml_node *source = node_get(i, "Source");
                const char *type = node_text(node_get(i, "Type"));
                if (!node_text(source) || (type && !streq(type, "bind") && !streq(type, "npipe")))
                        continue;
                struct mount m = {.source = node_text(source), .target = node_text(node_get(i, "Destination")),
                                  .read_only = node_flag(a, i, "RW").is == NO, .line = source->line};
                LIST_ADD(a, u->mounts, m);
        }
        for (const struct yaml_node *i = node_is_list(binds) && u->mounts.n == 0 ? binds->first : NULL; i; i = i->next)
                if (node_text(i))
                        read_bind(a, u, node_text(i), i->line, false);
}

static void read_ports(struct assessment *a, struct unit *u, const struct yaml_node *host) {
        const struct yaml_node *map = node_get(host, "PortBindings");

        for (const struct yaml_node *k = node_is_map(map) ? map->first : NULL; k; k = k->next)
                for (const struct yaml_node *i = node_is_list(k->value) ? k->value->first : NULL; i; i = i->next) {
                        const struct yaml_node *port = node_get(i, "HostPort");
                        struct port p = {node_text(node_get(i, "HostIp")) ?: "", node_text(port) ?: "",
                                keep_n(a, k->text, strcspn(k->text, "/")), port ? port->line : k->line};
                        LIST_ADD(a, u->ports, p);
                }
}

static void read_host_flag(struct assessment *a, const struct yaml_node *host, const char *key, struct flag *f) {
        struct fact mode = node_fact(a, host, key);
        if (mode.text)
                *f = (struct flag){streq(mode.text, "host") ? YES : NO, mode.line};
}

/* Where the engine keeps the container's files tells how it maps ids (dockerd(8), --userns-remap; rootless mode). */
static void read_engine(struct assessment *a, struct unit *u, const struct yaml_node *c, const struct yaml_node *host) {
        static const char *const keys[] = {"HostsPath", "LogPath", "ResolvConfPath", "StaticDir", "OCIConfigPath"};

        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                struct fact f = node_fact(a, c, keys[i]);
                const char *rest = f.text ? str_after(f.text, "/var/lib/docker/") : NULL;
                size_t digits = rest ? strspn(rest, "0123456789") : 0;
                if (f.text && (strstr(f.text, "/.local/share/docker/") || strstr(f.text, "/.local/share/containers/")))
                        u->rootless = (struct flag){YES, f.line};
                else if (digits > 0 && rest[digits] == '.')
                        u->own_userns = (struct flag){YES, f.line};
        }
        const struct yaml_node *map = node_key(host, "IDMappings");
        if (map && node_is_map(map->value) && map->value->n > 0)
                u->own_userns = (struct flag){YES, map->line};
}

static void read_limits(struct assessment *a, struct unit *u, const struct yaml_node *host) {
        static const struct { const char *key; size_t at;
        } limits[] = {
                {"Memory", offsetof(struct unit, memory)},
                {"NanoCpus", offsetof(struct unit, cpu)},
                {"CpuQuota", offsetof(struct unit, cpu)},
                {"CpusetCpus", offsetof(struct unit, cpu)},
                {"PidsLimit", offsetof(struct unit, pids)},
        };
        for (size_t i = 0; i < ELEMENTSOF(limits); i++) {
                const struct yaml_node *n = node_get(host, limits[i].key);
                if (n && node_positive(a, n))
                        *(struct flag *)((char *)u + limits[i].at) = (struct flag){YES, n->line};
        }
}

static void read_network(struct assessment *a, struct unit *u, const struct yaml_node *host) {
        u->network = node_fact(a, host, "NetworkMode");
        const char *mode = u->network.text ?: "default";

        if (streq(mode, "none"))
                u->reach = REACH_NONE;
        else if (streq(mode, "host")) {
                u->reach = REACH_HOST;
                u->host_net = (struct flag){YES, u->network.line};
        } else if (streq(mode, "default") || streq(mode, "bridge"))
                u->reach = REACH_BRIDGE;
        else if (str_after(mode, "container:"))
                u->reach = REACH_OTHER;
        else {
                u->reach = REACH_OUT;
                note(a, "whether the network %s is internal the output does not say: docker network inspect does",
                        keep_shown(a, mode));
        }
}

static void read_container(struct assessment *a, struct unit *u, const struct yaml_node *c) {
        const struct yaml_node *host = node_get(c, "HostConfig"), *config = node_get(c, "Config"), *list;

        u->image = node_fact(a, config, "Image");
        u->user = node_fact(a, config, "User");
        if (!u->user.text) {
                const struct yaml_node *k = node_key(config, "User");
                u->user = (struct fact){"root", k ? k->line : u->line};
        }
        u->runtime = node_fact(a, host, "Runtime");
        u->restart = node_fact(a, node_get(host, "RestartPolicy"), "Name");
        u->privileged = node_flag(a, host, "Privileged");
        u->read_only = node_flag(a, host, "ReadonlyRootfs");
        read_host_flag(a, host, "PidMode", &u->host_pid);
        read_host_flag(a, host, "IpcMode", &u->host_ipc);
        read_host_flag(a, host, "UTSMode", &u->host_uts);
        read_host_flag(a, host, "UsernsMode", &u->host_userns);
        read_host_flag(a, host, "CgroupnsMode", &u->host_cgroup);
        READ_FACTS(a, u->cap_add, node_get(host, "CapAdd"));
        READ_FACTS(a, u->cap_drop, node_get(host, "CapDrop"));
        list = node_get(host, "SecurityOpt");
        for (const struct yaml_node *i = node_is_list(list) ? list->first : NULL; i; i = i->next)
                if (node_text(i))
                        read_security_opt(a, u, node_text(i), i->line);
        const struct yaml_node *masked = node_get(host, "MaskedPaths");
        if (node_is_list(masked) && masked->n == 0 && u->privileged.is != YES)
                u->proc_unmasked = (struct flag){YES, masked->line};
        list = node_get(host, "Devices");
        for (const struct yaml_node *i = node_is_list(list) ? list->first : NULL; i; i = i->next) {
                const struct yaml_node *d = node_get(i, "PathOnHost");
                if (node_text(d))
                        LIST_ADD(a, u->devices, (struct fact){node_text(d), d->line});
        }
        list = node_get(host, "DeviceRequests");
        for (const struct yaml_node *i = node_is_list(list) ? list->first : NULL; i; i = i->next)
                LIST_ADD(a, u->devices, (struct fact){"gpu", i->line});
        read_vars(a, u, VAR_ENV, node_get(config, "Env"));
        read_vars(a, u, VAR_LABEL, node_get(config, "Labels"));
        read_args(a, u, node_get(config, "Cmd"));
        read_args(a, u, node_get(config, "Entrypoint"));
        read_mounts(a, u, c, host);
        read_ports(a, u, host);
        read_limits(a, u, host);
        read_engine(a, u, c, host);
        read_network(a, u, host);
}

void read_inspect(struct assessment *a, const struct yaml_node *doc) {
        const struct yaml_node *first = node_is_list(doc) ? doc->first : doc;

        for (const struct yaml_node *c = first; c; c = node_is_list(doc) ? c->next : NULL) {
                const struct yaml_node *name = node_get(c, "Name");
                if (!node_is_map(node_get(c, "HostConfig"))) {
                        note(a, "line %u holds no container", c->line);
                        continue;
                }
                const char *s = node_text(name) ?: "container";
                struct unit *u = unit_new(a, s[0] == '/' ? s + 1 : s, name ? name->line : c->line);
                if (u)
                        read_container(a, u, c);
        }
}
