/* The check of an image's name, see image-name.h. The grammar is that of the OCI distribution specification ("Pulling
 * manifests") with the registry in front, as docker and skopeo take it; digests are sha256 only. */
#include <string.h>

#include "base/str.h"
#include "model/image-name.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define REPOSITORY_MAX 255u /* bytes of registry and name together */
#define TAG_MAX 128u
#define SHA256_HEX 64u

static bool in(char c, const char *set) { return c && strchr(set, c); }

/* Labels of letters, digits and inner dashes, with dots between, and perhaps a port. */
static bool registry_valid(const char *s, size_t n) {
        const char *colon = memchr(s, ':', n);
        size_t host = colon ? (size_t)(colon - s) : n, port = n - host;

        for (size_t i = 0, label; i <= host; i += label + 1) {
                for (label = 0; i + label < host && s[i + label] != '.'; label++)
                        if (!in(s[i + label], LOWER UPPER DIGITS "-"))
                                return false;
                if (label == 0 || s[i] == '-' || s[i + label - 1] == '-')
                        return false;
        }
        if (colon && (port < 2 || port > 6))
                return false;
        for (size_t i = 1; i < port; i++)
                if (!in(colon[i], DIGITS))
                        return false;
        return true;
}

/* Small letters and digits, with a dot, one or two underscores or dashes between them. */
static bool part_valid(const char *s, size_t n) {
        for (size_t i = 0; i < n;) {
                size_t alnum = i, sep;
                while (i < n && in(s[i], LOWER DIGITS))
                        i++;
                if (i == alnum)
                        return false;
                if (i == n)
                        return true;
                for (sep = i; i < n && s[i] == s[sep] && in(s[i], "._-"); i++)
                        ;
                if (i == sep || i == n || (s[sep] == '.' && i - sep > 1) || (s[sep] == '_' && i - sep > 2))
                        return false;
        }
        return false;
}

static bool has_registry(const char *s, size_t n) {
        return memchr(s, '.', n) || memchr(s, ':', n) || (n == 9 && memcmp(s, "localhost", n) == 0);
}

static bool repository_valid(const char *s, size_t n) {
        const char *end = s + n, *slash = memchr(s, '/', n);

        if (slash && has_registry(s, (size_t)(slash - s))) {
                if (!registry_valid(s, (size_t)(slash - s)))
                        return false;
                s = slash + 1;
        }
        for (;;) {
                slash = memchr(s, '/', (size_t)(end - s));
                if (!part_valid(s, (size_t)((slash ?: end) - s)))
                        return false;
                if (!slash)
                        return true;
                s = slash + 1;
        }
}

static bool tag_valid(const char *s, size_t n) {
        if (n == 0 || n > TAG_MAX || !in(s[0], LOWER UPPER DIGITS "_"))
                return false;
        for (size_t i = 1; i < n; i++)
                if (!in(s[i], LOWER UPPER DIGITS "_.-"))
                        return false;
        return true;
}

static int wrong(const char **ret_why, const char *why) {
        if (ret_why)
                *ret_why = why;
        return -EINVAL;
}

int image_name_check(const char *name, const char **ret_why) {
        const char *at = strchr(name, '@'), *end = at ?: name + strlen(name), *slash, *colon;
        const char *hex = at ? str_after(at, "@sha256:") : NULL;

        if (!name[0])
                return wrong(ret_why, "write a name such as debian:12, or leave it out");
        if (strstr(name, "://"))
                return wrong(ret_why, "write the name alone, without a transport in front");
        if (at && (!hex || strlen(hex) != SHA256_HEX || strspn(hex, DIGITS "abcdef") != SHA256_HEX))
                return wrong(ret_why, "what follows an @ is sha256: and 64 hexadecimal digits in small letters");
        /* A colon after the last slash begins the tag; one before it belongs to the registry's port. */
        slash = memrchr(name, '/', (size_t)(end - name));
        colon = memchr(slash ?: name, ':', (size_t)(end - (slash ?: name)));
        if (colon && !tag_valid(colon + 1, (size_t)(end - colon - 1)))
                return wrong(ret_why,
                        "a tag has letters, digits, '_', '.' and '-', 128 at most, and begins with no '.' or '-'");
        if ((size_t)((colon ?: end) - name) > REPOSITORY_MAX)
                return wrong(ret_why, "a name has at most 255 bytes before its tag");
        if (!repository_valid(name, (size_t)((colon ?: end) - name)))
                return wrong(ret_why,
                        "write it like debian:12 or registry.example:5000/team/name:tag, the name in small letters");
        return 0;
}

const char *image_name_digest(const char *name) {
        const char *at = strchr(name, '@');
        return at ? str_after(at, "@sha256:") : NULL;
}

size_t image_name_repository(const char *name) {
        size_t n = strcspn(name, "@");
        const char *slash = memrchr(name, '/', n), *from = slash ?: name;
        const char *colon = memchr(from, ':', n - (size_t)(from - name));
        return colon ? (size_t)(colon - name) : n;
}

size_t image_name_registry(const char *name) {
        size_t n = strcspn(name, "/");
        return name[n] && has_registry(name, n) ? n : 0;
}
