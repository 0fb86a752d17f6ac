/* Which fields of a message go along when it is written anew, in gate and broker alike. */
#pragma once

#include "model/request.h"
#include "proto/http1.h"

/* An http1_keep: leaves out what would tell a server to do another thing than was decided on, and what would lead the client
 * elsewhere. */
bool http_fields_keep(void *arg, const struct http_head *head, const struct http_field *field);
/* What a rule is held against: the fields that will be sent, and the body. */
void http_fields_measure(const struct http_head *head, struct request *r);
