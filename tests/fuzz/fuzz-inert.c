/* Links, refs and guarded names of any bytes: a link that stays does, a ref that passes has nothing that a shell or a terminal obeys. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/guarded.h"
#include "model/inert.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        char *text = strndup((const char *)data, size);
        struct guarded g = {};

        if (!text)
                return 0;
        if (inert_ref(text)) {
                must(!path_has_dotdot(text) && text[0] != '/' && text[0] != '-' && text[0] != '.');
                for (const char *p = text; *p; p++)
                        must((unsigned char)*p > 0x20 && *p != 0x7f && !strchr("'\"`$;&|<>\\", *p));
        }
        char *to = inert_link_path("a/b/link", text);
        must(!to == !inert_link("a/b/link", text));
        must(!to || (to[0] != '/' && !path_has_dotdot(to)));
        free(to);
        /* Case does not count, and a directory guards what it holds. */
        bool found = guarded_find(text, NULL, &g);
        for (char *p = text; *p; p++)
                if (*p >= 'a' && *p <= 'z')
                        *p = (char)(*p - 32);
        must(guarded_find(text, NULL, &g) == found);
        char *git = str_printf("x/.GIT/%s", text);
        must(!git || (guarded_find(git, NULL, &g) && g.never));
        free(git);
        free(text);
        return 0;
}
