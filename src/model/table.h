/* The compiled policy of the network: one block of bytes without pointers, made by table-compile.c from the rules of a
 * policy (network.h), handed to gate and broker as a sealed memfd, and asked by them, by `belljar why` and by the
 * prover. What it holds: the names of hosts as a hash over their suffixes; for each the ports; for each port an automaton
 * over path segments whose states are bits of words, and the rules that have no path; and what a rule says of method,
 * query, headers and body. (A DFA over the whole request doubles its states with each rule of the form /x/../y.)
 *
 * table_load checks every number in the block, so that a hostile one can give a wrong answer but not make a look-up
 * read outside of it or go on without end; a block from another version or byte order is refused. No look-up allocates,
 * recurses or fails. Pure.
 *
 * Rules have no order: a request passes when an allow matches and no deny does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/network.h"
#include "model/request.h"

#define TABLE_NONE UINT32_MAX            /* of an index: there is none */
#define TABLE_SIZE_MAX (64u << 20)       /* bytes of the block */
#define TABLE_MATCHED_MAX 64u            /* rules and budgets that a verdict names */

struct table_header;
struct table {
        const struct table_header *header; /* the block; it must stay as it is */
        size_t size;
};

/* Makes the block from rules that network.c has checked; the caller frees it. Refused: two allows that overlap and name
 * different secrets or destinations (with an example of a request that both let pass), a wildcard whose names are all relays, and what
 * is over a limit of this header. */
int table_compile(const struct network *n, void **ret, size_t *ret_size, struct error *e) _must_check_;
/* Looks at a block, which must be aligned to 8 bytes and outlive *ret. -EBADMSG: not a block of this version, or one
 * that is not sound. */
int table_load(const void *data, size_t size, struct table *ret) _must_check_;

/* How a connection is to be carried. The order is from least to most looked at, after REFUSE. */
enum table_access {
        TABLE_REFUSE,
        TABLE_PASS_TCP, /* an L4 rule: bytes pass unread */
        TABLE_PASS_TLS, /* an L4 rule: bytes pass unread, after a ClientHello whose SNI is the host's name */
        TABLE_READ,     /* rules look at requests (L7): to be read as HTTP, within TLS where it begins with a ClientHello,
                           and decided request by request; what cannot be read is refused */
};

enum verdict_reason {
        VERDICT_ALLOWED,
        VERDICT_HOST,        /* no rule names the host */
        VERDICT_RELAY,       /* only a wildcard does, and the host would carry data on to others */
        VERDICT_PORT,        /* rules name the host, but not with this port */
        VERDICT_DENIED,      /* a deny matches */
        VERDICT_UNREAD,      /* bytes that nobody reads, where rules look at requests */
        VERDICT_PROTOCOL,    /* http where only https is allowed, or the other way round */
        VERDICT_PATH,
        VERDICT_METHOD,
        VERDICT_WEBSOCKET,   /* an upgrade that no rule allows */
        VERDICT_QUERY_KEY,   /* query[detail]: its key */
        VERDICT_QUERY_VALUE, /* query[detail]: its value */
        VERDICT_HEADERS,     /* too many, or too long */
        VERDICT_BODY,        /* a body where none is allowed, or too long a one */
        VERDICT_SHAPE,       /* detail: the bit of enum network_shape that was found */
        VERDICT_MODEL,       /* the body names none that a rule lets be asked */
        VERDICT_ADDRESS,     /* an address that is not public, and that no rule opens */
        VERDICT_BUDGETS,     /* more rules with budgets match than a verdict can name */
        VERDICT_PROVENANCE,  /* a URL that nobody gave; detail: bits that are new. Only the broker finds it: it depends on the run */
        VERDICT_N,
};

struct verdict {
        bool allowed;
        bool quiet;                  /* of a denial: without a word, and no alarm */
        enum verdict_reason reason;
        /* The rule that decided: the first allow that matches, or the deny. Of another denial: the one that came nearest,
         * or TABLE_NONE. */
        uint32_t rule;
        uint32_t detail;             /* by the reason; else 0 */
        enum table_access access;    /* L4, allowed: TABLE_PASS_TCP or TABLE_PASS_TLS; L7: TABLE_READ */

