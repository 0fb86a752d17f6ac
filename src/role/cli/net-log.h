/* What the network refused, said to the caller: one line on stderr for each distinct thing, with what would allow it. Where
 * stderr is the terminal that the command itself writes to, lines wait for the end of the run. The same, with counts and times,
 * is kept as a record in the sandbox's directory and told as events (net-record.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "model/table.h"
#include "proto/net-msg.h"

#define NET_LOG_LINES 64u    /* distinct lines; what comes after them is counted */
#define NET_LOG_ENTRIES 256u /* distinct refusals and failures that are kept; what comes after them is counted */
#define NET_LOG_QUIET (NET_LOG_ENTRIES / 2) /* of these, quiet ones at most: they must not push out the others */

struct account;
struct minted;
struct calls_shared;
struct plan;
struct state;

/* One distinct refusal or failure. What it says comes from gate or broker, and in part from the sandbox. */
struct net_entry {
        uint64_t key;
        uint32_t type, what, reason; /* as struct net_report */
        uint16_t port;
        bool quiet;
        bool is_said;
        uint8_t address[16];
        char *host, *text, *why, *fix, *rule; /* rule: its place; NULL: none, or not known */
        uint64_t count;
        int64_t first, last; /* ms since the epoch */
};

struct net_use {
        uint64_t requests, up, down;
};

struct net_log {
        bool silent;  /* -q: counted and kept only */
        bool later;   /* lines are kept for net_log_end */
        bool dirty;   /* the record is behind */
        const struct state *state; /* where the record goes; NULL: nowhere */
        const char *ca;            /* the certificate of the sandbox's CA, PEM; NULL: none */
        int events;                /* where events go; -1: nowhere */
        struct table table;        /* in force; header NULL: none */
        const struct secret *secrets;  /* of the run, and whether each is over (enum secret_end) */
        const struct plan *plan;               /* of the run, and what its calls came to (call.h); NULL: it has no endpoint */
        const struct calls_shared *calls;
        const uint32_t *secrets_ended;
        const struct minted *minted;   /* of each */
        size_t n_secrets;
        const struct account *account; /* what the run has used of the network, as the brokers count it; NULL: not known */
        struct net_use *rules;     /* of each rule of the table, as reports had it */
        size_t n_rules;
        struct net_entry *entries; /* NET_LOG_ENTRIES of them, made with the first */
        size_t n_entries, n_quiet_entries;
        char *lines[NET_LOG_LINES];   /* kept ones */
        size_t n_lines, n_said;
        uint64_t denied, quiet, spent, unreachable; /* all of them */
        uint64_t more; /* refusals that have no line */
        uint64_t left_out; /* refusals and failures that are no entry */
        uint64_t events_lost; /* that nobody took */
        uint64_t up, down, connections;
        unsigned gates, brokers, updates;
        char digest[SHA256_TEXT]; /* of the table; "": not made yet */
        uint64_t next_write; /* ms, monotonic: of the record */
};

/* The policy that is in force from here on: table and counts of its budgets and use. Both stay the caller's; either may be
 * NULL. */
void net_log_policy(struct net_log *l, const struct table *t, const struct account *account);
void net_log_report(struct net_log *l, const struct net_report *r);
/* Belljar's own failure: err is a negative errno or 0. */
void net_log_failed(struct net_log *l, int err, const char *text);
/* Says what was kept, and how many denials had no line. */
void net_log_end(struct net_log *l);
