/* See inert.h. */
#include <limits.h>

#include "base/str.h"
#include "base/utf8.h"
#include "model/inert.h"

/* Skips the parts ".." and "." at the front; counts the former. */
static const char *after_dots(const char *t, size_t *ret_up) {
        *ret_up = 0;
        for (;;) {
                size_t n = strcspn(t, "/");
                if (n == 2 && t[0] == '.' && t[1] == '.')
                        ++*ret_up;
                else if (n > 1 || (n == 1 && t[0] != '.') || (n == 0 && t[0] == 0))
                        return t;
                t += n;
                t += strspn(t, "/");
        }
}

bool inert_link(const char *path, const char *target) {
        size_t depth = 0, up;

        if (!target[0] || target[0] == '/' || path[0] == '/')
                return false;
        for (const char *p = path; (p = strchr(p, '/')); p++)
                depth++;
        return !path_has_dotdot(after_dots(target, &up)) && up <= depth;
}

char *inert_link_path(const char *path, const char *target) {
        size_t up;

        if (!inert_link(path, target))
                return NULL;
        const char *rest = after_dots(target, &up);
        const char *cut = strrchr(path, '/');
        while (cut && up-- > 0) {
                const char *p = cut;
                cut = NULL;
                while (p > path && !cut)
                        if (*--p == '/')
                                cut = p;
        }
        _cleanup_free_ char *joined = str_printf("%.*s%s%s", cut ? (int)(cut - path) : 0, path, cut && *rest ? "/" : "", rest);
        return joined ? path_clean(joined) : NULL;
}

mode_t inert_mode(mode_t before, mode_t after, mode_t mask) {
        return after & 0777 & ~(mask & ~before & 0777);
}

bool inert_xattr(const char *name) { return str_after(name, "user.") && !str_after(name, "user.overlay."); }

bool inert_ref(const char *name) {
        size_t n = strlen(name), part = 0;

        if (n == 0 || n > 512 || name[0] == '-' || streq(name, "@") || name[n - 1] == '/' || name[n - 1] == '.')
                return false;
        for (size_t i = 0; i < n;) {
                uint32_t cp = 0;
                size_t k = utf8_decode(name + i, n - i, &cp);
                if (k == 0 || str_deceptive(cp) || cp <= 0x20 || (k == 1 && strchr("~^:?*[\\\177\"'`$;&|<>(){}!#", name[i])))
                        return false;
                if (name[i] == '/') {
                        if (i == part || (i - part >= 5 && memcmp(name + i - 5, ".lock", 5) == 0) || i - part > NAME_MAX - 16)
                                return false;
                        part = i + 1;
                }
                if (name[i] == '.' && (i == part || name[i + 1] == '.'))
                        return false;
                i += k;
        }
        return n > part && n - part <= NAME_MAX - 16 && !(n - part >= 5 && streq(name + n - 5, ".lock"));
}
