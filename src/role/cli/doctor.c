/* `belljar doctor`: looks at the host (sys/probe.h), judges (model/doctor.h), prints. */
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/host-facts.h"
#include "base/str.h"
#include "model/doctor.h"
#include "role/cli/doctor.h"
#include "sys/probe.h"

#define EXIT_OWN_FAILURE 125

static char *default_state_dir(void) {
        const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        if (xdg && xdg[0] == '/')
                return str_printf("%s/belljar", xdg);
        if (home && home[0] == '/')
                return str_printf("%s/.local/state/belljar", home);
        return strdup("/var/lib/belljar");
}

static bool want_colour(void) {
        const char *no = getenv("NO_COLOR"), *term = getenv("TERM"); /* no-color.org: set and not empty */
        return isatty(STDOUT_FILENO) && !(no && no[0]) && !(term && streq(term, "dumb"));
}

int doctor_run(bool json, const char *state_dir) {
        static struct doctor_report report; /* about 30 KB; this runs once a process */
        struct host_facts facts;
        struct error e = {};
        _cleanup_free_ char *dir = state_dir ? strdup(state_dir) : default_state_dir();

        int r = dir ? probe_host(dir, &facts) : -ENOMEM;
        if (r < 0) {
                (void)error_errno(&e, -r, "cannot look at this host");
                error_print(&e);
                return EXIT_OWN_FAILURE;
        }
        doctor_judge(&facts, &report);
        _cleanup_free_ char *out = json ? doctor_json(&facts, &report) : doctor_text(&facts, &report, want_colour());
        if (!out || fputs(out, stdout) == EOF || fflush(stdout) == EOF) {
                (void)error_errno(&e, out ? errno : ENOMEM, "cannot print the report");
                error_print(&e);
                return EXIT_OWN_FAILURE;
        }
        return report.ok ? 0 : 1;
}
