/* Printing a policy, see policy-print.h. */
#include <stdio.h>

#include "model/network-print.h"
#include "model/policy-print.h"
#include "model/policy-table.h"
#include "proto/json.h"

static void value(struct strbuf *b, const char *s) {
        _cleanup_free_ char *visible = str_visible_dup(s);

        if (!visible)
                b->failed = true;
        else
                strbuf_puts(b, visible);
}

/* Words with a blank or a sign that could hide where one ends stand in quotes. */
static void words(struct strbuf *b, const char *name, const struct strlist *l) {
        if (l->n == 0)
                return;
        strbuf_printf(b, "%-11s", name);
        for (size_t i = 0; i < l->n; i++) {
                bool quote = !l->items[i][0] || strpbrk(l->items[i], " \t\n,\"");
                strbuf_puts(b, i ? ", " : "");
                strbuf_puts(b, quote ? "\"" : "");
                value(b, l->items[i]);
                strbuf_puts(b, quote ? "\"" : "");
        }
        strbuf_puts(b, "\n");
}

static void line(struct strbuf *b, const char *name, const char *text) {
        if (!text)
                return;
        strbuf_printf(b, "%-11s", name);
        value(b, text);
        strbuf_puts(b, "\n");
}

static void limit(struct strbuf *b, const struct policy_key *k, const struct limit *l) {
        char text[32];

        if (l->origin == LIMIT_NONE)
                return;
        if (k->type == KEY_SIZE)
                format_size(text, sizeof(text), l->value);
        else if (k->type == KEY_DURATION)
                format_duration(text, sizeof(text), l->value);
        else if (k->type == KEY_CPU)
                snprintf(text, sizeof(text), "%g", (double)l->value / 1000);
        else
                snprintf(text, sizeof(text), "%llu", (unsigned long long)l->value);
        strbuf_printf(b, "%-11s%s%s\n", policy_key_leaf(k), text, l->origin == LIMIT_DEFAULT ? " (default)" : "");
}

static void workspace(struct strbuf *b, const struct policy *p) {
        strbuf_printf(b, "%-11s", "workspace");
        if (p->workspace.name)
                strbuf_printf(b, "%s, kept by Belljar", p->workspace.name);
        else
                value(b, p->workspace.path ?: "the working directory");
        strbuf_printf(b, " (%s)", workspace_mode_name(p->workspace.mode));
        if (p->image) {
                strbuf_puts(b, " at ");
                value(b, p->workspace.inside ?: POLICY_WORKSPACE_INSIDE);
        }
        strbuf_puts(b, "\n");
}

char *policy_text(const struct policy *p) {
        struct strbuf b = {};

        strbuf_printf(&b, "%-11s%s%s%s\n", "tier", tier_name(p->tier), p->min_tier > TIER_PROCESS ? ", at least " : "",
                      p->min_tier > TIER_PROCESS ? tier_name(p->min_tier) : "");
        strbuf_printf(&b, "%-11s%s\n", "trust", trust_name(p->trust));
        line(&b, "nesting", p->nesting ? nesting_name(p->nesting) : NULL);
        line(&b, "trace", p->trace ? trace_name(p->trace) : NULL);
        line(&b, "image", p->image);
        line(&b, "user", p->user);
        if (p->has_entrypoint && p->entrypoint.n == 0)
                line(&b, "entrypoint", "none");
        words(&b, "entrypoint", &p->entrypoint);
        line(&b, "workdir", p->workdir);
        words(&b, "use", &p->use);
        workspace(&b, p);
        words(&b, "read", &p->read);
        words(&b, "read there", &p->read_there);
        for (size_t i = 0; i < p->n_files; i++)
                line(&b, "file", p->files[i].path);
        words(&b, "hide", &p->hide);
        words(&b, "guarded", &p->guarded);
        for (size_t i = 0; i < p->n_volumes; i++) {
                strbuf_printf(&b, "%-11s", "volume");
                value(&b, p->volumes[i].host);
                strbuf_puts(&b, " at ");
                value(&b, p->volumes[i].inside);
                strbuf_puts(&b, p->volumes[i].writable ? " (rw)\n" : " (ro)\n");
        }
        for (size_t i = 0; i < p->n_env; i++)
                strbuf_printf(&b, "%-11s%s%s\n", "env", p->env[i].name, p->env[i].value ? "" : ", the caller's");
        for (size_t i = 0; i < n_policy_keys; i++)
                if (policy_limit_of(p, &policy_keys[i]))
                        limit(&b, &policy_keys[i], policy_limit_of(p, &policy_keys[i]));
        words(&b, "without", &p->without);
        network_text(&b, &p->network);
        for (size_t i = 0; i < p->n_wires; i++) { /* defaults are in docs/stop.md, and in the JSON */
                if (p->wires[i].is_default)
                        continue;
                char text[TRIP_TEXT_MAX];
                line(&b, "tripwire", trip_wire_text(&p->wires[i], text));
        }
        for (size_t i = 0; i < p->git.n_hosts; i++) {
                _cleanup_free_ char *text = git_host_text(&p->git.hosts[i]);
                line(&b, "git_ssh", text);
        }
        if (p->git.sign.on) {
                _cleanup_free_ char *text = git_sign_text(&p->git.sign);
                line(&b, "sign", text);
        }
        return strbuf_take(&b);
}

