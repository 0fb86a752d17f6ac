/* A path's way through the automaton of a class (table-layout.h says how that works): which states are set at its end. */
#pragma once

#include "model/table-layout.h"

/* Of the words those in active blocks have a meaning, in `added` those in touched ones. */
struct table_walk {
        size_t words, summary;
        const uint64_t *star, *stars, *accept; /* in the table, as are the ranks */
        const uint32_t *rank;
        uint64_t active[TABLE_SUMMARY_MAX];
        uint64_t wild[TABLE_SUMMARY_MAX];    /* blocks in which a state waits for a wildcard */
        uint64_t settled[TABLE_SUMMARY_MAX]; /* and those which a segment that they do not name leaves as they are */
        uint64_t touched[TABLE_SUMMARY_MAX];
        uint64_t word[TABLE_WORDS_MAX], added[TABLE_WORDS_MAX];
};

/* c->words is not 0. */
void table_walk(const struct table *t, const struct table_class *c, const struct request *r, struct table_walk *w);
