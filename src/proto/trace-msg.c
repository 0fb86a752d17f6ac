/* Messages of a tracer; see trace-msg.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "proto/trace-msg.h"

#define CLAIMED (EVENT_F_PATH | EVENT_F_ARGV | EVENT_F_CWD)

static bool ends(const char *text, size_t size) { return memchr(text, 0, size) != NULL; }

static bool has_arguments(const struct trace_msg *m) {
        const char *p = m->argv, *end = p + sizeof(m->argv);

        for (uint32_t i = 0; i < m->n_argv; i++) {
                const char *nul = p < end ? (const char *)memchr(p, 0, (size_t)(end - p)) : NULL;
                if (!nul)
                        return false;
                p = nul + 1;
        }
        return true;
}

int trace_msg_read(const void *data, size_t n, struct trace_msg *ret) {
        const struct trace_msg *m = (const struct trace_msg *)data;

        if (n != sizeof(*m) || m->type < TRACE_FAILED || m->type > TRACE_DONE || m->known > 1 || m->cut & ~(uint32_t)(CLAIMED | EVENT_F_EXE) ||
            !ends(m->path, sizeof(m->path)) || !ends(m->cwd, sizeof(m->cwd)) || !ends(m->exe, sizeof(m->exe)) || !has_arguments(m))
                return -EBADMSG;
        if ((m->type == TRACE_EXEC || m->type == TRACE_EXIT) && m->pid <= 0)
                return -EBADMSG;
        *ret = *m;
        return 0;
}

static void exec_event(const struct trace_msg *m, struct event *ev) {
        ev->parent = m->parent;
        ev->n_argv = m->n_argv;
        ev->cut = m->cut;
        ev->count = m->tried;
        ev->forgeable = CLAIMED;
        memcpy(ev->path, m->path, sizeof(ev->path));
        memcpy(ev->cwd, m->cwd, sizeof(ev->cwd));
        memcpy(ev->argv, m->argv, sizeof(ev->argv));
        if (!m->known) {
                snprintf(ev->why, sizeof(ev->why), "not seen to be executed");
                return;
        }
        memcpy(ev->exe, m->exe, sizeof(ev->exe));
        ev->dev = m->dev;
        ev->ino = m->ino;
}

void trace_msg_event(const struct trace_msg *m, struct event *ret) {
        *ret = (struct event){.kind = m->type == TRACE_EXEC ? EVENT_EXEC : EVENT_EXIT, .source = EVENT_BY_TRACER, .rule = EVENT_NO_RULE, .pid = m->pid};
        if (m->type == TRACE_EXEC)
                exec_event(m, ret);
        else if (m->known)
                ret->status = m->status;
        else {
                ret->status = -1;
                snprintf(ret->why, sizeof(ret->why), "its status was not seen");
        }
}
