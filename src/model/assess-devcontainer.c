/* devcontainer.json to a unit; see assess-internal.h. Properties are those of the Development Container Specification;
 * runArgs are flags of docker run. The image's own labels and features may add more, which the file does not say. */
#include "model/assess-internal.h"

/* Flags of docker run that have to do with the three questions. */
enum run_flag {
        F_PRIVILEGED,
        F_READ_ONLY,
        F_CAP_ADD,
        F_CAP_DROP,
        F_SECURITY,
        F_NETWORK,
        F_PID,
        F_IPC,
        F_UTS,
        F_USERNS,
        F_CGROUPNS,
        F_VOLUME,
        F_MOUNT,
        F_PORT,
        F_DEVICE,
        F_ENV,
        F_ENV_FILE,
        F_MEMORY,
        F_CPUS,
        F_PIDS,
        F_USER,
        F_RUNTIME,
        F_GPUS,
        F_NONE
};

static enum run_flag flag_of(const char *word, size_t n) {
        static const struct { const char *name; enum run_flag flag;
        } flags[] = {
                {"--privileged", F_PRIVILEGED},
                {"--read-only", F_READ_ONLY},
                {"--cap-add", F_CAP_ADD},
                {"--cap-drop", F_CAP_DROP},
                {"--security-opt", F_SECURITY},
                {"--network", F_NETWORK},
                {"--net", F_NETWORK},
                {"--pid", F_PID},
                {"--ipc", F_IPC},
                {"--uts", F_UTS},
                {"--userns", F_USERNS},
                {"--cgroupns", F_CGROUPNS},
                {"--volume", F_VOLUME},
                {"-v", F_VOLUME},
                {"--mount", F_MOUNT},
                {"--publish", F_PORT},
                {"-p", F_PORT},
                {"--device", F_DEVICE},
                {"--env", F_ENV},
                {"-e", F_ENV},
                {"--env-file", F_ENV_FILE},
                {"--memory", F_MEMORY},
                {"-m", F_MEMORY},
                {"--cpus", F_CPUS},
                {"--pids-limit", F_PIDS},
                {"--user", F_USER},
                {"-u", F_USER},
                {"--runtime", F_RUNTIME},
                {"--gpus", F_GPUS},
        };
        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                if (strlen(flags[i].name) == n && strncmp(flags[i].name, word, n) == 0)
                        return flags[i].flag;
        return F_NONE;
}

static void host_mode(struct flag *f, const char *value, unsigned line) {
        *f = (struct flag){streq(value, "host") ? YES : NO, line};
}

static void read_flag(struct assessment *a, struct unit *u, enum run_flag flag, const char *v, unsigned line) {
        switch (flag) {
        case F_CAP_ADD: LIST_ADD(a, u->cap_add, (struct fact){v, line}); break;
        case F_CAP_DROP: LIST_ADD(a, u->cap_drop, (struct fact){v, line}); break;
        case F_SECURITY: read_security_opt(a, u, v, line); break;
        case F_NETWORK: u->network = (struct fact){v, line}; break;
        case F_PID: host_mode(&u->host_pid, v, line); break;
        case F_IPC: host_mode(&u->host_ipc, v, line); break;
        case F_UTS: host_mode(&u->host_uts, v, line); break;
        case F_CGROUPNS: host_mode(&u->host_cgroup, v, line); break;
        case F_USERNS:
                host_mode(&u->host_userns, v, line);
                if (!streq(v, "host")) /* podman's auto and keep-id */
                        u->own_userns = (struct flag){YES, line};
                break;
        case F_VOLUME: read_bind(a, u, v, line, false); break;
        case F_MOUNT: read_mount_words(a, u, v, line); break;
        case F_PORT: read_port(a, u, v, line); break;
        case F_DEVICE: LIST_ADD(a, u->devices, (struct fact){keep_n(a, v, strcspn(v, ":")), line}); break;
        case F_ENV_FILE: LIST_ADD(a, u->creds, (struct cred){CRED_ENV_FILE, v, line}); break;
        case F_ENV: {
                const char *eq = strchr(v, '=');
                bool passed = eq && (str_after(eq + 1, "${localEnv:") || eq[1] == '$');
                LIST_ADD(a, u->vars,
                        (struct var){VAR_ENV, eq ? keep_n(a, v, (size_t)(eq - v)) : v, eq ? eq + 1 : NULL, passed,
                                false, line});
                break;
        }
        case F_MEMORY: u->memory = (struct flag){YES, line}; break;
        case F_CPUS: u->cpu = (struct flag){YES, line}; break;
        case F_PIDS: u->pids = (struct flag){v[0] == '-' || streq(v, "0") ? NO : YES, line}; break;
        case F_USER: u->user = (struct fact){v, line}; break;
        case F_RUNTIME: u->runtime = (struct fact){v, line}; break;
        case F_GPUS: LIST_ADD(a, u->devices, (struct fact){"gpu", line}); break;
        default: break;
        }
}

static void read_run_args(struct assessment *a, struct unit *u, const struct yaml_node *args) {
        for (const struct yaml_node *i = node_is_list(args) ? args->first : NULL; i; i = i->next) {
                const char *s = node_text(i);
                size_t n = s ? strcspn(s, "=") : 0;
                if (!s || s[0] != '-')
                        continue;
                enum run_flag flag = flag_of(s, n);
                if (flag == F_PRIVILEGED || flag == F_READ_ONLY) {
                        struct flag *f = flag == F_PRIVILEGED ? &u->privileged : &u->read_only;
                        *f = (struct flag){s[n] && streq(s + n, "=false") ? NO : YES, i->line};
                        continue;
                }
                if (flag == F_NONE)
                        continue;
                if (s[n] == '=')
                        read_flag(a, u, flag, s + n + 1, i->line);
                else if (i->next && node_text(i->next)) {
                        i = i->next;
                        read_flag(a, u, flag, node_text(i), i->line);
                }
        }
}

