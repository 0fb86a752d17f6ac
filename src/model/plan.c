/* The plan as data: building, freeing, printing. See plan.h. */
#include <stdio.h>
#include <string.h>

#include "base/use.h"
#include "model/plan.h"

static const char *const op_names[] = {
        [OP_DIR] = "dir", [OP_SYMLINK] = "link", [OP_BIND] = "bind", [OP_SCRATCH] = "scratch", [OP_OVERLAY] = "overlay",
        [OP_IMAGE_LAYER] = "image-layer", [OP_IMAGE] = "image", [OP_PROC] = "proc", [OP_SYSFS] = "sysfs", [OP_DEVPTS] = "devpts", [OP_MQUEUE] = "mqueue", [OP_MASK] = "mask",
        [OP_READONLY] = "read-only", [OP_LAYER_DIR] = "layer-dir", [OP_LAYER_WHITEOUT] = "hide",
        [OP_LAYER_FILE] = "layer-file", [OP_FILE] = "file", [OP_SOCKET] = "socket",
};

static const struct { unsigned flag; const char *name; } flag_names[] = {
        {PLAN_READONLY, "ro"}, {PLAN_RECURSIVE, "recursive"}, {PLAN_DEVICE, "device"}, {PLAN_UPPER, "upper"},
        {PLAN_OPTIONAL, "optional"}, {PLAN_IDMAP, "idmap"}, {PLAN_STORE, "store"}, {PLAN_VOLUME, "volume"}, {PLAN_EXEC, "exec"},
};

static const struct { unsigned use; const char *name; } use_names[] = {
        {USE_READ, "read"}, {USE_EXEC, "exec"}, {USE_WRITE, "write"}, {USE_CHANGE, "change"}, {USE_DEVICE, "ioctl"},
};

const char *limit_means_name(enum limit_means m) {
        static const char *const names[] = {
                [MEANS_NONE] = "none", [MEANS_CGROUP2] = "cgroup v2", [MEANS_CGROUP1] = "cgroup v1",
                [MEANS_RLIMIT] = "rlimit in its own user namespace", [MEANS_SAMPLING] = "sampling by the supervisor",
                [MEANS_TIMER] = "timer of the supervisor", [MEANS_RELAY] = "relay of the output",
        };
        return names[m];
}

struct plan *plan_new(void) {
        return calloc(1, sizeof(struct plan));
}

void plan_free(struct plan *p) {
        if (!p)
                return;
        for (size_t i = 0; i < p->n_ops; i++) {
                free(p->ops[i].target);
                free(p->ops[i].source);
        }
        free(p->ops);
        for (size_t i = 0; i < p->n_rules; i++)
                free(p->rules[i].path);
        free(p->rules);
        free(p->id);
        free(p->name);
        free(p->why_tier);
        free(p->image);
        free(p->workspace);
        free(p->inside);
        free(p->cwd);
        free(p->home);
        free(p->hostname);
        free(p->cgroup);
        free(p->state);
        free(p->ssh);
        free(p->ssh_keygen);
        free(p->ids.outer_uid_map);
        free(p->ids.outer_gid_map);
        free(p->ids.inner_uid_map);
        free(p->ids.inner_gid_map);
        free(p->ids.store_map);
        strlist_clear(&p->env);
        strlist_clear(&p->argv);
        strlist_clear(&p->hide);
        strlist_clear(&p->guarded);
        free(p->parent);
        strlist_clear(&p->without);
        strlist_clear(&p->use);
        strlist_clear(&p->notes);
        strlist_clear(&p->calls);
        free(p->network.ports);
        free(p->network.targets);
        free(p->network.table);
        strlist_clear(&p->network.rules);
        free(p);
}

static int add_op(struct plan *p, struct plan_op op) {
        if (p->n_ops == p->cap_ops) {
                size_t cap = MAX(p->cap_ops * 2, 64u);
                struct plan_op *ops = reallocarray(p->ops, cap, sizeof(*ops));
                if (!ops)
                        return -ENOMEM;
                p->ops = ops;
                p->cap_ops = cap;
        }
        p->ops[p->n_ops++] = op;
        return 0;
}

int plan_add_content(struct plan *p, enum plan_op_kind kind, const char *target, const void *data, size_t n, mode_t mode, int layer) {
        _cleanup_free_ char *t = strdup(target), *s = malloc(n + 1);

        if (!t || !s)
                return -ENOMEM;
        memcpy(s, data, n);
        s[n] = 0;
        int r = add_op(p, (struct plan_op){kind, PLAN_BYTES, mode, layer, t, s, n});
        if (r == 0)
                t = s = NULL;
        return r;
}

