/* Tripwires, and what is done to a run from outside: weighed and carried out here, in the order that counts. The network is cut and the
 * credentials are revoked first, then everything is frozen or killed by its control group; only then is anybody told, and it is written
 * down last of all. What cannot be frozen is killed: nothing runs on. docs/stop.md. */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/address.h"
#include "model/table.h"
#include "role/supervisor/supervisor.h"
#include "svc/state.h"
#include "sys/cgroup.h"

#define STATE_FILE "stop.json"
#define HOLD_TEXT 40u

/* Not in struct supervisor: pages that no event has touched are none. */
static struct tripwires wires;

void stop_init(struct supervisor *x) { tripwires_init(&wires, x->plan->wires, x->plan->n_wires); }

static char *hold_text(const struct supervisor *x, unsigned i, char text[HOLD_TEXT]) {
        snprintf(text, HOLD_TEXT, "%s.%u", x->s->state->id, x->stop.hold[i]);
        return text;
}

static void write_state(struct supervisor *x) {
        const struct stop_side *s = &x->stop;
        char text[HOLD_TEXT];
        struct json j;

        state_json_begin(x->s->state, &j);
        json_bool(&j, "cut", s->cut);
        json_bool(&j, "paused", x->paused);
        json_begin(&j, "holds", '[');
        for (unsigned i = 0; i < HOLDS_MAX; i++)
                if (s->holds >> i & 1)
                        json_str(&j, NULL, hold_text(x, i, text));
        json_end(&j, ']');
        json_num(&j, "alarms_n", s->n_alarms);
        json_begin(&j, "alarms", '[');
        for (unsigned i = 0; i < MIN(s->n_alarms, ALARMS_MAX); i++) {
                json_begin(&j, NULL, '{');
                json_str(&j, "on", trip_on_names[s->alarms[i].on]);
                json_str(&j, "do", trip_do_names[s->alarms[i].act]);
                json_str(&j, "why", s->alarms[i].why);
                json_num(&j, "time_ms", s->alarms[i].at);
                json_end(&j, '}');
        }
        json_end(&j, ']');
        json_end(&j, '}');
        (void)!state_write(x->s->state, STATE_FILE, &j);
}

static void stop_kill(struct supervisor *x, enum run_end end) {
        stop_cut(x);
        supervisor_kill(x);
        supervisor_end(x, end, SIGTERM);
}

/* The guard ends what it carries for the run itself, and forgets the values; a child has less than its parent, so nothing. A guard that
 * does not take it does not go on carrying. */
