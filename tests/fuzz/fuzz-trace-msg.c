/* What the supervisor reads from a tracer (proto/trace-msg.h). Input: the places and values of bytes that are changed in a good
 * message, three bytes each; with a single byte, so many bytes of it. What is taken ends within itself, and is a record that can be
 * read back. */
#include <stdlib.h>
#include <string.h>

#include "model/trail.h"
#include "proto/trace-msg.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        struct trace_msg m = {.type = TRACE_EXEC, .pid = 7, .known = 1, .n_argv = 2, .path = "/x", .cwd = "/", .exe = "/x", .argv = "a"}, got;
        struct trail t = {};
        struct strbuf out = {};
        struct event ev;
        struct trail_head head;

        for (size_t i = 0; i + 3 <= size; i += 3)
                ((unsigned char *)&m)[(data[i] << 8 | data[i + 1]) % sizeof(m)] = data[i + 2];
        if (trace_msg_read(&m, size == 1 ? data[0] : sizeof(m), &got) < 0)
                return 0;
        must(size != 1 && strlen(got.path) < sizeof(got.path) && strlen(got.cwd) < sizeof(got.cwd) && strlen(got.exe) < sizeof(got.exe));
        if (got.type != TRACE_EXEC && got.type != TRACE_EXIT)
                return 0;
        trace_msg_event(&got, &ev);
        must(ev.pid > 0 && ev.source == EVENT_BY_TRACER && (ev.kind == EVENT_EXEC || ev.kind == EVENT_EXIT));
        ev.mono = ev.wall = 1;
        if (trail_add(&t, &ev, &out) == 0)
                must(out.len > 1 && out.data[out.len - 1] == '\n' && trail_head_read(out.data, out.len - 1, &head) == 0 && head.seq == 1);
        strbuf_clear(&out);
        trail_clear(&t);
        return 0;
}
