/* The rules of `network:` and `quiet:`, as a policy has them (docs/policy.md, "network"): what they mean is decided here,
 * how a request is held against them fast is table.h's. Filled by the file's reader (network-read.c) and by --allow,
 * --deny and --quiet; every rule that is in a struct network has been checked. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "model/address.h"
#include "model/secret.h"

#define NETWORK_RULES_MAX 16384u
#define NETWORK_PORTS_MAX 64u          /* ranges of a rule */
#define NETWORK_METHODS_MAX 32u        /* of a rule; and of all rules together, as the table has a bit for each */
#define NETWORK_PATHS_MAX 256u         /* of a rule */
#define NETWORK_PATH_BYTES 2048u       /* of a pattern */
#define NETWORK_PATH_SEGMENTS 60u      /* of a pattern */
#define NETWORK_SEGMENT_STARS 4u       /* signs * within one segment or one value */
#define NETWORK_QUERY_MAX 128u         /* keys of a rule */
#define NETWORK_QUERY_BYTES 1024u      /* of a key, or of a value's pattern */
#define NETWORK_RANGES_MAX 64u         /* entries of `addresses` */
#define NETWORK_GIVEN_MAX 1024u        /* URLs of `given` */
#define NETWORK_NAME_MAX SECRET_NAME_MAX /* bytes of the name of a secret or a preset */

enum network_host {
        NETWORK_EXACT,   /* this name */
        NETWORK_ONE,     /* "*.NAME": one label in front of it */
        NETWORK_ANY,     /* "**.NAME": one or more labels in front of it; "**": every name */
        NETWORK_ADDRESS, /* an address or a range, never a name */
};

struct network_ports {
        uint16_t first, last;
};

/* What a connection carries. */
enum network_protocol {
        NETWORK_TCP = 1,   /* bytes that pass unread */
        NETWORK_TLS = 2,   /* TLS that passes unread, its SNI the rule's host */
        NETWORK_HTTP = 4,  /* requests, read */
        NETWORK_HTTPS = 8, /* requests within TLS that the gate ends, read */
};
#define NETWORK_UNREAD (NETWORK_TCP | NETWORK_TLS)
#define NETWORK_READ (NETWORK_HTTP | NETWORK_HTTPS)

/* Forms of payload that a rule refuses; looked for in path and query. */
enum network_shape {
        NETWORK_SQL_INJECTION = 1,
        NETWORK_TRAVERSAL = 2,
        NETWORK_COMMAND_INJECTION = 4,
        NETWORK_SCRIPT_INJECTION = 8,
};

/* UINT64_MAX: without bound. */
struct network_budget {
        uint64_t up, down;          /* bytes, of everything that a connection or request carries */
        uint64_t requests;
        uint64_t url;               /* bytes of path and query, of all requests together */
        uint64_t hosts, subdomains; /* distinct names; distinct labels in front of a wildcard's name */
        uint64_t novel;             /* bits of URLs that nobody gave; of a rule with provenance, not written: none */
};
#define NETWORK_NO_BUDGET \
        ((struct network_budget){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX})

struct network_query {
        char *key;
        char *value; /* a pattern; NULL: any */
};

struct network_rule {
        bool deny, quiet;
        enum network_host kind;
        char *host;                  /* canonical name without its wildcard; of NETWORK_ADDRESS: the canonical text */
        struct address_range range;  /* of NETWORK_ADDRESS */
        struct network_ports *ports; /* none: every port, of a deny only */
        size_t n_ports;
        unsigned protocols;          /* enum network_protocol; a deny that looks at requests has those of NETWORK_READ only */

        /* Of one that looks at requests (protocols & NETWORK_READ, and not all four): */
        struct strlist methods;      /* none: any */
        struct strlist paths;        /* none: any */
        bool any_query;
        struct network_query *query; /* of an allow: the keys that may be there; of a deny: those that make it match */
        size_t n_query;
        uint32_t headers;            /* fields at most */
        uint64_t header_bytes;       /* names and values together, at most */
        bool body_written;
        uint64_t body;               /* bytes at most; not written: none for a method that has none by its nature, else
                                        UINT64_MAX */
        unsigned shapes;             /* enum network_shape: of an allow refused, of a deny matched */
        bool websocket, provenance;

