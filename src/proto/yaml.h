/* A strict YAML tree: what a policy file may use of YAML, and nothing else. On libyaml's event API.
 *
 * Mappings, sequences and scalars; one document. Refused, with line and column: anchors, aliases, tags, directives, a
 * second document, keys that are no scalars, empty, doubled or "<<"; values without quotes that go on over several
 * lines (a forgotten dash makes two entries one); bytes that are no UTF-8; control characters, raw or by an escape;
 * and whatever would let a file read otherwise than it looks: a lone CR, NEL, LS and PS (line breaks to YAML 1.1, not
 * to an editor) and raw bidirectional controls. Scalars stay text: no value is turned into a boolean or a number.
 * Pure; called by the policy reader. */
#pragma once

#include <stdbool.h>

#include "base/macros.h"

#define YAML_INPUT_MAX (1u << 20) /* bytes */
#define YAML_NODES_MAX 20000u     /* keys count */
#define YAML_DEPTH_MAX 16u        /* mappings and sequences within each other */

enum yaml_kind { YAML_KIND_SCALAR, YAML_KIND_SEQUENCE, YAML_KIND_MAPPING };
enum yaml_style { YAML_STYLE_PLAIN, YAML_STYLE_QUOTED, YAML_STYLE_BLOCK };

struct yaml_node {
        enum yaml_kind kind;
        enum yaml_style style;    /* of a scalar */
        unsigned line, column;    /* where it begins, from 1; columns count characters */
        char *text;               /* of a scalar: UTF-8 without NUL or control characters but \n and \t */
        size_t len;
        size_t n;                 /* items or keys */
        struct yaml_node *first;  /* items, or keys (scalars whose `value` is set) */
        struct yaml_node *next;   /* the one after it in the same sequence or mapping */
        struct yaml_node *value;  /* of a key */
};

struct yaml_error {
        unsigned line, column; /* from 1 */
        char msg[200];
};

/* Reads text into a tree that the caller frees. Empty input is an empty mapping. -EINVAL (not what is accepted),
 * -E2BIG (over a cap), -ENOMEM; *e, which may be NULL, is filled for all of them. */
int yaml_read(const char *text, size_t len, struct yaml_node **ret, struct yaml_error *e) _must_check_;
/* The lenient reader, for files that others wrote and that Belljar only looks at, never obeys (model/assess.h): also
 * JSON, with comments (JSONC). Gives a sequence with one item a document; empty documents are left out. Differences:
 * an alias becomes a copy of what it names, with the lines of the original; "<<" merges; tags are ignored; of doubled
 * keys the last counts; plain values may go on over lines, escapes may give control characters (but NUL), and
 * characters that deceive the eye are taken. Copies count towards the caps, so that aliases of aliases are bounded. */
#define YAML_LENIENT_INPUT_MAX (4u << 20) /* bytes */
#define YAML_LENIENT_NODES_MAX 200000u
#define YAML_LENIENT_DEPTH_MAX 64u
#define YAML_LENIENT_TEXT_MAX (16u << 20) /* bytes of all scalars together, copies among them */
#define YAML_LENIENT_ANCHORS_MAX 2000u
int yaml_read_lenient(const char *text, size_t len, struct yaml_node **ret, struct yaml_error *e) _must_check_;

void yaml_node_free(struct yaml_node *n);
static inline void yaml_node_freep(struct yaml_node **n) { yaml_node_free(*n); }
#define _cleanup_yaml_ _cleanup_(yaml_node_freep)

/* True for a scalar without quotes that YAML's core schema takes for null: nothing, ~, null, Null, NULL. */
bool yaml_is_null(const struct yaml_node *n);