static void json_files(struct json *j, const struct policy *p) {
        json_begin(j, "files", '{');
        json_begin(j, "workspace", '{');
        json_str(j, "path", p->workspace.path);
        json_str(j, "name", p->workspace.name);
        json_str(j, "mode", workspace_mode_name(p->workspace.mode));
        json_str(j, "inside", p->workspace.inside ?: (p->image ? POLICY_WORKSPACE_INSIDE : NULL));
        json_end(j, '}');
        json_list(j, "read", &p->read);
        json_list(j, "read_there", &p->read_there);
        json_list(j, "hide", &p->hide);
        json_end(j, '}');
        json_list(j, "guarded", &p->guarded);
        json_begin(j, "volumes", '[');
        for (size_t i = 0; i < p->n_volumes; i++) {
                json_begin(j, NULL, '{');
                json_str(j, "host", p->volumes[i].host);
                json_str(j, "inside", p->volumes[i].inside);
                json_str(j, "mode", p->volumes[i].writable ? "rw" : "ro");
                json_end(j, '}');
        }
        json_end(j, ']');
}

void policy_json(struct json *j, const char *key, const struct policy *p) {
        json_begin(j, key, '{');
        json_num(j, "version", 1);
        json_str(j, "tier", tier_name(p->tier));
        json_str(j, "min_tier", tier_name(p->min_tier));
        json_str(j, "trust", trust_name(p->trust));
        json_str(j, "nesting", nesting_name(p->nesting));
        json_str(j, "trace", trace_name(p->trace));
        json_str(j, "image", p->image);
        json_str(j, "user", p->user);
        if (p->has_entrypoint)
                json_list(j, "entrypoint", &p->entrypoint);
        else
                json_str(j, "entrypoint", NULL);
        json_str(j, "workdir", p->workdir);
        json_files(j, p);
        json_list(j, "use", &p->use);
        json_begin(j, "recipe_files", '[');
        for (size_t i = 0; i < p->n_files; i++)
                json_str(j, NULL, p->files[i].path);
        json_end(j, ']');
        json_begin(j, "env", '{');
        for (size_t i = 0; i < p->n_env; i++)
                json_str(j, p->env[i].name, p->env[i].value ? "set" : "caller");
        json_end(j, '}');
        json_begin(j, "limits", '{');
        for (size_t i = 0; i < n_policy_keys; i++) {
                const struct limit *l = policy_limit_of(p, &policy_keys[i]);
                if (l && l->origin == LIMIT_NONE)
                        json_str(j, policy_key_leaf(&policy_keys[i]), NULL);
                else if (l)
                        json_num(j, policy_key_leaf(&policy_keys[i]), (long long)l->value);
        }
        json_end(j, '}');
        json_list(j, "without", &p->without);
        network_json(j, &p->network);
        git_json(j, &p->git);
        trip_json(j, p->wires, p->n_wires);
        json_end(j, '}');
}