int plan_add(struct plan *p, enum plan_op_kind kind, const char *target, const char *source, unsigned flags,
             mode_t mode, int layer) {
        _cleanup_free_ char *t = strdup(target), *s = source ? strdup(source) : NULL;

        if (!t || (source && !s))
                return -ENOMEM;
        int r = add_op(p, (struct plan_op){kind, flags, mode, layer, t, s, (kind == OP_LAYER_FILE || kind == OP_FILE) && s ? strlen(s) : 0});
        if (r == 0)
                t = s = NULL;
        return r;
}

int plan_allow(struct plan *p, const char *path, unsigned use) {
        if (p->n_rules == p->cap_rules) {
                size_t cap = MAX(p->cap_rules * 2, 16u);
                struct plan_rule *rules = reallocarray(p->rules, cap, sizeof(*rules));
                if (!rules)
                        return -ENOMEM;
                p->rules = rules;
                p->cap_rules = cap;
        }
        char *s = strdup(path);
        if (!s)
                return -ENOMEM;
        p->rules[p->n_rules++] = (struct plan_rule){s, use};
        return 0;
}

bool plan_writes_through(const struct plan *p) {
        for (size_t i = 0; i < p->n_ops; i++)
                if (p->ops[i].kind == OP_BIND && !(p->ops[i].flags & (PLAN_READONLY | PLAN_DEVICE)))
                        return true;
        return false;
}

bool plan_writes_volume(const struct plan *p, const char *path) {
        for (size_t i = 0; i < p->n_ops; i++) {
                const struct plan_op *o = &p->ops[i];
                if ((o->flags & PLAN_VOLUME) && !(o->flags & PLAN_READONLY) && o->source && path_beneath(path, o->source))
                        return true;
        }
        return false;
}

static void flags_text(struct strbuf *b, unsigned flags) {
        for (size_t i = 0; i < ELEMENTSOF(flag_names); i++)
                if (flags & flag_names[i].flag)
                        strbuf_printf(b, "%s%s", b->len ? "," : "", flag_names[i].name);
        strbuf_puts(b, "");
}

static void use_text(struct strbuf *b, unsigned use) {
        for (size_t i = 0; i < ELEMENTSOF(use_names); i++)
                if (use & use_names[i].use)
                        strbuf_printf(b, "%s%s", b->len ? "," : "", use_names[i].name);
        strbuf_puts(b, "");
}

struct named_limit {
        const char *name;
        const struct limit *want;
        enum limit_means means;
        enum { SIZE, CPU, COUNT, TIME } unit;
};

static size_t list_limits(const struct plan *p, struct named_limit out[7]) {
        const struct plan_limits *l = &p->limits;
        const struct named_limit all[7] = {
                {"memory", &l->want.memory, l->memory, SIZE}, {"cpu", &l->want.cpu, l->cpu, CPU},
                {"pids", &l->want.pids, l->pids, COUNT}, {"disk", &l->want.disk, l->disk, SIZE},
                {"output", &l->want.output, l->output, SIZE}, {"time", &l->want.time, l->time, TIME},
                {"idle", &l->want.idle, l->idle, TIME},
        };
        size_t n = 0;
        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                if (all[i].want->origin != LIMIT_NONE)
                        out[n++] = all[i];
        return n;
}

