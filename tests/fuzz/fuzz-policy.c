/* The policy reader: what is accepted is within the ranges of its table and survives being written out and read
 * again; what is not has an error with the file's name in front. The first line also goes through the setters of the
 * command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "model/glob.h"
#include "model/policy-table.h"

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

static const struct limit *limit_of(const struct policy *p, const struct policy_key *k) {
        bool is = k->type == KEY_SIZE || k->type == KEY_CPU || k->type == KEY_COUNT || k->type == KEY_DURATION;
        return is ? (const struct limit *)((const char *)p + k->field) : NULL;
}

static char *written(const struct policy *p) {
        struct strbuf b = {};
        const char *between = "";

        strbuf_printf(&b, "version: 1\ntier: %s\ntrust: %s\nfiles: {workspace: {mode: %s", tier_name(p->tier),
                      trust_name(p->trust), workspace_mode_name(p->workspace.mode));
        if (p->workspace.path) {
                strbuf_puts(&b, ", path: ");
                quoted(&b, p->workspace.path);
        }
        strbuf_puts(&b, "},\n ");
        list(&b, "read", &p->read);
        strbuf_puts(&b, ",\n ");
        list(&b, "hide", &p->hide);
        strbuf_puts(&b, "}\nenv: {");
        for (size_t i = 0; i < p->n_env; i++) {
                strbuf_printf(&b, "%s%s: ", i ? ",\n " : "", p->env[i].name);
                if (p->env[i].value)
                        quoted(&b, p->env[i].value);
        }
        strbuf_puts(&b, "}\nlimits: {");
        for (size_t i = 0; i < n_policy_keys; i++) {
                const struct policy_key *k = &policy_keys[i];
                const struct limit *l = limit_of(p, k);
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

static void check_policy(const struct policy *p, const struct policy *q) {
        must(p->tier == q->tier && p->trust == q->trust && p->workspace.mode == q->workspace.mode);
        must(!p->workspace.path == !q->workspace.path);
        must(!p->workspace.path || streq(p->workspace.path, q->workspace.path));
        same_list(&p->read, &q->read);
        same_list(&p->hide, &q->hide);
        same_list(&p->without, &q->without);
        must(p->n_env == q->n_env);
        for (size_t i = 0; i < p->n_env; i++) {
                must(streq(p->env[i].name, q->env[i].name) && !p->env[i].value == !q->env[i].value);
                must(!p->env[i].value || streq(p->env[i].value, q->env[i].value));
        }
        for (size_t i = 0; i < n_policy_keys; i++) {
                const struct limit *l = limit_of(p, &policy_keys[i]), *m = limit_of(q, &policy_keys[i]);
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
        r = policy_add_env(p, text, &e);
        if (r < 0)
                check_error(r, &e);
        r = policy_add_hide(p, text, &e);
        if (r < 0)
                check_error(r, &e);
        r = policy_add_read(p, text, &e);
        if (r < 0)
                check_error(r, &e);
        r = policy_add_without(p, text, &e);
        if (r < 0)
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
