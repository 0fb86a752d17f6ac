/* What the supervisor's files share. */
#pragma once

#include <poll.h>

#include "proto/control-msg.h"
#include "proto/event.h"
#include "role/supervisor/record.h"
#include "svc/entry.h"

/* A gate or a broker as the supervisor knows it (peer.c). */
struct network_peer {
        int fd;          /* socket to it; -1: there is none */
        int pidfd;       /* its process, once the guard has said so; else -1 */
        uint32_t serial; /* of the request to start it */
        unsigned unsure; /* orders of a new policy that it has not said yet to be in force */
        uint64_t second; /* in which it has said so much: */
        unsigned said;
};

struct network_side {
        int sockets[NETNS_N]; /* the gate's, from the launcher; -1: not there, or the network is cut */
        int userns, netns;    /* the sandbox's, for its gate */
        int table, ca;
        struct network_peer gate, brokers[NET_BROKERS_MAX];
        uint32_t serial;      /* the last one */
        unsigned gates, brokers_started; /* so far */
        bool closed, flushed;
        int former[2];        /* table and budgets, to go back to while the guard changes the rules; -1: it does not */
        int asker;            /* who asked for the policy, and waits for the answer; -1: nobody */
        uint64_t unsure_until; /* ms: a gate or broker that has not said by then that it is in force is ended; 0: nothing to say */
        uint64_t lost;        /* reports that nobody took */
        uint32_t revoked;     /* bit i: the identity i is no more */
};

enum pause_reason {
        PAUSE_TERMINAL = 1, /* the command line was stopped as a job */
        PAUSE_PERSON = 2,   /* belljar pause */
        PAUSE_PARENT = 4,   /* the run that this is a part of is frozen */
        PAUSE_HELD = 8,     /* a hold goes on */
};

#define HOLDS_MAX 32u
#define ALARMS_MAX 16u /* that the record lists */
struct stop_side {
        bool cut;          /* network and credentials are gone, for good */
        bool by_alarm;     /* a tripwire holds it, or has ended it */
        uint32_t holds;    /* bit i: the hold in place i goes on */
        unsigned hold[HOLDS_MAX]; /* their numbers, from 1 */
        unsigned n_holds, n_alarms; /* so far */
        int killer;        /* who waits for everything to be dead; -1: nobody */
        struct {
                uint8_t on, act; /* enum trip_on, trip_do */
                int64_t at;      /* ms since the epoch */
                char why[160];
        } alarms[ALARMS_MAX];
};

/* The tracer (tracing.c). */
struct tracer_side {
        int fd, pidfd; /* -1: there is none */
        bool done;     /* it said that nothing is left */
};
#define TRACER_NONE (struct tracer_side){.fd = -1, .pidfd = -1}

struct supervisor {
        struct supervise *s;
        const struct plan *plan;
        int ctl;       /* to launcher and init */
        int init_pidfd;
        pid_t init_pid;
        int sigfd;
        uint64_t started; /* ms, monotonic */
        uint64_t paused_at, paused_total;
        unsigned pauses; /* enum pause_reason: why it is frozen */
        bool paused, running;
        bool all_gone; /* init said that nothing runs any more */
        struct init_readback readback;
        uint64_t record_at; /* when started.json is due; 0: written, or the command does not run */
        struct run_result result;
        bool ended;
        /* sampling */
        uint64_t shared_at_start; /* the host's, bytes */
        uint64_t tick_at, tick_ms, last_cpu_ms, idle_since, peak_memory, last_cpu_seen;
        unsigned peak_processes;
        /* disk */
        uint64_t disk_free_at_walk, disk_used_at_walk, disk_walk_at, disk_walk_ms;
        bool disk_unseen; /* it was busy since the last walk */
        unsigned disk_failed; /* walks one after the other that could not count everything */
        int disk_pipe;
        int userns; /* the outer one, where files that the supervisor may not look at can lie in its directory; else -1 */
        /* trees.c: the maps of owners, and which one each operation's tree has */
        struct owner_map *maps;
        size_t n_maps, *map_of;
        struct network_side network;
        struct stop_side stop;
        int control;  /* for requests of other commands */
        bool listens; /* for them: from the start, or (a run that nothing can be changed of) as soon as its record is written */
        int asker;    /* whose request is being served; -1: nobody's */
        int children[CONTROL_CHILDREN_MAX]; /* connections to the supervisors of sub-runs; -1: free */
        char namespaces[7][64]; /* "net:[4026531840]", by namespace_names */
        struct record record;
        struct tracer_side tracer;
};

