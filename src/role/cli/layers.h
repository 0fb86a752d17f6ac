/* What `belljar diff` and `belljar apply` read: the layers of a sandbox that keeps its changes apart. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "base/str.h"
#include "svc/changes.h"

struct layers {
        int upper, lower; /* O_PATH; upper -1: nothing was changed */
        struct strlist hidden;
};
#define LAYERS_NONE (struct layers){-1, -1, {}}
void layers_clear(struct layers *l);
#define _cleanup_layers_ _cleanup_(layers_clear)

/* state_fd: the sandbox's directory, with "upper" and "hidden" (changes_hidden_write) in it, each optional. */
int layers_open(int state_fd, const char *workspace, struct layers *ret, struct error *e) _must_check_;

/* Runs fn in a child that ends with this process, in which an ordinary user's own modes do not bind (changes_unbind). Its
 * result, 0 to 99, or its error. The end by a reader that closed the pipe is 0. */
int layers_in_child(int (*fn)(void *data, struct error *e), void *data, struct error *e) _must_check_;

/* Out of a sandbox's plan.json. The workspace on the host, its bytes as they are; NULL: it had none. Allocated. */
char *layers_workspace(const json_t *plan);
struct change_ids layers_ids(const json_t *plan);
