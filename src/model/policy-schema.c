/* The JSON Schema of belljar.yaml, made from the table that drives the reader. It is for editors: where YAML's own
 * typing differs from the table's (an octal number, a path called `yes`), the reader has the last word. */
#include <jansson.h>
#include <string.h>

#include "model/image-name.h"
#include "model/mint.h"
#include "model/network-preset.h"
#include "model/network-route.h"
#include "model/policy-table.h"

/* What parse_size and parse_duration take (base/str.h). */
#define NUMBER "[0-9]+(\\.[0-9]{1,6})?"
#define SIZE_PATTERN "^" NUMBER " *([kKmMgGtT]([iI][bB])?|[bB])?$"
#define DURATION_PATTERN "^(" NUMBER "|(" NUMBER "(ms|s|m|h|d))+)$"
#define CPU_PATTERN "^[0-9]+(\\.[0-9]{1,3})?$"
#define PATH_PATTERN "^(~(/|$)|[^~])"
#define GLOB_PATTERN "^(~(/|$)|[^~!])"
#define ENV_PATTERN "^[A-Za-z_][A-Za-z0-9_]*$"
/* Coarse: image_name_check has the last word. */
#define IMAGE_PATTERN "^[A-Za-z0-9][A-Za-z0-9._:/-]*(@sha256:[0-9a-f]{64})?$"
#define USER_PART "([0-9]{1,5}|[A-Za-z_][A-Za-z0-9_.-]{0,31})"
#define USER_PATTERN "^" USER_PART "(:" USER_PART ")?$"
#define NAME_PATTERN "^[a-z0-9][a-z0-9_.-]{0,62}$"
#define WORKDIR_PATTERN "^[^~]"
#define NOT_INSIDE "(?!/(proc|sys|dev)(/|:|$))(?![^:]*/\\.\\.?(/|:|$))"
#define INSIDE_PATTERN "^" NOT_INSIDE "(/[^/]+)+$"
#define VOLUME_PATTERN "^(~(/[^:]*)?|[^~:][^:]*):" NOT_INSIDE "(/[^/:]+)+(:(ro|rw))?$"
/* Coarse: network_set_host and canonical_host have the last word. */
#define HOST_PATTERN "^(\\*\\*|((\\*\\*?\\.)?[A-Za-z0-9_.-]+)|[0-9A-Fa-f:.]+(/[0-9]{1,3})?|\\[[0-9A-Fa-f:.]+\\])$"
#define PORT_PATTERN "^[1-9][0-9]{0,4}(-[1-9][0-9]{0,4})?$"
#define PLACE_PATTERN "^(\\*\\*|[A-Za-z0-9_.*-]+|[0-9A-Fa-f:.]+(/[0-9]{1,3})?|\\[[0-9A-Fa-f:.]+\\])(:[1-9][0-9]{0,4}(-[1-9][0-9]{0,4})?)?$"
/* Coarse: canonical_url has the last word. */
#define URL_PATTERN "^([Hh][Tt][Tt][Pp][Ss]?|[Ww][Ss][Ss]?)://[^#]+$"
#define SECRET_PATTERN "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$"
#define LARGEST_ID (UINT64_C(1) << 53) /* of what JSON has for numbers */
#define CONTROL_PATTERN "^[a-z0-9-]+$"

/* json_pack takes ownership of "o" also on failure, and gives NULL for it: one look at the end is enough. */
static json_t *path(const char *pattern) {
        return json_pack("{s:s, s:i, s:i, s:s}", "type", "string", "minLength", 1, "maxLength", (int)POLICY_PATH_MAX,
                         "pattern", pattern);
}

static json_t *list(json_t *items) {
        return json_pack("{s:s, s:i, s:o}", "type", "array", "maxItems", (int)POLICY_LIST_MAX, "items", items);
}