/* ms, monotonic */
uint64_t supervisor_now(void);
/* The run has ended, and why; the first reason stands. */
void supervisor_end(struct supervisor *x, enum run_end end, int status);
/* By Belljar's own failure: what is wrong is said to the caller. Everything is killed. */
void supervisor_fail(struct supervisor *x, const struct error *e);
/* What init has read back, as a member of records. */
void supervisor_readback_json(struct json *j, const struct supervisor *x);
/* Kills everything in the sandbox. */
void supervisor_kill(struct supervisor *x);
/* A child of the supervisor's takes the rights of the sandbox's root over the sandbox's files. */
void supervisor_own(const struct supervisor *x);

/* Trees under other owners, run by root (trees.c): opens them and makes their maps; maps them, once the sandbox's ids are
 * there; lets go of what the launcher has by then. */
int trees_open(struct supervisor *x, struct error *e) _must_check_;
int trees_map(struct supervisor *x, struct error *e) _must_check_;
void trees_close(struct supervisor *x);

/* The network (network.c). */
#define NETWORK_POLL_MAX (NETNS_N + NET_BROKERS_MAX + PUBLISH_MAX)
void network_init(struct network_side *n);
/* The sandbox's namespaces are there, and its first process may still be looked at. */
int network_namespaces(struct supervisor *x, pid_t init) _must_check_;
void network_take(struct supervisor *x, const int *fds, size_t n);
size_t network_poll(const struct supervisor *x, struct pollfd *p);
void network_events(struct supervisor *x, const struct pollfd *p, size_t n);
/* When network_tick is to be called, ms; UINT64_MAX: not. */
uint64_t network_due(const struct supervisor *x);
void network_tick(struct supervisor *x);
/* The guard has started a gate or a broker: takes the pidfd. */
void network_started(struct supervisor *x, uint32_t serial, int pidfd);
/* The guard's last words are about processes that it has started: none of them is left. */
void network_last_started(struct supervisor *x);
/* Another policy: table, budgets, rules, which are the network's from here on. Answered by control_answer, later. */
void network_update(struct supervisor *x, int fds[3], bool reads_tls);
/* The guard has put its rules in force, or could not. */
void network_rules_done(struct supervisor *x, int result, const char *text);
/* Secrets are not to be used any more, by the name of one or "" for all: their brokers are killed, the gate says no. -ENOENT: the
 * run has none of that name. */
/* ms until the identity's secret is over; 0: it is; UINT64_MAX: as long as the run. */
uint64_t network_secret_left(const struct supervisor *x, uint32_t identity);
int network_revoke_named(struct supervisor *x, const char *name) _must_check_;
/* After network_cut: no identity is a broker's any more. */
void network_forget_secrets(struct supervisor *x);
/* The last reports, of a run that ended by itself. */
void network_flush(struct supervisor *x);
/* A secret's new value, in a pipe that is not read here, for its broker where one runs. */
void network_renewed(struct supervisor *x, uint32_t identity, int block);
/* Nothing goes out or comes in any more. */
void network_cut(struct supervisor *x);

/* One gate or broker (peer.c). A peer that sends what none sends, or ends, is closed: and with it dies its process, whatever it
 * is doing. */
