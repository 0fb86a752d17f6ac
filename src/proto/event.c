/* See event.h. */
#include <string.h>

#include "base/utf8.h"
#include "proto/event.h"

const char *event_kind_name(uint32_t kind) {
        static const char *const names[EVENT_N] = {
                [EVENT_START] = "start", [EVENT_EXEC] = "exec", [EVENT_EXIT] = "exit", [EVENT_FILE] = "file", [EVENT_DNS] = "dns",
                [EVENT_CONNECTION] = "connection", [EVENT_REQUEST] = "request", [EVENT_REFUSAL] = "refusal", [EVENT_FAILURE] = "failure",
                [EVENT_SECRET] = "secret", [EVENT_APPROVAL] = "approval", [EVENT_LIMIT] = "limit", [EVENT_TRIPWIRE] = "tripwire",
                [EVENT_HOLD] = "hold", [EVENT_RELEASE] = "release", [EVENT_CUT] = "cut", [EVENT_FREEZE] = "freeze", [EVENT_THAW] = "thaw",
                [EVENT_KILL] = "kill", [EVENT_POLICY] = "policy", [EVENT_FILES] = "files", [EVENT_MARK] = "mark", [EVENT_LOST] = "lost",
                [EVENT_CHECKPOINT] = "checkpoint", [EVENT_END] = "end",
        };
        return kind < EVENT_N && names[kind] ? names[kind] : "?";
}

void event_text(struct event *ev, enum event_field field, char *dst, size_t size, const char *src) {
        size_t n = strlen(src);

        if (n >= size) {
                size_t whole = utf8_cut(src, n, size - 1);
                n = size - 1 - whole < 4 ? whole : size - 1; /* what is no UTF-8 has no character to be kept whole */
                ev->cut |= field;
        }
        memcpy(dst, src, n);
        dst[n] = 0;
}
