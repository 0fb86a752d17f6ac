/* `belljar trail`: what its files share. What is read may have been written by anybody. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "model/trail.h"
#include "svc/state.h"

/* A trail from its beginning, line by line. */
struct trail_reader {
        int fd;
        char *data;
        size_t at, n, cap;
};
/* 1: a line, without its newline, good until the next call; 0: no whole one is left, and trail_reader_rest bytes are. A line that is
 * too long for a record is handed over in part. */
int trail_reader_next(struct trail_reader *r, const char **ret, size_t *ret_n) _must_check_;
static inline size_t trail_reader_rest(const struct trail_reader *r) { return r->n - r->at; }
void trail_reader_clear(struct trail_reader *r);

/* One record in words, for a terminal: what it says of its kind. */
void trail_describe(json_t *record, struct strbuf *ret);
/* Its text, or "". */
const char *trail_text(json_t *record, const char *key);

/* Records as other programs take them, to stdout: "jsonl", "ocsf", "otel". c has each line. */
int trail_export(struct trail_reader *r, const char *format, struct trail_check *c, struct error *e) _must_check_;