#define PEER_NONE (struct network_peer){.fd = -1, .pidfd = -1}
/* Its socket is made; the other end, for it. */
int peer_open(struct network_peer *p, uint32_t serial, int *ret_theirs) _must_check_;
void peer_close(struct network_peer *p);
/* Its next report; 0: none now, and peer_due says when it is to be asked again; -EBADMSG, -ECONNRESET: to be closed. */
int peer_read(struct network_peer *p, struct net_report *ret) _must_check_;
/* Whether it is to be polled: not for the rest of a second in which it has said too much. */
bool peer_heard(const struct network_peer *p);
uint64_t peer_due(const struct network_peer *p);

/* Requests of other commands (control.c). Its socket is made, and bound. */
int control_make(struct supervisor *x) _must_check_;
int control_listen(struct supervisor *x) _must_check_;
void control_events(struct supervisor *x, bool knock, bool said);
void control_answer(struct supervisor *x, int result, const char *text);
/* Of another connection than the one that is being served; -1 afterwards. */
void control_answer_to(int *asker, int result, const char *text);

/* Tripwires, and what is done to a run from outside (stop.c). */
void stop_init(struct supervisor *x);
/* A report of gate or broker is weighed, before anything else is done with it. */
void stop_report(struct supervisor *x, const struct net_report *report);
/* CONTROL_KILL and what follows it in enum control_type. */
void stop_request(struct supervisor *x, const struct control_request *q);
/* No network and no credentials from here on. */
void stop_cut(struct supervisor *x);

/* Sub-runs (children.c): what a child is told of this run's authority, and its word on this side; and what a sub-run's own
 * supervisor hears from its parent's. */
#define CHILDREN_POLL_MAX (CONTROL_CHILDREN_MAX + 2)
void children_init(struct supervisor *x);
/* Who asks becomes a child: takes x->asker. */
void children_grant(struct supervisor *x);
size_t children_poll(const struct supervisor *x, struct pollfd *p);
void children_events(struct supervisor *x, const struct pollfd *p, size_t n);
/* name: of a secret. */
void children_say(struct supervisor *x, enum control_word_type type, const char *name);
/* All of them end. */
void children_end(struct supervisor *x);

/* What happens (events.c). Records it; the record is written when the turn of the loop is over. Sets the event's times where they
 * are not. */
void supervisor_event(struct supervisor *x, struct event *ev);
void event_now(struct event *ev);
/* A report of a gate or a broker; a secret that is no more; and what needs no more than a name and a reason. */
void events_report(struct supervisor *x, const struct net_report *r, const struct network_peer *from);
void events_secret_over(struct supervisor *x, uint32_t identity, bool revoked);
/* Another policy is in force: its compiled form. */
void events_policy(struct supervisor *x, int table);
void events_simple(struct supervisor *x, enum event_kind kind, const char *name, const char *why);

/* What the run changed (files.c): a record, at the end. */
void files_record(struct supervisor *x);

/* Process starts (tracing.c): init's listener, for a tracer that is started for it. The run ends where there is none, or it ends
 * before what it traces. */
void tracing_begin(struct supervisor *x, const int *fds, size_t n);
/* Whether what is asked for is there; else the run has failed. */
bool tracing_ready(struct supervisor *x);
void tracing_events(struct supervisor *x);
/* Nothing runs any more: its last words. */
void tracing_end(struct supervisor *x);

/* Freezes everything, or takes the reason away, with the last of which it is thawed. -ENOSYS: there is no freezer, processes were only
 * stopped by signals; -ETIMEDOUT: not all are frozen yet. */
int supervisor_pause(struct supervisor *x, enum pause_reason why, bool on);

/* Sampling (sample.c): whether this run needs it; before the first; the next one; and what the child that counts the layers
 * has found, when disk_pipe is readable. */
bool sample_needed(const struct plan *p);
void sample_begin(struct supervisor *x);
void sample_tick(struct supervisor *x);
void sample_on_disk_walk(struct supervisor *x);