static json_t *number_or_text(const char *type, json_t *min, json_t *max, const char *pattern) {
        return json_pack("{s:[{s:s, s:o, s:o}, {s:s, s:s}]}", "anyOf", "type", type, "minimum", min, "maximum", max,
                         "type", "string", "pattern", pattern);
}

/* In the key's own unit over `unit`, as an integer where it is one. */
static json_t *number(uint64_t v, uint64_t unit) {
        return v % unit == 0 ? json_integer((json_int_t)(v / unit)) : json_real((double)v / (double)unit);
}

static json_t *choice(const struct policy_key *k) {
        json_t *names = json_array();
        for (size_t i = 0; names && k->choices[i]; i++)
                if (json_array_append_new(names, json_string(k->choices[i])) < 0)
                        return json_decref(names), NULL;
        return json_pack("{s:o, s:s}", "enum", names, "default", k->choices[0]);
}

static json_t *section(const struct policy_key *parent);

static json_t *names(const char *const *list) {
        json_t *a = json_array();
        for (size_t i = 0; a && list[i]; i++)
                if (json_array_append_new(a, json_string(list[i])) < 0)
                        return json_decref(a), NULL;
        return json_pack("{s:o}", "enum", a);
}

/* Of a tripwire: without what no version so far can see. */
static json_t *trip_word(const struct policy_key *k) {
        const size_t n = k->choices == trip_on_names ? TRIP_N : TRIP_OFF + 1;
        json_t *a = json_array();

        for (size_t i = 0; a && i < n; i++)
                if (json_array_append_new(a, json_string(k->choices[i])) < 0)
                        return json_decref(a), NULL;
        return json_pack("{s:o}", "enum", a);
}

static json_t *text(const char *pattern, int max) {
        return json_pack("{s:s, s:i, s:s}", "type", "string", "maxLength", max, "pattern", pattern);
}

/* One text or more. */
static json_t *some(json_t *items, int max) {
        return json_pack("{s:s, s:i, s:i, s:o}", "type", "array", "minItems", 1, "maxItems", max, "items", items);
}

static json_t *port(void) { return number_or_text("integer", number(1, 1), number(65535, 1), PORT_PATTERN); }

/* A list of texts of a rule, by its key. */
static json_t *texts(const struct policy_key *k) {
        if (streq(k->name, "network.methods"))
                return some(text("^([A-Z0-9_-]{1,32}|\\*)$", 32), NETWORK_METHODS_MAX);
        if (streq(k->name, "secrets.sigv4.allow"))
                return some(json_pack("{s:[s, s]}", "enum", "mint", "copy"), 2);
        if (strncmp(k->name, "secrets.sigv4.", 14) == 0)
                return some(text("^[A-Za-z0-9._-]{1,64}$", 64), 32);
        if (streq(k->name, "network.paths"))
                return some(text("^/[^?#\\\\]*$", NETWORK_PATH_BYTES), NETWORK_PATHS_MAX);
        if (streq(k->name, "secrets.github_app.repositories"))
                return some(text("^[A-Za-z0-9_.-]+$", 100), MINT_REPOSITORIES_MAX);
        if (streq(k->name, "network.models"))
                return some(text("^([!#$&-\\[\\]-~]|%2A|%25)+$", NETWORK_MODEL_BYTES), NETWORK_MODELS_MAX);
        if (streq(k->name, "git_ssh.repositories"))
                return some(text("^/?[A-Za-z0-9._@+*][A-Za-z0-9._@+*/-]*$", GIT_REPOSITORY_MAX - 1), GIT_REPOSITORIES_MAX);
        return some(text("^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$", 64), NETWORK_RANGES_MAX);
}

static json_t *git_text(const struct policy_key *k) {
        const char *leaf = policy_key_leaf(k);

        return text(streq(leaf, "key")    ? "^(agent|file:.+)$"
                    : streq(leaf, "user") ? "^[A-Za-z0-9._][A-Za-z0-9._-]*$"
                    : streq(leaf, "as")   ? "^[^<>]*<[^<>]+>$"
                                          : "^[a-z0-9@.-]+ [A-Za-z0-9+/=]+( .*)?$",
                    streq(leaf, "user") ? 64 : GIT_TEXT_MAX);
}

