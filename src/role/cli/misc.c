/* `belljar doctor` and `belljar policy`. */
#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "model/policy.h"
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

int command_policy(int argc, char **argv) {
        struct error e = {};

        if (argc == 2 && streq(argv[1], "schema")) {
                _cleanup_free_ char *s = policy_schema();
                if (s)
                        fputs(s, stdout);
                return s ? 0 : EXIT_BELLJAR;
        }
        if (argc == 3 && streq(argv[1], "check")) {
                _cleanup_free_ char *text = NULL;
                _cleanup_policy_ struct policy *p = NULL;
                size_t len;
                int r = file_read(AT_FDCWD, argv[2], 1u << 20, &text, &len);
                if (r < 0)
                        error_errno(&e, r, "the policy %s cannot be read", argv[2]);
                else if (policy_parse(text, len, argv[2], &p, &e) == 0) {
                        printf("%s: good\n", argv[2]);
                        return 0;
                }
        } else {
                error_set(&e, EINVAL, "belljar policy takes: check FILE, or schema");
        }
        error_print(&e);
        return EXIT_BELLJAR;
}
