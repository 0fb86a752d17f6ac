/* `belljar secret revoke SANDBOX [NAME]`: a run goes on without a secret, or without all of its secrets. Somebody waits for it
 * while the credential is being misused: `belljar` does it by itself, without becoming belljar-tool, where it can tell which
 * sandbox is meant. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "model/secret.h"
#include "role/cli/commands.h"
#include "role/cli/control-call.h"
#include "sys/process.h"

int secret_revoke_of(const struct state *s, const char *name, struct error *e) {
        struct control_request q = {.type = CONTROL_REVOKE};

        if (name && !secret_name_good(name))
                return error_set(e, EINVAL, "what is to be revoked is no name of a secret");
        if (name)
                snprintf(q.name, sizeof(q.name), "%s", name);
        return control_call(s, &q, NULL, 0, e);
}

bool secret_revoke_at_once(int argc, char **argv) {
        _cleanup_state_ struct state s = STATE_NONE;
        struct error ignored = {}; /* whoever does it in the other way says what is wrong */
        _cleanup_fd_ int root = -EBADF;

        if (argc < 4 || argc > 5 || !streq(argv[1], "secret") || !streq(argv[2], "revoke") || argv[3][0] == '-' || (argc == 5 && argv[4][0] == '-'))
                return false;
        process_short_turns();
        return state_open_root(false, &root, &ignored) >= 0 && state_find_at_once(root, argv[3], &s) >= 0 &&
               secret_revoke_of(&s, argc == 5 ? argv[4] : NULL, &ignored) >= 0;
}