static json_t *query(void) {
        json_t *keys = json_pack("{s:s, s:i, s:{s:[s,s], s:i}}", "type", "array", "maxItems", (int)NETWORK_QUERY_MAX, "items",
                                 "type", "string", "number", "maxLength", (int)NETWORK_QUERY_BYTES);
        json_t *map = json_pack("{s:s, s:i, s:{s:[s,s,s,s], s:i}}", "type", "object", "maxProperties", (int)NETWORK_QUERY_MAX,
                                "additionalProperties", "type", "string", "number", "boolean", "null", "maxLength",
                                (int)NETWORK_QUERY_BYTES);
        return json_pack("{s:[o, o]}", "anyOf", keys, map);
}

/* A rule has a host of its own or that of a preset. */
static json_t *rules(const struct policy_key *k) {
        json_t *rule = section(k);

        if (rule && json_object_set_new(rule, "oneOf", json_pack("[{s:[s]}, {s:[s]}]", "required", "host", "required", "use")) < 0)
                return json_decref(rule), NULL;
        return json_pack("{s:s, s:i, s:{s:[o]}}", "type", "array", "maxItems", (int)NETWORK_RULES_MAX, "items", "anyOf", rule);
}

static json_t *workspace(const struct policy_key *k) {
        json_t *s = section(k);

        /* One or the other. */
        if (s && json_object_set_new(s, "not", json_pack("{s:[s,s]}", "required", "path", "name")) < 0)
                return json_decref(s), NULL;
        return s;
}

/* Of recipes and the presets that stand for themselves, or of all presets. */
static json_t *presets(bool use) {
        json_t *a = json_array();

        for (const struct network_preset *p = network_recipes; use && a && p->name; p++)
                if (json_array_append_new(a, json_string(p->name)) < 0)
                        return json_decref(a), NULL;
        for (const struct network_preset *p = network_presets; a && p->name; p++)
                if (!(use && strstr(p->text, "\nparameters:")) && json_array_append_new(a, json_string(p->name)) < 0)
                        return json_decref(a), NULL;
        return json_pack("{s:o}", "enum", a);
}

/* A text of a minted token's, by its key. */
static json_t *mint(const char *leaf) {
        if (streq(leaf, "grant"))
                return json_pack("{s:[s,s]}", "enum", "client_credentials", "refresh_token");
        if (streq(leaf, "auth"))
                return json_pack("{s:[s,s]}", "enum", "basic", "body");
        if (streq(leaf, "app_id") || streq(leaf, "installation_id"))
                return number_or_text("integer", number(1, 1), number(LARGEST_ID, 1), "^[1-9][0-9]*$");
        return text(streq(leaf, "client_secret") ? "^(env|file|command|keyring|store):." : strstr(leaf, "url") || streq(leaf, "api") ? "^[Hh][Tt][Tt][Pp][Ss]://[^#]+$" : "^[ -~]+$",
                    (int)MINT_URL_MAX);
}

