/* The presets of policies/, which a rule names with `use`, and the recipes of policies/harness/, which a policy names with
 * `use` at its top: as text within the program (policies/embed.py), so that each is the one that was tested with this
 * version. */
#pragma once

struct network_preset {
        const char *name, *text; /* name NULL: the end */
};
extern const struct network_preset network_presets[], network_recipes[];
