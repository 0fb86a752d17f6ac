/* `belljar doctor` and `belljar policy`. */
#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "model/network-preset.h"
#include "model/policy-print.h"
#include "model/policy.h"
#include "model/risk.h"
#include "model/table-layout.h"
#include "model/table.h"
#include "role/cli/commands.h"
#include "role/cli/doctor.h"
#include "role/cli/options.h"

static int on_option(int id, const char *arg, void *data, struct error *e) {
        (void)arg;
        if (id != OPT_JSON)
                return error_set(e, EINVAL, "unexpected option");
        *(bool *)data = true;
        return 0;
}

int command_doctor(int argc, char **argv) {
        bool json = false;
        struct error e = {};
        int first;

        if (options_parse(command_find("doctor"), argc, argv, on_option, &json, &first, &e) < 0) {
                error_print(&e);
                return EXIT_BELLJAR;
        }
        return doctor_run(json, NULL);
}

static int print(char *text) {
        bool ok = text && fputs(text, stdout) >= 0 && fflush(stdout) == 0;

        free(text);
        return ok ? 0 : EXIT_BELLJAR;
}

/* What a program reads: the policy as it was understood, or what is wrong with it. */
static int check_json(const char *file, const struct policy *p, const struct error *e) {
        struct json j = {};

        json_begin(&j, NULL, '{');
        json_str(&j, "file", file);
        json_bool(&j, "good", p);
        if (p)
                policy_json(&j, "policy", p);
        else {
                json_str(&j, "error", e->msg);
                json_str(&j, "fix", e->fix[0] ? e->fix : NULL);
        }
        json_end(&j, '}');
        int r = print(strbuf_take(&j.text));
        return p ? r : EXIT_BELLJAR;
}

/* What only shows when the rules are put together. */
static int check_rules(const struct policy *p, struct error *e) {
        _cleanup_free_ void *block = NULL;
        size_t size;

        return table_compile(&p->network, &block, &size, e);
}

static int policy_check_file(const char *file, bool json) {
        _cleanup_free_ char *text = NULL, *shown = NULL;
        _cleanup_policy_ struct policy *p = NULL;
        struct error e = {};
        size_t len;
        int r = file_read(AT_FDCWD, file, 1u << 20, &text, &len);

        if (r < 0)
                error_errno(&e, r, "the policy %s cannot be read", file);
        else if ((r = policy_parse(text, len, file, &p, &e)) == 0)
                r = policy_check(p, &e);
        if (r >= 0)
                r = check_rules(p, &e);
        if (json)
                return check_json(file, r < 0 ? NULL : p, &e);
        if (r < 0) {
                error_print(&e);
                return EXIT_BELLJAR;
        }
        shown = policy_text(p);
        if (!shown)
                return EXIT_BELLJAR;
        printf("%s: good\n", file);
        return print(TAKE_PTR(shown));
}

/* The line of a preset's text that says what it is for. */
static char *summary_of(const struct network_preset *p) {
        static const char key[] = "\nsummary: ";
        const char *s = strstr(p->text, key);

        s = s ? s + sizeof(key) - 1 : "";
        return strndup(s, strcspn(s, "\n"));
}

/* Presets of rules, and recipes of whole policies. */
static const struct network_preset *const preset_lists[] = {network_presets, network_recipes};

static void list_preset(struct json *j, const struct network_preset *p, bool json) {
        _cleanup_free_ char *summary = summary_of(p);

        if (!json) {
                printf("%-20s%s\n", p->name, summary ? summary : "");
                return;
        }
        json_begin(j, NULL, '{');
        json_str(j, "name", p->name);
        json_str(j, "summary", summary);
        json_str(j, "text", p->text);
        json_end(j, '}');
}

static int list_presets(bool json) {
        struct json j = {};

        if (json)
                json_begin(&j, NULL, '[');
        for (size_t i = 0; i < ELEMENTSOF(preset_lists); i++)
                for (const struct network_preset *p = preset_lists[i]; p->name; p++)
                        list_preset(&j, p, json);
        if (!json)
                return fflush(stdout) == 0 ? 0 : EXIT_BELLJAR;
        json_end(&j, ']');
        return print(strbuf_take(&j.text));
}

static int show_preset(const char *name) {
        struct error e = {};

        for (size_t i = 0; i < ELEMENTSOF(preset_lists); i++)
                for (const struct network_preset *p = preset_lists[i]; p->name; p++)
                        if (streq(p->name, name))
                                return print(strdup(p->text));
        error_set(&e, ENOENT, "there is no preset or recipe %.80s", name);
        error_fix(&e, "belljar policy presets lists them");
        error_print(&e);
        return EXIT_BELLJAR;
}

static int list_relays(void) {
        for (size_t i = 0; table_relays[i]; i++)
                printf("%s\n", table_relays[i]);
        return fflush(stdout) == 0 ? 0 : EXIT_BELLJAR;
}

struct policy_options {
        bool json;
        const char *to;
};

static int on_policy_option(int id, const char *arg, void *data, struct error *e) {
        struct policy_options *o = data;

        if (id != OPT_TO)
                return on_option(id, arg, &o->json, e);
        o->to = arg;
        return 0;
}

int command_policy(int argc, char **argv) {
        struct policy_options o = {};
        struct error e = {};
        int first;

        if (options_parse(command_find("policy"), argc, argv, on_policy_option, &o, &first, &e) < 0) {
                error_print(&e);
                return EXIT_BELLJAR;
        }
        argc -= first;
        argv += first;
        if (argc == 2 && streq(argv[0], "compile"))
                return policy_compile_file(argv[1], o.to, o.json);
        if (argc == 1 && !o.to && streq(argv[0], "presets"))
                return list_presets(o.json);
        if (argc == 2 && !o.json && !o.to && streq(argv[0], "presets"))
                return show_preset(argv[1]);
        if (argc == 1 && !o.json && !o.to && streq(argv[0], "relays"))
                return list_relays();
        if (argc == 1 && !o.json && !o.to && streq(argv[0], "schema"))
                return print(policy_schema());
        if (argc == 1 && !o.json && !o.to && streq(argv[0], "tiers"))
                return print(risk_doc());
        if (argc == 2 && !o.to && streq(argv[0], "check"))
                return policy_check_file(argv[1], o.json);
        error_set(&e, EINVAL, "belljar policy takes: check [--json] FILE, compile [--json] [--to FILE] FILE, presets [--json] [NAME], "
                            "relays, schema, or tiers");
        error_print(&e);
        return EXIT_BELLJAR;
}
