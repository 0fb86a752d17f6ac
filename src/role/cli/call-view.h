/* The place where ssh and ssh-keygen run outside for a call: namespaces, a root, and a list of system calls of their own. Called in a
 * child of a courier (courier_start), which has no_new_privs, right before it becomes such a program. */
#pragma once

#include <stddef.h>

#include "base/macros.h"

/* Names in there. */
#define CALL_VIEW_HELPER "/belljar-call"
#define CALL_VIEW_AGENT "/agent"

/* Puts it together; the host is still in view. helper, agent: NULL, or a program and a socket that are shown under these names. */
int call_view_begin(const char *helper, const char *agent) _must_check_;
/* A new file of this text, in memory alone; path begins with a slash and has no other. A newline at the end is added where it has none. */
int call_view_put(const char *path, const char *text, size_t n) _must_check_;
/* Enters it for good; nothing of the host is in view from here on. */
int call_view_enter(void) _must_check_;
