/* See call-msg.h. */
#include <string.h>

#include "base/macros.h"
#include "proto/call-msg.h"

/* The next text, which ends within n bytes; NULL: it does not. */
static const char *next(const char **text, size_t *n) {
        const char *start = *text, *end = *n > 0 ? memchr(start, 0, *n) : NULL;

        if (!end)
                return NULL;
        *n -= (size_t)(end + 1 - start);
        *text = end + 1;
        return start;
}

static bool name_good(const char *name) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz-");
        return n > 0 && n <= CALL_NAME_MAX && name[n] == 0;
}

int call_words_read(const char *text, size_t n, struct call_words *ret) {
        struct call_words w = {};

        if (n > CALL_PAYLOAD_MAX || !(w.name = next(&text, &n)) || !name_good(w.name) || !(w.cwd = next(&text, &n)) || w.cwd[0] != '/')
                return -EBADMSG;
        while (n > 0) {
                if (w.argc == CALL_WORDS_MAX)
                        return -E2BIG;
                if (!(w.argv[w.argc] = next(&text, &n)))
                        return -EBADMSG;
                w.argc++;
        }
        *ret = w;
        return 0;
}
