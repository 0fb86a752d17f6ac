/* Kubernetes manifests to units, one a container: Pod, and the pod template of whatever has one (Deployment,
 * StatefulSet, DaemonSet, ReplicaSet, Job, CronJob and the like); several documents and lists of them. What other
 * documents of the file say of the pod is used: NetworkPolicy for what may leave, role bindings for what its service
 * account may do. See assess-internal.h. Fields are those of the Kubernetes API reference, v1. */
#include "model/assess-internal.h"

struct manifests {
        LIST(const struct yaml_node *) all; /* mappings with a kind */
};

static void gather(struct assessment *a, struct manifests *m, const struct yaml_node *n, unsigned depth) {
        const char *kind = node_text(node_get(n, "kind"));
        const struct yaml_node *items = node_get(n, "items");

        if (!kind)
                return;
        size_t len = strlen(kind);
        if (len >= 4 && streq(kind + len - 4, "List") && node_is_list(items) && depth < 4) {
                for (const struct yaml_node *i = items->first; i; i = i->next)
                        gather(a, m, i, depth + 1);
                return;
        }
        LIST_ADD(a, m->all, n);
}

static const struct yaml_node *path(const struct yaml_node *n, const char *const *keys) {
        for (; *keys && n; keys++)
                n = node_get(n, *keys);
        return n;
}
#define PATH(n, ...) path((n), (const char *const[]){__VA_ARGS__, NULL})

static const char *text_or(const struct yaml_node *n, const char *otherwise) { return node_text(n) ?: otherwise; }

static const char *namespace_of(const struct yaml_node *m) { return text_or(PATH(m, "metadata", "namespace"), ""); }

/* The pod's spec, and where its labels are. NULL: this kind runs nothing. */
static const struct yaml_node *pod_spec(const struct yaml_node *m, const struct yaml_node **labels) {
        const struct yaml_node *spec = node_get(m, "spec");
        const char *kind = text_or(node_get(m, "kind"), "");

        if (streq(kind, "PodTemplate"))
                spec = node_get(m, "template"), *labels = PATH(spec, "metadata", "labels");
        else if (streq(kind, "Pod")) {
                *labels = PATH(m, "metadata", "labels");
                return spec;
        } else if (streq(kind, "CronJob"))
                spec = PATH(spec, "jobTemplate", "spec", "template");
        else
                spec = node_get(spec, "template")
                               ?: node_get(spec, "podTemplate"); /* the latter: agent-sandbox's Sandbox */
        *labels = PATH(spec, "metadata", "labels");
        return node_is_list(PATH(spec, "spec", "containers")) ? node_get(spec, "spec") : NULL;
}

/* --- What other documents say. */

/* podSelector: an empty one selects every pod; matchExpressions are taken for a match only where there are none. */
static bool selects(const struct yaml_node *selector, const struct yaml_node *labels) {
        const struct yaml_node *match = node_get(selector, "matchLabels");

        if (node_get(selector, "matchExpressions"))
                return false;
        for (const struct yaml_node *k = match ? match->first : NULL; k; k = k->next) {
                const char *want = node_text(k->value), *has = node_text(node_get(labels, k->text));
                if (!want || !has || !streq(want, has))
                        return false;
        }
        return true;
}

/* An egress rule without `to` lets everything out. */
static bool policy_bounds(const struct yaml_node *spec) {
        const struct yaml_node *types = node_get(spec, "policyTypes"), *egress = node_get(spec, "egress");
        bool egress_type = node_is_list(egress); /* the default of policyTypes where egress is given */

        for (const struct yaml_node *t = node_is_list(types) ? types->first : NULL; t; t = t->next)
                egress_type |= streq(text_or(t, ""), "Egress");
        for (const struct yaml_node *r = node_is_list(egress) ? egress->first : NULL; r && egress_type; r = r->next) {
                const struct yaml_node *to = node_get(r, "to");
                if (!to || (!to->first && !node_get(r, "ports")))
                        return false;
                for (const struct yaml_node *t = to->first; t; t = t->next)
                        if (streq(text_or(PATH(t, "ipBlock", "cidr"), ""), "0.0.0.0/0") &&
                                !PATH(t, "ipBlock", "except") && !node_get(r, "ports"))
                                return false;
        }
        return egress_type;
}

