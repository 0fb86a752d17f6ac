/* What a sandbox sends to a courier: a stream of frames (proto/call-msg.h), taken apart as role/cli/courier.c does. What is taken
 * lies within the input, ends where it says, and holds to the limits. */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "proto/call-msg.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static void words(const char *p, size_t n) {
        struct call_words w;
        size_t total;

        if (call_words_read(p, n, &w) < 0)
                return;
        must(w.name == p && strlen(w.name) <= CALL_NAME_MAX && !strpbrk(w.name, "/.") && w.cwd[0] == '/' && w.argc <= CALL_WORDS_MAX && !w.argv[w.argc]);
        total = strlen(w.name) + strlen(w.cwd) + 2;
        for (size_t i = 0; i < w.argc; i++) {
                must(w.argv[i] >= p && w.argv[i] < p + n);
                total += strlen(w.argv[i]) + 1;
        }
        must(total == n);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        struct call_head h;

        while (size >= sizeof(h)) {
                memcpy(&h, data, sizeof(h));
                if (!call_head_good(&h, true) || h.size > size - sizeof(h))
                        return 0;
                must(h.size <= CALL_PAYLOAD_MAX);
                /* A block of just its size, for the sanitizer. */
                char *copy = (char *)malloc(h.size ? h.size : 1);
                must(copy);
                memcpy(copy, data + sizeof(h), h.size);
                if (h.type == CALL_BEGIN)
                        words(copy, h.size);
                free(copy);
                data += sizeof(h) + h.size;
                size -= sizeof(h) + h.size;
        }
        return 0;
}