char *plan_format(const struct plan *p) {
        _cleanup_strbuf_ struct strbuf b = {};
        struct named_limit limits[7];
        size_t n = list_limits(p, limits);

        strbuf_printf(&b, "sandbox    %s\ntier       %s\n", p->id, tier_name(p->tier));
        if (p->why_tier)
                strbuf_printf(&b, "why        %s\n", p->why_tier);
        if (p->nesting)
                strbuf_printf(&b, "nesting    %s\n", nesting_name(p->nesting));
        if (p->trace)
                strbuf_printf(&b, "trace      %s\n", trace_name(p->trace));
        if (p->image)
                strbuf_printf(&b, "image      %s\n", p->image); /* checked: printable (policy.c) */
        if (p->workspace) {
                _cleanup_free_ char *v = str_visible_dup(p->workspace), *i = p->inside ? str_visible_dup(p->inside) : NULL;
                strbuf_printf(&b, "workspace  %s%s%s (%s)\n", v ? v : "?", i ? " at " : "", i ? i : "",
                              workspace_mode_name(p->mode));
        }
        strbuf_printf(&b, "user       %u:%u inside, %u:%u on the host", (unsigned)p->ids.inner_uid,
                      (unsigned)p->ids.inner_gid, (unsigned)p->ids.host_uid, (unsigned)p->ids.host_gid);
        if (p->ids.n_groups > 1)
                strbuf_printf(&b, ", with %zu more groups", p->ids.n_groups - 1);
        strbuf_puts(&b, "\n");
        for (size_t i = 0; i < p->use.n; i++)
                strbuf_printf(&b, "use        %s\n", p->use.items[i]);
        if (!p->network.on)
                strbuf_puts(&b, "network    none\n");
        for (size_t i = 0; i < p->network.rules.n; i++)
                strbuf_printf(&b, "network    %s\n", p->network.rules.items[i]); /* canonical: printable (network.c) */
        for (size_t i = 0; i < p->network.n_secrets; i++) {
                _cleanup_free_ char *text = secret_text(&p->network.secrets[i]);
                strbuf_printf(&b, "secret     %s\n", text ? text : "?");
        }
        for (size_t i = 0; p->git && i < p->git->n_hosts; i++) {
                _cleanup_free_ char *text = git_host_text(&p->git->hosts[i]);
                strbuf_printf(&b, "git_ssh    %s\n", text ? text : "?"); /* checked: printable (git.c) */
        }
        if (p->git && p->git->sign.on) {
                _cleanup_free_ char *text = git_sign_text(&p->git->sign);
                strbuf_printf(&b, "sign       %s\n", text ? text : "?");
        }
        for (size_t i = 0; i < p->notes.n; i++) {
                _cleanup_free_ char *v = str_visible_dup(p->notes.items[i]);
                strbuf_printf(&b, "note       %s\n", v ? v : "?");
        }
        for (size_t i = 0; i < n; i++) {
                char v[40];
                if (limits[i].unit == SIZE)
                        format_size(v, sizeof(v), limits[i].want->value);
                else if (limits[i].unit == TIME)
                        format_duration(v, sizeof(v), limits[i].want->value);
                else if (limits[i].unit == CPU)
                        snprintf(v, sizeof(v), "%g", (double)limits[i].want->value / 1000);
                else
                        snprintf(v, sizeof(v), "%llu", (unsigned long long)limits[i].want->value);
                strbuf_printf(&b, "limit      %-7s %s (%s)\n", limits[i].name, v, limit_means_name(limits[i].means));
        }
        for (size_t i = 0; i < p->n_ops; i++) {
                const struct plan_op *op = &p->ops[i];
                _cleanup_strbuf_ struct strbuf f = {};
                _cleanup_free_ char *t = str_visible_dup(op->target), *s = NULL;
                if (op->flags & PLAN_BYTES)
                        s = str_printf("%zu bytes", op->size);
                else if (op->source)
                        s = str_visible_dup(op->source);
                flags_text(&f, op->flags);
                strbuf_printf(&b, "%-10s %s%s%s%s%s%s\n", op_names[op->kind], t ? t : "?",
                              s && !streq(op->source, op->target) ? " <- " : "",
                              s && !streq(op->source, op->target) ? s : "", f.len ? " (" : "", f.len ? f.data : "",
                              f.len ? ")" : "");
        }
        for (size_t i = 0; i < p->n_wires; i++) {
                char text[TRIP_TEXT_MAX];
                strbuf_printf(&b, "tripwire   %s\n", trip_wire_text(&p->wires[i], text));
        }
        if (p->nesting && p->landlock_abi)
                strbuf_puts(&b, "landlock   signals and abstract sockets only\n");
        for (size_t i = 0; !p->nesting && i < p->n_rules; i++) {
                _cleanup_strbuf_ struct strbuf u = {};
                _cleanup_free_ char *t = str_visible_dup(p->rules[i].path);
                use_text(&u, p->rules[i].use);
                strbuf_printf(&b, "landlock   %s: %s\n", t ? t : "?", u.data ? u.data : "");
        }
        for (size_t i = 0; i < p->env.n; i++) {
                /* Names only: values may be secrets. */
                strbuf_printf(&b, "env        %.*s\n", (int)strcspn(p->env.items[i], "="), p->env.items[i]);
        }
        return strbuf_take(&b);
}

