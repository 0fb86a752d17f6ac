/* What the network refused, said to the caller: one line on stderr for each distinct thing, with what would allow it. Where
 * stderr is the terminal that the command itself writes to, lines wait for the end of the run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/net-msg.h"

#define NET_LOG_LINES 64u /* distinct lines; what comes after them is counted */

struct net_log {
        bool silent;  /* --quiet-network, or -q: counted only */
        bool later;   /* lines are kept for net_log_end */
        const struct table *table; /* for the text of rules; NULL: none */
        uint64_t keys[NET_LOG_LINES]; /* of lines that were said: hashes */
        char *lines[NET_LOG_LINES];   /* kept ones */
        size_t n_keys, n_lines;
        uint64_t denied, more; /* all denials; those that have no line */
        uint64_t up, down, connections;
};

void net_log_report(struct net_log *l, const struct net_report *r);
/* Belljar's own failure: err is a negative errno or 0. */
void net_log_failed(struct net_log *l, int err, const char *text);
/* Says what was kept, and how many denials had no line. */
void net_log_end(struct net_log *l);
