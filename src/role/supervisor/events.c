/* What happens in the run comes together here: whoever hears of something in the supervisor says so by supervisor_event. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "model/secret.h"
#include "role/supervisor/supervisor.h"

static uint64_t ns_of(clockid_t clock) {
        struct timespec t;
        clock_gettime(clock, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void event_now(struct event *ev) {
        if (ev->mono)
                return;
        ev->mono = ns_of(CLOCK_MONOTONIC);
        ev->wall = ns_of(CLOCK_REALTIME);
}

void supervisor_event(struct supervisor *x, struct event *ev) {
        struct record *k = &x->record;

        event_now(ev);
        if (!k->started)
                return;
        int r = trail_add(&k->trail, ev, &k->text);
        if (r < 0)
                record_failed(x, r);
}

static void fill(struct event *ev, const struct net_report *r, uint32_t identity) {
        ev->what = r->what;
        ev->reason = r->reason;
        ev->rule = r->rule;
        ev->port = r->port;
        ev->quiet = r->quiet;
        ev->identity = identity;
        ev->response = r->response;
        ev->up = r->up;
        ev->down = r->down;
        memcpy(ev->address, r->address, sizeof(ev->address));
        event_set(ev, EVENT_F_HOST, host, r->host);
        event_set(ev, EVENT_F_TEXT, text, r->text);
        event_set(ev, EVENT_F_WHY, why, r->why);
}

/* One request, or unread connection, that carried a secret: which, where to, how much. */
static void secret_used(struct supervisor *x, const struct event *of) {
        const struct plan_network *n = &x->plan->network;
        struct event ev = {.kind = EVENT_SECRET, .source = of->source, .rule = of->rule, .port = of->port, .identity = of->identity, .up = of->up, .down = of->down};

        if (of->identity == 0 || of->identity > n->n_secrets)
                return;
        event_set(&ev, EVENT_F_NAME, name, n->secrets[of->identity - 1].name);
        event_set(&ev, EVENT_F_HOST, host, of->host);
        event_set(&ev, EVENT_F_TEXT, text, "used");
        supervisor_event(x, &ev);
}

void events_report(struct supervisor *x, const struct net_report *r, const struct network_peer *from) {
        const bool gate = from == &x->network.gate;
        const uint32_t identity = gate ? 0 : (uint32_t)(from - x->network.brokers);
        struct event ev = {.source = gate ? EVENT_BY_GATE : EVENT_BY_BROKER};

        switch (r->type) {
        case NET_ASKED: ev.kind = EVENT_DNS; break;
        case NET_ENDED: ev.kind = r->what == NET_HTTP ? EVENT_REQUEST : EVENT_CONNECTION; break;
        case NET_DENIED: ev.kind = EVENT_REFUSAL; break;
        case NET_UPSTREAM: ev.kind = EVENT_FAILURE; break;
        case NET_SPENT: ev.kind = EVENT_LIMIT; break; /* of the network's */
        default: return;
        }
        fill(&ev, r, identity);
        if (ev.kind == EVENT_LIMIT) {
                snprintf(ev.name, sizeof(ev.name), "budget");
                snprintf(ev.why, sizeof(ev.why), "used up");
        }
        supervisor_event(x, &ev);
        if (r->type == NET_ENDED && r->carried)
                secret_used(x, &ev);
}

void events_secret_over(struct supervisor *x, uint32_t identity, bool revoked) {
        struct event ev = {.kind = EVENT_SECRET, .rule = EVENT_NO_RULE, .identity = identity};

        event_set(&ev, EVENT_F_NAME, name, x->plan->network.secrets[identity - 1].name);
        event_set(&ev, EVENT_F_TEXT, text, revoked ? "revoked" : "expired");
        supervisor_event(x, &ev);
}

void events_policy(struct supervisor *x, int table) {
        struct event ev = {.kind = EVENT_POLICY, .source = EVENT_BY_USER, .rule = EVENT_NO_RULE, .user = getuid()};
        uint8_t hash[SHA256_SIZE];
        struct stat st;

        void *p = fstat(table, &st) < 0 || st.st_size <= 0 ? MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, table, 0);
        if (p != MAP_FAILED) {
                sha256(p, (size_t)st.st_size, hash);
                (void)sha256_text(hash, ev.digest);
                (void)munmap(p, (size_t)st.st_size);
        }
        supervisor_event(x, &ev);
}

void events_simple(struct supervisor *x, enum event_kind kind, const char *name, const char *why) {
        struct event ev = {.kind = kind, .rule = EVENT_NO_RULE};

        event_set(&ev, EVENT_F_NAME, name, name);
        event_set(&ev, EVENT_F_WHY, why, why);
        supervisor_event(x, &ev);
}