void plan_json(const struct plan *p, bool full, struct json *j) {
        struct named_limit limits[7];
        size_t n = list_limits(p, limits);

        json_str(j, "name", p->name);
        json_str(j, "parent", p->parent);
        json_num(j, "depth", p->depth);
        json_str(j, "tier", tier_name(p->tier));
        json_str(j, "why_tier", p->why_tier);
        json_str(j, "nesting", nesting_name(p->nesting));
        json_str(j, "trace", trace_name(p->trace));
        json_str(j, "image", p->image);
        json_str(j, "workspace", p->workspace);
        json_str(j, "workspace_inside", p->inside);
        if (p->workspace)
                json_hex_if_needed(j, "workspace_hex", p->workspace);
        json_str(j, "mode", workspace_mode_name(p->mode));
        json_num(j, "hidden", (long long)p->hidden);
        json_str(j, "cwd", p->cwd);
        json_str(j, "home", p->home);
        json_list(j, "argv", &p->argv);
        json_begin(j, "environment", '['); /* names only: values may be secrets */
        for (size_t i = 0; i < p->env.n; i++) {
                _cleanup_free_ char *name = strndup(p->env.items[i], strcspn(p->env.items[i], "="));
                json_str(j, NULL, name);
        }
        json_end(j, ']');
        json_begin(j, "user", '{');
        json_num(j, "uid", p->ids.inner_uid);
        json_num(j, "gid", p->ids.inner_gid);
        json_num(j, "host_uid", p->ids.host_uid);
        json_num(j, "host_gid", p->ids.host_gid);
        json_num(j, "owner_uid", p->ids.owner_uid);
        json_num(j, "owner_gid", p->ids.owner_gid);
        json_bool(j, "root", p->ids.root);
        json_bool(j, "subids", p->ids.subids);
        json_end(j, '}');
        json_num(j, "capabilities", (long long)p->capabilities);
        json_num(j, "landlock_abi", p->landlock_abi);
        json_str(j, "cgroup", p->cgroup);
        json_list(j, "network", &p->network.rules);
        json_begin(j, "secrets", '[');
        for (size_t i = 0; i < p->network.n_secrets; i++)
                secret_json(j, &p->network.secrets[i]);
        json_end(j, ']');
        json_begin(j, "limits", '{');
        for (size_t i = 0; i < n; i++) {
                json_begin(j, limits[i].name, '{');
                json_num(j, "value", (long long)limits[i].want->value);
                json_str(j, "means", limit_means_name(limits[i].means));
                json_bool(j, "default", limits[i].want->origin == LIMIT_DEFAULT);
                json_end(j, '}');
        }
        json_end(j, '}');
        json_list(j, "hide", &p->hide);
        json_list(j, "guarded", &p->guarded);
        json_list(j, "without", &p->without);
        json_list(j, "use", &p->use);
        json_list(j, "notes", &p->notes);
        json_list(j, "calls", &p->calls);
        trip_json(j, p->wires, p->n_wires);
        if (p->git)
                git_json(j, p->git);
        json_begin(j, "delegates", '[');
        for (size_t i = 0; i < p->n_delegates; i++)
                json_str(j, NULL, p->delegates[i].name);
        json_end(j, ']');
        json_begin(j, "volumes", '[');
        for (size_t i = 0; i < p->n_ops; i++) {
                const struct plan_op *op = &p->ops[i];
                if (!(op->flags & PLAN_VOLUME))
                        continue;
                json_begin(j, NULL, '{');
                json_str(j, "host", op->source);
                json_str(j, "inside", op->target);
                json_bool(j, "writable", !(op->flags & PLAN_READONLY));
                json_end(j, '}');
        }
        json_end(j, ']');
        json_begin(j, "layers", '[');
        for (size_t i = 0; i < p->n_ops; i++)
                if (p->ops[i].kind == OP_IMAGE_LAYER)
                        json_str(j, NULL, p->ops[i].source);
        json_end(j, ']');
        json_begin(j, "shown", '[');
        for (size_t i = 0; i < p->n_ops; i++)
                if ((p->ops[i].kind == OP_BIND || p->ops[i].kind == OP_OVERLAY) &&
                    (p->ops[i].flags & (PLAN_READONLY | PLAN_VOLUME)) == PLAN_READONLY)
                        json_str(j, NULL, p->ops[i].target);
        json_end(j, ']');
        if (!full)
                return;
        json_begin(j, "operations", '[');
        for (size_t i = 0; i < p->n_ops; i++) {
                const struct plan_op *op = &p->ops[i];
                _cleanup_strbuf_ struct strbuf f = {};
                flags_text(&f, op->flags);
                json_begin(j, NULL, '{');
                json_str(j, "op", op_names[op->kind]);
                json_str(j, "target", op->target);
                if (op->source && op->kind != OP_LAYER_FILE && op->kind != OP_FILE && !streq(op->source, op->target))
                        json_str(j, "source", op->source);
                if (f.len)
                        json_str(j, "flags", f.data);
                json_end(j, '}');
        }
        json_end(j, ']');
        json_begin(j, "rules", '[');
        for (size_t i = 0; !p->nesting && i < p->n_rules; i++) {
                _cleanup_strbuf_ struct strbuf u = {};
                use_text(&u, p->rules[i].use);
                json_begin(j, NULL, '{');
                json_str(j, "path", p->rules[i].path);
                json_str(j, "use", u.data ? u.data : "");
                json_end(j, '}');
        }
        json_end(j, ']');
}