static bool egress_ruled(
        struct assessment *a, const struct manifests *all, const struct yaml_node *m, const struct yaml_node *labels) {
        for (size_t i = 0; i < all->all.n && charge(a, 0); i++) {
                const struct yaml_node *p = all->all.items[i], *spec = node_get(p, "spec");
                if (streq(text_or(node_get(p, "kind"), ""), "NetworkPolicy") &&
                        streq(namespace_of(p), namespace_of(m)) && selects(node_get(spec, "podSelector"), labels) &&
                        policy_bounds(spec))
                        return true;
        }
        return false;
}

/* Rules that amount to everything: any verb on any resource. */
static bool role_is_admin(struct assessment *a, const struct manifests *all, const char *kind, const char *name) {
        if (streq(name, "cluster-admin"))
                return true;
        for (size_t i = 0; i < all->all.n && charge(a, 0); i++) {
                const struct yaml_node *r = all->all.items[i];
                if (!streq(text_or(node_get(r, "kind"), ""), kind) ||
                        !streq(text_or(PATH(r, "metadata", "name"), ""), name))
                        continue;
                const struct yaml_node *rules = node_get(r, "rules");
                for (const struct yaml_node *x = node_is_list(rules) ? rules->first : NULL; x; x = x->next) {
                        const struct yaml_node *verbs = node_get(x, "verbs"), *resources = node_get(x, "resources");
                        if (node_is_list(verbs) && verbs->first && streq(text_or(verbs->first, ""), "*") &&
                                node_is_list(resources) && resources->first &&
                                streq(text_or(resources->first, ""), "*"))
                                return true;
                }
        }
        return false;
}

static void read_account(struct assessment *a, struct unit *u, const struct manifests *all, const struct yaml_node *m) {
        const char *account = u->account.text ?: "default";

        for (size_t i = 0; i < all->all.n && charge(a, 0); i++) {
                const struct yaml_node *b = all->all.items[i], *subjects = node_get(b, "subjects"),
                                       *ref = node_get(b, "roleRef");
                const char *kind = text_or(node_get(b, "kind"), "");
                bool cluster = streq(kind, "ClusterRoleBinding");
                if (streq(kind, "ServiceAccount") && streq(text_or(PATH(b, "metadata", "name"), ""), account) &&
                    streq(namespace_of(b), namespace_of(m)) && u->token.is == UNSET)
                        u->token = node_flag(a, b, "automountServiceAccountToken");
                if (!cluster && !streq(kind, "RoleBinding"))
                        continue;
                for (const struct yaml_node *s = node_is_list(subjects) ? subjects->first : NULL; s; s = s->next) {
                        if (!streq(text_or(node_get(s, "name"), ""), account) ||
                                !streq(text_or(node_get(s, "kind"), ""), "ServiceAccount"))
                                continue;
                        u->role = (struct flag){YES, ref ? ref->line : b->line};
                        if (cluster && role_is_admin(a, all, text_or(node_get(ref, "kind"), "ClusterRole"),
                                               text_or(node_get(ref, "name"), "")))
                                u->admin = u->role;
                }
        }
}

/* --- The pod and its containers. */

static void read_volume_mounts(
        struct assessment *a, struct unit *u, const struct yaml_node *spec, const struct yaml_node *c) {
        const struct yaml_node *mounts = node_get(c, "volumeMounts"), *volumes = node_get(spec, "volumes");

        for (const struct yaml_node *i = node_is_list(mounts) ? mounts->first : NULL; i; i = i->next) {
                const char *name = text_or(node_get(i, "name"), "");
                for (const struct yaml_node *v = node_is_list(volumes) ? volumes->first : NULL; v && charge(a, 0);
                        v = v->next) {
                        if (!streq(text_or(node_get(v, "name"), ""), name))
                                continue;
                        const struct yaml_node *host = PATH(v, "hostPath", "path"), *secret = node_get(v, "secret");
                        if (node_text(host)) {
                                struct mount m = {.source = node_text(host),
                                        .target = node_text(node_get(i, "mountPath")),
                                        .read_only = node_flag(a, i, "readOnly").is == YES,
                                        .line = host->line};
                                LIST_ADD(a, u->mounts, m);
                        }
                        if (secret)
                                LIST_ADD(a, u->creds,
                                        (struct cred){CRED_FILE, text_or(node_get(secret, "secretName"), name),
                                                secret->line});
                        const struct yaml_node *sources = PATH(v, "projected", "sources");
                        for (const struct yaml_node *s = node_is_list(sources) ? sources->first : NULL; s; s = s->next)
                                if (node_get(s, "secret"))
                                        LIST_ADD(a, u->creds,
                                                (struct cred){
                                                        CRED_FILE, text_or(PATH(s, "secret", "name"), name), s->line});
                        break;
                }
        }
        const struct yaml_node *devices = node_get(c, "volumeDevices");
        for (const struct yaml_node *i = node_is_list(devices) ? devices->first : NULL; i; i = i->next)
                LIST_ADD(a, u->devices, (struct fact){text_or(node_get(i, "devicePath"), "a block device"), i->line});
}

