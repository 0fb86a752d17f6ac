/* How the block of table.h is laid out: a header, then sections of records of a fixed size, each aligned to 8 bytes.
 * Private to table*.c and their tests. Numbers are in the machine's own order: the block
 * never leaves it.
 *
 * A path's pattern of n segments has n + 1 states, state i: its first i segments are done; they are n + 1 bits next to
 * each other in one word. A step takes the states from one segment of the request to the next:
 *   a literal:  for each (word, mask) of the literal's list: (state & mask) << 1
 *   "*":        (state & star) << 1
 *   "**":       state & stars: it stays; and by (state & stars) << 1 is done, in the same step (two in a row are one)
 * A rule matches when the last state of one of its patterns is set at the end. Words come in blocks of a cache line; blocks
 * in which nothing is set, or nothing that waits for a wildcard, are skipped, by a bit for each. */
#pragma once

#include <string.h>

#include "model/table.h"

#define TABLE_MAGIC "BJtable\1"
#define TABLE_VERSION 3u
#define TABLE_ORDER 0x01020304u

#define TABLE_WORDS_MAX 4096u      /* of one automaton; with four segments a pattern 12 patterns fill a word */
#define TABLE_BLOCK 8u              /* words; `words` of a class is a multiple of it */
#define TABLE_SUMMARY_MAX (TABLE_WORDS_MAX / TABLE_BLOCK / 64)
#define TABLE_PROBE_MAX 64u        /* slots that a look-up in a hash looks at */
#define TABLE_MEMBERS_MAX (1u << 20) /* rules of all classes together */
#define TABLE_METHODS_MAX 63u      /* the last bit is any other */
#define TABLE_GLOBS_MAX 512u       /* patterns of one segment in one automaton */
#define TABLE_PREFIXES_MAX 129u
#define TABLE_ROUTES_MAX 64u           /* destinations that are a model's */

enum table_section {
        SECTION_STRINGS,   /* bytes, each string with a NUL behind it */
        SECTION_HOSTS,     /* table_host_slot, a hash */
        SECTION_ADDRESSES, /* table_address_slot, a hash */
        SECTION_PREFIXES,  /* uint32_t: lengths of prefixes that occur */
        SECTION_GROUPS,
        SECTION_INTERVALS,
        SECTION_CLASSES,
        SECTION_MEMBERS,   /* uint32_t: indices of rules */
        SECTION_WORDS,     /* uint64_t */
        SECTION_LITERALS,  /* table_literal_slot, hashes */
        SECTION_GLOBS,     /* table_glob */
        SECTION_PAIRS,     /* table_pair */
        SECTION_RULES,
        SECTION_METHODS,   /* table_string */
        SECTION_KEYS,      /* table_key_slot, a hash */
        SECTION_QUERIES,   /* table_query_item, sorted by key within a rule's span */
        SECTION_RANGES,    /* address_range */
        SECTION_PORTS,     /* network_ports */
        SECTION_BUDGETS,   /* network_budget; the first is the run's */
        SECTION_SECRETS,   /* table_string */
        SECTION_GIVEN,     /* table_string: texts of URLs, and of origins */
        SECTION_MODELS,    /* table_string: patterns */
        SECTION_ROUTES,    /* table_route_record */
        SECTION_N,
};

struct table_span {
        uint32_t first, n;
};
struct table_string {
        uint32_t at, n; /* in SECTION_STRINGS; at TABLE_NONE: none */
};

struct table_header {
        uint8_t magic[8];
        uint32_t version, order, size, seed;
        struct table_string file; /* the policy's name; at TABLE_NONE: none */
        struct {
                uint32_t at, n; /* bytes from the beginning; records */
        } section[SECTION_N];
};

struct table_host_slot {
        uint32_t hash;
        struct table_string name; /* at TABLE_NONE: the slot is empty */
        uint32_t group[3];        /* by enum network_host: EXACT, ONE, ANY; TABLE_NONE */
        uint32_t relay;           /* 1: no wildcard opens it, nor what is below it */
};
struct table_address_slot {
        uint32_t hash, range, group, pad; /* range TABLE_NONE: empty */
};

/* What rules of one host have in common: which ports lead to which rules. */
struct table_group {
        struct table_span intervals; /* in rising order, apart from each other */
        uint32_t any;                /* the class of rules for every port; TABLE_NONE */
        uint32_t opens;              /* in SECTION_RANGES: its addresses may be dialled though not public; TABLE_NONE */
        uint32_t first_rule, pad;    /* the first that allows, for what comes nearest; TABLE_NONE */
};
struct table_interval {
        uint16_t first, last;
        uint32_t class;
};

