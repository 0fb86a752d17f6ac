/* What state.c and state-read.c share. */
#pragma once

#include <time.h>

#include "svc/state.h"

#define STATE_ID_LEN 12
#define STATE_FILE_MAX (4u << 20) /* bytes of a JSON file */
/* Of a directory that is being made, with its maker's pid; one that a kill left stays empty. */
#define STATE_NEW_PREFIX ".new-"
extern const char *const state_places[2];

struct dated {
        char id[STATE_ID_LEN + 1];
        struct timespec at;
};
struct dated_list {
        struct dated *items;
        size_t n, cap;
};
void dated_clear(struct dated_list *l);

/* Appends the sandboxes of a place, and sorts all by date. */
int state_list_place(int root, const char *place, struct dated_list *l) _must_check_;
int state_open_in(int root, const char *place, const char *id, struct state *ret) _must_check_;
int state_remove_dir(struct state *s, struct error *e) _must_check_;
