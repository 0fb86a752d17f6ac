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
        /* What the run may do, for a child of it that is about to start. A struct control_grant is the answer, with the compiled policy
         * that is in force and the memory of its budgets where there is a network; the connection is kept: over it the child is told
         * (struct control_word) what it may not do any more, and its end is the child's. */
        CONTROL_DELEGATE,
        /* What a person or a program does to a run (docs/stop.md). The answer to CONTROL_KILL comes when everything is dead; its end without an
         * answer says so, too. Of CONTROL_HOLD the answer's text is the hold's id, which CONTROL_RELEASE takes as name. */
        CONTROL_KILL, CONTROL_CUT, CONTROL_HOLD, CONTROL_RELEASE, CONTROL_PAUSE, CONTROL_RESUME,
};

#define CONTROL_CHILDREN_MAX 16u /* of one run, at once */
#define CONTROL_DEPTH_MAX 4u     /* children's children, and so on: a run without a parent has depth 0 */
#define CONTROL_SECRETS_MAX 15u

struct control_request {
        uint32_t type;
        uint32_t reads_tls; /* CONTROL_UPDATE: the policy has rules that look at requests within TLS */
        char name[68];      /* CONTROL_REVOKE, CONTROL_RELEASE; ends with NUL */
};

struct control_answer {
        int32_t result; /* 0, or a negative errno: nothing has changed then */
        char text[252]; /* what is wrong; where nothing is, what there is to say of it; ends with NUL */
};

struct control_grant {
        uint32_t depth;     /* the child's */
        uint32_t network;   /* 1: two fds come along */
        uint32_t n_secrets;
        uint32_t pad;
        uint64_t time_left; /* ms, of the run's limit of time; UINT64_MAX: it has none */
        uint64_t secret_left[CONTROL_SECRETS_MAX]; /* ms, in the plan's order; 0: over; UINT64_MAX: as long as the run */
};

/* To CONTROL_DELEGATE; the size tells which. */
union control_reply {
        struct control_answer no;
        struct control_grant yes;
};
_Static_assert(sizeof(struct control_answer) != sizeof(struct control_grant), "told apart by size");

/* The child answers the first with CONTROL_WORD_DONE, once it is done. */
enum control_word_type { CONTROL_WORD_REVOKED = 1, CONTROL_WORD_PAUSE, CONTROL_WORD_RESUME, CONTROL_WORD_DONE, CONTROL_WORD_CUT };
struct control_word {
        uint32_t type;
        char name[68]; /* CONTROL_WORD_REVOKED: of the secret; ends with NUL */
};

#define CONTROL_SOCKET "sock"
