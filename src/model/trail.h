/* The trail of a run: one JSON object a line (docs/trail.md), each with the hash of the line before it, and so many records a
 * signature over all up to there. Pure: what is written and how it is read back; who writes, signs and reads files is elsewhere
 * (role/supervisor/record.c, svc/trail-key.h, role/cli/trail.c).
 *
 *   {"seq":2,"prev":"SHA-256","mono":NS,"time":"RFC 3339","kind":"dns","by":"gate",...}
 *   {"seq":3,...,"kind":"end",...,"sig":"Ed25519"}
 *
 * The first five members are always these, in this order, so that a reader that trusts nothing of the rest finds its way. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"
#include "base/str.h"
#include "proto/event.h"
#include "proto/json.h"

enum {
        TRAIL_SIG_SIZE = 64,
        TRAIL_PUBLIC_SIZE = 32,
        TRAIL_SIGN_EVERY = 256,   /* records, at most, from one signature to the next */
        TRAIL_RATE = 2000,        /* records a second that programs of the sandbox can cause, after */
        TRAIL_BURST = 10000,      /* so many at once; what is over it is counted */
        TRAIL_LINE_MAX = 65536,   /* bytes of a record, its newline included */
};
/* Bytes of records that programs of the sandbox can cause, of one run; beyond, they are counted. */
#define TRAIL_BYTES_MAX (512ull << 20)

/* What a signature is about: these bytes, and the hash of the line up to it. No other use of the key signs bytes that begin so. */
#define TRAIL_SIGNED_AS "belljar trail 1\n"

/* Signs n bytes. */
typedef void trail_sign(const void *key, const uint8_t *data, size_t n, uint8_t ret[TRAIL_SIG_SIZE]);

struct trail {
        uint64_t seq; /* of the last record */
        uint8_t prev[SHA256_SIZE]; /* hash of its line */
        unsigned since;            /* records since the last signature */
        const void *key;
        trail_sign *sign;
        struct json json; /* one record; its memory is kept */
        /* The flood's bounds. */
        uint64_t caused;  /* bytes of records that programs of the sandbox caused */
        uint64_t tokens, refilled; /* ns */
        uint64_t lost[EVENT_N];    /* events without a record, by kind; 0: that gate, broker or tracer did not tell of */
        uint64_t lost_at;          /* ns, monotonic: when that was last said */
        bool any_lost;
};

/* Programs of the sandbox can cause such events, as many as they like. */
bool trail_floods(uint32_t kind);
/* Appends the event's record to out, and what is due besides: what was lost, a checkpoint. A flood is counted. -ENOMEM. */
int trail_add(struct trail *t, const struct event *ev, struct strbuf *out) _must_check_;
/* The same in two steps, for a record with members of its own (EVENT_START, EVENT_FILES, EVENT_END), which are written to the result
 * in between. trail_finish signs EVENT_END. */
struct json *trail_begin(struct trail *t, const struct event *ev, struct strbuf *out);
int trail_finish(struct trail *t, const struct event *ev, struct strbuf *out) _must_check_;
/* Events that whoever would have told of them has left out. */
void trail_count_lost(struct trail *t, uint64_t n);
void trail_clear(struct trail *t);

/* What is read at the front of a line. */
struct trail_head {
        uint64_t seq, mono;
        uint8_t prev[SHA256_SIZE];
        char time[32];
        char kind[16];
        bool is_signed;
        uint8_t sig[TRAIL_SIG_SIZE];
        size_t n_signed; /* bytes of the line that the signature is about */
};
/* line: n bytes without the newline. -EBADMSG: no record. */
int trail_head_read(const char *line, size_t n, struct trail_head *ret) _must_check_;

/* Whether the signature of n bytes is one by the key that the caller has. */
typedef bool trail_signed(const void *key, const uint8_t *data, size_t n, const uint8_t sig[TRAIL_SIG_SIZE]);

enum trail_fault {
        TRAIL_GOOD,
        TRAIL_DAMAGED,    /* record `at` is none */
        TRAIL_TORN,       /* the text ends within record `at` */
        TRAIL_CHANGED,    /* record `at` is not as it was */
        TRAIL_CHANGED_OR, /* record `at` or the one before it is not */
        TRAIL_MISSING,    /* records `at` to `to` are not there */
        TRAIL_REORDERED,  /* record `at` stands where `to` belongs */
        TRAIL_REPEATED,   /* record `at` stands there once more */
        TRAIL_SIGNATURE,  /* record `at` is not as it was signed, or by another key */
        TRAIL_AFTER_END,  /* something follows record `at`, which is the end */
        TRAIL_NO_START,   /* the first record, `at`, is no start */
};

/* Reading one from its beginning. */
struct trail_check {
        trail_signed *is_signed; /* NULL: signatures are not looked at */
        const void *key;
        uint64_t records;  /* that are whole and follow on each other */
        uint64_t covered;  /* up to which a signature vouches for all */
        uint64_t signatures;
        bool ended;        /* the last of them is the end, and signed */
        enum trail_fault fault; /* the first; nothing from it on is vouched for */
        uint64_t at, to;
        bool blank;        /* an empty line was there: room that no record has filled; nothing follows on it */
        bool undecided;    /* the next line tells which of two was changed; prev is the hash of the second */
        uint8_t prev[SHA256_SIZE];
};
/* The next line, without its newline. Whether its record is good. */
bool trail_check_line(struct trail_check *c, const char *line, size_t n);
/* The text is over; rest: bytes after the last newline. */
void trail_check_end(struct trail_check *c, size_t rest);
/* What is wrong, in one line; dst has 160 bytes. "" where nothing is. */
const char *trail_fault_text(const struct trail_check *c, char dst[160]);
