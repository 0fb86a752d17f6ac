/* Renames among the changes, for display; see changes.h. */
#include <sys/stat.h>

#include "base/fd.h"
#include "svc/changes.h"
#include "svc/same-bytes.h"
#include "sys/beneath.h"

static bool can_be_renamed(const struct change_side *s) {
        return S_ISREG(s->mode) && s->size > 0 && s->size <= 1u << 20;
}

void changes_find_renames(const struct changes_source *s, struct changes *c) {
        /* A run can leave a million files of one size: bounds on the pairs looked at and on those opened. */
        enum { CANDIDATES_MAX = 2000, PAIRS_MAX = 20000000, OPENS_MAX = 20000 };
        uint64_t budget = 128u << 20;
        size_t gone[CANDIDATES_MAX], n = 0, pairs = 0, opens = 0;

        char *buf = malloc(SAME_BUFFER);
        if (!buf)
                return;
        for (size_t i = 0; i < c->n && n < CANDIDATES_MAX; i++)
                if (c->items[i].kind == CHANGE_DELETED && can_be_renamed(&c->items[i].before))
                        gone[n++] = i;
        for (size_t i = 0; i < c->n && n > 0; i++) {
                struct change *to = &c->items[i];
                if (to->kind != CHANGE_ADDED || !can_be_renamed(&to->after))
                        continue;
                for (size_t j = 0; j < n; j++) {
                        struct change *from = &c->items[gone[j]];
                        if (++pairs > PAIRS_MAX)
                                goto end;
                        if (from->before.size != to->after.size)
                                continue;
                        if (++opens > OPENS_MAX)
                                goto end;
                        _cleanup_fd_ int a = beneath_open_regular(s->lower_fd, from->path, NULL);
                        _cleanup_fd_ int b = beneath_open_regular(s->upper_fd, to->path, NULL);
                        if (a < 0 || b < 0)
                                continue;
                        enum same same = same_bytes(a, b, (off_t)to->after.size, buf, &budget);
                        if (same == SAME_CAPPED)
                                goto end;
                        if (same != SAME_YES)
                                continue;
                        to->peer = (ssize_t)gone[j];
                        from->peer = (ssize_t)i;
                        gone[j] = gone[--n];
                        break;
                }
        }
end:
        free(buf);
}
