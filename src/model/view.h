/* Parts of a view that both kinds share: of the host's root (view.c) and of an image's (view-image.c). Each adds its
 * operations and rules to the plan. -ENOMEM. */
#pragma once

#include "model/plan.h"

int view_add_scratch(struct plan *p, const char *path, mode_t mode) _must_check_;
/* Files of /etc that name the host and the network, in a layer; etc: what stands before their names there. */
int view_add_names(struct plan *p, const struct view_facts *f, const char *etc, int layer) _must_check_;
/* Devices, terminals, message queues, shared memory, in a /dev that is there. */
/* The host's directories of programs and their data. */
int view_add_programs(struct plan *p, const struct view_facts *f) _must_check_;
int view_add_dev(struct plan *p, const struct view_facts *f) _must_check_;
/* /proc and /sys, with what is covered in them. */
int view_add_kernel(struct plan *p, const struct view_facts *f) _must_check_;
int view_add_read(struct plan *p, const struct view_facts *f) _must_check_;
int view_add_workspace(struct plan *p, const struct view_facts *f) _must_check_;
int view_add_volumes(struct plan *p, const struct view_facts *f) _must_check_;
/* What the run can call: the endpoint and a program for each name. */
int view_add_calls(struct plan *p, const struct view_facts *f) _must_check_;
/* Covers the host's sockets that binds would show. */
int view_add_socket_masks(struct plan *p, const struct view_facts *f) _must_check_;

/* Layer 0 is empty: an overlay needs two layers. Returns the layer with the whiteouts of everything hidden beneath root, a
 * path of the host; 0 if nothing is. */
int view_add_hidden_layer(struct plan *p, const struct view_facts *f, const char *root) _must_check_;

int view_plan_image(struct plan *p, const struct view_facts *f, struct error *e) _must_check_;
