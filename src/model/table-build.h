/* What the files that compile a table share: sections that grow, strings that are kept once, and the classes of rules.
 * Private to table-compile.c, table-build.c and table-automaton.c. */
#pragma once

#include "model/table-layout.h"

struct growing {
        char *data;
        size_t len, cap;
};

struct build {
        const struct network *n;
        struct error *e;
        struct growing section[SECTION_N];
        uint32_t *interned; /* a hash: where in SECTION_STRINGS a string begins, plus 1; 0: empty */
        uint32_t *lengths;
        size_t n_interned, cap_interned;
        size_t members;
        struct table_string file;
        const struct network_rule **order; /* by host */
        struct growing entries, classes;   /* struct entry; struct known of the group under way */
        struct growing scratch;            /* uint32_t: members of those */
};

/* Both fill the error and return it. */
int build_out_of_memory(struct build *b);
int build_too_large(struct build *b);
/* Room for n bytes at the end of g, filled from data or with zeros. NULL: no memory, or too much. What it returns holds
 * until the next call. */
void *build_append(struct build *b, struct growing *g, const void *data, size_t n) _must_check_;
/* As build_append, for n records of a section; the error is set. */
void *build_add(struct build *b, enum table_section s, const void *data, size_t n) _must_check_;
uint32_t build_count(const struct build *b, enum table_section s); /* records */
/* Keeps a string, each once: equal ones have the same place. */
int build_intern(struct build *b, const char *s, size_t n, struct table_string *ret) _must_check_;
const char *build_text(const struct build *b, struct table_string s);
/* Places for n different things in a hash: place[i] becomes the slot of the one with hash[i]. Returns the number of slots;
 * 0: no memory, or hashes that meet too often. */
size_t build_spread(const uint32_t *hash, size_t n, uint32_t *place) _must_check_;

/* A class of rules (table-automaton.c): members are indices in rising order. */
int build_class(struct build *b, const uint32_t *members, size_t n, uint32_t *ret) _must_check_;
/* A pattern without stars as it stands in a request, without its escapes. Returns its length, n at most. */
size_t build_literal(const char *s, size_t n, char *dst);
/* True of a rule that looks at requests. */
bool build_looks_at(const struct network_rule *r);