static void read_env(struct assessment *a, struct unit *u, const struct yaml_node *c) {
        const struct yaml_node *env = node_get(c, "env"), *from = node_get(c, "envFrom");

        for (const struct yaml_node *i = node_is_list(env) ? env->first : NULL; i; i = i->next) {
                const struct yaml_node *ref = PATH(i, "valueFrom", "secretKeyRef"), *value = node_get(i, "value");
                const char *name = text_or(node_get(i, "name"), "");
                if (ref)
                        LIST_ADD(a, u->creds, (struct cred){CRED_ENV, name, i->line});
                else if (node_text(value)) {
                        /* $(NAME) is another variable. */
                        struct var v = {VAR_ENV, name, node_text(value), str_after(node_text(value), "$(") != NULL,
                                false, value->line};
                        LIST_ADD(a, u->vars, v);
                }
        }
        for (const struct yaml_node *i = node_is_list(from) ? from->first : NULL; i; i = i->next)
                if (node_get(i, "secretRef"))
                        LIST_ADD(a, u->creds,
                                (struct cred){CRED_ENV, text_or(PATH(i, "secretRef", "name"), "a secret"), i->line});
        const struct yaml_node *args[] = {node_get(c, "command"), node_get(c, "args")};
        for (size_t k = 0; k < ELEMENTSOF(args); k++)
                for (const struct yaml_node *i = node_is_list(args[k]) ? args[k]->first : NULL; i; i = i->next)
                        if (node_text(i))
                                LIST_ADD(a, u->vars, (struct var){VAR_ARG, NULL, node_text(i), false, false, i->line});
}

static void read_ports(struct assessment *a, struct unit *u, const struct yaml_node *c) {
        const struct yaml_node *ports = node_get(c, "ports");
        for (const struct yaml_node *i = node_is_list(ports) ? ports->first : NULL; i; i = i->next) {
                const struct yaml_node *host = node_get(i, "hostPort");
                if (node_text(host) && node_positive(a, host))
                        LIST_ADD(a, u->ports, (struct port){text_or(node_get(i, "hostIP"), ""), node_text(host),
                                                            text_or(node_get(i, "containerPort"), ""), host->line});
        }
}

static void read_caps(struct assessment *a, struct unit *u, const struct yaml_node *ctx) {
        const struct yaml_node *add = PATH(ctx, "capabilities", "add"), *drop = PATH(ctx, "capabilities", "drop");
        for (const struct yaml_node *i = node_is_list(add) ? add->first : NULL; i; i = i->next)
                if (node_text(i))
                        LIST_ADD(a, u->cap_add, (struct fact){node_text(i), i->line});
        for (const struct yaml_node *i = node_is_list(drop) ? drop->first : NULL; i; i = i->next)
                if (node_text(i))
                        LIST_ADD(a, u->cap_drop, (struct fact){node_text(i), i->line});
}

/* The pod's and then the container's security context: what the latter says takes the former's place. */
static void read_context(struct assessment *a, struct unit *u, const struct yaml_node *ctx) {
        struct flag f = node_flag(a, ctx, "runAsNonRoot");
        if (f.is != UNSET)
                u->run_as_non_root = f;
        struct fact user = node_fact(a, ctx, "runAsUser");
        if (user.text)
                u->user = user;
        const struct yaml_node *seccomp = PATH(ctx, "seccompProfile", "type"),
                               *apparmor = PATH(ctx, "appArmorProfile", "type");
        if (node_text(seccomp)) {
                bool off = streq(node_text(seccomp), "Unconfined");
                u->seccomp_off = (struct flag){off ? YES : NO, seccomp->line};
                u->seccomp_set = (struct flag){off ? NO : YES, seccomp->line};
        }
        if (node_text(apparmor))
                u->lsm_off = (struct flag){streq(node_text(apparmor), "Unconfined") ? YES : NO, apparmor->line};
}

