/* Shared by the files of canonical.h. */
#pragma once

#include "model/canonical.h"

/* Keeps the reason and returns the error. */
int canonical_refuse(const char **ret_reason, int error, const char *reason);

/* No segments, no query. */
void canonical_clear_target(struct request *r);
/* Path and query as they stand in a URL, where an empty path is "/". */
int canonical_read_target(struct request_text t, char *buf, size_t size, struct request *r, const char **ret_reason) _must_check_;
