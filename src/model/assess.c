/* assess: knows the formats apart, and holds what was found; see assess.h. */
#include <stdio.h>

#include "model/assess-internal.h"

struct unit *unit_new(struct assessment *a, const char *name, unsigned line) {
        if (a->units.n >= ASSESS_UNITS_MAX)
                a->failed = a->failed ? a->failed : -E2BIG;
        if (!list_grow(a, (void **)&a->units.items, &a->units.n, &a->units.cap, sizeof(struct unit), true))
                return NULL;
        struct unit *u = &a->units.items[a->units.n++];
        *u = (struct unit){.name = name, .line = line};
        return u;
}

void note(struct assessment *a, const char *fmt, ...) {
        char line[400];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(line, sizeof(line), fmt, ap);
        va_end(ap);
        if (a->notes.n < 50 && !strlist_has(&a->notes, line) && strlist_add(&a->notes, line) < 0)
                a->failed = -ENOMEM;
}

void find(struct assessment *a, enum rule_id rule, const struct unit *u, unsigned line, const char *detail) {
        struct finding *f = &a->findings[rule];

        f->rule = rule;
        if (++a->n_places > ASSESS_PLACES_MAX) {
                a->failed = a->failed ? a->failed : -E2BIG;
                return;
        }
        struct place p = {u ? u->name : NULL, detail, line};
        if (f->places.n > 0) { /* the same, once: a list that two services extend */
                const struct place *l = &f->places.items[f->places.n - 1];
                if (l->line == line && l->unit == p.unit &&
                        ((!l->detail && !detail) || (l->detail && detail && streq(l->detail, detail))))
                        return;
        }
        if (list_grow(a, (void **)&f->places.items, &f->places.n, &f->places.cap, sizeof(p), false))
                f->places.items[f->places.n++] = p;
}

static void unit_clear(struct unit *u) {
        free(u->cap_add.items);
        free(u->cap_drop.items);
        free(u->devices.items);
        free(u->sysctls.items);
        free(u->networks.items);
        free(u->initialize.items);
        free(u->mounts.items);
        free(u->ports.items);
        free(u->vars.items);
        free(u->creds.items);
}

void assess_free(struct assessment *a) {
        if (!a)
                return;
        for (size_t i = 0; i < a->units.n; i++)
                unit_clear(&a->units.items[i]);
        free(a->units.items);
        for (size_t i = 0; i < RULE_N; i++)
                free(a->findings[i].places.items);
        for (size_t i = 0; i < a->where.n; i++)
                free(a->where.items[i].units.items);
        for (size_t i = 0; i < a->reach.n; i++)
                free(a->reach.items[i].units.items);
        for (size_t i = 0; i < a->creds.n; i++)
                free(a->creds.items[i].units.items);
        free(a->where.items);
        free(a->reach.items);
        free(a->creds.items);
        strlist_clear(&a->kept);
        strlist_clear(&a->notes);
        yaml_node_free(a->tree);
        free(a);
}

size_t assess_count(const struct assessment *a, enum assess_severity at_least) {
        size_t n = 0;
        for (size_t i = 0; i < RULE_N; i++)
                n += a->findings[i].places.n > 0 && assess_rules[i].severity >= at_least;
        return n;
}

/* --- Which format. */

static bool has(const struct yaml_node *n, const char *key) { return node_key(n, key) != NULL; }

/* A compose file of version 1 has its services at the top. */
static bool is_compose_v1(const struct yaml_node *n) {
        if (!node_is_map(n) || n->n == 0)
                return false;
        for (const struct yaml_node *k = n->first; k; k = k->next)
                if (!node_is_map(k->value) ||
                        (!has(k->value, "image") && !has(k->value, "build") && !has(k->value, "extends")))
                        return false;
        return true;
}

static bool is_inspect(const struct yaml_node *n) {
        const struct yaml_node *first = node_is_list(n) ? n->first : n;
        return node_is_map(first) && has(first, "HostConfig") && (has(first, "Config") || has(first, "Name"));
}

static bool is_pod(const struct yaml_node *docs) {
        for (const struct yaml_node *d = docs->first; d; d = d->next)
                if (node_text(node_get(d, "kind")) && has(d, "apiVersion"))
                        return true;
        return false;
}

