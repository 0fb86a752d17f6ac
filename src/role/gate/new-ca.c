/* `belljar-gate --new-ca`, see svc/net-ca.h: makes the CA of one sandbox and ends. It reads nothing. The key is in this
 * process's memory and in the memfd that the sandbox's gate will get, and nowhere else. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "role/gate/gate.h"
#include "svc/net-ca.h"
#include "svc/tls.h"

int gate_new_ca(void) {
        struct error e = {};
        struct tls_ca ca = {};
        char line[sizeof(ca.subject_hash) + 1];
        int r = tls_ca_new(&ca, &e);

        snprintf(line, sizeof(line), "%s\n", ca.subject_hash);
        if (r == 0 && ((r = fd_write_all(NET_CA_FD_SECRET, ca.key, strlen(ca.key))) < 0 ||
                       (r = fd_write_all(NET_CA_FD_SECRET, ca.cert, strlen(ca.cert))) < 0 ||
                       (r = fd_write_all(NET_CA_FD_PUBLIC, line, strlen(line))) < 0 ||
                       (r = fd_write_all(NET_CA_FD_PUBLIC, ca.cert, strlen(ca.cert))) < 0))
                error_errno(&e, r, "the CA cannot be handed over");
        explicit_bzero(&ca, sizeof(ca));
        if (r < 0)
                fprintf(stderr, "belljar-gate: %s\n", e.msg);
        return r < 0;
}