struct table_class {
        uint32_t allows, denies;      /* enum network_protocol: of any allow; of denies without a condition */
        uint32_t looks;               /* 1: a rule looks at requests, so all of them have to be read */
        uint32_t states;
        struct table_span plain;      /* members without paths */
        uint32_t words;               /* of the automaton; 0: none */
        uint32_t at;                  /* in SECTION_WORDS: start, star, stars, accept (`words` each), then two bits for each
                                         block, apart: something of start is set, and something of it that waits for a
                                         wildcard; then as uint32_t in pairs: how many bits of accept are in the words before */
        struct table_span literals;   /* a power of two of slots, or none */
        struct table_span globs;
        struct table_span accepts;    /* members, one for each bit of accept in its order */
        uint32_t pad[2];
};
struct table_pair {
        uint32_t word, pad;
        uint64_t mask;
};
struct table_literal_slot {
        uint32_t hash;
        struct table_string text; /* at TABLE_NONE: empty */
        struct table_span pairs;
};
struct table_glob {
        struct table_string pattern;
        struct table_span pairs;
};
struct table_key_slot {
        uint32_t hash;
        struct table_string text; /* at TABLE_NONE: empty */
        uint32_t key;             /* its number */
};
struct table_query_item {
        uint32_t key;
        struct table_string value; /* at TABLE_NONE: any */
        uint32_t pad;
};

enum table_rule_flag {
        RULE_DENY = 1,
        RULE_QUIET = 2,
        RULE_ANY_QUERY = 4,
        RULE_BODY_WRITTEN = 8,
        RULE_WEBSOCKET = 16,
        RULE_PROVENANCE = 32,
        RULE_CONDITION = 64, /* it looks at requests: its protocols are of NETWORK_READ alone */
        RULE_PRESET = 128,
        RULE_PATHS = 256,
        RULE_OPENS = 512, /* the host is an address or a range that is not public, and meant */
};
struct table_rule_record {
        uint64_t methods, body, header_bytes;
        uint32_t flags, protocols, headers, shapes;
        struct table_span query, addresses, ports;
        uint32_t budget; /* in SECTION_BUDGETS; TABLE_NONE */
        uint32_t secret, range, line;
        struct table_string host, source;
        struct table_span models;
        uint32_t route, pad; /* in SECTION_ROUTES; TABLE_NONE */
};

/* Where rules of models lead to, each destination once. */
struct table_route_record {
        struct table_string host, to; /* to: at TABLE_NONE: the host itself */
        uint32_t secret;              /* in SECTION_SECRETS; TABLE_NONE */
        uint32_t range;               /* in SECTION_RANGES, one address: that of `to`, where it is one; TABLE_NONE */
};

/* FNV-1a. Whoever sends requests cannot choose what is in the hash, so it need not be stronger. */
#define TABLE_HASH_START 2166136261u
static inline uint32_t table_hash_byte(uint32_t h, uint8_t c) { return (h ^ c) * 16777619u; }
static inline uint32_t table_hash(uint32_t seed, const void *p, size_t n) {
        uint32_t h = TABLE_HASH_START ^ seed;
        for (size_t i = 0; i < n; i++)
                h = table_hash_byte(h, ((const uint8_t *)p)[i]);
        return h;
}
/* Of a name, from its end to its beginning: so a walk over a name passes the hash of each of its suffixes. */
static inline uint32_t table_hash_back(uint32_t seed, const char *p, size_t n) {
        uint32_t h = TABLE_HASH_START ^ seed;
        while (n > 0)
                h = table_hash_byte(h, (uint8_t)p[--n]);
        return h;
}
/* The low bits of FNV mix least. */
static inline uint32_t table_slot(uint32_t hash) { return hash ^ hash >> 15; }

/* The bytes of one class in SECTION_WORDS. */
static inline size_t table_summary_words(size_t words) { return (words / TABLE_BLOCK + 63) / 64; }
static inline size_t table_class_words(size_t words) {
        return words * 4 + table_summary_words(words) * 2 + (words + 1) / 2;
}

static inline const void *table_at(const struct table *t, enum table_section s) {
        return (const char *)t->header + t->header->section[s].at;
}
static inline uint32_t table_count(const struct table *t, enum table_section s) { return t->header->section[s].n; }
static inline const char *table_text(const struct table *t, struct table_string s) {
        return (const char *)table_at(t, SECTION_STRINGS) + s.at;
}

extern const uint32_t table_record_size[SECTION_N];

/* The names of policies/relays.list, NULL-terminated; made by the build. */
extern const char *const table_relays[];
/* Looks for two allows that overlap and name different secrets or destinations (table-overlap.c). */
int table_check_secrets(const struct network *n, struct error *e) _must_check_;
