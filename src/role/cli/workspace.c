/* `belljar workspace`: those that Belljar keeps. */
#include <stdio.h>

#include "base/fd.h"
#include "proto/json.h"
#include "role/cli/commands.h"
#include "role/cli/options.h"
#include "svc/workspace.h"

static int on_option(int id, const char *arg, void *data, struct error *e) {
        *(bool *)data |= id == OPT_JSON;
        return 0;
}

static int list(int root, bool as_json, struct error *e) {
        _cleanup_strlist_ struct strlist names = {};
        struct json j = {};
        int r = workspace_list(root, &names, e);

        if (r < 0)
                return r;
        if (as_json) {
                json_list(&j, NULL, &names);
                _cleanup_free_ char *text = strbuf_take(&j.text);
                printf("%s", text ? text : "");
                return 0;
        }
        for (size_t i = 0; i < names.n; i++) {
                _cleanup_free_ char *shown = str_visible_dup(names.items[i]);
                printf("%s\n", shown ? shown : "?");
        }
        return 0;
}

int command_workspace(int argc, char **argv) {
        _cleanup_fd_ int root = -EBADF;
        struct error e = {};
        bool as_json = false;
        int first, r = options_parse(command_find("workspace"), argc, argv, on_option, &as_json, &first, &e);
        const char *verb = r == 0 && first < argc ? argv[first] : "";
        bool ls = streq(verb, "ls") || streq(verb, "list"), rm = streq(verb, "rm") || streq(verb, "remove");

        if (r == 0 && (!(ls || rm) || (ls && first + 1 != argc) || (rm && (first + 1 == argc || as_json)))) {
                error_set(&e, EINVAL, "belljar workspace takes ls, or rm with names");
                r = error_fix(&e, "a workspace is made by its first use: belljar run --workspace NAME");
        }
        if (r == 0)
                r = state_open_root(true, &root, &e);
        if (r == 0 && ls)
                r = list(root, as_json, &e);
        for (int i = first + 1; r == 0 && rm && i < argc; i++)
                r = workspace_remove(root, argv[i], &e);
        if (r == 0)
                return 0;
        error_print(&e);
        return EXIT_BELLJAR;
}
