#include <errno.h>
#include <string.h>

#include "proto/trace-msg.h"
#include "tap.h"

static struct trace_msg message(void) {
        struct trace_msg m = {.type = TRACE_EXEC, .pid = 7, .parent = 6, .known = 1, .dev = 2, .ino = 3, .n_argv = 2, .tried = 4,
                              .path = "/bin/x", .cwd = "/", .exe = "/usr/bin/x"};
        memcpy(m.argv, "x\0y", 4);
        return m;
}

TEST(an_exec_is_an_event) {
        struct trace_msg m = message(), got;
        struct event ev;

        check(trace_msg_read(&m, sizeof(m), &got) == 0);
        trace_msg_event(&got, &ev);
        check(ev.kind == EVENT_EXEC && ev.source == EVENT_BY_TRACER && ev.pid == 7 && ev.parent == 6 && ev.dev == 2 && ev.ino == 3);
        check(ev.n_argv == 2 && memcmp(ev.argv, "x\0y", 4) == 0 && ev.count == 4 && ev.rule == EVENT_NO_RULE && ev.mono == 0);
        check_streq(ev.path, "/bin/x");
        check_streq(ev.exe, "/usr/bin/x");
        check(ev.forgeable == (EVENT_F_PATH | EVENT_F_ARGV | EVENT_F_CWD));
        check_streq(ev.why, "");
}

TEST(what_was_not_seen_has_no_file) {
        struct trace_msg m = message();
        struct event ev;

        m.known = 0;
        trace_msg_event(&m, &ev);
        check(ev.ino == 0 && ev.dev == 0 && ev.exe[0] == 0 && ev.why[0]);
        check_streq(ev.path, "/bin/x");
}

TEST(an_end) {
        struct trace_msg m = {.type = TRACE_EXIT, .pid = 7, .known = 1, .status = 256};
        struct event ev;

        trace_msg_event(&m, &ev);
        check(ev.kind == EVENT_EXIT && ev.pid == 7 && ev.status == 256 && !ev.why[0] && ev.forgeable == 0);
        m.known = 0;
        trace_msg_event(&m, &ev);
        check(ev.status == -1 && ev.why[0]);
}

/* What one that was taken over may send. */
TEST(refused) {
        struct trace_msg m = message(), got = {.pid = 1};

        check(trace_msg_read(&m, sizeof(m) - 1, &got) == -EBADMSG);
        check(trace_msg_read(&m, 0, &got) == -EBADMSG);
#define REFUSED(change)                                                                                                        \
        do {                                                                                                                   \
                m = message();                                                                                                 \
                change;                                                                                                        \
                check(trace_msg_read(&m, sizeof(m), &got) == -EBADMSG && got.pid == 1);                                        \
        } while (0)
        REFUSED(m.type = 0);
        REFUSED(m.type = TRACE_DONE + 1);
        REFUSED(m.known = 2);
        REFUSED(m.cut = EVENT_F_HOST);
        REFUSED(m.pid = 0);
        REFUSED(m.pid = -1);
        REFUSED(memset(m.path, 'x', sizeof(m.path)));
        REFUSED(memset(m.cwd, 'x', sizeof(m.cwd)));
        REFUSED(memset(m.exe, 'x', sizeof(m.exe)));
        REFUSED(memset(m.argv, 'x', sizeof(m.argv)));
        REFUSED(m.n_argv = sizeof(m.argv) + 1);
        REFUSED(m.n_argv = UINT32_MAX);
#undef REFUSED
        m = message();
        memset(m.argv, 0, sizeof(m.argv));
        m.n_argv = sizeof(m.argv);
        check(trace_msg_read(&m, sizeof(m), &got) == 0);
}

TAP_MAIN
