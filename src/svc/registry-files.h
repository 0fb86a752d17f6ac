/* What of this user's settings a program that talks to one registry needs: policies, mirrors, certificates for that registry
 * (containers-registries.conf(5), containers-certs.d(5)), name service, and the login for it and no other
 * (containers-auth.json(5)). Copies, so that the program needs no right to the files. Caller: image-pull.c. */
#pragma once

#include "base/error.h"
#include "base/str.h"

enum {
        REGISTRY_FILE_MAX = 4 << 20,  /* bytes of one file */
        REGISTRY_BYTES_MAX = 16 << 20,/* of all */
        REGISTRY_FILES_MAX = 1024,
};
/* Where the copies stand that have names of their own. */
#define REGISTRY_AUTH "/auth.json"
#define REGISTRY_CA "/ca.pem"

struct registry_file {
        char *path; /* absolute: where the program is to find it */
        char *data;
        size_t len;
};
struct registry_files {
        struct registry_file *items;
        size_t n, bytes;
        bool login, ca; /* REGISTRY_AUTH, REGISTRY_CA are among them */
        bool policy;    /* a policy.json is */
        char helper[64];/* a program that has the login, where no file has: it is not run; else "" */
};
void registry_files_clear(struct registry_files *f);
#define _cleanup_registry_files_ _cleanup_(registry_files_clear)

/* registry: "docker.io", "registry.example:5000". */
int registry_files_find(const char *registry, struct registry_files *ret, struct error *e) _must_check_;
