/* The record of a run's network (docs/inspect.md): network.json in the sandbox's directory, for belljar inspect, while the run
 * goes on and after it; and events, an object a line, for the program that started the run (--events). Written by the guard, so
 * out of reach of gate, broker and sandbox; all that they say in it is bounded and escaped. */
#pragma once

#include "base/error.h"
#include "role/cli/net-log.h"
#include "svc/entry.h"

/* Opens the file of --events, to which lines are appended; its fd. One that the run could write to is refused. */
int net_record_open(const char *path, const struct plan *p, struct error *e) _must_check_;

/* An entry that is new. */
void net_record_event(struct net_log *l, const struct net_entry *x);
/* The run began or is over. */
void net_record_started(struct net_log *l, const char *id);
void net_record_ended(struct net_log *l, const char *id, const struct run_result *res);
/* ms until the record has to be written; -1: it is up to date. */
int net_record_due(const struct net_log *l);
/* Writes it, where it is behind and due. It must never stop the run: what fails is left. */
void net_record_write(struct net_log *l);
/* The last time; events are closed. */
void net_record_close(struct net_log *l);
