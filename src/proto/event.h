/* What happens in a run, as its supervisor hears of it: one struct of fixed size for all that is recorded (model/trail.h) and that
 * tripwires weigh. Whoever is told of something fills in one of these and calls supervisor_event (role/supervisor/events.c). What
 * is not known or does not apply is zero. Texts are bounded; event_text notes what did not fit. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "proto/net-msg.h"

enum event_kind {
        EVENT_START = 1,  /* the command is about to be executed; the first record of every trail */
        EVENT_EXEC,       /* a program was executed: pid, parent, path, argv, cwd; exe, dev, ino, digest */
        EVENT_EXIT,       /* a process ended: pid, status (as from wait(2)) */
        EVENT_FILE,       /* a file was opened: pid, path; name: "read" or "write" */
        EVENT_DNS,        /* a question that was answered: host; text is its type */
        EVENT_CONNECTION, /* one that is over: host, address, port, rule, up, down */
        EVENT_REQUEST,    /* answered: host, port, text (method and target, as sent), response, rule, up, down; identity */
        EVENT_REFUSAL,    /* of the network: what, reason, host, address, port, rule, text, why; quiet */
        EVENT_FAILURE,    /* an allowed connection that could not be made: host, port, why; of Belljar's own: text */
        EVENT_SECRET,     /* name; text: "used" (identity, host, port, up, down), "expired", "revoked" */
        EVENT_APPROVAL,   /* a person said yes or no: name: what to; text: the word; user */
        EVENT_LIMIT,      /* one that was reached: name */
        EVENT_TRIPWIRE,   /* one that rang: name, count; text: what it does */
        EVENT_HOLD, EVENT_RELEASE,             /* name: of the hold; user */
        EVENT_CUT, EVENT_FREEZE, EVENT_THAW,   /* why; user */
        EVENT_KILL,       /* why; user */
        EVENT_POLICY,     /* another one is in force: digest */
        EVENT_FILES,      /* what the run changed, at its end */
        EVENT_MARK,       /* a note of somebody's: text; user */
        /* Of the trail itself, made by model/trail.c alone: */
        EVENT_LOST,       /* events that a flood left without a record, counted by kind */
        EVENT_CHECKPOINT, /* signed */
        EVENT_END,        /* how the run ended; signed: nothing follows */
        EVENT_N,
};

/* Who says so. What a process is, that hostile bytes may have taken over, limits what its word is worth (docs/trail.md). */
enum event_source { EVENT_BY_SUPERVISOR, EVENT_BY_GATE, EVENT_BY_BROKER, EVENT_BY_TRACER, EVENT_BY_USER, EVENT_BY_N };

/* Bits of `forgeable`, fields which programs of the sandbox can make untrue without having taken over anything, and of `cut`. */
enum event_field {
        EVENT_F_PID = 1,
        EVENT_F_PARENT = 2,
        EVENT_F_PATH = 4,
        EVENT_F_ARGV = 8,
        EVENT_F_CWD = 16,
        EVENT_F_EXE = 32,
        EVENT_F_HOST = 64,
        EVENT_F_TEXT = 128,
        EVENT_F_WHY = 256,
        EVENT_F_NAME = 512,
        EVENT_F_N = 10,
};

enum { EVENT_PATH_MAX = 1024, EVENT_ARGV_MAX = 2048, EVENT_NAME_MAX = 80, EVENT_DIGEST_MAX = 72 };

struct event {
        uint32_t kind;         /* enum event_kind */
        uint32_t source;       /* enum event_source */
        uint64_t mono, wall;   /* ns, CLOCK_MONOTONIC and CLOCK_REALTIME; 0: supervisor_event sets both */
        uint32_t forgeable, cut; /* enum event_field */
        uint64_t count;

        /* Processes. Numbers as they are in the host's own pid namespace. */
        int32_t pid, parent, status;
        uint64_t dev, ino;     /* of the file that was executed, as the kernel had it afterwards */
        uint32_t n_argv;       /* arguments in argv; cut: the process had more, or longer ones */

        /* The network. */
        uint32_t what;         /* enum net_what */
        uint32_t reason;       /* enum verdict_reason (model/table.h) */
        uint32_t rule;         /* of the compiled policy; EVENT_NO_RULE: none */
        uint32_t port, quiet;
        uint32_t identity;     /* of the broker; 0: it holds no secret */
        uint32_t response;     /* status code; 0: there was none */
        uint64_t up, down;     /* bytes */
        uint8_t address[16];   /* IPv4 mapped */

        uint32_t user;         /* host uid of who asked for it: EVENT_BY_USER */
        char host[NET_HOST_MAX];
        char name[EVENT_NAME_MAX];
        char text[NET_WHY_MAX], why[NET_WHY_MAX];
        char digest[EVENT_DIGEST_MAX]; /* "sha256:..." */
        char path[EVENT_PATH_MAX], cwd[EVENT_PATH_MAX], exe[EVENT_PATH_MAX];
        char argv[EVENT_ARGV_MAX]; /* n_argv strings, each with its NUL */
};
#define EVENT_NO_RULE UINT32_MAX

/* "exec", for one of enum event_kind; "?" otherwise. */
const char *event_kind_name(uint32_t kind);
/* Copies as much as fits, and ends it; what does not is noted under that bit of `cut`. */
void event_text(struct event *ev, enum event_field field, char *dst, size_t size, const char *src);
#define event_set(ev, field, member, src) event_text((ev), (field), (ev)->member, sizeof((ev)->member), (src))
