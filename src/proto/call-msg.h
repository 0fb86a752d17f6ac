/* What the program inside (belljar-call) and the courier outside say to each other over the sandbox's endpoint: frames on a stream
 * socket, a head of eight bytes and a payload. Anything inside can speak this instead of belljar-call, so the courier takes
 * nothing for granted; belljar-call in turn does what the courier says, with the rights of whoever started it. Both come from one
 * build: numbers are in the host's byte order. Freestanding: belljar-call has no libc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_SOCKET "/run/belljar/call"
#define CALL_FOLDER "/run/belljar/bin" /* of the names that a run can call */

enum {
        CALL_MAGIC = 0xb7,
        CALL_PAYLOAD_MAX = 65536, /* bytes of one frame: also of the words of a call */
        CALL_NAME_MAX = 31,       /* bytes of a kind's name: [a-z-] */
        CALL_WORDS_MAX = 1024,    /* of a command line, without the name */
};

enum call_frame {
        /* belljar-call to courier */
        CALL_BEGIN = 1,   /* the first: name, working directory and words, each with a NUL behind it */
        CALL_INPUT,       /* of its standard input */
        CALL_INPUT_END,
        CALL_CONTENT,     /* of the file that CALL_READ named */
        CALL_DONE,        /* int32_t: 0 or a negative errno; CALL_READ is through, or CALL_WRITE */
        CALL_FROM_INSIDE = CALL_DONE,
        /* courier to belljar-call */
        CALL_WANT_INPUT = 64, /* its standard input is asked for; before that nothing of it is read */
        CALL_OUTPUT, CALL_ERROR, /* for its standard output and error */
        CALL_READ,        /* a path and NUL: CALL_CONTENT and CALL_DONE are the answer */
        CALL_WRITE,       /* a path and NUL, and the new content of that file: CALL_DONE is the answer */
        CALL_EXEC,        /* a path and NUL: the call ends, and this program takes its place with the same words */
        CALL_EXIT,        /* int32_t: the status to end with. The last frame */
        CALL_FROM_OUTSIDE = CALL_EXIT,
};

struct call_head {
        uint8_t magic, type;
        uint16_t zero;
        uint32_t size; /* of the payload */
};

/* Whether a head is one that this side sends. */
static inline bool call_head_good(const struct call_head *h, bool from_inside) {
        bool known = from_inside ? h->type >= CALL_BEGIN && h->type <= CALL_FROM_INSIDE : h->type >= CALL_WANT_INPUT && h->type <= CALL_FROM_OUTSIDE;
        return known && h->magic == CALL_MAGIC && h->zero == 0 && h->size <= CALL_PAYLOAD_MAX;
}

/* CALL_BEGIN, read. */
struct call_words {
        const char *name, *cwd;
        size_t argc;
        const char *argv[CALL_WORDS_MAX + 1]; /* without the name; NULL behind the last */
};
/* Text is the payload, which the result points into. -EBADMSG: not of that form; -E2BIG: too many words. */
int call_words_read(const char *text, size_t n, struct call_words *ret);
