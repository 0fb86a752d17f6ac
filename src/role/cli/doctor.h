/* `belljar doctor`. */
#pragma once

#include <stdbool.h>

/* Prints the report on stdout. The exit status: 0 when the process tier can run with every required control, 1 when
 * it cannot, 125 when the host could not be looked at. state_dir: where sandboxes are kept, absolute; NULL: the
 * user's ($XDG_STATE_HOME/belljar, else ~/.local/state/belljar; root without HOME: /var/lib/belljar). */
int doctor_run(bool json, const char *state_dir);
