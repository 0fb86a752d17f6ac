/* Logins, see registry-auth.h. */
#include <jansson.h>
#include <stdio.h>

#include "svc/registry-auth.h"

static void json_clear(json_t **j) { json_decref(*j); }
#define _cleanup_json_ _cleanup_(json_clear)

void registry_auth_clear(struct registry_auth *a) {
        json_decref(a->auths);
        *a = (struct registry_auth){};
}

char *registry_host(const char *key) {
        static const char *const docker[] = {"index.docker.io", "registry-1.docker.io"};
        const char *s = strstr(key, "://");

        s = s ? s + 3 : key;
        _cleanup_free_ char *host = strndup(s, strcspn(s, "/"));
        for (size_t i = 0; host && i < ELEMENTSOF(docker); i++)
                if (streq(host, docker[i]))
                        return strdup("docker.io");
        return TAKE_PTR(host);
}

/* An entry without anything in it says that a helper has the login. */
static bool has_login(const json_t *entry) {
        static const char *const fields[] = {"auth", "identitytoken", "registrytoken", "username"};
        for (size_t i = 0; i < ELEMENTSOF(fields); i++) {
                const char *v = json_string_value(json_object_get(entry, fields[i]));
                if (v && v[0])
                        return true;
        }
        return false;
}

static void note_helper(struct registry_auth *a, const json_t *name) {
        if (!a->helper[0] && json_string_length(name) > 0)
                snprintf(a->helper, sizeof(a->helper), "%s", json_string_value(name));
}

int registry_auth_add(struct registry_auth *a, const char *text, size_t len, const struct strlist *hosts, const char *registry) {
        json_error_t why;
        const char *key;
        json_t *entry;
        bool found = false, named = false;
        _cleanup_json_ json_t *j = json_loadb(text, len, 0, &why);

        if (!json_is_object(j))
                return -EBADMSG;
        if (!a->auths && !(a->auths = json_object()))
                return -ENOMEM;
        json_object_foreach(json_object_get(j, "auths"), key, entry) {
                _cleanup_free_ char *host = registry_host(key);
                if (!host)
                        return -ENOMEM;
                if (!strlist_has(hosts, host) || !json_is_object(entry))
                        continue;
                bool here = streq(host, registry), login = has_login(entry);
                named |= here;
                found |= here && login;
                if (login && !json_object_get(a->auths, key) && json_object_set(a->auths, key, entry) < 0)
                        return -ENOMEM;
        }
        /* Noted where the file itself has no login: a helper of this registry, else one of all that the file names. */
        json_object_foreach(json_object_get(j, "credHelpers"), key, entry) {
                _cleanup_free_ char *host = registry_host(key);
                if (!host)
                        return -ENOMEM;
                if (streq(host, registry) && !found)
                        note_helper(a, entry);
        }
        if (named && !found)
                note_helper(a, json_object_get(j, "credsStore"));
        return 0;
}

int registry_auth_text(const struct registry_auth *a, char **ret) {
        *ret = NULL;
        if (!a->auths || json_object_size(a->auths) == 0)
                return 0;
        _cleanup_json_ json_t *j = json_pack("{s:O}", "auths", (json_t *)a->auths);
        *ret = j ? json_dumps(j, JSON_COMPACT) : NULL;
        return *ret ? 0 : -ENOMEM;
}

int registry_locations(const char *text, struct strlist *hosts) {
        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                const char *end = line + strcspn(line, "\n");
                line += strspn(line, " \t");
                if (*line == '#')
                        continue;
                for (const char *p = line; (p = memmem(p, (size_t)(end - p), "location", 8));) {
                        p += 8;
                        const char *v = p + strspn(p, " \t");
                        if (*v != '=')
                                continue;
                        v++;
                        v += strspn(v, " \t");
                        if (*v != '"' && *v != '\'')
                                continue;
                        _cleanup_free_ char *value = strndup(v + 1, strcspn(v + 1, "\"'\n")), *host = value ? registry_host(value) : NULL;
                        if (!host)
                                return -ENOMEM;
                        int r = host[0] && !strlist_has(hosts, host) ? strlist_add(hosts, host) : 0;
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}
