/* `belljar assess`: what a setup that somebody already has (a compose file, the output of docker inspect, a
 * Kubernetes pod, a devcontainer.json, the settings of Claude Code or of its sandbox runtime) says about the three
 * questions: where does it run, what can it reach, what can its credentials do; and what is weak in it. Only what
 * the file says counts: no daemon, registry, variable or other file is asked. The files come from strangers:
 * everything that their author controls is capped, nothing of it is obeyed, and values that may be secret are never
 * shown. Pure. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/str.h"

#define ASSESS_INPUT_MAX (4u << 20) /* bytes */

enum assess_severity {
        ASSESS_LOW,    /* a bound is missing */
        ASSESS_MEDIUM, /* data, credentials or neighbours are within reach, or a wall was taken away */
        ASSESS_HIGH,   /* code gets out to the host by what the file gives it */
};
const char *assess_severity_name(enum assess_severity s); /* "low", "medium", "high" */
int assess_severity_parse(const char *s, enum assess_severity *ret) _must_check_;

struct assessment;
/* Reads and judges. name: of the file, for messages. -EINVAL (not readable, or not a format that is known), -E2BIG,
 * -ENOMEM, with *e filled. */
int assess_read(const char *text, size_t len, const char *name, struct assessment **ret, struct error *e) _must_check_;
void assess_free(struct assessment *a);
static inline void assess_freep(struct assessment **a) { assess_free(*a); }
#define _cleanup_assessment_ _cleanup_(assess_freep)

/* Number of findings of this severity or a higher one. */
size_t assess_count(const struct assessment *a, enum assess_severity at_least);
/* For people, with the file's name before each line's number; NULL when memory is out. */
char *assess_text(const struct assessment *a, const char *name, bool colour);
/* For programs. */
char *assess_json(const struct assessment *a, const char *name);