void stop_cut(struct supervisor *x) {
        const struct run_msg m = {.type = RUN_CUT};

        if (x->stop.cut)
                return;
        x->stop.cut = true;
        network_cut(x);
        network_forget_secrets(x);
        bool told = send(x->s->cli, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(m);
        children_say(x, CONTROL_WORD_CUT, NULL);
        if (!told)
                stop_kill(x, END_TRIPWIRE);
}

/* For the trail, once it is done. user: whose request it was; else a tripwire's. */
static void record(struct supervisor *x, enum event_kind kind, const char *name, const char *text, const char *why, bool user) {
        struct event ev = {.kind = kind, .rule = EVENT_NO_RULE, .source = user ? EVENT_BY_USER : EVENT_BY_SUPERVISOR, .user = user ? geteuid() : 0};

        event_set(&ev, EVENT_F_NAME, name, name);
        event_set(&ev, EVENT_F_TEXT, text, text);
        event_set(&ev, EVENT_F_WHY, why, why);
        supervisor_event(x, &ev);
}

/* *ret: the hold's place, HOLDS_MAX: there is none left. Fails with nothing running on: what cannot be frozen is dead then. */
static int stop_hold(struct supervisor *x, unsigned *ret) {
        int r;

        stop_cut(x);
        r = supervisor_pause(x, PAUSE_HELD, true);
        if (r < 0) {
                stop_kill(x, END_TRIPWIRE);
                return r;
        }
        for (*ret = 0; *ret < HOLDS_MAX && x->stop.holds >> *ret & 1;)
                (*ret)++;
        if (*ret == HOLDS_MAX) /* it stays held by those before */
                return 0;
        x->stop.hold[*ret] = ++x->stop.n_holds;
        x->stop.holds |= 1u << *ret;
        return 0;
}

static int64_t wall_ms(void) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* What rang is done first, and said and written down afterwards. */
static void ring(struct supervisor *x, const struct trip_wire *w, const char *why) {
        struct run_msg m = {.type = RUN_ALARM, .status = (int32_t)w->act};
        struct stop_side *s = &x->stop;
        unsigned hold = 0;

        s->by_alarm |= w->act >= TRIP_HOLD;
        if (w->act == TRIP_CUT)
                stop_cut(x);
        else if (w->act == TRIP_KILL)
                stop_kill(x, END_TRIPWIRE);
        else if (w->act == TRIP_HOLD && stop_hold(x, &hold) < 0)
                m.status = TRIP_KILL;
        if (m.status == TRIP_HOLD && hold < HOLDS_MAX)
                hold_text(x, hold, m.report.text);
        str_visible(m.report.why, sizeof(s->alarms[0].why), why);
        if (s->n_alarms < ALARMS_MAX) {
                s->alarms[s->n_alarms].on = (uint8_t)w->on;
                s->alarms[s->n_alarms].act = (uint8_t)m.status;
                s->alarms[s->n_alarms].at = wall_ms();
                snprintf(s->alarms[s->n_alarms].why, sizeof(s->alarms[0].why), "%.*s", (int)sizeof(s->alarms[0].why) - 1, m.report.why);
        }
        s->n_alarms++;
        record(x, EVENT_TRIPWIRE, trip_on_names[w->on], (unsigned)m.status < TRIP_DO_N ? trip_do_names[m.status] : "?", m.report.why, false);
        if (m.report.text[0])
                record(x, EVENT_HOLD, m.report.text, "", "", false);
        (void)!send(x->s->cli, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
        write_state(x);
}

static void note(struct supervisor *x, enum trip_on on, const char *goal, const char *what) {
        const struct trip_wire *w = tripwires_note(&wires, on, goal, supervisor_now());
        char within[32], why[512];

        if (!w)
                return;
        if (w->count > 1)
                snprintf(why, sizeof(why), "%s: %.300s (%u within %s)", trip_on_names[on], what, w->count, format_duration(within, sizeof(within), w->within));
        else
                snprintf(why, sizeof(why), "%s: %.300s", trip_on_names[on], what);
        ring(x, w, why);
}

/* The destination itself was refused, and not something about one request to it. */
static bool is_of_goal(const struct net_report *r) {
        return r->reason == VERDICT_HOST || r->reason == VERDICT_RELAY || r->reason == VERDICT_PORT || r->reason == VERDICT_DENIED || r->reason == VERDICT_ADDRESS;
}

void stop_report(struct supervisor *x, const struct net_report *report) {
        static const uint8_t none[16];
        char goal[NET_HOST_MAX + 1], what[700];
        struct request_address a;
        const bool literal = memcmp(report->address, none, sizeof(none)) != 0; /* else it has a name */

        /* A run that is over, or frozen, has nothing to do with what is still on its way. */
        const bool allowed = report->type == NET_ENDED && report->what == NET_HTTP;

        if (x->ended || wires.n == 0 || (report->type != NET_DENIED && report->type != NET_SPENT && !allowed) || report->quiet)
                return;
        memcpy(a.byte, report->address, sizeof(a.byte));
        if (literal)
                address_format(&a, goal);
        else
                snprintf(goal, sizeof(goal), "%s", report->host);
        if (report->type == NET_SPENT) {
                snprintf(what, sizeof(what), "%s, to %s", report->text, goal);
                note(x, TRIP_BUDGET, goal, what);
                return;
        }
        if (report->misplaced || report->reason == VERDICT_SHAPE) {
                snprintf(what, sizeof(what), "to %s: %.300s", goal, report->why);
                note(x, report->misplaced ? TRIP_PLACEHOLDER : TRIP_PAYLOAD, goal, what);
                return;
        }
        /* Programs look for the metadata services of clouds by themselves; by a public address there is no ordinary way, when a name was
         * refused and none was ever given out for it. */
        const uint64_t now = supervisor_now();
        const char *way = tripwires_way(&wires, goal, literal && report->what == NET_TCP && address_is_public(&a), report->what == NET_HTTP ? report->text : "", trip_fetches(goal), allowed, now);
        if (way) {
                snprintf(what, sizeof(what), "%s was refused, and then tried by way of %s", way, goal);
                note(x, TRIP_REROUTED, way, what);
        } else if (!allowed && is_of_goal(report) && report->what != NET_UDP)
                tripwires_refused(&wires, goal, literal, now);
        if (!x->ended && !allowed) {
                snprintf(what, sizeof(what), "%s", goal);
                note(x, TRIP_DENIED, goal, what);
        }
}

/* Only the hold that is named, by its whole id. */
static int find_hold(const struct supervisor *x, const char *name) {
        char text[HOLD_TEXT];

        for (unsigned i = 0; i < HOLDS_MAX; i++)
                if ((x->stop.holds >> i & 1) && streq(hold_text(x, i, text), name))
                        return (int)i;
        return -ENOENT;
}

static void release(struct supervisor *x, const char *name) {
        int i = find_hold(x, name);

        if (i < 0)
                return control_answer(x, i, "the sandbox has no hold of that id, or no longer");
        x->stop.holds &= ~(1u << i);
        if (x->stop.holds == 0) {
                x->stop.by_alarm = false;
                if (supervisor_pause(x, PAUSE_HELD, false) < 0)
                        return control_answer(x, -EIO, "the sandbox cannot be thawed");
        }
        control_answer(x, 0, x->stop.holds ? "it stays held by another hold" : x->paused ? "it stays paused" : NULL);
}

static void hold(struct supervisor *x) {
        char text[HOLD_TEXT];
        unsigned i;

        /* A person can still decide to kill, where an alarm could not wait for it. */
        if (!x->s->cgroup || !x->s->cgroup->can_freeze) {
                stop_cut(x);
                return control_answer(x, -ENOTSUP, "this host has no freezer for the sandbox: its network is cut, but it runs on");
        }
        if (stop_hold(x, &i) < 0)
                control_answer(x, -EIO, "the sandbox could not be frozen, and was ended");
        else if (i >= HOLDS_MAX)
                control_answer(x, -EUSERS, "it has more holds than are counted, and stays held by those");
        else
                control_answer(x, 0, hold_text(x, i, text));
}

void stop_request(struct supervisor *x, const struct control_request *q) {
        char text[HOLD_TEXT];

        if (x->ended && q->type != CONTROL_KILL)
                return control_answer(x, -ESRCH, "the sandbox is just ending");
        const uint32_t holds = x->stop.holds;
        switch (q->type) {
        case CONTROL_KILL:
                stop_kill(x, END_CALLER);
                if (x->stop.killer < 0)
                        x->stop.killer = TAKE_FD(x->asker); /* any other learns it by the connection's end */
                break;
        case CONTROL_CUT:
                stop_cut(x);
                control_answer(x, 0, NULL);
                break;
        case CONTROL_HOLD:
                hold(x);
                break;
        case CONTROL_RELEASE:
                release(x, q->name);
                break;
        case CONTROL_PAUSE:
                control_answer(x, 0, supervisor_pause(x, PAUSE_PERSON, true) == -ENOSYS ? "this host has no freezer for the sandbox: its processes were stopped by signals" : NULL);
                break;
        case CONTROL_RESUME:
                (void)!supervisor_pause(x, PAUSE_PERSON, false);
                control_answer(x, 0, x->paused ? "it stays frozen for another reason: a hold, its terminal, or the run that it is a part of" : NULL);
                break;
        }
        if (holds != x->stop.holds) { /* which one: what has changed */
                const bool on = x->stop.holds & ~holds;
                record(x, on ? EVENT_HOLD : EVENT_RELEASE, hold_text(x, (unsigned)__builtin_ctz(holds ^ x->stop.holds), text), "", "", true);
        } else if (q->type == CONTROL_CUT)
                record(x, EVENT_CUT, "", "", "", true); /* of the others supervisor_end and supervisor_pause say it */
        if (!x->ended)
                write_state(x);
}
