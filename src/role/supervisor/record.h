/* The file of a run's trail (model/trail.h): trail.jsonl in its directory. Written at the end of a turn of the supervisor's loop,
 * when all that the turn's events called for has been done. A record that cannot be written ends the run. */
#pragma once

#include "base/error.h"
#include "model/trail.h"
#include "svc/vault.h"

struct supervisor;

struct record {
        struct trail trail;
        struct strbuf text;     /* not written yet */
        struct vault_text key;
        int fd, key_fd;         /* -1: not open */
        uint64_t size, reserved; /* bytes: of the records on file; for which there is room */
        size_t former;           /* of another run's records, that are in the way */
        struct {                 /* as the file has it */
                uint64_t seq;
                unsigned since;
                uint8_t prev[SHA256_SIZE];
        } written;
        bool started, failed, ended;
};
#define RECORD_NONE (struct record){.fd = -1, .key_fd = -1}

/* Before the sandbox is made: a run whose trail cannot be begun does not start. */
int record_open(struct supervisor *x, struct error *e) _must_check_;
/* Once the launcher is on its way, which is not to have the key. */
int record_ready(struct supervisor *x, struct error *e) _must_check_;
/* In the launcher. */
void record_forget(struct supervisor *x);
/* The first record, and the last: which is written when this returns, or can be tried again. */
void record_start(struct supervisor *x);
int record_end(struct supervisor *x) _must_check_;
/* Writes what the turn's events have come to. */
void record_flush(struct supervisor *x);
/* The run ends. */
void record_failed(struct supervisor *x, int err);