static void read_container(
        struct assessment *a, struct unit *u, const struct yaml_node *spec, const struct yaml_node *c) {
        const struct yaml_node *ctx = node_get(c, "securityContext"), *limits = PATH(c, "resources", "limits");

        u->image = node_fact(a, c, "image");
        read_context(a, u, node_get(spec, "securityContext"));
        read_context(a, u, ctx);
        read_caps(a, u, ctx);
        u->privileged = node_flag(a, ctx, "privileged");
        u->read_only = node_flag(a, ctx, "readOnlyRootFilesystem");
        struct flag escalation = node_flag(a, ctx, "allowPrivilegeEscalation");
        u->no_new_privs = (struct flag){escalation.is == NO ? YES : escalation.is == YES ? NO : UNSET, escalation.line};
        struct fact proc = node_fact(a, ctx, "procMount");
        if (proc.text && streq(proc.text, "Unmasked"))
                u->proc_unmasked = (struct flag){YES, proc.line};
        const struct yaml_node *memory = node_get(limits, "memory"), *cpu = node_get(limits, "cpu");
        if (memory && node_positive(a, memory))
                u->memory = (struct flag){YES, memory->line};
        if (cpu && node_positive(a, cpu))
                u->cpu = (struct flag){YES, cpu->line};
        read_volume_mounts(a, u, spec, c);
        read_env(a, u, c);
        read_ports(a, u, c);
}

static void read_pod_level(struct assessment *a, struct unit *u, const struct yaml_node *spec) {
        u->host_net = node_flag(a, spec, "hostNetwork");
        u->host_pid = node_flag(a, spec, "hostPID");
        u->host_ipc = node_flag(a, spec, "hostIPC");
        struct flag users = node_flag(a, spec, "hostUsers");
        u->own_userns = (struct flag){users.is == NO ? YES : UNSET, users.line};
        u->host_userns = (struct flag){users.is == YES ? YES : UNSET, users.line};
        u->runtime = node_fact(a, spec, "runtimeClassName");
        u->token = node_flag(a, spec, "automountServiceAccountToken");
        u->account = node_fact(a, spec, "serviceAccountName");
        if (!u->account.text)
                u->account = node_fact(a, spec, "serviceAccount");
        u->default_account = (struct flag){!u->account.text || streq(u->account.text, "default") ? YES : NO, 0};
        u->reach = u->host_net.is == YES ? REACH_HOST : REACH_OUT;
        const struct yaml_node *sysctls = PATH(spec, "securityContext", "sysctls");
        for (const struct yaml_node *i = node_is_list(sysctls) ? sysctls->first : NULL; i; i = i->next)
                if (node_text(node_get(i, "name")))
                        LIST_ADD(a, u->sysctls, (struct fact){node_text(node_get(i, "name")), i->line});
}

/* "web/app": the pod and the container; the pod alone where it has one of the same name. */
static const char *unit_name(struct assessment *a, const struct yaml_node *m, const struct yaml_node *c) {
        const char *pod = text_or(PATH(m, "metadata", "name"), text_or(PATH(m, "metadata", "generateName"), ""));
        const char *name = text_or(node_get(c, "name"), "");
        return !*pod || streq(pod, name) ? name : !*name ? pod : keepf(a, "%.200s/%.200s", pod, name);
}

void read_pods(struct assessment *a, const struct yaml_node *docs) {
        static const char *const lists[] = {"containers", "initContainers"};
        struct manifests all = {};

        for (const struct yaml_node *d = docs->first; d; d = d->next)
                gather(a, &all, d, 0);
        for (size_t i = 0; i < all.all.n; i++) {
                const struct yaml_node *m = all.all.items[i], *labels = NULL, *spec = pod_spec(m, &labels);
                bool ruled = spec && egress_ruled(a, &all, m, labels);
                for (size_t k = 0; spec && k < ELEMENTSOF(lists); k++) {
                        const struct yaml_node *list = node_get(spec, lists[k]);
                        for (const struct yaml_node *c = node_is_list(list) ? list->first : NULL; c; c = c->next) {
                                struct unit *u = node_is_map(c) ? unit_new(a, unit_name(a, m, c), c->line) : NULL;
                                if (!u)
                                        continue;
                                read_pod_level(a, u, spec);
                                read_account(a, u, &all, m);
                                read_container(a, u, spec, c);
                                /* The host's network knows no NetworkPolicy. */
                                u->egress_ruled = ruled && u->host_net.is != YES;
                        }
                }
        }
        free(all.all.items);
}
