/* `belljar image pull`, see image-pull.h. */
#include <stdio.h>
#include <unistd.h>

#include "role/cli/image-pull.h"
#include "role/cli/options.h"

static bool shown; /* a line of progress stands on the terminal */

int image_pull_option(int id, const char *arg, struct import_options *import, struct pull_options *pull, struct error *e) {
        uint64_t *time = id == OPT_TIME ? &pull->time_ms : &pull->idle_ms;

        switch (id) {
        case OPT_ARCH:
                import->platform = arg;
                if (oci_platform_valid(arg))
                        return 0;
                error_set(e, EINVAL, "--arch takes an architecture, not %s", arg);
                return error_fix(e, "as images name it: amd64, arm64, arm/v7");
        case OPT_TLS_VERIFY:
                pull->tls_verify = arg;
                if (streq(arg, "false") || streq(arg, "true"))
                        return 0;
                return error_set(e, EINVAL, "--tls-verify is true or false, not %s", arg);
        case OPT_TIME:
        case OPT_IDLE:
                if (parse_duration(arg, time) == 0 && *time > 0)
                        return 0;
                return error_set(e, EINVAL, "--%s takes a time, as 10m, not %s", id == OPT_TIME ? "time" : "idle", arg);
        default: return error_set(e, EINVAL, "unexpected option");
        }
}

static void show(uint64_t have, uint64_t whole) {
        char a[32], b[32];
        fprintf(stderr, "\r\033[K%s of %s", format_size(a, sizeof(a), have), format_size(b, sizeof(b), whole));
        fflush(stderr);
        shown = true;
}

void image_pull_show(struct pull_options *pull) {
        if (isatty(2))
                pull->progress = show;
}

void image_pull_shown(void) {
        if (shown)
                fputs("\r\033[K", stderr);
        shown = false;
}
