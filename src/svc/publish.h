/* Ports of a sandbox that are reached from the host: listeners on the host, made before the sandbox is, whose connections its
 * gate carries inside. */
#pragma once

#include "base/error.h"
#include "model/plan.h"

/* Reads "[IP:]PORT:INSIDE[/tcp]", as -p has it; without an address 127.0.0.1. Nothing is opened. */
int publish_parse(const char *text, struct plan_publish *ret, struct error *e) _must_check_;
/* A listener for each; port 0 becomes the one that the kernel has given. fds has room for PUBLISH_MAX. */
int publish_open(struct plan_network *p, int *fds, struct error *e) _must_check_;
