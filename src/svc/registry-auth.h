/* Choosing logins from the files that podman, skopeo and docker keep them in (containers-auth.json(5), docker's config.json).
 * Pure. The texts are the user's own; a process that reads what a registry sends is to have the logins of that registry
 * alone. */
#pragma once

#include <stdbool.h>

#include "base/macros.h"
#include "base/str.h"

struct registry_auth {
        void *auths;     /* what was chosen so far */
        char helper[64]; /* the program that the first file with something to say keeps the login in; else "" */
};
void registry_auth_clear(struct registry_auth *a);
#define _cleanup_registry_auth_ _cleanup_(registry_auth_clear)

/* The host of a key ("https://index.docker.io/v1/", "quay.io/team") or of an image's name; docker's several names are one.
 * Allocated; NULL when memory is out. */
char *registry_host(const char *key);
/* Adds what the text says of the hosts (as registry_host has them) and no text before said. registry: the one of them that
 * a helper is noted for. -EBADMSG: not such a file. */
int registry_auth_add(struct registry_auth *a, const char *text, size_t len, const struct strlist *hosts, const char *registry)
        _must_check_;
/* An auth.json of what was chosen, *ret NULL where that is nothing. */
int registry_auth_text(const struct registry_auth *a, char **ret) _must_check_;
/* Hosts of the lines `location = "HOST/..."` of a registries.conf(5): mirrors, and registries that stand for others. */
int registry_locations(const char *text, struct strlist *hosts) _must_check_;
