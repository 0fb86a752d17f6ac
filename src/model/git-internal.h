/* What git.c and git-call.c share. */
#pragma once

#include "model/git.h"

/* The part of a path that names the repository; see git.c. */
size_t git_path_length(const char *text, size_t n, bool pattern);