        struct address_range *addresses; /* that are not public and that the answer may be nevertheless */
        size_t n_addresses;
        size_t budget;               /* index into struct network's; SIZE_MAX: none */
        char *secret;                /* its name; NULL */
        char *to;                    /* the origin that its requests go to in place of its host (network-route.h); NULL */
        struct strlist models;       /* patterns, of which a request's body names one; none: any */
        bool model;                  /* what it leads to is a model's: what passes is told apart in the report */
        char *preset;                /* that it came from, or the recipe; NULL */
        bool yields;                 /* a recipe's, to spare words: a rule of the user's for that very host takes its place */
        unsigned line, column;       /* in the policy's file; 0: the command line */
};

struct network {
        char *source;                /* the file's name; NULL */
        struct network_rule *rules;
        size_t n_rules;
        struct network_budget *budgets; /* a preset's rules share one */
        size_t n_budgets;
        struct network_budget run;   /* of all rules together */
        bool has_run;
        struct secret *secrets;      /* that rules may name; the first's upstream identity is 1, and so on */
        size_t n_secrets;
        struct strlist given;        /* URLs that rules with provenance let pass from the start; canonical (model/provenance.h) */
};

void network_clear(struct network *n);
void network_rule_clear(struct network_rule *r);

/* What "--allow HOST[:PORT]", "--deny HOST[:PORT]" and "--quiet HOST[:PORT]" say: an L4 rule. HOST: a name, "*.NAME",
 * "**.NAME", an address ("[::1]:443" with a port) or a range. Without a port: 443 to allow, every one to deny. On 443
 * what passes has to be TLS whose SNI is the name. */
int network_add_allow(struct network *n, const char *text, struct error *e) _must_check_;
/* The same for every request that carries the secret: any method, any path, any query, read. */
int network_add_allow_with(struct network *n, const char *text, const char *secret, struct error *e) _must_check_;
int network_add_deny(struct network *n, const char *text, bool quiet, struct error *e) _must_check_;

/* Parts of a rule, for the reader. Messages begin with the value and carry no position. */
int network_set_host(struct network_rule *r, const char *text, struct error *e) _must_check_;
int network_add_port(struct network_rule *r, const char *text, struct error *e) _must_check_; /* "443", "8000-8010" */
int network_add_path(struct network_rule *r, const char *pattern, struct error *e) _must_check_;
int network_add_method(struct network_rule *r, const char *method, struct error *e) _must_check_;
int network_add_query(struct network_rule *r, const char *key, const char *value, struct error *e) _must_check_;
int network_add_address(struct network_rule *r, const char *range, struct error *e) _must_check_;
int network_range_parse(const char *text, struct address_range *ret, struct error *e) _must_check_;
/* Takes the rule over, once its parts are known to fit each other. `written` has the bits of enum network_written: the
 * keys that stand in the rule. On failure the rule is left to the caller. */
enum network_written {
        WROTE_PORT = 1, WROTE_PROTOCOL = 2, WROTE_METHODS = 4, WROTE_PATHS = 8, WROTE_QUERY = 16, WROTE_HEADERS = 32,
        WROTE_BODY = 64, WROTE_SHAPES = 128, WROTE_WEBSOCKET = 256, WROTE_PROVENANCE = 512, WROTE_SECRET = 1024,
        WROTE_BUDGET = 2048, WROTE_ADDRESSES = 4096, WROTE_READ_BUDGET = 8192, /* one of requests or url */
        WROTE_NOVEL = 16384, /* the budget has novel */
        WROTE_TO = 32768, WROTE_MODELS = 65536,
};
int network_add_rule(struct network *n, struct network_rule *r, unsigned written, struct error *e) _must_check_;
/* Keeps a budget; its index, or SIZE_MAX where memory is out. */
/* A rule of the user's own lets this very host through. */
bool network_has_allow(const struct network *n, const struct network_rule *r);
size_t network_add_budget(struct network *n, const struct network_budget *b);

/* A URL of `given` or --given. */
int network_add_given(struct network *n, const char *url, struct error *e) _must_check_;

/* True when every address of `inner` is within `outer`. */
bool network_range_within(const struct address_range *inner, const struct address_range *outer);
/* As network_range_parse reads it. NULL: no memory. */
char *network_range_text(const struct address_range *r);
/* The host as it is written: "*.example.com". */
char *network_host_text(const struct network_rule *r);

extern const char *const network_shape_names[]; /* by bit, NULL-terminated */
extern const char *const network_protocol_names[];

/* The shapes (enum network_shape) that are in the request's path and query. */
struct request;
unsigned network_shapes(const struct request *r);

/* One segment of a path, or a value, against a pattern of it: "*" is any bytes, "%2A" a star; the rest is itself. */
bool network_glob(const char *pattern, size_t np, const char *s, size_t ns);