/* Features whose own definition weakens the container (devcontainers/features). */
static void read_features(struct assessment *a, struct unit *u, const struct yaml_node *features) {
        for (const struct yaml_node *k = node_is_map(features) ? features->first : NULL; k; k = k->next) {
                if (strstr(k->text, "/docker-in-docker"))
                        u->privileged = (struct flag){YES, k->line};
                else if (strstr(k->text, "/docker-outside-of-docker") || strstr(k->text, "/docker-from-docker"))
                        LIST_ADD(a, u->mounts,
                                (struct mount){.source = "/var/run/docker.sock",
                                        .target = "/var/run/docker-host.sock",
                                        .line = k->line});
        }
}

static void read_mounts(struct assessment *a, struct unit *u, const struct yaml_node *mounts) {
        for (const struct yaml_node *i = node_is_list(mounts) ? mounts->first : NULL; i; i = i->next) {
                const char *type = node_text(node_get(i, "type"));
                const struct yaml_node *source = node_get(i, "source");
                if (node_text(i))
                        read_mount_words(a, u, node_text(i), i->line);
                else if (node_text(source) && type && streq(type, "bind"))
                        LIST_ADD(a, u->mounts,
                                (struct mount){.source = node_text(source),
                                        .target = node_text(node_get(i, "target")),
                                        .line = source->line});
        }
}

static void read_env(struct assessment *a, struct unit *u, const struct yaml_node *map) {
        for (const struct yaml_node *k = node_is_map(map) ? map->first : NULL; k; k = k->next) {
                const char *v = node_text(k->value);
                if (v)
                        LIST_ADD(
                                a, u->vars, (struct var){VAR_ENV, k->text, v, strstr(v, "${") != NULL, false, k->line});
        }
}

void read_devcontainer(struct assessment *a, const struct yaml_node *doc) {
        const struct yaml_node *name = node_get(doc, "name"), *compose = node_get(doc, "dockerComposeFile"), *n;
        struct unit *u = unit_new(a, node_text(name) ?: "devcontainer", name ? name->line : doc->line);

        if (!u)
                return;
        u->image = node_fact(a, doc, "image");
        u->builds = node_get(doc, "build") || node_get(doc, "dockerFile");
        u->partial = compose != NULL;
        if (compose)
                note(a, "what dockerComposeFile names (%s) was not read: assess it too",
                        keep_shown(a, node_text(compose)
                                              ?: node_is_list(compose) && node_text(compose->first)
                                                 ? node_text(compose->first)
                                                 : "files"));
        u->privileged = node_flag(a, doc, "privileged");
        u->user = node_fact(a, doc, "containerUser");
        struct fact remote = node_fact(a, doc, "remoteUser");
        if (remote.text)
                u->user = remote;
        READ_FACTS(a, u->cap_add, node_get(doc, "capAdd"));
        n = node_get(doc, "securityOpt");
        for (const struct yaml_node *i = node_is_list(n) ? n->first : NULL; i; i = i->next)
                if (node_text(i))
                        read_security_opt(a, u, node_text(i), i->line);
        read_mounts(a, u, node_get(doc, "mounts"));
        read_env(a, u, node_get(doc, "containerEnv"));
        read_env(a, u, node_get(doc, "remoteEnv"));
        read_vars(a, u, VAR_BUILD, node_get(node_get(doc, "build"), "args"));
        read_features(a, u, node_get(doc, "features"));
        read_run_args(a, u, node_get(doc, "runArgs"));
        const struct yaml_node *init = node_get(doc, "initializeCommand");
        if (init)
                LIST_ADD(a, u->initialize, (struct fact){"initializeCommand", init->line});
        /* A number is published on 127.0.0.1 only, a text is docker's -p. */
        n = node_get(doc, "appPort");
        for (const struct yaml_node *i = node_is_list(n) ? n->first : n; i; i = node_is_list(n) ? i->next : NULL)
                if (node_text(i) && i->style == YAML_STYLE_QUOTED)
                        read_port(a, u, node_text(i), i->line);
        const char *mode = u->network.text;
        u->reach = !mode && u->partial                                        ? REACH_UNKNOWN
                   : !mode || streq(mode, "bridge") || streq(mode, "default") ? REACH_BRIDGE
                   : streq(mode, "none")                                      ? REACH_NONE
                   : streq(mode, "host")                                      ? REACH_HOST
                   : str_after(mode, "container:")                            ? REACH_OTHER
                                                                              : REACH_OUT;
        if (u->reach == REACH_HOST)
                u->host_net = (struct flag){YES, u->network.line};
        /* Not a finding, as it is what the file is for; but an answer. */
        const char *workspace = node_text(node_get(doc, "workspaceMount"));
        if (workspace && !strstr(workspace, "localWorkspaceFolder}"))
                read_mount_words(a, u, workspace, node_get(doc, "workspaceMount")->line);
        else if (!compose)
                note(a, "the folder that is opened is mounted writable (workspaceMount says otherwise): what the host "
                        "runs from it "
                        "later, a process inside can change");
}
