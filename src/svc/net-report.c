/* See net-report.h. */
#include <stdio.h>
#include <string.h>

#include "model/why.h"
#include "svc/net-report.h"

void net_report_place(struct net_report *r, const struct request *q, const struct verdict *v) {
        *r = (struct net_report){.type = r->type, .what = r->what, .rule = v ? v->rule : TABLE_NONE, .port = q->port};
        if (q->is_address)
                memcpy(r->address, q->address.byte, sizeof(r->address));
        if (q->host.n > 0)
                memcpy(r->host, q->host.p, MIN(q->host.n, sizeof(r->host) - 1));
}

void net_report_denial(struct net_report *r, enum net_what what, const struct table *t, const struct request *q, const struct verdict *v) {
        char text[WHY_TEXT];

        r->type = NET_DENIED;
        r->what = what;
        net_report_place(r, q, v);
        r->reason = v->reason;
        r->quiet = v->quiet;
        snprintf(r->why, sizeof(r->why), "%.*s", (int)sizeof(r->why) - 1, why_reason(t, q, v, text));
        snprintf(r->fix, sizeof(r->fix), "%.*s", (int)sizeof(r->fix) - 1, why_fix(t, q, v, text));
}

void net_report_refusal(struct net_report *r, enum net_what what, const struct request *q, const char *text) {
        r->type = NET_DENIED;
        r->what = what;
        net_report_place(r, q, NULL);
        r->reason = VERDICT_PROTOCOL;
        snprintf(r->why, sizeof(r->why), "%.*s", (int)sizeof(r->why) - 1, text);
}
