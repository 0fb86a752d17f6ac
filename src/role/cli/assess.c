/* `belljar assess`: the three questions for a setup that exists already; see model/assess.h. Reads one file, or
 * standard input, and nothing else. */
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/assess.h"
#include "role/cli/commands.h"
#include "role/cli/options.h"

struct assess_options {
        bool json, fails;
        enum assess_severity fail_on;
};

static int on_option(int id, const char *arg, void *data, struct error *e) {
        struct assess_options *o = data;

        switch (id) {
        case OPT_JSON: o->json = true; return 0;
        case OPT_FAIL_ON:
                o->fails = true;
                if (assess_severity_parse(arg, &o->fail_on) < 0)
                        return error_set(e, EINVAL, "--fail-on takes high, medium or low");
                return 0;
        default: return error_set(e, EINVAL, "unexpected option");
        }
}

static bool want_colour(void) {
        const char *no = getenv("NO_COLOR"), *term = getenv("TERM"); /* no-color.org: set and not empty */
        return isatty(STDOUT_FILENO) && !(no && no[0]) && !(term && streq(term, "dumb"));
}

static int assess_file(const char *path, const struct assess_options *o, struct error *e) {
        _cleanup_assessment_ struct assessment *a = NULL;
        _cleanup_free_ char *text = NULL, *out = NULL;
        bool input = streq(path, "-");
        size_t len = 0;

        int r = input ? fd_read_all(STDIN_FILENO, ASSESS_INPUT_MAX, &text, &len)
                      : file_read(AT_FDCWD, path, ASSESS_INPUT_MAX, &text, &len);
        if (r == -EFBIG)
                return error_set(e, EFBIG, "%s has more than the %u bytes that are read", path, ASSESS_INPUT_MAX);
        if (r < 0)
                return error_errno(e, -r, "%s cannot be read", path);
        const char *name = input ? "standard input" : path;
        r = assess_read(text, len, name, &a, e);
        if (r < 0)
                return r;
        out = o->json ? assess_json(a, name) : assess_text(a, name, want_colour());
        if (!out || fputs(out, stdout) == EOF || fflush(stdout) == EOF)
                return error_errno(e, out ? errno : ENOMEM, "the findings cannot be printed");
        return o->fails && assess_count(a, o->fail_on) > 0;
}

int command_assess(int argc, char **argv) {
        struct assess_options o = {};
        struct error e = {};
        int first;

        int r = options_parse(command_find("assess"), argc, argv, on_option, &o, &first, &e);
        if (r == 0 && argc - first != 1) {
                r = error_set(&e, EINVAL, "belljar assess takes one file");
                error_fix(&e, "several files: one call for each; docker inspect NAME | belljar assess -");
        }
        if (r == 0)
                r = assess_file(argv[first], &o, &e);
        if (r < 0) {
                error_print(&e);
                return EXIT_BELLJAR;
        }
        return r;
}
