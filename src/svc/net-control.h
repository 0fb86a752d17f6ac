/* The socket of gate or broker to the supervisor: orders come, reports go. */
#pragma once

#include "proto/net-msg.h"
#include "svc/loop.h"

#define NET_REPORTS_MAX 200u /* a second; what is over it is dropped and counted */
#define NET_ENDED_MAX 100u   /* of these, such as are no refusals: these have room beside them */

struct net_control {
        struct watch w;
        struct loop *loop;
        /* fds are closed afterwards, but for those that it has set to -1. */
        void (*order)(const struct net_order *o, int *fds, size_t n);
        uint64_t second; /* of the bucket of reports */
        unsigned reports, ended;
        uint64_t lost;   /* reports that were dropped since the last one */
};

/* Ends the process when the supervisor closes its end: the run is over, and every socket of the process with it. */
int net_control_init(struct net_control *c, struct loop *l, int fd, void (*order)(const struct net_order *, int *, size_t)) _must_check_;
void net_control_report(struct net_control *c, const struct net_report *r);
/* A message that is no report, and always sent: something is wanted or done. */
void net_control_say(struct net_control *c, enum net_report_type type, uint32_t rule);
