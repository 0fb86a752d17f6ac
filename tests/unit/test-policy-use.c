/* Recipes: what each is made of, and that the user's own words go before it. */
#include <string.h>

#include "model/network-preset.h"
#include "model/policy-table.h"
#include "proto/yaml.h"
#include "tap.h"

static struct policy *accepted(const char *text) {
        struct policy *p = NULL;
        struct error e = {};
        if (policy_parse(text, strlen(text), "p.yaml", &p, &e) < 0)
                printf("# %s: %s (%s)\n", text, e.msg, e.fix);
        check(p);
        return p;
}

static void refused(const char *text, const char *msg, const char *fix) {
        struct policy *p = NULL;
        struct error e = {};
        bool ok = policy_parse(text, strlen(text), "p.yaml", &p, &e) < 0 && !p && strstr(e.msg, msg) && strstr(e.fix, fix);
        if (!ok)
                printf("# %s: %s (%s)\n", text, e.msg, e.fix);
        check(ok);
        policy_free(p);
}

static const char *variable(const struct policy *p, const char *name) {
        for (size_t i = 0; i < p->n_env; i++)
                if (streq(p->env[i].name, name))
                        return p->env[i].value ?: "(caller)";
        return "(none)";
}

static size_t count(const struct policy *p, const char *host, bool deny) {
        size_t n = 0;
        for (size_t i = 0; i < p->network.n_rules; i++)
                n += p->network.rules[i].deny == deny && streq(p->network.rules[i].host, host);
        return n;
}

TEST(recipes) {
        for (const struct network_preset *r = network_recipes; r->name; r++) {
                _cleanup_free_ char *text = str_printf("version: 1\nuse: [%s]\n", r->name);
                _cleanup_policy_ struct policy *p = accepted(text);
                struct error e = {};
                check(strncmp(r->name, "harness/", 8) == 0 && p->use.n == 1 && streq(p->use.items[0], r->name));
                check(policy_check(p, &e) == 0 && !p->image && p->nesting == NESTING_NONE && p->tier == TIER_AUTO);
                size_t allows = 0;
                for (size_t i = 0; i < p->network.n_rules; i++) {
                        const struct network_rule *u = &p->network.rules[i];
                        check(u->preset && streq(u->preset, r->name) && u->line == 2 && u->column == 7);
                        check(u->deny == u->yields && u->deny == u->quiet);
                        /* What is let through is read, and no name stands for several. */
                        check(u->deny || (u->protocols == NETWORK_HTTPS && u->kind == NETWORK_EXACT && !u->websocket && !u->any_query));
                        allows += !u->deny;
                }
                check(allows > 0);
                for (size_t i = 0; i < p->n_files; i++) {
                        const struct policy_file *f = &p->files[i];
                        check(strncmp(f->path, "/etc/", 5) == 0 && path_has_dotdot(f->path) == 0 && !strstr(f->path, "//") && strchr(f->path + 5, '/'));
                        check(f->text[0] && f->text[strlen(f->text) - 1] == '\n' && streq(f->recipe, r->name));
                }
                for (size_t i = 0; i < p->read_there.n; i++) {
                        static const char *const never[] = {"credentials", "auth.json", "oauth", "settings", "config.toml", ".env", "history", "projects", "sessions"};
                        const char *path = p->read_there.items[i];
                        check(strncmp(path, "~/.", 3) == 0 && strchr(path + 3, '/') && !path_has_dotdot(path));
                        for (size_t k = 0; k < ELEMENTSOF(never); k++)
                                check(!strstr(path, never[k]));
                }
                for (size_t i = 0; i < p->n_env; i++)
                        check(p->env[i].value && !strstr(p->env[i].name, "KEY") && !strstr(p->env[i].name, "TOKEN"));
        }
}

TEST(own_words) {
        _cleanup_policy_ struct policy *p = accepted("version: 1\nuse: [harness/claude-code]\nenv: {IS_SANDBOX: mine, DISABLE_AUTOUPDATER: null}\n");
        check_streq(variable(p, "IS_SANDBOX"), "mine");
        check_streq(variable(p, "DISABLE_AUTOUPDATER"), "(caller)");
        check_streq(variable(p, "DISABLE_INSTALLATION_CHECKS"), "1");
        _cleanup_policy_ struct policy *q = accepted("version: 1\nenv: {IS_SANDBOX: mine, DISABLE_AUTOUPDATER: null}\nuse: [harness/claude-code]\n");
        check_streq(variable(q, "IS_SANDBOX"), "mine");
        check_streq(variable(q, "DISABLE_AUTOUPDATER"), "(caller)");
        check(q->n_env == p->n_env);

        struct error e = {};
        _cleanup_policy_ struct policy *c = policy_new();
        check(c && policy_add_env(c, "IS_SANDBOX=first", &e) == 0 && policy_add_use(c, "harness/claude-code", &e) == 0);
        check_streq(variable(c, "IS_SANDBOX"), "first");
        check(policy_add_env(c, "IS_SANDBOX=last", &e) == 0);
        check_streq(variable(c, "IS_SANDBOX"), "last");
        check(c->network.n_rules > 0 && c->network.rules[0].line == 0);
}

