/* Reports of gate and broker to the supervisor, filled in one way. */
#pragma once

#include "model/table.h"
#include "proto/net-msg.h"

/* Where it went: host, port, address; of v (may be NULL) the rule. Clears what else is in it, but for its type and what. */
void net_report_place(struct net_report *r, const struct request *q, const struct verdict *v);
/* A denial, with its reason and what would allow it in words. */
void net_report_denial(struct net_report *r, enum net_what what, const struct table *t, const struct request *q, const struct verdict *v);
/* A denial for a reason that is no verdict's: text is one line. */
void net_report_refusal(struct net_report *r, enum net_what what, const struct request *q, const char *text);
