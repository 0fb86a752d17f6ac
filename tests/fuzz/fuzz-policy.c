/* The policy reader: what is accepted is within the ranges of its table and survives being written out and read
 * again; what is not has an error with the file's name in front. The first line also goes through the setters of the
 * command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "model/glob.h"
#include "model/image-name.h"
#include "model/policy-print.h"
#include "model/policy-table.h"
#include "model/table.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static void check_error(int r, const struct error *e) {
        must(r < 0 && e->errnum == -r && e->msg[0]);
}

static void quoted(struct strbuf *b, const char *s) {
        strbuf_puts(b, "\"");
        for (size_t n; *s; s += n) {
                uint32_t cp = 0;
                n = utf8_decode(s, strlen(s), &cp);
                must(n > 0);
                if (n > 1) /* not all of them may stand for themselves */
                        strbuf_printf(b, "\\U%08x", cp);
                else if (*s == '"' || *s == '\\')
                        strbuf_printf(b, "\\%c", *s);
                else if (*s == '\n')
                        strbuf_puts(b, "\\n");
                else if (*s == '\t')
                        strbuf_puts(b, "\\t");
                else
                        strbuf_add(b, s, 1);
        }
        strbuf_puts(b, "\"");
}

static void list(struct strbuf *b, const char *name, const struct strlist *l) {
        strbuf_printf(b, "%s: [", name);
        for (size_t i = 0; i < l->n; i++) {
                quoted(b, l->items[i]);
                strbuf_puts(b, ",\n ");
        }
        strbuf_puts(b, "]");
}

static void text(struct strbuf *b, const char *before, const char *key, const char *value, const char *after) {
        if (!value)
                return;
        strbuf_printf(b, "%s%s: ", before, key);
        quoted(b, value);
        strbuf_puts(b, after);
}

static char *written(const struct policy *p) {
        struct strbuf b = {};
        const char *between = "";

        strbuf_printf(&b, "version: 1\ntier: %s\nmin_tier: %s\ntrust: %s\n", tier_name(p->tier), tier_name(p->min_tier),
                      trust_name(p->trust));
        text(&b, "", "image", p->image, "\n");
        text(&b, "", "user", p->user, "\n");
        text(&b, "", "workdir", p->workdir, "\n");
        if (p->has_entrypoint) {
                list(&b, "entrypoint", &p->entrypoint);
                strbuf_puts(&b, "\n");
        }
        strbuf_printf(&b, "files: {workspace: {mode: %s", workspace_mode_name(p->workspace.mode));
        text(&b, ", ", "path", p->workspace.path, "");
        text(&b, ", ", "name", p->workspace.name, "");
        text(&b, ", ", "inside", p->workspace.inside, "");
        strbuf_puts(&b, "},\n ");
        list(&b, "read", &p->read);
        strbuf_puts(&b, ",\n ");
        list(&b, "hide", &p->hide);
        strbuf_puts(&b, "}\nvolumes: [");
        for (size_t i = 0; i < p->n_volumes; i++) {
                text(&b, "{", "host", p->volumes[i].host, ", ");
                text(&b, "", "inside", p->volumes[i].inside, "");
                strbuf_printf(&b, ", mode: %s},\n ", p->volumes[i].writable ? "rw" : "ro");
        }
        strbuf_puts(&b, "]\nenv: {");
        for (size_t i = 0; i < p->n_env; i++) {
                strbuf_printf(&b, "%s%s: ", i ? ",\n " : "", p->env[i].name);
                if (p->env[i].value)
                        quoted(&b, p->env[i].value);
        }
        strbuf_puts(&b, "}\nlimits: {");
        for (size_t i = 0; i < n_policy_keys; i++) {
                const struct policy_key *k = &policy_keys[i];
                const struct limit *l = policy_limit_of(p, k);
                if (!l || l->origin != LIMIT_USER)
                        continue;
                if (k->type == KEY_CPU)
                        strbuf_printf(&b, "%s%s: %llu.%03llu", between, policy_key_leaf(k),
                                      (unsigned long long)l->value / 1000, (unsigned long long)l->value % 1000);
                else
                        strbuf_printf(&b, "%s%s: %llu%s", between, policy_key_leaf(k), (unsigned long long)l->value,
                                      k->type == KEY_DURATION ? "ms" : "");
                between = ", ";
        }
        strbuf_puts(&b, "}\n");
        list(&b, "without", &p->without);
        return strbuf_take(&b);
}

static void same_list(const struct strlist *a, const struct strlist *b) {
        must(a->n == b->n);
        for (size_t i = 0; i < a->n; i++)
                must(streq(a->items[i], b->items[i]));
}

static void same(const char *a, const char *b) {
        must(!a == !b);
        must(!a || streq(a, b));
}

/* Where something is mounted inside: nowhere that is Belljar's. */
static void check_inside(const char *path) {
        _cleanup_free_ char *clean = path_clean(path);
        must(!clean || streq(clean, path));
        must(path[0] == '/' && path[1] && !path_has_dotdot(path));
        must(!path_beneath(path, "/proc") && !path_beneath(path, "/sys") && !path_beneath(path, "/dev"));
}