TEST(what_the_user_allows) {
        static const char *const orders[] = {
                "version: 1\nuse: [harness/codex]\nnetwork: [{host: chatgpt.com}]\n",
                "version: 1\nnetwork: [{host: chatgpt.com}]\nuse: [harness/codex]\n",
        };
        for (size_t i = 0; i < ELEMENTSOF(orders); i++) {
                _cleanup_policy_ struct policy *p = accepted(orders[i]);
                check(count(p, "chatgpt.com", true) == 0 && count(p, "chatgpt.com", false) == 1 && count(p, "ab.chatgpt.com", true) == 1);
        }
        _cleanup_policy_ struct policy *none = accepted("version: 1\nuse: [harness/codex]\n");
        check(count(none, "chatgpt.com", true) == 1 && count(none, "chatgpt.com", false) == 0);
        /* What it denies stays denied: only a recipe's own give way. */
        _cleanup_policy_ struct policy *own = accepted("version: 1\nquiet: [a.test]\nnetwork: [{host: a.test}]\nuse: [harness/codex]\n");
        check(count(own, "a.test", true) == 1 && count(own, "a.test", false) == 1);
        _cleanup_policy_ struct policy *deny = accepted("version: 1\nuse: [harness/codex]\nnetwork: [{deny: true, host: chatgpt.com}, {host: '**.com'}]\n");
        check(count(deny, "chatgpt.com", true) == 2);
        /* A preset beside it is not the user's word about a host; the recipe's quiet denies of paths stay. */
        _cleanup_policy_ struct policy *preset = accepted("version: 1\nuse: [harness/claude-code, anthropic]\n");
        check(count(preset, "api.anthropic.com", true) == 1 && preset->use.n == 2);
        /* The same twice is once. */
        _cleanup_policy_ struct policy *twice = accepted("version: 1\nuse: [harness/codex, harness/codex]\n");
        check(twice->network.n_rules == none->network.n_rules && twice->n_files == none->n_files && twice->use.n == 1);
}

TEST(give_way) {
        /* Many come and go; what is in between stays. */
        struct network n = {};
        struct error e = {};
        for (int i = 0; i < 40; i++) {
                struct network_rule r = {.deny = true, .quiet = true, .yields = i % 3 != 0};
                char name[32];
                snprintf(name, sizeof(name), "h%d.test", i % 3 ? 1 : i);
                check(network_set_host(&r, name, &e) == 0 && network_add_rule(&n, &r, 0, &e) == 0);
        }
        check(network_add_allow(&n, "h1.test", &e) == 0 && n.n_rules == 15);
        for (size_t i = 0; i < 14; i++) {
                char name[32];
                snprintf(name, sizeof(name), "h%zu.test", i * 3);
                check(streq(n.rules[i].host, name));
        }
        for (int i = 0; i < 40; i++)
                check(network_add_deny(&n, "x.test", false, &e) == 0);
        check(n.n_rules == 55);
        network_clear(&n);
}

TEST(mistakes) {
        refused("version: 1\nuse: [harness/nothing]\n", "p.yaml:2:7: there is no recipe \"harness/nothing\"", "harness/codex");
        refused("version: 1\nuse: harness/codex\n", "use is a list", "use: [...]");
        refused("version: 1\nuse: [git-fetch]\n", "the preset git-fetch has parameters", "under network");
        refused("version: 1\nuse: [{harness: codex}]\n", "single value", "");
        refused("version: 1\nnetwork: [{use: harness/codex}]\n", "harness/codex is a recipe", "use: [harness/codex]");
        struct error e = {};
        _cleanup_policy_ struct policy *p = policy_new();
        check(p && policy_add_use(p, "", &e) == -EINVAL && policy_add_use(p, "harness/codex ", &e) == -EINVAL && policy_add_use(p, "bedrock", &e) == -EINVAL);
        check(policy_add_use(p, "npm-install", &e) == 0 && p->network.n_rules == 1 && p->network.rules[0].preset);
}

TAP_MAIN