static json_t *value(const struct policy_key *k) {
        switch (k->type) {
        case KEY_SECTION:
                return streq(k->name, "files.workspace") ? workspace(k) : section(k);
        case KEY_VERSION:
                return json_pack("{s:i}", "const", 1);
        case KEY_CHOICE:
                return choice(k);
        case KEY_PATH:
                return path(PATH_PATTERN);
        case KEY_IMAGE:
                return json_pack("{s:s, s:i, s:s}", "type", "string", "maxLength", (int)IMAGE_NAME_MAX, "pattern",
                                 IMAGE_PATTERN);
        case KEY_USER: /* to YAML 1.1, 1000 and 10:30 are numbers */
                return number_or_text("integer", number(0, 1), number(INT32_MAX, 1), USER_PATTERN);
        case KEY_NAME:
                return json_pack("{s:s, s:s}", "type", "string", "pattern", NAME_PATTERN);
        case KEY_WORKDIR:
                return path(WORKDIR_PATTERN);
        case KEY_INSIDE:
                return path(INSIDE_PATTERN);
        case KEY_WORDS:
                return list(json_pack("{s:s, s:i}", "type", "string", "maxLength", (int)POLICY_WORD_BYTES - 1));
        case KEY_VOLUMES:
                return json_pack("{s:s, s:i, s:{s:[o, {s:s, s:s}]}}", "type", "array", "maxItems",
                        (int)POLICY_VOLUMES_MAX, "items", "anyOf", section(k), "type", "string", "pattern",
                        VOLUME_PATTERN);
        case KEY_PATHS:
                return list(path(PATH_PATTERN));
        case KEY_GLOBS:
                return list(path(GLOB_PATTERN));
        case KEY_NAMES:
                return list(json_pack("{s:s, s:s, s:i}", "type", "string", "pattern", CONTROL_PATTERN, "maxLength",
                                      (int)POLICY_NAME_MAX));
        case KEY_ENV:
                return json_pack("{s:s, s:i, s:{s:s}, s:{s:[s,s,s,s]}}", "type", "object", "maxProperties",
                                 (int)POLICY_ENV_MAX, "propertyNames", "pattern", ENV_PATTERN, "additionalProperties",
                                 "type", "string", "number", "boolean", "null");
        case KEY_SIZE:
                return number_or_text("integer", number(k->min, 1), number(k->max, 1), SIZE_PATTERN);
        case KEY_CPU:
                return number_or_text("number", number(k->min, 1000), number(k->max, 1000), CPU_PATTERN);
        case KEY_COUNT:
                return number_or_text("integer", number(k->min, 1), number(k->max, 1), "^[1-9][0-9]*$");
        case KEY_DURATION:
                return number_or_text("number", number(k->min, 1000), number(k->max, 1000), DURATION_PATTERN);
        case KEY_NETWORK:
                return rules(k);
        case KEY_HOST:
                return text(HOST_PATTERN, 300);
        case KEY_PORT: {
                json_t *one = port();
                return json_pack("{s:[O, o]}", "anyOf", one, some(one, NETWORK_PORTS_MAX));
        }
        case KEY_PROTOCOL:
                return names(network_protocol_names);
        case KEY_TEXTS:
                return texts(k);
        case KEY_SHAPES:
                return some(names(network_shape_names), 64);
        case KEY_QUERY:
                return query();
        case KEY_SECRET:
                return text(SECRET_PATTERN, NETWORK_NAME_MAX);
        case KEY_ORIGIN:
                return text("^https?://[^/?#]+/?$", NETWORK_ORIGIN_BYTES);
        case KEY_SECRETS:
                return json_pack("{s:s, s:i, s:{s:s}, s:o}", "type", "object", "maxProperties", (int)SECRETS_MAX, "propertyNames", "pattern",
                                 SECRET_PATTERN, "additionalProperties", section(k));
        case KEY_SECRET_TEXT:
                if (streq(k->name, "secrets.sigv4.key"))
                        return text("^((env|file|command|keyring|store):.|[A-Za-z0-9_]{16,128}$)", SECRET_TEXT_MAX);
                return text(streq(k->name, "secrets.from") || streq(k->name, "secrets.sigv4.session") ? "^(env|file|command|keyring|store):." : streq(k->name, "secrets.header") ? "^[^:]+:.*[{][}]"
                            : streq(k->name, "secrets.env") ? ENV_PATTERN : ".", SECRET_TEXT_MAX);
        case KEY_MINT:
                return section(k);
        case KEY_MINT_TEXT:
                return mint(policy_key_leaf(k));
        case KEY_MINT_MAP:
                return json_pack("{s:s, s:i, s:{s:s}, s:{s:[s,s,s]}}", "type", "object", "maxProperties", (int)MINT_PERMISSIONS_MAX, "propertyNames",
                                 "pattern", "^[a-z_]{1,64}$", "additionalProperties", "enum", "read", "write", "admin");
        case KEY_GIT_SSH:
                return json_pack("{s:s, s:i, s:{s:[o]}}", "type", "array", "maxItems", (int)GIT_HOSTS_MAX, "items", "anyOf", section(k));
        case KEY_SIGN:
                return section(k);
        case KEY_GIT_TEXT:
                return git_text(k);
        case KEY_USE:
                return list(presets(true));
        case KEY_PRESET:
                return presets(false);
        case KEY_PARAMETER:
                return text(streq(k->name, "network.repo") ? "^[A-Za-z0-9_-][A-Za-z0-9_.-]*/[A-Za-z0-9_-][A-Za-z0-9_.-]*$"
                                                           : "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
                            POLICY_PARAMETER_MAX);
        case KEY_BOOL:
                return json_pack("{s:s}", "type", "boolean");
        case KEY_BYTES:
                return number_or_text("integer", number(k->min, 1), number(k->max, 1), SIZE_PATTERN);
        case KEY_NUMBER:
                return number_or_text("integer", number(k->min, 1), number(k->max, 1), "^[1-9][0-9]*$");
        case KEY_PLACES:
                return list(text(PLACE_PATTERN, 320));
        case KEY_URLS:
                return json_pack("{s:s, s:i, s:o}", "type", "array", "maxItems", (int)NETWORK_GIVEN_MAX, "items", text(URL_PATTERN, REQUEST_TARGET_MAX));
        case KEY_TRIPWIRES:
                return json_pack("{s:s, s:i, s:{s:[o]}}", "type", "array", "maxItems", (int)TRIP_WIRES_MAX, "items", "anyOf", section(k));
        case KEY_TRIP_WORD:
                return trip_word(k);
        case KEY_LATER:
                return json_pack("{s:{}}", "not");
        }
        return NULL;
}