static void check_images(const struct policy *p, const struct policy *q) {
        must(p->min_tier == q->min_tier && p->min_tier >= TIER_PROCESS && p->has_entrypoint == q->has_entrypoint);
        same(p->image, q->image);
        same(p->user, q->user);
        same(p->workdir, q->workdir);
        same(p->workspace.name, q->workspace.name);
        same(p->workspace.inside, q->workspace.inside);
        same_list(&p->entrypoint, &q->entrypoint);
        must(p->n_volumes == q->n_volumes);
        for (size_t i = 0; i < p->n_volumes; i++) {
                same(p->volumes[i].host, q->volumes[i].host);
                same(p->volumes[i].inside, q->volumes[i].inside);
                must(p->volumes[i].writable == q->volumes[i].writable);
                check_inside(p->volumes[i].inside);
                for (size_t k = 0; k < i; k++)
                        must(!streq(p->volumes[i].inside, p->volumes[k].inside));
        }
        must(!p->image || (image_name_check(p->image, NULL) == 0 && strlen(p->image) <= IMAGE_NAME_MAX));
        must(!p->workspace.name ||
                (!p->workspace.path && !strchr(p->workspace.name, '/') && p->workspace.name[0] != '.'));
        if (p->workspace.inside)
                check_inside(p->workspace.inside);
}

static void check_policy(const struct policy *p, const struct policy *q) {
        must(p->tier == q->tier && p->trust == q->trust && p->workspace.mode == q->workspace.mode);
        same(p->workspace.path, q->workspace.path);
        check_images(p, q);
        same_list(&p->read, &q->read);
        same_list(&p->hide, &q->hide);
        same_list(&p->without, &q->without);
        must(p->n_env == q->n_env);
        for (size_t i = 0; i < p->n_env; i++) {
                must(streq(p->env[i].name, q->env[i].name) && !p->env[i].value == !q->env[i].value);
                must(!p->env[i].value || streq(p->env[i].value, q->env[i].value));
        }
        for (size_t i = 0; i < n_policy_keys; i++) {
                const struct limit *l = policy_limit_of(p, &policy_keys[i]), *m = policy_limit_of(q, &policy_keys[i]);
                if (!l)
                        continue;
                must(l->value == m->value && l->origin == m->origin);
                must(l->origin != LIMIT_USER || (l->value >= policy_keys[i].min && l->value <= policy_keys[i].max));
        }
        for (size_t i = 0; i < p->hide.n; i++)
                must(glob_check(p->hide.items[i], NULL) == 0);
}

static void setters(const char *text) {
        struct policy *p = policy_new();
        struct error e = {};
        const char *colon = strchr(text, ':');
        int r;

        if (colon) {
                char *name = strndup(text, (size_t)(colon - text));
                r = policy_set_limit(p, name, colon + 1 + strspn(colon + 1, " "), &e);
                if (r < 0)
                        check_error(r, &e);
                free(name);
        }
        static int (*const fns[])(struct policy *, const char *, struct error *) = {
                policy_add_env,
                policy_add_hide,
                policy_add_read,
                policy_add_without,
                policy_add_volume,
                policy_add_allow,
                policy_add_deny,
                policy_add_quiet,
                policy_set_tier,
                policy_set_min_tier,
                policy_set_trust,
                policy_set_image,
                policy_set_user,
                policy_set_workdir,
                policy_set_entrypoint,
                policy_set_workspace_path,
                policy_set_workspace_name,
                policy_set_workspace_mode,
                policy_set_workspace_inside,
        };
        for (size_t i = 0; i < ELEMENTSOF(fns); i++)
                if ((r = fns[i](p, text, &e)) < 0)
                        check_error(r, &e);
        must(!p->workspace.name || !p->workspace.path);
        check_images(p, p);
        if ((r = policy_check(p, &e)) < 0)
                check_error(r, &e);
        policy_free(p);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        struct policy *p = NULL, *q = NULL;
        struct error e = {};
        char *text = strndup((const char *)data, size);
        int r;

        if (!text)
                return 0;
        text[strcspn(text, "\n")] = 0;
        setters(text);
        free(text);

        r = policy_parse((const char *)data, size, "f.yaml", &p, &e);
        if (r < 0) {
                check_error(r, &e);
                must(!p && strncmp(e.msg, "f.yaml:", 7) == 0);
                return 0;
        }
        if ((r = policy_check(p, &e)) < 0)
                check_error(r, &e);
        void *block = NULL;
        struct table table;
        size_t block_size;
        if ((r = table_compile(&p->network, &block, &block_size, &e)) < 0)
                check_error(r, &e);
        else
                must(table_load(block, block_size, &table) == 0);
        free(block);
        text = policy_text(p);
        for (const char *c = text; c && *c; c++) /* fit for a terminal */
                must(*c == '\n' || (unsigned char)*c >= ' ');
        free(text);
        struct json j = {};
        policy_json(&j, NULL, p);
        strbuf_clear(&j.text);

        text = written(p);
        if (text) {
                r = policy_parse(text, strlen(text), "f.yaml", &q, &e);
                /* Longer by its quotes than the first: a text at the cap may be over it now. */
                must(r == 0 || strlen(text) > 1u << 20);
                if (r == 0)
                        check_policy(p, q);
                policy_free(q);
        }
        free(text);
        policy_free(p);
        return 0;
}