static bool is_claude(const struct yaml_node *n) {
        const char *schema = node_text(node_get(n, "$schema"));
        const struct yaml_node *p = node_get(n, "permissions"), *s = node_get(n, "sandbox");
        if (schema && strstr(schema, "claude-code-settings"))
                return true;
        return node_is_map(p) ||
               (node_is_map(s) && (has(s, "enabled") || has(s, "excludedCommands") || has(s, "network") ||
                                          has(s, "filesystem"))) ||
               has(n, "enabledMcpjsonServers") || has(n, "enableAllProjectMcpServers");
}

static bool is_srt(const struct yaml_node *n) {
        const struct yaml_node *net = node_get(n, "network"), *fs = node_get(n, "filesystem");
        return (node_is_map(net) && (has(net, "allowedDomains") || has(net, "deniedDomains"))) ||
               (node_is_map(fs) && (has(fs, "allowWrite") || has(fs, "denyRead") || has(fs, "denyWrite")));
}

static bool is_devcontainer(const struct yaml_node *n) {
        static const char *const keys[] = {"dockerComposeFile", "dockerFile", "features", "customizations", "runArgs",
                "remoteUser", "workspaceFolder", "workspaceMount", "postCreateCommand", "forwardPorts", "containerEnv",
                "mounts"};
        bool image = has(n, "image") || has(n, "build");
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (has(n, keys[i]) && (image || i < 2))
                        return true;
        return image && node_text(node_get(n, "name"));
}

static int read_format(struct assessment *a, const char *name, struct error *e) {
        const struct yaml_node *doc = a->tree->first;

        if (!doc)
                return error_set(e, EINVAL, "%s is empty", name);
        if (is_pod(a->tree)) {
                a->format = FORMAT_POD;
                read_pods(a, a->tree);
                if (a->units.n == 0 && !a->failed) {
                        error_set(e, EINVAL,
                                "%s: no pod, and nothing that has a pod template, stands in these Kubernetes manifests",
                                name);
                        return error_fix(e, "of a Helm chart, assess what `helm template` prints");
                }
                return 0;
        }
        if (is_inspect(doc)) {
                a->format = FORMAT_INSPECT;
                read_inspect(a, doc);
        } else if (node_is_map(node_get(doc, "services")) || is_compose_v1(doc)) {
                a->format = FORMAT_COMPOSE;
                read_compose(a, doc);
        } else if (is_claude(doc)) {
                a->format = FORMAT_CLAUDE;
                read_claude(a, doc);
        } else if (is_srt(doc)) {
                a->format = FORMAT_SRT;
                read_srt(a, doc);
        } else if (is_devcontainer(doc)) {
                a->format = FORMAT_DEVCONTAINER;
                read_devcontainer(a, doc);
        } else {
                error_set(e, EINVAL, "%s is none of what assess reads", name);
                return error_fix(e, "it reads compose files, docker inspect of containers, Kubernetes pods and what "
                                    "has a pod template, "
                                    "devcontainer.json, Claude Code's settings.json and sandbox-runtime's settings");
        }
        if (a->format == FORMAT_COMPOSE && a->units.n == 0 && !a->failed)
                return error_set(e, EINVAL, "%s: the compose file has no service", name);
        return 0;
}

int assess_read(const char *text, size_t len, const char *name, struct assessment **ret, struct error *e) {
        _cleanup_assessment_ struct assessment *a = calloc(1, sizeof(*a));
        struct yaml_error ye = {};
        char shown[256];

        str_visible(shown, sizeof(shown), name);
        if (!a)
                return error_errno(e, ENOMEM, "%s", shown);
        int r = yaml_read_lenient(text, len, &a->tree, &ye);
        if (r < 0) {
                char why[sizeof(ye.msg) * 4];
                str_visible(why, sizeof(why), ye.msg);
                error_set(e, -r, "%s:%u:%u: %.300s", shown, ye.line, ye.column, why);
                if (memmem(text, MIN(len, (size_t)1 << 16), "{{", 2))
                        return error_fix(e, "a template is no YAML before it is filled in: assess what `helm template` "
                                            "and the like print");
                return r;
        }
        r = read_format(a, shown, e);
        if (r < 0)
                return r;
        judge(a);
        answer(a);
        if (a->failed == -E2BIG) {
                error_set(e, E2BIG, "%s holds more than assess looks at (%u containers, %u entries, %u findings)",
                        shown, ASSESS_UNITS_MAX, ASSESS_FACTS_MAX, ASSESS_PLACES_MAX);
                return error_fix(e, "split the file");
        }
        if (a->failed < 0)
                return error_errno(e, -a->failed, "%s", shown);
        *ret = TAKE_PTR(a);
        return 0;
}
