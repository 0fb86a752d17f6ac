/* The presets of policies/, which a rule names with `use`, and the recipes of policies/harness/, which a policy names with
 * `use` at its top: as text within the program (policies/embed.py), so that each is the one that was tested with this
 * version. */
#pragma once

#include <stdbool.h>
#include <string.h>

struct network_preset {
        const char *name, *text; /* name NULL: the end */
};
extern const struct network_preset network_presets[], network_recipes[];

/* Its hosts are asked for models' answers. */
static inline bool network_preset_models(const struct network_preset *p) { return strstr(p->text, "\nmodels: true\n"); }
