/* What a command asks of a running sandbox's supervisor over the socket "sock" in the sandbox's directory: one request, one
 * answer, SOCK_SEQPACKET, structs of fixed size. Both ends come from one build, or the size tells. */
#pragma once

#include <stdint.h>

enum control_type {
        /* Another policy for the network. Ancillary: the compiled policy, memory for its budgets, the rules of the network
         * namespace (svc/net-rules.h). */
        CONTROL_UPDATE = 1,
        /* A secret is not to be used any more: its name, or "" for all of them. */
        CONTROL_REVOKE,
};

struct control_request {
        uint32_t type;
        uint32_t reads_tls; /* CONTROL_UPDATE: the policy has rules that look at requests within TLS */
        char name[68];      /* CONTROL_REVOKE; ends with NUL */
};

struct control_answer {
        int32_t result; /* 0, or a negative errno: nothing has changed then */
        char text[252]; /* what is wrong; ends with NUL */
};

#define CONTROL_SOCKET "sock"
