/* A verdict in words: the reason, the rule, and what would let the request pass. The same texts stand in the answers that
 * the gate gives inside, in the lines on the caller's terminal and in `belljar why`. Everything goes into the caller's
 * buffer; nothing is allocated but by why_json. What comes from a request is in it as it is: printers make it visible
 * (str_visible), JSON escapes it. Pure. */
#pragma once

#include "model/table.h"
#include "proto/json.h"

#define WHY_TEXT 768u /* bytes, with the NUL */

/* A word for programs: "allowed", "host", "path", "query-key", ... */
const char *why_word(enum verdict_reason reason);
/* One sentence without a full stop: "no rule names api.example.com". */
const char *why_reason(const struct table *t, const struct request *r, const struct verdict *v, char dst[WHY_TEXT]);
/* Bits of a request's URL that are new where nothing is given but what the policy gives; 0: it gives it. */
uint64_t why_novel(const struct table *t, const struct request *r);
/* The flag or the policy's line that would let it pass; "" of what is allowed. */
const char *why_fix(const struct table *t, const struct request *r, const struct verdict *v, char dst[WHY_TEXT]);
/* A rule's place: "belljar.yaml:12", "belljar.yaml:12 (npm-install)", "--allow api.example.com"; "" for TABLE_NONE. */
const char *why_place(const struct table *t, uint32_t rule, char dst[WHY_TEXT]);
/* The request as people write it: "GET https://host/path?key", "host:port". */
const char *why_request(const struct request *r, char dst[WHY_TEXT]);

/* An object: allowed, reason, why, fix, rule and rules (each with index, host, source, line, preset), access, quiet, and of
 * what is allowed secret, provenance, with it the new bits (novel), and how many budgets are charged. */
void why_json(struct json *j, const char *key, const struct table *t, const struct request *r, const struct verdict *v);
