/* `belljar secret revoke SANDBOX [NAME]`: a run goes on without a secret, or without all of its secrets. */
#include <stdio.h>
#include <string.h>

#include "model/secret.h"
#include "role/cli/commands.h"
#include "role/cli/control-call.h"

int secret_revoke(int argc, char **argv, struct error *e) {
        struct control_request q = {.type = CONTROL_REVOKE};
        _cleanup_state_ struct state s = STATE_NONE;
        int r;

        if (argc < 1 || argc > 2)
                return error_set(e, EINVAL, "belljar secret revoke takes a sandbox and, where not all are meant, the name of one secret");
        if (argc == 2 && !secret_name_good(argv[1]))
                return error_set(e, EINVAL, "what is to be revoked is no name of a secret");
        if (argc == 2)
                snprintf(q.name, sizeof(q.name), "%s", argv[1]);
        if ((r = find_sandbox(argv[0], false, &s, e)) < 0)
                return r;
        return control_call(&s, &q, NULL, 0, e);
}