static json_t *described(const struct policy_key *k) {
        _cleanup_free_ char *text = NULL;
        json_t *v;

        if (k->type == KEY_LATER)
                text = strdup("This version of Belljar does not enforce this key, and refuses a policy that has it.");
        else
                text = k->unset ? str_printf("%s Left out: %s.", k->doc, k->unset) : strdup(k->doc);
        v = text ? value(k) : NULL;
        if (v && json_object_set_new(v, "description", json_string(text)) < 0)
                return json_decref(v), NULL;
        return v;
}

static json_t *section(const struct policy_key *parent) {
        json_t *properties = json_object(), *required = json_array(), *s;

        for (size_t i = 0; i < n_policy_keys; i++) {
                const struct policy_key *k = &policy_keys[i];
                if (!policy_key_within(k, parent))
                        continue;
                if (json_object_set_new(properties, policy_key_leaf(k), described(k)) < 0 ||
                    (k->required && json_array_append_new(required, json_string(policy_key_leaf(k))) < 0)) {
                        json_decref(properties);
                        json_decref(required);
                        return NULL;
                }
        }
        if (json_array_size(required) > 0)
                s = json_pack("{s:s, s:b, s:o, s:o}", "type", "object", "additionalProperties", 0, "required", required,
                              "properties", properties);
        else {
                json_decref(required);
                s = json_pack("{s:s, s:b, s:o}", "type", "object", "additionalProperties", 0, "properties", properties);
        }
        return s;
}

char *policy_schema(void) {
        json_t *s = section(NULL), *head;

        head = json_pack("{s:s, s:s, s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title",
                         "Belljar policy", "description",
                         "belljar.yaml: what a run may see and use. The reference is docs/policy.md.");
        if (!head || !s || json_object_update(head, s) < 0) {
                json_decref(head);
                json_decref(s);
                return NULL;
        }
        json_decref(s);
        _cleanup_free_ char *text = json_dumps(head, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        json_decref(head);
        return text ? str_printf("%s\n", text) : NULL;
}