        /* Of what is allowed: */
        size_t n_matched;
        uint32_t matched[TABLE_MATCHED_MAX]; /* allows that match; with more of them, those that say something of
                                                addresses come first */
        size_t n_budgets;
        uint32_t budgets[TABLE_MATCHED_MAX]; /* indices for table_budget; each is charged, each once */
        uint32_t secret;             /* for table_secret_name; TABLE_NONE */
        uint32_t route;              /* for table_route: the destination, where it is a model's; TABLE_NONE */
        bool models;                 /* some rule that matches says which models the body may name: to be decided again once it was read */
        bool provenance;             /* every rule that matches asks for it */
        uint64_t body_max;           /* bytes of a request's body, also of one whose length was not declared */
};

/* Which upstream identity a request that is allowed has; 0: none, it carries no secret. */
static inline uint32_t verdict_identity(const struct verdict *v) { return v->secret == TABLE_NONE ? 0 : v->secret + 1; }

/* The decision. Of an L4 request the host and port count. */
void table_decide(const struct table *t, const struct request *r, struct verdict *ret);

/* True when some rule could be reached by this name (canonical, lower case): what DNS answers. */
bool table_name_reachable(const struct table *t, struct request_text name);
/* What becomes of a connection to the host of *r and its port, before a byte of it was read: at the SYN and again when
 * it is accepted. Only host, is_address, address and port are looked at. TABLE_READ wins over the others. */
enum table_access table_port_access(const struct table *t, const struct request *r);
/* True when the broker may dial the address, which the name that was decided on has: public, or within the `addresses`
 * of a rule that matches (or within its host, where that is an address), and not denied by address. */
bool table_address_allowed(const struct table *t, const struct verdict *v, const struct request_address *a,
                           uint16_t port);

/* Rules whose host is an address or a range, for nft sets and to keep synthetic addresses apart: the index-th range and
 * port range of the allows; false when there are no more. */
struct table_range {
        struct address_range range;
        uint16_t first_port, last_port;
};
bool table_address_rule(const struct table *t, size_t index, struct table_range *ret);

/* What the block says about a rule. The texts point into the block. */
struct table_rule_info {
        bool deny, quiet, read, provenance;
        const char *host;    /* as written, canonical: "*.example.com", "10.0.0.0/8" */
        const char *source;  /* the file, or the preset ("npm-install"); NULL: the command line */
        bool is_preset;
        const char *file;    /* the policy's name, also where `source` is a preset's; NULL: the command line */
        unsigned line;       /* in the policy's file, also of what a preset gave (where `use` stands); 0: none */
        uint32_t budget, secret, route; /* TABLE_NONE */
};
size_t table_rules(const struct table *t);
bool table_rule(const struct table *t, uint32_t rule, struct table_rule_info *ret);
size_t table_budgets(const struct table *t);
/* One budget, or with TABLE_NONE that of the whole run (all UINT64_MAX where there is none). */
bool table_budget(const struct table *t, uint32_t index, struct network_budget *ret);
/* NULL where there is no such secret. */
const char *table_secret_name(const struct table *t, uint32_t index);
/* Where requests to models go. The texts point into the block. */
struct table_route {
        const char *host, *to, *secret; /* to: an origin (network-route.h), or NULL: the host itself; secret: NULL: none */
        bool local;                     /* `to` is an address that is not public */
};
size_t table_routes(const struct table *t);
/* false where there is no such destination, or none that the block knows. */
bool table_route(const struct table *t, uint32_t index, struct table_route *ret);
/* The index-th pattern of a rule's models; NULL: there are no more. */
const char *table_model(const struct table *t, uint32_t rule, size_t index);
/* Some rule lets only URLs pass that were given. */
bool table_asks_provenance(const struct table *t);
/* The index-th URL that the policy gives, or origin alone, as text (provenance.h); NULL: there are no more. */
const char *table_given(const struct table *t, size_t index);

struct table_statistics {
        size_t size, rules, hosts, groups, words, states, literals, relays; /* of the largest automaton: words, states */
};
void table_statistics(const struct table *t, struct table_statistics *ret);
